"""Thousands of photos in the grid: few cells, and the right photo in each of them."""

import io
import os

import numpy as np
import pytest
from PIL import Image

from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.project.project import Project
from tests.web.browsing import CELL, GRID, cursor_on, press, serving, shown, until, visiting_page
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium

N_PHOTOS, N_PICTURES, MOST_CELLS = 5_000, 96, 300
#: The middle pixel of every picture that is on the screen, by photo; null while one has not come.
_PIXELS = """(ids) => ids.map((id) => {
  const image = document.querySelector(`[data-testid=cell][data-photo="${id}"] img`);
  if (!image?.complete || !image.naturalWidth || !image.classList.contains("ready")) return null;
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const pen = canvas.getContext("2d");
  pen.drawImage(image, 0, 0, 1, 1);
  return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)];
})"""


def _color(number):
    """Return the color of a picture: eight steps of red, four of green, three of blue."""
    return np.array([number % 8 * 36, number // 8 % 4 * 85, number // 32 * 127])


def _thumbnail(number):
    file = io.BytesIO()
    Image.new("RGB", (48, 32), tuple(_color(number).tolist())).save(file, format="WEBP", lossless=True)
    return file.getvalue()


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """Return photos of which only records and a few thumbnails are there, and of each id the number of its picture.

    A picture belongs to many photos, as copies of a file have it. Their order by path is not that of their ids.
    """
    root = tmp_path_factory.mktemp("many") / "photos"
    root.mkdir()
    places = np.random.default_rng(0).permutation(N_PHOTOS).tolist()
    names = [f"{place // 500:02d}/{place:05d}.jpg" for place in places]
    hashes = [f"{number + 1:064x}" for number in range(N_PICTURES)]
    stamp = FileStamp(0, 0, 0)
    records = [
        PhotoRecord(os.fsencode(name), Verdict.OK, "", hashes[at % N_PICTURES], stamp, 4000, 3000)
        for at, name in enumerate(names)
    ]
    with Project.init(root, flags=FLAGS) as project:
        with project.store.lock(), project.store.cache() as cache:
            cache.record(records)
            cache.put_thumbnails((content, _thumbnail(number)) for number, content in enumerate(hashes))
        for n_there in (N_PHOTOS // 2, N_PHOTOS):  # ids count upwards by path at each scan: two make the difference
            project.store.photos.reconcile([item.path for item in records[:n_there]])
        table = project.store.photos.table()
        by_path = table.ids[np.argsort([path.decode() for path in table.paths])].tolist()
        picture = {photo: hashes.index(table.hashes[row]) for row, photo in enumerate(table.ids.tolist())}
    return root, by_path, picture


@pytest.fixture(scope="module")
def server(many):
    with serving(many[0], flags=FLAGS) as server:
        yield server


def _shows(page, by_path, picture, *, first=None, last=None):
    """See that the screen shows a run of the order with the pictures of these photos, in few cells."""
    seen = until(
        page,
        lambda: (
            (found := shown(page))
            and (first is None or found[0] == by_path[first])
            and (last is None or found[-1] == by_path[last])
            and found
        ),
        "the part of the order is on the screen",
    )
    start = by_path.index(seen[0])
    assert seen == by_path[start : start + len(seen)]
    colors = until(page, lambda: all(found := page.evaluate(_PIXELS, seen)) and found, "all pictures have come")
    expected = [_color(picture[photo]) for photo in seen]
    assert np.abs(np.array(colors) - expected).max() <= 2
    assert page.locator(CELL).count() <= MOST_CELLS
    return start, start + len(seen) - 1


def _is_at(page, by_path, part):
    """Say whether the first photo on the screen is that far down in the order; none is there until the next frame."""
    seen = shown(page)
    return bool(seen) and abs(by_path.index(seen[0]) / N_PHOTOS - part) < 0.01


def test_few_cells_with_the_right_photos_at_the_top_in_the_middle_and_at_the_end(many, browser, server):
    _, by_path, picture = many
    with visiting_page(browser, server) as visit:
        page = visit.open()
        assert sorted(by_path) != by_path
        _shows(page, by_path, picture, first=0)
        for part in (0.5, 0.25, 0.83):
            page.locator(GRID).evaluate("(grid, part) => { grid.scrollTop = part * grid.scrollHeight; }", part)
            until(page, lambda part=part: _is_at(page, by_path, part), f"at {part}")
            _shows(page, by_path, picture)
        page.locator(CELL).first.focus()
        press(page, "End")
        _shows(page, by_path, picture, last=-1)
        cursor_on(page, by_path[-1])
        press(page, "PageUp")
        _shows(page, by_path, picture)
        press(page, "Home")
        _shows(page, by_path, picture, first=0)
        press(page, "-", "-", "-")  # the smallest cells, on a large screen
        page.set_viewport_size({"width": 3840, "height": 2160})
        until(page, lambda: len(shown(page)) > 150, "the grid fills the screen")
        _shows(page, by_path, picture, first=0)
        press(page, "End")
        _shows(page, by_path, picture, last=-1)


def test_searching_shows_what_has_the_words(many, browser, server):
    _, by_path, picture = many
    with visiting_page(browser, server) as visit:
        page = visit.open()
        press(page, "/")
        page.keyboard.type("07/03")
        press(page, "Enter")
        wanted = by_path[3500:4000]
        until(page, lambda: shown(page)[:1] == wanted[:1], "the folder's photos come first")
        _shows(page, wanted, picture, first=0)
        press(page, "End")
        _shows(page, wanted, picture, last=-1)
