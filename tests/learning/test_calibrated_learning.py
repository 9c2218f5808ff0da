"""Learning with any annotator, and the correction for tags that were only named."""

import numpy as np
import pytest
from scipy import sparse

from tagloom.learning.probabilities import Calibration, correct_named, learn, learn_auto, too_few
from tagloom.methods import HarmonicPropagation, LaplacianTopicModel, RegularizedLeastSquares
from tagloom.tuning import CalibratedAnnotator, debias_labels
from tagloom.tuning.auto.annotator import AutoAnnotator
from tests.made_labels import labels_of


@pytest.fixture
def counts():
    generator = np.random.default_rng(0)
    X = generator.poisson(0.5, size=(120, 20)).astype(np.float32)
    said = (X[:, :2] + X[:, 2:4] > 1).astype(np.int8)
    said[40:] = -1
    return X, said


def test_an_annotator_of_sparse_counts(counts):
    X, said = counts
    annotator = LaplacianTopicModel(n_topics=5, graph="knn", n_neighbors=5, random_state=0)
    found = learn(annotator, sparse.csr_array(X), labels_of(said), precision=0.9)
    assert found.kind == "probability"
    assert found.values.shape == said.shape
    assert ((found.values > 0) & (found.values < 1)).all()


def test_an_annotator_with_probabilities_of_its_own_is_fitted_once(counts):
    X, said = counts
    own = CalibratedAnnotator(HarmonicPropagation(5), random_state=1)
    found = learn(own, X, labels_of(said), precision=0.9)
    assert (found.kind, found.calibration) == ("probability", None)
    expected = CalibratedAnnotator(HarmonicPropagation(5), random_state=1).fit(X, said)
    np.testing.assert_allclose(found.values, expected.probabilities_, atol=1e-6)


@pytest.mark.medium
def test_auto_is_told_which_labels_are_a_sample_and_corrected_for_what_was_not_named():
    rng = np.random.default_rng(0)
    truth = (rng.random((800, 6)) < 0.3).astype(np.int8)
    X = (truth @ rng.normal(size=(6, 8)) + 0.7 * rng.normal(size=(800, 8))).astype(np.float32)
    listed = np.arange(800) < 400
    said = np.full(truth.shape, -1, dtype=np.int8)
    said[:400] = np.where((truth[:400] == 1) & (rng.random((400, 6)) < 0.6), 1, -1)
    judged = 400 + np.flatnonzero(truth[400:, 0] == 1)[:30]
    said[judged, 0] = 1
    labels = labels_of(said, listed=listed, reviewed=[True] + [False] * 5)
    annotator = AutoAnnotator(random_state=0, n_threads=1)
    found = learn_auto(annotator, X, labels, precision=0.9)
    assert (found.kind, found.calibration) == ("probability", None)
    assert 0.4 < found.completeness < 0.9
    sample = np.where(listed[:, None], labels.Y, -1)
    expected = AutoAnnotator(random_state=0, n_threads=1, calibration="platt").fit(X, labels.Y, sample).probabilities_
    expected = expected.astype(np.float32)
    correct_named(expected, said, labels.forgettable, listed, found.completeness)
    np.testing.assert_allclose(found.values[:, 1:], expected[:, 1:], rtol=1e-5)
    # As many are expected as would be named: forgetting and doubt look alike here.
    hidden = np.setdiff1d(np.arange(400, 800), judged)
    assert found.values[hidden, 1:].sum() == pytest.approx(0.6 * truth[hidden, 1:].sum(), rel=0.25)


def test_what_is_too_few_is_said(counts):
    X, said = counts
    few = said.copy()
    few[15:] = -1
    assert "labelled photos, and there are 15" in too_few(labels_of(few))
    none = np.where(said == 1, 0, said).astype(np.int8)
    none[0, 0] = 1
    assert "accepted tags on photos, and there are 1" in too_few(labels_of(none))
    assert too_few(labels_of(said)) == ""
    found = learn(HarmonicPropagation(5), X, labels_of(few), precision=0.9)
    assert (found.kind, found.calibration) == ("score", None)
    expected = HarmonicPropagation(5).fit(X, few)
    np.testing.assert_allclose(found.values, expected.transduction_, atol=1e-6)
    assert np.array_equal(found.thresholds, expected.thresholds_)


def test_a_calibration_comes_back_from_its_arrays(counts):
    X, said = counts
    found = learn(HarmonicPropagation(5), X, labels_of(said), precision=0.9).calibration
    again = Calibration.load(found.arrays(), found.completeness, 2)
    scores = np.random.default_rng(0).random((10, 2)).astype(np.float32)
    for one, other in ((found.trained, again.trained), (found.new, again.new)):
        assert np.array_equal(one.probabilities(scores, found.scale), other.probabilities(scores, again.scale))


def test_named_tags_are_corrected_as_positive_unlabelled_learning_does():
    generator = np.random.default_rng(0)
    said = np.full((40, 3), -1, dtype=np.int8)
    said[:20] = np.where(generator.random((20, 3)) < 0.3, 1, -1)
    said[:20, 2] = 0
    values = generator.uniform(0.01, 0.6, size=(40, 3)).astype(np.float32)
    touched = (said != -1).any(axis=1)
    absent = touched[:, None] & (said == -1)
    for completeness, counted in ((0.3, 0.5), (0.6, 1.0), (0.8, 1.0)):  # above 0.6 it may be doubt
        expected, found = values.copy(), values.copy()
        forgotten = np.minimum(debias_labels(said, values, completeness).targets, values)
        # Where the quotient is above 1 a twentieth of the doubt stays: the order of photos is kept.
        raised = np.minimum(values / counted, 1.0 - 0.05 * (1.0 - values))
        expected[:, :2] = np.where(absent, forgotten, raised)[:, :2]
        correct_named(found, said, np.array([True, True, False]), touched, completeness)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_claims_hold_where_everything_was_named_and_tags_are_hard_to_tell():
    rng = np.random.default_rng(3)
    truth = (rng.random((900, 12)) < 0.2).astype(np.int8)
    X = (truth @ rng.normal(size=(12, 16)) + 1.6 * rng.normal(size=(900, 16))).astype(np.float32)
    said = np.full(truth.shape, -1, dtype=np.int8)
    said[:200] = np.where(truth[:200] == 1, 1, -1)
    labels = labels_of(said)
    found = learn(RegularizedLeastSquares(), X, labels, precision=0.8)
    assert found.completeness < 0.95  # though nothing was forgotten
    hidden = np.arange(900) >= 200
    above = (found.values > found.thresholds) & hidden[:, None]
    assert above.sum() > 50
    assert truth[above].mean() > 0.75
    assert found.values[hidden].sum() == pytest.approx(truth[hidden].sum(), rel=0.15)


def test_claims_hold_where_few_were_named_completely():
    """Of few named tags the head of a ranking reaches far down: doubt there is no sign of forgetting."""
    right = n_above = 0
    expected = true = 0.0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = (rng.random((900, 30)) < 0.1).astype(np.int8)
        X = (truth @ rng.normal(size=(30, 40)) + 2.4 * rng.normal(size=(900, 40))).astype(np.float32)
        said = np.full(truth.shape, -1, dtype=np.int8)
        said[:60] = np.where(truth[:60] == 1, 1, -1)
        found = learn(RegularizedLeastSquares(), X, labels_of(said), precision=0.8)
        values, hidden = found.values[60:], truth[60:]
        above = values > found.thresholds
        right, n_above = right + int(hidden[above].sum()), n_above + int(above.sum())
        expected, true = expected + float(values.sum()), true + float(hidden.sum())
    assert n_above > 50
    assert right > 0.75 * n_above
    assert expected == pytest.approx(true, rel=0.15)
