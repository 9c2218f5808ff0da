"""A project from its beginning to its end, on made-up scenes with cheap features."""

import csv
import hashlib
import os
import shutil

import numpy as np
import pytest

from tagloom.core.keywords import Keyword
from tagloom.datasets import write_scenes
from tagloom.exceptions import InvalidInputError, PhotosError, StoreError
from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.project.project import Project

pytestmark = pytest.mark.medium

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "method": "ridge"}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scenes") / "photos"
    write_scenes(folder, 30, size=(96, 64), labeled=0.5, random_state=0)
    return folder


@pytest.fixture
def photos(scenes, tmp_path):
    copy = tmp_path / "photos"
    shutil.copytree(scenes, copy)
    return copy


def _open(photos):
    return Project.open(photos, flags=LIGHT)


def _hashes(folder):
    """Return the checksum of every file below a folder but those of the project."""
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".tagloom" not in path.parts
    }


def test_from_init_to_undo_and_a_move(photos):
    originals = _hashes(photos)
    with Project.init(photos, flags=LIGHT) as project:
        assert project.folder == photos / ".tagloom"
        assert project.root == photos
        assert project.status().command == "tagloom scan"

        found = project.scan()
        assert (len(found.new), found.n_same, found.n_read, found.unreadable) == (30, 0, 30, {})
        again = project.scan()
        assert (again.n_same, again.n_read, again.new, again.missing) == (30, 0, (), ())
        assert project.status().command == "tagloom review"

        taken = project.import_keywords(photos / "labels.csv")
        assert taken.absent_means == "no"
        assert (taken.n_photos, taken.n_conflicts, taken.already) == (15, 0, False)
        assert taken.n_decisions == taken.n_yes + taken.n_by_absence == 15 * taken.n_tags
        once_more = project.import_keywords(photos / "labels.csv")
        assert (once_more.already, once_more.batch) == (True, None)
        assert project.status().command == "tagloom train"

        trained = project.train()
        assert (trained.n_photos, trained.n_labeled, trained.kind, trained.method) == (30, 15, "score", "ridge")
        assert trained.is_linear
        assert project.status().n_new_decisions == 0

        _check_suggestions(project, photos)

        name = "scene_00003.jpg"
        labelled = project.label(name, add=["Places|Coast", "sea"], remove="night", who="me")
        assert labelled.created == ("Places|Coast",)
        assert project.status().command == "tagloom review"

        plan = project.write(dry_run=True)
        assert _hashes(photos) == originals
        assert set(plan.counts) == {"planned"}
        mine = next(item for item in plan.files if item.photo == name.encode())
        assert Keyword.parse("Places|Coast") in mine.added
        assert "+ Places|Coast" in mine.description
        written = project.write()
        assert written.counts == {"written": plan.counts["planned"]}
        assert (written.n_accepted, written.n_suggested) == (plan.n_accepted, 0)
        keywords = read_photo_keywords(os.fsencode(photos / name)).keywords
        assert Keyword.parse("Places|Coast") in keywords
        assert project.write().counts == {"unchanged": plan.counts["planned"]}

        undone = project.undo()
        assert (undone.batch.kind, undone.n_files) == ("write", plan.counts["planned"])
        assert _hashes(photos) == originals

        (photos / "sub").mkdir()
        for number in range(3, 6):
            os.rename(photos / f"scene_{number:05d}.jpg", photos / "sub" / f"moved_{number}.jpg")
        moved = project.scan()
        assert (len(moved.moved), moved.new, moved.missing, moved.n_same) == (3, (), (), 27)
        history = project.history(photo=moved.moved[0])
        assert history[0].who == "me"
        assert project.check() == []


def _check_suggestions(project, photos):
    with open(photos / "labels.csv", newline="", encoding="utf-8") as handle:
        labelled = {row["file"] for row in csv.DictReader(handle)}
    rows = project.suggest(n=3)
    assert {row.photo.decode() for row in rows} == {f"scene_{k:05d}.jpg" for k in range(30)} - labelled
    by_photo = {}
    for row in rows:
        by_photo.setdefault(row.photo, []).append(row)
    for mine in by_photo.values():
        assert [row.rank for row in mine] == [1, 2, 3]
        assert [row.value for row in mine] == sorted((row.value for row in mine), reverse=True)
    # Saying no to the best one leaves the second.
    best, second = next(iter(by_photo.values()))[:2]
    project.label(best.photo_id, remove=best.tag, origin="suggested")
    assert project.suggest(best.photo_id, n=1)[0].tag == second.tag
    project.undo()
    assert project.suggest(best.photo_id, n=1)[0].tag == best.tag
    everything = project.suggest(n=0, threshold=1e9)
    assert not any(row.is_above for row in everything)
    assert all(row.is_above for row in project.suggest(n=0, threshold=-1e9))
    assert project.suggest(n=0, threshold=1e9, above_only=True) == []
    assert rows[0].as_dict()["photo"] == rows[0].photo.decode()


def test_the_stored_model_scores_as_the_suggestions_do(photos):
    from tagloom.catalog.extraction import load_rows
    from tagloom.features.scaling import GroupScaler
    from tagloom.learning.stored_model import load_model

    with Project.init(photos, flags=LIGHT) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv")
        project.train()
        model = load_model(project.store, project.store.models.active())
        stored = project.store.suggestions.load()
        with project.store.cache() as cache:
            rows = load_rows(project.store, cache, project.settings)
        scaler = GroupScaler(model.header.groups).fit(rows.X)
        assert scaler.choices_ == model.linear.scaler.choices_
        scores = scaler.transform(rows.X) @ model.linear.coef + model.linear.intercept
        np.testing.assert_allclose(stored.scores, scores, atol=1e-5)
        assert model.header.kind == stored.info["kind"] == "score"
        assert stored.info["model"] == project.store.models.active().id
        assert project.store.models.active().labels_digest == project.store.decisions.labels_digest()


def test_an_interrupted_training_leaves_the_old_model(photos, monkeypatch):
    with Project.init(photos, flags=LIGHT) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv")
        project.train()
        before = project.suggest(n=2)
        model = project.store.models.active().id
        project.label(1, add="sea")

        def stop(*_):
            raise KeyboardInterrupt

        monkeypatch.setattr(type(project.store.models), "activate", stop)
        with pytest.raises(KeyboardInterrupt):
            project.train()
        monkeypatch.undo()
        assert project.store.models.active().id == model
        assert [row for row in project.suggest(n=2) if row.photo_id != 1] == [
            row for row in before if row.photo_id != 1
        ]
        project.train()
        assert project.store.models.active().id > model
        assert [item for item in project.check(checksums=True) if not item.repairable] == []


def test_training_needs_labels_and_photos(tmp_path):
    (tmp_path / "photos").mkdir()
    with Project.init(tmp_path / "photos", flags=LIGHT) as project:
        with pytest.raises(InvalidInputError, match="tagloom import"):
            project.train()
        with pytest.raises(StoreError, match="tagloom train"):
            project.suggest()
        assert project.scan().n_listed == 0
        assert project.write().counts == {}
        assert project.undo().batch is None
    with pytest.raises(PhotosError, match="not a folder"):
        Project.init(tmp_path / "nowhere")


def test_exports_tell_accepted_from_suggested(photos, tmp_path):
    with Project.init(photos, flags=LIGHT) as project:
        project.scan()
        project.import_keywords(photos / "labels.csv")
        project.train()
        accepted = project.export(tmp_path / "a.csv", "csv", accepted_only=True)
        both = project.export(tmp_path / "b.csv", "csv", threshold=-1e9, uncalibrated=True)
        assert accepted.n_accepted == both.n_accepted > 0
        assert accepted.n_suggested == 0
        assert both.n_suggested == 15 * project.status().n_tags
        assert both.as_dict()["files"] == [str(tmp_path / "b.csv")]
        with pytest.raises(InvalidInputError, match="never exports locations"):
            project.export(tmp_path / "c.csv", "csv", gps=True)
    # Suggestions do not become decisions by a round trip.
    with Project.init(photos, project=tmp_path / "other", flags=LIGHT) as other:
        other.scan()
        taken = other.import_keywords(tmp_path / "b.csv")
        assert (taken.n_yes, taken.n_suggested) == (both.n_accepted, both.n_suggested)


def test_settings_of_a_project(photos, monkeypatch):
    with Project.init(photos) as project:
        project.store.settings.set("n_neighbors", 7)
        (project.folder / "tagloom.toml").write_text("n_keywords = 3\n")
        monkeypatch.setenv("TAGLOOM_METHOD", "ridge")
        assert (project.settings.n_neighbors, project.settings.n_keywords, project.settings.method) == (7, 3, "ridge")
        assert project.settings.origin("n_neighbors") == "stored in the project"
    with Project.open(photos, flags={"n_neighbors": 9}) as project:
        assert project.settings.n_neighbors == 9
        assert project.threshold is None
        project.threshold = 0.5
    with _open(photos) as project:
        assert project.threshold == 0.5


def test_finding_a_project(photos, tmp_path, monkeypatch):
    with pytest.raises(StoreError, match="tagloom init"):
        Project.open(photos)
    Project.init(photos).close()
    (photos / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(photos / "deep" / "er")
    with Project.open() as project:
        assert project.folder == photos / ".tagloom"
    with Project.open(photos / ".tagloom") as project:
        assert project.root == photos
    with Project.init(photos) as project:  # once more: the same
        assert project.root == photos
    (tmp_path / "others").mkdir()
    Project.init(tmp_path / "others", project=tmp_path / "project").close()
    with pytest.raises(StoreError, match="is about"):
        Project.init(photos, project=tmp_path / "project")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with pytest.raises(StoreError, match="other files"):
        Project.init(photos, project=tmp_path / "full")
    assert os.listdir(tmp_path / "full") == ["thesis.txt"]


def test_removing_a_project_leaves_photos_and_sidecars(photos):
    with Project.init(photos, flags=LIGHT) as project:
        project.scan()
        project.label("scene_00001.jpg", add="sea")
        project.write()
        kept = _hashes(photos)
        assert project.remove() > 0
    assert not (photos / ".tagloom").exists()
    assert _hashes(photos) == kept
    assert (photos / "scene_00001.jpg.xmp").is_file()
