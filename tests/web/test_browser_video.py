"""A video on the page: its badge, scrubbing over it, playing it, the moment of a tag, accepting a tag."""

import pytest

from tagloom.datasets import write_clips
from tagloom.project.project import Project
from tests.web.browsing import CELL, holds, press, serving, until, visiting_page
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium


@pytest.fixture(scope="module")
def clips(av, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips") / "photos"
    write_clips(folder, 6, 20, size=(160, 96), seconds=4, labeled=0.6, random_state=1)
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.train()
    return folder


def test_a_video_is_scrubbed_played_and_tagged(clips, browser):
    with Project.open(clips, flags=FLAGS) as project:
        table = project.store.photos.table()
        decided = set(project.store.decisions.current().photo_ids.tolist())
        movies = [(i, p) for i, p in zip(table.ids.tolist(), table.paths, strict=True) if p.endswith(b".mp4")]
        clip = next((i for i, _ in movies if i not in decided), movies[0][0])
    with serving(clips, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        page = visit.open("/")
        cell = page.locator(f"{CELL}[data-photo='{clip}']")
        badge = cell.locator("[data-testid=clip]")
        until(page, lambda: badge.inner_text().strip() == "0:04", "the badge has the length")

        box = cell.bounding_box()
        seen = []
        for part in (0.05, 0.95):
            page.mouse.move(box["x"] + part * box["width"], box["y"] + box["height"] / 3)
            scrub = cell.locator("img.scrub")
            until(
                page, lambda scrub=scrub: scrub.evaluate("(image) => !image.hidden && image.naturalWidth > 0"), "scrub"
            )
            seen.append(scrub.get_attribute("data-frame"))
        assert seen[0] == "0"
        assert int(seen[1]) > 0
        page.mouse.move(1, 1)
        until(page, lambda: badge.inner_text().strip() == "0:04", "the badge has the length again")

        page = visit.open(f"/photo/{clip}")
        player = page.locator("[data-testid=player]")
        until(page, lambda: player.evaluate("(video) => video.readyState >= 1"), "the video can be played")
        player.evaluate("(video) => { video.muted = true; return video.play(); }")
        until(page, lambda: player.evaluate("(video) => video.currentTime > 0.2"), "the video plays")
        player.evaluate("(video) => video.pause()")

        best = page.locator("[data-testid=moment].best")
        until(page, lambda: best.count() == 1, "the likeliest moment is marked")
        assert "likeliest moment of" in best.get_attribute("aria-label")
        last = page.locator("[data-testid=moment]").last
        last.click()
        text = last.locator(".num").inner_text()
        minutes, seconds = text.split(":")
        wanted = 60 * int(minutes) + int(seconds)
        until(page, lambda: abs(player.evaluate("(video) => video.currentTime") - wanted) <= 0.6, "the video is there")

        page.locator("#main").focus()
        tag = int(page.locator("[data-testid=suggestion]").first.get_attribute("data-tag"))
        if page.locator("[data-testid=suggestion].current").count() == 0:
            press(page, "ArrowDown")
        current = int(page.locator("[data-testid=suggestion].current").get_attribute("data-tag"))
        press(page, "a")
        holds(page, "(tag) => !!document.querySelector(`.tag-row.has[data-tag='${tag}']`)", current)
        with Project.open(clips, flags=FLAGS) as project:
            until(page, lambda: (clip, current) in _accepted(project), "the decision is stored")
        assert tag


def _accepted(project):
    found = project.store.decisions.current()
    return {(int(p), int(t)) for p, t, s in zip(found.photo_ids, found.tag_ids, found.states, strict=True) if s == 1}
