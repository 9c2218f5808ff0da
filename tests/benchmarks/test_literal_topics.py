"""The topic model as printed does what its equations say."""

import numpy as np
import pytest
from scipy import sparse

from benchmarks.literal import topics as literal


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    F, W = rng.poisson(1.0, size=(10, 6)) * 1.0, rng.integers(0, 2, size=(10, 4)) * 1.0
    S = np.triu(rng.random((10, 10)) * (rng.random((10, 10)) < 0.5), 1)
    start = (rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(6), size=3), rng.dirichlet(np.ones(4), size=3))
    return F, W, S + S.T, start


def test_posteriors_are_products_of_probabilities(problem):
    F, W, _, (alpha, beta, phi) = problem
    for i, row in enumerate(literal.posteriors(F, W, (alpha, beta, phi))):
        products = alpha * (beta ** F[i]).prod(axis=1) * (phi ** W[i]).prod(axis=1)
        np.testing.assert_allclose(row, products / products.sum())


def test_the_mixture_raises_its_likelihood(problem):
    F, W, _, start = problem
    values = [literal.likelihood(F, W, literal.mixture(F, W, start, n, 0.01)[1]) for n in range(5)]
    assert (np.diff(values) > 0).all()


def test_roughness_is_the_quadratic_form_and_smoothing_lowers_it(problem):
    F, W, S, start = problem
    p = literal.posteriors(F, W, start)
    laplacian = np.diag(S.sum(axis=1)) - S
    assert literal.roughness(p, S) == pytest.approx(np.trace(p.T @ laplacian @ p))
    smoother = literal.smooth(p, literal.neighbors_of(S), 0.1)
    assert literal.roughness(smoother, S) < literal.roughness(p, S)
    np.testing.assert_allclose(smoother.sum(axis=1), 1.0)
    sparse_lists = literal.neighbors_of(sparse.csr_array(S))
    np.testing.assert_allclose(literal.smooth(p, sparse_lists, 0.1), smoother)


def test_the_objective_without_smoothness_is_the_likelihood(problem):
    F, W, S, start = problem
    p = literal.posteriors(F, W, start)
    assert literal.objective(F, W, S, p, start, 0.0) == pytest.approx(literal.likelihood(F, W, start))


def test_plsa_raises_the_likelihood(problem):
    F, _, _, (_, words, _) = problem
    F = F[F.any(axis=1)]
    mixtures = np.full((len(F), 3), 1 / 3)
    values = []
    for _ in range(6):
        values.append((F * np.log(mixtures @ words)).sum())
        words, mixtures = literal.plsa(F, words, mixtures, 1, prior=0.0)
        np.testing.assert_allclose(words.sum(axis=1), 1.0)
        np.testing.assert_allclose(mixtures.sum(axis=1), 1.0)
    assert (np.diff(values) > 0).all()
