"""A review that keeps up: thresholds and settings that are changed elsewhere, stacks that outlive a training."""

import shutil
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from tagloom.datasets import write_scenes
from tagloom.exceptions import SettingsError
from tagloom.learning.suggest import open_suggestions
from tagloom.project.project import Project
from tagloom.review import session as review_session
from tagloom.review.ranking import PhotoQuery
from tagloom.review.session import ReviewSession
from tests.review.test_session import wait_for

FLAGS = {"descriptors": "color", "method": "ridge", "n_workers": 1, "n_threads": 1}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live") / "photos"
    write_scenes(folder, 24, size=(96, 64), labeled=0.5, random_state=1)
    shutil.copy(folder / "scene_00010.jpg", folder / "copy.jpg")
    with Project.init(folder, flags=FLAGS) as project:
        project.scan()
        project.import_keywords(folder / "labels.csv")
        project.train()
    return folder


@pytest.fixture
def project(trained, tmp_path, monkeypatch):
    monkeypatch.setattr(review_session, "POLL_SECONDS", 0.02)
    with Project.open(shutil.copytree(trained, tmp_path / "photos"), flags=FLAGS) as project:
        yield project


def _heard(session):
    heard = []
    session.events.listen(lambda event: event and heard.append((event.name, event.data)))
    return heard


def _agrees(session):
    """Tell whether the session suggests what the command line does."""
    found = open_suggestions(session.project.store, uncalibrated=True)  # the page shows scores, too
    state = session.state
    with state.lock:
        rows = [state.place(tag) for tag in found.tag_ids.tolist()]
        return bool((found.above == state.suggested(rows).T).all())


def test_a_threshold_that_is_set_elsewhere_is_seen(project):
    with ReviewSession(project, with_looks=False) as session, Project.open(project.folder, flags=FLAGS) as other:
        own, n_before = session.state.limits.copy(), int(session.state.n_suggested.sum())
        heard = _heard(session)
        other.threshold = 0.02  # as by tagloom suggest --threshold 0.02 --remember
        wait_for(lambda: any(name == "learned" for name, _ in heard))
        assert _agrees(session)
        assert int(session.state.n_suggested.sum()) > n_before
        ((_, told),) = heard
        assert set(told["tags"]) >= set(open_suggestions(project.store).tag_ids.tolist())
        other.threshold = None
        wait_for(lambda: np.array_equal(session.state.limits, own))
        assert _agrees(session)


class _Learner:
    """Learns at once that all photos have a tag with 0.7, and that a number is to be above 0.5."""

    kind = "probability"

    def __init__(self, photo_ids, tag_ids):
        self.photo_ids, self.tag_ids = photo_ids, tag_ids
        self.thresholds = np.full(len(tag_ids), 0.5)
        self.values = np.full((len(photo_ids), len(tag_ids)), 0.7, dtype=np.float32)

    def update(self):
        return SimpleNamespace(tag_ids=self.tag_ids, seconds=0.01)

    def save(self):
        """Keep nothing."""

    def close(self):
        """Hold nothing."""


def test_numbers_that_were_learned_and_not_stored_outlive_a_threshold(project):
    tags = open_suggestions(project.store).tag_ids
    learner = _Learner(project.store.photos.table().ids, tags)
    with ReviewSession(project, with_looks=False, make_learner=lambda: learner) as session:
        rows = session.state.places(tags.tolist())
        wait_for(lambda: (session.state.values[rows] == np.float32(0.7)).all())
        project.threshold = 0.8
        wait_for(lambda: session.state.n_suggested.sum() == 0)
        project.threshold = None
        wait_for(lambda: session.state.n_suggested.sum() > 0)
        assert (session.state.values[rows] == np.float32(0.7)).all()
        assert (session.state.limits[rows] == 0.5).all()


def test_settings_that_are_changed_meanwhile_are_those_of_the_next_learner_and_job(project, caplog):
    made = []

    def make():
        made.append(project.settings.precision)
        return _Learner(project.store.photos.table().ids, open_suggestions(project.store).tag_ids)

    file = project.folder / "tagloom.toml"
    with ReviewSession(project, with_looks=False, make_learner=make) as session:
        wait_for(lambda: made == [0.9])
        file.write_text("precision = 0.7\n", encoding="utf-8")
        wait_for(lambda: made == [0.9, 0.7])
        file.write_text("precision = 7\n", encoding="utf-8")
        wait_for(lambda: "precision" in caplog.text)
        assert project.settings.precision == 0.7
        with pytest.raises(SettingsError, match="precision"):
            session.start_job("train")
        file.unlink()
        wait_for(lambda: made == [0.9, 0.7, 0.9])
        project.store.settings.set("precision", 0.8)
        job = session.start_job("train")  # at once: a job reads them itself
        assert project.settings.precision == 0.8
        wait_for(lambda: job.state == "done")


def _stacked(session):
    return [cell["stack"] for cell in session.cells(session.photos.ids.tolist())["cells"] if cell["stack"]]


def test_stacks_are_told_of_when_they_are_known_and_outlive_a_training(project, monkeypatch):
    may_look, real = threading.Event(), review_session.load_looks

    def load_looks(store, photos):
        assert may_look.wait(20)
        return real(store, photos)

    monkeypatch.setattr(review_session, "load_looks", load_looks)
    with ReviewSession(project) as session:
        heard = _heard(session)
        assert _stacked(session) == []
        may_look.set()
        wait_for(lambda: ("looks", {}) in heard)
        pair = _stacked(session)
        assert len(pair) == 2
        n = len(session.ranking(PhotoQuery(stacks=True)).ids)
        assert n == len(session.photos) - 1
        may_look.clear()
        job = session.start_job("train")
        wait_for(lambda: job.state == "done")
        assert _stacked(session) == pair  # what looks alike is being worked out anew
        assert len(session.ranking(PhotoQuery(stacks=True)).ids) == n
        heard.clear()
        may_look.set()
        wait_for(lambda: ("looks", {}) in heard)
        assert _stacked(session) == pair


def test_stacks_of_other_photos_are_forgotten(project):
    with ReviewSession(project) as session:
        wait_for(lambda: _stacked(session))
        shutil.copy(project.root / "scene_00012.jpg", project.root / "another.jpg")
        job = session.start_job("scan")
        wait_for(lambda: job.state == "done")
        wait_for(lambda: len(_stacked(session)) == 4)
        (project.root / "copy.jpg").unlink()
        job = session.start_job("scan")
        wait_for(lambda: job.state == "done")
        wait_for(lambda: len(_stacked(session)) == 2)
