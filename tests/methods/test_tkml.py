"""TKML and wTKML against the printed equations, certificates and limits."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from benchmarks.literal import tkml as literal
from tagloom.core.seeds import check_generator
from tagloom.datasets.toy import make_arms
from tagloom.exceptions import InvalidInputError
from tagloom.graph import knn_graph
from tagloom.methods.tkml import TKML
from tagloom.methods.tkml.map import LabelSpace, _factor, diffuse, solve_labels
from tagloom.methods.tkml.problem import KernelMap, TkmlProblem, label_weights, learn_dictionary

EXACT = {"tol": 0.0, "solver_tol": 1e-13, "random_state": 3}


def make_problem(m=30, d=5, c=4, labelled=14, *, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, d))
    Y = (X @ rng.normal(size=(d, c)) > 0.5).astype(np.int8)
    Y[0], Y[1] = 1, 0
    Y[labelled:] = -1
    return X, Y


def start_of(model, p, m, d):
    """Return Φ⁰ and B⁰ that a model with random_state=3 draws."""
    generator = check_generator(3)
    kernel_map = model._start(p, m, generator)
    atoms = generator.standard_normal((p, d))
    return kernel_map.explicit(), (atoms / np.linalg.norm(atoms, axis=1, keepdims=True)).T


def as_printed(X, Y, *, weighted):
    """Return the paper's X, Y, Ω and A: photos as columns, everything dense."""
    A = knn_graph(X, 6, weights="heat").weights.toarray()
    return X.T, np.where(Y == -1, 0.0, 2.0 * Y - 1.0).T, label_weights(Y, weighted=weighted).T, A


def relative(found, expected):
    return np.abs(found - expected).max() / np.abs(expected).max()


def fixed_point_residual(model, X, Y, mu, *, weighted):
    """Return the relative residual of Eq. (8) at its fixed point."""
    features, targets, weights, A = as_printed(X, Y, weighted=weighted)
    B, W, Phi = model.dictionary_, model.classifier_, model.kernel_map_
    L = np.diag(A.sum(axis=1)) - A
    rhs = B.T @ features + W @ (weights * targets)
    scores = W.T @ Phi
    residual = B.T @ (B @ Phi) + mu * Phi + W @ (scores @ L + weights * scores) - rhs
    return np.linalg.norm(residual) / np.linalg.norm(rhs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("start", ["assignment", "gaussian"])
@pytest.mark.parametrize("mu", [1.0, 1e-3])
@pytest.mark.parametrize("n_atoms", [None, 4, pytest.param(24, marks=pytest.mark.medium)])
def test_equal_to_the_printed_iteration(weighted, start, mu, n_atoms):
    X, Y = make_problem(m=20, labelled=9)
    model = TKML(rank_penalty=mu, n_atoms=n_atoms, weighted=weighted, start=start, **EXACT).fit(X, Y)
    p = model.dictionary_.shape[1]
    assert p == (n_atoms or 10)
    Phi, B = start_of(model, p, *X.shape)
    B, Phi, W = literal.tkml(*as_printed(X, Y, weighted=weighted), Phi, B, mu=mu)
    assert relative(model.dictionary_, B) < 1e-8
    assert relative(model.kernel_map_, Phi) < 1e-8
    assert relative(model.classifier_, W) < 1e-8
    assert relative(model.transduction_, (W.T @ Phi).T) < 1e-8


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_atoms", [None, 4, 40])
def test_stable_at_the_rank_penalty_of_the_paper(weighted, n_atoms):
    X, Y = make_problem()
    model = TKML(n_atoms=n_atoms, weighted=weighted, random_state=3).fit(X, Y)
    assert model.rank_penalty == 1e-8
    assert fixed_point_residual(model, X, Y, 1e-8, weighted=weighted) <= 1e-6
    np.testing.assert_allclose(model.classifier_.T @ model.kernel_map_, model.transduction_.T, atol=1e-6)


def test_labels_unknown_for_single_tags_have_weight_zero():
    X, Y = make_problem(labelled=20)
    Y[np.random.default_rng(5).random(Y.shape) < 0.3] = -1
    model = TKML(rank_penalty=0.01, **EXACT).fit(X, Y)
    Phi, B = start_of(model, model.dictionary_.shape[1], *X.shape)
    B, Phi, W = literal.tkml(*as_printed(X, Y, weighted=False), Phi, B, mu=0.01)
    assert relative(model.transduction_, (W.T @ Phi).T) < 1e-8


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mu", [1.0, 1e-3, 1e-8])
def test_the_objective_is_eq_5_and_never_rises(weighted, mu):
    X, Y = make_problem()
    model = TKML(rank_penalty=mu, weighted=weighted, **EXACT).fit(X, Y)
    features, targets, weights, A = as_printed(X, Y, weighted=weighted)
    found = literal.objective(
        features, targets, weights, A, model.dictionary_, model.kernel_map_, model.classifier_, 1.0, 1.0, mu
    )
    assert len(model.objective_) == 2 * model.n_iter_ == 10
    assert model.objective_[-1] == pytest.approx(found, rel=1e-9)
    assert (np.diff(model.objective_) <= 1e-12 * np.abs(model.objective_[:-1])).all()


def test_atoms_have_unit_norm_and_satisfy_the_stationarity_of_the_dual():
    X, Y = make_problem(d=8)
    model = TKML(n_atoms=6, rank_penalty=0.1, dictionary_sweeps=2000, max_iter=2, **EXACT).fit(X, Y)
    np.testing.assert_allclose(np.linalg.norm(model.dictionary_, axis=0), 1.0, rtol=1e-12)
    assert model.stationarity_ <= 1e-11
    # The last dictionary was learned for the map of the round before, which a fit of one round ends with.
    Phi = TKML(n_atoms=6, rank_penalty=0.1, dictionary_sweeps=2000, max_iter=1, **EXACT).fit(X, Y).kernel_map_
    B, Lambda = model.dictionary_, np.diag(model.multipliers_)
    np.testing.assert_allclose(X.T @ Phi.T, B @ (Phi @ Phi.T + Lambda), atol=1e-9)


def test_sweeps_reach_the_optimum_of_the_dual_where_it_is_attained():
    rng = np.random.default_rng(0)
    X, Phi = rng.normal(size=(40, 9)), rng.normal(size=(6, 40))
    B, multipliers = literal.dual_dictionary(X.T, Phi)
    assert np.linalg.eigvalsh(Phi @ Phi.T + np.diag(multipliers)).min() > 0
    np.testing.assert_allclose(np.linalg.norm(B, axis=0), 1.0, atol=1e-10)
    atoms = rng.normal(size=(6, 9))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    found = learn_dictionary(X, KernelMap(Phi.T.copy()), atoms, max_sweeps=3000, tol=1e-13)
    np.testing.assert_allclose(found.atoms.T, B, atol=1e-8)
    np.testing.assert_allclose(found.multipliers, multipliers, atol=1e-7)
    assert found.misfit == pytest.approx(np.sum((X.T - B @ Phi) ** 2), rel=1e-10)


def test_a_block_of_atoms_is_as_good_as_one_after_the_other():
    rng = np.random.default_rng(1)
    X, Z = rng.normal(size=(90, 4)), rng.normal(size=(90, 10))
    basis = np.linalg.qr(rng.normal(size=(150, 10)))[0]
    atoms = rng.normal(size=(150, 4))
    atoms /= np.linalg.norm(atoms, axis=1, keepdims=True)
    found = learn_dictionary(X, KernelMap(Z, basis), atoms, max_sweeps=2, tol=0.0)
    expected = literal.swept_dictionary(X.T, basis @ Z.T, atoms.T, 2)
    np.testing.assert_allclose(found.atoms.T, expected, atol=1e-9)


def test_diffusion_is_the_sweep_of_eq_8_and_ends_short_of_its_limit():
    X, Y = make_problem()
    features, targets, weights, A = as_printed(X, Y, weighted=False)
    rng = np.random.default_rng(2)
    B, W = rng.normal(size=(5, 9)), rng.normal(size=(9, 4))
    B /= np.linalg.norm(B, axis=0)
    start = rng.normal(size=(9, 30))
    problem = TkmlProblem(
        X, targets.T, weights.T, knn_graph(X, 6, weights="heat").laplacian(), 1.0, 1.0, 0.01, tol=1e-13
    )
    space = LabelSpace.of(B.T, W, fidelity=1.0, rank_penalty=0.01)
    arguments = features, B, W, A, targets, weights[0], 1.0, 1.0, 0.01
    Psi = literal.diffusion(start, *arguments, eps=0.0, max_sweeps=3)
    found, scores, n_sweeps = diffuse(problem, space, start.T @ W, max_sweeps=3, tol=0.0)
    assert n_sweeps == 3
    assert relative(found.explicit(), Psi) < 1e-10
    assert relative(scores, Psi.T @ W) < 1e-10
    limit, _, _ = solve_labels(problem, space)
    Psi = literal.diffusion(start, *arguments, eps=1e-12, max_sweeps=20000)
    assert relative(limit.explicit(), Psi) < 1e-8
    assert relative(found.explicit(), Psi) > 1e-3
    stopped, _, n_sweeps = diffuse(problem, space, start.T @ W, max_sweeps=1000, tol=1e-2)
    assert relative(stopped.explicit(), literal.diffusion(start, *arguments, max_sweeps=1000)) < 1e-8
    assert 3 < n_sweeps < 1000


def test_the_diffusion_of_the_paper_as_a_solver():
    X, Y = make_problem()
    model = TKML(solver="diffusion", rank_penalty=0.01, **EXACT).fit(X, Y)
    Phi, B = start_of(model, 15, *X.shape)
    _, Phi, _ = literal.tkml(*as_printed(X, Y, weighted=False), Phi, B, mu=0.01, limit="diffusion")
    assert relative(model.kernel_map_, Phi) < 1e-8
    for parameters, labels in (({"weighted": True}, Y), ({}, np.where(np.eye(30, 4) > 0, -1, Y))):
        with pytest.raises(InvalidInputError, match="diffusion"):
            TKML(solver="diffusion", **parameters).fit(X, labels)


@pytest.mark.parametrize(("fidelity", "smoothness"), [(1.0, 1.0), (1.0, 10.0), (10.0, 1.0)])
def test_the_toy_problem_of_figure_1(fidelity, smoothness):
    X, truth = make_arms(240, random_state=0)
    Y = np.full_like(truth, -1)
    Y[120:123] = truth[120:123]
    model = TKML(n_atoms=10, fidelity=fidelity, smoothness=smoothness, start="gaussian", tol=0.0, random_state=0).fit(
        X, Y
    )
    start = model._start(10, 240, check_generator(0)).explicit()
    assert np.linalg.matrix_rank(start) == 10
    assert np.linalg.matrix_rank(model.kernel_map_, tol=1e-6) == model.effective_rank_ == 4
    np.testing.assert_array_equal(model.transduction_ > 0, truth == 1)
    new, tags = make_arms(240, random_state=9)
    np.testing.assert_array_equal(model.decision_function(new) > 0, tags == 1)
    # Classes are apart in the learned kernel: photos of other arms point elsewhere.
    gram = model.gram()
    cosines = gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))
    same = (np.arange(240)[:, None] - np.arange(240)) % 3 == 0
    assert cosines[same].mean() > cosines[~same].mean() + 0.5


def test_a_new_photo_minimises_the_same_with_its_neighbours_fixed():
    X, Y = make_problem()
    new = make_problem(m=7, seed=4)[0]
    mu = 0.01
    model = TKML(rank_penalty=mu, weighted=True, **EXACT).fit(X, Y)
    links = model._neighborhood().links(new, X, model._bandwidth).toarray()
    B, W = model.dictionary_, model.classifier_
    maps = []
    for x, weights in zip(new, links, strict=True):
        system = B.T @ B + mu * np.eye(B.shape[1]) + weights.sum() * W @ W.T
        maps.append(np.linalg.solve(system, B.T @ x + W @ (model.transduction_.T @ weights)))
    maps = np.array(maps)
    np.testing.assert_allclose(model.decision_function(new), maps @ W, atol=1e-9)
    np.testing.assert_allclose(model.gram(new), maps @ maps.T, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(model.gram(new[:3], new), maps[:3] @ maps.T, rtol=1e-8, atol=1e-8)


def test_the_gram_matrix_of_the_training_photos_is_that_of_the_map():
    X, Y = make_problem()
    model = TKML(rank_penalty=0.01, random_state=0).fit(X, Y)
    Phi = model.kernel_map_
    assert Phi.shape == (15, 30)
    np.testing.assert_allclose(model.gram(), Phi.T @ Phi, rtol=1e-9, atol=1e-9)
    assert model.effective_rank_ == np.linalg.matrix_rank(Phi) == 9


def test_a_classifier_that_is_zero_leaves_the_reconstruction():
    X, _ = make_problem()
    atoms = np.eye(5)
    problem = TkmlProblem(X, np.zeros((30, 2)), np.zeros((30, 2)), sparse.csr_array((30, 30)), 1.0, 2.0, 0.5)
    space = LabelSpace.of(atoms, np.zeros((5, 2)), fidelity=2.0, rank_penalty=0.5)
    found, scores, _ = solve_labels(problem, space)
    np.testing.assert_allclose(found.explicit(), X.T * 2.0 / 2.5, atol=1e-12)
    np.testing.assert_array_equal(scores, 0.0)


def test_weights_balance_yes_and_no():
    Y = np.array([[1, 1, -1], [0, 1, 0], [0, -1, -1], [0, 1, 1]], dtype=np.int8)
    weights = label_weights(Y, weighted=True)
    np.testing.assert_allclose(weights[:, 0], [2, 2 / 3, 2 / 3, 2 / 3])
    np.testing.assert_array_equal(weights[:, 1], [1, 1, 0, 1])
    np.testing.assert_array_equal(weights[:, 2], [0, 1, 0, 1])
    np.testing.assert_array_equal(label_weights(Y, weighted=True, balance=0.0), Y != -1)
    np.testing.assert_array_equal(label_weights(Y, weighted=False), Y != -1)


def test_balance_of_zero_is_tkml():
    X, Y = make_problem()
    plain = TKML(random_state=0).fit(X, Y)
    np.testing.assert_array_equal(
        TKML(weighted=True, balance=0.0, random_state=0).fit(X, Y).transduction_, plain.transduction_
    )


def test_histogram_intersection_is_the_weight_of_an_edge():
    rng = np.random.default_rng(0)
    X = rng.random((20, 6))
    X /= X.sum(axis=1, keepdims=True)
    Y = (X[:, :2] > 0.2).astype(np.int8)
    model = TKML(metric="intersection", weights="similarity", n_neighbors=3, random_state=0).fit(X, Y)
    weights = model._neighborhood().graph(X).weights
    row, column = weights.nonzero()
    np.testing.assert_allclose(weights[row, column], np.minimum(X[row], X[column]).sum(axis=1))
    links = model._neighborhood().links(X[:4], X, None)
    np.testing.assert_allclose(links.max(axis=1).toarray().ravel(), 1.0)
    with pytest.raises(InvalidInputError, match="similarity"):
        TKML(weights="similarity").fit(X, Y)


def test_a_graph_of_ones_own():
    X, Y = make_problem()
    graph = knn_graph(X, 6, weights="heat")
    own = TKML(graph=graph, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(own.transduction_, TKML(random_state=0).fit(X, Y).transduction_)
    with pytest.raises(InvalidInputError, match="one node"):
        TKML(graph=graph).fit(X[:20], Y[:20])


@pytest.mark.parametrize(
    "parameters",
    [
        {"smoothness": -1.0},
        {"fidelity": 0.0},
        {"rank_penalty": 0.0},
        {"n_atoms": 0},
        {"n_neighbors": 0},
        {"balance": -1.0},
        {"max_iter": 0},
        {"solver": "newton"},
        {"start": "zeros"},
        {"start": np.ones((2, 2))},
        {"bandwidth": 0.0},
        {"weights": "dot"},
    ],
)
def test_wrong_parameters_are_named(parameters):
    with pytest.raises(InvalidInputError, match=next(iter(parameters))):
        TKML(**parameters).fit(*make_problem())


def test_a_kernel_of_too_many_photos_is_refused(monkeypatch):
    monkeypatch.setattr("tagloom.methods.tkml.problem.DENSE_ROWS", 10)
    model = TKML(random_state=0).fit(*make_problem())
    with pytest.raises(InvalidInputError, match="30 photos"):
        model.gram()


@pytest.mark.parametrize("labelled", [14, 30])
def test_standardised_scores_are_the_plain_ones_without_their_spread(labelled):
    X, Y = make_problem(labelled=labelled)
    plain = TKML(rank_penalty=1e-3, random_state=3).fit(X, Y)
    standardised = TKML(rank_penalty=1e-3, random_state=3, standardize_scores=True).fit(X, Y)
    rows = slice(labelled, None) if labelled < len(X) else slice(None)
    centre, width = plain.transduction_[rows].mean(axis=0), plain.transduction_[rows].std(axis=0)
    np.testing.assert_allclose(standardised.transduction_, (plain.transduction_ - centre) / width, rtol=1e-9, atol=1e-9)
    new = np.random.default_rng(1).normal(size=(6, X.shape[1]))
    expected = (plain.decision_function(new) - centre) / width
    np.testing.assert_allclose(standardised.decision_function(new), expected, rtol=1e-9, atol=1e-9)


def test_a_tag_of_constant_scores_keeps_them_finite():
    X, Y = make_problem()
    Y[:, 0] = -1
    model = TKML(rank_penalty=1e-3, random_state=3, standardize_scores=True).fit(X, Y)
    assert np.isfinite(model.transduction_).all()
    assert np.isfinite(model.decision_function(X[:3])).all()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [1e14, 1e60, 1e300])
def test_features_that_leave_nothing_of_the_penalty_are_told(scale, weighted):
    X, Y = make_problem()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidInputError, match=r"TKML .*[Dd]ivide each column by its standard deviation"):
            TKML(weighted=weighted, random_state=0).fit(X * scale, Y)


@pytest.mark.parametrize("lower", [False, True])
def test_a_classifier_whose_penalty_is_rounded_away_is_told(lower):
    """Coordinates of 1e9 in a plane: beside their products the unit of the penalty is below rounding."""
    rng = np.random.default_rng(0)
    Z = 1e9 * rng.normal(size=(30, 2)) @ rng.normal(size=(2, 12))
    system = Z.T @ Z + np.eye(12)
    assert np.linalg.eigvalsh(system)[0] < 0
    with pytest.raises(InvalidInputError, match="Divide each column by its standard deviation"):
        _factor(system, lower=lower)
    with pytest.raises(InvalidInputError, match="TKML cannot solve"):
        _factor(np.full((2, 2), np.inf), lower=lower)
    good = np.cov(rng.normal(size=(4, 50))) + np.eye(4)
    triangle = np.tril(_factor(good.copy(), lower=True)) if lower else np.triu(_factor(good.copy(), lower=False)).T
    np.testing.assert_allclose(triangle @ triangle.T, good, atol=1e-12)
