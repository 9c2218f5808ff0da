"""The annotator that chooses for itself, where an absent tag is no no."""

from dataclasses import replace

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.metrics import mean_average_precision
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.model import StackModel
from tagloom.tuning.auto.refine import counted_completeness, forgotten_per_named, soften
from tagloom.tuning.auto.views import prior_shifts, smoothed_priors
from tagloom.tuning.calibration.positive_unlabeled import estimate_completeness, weak_negatives
from tests.tuning.test_search import smoother


def half_named(n=240, c=5, n_labelled=50, seed=0, noise=1.2):
    """Photos of one to three tags; half of those of the labelled photos are named."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((n, c), dtype=np.int8)
    for _ in range(3):
        truth[np.arange(n), rng.integers(c, size=n)] = 1
    X = truth @ rng.standard_normal((c, 8)) + noise * rng.standard_normal((n, 8))
    X = np.hstack([X, X[:, :4] + rng.standard_normal((n, 4))])
    Y = np.full((n, c), -1, dtype=np.int8)
    Y[:n_labelled][(truth[:n_labelled] == 1) & (rng.random((n_labelled, c)) < 0.5)] = 1
    return X, truth, Y, FeatureGroups(["deep", "texture"], [8, 4])


@pytest.fixture(scope="module", params=["fit", "update"])
def fitted(request):
    """Photos and an annotator that knows their labels, all from the beginning or some since an update."""
    X, truth, Y, groups = half_named()
    annotator = AutoAnnotator(groups, absent_means="unknown", random_state=0)
    if request.param == "fit":
        return X, truth, Y, annotator.fit(X, Y)
    fewer = Y.copy()
    fewer[30:] = -1
    return X, truth, Y, annotator.fit(X, fewer).update(Y)


def refits(model, labels, rows, priors=None):
    """Return the deviations of labelled photos, each by a solution without it; from a prior without it by default."""
    again = StackModel(model.views, model.weightings, model.members)
    found = []
    for place, row in enumerate(rows):
        others = np.delete(rows, place)
        own = smoothed_priors(labels[others]) if priors is None else priors
        hidden = np.where(np.isin(np.arange(len(labels)), others)[:, None], labels, -1)
        found.append(again.fit(hidden, others, own)[row].copy())
    return np.stack(found)


def test_the_operator_gives_what_solutions_without_each_photo_give(fitted):
    _, _, Y, annotator = fitted
    model, labels = annotator.model_, weak_negatives(Y)
    assert any(member.candidate.score_smoothing for member in model.members)
    rows, priors = model.rows, smoothed_priors(labels)
    ((tags, operator),) = model.left_out_operators(5)
    assert tags.tolist() == list(range(5))
    np.testing.assert_allclose(np.diag(operator), 0.0, atol=1e-10)
    expected = refits(model, labels, rows, priors)
    np.testing.assert_allclose(operator @ (labels[rows] - priors), expected, atol=1e-5)


def test_tags_with_members_of_their_own_have_an_operator_of_their_own(fitted):
    _, _, Y, annotator = fitted
    labels = weak_negatives(Y)
    rows, priors = annotator.model_.rows, smoothed_priors(labels)
    halved = [
        replace(member, factor=member.factor * np.array([1, 1, 0.5, 1, 0.5])) for member in annotator.model_.members
    ]
    halved[0] = replace(halved[0], factor=halved[0].factor + np.array([0, 0, 0.7, 0, 0.7]))
    model = StackModel(annotator.views_, annotator.model_.weightings, halved)
    model.fit(labels, rows, priors, rows)
    operators = model.left_out_operators(5)
    assert sorted(tags.tolist() for tags, _ in operators) == [[0, 1, 3], [2, 4]]
    expected = refits(model, labels, rows, priors)
    for tags, operator in operators:
        np.testing.assert_allclose(operator @ (labels[rows] - priors)[:, tags], expected[:, tags], atol=1e-5)


def test_absent_tags_have_a_share_of_their_left_out_score_as_target(fitted):
    _, _, Y, annotator = fitted
    model, labels = annotator.model_, weak_negatives(Y)
    rows, priors = model.rows, smoothed_priors(labels)
    named = refits(model, labels, rows) + priors
    share = forgotten_per_named(Y[rows], named)
    assert 0.0 < share <= 2.0 / 3.0
    expected = np.where(Y[rows] == 1, 1.0, np.clip(share * named, 0.0, 1.0))
    np.testing.assert_allclose(annotator.model_.labels[rows], expected, atol=1e-5)
    assert (annotator.model_.labels[np.setdiff1d(np.arange(len(Y)), rows)] == -1).all()


def dense_scores(model, targets, priors):
    """Return ``π + Σ w A K (K + λI)⁻¹ (T - π)`` over all photos with dense solvers."""
    views, rows = model.views, model.rows
    S, total = views.links.toarray(), np.tile(priors, (views.n_photos, 1))
    for member in model.members:
        one = member.candidate
        points, view = views.coordinates(one.smoothed), model.views_by_name[one.view]
        squares = views.distances(points, points[rows], [view])[0]
        columns = np.exp(-one.width * squares / views.mean_distance(view, one.smoothed))
        scores = columns @ np.linalg.solve(columns[rows] + one.ridge * np.eye(len(rows)), targets - priors)
        total += member.factor * smoother(S, one.score_smoothing) @ scores
    return total


def test_scores_are_those_of_a_dense_solution_with_the_soft_targets(fitted):
    X, _, _, annotator = fitted
    model, targets = annotator.model_, annotator.model_.labels
    priors = (targets[model.rows].sum(axis=0, dtype=np.float64) + 0.5) / (len(model.rows) + 1.0)
    np.testing.assert_allclose(annotator.priors_, priors)
    deviations = dense_scores(model, targets[model.rows], priors) - priors
    mixed = deviations if annotator.mixing_ is None else annotator.mixing_.apply(deviations)
    np.testing.assert_allclose(annotator.own_scores_, mixed + priors, atol=1e-5)
    assert np.isfinite(annotator.decision_function(X[:4])).all()


def test_left_out_scores_hold_nothing_of_the_own_label_that_went_through_other_targets(fitted):
    _, _, Y, annotator = fitted
    model, labels = annotator.model_, weak_negatives(Y)
    rows, priors = model.rows, smoothed_priors(labels)
    ((_, operator),) = model.left_out_operators(5)
    plain = labels[rows] - priors
    named = operator @ plain + priors
    everywhere = np.zeros(Y.shape)
    everywhere[rows] = named
    share = forgotten_per_named(Y[rows], named)
    targets, found = soften(model, Y, everywhere)
    agree = 0
    for place in range(len(rows)):
        without = plain.copy()
        without[place] = 0.0
        others = share * (operator @ without + priors)
        literal = np.where(Y[rows] == 1, 1.0, np.clip(others, 0.0, 1.0))
        # Where the cut at 0 and 1 does not depend on the photo, the closed form is exact.
        same = ((others > 0) == (named > 0)) & ((others < 1) == (share * named < 1))
        same = (same | (Y[rows] == 1)).all(axis=0)
        fallen = smoothed_priors(targets) - prior_shifts(targets[rows[place]] - smoothed_priors(targets), len(rows))
        expected = operator[place] @ (literal - fallen)
        np.testing.assert_allclose(found[place][same], expected[same], atol=1e-6)
        agree += int(same.sum())
    assert agree > 0.2 * found.size
    leaking = operator @ (targets[rows] - smoothed_priors(targets))
    assert np.abs(leaking - found).max() > 1e-3


@pytest.mark.medium
def test_photos_are_ranked_better_than_with_absence_as_no():
    gains = []
    for seed in range(6):
        X, truth, Y, groups = half_named(seed=seed)
        hidden = slice(50, None)
        unknown = AutoAnnotator(groups, absent_means="unknown", random_state=0).fit(X, Y)
        as_no = AutoAnnotator(groups, random_state=0).fit(X, weak_negatives(Y))
        better, plain = (mean_average_precision(truth[hidden], one.transduction_[hidden]) for one in (unknown, as_no))
        gains.append(better - plain)
    assert np.mean(gains) > 3.0 * np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > 0.01


def test_photos_beyond_those_compared_on_are_judged_by_a_solution_without_them():
    X, _, Y, groups = half_named()
    annotator = AutoAnnotator(groups, absent_means="unknown", max_search_rows=20, random_state=0).fit(X, Y)
    labels = weak_negatives(Y)
    model = annotator.model_
    rows, priors = model.compared, smoothed_priors(labels)
    others = np.setdiff1d(model.rows, rows)
    assert len(others) > 10
    again = StackModel(model.views, model.weightings, model.members)
    scores = again.fit(labels, rows, priors, rows)[others] + priors
    share = forgotten_per_named(Y[rows], again.left_out + priors)
    expected = np.where(Y[others] == 1, 1.0, np.clip(share * scores, 0.0, 1.0))
    np.testing.assert_allclose(annotator.model_.labels[others], expected, atol=1e-6)


def test_update_gives_a_new_photo_soft_targets_and_solves_with_them():
    X, truth, Y, groups = half_named()
    annotator = AutoAnnotator(groups, absent_means="unknown", random_state=0).fit(X, Y)
    rows = annotator.model_.rows
    more = Y.copy()
    tag = int(np.flatnonzero(truth[100])[0])
    more[100, tag] = 1
    targets = annotator.update(more).model_.labels
    assert targets[100, tag] == 1.0
    assert ((targets[100] >= 0.0) & (targets[100] < 1.0)).sum() == Y.shape[1] - 1
    used = annotator.model_.rows
    np.testing.assert_array_equal(used, np.union1d(rows, [100]))
    np.testing.assert_allclose(
        annotator.own_scores_, dense_scores(annotator.model_, targets[used], annotator.priors_), atol=1e-5
    )


def test_update_learns_that_an_absent_tag_was_denied():
    X, _, Y, groups = half_named()
    annotator = AutoAnnotator(groups, absent_means="unknown", random_state=0).fit(X, Y)
    scores = annotator.own_scores_.copy()
    absent = np.where(Y == -1, annotator.model_.labels, -1.0)
    row, tag = np.unravel_index(int(np.argmax(absent)), Y.shape)
    more = Y.copy()
    more[row, tag] = 0
    annotator.update(more)
    assert annotator.model_.labels[row, tag] == 0.0
    assert annotator.own_scores_[row, tag] < scores[row, tag] - 1e-4
    # Taken back, the entry is absent again and no certain no.
    annotator.update(Y)
    assert annotator.model_.labels[row, tag] > 0.0
    np.testing.assert_allclose(annotator.own_scores_, scores, atol=1e-6)


def test_labels_without_a_named_tag_are_learnt_from_as_they_are():
    X, truth, _, groups = half_named(60)
    Y = np.full(truth.shape, -1, dtype=np.int8)
    Y[:20][truth[:20] == 0] = 0
    annotator = AutoAnnotator(groups, absent_means="unknown", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(annotator.model_.labels, weak_negatives(Y))
    assert np.isfinite(annotator.transduction_).all()


def test_priors_of_soft_targets_are_those_of_labels_where_they_are_hard():
    _, truth, Y, _ = half_named()
    for labels in (truth, Y, weak_negatives(Y)):
        np.testing.assert_allclose(smoothed_priors(labels), smoothed_priors(labels))


def test_probabilities_are_never_corrected_by_more_than_a_bound():
    rng = np.random.default_rng(0)
    X, _, Y, groups = half_named()
    # Features that say nothing: no score is certain, and next to no tag looks complete.
    annotator = AutoAnnotator(groups, absent_means="unknown", random_state=0).fit(rng.standard_normal(X.shape), Y)
    named = Y == 1
    beside = named.sum(axis=1, keepdims=True) - named > 0
    n_beside = (named & beside).sum()
    bound = named.sum() / (n_beside / 0.6 + named.sum() - n_beside)
    expected = bound ** np.sqrt(named.sum() / 100)  # fewer than 100 are named
    assert 20 < named.sum() < 100
    assert annotator.completeness_ == pytest.approx(expected)
    odds = np.exp(annotator.transduction_[60:]) * annotator.completeness_
    np.testing.assert_allclose(annotator.probabilities_[60:], np.minimum(odds / (1.0 + odds) / expected, 1.0))


@pytest.mark.parametrize("n_photos", [0, 10, 40, 200])
def test_an_estimate_from_few_named_tags_counts_for_less(n_photos):
    rng = np.random.default_rng(0)
    truth = rng.random((n_photos, 6)) < 0.5
    Y = np.where(truth & (rng.random(truth.shape) < 0.7), 1, -1).astype(np.int8)
    named = np.where(truth, 0.69, 0.01)
    counted = counted_completeness(Y, named)
    n_named = int((Y == 1).sum())
    if n_named >= 100:
        assert counted == estimate_completeness(Y, named, least=0.6)
        assert counted == pytest.approx(0.7, abs=0.1)
    elif n_named:
        estimate = estimate_completeness(Y, named, least=0.6)
        assert np.log(counted) == pytest.approx(np.sqrt(n_named / 100) * np.log(estimate))
        assert estimate < counted < 1.0
    else:
        assert counted == 1.0
