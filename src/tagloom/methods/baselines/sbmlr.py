"""Sparse logistic regression with the regularisation parameter integrated out: no parameter to tune."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines._shared.selection import SelectingAnnotator, top_features
from tagloom.methods.baselines.bayesian_l1 import BayesianL1
from tagloom.methods.shared.logistic_task import LogisticTask, warn_unless_converged
from tagloom.solvers.groups.norms import ColumnGroupL2

__all__ = ["SBMLR"]


class SBMLR(SelectingAnnotator):
    """Sparse logistic regression via Bayesian l1 regularisation, one question of yes or no per tag.

    Parameters
    ----------
    n_features : int or None, default=None
        Keep at most so many of the features in use, those with the largest ``feature_scores_``. None keeps all.
    refit : bool, default=True
        Score photos by regularised least squares on the features selected for any tag, the protocol of paper 000.
        False scores with the sparse logistic models themselves.
    regularization : "loo" or float, default="loo"
        λ of that least squares, see `RegularizedLeastSquares`.
    standardize : bool, default=True
        Divide columns by their standard deviation on the labelled photos first, so that one Laplace prior suits all of
        them; coefficients are for the features as given.
    tol : float, default=1e-6
        Largest optimality residual of a tag at which it is done.
    max_iter : int, default=100
        Most Newton steps for one value of α.

    Attributes
    ----------
    coef_, intercept_ : ndarrays of shape (d, c) and (c,)
        What scores photos; see ``refit``.
    sparse_coef_, sparse_intercept_ : ndarrays of shape (d, c) and (c,)
        The sparse logistic models.
    alpha_ : ndarray of shape (c,)
        α at the end: N/Σ|w|; infinite where no feature is supported.
    feature_scores_ : ndarray of shape (d,)
        Norm over tags of the coefficients (of standardised features if ``standardize``).
    selected_features_ : ndarray of int
        Features in use for any tag, or the best of them, in ascending order.
    optimality_ : float
        Largest violation, over tags and features, of the optimality conditions of l1 logistic regression at the final
        α, divided by α.
    objective_ : list of float
        ``NLL + N log Σ|w|`` summed over tags.
    n_iter_ : int
        Values of α looked at.

    Notes
    -----
    Per tag ``NLL + N log Σ_j|w_j|``, N the number of non-zero w_j: a Laplace prior with its scale integrated out.
    A stationary point is a solution of ``NLL + α Σ|w|`` with ``α = N/Σ|w|``. The intercept is not penalised.

    α is found as the last root, as α falls along the l1 path, of ``α Σ|w(α)| - N(α)`` where that changes from plus to
    minus: the end that the iteration ``α ← N/Σ|w|`` is drawn to from small α. Where N jumps over the root as a feature
    enters, no α satisfies the equation, and the coordinate-wise algorithm adds and drops that feature for ever; here α
    stops at the value where it enters, so that ``N ≤ α Σ|w| ≤ N + (features about to enter)``.

    The path is looked at in steps of 0.8 down to α_max/1000, less far where α Σ|w| has fallen well below N (the rule is
    in `tagloom.methods.baselines.bayesian_l1`): roots between two looks or beyond the end are not seen.

    Separable data have finite answers: as α goes to 0, α Σ|w| does too while N ≥ 1, so the root lies above 0. Where
    α Σ|w| exceeds N nowhere (a few labelled photos), not even one feature is supported: w = 0, ``alpha_`` infinite, and
    the sparse model's score is constant. So it is for a tag without a known positive or without a known negative, which
    a warning names.

    Deviations: one-vs-rest in place of a multinomial model, as tags are not exclusive; all tags at once by a proximal
    Newton method for given α in place of coordinate steps with α refreshed after each. On small problems those steps
    were seen to hover about the same α.

    References
    ----------
    G. C. Cawley, N. L. C. Talbot, M. Girolami, "Sparse multinomial logistic regression via Bayesian L1
    regularisation", NIPS 2006.
    """

    def __init__(
        self,
        *,
        n_features: int | None = None,
        refit: bool = True,
        regularization: float | Literal["loo"] = "loo",
        standardize: bool = True,
        tol: float = 1e-6,
        max_iter: int = 100,
    ) -> None:
        self.n_features = n_features
        self.refit = refit
        self.regularization = regularization
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        wish = self.n_features
        if wish is not None and (not isinstance(wish, int | np.integer) or isinstance(wish, bool) or wish < 1):
            raise InvalidInputError(f"n_features must be None or a whole number of at least 1, got {wish!r}")
        d = X.shape[1]
        task = LogisticTask(X, Y, ColumnGroupL2(np.arange(d), np.ones(d)), standardize=self.standardize)
        task.warn_constant_tags("SBMLR")
        coef, intercept = np.zeros((d, task.tags.size)), task.base[task.tags]
        self.alpha_ = np.full(Y.shape[1], np.inf)
        self.objective_, self.optimality_, self.n_iter_ = [0.0], 0.0, 0
        if task.problem is not None:
            search = BayesianL1(task.problem, task.largest, task.n_known[task.tags], tol=self.tol, steps=self.max_iter)
            search.run()
            coef, intercept = search.coef, search.intercept
            self.alpha_[task.tags] = search.alpha
            self.optimality_, self.n_iter_ = float(search.optimality.max(initial=0.0)), search.n_values
            self.objective_ = [float(search.objective().sum())]
            warn_unless_converged("SBMLR", self.optimality_, self.tol, self.max_iter)
        self.feature_scores_ = np.sqrt(np.square(coef).sum(axis=1))
        self.sparse_coef_, self.sparse_intercept_ = task.embed(coef, intercept)
        features = self._select()
        if self.refit:
            self._learn(X, Y, features)
            return
        self.selected_features_ = np.sort(features)
        self.coef_, self.intercept_ = np.zeros_like(self.sparse_coef_), self.sparse_intercept_
        self.coef_[features] = self.sparse_coef_[features]
        self.transduction_ = self._decision_function(X)

    def _select(self) -> NDArray[np.intp]:
        n_used = int((self.feature_scores_ > 0).sum())
        return top_features(self.feature_scores_, n_used if self.n_features is None else min(n_used, self.n_features))
