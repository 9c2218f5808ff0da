import numpy as np
import pytest
from scipy.special import expit

from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.methods import HarmonicPropagation, RegularizedLeastSquares, check_annotator
from tagloom.metrics import mean_average_precision
from tagloom.metrics.calibration import brier_score, calibration_error
from tagloom.tuning.calibration.calibrated import CalibratedAnnotator
from tagloom.tuning.calibration.positive_unlabeled import (
    PositiveUnlabeledAnnotator,
    debias_labels,
    estimate_completeness,
    weak_negatives,
)


def make_problem(n=900, n_clusters=12, c=8, n_labelled=300, completeness=0.5, seed=0):
    """Make clusters that carry two or three tags each; only some true tags of the labelled photos are named."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(n_clusters, size=n)
    X = 2.0 * rng.normal(size=(n_clusters, 6))[cluster] + rng.normal(size=(n, 6))
    of_cluster = rng.random((n_clusters, c)) < 0.3
    of_cluster[np.arange(n_clusters), np.arange(n_clusters) % c] = True
    truth = of_cluster[cluster].astype(np.int8)
    Y = np.full((n, c), -1, dtype=np.int8)
    Y[:n_labelled][(truth[:n_labelled] == 1) & (rng.random((n_labelled, c)) < completeness)] = 1
    return X, Y, truth


def test_absence_is_a_no_on_touched_photos_only():
    Y = np.array([[1, -1, -1], [-1, 0, -1], [-1, -1, -1]])
    np.testing.assert_array_equal(weak_negatives(Y), [[1, 0, 0], [0, 0, 0], [-1, -1, -1]])


@pytest.mark.parametrize("completeness", [0.3, 0.6, 0.9])
def test_completeness_is_found_where_the_head_of_the_ranking_is_sure(completeness):
    rng = np.random.default_rng(0)
    has_it = expit(rng.normal(-2, 4, size=(2000, 5)))
    truth = rng.random(has_it.shape) < has_it
    Y = np.where(truth & (rng.random(truth.shape) < completeness), 1, -1)
    Y[:1000, 0] = 0  # each photo is touched
    found = estimate_completeness(Y[:1000], completeness * has_it[:1000])
    assert found == pytest.approx(completeness, abs=0.06)


def test_photos_touched_by_their_only_tag_do_not_look_complete():
    rng = np.random.default_rng(0)
    truth = np.eye(4, dtype=bool)[rng.integers(4, size=3000)]
    truth[1000:, 0] = truth[1000:, 1] = True
    named = truth & (rng.random(truth.shape) < 0.5)
    touched = named.any(axis=1)
    sure = np.where(truth, 0.5, 0.0)
    found = estimate_completeness(np.where(named, 1, -1), sure)
    assert found == pytest.approx(named.sum() / truth[touched].sum(), abs=0.05)
    assert estimate_completeness([[1, -1], [-1, 1]], [[0.5, 0.5], [0.5, 0.5]]) == 1.0


def test_completeness_needs_a_named_tag():
    with pytest.raises(NothingToScoreError, match="no tag is named"):
        estimate_completeness([[0, -1]], [[0.1, 0.2]])
    with pytest.raises(InvalidInputError, match="shape of Y"):
        estimate_completeness([[1, -1]], [[0.1]])


def test_forgotten_tags_have_elkans_and_notos_weight():
    Y = np.array([[1, -1, -1, 0], [-1, -1, -1, -1]])
    named = np.array([[0.2, 0.3, 0.02, 0.4], [0.3, 0.3, 0.3, 0.3]])
    found = debias_labels(Y, named, 0.5, suspicion=0.1)
    np.testing.assert_array_equal(found.labels, [[1, -1, 0, 0], [-1, -1, -1, -1]])
    np.testing.assert_allclose(found.targets[0], [1.0, 0.3 / 0.7, 0.02 / 0.98, 0.0])
    assert np.isnan(found.targets[1]).all()
    np.testing.assert_allclose(found.weights, [[1.0, 1 - 0.3 / 0.7, 1 - 0.02 / 0.98, 1.0], [0, 0, 0, 0]])
    assert found.suspected == 1
    # Complete labels leave nothing to suspect, and a certain model suspects everything it finds.
    assert debias_labels(Y, named, 1.0).suspected == 0
    assert debias_labels(Y, np.where(named == 0.3, 0.999, named), 0.5).targets[0, 1] == 1.0


def test_weights_are_the_share_of_forgotten_tags():
    rng = np.random.default_rng(1)
    has_it = rng.random((4000, 1))
    truth = rng.random(has_it.shape) < has_it
    named = truth & (rng.random(truth.shape) < 0.4)
    Y = np.hstack([np.where(named, 1, -1), np.zeros((4000, 1))])
    found = debias_labels(Y, np.hstack([0.4 * has_it, has_it]), 0.4)
    absent = ~named[:, 0]
    assert found.targets[absent, 0].mean() == pytest.approx(truth[absent, 0].mean(), abs=0.02)


@pytest.mark.medium
def test_half_of_the_tags_hidden_it_beats_taking_absence_for_no():
    gains, away = [], []
    for seed in range(3):
        X, Y, truth = make_problem(seed=seed)
        rest = (Y == -1).all(axis=1)
        ours = PositiveUnlabeledAnnotator(HarmonicPropagation(10)).fit(X, Y)
        plain = CalibratedAnnotator(HarmonicPropagation(10), random_state=0).fit(X, weak_negatives(Y))
        away.append(ours.completeness_ - (Y[~rest] == 1).sum() / truth[~rest].sum())
        gains.append(
            mean_average_precision(truth[rest], ours.transduction_[rest])
            - mean_average_precision(truth[rest], plain.transduction_[rest])
        )
        ours_error = brier_score(truth[rest], ours.probabilities_[rest])
        assert ours_error < 0.7 * brier_score(truth[rest], plain.probabilities_[rest])
        assert calibration_error(truth[rest], ours.predict_proba(X[rest])) < calibration_error(
            truth[rest], plain.predict_proba(X[rest])
        )
    assert np.mean(gains) > 0.0
    assert abs(np.mean(away)) < 0.1


def test_what_was_said_is_kept():
    X, Y, _ = make_problem()
    Y[0, 0], Y[1, 1] = 0, 1
    fitted = PositiveUnlabeledAnnotator(completeness=0.5).fit(X, Y)
    assert (fitted.probabilities_[Y == 1] == 1).all()
    assert (fitted.probabilities_[Y == 0] == 0).all()
    assert fitted.completeness_ == 0.5
    assert set(np.unique(fitted.labels_[Y == 1])) == {1}
    untouched = (Y == -1).all(axis=1)
    assert (fitted.labels_[untouched] == -1).all()


def test_complete_labels_change_nothing():
    X, Y, _ = make_problem(completeness=1.0)
    ours = PositiveUnlabeledAnnotator(completeness=1.0).fit(X, Y)
    plain = CalibratedAnnotator(random_state=0).fit(X, weak_negatives(Y))
    np.testing.assert_allclose(ours.predict_proba(X), plain.predict_proba(X))


def test_without_a_second_fit_only_probabilities_are_corrected():
    X, Y, truth = make_problem()
    rest = (Y == -1).all(axis=1)
    ridge = RegularizedLeastSquares(smoothing=0.5)
    ours = PositiveUnlabeledAnnotator(ridge, refit=False).fit(X, Y)
    plain = CalibratedAnnotator(ridge, random_state=0).fit(X, weak_negatives(Y))
    np.testing.assert_array_equal(ours.labels_, weak_negatives(Y))
    order = plain.transduction_[rest] - np.log(ours.completeness_)
    np.testing.assert_allclose(ours.transduction_[rest], order, atol=1e-6)
    assert brier_score(truth[rest], ours.probabilities_[rest]) < brier_score(truth[rest], plain.probabilities_[rest])


def test_wrong_parameters_are_named():
    X, Y, _ = make_problem(60, n_labelled=30)
    with pytest.raises(InvalidInputError, match="'completeness' parameter of"):
        PositiveUnlabeledAnnotator(completeness=0.0).fit(X, Y)
    with pytest.raises(InvalidInputError, match="'suspicion' parameter of"):
        PositiveUnlabeledAnnotator(suspicion=2.0).fit(X, Y)


@pytest.mark.medium
def test_it_is_an_annotator():
    check_annotator(PositiveUnlabeledAnnotator(RegularizedLeastSquares(), folds=3))
