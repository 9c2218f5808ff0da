"""Cross-validation against literal loops."""

import numpy as np
import pytest
from scipy.stats import beta
from sklearn.base import clone

from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.methods import HarmonicPropagation, NeighborTransfer, RegularizedLeastSquares
from tagloom.metrics import average_precision
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.calibration.calibrated import common_threshold
from tagloom.tuning.constants import CURVE_SHARES
from tagloom.tuning.evaluation.evaluation import SharedFit, SharedFits, cross_validate, deal_folds, score_held_out


def make_problem(n=150, n_labelled=60, c=3, seed=0, *, open_entries=True, noise=0.5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    Y = (X[:, :c] + noise * rng.normal(size=(n, c)) > 0.5).astype(np.int8)
    Y[n_labelled:] = -1
    if open_entries:
        Y[:n_labelled][rng.random((n_labelled, c)) < 0.15] = -1
    return X, Y


ANNOTATORS = [
    RegularizedLeastSquares(),
    RegularizedLeastSquares(smoothing=0.6, n_neighbors=7),
    HarmonicPropagation(n_neighbors=6),
    NeighborTransfer(n_neighbors=6),
]


@pytest.mark.parametrize("annotator", ANNOTATORS)
def test_figures_are_those_of_a_literal_loop(annotator):
    X, Y = make_problem()
    found = cross_validate(annotator, X, Y, n_splits=4, n_draws=20, random_state=3)
    scores, accepted = np.full(Y.shape, np.nan), np.zeros(Y.shape, dtype=bool)
    folds = deal_folds(X, Y, 4, 3)
    np.testing.assert_array_equal(np.sort(np.concatenate(folds)), np.flatnonzero((Y != -1).any(axis=1)))
    for test in folds:
        hidden = Y.copy()
        hidden[test] = -1
        fitted = clone(annotator).fit(X, hidden)
        for tag in range(Y.shape[1]):
            learnt = hidden[:, tag] != -1
            for row in test:
                scores[row, tag] = fitted.transduction_[row, tag] - fitted.transduction_[learnt, tag].mean()
                accepted[row, tag] = fitted.transduction_[row, tag] > fitted.thresholds_[tag]
    np.testing.assert_allclose(found.held_out.scores, scores[found.held_out.rows], atol=1e-6)
    figures = [average_precision(Y[:, [tag]], scores[:, [tag]])[0] for tag in range(Y.shape[1])]
    np.testing.assert_allclose(found.average_precision, figures, atol=1e-12)
    assert found.map == pytest.approx(np.mean(figures))
    for tag in range(Y.shape[1]):
        right = sum(accepted[row, tag] and Y[row, tag] == 1 for row in range(len(Y)))
        wrong = sum(accepted[row, tag] and Y[row, tag] == 0 for row in range(len(Y)))
        assert found.tag_precision[tag] == pytest.approx(right / (right + wrong))
        assert found.tag_recall[tag] == pytest.approx(right / (Y[:, tag] == 1).sum())
        assert found.n_positive[tag] == (Y[:, tag] == 1).sum()
        assert found.n_known[tag] == (Y[:, tag] != -1).sum()
    known = Y != -1
    assert found.precision == pytest.approx((accepted & (Y == 1)).sum() / (accepted & known).sum())
    assert found.recall == pytest.approx((accepted & (Y == 1)).sum() / (Y == 1).sum())


@pytest.mark.parametrize("annotator", ANNOTATORS)
def test_shared_fits_change_nothing(annotator):
    X, Y = make_problem()
    found = SharedFits(annotator, X).fit(Y)
    plain = clone(annotator).fit(X, Y)
    np.testing.assert_allclose(found.scores, plain.transduction_, atol=1e-6)
    np.testing.assert_allclose(found.thresholds, plain.thresholds_)
    assert found.probabilities is None


def test_probabilities_never_see_their_own_fold():
    X, Y = make_problem(300, 200, open_entries=False)
    folds = deal_folds(X, Y, 4, 0)
    held_out = score_held_out(RegularizedLeastSquares(1.0), X, Y, folds)
    before = held_out.probabilities()
    held_out.labels[:] = np.where((held_out.folds == 2)[:, None], 1 - held_out.labels, held_out.labels)
    after = held_out.probabilities()
    same = held_out.folds == 2
    np.testing.assert_array_equal(before[same], after[same])
    assert not np.allclose(before[~same], after[~same])


@pytest.mark.parametrize("seed", range(5))
def test_intervals_hold_their_figures_where_most_tags_have_one_example(seed):
    rng = np.random.default_rng(seed)
    X, frequent = make_problem(120, 120, c=3, seed=seed, open_entries=False)
    once = np.zeros((120, 30), dtype=np.int8)
    once[rng.choice(120, 30, replace=False), np.arange(30)] = 1
    never = np.zeros((120, 1), dtype=np.int8)
    found = cross_validate(RegularizedLeastSquares(), X, np.hstack([frequent, once, never]), n_draws=100)
    assert found.map_low <= found.map <= found.map_high
    assert found.repeated_map_low <= found.repeated_map <= found.repeated_map_high
    assert found.map == pytest.approx(found.average_precision[:33].mean())
    assert found.repeated_map == pytest.approx(found.average_precision[:3].mean())
    assert (found.low[:33] <= found.average_precision[:33]).all()
    assert (found.average_precision[:33] <= found.high[:33]).all()
    assert np.isnan(found.low[33])


def test_no_tag_has_two_examples():
    X, _ = make_problem(12, 12)
    found = cross_validate(RegularizedLeastSquares(1.0), X, np.eye(12, dtype=np.int8), n_draws=20)
    assert np.isnan([found.repeated_map, found.repeated_map_low, found.repeated_map_high]).all()
    assert found.map_low <= found.map <= found.map_high


def test_reliability_of_held_out_photos():
    X, Y = make_problem(500, 400, open_entries=False)
    found = cross_validate(RegularizedLeastSquares(), X, Y, n_draws=10)
    assert found.reliability.error < 0.08
    assert len(found.reliability.counts) == 10


def test_accepted_are_those_above_the_probability_for_a_wanted_precision():
    X, Y = make_problem(400, 200, c=4)
    found = cross_validate(RegularizedLeastSquares(), X, Y, precision=0.9, n_draws=200)
    held_out = found.held_out
    likely, known = held_out.probabilities(), held_out.labels != -1
    assert found.threshold == common_threshold(likely, known, 0.9)
    accepted = known & (likely > found.threshold)
    right = accepted & (held_out.labels == 1)
    assert found.n_accepted == accepted.sum() > 20
    assert found.precision == pytest.approx(right.sum() / accepted.sum())
    assert found.recall == pytest.approx(right.sum() / (held_out.labels == 1).sum())
    np.testing.assert_allclose(found.tag_recall, right.sum(axis=0) / (held_out.labels == 1).sum(axis=0))
    assert found.precision_low < found.precision < found.precision_high
    assert found.precision_low < 0.9 < found.precision_high
    by_tag = cross_validate(RegularizedLeastSquares(), X, Y, n_draws=10)
    assert np.isnan(by_tag.threshold)
    assert by_tag.precision != found.precision


def test_probabilities_of_an_annotator_that_tells_some_are_its_own():
    X, Y = make_problem(200, 120)
    annotator = AutoAnnotator(random_state=0)
    found = cross_validate(annotator, X, Y, n_splits=3, precision=0.8, n_draws=20, random_state=1)
    expected = np.full(Y.shape, np.nan)
    for test in deal_folds(X, Y, 3, 1):
        hidden = Y.copy()
        hidden[test] = -1
        expected[test] = clone(annotator).fit(X, hidden).probabilities_[test]
    np.testing.assert_allclose(found.held_out.probabilities(), expected[found.held_out.rows], atol=1e-6)
    assert (found.held_out.probabilities()[found.held_out.labels != -1] > found.threshold).any()


def test_few_suggestions_that_are_all_right_do_not_promise_that_all_are():
    X, Y = make_problem(300, 60, c=2, noise=0.05, open_entries=False)
    found = cross_validate(RegularizedLeastSquares(), X, Y, precision=0.97, n_draws=50)
    assert found.precision == found.precision_high == 1.0
    assert found.precision_low == pytest.approx(beta.ppf(0.025, found.n_accepted + 0.5, 0.5))
    nothing = cross_validate(RegularizedLeastSquares(), np.zeros_like(X), Y, precision=0.97, n_draws=50)
    assert (nothing.n_accepted, nothing.threshold, nothing.recall) == (0, np.inf, 0.0)
    assert np.isnan([nothing.precision, nothing.precision_low, nothing.precision_high]).all()


def test_smaller_parts_lie_within_larger_ones():
    X, Y = make_problem()
    seen = []

    class Recorder:
        def fit(self, labels):
            seen.append((labels != -1).any(axis=1))
            return SharedFit(np.zeros(labels.shape), np.zeros(labels.shape[1]), np.zeros(labels.shape), None)

    folds = deal_folds(X, Y, 3, 1)
    sizes = [score_held_out(None, X, Y, folds, seed=1, share=share, fits=Recorder()).n_learnt for share in CURVE_SHARES]
    assert sizes == sorted(sizes)
    n_labelled = (Y != -1).any(axis=1).sum()
    assert sizes[-1] == pytest.approx(n_labelled * 2 / 3)
    for fold, test in enumerate(folds):
        for small, large in zip(seen[fold::3], seen[fold + 3 :: 3], strict=False):
            assert (large | ~small).all()
        assert not any(part[test].any() for part in seen[fold::3])


def test_input_is_checked():
    X, Y = make_problem()
    ridge = RegularizedLeastSquares(1.0)
    with pytest.raises(NothingToScoreError, match="at least 2 labelled photos, got 1"):
        cross_validate(ridge, X, np.where(np.arange(len(Y))[:, None] == 0, Y, -1))
    with pytest.raises(NothingToScoreError, match="no tag has a known positive"):
        cross_validate(ridge, X, np.minimum(Y, 0))
    with pytest.raises(InvalidInputError, match="n_draws"):
        cross_validate(ridge, X, Y, n_draws=1)
    with pytest.raises(InvalidInputError, match="level"):
        cross_validate(ridge, X, Y, level=1.0)
    for precision in (0.0, 1.0, np.nan, "high"):
        with pytest.raises(InvalidInputError, match="precision"):
            cross_validate(ridge, X, Y, precision=precision)
