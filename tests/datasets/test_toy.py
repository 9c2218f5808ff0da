import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from tagloom.datasets import make_moons
from tagloom.exceptions import InvalidInputError


def test_shape_alone_tells_the_moons_apart():
    X, Y = make_moons(400, random_state=0)
    straight = LogisticRegression().fit(X, Y[:, 0]).score(X, Y[:, 0])
    rows = np.random.default_rng(0).permutation(400)[:200]
    local = KNeighborsClassifier(5).fit(X[rows], Y[rows, 0]).score(X, Y[:, 0])
    assert straight < 0.92
    assert local > 0.97


def test_moons_and_tags():
    X, Y = make_moons(301, noise=0.0, random_state=1)
    assert X.dtype == np.float32
    assert Y.dtype == np.int8
    np.testing.assert_array_equal(Y[:, 0] + Y[:, 1], 1)
    upper, lower = X[Y[:, 0] == 1], X[Y[:, 1] == 1]
    np.testing.assert_allclose((upper**2).sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(((lower - [1.0, 0.5]) ** 2).sum(axis=1), 1, rtol=1e-5)
    outer = X[Y[:, 2] == 1]
    assert ((outer[:, 0] < -0.7) | (outer[:, 0] > 1.7)).all()
    assert 0.15 < Y[:, 2].mean() < 0.35


def test_moons_repeat():
    for first, second in zip(make_moons(50, random_state=3), make_moons(50, random_state=3), strict=True):
        np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("arguments", [{"n_samples": 1}, {"n_samples": 2.5}, {"noise": -1}, {"noise": float("nan")}])
def test_wrong_arguments(arguments):
    with pytest.raises(InvalidInputError):
        make_moons(**arguments)
