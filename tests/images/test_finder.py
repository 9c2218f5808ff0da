import json
import os
import subprocess
import sys
import tempfile

import pytest

from tagloom.core.photos import Verdict
from tagloom.exceptions import PhotosError
from tagloom.images import find_photos


def touch(folder, *names):
    for name in names:
        path = os.path.join(os.fsencode(folder), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        open(path, "wb").close()


def test_photos_by_extension_sorted_by_bytes(tmp_path):
    touch(tmp_path, "b/2.JPG", "b/10.jpeg", "a.Png", "z.heic", "notes.txt", "jpg", "b/deep/er/c.WebP", "film.mp4")
    found = find_photos(tmp_path)
    assert list(found) == [b"a.Png", b"b/10.jpeg", b"b/2.JPG", b"b/deep/er/c.WebP", b"z.heic"]
    assert found.paths[0] == os.path.join(os.fsencode(tmp_path), b"a.Png")
    assert found.problems == []
    assert len(found) == 5


def test_odd_names_come_through(tmp_path):
    names = [b"caf\xe9.jpg", b"line\nbreak.jpg", b"-rf.jpg", b" .jpg", b"a\\b.jpg", "日本.jpg".encode()]
    touch(tmp_path, *names)
    assert list(find_photos(tmp_path)) == sorted(names)


def test_hidden_things_and_our_own_folder_are_left_out(tmp_path):
    touch(tmp_path, ".tagloom/thumb.jpg", ".git/a.jpg", "._photo.jpg", "photo.jpg")
    assert list(find_photos(tmp_path)) == [b"photo.jpg"]


def test_pipes_and_broken_links_are_listed_for_their_verdict(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "broken.png").symlink_to("nowhere")
    (tmp_path / "folder.jpg").mkdir()
    touch(tmp_path, "folder.jpg/inside.gif")
    assert list(find_photos(tmp_path)) == [b"broken.png", b"folder.jpg/inside.gif", b"pipe.jpg"]


def test_loops_end_and_real_names_win_over_links(tmp_path):
    touch(tmp_path, "m/real/a.jpg", "m/real/sub/b.jpg")
    (tmp_path / "a_link").symlink_to("m/real")  # sorts before the real folder
    (tmp_path / "m" / "real" / "sub" / "up").symlink_to(tmp_path)  # a loop
    found = find_photos(tmp_path)
    assert list(found) == [b"m/real/a.jpg", b"m/real/sub/b.jpg"]
    assert [(record.path, record.verdict) for record in found.problems] == [
        (b"a_link", Verdict.NOT_REGULAR),
        (b"m/real/sub/up", Verdict.NOT_REGULAR),
    ]


def test_links_out_of_the_tree_are_followed_once_or_not_at_all(tmp_path):
    touch(tmp_path, "outside/a.jpg", "root/own.jpg")
    (tmp_path / "root" / "x").symlink_to("../outside")
    (tmp_path / "root" / "y").symlink_to("../outside")
    (tmp_path / "root" / "file.jpg").symlink_to("own.jpg")
    followed = find_photos(tmp_path / "root")
    assert list(followed) == [b"file.jpg", b"own.jpg", b"x/a.jpg"]
    assert [record.path for record in followed.problems] == [b"y"]
    plain = find_photos(tmp_path / "root", follow_symlinks=False)
    assert list(plain) == [b"own.jpg"]
    assert plain.problems == []


def test_many_links_do_not_multiply(tmp_path):
    for level in range(12):
        folder = tmp_path / f"level{level}"
        folder.mkdir()
        for twin in ("p", "q"):
            (folder / twin).symlink_to(f"../level{level + 1}")
    touch(tmp_path, "level12/a.jpg")
    assert list(find_photos(tmp_path / "level0")) == [b"/".join([b"p"] * 12 + [b"a.jpg"])]


def test_very_deep_trees(tmp_path):
    here = os.getcwd()
    try:
        os.chdir(tmp_path)
        for _ in range(60):
            os.mkdir("d" * 100)
            os.chdir("d" * 100)
        touch(".", "a.jpg")
    finally:
        os.chdir(here)
    found = find_photos(tmp_path)
    assert list(found) == []
    assert [record.verdict for record in found.problems] == [Verdict.UNREADABLE]


def test_a_root_that_is_none(tmp_path):
    touch(tmp_path, "file")
    for wrong in ("absent", "file"):
        with pytest.raises(PhotosError, match="folder of photos"):
            find_photos(tmp_path / wrong)


def test_folders_without_inode_numbers(tmp_path, monkeypatch):
    touch(tmp_path, "a/x.jpg")
    (tmp_path / "loop").symlink_to(".")
    stat = os.stat

    class Bare:
        st_dev = st_ino = 0

    monkeypatch.setattr(os, "stat", lambda path, **options: (stat(path, **options), Bare)[1])
    found = find_photos(tmp_path)
    assert list(found) == [b"a/x.jpg"]
    assert [record.path for record in found.problems] == [b"loop"]


def test_a_folder_without_permission_is_reported_and_the_rest_found(unprivileged_uid):
    script = (
        "import json, os, sys\n"
        "from tagloom.images.finder import find_photos\n"
        "os.setuid(int(sys.argv[2]))\n"
        "found = find_photos(sys.argv[1])\n"
        "told = [[r.path.decode(), r.verdict] for r in found.problems]\n"
        "print(json.dumps([[p.decode() for p in found], told]))\n"
    )
    # not pytest's tmp_path, whose parents are closed to other users
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        touch(folder, "closed/a.jpg", "open/b.jpg")
        os.chmod(os.path.join(folder, "closed"), 0o700)
        command = [sys.executable, "-c", script, folder, str(unprivileged_uid)]
        told = subprocess.run(command, check=True, capture_output=True).stdout
    assert json.loads(told) == [["open/b.jpg"], [["closed", "no_permission"]]]


def test_a_raw_file_is_a_photo_but_for_one_beside_a_jpeg_or_heic(tmp_path):
    touch(tmp_path, "b/2.JPG", "b/2.NEF", "b/2.dng", "c/Img.cr2", "c/IMG.heic", "c/3.png", "c/3.orf")
    touch(tmp_path, "raw/2.NEF", "raw/a.dng", ".x/a.dng", ".a.dng")
    found = find_photos(tmp_path)
    assert found.photos == [b"b/2.JPG", b"c/3.orf", b"c/3.png", b"c/IMG.heic", b"raw/2.NEF", b"raw/a.dng"]
    assert found.raw_of_photos == [b"b/2.NEF", b"b/2.dng", b"c/Img.cr2"]


def test_files_that_are_no_photos_are_counted(tmp_path):
    touch(
        tmp_path, "1.jpg", "1.jpg.xmp", "1.AAE", "a.mov", "b/a.MP4", "b/b.mp4", "x.psd", "x.jxl", "y.jxl", "n.txt", "n"
    )
    assert find_photos(tmp_path).skipped == {
        "videos": {"mp4": 2, "mov": 1},
        "JXL": {"jxl": 2},
        "PSD": {"psd": 1},
        "other files": {"no extension": 1, "txt": 1},
    }
    assert list(find_photos(tmp_path).skipped) == ["videos", "JXL", "PSD", "other files"]
