"""Tags that listen to the tags they go with."""

import numpy as np
import pytest

from tagloom.metrics import mean_average_precision
from tagloom.tuning.auto import annotator as _annotator
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.refine import TagMixing, find_mixing, label_correlations


def in_pairs(n=300, pairs=6, seed=0, noise=2.0):
    """Tags that come in pairs, with scores that say little of each."""
    rng = np.random.default_rng(seed)
    scene = (rng.random((n, pairs)) < 0.2).astype(np.int8)
    labels = np.repeat(scene, 2, axis=1)
    flip = rng.random(labels.shape) < 0.02
    labels = np.where(flip, 1 - labels, labels).astype(np.int8)
    return labels, labels + noise * rng.standard_normal(labels.shape)


def test_correlations_are_those_of_numpy():
    labels, _ = in_pairs()
    expected = np.corrcoef(labels.T)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(label_correlations(labels), expected, atol=1e-12)


def test_unknown_entries_and_tags_that_do_not_vary_have_no_correlation():
    labels, _ = in_pairs()
    labels[:, 3] = 0
    labels[::2, 5] = -1
    found = label_correlations(labels)
    assert not found[3].any()
    assert np.isfinite(found).all()
    assert 0.5 < found[4, 5] < 1.0


def test_tags_that_come_in_pairs_listen_to_each_other():
    labels, scores = in_pairs()
    folds = np.arange(300) % 5
    found = find_mixing(scores[:200], labels[:200], scores.std(axis=0), folds[:200])
    assert found.strength > 0.0
    assert found.gain > 0.0
    before = mean_average_precision(labels[200:], scores[200:])
    assert mean_average_precision(labels[200:], found.apply(scores[200:])) > before + 0.01
    # Literally: each tag in units of its spread, plus a share of the others by their correlation.
    spreads = scores.std(axis=0)
    unit = scores / spreads
    literal = (unit + found.strength * unit @ label_correlations(labels[:200])) * spreads
    np.testing.assert_allclose(found.apply(scores), literal)


def test_tags_that_have_nothing_to_do_with_each_other_stay_as_they_are():
    rng = np.random.default_rng(3)
    labels = (rng.random((200, 12)) < 0.3).astype(np.int8)
    scores = labels + rng.standard_normal(labels.shape)
    found = find_mixing(scores, labels, scores.std(axis=0), np.arange(200) % 5)
    assert found.strength == 0.0
    assert found.apply(scores) is scores


@pytest.mark.parametrize("n_tags", [1, 4])
def test_few_tags_stay_as_they_are(n_tags):
    labels, scores = in_pairs()
    found = find_mixing(scores[:, :n_tags], labels[:, :n_tags], scores[:, :n_tags].std(axis=0), np.arange(300) % 5)
    assert found.strength == 0.0


def test_a_tag_whose_scores_are_flat_neither_speaks_nor_listens():
    labels, scores = in_pairs()
    scores[:, 1] = 0.25
    found = find_mixing(scores, labels, scores.std(axis=0), np.arange(300) % 5)
    mixed = found.apply(scores)
    assert found.strength > 0.0
    np.testing.assert_allclose(mixed[:, 1], 0.25)
    np.testing.assert_allclose(np.delete(found.matrix[1], 1), 0.0)


def mixed_by(strength):
    """Return what finds this strength whatever the labels say."""

    def find(deviations, labels, spreads, folds):
        assert len(deviations) == len(labels) == len(folds)
        matrix = np.eye(len(spreads)) + strength * label_correlations(labels)
        return TagMixing(strength, matrix, 0.0)

    return find


def photos(n=240, c=6, seed=0):
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, c)) < 0.3).astype(np.int8)
    truth[:, 1] |= truth[:, 0]
    Y = truth.copy()
    Y[80:] = -1
    return truth @ rng.standard_normal((c, 8)) + rng.standard_normal((n, 8)), truth, Y


def test_auto_mixes_training_photos_new_ones_and_updates_alike(monkeypatch):
    monkeypatch.setattr(_annotator, "find_mixing", mixed_by(0.3))
    X, truth, Y = photos()
    model = AutoAnnotator(random_state=0).fit(X, Y)
    assert model.choice_["tag_mixing"]["strength"] == 0.3
    matrix = np.eye(6) + 0.3 * label_correlations(Y[:80])
    fresh = model.model_.fit(Y, np.arange(80), model.priors_)
    np.testing.assert_allclose(model.own_scores_, fresh @ matrix + model.priors_, atol=1e-6)
    as_new = model.decision_function(X[80:180])
    assert np.corrcoef(as_new.ravel(), model.transduction_[80:180].ravel())[0, 1] > 0.95
    more = Y.copy()
    more[80:90, :3] = truth[80:90, :3]
    model.update(more)
    matrix = np.eye(6) + 0.3 * label_correlations(more[:90])
    fresh = model.model_.fit(more, np.arange(90), model.priors_)
    np.testing.assert_allclose(model.own_scores_, fresh @ matrix + model.priors_, atol=1e-6)


def test_auto_mixes_soft_targets_too_and_finds_them_without_mixing(monkeypatch):
    X, truth, Y = photos()
    named = np.where(Y == 1, 1, -1)
    plain = AutoAnnotator(absent_means="unknown", random_state=0).fit(X, named)
    monkeypatch.setattr(_annotator, "find_mixing", mixed_by(0.3))
    model = AutoAnnotator(absent_means="unknown", random_state=0).fit(X, named)
    np.testing.assert_allclose(model.model_.labels, plain.model_.labels, atol=1e-7)
    # Photos without a named tag are not labelled ones.
    matrix = np.eye(6) + 0.3 * label_correlations(Y[(named == 1).any(axis=1)])
    unknown = (named == -1).all(axis=1)
    expected = (plain.own_scores_ - plain.priors_) @ matrix + plain.priors_
    np.testing.assert_allclose(model.own_scores_[unknown], expected[unknown], atol=1e-6)
    assert mean_average_precision(truth[80:], model.transduction_[80:]) > 0.4
