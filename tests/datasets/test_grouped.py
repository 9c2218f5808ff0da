import numpy as np
import pytest

from tagloom.datasets.grouped import make_grouped_regression
from tagloom.exceptions import InvalidInputError


def test_the_simulation_of_the_paper():
    made = make_grouped_regression(random_state=3)
    assert made.X.shape == (200, 8)
    assert made.groups.sizes == (2, 2, 2, 2)
    assert made.relevant.tolist() == [True, True, False, False]
    assert (made.coef[4:] == 0).all()
    assert (made.coef[:4] != 0).all()
    np.testing.assert_array_equal(made.Y[:, 0], made.y > 0)


def test_the_same_seed_gives_the_same_and_another_another():
    first, again, other = (make_grouped_regression(random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.allclose(first.coef, other.coef)


def test_the_noise_has_its_size_and_least_squares_finds_the_coefficients():
    made = make_grouped_regression(20_000, noise=0.5, random_state=0)
    assert np.std(made.y - made.X @ made.coef) == pytest.approx(0.5, rel=0.03)
    np.testing.assert_allclose(np.linalg.lstsq(made.X, made.y)[0], made.coef, atol=0.02)


@pytest.mark.parametrize(("within", "between"), [(0.0, 0.0), (0.6, 0.0), (0.7, 0.3), (0.5, 0.5)])
def test_correlations_are_those_asked_for(within, between):
    made = make_grouped_regression(40_000, within=within, between=between, random_state=0)
    labels = made.groups.labels
    same = labels[:, None] == labels
    expected = np.where(np.eye(8, dtype=bool), 1.0, np.where(same, within, between))
    np.testing.assert_allclose(np.cov(made.X.T), expected, atol=0.03)


@pytest.mark.parametrize(
    "options",
    [
        {"n_samples": 0},
        {"group_size": 1.5},
        {"n_relevant": 5},
        {"within": 1.0},
        {"within": 0.2, "between": 0.3},
        {"noise": -1},
    ],
)
def test_wrong_parameters(options):
    with pytest.raises(InvalidInputError, match=next(iter(options))):
        make_grouped_regression(**options)
