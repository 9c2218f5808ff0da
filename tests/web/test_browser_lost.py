"""Answers that are lost on their way, or come late: the page says and shows what is true."""

import shutil

import pytest
from playwright.sync_api import expect

from tagloom.learning.suggest import open_suggestions
from tests.web.browsing import CELL, active, press, until
from tests.web.test_browser_decide import LENS, TOAST, reviewing, two_tags

pytestmark = pytest.mark.medium

BANNER = "#banner:not([hidden])"
SUGGESTION = "[data-testid=suggestion]"
MAY_HAVE = "may have saved it"
#: From now on the server is away. Where `carried`, decisions reach it all the same, and their answers do not come.
_LOSE = """(carried) => {
  const real = window.fetch;
  window.fetch = async (path, init) => {
    if (carried && path === "/api/v1/decide") await real(path, init);
    throw new TypeError("the connection broke");
  };
  window.tagloomBack = async () => {
    window.fetch = real;
    (await import("/static/js/net/outbox.js")).outbox.flush();
  };
}"""

_SETTLED = "import('/static/js/net/outbox.js').then(({ outbox }) => outbox.size === 0)"
#: Holds answers back until they are let through.
_HOLD = """(address) => {
  const real = window.fetch;
  window.held = [];
  window.fetch = async (path, init) => {
    const answer = await real(path, init);
    if (path === address && window.held) await new Promise((resolve) => window.held.push(resolve));
    return answer;
  };
  window.letThrough = () => {
    for (const go of window.held) go();
    window.held = null;
  };
}"""
#: Counts how often the panel of a photo shows a suggestion from now on, be it for a moment.
_WATCH = """(tag) => {
  window.broughtBack = 0;
  new MutationObserver(() => {
    if (document.querySelector(`[data-testid=suggestion][data-tag='${tag}']`)) window.broughtBack += 1;
  }).observe(document.querySelector("[data-testid=photo-view]"), { childList: true, subtree: true });
}"""


@pytest.fixture
def review(album, browser, tmp_path):
    with reviewing(shutil.copytree(album, tmp_path / "photos"), browser) as review:
        yield review


def _lens(review):
    tag, _ = two_tags(review.project)
    page = review.open(f"/tag/{tag}")
    page.wait_for_selector(f"{LENS} {CELL}:focus")
    return page, tag, active(page)


def test_what_may_have_reached_the_server_is_not_said_to_be_unsent(review):
    page, tag, photo = _lens(review)
    page.evaluate(_LOSE, True)
    press(page, "r")
    review.has({(photo, tag, 0)})
    page.wait_for_selector(f"{BANNER} :text('1 decision is kept here')")
    press(page, "u")
    expect(page.locator(TOAST, has_text=MAY_HAVE)).to_be_visible()
    expect(page.locator(TOAST, has_text="before it was sent")).to_have_count(0)
    page.wait_for_selector(f"{BANNER} :text('1 decision will be taken back when it is back')")
    page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='open']")
    assert (photo, tag, 0) in review.standing()
    page.evaluate("window.tagloomBack()")
    review.has_not({(photo, tag, 0)})
    expect(page.locator(TOAST, has_text="Undone: ")).to_be_visible()
    expect(page.locator(BANNER)).to_have_count(0)
    page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='open']")


def test_what_did_not_reach_the_server_is_found_out(review):
    page, _, photo = _lens(review)
    before, n_batches = review.standing(), len(review.project.history(1000))
    page.evaluate(_LOSE, False)
    press(page, "r")
    page.wait_for_selector(f"{BANNER} :text('1 decision is kept here')")
    page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='no']")
    press(page, "u")
    expect(page.locator(TOAST, has_text=MAY_HAVE)).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())  # something is kept here, the browser warns
    page.reload()
    expect(page.locator(TOAST, has_text="It was never saved")).to_be_visible()
    assert review.standing() == before
    assert len(review.project.history(1000)) == n_batches


def test_what_never_left_is_taken_back_at_once(review):
    page, tag, first = _lens(review)
    page.evaluate(_LOSE, False)
    press(page, "r")
    page.wait_for_selector(f"{BANNER} :text('1 decision is kept here')")
    second = active(page)
    press(page, "r")
    page.wait_for_selector(f"{CELL}[data-photo='{second}'][data-state='no']")
    press(page, "u")
    expect(page.locator(TOAST, has_text="Undone before it was sent")).to_be_visible()
    page.wait_for_selector(f"{CELL}[data-photo='{second}'][data-state='open']")
    page.wait_for_selector(f"{CELL}[data-photo='{first}'][data-state='no']")
    page.evaluate("window.tagloomBack()")
    review.has({(first, tag, 0)})
    assert (second, tag, 0) not in review.standing()


def test_an_action_that_is_sent_again_is_one_and_can_be_undone(review):
    page, tag, first = _lens(review)
    before, n_batches = review.standing(), len(review.project.history(1000))
    press(page, "Space", "ArrowRight", "Space")
    page.wait_for_selector(":text('2 photos selected')")
    page.evaluate(_LOSE, True)
    press(page, "a")
    review.has({(first, tag, 1)})
    page.wait_for_selector(f"{BANNER} :text('1 decision is kept here')")
    page.evaluate("window.tagloomBack()")
    expect(page.locator(BANNER)).to_have_count(0)
    assert len(review.project.history(1000)) == n_batches + 1
    page.locator(TOAST, has_text="on 2 photos").get_by_role("button").click()
    expect(page.locator(TOAST, has_text="Undone: ")).to_be_visible()
    until(page, lambda: review.standing() == before, "both are open again")


def test_a_late_answer_does_not_bring_back_what_was_decided(review):
    numbers = open_suggestions(review.store)
    photo = int(numbers.photo_ids[numbers.above.any(axis=1)][0])
    page = review.open(f"/photo/{photo}")
    page.wait_for_selector(SUGGESTION)
    tag = int(page.locator(SUGGESTION).first.get_attribute("data-tag"))
    page.evaluate(_HOLD, f"/api/v1/photo/{photo}")
    page.evaluate("import('/static/js/net/state.js').then(({ store }) => store.emit('learned', { tags: null }))")
    until(page, lambda: page.evaluate("window.held.length === 1"), "the photo is asked for again, and answered")
    press(page, "a")
    review.has({(photo, tag, 1)})
    until(page, lambda: page.evaluate(_SETTLED), "the page knows that it is stored")
    page.evaluate(_WATCH, tag)
    page.evaluate("window.held[0]()")  # as the server knew it before the decision
    until(page, lambda: page.evaluate("window.held.length > 1"), "the photo is asked for once more")
    page.evaluate("window.letThrough()")
    page.wait_for_selector(f".tag-row.has[data-tag='{tag}']")
    page.wait_for_selector(".photo-history :text('label 1 photo')", state="attached")
    assert page.evaluate("window.broughtBack") == 0


def test_what_is_taken_back_is_a_suggestion_again_in_the_view_of_its_photo(review):
    numbers = open_suggestions(review.store)
    photo = int(numbers.photo_ids[numbers.above.any(axis=1)][0])
    page = review.open(f"/photo/{photo}")
    page.wait_for_selector(SUGGESTION)
    tags = page.locator(SUGGESTION).evaluate_all("(nodes) => nodes.map((node) => node.dataset.tag)")
    page.evaluate(_LOSE, False)
    press(page, "a")
    page.wait_for_selector(f".tag-row.has[data-tag='{tags[0]}']")
    page.wait_for_selector(f"{BANNER} :text('1 decision is kept here')")
    press(page, "u")
    expect(page.locator(f".tag-row.has[data-tag='{tags[0]}']")).to_have_count(0)
    assert page.locator(SUGGESTION).evaluate_all("(nodes) => nodes.map((node) => node.dataset.tag)") == tags
    page.evaluate("window.tagloomBack()")
    expect(page.locator(BANNER)).to_have_count(0)


#: Decisions and new tags are refused with a status, until `tagloomBack` is called.
_REFUSE = """({ status, error }) => {
  const real = window.fetch;
  window.fetch = async (path, init) => {
    if (init?.method !== "POST") return real(path, init);
    return new Response(JSON.stringify({ error }), { status, headers: { "Content-Type": "application/json" } });
  };
  window.tagloomBack = async () => {
    window.fetch = real;
    (await import("/static/js/net/outbox.js")).outbox.flush();
  };
}"""


def test_what_cannot_be_stored_now_is_kept_and_sent_again(review):
    error = "the disk is full"
    page, tag, photo = _lens(review)
    before = review.standing()
    page.evaluate(_REFUSE, {"status": 507, "error": error})
    press(page, "r")
    page.wait_for_selector(f"{BANNER} :text('{error.capitalize()}.')")
    page.wait_for_selector(f"{BANNER} :text('1 decision is kept here and will be sent when they can be stored')")
    page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='no']")
    assert review.standing() == before
    press(page, "t")
    page.keyboard.type("a tag for later")
    page.wait_for_selector("[data-testid=tag-option][aria-selected=true]")
    press(page, "Enter")
    expect(page.locator(TOAST, has_text=error.capitalize())).to_be_visible()
    expect(page.locator("[data-testid=tag-input]:focus, dialog [data-testid=tag-input]")).to_have_value(
        "a tag for later"
    )
    press(page, "Escape")
    page.evaluate("window.tagloomBack()")
    review.has({(photo, tag, 0)})
    expect(page.locator(BANNER)).to_have_count(0)
