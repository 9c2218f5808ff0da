"""What to label next in a project."""

from typing import get_args

import numpy as np
import pytest

from tagloom.catalog.extraction import load_rows
from tagloom.exceptions import InvalidInputError, PhotosError, StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.learning import next_photos as photo_choice
from tagloom.learning.constants import N_COLUMNS
from tagloom.learning.kept_graph import graph_of_model, graph_of_photos
from tagloom.review import session as review
from tagloom.review.session import ReviewSession
from tagloom.store.cache import FolderCache
from tagloom.store.project import ProjectStore
from tagloom.tuning.queries import QueryStrategy, rank_photos


@pytest.fixture
def trained(made_up):
    """Return a project of 80 photos, 30 of them decided, with a model that tells probabilities."""
    made = made_up(80, 3)
    made.say(range(30))
    assert made.project.train("smoothed-ridge").kind == "probability"
    return made


def _scaled(made):
    """Return the scaled features of all photos."""
    store = made.project.store
    with store.lock(), store.cache() as cache:
        rows = load_rows(store, cache, made.project.settings)
    return GroupScaler(rows.groups).fit_transform(rows.X)


def _graph(made):
    """Return the graph of all photos, built anew from their features."""
    return knn_graph(_scaled(made), 5)


def _representatives(made, n, X=None):
    """Return the photos that stand for all, by what is said and the scaled features alone."""
    X = _scaled(made) if X is None else X
    Y = made.project.store.decisions.labels(made.ids[: len(X)], made.tags)[2]
    rows = rank_photos(np.zeros(Y.shape), Y, X, n, strategy="representative", random_state=0)
    return tuple(made.ids[rows].tolist())


def test_the_choice_is_that_of_rank_photos_on_what_is_stored(trained):
    stored, graph, X = trained.project.store.suggestions.load(), _graph(trained), _scaled(trained)
    assert X.shape[1] <= N_COLUMNS  # features are looked at as they are
    Y = trained.project.store.decisions.labels(stored.photo_ids, stored.tag_ids)[2]
    for strategy in get_args(QueryStrategy):
        photos = X if strategy == "representative" else graph
        expected = rank_photos(stored.scores, Y, photos, 7, strategy=strategy, random_state=0)
        found = trained.project.next_photos(7, strategy)
        assert found.photo_ids == tuple(stored.photo_ids[expected].tolist()), strategy
        assert found.photos == tuple(f"{number - 1:05d}.jpg".encode() for number in found.photo_ids)
        assert (found.strategy, found.n_unlabeled) == (strategy, 50)


def test_of_many_photos_a_sample_is_looked_at(trained, monkeypatch):
    monkeypatch.setattr(photo_choice, "MOST_FREE", 12)
    monkeypatch.setattr(photo_choice, "MOST_FREE_PER_PHOTO", 3)
    asked = []
    load = photo_choice.load_rows
    monkeypatch.setattr(photo_choice, "load_rows", lambda *given, **more: asked.append(more) or load(*given, **more))
    found = trained.project.next_photos(6)
    assert found.strategy == "representative"
    assert found.n_unlabeled == 50
    (given,) = asked
    free = np.setdiff1d(given["photo_ids"], trained.ids[:30])
    assert len(free) == 18
    assert len(given["photo_ids"]) == 48
    assert set(found.photo_ids) <= set(free.tolist())
    assert len(set(found.photo_ids)) == 6
    assert trained.project.next_photos(6).photo_ids == found.photo_ids


@pytest.mark.parametrize("default", [None, "uncertainty", "mixed"])
def test_the_page_asks_for_the_same_photos(trained, monkeypatch, default):
    if default is not None:
        monkeypatch.setattr(photo_choice, "default_strategy", lambda: default)
    found = trained.project.next_photos(12)
    with ReviewSession(trained.project, with_looks=False) as session:
        asked = session.teach(None, 12)
        about_one = session.teach(int(trained.tags[1]), 12)
    assert tuple(asked["ids"]) == found.photo_ids
    assert found.why.startswith(asked["reason"])
    assert (default or found.strategy) == found.strategy
    assert not set(about_one["ids"]) & set(trained.ids[:30].tolist())
    assert len(about_one["ids"]) == 12


def test_the_default_needs_no_model(made_up):
    made = made_up(40, 2)
    assert made.project.next_photos(6).photo_ids == _representatives(made, 6)
    made.say([3, 4])
    found = made.project.next_photos(6)
    assert (found.photo_ids, found.strategy) == (_representatives(made, 6), "representative")
    assert "tagloom" not in found.why  # nothing is to be done for a better choice
    with ReviewSession(made.project, with_looks=False) as session:
        assert session.teach(None, 6) == {"ids": list(found.photo_ids), "reason": found.why}


def test_photos_without_features_come_last(made_up, monkeypatch):
    made = made_up(30, 2)
    made.say(range(10))
    with monkeypatch.context() as patch:
        patch.setattr(FolderCache, "put", lambda *_: None)
        bare = made.add_photos(np.ones((4, 289), dtype=np.float32))
    X = _scaled(made)
    assert len(X) == 30
    found = made.project.next_photos(50)
    assert (found.strategy, found.n_unlabeled) == ("representative", 24)
    assert found.photo_ids == _representatives(made, 50, X)
    with ReviewSession(made.project, with_looks=False) as session:
        assert tuple(session.teach(None, 50)["ids"]) == found.photo_ids
    made.say(range(30))
    found = made.project.next_photos(50)
    assert (found.strategy, set(found.photo_ids)) == ("random", set(bare.tolist()))
    assert "tagloom extract" in found.why
    with pytest.raises(StoreError, match="tagloom extract"):
        made.project.next_photos(strategy="representative")


def test_without_features_the_choice_is_random(made_up):
    made = made_up(6, 1)
    made.project.flags["descriptors"] = "edges"
    found = made.project.next_photos()
    assert (found.strategy, len(found.photos)) == ("random", 6)
    assert "tagloom extract" in found.why
    with ReviewSession(made.project, with_looks=False) as session:
        assert "picked at random" in session.teach(None, 5)["reason"]
    with pytest.raises(PhotosError, match="tagloom extract"):
        made.project.next_photos(strategy="representative")


def test_while_another_is_at_work_the_choice_is_random(made_up, monkeypatch):
    made = made_up(20, 1)
    monkeypatch.setattr(review, "_PATIENCE_SECONDS", 0.01)
    with ReviewSession(made.project, with_looks=False) as session:
        with ProjectStore(made.project.folder, make=False) as other, other.lock():
            found = made.project.next_photos(5)
            assert found.strategy == "random"
            assert "at work" in found.why
            assert "picked at random" in session.teach(None, 5)["reason"]
        with session.alone:
            assert "picked at random" in session.teach(None, 5)["reason"]
        assert tuple(session.teach(None, 5)["ids"]) == _representatives(made, 5)


def test_the_page_reads_features_once(made_up, monkeypatch):
    made, asked = made_up(20, 1), []
    load = review.load_choice_features
    monkeypatch.setattr(review, "load_choice_features", lambda *a, **b: asked.append(1) or load(*a, **b))
    with ReviewSession(made.project, with_looks=False) as session:
        assert not asked
        for n in (2, 3, 4):
            assert tuple(session.teach(None, n)["ids"]) == _representatives(made, n)
        session.decide([int(made.ids[0])], [int(made.tags[0])], 1)
        assert tuple(session.teach(None, 4)["ids"]) == _representatives(made, 4)
        session._start_anew()  # as after a training: the photos are the same
        session.teach(None, 4)
        assert len(asked) == 1
        later = made.add_photos(np.random.default_rng(2).gamma(2.0, size=(5, 289)).astype(np.float32))
        session._start_anew()
        made.ids = np.concatenate([made.ids, later])
        assert tuple(session.teach(None, 9)["ids"]) == _representatives(made, 9)
        assert len(asked) == 2


def test_a_default_that_needs_a_model_gives_way_without_one(made_up, monkeypatch):
    made = made_up(20, 2)
    made.say([3, 4])
    monkeypatch.setattr(photo_choice, "default_strategy", lambda: "mixed")
    found = made.project.next_photos(50)
    assert (found.strategy, found.n_unlabeled, len(found.photos)) == ("random", 18, 18)
    assert "tagloom train" in found.why
    assert set(found.photo_ids) == set(made.ids.tolist()) - set(made.ids[[3, 4]].tolist())
    assert found.photo_ids == made.project.next_photos(50).photo_ids
    assert len(made.project.next_photos(strategy="cover").photos) == 18  # by features
    with pytest.raises(StoreError, match="tagloom train"):
        made.project.next_photos(strategy="rare")


def test_scores_are_no_probabilities(made_up):
    made = made_up(30, 2)
    made.say(range(10))
    assert made.project.train("ridge").kind == "score"
    with pytest.raises(StoreError, match="no probabilities"):
        made.project.next_photos(strategy="change")


def test_a_page_without_a_graph_asks_at_random(made_up, monkeypatch):
    made = made_up(60, 4)
    made.say(range(30))
    assert made.project.train("ridge").kind == "probability"
    monkeypatch.setattr(photo_choice, "default_strategy", lambda: "mixed")
    with ReviewSession(made.project, with_looks=False) as session:
        assert "picked at random" in session.teach(None, 5)["reason"]
    assert made.project.next_photos(5).strategy == "mixed"  # the graph is built from the features


def test_nothing_to_ask(made_up):
    made = made_up(3, 1)
    made.say(range(3))
    found = made.project.next_photos()
    assert (found.photos, found.n_unlabeled) == ((), 0)
    assert "no readable photo" in found.why
    for wrong in (0, -1):
        with pytest.raises(InvalidInputError, match="at least 1"):
            made.project.next_photos(wrong)
    with pytest.raises(InvalidInputError, match="strategy"):
        made.project.next_photos(strategy="best")


@pytest.mark.parametrize("descriptors", ["edges", "words"])
def test_without_features_there_is_no_graph_and_no_photo_is_opened_to_make_some(made_up, descriptors):
    made = made_up(4, 1)
    made.project.flags["descriptors"] = descriptors
    with pytest.raises(PhotosError, match="tagloom extract"):
        made.project.next_photos(strategy="cover")


def test_the_graph_of_the_model_is_that_of_its_features(trained):
    store, graph = trained.project.store, _graph(trained)
    found = graph_of_model(store, trained.ids)
    assert (found.weights != graph.weights).nnz == 0
    later = trained.add_photos(np.random.default_rng(1).gamma(2.0, size=(5, 289)).astype(np.float32))
    assert trained.project.score_new().n_scored == 5
    wider = graph_of_model(store, np.concatenate([trained.ids, later]))
    assert (wider.weights[:80, :80] != graph.weights).nnz == 0
    assert wider.weights[80:].nnz == 0
    assert set(trained.project.next_photos(100, "mixed").photo_ids) == {*trained.ids[30:].tolist(), *later.tolist()}


def test_rows_that_are_not_known_give_no_graph(trained):
    store = trained.project.store
    stored = store.suggestions.load()
    order = np.argsort(-stored.photo_ids)
    store.suggestions.save(stored.photo_ids[order], stored.tag_ids, stored.scores[order], info=stored.info)
    assert graph_of_model(store, trained.ids) is None
    expected = rank_photos(
        stored.scores,
        store.decisions.labels(trained.ids, stored.tag_ids)[2],
        _graph(trained),
        6,
        strategy="cover",
        random_state=0,
    )
    assert trained.project.next_photos(6, "cover").photo_ids == tuple(trained.ids[expected].tolist())


def test_a_graph_over_other_rows():
    dense = np.triu(np.random.default_rng(0).integers(0, 2, (5, 5)), 1)
    graph = NeighborGraph.from_weights((dense + dense.T).astype(float))
    wanted = np.array([40, 7, 10, 20])
    found = graph_of_photos(graph, np.array([10, 20, 30, 40, 50]), wanted).weights.toarray()
    rows = {10: 0, 20: 1, 40: 3}
    for i, one in enumerate(wanted.tolist()):
        for j, other in enumerate(wanted.tolist()):
            known = one in rows and other in rows
            assert found[i, j] == (graph.weights.toarray()[rows[one], rows[other]] if known else 0.0)
