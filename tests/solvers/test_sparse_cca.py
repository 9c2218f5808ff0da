"""Oracles: a convex solver for each half step, singular pairs without penalties, grids of directions."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.solvers.cca import SignedFusion, SparseGroupNorm, sparse_cca

GROUPS = FeatureGroups(["colour", "edge", "wavelet", "gist"], [5, 3, 8, 4])


def make_cross(n=150, c=7, *, seed=0):
    """Tags that depend on the first two groups through two factors."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, GROUPS.n_columns))
    scores = X[:, :8] @ rng.normal(size=(8, 2)) @ rng.normal(size=(2, c)) + 2 * rng.normal(size=(n, c))
    Y = np.where(scores > 0, 1.0, -1.0)
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return X.T @ Y / n, np.corrcoef(Y.T)


def penalty_of_tags(v, relations, sparsity, fusion):
    """The definition, pair by pair."""
    total = sparsity * np.abs(v).sum()
    for i in range(len(v)):
        for j in range(i):
            total += fusion * abs(relations[i, j]) * abs(v[i] - np.sign(relations[i, j]) * v[j])
    return total


def penalty_of_features(u, sizes, sparsity, group_sparsity):
    parts = np.split(u, np.cumsum(sizes)[:-1])
    return sparsity * np.abs(u).sum() + group_sparsity * sum(np.sqrt(len(p)) * np.linalg.norm(p) for p in parts)


def solve(problem, tol=1e-9):
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)


@pytest.mark.parametrize("fusion", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("sparsity", [0.0, 0.3])
def test_fused_prox_is_that_of_a_convex_solver(sparsity, fusion):
    rng = np.random.default_rng(3)
    c = 9
    relations = np.corrcoef(rng.normal(size=(c, 12)))
    z = rng.normal(size=c)
    found = SignedFusion(relations, sparsity=sparsity, fusion=fusion).prox(z)
    v = cp.Variable(c)
    first, second = np.triu_indices(c, 1)
    r = relations[first, second]
    fused = cp.sum(cp.multiply(fusion * np.abs(r), cp.abs(v[first] - cp.multiply(np.sign(r), v[second]))))
    solve(cp.Problem(cp.Minimize(0.5 * cp.sum_squares(v - z) + sparsity * cp.norm1(v) + fused)))
    np.testing.assert_allclose(found.point, v.value, atol=2e-6)
    assert found.converged
    assert found.gap <= 1e-12


def test_the_certificate_bounds_the_distance_however_early_it_stops():
    rng = np.random.default_rng(1)
    relations, z = np.corrcoef(rng.normal(size=(20, 30))), rng.normal(size=20)
    exact = SignedFusion(relations, fusion=0.1).prox(z).point
    distances = []
    for max_iter in (0, 10, 20, 40):
        rough = SignedFusion(relations, fusion=0.1, max_iter=max_iter).prox(z)
        distances.append(np.linalg.norm(rough.point - exact))
        assert distances[-1] <= np.sqrt(rough.gap) * np.linalg.norm(z) + 1e-6
    assert distances[0] > 0.1 > distances[-1]
    assert not SignedFusion(relations, fusion=0.1, max_iter=0).prox(z).converged


def test_limits_of_the_fusion():
    z = np.array([3.0, 1.0, -2.0])
    signs = np.array([1.0, 1.0, -1.0])
    np.testing.assert_array_equal(SignedFusion(None).prox(z).point, z)
    together = SignedFusion(np.outer(signs, signs), fusion=50.0).prox(z).point
    np.testing.assert_allclose(together, signs * 2.0, atol=1e-5)
    # A cycle of signs that cannot all hold leaves only zero.
    frustrated = SignedFusion(np.array([[1, 1, 1], [1, 1, -1], [1, -1, 1.0]]), fusion=50.0).prox(z).point
    np.testing.assert_allclose(frustrated, 0.0, atol=1e-5)


def test_a_start_nearby_saves_iterations():
    rng = np.random.default_rng(2)
    fusion = SignedFusion(np.corrcoef(rng.normal(size=(30, 40))), fusion=0.1)
    z = rng.normal(size=30)
    cold = fusion.prox(z)
    assert fusion.prox(z, cold.multipliers).n_iter < cold.n_iter
    assert fusion.value(z) == pytest.approx(
        penalty_of_tags(z, np.corrcoef(np.random.default_rng(2).normal(size=(30, 40))), 0.0, 0.1)
    )


def test_prox_of_features_is_that_of_a_convex_solver():
    rng = np.random.default_rng(4)
    z = rng.normal(size=GROUPS.n_columns)
    norm = SparseGroupNorm(GROUPS.sizes, sparsity=0.2, group_sparsity=0.35)
    u = cp.Variable(len(z))
    parts = [np.sqrt(size) * cp.norm2(u[GROUPS[name]]) for name, size in zip(GROUPS.names, GROUPS.sizes, strict=True)]
    cost = 0.5 * cp.sum_squares(u - z) + 0.2 * cp.norm1(u) + 0.35 * sum(parts)
    problem = cp.Problem(cp.Minimize(cost))
    solve(problem, tol=1e-8)
    point = norm.prox(z)
    assert (
        0.5 * np.square(point - z).sum() + penalty_of_features(point, GROUPS.sizes, 0.2, 0.35) <= problem.value + 1e-9
    )
    np.testing.assert_allclose(point, u.value, atol=1e-4)
    assert norm.value(z) == pytest.approx(penalty_of_features(z, GROUPS.sizes, 0.2, 0.35))


@pytest.mark.parametrize("shape", [(20, 6), (6, 20), (5, 1), (1, 4)])
def test_without_penalties_the_singular_pairs(shape):
    cross = np.random.default_rng(0).normal(size=shape)
    pairs = sparse_cca(cross)
    left, values, right = np.linalg.svd(cross, full_matrices=False)
    np.testing.assert_allclose(pairs.values, values, rtol=1e-10)
    np.testing.assert_allclose(pairs.covariances, values, rtol=1e-10)
    np.testing.assert_allclose(np.abs((pairs.u * left).sum(axis=0)), 1.0, atol=1e-10)
    np.testing.assert_allclose(np.abs((pairs.v * right.T).sum(axis=0)), 1.0, atol=1e-10)


def test_pairs_end_with_the_rank():
    rng = np.random.default_rng(0)
    assert sparse_cca(rng.normal(size=(9, 3)) @ rng.normal(size=(3, 8))).u.shape == (9, 3)
    assert sparse_cca(np.zeros((4, 3))).v.shape == (3, 0)


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_decreases_and_is_the_one_defined(seed):
    cross, relations = make_cross(seed=seed)
    settings = {"feature_sparsity": 0.03, "group_sparsity": 0.03, "tag_sparsity": 0.02, "tag_fusion": 0.02}
    pairs = sparse_cca(cross, groups=GROUPS, tag_correlations=relations, **settings)
    assert pairs.converged
    assert len(pairs.values) >= 2
    remaining = cross.copy()
    for k, history in enumerate(pairs.histories):
        assert (np.diff(history) >= 0).all()
        assert history[-1] > history[0]
        u, v = pairs.u[:, k], pairs.v[:, k]
        assert np.linalg.norm(u) == pytest.approx(1.0)
        assert np.linalg.norm(v) == pytest.approx(1.0)
        penalties = penalty_of_features(u, GROUPS.sizes, 0.03, 0.03) + penalty_of_tags(v, relations, 0.02, 0.02)
        assert pairs.values[k] == pytest.approx(u @ remaining @ v - penalties, abs=1e-9)
        remaining -= (u @ remaining @ v) * np.outer(u, v)


def test_no_half_step_of_a_convex_solver_improves_a_pair():
    cross, relations = make_cross()
    pairs = sparse_cca(
        cross, n_pairs=1, groups=GROUPS, group_sparsity=0.05, tag_fusion=0.03, tag_correlations=relations, tol=1e-12
    )
    u, v = pairs.u[:, 0], pairs.v[:, 0]
    w = cp.Variable(len(v))
    first, second = np.triu_indices(len(v), 1)
    r = relations[first, second]
    fused = 0.03 * cp.sum(cp.multiply(np.abs(r), cp.abs(w[first] - cp.multiply(np.sign(r), w[second]))))
    problem = cp.Problem(cp.Maximize((cross.T @ u) @ w - fused), [cp.norm2(w) <= 1])
    solve(problem)
    fixed = penalty_of_features(u, GROUPS.sizes, 0.0, 0.05)
    assert problem.value - fixed == pytest.approx(pairs.values[0], rel=1e-6)
    np.testing.assert_allclose(w.value, v, atol=1e-3)


def test_groups_that_matter_nowhere_are_exactly_zero():
    cross, _ = make_cross()
    norms = SparseGroupNorm(GROUPS.sizes, group_sparsity=1.0).norms
    pairs = sparse_cca(cross, n_pairs=2, groups=GROUPS, group_sparsity=0.25)
    np.testing.assert_array_equal(norms(pairs.u[:, 0]) > 0, [True, True, False, False])
    assert (pairs.u[8:, 0] == 0.0).all()
    assert (norms(sparse_cca(cross, n_pairs=1).u[:, 0]) > 0).all()


def test_fusion_draws_tags_together():
    cross, relations = make_cross()

    def spread(fusion):
        v = sparse_cca(cross, n_pairs=1, tag_fusion=fusion, tag_correlations=relations).v[:, 0]
        return penalty_of_tags(v, relations, 0.0, 1.0)

    assert spread(0.1) < spread(0.02) < spread(0.0)


def test_a_zero_prox_ends_the_sequence():
    cross, relations = make_cross()
    assert sparse_cca(cross, feature_sparsity=10.0).u.shape == (GROUPS.n_columns, 0)
    assert sparse_cca(cross, tag_sparsity=10.0).v.shape == (7, 0)
    some = sparse_cca(cross, feature_sparsity=0.12, tag_sparsity=0.12, tag_correlations=relations)
    assert 0 < some.u.shape[1] < 7
    assert (some.values > 0).all()


def test_steps_that_do_not_settle_are_named():
    cross, _ = make_cross()
    with pytest.warns(ConvergenceWarning, match="did not settle"):
        sparse_cca(cross, feature_sparsity=0.05, max_iter=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cross": np.ones(3)}, "shape"),
        ({"cross": np.full((2, 2), np.nan)}, "finite"),
        ({"cross": np.ones((3, 2)), "groups": GROUPS}, "must agree"),
        ({"cross": np.ones((3, 2)), "tag_fusion": 1.0}, "needs tag_correlations"),
        ({"cross": np.ones((3, 2)), "feature_sparsity": -1.0}, "not negative"),
        ({"cross": np.ones((3, 2)), "tag_sparsity": -1.0}, "not negative"),
        (
            {"cross": np.ones((3, 2)), "tag_fusion": 1.0, "tag_correlations": np.array([[1.0, 0.5], [0.1, 1.0]])},
            "symmetric",
        ),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
        sparse_cca(**arguments)
