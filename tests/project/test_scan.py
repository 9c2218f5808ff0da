import io
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.core.keywords import Keyword
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.features import get_descriptor
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.project.project import Project
from tests.images.raw_files import dng, nef

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1}


def _photo(path, seed, *, taken=None):
    pixels = np.random.default_rng(seed).integers(0, 256, size=(24, 32, 3), dtype=np.uint8)
    exif = Image.Exif()
    if taken is not None:
        exif[0x0132] = taken
    Image.fromarray(pixels).save(path, format="JPEG", exif=exif)


@pytest.fixture
def photos(tmp_path):
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(6):
        _photo(folder / f"{number}.jpg", number)
    return folder


@pytest.fixture
def project(photos):
    with Project.init(photos, flags=LIGHT) as opened:
        yield opened


def _paths(project, state="present"):
    return project.store.photos.table(state=state).paths


def test_an_unchanged_tree_is_not_read(project, photos, monkeypatch):
    project.scan()
    real = open

    def no_photo(path, *arguments, **options):
        assert not os.fsdecode(path).endswith(".jpg")
        return real(path, *arguments, **options)

    monkeypatch.setattr("builtins.open", no_photo)
    monkeypatch.setattr("tagloom.images.pool.DecodePool.__init__", lambda *_, **__: pytest.fail("a pool was opened"))
    result = project.scan()
    assert (result.n_read, result.n_same) == (0, 6)


def test_every_kind_of_change(project, photos):
    project.scan()
    ids = dict(zip(_paths(project), project.store.photos.table().ids.tolist(), strict=True))
    project.label(b"0.jpg", add="kept")
    (photos / "new").mkdir()
    os.rename(photos / "0.jpg", photos / "new" / "zero.jpg")
    _photo(photos / "1.jpg", 101)
    os.remove(photos / "2.jpg")
    _photo(photos / "9.jpg", 9)
    shutil.copy(photos / "3.jpg", photos / "copy.jpg")
    result = project.scan()
    assert result.moved == (ids[b"0.jpg"],)
    assert result.changed == (ids[b"1.jpg"],)
    assert result.missing == (ids[b"2.jpg"],)
    assert len(result.new) == 2
    assert (result.n_same, result.n_duplicates) == (3, 1)
    assert result.examples["moved"] == (b"new/zero.jpg",)
    assert project.history(photo=ids[b"0.jpg"])[0].label == "label 1 photo: +kept"
    _photo(photos / "2.jpg", 2)
    assert project.scan().back == (ids[b"2.jpg"],)


def test_an_edit_of_the_same_size_and_time_is_seen(project, photos):
    project.scan()
    path = photos / "1.jpg"
    before = path.stat()
    data = path.read_bytes()
    with open(path, "r+b") as handle:  # the same file, its size and its time, as an editor that keeps times leaves it
        handle.write(data[:-20] + bytes(255 - each for each in data[-20:-2]) + data[-2:])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns, after.st_ino) == (before.st_size, before.st_mtime_ns, before.st_ino)
    result = project.scan()
    assert (result.n_read, len(result.changed)) == (1, 1)


def test_a_change_of_permissions_is_no_change_of_the_photo(project, photos):
    project.scan()
    os.chmod(photos / "1.jpg", 0o600)
    result = project.scan()
    assert (len(result.changed), result.n_same) == (0, 6)


def test_bad_files_get_one_verdict_each(project, photos):
    (photos / "empty.jpg").touch()
    (photos / "text.png").write_text("not a photo")
    os.mkfifo(photos / "pipe.jpg")
    os.symlink("nowhere.jpg", photos / "broken.jpg")
    os.symlink(".", photos / "loop")
    odd = os.fsencode(photos) + b"/-caf\xe9\nline.jpg"
    _photo(os.fsdecode(odd), 77)
    result = project.scan()
    assert result.n_listed == 11
    assert result.unreadable == {"empty": 1, "not_an_image": 1, "not_regular": 1, "missing": 1}
    assert {name for name, _, _ in result.problems} == {b"empty.jpg", b"text.png", b"pipe.jpg", b"broken.jpg", b"loop"}
    assert b"-caf\xe9\nline.jpg" in _paths(project)
    assert "bytes://-caf%E9\nline.jpg" in result.as_dict()["examples"]["new"]
    project.label("bytes://-caf%E9\nline.jpg", add="odd")
    second = project.scan()
    assert (second.new, second.changed, second.missing) == ((), (), ())
    assert second.unreadable == result.unreadable
    (photos / "text.png").unlink()
    _photo(photos / "text.png", 5)
    assert project.scan().unreadable == {"empty": 1, "not_regular": 1, "missing": 1}


def test_a_root_out_of_reach_is_offline_and_nothing_is_missing(tmp_path, photos):
    with Project.init(photos, project=tmp_path / "project", flags=LIGHT) as project:
        project.scan()
        project.label("0.jpg", add="sea")
        os.rename(photos, tmp_path / "elsewhere")
        result = project.scan()
        assert (result.offline, result.missing) == (True, ())
        now = project.status()
        assert (now.online, now.n_offline, now.n_missing, now.n_labeled) == (False, 6, 0, 1)
        assert "--photos" in now.command
        with pytest.raises(StoreError, match="offline"):
            project.write()
        # The empty place where a disk was mounted is not a folder whose photos have gone.
        photos.mkdir()
        assert project.scan().offline
        photos.rmdir()
        project.move_root(tmp_path / "elsewhere")
        back = project.scan()
        assert (back.offline, back.n_same, back.missing, back.new) == (False, 6, (), ())
        assert project.root == tmp_path / "elsewhere"


def test_a_project_moves_with_its_photos(tmp_path, photos):
    with Project.init(photos, flags=LIGHT) as project:
        project.scan()
        project.label("0.jpg", add="sea")
    os.rename(photos, tmp_path / "renamed")
    with Project.open(tmp_path / "renamed", flags=LIGHT) as project:
        result = project.scan()
        assert (result.n_same, result.n_read, result.new) == (6, 0, ())
        assert project.status().n_labeled == 1


@pytest.fixture
def open_place(unprivileged_uid):
    """Return a folder that other users reach, with photos in it, and what makes a project there theirs."""
    # not pytest's tmp_path, whose parents are closed to other users
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        place = Path(folder)
        (place / "photos" / "sub").mkdir(parents=True)
        for number in range(3):
            _photo(place / "photos" / f"{number}.jpg", number)
        _photo(place / "photos" / "sub" / "3.jpg", 3)
        yield place


def _as_user(uid, place, script):
    """Give the project to a user and run a script as that user.

    All of the package is imported before, as that user may not be able to read it: under /root, for one.
    """
    (place / "config").mkdir(exist_ok=True)
    for path in [place / "config", place / "project", *(place / "project").rglob("*")]:
        os.chown(path, uid, uid)
    start = """
        import importlib, os, pkgutil, sys
        import lxml.etree
        import tagloom
        for module in pkgutil.walk_packages(tagloom.__path__, "tagloom."):
            importlib.import_module(module.name)
        from tagloom.exceptions import TagloomError
        from tagloom.project.project import Project
        os.setuid(int(sys.argv[1]))
        photos, project = sys.argv[2:]
        with Project.open(project) as given:
            given.trust()  # another user made it, and the photos are elsewhere
    """
    command = [sys.executable, "-c", textwrap.dedent(start) + textwrap.dedent(script), str(uid)]
    command += [str(place / "photos"), str(place / "project")]
    environment = os.environ | {"TAGLOOM_CONFIG": str(place / "config")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.medium
def test_a_folder_that_cannot_be_searched_keeps_its_photos(open_place, unprivileged_uid):
    with Project.init(open_place / "photos", project=open_place / "project", flags=LIGHT) as project:
        assert len(project.scan().new) == 4
    os.chmod(open_place / "photos" / "sub", 0o700)
    script = """
        with Project.open(project) as opened:
            result = opened.scan()
            print(result.n_same, result.missing, [name for name, *_ in result.problems], opened.status().n_missing)
    """
    assert _as_user(unprivileged_uid, open_place, script) == ["4 () [b'sub'] 0"]
    shutil.rmtree(open_place / "photos" / "sub")
    with Project.open(open_place / "project", flags=LIGHT) as project:
        assert len(project.scan().missing) == 1


@pytest.mark.medium
def test_photos_that_cannot_be_written_to(open_place, unprivileged_uid):
    with Project.init(open_place / "photos", project=open_place / "project", flags=LIGHT) as project:
        project.scan()
    before = sorted((open_place / "photos").rglob("*"))
    script = """
        try:
            Project.init(photos)
        except TagloomError as error:
            print("--project" in str(error))
        with Project.open(project) as opened:
            print(opened.scan().n_same)
            opened.label("0.jpg", add="sea")
            print(opened.write(dry_run=True).counts)
            result = opened.write()
            print(result.counts, result.files[0].problem != "", opened.store.writes.pending())
            print(opened.check())
    """
    told = _as_user(unprivileged_uid, open_place, script)
    assert told == ["True", "4", "{'planned': 1}", "{'failed': 1} True []", "[]"]
    assert sorted((open_place / "photos").rglob("*")) == before


@pytest.mark.medium
def test_raw_files_belong_to_their_photos(project, photos):
    (photos / "0.CR2").write_bytes(b"raw bytes")
    (photos / "alone.CR2").write_bytes(b"no photo beside it")
    result = project.scan()
    assert (result.n_listed, result.n_raw_of_photos, result.n_raw_photos) == (8, 1, 1)
    assert result.unreadable == {"not_an_image": 1}
    project.label("0.jpg", add="sea")
    written = project.write()
    assert {item.photo for item in written.files} == {b"0.jpg", b"0.CR2"}
    assert (photos / "0.CR2.xmp").is_file()
    assert (photos / "0.CR2").read_bytes() == b"raw bytes"
    project.undo()
    assert not (photos / "0.CR2.xmp").exists()
    # Keywords that another program gave to the raw file are the photo's.
    (photos / "0.CR2.xmp").write_bytes(plan_sidecar(None, add=[Keyword.flat("raw")]).after)
    assert project.import_from_photos(embedded=False).n_photos == 1
    assert [row.photo for row in project.write(dry_run=True, photos="0.jpg").files] == [b"0.jpg", b"0.CR2"]
    os.remove(photos / "0.CR2.xmp")
    (photos / "sub").mkdir()
    os.rename(photos / "0.jpg", photos / "sub" / "0.jpg")
    os.rename(photos / "0.CR2", photos / "sub" / "0.CR2")
    moved = project.scan()
    assert (len(moved.moved), moved.examples["moved"]) == (1, (b"sub/0.jpg",))
    assert (moved.missing, moved.n_raw_of_photos, moved.raw_gone) == ((), 1, ())
    assert sorted(project.store.photos.paths())[-2:] == [b"sub/0.CR2", b"sub/0.jpg"]


def test_capture_times(project, photos):
    _photo(photos / "dated.jpg", 50, taken="2021:07:04 12:34:56")
    project.scan()
    table = project.store.photos.table()
    taken = dict(zip(table.paths, table.taken.tolist(), strict=True))
    assert taken[b"dated.jpg"] == 1_625_402_096.0  # date -u -d "2021-07-04 12:34:56" +%s
    assert np.isnan(taken[b"0.jpg"])
    assert not len(project.store.photos.undated())


@pytest.mark.medium
def test_extracting_fills_the_cache_once(project, photos):
    project.scan()
    first = project.extract()
    assert (first.n_photos, first.n_ready, first.n_decoded) == (6, 6, 6)
    assert list(first.groups) == ["color"]
    assert project.extract().n_decoded == 0


@pytest.mark.medium
def test_extracting_at_once_decodes_each_photo_once(project, photos, tmp_path):
    found = project.extract()
    assert (found.n_photos, found.n_ready, found.n_decoded) == (6, 6, 6)
    table = project.store.photos.table()
    assert not len(project.store.photos.undated())
    with project.store.cache() as cache:
        assert len(cache.thumbnails(table.hashes)) == 6
    assert project.scan().n_read == project.extract().n_decoded == 0
    again = Project.init(photos, project=tmp_path / "again", flags={**project.flags, "engine": "processes"})
    with again:
        elsewhere = again.extract()
        assert (elsewhere.n_ready, elsewhere.n_decoded) == (6, 6)
        assert again.store.photos.table().taken.tolist() == pytest.approx(table.taken.tolist(), nan_ok=True)
        with again.store.cache() as one, project.store.cache() as other:
            key = get_descriptor("color").key
            np.testing.assert_array_equal(one.get(key, table.hashes), other.get(key, table.hashes))
            assert one.thumbnails(table.hashes) == other.thumbnails(table.hashes)


def test_labels_go_to_a_copy_when_the_photo_goes(project, photos):
    project.scan()
    project.label("0.jpg", add="sea")
    shutil.copy(photos / "0.jpg", photos / "backup.jpg")
    project.scan()
    os.remove(photos / "0.jpg")
    result = project.scan()
    assert result.examples["took_over"] == (b"backup.jpg",)
    now = project.status()
    assert (now.n_present, now.n_labeled, now.n_missing, now.n_unwritten) == (6, 1, 1, 2)
    assert project.history(photo=result.took_over[0])[0].id == result.batch
    assert [item.photo for item in project.write(dry_run=True).files] == [b"backup.jpg"]
    project.undo()
    assert project.status().n_labeled == 0
    assert project.scan().took_over == ()


@pytest.mark.medium
def test_a_raw_file_is_counted_with_its_photo(project, photos, tmp_path):
    (photos / "0.CR2").write_bytes(b"raw bytes")
    (photos / "text.jpg").write_text("no photo")
    first = project.scan()
    assert (first.n_listed, len(first.new), first.n_raw_of_photos) == (8, 7, 1)
    now = project.status()
    assert (now.n_present, now.n_unreadable, project.extract().n_photos) == (7, 1, 6)
    page = project.report(tmp_path / "report.html")
    assert (page.n_photos, page.n_unreadable) == (6, sum(first.unreadable.values()))
    again = project.scan()
    assert (again.n_same, again.new, again.n_read) == (7, (), 0)
    # Named by the raw file, the photo is meant.
    assert project.label("0.CR2", add="sea").n_decisions == 1
    assert project.label("0.jpg", add="sea").n_decisions == 0
    with pytest.raises(InvalidInputError, match="no photo lies in a folder"):
        project.import_folder_names()
    # Without its photo it is a photo itself, here one that cannot be read.
    os.rename(photos / "0.jpg", tmp_path / "0.jpg")
    alone = project.scan()
    assert (alone.examples["missing"], alone.n_raw_photos, alone.raw_gone) == ((b"0.jpg",), 1, ())
    assert (project.status().n_missing, alone.absent) == (1, (b"0.jpg",))
    assert (b"0.CR2", "not_an_image") in [problem[:2] for problem in alone.problems]
    os.rename(tmp_path / "0.jpg", photos / "0.jpg")
    back = project.scan()
    assert (len(back.back), back.n_raw_of_photos, back.n_raw_photos) == (1, 1, 0)
    os.remove(photos / "0.CR2")
    gone = project.scan()
    assert (gone.missing, gone.raw_gone, project.status().n_missing) == ((), (b"0.CR2",), 0)
    assert project.check() == []


def _preview(seed):
    buffer = io.BytesIO()
    colours = np.random.default_rng(seed).integers(0, 256, size=(4, 6, 3), dtype=np.uint8)
    Image.fromarray(colours).resize((400, 300)).save(buffer, "JPEG")
    return buffer.getvalue()


@pytest.mark.medium
def test_raw_files_without_a_jpeg_are_photos(tmp_path):
    folder = tmp_path / "raw"
    (folder / "sub").mkdir(parents=True)
    (folder / "x.NEF").write_bytes(nef(_preview(1), orientation=6))
    (folder / "sub" / "y.dng").write_bytes(dng(_preview(2)))
    (folder / ".hidden.nef").write_bytes(b"raw")
    with Project.init(folder, flags=LIGHT) as project:
        first = project.scan()
        assert (len(first.new), first.n_raw_photos, first.n_raw_of_photos, first.unreadable) == (2, 2, 0, {})
        table = project.store.photos.table()
        assert dict(zip(table.paths, table.sizes.tolist(), strict=True)) == {
            b"x.NEF": [300, 400],
            b"sub/y.dng": [400, 300],
        }
        assert not np.isnan(table.taken).any()  # 2021-07-04, from the RAW file's own directories
        assert (project.extract().n_photos, project.scan().n_read) == (2, 0)
        # Labelled and written like any photo, to a sidecar that RAW software reads; the RAW file is never written to.
        before = (folder / "x.NEF").read_bytes()
        project.label("x.NEF", add="sea")
        assert [item.status for item in project.write().files] == ["written"]
        assert (folder / "x.NEF.xmp").is_file()
        assert (folder / "x.NEF").read_bytes() == before
        assert project.import_folder_names().n_photos == 1
        assert project.check() == []


@pytest.mark.medium
def test_tags_follow_from_one_file_of_a_pair_to_the_other(tmp_path):
    folder = tmp_path / "raw"
    folder.mkdir()
    (folder / "x.NEF").write_bytes(nef(_preview(1)))
    with Project.init(folder, flags=LIGHT) as project:
        project.scan()
        project.label("x.NEF", add="sea")
        # The photo is developed: the JPEG is the photo now, with the tags of its RAW file.
        _photo(folder / "X.jpg", 1)
        paired = project.scan()
        assert (paired.n_raw_of_photos, paired.n_raw_photos) == (1, 0)
        assert (paired.examples["took_over"], len(paired.new)) == ((b"X.jpg",), 1)
        now = project.status()
        assert (now.n_present, now.n_labeled, now.n_missing) == (1, 1, 0)
        assert {item.photo for item in project.write(dry_run=True).files} == {b"X.jpg", b"x.NEF"}
        assert project.scan().took_over == ()
        # The JPEG goes: the RAW file is the photo again, and has its own tags still.
        project.label("X.jpg", add="beach")
        os.remove(folder / "X.jpg")
        alone = project.scan()
        assert (alone.n_raw_photos, alone.took_over, project.status().n_labeled) == (1, (), 1)


@pytest.mark.medium
def test_a_raw_file_takes_over_the_tags_of_its_jpeg_that_goes(tmp_path):
    folder = tmp_path / "pair"
    folder.mkdir()
    (folder / "x.NEF").write_bytes(nef(_preview(1)))
    _photo(folder / "x.jpg", 1)
    with Project.init(folder, flags=LIGHT) as project:
        project.scan()
        project.label("x.jpg", add="sea")
        os.remove(folder / "x.jpg")
        alone = project.scan()
        assert (alone.examples["took_over"], project.status().n_labeled) == ((b"x.NEF",), 1)
        table = project.store.photos.table(state="present")
        assert (table.paths, np.isnan(table.taken).any()) == ([b"x.NEF"], np.False_)


def test_skipped_files_are_counted_and_named(project, photos):
    names = ("a.mp4", "b.MP4", "c.mov", "d.jxl", "e.psd", "notes.txt", "LICENSE", "odd.\x1b[31m", "0.jpg.xmp", ".h.mp4")
    for name in names:
        (photos / name).write_bytes(b"x")
    assert project.scan().skipped == {
        "videos": {"mp4": 2, "mov": 1},
        "JXL": {"jxl": 1},
        "PSD": {"psd": 1},
        "other files": {"no extension": 2, "txt": 1},
    }


def test_every_scan_names_all_that_is_unreadable_or_missing(project, photos):
    for number in range(8):
        (photos / f"bad{number}.jpg").write_text("no photo")
    first = project.scan()
    assert len(first.problems) == 8
    assert all(detail for _, _, detail in first.problems)
    os.remove(photos / "1.jpg")
    project.scan()
    os.remove(photos / "3.jpg")
    second = project.scan()
    assert second.problems == first.problems
    assert (second.examples["missing"], second.absent) == ((b"3.jpg",), (b"1.jpg", b"3.jpg"))
    (finding,) = project.check()
    assert "2 photos were not there at the last scan (1.jpg, 3.jpg)" in finding.detail
