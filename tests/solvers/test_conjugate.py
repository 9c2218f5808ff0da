import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.exceptions import ConvergenceWarning

from tagloom.exceptions import InvalidInputError
from tagloom.solvers import NotPositiveDefiniteError, block_cg
from tagloom.solvers.cg import conjugate
from tagloom.solvers.cg import products as _products


def make_spd(n, seed=0, density=0.05, pull=0.1):
    """A random graph's Laplacian with a positive diagonal added."""
    G = sparse.random_array((n, n), density=density, rng=np.random.default_rng(seed), format="csr")
    G = G + G.T
    G.setdiag(0)
    G.eliminate_zeros()
    degrees = np.asarray(G.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degrees + pull) - G)


def relative_residual(A, X, B):
    return np.linalg.norm(B - A @ X, axis=0) / np.linalg.norm(B, axis=0)


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(1)
    A = make_spd(150)
    return A, rng.standard_normal((150, 21))


def solve_masked(A, b, mask, fixed):
    """One column by a dense submatrix, as it would be written by hand."""
    x = np.where(mask, 0.0, fixed)
    rows, rest = np.flatnonzero(mask), np.flatnonzero(~mask)
    A = np.asarray(A.todense()) if sparse.issparse(A) else A
    if rows.size:
        x[rows] = np.linalg.solve(A[np.ix_(rows, rows)], b[rows] - A[np.ix_(rows, rest)] @ fixed[rest])
    return x


class TestAgainstOthers:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("preconditioner", ["jacobi", None])
    def test_dense_solve(self, problem, dtype, preconditioner):
        A, B = problem
        result = block_cg(A, B, tol=1e-10, dtype=dtype, preconditioner=preconditioner)
        np.testing.assert_allclose(result.x, np.linalg.solve(A.toarray(), B), atol=1e-8)
        assert result.x.dtype == np.float64
        assert result.converged.all()
        np.testing.assert_allclose(result.residuals, relative_residual(A, result.x, B), atol=1e-13)
        assert (result.residuals <= 1e-10).all()

    def test_iterates_of_scipy(self, problem):
        """Each column is conjugate gradients exactly: the same iterate after the same number of steps."""
        A, B = problem
        M = sparse.diags_array(1 / A.diagonal())
        for steps in (1, 4, 9):
            with pytest.warns(ConvergenceWarning):
                ours = block_cg(A, B, tol=1e-12, max_iter=steps).x
            theirs = np.column_stack([cg(A, b, rtol=0, maxiter=steps, M=M)[0] for b in B.T])
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)

    @pytest.mark.parametrize("kind", ["dense", "operator", "function", "matrix", "integer"])
    def test_kinds_of_matrix(self, problem, kind):
        A, B = problem
        options = {}
        if kind == "integer":
            A = sparse.csr_array(np.diag(np.arange(1, 151)))
        given_matrix = A
        if kind == "dense":
            given_matrix = A.toarray()
        if kind == "matrix":
            given_matrix = sparse.coo_matrix(A)
        if kind in ("operator", "function"):
            options["preconditioner"] = A.diagonal()
            call = lambda block: A @ block  # noqa: E731
            given_matrix = call
            if kind == "operator":
                given_matrix = LinearOperator(A.shape, matvec=call, matmat=call, dtype=float)
        result = block_cg(given_matrix, B, tol=1e-10, **options)
        np.testing.assert_allclose(result.x, np.linalg.solve(A.toarray(), B), atol=1e-8)

    def test_without_private_kernel(self, problem, monkeypatch):
        A, B = problem
        expected = block_cg(A, B).x
        monkeypatch.setattr(_products, "csr_matvecs", None)
        np.testing.assert_allclose(block_cg(A, B).x, expected, rtol=1e-12)

    @settings(max_examples=40, deadline=None)
    @given(
        n=st.integers(1, 30),
        c=st.integers(1, 9),
        seed=st.integers(0, 2**20),
        exponent=st.integers(-120, 120),
        float32=st.booleans(),
    )
    def test_any_spd(self, n, c, seed, exponent, float32):
        rng = np.random.default_rng(seed)
        root = rng.standard_normal((n, n))
        A = sparse.csr_array(root @ root.T + np.eye(n))
        B = rng.standard_normal((n, c)) * 10.0**exponent
        result = block_cg(A, B, tol=1e-9, dtype="float32" if float32 else "float64")
        assert (relative_residual(A, result.x, B) <= 1.01e-9).all()


class TestPath:
    def test_error_falls_in_norm_of_A(self):
        A = make_spd(80, seed=3, density=0.03, pull=0.01)
        B = np.random.default_rng(3).standard_normal((80, 4))
        exact = np.linalg.solve(A.toarray(), B)
        errors = []
        for steps in range(25):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                difference = block_cg(A, B, tol=1e-12, max_iter=steps).x - exact
            errors.append(np.einsum("ij,ij->j", difference, A @ difference))
        errors = np.array(errors)
        assert (np.diff(errors, axis=0) < 1e-12).all()
        assert (errors[-1] < 1e-3 * errors[0]).all()

    def test_warm_start_saves_iterations(self, problem):
        A, B = problem
        cold = block_cg(A, B)
        assert (block_cg(A, B, x0=cold.x).n_iter == 0).all()
        near = block_cg(A, B, x0=cold.x + 1e-4 * np.abs(cold.x).max())
        assert near.n_iter.sum() < 0.7 * cold.n_iter.sum()
        assert near.converged.all()

    def test_columns_stop_on_their_own(self, problem):
        A, B = problem
        _, vectors = np.linalg.eigh(A.toarray())
        B = B.copy()
        B[:, 3] = vectors[:, 5]
        result = block_cg(A, B, preconditioner=None)
        assert result.n_iter[3] == 1
        assert result.n_iter.max() > 10
        assert result.converged.all()

    def test_warning_says_what_is_wrong(self, problem):
        A, B = problem
        B = np.column_stack([np.zeros(150), B[:, :3]])
        with pytest.warns(ConvergenceWarning, match=r"3 of 4 columns.*tol=1e-06.*2 of at most 2 iterations"):
            result = block_cg(A, B, max_iter=2)
        assert result.converged.tolist() == [True, False, False, False]

    def test_float32_hands_over_where_it_fails(self):
        """Condition number 1e8: float32 alone cannot end at 1e-8."""
        A = sparse.diags_array(np.logspace(-8, 0, 60)).tocsr()
        basis, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((60, 60)))
        A = sparse.csr_array(basis @ A.toarray() @ basis.T)
        A = (A + A.T) / 2
        result = block_cg(A, np.ones((60, 3)), tol=1e-8, dtype="float32", max_iter=5000)
        assert result.converged.all()

    def test_without_refinement(self, problem):
        A, B = problem
        result = block_cg(A, B.astype(np.float32), tol=1e-4, refine=False)
        assert result.x.dtype == np.float32
        assert result.converged.all()


class TestThreads:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("masked", [False, True])
    def test_bit_equal(self, problem, dtype, masked):
        A, B = problem
        B = B * np.logspace(-3, 3, B.shape[1])
        mask = np.random.default_rng(0).random(B.shape) < 0.8 if masked else None
        results = [
            block_cg(A, B, dtype=dtype, column_mask=mask, n_threads=n_threads, block_size=block_size)
            for n_threads, block_size in ((1, None), (2, None), (3, None), (1, 2), (4, 5), (2, 100))
        ]
        for other in results[1:]:
            np.testing.assert_array_equal(other.x, results[0].x)
            np.testing.assert_array_equal(other.n_iter, results[0].n_iter)

    def test_error_in_a_thread_reaches_the_caller(self):
        A = sparse.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))
        with pytest.raises(NotPositiveDefiniteError):
            block_cg(A, np.array([[1.0, -1.0] * 4, [-1.0, 1.0] * 4]), n_threads=2, block_size=2)


class TestPerColumn:
    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("entrywise", [False, True])
    def test_scales_and_shifts(self, problem, dtype, entrywise):
        A, B = problem
        rng = np.random.default_rng(5)
        c = B.shape[1]
        scales, shifts = rng.random(c), rng.random(B.shape) + 0.1 if entrywise else rng.random(c) + 0.1
        scales[2] = 0.0
        result = block_cg(A, B, tol=1e-10, scales=scales, shifts=shifts, dtype=dtype)
        diagonals = np.broadcast_to(shifts, B.shape)
        for j in range(c):
            exact = np.linalg.solve(scales[j] * A.toarray() + np.diag(diagonals[:, j]), B[:, j])
            np.testing.assert_allclose(result.x[:, j], exact, atol=1e-7)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    @pytest.mark.parametrize("share", [0.3, 0.97])
    def test_mask_is_a_submatrix_per_column(self, problem, dtype, share):
        A, B = problem
        rng = np.random.default_rng(6)
        mask = rng.random(B.shape) < share
        mask[:30] = share > 0.5  # rows fixed everywhere are cut out
        mask[:, 4] = False
        mask[:, 5] = True
        fixed = rng.standard_normal(B.shape)
        result = block_cg(A, B, x0=fixed, tol=1e-10, column_mask=mask, dtype=dtype)
        expected = np.column_stack([solve_masked(A, B[:, j], mask[:, j], fixed[:, j]) for j in range(B.shape[1])])
        np.testing.assert_allclose(result.x, expected, atol=1e-7)
        np.testing.assert_array_equal(result.x[~mask], fixed[~mask])
        assert result.n_iter[4] == 0

    def test_start_inside_mask_does_not_matter(self, problem):
        A, B = problem
        rng = np.random.default_rng(7)
        mask = rng.random(B.shape) < 0.6
        fixed = rng.standard_normal(B.shape)
        one = block_cg(A, B, x0=np.where(mask, 0, fixed), column_mask=mask, tol=1e-11).x
        two = block_cg(A, B, x0=np.where(mask, 9, fixed), column_mask=mask, tol=1e-11).x
        np.testing.assert_allclose(one, two, atol=1e-8)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_low_rank_with_mask_and_shift(self, problem, dtype):
        A, B = problem
        n, c = B.shape
        rng = np.random.default_rng(8)
        U = np.column_stack([np.ones(n), rng.standard_normal(n)])
        weights = np.array([-0.09 / n, 0.5])  # the first takes nearly all of the constant's curvature
        mask, fixed, shifts = rng.random(B.shape) < 0.7, rng.standard_normal(B.shape), rng.random(c)
        result = block_cg(
            A, B, x0=fixed, tol=1e-11, low_rank=(U, weights), column_mask=mask, shifts=shifts, dtype=dtype
        )
        full = A.toarray() + U @ np.diag(weights) @ U.T
        for j in range(c):
            expected = solve_masked(full + shifts[j] * np.eye(n), B[:, j], mask[:, j], fixed[:, j])
            np.testing.assert_allclose(result.x[:, j], expected, atol=1e-7)

    def test_centring_matrix(self, problem):
        """L + U + μH of the semi-supervised feature selection: sparse plus rank one."""
        A, B = problem
        n, mu = B.shape[0], 10.0
        result = block_cg(A + mu * sparse.eye_array(n), B, tol=1e-11, low_rank=(np.ones(n), -mu / n))
        H = np.eye(n) - 1 / n
        np.testing.assert_allclose(result.x, np.linalg.solve(A.toarray() + mu * H, B), atol=1e-8)


class TestReordering:
    """Large graphs are worked on in another order of rows; here small ones are too."""

    @pytest.fixture(autouse=True)
    def _always(self, monkeypatch):
        monkeypatch.setattr(conjugate, "LARGE", 1)
        monkeypatch.setattr(conjugate, "WIDE", 1)

    @pytest.mark.parametrize("masked", [False, True])
    @pytest.mark.parametrize("preconditioner", ["jacobi", "rows", "entries"])
    def test_everything_at_once(self, problem, masked, preconditioner):
        A, B = problem
        n, c = B.shape
        rng = np.random.default_rng(9)
        order = conjugate.as_product(A, n).local_order()
        assert sorted(order) == list(range(n))
        assert (order != np.arange(n)).any()
        mask = rng.random(B.shape) < 0.7 if masked else np.ones(B.shape, dtype=bool)
        mask[:20] &= not masked
        fixed, shifts, u = rng.standard_normal(B.shape), rng.random(B.shape), rng.standard_normal(n)
        given = {"jacobi": "jacobi", "rows": A.diagonal(), "entries": A.diagonal()[:, None] + shifts}[preconditioner]
        result = block_cg(
            A, B, x0=fixed, tol=1e-11, low_rank=(u, 0.3), shifts=shifts, column_mask=mask, preconditioner=given
        )
        full = A.toarray() + 0.3 * np.outer(u, u)
        for j in range(c):
            expected = solve_masked(full + np.diag(shifts[:, j]), B[:, j], mask[:, j], fixed[:, j])
            np.testing.assert_allclose(result.x[:, j], expected, atol=1e-7)

    def test_more_rows_than_a_sweep(self):
        A = make_spd(2500, density=0.002)
        B = np.random.default_rng(0).standard_normal((2500, 3))
        result = block_cg(A, B, tol=1e-9, dtype="float32")
        assert (relative_residual(A, result.x, B) <= 1.01e-9).all()
        np.testing.assert_allclose(result.x[:, 0], cg(A, B[:, 0], rtol=1e-12)[0], atol=1e-7)


class TestDegenerate:
    def test_zero_columns(self, problem):
        A, B = problem
        B = B.copy()
        B[:, [0, 7]] = 0
        result = block_cg(A, B, x0=np.ones_like(B))
        assert (result.x[:, [0, 7]] == 0).all()
        assert (result.n_iter[[0, 7]] == 0).all()
        assert result.converged.all()

    def test_sizes(self):
        one = block_cg(sparse.csr_array([[4.0]]), np.array([[2.0]]))
        assert one.x == 0.5
        assert block_cg(make_spd(5, density=0.5), np.empty((5, 0))).x.shape == (5, 0)
        assert block_cg(make_spd(5, density=0.5), np.zeros((5, 3))).converged.all()

    def test_nothing_to_solve_for(self, problem):
        A, B = problem
        result = block_cg(A, B, x0=B, column_mask=np.zeros(B.shape, dtype=bool))
        np.testing.assert_array_equal(result.x, B)

    @pytest.mark.parametrize("dtype", ["float32", "float64"])
    def test_indefinite(self, dtype):
        A = sparse.csr_array(np.array([[1.0, 2.0], [2.0, 1.0]]))
        with pytest.raises(NotPositiveDefiniteError, match=r"pᵀAp = -1.*column 1"):
            block_cg(A, np.array([[0.0, 1.0], [0.0, -1.0]]), dtype=dtype)

    def test_diagonal_not_positive(self):
        A = sparse.diags_array([1.0, 0.0, 2.0]).tocsr()
        with pytest.raises(NotPositiveDefiniteError, match="row 1"):
            block_cg(A, np.ones((3, 2)))
        mask = np.array([[True] * 2, [False] * 2, [True] * 2])
        np.testing.assert_allclose(block_cg(A, np.ones((3, 2)), column_mask=mask).x[:, 0], [1, 0, 0.5])

    def test_singular_but_consistent(self):
        """A Laplacian with right-hand sides that sum to zero has solutions; one of them is found."""
        A = make_spd(40, seed=2, density=0.2, pull=0.0)
        B = np.random.default_rng(0).standard_normal((40, 3))
        B -= B.mean(axis=0)
        result = block_cg(A, B, tol=1e-9)
        assert (relative_residual(A, result.x, B) <= 1e-9).all()

    def test_unreachable_tolerance_ends_with_a_warning(self):
        A = make_spd(40, seed=2, density=0.2)
        with pytest.warns(ConvergenceWarning, match="2 of 2"):
            result = block_cg(A, np.random.default_rng(0).standard_normal((40, 2)), tol=1e-19)
        assert (result.residuals < 1e-14).all()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"B": np.full((3, 1), np.nan)}, "B must hold finite numbers, got nan at row 0"),
            ({"A": sparse.csr_array(np.diag([1, np.inf, 1]))}, "A holds NaN or infinite"),
            ({"x0": np.full((3, 1), np.inf)}, "x0 must hold finite"),
            ({"B": np.ones(3)}, "two dimensions"),
            ({"B": np.ones((4, 1))}, r"expected \(4, 4\)"),
            ({"A": sparse.csr_array(np.eye(3) * 1j)}, "real numbers"),
            ({"x0": np.ones((3, 2))}, r"shape \(3, 1\)"),
            ({"tol": 0.0}, "tol"),
            ({"max_iter": -1}, "max_iter"),
            ({"n_threads": 0}, "n_threads"),
            ({"block_size": 0}, "block_size"),
            ({"dtype": "float16"}, "dtype"),
            ({"preconditioner": "ilu"}, "preconditioner"),
            ({"preconditioner": np.ones(4)}, r"\(3,\)"),
            ({"scales": [-1.0]}, "scales"),
            ({"shifts": np.ones((2, 1))}, "shifts"),
            ({"column_mask": np.ones((3, 1))}, "boolean"),
            ({"low_rank": (np.ones(4), 1.0)}, "low_rank"),
            ({"A": lambda block: block[:2], "preconditioner": None}, "the operator"),
            ({"A": lambda block: block}, "diagonal"),
            ({"A": sparse.csr_array(np.eye(3) * 1e50), "dtype": "float32"}, "use dtype='float64'"),
        ],
    )
    def test_named_errors(self, change, message):
        arguments = {"A": sparse.csr_array(np.eye(3)), "B": np.ones((3, 1))} | change
        A, B = arguments.pop("A"), arguments.pop("B")
        with pytest.raises(InvalidInputError, match=message):
            block_cg(A, B, **arguments)
