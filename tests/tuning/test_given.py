"""Log-odds that are given beside the examples: what they count, and that a fitted annotator keeps them."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import average_precision
from tagloom.tuning import AutoAnnotator
from tagloom.tuning.auto.priors import GivenMember
from tagloom.tuning.constants import GIVEN_DEVIATIONS, GIVEN_MEANS, GIVEN_SPREAD

GROUPS = FeatureGroups(["deep", "texture"], [6, 4])
N, N_NEW, N_TAGS = 200, 60, 8


def make_problem(n_labelled, *, seed=0, noise=1.0):
    """Return features, labels, truth, and log-odds that know the truth but for noise; new photos last."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N + N_NEW, N_TAGS)) < 0.15).astype(np.int8)
    X = truth @ rng.standard_normal((N_TAGS, 10)) + 1.5 * rng.standard_normal((N + N_NEW, 10))
    given = 4.0 * truth - 4.0 + noise * rng.standard_normal(truth.shape)
    Y = np.full((N, N_TAGS), -1, dtype=np.int8)
    Y[:n_labelled] = truth[:n_labelled]
    return X, Y, truth, given


def fitted(X, Y, given, **options):
    return AutoAnnotator(GROUPS, given=given, n_neighbors=8, random_state=0, **options).fit(X[:N], Y)


def quality(annotator, truth, rows):
    found = average_precision(truth[rows], annotator.transduction_[rows])
    return float(found[(truth[rows] == 1).any(axis=0)].mean())


def test_without_a_given_value_nothing_changes():
    X, Y, _, given = make_problem(30)
    with_nan, without = fitted(X, Y, np.full((N, N_TAGS), np.nan)), fitted(X, Y, None)
    np.testing.assert_array_equal(with_nan.probabilities_, without.probabilities_)
    some = given[:N].copy()
    some[:, 1:] = np.nan
    np.testing.assert_array_equal(fitted(X, Y, some).probabilities_[:, 1:], without.probabilities_[:, 1:])


@pytest.mark.parametrize(("n_labelled", "n_draws"), [(1, 2), (10, 12), (30, 2), (100, 2)])
def test_good_log_odds_are_better_than_either_alone(n_labelled, n_draws):
    rows, qualities = np.arange(n_labelled, N), []
    for seed in range(n_draws):
        X, Y, truth, given = make_problem(n_labelled, seed=seed, noise=2.0)
        annotators = fitted(X, Y, given[:N]), fitted(X, Y, None)
        by_names = average_precision(truth[rows], given[rows]).mean()
        qualities.append([*(quality(each, truth, rows) for each in annotators), by_names])
    both, examples, by_names = np.mean(qualities, axis=0)
    assert both >= max(0.93 * by_names, examples)


def test_a_tag_without_examples_is_ranked_by_what_is_given():
    X, Y, truth, given = make_problem(30)
    Y[:30, 0] = 0
    found = fitted(X, Y, given[:N]).transduction_[30:, 0]
    assert average_precision(truth[30:N, [0]], found[:, None])[0] > 0.9


def test_misleading_log_odds_fade():
    X, Y, truth, given = make_problem(100)
    wrong = np.random.default_rng(5).permutation(given[:N])
    rows = np.arange(100, N)
    assert quality(fitted(X, Y, wrong), truth, rows) > 0.97 * quality(fitted(X, Y, None), truth, rows)


def test_one_misleading_tag_loses_its_weight_and_others_keep_theirs():
    X, Y, _, given = make_problem(120, noise=0.5)
    given[:, 0] = np.random.default_rng(5).permutation(given[:, 0])
    weights = fitted(X, Y, given[:N]).given_member_.weights()
    assert weights[0] < 0.7 * weights[1:].min()


def test_weights_fall_as_examples_come():
    X, Y, _, given = make_problem(30)
    member = fitted(X, Y, given[:N]).given_member_
    more = member.with_examples(np.ones((50, N_TAGS), dtype=np.int8))
    assert (more.weights() < member.weights()).all()


def test_the_sum_is_that_of_its_formula():
    X, Y, _, given = make_problem(40)
    annotator = fitted(X, Y, given[:N])
    member, half = annotator.given_member_, given[:N].astype(np.float16).astype(np.float64)
    by_examples = annotator.map_.logits(annotator._scale.describe(annotator.scores_))
    _, constant, falling, lasting = member.coefficients
    for tag in range(N_TAGS):
        h = half[:, tag] - logit(expit(half[:, tag]).mean())
        weight = (falling + member.slopes[tag]) / np.sqrt(1 + (Y[:, tag] == 1).sum()) + lasting
        expected = by_examples[:, tag] + constant + max(weight, 0.0) * h
        np.testing.assert_allclose(annotator.transduction_[:, tag], expected, atol=1e-9)


def test_coefficients_are_the_most_probable_ones():
    X, Y, _truth, given = make_problem(60)
    annotator = fitted(X, Y, given[:N])
    rows = annotator.model_.compared
    left_out = np.random.default_rng(1).normal(-2.0, 1.0, (len(rows), N_TAGS))
    known = np.ones(left_out.shape, dtype=bool)
    member = GivenMember.fit(given[:N], left_out, Y, Y[rows], rows, known)
    h = given[:N] - logit(expit(given[:N]).mean(axis=0))
    root = 1.0 / np.sqrt(1.0 + (Y == 1).sum(axis=0) - (Y[rows] == 1))
    yes = Y[rows] == 1

    def loss(w):
        eta = w[0] * left_out + w[1] + w[2] * root * h[rows] + w[3] * h[rows]
        prior = np.square((w - GIVEN_MEANS) / GIVEN_DEVIATIONS).sum()
        return (np.logaddexp(0.0, eta) - yes * eta).sum() + 0.5 * prior

    bounds = [(None, None), (None, None), (0.0, None), (0.0, None)]
    expected = minimize(loss, GIVEN_MEANS, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14, "gtol": 1e-9}).x
    assert loss(member.coefficients) <= loss(expected) + 1e-6
    eta = np.stack([left_out, np.ones(h[rows].shape), root * h[rows], h[rows]], axis=-1) @ member.coefficients
    gradient = (root * h[rows] * (yes - 1.0 / (1.0 + np.exp(-eta - member.slopes * root * h[rows])))).sum(axis=0)
    spread = member.slopes / gradient  # at the top, the gradient of the labels is u/σ², with one σ for all tags
    np.testing.assert_allclose(spread, spread.mean(), rtol=1e-4)
    assert 0.0 < spread.mean() < 4.0 * GIVEN_SPREAD**2


def test_new_photos_have_what_training_photos_would():
    X, Y, truth, given = make_problem(30)
    annotator = fitted(X, Y, given[:N])
    found = annotator.decision_function(X[N:], given[N:])
    plain = annotator.decision_function(X[N:])
    np.testing.assert_allclose(found, annotator.given_member_.added_to(plain, given[N:].astype(np.float16)), atol=1e-12)
    assert average_precision(truth[N:], found).mean() > average_precision(truth[N:], plain).mean()
    assert annotator.predict_proba(X[N:], given[N:]).max() > annotator.predict_proba(X[N:]).max()


def test_an_update_counts_the_new_examples():
    X, Y, truth, given = make_problem(60)
    annotator = fitted(X, Y, given[:N])
    before = annotator.given_member_
    Y[60:63] = truth[60:63]
    annotator.update(Y)
    np.testing.assert_array_equal(annotator.given_member_.counts, (Y == 1).sum(axis=0))
    Y[:120] = truth[:120]
    annotator.update(Y)
    fresh = fitted(X, Y, given[:N])
    rows = np.arange(120, N)
    assert quality(annotator, truth, rows) == pytest.approx(quality(fresh, truth, rows), abs=0.02)
    assert not np.array_equal(annotator.given_member_.coefficients, before.coefficients)


def test_state_and_back():
    X, Y, truth, given = make_problem(60)
    annotator = fitted(X, Y, given[:N])
    arrays, info = annotator.state()
    back = AutoAnnotator.restore(X[:N], arrays, json.loads(json.dumps(info)))
    np.testing.assert_allclose(back.probabilities_, annotator.probabilities_, atol=1e-9)
    expected = annotator.decision_function(X[N:], given[N:])
    np.testing.assert_allclose(back.decision_function(X[N:], given[N:]), expected, atol=1e-9)
    Y[60:90] = truth[60:90]
    np.testing.assert_allclose(back.update(Y).probabilities_, annotator.update(Y).probabilities_, atol=1e-6)


def test_new_tags_are_ranked_by_what_is_given_of_them():
    X, Y, truth, given = make_problem(60)
    annotator = fitted(X, Y[:, :7], given[:N, :7])
    new = np.column_stack([Y[:, [6, 0]], np.full(N, -1, dtype=np.int8)])
    annotator.update(new, columns=[6, 0, -1], given=given[:N, [6, 0, 7]])
    assert average_precision(truth[60:N, [7]], annotator.transduction_[60:, [2]])[0] > 0.9
    kept = fitted(X, Y[:, :7], given[:N, :7])
    kept.update(new, columns=[6, 0, -1])
    np.testing.assert_allclose(annotator.probabilities_[:, :2], kept.probabilities_[:, :2], atol=1e-12)
    assert np.ptp(kept.transduction_[:, 2]) < np.ptp(annotator.transduction_[:, 2])


def test_forgotten_tags_take_what_is_given():
    X, Y, truth, given = make_problem(60)
    named = np.where(Y == 1, 1, -1).astype(np.int8)
    rows = np.arange(60, N)
    both = fitted(X, named, given[:N], absent_means="unknown")
    assert quality(both, truth, rows) > quality(fitted(X, named, None, absent_means="unknown"), truth, rows)


def test_doubt_is_in_the_deviations():
    X, Y, _, given = make_problem(30)
    annotator = fitted(X, Y, given[:N])
    without = replace(annotator.given_member_, levels=np.full(N_TAGS, np.nan)).deviations(given[:N])
    assert (without == 0.0).all()
    assert (annotator.given_member_.deviations(given[:N]) > 0.0).all()


def test_a_clone_takes_it_along():
    X, Y, _, given = make_problem(30)
    annotator = fitted(X, Y, given[:N])
    again = clone(annotator).fit(X[:N], Y)
    np.testing.assert_array_equal(again.probabilities_, annotator.probabilities_)


@pytest.mark.parametrize("bad", [np.zeros((N, 2)), np.full((N, N_TAGS), np.inf)])
def test_what_is_no_log_odds_is_refused(bad):
    X, Y, _, _ = make_problem(30)
    with pytest.raises(InvalidInputError, match="given must be log-odds of shape"):
        fitted(X, Y, bad)
