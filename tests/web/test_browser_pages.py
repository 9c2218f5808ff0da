"""Every page in a browser: accessible in both themes, usable on a phone, silent in the console, text stays text."""

import shutil

import pytest
from axe_playwright_python.sync_playwright import Axe

from tagloom.project.project import Project
from tests.web.browsing import CAN_WRITE, CELL, GRID, active, holds, load, press, serving, shown, until, visiting_page
from tests.web.conftest import FLAGS, MARKUP

pytestmark = pytest.mark.medium

READY = {
    "grid": ("/", f"{GRID} img.ready"),
    "lens": ("/tag/16", f"[data-testid=lens] {CELL}:focus"),
    "photo": ("/photo/7", "[data-testid=photo-view] img.large.ready"),
    "unsure photo": ("/photo/1", ".tag-row.unsure"),
    "unsure grid": ("/#unsure=1", f"{CELL} .chip.unsure:not(:empty)"),
    "teach": ("/teach", ".teach-card img.large.ready"),
    "new tag": ("/teach#mode=new", "[data-testid=new-tag-name]:focus"),
    "examples": ("/teach#mode=new&tag=3", f"{CELL}:focus"),
    "history": ("/history", "[data-testid=history] .batch"),
    "write": ("/write", CAN_WRITE),
}
OVERLAYS = {"keys": ("/", "?", "[data-testid=help]"), "above": ("/tag/16", "A", "[data-testid=expected-precision]")}
DIALOGS = {
    "add": ("/", "t", "dialog [data-testid=tag-option]"),
    "edit": ("/", "e", "[data-testid=bulk]"),
    "why": ("/#state=suggested", "w", ".why section"),
}
#: What reaches beyond the window, or scrolls sideways by itself.
_TOO_WIDE = """() => {
  const wide = [...document.querySelectorAll("body *")].filter((node) => {
    const box = node.getBoundingClientRect();
    if (!box.width || !box.height || node.closest(".hidden, .skip")) return false;
    const mayScroll = ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
    if (mayScroll && node.scrollWidth > node.clientWidth + 1) return true;
    return node.matches("button, a, input, select, [role=gridcell]") && box.right > innerWidth + 1;
  });
  const page = document.scrollingElement;
  return [page.scrollWidth > innerWidth ? "page" : "", ...wide.map((node) => `${node.tagName}.${node.className}`)]
    .filter(Boolean);
}"""

#: What of a dialog reaches beyond it, or scrolls sideways.
_CUT = """() => {
  const dialog = document.querySelector("dialog[open]");
  const { left, right } = dialog.getBoundingClientRect();
  return [...dialog.querySelectorAll(":not(.toasts)")]
    .filter((node) => {
      const box = node.getBoundingClientRect();
      const isOut = box.width > 0 && (box.left < left || box.right > right);
      const mayScroll = ["auto", "scroll"].includes(getComputedStyle(node).overflowX);
      return isOut || (mayScroll && node.scrollWidth > node.clientWidth);
    })
    .map((node) => `${node.tagName}.${node.className} ${node.textContent.slice(0, 20)}`);
}"""
_BAD = """() => {
  const words = document.createElement("p");
  words.textContent = "hard to read";
  words.style.color = "rgb(140, 140, 140)";
  words.style.backgroundColor = "rgb(120, 120, 120)";
  document.querySelector(".dialog-body").append(new Image(), words);
}"""


@pytest.fixture(scope="module")
def server(album, tmp_path_factory):
    photos = shutil.copytree(album, tmp_path_factory.mktemp("pages") / "photos")
    with serving(photos, flags=FLAGS) as server:
        yield server


def _serious(page):
    found = Axe().run(page).response["violations"]
    return [
        (item["id"], item["impact"], [(node["target"], node.get("failureSummary")) for node in item["nodes"]][:3])
        for item in found
        if item["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("theme", ["dark", pytest.param("light", marks=pytest.mark.slow)])
def test_axe_finds_nothing_serious(browser, server, theme):
    with visiting_page(browser, server, color_scheme=theme, reduced_motion="reduce") as visit:
        page = visit.open()
        found = {}
        for name, (path, sign) in READY.items():
            load(page, server.base + path)
            page.wait_for_selector(sign)
            found[name] = _serious(page)
        for name, (path, key, sign) in OVERLAYS.items():
            load(page, server.base + path)
            active(page)
            press(page, key)
            page.wait_for_selector(sign)
            found[name] = _serious(page)
        page.evaluate(_BAD)
        assert {rule for rule, *_ in _serious(page)} == {"image-alt", "color-contrast"}  # axe does see this page
    assert found == {name: [] for name in found}


def test_nothing_is_wider_than_a_phone(browser, server):
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    with visiting_page(browser, server, **phone) as visit:
        page = visit.open()
        found = {}
        for name, (path, sign) in READY.items():
            load(page, server.base + path)
            page.wait_for_selector(sign)
            found[name] = page.evaluate(_TOO_WIDE)
    assert found == {name: [] for name in found}


def test_dialogs_fit_a_phone(browser, server):
    phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
    with visiting_page(browser, server, **phone) as visit:
        page = visit.open("/tag/16")
        found = {}
        page.click("button:has-text('Rename, merge')")
        page.wait_for_selector("dialog[open]")
        found["tag"] = page.evaluate(_CUT)
        page.locator("dialog [role=combobox]").last.click()
        page.wait_for_selector("dialog [data-testid=tag-option]")
        found["tag, with a list"] = page.evaluate(_CUT)
        for name, (path, key, sign) in (OVERLAYS | DIALOGS).items():
            load(page, server.base + path)
            active(page)
            press(page, key)
            page.wait_for_selector(sign)
            found[name] = page.evaluate(_CUT)
    assert found == {name: [] for name in found}


def test_two_tabs_see_each_others_decisions(browser, server):
    with visiting_page(browser, server) as visit:
        here, there = visit.open("/tag/16"), visit.open("/tag/16")
        photo = active(here)
        assert active(there) == photo
        press(here, "r")
        there.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='no']")
        before = shown(there)
        there.wait_for_selector(".new-order:not([hidden])")
        assert (active(there), shown(there)) == (photo, before)  # nothing moves under the cursor by itself
        press(there, "u")
        here.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='open']")
        press(there, ".")
        until(there, lambda: there.is_hidden(".new-order"), "the new order is shown")
        assert photo in shown(there)


def test_a_decision_shows_before_the_photo_has_come(browser, server):
    with visiting_page(browser, server) as visit:
        page = visit.open()
        held, released = [], []
        page.route("**/api/v1/cells*", lambda route: route.continue_() if released else held.append(route))
        load(page, server.base + "/tag/16")
        photo = active(page)
        press(page, "r")
        page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='no'][aria-label='Loading']")
        released.append(True)
        for route in held:
            route.continue_()
        page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='no']:not([aria-label='Loading'])")
        press(page, "u")
        page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='open']")


def test_why_is_answered_for_a_photo_that_has_not_come(browser, server):
    with visiting_page(browser, server) as visit:
        page = visit.open()
        held = []
        page.route("**/api/v1/cells*", lambda route: route.fallback() if len(held) > 1 else held.append(route))
        load(page, server.base + "/#state=suggested")
        active(page)
        until(page, lambda: held, "the photos on the screen are asked for")
        press(page, "w")
        until(page, lambda: len(held) > 1, "the photo is asked for")
        for route in reversed(held):
            route.continue_()
        page.wait_for_selector(".why section")


def test_markup_is_text(browser, photos):
    with Project.open(photos, flags=FLAGS) as project:
        number = project.store.tags.numbers([MARKUP])[0]
        (photo,) = project.store.photos.find([f"{MARKUP}.jpg".encode()]).values()
        project.label([photo], add=[MARKUP], who=MARKUP)
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        page = visit.open(f"/photo/{photo}")
        page.wait_for_selector(f".tag-row [href='/tag/{number}']")
        assert page.inner_text("h1") == f"{MARKUP}.jpg"
        assert page.inner_text(f".tag-row [href='/tag/{number}']") == MARKUP
        assert MARKUP in page.title()
        press(page, "t")
        page.keyboard.type("<img")
        page.wait_for_selector("[data-testid=tag-option]")
        offered = page.locator("[data-testid=tag-option]").all_inner_texts()
        assert offered[0] == "New tag “<img”"
        assert MARKUP in offered[1]
        for path, sign in (
            (f"/tag/{number}", "[data-testid=lens] h1"),
            ("/history", "[data-testid=history] .batch"),
            ("/write", "[data-testid=write-plan] .file"),
        ):
            load(page, server.base + path)
            assert MARKUP in page.wait_for_selector(sign).inner_text()
        assert holds(page, "document.querySelectorAll('img[src=x]').length === 0")
