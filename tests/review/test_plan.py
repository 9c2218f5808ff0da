"""What the review page says a write would do, against a dry run of everything."""

import shutil

import pytest

from tagloom.datasets import write_scenes
from tagloom.metadata import sidecars
from tagloom.project.project import Project
from tagloom.project.unwritten import SETTLED, WRITE
from tagloom.review.session import ReviewSession
from tagloom.review.views import photos_to_write

FLAGS = {"n_workers": 1, "n_threads": 1}


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plan") / "photos"
    write_scenes(folder, 12, size=(48, 32), labeled=0.5, random_state=0)
    (folder / "scene_00001.nef").write_bytes(b"raw")
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        ids = project.store.photos.table().ids.tolist()
        project.label(ids[-2:], remove=["sky"])
        project.label([b"scene_00001.jpg"], add=["with a raw file"])
    return folder


@pytest.fixture
def project(labelled, tmp_path):
    with Project.open(shutil.copytree(labelled, tmp_path / "photos"), flags=FLAGS) as project:
        yield project


@pytest.fixture
def session(project):
    with ReviewSession(project, with_looks=False) as session:
        yield session


def told(files):
    return {item["path"]: (item["adds"], item["removes"], item["conflict"]) for item in files}


def dry_run(project):
    """Return what a dry run of all photos says, by path."""
    found = {}
    for item in project.write(dry_run=True).as_dict()["files"]:
        found[item["photo"]] = (item["added"], item["removed"], item["status"] in ("merged", "failed"))
    return found


def check_whole(session, project):
    """Compare a plan of all photos with the dry run; what is cut off it is a part of that."""
    plan, full = session.write_plan(1000), dry_run(project)
    assert told(plan["files"]) == full
    assert (plan["cut"], plan["n"], plan["n_looked"], plan["n_asked"]) == (False, len(full), plan["n_photos"], 0)
    for n in (1, 2, plan["n_photos"] - 1):
        part = session.write_plan(n)
        assert (part["n_looked"], part["cut"], part["n_photos"]) == (n, True, plan["n_photos"])
        assert told(part["files"]).items() <= full.items()
    return full


def test_a_plan_is_the_dry_run_of_the_photos_it_looks_at(session, project):
    full = check_whole(session, project)
    assert {"scene_00001.jpg", "scene_00001.nef"} < full.keys()
    photos = project.store.photos.table()
    named = {path.decode(): number for number, path in zip(photos.ids.tolist(), photos.paths, strict=True)}
    asked = photos_to_write(project.store)
    assert {named[path] for path in full if not path.endswith(".nef")} <= set(asked.ids)
    assert asked.n_asked == len(asked.ids)


def test_no_file_is_opened_that_is_not_told_of(session, monkeypatch):
    opened = []
    plan_sidecar = sidecars.plan_sidecar
    monkeypatch.setattr(sidecars, "plan_sidecar", lambda *a, **k: opened.append(a) or plan_sidecar(*a, **k))
    plan = session.write_plan(2)
    assert 2 <= len(opened) <= 3
    assert plan["n_photos"] >= 6
    assert plan["n_asked"] == plan["n_photos"] - 2


def test_after_a_write_what_was_decided_since_comes_first(session, project):
    project.write()
    assert dry_run(project) == {}
    plan = session.write_plan(1)
    assert (plan["files"], plan["cut"], plan["n_asked"]) == ([], True, 0)
    last = int(session.photos.ids[-3])
    project.label([last], add=["new"])
    plan = session.write_plan(1)
    assert [(item["photo"], item["adds"]) for item in plan["files"]] == [(last, ["new"])]
    assert (plan["n_looked"], plan["n_asked"], plan["cut"]) == (1, 0, True)
    project.undo()
    assert session.write_plan(1)["files"] == []
    project.undo()  # the write: all has to be written again
    full = check_whole(session, project)
    assert session.write_plan(1)["n_asked"] == plan["n_photos"] - 1
    assert len(full) >= 6


def test_labels_taken_back_and_renamed_tags_are_planned(session, project):
    project.write()
    first = int(session.photos.ids[0])
    here = [item["text"] for item in session.photo(first)["tags"] if item["state"] == 1]
    project.label([first], clear=here)
    assert check_whole(session, project)[session.photos.names[0]][1] == sorted(here)
    project.undo()
    assert dry_run(project) == {}
    session.change_tag(next(tag.id for tag in project.store.tags.all() if tag.text == here[0]), "rename", "renamed")
    assert session.write_plan(1)["n_asked"] == session.write_plan(1)["n_photos"] - 1
    assert "renamed" in check_whole(session, project)[session.photos.names[0]][0]


def test_suggestions_that_were_written_are_looked_at_first(session, project):
    project.write()
    photo = int(session.photos.ids[-1])
    run = project.store.runs.start(WRITE, {"suggested": {str(photo): ["a guess"]}})
    project.store.runs.end(run, {"batch": None, "counts": {}, SETTLED: project.store.decisions.latest()})
    found = photos_to_write(project.store)
    assert (found.ids[0], found.n_asked) == (photo, 1)
