"""Linear classifiers of all tags at once: logistic regression and the squared hinge, by one L-BFGS over all tags.

The objective is the one of scikit-learn's LogisticRegression and LinearSVC, ``½‖w‖² + C Σ loss`` for each tag; only the
order of the work differs: one matrix product a step for all tags in place of one fit per tag.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Floats = NDArray[np.float64]
Loss = Literal["logistic", "squared_hinge"]
#: Largest curvature of each loss.
CURVATURE = {"logistic": 0.25, "squared_hinge": 2.0}


def fit_linear(
    Z: Floats,
    signs: Floats,
    C: float,
    loss: Loss,
    *,
    start: Floats | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
) -> Floats:
    """Return coefficients of shape (p + 1, c), the intercepts last.

    Parameters
    ----------
    Z : array of shape (l, p)
        Features.
    signs : array of shape (l, c)
        1, -1, or 0 where a photo says nothing of the tag.
    C : float
        Weight of the loss.
    loss : {"logistic", "squared_hinge"}
        "logistic": the intercept is free, as in LogisticRegression. "squared_hinge": it has a penalty like any
        coefficient, as in LinearSVC.
    start : array of shape (p + 1, c), optional
        Where to begin.
    max_iter : int
        Most steps.
    tol : float
        Largest entry of the gradient, relative to the largest at zero, at which it ends.
    """
    n_columns, n_tags = Z.shape[1] + 1, signs.shape[1]
    A = np.column_stack([Z, np.ones(len(Z))])
    penalty = np.ones((n_columns, 1))
    if loss == "logistic":
        penalty[-1] = 0.0
    # Variables scaled by the root of their curvature: the orthogonal columns of `kernel_columns` then have one scale.
    curvature = penalty + C * CURVATURE[loss] * np.square(A).sum(axis=0)[:, None]
    scale = 1.0 / np.sqrt(curvature)
    derivative = _LOSSES[loss]

    def value(flat: Floats) -> tuple[float, Floats]:
        W = scale * flat.reshape(n_columns, n_tags)
        total, slope = derivative(signs * (A @ W))
        known = signs != 0
        gradient = penalty * W + C * (A.T @ (slope * signs))
        figure = 0.5 * float((penalty * np.square(W)).sum()) + C * float(total[known].sum())
        return figure, (scale * gradient).ravel()

    first = np.zeros((n_columns, n_tags)) if start is None else start / scale
    largest = float(np.abs(value(np.zeros(n_columns * n_tags))[1]).max(initial=0.0))
    options: dict[str, Any] = {"maxiter": max_iter, "maxcor": 10, "gtol": tol * largest, "ftol": 0.0}
    found = minimize(value, first.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(scale * found.x.reshape(n_columns, n_tags))


def _logistic(margins: Floats) -> tuple[Floats, Floats]:
    return np.logaddexp(0.0, -margins), -expit(-margins)


def _squared_hinge(margins: Floats) -> tuple[Floats, Floats]:
    slack = np.maximum(1.0 - margins, 0.0)
    return np.square(slack), -2.0 * slack


_LOSSES: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "logistic": _logistic,
    "squared_hinge": _squared_hinge,
}


def linear_scores(Z: Floats, coefficients: Floats) -> Floats:
    """Return scores of shape (n, c)."""
    return np.asarray(Z @ coefficients[:-1] + coefficients[-1])


def kernel_columns(gram: Floats) -> tuple[Floats, Floats]:
    """Return ``(Z, back)`` with ``ZZᵀ`` the kernel of the labelled photos, and ``K back`` their columns for others.

    A linear learner with a squared penalty needs no more: its coefficients lie in the span of the labelled photos.

    Parameters
    ----------
    gram : array of shape (l, l)
        Kernel of the labelled photos.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > values[-1] * len(gram) * np.finfo(np.float64).eps * 10
    roots = np.sqrt(values[kept])
    return vectors[:, kept] * roots, vectors[:, kept] / roots
