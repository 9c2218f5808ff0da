"""Keys, focus and room: where keys lead, what keeps the focus, and what is seen in a low window or over a dialog."""

import shutil

import pytest
from playwright.sync_api import expect

from tagloom.project.project import Project
from tests.web.browsing import (
    CAN_WRITE,
    CELL,
    active,
    at,
    cursor_on,
    holds,
    load,
    press,
    ready,
    serving,
    shown,
    visiting_page,
)
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium

TOAST = "[data-testid=toast]"
BULK = "[data-testid=bulk]"
_ON_TOP = """(node) => {
  const box = node.getBoundingClientRect();
  return node.contains(document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2));
}"""
_AT_ONCE = """(keys) => {
  for (const key of keys) document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}"""
_LATEST = "fetch('/api/v1/history?limit=1').then((answer) => answer.json()).then(({ batches }) => batches[0].id)"
LONG = "a rather long name of a tag, as somebody makes one who does not think of the page that has to show it"


@pytest.fixture(scope="module")
def server(album, tmp_path_factory):
    photos = shutil.copytree(album, tmp_path_factory.mktemp("keys") / "photos")
    with Project.open(photos, flags=FLAGS) as project:
        project.store.tags.rename(5, LONG)
    with serving(photos, flags=FLAGS) as server:
        yield server


def _by_path(page):
    """Return all photos in the order of their paths."""
    return page.evaluate(
        """async () => {
          const buffer = await (await fetch("/api/v1/ranking")).arrayBuffer();
          const length = new DataView(buffer).getUint32(0, true);
          return [...new Int32Array(buffer, Math.ceil((4 + length) / 4) * 4)];
        }"""
    )


def test_the_skip_link_leads_to_the_photos_and_keeps_the_filters(visit):
    page = visit.open("/#state=rejected")
    expect(page.locator(".found")).to_have_text("24 photos")  # the labelled ones
    page.locator(".skip").focus()
    press(page, "Enter")
    cursor_on(page, shown(page)[0])
    assert page.url.endswith("/#state=rejected")
    assert page.inner_text(".found") == "24 photos"


def test_esc_leaves_the_search_for_the_photos(visit):
    page = visit.open()
    press(page, "/")
    page.keyboard.type("00007")
    expect(page.locator(".found")).to_have_text("1 photo")
    page.keyboard.type("x")
    press(page, "Escape")
    expect(page.locator("[data-testid=search]")).to_have_value("00007")  # what is searched for, and nothing else
    cursor_on(page, shown(page)[0])
    expect(page.locator(".found")).to_have_text("1 photo")


def test_keys_of_the_browser_are_left_to_it(visit):
    page = visit.open()
    ids = _by_path(page)
    page.evaluate("window.taken = []")
    page.evaluate("addEventListener('keydown', (event) => taken.push(event.defaultPrevented))")
    cursor_on(page, ids[0])
    press(page, "ArrowRight", "Enter")
    at(page, f"/photo/{ids[1]}")
    page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    # A browser without a window has no way back by keys; that the page leaves them alone can be seen all the same.
    press(page, "Alt+ArrowLeft")
    assert page.evaluate("taken.at(-1)") is False
    at(page, f"/photo/{ids[1]}")
    press(page, "ArrowLeft")
    at(page, f"/photo/{ids[0]}")
    assert page.evaluate("taken.at(-1)") is True


def test_keys_of_the_grid_lead_from_photo_to_photo_too(visit, server):
    page = visit.open()
    ids = _by_path(page)
    unsaid = page.evaluate(
        "(ids) => fetch(`/api/v1/cells?ids=${ids.join()}`).then((answer) => answer.json())"
        ".then(({ cells }) => cells.filter((cell) => !cell.reviewed).map((cell) => cell.id))",
        ids,
    )
    load(page, f"{server.base}/photo/{ids[3]}")
    page.wait_for_selector(".place:text-is('4 of 60')")
    press(page, "End")
    at(page, f"/photo/{ids[-1]}")
    press(page, "Home")
    at(page, f"/photo/{ids[0]}")
    page.wait_for_selector(".place:text-is('1 of 60')")
    press(page, "n")
    at(page, f"/photo/{next(photo for photo in ids[1:] if photo in unsaid)}")
    press(page, "e")
    page.wait_for_selector(f"{BULK} :text('Tags of 1 photo')")


def _opened_from_the_grid(visit):
    """Open two photos, one after the other, from a grid with a filter that was reached from the lens."""
    page = visit.open("/tag/16")
    active(page)
    press(page, "g", "g")
    at(page, "/")
    page.evaluate("window.since = history.length")
    first, second = _by_path(page)[:2]
    cursor_on(page, first)
    press(page, "Enter")
    at(page, f"/photo/{first}")
    page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    press(page, "ArrowRight")
    at(page, f"/photo/{second}")
    return page, second


def test_the_way_back_does_not_open_again_what_esc_has_closed(visit):
    page, photo = _opened_from_the_grid(visit)
    before = page.evaluate(_LATEST)
    page.evaluate(_AT_ONCE, ["Escape", "Escape", "ArrowRight", "a"])  # more than needed, before anything has happened
    at(page, "/")
    cursor_on(page, photo)
    page.go_back()
    at(page, "/tag/16")
    page.go_forward()
    at(page, "/")
    page.go_forward()
    at(page, f"/photo/{photo}")
    press(page, "Escape")
    at(page, "/")
    assert page.evaluate("history.length - since") == 1
    assert page.evaluate(_LATEST) == before


def test_a_photo_is_closed_after_a_reload_too(visit):
    page, _ = _opened_from_the_grid(visit)
    page.reload()
    ready(page)
    page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    press(page, "Escape", "g", "h")  # where the keys lead is where one ends
    at(page, "/history")
    page.go_back()
    at(page, "/")
    page.go_back()
    at(page, "/tag/16")


def test_a_photo_that_was_opened_by_its_address_is_closed_for_the_grid(visit, server):
    page = visit.open("/history")
    load(page, f"{server.base}/photo/7")
    page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    press(page, "Escape")
    at(page, "/")
    page.go_back()
    at(page, "/history")


def test_a_photo_is_closed_for_the_page_it_was_opened_from(visit):
    page = visit.open("/write")
    page.wait_for_selector(CAN_WRITE)
    page.locator("[data-testid=write-plan] a.file-name").first.click()
    page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    press(page, "Escape")
    at(page, "/write")


def test_esc_leaves_the_examples_of_a_new_tag_for_good(visit):
    page = visit.open("/history")
    press(page, "g", "t")
    page.click("[data-testid=new-tag]")
    page.wait_for_selector("[data-testid=new-tag-name]:focus")
    page.keyboard.type("left soon")
    page.wait_for_selector("[data-testid=tag-option]")
    press(page, "Enter")
    page.wait_for_selector(f"{CELL}:focus")
    press(page, "Escape")
    at(page, "/teach")
    page.go_back()
    at(page, "/history")


def test_nothing_to_redo_is_no_error(visit):
    page = visit.open()
    cursor_on(page, shown(page)[0])
    press(page, "U")
    expect(page.locator(TOAST, has_text="Nothing to redo.")).to_be_visible()


def test_a_button_that_has_done_its_work_keeps_the_focus(visit):
    page = visit.open()
    first = shown(page)[0]
    cursor_on(page, first)
    press(page, "t")
    page.wait_for_selector("dialog [data-testid=tag-input]:focus")
    page.keyboard.type("to be undone")
    press(page, "Enter")
    page.wait_for_selector(f"{CELL}[data-photo='{first}'] :text('to be undone')")
    press(page, "u", "g", "h")
    redo = page.locator(".page-actions").get_by_role("button", name="Redo")  # and not the one of the bar
    expect(redo).to_be_enabled()
    redo.focus()
    press(page, "Enter")
    expect(redo).to_be_disabled()
    expect(redo).to_be_focused()
    press(page, "u")
    expect(redo).to_be_enabled()


def test_a_plain_click_drops_the_selection(visit):
    page = visit.open()
    first, second, third = shown(page)[:3]
    for photo in (first, second):
        page.click(f"{CELL}[data-photo='{photo}']", modifiers=["Control"])
    page.wait_for_selector(".actions :text('2 photos selected')")
    page.click(f"{CELL}[data-photo='{third}']")
    expect(page.locator(f"{CELL}[aria-selected=true]")).to_have_count(0)
    cursor_on(page, third)


def test_a_refusal_is_said_above_the_dialog(visit):
    page = visit.open("/tag/16")
    active(page)
    other = page.evaluate("fetch('/api/v1/project').then((answer) => answer.json()).then(({ tags }) => tags[0].text)")
    page.click(":text('Rename, merge')")
    page.fill("dialog label:has-text('New name') input", other)
    press(page, "Enter")
    refusal = page.wait_for_selector(f"{TOAST}.bad")
    assert page.evaluate("document.querySelector('dialog[open] .toasts .toast') !== null")  # the rest is inert
    holds(page, "document.querySelector('.toast.bad').getAnimations().length === 0")
    assert refusal.evaluate(_ON_TOP)
    press(page, "Escape")
    page.wait_for_selector(f"#toasts {TOAST}.bad")  # it outlives the dialog
    visit.errors.clear()  # the browser writes down that a request was refused


def test_the_focus_outlives_a_message(visit):
    page = visit.open()
    cursor_on(page, shown(page)[0])
    press(page, " ", "ArrowRight", " ")
    page.wait_for_selector(".actions :text('2 photos selected')")
    press(page, "t")
    page.wait_for_selector("dialog [data-testid=tag-input]:focus")
    page.keyboard.type("sky")
    page.click("[data-testid=tag-option]:has-text('sky') >> nth=0")
    page.click(f"{TOAST} button:has-text('Undo')")
    active(page)


def test_counts_of_a_selection_follow_what_is_decided(visit):
    page = visit.open()
    cursor_on(page, shown(page)[0])
    press(page, " ", "ArrowRight", " ", "e")
    row = page.locator(f"{BULK} li:has-text('both of them')")
    for _ in range(2):
        page.locator(f"{BULK} [data-testid=tag-input]").focus()
        page.keyboard.type("both of them")
        page.wait_for_selector("[data-testid=tag-option][aria-selected=true]:has-text('both of them')")
        press(page, "Enter")
        expect(row).to_contain_text("on 2 of 2")
        row.locator("button:has-text('On none')").click()
        expect(row).to_contain_text("on 0 of 2")


@pytest.mark.parametrize(("n", "said"), [(0, "is ranked now"), (3, "has suggestions now")])
def test_suggestions_of_a_new_tag_are_promised_only_where_there_are_any(visit, n, said):
    def counted(route):
        answer = route.fetch()
        found = answer.json()
        for tag in found["tags"]:
            tag["n_suggested"] = n
        route.fulfill(response=answer, json=found)

    page = visit.open()
    page.route("**/api/v1/project", counted)
    press(page, "g", "t")
    page.click("[data-testid=new-tag]")
    page.wait_for_selector("[data-testid=new-tag-name]:focus")
    page.keyboard.type(f"new with {n}")
    page.wait_for_selector("[data-testid=tag-option]")
    press(page, "Enter")
    page.wait_for_selector(f"{CELL}:focus")
    press(page, *["a"] * 5)
    page.wait_for_selector(f"{TOAST} :text('“new with {n}” {said}')")
    page.unroute_all(behavior="ignoreErrors")


@pytest.mark.parametrize("tag", [16, 5])
def test_a_low_window_shows_whole_photos_in_the_lens(browser, server, tag):
    with visiting_page(browser, server, viewport={"width": 640, "height": 400}) as visit:  # 1280 × 800 at 200 %
        page = visit.open(f"/tag/{tag}")
        active(page)
        assert len(shown(page)) >= 3
        for testid in ("accept", "reject", "accept-above"):
            assert page.locator(f"[data-testid={testid}]").evaluate(_ON_TOP)
        assert page.locator("[data-testid=lens] h1").evaluate("(node) => node.clientWidth > 20")
