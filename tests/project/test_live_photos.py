"""A photo and the video that was taken with it are one item of a project."""

import pytest

from tagloom import Project
from tests.made_clips import write_format
from tests.made_live_photos import movie, still

pytestmark = pytest.mark.medium


@pytest.fixture
def folder(av, tmp_path):
    """Return a folder with a Live Photo, a Motion Photo, a photo beside a longer video of its name, and a photo."""
    made = tmp_path / "photos"
    made.mkdir()
    files = {"live.jpg": still(), "live.mov": movie(2.8), "motion.jpg": still("blue") + movie(1.5)}
    files |= {"long.jpg": still("green"), "plain.jpg": still("white")}
    for name, data in files.items():
        (made / name).write_bytes(data)
    write_format(made, "mpeg4.avi").rename(made / "long.avi")
    return made


def states(project):
    table = project.store.photos.table()
    return dict(zip(table.paths, zip(table.verdicts, table.states, strict=True), strict=True))


def tags_of(project, name):
    number = project.store.photos.find([name])[name]
    _, tags, labels = project.store.decisions.labels([number])
    return [text for text, state in zip(project.store.tags.texts(tags), labels[0], strict=True) if state == 1]


def test_a_photo_and_its_video_are_one_item(folder):
    with Project.init(folder) as project:
        first = project.scan()
        assert (first.n_clips_of_photos, first.n_clips_in_photos, first.n_videos) == (1, 1, 1)
        assert (len(first.new), first.unreadable, project.status().n_present) == (5, {}, 5)
        assert states(project)[b"live.mov"] == ("clip_of_photo", "present")
        assert states(project)[b"long.avi"] == ("ok", "present")
        again = project.scan()
        assert (again.n_read, again.n_same, again.n_clips_of_photos, again.n_clips_in_photos) == (0, 5, 1, 1)


def test_the_video_shares_the_tags_of_its_photo(folder):
    with Project.init(folder) as project:
        project.scan()
        project.label(folder / "live.mov", add="beach")
        assert tags_of(project, b"live.jpg") == ["beach"]
        project.write()
        assert {path.name for path in folder.glob("*.xmp")} == {"live.jpg.xmp"}
        file = project.export(folder.parent / "out.csv", "csv").files[0]
        assert "live.mov" not in file.read_text(encoding="utf-8")


def test_a_video_is_itself_again_when_its_photo_goes(folder):
    (folder / "live.mov").unlink()
    write_format(folder, "h264.mp4").rename(folder / "live.mp4")
    with Project.init(folder) as project:
        project.scan()
        (folder / "live.jpg").rename(folder.parent / "live.jpg")
        alone = project.scan()
        assert (alone.n_videos, alone.n_clips_of_photos, states(project)[b"live.mp4"]) == (2, 0, ("ok", "present"))
        (folder.parent / "live.jpg").rename(folder / "live.jpg")
        back = project.scan()
        assert (back.n_videos, back.n_clips_of_photos) == (1, 1)


def test_a_photo_takes_over_the_tags_of_its_video(folder):
    write_format(folder, "h264.mp4").rename(folder / "first.mp4")
    with Project.init(folder) as project:
        project.scan()
        project.label(folder / "first.mp4", add="waves")
        (folder / "first.jpg").write_bytes(still("black"))
        result = project.scan()
        assert (result.n_clips_of_photos, len(result.took_over), result.missing) == (2, 1, ())
        assert tags_of(project, b"first.jpg") == ["waves"]


def test_the_parts_that_go_are_named(folder):
    with Project.init(folder) as project:
        project.scan()
        (folder / "live.mov").unlink()
        result = project.scan()
        assert (result.missing, result.raw_gone, project.status().n_missing) == ((), (b"live.mov",), 0)
