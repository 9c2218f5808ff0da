"""A server that goes away and comes back, or another one in its place; and more tabs than a browser has connections."""

import shutil

import pytest
from playwright.sync_api import expect

from tagloom.workflow.project import Project
from tests.web.browsing import (
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


_WANT = """async ([status, ids]) => {
  const { store } = await import("/static/js/state.js");
  const real = window.fetch;
  const asked = [];
  window.fetch = (path) => {
    asked.push(path);
    return Promise.resolve(new Response('{"error": "refused"}', { status }));
  };
  store.invalidate(ids);
  store.want(ids);
  while (!asked.length) await new Promise((resolve) => setTimeout(resolve, 10));
  await new Promise((resolve) => setTimeout(resolve, 100));
  window.fetch = real;
  return asked;
}"""


def test_a_refusal_of_all_photos_is_not_asked_for_one_by_one(browser, photos):
    """Only a photo that is gone is looked for among those that were asked for with it."""
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        page = visit.open("/history")
        assert page.evaluate(_WANT, [412, [1, 2, 3, 4]]) == ["/api/cells?ids=1,2,3,4"]
        each = {f"/api/cells?ids={photo}" for photo in (1, 2, 3, 4)}
        assert each < set(page.evaluate(_WANT, [404, [1, 2, 3, 4]]))
