"""A model's numbers mixed with a ridge's."""

import numpy as np
import pytest
from scipy.special import expit, logit

from tagloom.learning.predictions import Predictions, log_odds
from tagloom.learning.probability_map import OwnPredictions
from tagloom.learning.suggest import PROBABILITY, SCORE
from tests.made_labels import labels_of


@pytest.fixture
def problem():
    generator = np.random.default_rng(0)
    said = np.full((50, 3), -1, dtype=np.int8)
    said[:10] = np.array([[1, 0, 1]] * 5 + [[0, 1, 1]] * 5)
    scores = generator.normal(size=(50, 3)).astype(np.float32)
    own = expit(generator.normal(size=(50, 3)) - 1).astype(np.float32)
    return labels_of(said), scores, own


def _own(values, n_yes, *, kind=PROBABILITY, has=None, tags=(0, 1, 2)):
    n = len(values)
    numbers = Predictions(np.arange(n), np.asarray(tags), values, np.full(len(tags), np.inf), kind)
    return OwnPredictions(numbers, np.ones(n, dtype=bool) if has is None else has, n_yes)


def _scaled(scores, before, Y):
    """Return scores with the mean and spread that others have on unknown entries."""
    unknown = Y == -1
    (centre, spread), (mean, width) = ((part[unknown].mean(), part[unknown].std()) for part in (scores, before))
    return mean + width * (scores - centre) / spread


@pytest.mark.parametrize("kind", [PROBABILITY, SCORE])
def test_the_share_of_the_model_falls_with_the_square_of_what_it_knew(problem, kind):
    labels, scores, own = problem
    found = _own(own, {0: 5, 1: 4, 2: 0}, kind=kind).blended(scores, labels, np.arange(3))
    for tag, share in enumerate((0.7, 0.7 * 0.8**2, 0.0)):
        before = logit(own[:, tag].astype(np.float64)) if kind == PROBABILITY else own[:, tag]
        ridge = _scaled(scores[:, tag].astype(np.float64), before, labels.Y[:, tag])
        mixed = share * before + (1.0 - share) * ridge
        np.testing.assert_allclose(found[:, tag], expit(mixed) if kind == PROBABILITY else mixed, rtol=1e-4)


def test_labels_that_were_taken_back_count_as_what_the_model_did_not_know(problem):
    labels, scores, own = problem
    more, fewer = (_own(own, {0: n}, tags=(0, 1, 2)).blended(scores[:, :1], labels, np.array([0])) for n in (4, 6.25))
    np.testing.assert_allclose(more, fewer, rtol=1e-6)


def test_photos_and_tags_the_model_did_not_know_have_the_numbers_of_the_ridge(problem):
    labels, scores, own = problem
    has = np.arange(50) < 40
    found = _own(own, {0: 5}, has=has).blended(scores[:, :1], labels, np.array([0]))[:, 0]
    assert (np.argsort(found[~has]) == np.argsort(scores[~has, 0])).all()
    assert (np.argsort(found[has]) != np.argsort(scores[has, 0])).any()
    new = _own(own[:, :2], {0: 5, 1: 5}, tags=(0, 1)).blended(scores[:, 2:], labels, np.array([2]))
    assert (np.argsort(new[:, 0]) == np.argsort(scores[:, 2])).all()
    assert ((new > 0) & (new < 1)).all()


def test_log_odds_of_certain_entries_are_finite():
    assert np.isfinite(log_odds(np.array([0.0, 1.0], dtype=np.float32))).all()
