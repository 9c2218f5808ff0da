"""The toy problem of three suns."""

import numpy as np
import pytest

from tagloom.datasets.toy import make_suns
from tagloom.exceptions import InvalidInputError


def test_discs_and_rays_without_noise():
    X, Y = make_suns(600, noise=0.0, random_state=0)
    assert X.dtype == np.float32
    assert Y.dtype == np.int8
    np.testing.assert_array_equal(Y.sum(axis=1), 1)
    np.testing.assert_array_equal(Y.sum(axis=0), 200)
    left, right = (np.hypot(X[:, 0] - x, X[:, 1]) for x in (-1.0, 1.0))
    assert left[Y[:, 0] == 1].max() <= 0.45 + 1e-6
    assert right[Y[:, 1] == 1].max() <= 0.45 + 1e-6
    nearest = np.minimum(left, right)[Y[:, 2] == 1]
    assert nearest.min() > 0.45
    # Rays point in eight directions from their own sun.
    of_left = (Y[:, 2] == 1) & (left < right)
    angle = np.arctan2(X[of_left, 1], X[of_left, 0] + 1.0) / (2 * np.pi) * 8
    assert np.abs(angle - angle.round()).max() < 1e-4


def test_it_is_reproducible_and_noise_moves_the_points():
    same, again, other = (make_suns(60, random_state=seed)[0] for seed in (3, 3, 4))
    np.testing.assert_array_equal(same, again)
    assert (same != other).any()
    quiet = make_suns(6000, noise=0.0, random_state=3)[0]
    assert np.std(make_suns(6000, noise=0.2, random_state=3)[0] - quiet) == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize("parameters", [{"n_samples": 2}, {"n_samples": 9.5}, {"noise": -1.0}, {"noise": np.nan}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        make_suns(**parameters)
