"""What changes beside the page: files that go or become others, sidecars that are put back, photos in stacks."""

import shutil

import pytest
from PIL import Image
from playwright.sync_api import expect

from tagloom.project.project import Project
from tests.web.browsing import CAN_WRITE, CELL, at, load, press, serving, until, visiting_page
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium

PHOTO = "[data-testid=photo-view]"
READY = f"{PHOTO} img.large.ready"
_PIXEL = """(image) => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
}"""


@pytest.fixture
def photos(album, tmp_path):
    return shutil.copytree(album, tmp_path / "photos")


@pytest.fixture
def server(photos):
    with serving(photos, flags=FLAGS) as server:
        yield server


def _path(page, photo):
    return page.evaluate(f"fetch('/api/v1/photo/{photo}').then((answer) => answer.json()).then(({{ path }}) => path)")


def test_a_photo_that_is_gone_is_said_to_be(visit, server, photos):
    page = visit.open()
    (photos / _path(page, 7)).unlink()
    load(page, f"{server.base}/photo/7")
    page.wait_for_selector(f"{PHOTO} :text('The file cannot be read now')")
    with Project.open(photos, flags=FLAGS) as project:
        project.scan()
    page.wait_for_selector(f"{PHOTO} :text('This photo cannot be shown')")
    expect(page.locator("[data-testid=suggestion]")).to_have_count(0)
    expect(page.locator(f"{PHOTO} :text('The file cannot be read now')")).to_be_hidden()
    assert all("404" in error for error in visit.errors)
    visit.errors.clear()


def test_a_photo_that_became_another_is_shown_anew(visit, photos):
    page = visit.open("/photo/7")
    page.wait_for_selector(READY)
    Image.new("RGB", (96, 64), (255, 0, 0)).save(photos / _path(page, 7), quality=95)
    with Project.open(photos, flags=FLAGS) as project:
        project.scan()

    def is_red():
        red, green, blue = page.locator(f"{PHOTO} img.large").evaluate(_PIXEL)
        return red > 240 and max(green, blue) < 15

    until(page, is_red, "the new picture is shown")


def test_the_plan_follows_a_write_that_is_undone_and_other_jobs_do_no_harm(visit, photos):
    page = visit.open("/write")
    page.click(CAN_WRITE)
    page.wait_for_selector(":text('Nothing to do')")
    expect(page.locator("[data-testid=write]")).to_be_disabled()
    n = len(list(photos.glob("*.xmp")))
    page.click("[aria-label='Running work']")
    page.click("button:has-text('Find new photos')")
    page.wait_for_selector("[data-testid=toast] :text('0 new photos')")
    press(page, "Escape", "u")
    page.click("[data-testid=confirm]")
    expect(page.locator("[data-testid=write]")).to_have_text(f"Write {n} files")
    expect(page.locator(CAN_WRITE)).to_be_enabled()
    assert list(photos.glob("*.xmp")) == []
    press(page, "U")
    page.wait_for_selector("[data-testid=toast] :text('Redo does not write files again. Press Write')")
    with Project.open(photos, flags=FLAGS) as project:  # as the command line in another window does
        unwritten = [photo for photo in project.store.photos.table().ids.tolist() if not _has_any(project, photo)]
        project.label(unwritten[:1], add=["from elsewhere"])
    page.wait_for_selector("[data-testid=write-plan] :text('from elsewhere')")


def _has_any(project, photo):
    return 1 in project.store.decisions.current(photo_ids=[photo]).states.tolist()


def test_a_stack_is_decided_as_one_on_the_photo_page(browser, photos):
    shutil.copyfile(photos / "scene_00007.jpg", photos / "scene_00007 copy.jpg")
    with Project.open(photos, flags=FLAGS) as project:
        project.scan()
        members = sorted(project.store.photos.find([b"scene_00007.jpg", b"scene_00007 copy.jpg"]).values())
        tag = project.store.tags.numbers(["decided as one"], make=True)[0]
    with serving(photos, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        page = visit.open()
        stack = f"fetch('/api/v1/cells?ids={members[0]}').then((it) => it.json()).then(({{ cells }}) => cells[0].stack)"
        until(page, lambda: sorted(page.evaluate(stack) or []) == members, "it is known who is alike")
        load(page, f"{server.base}/#stacks=1")
        shown_one = page.wait_for_selector(f"{CELL}.stacked")
        photo = int(shown_one.get_attribute("data-photo"))
        assert photo in members
        shown_one.dblclick()
        at(page, f"/photo/{photo}")
        page.wait_for_selector(f"{PHOTO} :text('Stack of 2 photos, decided as one.')")
        press(page, "t")
        page.keyboard.type("decided as one")
        page.wait_for_selector("[data-testid=tag-option][aria-selected=true]")
        press(page, "Enter")
        with Project.open(photos, flags=FLAGS) as project:
            until(page, lambda: sorted(_with(project, tag)) == members, "both photos have the tag")


def _with(project, tag):
    found = project.store.decisions.current(tag_ids=[tag])
    return found.photo_ids[found.states == 1].tolist()
