import errno
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from tagloom.core import system
from tagloom.core.keywords import Keyword
from tagloom.exceptions import WriteError
from tagloom.images.limited import CallLimits
from tagloom.metadata import sidecars
from tagloom.metadata.file_changes import FileChanges
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.metadata.sidecars import FileMemory, KeywordChange, SidecarWriter
from tagloom.metadata.write_journal import fingerprint
from tagloom.metadata.xmp_fields import HIERARCHICAL
from tagloom.metadata.xmp_read import read_xmp

pytestmark = pytest.mark.medium

SIDECARS = Path(__file__).parent / "sidecars"
SEA, BOAT, CAT = Keyword.flat("sea"), Keyword.flat("boat"), Keyword(("Animals", "Cat"))
ODD = [
    Keyword(("Orte", "Köln", "Straße, alt")),
    Keyword(("日本", "京都")),
    Keyword.flat("a|b"),
    Keyword.flat("c/d"),
    Keyword.flat("\"quoted\" & <tagged> 'x'"),
    Keyword.flat("x" * 1000),
]


@pytest.fixture
def writer(tmp_path):
    """Return a writer with a journal of its own."""
    return SidecarWriter(FileChanges(tmp_path / "journal"))


@pytest.fixture
def photo(tmp_path):
    """Return the path of a photo; what it holds does not matter here."""
    (tmp_path / "photos").mkdir()
    path = tmp_path / "photos" / "IMG_1.jpg"
    path.write_bytes(b"never opened")
    return path


def write_one(writer, photo, **asked):
    (outcome,) = writer.write([KeywordChange(os.fsencode(photo), **asked)], run="r")
    return outcome


def test_a_new_sidecar_and_undo(writer, photo, tmp_path):
    outcome = write_one(writer, photo, add=(SEA, CAT))
    sidecar = photo.with_name("IMG_1.jpg.xmp")
    assert (outcome.status, outcome.file) == ("written", os.fsencode(sidecar))
    assert read_xmp(sidecar.read_bytes()) == (CAT, SEA)
    found = read_photo_keywords(os.fsencode(photo), embedded=False)
    assert found.fingerprint == outcome.fingerprint
    assert write_one(writer, photo, add=(SEA,)).status == "unchanged"
    FileChanges(tmp_path / "journal").undo(outcome.entry)
    assert os.listdir(photo.parent) == ["IMG_1.jpg"]
    assert photo.read_bytes() == b"never opened"


@pytest.mark.parametrize("name", ["IMG_1.jpg.xmp", "IMG_1.xmp", "IMG_1.XMP"])
@pytest.mark.parametrize("program", ["darktable", "lightroom", "digikam", "exiftool", "odd"])
def test_existing_sidecars_are_merged_and_come_back_by_undo(writer, photo, tmp_path, name, program):
    sidecar = photo.with_name(name)
    before = (SIDECARS / f"{program}.xmp").read_bytes()
    sidecar.write_bytes(before)
    there = read_xmp(before)
    outcome = write_one(writer, photo, add=(BOAT, CAT), remove=there[-1:])
    assert outcome.status == "written"
    assert outcome.file == os.fsencode(sidecar)
    assert set(read_xmp(sidecar.read_bytes())) == {*there[:-1], BOAT, CAT}
    FileChanges(tmp_path / "journal").undo(outcome.entry)
    assert sidecar.read_bytes() == before


def test_a_plan_changes_nothing(writer, photo):
    outcome = writer.plan(KeywordChange(os.fsencode(photo), add=(SEA,)))
    assert outcome.status == "planned"
    assert outcome.describe().splitlines()[:3] == ["IMG_1.jpg.xmp: new, 1 added", "  + sea", "  dc:subject: + sea"]
    assert os.listdir(photo.parent) == ["IMG_1.jpg"]


def test_a_sidecar_that_others_changed_is_merged_and_shown(writer, photo):
    first = write_one(writer, photo, add=(SEA,))
    sidecar = photo.with_name("IMG_1.jpg.xmp")
    edited = plan_sidecar(sidecar.read_bytes(), add=[Keyword.flat("theirs")], remove=[SEA]).after
    sidecar.write_bytes(edited)
    second = write_one(writer, photo, add=(CAT,), seen=first.fingerprint)
    assert second.status == "merged"
    assert "another program" in second.describe()
    assert read_xmp(sidecar.read_bytes()) == (CAT, Keyword.flat("theirs"))
    third = write_one(writer, photo, add=(SEA,), seen=second.fingerprint)
    assert third.status == "written"
    # A sidecar that somebody made meanwhile, too.
    sidecar.unlink()
    sidecar.write_bytes(edited)
    assert write_one(writer, photo, add=(CAT,), seen="").status == "merged"


def test_a_change_between_reading_and_writing_is_merged(writer, photo, monkeypatch):
    sidecar = photo.with_name("IMG_1.jpg.xmp")
    plan = writer.plan
    edits = [plan_sidecar(None, add=[Keyword.flat("theirs")]).after]

    def plan_then_edit(change):
        outcome = plan(change)
        if edits:
            sidecar.write_bytes(edits.pop())
        return outcome

    monkeypatch.setattr(writer, "plan", plan_then_edit)
    outcome = write_one(writer, photo, add=(CAT,))
    assert outcome.status == "merged"
    assert read_xmp(sidecar.read_bytes()) == (CAT, Keyword.flat("theirs"))


def test_somebody_who_never_stops(writer, photo, monkeypatch):
    sidecar = photo.with_name("IMG_1.jpg.xmp")
    plan = writer.plan
    names = iter("abcdefgh")

    def plan_then_edit(change):
        outcome = plan(change)
        sidecar.write_bytes(plan_sidecar(None, add=[Keyword.flat(next(names))]).after)
        return outcome

    monkeypatch.setattr(writer, "plan", plan_then_edit)
    outcome = write_one(writer, photo, add=(CAT,))
    assert outcome.status == "failed"
    assert "close them" in outcome.problem
    assert len(read_xmp(sidecar.read_bytes())) == 1


def test_a_damaged_sidecar_is_left_alone_and_the_others_go_on(writer, photo):
    others = [photo.with_name(f"{name}.jpg") for name in "abcd"]
    damaged, pipe, dangling = (other.with_name(f"{other.name}.xmp") for other in others[:3])
    damaged.write_bytes(b"<x:xmpmeta")
    os.mkfifo(pipe)
    os.symlink("nowhere", dangling)
    outcomes = list(writer.write(KeywordChange(os.fsencode(other), add=(SEA,)) for other in others))
    assert [outcome.status for outcome in outcomes] == ["failed", "failed", "failed", "written"]
    assert [bool(outcome.problem) for outcome in outcomes] == [True, True, True, False]
    assert "well-formed" in outcomes[0].describe()
    assert damaged.read_bytes() == b"<x:xmpmeta"
    assert os.path.islink(dangling)


def test_a_full_disk_ends_it_at_once(writer, photo, monkeypatch):
    other = photo.with_name("IMG_2.jpg")
    other.write_bytes(b"never opened")
    n_tried = 0

    def full(descriptor):
        nonlocal n_tried
        n_tried += 1
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(system, "sync_file", full)
    changes = [KeywordChange(os.fsencode(path), (SEA,)) for path in (photo, other)]
    with pytest.raises(WriteError, match="No space left"):
        list(writer.write(changes))
    assert n_tried == 1  # every other file would fail the same way, with a line each
    assert sorted(os.listdir(photo.parent)) == ["IMG_1.jpg", "IMG_2.jpg"]


def test_links_are_written_through(writer, photo, tmp_path):
    elsewhere = tmp_path / "elsewhere.xmp"
    elsewhere.write_bytes((SIDECARS / "darktable.xmp").read_bytes())
    link = photo.with_name("IMG_1.jpg.xmp")
    link.symlink_to(elsewhere)
    assert write_one(writer, photo, add=(SEA,)).status == "written"
    assert link.is_symlink()
    assert SEA in read_xmp(elsewhere.read_bytes())


def test_a_folder_without_permission_fails_by_the_file(unprivileged_uid):
    script = """
        import json, os, sys
        import lxml.etree  # now, as its folder may be closed to the other user
        from tagloom.core.keywords import Keyword
        from tagloom.metadata.file_changes import FileChanges
        from tagloom.metadata.sidecars import KeywordChange, SidecarWriter
        folder = os.fsencode(sys.argv[1])
        os.setgroups([])
        os.setgid(int(sys.argv[2]))
        os.setuid(int(sys.argv[2]))
        changes = FileChanges(os.path.join(sys.argv[1], "open", "journal"))
        add = (Keyword.flat("sea"),)
        asked = [KeywordChange(folder + name, add=add) for name in (b"/closed/a.jpg", b"/open/b.jpg")]
        outcomes = list(SidecarWriter(changes).write(asked))
        print(json.dumps([[each.status, each.problem] for each in outcomes] + [len(changes.entries())]))
    """
    with tempfile.TemporaryDirectory() as folder:  # not tmp_path, whose parents are closed to other users
        os.chmod(folder, 0o755)
        for name, mode in (("closed", 0o755), ("open", 0o777)):
            os.mkdir(os.path.join(folder, name))
            os.chmod(os.path.join(folder, name), mode)
        command = [sys.executable, "-c", textwrap.dedent(script), folder, str(unprivileged_uid)]
        told = subprocess.run(command, check=True, capture_output=True).stdout
        assert os.listdir(os.path.join(folder, "closed")) == []
    (first, problem), second, n_entries = json.loads(told)
    assert first == "failed"
    assert "Permission denied" in problem
    assert "\n" not in problem
    assert second == ["written", ""]
    assert n_entries == 1


def test_names_that_are_not_text(writer, tmp_path):
    photo = os.fsencode(tmp_path) + b"/-caf\xe9\n.jpg"
    (outcome,) = writer.write([KeywordChange(photo, add=(SEA,))])
    assert outcome.status == "written"
    assert read_photo_keywords(photo, embedded=False).keywords == (SEA,)


def _lists(tool_output: bytes) -> dict[str, set[str]]:
    (values,) = json.loads(tool_output)
    return {
        name: {str(each) for each in (value if isinstance(value, list) else [value])} for name, value in values.items()
    }


@pytest.mark.medium
@pytest.mark.parametrize("program", [None, "darktable", "lightroom", "digikam", "exiftool"])
def test_exiftool_reads_what_was_written(exiftool, writer, photo, program):
    sidecar = photo.with_name("IMG_1.jpg.xmp")
    if program is not None:
        sidecar.write_bytes((SIDECARS / f"{program}.xmp").read_bytes())
    assert write_one(writer, photo, add=tuple(ODD)).status == "written"
    options = ["-j", "-struct", "-XMP-dc:Subject", "-XMP-lr:HierarchicalSubject", "-XMP-digiKam:TagsList"]
    done = subprocess.run([exiftool, *options, sidecar], check=True, capture_output=True, timeout=60)
    found = _lists(done.stdout)
    assert found["Subject"] >= {level for keyword in ODD for level in keyword.path}
    assert found["HierarchicalSubject"] >= {"|".join(k.path) for k in ODD if not any("|" in level for level in k.path)}
    assert found["TagsList"] >= {"/".join(k.path) for k in ODD if not any("/" in level for level in k.path)}
    check = subprocess.run(
        [exiftool, "-validate", "-warning", "-a", sidecar], check=True, capture_output=True, timeout=60
    )
    assert b"XMP format error" not in check.stdout


@pytest.mark.medium
def test_fields_that_exiftool_made_are_kept_in_step(exiftool, writer, photo):
    sidecar = photo.with_name("IMG_1.jpg.xmp")
    acdsee = '<Categories><Category Assigned="1">sea</Category></Categories>'
    made = ["-XMP-microsoft:LastKeywordXMP=sea", "-XMP-mediapro:CatalogSets=sea", f"-XMP-acdsee:Categories={acdsee}"]
    subprocess.run([exiftool, "-q", *made, "-XMP-dc:Subject=sea", sidecar], check=True, timeout=60)
    assert write_one(writer, photo, add=(Keyword(("Places", "Rome")),)).status == "written"
    options = ["-j", "-XMP-microsoft:LastKeywordXMP", "-XMP-mediapro:CatalogSets", "-XMP-acdsee:Categories"]
    done = subprocess.run([exiftool, *options, sidecar], check=True, capture_output=True, timeout=60)
    found = _lists(done.stdout)
    assert (found["LastKeywordXMP"], found["CatalogSets"]) == ({"sea", "Places/Rome"}, {"sea", "Places|Rome"})
    assert "Rome" in str(found["Categories"])
    assert write_one(writer, photo, remove=(Keyword.flat("sea"), Keyword(("Places", "Rome")))).status == "written"
    assert not [word for word in (b"sea", b"Rome") if word in sidecar.read_bytes()]


@pytest.mark.medium
@pytest.mark.parametrize("program", [None, "darktable", "lightroom", "digikam", "exiftool"])
def test_exiv2_reads_what_was_written(exiv2, writer, photo, program):
    sidecar = photo.with_name("IMG_1.jpg.xmp")
    if program is not None:
        sidecar.write_bytes((SIDECARS / f"{program}.xmp").read_bytes())
    assert write_one(writer, photo, add=tuple(ODD)).status == "written"
    found = {}
    for key in ("Xmp.dc.subject", "Xmp.lr.hierarchicalSubject", "Xmp.digiKam.TagsList"):
        done = subprocess.run([exiv2, "-Pv", "-K", key, sidecar], check=True, capture_output=True, timeout=60)
        found[key] = done.stdout.decode()
    assert all(level in found["Xmp.dc.subject"] for keyword in ODD for level in keyword.path)
    assert "Orte|Köln|Straße, alt" in found["Xmp.lr.hierarchicalSubject"]
    assert "Orte/Köln/Straße, alt" in found["Xmp.digiKam.TagsList"]
    assert "日本/京都" in found["Xmp.digiKam.TagsList"]


def test_a_large_sidecar_becomes_the_same_in_a_process_of_its_own(writer, photo, monkeypatch):
    before = (SIDECARS / "digikam.xmp").read_bytes().replace(b"</rdf:RDF>", b"<!--" + b" " * 100_000 + b"--></rdf:RDF>")
    there = read_xmp(before)
    first = plan_sidecar(before, add=[SEA])
    memory = FileMemory(first.own, first.record)
    photo.with_name("IMG_1.jpg.xmp").write_bytes(first.after)
    change = KeywordChange(
        os.fsencode(photo), (BOAT, CAT), there[-1:], memory={fingerprint(first.after): memory}, again=(CAT,)
    )
    assert len(first.after) > sidecars.SMALL
    apart = writer.plan(change)
    monkeypatch.setattr(sidecars, "SMALL", 1 << 20)
    assert apart == writer.plan(change)
    assert apart.plan.added


@pytest.mark.parametrize(("limits", "reason"), [({"deadline": 1.0}, "more than 1 s"), ({"memory": 1 << 27}, "")])
def test_a_sidecar_that_takes_too_much_is_left_alone_in_one_line(writer, photo, monkeypatch, limits, reason):
    levels = "".join(f"<rdf:li>a|b{n}|c{n}|d{n}|e{n}|f{n}</rdf:li>" for n in range(60_000))
    field = f'<lr:hierarchicalSubject xmlns:lr="{HIERARCHICAL.namespace}"><rdf:Bag>{levels}</rdf:Bag>'
    empty = plan_sidecar(None, add=[CAT]).after.decode()
    bomb = empty.replace("</rdf:Description>", f"{field}</lr:hierarchicalSubject></rdf:Description>").encode()
    photo.with_name("IMG_1.jpg.xmp").write_bytes(bomb)
    monkeypatch.setattr(sidecars, "LIMITS", CallLimits(**limits))
    outcome = write_one(writer, photo, add=(SEA,))
    assert outcome.status == "failed"
    assert outcome.problem.startswith("its XMP could not be understood: ")
    assert reason in outcome.problem
    assert "\n" not in outcome.problem
    assert photo.with_name("IMG_1.jpg.xmp").read_bytes() == bomb
