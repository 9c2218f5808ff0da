"""Probabilities of tags that a person goes through from the likeliest photo down."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

from tagloom.workflow.judged_tags import judged_probabilities, lower_to_latest, use_looks
from tests.workflow.made_labels import labels_of


class Said:
    """Looks made of pairs of photo and outcome per tag."""

    def __init__(self, suggested, photos=None):
        self._suggested, self._photos = suggested, photos or {}

    def suggested(self, tag):
        return np.array(self._suggested.get(tag, []), dtype=np.int64).reshape(-1, 2)

    def photos(self, tag):
        return np.asarray(self._photos.get(tag, []), dtype=np.int64)


def top_of_a_ranking(rng, n=4000, n_judged=600):
    """Return scores, the truth behind them, and labels known for the photos with the highest scores alone."""
    scores = rng.normal(size=(n, 1)).astype(np.float32)
    truth = (rng.random((n, 1)) < expit(2.5 * scores - 3.0)).astype(np.int8)
    said = np.full((n, 1), -1, dtype=np.int8)
    judged = np.argsort(-scores[:, 0])[:n_judged]
    said[judged] = truth[judged]
    return scores, truth, said, judged


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_below_has_the_probability_it_has(seed):
    rng = np.random.default_rng(seed)
    scores, truth, said, judged = top_of_a_ranking(rng)
    found = judged_probabilities(lambda tags, hidden: scores, said, np.array([0]), said >= 0, scores)
    left = np.setdiff1d(np.argsort(-scores[:, 0])[:1400], judged)
    assert truth[judged].mean() > 0.4
    assert found[left].mean() == pytest.approx(truth[left].mean(), abs=0.04)
    assert np.array_equal(np.argsort(found[left, 0]), np.argsort(scores[left, 0]))


def test_every_judged_photo_is_scored_without_its_label():
    scores, _, said, _ = top_of_a_ranking(np.random.default_rng(0), n=300, n_judged=90)
    times_hidden = np.zeros(scores.shape, dtype=int)

    def solve(tags, hidden):
        assert tags.tolist() == [0]
        times_hidden[hidden] += 1
        return np.where(hidden, scores, 1e6).astype(np.float32)

    with_labels = np.where(said >= 0, 1e6, scores).astype(np.float32)  # what knows its label is far too sure
    found = judged_probabilities(solve, said, np.array([0]), said >= 0, with_labels)
    assert np.array_equal(times_hidden[:, 0], (said[:, 0] >= 0).astype(int))
    honest = judged_probabilities(lambda tags, hidden: scores, said, np.array([0]), said >= 0, scores)
    assert np.allclose(found, honest)


def said_of(n, suggested):
    """Return labels in which just these suggestions were judged."""
    said = np.full((n, 1 + max(suggested)), -1, dtype=np.int8)
    for tag, pairs in suggested.items():
        for photo, state in pairs:
            said[photo, tag] = state
    return labels_of(said, looks=Said(suggested))


def test_what_came_of_the_latest_looks_lowers_the_rest():
    early, late = [(photo, 1) for photo in range(50)], [(50 + place, int(place > 7)) for place in range(10)]
    labels = said_of(100, {0: early + late, 1: [(3, 1)], 2: []})
    given = np.random.default_rng(0).uniform(size=(100, 3)).astype(np.float32)
    given[50:60, 0], given[3, 1] = 0.9, 0.7
    values = given.copy()
    lower_to_latest(values, labels, np.arange(3))
    assert values[:, 0] == pytest.approx(given[:, 0] * (2 + 2) / (9 + 2))  # nine were expected, two came
    assert np.array_equal(values[:, 1:], given[:, 1:])  # never raised


def test_a_look_that_was_taken_back_counts_no_more():
    labels = said_of(30, {0: [(photo, 0) for photo in range(10)]})
    labels.said[:10] = -1
    labels.said[10:20] = 0  # judged otherwise
    values = np.full((30, 1), 0.9, dtype=np.float32)
    lower_to_latest(values, labels, np.arange(1))
    assert np.all(values == np.float32(0.9))


def test_numbers_that_know_their_labels_are_held_to_the_latest_looks():
    labels = said_of(20, {0: [(at, int(at > 7)) for at in range(10)], 1: [(0, 0), (1, 1)]})
    given = np.random.default_rng(0).uniform(size=(20, 2)).astype(np.float32)
    values = given.copy()
    lower_to_latest(values, labels, np.arange(2), np.zeros(2, dtype=bool))
    assert values[:, 0] == pytest.approx(np.minimum(given[:, 0], (2 * given[:, 0] + 2) / 12))
    assert values[:, 1] == pytest.approx(np.minimum(given[:, 1], (2 * given[:, 1] + 1) / 4))


def test_no_more_photos_are_expected_than_listed_ones_make_plausible():
    n, n_listed = 500, 20
    said = np.full((n, 2), -1, dtype=np.int8)
    said[:n_listed] = 0
    said[:3] = 1
    said[n_listed : n_listed + 40] = 1  # all above here
    labels = labels_of(said, listed=np.arange(n) < n_listed, reviewed=[True, False], looks=Said({}))
    values = np.random.default_rng(0).uniform(0.8, 0.99, size=(n, 2)).astype(np.float32)
    given = values.copy()
    scores = np.zeros((n, 2), dtype=np.float32)  # they tell nothing
    use_looks(values, scores, labels, np.arange(2), lambda tags, hidden: scores[:, tags])
    is_open = said[:, 0] == -1
    share = beta(4, 17).ppf(0.9)  # three of twenty
    assert values[is_open, 0].sum() + 43 <= share * n * 1.001
    assert np.array_equal(values[:, 1], given[:, 1])


def test_only_tags_whose_suggestions_were_judged_get_a_sigmoid_of_their_own():
    scores, _, said, judged = top_of_a_ranking(np.random.default_rng(1), n=400, n_judged=120)
    scores, said = np.repeat(scores, 3, axis=1), np.repeat(said, 3, axis=1)
    said[:, 2] = np.where(said[:, 2] == 0, -1, said[:, 2])  # nothing but yes
    looks = Said({}, dict.fromkeys(range(3), judged))
    labels = labels_of(said, listed=np.zeros(400, dtype=bool), reviewed=[False, True, True], looks=looks)
    asked = []

    def solve(tags, hidden):
        asked.append(tags.tolist())
        return scores[:, tags]

    values = np.full(scores.shape, 0.7, dtype=np.float32)
    use_looks(values, scores, labels, np.arange(3), solve)
    assert asked == [[1]] * 4
    assert np.all(values[:, [0, 2]] == np.float32(0.7))
    assert values[:, 1].std() > 0.1
