"""What the page shows follows what the project learns meanwhile, wherever it was learned."""

import shutil

import pytest

from tagloom.learning.suggest import open_suggestions
from tests.web.browsing import CELL, GRID, active, press, shown, until
from tests.web.test_browser_decide import ranked, reviewing, two_tags

pytestmark = pytest.mark.medium

SUGGESTION = "[data-testid=suggestion]"
#: From now on the server suggests one tag for every photo, with a number that no model gives.
_RENUMBER = """(tag) => {
  const real = window.fetch;
  window.fetch = async (path, init) => {
    const answer = await real(path, init);
    if (!path.startsWith("/api/v1/cells?")) return answer;
    const { version, cells } = await answer.json();
    const renumbered = cells.map((cell) => ({ ...cell, suggested: [[tag, 0.123]] }));
    return new Response(JSON.stringify({ version, cells: renumbered }));
  };
}"""
#: From now on every photo is in a stack of two.
_STACK = """() => {
  const real = window.fetch;
  window.fetch = async (path, init) => {
    const answer = await real(path, init);
    if (!path.startsWith("/api/v1/cells?")) return answer;
    const { version, cells } = await answer.json();
    const stacked = cells.map((cell) => ({ ...cell, stack: [cell.id, cell.id + 1000] }));
    return new Response(JSON.stringify({ version, cells: stacked }));
  };
}"""
#: The tab hears the news itself, and a test can tell it some.
_OWN_NEWS = """
delete globalThis.SharedWorker;
window.EventSource = class extends EventSource {
  constructor(address) {
    super(address);
    window.news = this;
  }
};
"""
_STORE = "import('/static/js/net/state.js').then(({ store }) => "


@pytest.fixture
def photos(album, tmp_path):
    return shutil.copytree(album, tmp_path / "photos")


@pytest.fixture
def review(photos, browser):
    with reviewing(photos, browser) as review:
        yield review


def _open_suggested(review):
    """Show the photos with suggestions: all photos are there first, and the address changes without a new page."""
    n = int(open_suggestions(review.store).above.any(axis=1).sum())
    page = review.open("/#state=suggested")
    until(page, lambda: page.evaluate("document.querySelector('tl-grid').ids.length") == n, "their order is there")
    page.wait_for_selector(f"{GRID} {CELL}:focus")
    return page


def _holding(page):
    """Hold back what the page asks of cells; return the list that the requests come to."""
    held = []
    page.route("**/api/v1/cells*", lambda route: held.append(route))
    return held


def _renumbered(page, photo):
    return page.locator(f"{GRID} {CELL}[data-photo='{photo}'][aria-label*=' 12\u00a0%']").count() == 1


def test_cells_show_what_was_learned_since(review):
    tag, _ = two_tags(review.project)
    page = review.open("/")
    last = shown(page)[-1]
    page.wait_for_selector(f"{GRID} {CELL}[data-photo='{last}']:not([aria-label=Loading])")
    page.evaluate(_RENUMBER, tag)
    assert not _renumbered(page, last)
    said = next(photo for photo in ranked(review.project, tag) if photo != last)
    review.project.label([said], remove=review.store.tags.texts([tag]))  # as the command line in another window does
    until(page, lambda: _renumbered(page, last), "a photo of which nothing was said has its new numbers")
    assert shown(page)[-1] == last


def test_a_threshold_that_is_set_elsewhere_is_seen(review):
    page = review.open("/")
    maybe = page.locator(f"{GRID} .chip.maybe:not(:empty)")
    until(page, lambda: maybe.count() > 0, "there are suggestions")
    review.project.threshold = 1.0  # as tagloom suggest --threshold 1 --remember in another window does
    until(page, lambda: maybe.count() == 0, "nothing is above it")
    until(page, lambda: page.locator(".side .todo").count() == 0, "nor is anything counted")
    review.project.threshold = None
    until(page, lambda: maybe.count() > 0, "what training chose counts again")


def test_stacks_are_shown_when_they_are_known(review):
    review.visit.context.add_init_script(_OWN_NEWS)
    page = review.open("/#stacks=1")
    until(page, lambda: page.evaluate("document.querySelector('tl-grid').context.stacks"), "its order is there")
    photo = shown(page)[-1]
    page.wait_for_selector(f"{GRID} {CELL}[data-photo='{photo}']:not([aria-label=Loading])")
    page.evaluate(_STACK)
    assert page.locator(f"{GRID} {CELL}.stacked").count() == 0
    page.evaluate("window.news.dispatchEvent(new MessageEvent('looks', { data: '{}' }))")
    page.wait_for_selector(f"{GRID} {CELL}[data-photo='{photo}'].stacked")
    page.wait_for_selector(".new-order:not([hidden])")


def test_what_happens_before_the_news_are_heard_is_seen(review):
    review.visit.context.add_init_script(_OWN_NEWS)
    held = []
    review.visit.context.route("**/api/v1/events*", lambda route: held.append(route))
    page = review.open("/")
    photo = shown(page)[-1]
    page.wait_for_selector(f"{GRID} {CELL}[data-photo='{photo}']:not([aria-label=Loading])")
    review.project.label([photo], add=["from elsewhere"])
    known = "fetch('/api/v1/project').then((answer) => answer.text()).then((text) => text.includes('from elsewhere'))"
    until(page, lambda: page.evaluate(known), "the server knows of it")
    for route in held:
        route.continue_()
    page.wait_for_selector(f"{GRID} {CELL}[data-photo='{photo}'] :text('from elsewhere')")


def test_what_was_shown_is_accepted_while_numbers_are_read_again(review):
    tag, other = two_tags(review.project)
    page = _open_suggested(review)
    photo = active(page)
    page.wait_for_selector(f"{CELL}[data-photo='{photo}']:not([aria-label=Loading])")
    best = page.evaluate(f"{_STORE} store.cells.get({photo}).suggested[0][0])")
    page.evaluate(_RENUMBER, other if best == tag else tag)
    held = _holding(page)
    page.evaluate(f"{_STORE} store.age())")
    until(page, lambda: held, "the cells are asked for again")
    press(page, "a")
    review.has({(photo, best, 1)})
    for route in held:
        route.continue_()
    page.unroute_all()


def test_the_mark_of_the_photo_view_stays_on_its_tag(review):
    """Numbers that were learned put the suggestions in another order: the key still means the tag that was marked."""
    tag, other = two_tags(review.project)
    photo = int(review.store.photos.table().ids[-1])
    page = review.visit.context.new_page()
    order = [[tag, 0.9], [other, 0.8]]
    page.route(f"**/api/v1/photo/{photo}", lambda route: _with_suggestions(route, order))
    page.goto(review.visit.server.address)
    page.goto(f"{review.visit.server.base}/photo/{photo}")
    review.page = page
    page.wait_for_selector(f"{SUGGESTION}.current[data-tag='{tag}']")
    order.reverse()
    page.evaluate(f"{_STORE} store.emit('learned', {{ tags: null }}))")
    page.wait_for_selector(f"{SUGGESTION}:first-child[data-tag='{other}']")
    page.wait_for_selector(f"{SUGGESTION}.current[data-tag='{tag}']")
    page.unroute_all()
    press(page, "a")
    review.has({(photo, tag, 1)})


def _with_suggestions(route, order):
    answer = route.fetch()
    route.fulfill(response=answer, json=answer.json() | {"suggested": order})
