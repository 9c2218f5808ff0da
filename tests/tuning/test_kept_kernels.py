"""Kernels kept between updates give what kernels computed anew give."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.tuning.auto.model import KeptKernels, Member, StackModel
from tagloom.tuning.auto.search import GRAPH, Candidate
from tagloom.tuning.auto.views import PhotoViews, default_views, smoothed_priors


def _model():
    X = np.random.default_rng(0).normal(size=(90, 10))
    views = PhotoViews(X, FeatureGroups(["deep", "color"], [6, 4]), n_neighbors=5, smoothing=2.0, n_threads=1)
    weightings = default_views(views.groups.names)
    members = [
        Member(Candidate(weightings[0].name), 0.4),
        Member(Candidate(weightings[0].name, width=2.0, score_smoothing=0.0), 0.2),
        Member(Candidate(weightings[-1].name, smoothed=False), np.array([0.2, 0.3, 0.0])),
        Member(Candidate(GRAPH, False, 0.0, score_smoothing=0.0), 0.2),
    ]
    return StackModel(views, weightings, members)


def _labels(n_known, first=0):
    Y = np.full((90, 3), -1, dtype=np.int8)
    Y[first : first + n_known] = np.random.default_rng(1).integers(0, 2, size=(n_known, 3))
    Y[first + 2 : first + 8, 1] = -1
    return Y


def test_fits_and_updates_are_the_same():
    plain, kept = _model(), _model()
    kept.keep_kernels()
    Y = _labels(20, first=30)
    # Photos come before, between and after those that are there; then some lose their labels.
    further = [np.where(Y == -1, _labels(60, first=10), Y), _labels(50, first=25)]
    rows = np.flatnonzero((Y != -1).any(axis=1))
    first = [model.fit(Y, rows, smoothed_priors(Y)) for model in (plain, kept)]
    np.testing.assert_allclose(*first, atol=2e-5)
    for more in further:
        rows = np.flatnonzero((more != -1).any(axis=1))
        found = [model.update(more, rows, smoothed_priors(more), np.arange(3)) for model in (plain, kept)]
        np.testing.assert_allclose(*found, atol=2e-5)
        for strength, smoothed in plain.smoothed.items():
            np.testing.assert_allclose(kept.smoothed[strength], smoothed, atol=2e-5)


def test_a_column_is_computed_once():
    asked = []

    def columns(rows):
        asked.append(rows.tolist())
        return [np.outer(np.arange(1, 8), rows + 1).astype(np.float32)]

    kernels = KeptKernels(7, 1, columns)
    kernels.hold(np.array([4, 2]))
    kernels.hold(np.array([1, 2, 4]))
    kernels.hold(np.array([2, 4]))
    assert asked == [[4, 2], [1]]
    expected = np.outer(np.arange(1, 8), [2, 3, 5])
    np.testing.assert_array_equal(kernels.of(0, np.array([1, 2, 4])), expected)
    weights = np.array([[1.0, 0.5], [0.0, 2.0], [3.0, 1.0]])
    np.testing.assert_allclose(kernels.times(0, np.array([1, 2, 4]), weights), expected @ weights)
    # A photo that is no longer labelled has no part, though its column is there.
    np.testing.assert_allclose(kernels.times(0, np.array([4]), weights[:1]), expected[:, 2:] @ weights[:1])
    assert kernels.among(0, np.array([1, 4])) == pytest.approx(np.array([[4.0, 10.0], [10.0, 25.0]]))
