"""Transductive support vector machines: unknown entries are given labels too, and the labels are switched."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import COMMON, COUNT, NOT_NEGATIVE, SHARE, UNKNOWN, Floats, LabelMatrix
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.shared import (
    DenseGram,
    Gram,
    HingeResult,
    KernelAnnotator,
    TagTask,
    fit_squared_hinge,
    gram_of_features,
)

__all__ = ["TransductiveSVM"]


#: Where annealing starts, as a share of the final weight of unknown entries.
_FIRST = 1e-3


class TransductiveSVM(KernelAnnotator):
    """Support vector machine that also labels the unlabelled photos, to keep its margin empty.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        See `tagloom.kernels.make_kernel`; "precomputed": X is the kernel of all pairs, and rows of new photos hold
        their kernel with all training photos.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        See `tagloom.kernels.default_gamma`.
    kernel_parameters : dict, optional
        Further parameters of the kernel, such as ``levels`` and ``n_words`` of "pyramid".
    C : float, default=1.0
        Weight of the loss of a known entry.
    unlabeled_weight : float, default=1.0
        Loss of all unknown entries of a tag together, relative to that of all its known entries. 0: an SVM.
    positive_share : float, optional
        Share of unknown entries that are given the tag. Default: the share among the tag's known entries.
    n_levels : int, default=8
        Annealing: the weight of unknown entries rises to its value in so many equal factors, from a thousandth.
    fit_intercept : bool, default=True
        Whether scores have an intercept.
    n_landmarks : int, optional
        Landmarks (Nyström). Default: the exact kernel, if it takes at most 256 MiB (5,792 photos) or is precomputed;
        else 500 landmarks, with a warning. Each Newton step factorises it.
    tol : float, default=1e-6
        Optimality at which the Newton steps of a tag end.
    max_iter : int, default=100
        Most Newton steps between switches, and most switches at a level.
    random_state : int, Generator or None, default=0
        Draws the landmarks.

    Attributes
    ----------
    labels_ : ndarray of int8, shape (n, c)
        Y with the labels that unknown entries ended with (-1 stays in tags that cannot be learnt).
    dual_coef_, intercept_, landmarks_
        As in `tagloom.methods.baselines.lapsvm.LapSVM`.
    objective_ : list of float
        The objective summed over tags, after every switch of the last level; it never rises.
    n_iter_ : int
        Switches, over all levels.

    Notes
    -----
    For each tag ``½‖w‖² + C Σ_known (1 - yf)₊² + C' Σ_unknown (1 - y'f)₊²`` over w, b and the labels y' of unknown
    entries, a fixed number of which are 1. Labels alternate with w: for fixed f the best ones give the tag to the
    highest scores, which is what switching pairs comes to once every pair is switched that lowers the objective. A
    level ends when no label changes. All tags at once, by `tagloom.methods.shared.squared_hinge`.

    With nothing unknown it is the SVM with the squared hinge, ``LapSVM(ambient_weight=1/(2C), graph_weight=0)``. A tag
    without a known positive or without a known negative gets a constant score and is named in a warning.

    References
    ----------
    T. Joachims, "Transductive inference for text classification using support vector machines", ICML 1999.
    V. Sindhwani, S. Keerthi, "Large scale semi-supervised linear SVMs", SIGIR 2006 (squared hinge, multiple switching).
    """

    _kernel_bytes = 1 << 28
    _most_landmarks = 500

    _parameter_constraints = COMMON | {
        "unlabeled_weight": [NOT_NEGATIVE],
        "positive_share": [SHARE, None],
        "n_levels": [COUNT],
    }

    def __init__(
        self,
        kernel: KernelSpec = "rbf",
        *,
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        C: float = 1.0,
        unlabeled_weight: float = 1.0,
        positive_share: float | None = None,
        n_levels: int = 8,
        fit_intercept: bool = True,
        n_landmarks: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 100,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_parameters = kernel_parameters
        self.C = C
        self.unlabeled_weight = unlabeled_weight
        self.positive_share = positive_share
        self.n_levels = n_levels
        self.fit_intercept = fit_intercept
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        kernel = self._settle(X)
        task = TagTask(Y, "TransductiveSVM")
        self.labels_ = Y.copy()
        self.objective_, self.n_iter_ = [0.0], 0
        if task.tags.size == 0:
            self._keep_constant(task, X)
            return
        rows = task.rows if self.unlabeled_weight == 0 else np.arange(len(X))
        signs = np.zeros((len(X), task.tags.size))
        signs[task.rows] = task.signs
        features = self._coordinates(X, len(rows))
        # ½‖w‖² + C Σ slack² is the solver's objective on the kernel times 2C, times 2C.
        if features is None:
            gram: Gram = DenseGram(2.0 * self.C * kernel.gram(X, rows))
        else:
            gram = gram_of_features(np.sqrt(2.0 * self.C) * features[rows])
        found = self._anneal(gram, signs[rows])
        if rows.size == len(X):
            decided = np.where(self._decided > 0, 1, 0).astype(np.int8)
            self.labels_[:, task.tags] = np.where(Y[:, task.tags] == UNKNOWN, decided, Y[:, task.tags])
        alpha = 2.0 * self.C * found.coef
        if features is None:
            self._keep(task, X, rows, alpha, found.intercept)
        else:
            w = features[rows].T @ alpha
            self._keep(task, X, None, w, found.intercept, features @ w)

    def _anneal(self, gram: Gram, signs: Floats) -> HingeResult:
        """Return the machine for the last level; sets the labels, the objectives and the number of switches."""
        known = signs != 0
        n_known, n_unknown = known.sum(axis=0), (~known).sum(axis=0)
        options: dict[str, Any] = {
            "fit_intercept": self.fit_intercept,
            "tol": self.tol,
            "max_iter": int(self.max_iter),
        }
        found = fit_squared_hinge(gram, signs, **options)
        self.objective_, self._decided = [2.0 * self.C * found.objective[-1]], signs
        if self.unlabeled_weight == 0 or not n_unknown.any():
            return found
        share = (signs > 0).sum(axis=0) / n_known if self.positive_share is None else self.positive_share
        n_positive = np.rint(share * n_unknown).astype(np.intp)
        final = self.unlabeled_weight * n_known / np.maximum(n_unknown, 1)
        labels = _label(signs, found.scores, n_positive)
        for factor in np.logspace(np.log10(_FIRST), 0.0, int(self.n_levels)):
            weights = np.where(known, 1.0, factor * final)
            self.objective_ = []
            for _ in range(int(self.max_iter)):
                start = (found.coef, found.intercept)
                found = fit_squared_hinge(gram, labels, weights, start=start, **options)
                self.objective_.append(2.0 * self.C * found.objective[-1])
                self.n_iter_ += 1
                switched = _label(signs, found.scores, n_positive)
                if (switched == labels).all():
                    break
                labels = switched
        self._decided = labels
        return found


def _label(signs: Floats, scores: Floats, n_positive: NDArray[np.intp]) -> Floats:
    """Give the tag to so many unknown entries, those of the highest scores."""
    ranked = np.where(signs == 0, scores, -np.inf)
    rank = np.argsort(np.argsort(-ranked, axis=0, kind="stable"), axis=0, kind="stable")
    return np.where(signs != 0, signs, np.where(rank < n_positive, 1.0, -1.0))
