"""Squared-hinge machines of all tags on one Gram matrix: Newton steps in the coefficients of labelled photos.

Minimises, for each tag, ``½ Σ_i s_i (1 - y_i f_i)₊² + ½ cᵀGc`` with ``f = Gc + b`` over c and b. At the optimum
``c_i = s_i y_i (1 - y_i f_i)₊`` and, with an intercept, ``Σc = 0``. For a fixed set of photos inside the margin
(*active*) that is a linear system, and Newton's method goes from set to set; it is at the optimum when the set repeats.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import Bools, Floats
from tagloom.methods.shared.gram import DIRECT_ROWS, DenseGram, Gram

__all__ = ["HingeResult", "fit_squared_hinge", "solve_masked"]


#: Entries of the small systems that are solved in one batch.
_BATCH_ENTRIES = 4_000_000
_CG_STEPS = 1000
_HALVINGS = 30


@dataclass
class HingeResult:
    """A solution for all tags.

    Parameters
    ----------
    coef : ndarray of shape (l, c)
        c.
    intercept : ndarray of shape (c,)
        b.
    scores : ndarray of shape (l, c)
        ``Gc + b``.
    objective : list of float
        Sum over tags, at the start and after each Newton step.
    optimality : float
        Largest ``|c - sy(1 - yf)₊|``, relative to the largest coefficient of the tag.
    n_iter : int
        Newton steps.
    """

    coef: Floats
    intercept: Floats
    scores: Floats
    objective: list[float]
    optimality: float
    n_iter: int


def fit_squared_hinge(
    gram: Gram,
    signs: Floats,
    weights: Floats | None = None,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-9,
    max_iter: int = 100,
    start: tuple[Floats, Floats] | None = None,
) -> HingeResult:
    """Fit all tags.

    Parameters
    ----------
    gram : Gram
        G.
    signs : array of shape (l, c)
        1 or -1; 0 where a photo says nothing of a tag. With an intercept every tag needs both signs.
    weights : array of shape (l, c), optional
        s, positive; default: 1.
    fit_intercept : bool
        Whether there is b.
    tol : float
        ``optimality`` at which a tag is done.
    max_iter : int
        Most Newton steps.
    start : tuple of c (l, c) and b (c,), optional
        Where to start; default: zero.
    """
    state = _State(gram, signs, np.ones_like(signs) if weights is None else weights, start)
    objective = [float(state.objective.sum())]
    open_tags = np.arange(signs.shape[1])
    n_iter = 0
    while n_iter < max_iter and open_tags.size:
        active = state.active(open_tags)
        coef, intercept = solve_masked(
            gram,
            active,
            state.weights[:, open_tags],
            signs[:, open_tags],
            fit_intercept=fit_intercept,
            start=state.coef[:, open_tags],
            tol=max(1e-12, 0.01 * tol),
        )
        state.step(open_tags, coef, intercept)
        n_iter += 1
        objective.append(float(state.objective.sum()))
        same = (state.active(open_tags) == active).all(axis=0)
        open_tags = open_tags[~(same | (state.optimality(open_tags) <= tol))]
    residual = float(state.optimality(np.arange(signs.shape[1])).max(initial=0.0))
    if open_tags.size and residual > tol:
        warnings.warn(
            f"{open_tags.size} tags were left at an optimality of {residual:.2g} after {max_iter} Newton steps, above "
            f"tol={tol:g}. Raise max_iter or tol, or scale the features",
            ConvergenceWarning,
            stacklevel=3,
        )
    return HingeResult(state.coef, state.intercept, state.scores, objective, residual, n_iter)


class _State:
    """Where the Newton steps are."""

    def __init__(self, gram: Gram, signs: Floats, weights: Floats, start: tuple[Floats, Floats] | None) -> None:
        self.gram, self.signs = gram, signs
        self.weights: Floats = np.where(signs != 0, weights, 0.0)
        self.coef: Floats = np.zeros_like(signs) if start is None else start[0].copy()
        self.intercept: Floats = np.zeros(signs.shape[1]) if start is None else start[1].copy()
        self.smooth: Floats = np.zeros_like(signs) if start is None else gram.product(self.coef)
        self.objective = self._value(slice(None), self.coef, self.smooth, self.intercept)

    @property
    def scores(self) -> Floats:
        return self.smooth + self.intercept

    def active(self, tags: NDArray[np.intp]) -> Bools:
        """Return which entries lie inside the margin."""
        found: Bools = self._slack(tags, self.smooth[:, tags], self.intercept[tags]) > 0
        return found & (self.weights[:, tags] > 0)

    def optimality(self, tags: NDArray[np.intp]) -> Floats:
        slack = np.maximum(self._slack(tags, self.smooth[:, tags], self.intercept[tags]), 0.0)
        wanted = self.weights[:, tags] * self.signs[:, tags] * slack
        largest = np.abs(wanted).max(axis=0, initial=0.0)
        gap = np.abs(self.coef[:, tags] - wanted).max(axis=0, initial=0.0)
        return np.asarray(gap / np.where(largest > 0, largest, 1.0))

    def step(self, tags: NDArray[np.intp], coef: Floats, intercept: Floats) -> None:
        """Go towards the solution for fixed active sets, half as far where that does not lower the objective."""
        smooth = self.gram.product(coef)
        before = self.objective[tags]
        moves = coef - self.coef[:, tags], smooth - self.smooth[:, tags], intercept - self.intercept[tags]
        share = np.ones(len(tags))
        for _ in range(_HALVINGS):
            place = [kept + share * move for kept, move in zip(self._at(tags), moves, strict=True)]
            value = self._value(tags, *place)
            worse = value > before * (1.0 + 1e-13)
            if not worse.any():
                break
            share[worse] *= 0.5
        share[worse] = 0.0
        self.coef[:, tags], self.smooth[:, tags], self.intercept[tags] = (
            kept + share * move for kept, move in zip(self._at(tags), moves, strict=True)
        )
        self.objective[tags] = np.where(worse, before, value)

    def _at(self, tags: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        return self.coef[:, tags], self.smooth[:, tags], self.intercept[tags]

    def _slack(self, tags: NDArray[np.intp] | slice, smooth: Floats, intercept: Floats) -> Floats:
        return 1.0 - self.signs[:, tags] * (smooth + intercept)

    def _value(self, tags: NDArray[np.intp] | slice, coef: Floats, smooth: Floats, intercept: Floats) -> Floats:
        slack = np.maximum(self._slack(tags, smooth, intercept), 0.0)
        loss = np.einsum("ij,ij,ij->j", self.weights[:, tags], slack, slack)
        return np.asarray(0.5 * (loss + np.einsum("ij,ij->j", coef, smooth)))


def solve_masked(
    gram: Gram,
    mask: Bools,
    weights: Floats,
    targets: Floats,
    *,
    fit_intercept: bool,
    start: Floats | None = None,
    tol: float = 1e-12,
) -> tuple[Floats, Floats]:
    """Solve ``c = S(y - b - Gc)`` and, with an intercept, ``Σc = 0``, for every tag on its own rows.

    Parameters
    ----------
    gram : Gram
        G.
    mask, weights, targets : arrays of shape (l, c)
        Rows of each tag, s on them, y.
    fit_intercept : bool
        Whether there is b.
    start : array of shape (l, c), optional
        A guess of c, for the iterative way.
    tol : float, default=1e-12
        Relative residual of the iterative way.

    Returns
    -------
    coef, intercept : ndarrays of shape (l, c) and (c,)
        c and b.

    Notes
    -----
    Tags with equal rows and weights share one factorisation. Otherwise: small systems in batches, large ones by
    conjugate gradients on all tags at once, preconditioned by the factorisation for all rows.
    """
    S = np.where(mask, weights, 0.0)
    used = np.flatnonzero(S.any(axis=1))
    if used.size < len(S):
        # Rows outside every margin have c = 0.
        coef = np.zeros_like(S)
        coef[used], intercept = solve_masked(
            gram.part(used),
            mask[used],
            S[used],
            targets[used],
            fit_intercept=fit_intercept,
            start=None if start is None else start[used],
            tol=tol,
        )
        return coef, intercept
    groups = _equal_columns(S)
    if len(groups) == 1 or 4 * len(groups) <= S.shape[1]:
        u, v = _by_groups(gram, S, targets, groups)
    elif isinstance(gram, DenseGram) and gram.n_rows <= DIRECT_ROWS:
        u, v = _in_batches(gram.values, S, targets)
    else:
        u, v = _by_conjugate_gradients(gram, S, targets, start, ones=fit_intercept, tol=tol)
    if not fit_intercept:
        return u, np.zeros(S.shape[1])
    total = v.sum(axis=0)
    intercept = np.divide(u.sum(axis=0), total, out=np.zeros(S.shape[1]), where=total > 0)
    return u - intercept * v, intercept


def _equal_columns(values: Floats) -> list[NDArray[np.intp]]:
    """Return the columns grouped by equality."""
    if (values == values[:, :1]).all():
        return [np.arange(values.shape[1])]
    rows = np.ascontiguousarray(values.T)
    _, group_of = np.unique(rows.view(np.dtype((np.void, rows.strides[0]))).ravel(), return_inverse=True)
    return [np.flatnonzero(group_of == group) for group in range(int(group_of.max()) + 1)]


def _by_groups(gram: Gram, S: Floats, targets: Floats, groups: list[NDArray[np.intp]]) -> tuple[Floats, Floats]:
    u, v = np.zeros_like(S), np.zeros_like(S)
    ones = np.ones((len(S), 1))
    for tags in groups:
        found = gram.solver(S[:, tags[0]])(np.hstack([targets[:, tags], ones]))
        u[:, tags], v[:, tags] = found[:, :-1], found[:, -1:]
    return u, v


def _in_batches(G: Floats, S: Floats, targets: Floats) -> tuple[Floats, Floats]:
    """Solve ``(G_AA + 1/S_A)c_A = t_A`` of many tags by batches of systems of nearly equal size."""
    u, v = np.zeros_like(S), np.zeros_like(S)
    counts = (S > 0).sum(axis=0)
    order = np.argsort(counts, kind="stable")
    first = 0
    while first < len(order):
        largest = int(counts[order[-1]])
        size = max(1, _BATCH_ENTRIES // max(1, largest * largest))
        tags = order[first : first + size]
        first += size
        width = int(counts[tags[-1]])
        weights = S[:, tags].T
        rows = np.argsort(weights == 0, axis=1, kind="stable")[:, :width]
        inside = np.arange(width) < counts[tags, None]
        systems = G[rows[:, :, None], rows[:, None, :]]
        systems *= inside[:, :, None] & inside[:, None, :]
        own = np.take_along_axis(weights, rows, axis=1)
        systems[:, np.arange(width), np.arange(width)] += 1.0 / np.where(inside, own, 1.0)
        wanted = np.take_along_axis(targets[:, tags].T, rows, axis=1)
        sides = np.stack([np.where(inside, wanted, 0.0), inside.astype(np.float64)], axis=2)
        found = np.linalg.solve(systems, sides) * inside[:, :, None]
        for place, side in ((u, 0), (v, 1)):
            part = np.zeros_like(weights)
            np.put_along_axis(part, rows, found[:, :, side], axis=1)
            place[:, tags] = part.T
    return u, v


def _by_conjugate_gradients(
    gram: Gram, S: Floats, targets: Floats, start: Floats | None, *, ones: bool, tol: float
) -> tuple[Floats, Floats]:
    """Solve ``c + SGc = St`` for the targets and, if asked, for ones.

    With ``G = ZZᵀ`` these are the conjugate gradients on ``(I + ZᵀSZ)v = ZᵀSt``, v = Zᵀc, preconditioned by
    ``I + ZᵀWZ`` with one diagonal W for all tags, and every vector ``Zᵀa`` kept as a: ``(I + WG)z = r`` gives the
    preconditioned residual z and, at no cost, ``Gz = W⁻¹(r - z)``.
    """
    n_tags = S.shape[1]
    W = S.max(axis=1, keepdims=True)
    precondition = gram.solver(W[:, 0])
    if ones:
        S, targets = np.hstack([S, S]), np.hstack([targets, np.ones_like(targets)])
    c = np.zeros_like(targets)
    if start is not None:
        c[:, :n_tags] = start
    Gc = gram.product(c)
    r = S * targets - c - S * Gc
    goal = tol * np.linalg.norm(S * targets, axis=0)
    p, Gp, before = np.zeros_like(c), np.zeros_like(c), np.ones(c.shape[1])
    for _ in range(_CG_STEPS):
        if (np.linalg.norm(r, axis=0) <= goal).all():
            break
        z = precondition(r / W)
        Gz = (r - z) / W
        size = np.maximum(np.einsum("ij,ij->j", r, Gz), 0.0)
        ratio = np.divide(size, before, out=np.zeros_like(size), where=before > 0)
        p, Gp = z + ratio * p, Gz + ratio * Gp
        q = p + S * Gp
        curvature = np.einsum("ij,ij->j", q, Gp)
        length = np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0)
        c += length * p
        Gc += length * Gp
        r -= length * q
        before = size
    # What the iteration has not settled is largest where c should be zero; one substitution makes it exactly so.
    c = S * (targets - Gc)
    return c[:, :n_tags], c[:, n_tags:] if ones else np.zeros_like(c)
