"""FSNM: feature selection by joint l2,1 norms of loss and penalty, then regularised least squares."""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, check_labels, labeled_rows
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines._shared.selection import (
    SelectingAnnotator,
    best_first,
    check_count,
    fold_precision,
    label_folds,
    tag_shares,
    top_features,
)
from tagloom.methods.baselines.joint_norms import JointNorms, JointNormsResult
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.shared.ridge_path import linear_scores

__all__ = ["FSNM", "JointNormsPath"]


#: Candidates for γ of "auto", as shares of γ_max.
GRID = np.geomspace(0.5, 0.005, 7)
#: γ over γ_max where there is nothing to choose by.
FALLBACK = 0.1
#: Gap at which candidates are compared: their order does not need more.
ROUGH = 3e-3


@dataclass(frozen=True)
class JointNormsPath:
    """Solutions for several γ, the largest first.

    Attributes
    ----------
    strengths : ndarray of shape (p,)
        γ.
    coef : ndarray of shape (p, d, c)
        W.
    intercept : ndarray of shape (p, c)
        b.
    optimality : ndarray of shape (p,)
        Relative duality gaps.
    """

    strengths: Floats
    coef: Floats
    intercept: Floats
    optimality: Floats

    @property
    def n_selected(self) -> NDArray[np.intp]:
        """Number of features in use at each γ."""
        return np.asarray(self.coef.any(axis=2).sum(axis=1))


class FSNM(SelectingAnnotator):
    """Features selected by a robust regression whose loss and penalty are both l2,1 norms, then least squares.

    Parameters
    ----------
    sparsity : "auto" or float, default="auto"
        γ. "auto" takes the best of seven shares of ``sparsity_max_``, 0.5 … 0.005, by the mean average precision on
        held-out labelled rows (`LabeledKFold`); among equals the largest. Where that one selects no feature at all, the
        next smaller one that does.
    n_features : int or None, default=None
        Keep at most so many of the features with a non-zero row, those with the largest norms. None keeps all.
    refit : bool, default=True
        Learn the scores by regularised least squares on the selected features, the protocol of paper 000. False
        scores with the W of the objective itself.
    regularization : "loo" or float, default="loo"
        λ of that least squares, see `RegularizedLeastSquares`.
    fit_intercept : bool, default=True
        Whether the objective has a b, which is not penalised.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=5000
        Most steps.
    n_splits : int, default=5
        Folds of "auto".
    random_state : int, Generator or None, default=0
        For the folds.

    Attributes
    ----------
    coef_ : ndarray of shape (d, c)
        Coefficients of the scores; zero rows for features that are not in use.
    intercept_ : ndarray of shape (c,)
        Added to every score.
    sparse_coef_, sparse_intercept_ : ndarray of shape (d, c) and (c,)
        W and b of the objective.
    feature_scores_ : ndarray of shape (d,)
        Row norms of ``sparse_coef_``.
    selected_features_ : ndarray of int
        The features in use, ascending.
    sparsity_, sparsity_max_ : float
        γ as used; γ from which on no feature is selected.
    objective_ : list of float
        Objective of the best W so far, each time it was improved.
    optimality_ : float
        Relative duality gap of W.
    n_iter_ : int
        Steps.
    candidates_, precision_ : ndarray of shape (7,) or None
        Candidates of "auto" and their mean average precision; None where nothing could be compared (then γ is a tenth
        of ``sparsity_max_``).
    transduction_ : ndarray of shape (n, c)
        Scores of the training rows.
    thresholds_ : ndarray of shape (c,)
        From leave-one-out scores with ``refit``, else from ``transduction_``.

    Notes
    -----
    Objective: ``Σ_i ‖(Y - XW - 1bᵀ)_i‖ + γ Σ_j ‖w_j‖`` over labelled rows i; the norm of a row's residual is that over
    its known tags. Reference: Nie, Huang, Cai and Ding, "Efficient and robust feature selection via joint l2,1-norms
    minimization", NIPS 2010; FSNM is its name in paper 000.

    Certificate: any Z with ``‖Z_i‖ ≤ 1``, ``‖(XᵀZ)_j‖ ≤ γ``, zeros at unknown entries and ``1ᵀZ = 0`` (with an
    intercept) bounds the objective from below by ``⟨Z, Y⟩``.

    A single tag is absolute error with an l1 penalty: rare tags then have no feature at all (the median of the labels
    is 0), so give several tags at once. Where many rows have no tag the same holds for all of them.

    Deviations: Nie et al. append a constant column to X where a bias is wanted and penalise it; here b is free.
    Their reweighting never makes a row zero and slows down as residuals vanish; here zero rows are exact. A group
    lasso for each reweighting of the residuals alone (``benchmarks/speed/fsnm.py``) does as well while no row is fitted
    exactly, and stopped 1 % above the optimum where many are (500 × 500, γ = 0.03 γ_max).
    """

    def __init__(
        self,
        *,
        sparsity: float | Literal["auto"] = "auto",
        n_features: int | None = None,
        refit: bool = True,
        regularization: float | Literal["loo"] = "loo",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 5000,
        n_splits: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.sparsity = sparsity
        self.n_features = n_features
        self.refit = refit
        self.regularization = regularization
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.n_splits = n_splits
        self.random_state = random_state

    def sparsity_path(self, X: Any, Y: Any, *, n_strengths: int = 20, smallest: float = 1e-3) -> JointNormsPath:
        """Return solutions from γ_max down to a share of it, each started from the last.

        Parameters
        ----------
        X, Y
            As for ``fit``.
        n_strengths : int, default=20
            How many values of γ, geometric.
        smallest : float, default=1e-3
            The last one as a share of γ_max.
        """
        self._check_parameters()
        X = Annotator._check_X(self, X, reset=True)
        Y = check_labels(Y, n_rows=X.shape[0])
        problem, tags = self._problem(X, Y)
        strengths = (problem.largest_strength or 1.0) * np.geomspace(1.0, smallest, n_strengths)
        solutions = self._path(problem, strengths, self.tol)
        spread = [_spread(solution, tags) for solution in solutions]
        return JointNormsPath(
            strengths,
            np.array([coef for coef, _ in spread]),
            np.array([intercept for _, intercept in spread]),
            np.array([solution.gap for solution in solutions]),
        )

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        self._check_parameters()
        problem, tags = self._problem(X, Y)
        self.sparsity_max_ = problem.largest_strength
        self.candidates_: Floats | None = None
        self.precision_: Floats | None = None
        strengths = self._choose(X, Y) if self.sparsity == "auto" else [float(self.sparsity)]
        for strength in strengths:
            solution = problem.solve(strength, tol=self.tol, max_iter=self.max_iter)
            if solution.coef.any():
                break
        self.sparsity_ = strength
        self.sparse_coef_, self.sparse_intercept_ = _spread(solution, tags)
        self.objective_, self.optimality_, self.n_iter_ = solution.objective, solution.gap, solution.n_iter
        self.feature_scores_ = np.linalg.norm(self.sparse_coef_, axis=1)
        features = self._select(self.feature_scores_)
        if self.refit:
            self._learn(X, Y, features)
            return
        self.selected_features_ = np.sort(features)
        self.coef_ = np.zeros_like(self.sparse_coef_)
        self.coef_[features] = self.sparse_coef_[features]
        self.intercept_ = self.sparse_intercept_
        self.transduction_ = self._decision_function(X)

    def _check_parameters(self) -> None:
        if self.sparsity != "auto" and not _is_positive(self.sparsity):
            raise InvalidInputError(f"sparsity must be 'auto' or a number above 0, got {self.sparsity!r}")
        if not _is_positive(self.tol):
            raise InvalidInputError(f"tol must be a number above 0, got {self.tol!r}")
        if self.n_features is not None:
            check_count("n_features", self.n_features, otherwise="None")
        check_count("max_iter", self.max_iter)

    def _problem(self, X: NDArray[Any], Y: LabelMatrix) -> tuple[JointNorms, NDArray[np.bool_]]:
        """Return the problem of the labelled rows, and which tags it has: those somebody has said anything about."""
        tags: NDArray[np.bool_] = (Y != UNKNOWN).any(axis=0)
        rows = labeled_rows(Y)
        labels = Y[rows][:, tags]
        return JointNorms(X[rows], labels, labels != UNKNOWN, fit_intercept=self.fit_intercept), tags

    def _select(self, norms: Floats) -> NDArray[np.intp]:
        n_used = int(np.count_nonzero(norms))
        return top_features(norms, n_used if self.n_features is None else min(n_used, int(self.n_features)))

    def _path(self, problem: JointNorms, strengths: Floats, tol: float) -> list[JointNormsResult]:
        found: list[JointNormsResult] = []
        for strength in strengths:
            start = found[-1] if found else None
            found.append(problem.solve(float(strength), tol=tol, max_iter=self.max_iter, start=start))
        return found

    def _choose(self, X: NDArray[Any], Y: LabelMatrix) -> list[float]:
        """Compare values of γ, with one warm-started path for each fold; return the best and those below it."""
        scale = self.sparsity_max_ or 1.0
        candidates = self.candidates_ = scale * GRID
        figures = []
        for train, held_out in label_folds(Y, self.n_splits, self.random_state):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                scores = self._fold_scores(X[train], Y[train], X[held_out], candidates)
            figures.append(np.array([fold_precision(Y[held_out], each) for each in scores]))
        best, self.precision_ = best_first(figures)
        return [FALLBACK * scale] if best is None else [float(strength) for strength in candidates[best:]]

    def _fold_scores(self, X: NDArray[Any], Y: LabelMatrix, judged: NDArray[Any], candidates: Floats) -> list[Floats]:
        problem, tags = self._problem(X, Y)
        scores: list[Floats] = []
        before: NDArray[np.intp] | None = None
        for solution in self._path(problem, candidates, ROUGH):
            coef, intercept = _spread(solution, tags)
            features = np.sort(self._select(np.linalg.norm(coef, axis=1)))
            if self.refit:
                # The same features give the same least squares: nothing to learn again.
                same = before is not None and np.array_equal(features, before)
                scores.append(scores[-1] if same else self._refitted(X, Y, judged, features))
            else:
                scores.append(linear_scores(judged[:, features], coef[features], intercept))
            before = features
        return scores

    def _refitted(self, X: NDArray[Any], Y: LabelMatrix, judged: NDArray[Any], features: NDArray[np.intp]) -> Floats:
        if not len(features):
            return np.tile(tag_shares(Y), (len(judged), 1))
        model = RegularizedLeastSquares(self.regularization).fit(X[:, features], Y)
        return np.asarray(model.decision_function(judged[:, features]))


def _is_positive(value: Any) -> bool:
    is_number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return bool(is_number and np.isfinite(value) and value > 0)


def _spread(solution: JointNormsResult, tags: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return coefficients and intercept for all tags, zero for those nobody has said anything about."""
    coef, intercept = np.zeros((len(solution.coef), tags.size)), np.zeros(tags.size)
    coef[:, tags], intercept[tags] = solution.coef, solution.intercept
    return coef, intercept
