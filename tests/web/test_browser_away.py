"""A server that goes away and comes back, or another one in its place; and more tabs than a browser has connections."""

import re
import shutil

import pytest
from playwright.sync_api import expect

from tagloom.project.project import Project
from tests.web.browsing import (
    CAN_WRITE,
    CELL,
    GRID,
    Server,
    active,
    holds,
    press,
    ready,
    serving,
    until,
    visiting_page,
)
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium

BANNER = "#banner:not([hidden])"
#: More than the six connections that browsers hold to one server.
N_TABS = 8
_PAGES = ("grid/lens", "photo/page", "teach/page", "ui/history", "ui/write")
_ALL_READ = f"""{[f"/static/js/{name}.js" for name in _PAGES]}.every((path) =>
  performance.getEntriesByName(location.origin + path).some((entry) => entry.responseEnd > 0))"""


@pytest.fixture
def photos(album, tmp_path):
    return shutil.copytree(album, tmp_path / "photos")


def _log(photos):
    """Return how many decisions the store of a project holds."""
    with Project.open(photos, flags=FLAGS) as project:
        return project.store.decisions.count()


def _without_errors_of_the_net(visit):
    """See that nothing but requests went wrong while the server was away, locked or another one."""
    assert [error for error in visit.errors if "Failed to load resource" not in error] == []
    visit.errors.clear()


def test_unsent_decisions_reach_their_own_project_only(browser, photos, tmp_path):
    copy = shutil.copytree(photos, tmp_path / "copy")  # the same ids mean the same photos there
    before = _log(photos)
    assert _log(copy) == before
    server = Server(photos, flags=FLAGS)
    try:
        with visiting_page(browser, server) as visit:
            page = visit.open("/tag/16")
            first = active(page)
            server.kill()
            press(page, "r")
            page.wait_for_selector(f"{CELL}[data-photo='{first}'][data-state='no']")
            page.wait_for_selector(f"{BANNER} :text('1 decision is kept here')")

            server = visit.server = Server(copy, port=server.port, flags=FLAGS)
            other = visit.context.new_page()
            other.goto(server.address)
            ready(other)
            page.wait_for_selector(f"{BANNER} :text('Another project is reviewed here now (copy)')")
            page.wait_for_selector(f"{BANNER} :text('will be sent when “photos” is reviewed here again')")
            expect(page.locator(".project-name")).to_have_text("photos")
            # The tab itself goes to the other project, and keeps what is not that one's.
            page.on("dialog", lambda dialog: dialog.accept())
            page.goto(server.address)
            ready(page)
            page.wait_for_selector("[data-testid=toast] :text('1 decision of “photos” is kept in this tab')")
            expect(page.locator(BANNER)).to_have_count(0)
            assert _log(copy) == before
            server.kill()

            server = visit.server = Server(photos, port=server.port, flags=FLAGS)
            page.goto(server.address)
            ready(page)
            until(page, lambda: _log(photos) == before + 1, "the decision is in its project")
            assert _log(copy) == before
            assert holds(page, "Object.keys(sessionStorage).length === 0")
            _without_errors_of_the_net(visit)
    finally:
        server.kill()


def test_a_restart_without_a_port_takes_in_what_was_kept(browser, photos):
    before = _log(photos)
    server = Server(photos, port=None, flags=FLAGS)
    try:
        with visiting_page(browser, server) as visit:
            page = visit.open("/tag/16")
            active(page)
            port = server.port
            server.kill()
            press(page, "r")
            page.wait_for_selector(f"{BANNER} :text('1 decision is kept here')")
            server = visit.server = Server(photos, port=None, flags=FLAGS)
            assert server.port == port
            new = visit.context.new_page()  # as the command opens it; the old tab is not touched
            new.goto(server.address)
            ready(new)
            until(page, lambda: _log(photos) == before + 1, "the old tab has sent what it kept")
            expect(page.locator(BANNER)).to_have_count(0)
            _without_errors_of_the_net(visit)
    finally:
        server.kill()


@pytest.mark.slow
def test_more_tabs_than_connections(browser, photos):
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        tabs = [visit.open() for _ in range(N_TABS)]
        with Project.open(photos, flags=FLAGS) as project:  # as the command line in another window does
            project.label([1], add=["from elsewhere"])
        for tab in tabs:
            tab.wait_for_selector(f"{GRID} {CELL}[data-photo='1'] :text('from elsewhere')")
        for tab in tabs[:-1]:
            tab.close()
        with Project.open(photos, flags=FLAGS) as project:
            project.label([1], add=["and again"])
        tabs[-1].wait_for_selector(f"{GRID} {CELL}[data-photo='1'][aria-label*='and again']")


def _abort(route):
    route.abort()


def _is_back(page):
    """Let requests through again, and say so as the stream of news does."""
    page.context.unroute_all()
    page.evaluate(
        "import('/static/js/net/state.js').then(({ store }) => (store.invalidate(null), store.emit('reset')))"
    )


def test_pages_that_have_not_been_read_say_so_and_come_when_the_server_is_back(browser, photos):
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        # Both at once, with no gap between two routes: pages are read in the background, too.
        away = {"/js/ui/history.js", "/js/teach/page.js"}
        visit.context.route(
            re.compile(r"/static/js/"),
            lambda route: route.abort() if route.request.url.endswith(tuple(away)) else route.fallback(),
        )
        page = visit.open("/")
        for name, sign in (("History", "[data-testid=history] .batch"), ("Teach", ".teach-card img")):
            page.click(f"nav a:has-text('{name}')")
            page.wait_for_selector(":text('This page could not be loaded')")
            expect(page.locator(GRID)).to_have_count(0)
            expect(page.locator(f"nav a:has-text('{name}')")).to_have_attribute("aria-current", "page")
            press(page, "a", "Escape")  # of the page before; they do nothing
            if name == "History":
                away.remove("/js/ui/history.js")
                page.click("[data-testid=retry]")
                page.wait_for_selector(sign)
            else:
                _is_back(page)
                page.wait_for_selector(sign)
        _without_errors_of_the_net(visit)


def test_pages_whose_content_cannot_be_read_say_so_and_fill_when_the_server_is_back(browser, photos):
    signs = {
        "/teach": ("Questions could not be loaded", ".teach-card img.large.ready"),
        "/history": ("The history could not be loaded", "[data-testid=history] .batch"),
        "/write": ("The comparison failed", CAN_WRITE),
        "/tag/": ("Photos could not be loaded", f"[data-testid=lens] {CELL}:focus"),
    }
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        page = visit.open("/photo/7")
        until(page, lambda: page.evaluate(_ALL_READ), "all pages have been read")
        for path, (said, sign) in signs.items():
            visit.context.route("**/api/**", _abort)
            # Not by two keys: on a busy machine the second may come too late to belong to the first.
            page.click(f"nav a[href^='{path}']")
            page.wait_for_selector(f"main :text('{said}'):visible")
            _is_back(page)
            page.wait_for_selector(sign)
            expect(page.locator(f"main :text('{said}'):visible")).to_have_count(0)
        _without_errors_of_the_net(visit)


def test_a_photo_that_is_opened_while_the_server_is_away_comes_with_its_neighbours(browser, photos):
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        page = visit.open("/history")
        visit.context.route(re.compile(r"/(api|large|thumb)/"), _abort)
        page.evaluate("import('/static/js/ui/router.js').then(({ go }) => go('/photo/7'))")
        page.wait_for_selector(":text('This photo cannot be shown')")
        expect(page.locator(":text('The server does not answer')").first).to_be_visible()
        _is_back(page)
        page.wait_for_selector("[data-testid=photo-view] img.large.ready")
        page.wait_for_selector("[data-testid=photo-view] .place:text(' of ')")
        press(page, "ArrowRight")
        page.wait_for_url(lambda url: not url.endswith("/photo/7"))
        visit.context.route(re.compile(r"/large\?"), _abort)
        press(page, "End")
        page.wait_for_selector("[data-testid=photo-view] .stage-note:text('The server does not answer')")
        _is_back(page)
        page.wait_for_selector("[data-testid=photo-view] img.large.ready")
        _without_errors_of_the_net(visit)


def test_a_page_whose_project_cannot_be_read_at_first_fills_when_the_server_is_back(browser, photos):
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        visit.open("/")
        visit.context.route("**/api/**", _abort)
        page = visit.context.new_page()
        page.goto(server.base)
        page.wait_for_selector("main :text('Photos could not be loaded. The server does not answer.')")
        visit.context.unroute_all()
        page.wait_for_selector(f"{GRID} {CELL}:not([aria-label=Loading])")
        expect(page.locator(".project-name")).to_have_text("photos")
        _without_errors_of_the_net(visit)
