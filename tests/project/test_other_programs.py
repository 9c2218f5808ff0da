"""A project beside darktable and digiKam: what one of them changes is changed everywhere, and stays so."""

import os
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.project.project import Project
from tests.metadata.programs import (
    darktable_reads,
    darktable_writes,
    digikam_reads,
    digikam_writes,
    items,
)

FLAGS = {"n_workers": 1, "n_threads": 1}
SEA, LAKE, HERON, EGRET = ("sea",), ("lake",), ("Animals", "heron"), ("Animals", "egret")
PROGRAMS = {"darktable": (darktable_reads, darktable_writes), "digikam": (digikam_reads, digikam_writes)}


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("others") / "photos"
    folder.mkdir()
    for number in range(2):
        pixels = np.random.default_rng(number).integers(0, 255, size=(16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"p{number}.jpg")
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
    return folder


@pytest.fixture
def photos(scanned, tmp_path):
    return shutil.copytree(scanned, tmp_path / "photos", copy_function=shutil.copy2)


@pytest.fixture
def project(photos):
    with Project.open(photos, flags=FLAGS) as opened:
        opened.scan()
        yield opened


@pytest.fixture(params=PROGRAMS)
def program(request, photos):
    return Program(photos / "p0.jpg.xmp", *PROGRAMS[request.param])


class Program:
    """Another program at work on one sidecar."""

    def __init__(self, file, reads, writes):
        self.file, self._reads, self._writes = file, reads, writes

    def _packet(self):
        return self.file.read_bytes() if self.file.exists() else None

    def shows(self):
        return self._reads(self._packet())

    def saves(self, *, add=(), remove=()):
        self.file.write_bytes(self._writes(self._packet(), self.shows() - set(remove) | set(add)))


def accepted(project):
    """Return the tags of the first photo."""
    ids, tags, Y = project.store.decisions.labels()
    texts = project.store.tags.texts(tags)
    row = ids.tolist().index(project.store.photos.table().ids[0])
    return {text for text, state in zip(texts, Y[row], strict=True) if state == 1}


def test_there_and_back_and_there_again(project, program):
    program.saves(add=[LAKE, HERON])
    project.import_from_photos()
    assert accepted(project) == {"lake", "Animals|heron"}
    project.label("p0.jpg", add=["sea", "Places|Italy|Rome", "Rome"])
    project.write()
    assert program.shows() == {LAKE, HERON, SEA, ("Places", "Italy", "Rome"), ("Rome",)}
    # The other program deletes one of its own and one of tagloom's, renames one and adds one.
    program.saves(remove=[LAKE, SEA, HERON], add=[EGRET, ("new",)])
    project.import_from_photos()
    assert accepted(project) == {"Animals|egret", "new", "Places|Italy|Rome", "Rome"}
    project.write()
    expected = {EGRET, ("new",), ("Places", "Italy", "Rome"), ("Rome",)}
    assert program.shows() == expected
    assert darktable_reads(program.file.read_bytes()) == digikam_reads(program.file.read_bytes()) == expected
    # tagloom renames what the other program has saved since, and takes out what it brought itself.
    program.saves(add=[("later",)])
    project.rename_tag("Places|Italy|Rome", "Places|Italia|Roma")
    project.label("p0.jpg", remove=["Rome", "new"])
    project.write()
    assert program.shows() == {EGRET, ("Places", "Italia", "Roma"), ("later",)}
    project.import_from_photos()
    assert accepted(project) == {"Animals|egret", "Places|Italia|Roma", "later"}
    assert not [item for item in project.write(dry_run=True).files if item.status == "planned"]


def test_a_tag_of_the_other_program_that_tagloom_renames(project, program):
    program.saves(add=[LAKE, HERON, ("Kind", "Old")])
    project.import_from_photos()
    project.rename_tag("lake", "tarn")
    project.rename_tag("Kind|Old", "Kind|New")
    project.rename_tag("Animals|heron", "heron")
    plan = project.write(dry_run=True)
    assert (plan.n_accepted, plan.n_removed) == (3, 3)
    project.write()
    renamed = {("tarn",), ("Kind", "New"), ("heron",)}
    assert program.shows() == renamed
    assert {text for texts in items(program.file.read_bytes()).values() for text in texts}.isdisjoint({"lake", "Old"})
    # The other program brings the old name back: it is the new one, and deleting that deletes both.
    program.saves(add=[LAKE])
    project.import_from_photos()
    project.write()
    assert program.shows() == renamed
    program.saves(remove=[("tarn",)])
    project.import_from_photos()
    assert accepted(project) == {"Kind|New", "heron"}


def test_the_last_keyword_that_the_other_program_takes_out(project, program):
    program.saves(add=[LAKE])
    project.import_from_photos()
    project.label("p0.jpg", add="sea")
    project.write()
    program.saves(remove=[LAKE, SEA])
    (item,) = project.write(dry_run=True).files
    assert (item.status, item.added, len(item.notes)) == ("unchanged" if not item.fields else "planned", (), 2)
    result = project.import_from_photos()
    assert (accepted(project), result.problems) == (set(), ())
    project.write()
    assert program.shows() == set()
    project.label("p0.jpg", add="new")
    project.write()
    assert program.shows() == {("new",)}


def test_what_was_taken_out_elsewhere_does_not_come_back_without_an_import(project, program):
    project.label("p0.jpg", add=["sea", "Animals|heron"])
    project.write()
    program.saves(remove=[HERON])
    for tag in ("more", "yet more"):  # the second write finds a file that the first one wrote
        project.label("p0.jpg", add=[tag])
        project.write()
        assert HERON not in program.shows()
    (note,) = next(item.notes for item in project.write(dry_run=True).files)
    assert (
        note
        == "'Animals|heron' was removed by another program and is not written again; run: tagloom import --from-photos"
    )
    project.import_from_photos()
    assert accepted(project) == {"sea", "more", "yet more"}
    # It is asked for once more.
    project.label("p0.jpg", add=["Animals|heron"])
    project.write()
    assert HERON in program.shows()


def test_the_later_of_a_person_and_another_program_counts(project, program):
    program.saves(add=[SEA, LAKE])
    project.import_from_photos()
    project.label("p0.jpg", add=["lake"], remove=["sea"])
    project.write()
    assert program.shows() == {LAKE}
    program.saves(add=[SEA], remove=[LAKE])
    assert project.write(dry_run=True).n_removed == 0
    result = project.import_from_photos()
    assert (accepted(project), result.n_conflicts) == ({"sea"}, 0)
    # What a person decides after that stands, and to undo the import is such a decision.
    project.undo()
    assert accepted(project) == {"lake"}
    assert project.import_from_photos().n_conflicts == 2
    project.write()
    assert program.shows() == {LAKE}


def test_what_was_deleted_before_any_write_is_gone(project, program):
    program.saves(add=[SEA, LAKE])
    project.import_from_photos()
    program.saves(remove=[SEA])
    project.import_from_photos()
    assert accepted(project) == {"lake"}
    program.saves(add=[SEA])
    project.import_from_photos()
    assert accepted(project) == {"lake", "sea"}


def test_a_dry_run_lists_the_items_of_every_field(project, photos):
    file = photos / "p0.jpg.xmp"
    project.label("p0.jpg", add=["sea", "AC/DC"])
    project.write()
    file.write_bytes(darktable_writes(file.read_bytes(), {SEA, LAKE}))
    project.import_from_photos()
    (item,) = (item for item in project.write(dry_run=True).files if item.status == "planned")
    assert [(each.label, each.added, each.removed) for each in item.fields] == [
        ("digiKam:TagsList", ("lake",), ("AC\\DC",))
    ]
    project.write()
    assert {of.label: texts for of, texts in items(file.read_bytes()).items() if texts} == {
        "dc:subject": ["lake", "sea"],
        "lr:hierarchicalSubject": ["lake", "sea"],
        "digiKam:TagsList": ["sea", "lake"],
    }


def test_new_sidecars_are_named_as_set_and_those_there_are_kept(photos):
    with Project.open(photos, flags=FLAGS | {"sidecar_names": "photo.xmp"}) as project:
        (photos / "p1.jpg.xmp").write_bytes(darktable_writes(None, {LAKE}))
        project.label(["p0.jpg", "p1.jpg"], add=["sea"])
        project.write()
        assert sorted(path.name for path in photos.glob("*.xmp")) == ["p0.xmp", "p1.jpg.xmp"]
        assert darktable_reads((photos / "p1.jpg.xmp").read_bytes()) == {LAKE, SEA}
        project.undo()
        assert sorted(path.name for path in photos.glob("*.xmp")) == ["p1.jpg.xmp"]


@pytest.mark.parametrize("names", ["photo.jpg.xmp", "photo.xmp"])
def test_two_sidecars_are_read_and_kept_in_step(photos, names):
    long, short = photos / "p0.jpg.xmp", photos / "p0.xmp"
    long.write_bytes(darktable_writes(None, {LAKE}))
    short.write_bytes(digikam_writes(None, {HERON}))
    with Project.open(photos, flags=FLAGS | {"sidecar_names": names}) as project:
        project.import_from_photos()
        assert accepted(project) == {"lake", "Animals|heron"}
        project.write()
        assert darktable_reads(long.read_bytes()) == digikam_reads(short.read_bytes()) == {LAKE, HERON}
        short.write_bytes(digikam_writes(short.read_bytes(), {LAKE}))
        project.import_from_photos()
        assert accepted(project) == {"lake"}
        project.write()
        assert darktable_reads(long.read_bytes()) == {LAKE}


def test_a_sidecar_goes_along_with_a_photo_that_was_moved(project, photos):
    project.label(["p0.jpg", "p1.jpg"], add=["sea"])
    project.write()
    before = (photos / "p0.jpg.xmp").read_bytes()
    (photos / "sub").mkdir()
    (photos / "p0.jpg").rename(photos / "sub" / "renamed.jpg")
    assert [path.endswith(b"p0.jpg.xmp") for path in project.scan().sidecars_left] == [True]
    old, new = photos / "p0.jpg.xmp", photos / "sub" / "renamed.jpg.xmp"
    project.rename_tag("sea", "ocean")
    plan = project.write(dry_run=True, photos=["sub/renamed.jpg"])
    assert [(bytes(old), bytes(new))] == list(plan.moved)
    assert (plan.n_accepted, plan.n_removed, old.read_bytes(), new.exists()) == (1, 1, before, False)
    result = project.write()
    assert (len(result.moved), old.exists()) == (1, False)
    assert darktable_reads(new.read_bytes()) == {("ocean",)}
    project.undo()
    assert (old.read_bytes(), new.exists()) == (before, False)
    assert project.write().counts == {"written": 2}
    assert (old.exists(), darktable_reads(new.read_bytes())) == (False, {("ocean",)})


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="extended attributes are copied on Linux")
def test_what_a_moved_sidecar_has_beside_its_content_goes_along_and_comes_back(project, photos):
    project.label("p0.jpg", add=["sea"])
    project.write()
    old, new = photos / "p0.jpg.xmp", photos / "sub" / "p0.jpg.xmp"
    old.chmod(0o640)
    try:
        os.setxattr(old, "user.rating", b"five")
    except OSError as error:
        pytest.skip(f"the file system has none: {error}")
    new.parent.mkdir()
    (photos / "p0.jpg").rename(photos / "sub" / "p0.jpg")
    project.scan()
    project.write()
    assert (os.getxattr(new, "user.rating"), new.stat().st_mode & 0o777) == (b"five", 0o640)
    project.undo()
    assert (os.getxattr(old, "user.rating"), old.stat().st_mode & 0o777) == (b"five", 0o640)


@pytest.mark.parametrize("why", ["changed", "another photo", "a sidecar there", "a link"])
def test_a_sidecar_stays_where_anyone_else_may_need_it(project, photos, why):
    project.label("p0.jpg", add=["sea"])
    project.write()
    old = photos / "p0.jpg.xmp"
    (photos / "sub").mkdir()
    (photos / "p0.jpg").rename(photos / "sub" / "p0.jpg")
    if why == "changed":
        old.write_bytes(darktable_writes(old.read_bytes(), {SEA, LAKE}))
    elif why == "another photo":
        shutil.copy(photos / "p1.jpg", photos / "p0.jpg")
    elif why == "a sidecar there":
        (photos / "sub" / "p0.xmp").write_bytes(darktable_writes(None, {LAKE}))
    else:
        old.rename(photos / "elsewhere.xmp")
        old.symlink_to("elsewhere.xmp")
    before = old.read_bytes()
    assert project.scan().sidecars_left == ()
    assert project.write().moved == ()
    assert old.read_bytes() == before


def test_a_move_that_was_cut_off_loses_nothing(project, photos, monkeypatch):
    project.label("p0.jpg", add=["sea"])
    project.write()
    old, new = photos / "p0.jpg.xmp", photos / "sub" / "p0.jpg.xmp"
    before = old.read_bytes()
    (photos / "sub").mkdir()
    (photos / "p0.jpg").rename(photos / "sub" / "p0.jpg")
    project.scan()

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tagloom.metadata.file_changes._remove", killed)
        with pytest.raises(KeyboardInterrupt):
            project.write()
    assert old.read_bytes() == new.read_bytes() == before
    project.write()
    project.undo()
    assert old.read_bytes() == before


@pytest.mark.medium
def test_keywords_in_a_photo_that_another_program_took_out(project, photos, exiftool):
    photo = photos / "p0.jpg"
    project.label("p0.jpg", add=["sea", "lake"])
    project.write(embed=True)
    changes = ["-XMP-dc:Subject-=sea", "-XMP-lr:HierarchicalSubject-=sea", "-XMP-dc:Subject+=new"]
    subprocess.run([exiftool, "-q", "-overwrite_original", *changes, photo], check=True)
    project.scan()
    project.import_from_photos()
    assert accepted(project) == {"lake", "new"}
    project.write(embed=True)
    assert {keyword.text for keyword in read_photo_keywords(bytes(photo)).keywords} == {"lake", "new"}


def test_people_in_photos_become_tags(project, photos):
    people = '<Iptc4xmpExt:PersonInImage xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"><rdf:Bag>'
    people += "<rdf:li>Ann Smith</rdf:li></rdf:Bag></Iptc4xmpExt:PersonInImage></rdf:Description>"
    packet = darktable_writes(None, {SEA}).replace(b"</rdf:Description>", people.encode())
    (photos / "p0.jpg.xmp").write_bytes(packet)
    project.import_from_photos()
    assert accepted(project) == {"sea", "Ann Smith"}
    # A person who says that it is somebody else is believed, here and in every later import.
    project.label("p0.jpg", remove=["Ann Smith"])
    project.write()
    assert project.import_from_photos().n_decisions == 0
    assert accepted(project) == {"sea"}


def test_what_darktable_wrote_for_itself_stays_and_is_no_tag(project, photos):
    file = photos / "p0.jpg.xmp"
    own = ("darktable", "format", "nef")
    file.write_bytes(darktable_writes(None, {SEA, own}))
    before = file.read_bytes()
    project.import_from_photos()
    assert accepted(project) == {"sea"}
    project.write()
    assert file.read_bytes() == before
    project.label("p0.jpg", add=["lake"])
    project.write()
    project.import_from_photos()
    assert darktable_reads(file.read_bytes()) == {SEA, LAKE, own}
    found = {of.label: set(texts) for of, texts in items(file.read_bytes()).items()}
    assert (found["dc:subject"], found["digiKam:TagsList"]) == ({*own, "sea", "lake"}, {"sea", "lake"})
    assert accepted(project) == {"sea", "lake"}


@pytest.mark.parametrize("content", [b"", b"<broken", b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"])
def test_a_sidecar_that_cannot_be_read_takes_nothing_out(project, photos, content):
    file = photos / "p0.jpg.xmp"
    file.write_bytes(darktable_writes(None, {SEA, LAKE}))
    project.import_from_photos()
    project.label("p0.jpg", add=["Animals|heron"])
    project.write()
    whole = file.read_bytes()
    file.write_bytes(content)
    project.import_from_photos()
    assert accepted(project) == {"sea", "lake", "Animals|heron"}
    # Once it can be read again, what was remembered before still tells deletions.
    file.write_bytes(darktable_writes(whole, {LAKE, HERON}))
    project.import_from_photos()
    assert accepted(project) == {"lake", "Animals|heron"}


def test_a_photo_that_lost_all_its_metadata_takes_nothing_out(project, photos):
    photo = photos / "p0.jpg"
    with Image.open(photo) as image:
        image.save(photo, quality="keep", xmp=darktable_writes(None, {SEA, LAKE}))
    project.scan()
    project.import_from_photos()
    assert accepted(project) == {"sea", "lake"}
    with Image.open(photo) as image:
        image.save(photo, quality="keep", xmp=b"")
    project.scan()
    project.import_from_photos()
    assert accepted(project) == {"sea", "lake"}
