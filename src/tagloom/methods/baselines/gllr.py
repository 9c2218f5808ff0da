"""Group lasso with logistic regression: each tag keeps a few whole groups of features."""

import warnings
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.core import (
    COMMON,
    POSITIVE,
    Annotator,
    FeatureGroups,
    Floats,
    LabeledKFold,
    LabelMatrix,
    OneOf,
    check_labels,
    labeled_rows,
)
from tagloom.exceptions import InvalidInputError
from tagloom.methods.shared import LogisticTask, linear_scores, warn_unless_converged
from tagloom.metrics import mean_average_precision
from tagloom.solvers.groups import ColumnGroupL2
from tagloom.solvers.logistic import GroupLogisticResult

__all__ = ["GLLR"]


#: Candidates of ``sparsity="auto"``: shares of each tag's λ_max, from many groups dropped to few.
GRID = np.logspace(-0.25, -2.5, 10)
#: Taken where no fold can be scored.
FALLBACK = 0.1
#: Optimality residual of the models that are only compared on held-out photos.
ROUGH = 1e-3
#: "auto" stops after so many shares in a row that do no better: the smallest ones are the dearest.
PATIENCE = 3


class GLLR(Annotator):
    """Logistic regression with a group lasso for each tag.

    Parameters
    ----------
    groups : FeatureGroups or None, default=None
        Columns that are kept or dropped together. None: every column is a group of its own (l1 logistic regression).
    sparsity : "auto" or float, default="auto"
        λ as a share of each tag's own λ_max, the smallest λ at which the tag uses no group: 1 uses none. "auto" takes
        the share in `GRID`, common to all tags, with the best mean average precision over `LabeledKFold`; equal
        ones: the largest share. It stops after three shares in a row that do no better.
    relative : bool, default=True
        False: ``sparsity`` is λ itself, the same for all tags.
    weighting : {"size", "equal"}, default="size"
        Weight of a group: √(its columns), or 1.
    standardize : bool, default=False
        Divide columns by their standard deviation on the labelled photos first; ``coef_`` is for the features as given.
    n_splits : int, default=3
        Folds of "auto".
    tol : float, default=1e-6
        Largest optimality residual of a tag at which it is done.
    max_iter : int, default=100
        Most Newton steps for one λ.
    random_state : int, Generator or None, default=0
        For dealing the folds of "auto".

    Attributes
    ----------
    coef_ : ndarray of shape (d, c)
        β, groups that are not used exactly zero.
    intercept_ : ndarray of shape (c,)
        Not penalised.
    selected_groups_ : ndarray of bool, shape (c, groups)
        Which groups each tag uses.
    sparsity_ : float
        The share (or λ) that was used.
    strengths_ : ndarray of shape (c,)
        λ of each tag; NaN where a tag cannot be learnt.
    objective_ : list of float
        The objective summed over tags, at the start and after each Newton step of the last λ; it never rises.
    optimality_ : float
        Largest distance, over tags and groups, of minus the gradient from the subdifferential, divided by λ times the
        weight of the group.
    n_iter_ : int
        Newton steps for the last λ.
    sparsity_scores_ : ndarray or None
        The mean average precision of each share of the grid (NaN: not looked at), None unless chosen by "auto".

    Notes
    -----
    For each tag t on the photos where it is known:
    ``(1/n_t) Σ_i log(1 + exp(-y_i (x_i·β + b))) + λ_t Σ_g √d_g ‖β_g‖``, y coded ±1. Solved by a proximal Newton method
    on working sets, many tags in step (`tagloom.solvers.logistic`). A tag without a known positive or without a known
    negative gets a constant score and is named in a warning.

    Deviations: the references fit one response; here every tag is one, with a λ relative to its own λ_max. The Hessian
    is each tag's own on its working set and not the common bound XᵀX/4n: that one needs 17 to 95 steps where this takes
    6 to 10 (2,000 photos, 300 columns, 50 rare tags, λ of 0.3 and 0.05 λ_max).

    References
    ----------
    L. Meier, S. van de Geer, P. Bühlmann, "The group lasso for logistic regression", JRSS B 70, 2008.
    F. Wu, Y. Yuan, Y. Zhuang, "Heterogeneous feature selection by group lasso with logistic regression", ACM
    Multimedia 2010.
    """

    _parameter_constraints = COMMON | {
        "sparsity": [OneOf("auto"), POSITIVE],
        "weighting": [OneOf("size", "equal")],
    }

    def __init__(
        self,
        groups: FeatureGroups | None = None,
        *,
        sparsity: float | Literal["auto"] = "auto",
        relative: bool = True,
        weighting: Literal["size", "equal"] = "size",
        standardize: bool = False,
        n_splits: int = 3,
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.groups = groups
        self.sparsity = sparsity
        self.relative = relative
        self.weighting = weighting
        self.standardize = standardize
        self.n_splits = n_splits
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def sparsity_path(self, X: Any, Y: Any, sparsities: Any = None) -> tuple[Floats, Floats, Floats]:
        """Solve for many sparsities, each from the one before.

        Parameters
        ----------
        X : array of shape (n, d)
            Features.
        Y : label matrix of shape (n, c)
            Labels.
        sparsities : array, optional
            As ``sparsity``, from large to small. Default: `GRID`.

        Returns
        -------
        sparsities : ndarray of shape (k,)
            From large to small.
        coefs : ndarray of shape (k, d, c)
            Coefficients.
        intercepts : ndarray of shape (k, c)
            Intercepts.
        """
        X = self._check_X(X, reset=True)
        Y = check_labels(Y, n_rows=X.shape[0])
        shares = np.sort(np.atleast_1d(np.asarray(GRID if sparsities is None else sparsities, dtype=float)))[::-1]
        path = list(self._path(self._task(X, Y), shares, self.tol))
        return shares, np.array([coef for coef, _ in path]), np.array([intercept for _, intercept in path])

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        if self.sparsity == "auto" and not self.relative:
            raise InvalidInputError("sparsity='auto' chooses a share of λ_max: give relative=True or a number")
        self.sparsity_scores_: Floats | None = None
        task = self._task(X, Y)
        task.warn_constant_tags("GLLR")
        self.sparsity_ = self._choose(X, Y) if self.sparsity == "auto" else float(self.sparsity)
        strengths = self._strengths(task, self.sparsity_)
        self.strengths_ = np.full(Y.shape[1], np.nan)
        self.strengths_[task.tags] = strengths
        self.objective_, self.optimality_, self.n_iter_ = [0.0], 0.0, 0
        coef, intercept = np.zeros((X.shape[1], task.tags.size)), task.base[task.tags]
        if task.problem is not None:
            result = task.problem.solve(strengths, tol=self.tol, max_iter=self.max_iter)
            coef, intercept = result.coef, result.intercept
            self._keep(result)
        self.coef_, self.intercept_ = task.embed(coef, intercept)
        self.selected_groups_ = self._penalty(X.shape[1]).norms(self.coef_).T > 0
        self.transduction_ = linear_scores(X, self.coef_, self.intercept_)

    def _keep(self, result: GroupLogisticResult) -> None:
        self.objective_ = [float(values.sum()) for values in result.objective]
        self.optimality_ = float(result.optimality.max())
        self.n_iter_ = result.n_iter
        warn_unless_converged("GLLR", self.optimality_, self.tol, self.max_iter)

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        return linear_scores(X, self.coef_, self.intercept_)

    def _penalty(self, n_columns: int) -> ColumnGroupL2:
        sizes = np.ones(n_columns, dtype=np.intp) if self.groups is None else np.asarray(self.groups.sizes)
        weights = np.sqrt(sizes) if self.weighting == "size" else np.ones(len(sizes))
        return ColumnGroupL2(np.repeat(np.arange(len(sizes)), sizes), weights)

    def _task(self, X: NDArray[Any], Y: LabelMatrix) -> LogisticTask:
        if self.groups is not None:
            self.groups.check(X)
        return LogisticTask(X, Y, self._penalty(X.shape[1]), standardize=self.standardize)

    def _strengths(self, task: LogisticTask, sparsity: float) -> Floats:
        return sparsity * task.largest if self.relative else np.full(task.tags.size, sparsity)

    def _path(self, task: LogisticTask, shares: Floats, tol: float) -> Iterator[tuple[Floats, Floats]]:
        """Yield coefficients and intercepts for every share, each solved from the one before."""
        coef, intercept = np.zeros((len(task.mean), task.tags.size)), task.base[task.tags]
        for share in shares:
            if task.problem is not None:
                strengths = self._strengths(task, float(share))
                start = (coef, intercept)
                result = task.problem.solve(strengths, start=start, tol=tol, max_iter=self.max_iter)
                coef, intercept = result.coef, result.intercept
            yield task.embed(coef, intercept)

    def _choose(self, X: NDArray[Any], Y: LabelMatrix) -> float:
        """Return the share with the best mean average precision on held-out photos, and set the scores of all."""
        folds = []
        if labeled_rows(Y).sum() >= 2:
            for train, test in LabeledKFold(self.n_splits, random_state=self.random_state).split(X, Y):
                if (Y[test] == 1).any():
                    path = self._path(self._task(X[train], Y[train]), GRID, max(ROUGH, self.tol))
                    folds.append((test, path))
        if not folds:
            warnings.warn(
                f"GLLR: no held-out photo has a tag, so sparsity='auto' takes {FALLBACK}. Label more photos",
                stacklevel=4,
            )
            return FALLBACK
        scores = np.full(len(GRID), np.nan)
        for step in range(len(GRID)):
            found = [mean_average_precision(Y[test], linear_scores(X[test], *next(path))) for test, path in folds]
            scores[step] = np.mean(found)
            if step - int(np.nanargmax(scores)) >= PATIENCE:
                break
        self.sparsity_scores_ = scores
        return float(GRID[int(np.nanargmax(scores))])
