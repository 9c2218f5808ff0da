"""Answers that are lost on their way, or come late: the page says and shows what is true."""

import shutil

import pytest
from playwright.sync_api import expect

from tests.web.browsing import CELL, active, press, until
from tests.web.test_browser_decide import LENS, TOAST, reviewing, two_tags

pytestmark = pytest.mark.medium

BANNER = "#banner:not([hidden])"
MAY_HAVE = "It may have reached the server"
#: From now on the server is away. Where `carried`, decisions reach it all the same, and their answers do not come.
_LOSE = """(carried) => {
  const real = window.fetch;
  window.fetch = async (path, init) => {
    if (carried && path === "/api/decide") await real(path, init);
    throw new TypeError("the connection broke");
  };
  window.tagloomBack = async () => {
    window.fetch = real;
    (await import("/static/js/outbox.js")).outbox.flush();
  };
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
    expect(page.locator(TOAST, has_text="It had not been done")).to_be_visible()
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
    expect(page.locator(TOAST, has_text="Taken back before it was sent")).to_be_visible()
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
