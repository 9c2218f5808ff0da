"""Videos over HTTP: what the page is told of them, their key frames, and the parts of a file that are played."""

import os

import pytest

from tagloom.datasets import write_clips
from tagloom.exceptions import PhotosError
from tagloom.project.project import Project
from tagloom.review import Playable
from tagloom.web.security import CONTENT_POLICY
from tagloom.web.video import LARGEST_PART, video_answer
from tests.made_clips import write_format
from tests.made_live_photos import movie, still
from tests.web.conftest import FLAGS, opened, visiting

pytestmark = pytest.mark.medium


@pytest.fixture(scope="module")
def clips(av, tmp_path_factory):
    """Return a trained project of photos and videos, one of which no browser plays."""
    folder = tmp_path_factory.mktemp("clips") / "photos"
    write_clips(folder, 6, 10, size=(96, 64), seconds=2, labeled=0.6, random_state=1)
    write_format(folder, "mpeg4.avi")
    write_format(folder, "h264.mp4").rename(folder / "live.mp4")
    (folder / "live.jpg").write_bytes(still())
    (folder / "motion.jpg").write_bytes(still("blue") + (folder / "live.mp4").read_bytes())
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.train()
    return folder


@pytest.fixture(scope="module")
def session(clips):
    with opened(clips) as session:
        yield session


@pytest.fixture(scope="module")
def client(session):
    with visiting(session) as client:
        yield client


def id_of(session, name):
    return int(session.photos.ids[session.photos.names.index(name)])


def test_what_the_page_is_told(session, client):
    clip, photo, avi = (id_of(session, name) for name in ("clip_00000.mp4", "scene_00000.jpg", "mpeg4.avi"))
    cells = {cell["id"]: cell["clip"] for cell in client.get(f"/api/cells?ids={clip},{photo},{avi}").json()["cells"]}
    assert cells[photo] is None
    assert cells[clip]["type"] == "video/mp4"
    assert cells[clip]["duration"] == pytest.approx(2.0, abs=0.2)
    assert cells[avi]["type"] is None
    assert client.get(f"/api/photo/{clip}").json()["clip"] == cells[clip]
    assert client.get(f"/api/photo/{photo}").json()["clip"] is None


def test_key_frames(session, client):
    clip = id_of(session, "clip_00000.mp4")
    n = len(client.get(f"/api/photo/{clip}").json()["clip"]["times"])
    for frame in range(n):
        answer = client.get(f"/frame/{clip}/{frame}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/webp")
        assert answer.content.startswith(b"RIFF")
    assert client.get(f"/frame/{clip}/{n}").status_code == 404
    assert client.get(f"/frame/{clip}/40").status_code == 404
    assert client.get(f"/frame/{id_of(session, 'scene_00000.jpg')}/0").status_code == 404


def test_moments(session, client):
    clip = id_of(session, "clip_00000.mp4")
    found = client.get(f"/api/photo/{clip}/moments").json()
    assert found["times"] == pytest.approx(client.get(f"/api/photo/{clip}").json()["clip"]["times"], abs=1e-3)
    assert all(len(scores) == len(found["times"]) for scores in found["tags"].values())
    assert client.get(f"/api/photo/{id_of(session, 'scene_00000.jpg')}/moments").status_code == 409


def test_a_video_is_played_in_parts(session, client, clips):
    data = (clips / "clip_00000.mp4").read_bytes()
    clip = id_of(session, "clip_00000.mp4")

    def part(wanted):
        answer = client.get(f"/video/{clip}", headers={"Range": wanted} if wanted else {})
        return answer.status_code, answer.headers.get("content-range"), answer.content

    n = len(data)
    assert part("bytes=0-99") == (206, f"bytes 0-99/{n}", data[:100])
    assert part("bytes=100-") == (206, f"bytes 100-{n - 1}/{n}", data[100:])
    assert part("bytes=-7") == (206, f"bytes {n - 7}-{n - 1}/{n}", data[-7:])
    assert part(None)[2] == data[:LARGEST_PART]
    for wrong in (f"bytes={n}-", "bytes=5-2", "bytes=-0", "bytes=-", "bytes=0-1,3-4", "lines=1-2", "bytes=a-b"):
        assert part(wrong)[:2] == (416, f"bytes */{n}")
    answer = client.get(f"/video/{clip}")
    assert answer.headers["content-type"] == "video/mp4"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == CONTENT_POLICY
    assert "media-src 'self'" in CONTENT_POLICY


def test_what_no_browser_plays_is_not_sent(session, client):
    for name in ("mpeg4.avi", "scene_00000.jpg"):
        answer = client.get(f"/video/{id_of(session, name)}")
        assert (answer.status_code, answer.json().keys()) == (404, {"error"})


def test_the_video_of_a_photo_is_played_from_its_page(session, client, clips):
    data = (clips / "live.mp4").read_bytes()
    assert "live.mp4" not in session.photos.names
    for name in ("live.jpg", "motion.jpg"):
        photo = id_of(session, name)
        told = client.get(f"/api/photo/{photo}").json()["clip"]
        assert told == {"duration": 3.0, "times": [], "sound": True, "type": "video/mp4", "with_photo": True}
        answer = client.get(f"/video/{photo}", headers={"Range": "bytes=10-"})
        assert (answer.status_code, answer.content) == (206, data[10:])
        assert answer.headers["content-range"] == f"bytes 10-{len(data) - 1}/{len(data)}"
        assert client.get(f"/video/{photo}", headers={"Range": "bytes=-7"}).content == data[-7:]
        assert client.get(f"/video/{photo}", headers={"Range": f"bytes={len(data)}-"}).status_code == 416
        assert client.get(f"/api/cells?ids={photo}").json()["cells"][0]["clip"] is None


def test_nothing_but_the_video_inside_a_photo_is_sent(tmp_path):
    clip, path = movie(), tmp_path / "motion.jpg"
    path.write_bytes(still() + clip + b"secret")
    first = len(still())
    inside = Playable(os.fsencode(path), "video/mp4", first, len(clip))
    assert video_answer(inside, None).body == clip
    assert video_answer(inside, "bytes=5-100000").body == clip[5:]
    path.write_bytes(bytes(first) + b"secret" * 100)  # the file is another one by now
    with pytest.raises(PhotosError, match="no video"):
        video_answer(inside, None)
    path.write_bytes(b"short")
    with pytest.raises(PhotosError, match="no video"):
        video_answer(inside, None)


def test_a_part_is_never_large(tmp_path):
    (tmp_path / "long.mp4").write_bytes(b"\0\0\0\x18ftypisom" + bytes(3 * LARGEST_PART))
    answer = video_answer(Playable(os.fsencode(tmp_path / "long.mp4"), "video/mp4"), "bytes=0-")
    assert len(answer.body) == LARGEST_PART


def test_a_path_that_leads_elsewhere_gives_nothing_away(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("-----BEGIN OPENSSH PRIVATE KEY-----")
    (tmp_path / "link.mp4").symlink_to(secret)
    with pytest.raises(PhotosError, match="no video"):
        video_answer(Playable(os.fsencode(tmp_path / "link.mp4"), "video/mp4"), None)
    with pytest.raises(PhotosError, match="no video"):
        video_answer(Playable(os.fsencode(secret), "video/webm"), None)
    with pytest.raises(PhotosError, match="no file"):
        video_answer(Playable(os.fsencode(tmp_path), "video/mp4"), None)
    with pytest.raises(PhotosError, match="cannot be read"):
        video_answer(Playable(os.fsencode(tmp_path / "gone.mp4"), "video/mp4"), None)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(PhotosError, match="no file"):
            video_answer(Playable(os.fsencode(tmp_path / "pipe"), "video/mp4"), None)
