"""The verifier of faults must find each kind of damage, or it proves nothing."""

import os
import random
import shutil
from pathlib import Path

import apsw
import pytest
from PIL import Image

from benchmarks.faults import report, tasks
from benchmarks.faults.scene import make_scene
from benchmarks.faults.server import Outcome
from benchmarks.faults.verify import Knowledge, verify
from tagloom.project.project import Project

pytestmark = pytest.mark.medium
DONE = Outcome(finished=True)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """Return a scene, and keep what the faults put into the environment from other tests."""
    before = dict(os.environ)
    yield make_scene(tmp_path_factory.mktemp("faults") / "scene", n_photos=6)
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def asked(scene, tmp_path):
    """Return a function that gives a verb something to do, and what is known and asked for then."""

    def ask(verb):
        folder = tmp_path / "photos"
        shutil.copytree(scene, folder)
        with Project.open(folder) as project:
            project.scan()
        before = Knowledge.of(folder)
        options = tasks.prepare(verb, folder, random.Random(0))
        known = Knowledge.of(folder)
        known.expect(verb, options, before)
        return known, options

    return ask


def _sql(known, text, *values):
    connection = apsw.Connection(str(known.folder / ".tagloom" / "tagloom.sqlite"))
    connection.execute(text, values)
    connection.close()


@pytest.mark.parametrize("verb", tasks.VERBS)
def test_before_and_after_pass_and_what_is_missing_is_found(asked, exiftool, verb):
    known, options = asked(verb)
    assert verify(known) == []
    if verb in ("scan", "label", "train"):
        return
    known.hear(verb, DONE)  # said to be done, and it is not
    assert verify(known)
    known.expect(verb, options)
    with Project.open(known.folder) as project:
        if verb == "tags":
            project.rename_tag(options["old"], options["new"])
            assert verify(known) == []
            project.merge_tags(options["new"], options["into"])
        elif verb == "import":
            project.import_keywords(options["source"], absent_means="unknown")
        elif verb == "backup":
            project.backup(options["target"])
        elif verb == "embed":
            project.write(embed=True, photos=options["photos"], base=known.folder)
        else:
            return
    known.hear(verb, DONE)
    assert verify(known) == []


@pytest.mark.parametrize("verb", ["undo", "unembed"])
def test_an_undo_in_part(asked, exiftool, verb):
    known, options = asked(verb)
    names = options["photos"] if verb == "unembed" else sorted(known._sidecars_to_change())
    with Project.open(known.folder) as project:
        project.undo(options["batch"])
    assert verify(known) == []
    known.hear(verb, DONE)
    assert verify(known) == []
    path = known.folder / names[0]
    path.write_bytes((path.read_bytes() if path.exists() else b"") + b" ")
    assert verify(known)


def test_half_an_import_is_found(asked):
    known, options = asked("import")
    with Project.open(known.folder) as project:
        for number, tag in options["pairs"][:2]:
            project.label(number, add=tag)
    assert any("in part" in line for line in verify(known))


@pytest.mark.parametrize("damage", ["pixels", "torn", "keywords", "lost features", "stale record", "stale photo"])
def test_damage_of_photos_that_keywords_go_into(asked, exiftool, damage):
    known, options = asked("embed")
    name = options["photos"][0]
    path = known.folder / name
    with Project.open(known.folder) as project:
        project.write(embed=True, photos=options["photos"], base=known.folder)
    known.hear("embed", DONE)
    assert verify(known) == []
    if damage == "pixels":
        Image.new("RGB", (16, 16), "red").save(path)
    elif damage == "torn":
        path.write_bytes(path.read_bytes()[:300])
    elif damage == "keywords":
        known.words.add("never written")
    elif damage == "lost features":
        sql = "DELETE FROM feature_rows WHERE content_hash = (SELECT content_hash FROM files WHERE path = ?)"
        _sql(known, sql, name.encode())
    elif damage == "stale record":
        _sql(known, "UPDATE files SET content_hash = zeroblob(32) WHERE path = ?", name.encode())
    else:
        _sql(known, "UPDATE photos SET content_hash = zeroblob(32) WHERE path = ?", name.encode())
    assert verify(known)


@pytest.mark.parametrize("damage", ["cut", "old"])
def test_a_backup_that_is_not_whole(asked, damage):
    known, options = asked("backup")
    with Project.open(known.folder) as project:
        project.backup(options["target"])
        if damage == "old":
            known.states[1, "later"] = {1}
            project.label(1, add="later")
    if damage == "cut":
        data = Path(options["target"]).read_bytes()
        Path(options["target"]).write_bytes(data[: len(data) // 2] + bytes(len(data) - len(data) // 2))
    assert verify(known)
    assert not list(known.folder.glob("backup-*"))


def test_every_verb_has_a_title_that_the_page_can_show():
    for verb in tasks.VERBS:
        assert report._title(verb).strip("`")
    assert set(tasks.TITLES) <= set(tasks.VERBS)
