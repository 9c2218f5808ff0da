import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from PIL import Image

from tagloom.core import system
from tagloom.core.files import TEMPORARY_MARK
from tagloom.core.keywords import Keyword
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.project.journal import ProjectJournal
from tagloom.project.project import Project

pytestmark = pytest.mark.medium

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "method": "ridge"}
FOREIGN = b"""<?xpacket begin='' id='W5M0MpCehiHzreSzNTczkc9d'?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="4"/></rdf:RDF></x:xmpmeta>
<?xpacket end='w'?>"""


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    """Return photos with a project beside them in which some have tags; not to be changed."""
    folder = tmp_path_factory.mktemp("write") / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for number in range(24):
        color = np.array([255, 40, 40] if number % 2 else [40, 40, 255])
        pixels = np.clip(color + rng.integers(-30, 30, size=(16, 16, 3)), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:02d}.jpg")
    with Project.init(folder, flags=LIGHT) as project:
        project.scan()
        project.label([f"{number:02d}.jpg" for number in range(1, 12, 2)], add="red")
        project.label([f"{number:02d}.jpg" for number in range(0, 12, 2)], add="blue")
        project.label([f"{number:02d}.jpg" for number in range(0, 12, 2)], remove="red")
        project.label([f"{number:02d}.jpg" for number in range(1, 12, 2)], remove="blue")
        project.train()
    return folder


@pytest.fixture
def photos(scanned, tmp_path):
    shutil.copytree(scanned, tmp_path / "photos", copy_function=shutil.copy2)
    return tmp_path / "photos"


@pytest.fixture
def project(photos):
    with Project.open(photos, flags=LIGHT) as opened:
        opened.scan()
        yield opened


def _files(folder):
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir()) if path.is_file()
    }


def _keywords(photo):
    return [keyword.text for keyword in read_photo_keywords(os.fsencode(photo)).keywords]


def test_only_accepted_keywords_are_written(project, photos):
    result = project.write()
    assert (result.counts, result.n_accepted, result.n_suggested) == ({"written": 12}, 12, 0)
    assert _keywords(photos / "01.jpg") == ["red"]
    assert not (photos / "13.jpg.xmp").exists()
    assert project.history(1)[0].label == "write keywords"
    run = project.store.runs.all("write")[0]
    assert (run.settings["accepted_only"], run.settings["suggested"]) == (True, {})
    assert run.result == {"batch": result.batch, "counts": {"written": 12}, "settled": result.batch - 1}


def test_suggestions_above_the_threshold_are_noted_as_such(project, photos):
    result = project.write(threshold=0.5, uncalibrated=True)
    assert (result.n_accepted, result.n_suggested) == (12, 12)
    assert _keywords(photos / "13.jpg") == ["red"]
    mine = next(item for item in result.files if item.photo == b"13.jpg")
    assert mine.suggested == mine.added == (Keyword.flat("red"),)
    assert mine.as_dict()["suggested"] == ["red"]
    number = int(project.store.photos.find([b"13.jpg"])[b"13.jpg"])
    assert project.store.runs.all("write")[0].settings["suggested"][str(number)] == ["red"]
    # They are no decisions when photos are read, and they go when nothing suggests them any more.
    taken = project.import_from_photos()
    assert taken.n_photos == 12
    assert project.status().n_yes == 12
    back = project.write(threshold=1e9, uncalibrated=True)
    assert (back.n_removed, back.counts["written"]) == (12, 12)
    assert _keywords(photos / "13.jpg") == []
    assert _keywords(photos / "01.jpg") == ["red"]


def test_a_keyword_that_was_there_before_is_not_taken_out_with_suggestions(project, photos):
    own = plan_sidecar(None, add=[Keyword.flat("red")]).after
    (photos / "13.jpg.xmp").write_bytes(own)
    project.write(threshold=0.5, uncalibrated=True)
    project.write(threshold=1e9, uncalibrated=True)
    assert (photos / "13.jpg.xmp").read_bytes() == own


def test_what_a_person_denies_goes_and_what_a_list_omits_stays(project, photos, tmp_path):
    for name in ("02.jpg", "20.jpg"):
        sidecar = plan_sidecar(None, add=[Keyword.flat("red"), Keyword.flat("mine")]).after
        (photos / f"{name}.xmp").write_bytes(sidecar)
    (tmp_path / "labels.csv").write_text("file,tags\n20.jpg,blue\n21.jpg,red\n")
    project.import_keywords(tmp_path / "labels.csv")  # by absence 20.jpg is not red
    result = project.write()
    assert result.n_removed == 1
    assert _keywords(photos / "02.jpg") == ["blue", "mine"]
    assert _keywords(photos / "20.jpg") == ["blue", "mine", "red"]


def test_another_programs_changes_are_merged_and_shown(project, photos):
    (photos / "01.jpg.xmp").write_bytes(FOREIGN)
    (photos / "03.jpg.xmp").write_bytes(FOREIGN)
    project.import_from_photos()
    before = _files(photos)
    changed = plan_sidecar(FOREIGN, add=[Keyword.flat("theirs")]).after
    (photos / "01.jpg.xmp").write_bytes(changed)
    result = project.write()
    assert result.counts == {"written": 11, "merged": 1}
    merged = next(item for item in result.files if item.status == "merged")
    assert merged.photo == b"01.jpg"
    assert "another program" in merged.description
    assert _keywords(photos / "01.jpg") == ["red", "theirs"]
    assert b'xmp:Rating="4"' in (photos / "01.jpg.xmp").read_bytes()
    project.undo()
    assert (photos / "01.jpg.xmp").read_bytes() == changed
    (photos / "01.jpg.xmp").write_bytes(FOREIGN)
    assert _files(photos) == before


def test_undo_leaves_files_alone_that_were_changed_since(project, photos):
    before = _files(photos)
    project.write()
    theirs = plan_sidecar((photos / "01.jpg.xmp").read_bytes(), add=[Keyword.flat("theirs")]).after
    (photos / "01.jpg.xmp").write_bytes(theirs)
    written = _files(photos)
    with pytest.raises(InvalidInputError, match="1 of 12 files were changed"):
        project.undo()
    assert _files(photos) == written
    result = project.undo(leave_changed=True)
    assert (result.n_files, len(result.left_alone)) == (11, 1)
    now = _files(photos)
    assert (photos / "01.jpg.xmp").read_bytes() == theirs
    assert {name: digest for name, digest in now.items() if name != "01.jpg.xmp"} == before
    with pytest.raises(InvalidInputError, match="tagloom write"):
        project.redo()


def test_undo_finds_sidecars_that_moved_with_their_photos(project, photos):
    project.write()
    (photos / "sub").mkdir()
    for name in ("01.jpg", "01.jpg.xmp"):
        os.rename(photos / name, photos / "sub" / name)
    project.scan()
    assert project.undo().n_files == 12
    assert os.listdir(photos / "sub") == ["01.jpg"]


def test_writes_are_undone_from_the_last_to_the_first(project, photos):
    before = _files(photos)
    project.write()
    first = _files(photos)
    project.label("01.jpg", add="extra")
    project.write()
    assert [project.undo().batch.kind for _ in range(2)] == ["write", "decide"]
    assert _files(photos) == first
    assert project.undo().batch.kind == "write"
    assert _files(photos) == before


def test_undo_waits_for_photos_that_are_out_of_reach(photos, tmp_path):
    with Project.init(photos, project=tmp_path / "project", flags=LIGHT) as project:
        project.scan()
        project.label("01.jpg", add="red")
        project.write()
        os.rename(photos, tmp_path / "unplugged")
        with pytest.raises(StoreError, match="offline"):
            project.undo()
        os.rename(tmp_path / "unplugged", photos)
        assert project.undo().n_files == 1
    assert not (photos / "01.jpg.xmp").exists()


def test_a_photo_that_is_gone_gets_no_sidecar(project, photos):
    (photos / "01.jpg").unlink()
    result = project.write()
    assert result.counts == {"written": 11, "failed": 1}
    assert not (photos / "01.jpg.xmp").exists()


def test_a_sidecar_that_makes_no_sense_is_left_alone(project, photos):
    (photos / "01.jpg.xmp").write_bytes(b"<x:xmpmeta>")
    result = project.write()
    assert result.counts == {"written": 11, "failed": 1}
    assert (photos / "01.jpg.xmp").read_bytes() == b"<x:xmpmeta>"


def test_embedding_keeps_pixels_and_is_undone(project, photos, exiftool):
    before = _files(photos)
    pixels = np.asarray(Image.open(photos / "01.jpg"))
    plan = project.write(photos="01.jpg", embed=True, dry_run=True)
    assert plan.counts == {"planned": 1}
    assert _files(photos) == before
    assert project.write(photos="01.jpg", embed=True).counts == {"written": 1}
    assert _keywords(photos / "01.jpg") == ["red"]
    assert set(_files(photos)) == set(before)
    np.testing.assert_array_equal(np.asarray(Image.open(photos / "01.jpg")), pixels)
    project.undo()
    assert _files(photos) == before


KILLED = """
    import os, signal, sys
    import lxml.etree
    from tagloom.core import system
    from tagloom.project import write as project_write
    from tagloom.project.project import Project

    folder, action, left = sys.argv[1], sys.argv[2], int(sys.argv[3])

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
        project.write(photos=["01.jpg", "03.jpg", "05.jpg"]) if action == "write" else project.undo()
"""


def _sound(folder, before):
    """Check what must hold after any kill: nothing half done, no photo touched."""
    now = _files(folder)
    assert not [name for name in now if TEMPORARY_MARK in name]
    assert {name: digest for name, digest in now.items() if name.endswith(".jpg")} == {
        name: digest for name, digest in before.items() if name.endswith(".jpg")
    }
    for name in now:
        if name.endswith(".xmp"):
            assert read_photo_keywords(os.fsencode(folder / name.removesuffix(".xmp"))).problems == ()
    return now


@pytest.mark.parametrize("action", ["write", "undo"])
def test_killed_anywhere_nothing_is_lost(project, photos, action):
    (photos / "05.jpg.xmp").write_bytes(FOREIGN)
    before = _files(photos)
    project.close()
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(photos), action]
    n_partial = 0
    for point in range(0, 60, 4):
        if action == "undo":
            with Project.open(photos, flags=LIGHT) as opened:
                opened.write(photos=["01.jpg", "03.jpg", "05.jpg"])
                written = _files(photos)
        child = subprocess.run([*command, str(point)], capture_output=True, check=False)
        assert child.returncode in (0, -signal.SIGKILL), child.stderr
        with Project.open(photos, flags=LIGHT) as opened:
            assert opened.store.writes.pending() == []
            assert opened.check() == []
            now = _sound(photos, before)
            n_partial += now not in ((before,) if action == "write" else (before, written))
            # Undone, it is as if it had never been.
            while (latest := opened.store.decisions.undoable()) is not None and latest.kind == "write":
                opened.undo()
            assert _files(photos) == before
        if child.returncode == 0:
            break
    assert child.returncode == 0  # the last point lay beyond the end
    assert n_partial > 1  # some kills came between two files


def test_a_write_cut_off_between_file_and_note_is_settled_on_opening(project, photos, monkeypatch):
    before = _files(photos)
    monkeypatch.setattr(ProjectJournal, "flush", lambda _: None)  # as if killed before any note
    project.write()
    monkeypatch.undo()
    assert len(project.store.writes.pending()) == 12
    assert project.status().command == "tagloom write"
    with project.store.lock(), Project.open(photos) as other:
        assert other.recovered == ()  # not while the writer is at work
        assert len(other.store.writes.pending()) == 12
    with Project.open(photos) as other:
        assert len(other.recovered) == 12
        assert other.store.writes.pending() == []
        assert other.undo().n_files == 12
    assert _files(photos) == before


def test_a_sidecar_that_two_photos_share_is_undone(project, photos, monkeypatch):
    """Two photos of one stem write to the same file, each its own keywords: one batch has two entries for it."""
    Image.open(photos / "01.jpg").save(photos / "01.png")
    project.scan()
    project.label("01.png", add="drawing")
    (photos / "01.xmp").write_bytes(FOREIGN)
    before = _files(photos)
    result = project.write(photos=["01.jpg", "01.png"])
    assert {item.file for item in result.files} == {os.fsencode(photos / "01.xmp")}
    assert len(project.store.writes.entries(batch=result.batch)) == 2
    assert _keywords(photos / "01.jpg") == ["drawing", "red"]
    # An undo that is cut off after both, and before any of it is noted
    note = project.store.settings.set
    monkeypatch.setattr(ProjectJournal, "flush", lambda _: None)
    monkeypatch.setattr(project.store.settings, "set", lambda key, value: value is None or note(key, value))
    with pytest.raises(InvalidInputError, match="not put back yet"):
        project.undo()
    monkeypatch.undo()
    with Project.open(photos, flags=LIGHT) as other:
        assert {item.state for item in other.store.writes.entries(batch=result.batch)} == {"undone"}
        assert other.undo().batch.id == result.batch
    assert _files(photos) == before


def test_an_undo_cut_off_is_finished_where_the_sidecar_is_now(project, photos, monkeypatch):
    (photos / "01.jpg.xmp").write_bytes(FOREIGN)
    batch = project.write(photos=["01.jpg", "03.jpg"]).batch
    for name in ("01.jpg", "01.jpg.xmp"):
        (photos / name).rename(photos / f"moved-{name}")
    project.scan()
    monkeypatch.setattr(ProjectJournal, "flush", lambda _: None)  # as if killed before any note
    with pytest.raises(InvalidInputError, match="not put back yet"):
        project.undo()
    monkeypatch.undo()
    assert (photos / "moved-01.jpg.xmp").read_bytes() == FOREIGN
    assert project.undo().batch.id == batch
    assert (photos / "moved-01.jpg.xmp").read_bytes() == FOREIGN
    assert not (photos / "03.jpg.xmp").exists()


def test_a_disk_that_is_unplugged_settles_nothing(photos, tmp_path, monkeypatch):
    """A sidecar on a disk that is gone must not pass for one that was never written."""
    with Project.init(photos, project=tmp_path / "project", flags=LIGHT) as project:
        project.scan()
        project.label("01.jpg", add="red")
        before = _files(photos)
        monkeypatch.setattr(ProjectJournal, "flush", lambda _: None)
        project.write()
        monkeypatch.undo()
    photos.rename(tmp_path / "unplugged")
    photos.mkdir()  # the place where the disk is mounted
    with Project.open(tmp_path / "project", flags=LIGHT) as project:
        assert project.recovered == ()
        assert len(project.store.writes.pending()) == 1
    photos.rmdir()
    (tmp_path / "unplugged").rename(photos)
    with Project.open(tmp_path / "project", flags=LIGHT) as project:
        assert len(project.recovered) == 1
        assert project.undo().n_files == 1
    assert _files(photos) == before


def test_only_sidecars_come_to_the_folder_of_photos(project, photos):
    before = set(os.listdir(photos))
    result = project.write()
    assert set(os.listdir(photos)) - before == {os.fsdecode(os.path.basename(item.file)) for item in result.files}


def _n_planned(project):
    return project.write(dry_run=True).counts.get("planned", 0)


def test_only_a_write_of_everything_ends_the_count_of_what_is_not_written(project, photos):
    # Of four actions two say what photos have not, which is in no file.
    assert (project.status().n_unwritten, _n_planned(project)) == (2, 12)
    project.label(["04.jpg", "05.jpg"], add="umbrella")
    project.write(photos="04.jpg")
    assert (project.status().n_unwritten, _n_planned(project)) == (3, 11)
    project.write()
    assert (project.status().n_unwritten, _n_planned(project)) == (0, 0)
    # A write of all that was decided since is one of everything.
    project.label("05.jpg", add="rain")
    project.write(photos="05.jpg")
    assert (project.status().n_unwritten, _n_planned(project)) == (0, 0)
    # Put back, they are not written; nor if a later write found nothing to do.
    project.write()
    project.undo()
    assert (project.status().n_unwritten, _n_planned(project)) == (1, 1)
    project.write()
    project.rename_tag("rain", "drizzle")
    assert project.status().n_unwritten == 1


def test_what_is_undone_and_done_again_after_a_write_is_not_written(project, photos):
    first = project.label("04.jpg", add="umbrella").batch.id
    project.undo()
    project.write()
    assert (project.status().n_unwritten, _n_planned(project)) == (0, 0)
    project.redo(first)
    assert (project.status().n_unwritten, _n_planned(project)) == (1, 1)
    project.write()
    denied = project.label("04.jpg", remove="umbrella").batch.id
    project.write()
    assert (project.status().n_unwritten, _n_planned(project)) == (0, 0)
    project.undo(denied)  # the yes stands again
    assert (project.status().n_unwritten, _n_planned(project)) == (1, 1)


def test_a_write_that_fails_everywhere_is_no_action(project, photos, monkeypatch):
    before = project.history(1)[0].id

    def refused(*_, **__):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refused)
        patch.setattr(os, "rename", refused)
        patch.setattr(os, "link", refused)
        patch.setattr(system, "exchange_files", refused)
        patch.setattr(system, "move_to_free_name", refused)
        result = project.write()
    assert (result.counts, result.batch) == ({"failed": 12}, None)
    assert (project.status().n_unwritten, _n_planned(project)) == (2, 12)
    assert project.store.decisions.undoable().id == before
    # Some written, some not: what was written can be taken back, and what was not is still to be written.
    real = os.path.lexists
    with monkeypatch.context() as patch:
        patch.setattr(os.path, "lexists", lambda path: not os.fsencode(path).endswith(b"05.jpg") and real(path))
        some = project.write()
    assert some.counts == {"written": 11, "failed": 1}
    assert (project.status().n_unwritten, _n_planned(project)) == (2, 1)
    assert project.undo().n_files == 11


def test_suggestions_do_not_become_decisions_through_a_copy(project, photos):
    project.write(threshold=0.5, uncalibrated=True)
    (photos / "sub").mkdir()
    for name in ("13.jpg", "13.jpg.xmp"):
        shutil.copy(photos / name, photos / "sub" / name.replace("13", "copy"))
    # Another picture with the same sidecar, which may well be that of an accepted keyword; and a copy of a photo whose
    # sidecar has got a keyword since.
    Image.new("RGB", (20, 20)).save(photos / "sub" / "other.jpg")
    shutil.copy(photos / "01.jpg.xmp", photos / "sub" / "other.jpg.xmp")
    assert (photos / "01.jpg.xmp").read_bytes() == (photos / "13.jpg.xmp").read_bytes()
    shutil.copy(photos / "15.jpg", photos / "sub" / "said.jpg")
    said = plan_sidecar((photos / "15.jpg.xmp").read_bytes(), add=[Keyword.flat("mine")]).after
    (photos / "sub" / "said.jpg.xmp").write_bytes(said)
    project.scan()
    taken = project.import_from_photos()
    assert taken.n_suggested == 12 + 2
    ids = project.store.photos.find([b"sub/copy.jpg", b"sub/other.jpg", b"sub/said.jpg"])
    said = {name: project.store.decisions.current(photo_ids=[number]).tag_ids for name, number in ids.items()}
    texts = {name: project.store.tags.texts(tags) for name, tags in said.items()}
    assert texts == {b"sub/copy.jpg": [], b"sub/other.jpg": ["red"], b"sub/said.jpg": ["mine"]}


def test_a_copy_is_known_by_what_the_photo_was_when_it_was_written(project, photos):
    project.write(threshold=0.5, uncalibrated=True)
    for name in ("13.jpg", "13.jpg.xmp"):
        shutil.copy(photos / name, photos / name.replace("13", "copy"))
    changed = plan_sidecar((photos / "13.jpg.xmp").read_bytes(), add=[Keyword.flat("mine")]).after
    (photos / "copy.jpg.xmp").write_bytes(changed)
    Image.new("RGB", (16, 16), (255, 0, 0)).save(photos / "13.jpg")
    project.scan()
    project.import_from_photos()
    (copy,) = project.store.photos.find([b"copy.jpg"]).values()
    assert project.store.tags.texts(project.store.decisions.current(photo_ids=[copy]).tag_ids) == ["mine"]


def test_redo_passes_over_writes(project, photos):
    project.write()
    label = project.label("04.jpg", add="umbrella").batch
    project.write()
    for _ in range(3):
        project.undo()
    assert project.redo().batch.id == label.id
    assert _keywords(photos / "04.jpg") == []
    with pytest.raises(InvalidInputError, match="tagloom write"):
        project.redo(label.id - 1)
    project.write()
    assert project.redo().batch is None
    assert sorted(_keywords(photos / "04.jpg")) == ["blue", "umbrella"]


def test_redo_after_a_write_alone_says_how_to_write_again(project, photos):
    project.write()
    project.undo()
    with pytest.raises(InvalidInputError, match="tagloom write"):
        project.redo()
    project.write()
    assert project.redo().batch is None


def test_what_was_put_back_after_an_import_is_not_another_programs(project, photos):
    project.write()
    project.label("01.jpg", add="umbrella")
    project.write()
    project.import_from_photos()
    project.undo()
    project.label("01.jpg", add="rain")
    assert project.write().counts.get("merged", 0) == 0
    # Twice put back, there is no file, which is as it was.
    for _ in range(5):
        project.undo()
    assert not (photos / "01.jpg.xmp").exists()
    project.label("01.jpg", add="rain")
    assert project.write().counts.get("merged", 0) == 0
    # Another program is still seen.
    changed = plan_sidecar((photos / "01.jpg.xmp").read_bytes(), add=[Keyword.flat("theirs")]).after
    (photos / "01.jpg.xmp").write_bytes(changed)
    project.label("01.jpg", add="more")
    assert project.write().counts["merged"] == 1


def test_a_renamed_tag_takes_its_keyword_along_whoever_wrote_it(project, photos):
    theirs = plan_sidecar(FOREIGN, add=[Keyword.flat("red"), Keyword.flat("mine")]).after
    (photos / "03.jpg.xmp").write_bytes(theirs)
    project.write()
    assert (photos / "03.jpg.xmp").read_bytes() == theirs  # it had the keyword
    # Another program has been at one of the sidecars since.
    changed = plan_sidecar((photos / "05.jpg.xmp").read_bytes(), add=[Keyword.flat("theirs")]).after
    (photos / "05.jpg.xmp").write_bytes(changed)
    before = _files(photos)
    project.rename_tag("red", "Colours|crimson")
    plan = project.write(dry_run=True)
    assert (plan.counts, plan.n_accepted, plan.n_removed) == ({"planned": 6, "unchanged": 6}, 6, 6)
    assert _files(photos) == before
    project.write()
    assert _keywords(photos / "01.jpg") == ["Colours|crimson"]
    assert b"red" not in (photos / "01.jpg.xmp").read_bytes()
    assert sorted(_keywords(photos / "03.jpg")) == ["Colours|crimson", "mine"]
    assert sorted(_keywords(photos / "05.jpg")) == ["Colours|crimson", "theirs"]
    assert _n_planned(project) == project.status().n_unwritten == 0
    after = _files(photos)
    project.undo()
    assert _files(photos) == before
    project.write()
    assert _files(photos) == after
    # The rename taken back, and the write not
    project.undo(_latest(project, "tags"))
    assert (project.status().n_unwritten, _n_planned(project)) == (1, 6)
    project.write()
    assert _keywords(photos / "01.jpg") == ["red"]
    assert sorted(_keywords(photos / "03.jpg")) == ["mine", "red"]
    assert b"crimson" not in (photos / "03.jpg.xmp").read_bytes()


def _latest(project, kind):
    return next(item.id for item in project.history() if item.kind == kind and not item.undone)


def test_merged_tags_and_a_label_taken_back(project, photos):
    (photos / "03.jpg.xmp").write_bytes(plan_sidecar(None, add=[Keyword.flat("red")]).after)
    project.write()
    before = _files(photos)
    project.merge_tags("red", "blue")
    project.write()
    assert _keywords(photos / "01.jpg") == _keywords(photos / "03.jpg") == ["blue"]
    project.undo(_latest(project, "tags"))
    assert (project.status().n_unwritten, _n_planned(project)) == (1, 6)
    project.write()
    assert [_keywords(photos / name) for name in ("00.jpg", "01.jpg", "03.jpg")] == [["blue"], ["red"], ["red"]]
    label = project.label("01.jpg", add="umbrella").batch.id
    project.write()
    project.undo(label)
    assert (project.status().n_unwritten, _n_planned(project)) == (1, 1)
    project.write()
    assert _keywords(photos / "01.jpg") == ["red"]
    while _files(photos) != before:
        assert project.undo().batch is not None


def test_a_no_takes_out_every_name_of_a_tag(project, photos):
    for name in ("01.jpg", "13.jpg"):  # one has the tag by its old name, of the other nothing is known
        (photos / f"{name}.xmp").write_bytes(plan_sidecar(None, add=[Keyword.flat("red"), Keyword.flat("rot")]).after)
    project.alias_tag("rot", "red")
    project.rename_tag("red", "crimson")
    project.label("01.jpg", remove="crimson")
    project.write()
    assert _keywords(photos / "01.jpg") == []
    assert sorted(_keywords(photos / "13.jpg")) == ["red", "rot"]
    # Another name that a person gave to a tag stays in the files of photos that have the tag.
    project.label("13.jpg", add="crimson")
    project.write()
    assert sorted(_keywords(photos / "13.jpg")) == ["crimson", "rot"]


def test_a_merge_of_two_tags_that_a_photo_has_waits_to_be_written(project, photos):
    theirs = plan_sidecar(None, add=[Keyword.flat("red"), Keyword.flat("blue")]).after
    (photos / "13.jpg.xmp").write_bytes(theirs)
    project.import_from_photos()
    project.write()
    project.merge_tags("red", "blue")
    assert _n_planned(project) == 7
    assert project.status().n_unwritten == 1
    project.write()
    assert _keywords(photos / "13.jpg") == ["blue"]
    assert (project.status().n_unwritten, _n_planned(project)) == (0, 0)


def test_what_came_with_the_photo_is_not_taken_out_with_an_undone_import(project, photos):
    (photos / "13.jpg.xmp").write_bytes(plan_sidecar(None, add=[Keyword.flat("mine")]).after)
    project.import_from_photos()
    project.write()
    project.undo(_latest(project, "decide"))
    assert (project.status().n_unwritten, _n_planned(project)) == (0, 0)


def test_noes_are_not_waiting_to_be_written(project, photos):
    project.write()
    project.label("20.jpg", remove="red")
    project.label("21.jpg", add="rain")
    project.label("21.jpg", remove="rain")
    assert (project.status().n_unwritten, _n_planned(project)) == (0, 0)


def test_a_file_that_fails_for_a_suggestion_does_not_hold_up_the_count(project, photos):
    (photos / "13.jpg.xmp").write_bytes(b"<x:xmpmeta>")
    assert project.write(threshold=0.5, uncalibrated=True).counts["failed"] == 1
    assert project.status().n_unwritten == 0
    project.label("13.jpg", add="red")
    assert project.write().counts["failed"] == 1
    assert project.status().n_unwritten == 1


def _away(project, photos, *names):
    """Take photos out of the folder, and return a function that brings them back."""
    elsewhere = photos.parent / "elsewhere"
    elsewhere.mkdir(exist_ok=True)
    for name in names:
        shutil.move(photos / name, elsewhere / name)
    project.scan()

    def back():
        for name in names:
            shutil.move(elsewhere / name, photos / name)
        project.scan()

    return back


def _waiting(project):
    """Return actions that are not written, those of missing photos alone, and files that a write would change."""
    now = project.status()
    return now.n_unwritten, now.n_unwritten_missing, _n_planned(project)


def test_what_is_not_written_as_the_photo_is_missing_stays_counted(project, photos):
    project.write()
    project.label(["04.jpg", "05.jpg"], add="umbrella")
    project.label("06.jpg", add="rain")
    back = _away(project, photos, "04.jpg", "06.jpg")
    assert _waiting(project) == (2, 1, 1)
    project.write()
    assert _waiting(project) == (2, 2, 0)
    project.train()
    assert project.status().command == "tagloom review"  # nothing can be written now
    # Further writes count for themselves, and those that are away stay where they were.
    project.label("05.jpg", add="storm")
    project.write()
    assert _waiting(project) == (2, 2, 0)
    back()
    assert _waiting(project) == (2, 0, 2)
    project.write(photos="06.jpg")
    project.label("05.jpg", add="hail")
    project.write(photos="05.jpg")
    assert _waiting(project) == (1, 0, 1)
    project.undo()
    assert _waiting(project) == (2, 0, 2)
    project.write()
    assert _waiting(project) == (0, 0, 0)
    assert _keywords(photos / "06.jpg") == ["blue", "rain"]


def test_photos_that_go_after_a_write_leave_nothing_to_write(project, photos):
    project.write()
    back = _away(project, photos, "04.jpg", "05.jpg")
    project.label("06.jpg", add="rain")
    project.write()
    assert _waiting(project) == (0, 0, 0)
    back()
    assert _waiting(project) == (0, 0, 0)


def test_a_tag_renamed_while_a_photo_is_missing_is_not_written_to_it(project, photos):
    project.write()
    back = _away(project, photos, "05.jpg", "04.jpg")
    project.rename_tag("red", "crimson")
    project.write()
    assert _waiting(project) == (1, 1, 0)
    back()
    assert _waiting(project) == (1, 0, 1)
    project.write()
    assert _waiting(project) == (0, 0, 0)
    assert _keywords(photos / "05.jpg") == ["crimson"]


@pytest.mark.parametrize("seed", range(2))
def test_status_agrees_with_a_dry_run_whatever_was_done(project, photos, seed):
    rng = random.Random(seed)
    names = ["01.jpg", "02.jpg", "13.jpg"]
    project.write()
    n_waiting, back = 0, None
    for _ in range(40):
        action = rng.choice(["label"] * 4 + ["undo", "redo", "rename", "merge", "write", "write", "away"])
        tags = [tag.text for tag in project.tags()]
        try:
            if action == "label":
                project.label(rng.choice(names), **{rng.choice(["add", "remove"]): rng.choice(["red", "x", "A|y"])})
            elif action == "rename":
                project.rename_tag(rng.choice(tags), rng.choice(["x", "A|y", "A|x", "red", "other"]))
            elif action == "merge":
                project.merge_tags(rng.choice(tags), rng.choice(tags))
            elif action == "away":
                back = _away(project, photos, rng.choice(names)) if back is None else back()
            else:
                getattr(project, action)()
        except InvalidInputError:
            continue
        is_waiting = _n_planned(project) > 0
        n_waiting += is_waiting
        now = project.status()
        assert (now.n_unwritten > now.n_unwritten_missing) == is_waiting, action
    assert n_waiting > 5


class _Stages:
    """Counts the steps of each stage that it is told of."""

    def __init__(self):
        self.totals, self.steps, self.is_open = {}, {}, False

    def start(self, stage, total=None):
        self.stage, self.is_open = stage, True
        self.totals[stage], self.steps[stage] = total, 0

    def advance(self, n=1):
        self.steps[self.stage] += n

    def finish(self):
        self.is_open = False


@pytest.mark.parametrize("suggested", [False, True])
def test_progress_counts_every_file_that_is_planned_written_and_put_back(project, photos, suggested):
    options = {"threshold": -1e9, "uncalibrated": True} if suggested else {}
    planning, writing, undoing = _Stages(), _Stages(), _Stages()
    planned = project.write(dry_run=True, progress=planning, **options)
    n = len(planned.files)
    assert n == (24 if suggested else 12)
    assert planning.totals == {"collecting keywords": None, "comparing with files": n}
    assert planning.steps == {"collecting keywords": 0, "comparing with files": n}

    written = project.write(progress=writing, **options)
    assert sum(written.counts.values()) == n
    assert writing.totals["writing keywords"] == writing.steps["writing keywords"] == n
    # Suggestions are compared once more, to note which of them were not there before.
    assert ("comparing with files" in writing.totals) == suggested

    undone = project.undo(progress=undoing)
    assert undone.n_files == n
    assert undoing.totals == undoing.steps == {"looking at files": n, "putting files back": n}
    assert not any(stages.is_open for stages in (planning, writing, undoing))


def test_an_undo_that_is_interrupted_is_gone_on_with(project, photos):
    class Interrupting(_Stages):
        def advance(self, n=1):
            super().advance(n)
            if self.steps.get("putting files back") == 3:
                raise KeyboardInterrupt

    n = len(project.write().files)
    with pytest.raises(KeyboardInterrupt):
        project.undo(progress=Interrupting())
    assert len(list(photos.glob("*.xmp"))) == n - 3
    project.undo()
    assert not list(photos.glob("*.xmp"))
