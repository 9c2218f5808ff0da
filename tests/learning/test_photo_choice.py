"""The choice that the review page and the command line share: `rank_photos` is the oracle."""

from typing import get_args

import numpy as np
import pytest

from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.graph import knn_graph
from tagloom.learning import next_photos as photo_choice
from tagloom.learning.next_photos import choose_photos, default_strategy
from tagloom.tuning.queries import QueryStrategy, rank_photos

RNG = np.random.default_rng(0)
P = RNG.uniform(size=(60, 5)).astype(np.float32)
Y = np.full((60, 5), -1, dtype=np.int8)
Y[:20] = RNG.uniform(size=(20, 5)) < 0.3
SAID = np.where(np.arange(60) < 20, 1, -1).astype(np.int8)
X = RNG.normal(size=(60, 3)).astype(np.float32)
GRAPH = knn_graph(X, 5)
HAS = np.ones(60, dtype=bool)


def refuse():
    raise StoreError("not there")


def choose(
    strategy=None, *, n=9, predictions=lambda: (P, Y), graph=lambda: GRAPH, features=lambda: (X, HAS), said=SAID
):
    return choose_photos(said, n, strategy=strategy, predictions=predictions, graph=graph, features=features)


def expected_rows(strategy):
    photos = X if strategy == "representative" else GRAPH
    return rank_photos(P, Y, photos, 9, strategy=strategy, random_state=0)


@pytest.mark.parametrize("strategy", get_args(QueryStrategy))
def test_every_strategy_is_that_of_rank_photos(strategy):
    found = choose(strategy)
    np.testing.assert_array_equal(found.rows, expected_rows(strategy))
    assert (found.strategy, found.why_not_default) == (strategy, "")


def test_the_default_is_that_of_rank_photos():
    found = choose()
    np.testing.assert_array_equal(found.rows, rank_photos(P, Y, X, 9, random_state=0))
    assert found.strategy == default_strategy()


@pytest.mark.parametrize(
    ("strategy", "unused"),
    [
        ("random", ("predictions", "graph", "features")),
        ("cover", ("predictions", "features")),
        ("representative", ("predictions", "graph")),
        ("uncertainty", ("graph", "features")),
        ("mixed", ("features",)),
    ],
)
def test_what_a_strategy_does_not_look_at_is_not_asked_for(strategy, unused):
    assert len(choose(strategy, **dict.fromkeys(unused, refuse)).rows) == 9


@pytest.mark.parametrize(("predictions", "graph"), [(refuse, lambda: GRAPH), (lambda: (P, Y), refuse)])
def test_a_default_that_cannot_be_used_gives_way_and_a_named_one_does_not(monkeypatch, predictions, graph):
    monkeypatch.setattr(photo_choice, "default_strategy", lambda: "mixed")
    assert choose().strategy == "mixed"
    found = choose(predictions=predictions, graph=graph)
    assert (found.strategy, found.why_not_default) == ("random", "not there")
    np.testing.assert_array_equal(found.rows, choose("random").rows)
    with pytest.raises(StoreError, match="not there"):
        choose("mixed", predictions=predictions, graph=graph)


def test_representatives_give_way_where_there_are_no_features():
    found = choose(features=refuse)
    assert (found.strategy, found.why_not_default) == ("random", "not there")
    np.testing.assert_array_equal(found.rows, choose("random").rows)
    with pytest.raises(StoreError, match="not there"):
        choose("representative", features=refuse)


def test_photos_without_features_are_neither_chosen_nor_represented():
    has = ~np.isin(np.arange(60), [3, 7, 25, 26, 40])
    rows = choose(features=lambda: (np.where(has[:, None], X, 0.0), has)).rows
    kept = np.flatnonzero(has)
    expected = rank_photos(P[kept], Y[kept], X[kept], 9, random_state=0)
    np.testing.assert_array_equal(rows, kept[expected])
    assert sorted(choose(n=60, features=lambda: (X, has)).rows) == [row for row in range(20, 60) if has[row]]


@pytest.mark.parametrize("has", [SAID == 1, np.zeros(60, dtype=bool)])
def test_where_all_that_are_left_lack_features_the_choice_is_random(has):
    found = choose(n=60, features=lambda: (X, has))
    assert (found.strategy, sorted(found.rows)) == ("random", [*range(20, 60)])
    assert "tagloom extract" in found.why_not_default
    with pytest.raises(StoreError, match="tagloom extract"):
        choose("representative", features=lambda: (X, has))


@pytest.mark.parametrize("strategy", ["uncertainty", "change", "rare", "mixed"])
def test_photos_and_tags_without_numbers_are_left_out(strategy):
    values = P.copy()
    values[30:40], values[:, 4] = np.nan, np.nan
    rows = choose(strategy, n=60, predictions=lambda: (values, Y)).rows
    assert sorted(rows) == [*range(20, 30), *range(40, 60)]
    if strategy != "mixed":  # there, photos that may not be chosen still count as neighbours
        kept = np.r_[:30, 40:60]
        expected = rank_photos(P[kept][:, :4], Y[kept][:, :4], n=5, strategy=strategy, random_state=0)
        np.testing.assert_array_equal(rows[:5], kept[expected])


def test_where_all_that_are_left_lack_probabilities_it_says_so(monkeypatch):
    values = P.copy()
    values[20:] = np.nan
    with pytest.raises(StoreError, match="has probabilities yet"):
        choose("uncertainty", predictions=lambda: (values, Y))
    monkeypatch.setattr(photo_choice, "default_strategy", lambda: "uncertainty")
    found = choose(predictions=lambda: (values, Y))
    assert found.strategy == "random"
    assert "has probabilities yet" in found.why_not_default


def test_nothing_is_left_and_nothing_is_there():
    assert len(choose(said=np.ones(60, dtype=np.int8)).rows) == 0
    assert len(choose(said=np.empty(0, dtype=np.int8)).rows) == 0


def test_the_sentence_names_the_choice():
    assert choose("random").how == "picked at random"
    assert "cover" in choose("cover").how
    assert choose().how == "the most useful first (representative)"
    with pytest.raises(InvalidInputError, match=r"one of representative, random.*'best'"):
        choose("best")
