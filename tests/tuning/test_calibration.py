import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.base import clone

from tagloom.core.annotator import Annotator
from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph
from tagloom.methods import HarmonicPropagation, RegularizedLeastSquares, check_annotator
from tagloom.methods.shared import smoothing
from tagloom.metrics.calibration import brier_skill, calibration_error
from tagloom.tuning.calibration import calibrated as _held_out
from tagloom.tuning.calibration.calibrated import CalibratedAnnotator


def make_problem(n=1500, c=12, n_labelled=200, seed=0, noise=0.7):
    """Make tags of different frequency that linear scores can tell in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    directions = rng.normal(size=(8, c)) / np.sqrt(8)
    offsets = np.linspace(-4.0, -0.5, c)
    truth = (rng.random((n, c)) < expit(2.0 / noise * (X @ directions) + offsets)).astype(np.int8)
    Y = truth.copy()
    Y[n_labelled:] = -1
    return X, Y, truth


class Rescaled(Annotator):
    """Ridge regression whose scores are on a scale of their own for each tag."""

    def __init__(self, factor=1.0, *, shift=0.0):
        self.factor = factor
        self.shift = shift

    def _fit(self, X, Y):
        self.ridge_ = RegularizedLeastSquares(1.0).fit(X, Y)
        self.transduction_ = self.ridge_.transduction_ * self.factor + self.shift

    def _decision_function(self, X):
        return self.ridge_.decision_function(X) * self.factor + self.shift


class Memory(Annotator):
    """Knows the labels it was given by heart, and nothing else."""

    def _fit(self, X, Y):
        self.transduction_ = np.where(Y == -1, 0.3, Y) + 1e-3 * self.noise(X)

    def _decision_function(self, X):
        return np.tile(0.3 + 1e-3 * self.noise(X), (1, self.n_tags_))

    @staticmethod
    def noise(X):
        return np.sin(1e4 * X[:, :1])


@pytest.mark.parametrize("annotator", [RegularizedLeastSquares(), RegularizedLeastSquares(smoothing=0.5)])
def test_probabilities_mean_what_they_say(annotator):
    X, Y, truth = make_problem()
    fitted = CalibratedAnnotator(annotator, random_state=0).fit(X, Y)
    rest = Y[:, 0] == -1
    new_X, _, new_truth = X[rest], None, truth[rest]
    for labels, p in (
        (truth[rest], fitted.probabilities_[rest]),
        (truth[~rest], fitted.probabilities_[~rest]),
        (new_truth, fitted.predict_proba(new_X)),
    ):
        assert calibration_error(labels, p) < 0.05
        assert brier_skill(labels, p) > 0.1
        assert ((p > 0) & (p < 1)).all()
    # The scores themselves, cut to what a probability can be, are worse.
    raw = np.clip(fitted.annotator_.transduction_[rest], 0, 1)
    likely = {"entries": "likely"}
    assert calibration_error(truth[rest], fitted.probabilities_[rest], **likely) < calibration_error(
        truth[rest], raw, **likely
    )


def test_the_scale_of_scores_does_not_matter():
    X, Y, _ = make_problem(400)
    plain = CalibratedAnnotator(Rescaled(), random_state=0).fit(X, Y)
    other = CalibratedAnnotator(Rescaled(1000.0, shift=-77.0), random_state=0).fit(X, Y)
    np.testing.assert_allclose(plain.probabilities_, other.probabilities_, atol=1e-8)
    np.testing.assert_allclose(plain.predict_proba(X), other.predict_proba(X), atol=1e-8)


def test_labelled_photos_get_what_is_said_without_their_labels():
    X, Y, _ = make_problem(400)
    fitted = CalibratedAnnotator(Memory(), random_state=0).fit(X, Y)
    known = fitted.probabilities_[:200]
    for tag in range(Y.shape[1]):
        labels = Y[:200, tag] == 1
        # With labels known by heart the two means would be far apart.
        assert abs(known[labels, tag].mean() - known[~labels, tag].mean()) < 0.1
    frequency = (Y[:200] == 1).mean(axis=0)
    np.testing.assert_allclose(fitted.probabilities_.mean(axis=0), frequency, atol=0.08)


def test_order_within_a_tag_is_that_of_the_scores():
    X, Y, _ = make_problem(600, n_labelled=300)
    fitted = CalibratedAnnotator(RegularizedLeastSquares(), method="isotonic", random_state=0).fit(X, Y)
    assert fitted.map_.steps.knots
    rows = slice(300, None)
    for tag in range(Y.shape[1]):
        order = np.argsort(fitted.annotator_.transduction_[rows, tag])
        assert (np.diff(fitted.probabilities_[rows, tag][order]) >= -1e-12).all()


def test_tags_with_no_or_one_example_stay_near_their_prior():
    X, Y, _ = make_problem(400)
    Y[:200, 0] = 0
    Y[:200, 1] = 0
    Y[7, 1] = 1
    for annotator in (RegularizedLeastSquares(), HarmonicPropagation()):
        for pooling in ("partial", "none", "full"):
            p = CalibratedAnnotator(annotator, pooling=pooling, random_state=0).fit(X, Y).probabilities_
            assert np.isfinite(p).all()
            assert p[:, 0].mean() < 0.01
            assert 0.001 < p[200:, 1].mean() < 0.03
            assert p[200:, 1].max() < 0.7


def test_three_photos_and_one_tag_are_enough_for_an_honest_answer():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    Y = np.full((50, 1), -1, dtype=np.int8)
    Y[:3, 0] = [1, 0, 0]
    for annotator in (RegularizedLeastSquares(), HarmonicPropagation()):
        fitted = CalibratedAnnotator(annotator, random_state=0).fit(X, Y)
        assert np.isfinite(fitted.probabilities_).all()
        assert 0.1 < fitted.probabilities_[3:].mean() < 0.6
        assert fitted.probabilities_[3:].max() < 0.95
        assert np.isinf(fitted.thresholds_for(0.95)).all()


@pytest.mark.parametrize("labels", [np.ones((6, 2)), np.zeros((6, 2)), np.array([[1, -1]] * 3 + [[-1, 0]] * 3)])
def test_labels_of_one_kind_give_finite_probabilities(labels):
    X = np.random.default_rng(0).normal(size=(12, 3))
    Y = np.full((12, 2), -1, dtype=np.int8)
    Y[:6] = labels
    p = CalibratedAnnotator(RegularizedLeastSquares(), random_state=0).fit(X, Y).probabilities_
    assert np.isfinite(p).all()
    for tag in range(2):
        known = Y[:6, tag][Y[:6, tag] != -1]
        assert (p[6:, tag].mean() > 0.5) == bool(known.mean() > 0.5)


def test_unknown_entries_of_labelled_photos_are_left_out():
    X, Y, truth = make_problem()
    holes = np.random.default_rng(3).random(Y.shape) < 0.4
    Y[holes] = -1
    fitted = CalibratedAnnotator(RegularizedLeastSquares(), random_state=0).fit(X, Y)
    assert calibration_error(truth[Y == -1][:, None], fitted.probabilities_[Y == -1][:, None]) < 0.05


def test_thresholds_hold_their_precision_and_follow_from_their_rule():
    X, Y, truth = make_problem(3000, n_labelled=400, noise=0.15)
    fitted = CalibratedAnnotator(RegularizedLeastSquares(), random_state=0).fit(X, Y)
    rest = Y[:, 0] == -1
    p = fitted.probabilities_[rest]
    for over in ("all", "tag"):
        for caution in (0.0, 0.5):
            thresholds = fitted.thresholds_for(0.9, over=over, caution=caution)
            accepted = p > thresholds
            assert accepted.sum() > 100
            assert truth[rest][accepted].mean() > 0.87
            cautious = expit(fitted.transduction_ - caution * fitted._log_odds_spread)[rest]
            columns = [cautious.ravel()] if over == "all" else list(cautious.T)
            limits = []
            for column in columns:
                ranked = np.sort(column)[::-1]
                good = [value for n, value in enumerate(ranked, 1) if ranked[:n].mean() >= 0.9][-1:]
                limits.append(good[0] if good else np.inf)
            # Lowered by what is not known, two photos of one tag may change places: then fewer are accepted.
            expected = cautious >= limits
            assert (accepted <= expected).all()
            assert accepted.sum() >= (expected.sum() if caution == 0 else 0.9 * expected.sum())
    one = fitted.thresholds_for(0.9)
    assert np.ptp(one[np.isfinite(one)]) < 0.05
    thresholds = fitted.thresholds_for(0.9, over="tag")
    stricter = fitted.thresholds_for(0.97, over="tag")
    assert (stricter >= thresholds).all()
    assert (fitted.thresholds_for(0.9, over="tag", caution=1.0) >= thresholds).all()
    accepted = p > thresholds
    expected = fitted.expected_precision_above(thresholds)
    assert (expected[accepted.any(axis=0)] >= 0.9).all()
    assert np.isnan(expected[~accepted.any(axis=0)]).all()


def test_expected_counts_are_near_the_truth():
    X, Y, truth = make_problem(3000, n_labelled=400)
    fitted = CalibratedAnnotator(RegularizedLeastSquares(), random_state=0).fit(X, Y)
    counts, expected = truth.sum(axis=0), fitted.expected_counts()
    # The frequency among 400 labelled photos has this standard error.
    share = counts / 3000
    np.testing.assert_array_less(np.abs(expected - counts), 3.5 * 3000 * np.sqrt(share * (1 - share) / 400))


def test_a_graph_is_built_once_and_changes_nothing():
    X, Y, _ = make_problem(200, n_labelled=60)
    fitted = CalibratedAnnotator(HarmonicPropagation(5), random_state=0).fit(X, Y)
    alone = HarmonicPropagation(5).fit(X, Y)
    np.testing.assert_allclose(fitted.annotator_.transduction_, alone.transduction_, atol=1e-7)
    assert fitted.annotator_.graph is not None
    assert fitted.get_params()["annotator"].graph is None


@pytest.mark.parametrize("clamp", [False, True])
def test_smoothed_ridge_is_given_its_graph_once_and_changes_nothing(clamp, monkeypatch):
    X, Y, _ = make_problem(200, n_labelled=60)
    ridge = RegularizedLeastSquares(smoothing=0.5, clamp=clamp, n_neighbors=5)
    alone = clone(ridge).fit(X, Y)
    built = []

    def count(X, *, n_neighbors, metric):
        built.append(n_neighbors)
        return knn_graph(X, n_neighbors, metric=metric)

    monkeypatch.setattr(_held_out, "smoothing_graph", count)
    monkeypatch.setattr(smoothing, "smoothing_graph", count)
    fitted = CalibratedAnnotator(ridge, random_state=0).fit(X, Y)
    assert built == [5]
    np.testing.assert_allclose(fitted.annotator_.transduction_, alone.transduction_, atol=1e-7)
    assert fitted.get_params()["annotator"].graph is None


def test_probabilities_may_predict_other_labels_than_those_learnt_from():
    X, Y, _ = make_problem(400)
    against = Y.copy()
    against[:200] = 0
    fitted = CalibratedAnnotator(RegularizedLeastSquares(), random_state=0).fit(X, Y, against=against)
    assert fitted.probabilities_.mean() < 0.05
    with pytest.raises(InvalidInputError, match="400 rows"):
        fitted.fit(X, Y, against=against[1:])


def test_log_odds_and_probabilities_agree():
    X, Y, _ = make_problem(300)
    fitted = CalibratedAnnotator(RegularizedLeastSquares(), random_state=0).fit(X, Y)
    np.testing.assert_allclose(fitted.transduction_, logit(fitted.probabilities_), atol=1e-6)
    np.testing.assert_allclose(fitted.decision_function(X), logit(fitted.predict_proba(X)), atol=1e-6)


def test_wrong_parameters_are_named():
    X, Y, _ = make_problem(50, n_labelled=20)
    for name in ("method", "pooling"):
        with pytest.raises(InvalidInputError, match=f"'{name}' parameter of CalibratedAnnotator must be one of"):
            CalibratedAnnotator(**{name: "best"}).fit(X, Y)
    fitted = CalibratedAnnotator(RegularizedLeastSquares()).fit(X, Y)
    with pytest.raises(InvalidInputError, match="precision must be a number between 0 and 1"):
        fitted.thresholds_for(1.0)
    with pytest.raises(InvalidInputError, match="over must be"):
        fitted.thresholds_for(over="photo")
    with pytest.raises(InvalidInputError, match="caution must be"):
        fitted.thresholds_for(caution=-1.0)
    with pytest.raises(InvalidInputError, match="one per tag"):
        fitted.expected_precision_above([0.5])


@pytest.mark.medium
@pytest.mark.parametrize("annotator", [None, RegularizedLeastSquares(smoothing=0.5)])
def test_it_is_an_annotator(annotator):
    check_annotator(CalibratedAnnotator(annotator, folds=3))
