"""The pictures of the docs' review page, light and dark: taken by every run, kept in the docs by `make screenshots`."""

import io
import itertools
import os
from pathlib import Path

import pytest
from PIL import Image

from tagloom.datasets import write_scenes
from tagloom.project.project import Project
from tests.conftest import ROOT
from tests.web.browsing import CAN_WRITE, CELL, GRID, PATIENCE, holds, press, ready, serving, visiting_page
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.slow

KEPT = os.environ.get("TAGLOOM_SCREENSHOTS") == "1"
LARGEST = 200_000
SIZE = {"width": 1200, "height": 750}
PHONE = {"width": 360, "height": 740}
#: {picture: (address, what is there once it is ready, size)}; each is taken light and dark.
SHOTS = {
    "grid": ("/", f"{GRID} {CELL} .chip", SIZE),
    "lens": ("/tag/{tag}", f"[data-testid=lens] {CELL} .value", SIZE),
    "photo": ("/photo/3", "[data-testid=photo-view] .tag-row", SIZE),
    "teach": ("/teach#tag={tag}", ".teach-card img.large.ready", SIZE),
    "write": ("/write", CAN_WRITE, SIZE),
    "phone": ("/", f"{GRID} {CELL} .chip", PHONE),
}
THEMES = {"light": "", "dark": "-dark"}
#: Whether every picture in the window has come.
_COMPLETE = """() => [...document.images].every((image) => {
  const box = image.getBoundingClientRect();
  const isSeen = box.width && box.bottom > 0 && box.top < innerHeight && image.getAttribute("src");
  return !isSeen || (image.complete && image.naturalWidth > 0);
})"""


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    """Return a trained project, larger and sharper where its pictures are kept, and a tag that colours tell well."""
    folder = tmp_path_factory.mktemp("scenes") / "holidays"
    n, size = (200, (480, 320)) if KEPT else (40, (96, 64))
    write_scenes(folder, n, size=size, labeled=0.4, random_state=1)
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.train()
        return folder, project.store.tags.numbers(["sunset"])[0]


def _small(picture: bytes) -> bytes:
    """Return a screenshot in few colours, and fewer where that is still too much."""
    image = Image.open(io.BytesIO(picture)).convert("RGB")
    for n_colors in (256, 128, 64, 32, 16):
        file = io.BytesIO()
        image.quantize(n_colors, dither=Image.Dither.NONE).save(file, format="PNG", optimize=True)
        if file.tell() <= LARGEST:
            break
    return file.getvalue()


def test_screenshots(scenes, browser, tmp_path):
    target = ROOT / "docs" / "images" if KEPT else Path(tmp_path)
    target.mkdir(exist_ok=True)
    folder, tag = scenes
    with serving(folder, flags=FLAGS) as server:
        for (name, (path, sign, size)), theme in itertools.product(SHOTS.items(), THEMES):
            with visiting_page(browser, server, color_scheme=theme, viewport=size, reduced_motion="reduce") as visit:
                page = visit.open(path.format(tag=tag))
                ready(page)
                page.locator(sign).first.wait_for()
                holds(page, _COMPLETE)
                (target / f"review-{name}{THEMES[theme]}.png").write_bytes(
                    _small(page.screenshot(timeout=1000 * PATIENCE))
                )
        with visiting_page(browser, server, viewport=SIZE, reduced_motion="reduce") as visit:
            page = visit.open()
            press(page, "?")
            page.wait_for_selector("[data-testid=help]")
            (target / "review-keys.png").write_bytes(_small(page.screenshot(timeout=1000 * PATIENCE)))
    sizes = {f"{name}{end}": shot[2] for name, shot in SHOTS.items() for end in THEMES.values()}
    for name, size in {**sizes, "keys": SIZE}.items():
        made = target / f"review-{name}.png"
        assert made.stat().st_size <= LARGEST
        with Image.open(made) as image:
            assert image.width == size["width"]
            assert len(image.convert("RGB").getcolors(1 << 24)) > 8  # a page that failed is blank
