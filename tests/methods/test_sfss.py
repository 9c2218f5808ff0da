"""SFSS against a dense brute force, a conic solver, the algorithm as printed, and limiting cases."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline

from benchmarks.literal.sfss import sfss as literal_sfss
from tagloom.core.folds import LabeledKFold
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError, InvalidLabelsError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.methods import RegularizedLeastSquares
from tagloom.methods.sfss import SFSS, SHARES
from tagloom.methods.sfss.features import CentredFeatures
from tagloom.methods.sfss.problem import GramModel, ReducedModel, ScoreSystem
from tagloom.methods.sfss.reduced import ReducedProblem
from tagloom.methods.sfss.solve import JointProblem
from tagloom.metrics import mean_average_precision


def problem(n=40, d=8, c=3, n_labelled=15, seed=0, missing=0.0):
    """Three clusters, features of which some follow them, tags of which some entries are unknown."""
    rng = np.random.default_rng(seed)
    cluster = rng.integers(3, size=n)
    X = rng.normal(size=(n, d)) + 2.0
    X[:, : min(3, d)] += 2.0 * np.eye(3)[cluster][:, : min(3, d)]
    Y = (rng.random((n, c)) < np.where(np.arange(c) % 3 == cluster[:, None], 0.9, 0.1)).astype(np.int8)
    Y[:2], Y[1] = 1, 0
    Y[n_labelled:] = -1
    Y[2:][rng.random((n - 2, c)) < missing] = -1
    return X, Y, knn_graph(X, 5)


def value(X, graph, Y, W, b, F, mu, gamma, pull):
    """Eq. (6), term by term."""
    assert np.array_equal(F[Y != -1], Y[Y != -1])
    smooth = np.trace(F.T @ graph.laplacian().toarray() @ F)
    pulled = pull * np.square(F[Y == -1]).sum()
    return smooth + pulled + mu * np.square(X @ W + b - F).sum() + gamma * np.linalg.norm(W, axis=1).sum()


def value_of(model, X, graph, Y):
    return value(
        X,
        graph,
        Y,
        model.coef_,
        model.intercept_,
        model.transduction_,
        model.regression_weight,
        model.sparsity_,
        model.unlabeled_pull,
    )


def conic(X, graph, Y, mu, gamma, pull):
    """Minimise Eq. (6) by a conic solver; return its value and W."""
    F, W, b = cp.Variable(Y.shape), cp.Variable((X.shape[1], Y.shape[1])), cp.Variable((1, Y.shape[1]))
    G = sparse.triu(graph.weights).tocoo()
    edges = sparse.csr_array(
        (
            np.concatenate([np.sqrt(G.data), -np.sqrt(G.data)]),
            (np.tile(np.arange(G.nnz), 2), np.concatenate([G.row, G.col])),
        ),
        shape=(max(1, G.nnz), len(X)),
    )
    free = (Y == -1).astype(float)
    parts = [cp.sum_squares(edges @ F), pull * cp.sum_squares(cp.multiply(free, F))]
    parts += [mu * cp.sum_squares(X @ W + np.ones((len(X), 1)) @ b - F), gamma * cp.sum(cp.norm(W, 2, axis=1))]
    fixed = [cp.multiply(1 - free, F - np.where(Y == -1, 0, Y)) == 0]
    done = cp.Problem(cp.Minimize(sum(parts)), fixed)
    done.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return done.value, W.value


def fitted(X, graph, Y, share, **parameters):
    parameters = {"tol": 1e-8, "graph": graph} | parameters
    largest = SFSS(**parameters).largest_sparsity(X, Y)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "no photo is known")
        return SFSS(sparsity=share * largest, **parameters).fit(X, Y)


CASES = {
    "rows": {},
    "entrywise": {"missing": 0.4},
    "wide": {"n": 20, "d": 45, "n_labelled": 9},
    "few labels": {"n_labelled": 2},
    "all labelled": {"n_labelled": 40},
    "one tag": {"c": 1},
}


@pytest.mark.parametrize("share", [0.5, 0.02])
@pytest.mark.parametrize(
    "strategy", [*(pytest.param(way, marks=pytest.mark.medium) for way in ("plain", "auto")), "reduced"]
)
@pytest.mark.parametrize("case", CASES)
def test_equals_a_conic_solver(case, strategy, share):
    X, Y, graph = problem(**CASES[case])
    model = fitted(X, graph, Y, share, strategy=strategy)
    found = value_of(model, X, graph, Y)
    best, _ = conic(X, graph, Y, 1.0, model.sparsity_, 1.0)
    assert found <= best * (1 + 1e-8)
    assert model.objective_[-1] == pytest.approx(found, rel=1e-9)
    assert model.optimality_ <= 1e-8


@pytest.mark.medium
@pytest.mark.parametrize("pull", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("mu", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_equals_a_conic_solver_for_any_weights(mu, pull, missing):
    X, Y, graph = problem(missing=missing, seed=3)
    model = fitted(X, graph, Y, 0.1, regression_weight=mu, unlabeled_pull=pull)
    best, _ = conic(X, graph, Y, mu, model.sparsity_, pull)
    assert value_of(model, X, graph, Y) <= best * (1 + 1e-8)


def degenerate(kind):
    X, Y, graph = problem(seed=5)
    if kind == "duplicate columns":
        X[:, 4] = X[:, 0]
    elif kind == "constant columns":
        X[:, 1], X[:, 2] = 0.0, 7.0
    elif kind == "isolated nodes":
        weights = graph.weights.toarray()
        weights[[0, 20, 30]] = weights[:, [0, 20, 30]] = 0.0
        graph = NeighborGraph.from_weights(weights)
    elif kind == "no edges":
        graph = NeighborGraph.from_weights(np.zeros((40, 40)))
    elif kind == "chain":
        graph = NeighborGraph.from_weights(np.diag(np.ones(39), 1) + np.diag(np.ones(39), -1))
    elif kind == "large means":
        X += 1e4
    elif kind == "tag without positives":
        Y[Y[:, 1] == 1, 1] = 0
    elif kind == "tag known nowhere":
        Y[:, 1] = -1
    elif kind == "equal photos":
        X[:] = 3.0
    return X, Y, graph


@pytest.mark.medium
@pytest.mark.parametrize("strategy", ["plain", "reduced"])
@pytest.mark.parametrize(
    "kind",
    [
        "duplicate columns",
        "constant columns",
        "isolated nodes",
        "no edges",
        "chain",
        "large means",
        "tag without positives",
        "tag known nowhere",
    ],
)
def test_degenerate_problems_equal_a_conic_solver(kind, strategy):
    X, Y, graph = degenerate(kind)
    model = fitted(X, graph, Y, 0.1, strategy=strategy)
    best, _ = conic(X - X.mean(axis=0), graph, Y, 1.0, model.sparsity_, 1.0)
    assert value_of(model, X, graph, Y) <= best * (1 + 1e-8)


def test_equal_photos_select_nothing():
    X, Y, graph = degenerate("equal photos")
    model = SFSS(graph=graph).fit(X, Y)
    assert model.selected_features_.size == 0
    assert np.isfinite(model.transduction_).all()


@pytest.mark.parametrize("tol", [1e-6, 1e-5])
@pytest.mark.parametrize("kind", ["one number", "one photo", "rounded", "float32", "sparse"])
def test_photos_that_are_equal_up_to_rounding_select_nothing_at_once(kind, tol):
    rng = np.random.default_rng(0)
    X = np.full((80, 6), 0.3)
    if kind in ("one photo", "float32"):
        X = np.repeat(np.abs(rng.normal(size=(1, 6))), 80, axis=0)
    if kind == "rounded":
        X = np.nextafter(X, np.where(rng.random(X.shape) < 0.5, 0.0, 1.0))
    Y = np.where(np.arange(80)[:, None] < 40, np.arange(80)[:, None] % 3 == [0, 1, 2], -1)
    given = {"float32": np.float32, "sparse": sparse.csr_array}.get(kind, np.asarray)(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = SFSS(tol=tol).fit(given, Y)
    assert model.sparsity_ == 0.0
    assert model.n_iter_ <= 1
    assert not model.coef_.any()
    assert SFSS(tol=tol).largest_sparsity(given, Y) == 0.0


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_a_column_that_does_not_vary_is_as_good_as_none(convert):
    X, Y, graph = problem()
    with_constant = np.insert(X, 2, 0.1, axis=1)
    alone = fitted(X, graph, Y, 0.1)
    model = SFSS(sparsity=alone.sparsity_, graph=graph, tol=1e-8).fit(convert(with_constant), Y)
    assert not model.coef_[2].any()
    np.testing.assert_allclose(np.delete(model.coef_, 2, axis=0), alone.coef_, atol=1e-6)
    np.testing.assert_allclose(model.intercept_, alone.intercept_, atol=1e-6)


@pytest.mark.parametrize("share", [0.3, 0.05])
def test_equals_the_algorithm_as_printed(share):
    X, Y, graph = problem(60, 10, 4, n_labelled=20)
    model = fitted(X, graph, Y, share)
    W, b, F = literal_sfss(X, graph.weights.toarray(), Y, 1.0, model.sparsity_, tol=1e-13, max_iter=5000)
    np.testing.assert_allclose(F[:20], Y[:20], atol=1e-6)
    F[:20] = Y[:20]
    expected = value(X, graph, Y, W, b, F, 1.0, model.sparsity_, 1.0)
    assert abs(value_of(model, X, graph, Y) - expected) <= 1e-8 * expected
    np.testing.assert_allclose(model.coef_, W, atol=1e-4)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_reweighting_reaches_the_same_value_without_zeros(missing):
    X, Y, graph = problem(missing=missing)
    exact = fitted(X, graph, Y, 0.2)
    paper = fitted(X, graph, Y, 0.2, solver="irls")
    assert paper.objective_[-1] == pytest.approx(exact.objective_[-1], rel=1e-8)
    assert value_of(paper, X, graph, Y) == pytest.approx(paper.objective_[-1], rel=1e-8)
    assert (np.diff(paper.objective_) <= 1e-10 * paper.objective_[-1]).all()
    assert exact.selected_features_.size < X.shape[1]


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("share", [0.5, 0.05, 0.001])
def test_the_certificate_is_that_of_the_reduced_problem(share, missing):
    X, Y, graph = problem(missing=missing, seed=2)
    model = fitted(X, graph, Y, share, tol=1e-6)
    gradient = brute_force_gradient(X, graph, Y, model.coef_, 1.0, 1.0)
    norms = np.linalg.norm(model.coef_, axis=1)
    used = norms > 0
    directions = model.coef_[used] / norms[used, None]
    residual = np.linalg.norm(gradient[used] + model.sparsity_ * directions, axis=1).max(initial=0.0)
    residual = max(residual, (np.linalg.norm(gradient[~used], axis=1) - model.sparsity_).max(initial=0.0))
    assert residual / model.sparsity_ <= 1.1e-6
    assert model.optimality_ <= 1e-6


def brute_force_gradient(X, graph, Y, W, mu, pull):
    """Solve F densely for each tag and differentiate."""
    n = len(X)
    H = np.eye(n) - 1.0 / n
    M = graph.laplacian().toarray() + mu * H
    gradient = np.empty_like(W)
    for tag, labels in enumerate(Y.T):
        u, known = np.flatnonzero(labels == -1), np.flatnonzero(labels != -1)
        F = labels.astype(float)
        target = mu * (H @ X @ W[:, tag])[u] - M[np.ix_(u, known)] @ F[known]
        F[u] = np.linalg.solve(M[np.ix_(u, u)] + pull * np.eye(u.size), target)
        gradient[:, tag] = 2 * mu * X.T @ H @ (X @ W[:, tag] - F)
    return gradient


@pytest.mark.parametrize("strategy", ["plain", "reduced"])
@pytest.mark.parametrize("mu", [0.1, 1.0, 50.0])
def test_the_objective_never_rises(strategy, mu):
    X, Y, graph = problem(200, 30, 5, n_labelled=60, missing=0.2)
    model = fitted(X, graph, Y, 0.02, strategy=strategy, regression_weight=mu)
    assert len(model.objective_) > 2
    assert (np.diff(model.objective_) <= 1e-12 * model.objective_[-1]).all()


@pytest.mark.parametrize("strategy", ["plain", "reduced"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_objective_of_float32_features_rises_by_its_rounding_at_most(strategy, missing):
    X, Y, graph = problem(200, 30, 5, n_labelled=60, missing=missing)
    model = fitted(X.astype(np.float32), graph, Y, 0.02, strategy=strategy, tol=1e-5)
    assert len(model.objective_) > 1
    assert (np.diff(model.objective_) <= 1e-8 * model.objective_[-1]).all()


def test_the_order_of_photos_tags_and_features_does_not_matter():
    X, Y, graph = problem(missing=0.2)
    rng = np.random.default_rng(0)
    rows, columns, tags = rng.permutation(40), rng.permutation(8), rng.permutation(3)
    moved = NeighborGraph.from_weights(graph.weights[rows][:, rows])
    plain = fitted(X, graph, Y, 0.1)
    other = SFSS(graph=moved, sparsity=plain.sparsity_, tol=1e-8).fit(X[rows][:, columns], Y[rows][:, tags])
    np.testing.assert_allclose(other.coef_, plain.coef_[columns][:, tags], atol=1e-6)
    np.testing.assert_allclose(other.transduction_, plain.transduction_[rows][:, tags], atol=1e-6)


@pytest.mark.parametrize("shape", [(30, 6), (12, 30)])
def test_without_unknowns_and_penalty_it_is_least_squares_of_least_norm(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape)
    Y = (rng.random((shape[0], 3)) < 0.5).astype(np.int8)
    for mu in (0.1, 10.0):
        model = SFSS(sparsity=0.0, regression_weight=mu).fit(X, Y)
        expected = np.linalg.lstsq(X - X.mean(axis=0), Y - Y.mean(axis=0), rcond=None)[0]
        np.testing.assert_allclose(model.coef_, expected, atol=1e-8)
        np.testing.assert_array_equal(model.transduction_, Y)
        assert model.optimality_ <= 1e-8


def test_no_penalty_with_unknowns_is_stationary():
    X, Y, graph = problem(missing=0.3)
    model = SFSS(sparsity=0.0, graph=graph).fit(X, Y)
    gradient = brute_force_gradient(X, graph, Y, model.coef_, 1.0, 1.0)
    assert np.abs(gradient).max() <= 1e-7 * np.abs(brute_force_gradient(X, graph, Y, 0 * model.coef_, 1.0, 1.0)).max()


def test_no_label_for_a_tag_and_no_pull_is_an_error_that_names_it():
    X, Y, graph = problem()
    Y[:, 1] = -1
    with pytest.raises(InvalidLabelsError, match=r"unlabeled_pull=0 .* \[1\]"), pytest.warns(UserWarning, match="1"):
        SFSS(unlabeled_pull=0.0, graph=graph).fit(X, Y)


def test_a_tag_without_positives_is_named():
    X, Y, graph = problem()
    Y[Y[:, 2] == 1, 2] = 0
    with pytest.warns(UserWarning, match=r"\[2\]"):
        SFSS(sparsity=1.0, graph=graph).fit(X, Y)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_path_starts_at_zero_and_equals_single_fits(missing):
    X, Y, graph = problem(missing=missing)
    model = SFSS(graph=graph)
    path = model.sparsity_path(X, Y, n_points=6, smallest=0.05)
    assert path.sparsities[0] == pytest.approx(model.largest_sparsity(X, Y))
    assert path.n_selected[0] == 0
    assert path.n_selected[-1] > 0
    assert (path.optimalities <= 1e-6).all()
    single = SFSS(graph=graph, sparsity=path.sparsities[3]).fit(X, Y)
    np.testing.assert_allclose(path.coefs[3], single.coef_, atol=1e-5)
    np.testing.assert_allclose(path.intercepts[3], single.intercept_, atol=1e-5)
    assert path.objectives[3] == pytest.approx(single.objective_[-1], rel=1e-8)
    assert SFSS(graph=graph, sparsity=path.sparsities[0] * 0.999).fit(X, Y).selected_features_.size > 0


@pytest.mark.parametrize("pull", [0.2, 1.0])
@pytest.mark.parametrize("mu", [0.5, 20.0])
def test_the_path_of_float32_features_is_that_of_the_true_problem(mu, pull):
    """F is eliminated once for all γ there: optimality, objective and intercept against dense brute force."""
    X, Y, graph = problem(300, 20, 4, n_labelled=60, seed=4)
    X = X.astype(np.float32)
    model = SFSS(graph=graph, regression_weight=mu, unlabeled_pull=pull, tol=1e-4)
    path = model.sparsity_path(X, Y, n_points=5, smallest=0.02)
    assert path.n_selected[0] == 0
    assert path.n_selected[-1] > 10
    assert (path.optimalities <= 1e-4).all()
    double = X.astype(np.float64)
    for W, b, gamma, objective in zip(path.coefs, path.intercepts, path.sparsities, path.objectives, strict=True):
        gradient = brute_force_gradient(double, graph, Y, W, mu, pull)
        norms = np.linalg.norm(W, axis=1, keepdims=True)
        used = norms[:, 0] > 0
        residual = np.linalg.norm(gradient[used] + gamma * W[used] / norms[used], axis=1).max(initial=0.0)
        residual = max(residual, (np.linalg.norm(gradient[~used], axis=1) - gamma).max(initial=0.0))
        assert residual <= 1.1e-4 * gamma
        single = SFSS(graph=graph, regression_weight=mu, unlabeled_pull=pull, sparsity=gamma, tol=1e-8).fit(double, Y)
        assert objective == pytest.approx(single.objective_[-1], rel=1e-6)
        np.testing.assert_allclose(b, single.intercept_, atol=1e-3)


@pytest.mark.parametrize("accuracy", [0.1, 0.01])
def test_the_bound_of_the_reduced_gradient_holds(accuracy):
    X, Y, graph = problem(200, 12, 3, n_labelled=50)
    system = ScoreSystem(graph, Y, 1.0, 0.5, None)
    features = CentredFeatures(X, np.float64)
    model = ReducedModel(features, system, GramModel(features, 1.0), accuracy)
    zero = np.zeros((12, 3))
    reduced = ReducedProblem(model, zero, 0.0, np.zeros((system.unknown_rows.size, 3)), bounded=True)
    reduced.add(np.arange(0, 12, 2))
    reduced.add(np.arange(12))
    W = np.random.default_rng(0).standard_normal((12, 3))
    found = 2.0 * model.product(np.arange(12), W)
    exact = brute_force_gradient(X, graph, Y, W, 1.0, 0.5) - brute_force_gradient(X, graph, Y, zero, 1.0, 0.5)
    error = np.linalg.norm(found - exact, axis=1).max()
    assert 1e-9 * np.abs(exact).max() < error <= reduced.bound(W)
    assert reduced.bound(W) <= 10 * accuracy**2 * np.linalg.norm(exact, axis=1).max()


def test_a_path_that_the_polynomial_is_too_coarse_for_is_solved_in_rounds(monkeypatch):
    X, Y, graph = problem(300, 20, 4, n_labelled=60, seed=4)
    X = X.astype(np.float32)
    fine = SFSS(graph=graph, tol=1e-4).sparsity_path(X, Y, n_points=4, smallest=0.05)
    monkeypatch.setattr("tagloom.methods.sfss.solve.FINE", 0.1)
    coarse = SFSS(graph=graph, tol=1e-4).sparsity_path(X, Y, n_points=4, smallest=0.05)
    assert (coarse.optimalities <= 1e-4).all()
    np.testing.assert_allclose(coarse.coefs, fine.coefs, atol=1e-3)


def test_float32_features_give_the_same():
    X, Y, graph = problem(300, 20, 4, n_labelled=60)
    X = X.astype(np.float32)
    double = fitted(X.astype(np.float64), graph, Y, 0.1, tol=1e-6)
    for tol in (1e-6, 1e-4):
        single = SFSS(sparsity=double.sparsity_, graph=graph, tol=tol).fit(X, Y)
        assert single.optimality_ <= tol
        assert value_of(single, X.astype(float), graph, Y) == pytest.approx(double.objective_[-1], rel=1e-6)
        np.testing.assert_array_equal(single.selected_features_, double.selected_features_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_features_give_the_same(dtype):
    X, Y, graph = problem(80, 20, 3, n_labelled=30)
    X = np.where(np.abs(X) > 2.0, X, 0.0).astype(dtype)
    dense = fitted(X, graph, Y, 0.1)
    for make in (sparse.csr_array, sparse.csr_matrix, sparse.csc_array):
        thin = SFSS(sparsity=dense.sparsity_, graph=graph, tol=1e-8).fit(make(X), Y)
        np.testing.assert_allclose(thin.coef_, dense.coef_, atol=1e-5)
        np.testing.assert_allclose(thin.decision_function(make(X)), dense.decision_function(X), atol=1e-4)
    assert SFSS(sparsity=1.0).fit(sparse.csr_array(X), Y).coef_.shape == (20, 3)


def test_many_features_are_taken_as_they_are_needed(monkeypatch):
    X, Y, graph = problem(30, 120, 3, n_labelled=15)
    whole = fitted(X, graph, Y, 0.3)
    monkeypatch.setattr("tagloom.methods.sfss.problem.WHOLE", 10)
    parts = SFSS(sparsity=whole.sparsity_, graph=graph, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(parts.coef_, whole.coef_, atol=1e-6)


def test_automatic_sparsity_keeps_the_features_that_matter():
    rng = np.random.default_rng(0)
    X, Y, _ = problem(150, 20, 3, n_labelled=60, seed=1)
    model = SFSS().fit(X, Y)
    assert {0, 1, 2} <= set(model.selected_features_.tolist())
    largest = SFSS().largest_sparsity(X, Y)
    assert 0.001 * largest < model.sparsity_ < largest
    again = SFSS(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    nothing = np.where(rng.random((150, 1)) < 0.5, 1, 0).astype(np.int8)
    nothing[1:] = -1
    assert SFSS().fit(X, np.ones_like(nothing)).sparsity_ >= 0.0


@pytest.mark.medium
@pytest.mark.parametrize("objective", ["joint", "direct"])
def test_automatic_sparsity_is_that_of_the_best_held_out_ranking(objective):
    X, Y, graph = problem(150, 20, 3, n_labelled=60, seed=1)
    model = SFSS(objective=objective, graph=graph, tol=1e-4).fit(X, Y)
    largest = SFSS(objective=objective, graph=graph).largest_sparsity(X, Y)
    quality = np.zeros(len(SHARES))
    for labels, held_out in LabeledKFold(5, random_state=0).split_labels(Y):
        for place, share in enumerate(SHARES):
            fold = fitted(X, graph, labels, share, objective=objective, tol=1e-4)
            quality[place] += mean_average_precision(Y[held_out], fold.decision_function(X[held_out])) / 5
    chosen = int(np.argmin(np.abs(SHARES - model.sparsity_ / largest)))
    assert model.sparsity_ == pytest.approx(SHARES[chosen] * largest, rel=1e-4)
    assert quality[chosen] >= quality.max() - 2e-3


@pytest.mark.parametrize("convert", [np.asarray, np.float32, sparse.csr_array])
def test_automatic_sparsity_has_rounds_for_the_last_fit_alone(convert, monkeypatch):
    """Fits that are only compared eliminate F, whatever ``tol``; the last one is the fit with the number given."""
    X, Y, graph = problem(300, 20, 4, n_labelled=60, seed=4)
    X = convert(np.where(np.abs(X) > 1.0, X, 0.0))
    solved = []
    solve = JointProblem.solve
    monkeypatch.setattr(
        JointProblem, "solve", lambda problem, gamma, **more: solved.append(gamma) or solve(problem, gamma, **more)
    )
    model = SFSS(graph=graph).fit(X, Y)
    assert solved == [model.sparsity_]
    largest = SFSS(graph=graph).largest_sparsity(X, Y)
    assert np.abs(SHARES * largest / model.sparsity_ - 1).min() < 1e-12
    single = SFSS(graph=graph, sparsity=model.sparsity_).fit(X, Y)
    assert model.optimality_ <= 1e-6
    np.testing.assert_array_equal(model.selected_features_, single.selected_features_)
    np.testing.assert_allclose(model.coef_, single.coef_, rtol=0, atol=1e-12)
    assert model.objective_[-1] == pytest.approx(single.objective_[-1], rel=1e-12)


@pytest.mark.medium
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(4))
def test_automatic_sparsity_is_the_choice_of_tight_fits(seed, dtype):
    X, Y, graph = problem(150, 15, 3, n_labelled=50, seed=seed)
    X = X.astype(dtype)
    quality = np.zeros(len(SHARES))
    for labels, held_out in LabeledKFold(5, random_state=0).split_labels(Y):
        for place, share in enumerate(SHARES):
            fold = fitted(X.astype(np.float64), graph, labels, share, tol=1e-7)
            quality[place] += mean_average_precision(Y[held_out], fold.decision_function(X[held_out])) / 5
    model = SFSS(graph=graph).fit(X, Y)
    largest = SFSS(graph=graph).largest_sparsity(X, Y)
    chosen = int(np.argmin(np.abs(SHARES * largest - model.sparsity_)))
    assert chosen == int(np.argmax(quality))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_scores_of_some_photos_are_those_of_all(convert):
    X, _, _ = problem(30, 8)
    features = CentredFeatures(convert(X), np.float64)
    W = np.random.default_rng(0).normal(size=(8, 3))
    W[::3] = 0.0
    rows = np.array([7, 2, 29])
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(features.times_on(rows, W), centred[rows] @ W, atol=1e-12)


@pytest.mark.parametrize("objective", ["joint", "direct"])
def test_automatic_sparsity_without_anything_to_compare_is_told(objective):
    X, Y, graph = problem()
    Y[Y == 1] = 0
    with pytest.warns(UserWarning, match="no held-out labels"), pytest.warns(UserWarning, match="no photo is known"):
        model = SFSS(objective=objective, graph=graph).fit(X, Y)
    largest = SFSS(objective=objective, graph=graph).largest_sparsity(X, Y)
    assert model.sparsity_ == pytest.approx(0.1 * largest, rel=1e-4)


def test_selected_features_are_counted_by_group():
    X, Y, graph = problem(80, 12, 3, n_labelled=40)
    model = fitted(X, graph, Y, 0.3, tol=1e-6)
    counts = model.selected_by_group(FeatureGroups(["signal", "noise"], [3, 9]))
    assert counts == {"signal": (model.selected_features_ < 3).sum(), "noise": (model.selected_features_ >= 3).sum()}
    assert counts["signal"] > 0
    with pytest.raises(InvalidInputError, match="expected 12, got 4"):
        model.selected_by_group(FeatureGroups(["all"], [4]))


def test_it_is_a_feature_selector_in_a_pipeline():
    X, Y, graph = problem(80, 12, 3, n_labelled=40)
    model = fitted(X, graph, Y, 0.5, tol=1e-6)
    assert 0 < model.selected_features_.size < 12
    np.testing.assert_array_equal(np.flatnonzero(model.get_support()), model.selected_features_)
    np.testing.assert_array_equal(model.transform(X), X[:, model.selected_features_])
    np.testing.assert_allclose(model.feature_scores_, np.linalg.norm(model.coef_, axis=1))
    pipeline = make_pipeline(SFSS(sparsity=model.sparsity_, n_neighbors=5), RegularizedLeastSquares(1.0))
    pipeline.fit(X, Y)
    reduced = RegularizedLeastSquares(1.0).fit(pipeline[0].transform(X), Y)
    np.testing.assert_allclose(pipeline.decision_function(X), reduced.decision_function(pipeline[0].transform(X)))


def conic_direct(X, graph, Y, mu, gamma):
    """Minimise Eq. (3) by a conic solver, for labels by rows."""
    W, b = cp.Variable((X.shape[1], Y.shape[1])), cp.Variable((1, Y.shape[1]))
    root = np.linalg.cholesky(graph.laplacian().toarray() + 1e-12 * np.eye(len(X))).T
    rows = (Y != -1).all(axis=1)
    fit = X[rows] @ W + np.ones((rows.sum(), 1)) @ b - Y[rows]
    parts = cp.sum_squares(root @ X @ W) + mu * cp.sum_squares(fit) + gamma * cp.sum(cp.norm(W, 2, axis=1))
    return cp.Problem(cp.Minimize(parts)).solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11)


@pytest.mark.parametrize("solver", ["prox", "irls"])
def test_the_ablation_without_scores_equals_a_conic_solver(solver):
    X, Y, graph = problem()
    model = fitted(X, graph, Y, 0.1, objective="direct", solver=solver)
    best = conic_direct(X, graph, Y, 1.0, model.sparsity_)
    assert model.objective_[-1] == pytest.approx(best, rel=1e-7)
    known = (Y != -1).all(axis=1)
    residual = X[known] @ model.coef_ + model.intercept_ - Y[known]
    np.testing.assert_allclose(residual.mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(model.transduction_, model.decision_function(X), atol=1e-10)


def test_the_ablation_treats_each_tag_by_its_own_photos():
    X, Y, graph = problem(missing=0.4)
    both = fitted(X, graph, Y, 0.0, objective="direct")
    alone = SFSS(sparsity=0.0, graph=graph, objective="direct").fit(X, Y[:, 1:2])
    np.testing.assert_allclose(both.coef_[:, 1], alone.coef_[:, 0], atol=1e-8)
    assert fitted(X, graph, Y, 1.001, objective="direct").selected_features_.size == 0
    assert fitted(X, graph, Y, 0.3, objective="direct").optimality_ <= 1e-8


def test_too_few_rounds_are_told():
    X, Y, graph = problem()
    with pytest.warns(ConvergenceWarning, match="1 of at most 1 rounds"):
        SFSS(sparsity=0.1, graph=graph, max_iter=1, tol=1e-10).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sparsity": -1.0}, "sparsity"),
        ({"sparsity": "best"}, "sparsity"),
        ({"regression_weight": 0.0}, "regression_weight"),
        ({"unlabeled_pull": -0.5}, "unlabeled_pull"),
        ({"solver": "newton"}, "solver"),
        ({"objective": "both"}, "objective"),
        ({"strategy": "fast"}, "strategy"),
        ({"tol": 0.0}, "tol"),
    ],
)
def test_wrong_parameters_are_named(parameters, message):
    X, Y, graph = problem()
    with pytest.raises(InvalidInputError, match=message):
        SFSS(graph=graph, **parameters).fit(X, Y)


def test_a_graph_of_other_photos_is_an_error():
    X, Y, graph = problem()
    with pytest.raises(InvalidInputError, match="expected 39, got 40"):
        SFSS(graph=graph).fit(X[1:], Y[1:])
    with pytest.raises(InvalidInputError, match="n_points"):
        SFSS(graph=graph).sparsity_path(X, Y, n_points=1)
    with pytest.raises(InvalidInputError, match="joint"):
        SFSS(graph=graph, objective="direct").sparsity_path(X, Y)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_beyond_single_precision_are_told(dtype):
    X, Y, graph = problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInputError, match=r"SFSS bears features of up to 1e\+16, got .*e\+20"):
            SFSS(graph=graph).fit((X * 1e20).astype(dtype), Y)
        large = SFSS(sparsity=1e14, graph=graph).fit((X * 1e15).astype(dtype), Y)
    plain = SFSS(sparsity=0.1, graph=graph).fit(X.astype(dtype), Y)
    # With γ scaled as the features are, W is that of the features as they were.
    np.testing.assert_allclose(large.coef_ * 1e15, plain.coef_, atol=1e-5)


# Which scores rank.


def test_scores_that_rank_are_f_or_the_regression():
    X, Y, graph = problem(missing=0.1)
    shared = {"graph": graph, "sparsity": 1.0}
    plain = SFSS(**shared).fit(X, Y)
    line = SFSS(**shared, ranking="regression").fit(X, Y)
    assert (plain.ranking_, line.ranking_) == ("propagated", "regression")
    np.testing.assert_array_equal(line.coef_, plain.coef_)
    np.testing.assert_allclose(line.transduction_, X @ plain.coef_ + plain.intercept_, atol=1e-12)
    np.testing.assert_array_equal(line.thresholds_, plain.thresholds_)


@pytest.mark.parametrize("seed", range(6))
def test_the_ranking_is_the_better_one_on_held_out_photos(seed):
    X, Y, graph = problem(n=60, n_labelled=30, seed=seed)
    found = SFSS(graph=graph, sparsity=2.0, ranking="auto").fit(X, Y)
    figures = []
    for labels, held_out in LabeledKFold(5, random_state=0).split_labels(Y):
        fold = SFSS(graph=graph, sparsity=2.0).fit(X, labels)
        both = fold.transduction_[held_out], fold.decision_function(X[held_out])
        figures.append([mean_average_precision(Y[held_out], scores) for scores in both])
    propagated, regression = np.mean(figures, axis=0)
    assert found.ranking_ == ("regression" if regression > propagated else "propagated")


def test_with_a_useless_graph_the_regression_ranks_and_with_useless_features_the_graph():
    rng = np.random.default_rng(0)
    cluster = np.arange(90) % 3
    Y = np.where(np.arange(90)[:, None] < 45, np.eye(3, dtype=np.int8)[cluster], -1).astype(np.int8)
    told = np.eye(3)[cluster] + 0.1 * rng.normal(size=(90, 3))
    noise = rng.normal(size=(90, 3))
    found = {
        name: SFSS(graph=knn_graph(space, 5), sparsity=0.5, ranking="auto").fit(X, Y).ranking_
        for name, X, space in (("features", told, noise), ("graph", noise, told))
    }
    assert found == {"features": "regression", "graph": "propagated"}


def test_without_enough_labels_to_compare_f_ranks():
    X, Y, graph = problem(n_labelled=1)
    assert SFSS(graph=graph, sparsity=1.0, ranking="auto").fit(X, Y).ranking_ == "propagated"
