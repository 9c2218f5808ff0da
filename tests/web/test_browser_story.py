"""The whole story in a browser, by keyboard alone; the store agrees after each step."""

import hashlib
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from tagloom.datasets import make_scenes
from tagloom.learning.suggest import open_suggestions
from tagloom.project.project import Project
from tests.web.browsing import (
    CAN_WRITE,
    CELL,
    GRID,
    Server,
    active,
    at,
    cursor_on,
    holds,
    load,
    press,
    ready,
    shown,
    tab_to,
    until,
    visiting_page,
)
from tests.web.conftest import FLAGS

LENS = "[data-testid=lens]"
HUMAN, SUGGESTED = 0, 2
KEYWORD = "{http://purl.org/dc/elements/1.1/}subject//{http://www.w3.org/1999/02/22-rdf-syntax-ns#}li"


class Tale:
    """A person at the keyboard, and the same project seen from the store."""

    def __init__(self, visit, page, project):
        self.visit = visit
        self.page = page
        self.project = project

    def tag(self, text):
        return self.project.store.tags.numbers([text])[0]

    def said(self, photo, tag):
        """Return state and origin of a pair in the store, None where nothing is said."""
        found = self.project.store.decisions.current(tag_ids=[tag], photo_ids=[photo])
        return (int(found.states[0]), int(found.origins[0])) if len(found.states) else None

    def agrees(self, photo, tag, expected):
        until(self.page, lambda: self.said(photo, tag) == expected, f"the store says {expected} of {photo}, {tag}")

    def cell_is(self, photo, state):
        self.page.wait_for_selector(f"{CELL}[data-photo='{photo}'][data-state='{state}']")

    def yes(self, tag):
        found = self.project.store.decisions.current(tag_ids=[tag])
        return set(found.photo_ids[found.states == 1].tolist())


@pytest.mark.medium
def test_the_whole_story_by_keyboard(album, browser, tmp_path):
    photos = shutil.copytree(album, tmp_path / "photos")
    server = Server(photos, flags=FLAGS)
    try:
        with visiting_page(browser, server) as visit, Project.open(photos, flags=FLAGS) as project:
            tale = Tale(visit, visit.open(), project)
            _grid_shows_all_photos(tale)
            tag = _lens_ranks_by_the_model(tale)
            _accept_and_reject(tale, tag)
            _undo_and_redo(tale, tag)
            _tag_by_an_alias(tale)
            _new_tag_from_five_examples(tale)
            _reload_loses_nothing(tale, tag)
            server = _killed_and_started_again(tale, server, photos, tag)
            _write_beside_the_photos(tale, photos)
            _history_lists_everything(tale)
    finally:
        server.kill()


def _grid_shows_all_photos(tale):
    paths = tale.project.store.photos.table()
    by_path = paths.ids[np.argsort([path.decode() for path in paths.paths])]
    assert tale.page.url == tale.visit.server.base + "/"  # the token is gone from the address
    seen = shown(tale.page)
    assert seen == by_path[: len(seen)].tolist()
    cursor_on(tale.page, by_path[0])
    press(tale.page, "End")
    cursor_on(tale.page, by_path[-1])


def _lens_ranks_by_the_model(tale):
    press(tale.page, "g", "l")
    tale.page.wait_for_selector(f"{LENS} {CELL}:focus")
    tag = int(tale.page.url.rpartition("/")[2])
    numbers = open_suggestions(tale.project.store)
    column = numbers.tag_ids.tolist().index(tag)
    open_rows = np.flatnonzero(numbers.open[:, column])
    ranked = numbers.photo_ids[open_rows[np.argsort(-numbers.values[open_rows, column], kind="stable")]]
    assert numbers.above[:, column].sum() == numbers.above.sum(axis=0).max()  # the lens opens where most is open
    seen = shown(tale.page)
    assert seen == ranked[: len(seen)].tolist()
    return tag


def _accept_and_reject(tale, tag):
    first, second, third = shown(tale.page)[:3]
    press(tale.page, "a")
    tale.cell_is(first, "yes")
    tale.agrees(first, tag, (1, SUGGESTED))
    cursor_on(tale.page, second)
    press(tale.page, "r")
    tale.cell_is(second, "no")
    tale.agrees(second, tag, (0, SUGGESTED))
    cursor_on(tale.page, third)


def _undo_and_redo(tale, tag):
    first, second = shown(tale.page)[:2]
    press(tale.page, "u")
    tale.cell_is(second, "open")
    tale.agrees(second, tag, None)
    press(tale.page, "Control+z")
    tale.cell_is(first, "open")
    tale.agrees(first, tag, None)
    press(tale.page, "U")
    tale.cell_is(first, "yes")
    tale.agrees(first, tag, (1, SUGGESTED))
    press(tale.page, "Control+Shift+z")
    tale.cell_is(second, "no")
    tale.agrees(second, tag, (0, SUGGESTED))


def _tag_by_an_alias(tale):
    flower = tale.tag("flower")
    press(tale.page, "g", "g")
    at(tale.page, "/")
    photo = next(int(item) for item in tale.project.store.photos.table().ids if tale.said(int(item), flower) is None)
    press(tale.page, "Home", *["ArrowRight"] * shown_place(tale, photo), "Enter")
    at(tale.page, f"/photo/{photo}")
    tale.page.wait_for_selector("[data-testid=photo-view] img.large.ready")
    press(tale.page, "t")
    tale.page.keyboard.type("blos")
    option = tale.page.wait_for_selector("[data-testid=tag-option][aria-selected=true]")
    assert option.inner_text() == "New tag “blos”"  # what is only like it has to be chosen
    press(tale.page, "ArrowDown")
    option = tale.page.wait_for_selector("[data-testid=tag-option][aria-selected=true]")
    assert "flower" in option.inner_text()
    press(tale.page, "Enter")
    tale.agrees(photo, flower, (1, HUMAN))
    tale.page.wait_for_selector(f".tag-row.has[data-tag='{flower}']")
    press(tale.page, "Escape", "Escape")
    at(tale.page, "/")
    cursor_on(tale.page, photo)


def shown_place(tale, photo):
    """Return how many steps a photo is from the first one by path."""
    table = tale.project.store.photos.table()
    order = table.ids[np.argsort([path.decode() for path in table.paths])].tolist()
    return order.index(photo)


def _new_tag_from_five_examples(tale):
    scenes = make_scenes(60, size=(96, 64), random_state=0)
    night = np.flatnonzero(scenes.Y[:, list(scenes.tags).index("night")])
    dark = set(tale.project.store.photos.find([scenes.names[row].encode() for row in night]).values())
    press(tale.page, "g", "t")
    at(tale.page, "/teach")
    tab_to(tale.page, "new-tag")
    press(tale.page, "Enter")
    tale.page.wait_for_selector("[data-testid=new-tag-name]:focus")
    tale.page.keyboard.type("after dark")
    tale.page.wait_for_selector("[data-testid=tag-option]")
    press(tale.page, "Enter")
    tale.page.wait_for_selector(f"{CELL}:focus")
    tag = tale.tag("after dark")
    examples = sorted(dark)[:5]
    for photo in examples:
        press(tale.page, "Home", *["ArrowRight"] * shown_place(tale, photo))
        cursor_on(tale.page, photo)
        press(tale.page, "a")
    until(tale.page, lambda: tale.yes(tag) == set(examples), "the store holds five examples")
    tale.page.wait_for_selector("[data-testid=toast] :text-matches('“after dark” (has suggestions|is ranked) now')")
    tab_to(tale.page, "see-suggestions")
    press(tale.page, "Enter")
    at(tale.page, f"/tag/{tag}")
    tale.page.wait_for_selector(f"{LENS} {CELL}:focus")
    rest = dark - set(examples)
    best = shown(tale.page)[: len(rest)]
    assert not set(best) & set(examples)
    assert len(rest & set(best)) > len(rest) / 2  # by chance hardly any of them


def _reload_loses_nothing(tale, tag):
    load(tale.page, f"{tale.visit.server.base}/tag/{tag}#state=has")
    tale.page.reload()
    ready(tale.page)
    tale.page.wait_for_selector(f"{LENS} {CELL}:focus")
    yes = tale.yes(tag)
    assert set(shown(tale.page)) <= yes
    rows, columns = (int(tale.page.get_attribute(GRID, f"aria-{what}count")) for what in ("row", "col"))
    assert (rows - 1) * columns < len(yes) <= rows * columns


def _killed_and_started_again(tale, server, photos, tag):
    page, before = tale.page, tale.project.store.decisions.count()
    load(page, f"{server.base}/tag/{tag}")
    photo = active(page)
    server.kill()  # perhaps before a word about the photo has come: the decision shows all the same
    press(page, "a")
    tale.cell_is(photo, "yes")
    page.wait_for_selector("#banner:not([hidden]) :text('1 decision is kept here')")
    assert tale.project.store.decisions.count() == before
    assert [error for error in tale.visit.errors if "net::ERR_" not in error] == []  # nothing but that it is away
    server = Server(photos, port=server.port, flags=FLAGS)
    tale.visit.server = server
    load(page, server.address)
    tale.agrees(photo, tag, (1, SUGGESTED))
    assert tale.project.store.decisions.count() == before + 1
    assert tale.project.check() == []
    tale.visit.errors.clear()
    return server


def _write_beside_the_photos(tale, photos):
    before = {path.name: hashlib.sha256(path.read_bytes()).digest() for path in photos.glob("*.jpg")}
    accepted = _accepted(tale)
    press(tale.page, "g", "w")
    at(tale.page, "/write")
    tale.page.wait_for_selector(CAN_WRITE)
    planned = {
        line.query_selector(".file-name").inner_text(): {chip.inner_text() for chip in line.query_selector_all(".plus")}
        for line in tale.page.query_selector_all("[data-testid=write-plan] .file")
    }
    assert planned == accepted
    assert list(photos.glob("*.xmp")) == []
    tab_to(tale.page, "write")
    press(tale.page, "Enter")
    tale.page.wait_for_selector(":text('Nothing to do')")
    tale.page.wait_for_selector("[data-testid=write]:focus")
    press(tale.page, "Enter")  # Nothing to do
    written = {
        path.name.removesuffix(".xmp"): {item.text for item in ElementTree.parse(path).iterfind(f".//{KEYWORD}")}
        for path in photos.glob("*.xmp")
    }
    assert {name.removesuffix(".jpg"): tags for name, tags in written.items()} == {
        name.removesuffix(".jpg"): tags for name, tags in accepted.items()
    }
    assert before == {path.name: hashlib.sha256(path.read_bytes()).digest() for path in photos.glob("*.jpg")}


def _accepted(tale):
    """Return what every file should get: the tags that stand as yes in the store."""
    store = tale.project.store
    found = store.decisions.current()
    paths = dict(zip(store.photos.table().ids.tolist(), store.photos.table().paths, strict=True))
    accepted = {}
    for photo, tag in zip(found.photo_ids[found.states == 1], found.tag_ids[found.states == 1], strict=True):
        accepted.setdefault(paths[int(photo)].decode(), set()).add(store.tags.texts([int(tag)])[0])
    return accepted


def _history_lists_everything(tale):
    press(tale.page, "g", "h")
    at(tale.page, "/history")
    tale.page.wait_for_selector("[data-testid=history] [data-batch]")
    listed = [
        int(line.get_attribute("data-batch")) for line in tale.page.query_selector_all("[data-testid=history] .batch")
    ]
    assert listed == [batch.id for batch in tale.project.history(50)]
    holds(tale.page, "document.title.startsWith('History')")
