"""A project that learns by the default method, which chooses for itself."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.learning import kept_graph
from tagloom.learning.methods import get_learner, make_annotator
from tagloom.settings import Settings


def _features(n=10):
    return np.random.default_rng(1).gamma(2.0, size=(n, 289)).astype(np.float32)


@pytest.mark.medium
def test_the_default_method_serves_every_verb(made_up):
    made = made_up(150, 3)
    made.say(range(60))
    project = made.project
    trained = project.train()
    assert (trained.method, trained.kind, trained.is_linear) == ("auto", "probability", False)
    assert 0.4 < trained.held_out_map <= 1.0
    assert project.status().as_dict()
    stored = project.store.suggestions.load()
    found = project.explain(int(made.ids[100]), "tag 1")
    assert found.photos_exact
    assert found.photos_base + sum(one.amount for one in found.photos) + found.photos_other + found.photos_rest == (
        pytest.approx(found.score, abs=1e-9)
    )
    measured = project.evaluate(folds=3, curve=False)
    assert (measured.method, measured.folds) == ("auto", 3)
    assert measured.map == pytest.approx(trained.held_out_map, abs=0.2)
    unseen = slice(60, None)
    assert abs(stored.scores[unseen].sum() - made.truth[unseen].sum()) < 0.3 * made.truth[unseen].sum()


def test_the_budget_can_be_set():
    learner, groups = get_learner("auto"), FeatureGroups(["color"], [3])
    made = make_annotator(learner, Settings(budget_seconds=7, n_threads=2, n_neighbors=4), groups)
    assert (made.budget_seconds, made.n_threads, made.n_neighbors) == (7.0, 2, 4)
    assert make_annotator(learner, Settings(), groups).budget_seconds == 300.0


class _Stages:
    """Notes the stages of long work."""

    def __init__(self):
        self.begun = []

    def start(self, stage, total=None):
        self.begun.append((stage, total is not None))

    def advance(self, n=1):
        pass

    def finish(self):
        pass


def test_training_tells_how_far_it_is_and_what_there_was_no_time_for(made_up):
    made = made_up(40, 2, budget_seconds=1e-6)
    made.say(range(20))
    stages = _Stages()
    trained = made.project.train(progress=stages)
    assert stages.begun[-4:] == [
        ("learning (auto)", False),
        ("comparing candidates", True),
        ("combining the best", False),
        ("working out probabilities", False),
    ]
    assert "joint, features, further widths" in trained.untried


def test_photos_that_came_later_have_numbers_after_an_update(made_up):
    made = made_up(120, 3)
    made.say(range(40))
    made.project.train()
    before = made.project.store.suggestions.load()
    ids = made.add_photos(_features())
    assert len(made.project.update().tag_ids) == 3
    stored = made.project.store.suggestions.load()
    assert set(ids) <= set(stored.photo_ids)
    new = stored.scores[np.isin(stored.photo_ids, ids)]
    assert ((new > 0) & (new < 1)).all()
    assert (new.std(axis=0) > 0).all()
    # The old ones are not pushed aside by photos that the model has never seen.
    assert stored.scores[~np.isin(stored.photo_ids, ids)].mean() == pytest.approx(before.scores.mean(), rel=0.3)


@pytest.mark.parametrize(("n", "n_tags", "n_said"), [(12, 1, 3), (12, 3, 3), (12, 4, 12), (2, 1, 1)])
def test_small_collections(made_up, n, n_tags, n_said):
    made = made_up(n, n_tags)
    # One example of each tag, and no other.
    truth = np.zeros_like(made.truth)
    truth[np.arange(n_tags) % n_said, np.arange(n_tags)] = 1
    made.say(range(n_said), truth=truth)
    found = made.project.train()
    assert (found.method, found.kind, found.n_tags) == ("auto", "score", n_tags)
    stored = made.project.store.suggestions.load()
    assert stored.scores.shape == (n, n_tags)
    assert np.isfinite(stored.scores).all()


def test_the_graph_that_updates_need_is_there_after_training(made_up, monkeypatch):
    made = made_up(60, 2)
    made.say(range(30))
    made.project.train()
    built = []
    monkeypatch.setattr(kept_graph, "knn_graph", lambda *given, **options: built.append(1))
    made.say([40])
    assert len(made.project.update().tag_ids) == 2
    assert not built
