"""Keywords written into photos: the store follows them to their new content, and back."""

import hashlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from PIL import Image

from tagloom.core.files import TEMPORARY_MARK
from tagloom.core.keywords import Keyword
from tagloom.metadata.embedding import KeywordEmbedder
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.project.journal import ProjectJournal
from tagloom.project.project import Project

pytestmark = pytest.mark.medium

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "method": "ridge"}
NAMES = tuple(f"{number:02d}.jpg" for number in range(8))
ODD = (
    "Orte|Köln|Straße, alt",
    r"a\|b",
    "c/d",
    "\"quoted\" & <tagged> 'x'",
    "日本|京都",
    "a;b,c",
    "x" * 1000,
)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    """Return photos with a project beside them, one of them too large for the database; not to be changed."""
    folder = tmp_path_factory.mktemp("embed") / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number, name in enumerate(NAMES):
        shape = (520, 520, 3) if number == 2 else (16, 16, 3)
        Image.fromarray(rng.integers(0, 256, size=shape, dtype=np.uint8)).save(folder / name, quality=95)
    assert (folder / "02.jpg").stat().st_size > 262_144
    with Project.init(folder, flags=LIGHT) as project:
        project.scan()
        project.label(list(NAMES[::2]), add=["sea", "Places|Coast"])
        project.label(list(NAMES[1::2]), add="snow", remove="sea")
        project.train()
    return folder


@pytest.fixture
def photos(scanned, tmp_path):
    shutil.copytree(scanned, tmp_path / "photos")
    return tmp_path / "photos"


@pytest.fixture
def project(photos):
    with Project.open(photos, flags=LIGHT) as opened:
        opened.scan()
        yield opened


@pytest.fixture
def quick(monkeypatch):
    """Let a comment in the JPEG file stand for what exiftool does: which file is known by what is the same."""
    monkeypatch.setattr("tagloom.metadata.embedding.find_exiftool", lambda: "none")
    monkeypatch.setattr(KeywordEmbedder, "_rewritten", _with_comment)


def _with_comment(self, folder, original, plan):
    return original[:2] + b"\xff\xfe\x00\x06word" + original[2:]


def _digest(path):
    return hashlib.blake2b(path.read_bytes(), digest_size=32).hexdigest()


def _files(folder):
    return {path.name: _digest(path) for path in sorted(folder.iterdir()) if path.is_file()}


def _follows(project, photos):
    """Check that every photo is known by the content that it has, with features and thumbnail; return these."""
    table = project.store.photos.table(state="present")
    names = [os.fsdecode(path) for path in table.paths]
    assert {name: value for name, value in _files(photos).items() if name.endswith(".jpg")} == dict(
        zip(names, table.hashes, strict=True)
    )
    found = {}
    with project.store.lock(), project.store.cache() as cache:
        for key in (path.name for path in (project.folder / "features").iterdir()):
            found[key] = dict(zip(names, cache.get(key, table.hashes).tolist(), strict=True))
        images = cache.thumbnails(table.hashes)
        found["thumbnails"] = {name: images[value] for name, value in zip(names, table.hashes, strict=True)}
    assert len(found) >= 3
    return found


def _unchanged(project):
    """Check that a scan opens no photo and finds all of them as they were."""
    result = project.scan()
    assert (result.n_read, result.n_same) == (0, result.n_listed)
    assert result.new + result.changed + result.moved + result.missing + result.back == ()


def _decided(project):
    table = project.store.decisions.history()
    return [(item.id, item.kind, item.n) for item in table if item.kind == "decide"]


def test_all_that_is_known_goes_along_and_comes_back(project, photos, exiftool):
    before, known, said = _files(photos), _follows(project, photos), _decided(project)
    suggested = project.suggest(n=0)
    assert project.write(embed=True, photos=["01.jpg", "02.jpg"]).counts == {"written": 2}
    assert {name for name, value in _files(photos).items() if value != before[name]} == {"01.jpg", "02.jpg"}
    assert _follows(project, photos) == known
    _unchanged(project)
    assert _decided(project) == said
    assert project.suggest(n=0) == suggested
    assert project.extract().n_decoded == 0
    assert project.check(checksums=True) == []
    assert project.undo().n_files == 2
    assert _files(photos) == before
    assert _follows(project, photos) == known
    _unchanged(project)
    assert _decided(project) == said


def test_a_copy_of_the_photo_stays_what_it_was(project, photos, quick):
    shutil.copy(photos / "01.jpg", photos / "copy.jpg")
    project.scan()
    known = _follows(project, photos)
    project.write(embed=True, photos="01.jpg")
    assert _digest(photos / "01.jpg") != _digest(photos / "copy.jpg")
    assert _follows(project, photos) == known
    project.label("copy.jpg", add="snow")
    project.write(embed=True, photos="copy.jpg")
    assert _follows(project, photos) == known
    _unchanged(project)
    project.undo()
    project.undo()  # the label
    project.undo()
    assert _digest(photos / "01.jpg") == _digest(photos / "copy.jpg")
    assert _follows(project, photos) == known
    _unchanged(project)


def test_a_link_to_a_photo_goes_along_with_it(project, photos, quick):
    (photos / "link.jpg").symlink_to("01.jpg")
    project.scan()
    assert b"link.jpg" in project.store.photos.paths()
    project.label("link.jpg", add="dog")
    known = _follows(project, photos)
    before = _files(photos)
    project.write(embed=True, photos=["01.jpg", "link.jpg"])  # the one file, twice
    assert _follows(project, photos) == known
    _unchanged(project)
    project.undo()
    assert _files(photos) == before
    assert _follows(project, photos) == known
    _unchanged(project)


def test_a_photo_that_was_edited_since_the_scan_is_read_again(project, photos, quick):
    Image.new("RGB", (20, 20), "red").save(photos / "01.jpg")
    project.write(embed=True, photos="01.jpg")
    result = project.scan()
    (number,) = project.store.photos.find([b"01.jpg"]).values()
    assert (result.n_read, result.changed) == (1, (number,))
    project.extract()
    _follows(project, photos)


def test_another_program_after_us_is_seen(project, photos, quick, monkeypatch):
    flush = ProjectJournal.flush

    def late(self):
        if any(self._marks.values()):
            Image.new("RGB", (20, 20), "red").save(photos / "01.jpg")
        flush(self)

    monkeypatch.setattr(ProjectJournal, "flush", late)
    project.write(embed=True, photos="01.jpg")
    assert project.scan().n_read == 1


def test_a_photo_that_moved_is_followed_by_undo(project, photos, quick):
    before, known = _files(photos), _follows(project, photos)
    project.write(embed=True, photos="01.jpg")
    (photos / "01.jpg").rename(photos / "moved.jpg")
    project.scan()
    project.undo()
    assert _digest(photos / "moved.jpg") == before["01.jpg"]
    _unchanged(project)
    (photos / "moved.jpg").rename(photos / "01.jpg")
    project.scan()
    assert _follows(project, photos) == known


def test_written_and_killed_before_the_note(project, photos, quick, monkeypatch):
    before, known = _files(photos), _follows(project, photos)
    monkeypatch.setattr(ProjectJournal, "flush", lambda _: None)
    project.write(embed=True)
    monkeypatch.undo()
    with Project.open(photos, flags=LIGHT) as other:
        assert len(other.recovered) == len(NAMES)
        assert _files(photos) != before
        assert _follows(other, photos) == known
        _unchanged(other)
        other.undo()
        assert _files(photos) == before
        assert _follows(other, photos) == known


def test_what_exiftool_was_at_work_on_is_swept(project, quick):
    scratch = project.folder / "written" / "scratch-abc"
    scratch.mkdir(parents=True)
    (scratch / "copy.jpg_exiftool_tmp").write_bytes(b"half a photo")
    assert [item.kind for item in project.check()] == ["temporary"]
    project.write(embed=True, photos="01.jpg")
    assert not scratch.exists()
    assert project.check() == []


KILLED = """
    import os, signal, sys
    import lxml.etree
    import apsw
    from tagloom.core import system
    from tagloom.metadata import embedding
    from tagloom.project import write as project_write
    from tagloom.project.project import Project

    folder, action, left = sys.argv[1], sys.argv[2], int(sys.argv[3])
    embedding.find_exiftool = lambda: "none"
    embedding.KeywordEmbedder._rewritten = (
        lambda self, folder, original, plan: original[:2] + b"\\xff\\xfe\\x00\\x06word" + original[2:]
    )

    def count():
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly(function):
        def call(*arguments, **options):
            count()
            result = function(*arguments, **options)
            count()
            return result
        return call

    with Project.open(folder) as project:
        system.sync_file, system.sync_folder = deadly(system.sync_file), deadly(system.sync_folder)
        os.replace, os.rename, os.unlink = deadly(os.replace), deadly(os.rename), deadly(os.unlink)
        system.exchange_files = deadly(system.exchange_files)
        system.move_to_free_name = deadly(system.move_to_free_name)
        store, transaction = project.store, type(project.store).transaction
        type(store).transaction = deadly(transaction)  # also around the note that the files are done
        from tagloom.store.cache import FolderCache
        FolderCache.put_thumbnails = deadly(FolderCache.put_thumbnails)
        project.write(embed=True, photos=["01.jpg", "02.jpg"]) if action == "write" else project.undo()
"""


@pytest.mark.parametrize("action", ["write", "undo"])
def test_killed_anywhere_the_store_follows(project, photos, action, quick):
    before, known = _files(photos), _follows(project, photos)
    project.close()
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(photos), action]
    n_partial = 0
    for point in range(0, 60, 3):
        if action == "undo":
            with Project.open(photos, flags=LIGHT) as opened:
                opened.write(embed=True, photos=["01.jpg", "02.jpg"])
        written = _files(photos)
        child = subprocess.run([*command, str(point)], capture_output=True, check=False)
        assert child.returncode in (0, -signal.SIGKILL), child.stderr
        n_partial += _files(photos) not in (before, written)
        with Project.open(photos, flags=LIGHT) as opened:
            assert not [name for name in _files(photos) if TEMPORARY_MARK in name]
            assert _follows(opened, photos) == known
            _unchanged(opened)
            opened.repair()
            assert opened.check(checksums=True) == []
            while (latest := opened.store.decisions.undoable()) is not None and latest.kind == "write":
                opened.undo()
            assert _files(photos) == before
            assert _follows(opened, photos) == known
            _unchanged(opened)
        if child.returncode == 0:
            break
    assert child.returncode == 0  # the last point lay beyond the end
    assert n_partial > 1


@pytest.mark.parametrize("embed", [False, True])
def test_odd_keywords_come_back_into_another_project(project, photos, tmp_path, exiftool, exiv2, embed):
    project.label("01.jpg", add=list(ODD))
    assert project.write(embed=embed, photos="01.jpg").counts == {"written": 1}
    wanted = {*ODD, "snow"}
    assert {keyword.text for keyword in read_photo_keywords(os.fsencode(photos / "01.jpg")).keywords} == wanted
    with Project.init(photos, project=tmp_path / "other", flags=LIGHT) as other:
        other.scan()
        other.import_from_photos()
        assert {tag.text for tag in other.store.tags.all() if tag.n_yes} == wanted
    levels = {level for text in wanted for level in Keyword.parse(text).path}
    file = photos / ("01.jpg" if embed else "01.jpg.xmp")
    told = subprocess.run([exiftool, "-s3", "-sep", "@@", "-XMP-dc:Subject", file], check=True, capture_output=True)
    assert set(told.stdout.decode().strip().split("@@")) == levels
    told = subprocess.run([exiv2, "-Pv", "-K", "Xmp.dc.subject", file], check=True, capture_output=True)
    assert all(level in told.stdout.decode() for level in levels)


def test_a_renamed_tag_takes_its_keyword_along(project, photos, exiftool):
    project.write(photos="00.jpg", embed=True)
    project.write(photos="02.jpg")
    before = _files(photos)
    project.rename_tag("sea", "ocean")
    names = ["00.jpg", "02.jpg"]
    embedded = project.write(photos=names, embed=True)
    assert [item.removed for item in embedded.files] == [(Keyword.flat("sea"),), ()]  # nothing was in the second one
    assert "sea" not in [item.text for item in read_photo_keywords(os.fsencode(photos / "00.jpg")).keywords]
    beside = project.write(photos="02.jpg")
    assert [item.removed for item in beside.files] == [(Keyword.flat("sea"),)]
    project.undo()
    project.undo()
    assert _files(photos) == before
