"""Keywords that tagloom takes out of files again: its own, and no others."""

import os
import shutil

import numpy as np
import pytest
from PIL import Image

from tagloom.core.keywords import Keyword
from tagloom.core.progress import NO_PROGRESS
from tagloom.exceptions import TagloomError
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.metadata.sidecar_plan import plan_sidecar
from tagloom.project.project import Project
from tagloom.review.jobs import job_work

FLAGS = {"n_workers": 1, "n_threads": 1}
MINE = Keyword.flat("mine")


def _photo(path, seed):
    pixels = np.random.default_rng(seed).integers(0, 255, size=(16, 16, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(path)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("taken") / "photos"
    folder.mkdir()
    for number in range(3):
        _photo(folder / f"p{number}.jpg", number)
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


def others(path, add=(), remove=()):
    """Change a sidecar as another program does, or make it."""
    before = path.read_bytes() if path.exists() else None
    add, remove = ([Keyword.parse(text) for text in texts] for texts in (add, remove))
    path.write_bytes(plan_sidecar(before, add, remove).after)


def said(path):
    """Return the keywords of a sidecar."""
    found = read_photo_keywords(os.fsencode(path).removesuffix(b".xmp"), embedded=False)
    return [keyword.text for keyword in found.keywords]


def test_a_label_taken_back_goes_and_what_others_wrote_stays(project, photos):
    file = photos / "p0.jpg.xmp"
    others(file, ["mine", "sea"])
    project.label("p0.jpg", add=["sea", "Animals|Cat"])
    project.write()
    assert said(file) == ["Animals|Cat", "mine", "sea"]
    project.label("p0.jpg", clear=["sea", "Animals|Cat"])
    project.write()
    assert said(file) == ["mine", "sea"]


def test_it_goes_also_where_another_program_has_been_at_the_file(project, photos):
    file = photos / "p0.jpg.xmp"
    project.label("p0.jpg", add=["sea", "sand"])
    project.write()
    others(file, ["mine"])
    project.label("p0.jpg", clear="sea")
    project.rename_tag("sand", "Land|sand")
    assert project.write(dry_run=True).n_removed == 2
    project.write()
    assert said(file) == ["Land|sand", "mine"]


def test_what_others_took_out_and_brought_back_is_theirs(project, photos):
    file = photos / "p0.jpg.xmp"
    project.label("p0.jpg", add=["sea", "sand"])
    project.write()
    others(file, remove=["sea"])
    project.label("p0.jpg", clear="sea")
    project.write()
    others(file, ["sea", "mine"])
    project.write()
    assert said(file) == ["mine", "sand", "sea"]
    file.unlink()
    project.write()
    others(file, ["sea"])
    project.write()
    assert said(file) == ["sand", "sea"]


def test_another_sidecar_of_the_photo_is_another_file(project, photos):
    others(photos / "p0.xmp", ["mine"])
    project.label("p0.jpg", add="sea")
    project.write()
    assert said(photos / "p0.jpg") == ["mine", "sea"]
    others(photos / "p0.jpg.xmp", ["sea", "dark"])
    project.label("p0.jpg", clear="sea")
    project.write()
    # Both are read, and both are written: what tagloom brought to the one goes, what others brought to the other stays.
    assert said(photos / "p0.jpg.xmp") == ["dark", "mine", "sea"]
    (photos / "p0.jpg.xmp").unlink()
    assert said(photos / "p0.jpg") == ["mine"]


def test_a_sidecar_that_moved_along_is_the_same_and_one_that_lies_there_is_not(project, photos):
    project.label(["p0.jpg", "p1.jpg"], add="sea")
    project.write()
    (photos / "sub").mkdir()
    shutil.move(photos / "p0.jpg", photos / "sub" / "p0.jpg")
    others(photos / "sub" / "p0.jpg.xmp", ["sea", "foreign"])
    for name in ("p1.jpg", "p1.jpg.xmp"):
        shutil.move(photos / name, photos / "sub" / name)
    project.scan()
    project.label(["sub/p0.jpg", "sub/p1.jpg"], clear="sea")
    project.write()
    assert said(photos / "sub" / "p0.jpg.xmp") == ["foreign", "sea"]
    assert said(photos / "sub" / "p1.jpg.xmp") == []


def test_a_file_that_an_undo_let_go_of_is_the_others(project, photos):
    file = photos / "p0.jpg.xmp"
    project.label("p0.jpg", add=["sea", "sand"])
    project.write()
    project.label("p0.jpg", clear="sand")
    project.rename_tag("sea", "ocean")
    project.write()
    assert said(file) == ["ocean"]
    others(file, ["sand", "sea"])
    project.undo(leave_changed=True)
    project.write()
    assert said(file) == ["ocean", "sand"]  # an old name of a tag is that tag, whoever wrote it


def test_a_write_that_was_cut_off_brought_nothing(project, photos, monkeypatch):
    file = photos / "p0.jpg.xmp"
    others(file, ["mine"])
    project.label("p0.jpg", add=["sea", "sand"])

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tagloom.metadata.file_changes._put", killed)
        patch.setattr("tagloom.project.journal.ProjectJournal.forget", lambda *_: None)  # nor noted as such
        with pytest.raises(KeyboardInterrupt):
            project.write()
    assert [item.state for item in project.store.writes.entries()] == ["intended"]
    others(file, ["sea"])
    project.label("p0.jpg", clear=["sea", "sand"])
    project.write()
    assert said(file) == ["mine", "sea"]


@pytest.fixture
def suggested(project, photos):
    """Return the project with a model that suggests "sea" for the third photo."""
    ids = project.store.photos.table().ids
    project.label("p0.jpg", add="sea")
    (tag,) = (item.id for item in project.store.tags.all() if item.text == "sea")
    values = np.full((len(ids), 1), 0.9, dtype=np.float32)
    info = {"kind": "probability", "method": "made up", "model": 1}
    project.store.suggestions.save(ids, [tag], values, thresholds=[0.5], info=info)
    return project


def test_a_suggestion_goes_and_the_same_keyword_of_others_stays(suggested, photos):
    file, other = photos / "p1.jpg.xmp", photos / "p2.jpg.xmp"
    others(other, ["Water", "sea", "mine"])
    suggested.rename_tag("sea", "Water|sea")
    suggested.write(threshold=0.5)
    assert (said(file), said(other)) == (["Water|sea"], ["Water", "Water|sea", "mine", "sea"])
    suggested.write()
    assert (said(file), said(other)) == ([], ["Water", "mine", "sea"])


def test_a_suggestion_that_was_undone_or_withdrawn_is_of_those_who_write_it_later(suggested, photos):
    first, second = photos / "p1.jpg.xmp", photos / "p2.jpg.xmp"
    suggested.write(threshold=0.5, photos=["p1.jpg"])
    suggested.undo()
    suggested.write(threshold=0.5, photos=["p2.jpg"])
    suggested.write()
    assert said(second) == []
    for file in (first, second):
        others(file, ["sea", "mine"])
    suggested.write()
    assert said(first) == said(second) == ["mine", "sea"]


def test_photos_that_share_a_sidecar_keep_what_one_of_them_says(project, photos):
    _photo(photos / "p0.png", 7)
    others(photos / "p0.xmp", ["mine"])
    project.scan()
    for name in ("p0.png", "p0.jpg"):
        project.label(name, add="sea")
        project.write()
    project.label("p0.png", clear="sea")
    project.write()
    assert said(photos / "p0.jpg") == ["mine", "sea"]
    assert project.status().n_unwritten == 0
    assert not [item for item in project.write(dry_run=True).files if item.status == "planned"]


def test_undo_of_an_earlier_write_follows_its_photo_and_leaves_another_one_in_its_place(project, photos):
    project.label("p0.jpg", add="sea")
    batch = project.write().batch
    (photos / "sub").mkdir()
    for name in ("p0.jpg", "p0.jpg.xmp"):
        shutil.move(photos / name, photos / "sub" / name)
    _photo(photos / "p0.jpg", 9)
    project.scan()
    project.label("p0.jpg", add="sea")
    project.write()
    assert (photos / "p0.jpg.xmp").read_bytes() == (photos / "sub" / "p0.jpg.xmp").read_bytes()
    project.undo(batch)
    assert said(photos / "p0.jpg.xmp") == ["sea"]
    assert not (photos / "sub" / "p0.jpg.xmp").exists()


def test_a_keyword_that_no_field_with_levels_can_hold_goes_as_it_came(project, photos):
    file = photos / "p0.jpg.xmp"
    odd = Keyword(("p|q", "r/s")).text
    others(file, ["mine"])
    before = said(file)
    project.label("p0.jpg", add=odd)
    project.write()
    assert said(file) != before
    project.label("p0.jpg", clear=odd)
    project.write()
    assert said(file) == before


def test_a_no_to_a_keyword_that_was_never_there_takes_none_of_its_levels():
    before = plan_sidecar(None, add=[Keyword.flat("and/or"), MINE]).after
    odd = Keyword(("p|q", "and/or"))
    assert not plan_sidecar(before, remove=[odd]).changes
    during = plan_sidecar(plan_sidecar(None, add=[MINE]).after, add=[odd])
    assert [keyword.text for keyword in plan_sidecar(during.after, remove=[odd]).kept] == ["mine"]


def test_a_job_of_the_page_says_what_could_not_be_written(project, photos):
    project.label(["p0.jpg", "p1.jpg"], add="sea")
    (photos / "p1.jpg.xmp").write_bytes(b"no sidecar")
    work = job_work(project, "write", {}, exports=None, who="")
    with pytest.raises(TagloomError, match=r"^1 files written, 1 not: p1\.jpg: .+"):
        work(NO_PROGRESS)
    assert said(photos / "p0.jpg.xmp") == ["sea"]
    (photos / "p1.jpg.xmp").unlink()
    assert job_work(project, "write", {}, exports=None, who="")(NO_PROGRESS) == "1 files written"
