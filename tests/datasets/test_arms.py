"""The toy problem of three arms."""

import numpy as np
import pytest

from tagloom.datasets.toy import make_arms
from tagloom.exceptions import InvalidInputError


def test_points_lie_on_their_arm():
    X, Y = make_arms(300, noise=0.0, random_state=0)
    assert X.dtype == np.float32
    along = (np.linalg.norm(X, axis=1) - 0.4) / 1.2
    angle = np.arctan2(X[:, 1], X[:, 0]) - 1.2 * np.pi * along
    arm = np.round(angle / (2 * np.pi / 3)) % 3
    np.testing.assert_array_equal(arm, np.arange(300) % 3)
    np.testing.assert_array_equal(Y, np.array([[1, 0], [0, 1], [1, 1]])[np.arange(300) % 3])


def test_arms_have_no_gaps_and_do_not_touch():
    X, _ = make_arms(240, random_state=0)
    distances = np.linalg.norm(X[:, None] - X[None], axis=2)
    same = (np.arange(240)[:, None] - np.arange(240)) % 3 == 0
    assert distances[~same].min() > np.where(same & ~np.eye(240, dtype=bool), distances, np.inf).min(axis=1).max()


def test_the_seed_decides():
    np.testing.assert_array_equal(make_arms(9, random_state=1)[0], make_arms(9, random_state=1)[0])
    assert (make_arms(9, random_state=1)[0] != make_arms(9, random_state=2)[0]).any()


@pytest.mark.parametrize("parameters", [{"n_samples": 2}, {"noise": -1.0}, {"n_samples": 4.5}])
def test_wrong_parameters_are_named(parameters):
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        make_arms(**parameters)
