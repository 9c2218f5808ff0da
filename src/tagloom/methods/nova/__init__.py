"""NOVA: each tag keeps a few whole groups of features, by a penalty that does not shrink what it keeps."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tagloom.core import (
    COMMON,
    POSITIVE,
    UNKNOWN,
    Annotator,
    FeatureGroups,
    Floats,
    Indices,
    LabelMatrix,
    NumberIn,
    OneOf,
    check_labels,
    check_magnitude,
    labeled_rows,
)
from tagloom.exceptions import InvalidInputError
from tagloom.kernels import KernelFeatures, make_kernel
from tagloom.kernels.matrix import Gamma
from tagloom.methods.curds_and_whey import CurdsAndWhey
from tagloom.methods.shared import landmarks_for, linear_scores, name_tags, out_of_fold_scores, stable_folds
from tagloom.metrics import auc
from tagloom.solvers.groups import MCP, SCAD, GroupColumns, GroupColumnsResult, Norm, Radial

__all__ = ["NOVA", "HeldOutFigures", "NovaPath", "choose_strengths", "held_out_figures"]


# NOVA's strength for each tag, from held-out photos.

Selection = Literal["auc", "error"]
Path = Callable[[NDArray[Any], LabelMatrix, Floats], Iterator[tuple[Floats, Floats]]]


@dataclass(frozen=True)
class HeldOutFigures:
    """What each point of a path says of held-out photos, all arrays of shape (k, c).

    NaN where no fold has the tag both present and absent in its held-out part and in the rest.

    Attributes
    ----------
    areas : ndarray
        Mean area under the ROC curve over the folds.
    errors : ndarray
        Mean squared error of the scores beside labels coded ±1, over all held-out photos.
    deviations : ndarray
        Standard error of that mean.
    """

    areas: Floats
    errors: Floats
    deviations: Floats


def held_out_figures(
    X: NDArray[Any], Y: LabelMatrix, strengths: Floats, path: Path, *, n_splits: int, random_state: Any
) -> HeldOutFigures:
    """Return for each point of a path and each tag what it says of photos held out.

    Parameters
    ----------
    X, Y : arrays of shape (n, d) and (n, c)
        Features and label matrix.
    strengths : array of shape (k, c)
        The points.
    path : callable
        From features, labels and strengths to coefficients and intercepts, one pair after another.
    n_splits, random_state : int, Any
        Of `LabeledKFold`, dealt by what photos look like and not by their order.
    """
    total, count = np.zeros(strengths.shape), np.zeros(strengths.shape[1])
    sums, squares, photos = np.zeros(strengths.shape), np.zeros(strengths.shape), np.zeros(strengths.shape[1])
    rows = labeled_rows(Y)
    folds = stable_folds(X, Y, n_splits=n_splits, random_state=random_state) if rows.sum() >= 2 else ()
    for test in folds:
        learnt = np.setdiff1d(np.flatnonzero(rows), test)
        part = Y[learnt]
        contrast = (part == 1).any(axis=0) & (part == 0).any(axis=0)
        held = Y[test]
        contrast &= (held == 1).any(axis=0) & (held == 0).any(axis=0)
        if not contrast.any():
            continue
        tags = np.flatnonzero(contrast)
        known = held[:, tags] != UNKNOWN
        codes = np.where(held[:, tags] == 1, 1.0, -1.0)
        # Tags that cannot be scored here need not be learnt either.
        points = path(X[learnt], np.where(contrast, part, UNKNOWN).astype(np.int8), strengths)
        for point, (coef, intercept) in enumerate(points):
            scores = linear_scores(X[test], coef[:, tags], intercept[tags])
            total[point, tags] += auc(held[:, tags], scores)
            error = np.where(known, np.square(codes - scores), 0.0)
            sums[point, tags] += error.sum(axis=0)
            squares[point, tags] += np.square(error).sum(axis=0)
        count[tags] += 1
        photos[tags] += known.sum(axis=0)
    areas, errors, means_of_squares = (
        np.divide(one, divisor, out=np.full(strengths.shape, np.nan), where=divisor > 0)
        for one, divisor in ((total, count), (sums, photos), (squares, photos))
    )
    variance = np.maximum(means_of_squares - np.square(errors), 0.0)
    return HeldOutFigures(areas, errors, np.sqrt(variance / np.maximum(photos, 1.0)))


def choose_strengths(found: HeldOutFigures, strengths: Floats, selection: Selection = "auc") -> Floats:
    """Return each tag's strength.

    "auc": the largest area under the ROC curve; of equal ones the smallest squared error, then the largest strength.
    "error": the largest strength whose squared error is within one standard error of the smallest.

    A tag that could not be scored takes the point that is best on average over the others, or the middle one.
    """
    scored = ~np.isnan(found.areas).any(axis=0)
    errors = np.where(np.isnan(found.errors), np.inf, found.errors)
    if selection == "error":
        least = np.argmin(errors, axis=0)
        columns = np.arange(errors.shape[1])
        allowed = errors <= errors[least, columns] + np.nan_to_num(found.deviations[least, columns])
        chosen_points = np.argmax(allowed, axis=0)  # strengths fall from point to point
        usual = int(np.argmin(found.errors[:, scored].mean(axis=1))) if scored.any() else len(strengths) // 2
    else:
        areas = np.where(scored, found.areas, -np.inf)
        tied = areas == areas.max(axis=0)
        chosen_points = np.argmin(np.where(tied, errors, np.inf), axis=0)
        usual = int(np.argmax(found.areas[:, scored].mean(axis=1))) if scored.any() else len(strengths) // 2
    points = np.where(scored, chosen_points, usual)
    chosen: Floats = strengths[points, np.arange(strengths.shape[1])]
    return chosen


# What NOVA solves: centred Gram matrices of the photos on which tags are known, one for each set of photos.

Scaling = Literal["columns", "groups"]

#: Rows that are centred at once, so that float32 features are never copied whole.
ROWS_AT_ONCE = 4096
#: Spread of a column, relative to its largest entry, below which it is constant but for rounding.
CONSTANT = {4: 1e-6, 8: 1e-12}
#: Features whose squares, summed over photos, are finite.
LARGEST = 1e140


@dataclass(frozen=True)
class TagSet:
    """Tags that are known on the same photos, and their common problem."""

    tags: Indices
    mean: Floats
    problem: GroupColumns


class NovaTask:
    """Every tag's problem, ``1/(2n)‖y - Xβ - b‖² + Σ_g p(‖β_g‖)`` over the photos on which the tag is known.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        1 is coded +1 and 0 is coded -1; entries of -1 take no part.
    sizes, weights : arrays of shape (g,)
        Columns and weight of each group.
    scaling : {"columns", "groups"} or None
        What columns are divided by: their own deviation, or the root mean square norm of their group.
    scaled_together : array, optional
        Columns of the groups of "groups", where these are not the groups of the penalty.
    entry_share : float
        See `GroupColumns`.

    Attributes
    ----------
    sets : list of TagSet
        One for each set of photos on which some tag is known; tags with no contrast are in none.
    base : ndarray of shape (c,)
        Mean of each tag's codes: its score where no feature is used.
    constant_tags : ndarray of int
        Tags without a known positive or without a known negative.
    scale : ndarray of shape (d,)
        What columns were divided by.
    largest : ndarray of shape (c,)
        For each tag the smallest strength at which a convex penalty uses nothing; NaN for constant tags.
    """

    def __init__(
        self,
        X: NDArray[Any],
        Y: LabelMatrix,
        sizes: Indices,
        weights: Floats,
        *,
        scaling: Scaling | None,
        scaled_together: Indices | None = None,
        entry_share: float = 0.0,
    ) -> None:
        check_magnitude(X, LARGEST, "NOVA")
        self.shape = (X.shape[1], Y.shape[1])
        known = Y != UNKNOWN
        positive, negative = (Y == 1).sum(axis=0), (Y == 0).sum(axis=0)
        self.base: Floats = np.divide(positive - negative, np.maximum(positive + negative, 1), dtype=np.float64)
        both = (positive > 0) & (negative > 0)
        self.constant_tags = np.flatnonzero(~both)
        together = np.asarray(sizes if scaled_together is None else scaled_together)
        self.scale = _scale(X, known.any(axis=1), together, scaling)
        self.sets: list[TagSet] = []
        self.largest: Floats = np.full(Y.shape[1], np.nan)
        tags = np.flatnonzero(both)
        patterns, which = np.unique(known[:, tags], axis=1, return_inverse=True)
        for number, pattern in enumerate(patterns.T):
            members = tags[which.ravel() == number]
            rows = np.flatnonzero(pattern)
            targets = np.where(Y[np.ix_(rows, members)] == 1, 1.0, -1.0)
            if entry_share == 0 and rows.size < np.max(sizes, initial=0):
                mean, part = _centred(X[rows], self.scale)
                problem = GroupColumns.from_rows(part, targets - targets.mean(axis=0), sizes, weights=weights)
            else:
                mean, A, B = _moments(X, rows, targets, self.scale)
                problem = GroupColumns(A, B, sizes, weights=weights, entry_share=entry_share)
            self.sets.append(TagSet(members, mean, problem))
            self.largest[members] = problem.largest

    def top(self, most: float | None) -> Floats:
        """Return for each tag a strength above which nothing, or next to nothing, is used.

        A concave penalty charges no more than ``most λ²/2`` for a group (None: there is no such bound), so that a group
        may be worth its price far above the strength at which zero is no longer a stationary point.
        """
        top = self.largest.copy()
        if most is not None:
            for part in self.sets:
                problem = part.problem
                gain = np.einsum("kc,kc->c", problem.dense_start, problem.axes.B)
                at_most = np.sqrt(np.maximum(gain, 0.0) / most) / problem.weights.min(initial=1.0)
                top[part.tags] = np.maximum(top[part.tags], at_most)
        return top

    def solve(
        self, each: Callable[[GroupColumns, Floats], GroupColumnsResult], strengths: Floats
    ) -> tuple[Floats, Floats, list[tuple[Indices, GroupColumnsResult]]]:
        """Solve every set; return coefficients and intercepts for X as given, and what was found for which tags."""
        W, found = np.zeros(self.shape), []
        for part in self.sets:
            result = each(part.problem, strengths[part.tags])
            W[:, part.tags] = result.coef
            found.append((part.tags, result))
        return *self.as_given(W), found

    def path(
        self, each: Callable[[GroupColumns, Floats], Iterator[GroupColumnsResult]], strengths: Floats
    ) -> Iterator[tuple[Floats, Floats, list[tuple[Indices, GroupColumnsResult]]]]:
        """Solve for one row of strengths after another; yield what `solve` returns."""
        walks = [each(part.problem, strengths[:, part.tags]) for part in self.sets]
        for _ in strengths:
            W, found = np.zeros(self.shape), []
            for part, walk in zip(self.sets, walks, strict=True):
                result = next(walk)
                W[:, part.tags] = result.coef
                found.append((part.tags, result))
            yield *self.as_given(W), found

    def as_given(self, W: Floats) -> tuple[Floats, Floats]:
        """Return coefficients and intercepts for the features as they were given."""
        coef = W / self.scale[:, None]
        intercept = self.base.copy()
        for part in self.sets:
            intercept[part.tags] -= part.mean @ coef[:, part.tags]
        return coef, intercept


def _blocks(rows: Indices) -> Iterator[Indices]:
    for start in range(0, rows.size, ROWS_AT_ONCE):
        yield rows[start : start + ROWS_AT_ONCE]


def _centred(part: NDArray[Any], scale: Floats) -> tuple[Floats, Floats]:
    """Return the mean of rows, and the rows centred and scaled, columns that do not vary set to zero."""
    rows = part.astype(np.float64)
    largest = np.abs(rows).max(axis=0, initial=0.0)
    mean: Floats = rows.mean(axis=0)
    rows -= mean
    rows[:, np.sqrt(np.mean(np.square(rows), axis=0)) <= CONSTANT.get(part.dtype.itemsize, 1e-12) * largest] = 0.0
    rows /= scale
    return mean, rows


def _moments(X: NDArray[Any], rows: Indices, targets: Floats, scale: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean of some rows, and ``X̃ᵀX̃/n`` and ``X̃ᵀỹ/n`` of the centred and scaled columns."""
    n, d = rows.size, X.shape[1]
    mean = sum((X[block].sum(axis=0, dtype=np.float64) for block in _blocks(rows)), np.zeros(d)) / n
    A, B = np.zeros((d, d)), np.zeros((d, targets.shape[1]))
    centred_targets = targets - targets.mean(axis=0)
    largest = np.zeros(d)
    for number, block in enumerate(_blocks(rows)):
        part = X[block].astype(np.float64)
        np.maximum(largest, np.abs(part).max(axis=0), out=largest)
        part -= mean
        part /= scale
        first = number * ROWS_AT_ONCE
        A += part.T @ part
        B += part.T @ centred_targets[first : first + len(block)]
    A /= n
    B /= n
    constant = np.sqrt(A.diagonal()) * scale <= CONSTANT.get(X.dtype.itemsize, 1e-12) * largest
    A[constant], A[:, constant], B[constant] = 0.0, 0.0, 0.0
    return mean, A, B


def _scale(X: NDArray[Any], rows: NDArray[np.bool_], sizes: Indices, scaling: Scaling | None) -> Floats:
    """Return what the columns are divided by; a column or group that does not vary on the rows is left alone."""
    d = X.shape[1]
    chosen = np.flatnonzero(rows)
    if scaling is None or chosen.size == 0:
        return np.ones(d)
    mean = sum((X[block].sum(axis=0, dtype=np.float64) for block in _blocks(chosen)), np.zeros(d)) / chosen.size
    squares, largest = np.zeros(d), np.zeros(d)
    for block in _blocks(chosen):
        part = X[block].astype(np.float64)
        np.maximum(largest, np.abs(part).max(axis=0), out=largest)
        squares += np.square(part - mean).sum(axis=0)
    spread = np.sqrt(squares / chosen.size)
    spread[spread <= CONSTANT.get(X.dtype.itemsize, 1e-12) * largest] = 0.0
    if scaling == "groups":
        starts = np.cumsum(sizes) - sizes
        spread = np.repeat(np.sqrt(np.add.reduceat(np.square(spread), starts)), sizes)
    return np.where(spread > 0, spread, 1.0)


Found = list[tuple[NDArray[np.intp], GroupColumnsResult]]
Penalty = Literal["lasso", "group_lasso", "sparse_group_lasso", "scad", "group_scad", "mcp", "group_mcp"]

KERNELS = ("rbf", "linear", "chi2", "intersection")
PENALTIES = ("lasso", "group_lasso", "sparse_group_lasso", "scad", "group_scad", "mcp", "group_mcp")
#: Points of ``strength="auto"``, and the smallest as a share of the strength at which nothing is used.
AUTO_POINTS, AUTO_SMALLEST = 20, 0.02
#: Optimality residual of models that are only compared on held-out photos.
ROUGH = 1e-3


@dataclass(frozen=True)
class NovaPath:
    """Solutions for many strengths.

    Attributes
    ----------
    strengths : ndarray of shape (k, c)
        λ of each point and tag, from large to small; NaN for a tag that cannot be learnt.
    coefs : ndarray of shape (k, d, c)
        Coefficients.
    intercepts : ndarray of shape (k, c)
        Intercepts.
    objectives : ndarray of shape (k, c)
        Eq. (1) of each tag, without the constant ``½ mean(ỹ²)``; NaN for a tag that cannot be learnt.
    optimalities : ndarray of shape (k,)
        Largest optimality residual over the tags.
    """

    strengths: Floats
    coefs: Floats
    intercepts: Floats
    objectives: Floats
    optimalities: Floats


class NOVA(Annotator):
    """Group SCAD regression: each tag keeps a few whole feature groups, without shrinking them.

    Parameters
    ----------
    groups : FeatureGroups or None, default=None
        Columns that are kept or dropped together. None: every column is a group of its own.
    penalty : str, default="group_scad"
        "group_scad", "group_mcp", "group_lasso" and "sparse_group_lasso" penalise groups; "scad", "mcp" and "lasso"
        every column by itself, whatever the groups.
    strength : "auto", float or array of shape (c,), default="auto"
        λ. "auto" takes for each tag one of the points of its own path that use any group, by ``selection`` over
        `LabeledKFold`.
    selection : {"auc", "error"}, default="auc"
        What "auto" goes by. "auc": the best area under the ROC curve; of equal ones the point with the smallest squared
        error. "error": the one-standard-error rule, the largest λ whose squared error is within one standard error of
        the smallest. A ranking that is perfect at many points says nothing about scores; "error" keeps them near ±1,
        so that 0 tells yes from no.
    concavity : float, default=3.7
        a of SCAD (above 2) and γ of MCP (above 1): the smaller, the sooner a long group is let go.
    group_weights : {"none", "sqrt"}, default="none"
        λ of a group times 1, as in the paper, or times √(its columns).
    entry_share : float, default=0.5
        Of "sparse_group_lasso" only: the share of λ that is put on single entries.
    solver : {"auto", "descent", "lqa"}, default="auto"
        "auto": for a concave penalty from the group lasso and from least squares, the better end of each tag.
        "descent": from the group lasso only. "lqa": the paper's local quadratic approximation. A convex penalty has
        one minimum, and "auto" and "descent" are the same.
    boost : {"curds_and_whey", "structured"} or None, default=None
        Whether scores are shrunk towards what tags have in common: `CurdsAndWhey`, plain or with structured sparse
        canonical correlations as in the paper. Its weights are measured on photos held out: ``n_splits`` more fits.
    kernel : {"rbf", "linear", "chi2", "intersection"} or None, default=None
        Each group is replaced by the principal coordinates of its kernel over all photos, so that a tag keeps or drops
        whole kernels: the non-convex kernel group selection that the paper names as future work. None: the columns
        themselves.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        Of the kernel, see `tagloom.kernels.default_gamma`; settled for each group.
    energy : float, default=0.95
        Share of each kernel's eigenvalues that its coordinates keep.
    n_landmarks : int, optional
        Landmarks (Nyström) of each kernel. Default: the exact kernel, if it takes at most 1 GiB (11,585 photos); else
        1,000 landmarks, with a warning.
    standardize : {"columns", "groups"} or None, default=None
        What columns are divided by first: their deviation on the labelled photos, or the root mean square norm of
        their group there. None: the objective is Eq. (1) in the coordinates of X as given.
    n_splits : int, default=5
        Folds of "auto" and of ``boost``.
    tol : float, default=1e-6
        Largest optimality residual of a tag that is done.
    max_iter : int, default=200
        Most rounds.
    random_state : int, Generator or None, default=0
        For dealing the folds of "auto" and of ``boost``, and for drawing landmarks.

    Attributes
    ----------
    coef_ : ndarray of shape (d, c)
        β, groups that a tag does not use exactly zero. With ``kernel`` of the coordinates, those of all groups side by
        side.
    intercept_ : ndarray of shape (c,)
        Not penalised.
    selected_groups_ : ndarray of bool, shape (c, groups)
        Which groups each tag uses.
    strengths_ : ndarray of shape (c,)
        λ of each tag; NaN where a tag cannot be learnt.
    strength_scores_ : ndarray of shape (k, c) or None
        Mean area under the ROC curve of each point that "auto" looked at.
    strength_errors_ : ndarray of shape (k, c) or None
        Mean squared error of each on held-out photos.
    strength_grid_ : ndarray of shape (k, c) or None
        These points.
    objective_ : list of float
        Eq. (1) summed over tags, without its constant, after each round; it never rises.
    optimality_ : float
        Largest distance, over tags and groups, of minus the gradient from the penalty's subdifferential, relative to
        the smallest λ at which the tag's group lasso uses nothing.
    n_iter_ : int
        Rounds.
    boost_ : CurdsAndWhey or None
        What scores go through.

    Notes
    -----
    For each tag, over the n photos on which it is known and y coded ±1, both sides centred:
    ``1/(2n) ‖y - Xβ‖² + Σ_g p_{λ w_g}(‖β_g‖)``, Eq. (1). All tags known on the same photos share one Gram matrix.
    With SCAD a group longer than a λ costs ``(a + 1)λ²/2`` and is not shrunk at all. Unlabelled photos take no part.

    With ``kernel`` the columns of a group are the principal coordinates of its kernel, ``φ(x)·φ(x') = k(x, x')``:
    ``‖β_g‖`` is the norm of the tag's function in that kernel's space.

    Deviations: the paper solves by local quadratic approximation, whose Eq. (5) lacks a 1/n; here that is
    ``solver="lqa"``, and the default ends lower or level. Thresholding at ε₁ = 1e-3 belongs to "lqa" alone; elsewhere
    zeros are exact. A tag without a known positive or negative gets a constant score and is named in a warning.

    References
    ----------
    F. Wu, Y. Yuan, Y. Rui, S. Yan, Y. Zhuang, "Annotating web images using NOVA: non-convex group sparsity", ACM
    Multimedia 2012.
    J. Fan, R. Li, "Variable selection via nonconcave penalized likelihood and its oracle properties", JASA 96, 2001.
    """

    _parameter_constraints = COMMON | {
        "penalty": [OneOf(*PENALTIES)],
        "strength": [OneOf("auto"), POSITIVE, "array-like"],
        "concavity": [Real],
        "group_weights": [OneOf("none", "sqrt")],
        "entry_share": [NumberIn(Real, 0, 1, closed="left")],
        "solver": [OneOf("auto", "descent", "lqa")],
        "boost": [OneOf("curds_and_whey", "structured"), None],
        "kernel": [OneOf(*KERNELS), None],
        "selection": [OneOf(*get_args(Selection))],
        "standardize": [OneOf("columns", "groups"), None],
    }

    def __init__(
        self,
        groups: FeatureGroups | None = None,
        *,
        penalty: Penalty = "group_scad",
        strength: float | ArrayLike | Literal["auto"] = "auto",
        selection: Selection = "auc",
        concavity: float = 3.7,
        group_weights: Literal["none", "sqrt"] = "none",
        entry_share: float = 0.5,
        solver: Literal["auto", "descent", "lqa"] = "auto",
        boost: Literal["curds_and_whey", "structured"] | None = None,
        kernel: Literal["rbf", "linear", "chi2", "intersection"] | None = None,
        gamma: Gamma = None,
        energy: float = 0.95,
        n_landmarks: int | None = None,
        standardize: Scaling | None = None,
        n_splits: int = 5,
        tol: float = 1e-6,
        max_iter: int = 200,
        random_state: Any = 0,
    ) -> None:
        self.groups = groups
        self.penalty = penalty
        self.strength = strength
        self.selection = selection
        self.concavity = concavity
        self.group_weights = group_weights
        self.entry_share = entry_share
        self.solver = solver
        self.boost = boost
        self.kernel = kernel
        self.gamma = gamma
        self.energy = energy
        self.n_landmarks = n_landmarks
        self.standardize = standardize
        self.n_splits = n_splits
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def largest_strength(self, X: Any, Y: Any) -> Floats:
        """Return for each tag the smallest strength at which zero is stationary; NaN if the tag cannot be learnt."""
        return self._checked_task(X, Y)[0].largest

    def path(self, X: Any, Y: Any, strengths: Any = None, *, n_strengths: int = 50, smallest: float = 0.05) -> NovaPath:
        """Solve for many strengths, each from the ones before.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        Y : label matrix of shape (n, c)
            Labels.
        strengths : array of shape (k,) or (k, c), optional
            From large to small. Default: ``n_strengths`` of them for each tag.
        n_strengths, smallest : int, float
            Of the default: how many, evenly in the logarithm from where the tag uses nothing to ``smallest`` times
            `largest_strength`.
        """
        task, radial = self._checked_task(X, Y)
        if strengths is None:
            grid = self._grid(task, n_strengths, smallest)
        else:
            given = np.asarray(strengths, dtype=np.float64)
            grid = np.broadcast_to(given[:, None] if given.ndim == 1 else given, (len(given), task.shape[1])).copy()
            self._check_strengths(grid[:, ~np.isnan(task.largest)])
            grid[:, np.isnan(task.largest)] = np.nan
        points = list(task.path(lambda problem, rows: self._walk(problem, radial, rows, self.tol), grid))
        objectives = np.full(grid.shape, np.nan)
        for number, (_, _, found) in enumerate(points):
            for tags, result in found:
                objectives[number, tags] = result.values
        return NovaPath(
            grid,
            np.array([coef for coef, _, _ in points]),
            np.array([intercept for _, intercept, _ in points]),
            objectives,
            np.array([max((r.optimality.max() for _, r in found), default=0.0) for _, _, found in points]),
        )

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        X = self._settle(X)
        task, radial = self._task(X, Y)
        if task.constant_tags.size:
            warnings.warn(
                f"NOVA: {name_tags(task.constant_tags)} without a known positive or without a known negative; every "
                f"photo gets the same score there. Label at least one photo of either kind",
                stacklevel=3,
            )
        self.strength_scores_: Floats | None = None
        self.strength_errors_: Floats | None = None
        self.strength_grid_: Floats | None = None
        self.strengths_ = self._choose(X, Y, task) if isinstance(self.strength, str) else self._given_strengths(task)
        self.coef_, self.intercept_, found = task.solve(lambda p, s: self._solve(p, radial, s), self.strengths_)
        self.objective_ = _total([result.objective for _, result in found])
        self.optimality_ = max((float(result.optimality.max()) for _, result in found), default=0.0)
        self.n_iter_ = max((result.n_iter for _, result in found), default=0)
        self.selected_groups_ = self._selected(self.coef_)
        self.boost_: CurdsAndWhey | None = None
        scores = linear_scores(X, self.coef_, self.intercept_)
        if self.boost is not None:
            self.boost_ = self._fit_boost(X, Y)
            scores = self.boost_.transform(scores)
        self.transduction_ = scores

    def _fit_boost(self, X: NDArray[Any], Y: LabelMatrix) -> CurdsAndWhey:
        """Return the shrinkage, its weights measured on scores of photos held out at the strengths that were chosen."""
        canonical: Literal["plain", "structured"] = "plain" if self.boost == "curds_and_whey" else "structured"
        held_out = None
        if labeled_rows(Y).sum() >= 2:
            # X holds coordinates by now, where there is a kernel.
            plain = clone(self).set_params(strength=self.strengths_, boost=None, kernel=None, groups=self._groups)
            held_out = out_of_fold_scores(plain, X, Y, n_splits=self.n_splits, random_state=self.random_state)
        booster = CurdsAndWhey(canonical=canonical, n_splits=self.n_splits, random_state=self.random_state)
        return booster.fit(X, Y, groups=self._groups, scores=held_out)

    def _settle(self, X: NDArray[Any]) -> NDArray[Any]:
        """Settle the kernels, if any, and the groups of what is learnt from; return that."""
        self._groups: FeatureGroups | None = self.groups
        self._kernels: list[tuple[slice, KernelFeatures]] = []
        if self.groups is not None:
            self.groups.check(X)
        if self.kernel is None:
            return X
        groups = FeatureGroups(["all"], [X.shape[1]]) if self.groups is None else self.groups
        for name in groups:
            part = X[:, groups[name]]
            kernel = make_kernel(self.kernel, part, gamma=self.gamma)
            landmarks = landmarks_for(
                kernel,
                len(X),
                len(X),
                n_landmarks=self.n_landmarks,
                random_state=self.random_state,
                method="NOVA",
            )
            self._kernels.append((groups[name], KernelFeatures(kernel, part, landmarks, energy=float(self.energy))))
        # A kernel that is zero everywhere has no coordinate; its group keeps a column of zeros.
        self._groups = FeatureGroups(groups.names, [max(1, one.n_features) for _, one in self._kernels])
        return self._coordinates(X)

    def _coordinates(self, X: NDArray[Any]) -> NDArray[Any]:
        if not self._kernels:
            return X
        parts = [one.transform(X[:, columns]) for columns, one in self._kernels]
        return np.hstack([part if part.shape[1] else np.zeros((len(X), 1)) for part in parts])

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        X = self._coordinates(X)
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores if self.boost_ is None else self.boost_.transform(scores)

    def _checked_task(self, X: Any, Y: Any) -> tuple[NovaTask, Radial]:
        X = self._settle(self._check_X(X, reset=True))
        return self._task(X, check_labels(Y, n_rows=X.shape[0]))

    def _task(self, X: NDArray[Any], Y: LabelMatrix) -> tuple[NovaTask, Radial]:
        """Check the parameters; return every tag's problem and the penalty of a length."""
        radial = self._radial()
        sizes = self._sizes(X)
        weights = np.sqrt(sizes) if self.group_weights == "sqrt" else np.ones(sizes.size)
        share = float(self.entry_share) if self.penalty == "sparse_group_lasso" else 0.0
        together = None if self._groups is None else np.asarray(self._groups.sizes, dtype=np.intp)
        task = NovaTask(X, Y, sizes, weights, scaling=self.standardize, scaled_together=together, entry_share=share)
        return task, radial

    def _radial(self) -> Radial:
        if self.solver == "lqa" and self.penalty == "sparse_group_lasso":
            raise InvalidInputError("solver='lqa' is not for 'sparse_group_lasso': take 'auto'")
        if self.penalty.endswith("scad"):
            return SCAD(float(self.concavity))
        return MCP(float(self.concavity)) if self.penalty.endswith("mcp") else Norm()

    def _sizes(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """Return the columns of each group of the penalty."""
        if self._groups is None or self.penalty in ("lasso", "scad", "mcp"):
            return np.ones(X.shape[1], dtype=np.intp)
        return np.asarray(self._groups.sizes, dtype=np.intp)

    def _selected(self, coef: Floats) -> NDArray[np.bool_]:
        sizes = np.ones(len(coef), dtype=np.intp) if self._groups is None else np.asarray(self._groups.sizes)
        used: NDArray[np.bool_] = np.add.reduceat(coef != 0, np.cumsum(sizes) - sizes, axis=0) > 0
        return used.T

    def _given_strengths(self, task: NovaTask) -> Floats:
        given = np.asarray(self.strength, dtype=np.float64)
        if given.shape not in ((), (task.shape[1],)):
            raise InvalidInputError(f"strength must be one number or {task.shape[1]}, got shape {given.shape}")
        learnt = ~np.isnan(task.largest)
        strengths = np.where(learnt, np.broadcast_to(given, learnt.shape), np.nan)
        self._check_strengths(strengths[learnt])
        return strengths

    def _check_strengths(self, strengths: Floats) -> None:
        if not (np.isfinite(strengths).all() and (strengths > 0).all()):
            raise InvalidInputError("strength must hold positive numbers, got others")

    def _grid(self, task: NovaTask, n_points: int, smallest: float) -> Floats:
        """Return strengths of shape (k, c), from where a tag uses nothing down."""
        if n_points < 1 or not 0 < smallest < 1:
            raise InvalidInputError(
                f"expected at least one strength and a smallest share between 0 and 1, got {n_points} and {smallest}"
            )
        # The most that a group costs, in units of λ²/2.
        most = {"scad": float(self.concavity) + 1, "mcp": float(self.concavity)}.get(self.penalty.split("_")[-1])
        top = task.top(most)
        top = np.where(top > 0, top, 1.0)  # a tag that nothing tells of: any strength will do
        low = smallest * np.where(task.largest > 0, task.largest, 1.0)
        steps = np.linspace(0.0, 1.0, n_points)[:, None]
        grid = np.exp((1 - steps) * np.log(top) + steps * np.log(low))
        return np.where(np.isnan(task.largest), np.nan, grid)

    def _solve(self, problem: GroupColumns, radial: Radial, strengths: Floats) -> GroupColumnsResult:
        if self.solver == "lqa":
            return problem.approximate(radial, strengths, tol=self.tol, max_iter=self.max_iter)
        dense = self.solver == "auto"
        return problem.solve(radial, strengths, dense=dense, tol=self.tol, max_iter=self.max_iter)

    def _walk(
        self, problem: GroupColumns, radial: Radial, strengths: Floats, tol: float
    ) -> Iterator[GroupColumnsResult]:
        if self.solver == "lqa":
            return (problem.approximate(radial, row, tol=tol, max_iter=self.max_iter) for row in strengths)
        return problem.path(radial, strengths, dense=self.solver == "auto", tol=tol, max_iter=self.max_iter)

    def _choose(self, X: NDArray[Any], Y: LabelMatrix, task: NovaTask) -> Floats:
        """Return each tag's strength by cross-validation, and keep what was looked at."""
        grid = self._grid(task, AUTO_POINTS, AUTO_SMALLEST)

        def path(features: NDArray[Any], labels: LabelMatrix, strengths: Floats) -> Iterator[tuple[Floats, Floats]]:
            part, radial = self._task(features, labels)
            walk = part.path(lambda p, rows: self._walk(p, radial, rows, max(self.tol, ROUGH)), strengths)
            return ((coef, intercept) for coef, intercept, _ in walk)

        self.strength_grid_ = grid
        found = held_out_figures(X, Y, grid, path, n_splits=self.n_splits, random_state=self.random_state)
        self.strength_scores_, self.strength_errors_ = found.areas, found.errors
        if np.isnan(found.areas).all():
            warnings.warn(
                "NOVA: no held-out photos could be scored, so strength='auto' takes the middle of the path. Label more "
                "photos",
                stacklevel=4,
            )
        # Folds may use a group where all photos together use none, and a model without any ranks nothing.
        used = np.array([coef.any(axis=0) for coef, _ in path(X, Y, grid)])
        areas = np.where(used, found.areas, np.minimum(found.areas, -1.0))
        # Where no point uses a group, the errors of all count.
        errors = np.where(used | ~used.any(axis=0), found.errors, np.inf)
        return choose_strengths(HeldOutFigures(areas, errors, found.deviations), grid, self.selection)


def _total(histories: list[list[float]]) -> list[float]:
    """Add histories up; one that has ended stays at its end."""
    length = max((len(history) for history in histories), default=0)
    return [sum(history[min(k, len(history) - 1)] for history in histories) for k in range(length)] or [0.0]
