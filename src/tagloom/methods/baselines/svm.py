"""Support vector machines: scikit-learn's, one for each tag, on one kernel for all of them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Floats, LabelMatrix
from tagloom.kernels import DENSE_ROWS
from tagloom.kernels.matrix import Gamma, KernelSpec
from tagloom.methods.shared import KernelAnnotator, TagTask

__all__ = ["KernelSVM", "fit_coordinates", "fit_tags", "hinge_objectives"]


class KernelSVM(KernelAnnotator):
    """Support vector machines that share one kernel, one for each tag.

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
        Weight of the loss.
    n_landmarks : int, optional
        Landmarks (Nyström). Default: the exact kernel, if that of the labelled photos takes at most 1 GiB (11,585 of
        them) or is precomputed; else 1,000 landmarks, with a warning.
    tol : float, default=1e-5
        scikit-learn's. Its own default of 1e-3 lets scores depend on the order of photos in the third digit.
    max_iter : int, default=10000
        Most iterations of the linear solver; the kernel solver has no limit.
    random_state : int, Generator or None, default=0
        Draws the landmarks.

    Attributes
    ----------
    dual_coef_ : ndarray of shape (m, c)
        Coefficients of the kernel with the photos that support any tag (or of the coordinates, see ``landmarks_``).
    intercept_ : ndarray of shape (c,)
        b.
    coef_ : ndarray of shape (d, c)
        Coefficients of the columns, for the linear kernel.
    landmarks_ : ndarray of int or None
        Which training photos are landmarks.

    Notes
    -----
    For each tag ``½‖w‖² + C Σ_known (1 - y_i f_i)₊``, f = w·φ(x) + b, by ``sklearn.svm.SVC`` on the kernel of the
    labelled photos, or of their coordinates where there are landmarks. With the linear kernel
    ``sklearn.svm.LinearSVC`` on the columns: the hinge is squared there and the intercept has a weight like any
    coefficient. A tag without a known positive or without a known negative gets a constant score and is named in a
    warning.
    """

    def __init__(
        self,
        kernel: KernelSpec = "rbf",
        *,
        gamma: Gamma = None,
        kernel_parameters: Any = None,
        C: float = 1.0,
        n_landmarks: int | None = None,
        tol: float = 1e-5,
        max_iter: int = 10_000,
        random_state: Any = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_parameters = kernel_parameters
        self.C = C
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        kernel = self._settle(X)
        task = TagTask(Y, "KernelSVM")
        linear = kernel.name == "linear" and self.n_landmarks is None
        if linear:
            found = fit_linear_tags(X[task.rows], task.signs, C=self.C, tol=self.tol, max_iter=int(self.max_iter))
            self.coef_, self.intercept_ = task.embed(*found)
            self.transduction_ = self._decision_function(X)
            return
        features = self._coordinates(X, len(task.rows)) if task.tags.size else None
        if features is not None:
            labelled = features[task.rows]
            dual, intercept = fit_coordinates(labelled, task.signs, C=self.C, tol=self.tol)
            coef = labelled.T @ dual
            self._keep(task, X, None, coef, intercept, scores=features @ coef)
        elif task.tags.size:
            found = fit_tags(kernel.gram(X, task.rows), task.signs, C=self.C, tol=self.tol)
            self._keep(task, X, task.rows, *found)
        else:
            self._keep_constant(task, X)

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        if self.kernel_.name == "linear" and self.landmarks_ is None:
            scores: Floats = X @ self.coef_ + self.intercept_
            return scores
        return super()._decision_function(X)


def fit_tags(gram: Floats, signs: Floats, *, C: float, tol: float) -> tuple[Floats, Floats]:
    """Fit ``sklearn.svm.SVC`` to every tag on a kernel of labelled photos.

    Parameters
    ----------
    gram : array of shape (l, l)
        The kernel.
    signs : array of shape (l, k)
        1, -1, or 0 where a photo says nothing; every tag has both signs.
    C, tol : float
        As SVC has them.

    Returns
    -------
    coef, intercept : ndarrays of shape (l, k) and (k,)
        Signed dual coefficients ``α_i y_i`` and b.
    """
    from sklearn.svm import SVC

    coef, intercept = np.zeros(signs.shape), np.zeros(signs.shape[1])
    patterns, pattern_of = np.unique(signs != 0, axis=1, return_inverse=True)
    for pattern, known in enumerate(patterns.T):
        rows = np.flatnonzero(known)
        # Tags known on the same photos share the part of the kernel.
        part = gram if known.all() else np.ascontiguousarray(gram[np.ix_(rows, rows)])
        for tag in np.flatnonzero(pattern_of.ravel() == pattern):
            machine = SVC(C=C, kernel="precomputed", tol=tol, cache_size=500).fit(part, signs[rows, tag])
            coef[rows[machine.support_], tag] = machine.dual_coef_[0]
            intercept[tag] = machine.intercept_[0]
    return coef, intercept


def fit_coordinates(coordinates: Floats, signs: Floats, *, C: float, tol: float) -> tuple[Floats, Floats]:
    """Fit the same machines to inner products of coordinates; return signed dual coefficients (l, k) and b (k,).

    Parameters
    ----------
    coordinates : array of shape (l, m)
        Of labelled photos.
    signs : array of shape (l, k)
        1, -1, or 0 where a photo says nothing; every tag has both signs.
    C, tol : float
        As SVC has them.
    """
    if len(coordinates) <= DENSE_ROWS:
        return fit_tags(coordinates @ coordinates.T, signs, C=C, tol=tol)
    from sklearn.svm import SVC

    dual, intercept = np.zeros(signs.shape), np.zeros(signs.shape[1])
    for tag in range(signs.shape[1]):
        rows = np.flatnonzero(signs[:, tag])
        machine = SVC(C=C, kernel="linear", tol=tol, cache_size=500).fit(coordinates[rows], signs[rows, tag])
        dual[rows[machine.support_], tag] = machine.dual_coef_[0]
        intercept[tag] = machine.intercept_[0]
    return dual, intercept


def fit_linear_tags(
    features: NDArray[Any], signs: Floats, *, C: float, tol: float, max_iter: int
) -> tuple[Floats, Floats]:
    """Fit ``sklearn.svm.LinearSVC`` to every tag on columns of labelled photos.

    Parameters
    ----------
    features : array of shape (l, p)
        Columns.
    signs : array of shape (l, k)
        1, -1, or 0 where a photo says nothing.
    C, tol, max_iter : numbers
        As LinearSVC has them.

    Returns
    -------
    coef, intercept : ndarrays of shape (p, k) and (k,)
        w and b.
    """
    from sklearn.svm import LinearSVC

    columns = features.astype(np.float64, copy=False)
    coef, intercept = np.zeros((features.shape[1], signs.shape[1])), np.zeros(signs.shape[1])
    for tag in range(signs.shape[1]):
        known = signs[:, tag] != 0
        # In the primal: no random order of coordinates.
        machine = LinearSVC(C=C, dual=False, tol=tol, max_iter=max_iter)
        machine.fit(columns if known.all() else columns[known], signs[known, tag])
        coef[:, tag], intercept[tag] = machine.coef_[0], machine.intercept_[0]
    return coef, intercept


def hinge_objectives(gram: Floats, signs: Floats, coef: Floats, intercept: Floats, C: float) -> Floats:
    """Return ``½ cᵀGc + C Σ_known (1 - y f)₊`` of every tag, f = Gc + b."""
    smooth = gram @ coef
    slack = np.where(signs != 0, np.maximum(1.0 - signs * (smooth + intercept), 0.0), 0.0)
    return np.asarray(0.5 * np.einsum("ij,ij->j", coef, smooth) + C * slack.sum(axis=0))
