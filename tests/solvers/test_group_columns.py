"""Penalised least squares for many tags against a conic solver, plain loops, the printed algorithm and limits."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path

from benchmarks.literal.nova import nova as literal_nova
from tagloom.exceptions import InvalidInputError
from tagloom.solvers.groups import columns as _group_run
from tagloom.solvers.groups import columns as group_columns
from tagloom.solvers.groups import newton as _group_newton
from tagloom.solvers.groups.columns import GroupColumns
from tagloom.solvers.groups.penalties import MCP, SCAD, Norm
from tagloom.solvers.groups.state import GroupState

RADIALS = [Norm(), SCAD(), SCAD(2.2), MCP(), MCP(1.2)]


def make(n=40, sizes=(3, 1, 4, 2), c=3, seed=0, correlation=0.4, scale=1.0):
    """Centred features with some correlation and targets that half of the groups tell; X, Y, A, B."""
    rng = np.random.default_rng(seed)
    d = sum(sizes)
    mixing = np.eye(d) + correlation * rng.normal(size=(d, d)) / np.sqrt(d)
    X = scale * rng.normal(size=(n, d)) @ mixing
    told = np.repeat(rng.random((len(sizes), c)) < 0.5, sizes, axis=0)
    Y = X @ (told * rng.normal(size=(d, c))) / scale + rng.normal(size=(n, c))
    X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
    return X, Y, X.T @ X / n, X.T @ Y / n


def runs(sizes):
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def literal_value(A, b, w, sizes, radial, strength, weights=None, entry_share=0.0):
    """The objective of one tag, group by group."""
    total = 0.5 * w @ A @ w - b @ w + entry_share * strength * np.abs(w).sum()
    for number, rows in enumerate(runs(sizes)):
        limit = (1 - entry_share) * strength * (1.0 if weights is None else weights[number])
        total += float(radial.value(np.array(np.linalg.norm(w[rows])), np.array(limit)))
    return float(total)


def literal_residual(A, b, w, sizes, radial, strength, weights=None, entry_share=0.0):
    """Largest distance of a group's gradient from minus the subdifferential, in the coordinates as given."""
    worst = 0.0
    for number, rows in enumerate(runs(sizes)):
        limit = (1 - entry_share) * strength * (1.0 if weights is None else weights[number])
        g, part, entry = (A @ w - b)[rows], w[rows], entry_share * strength
        length = np.linalg.norm(part)
        if length > 0:
            g = g + float(radial.slope(np.array(length), np.array(limit))) * part / length
        soft = np.sign(g) * np.maximum(np.abs(g) - entry, 0.0)
        g = np.where(part != 0, g + entry * np.sign(part), soft)
        worst = max(worst, np.linalg.norm(g) - (0.0 if length > 0 else limit))
    return worst


def literal_largest(b, sizes, weights=None):
    return max(
        np.linalg.norm(b[rows]) / (1.0 if weights is None else weights[number])
        for number, rows in enumerate(runs(sizes))
    )


def conic(X, y, sizes, strength, weights=None, entry_share=0.0):
    """The convex problem by an interior point method: coefficients of one tag."""
    w = cp.Variable(X.shape[1])
    cost = cp.sum_squares(y - X @ w) / (2 * len(X)) + entry_share * strength * cp.norm1(w)
    for number, rows in enumerate(runs(sizes)):
        limit = (1 - entry_share) * strength * (1.0 if weights is None else weights[number])
        cost = cost + limit * (cp.norm2(w[rows]) if rows.stop - rows.start > 1 else cp.abs(w[rows.start]))
    options = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Solution may be inaccurate")  # the objectives are compared
        cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL, **options)
    return w.value


def expect_as_conic(X, Y, sizes, strengths, *, weights=None, entry_share=0.0):
    """Solve and hold objective, certificate and residual against the conic solver and the literal functions."""
    A, B = X.T @ X / len(X), X.T @ Y / len(X)
    found = GroupColumns(A, B, sizes, weights=weights, entry_share=entry_share).solve(Norm(), strengths, tol=1e-8)
    assert found.converged
    strengths = np.broadcast_to(strengths, Y.shape[1])
    for tag, strength in enumerate(strengths):
        extras = (sizes, Norm(), strength, weights, entry_share)
        w = conic(X, Y[:, tag], sizes, strength, weights, entry_share)
        ours, theirs = literal_value(A, B[:, tag], found.coef[:, tag], *extras), literal_value(A, B[:, tag], w, *extras)
        constant = 0.5 * np.mean(Y[:, tag] ** 2)
        assert ours <= theirs + 1e-8 * (theirs + constant + 1e-12)
        assert theirs <= ours + 1e-6 * (ours + constant + 1e-12)
        np.testing.assert_allclose(found.values[tag], ours, rtol=1e-9, atol=1e-12)
        scale = literal_largest(B[:, tag], sizes, weights)
        assert literal_residual(A, B[:, tag], found.coef[:, tag], *extras) <= 1e-6 * scale + 1e-14
    return found


# Convex problems.


@pytest.mark.parametrize("share", [0.7, 0.2, 0.01])
def test_group_lasso_as_the_conic_solver(share):
    X, Y, _, B = make()
    largest = [literal_largest(B[:, tag], (3, 1, 4, 2)) for tag in range(3)]
    expect_as_conic(X, Y, (3, 1, 4, 2), share * np.array(largest))


@pytest.mark.parametrize("share", [0.5, 0.02])
def test_lasso_as_the_conic_solver(share):
    X, Y, _, B = make(sizes=(1,) * 9, correlation=2.0)
    expect_as_conic(X, Y, (1,) * 9, share * np.abs(B).max(axis=0))


@pytest.mark.parametrize("entry_share", [0.1, 0.5, 0.9])
def test_sparse_group_lasso_as_the_conic_solver(entry_share):
    X, Y, _, B = make(seed=2)
    found = expect_as_conic(X, Y, (3, 1, 4, 2), 0.2 * np.abs(B).max(), entry_share=entry_share)
    assert (found.coef == 0).any()


def test_weights_as_in_the_conic_solver():
    X, Y, _, B = make(seed=3)
    weights = np.array([1.7, 0.2, 2.0, 1.0])
    for share in (0.3, 0.05):
        expect_as_conic(X, Y, (3, 1, 4, 2), share * np.abs(B).max(axis=0), weights=weights)
    expect_as_conic(X, Y, (3, 1, 4, 2), 0.2 * np.abs(B).max(), weights=weights, entry_share=0.4)


def degenerate(kind):
    X, Y, _, _ = make(n=12, seed=5)
    sizes = (3, 1, 4, 2)
    if kind == "collinear":
        X[:, 1], X[:, 9] = X[:, 0], X[:, 4] - 2 * X[:, 5]
    elif kind == "constant columns":
        X[:, [0, 5]] = 0.0
    elif kind == "zero groups":
        X[:, 3], X[:, 8:] = 0.0, 0.0
    elif kind == "wider than n":
        X, Y, _, _ = make(n=6, sizes=(9, 8), seed=5)
        sizes = (9, 8)
    elif kind == "equal columns":
        X, sizes = np.repeat(X[:, :3], 3, axis=1), (1,) * 9
    elif kind == "one photo in two":
        X, Y = np.repeat(X[:6], 2, axis=0), np.repeat(Y[:6], 2, axis=0)
    elif kind == "scales far apart":
        X = X * 10.0 ** np.linspace(-3, 3, 10)
    return X - X.mean(axis=0), Y - Y.mean(axis=0), sizes


KINDS = [
    "collinear",
    "constant columns",
    "zero groups",
    "wider than n",
    "equal columns",
    "one photo in two",
    "scales far apart",
]


@pytest.mark.medium
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("entry_share", [0.0, 0.5])
def test_degenerate_problems_as_the_conic_solver(kind, entry_share):
    X, Y, sizes = degenerate(kind)
    A, B = X.T @ X / len(X), X.T @ Y / len(X)
    largest = GroupColumns(A, B, sizes, entry_share=entry_share).largest
    for share in (0.4, 0.03):
        expect_as_conic(X, Y, sizes, share * largest, entry_share=entry_share)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("radial", [SCAD(), MCP()], ids=str)
def test_degenerate_problems_are_stationary_under_concave_penalties(kind, radial):
    X, Y, sizes = degenerate(kind)
    A, B = X.T @ X / len(X), X.T @ Y / len(X)
    problem = GroupColumns(A, B, sizes)
    for share in (0.6, 0.1):
        found = problem.solve(radial, share * problem.largest)
        assert found.converged
        for tag in range(3):
            extras = (sizes, radial, share * problem.largest[tag])
            assert literal_residual(A, B[:, tag], found.coef[:, tag], *extras) <= 1.1e-6 * problem.largest[tag]
            np.testing.assert_allclose(
                found.values[tag], literal_value(A, B[:, tag], found.coef[:, tag], *extras), rtol=1e-9, atol=1e-12
            )


@pytest.mark.parametrize("entry_share", [0.0, 0.3])
def test_zero_from_the_largest_strength_on_and_not_before(entry_share):
    _, _, A, B = make(seed=6)
    weights = np.array([1.0, 0.7, 2.0, 1.4])
    problem = GroupColumns(A, B, (3, 1, 4, 2), weights=weights, entry_share=entry_share)
    if entry_share == 0:
        expected = [literal_largest(B[:, tag], (3, 1, 4, 2), weights) for tag in range(3)]
        np.testing.assert_allclose(problem.largest, expected, rtol=1e-14)
    above = problem.solve(Norm(), problem.largest * (1 + 1e-9))
    assert not above.coef.any()
    np.testing.assert_array_equal(above.values, 0.0)
    below = problem.solve(Norm(), problem.largest * (1 - 1e-4), tol=1e-7)
    assert below.coef.any(axis=0).all()


def test_tags_that_nothing_tells_of_and_features_that_do_not_vary():
    _, _, A, B = make()
    B[:, 1] = 0.0
    for radial in RADIALS:
        found = GroupColumns(A, B, (3, 1, 4, 2)).solve(radial, 0.1)
        assert not found.coef[:, 1].any()
        assert found.coef[:, 0].any()
        empty = GroupColumns(np.zeros((4, 4)), np.zeros((4, 2)), (3, 1))
        for result in (
            empty.solve(radial, 0.1),
            next(empty.path(radial, np.ones((1, 2)))),
            empty.approximate(radial, 1.0),
        ):
            np.testing.assert_array_equal(result.coef, np.zeros((4, 2)))
            assert result.converged


def test_one_tag_and_tags_together():
    _, _, A, B = make(c=5, seed=8)
    sizes, strengths = (3, 1, 4, 2), np.array([0.05, 0.3, 0.1, 2.0, 0.02])
    for radial in RADIALS:
        together = GroupColumns(A, B, sizes).solve(radial, strengths, tol=1e-9)
        for tag in range(5):
            alone = GroupColumns(A, B[:, tag : tag + 1], sizes).solve(radial, strengths[tag], tol=1e-9)
            np.testing.assert_allclose(together.coef[:, tag], alone.coef[:, 0], atol=1e-7)


def test_conjugate_gradients_and_elimination_end_alike(monkeypatch):
    """Newton directions come in three ways; what they lead to does not depend on which."""
    _, _, A, B = make(n=80, sizes=(6, 8, 7, 9), c=4, seed=9)
    problem = GroupColumns(A, B, (6, 8, 7, 9))
    usual = [problem.solve(radial, 0.15 * problem.largest, tol=1e-9) for radial in RADIALS]
    monkeypatch.setattr(_group_newton, "_solve_stacks", _never_first(_group_newton._solve_stacks))
    n_used = []
    plain = _group_newton._conjugate
    monkeypatch.setattr(_group_newton, "_conjugate", lambda *given: n_used.append(1) or plain(*given))
    for radial, before in zip(RADIALS, usual, strict=True):
        after = problem.solve(radial, 0.15 * problem.largest, tol=1e-9, max_iter=500)
        assert after.converged
        np.testing.assert_allclose(after.values, before.values, rtol=1e-9, atol=1e-9)
    assert n_used


def _never_first(solve_stacks):
    """Elimination for tags that conjugate gradients have given up, nothing for the others."""

    def solve(model, slopes, tags, result):
        conjugate, done = (
            _group_newton._conjugate(model.take(tags), slopes[:, tags], 0.05) if tags.size else (None, None)
        )
        if tags.size:
            result[:, tags] = conjugate
            solve_stacks(model, slopes, tags[~done], result)

    return solve


# Concave penalties.


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), radial=st.sampled_from(RADIALS), share=st.sampled_from([0.02, 0.1, 0.4, 1.5]))
def test_the_objective_never_rises_and_the_end_is_stationary(seed, radial, share):
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(1, 5, rng.integers(1, 6)).tolist())
    n, scale = int(rng.integers(4, 40)), 10.0 ** rng.uniform(-1, 1)
    X, Y, A, B = make(n, sizes, 2, seed, rng.uniform(0, 3), scale)
    if rng.random() < 0.3:
        X[:, rng.integers(X.shape[1])] = X[:, 0]
        A, B = X.T @ X / n, X.T @ Y / n
    weights = rng.uniform(0.5, 2.0, len(sizes)) if rng.random() < 0.5 else None
    entry_share = 0.4 if radial.convex and rng.random() < 0.5 else 0.0
    problem = GroupColumns(A, B, sizes, weights=weights, entry_share=entry_share)
    strengths = share * problem.largest
    starts = [None, rng.normal(size=B.shape) / scale]
    for W0 in starts:
        found = problem.solve(radial, strengths, W0=W0, max_iter=500)
        history = np.array(found.objective)
        assert (np.diff(history) <= 1e-12 * (1 + np.abs(history[:-1]))).all()
        assert found.converged
        for tag in range(2):
            extras = (sizes, radial, strengths[tag], weights, entry_share)
            assert literal_residual(A, B[:, tag], found.coef[:, tag], *extras) <= 2e-6 * problem.largest[tag]
    first = sum(
        literal_value(A, B[:, t], starts[1][:, t], sizes, radial, strengths[t], weights, entry_share) for t in (0, 1)
    )
    assert history[0] <= first + 1e-9 * abs(first)  # less what the rows do not see of the start


def scad_of_one(z, limit, a):
    """Fan and Li's threshold for a column of unit mean square."""
    size, sign = abs(z), (1.0 if z > 0 else -1.0)
    if size <= 2 * limit:
        return sign * max(size - limit, 0.0)
    if size <= a * limit:
        return ((a - 1) * z - sign * a * limit) / (a - 2)
    return z


def mcp_of_one(z, limit, gamma):
    """Zhang's firm threshold for a column of unit mean square."""
    if abs(z) <= limit:
        return 0.0
    if abs(z) <= gamma * limit:
        return (1.0 if z > 0 else -1.0) * (abs(z) - limit) / (1 - 1 / gamma)
    return z


def coordinate_descent(X, y, w, limit, threshold, concavity):
    """One column after another until nothing moves."""
    n, w = len(X), w.copy()
    residual = y - X @ w
    for _ in range(20000):
        moved = 0.0
        for k in range(X.shape[1]):
            after = threshold(X[:, k] @ residual / n + w[k], limit, concavity)
            if after != w[k]:
                residual -= X[:, k] * (after - w[k])
                moved = max(moved, abs(after - w[k]))
                w[k] = after
        if moved < 1e-11:
            break
    return w


@pytest.mark.parametrize(
    ("radial", "threshold"),
    [(SCAD(), scad_of_one), (SCAD(2.6), scad_of_one), (MCP(), mcp_of_one), (MCP(1.8), mcp_of_one)],
)
def test_single_columns_as_coordinate_descent_along_a_warm_started_path(radial, threshold):
    for seed in range(3):
        X, Y, _, _ = make(n=60, sizes=(1,) * 8, c=1, seed=seed, correlation=0.5)
        X /= np.sqrt(np.mean(X**2, axis=0))
        A, b = X.T @ X / len(X), X.T @ Y / len(X)
        problem = GroupColumns(A, b, (1,) * 8)
        ours, theirs = np.zeros((8, 1)), np.zeros(8)
        for share in np.geomspace(1.0, 0.05, 15):
            limit = share * np.abs(b).max()
            ours = problem.solve(radial, limit, W0=ours, tol=1e-10).coef
            theirs = coordinate_descent(X, Y[:, 0], theirs, limit, threshold, radial.concavity)
            np.testing.assert_allclose(ours[:, 0], theirs, atol=1e-7)
            np.testing.assert_array_equal(ours[:, 0] != 0, theirs != 0)


# Local quadratic approximation.


@pytest.mark.parametrize("seed", range(4))
def test_the_approximation_is_the_printed_algorithm(seed):
    sizes = np.array([3, 1, 4, 2])
    X, Y, A, B = make(n=50, seed=seed)
    problem = GroupColumns(A, B, sizes)
    strengths = np.array([0.05, 0.2, 0.5]) * problem.largest
    expected, _ = literal_nova(X, Y, sizes, strengths, ridge=0.01, tol=1e-10, max_iter=3000)
    found = problem.approximate(SCAD(), strengths, ridge=0.01, tol=1e-10, max_iter=3000)
    np.testing.assert_allclose(found.coef, expected, atol=1e-6)
    np.testing.assert_array_equal(found.coef == 0, expected == 0)
    history = np.array(found.objective[:-1])  # without the threshold at the end
    assert (np.diff(history) <= 1e-12 * (1 + np.abs(history[:-1]))).all()


def test_many_tags_by_the_approximation_as_one_by_one():
    """Wide groups and many tags: conjugate gradients, which the small problems do not need."""
    sizes = np.array([40, 50, 30])
    X, Y, A, B = make(n=300, sizes=tuple(sizes.tolist()), c=12, seed=3)
    problem = GroupColumns(A, B, sizes)
    strengths = 0.3 * problem.largest
    expected, _ = literal_nova(X, Y, sizes, strengths, ridge=0.01, tol=1e-9, max_iter=500)
    found = problem.approximate(SCAD(), strengths, ridge=0.01, tol=1e-9, max_iter=500)
    np.testing.assert_allclose(found.coef, expected, atol=1e-5)


def random_problem(seed):
    """Two to six groups of one to five columns, half of them with an effect, and a share of the largest strength."""
    rng = np.random.default_rng(seed)
    n, sizes = int(rng.integers(30, 120)), rng.integers(1, 6, rng.integers(2, 7))
    _, _, A, B = make(n, tuple(sizes.tolist()), 1, seed, rng.uniform(0, 0.6), rng.uniform(0.2, 2))
    problem = GroupColumns(A, B, sizes)
    return problem, rng.choice([0.05, 0.1, 0.3, 0.6]) * problem.largest


@pytest.mark.medium
@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 200), marks=pytest.mark.slow)], ids=str)
def test_the_solver_ends_no_higher_than_the_approximation(seeds):
    higher, raised = 0, 0
    for seed in seeds:
        problem, strengths = random_problem(seed)
        approximate = problem.approximate(SCAD(), strengths)
        raised += problem.solve(SCAD(), strengths, W0=approximate.coef).values[0] > approximate.values[0] + 1e-12
        higher += problem.solve(SCAD(), strengths).values[0] > approximate.values[0] + 1e-6
    assert raised == 0
    assert higher <= 0.05 * len(seeds)


def test_two_starts_are_never_worse_than_one():
    """With features so small that the penalty is steeper than the fit, the second start finds more."""
    lower = 0
    for seed in range(10):
        _, _, A, B = make(sizes=(3, 2, 4, 2, 3), c=2, seed=seed, scale=0.4)
        problem = GroupColumns(A, B, (3, 2, 4, 2, 3))
        strengths = np.array([0.3, 0.9]) * problem.largest
        both, one = problem.solve(SCAD(), strengths), problem.solve(SCAD(), strengths, dense=False)
        assert (both.values <= one.values + 1e-12).all()
        lower += int((both.values < one.values - 1e-6).sum())
    assert lower > 5


@pytest.mark.parametrize("radial", [SCAD(), MCP()], ids=str)
def test_more_columns_than_rows_end_above_the_least_that_a_fit_can_leave(radial):
    """Along what no row sees a long group costs nothing: steps there must not go where rounding seems to gain."""
    sizes = (10, 8, 6, 9)
    for seed in range(4):
        X, Y, A, B = make(n=12, sizes=sizes, seed=seed)
        problem = GroupColumns(A, B, sizes)
        for share in (0.1, 0.01):
            found = problem.solve(radial, share * problem.largest)
            assert found.converged
            assert (found.values >= -0.5 * np.mean(Y**2, axis=0)).all()
            assert np.abs(found.coef).max() < 100 * np.abs(np.linalg.pinv(X) @ Y).max()


# Paths.


@pytest.mark.parametrize("sizes", [(3, 1, 4, 2), (1,) * 10])
@pytest.mark.parametrize("entry_share", [0.0, 0.5])
def test_points_of_a_convex_path_are_separate_solutions(sizes, entry_share):
    _, _, A, B = make(sizes=sizes, seed=11)
    problem = GroupColumns(A, B, sizes, entry_share=entry_share)
    strengths = np.geomspace(1.0, 0.03, 12)[:, None] * problem.largest
    points = list(problem.path(Norm(), strengths, tol=1e-9))
    before = None
    for row, point in zip(strengths, points, strict=True):
        alone = problem.solve(Norm(), row, tol=1e-9)
        np.testing.assert_allclose(point.coef, alone.coef, atol=1e-6)
        if before is not None:
            # Where the way so far leads to is only taken where it is lower than the point before.
            start = sum(
                literal_value(A, B[:, t], before[:, t], sizes, Norm(), row[t], entry_share=entry_share)
                for t in range(3)
            )
            assert point.objective[0] <= start + 1e-12
        assert (np.diff(point.objective) <= 1e-12 * (1 + abs(point.objective[0]))).all()
        before = point.coef


@pytest.mark.medium
@pytest.mark.parametrize("radial", [SCAD(), MCP()], ids=str)
def test_points_of_a_concave_path_are_separate_solutions(radial):
    for seed in range(4):
        _, _, A, B = make(n=60, seed=seed)
        problem = GroupColumns(A, B, (3, 1, 4, 2))
        strengths = np.geomspace(1.0, 0.03, 10)[:, None] * problem.largest
        for row, point in zip(strengths, problem.path(radial, strengths), strict=True):
            np.testing.assert_allclose(point.values, problem.solve(radial, row).values, atol=1e-7)
            assert point.converged


@pytest.mark.parametrize(("widest", "dense"), [(512, True), (10, True), (1, False)])
@pytest.mark.parametrize("radial", [SCAD(), MCP(2.0)], ids=str)
@pytest.mark.parametrize("sizes", [(1,) * 60, (3, 1, 4, 2, 1)], ids=["columns", "groups"])
def test_points_of_a_concave_path_that_go_down_together_end_as_alone(sizes, radial, widest, dense, monkeypatch):
    """Every point from its own group lasso, one problem for each point and tag; and stationary as printed."""
    monkeypatch.setattr(group_columns, "WIDEST", widest)
    _, _, A, B = make(n=50, sizes=sizes, c=3, seed=3)
    problem = GroupColumns(A, B, sizes)
    strengths = np.geomspace(1.2, 0.05, 7)[:, None] * problem.largest * np.array([1.0, 0.8, 0.5])
    points = list(problem.path(radial, strengths, dense=dense))
    assert len(points) == 7
    lasso = list(problem.path(Norm(), strengths, tol=group_columns.ROUGH))
    for row, point, start in zip(strengths, points, lasso, strict=True):
        alone = problem.solve(radial, row, W0=start.coef).values
        if dense and len(sizes) <= group_columns.MANY_GROUPS:
            least_squares = problem.axes.turn_back(problem.dense_start)
            alone = np.minimum(alone, problem.solve(radial, row, W0=least_squares).values)
        np.testing.assert_allclose(point.values, alone, rtol=1e-8, atol=1e-10)
        assert point.converged
        assert point.objective[-1] == pytest.approx(point.values.sum(), rel=1e-12)
        assert (np.diff(point.objective) <= 1e-12 * (1 + abs(point.objective[0]))).all()
        for tag, strength in enumerate(row):
            w, extras = point.coef[:, tag], (sizes, radial, strength)
            assert literal_residual(A, B[:, tag], w, *extras) <= 1.1e-6 * problem.largest[tag]
            np.testing.assert_allclose(point.values[tag], literal_value(A, B[:, tag], w, *extras), atol=1e-10)


def test_points_of_a_concave_path_share_their_passes(monkeypatch):
    _, _, A, B = make(n=50, sizes=(1,) * 60, c=2, seed=3)
    problem = GroupColumns(A, B, (1,) * 60)
    strengths = np.geomspace(1.0, 0.05, 10)[:, None] * problem.largest
    widths = []
    singles = GroupState._singles
    monkeypatch.setattr(GroupState, "_singles", lambda state: widths.append(state.tags.size) or singles(state))
    alone = [problem.solve(SCAD(), row) for row in strengths]
    n_alone, widest_alone = len(widths), max(widths)
    widths.clear()
    together = list(problem.path(SCAD(), strengths))
    assert widest_alone == 2
    assert max(widths) > 10
    assert len(widths) < 0.7 * n_alone
    assert len(together) == len(alone)


@pytest.mark.parametrize("shape", [(60, 40), (30, 120)])
def test_single_columns_as_the_lasso_path_of_scikit_learn(shape):
    n, d = shape
    X, Y, A, B = make(n=n, sizes=(1,) * d, c=3, seed=4)
    problem = GroupColumns(A, B, (1,) * d)
    strengths = np.geomspace(1.0, 0.02, 8)[:, None] * problem.largest
    for number, point in enumerate(problem.path(Norm(), strengths, tol=1e-9)):
        for tag in range(3):
            strength, y = strengths[number, tag], Y[:, tag]
            theirs = lasso_path(X, y, alphas=[strength], tol=1e-13, max_iter=100_000)[1][:, 0]
            ours = point.coef[:, tag]
            cost = [np.square(y - X @ w).sum() / (2 * n) + strength * np.abs(w).sum() for w in (ours, theirs)]
            assert cost[0] == pytest.approx(cost[1], rel=1e-8)
            # The residual, scaled until it is feasible, bounds what any coefficients can reach.
            residual = y - X @ ours
            feasible = residual * min(1.0, strength / np.abs(X.T @ residual / n).max())
            assert cost[0] - (y @ y - np.square(y - feasible).sum()) / (2 * n) <= 1e-8 * cost[0]


def test_a_path_may_stand_still_and_turn_back():
    _, _, A, B = make(seed=12)
    problem = GroupColumns(A, B, (3, 1, 4, 2))
    strengths = np.array([0.5, 0.5, 0.1, 0.1, 0.4, 0.02])[:, None] * problem.largest
    for row, point in zip(strengths, problem.path(Norm(), strengths, tol=1e-9), strict=True):
        np.testing.assert_allclose(point.coef, problem.solve(Norm(), row, tol=1e-9).coef, atol=1e-6)


# Many groups: splitting.


@pytest.mark.medium
@pytest.mark.parametrize(("sizes", "entry_share"), [((1,) * 80, 0.0), ((2,) * 55, 0.0), ((1, 2, 3) * 18, 0.3)])
def test_many_groups_as_the_conic_solver(sizes, entry_share, monkeypatch):
    calls = []
    plain = _group_run.split
    monkeypatch.setattr(_group_run, "split", lambda *given: calls.append(1) or plain(*given))
    X, Y, _, _ = make(n=50, sizes=sizes, c=2, seed=13, correlation=2.0)
    A, B = X.T @ X / len(X), X.T @ Y / len(X)
    largest = GroupColumns(A, B, sizes, entry_share=entry_share).largest
    for share in (0.3, 0.05):
        expect_as_conic(X, Y, sizes, share * largest, entry_share=entry_share)
    assert calls


def test_splitting_comes_near_with_exact_zeros():
    _, _, A, B = make(n=50, sizes=(1,) * 80, c=4, seed=14)
    problem = GroupColumns(A, B, (1,) * 80)
    strengths = 0.2 * problem.largest
    run = _group_run.Descent(problem, Norm(), strengths, np.zeros_like(B))
    run.split(np.arange(4), 1e-12)
    exact = problem.solve(Norm(), strengths, tol=1e-10)
    for tag in range(4):
        W = run.W[:, tag]
        value = literal_value(A, B[:, tag], W, (1,) * 80, Norm(), strengths[tag])
        assert exact.values[tag] - 1e-12 <= value <= exact.values[tag] + 1e-3 * abs(exact.values[tag])
        np.testing.assert_allclose(run.values[tag], value, rtol=1e-9)
        np.testing.assert_allclose(run.G[:, tag], A @ W - B[:, tag], atol=1e-12)
        assert np.mean((W != 0) == (exact.coef[:, tag] != 0)) > 0.9
        assert (W == 0).any()


@pytest.mark.parametrize("sizes", [(30, 25, 4), (18, 18)])
def test_groups_wider_than_the_rows_from_the_rows(sizes):
    """Small singular values too: axes that are not orthonormal would change the norm."""
    rng = np.random.default_rng(16)
    for decay in (0.0, 3.0, 7.0):
        parts = []
        for size in sizes:
            rank = min(15, size)
            left, right = np.linalg.qr(rng.normal(size=(15, rank)))[0], np.linalg.qr(rng.normal(size=(size, rank)))[0]
            parts.append(left * 10.0 ** np.linspace(0, -decay, rank) @ right.T)
        X, Y = np.concatenate(parts, axis=1), rng.normal(size=(15, 2))
        X, Y = X - X.mean(axis=0), Y - Y.mean(axis=0)
        A, B = X.T @ X / 15, X.T @ Y / 15
        problem = GroupColumns.from_rows(X, Y, sizes)
        np.testing.assert_allclose(problem.largest, GroupColumns(A, B, sizes).largest, rtol=1e-9)
        for basis in problem.axes.bases:
            np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
        for radial in (Norm(), SCAD()):
            strengths = 0.1 * problem.largest
            found = problem.solve(radial, strengths)
            for tag in range(2):
                extras = (sizes, radial, strengths[tag])
                w = found.coef[:, tag]
                assert literal_residual(A, B[:, tag], w, *extras) <= 1.1e-6 * problem.largest[tag]
                np.testing.assert_allclose(found.values[tag], literal_value(A, B[:, tag], w, *extras), rtol=1e-5)


@pytest.mark.parametrize("radial", [SCAD(), MCP()], ids=str)
def test_many_single_columns_are_stationary_under_concave_penalties(radial):
    _, _, A, B = make(n=60, sizes=(1,) * 90, c=3, seed=15)
    problem = GroupColumns(A, B, (1,) * 90)
    strengths = 0.15 * problem.largest
    found = problem.solve(radial, strengths)
    for tag in range(3):
        extras = ((1,) * 90, radial, strengths[tag])
        assert literal_residual(A, B[:, tag], found.coef[:, tag], *extras) <= 1.1e-6 * problem.largest[tag]


# What is refused.


def test_errors_say_what_was_expected():
    _, _, A, B = make()
    sizes = (3, 1, 4, 2)
    for arguments, message in [
        ((A, B, (3, 3)), "add up to d"),
        ((A, B, (3, 1, 4, 2, 0)), "add up to d"),
        ((A[:3], B, sizes), r"A must be \(d, d\)"),
        ((A, B[:, 0], sizes), r"B \(d, c\)"),
        ((A * np.nan, B, sizes), "finite"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            GroupColumns(*arguments)
    for weights in ([1.0, 1.0], [1.0, 0.0, 1.0, 1.0], [1.0, np.nan, 1.0, 1.0]):
        with pytest.raises(InvalidInputError, match="4 positive weights"):
            GroupColumns(A, B, sizes, weights=weights)
    with pytest.raises(InvalidInputError, match="entry_share"):
        GroupColumns(A, B, sizes, entry_share=1.0)
    problem = GroupColumns(A, B, sizes)
    for strengths in (0.0, -1.0, np.nan, [1.0, 2.0]):
        with pytest.raises(InvalidInputError, match="strengths must be positive numbers, one or 3"):
            problem.solve(Norm(), strengths)
    with pytest.raises(InvalidInputError, match="W0 must be finite"):
        problem.solve(Norm(), 1.0, W0=np.zeros((2, 2)))
    with pytest.raises(InvalidInputError, match="without an entry_share"):
        GroupColumns(A, B, sizes, entry_share=0.5).approximate(Norm(), 1.0)


def test_too_few_rounds_warn_and_say_how_far():
    _, _, A, B = make(sizes=(5, 5, 5, 5), correlation=3.0)
    problem = GroupColumns(A, B, (5, 5, 5, 5))
    with pytest.warns(ConvergenceWarning, match="of 3 tags were left at an optimality residual"):
        found = problem.solve(Norm(), 0.01 * problem.largest, tol=1e-13, max_iter=1)
    assert not found.converged
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem.solve(Norm(), 0.01 * problem.largest)


@pytest.mark.parametrize("entry_share", [0.0, 0.4])
@pytest.mark.parametrize("radial", RADIALS, ids=str)
@pytest.mark.parametrize("c", [1, 3, 40, 200])
def test_a_pass_over_single_columns_is_one_column_after_the_other(c, radial, entry_share):
    """Columns that stay zero are passed over; that changes no bit of what a plain loop over the columns gives."""
    d = 70
    _, _, A, B = make(n=50, sizes=(1,) * d, c=c, seed=1)
    problem = GroupColumns(A, B, [1] * d, entry_share=entry_share)
    strengths = np.linspace(0.1, 0.6, c)
    rng = np.random.default_rng(2)
    start = np.where(rng.random((d, c)) < 0.2, rng.normal(size=(d, c)), 0.0)
    state = _group_run.Descent(problem, radial, strengths, start).state(np.arange(c))
    W, G = state.W.copy(), state.G.copy()
    for _ in range(3):
        state.sweep()
        for first in range(0, d, 32):
            rows = np.arange(first, min(first + 32, d))
            gradient, now = G[rows], W[rows]
            for k, row in enumerate(rows):
                z = A[row, row] * now[k] - gradient[k]
                if entry_share:
                    z = np.sign(z) * np.maximum(np.abs(z) - entry_share * strengths, 0.0)
                limit = strengths * (1 - entry_share)
                after = np.sign(z) * radial.shrink(np.abs(z) / A[row, row], limit, np.full(c, A[row, row]))
                gradient[k + 1 :] += A[np.ix_(rows[k + 1 :], [row])] * (after - now[k])
                now[k] = after
            G += A[:, rows] @ (now - W[rows])
            W[rows] = now
        assert (start != state.W).any()
        np.testing.assert_array_equal(state.W, W)
        np.testing.assert_allclose(state.G, G, rtol=0, atol=1e-13)
        G = state.G.copy()
