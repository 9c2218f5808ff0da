"""The tags that are listed and completed: those in use; and Tab, which completes what was typed."""

import shutil

import pytest
from playwright.sync_api import expect

from tagloom.project.project import Project
from tests.web.browsing import CELL, active, at, cursor_on, load, press, ready, serving, shown, until
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium

BOX = "[data-testid=tag-input]"
OPTION = "[data-testid=tag-option]"
PICTURE = "[data-testid=photo-view] img.large.ready"


@pytest.fixture
def photos(album, tmp_path):
    return shutil.copytree(album, tmp_path / "photos")


@pytest.fixture
def server(photos):
    with serving(photos, flags=FLAGS) as server:
        yield server


@pytest.fixture
def store(photos, server):
    with Project.open(photos, flags=FLAGS) as project:
        yield project.store


def _offered(page, typed):
    """Type into the box of the dialog for a tag; return the tags that are offered, and leave it."""
    press(page, "t")
    page.wait_for_selector(f"dialog {BOX}:focus")
    page.keyboard.type(typed)
    page.wait_for_selector(f"dialog {OPTION} :text('{typed}')")
    found = page.locator(f"dialog {OPTION}").all_inner_texts()
    press(page, "Escape", "Escape")
    until(page, lambda: page.locator("dialog").count() == 0, "the box is gone")
    return found


def _has(store, text, n):
    return lambda: [tag.n_yes for tag in store.tags.all() if tag.text == text] == [n]


def test_a_tag_of_which_nothing_stands_is_not_offered_and_keeps_its_name(visit, server, store):
    page, other = visit.open(), visit.open()
    cursor_on(page, shown(page)[0])
    press(page, "t")
    page.wait_for_selector(f"dialog {BOX}:focus")
    page.keyboard.type("zzyx")
    press(page, "Enter")
    link = ".side-list a:has-text('zzyx')"
    for tab in (page, other):
        expect(tab.locator(link)).to_have_count(1)
    cursor_on(page, shown(page)[0])
    press(page, "u")
    until(page, _has(store, "zzyx", 0), "it is undone")
    for tab in (page, other):
        expect(tab.locator(link)).to_have_count(0)
    assert _offered(page, "zzy") == ["New tag “zzy”"]
    number = store.tags.numbers(["zzyx"])[0]
    load(other, f"{server.base}/tag/{number}")
    expect(other.locator("[data-testid=lens] h1")).to_have_text("zzyx")
    press(page, "U")
    until(page, _has(store, "zzyx", 1), "it is done again")
    for tab in (page, other):
        expect(tab.locator(link)).to_have_count(1)
    assert "zzyx" in _offered(page, "zzy")[1]
    press(page, "u")
    until(page, _has(store, "zzyx", 0), "it is undone again")
    expect(page.locator(link)).to_have_count(0)
    press(page, "t")
    page.wait_for_selector(f"dialog {BOX}:focus")
    page.keyboard.type("zzyx")
    press(page, "Enter")
    until(page, _has(store, "zzyx", 1), "the tag of that name is used again")
    expect(page.locator(link)).to_have_count(1)


def test_the_examples_of_a_new_tag_outlive_a_reload_before_the_first(visit, store):
    page = visit.open("/teach#mode=new")
    page.wait_for_selector("[data-testid=new-tag-name]:focus")
    page.keyboard.type("not yet used")
    page.wait_for_selector(OPTION)
    press(page, "Enter")
    page.wait_for_selector(f"{CELL}:focus")
    page.reload()
    ready(page)
    expect(page.locator("h2:visible", has_text="not yet used")).to_be_visible()
    active(page)
    press(page, "a")
    until(page, _has(store, "not yet used", 1), "the example is stored")


def test_tab_completes_what_was_typed(visit, store):
    photo = int(store.photos.table().ids[-1])
    page = visit.open(f"/photo/{photo}")
    page.wait_for_selector(PICTURE)
    box = page.locator(BOX)
    for typed, whole in (("flow", "flower"), ("bloss", "flower"), ("FLOWER", "flower"), ("lower", "flower")):
        press(page, "t")
        page.keyboard.type(typed)
        page.wait_for_selector(OPTION)
        press(page, "Tab")
        expect(box).to_have_value(whole)
        expect(box).to_be_focused()
        active_option = page.locator(f"#{box.get_attribute('aria-activedescendant')}")
        expect(active_option).to_contain_text(whole)
        expect(active_option).to_have_attribute("aria-selected", "true")
        press(page, "Escape", "Escape")
        expect(box).to_have_value("")
    press(page, "t")
    page.keyboard.type("flow")
    press(page, "Tab", "Enter")
    flower = store.tags.numbers(["flower"])[0]
    until(page, lambda: 1 in store.decisions.current(photo_ids=[photo], tag_ids=[flower]).states, "it has the tag")
    assert store.tags.numbers(["flow"]) == [0]


def test_tab_takes_what_the_arrows_chose(visit):
    page = visit.open("/photo/7")
    page.wait_for_selector(PICTURE)
    press(page, "t", "ArrowDown", "ArrowDown")
    chosen = page.locator(f"{OPTION}[aria-selected=true] span").first.inner_text()
    press(page, "Tab")
    expect(page.locator(BOX)).to_have_value(chosen)


@pytest.mark.parametrize(
    ("typed", "key"), [("", "Tab"), ("flower", "Tab"), ("like no tag", "Tab"), ("flow", "Shift+Tab")]
)
def test_tab_goes_on_where_there_is_nothing_to_complete(visit, typed, key):
    page = visit.open("/photo/7")
    page.wait_for_selector(PICTURE)
    press(page, "t")
    page.keyboard.type(typed)
    page.wait_for_selector(OPTION)
    press(page, key)
    expect(page.locator(BOX)).to_have_value(typed)
    expect(page.locator(BOX)).not_to_be_focused()
    press(page, "t")
    page.keyboard.type("sky")
    expect(page.locator(BOX)).to_have_value("sky")  # what was left is not continued


def test_who_is_in_a_box_before_the_tags_come_sees_them_then(visit):
    page = visit.open()
    waiting = []
    page.route("**/api/v1/project", lambda route: waiting.append(route))  # a bound method will not do
    page.reload()
    ready(page)
    page.locator("[data-testid=filter-tag]").focus()
    assert not page.locator(OPTION).count()
    until(page, lambda: waiting, "the project is asked for")
    waiting[0].continue_()
    page.wait_for_selector(OPTION)


def test_tab_passes_by_a_list_that_scrolls(visit):
    page = visit.open()
    page.locator("[data-testid=filter-tag]").focus()
    page.wait_for_selector(OPTION)
    assert page.locator("[role=listbox]:visible").evaluate("(list) => list.scrollHeight > list.clientHeight")
    press(page, "Tab")
    expect(page.get_by_role("checkbox", name="Stacks")).to_be_focused()
    press(page, "Shift+Tab")
    expect(page.locator("[data-testid=filter-tag]")).to_be_focused()


def test_a_tag_that_was_merged_leads_to_what_it_became(visit, server, store):
    old, new = store.tags.numbers(["night", "flower"])
    page = visit.open(f"/tag/{old}")
    active(page)
    store.tags.merge(old, new)  # as the command line in another window does
    said = "“night” was merged into “flower”"
    at(page, f"/tag/{new}")
    expect(page.locator("[data-testid=lens] h1")).to_have_text("flower")
    expect(page.locator("[data-testid=toast]", has_text=said)).to_have_count(1)
    photo = active(page)
    press(page, "r")
    until(page, lambda: photo in _without(store, new), "what is decided is about the tag in the heading")
    for path, now in ((f"/tag/{old}#state=any", f"/tag/{new}#state=any"), (f"/#tag={old}", f"/#tag={new}")):
        other = visit.open(path)
        until(other, lambda other=other, now=now: other.url == server.base + now, f"the address is {now}")
        expect(other.locator("[data-testid=toast]", has_text=said)).to_have_count(1)
        other.wait_for_selector(f"{CELL}:not([aria-label=Loading])")


def test_a_merge_on_the_page_is_told_once(visit, store):
    old, new = store.tags.numbers(["night", "flower"])
    page = visit.open(f"/tag/{old}")
    active(page)
    page.click("button:has-text('Rename, merge')")
    page.locator("dialog [role=combobox]").first.click()
    page.keyboard.type("flower")
    page.wait_for_selector(f"dialog {OPTION}[aria-selected=true]")
    press(page, "Enter")
    at(page, f"/tag/{new}")
    expect(page.locator("[data-testid=toast]", has_text="merged into “flower”")).to_have_count(1)
    until(page, lambda: page.locator("dialog").count() == 0, "the dialog is gone")
    page.go_back()
    at(page, "/")


def _without(store, tag):
    found = store.decisions.current(tag_ids=[tag])
    return found.photo_ids[found.states == 0].tolist()
