"""Kernel methods on 4,200 photos: exact without being asked, as scikit-learn and dense solves show."""

import numpy as np
import pytest
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from tagloom.core.groups import FeatureGroups
from tagloom.graph import knn_graph
from tagloom.kernels import kernel_matrix
from tagloom.methods import LPSSVM
from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.baselines.lpp import LPP
from tagloom.methods.baselines.m3l import M3L
from tagloom.methods.baselines.mkl import MultipleKernelSVM
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.methods.baselines.tsvm import TransductiveSVM

N, GAMMA = 4200, 0.3


@pytest.fixture(scope="module")
def problem():
    """Return histograms of many photos, labels of all, and a graph."""
    rng = np.random.default_rng(0)
    X = rng.dirichlet(np.full(6, 0.7), size=N) * 4
    Y = (X[:, :2] + 0.3 * rng.normal(size=(N, 2)) > 0.7).astype(np.int8)
    return X, Y, knn_graph(X, 8)


def some(Y, n=300):
    return np.where(np.arange(N)[:, None] < n, Y, -1).astype(np.int8)


@pytest.mark.parametrize("kernel", ["rbf", "intersection", "precomputed"])
@pytest.mark.medium
def test_svm_is_scikit_learn_s(problem, kernel):
    X, Y, _ = problem
    gamma = None if kernel == "intersection" else GAMMA
    K = kernel_matrix("rbf" if kernel == "precomputed" else kernel, X, gamma=gamma)
    given = (K, None) if kernel == "precomputed" else (X, gamma)
    model = KernelSVM(kernel, gamma=given[1]).fit(given[0], Y[:, :1])
    reference = SVC(kernel="precomputed", tol=1e-5).fit(K, Y[:, 0])
    assert model.landmarks_ is None
    np.testing.assert_allclose(model.transduction_[:, 0], reference.decision_function(K), atol=1e-6)


@pytest.mark.medium
def test_laprls_is_the_dense_solution(problem):
    X, Y, graph = problem
    Y = some(Y)
    model = LapRLS(gamma=GAMMA, graph=graph, fit_intercept=False).fit(X, Y)
    K, L = kernel_matrix("rbf", X, gamma=GAMMA), graph.laplacian()
    J = np.diag((Y[:, 0] != -1).astype(float))
    signs = np.where(Y[:, 0] == -1, 0.0, 2.0 * Y[:, 0] - 1)
    alpha = np.linalg.solve(J @ K + 0.005 * np.eye(N) + 0.045 * (L @ K), signs)
    assert model.landmarks_ is None
    np.testing.assert_allclose(model.transduction_[:, 0], K @ alpha, atol=1e-6)


@pytest.mark.medium
def test_lapsvm_meets_its_optimality_conditions(problem):
    X, Y, graph = problem
    model = LapSVM(gamma=GAMMA, graph=graph).fit(X, some(Y))
    assert model.landmarks_ is None
    assert model.optimality_ < 1e-5


@pytest.mark.medium
def test_tsvm_with_all_labels_is_lapsvm_without_a_graph(problem):
    X, Y, _ = problem
    model = TransductiveSVM(gamma=GAMMA, unlabeled_weight=0.0).fit(X, Y[:, :1])
    reference = LapSVM(gamma=GAMMA, ambient_weight=0.5, graph_weight=0.0).fit(X, Y[:, :1])
    assert model.landmarks_ is None
    np.testing.assert_allclose(model.transduction_, reference.transduction_, atol=1e-4)


@pytest.mark.medium
def test_mkl_ends_at_scikit_learn_s_svm_on_its_own_sum_of_kernels(problem):
    X, Y, _ = problem
    groups = FeatureGroups(["first", "second"], [3, 3])
    model = MultipleKernelSVM(groups, kernels="rbf", gamma=GAMMA, max_iter=2, normalize=False, tol=1e-5)
    with pytest.warns(ConvergenceWarning, match="still changed after 2"):
        model.fit(X, Y[:, :1])
    weights = model.kernel_weights_[:, 0]
    K = sum(
        weight * kernel_matrix("rbf", X[:, groups[name]], gamma=GAMMA)
        for name, weight in zip(groups, weights, strict=True)
    )
    reference = SVC(kernel="precomputed", tol=1e-5).fit(K, Y[:, 0])
    np.testing.assert_allclose(model.transduction_[:, 0], reference.decision_function(K), atol=1e-3)


@pytest.mark.slow
def test_m3l_meets_its_optimality_conditions(problem):
    X, Y, _ = problem
    model = M3L("rbf", gamma=GAMMA, tol=1e-3).fit(X, Y)
    assert model.optimality_ < 1e-2


@pytest.mark.slow
def test_lpp_and_lpssvm_seek_directions_in_the_exact_kernel(problem):
    X, Y, graph = problem
    reducer = LPP(gamma=GAMMA, graph=graph, n_components=3).fit(X)
    assert reducer.landmarks_ is None
    values, vectors = eigh(kernel_matrix("rbf", X, gamma=GAMMA))
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = int(np.searchsorted(np.cumsum(values) / values.sum(), 0.98)) + 1
    T = vectors[:, :kept] * np.sqrt(values[:kept])
    D = np.asarray(graph.degrees)
    expected = eigh(T.T @ (graph.laplacian() @ T), T.T @ (D[:, None] * T), eigvals_only=True)[:3]
    np.testing.assert_allclose(reducer.eigenvalues_, expected, atol=1e-8)
    model = LPSSVM(gamma=GAMMA, graph=graph, max_iter=1).fit(X, some(Y))
    assert model.landmarks_ is None
    np.testing.assert_allclose(model.eigenvalues_[:3], expected, atol=1e-8)
