import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from PIL import Image

from tagloom.exceptions import InvalidInputError, LabelsFileError, StoreBusyError
from tagloom.project.project import Project

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1}


@pytest.fixture(scope="module")
def scanned(tmp_path_factory):
    """Return a folder of eight photos with a project that knows them; not to be changed."""
    folder = tmp_path_factory.mktemp("labels") / "photos"
    (folder / "trip").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for name in [*(f"{number}.jpg" for number in range(6)), "trip/0.jpg", "trip/a b.jpg"]:
        Image.fromarray(rng.integers(0, 256, size=(16, 16, 3), dtype=np.uint8)).save(folder / name)
    with Project.init(folder, project=folder.parent / "project", flags=LIGHT) as project:
        project.scan()
        project.backup(folder.parent / "fresh.sqlite")
    return folder


@pytest.fixture
def photos(scanned):
    return scanned


@pytest.fixture
def project(scanned, tmp_path):
    """Return a project of its own over the same photos."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "tagloom.sqlite").write_bytes((scanned.parent / "fresh.sqlite").read_bytes())
    with Project.open(folder, flags=LIGHT) as opened:
        yield opened


def _said(project):
    """Return {(photo, tag): (state, origin)} of all that stands."""
    standing = project.store.decisions.current()
    table = project.store.photos.table()
    names = dict(zip(table.ids.tolist(), table.paths, strict=True))
    tags = project.store.tags.texts(standing.tag_ids)
    return {
        (names[photo].decode(), tag): (state, ("human", "imported", "suggested")[origin])
        for photo, tag, state, origin in zip(
            standing.photo_ids.tolist(), tags, standing.states.tolist(), standing.origins.tolist(), strict=True
        )
    }


def test_names_of_photos(project, photos, monkeypatch):
    project.label([b"0.jpg", "./trip/../1.jpg", photos / "2.jpg", os.fsencode(photos / "trip" / "a b.jpg")], add="x")
    assert {name for name, _ in _said(project)} == {"0.jpg", "1.jpg", "2.jpg", "trip/a b.jpg"}
    project.label("0.jpg", add="here", base=photos / "trip")
    assert ("trip/0.jpg", "here") in _said(project)
    project.label("3.jpg", add="here", base=photos / "trip")  # not in the base, but in the folder of photos
    assert ("3.jpg", "here") in _said(project)
    link = project.folder / "link"
    os.symlink(photos, link)
    project.label(link / "4.jpg", add="linked")
    assert ("4.jpg", "linked") in _said(project)


def test_labels_are_all_or_nothing(project):
    result = project.label(["0.jpg", "1.jpg"], add=["cat", "Animals|Cat"])
    assert (result.n_photos, result.n_decisions, result.created) == (2, 4, ("cat", "Animals|Cat"))
    before = _said(project)
    for arguments in (
        {"photos": ["0.jpg", "none.jpg"], "add": "bird"},
        {"photos": [1, 999], "add": "bird"},
        {"photos": "0.jpg", "add": "bird", "remove": "cta"},
        {"photos": "0.jpg", "add": ["bird", "a\\b"]},
        {"photos": "0.jpg", "add": "cat", "clear": "cat"},
        {"photos": "0.jpg", "add": "bird", "create": False},
        {"photos": "0.jpg"},
        {"photos": [], "add": "bird"},
    ):
        with pytest.raises(InvalidInputError):
            project.label(**arguments)
    assert _said(project) == before
    assert [tag.text for tag in project.tags()] == ["Animals|Cat", "cat"]
    with pytest.raises(InvalidInputError, match="did you mean 'cat'"):
        project.label("0.jpg", remove="cta")
    assert project.label(["0.jpg"], add="cat").batch is None  # stands already


def test_states_aliases_and_implications(project):
    project.label(["0.jpg", "1.jpg"], add="cat")
    project.alias_tag("kitty", "cat")
    project.label("2.jpg", add="kitty")
    project.label("1.jpg", remove="kitty")
    assert _said(project) == {
        ("0.jpg", "cat"): (1, "human"),
        ("1.jpg", "cat"): (0, "human"),
        ("2.jpg", "cat"): (1, "human"),
    }
    project.label("1.jpg", clear="cat")
    assert ("1.jpg", "cat") not in _said(project)
    project.label("5.jpg", add="animal")
    project.imply_tag("cat", "animal")
    assert project.implications() == [("cat", "animal")]
    plan = project.write(dry_run=True, photos="2.jpg")
    assert [keyword.text for keyword in plan.files[0].added] == ["animal", "cat"]


def _csv(tmp_path, text, name="labels.csv"):
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path / name


def test_what_absence_means(project, tmp_path):
    table = _csv(tmp_path, "file,tags\n0.jpg,cat;sea\n1.jpg,sea\n2.jpg,!cat\nnone.jpg,dog\n")
    result = project.import_keywords(table, absent_means="unknown")
    assert (result.n_yes, result.n_no, result.n_by_absence, result.n_decisions) == (3, 1, 0, 4)
    assert result.unmatched == ("none.jpg",)
    result = project.import_keywords(table)
    assert (result.absent_means, result.already) == ("no", False)
    said = _said(project)
    assert said["1.jpg", "cat"] == said["2.jpg", "sea"] == (0, "imported")
    assert "dog" not in {tag for _, tag in said}
    assert [item.absent_means for item in project.store.runs.imports()] == ["unknown", "no"]


def test_absence_does_not_deny_what_a_keyword_implies(project, tmp_path):
    project.label("5.jpg", add=["beach", "coast"])
    project.imply_tag("beach", "coast")
    result = project.import_keywords(_csv(tmp_path, "file,tags\n0.jpg,Animals|Cat;beach\n1.jpg,Animals;coast\n"))
    said = _said(project)
    assert result.n_photos == 2
    assert ("0.jpg", "Animals") not in said
    assert ("0.jpg", "coast") not in said
    assert said["1.jpg", "Animals|Cat"] == said["1.jpg", "beach"] == (0, "imported")


def test_a_person_is_never_overruled_by_an_import(project, tmp_path):
    project.label("0.jpg", add="cat")
    project.label("1.jpg", add="dog")
    project.label("2.jpg", add="cat", origin="suggested")
    project.label("3.jpg", add="cat")
    table = _csv(tmp_path, "file,tags\n0.jpg,!cat\n1.jpg,cat\n2.jpg,!cat\n3.jpg,cat\n4.jpg,cat;dog\n")
    result = project.import_keywords(table)
    assert result.n_conflicts == 2
    assert result.conflicts == ((b"0.jpg", "cat", "no"), (b"2.jpg", "cat", "no"))
    said = _said(project)
    assert said["0.jpg", "cat"] == (1, "human")
    assert said["1.jpg", "dog"] == (1, "human")  # the table does not name it: absence does not overrule either
    assert said["2.jpg", "cat"] == (1, "suggested")
    assert said["3.jpg", "cat"] == (1, "human")
    assert said["4.jpg", "dog"] == (1, "imported")


def test_the_same_source_twice(project, tmp_path):
    table = _csv(tmp_path, "file,tags\n0.jpg,cat\n")
    first = project.import_keywords(table)
    n = project.store.decisions.count()
    again = project.import_keywords(_csv(tmp_path, "file,tags\n0.jpg,cat\n", "copy.csv"))
    assert (again.already, again.n_decisions, project.store.decisions.count()) == (True, 0, n)
    project.undo(first.batch)
    once_more = project.import_keywords(table)
    assert (once_more.already, once_more.n_decisions) == (False, 1)


def test_a_file_that_cannot_be_read_changes_nothing(project, tmp_path):
    (tmp_path / "labels.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(LabelsFileError):
        project.import_keywords(tmp_path / "labels.csv")
    assert project.history() == []


def test_folder_names(project):
    result = project.import_folder_names()
    assert (result.n_photos, result.absent_means) == (2, "unknown")
    assert _said(project) == {
        ("trip/0.jpg", "trip"): (1, "imported"),
        ("trip/a b.jpg", "trip"): (1, "imported"),
    }


def test_labelling_imports_nothing_heavy(project, photos):
    script = f"""
        import sys
        from tagloom.project.project import Project
        with Project.open({str(project.folder)!r}) as opened:
            opened.label("0.jpg", add="light")
            opened.undo()
        heavy = {{"numpy", "sklearn", "scipy", "PIL", "cv2", "onnxruntime", "lxml", "pandas", "pyarrow"}}
        print(sorted(heavy & set(sys.modules)))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.medium
def test_labels_from_other_processes_while_a_long_job_runs(project):
    script = """
        import sys
        from tagloom.project.project import Project
        with Project.open(sys.argv[1]) as opened:
            for number in range(40):
                opened.label(number % 8 + 1, add=f"tag{sys.argv[2]}-{number}", who=sys.argv[2])
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(project.folder)]
    with project.store.lock():
        workers = [subprocess.Popen([*command, name], stderr=subprocess.PIPE) for name in "ab"]
        with Project.open(project.folder) as other, pytest.raises(StoreBusyError):
            other.scan()
        for worker in workers:
            _, told = worker.communicate(timeout=60)
            assert worker.returncode == 0, told
    assert {tag for _, tag in _said(project)} == {f"tag{name}-{number}" for name in "ab" for number in range(40)}
    # The database alone was copied, so that the features are not there.
    assert {finding.kind for finding in project.check()} == {"shard"}
