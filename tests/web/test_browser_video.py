"""A video on the page: its badge, scrubbing over it, playing it, the moment of a tag, accepting a tag."""

import pytest

from tagloom.datasets import write_clips
from tagloom.project.project import Project
from tests.made_clips import write_format
from tests.made_live_photos import movie, still
from tests.web.browsing import CELL, holds, press, serving, until, visiting_page
from tests.web.conftest import FLAGS

pytestmark = pytest.mark.medium


@pytest.fixture(scope="module")
def clips(av, tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips") / "photos"
    write_clips(folder, 6, 20, size=(160, 96), seconds=4, labeled=0.6, random_state=1)
    write_format(folder, "h264.mp4").rename(folder / "live.mp4")
    (folder / "live.jpg").write_bytes(still())
    (folder / "other.jpg").write_bytes(still("blue"))
    (folder / "other.mov").write_bytes(movie())
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


def test_the_video_of_a_live_photo_plays_on_its_page(clips, browser):
    with Project.open(clips, flags=FLAGS) as project:
        ids = project.store.photos.find([b"live.jpg", b"other.jpg"])
    with serving(clips, flags=FLAGS) as server, visiting_page(browser, server) as visit:
        page = visit.open(f"/photo/{ids[b'live.jpg']}")
        player = page.locator("[data-testid=player]")
        until(page, lambda: player.evaluate("(video) => video.readyState >= 1"), "the video can be played")
        assert player.is_visible()
        assert player.evaluate("(video) => video.duration") == pytest.approx(3.0, abs=0.2)
        assert page.locator("[data-testid=moments]").is_hidden()
        assert "with a video, 0:03" in page.locator(".about-photo").inner_text()
        # A browser that cannot play it shows the photo.
        page = visit.open(f"/photo/{ids[b'other.jpg']}")
        until(page, lambda: "with a video" in page.locator(".about-photo").inner_text(), "the photo is shown")
        until(page, lambda: page.locator("[data-testid=player]").is_hidden(), "the player has gone")
        assert page.locator("img.large").is_visible()


def _accepted(project):
    found = project.store.decisions.current()
    return {(int(p), int(t)) for p, t, s in zip(found.photo_ids, found.tag_ids, found.states, strict=True) if s == 1}
