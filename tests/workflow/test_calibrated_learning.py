"""Learning with any annotator, and the correction for tags that were only named."""

import numpy as np
import pytest
from scipy import sparse

from tagloom.methods import HarmonicPropagation, LaplacianTopicModel
from tagloom.tuning import CalibratedAnnotator, debias_labels
from tagloom.workflow.calibrated_learning import Calibration, correct_named, learn, too_few
from tests.workflow.made_labels import labels_of


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


def test_what_is_too_few_is_said(counts):
    X, said = counts
    few = said.copy()
    few[15:] = -1
    assert "labelled photos, there are 15" in too_few(labels_of(few))
    none = np.where(said == 1, 0, said).astype(np.int8)
    none[0, 0] = 1
    assert "tags given to photos, there are 1" in too_few(labels_of(none))
    assert too_few(labels_of(said)) == ""
    found = learn(HarmonicPropagation(5), X, labels_of(few), precision=0.9)
    assert (found.kind, found.calibration) == ("score", None)
    expected = HarmonicPropagation(5).fit(X, few)
    np.testing.assert_allclose(found.values, expected.transduction_, atol=1e-6)
    assert np.array_equal(found.thresholds, expected.thresholds_)


def test_a_calibration_comes_back_from_its_arrays(counts):
    X, said = counts
    found = learn(HarmonicPropagation(5), X, labels_of(said), precision=0.9).calibration
    again = Calibration.load(found.arrays(), found.completeness)
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
    expected = values.copy()
    forgotten = debias_labels(said, values, 0.5).targets
    absent = touched[:, None] & (said == -1)
    expected[:, :2] = np.where(absent, forgotten, np.minimum(values / 0.5, 1.0))[:, :2]
    correct_named(values, said, np.array([True, True, False]), touched, 0.5)
    np.testing.assert_allclose(values, expected, rtol=1e-5)
