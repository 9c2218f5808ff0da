"""LPSSVM's two steps by turns, for all tags: the subspaces for given SVMs, the SVMs in given subspaces."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats
from tagloom.methods.baselines.svm import fit_coordinates
from tagloom.methods.lpssvm._lpssvm_base import Base, Subspaces

__all__ = ["Solution", "alternate", "fit_in_coordinates"]


@dataclass
class Solution:
    """Where the alternation ended, for k tags.

    Parameters
    ----------
    pulls : ndarray of shape (q, k)
        ``z = U_LᵀF`` of the SVMs that the subspaces were found for.
    dual : ndarray of shape (l, k)
        F of the SVMs in these subspaces.
    coef : ndarray of shape (q, k)
        Coefficients of U: ``s² v vᵀ U_Lᵀ F``.
    intercept : ndarray of shape (k,)
        b.
    counts : ndarray of int, shape (k,)
        Dimensions of the subspaces.
    scales : ndarray of shape (k,)
        s.
    objective : list of float
        Eq. (5) summed over tags after each iteration.
    n_iter : ndarray of int, shape (k,)
        Iterations of each tag.
    """

    pulls: Floats
    dual: Floats
    coef: Floats
    intercept: Floats
    counts: NDArray[np.intp]
    scales: Floats
    objective: list[float]
    n_iter: NDArray[np.intp]


def alternate(
    base: Base, labelled: Floats, signs: Floats, start: Floats, *, C: float, svm_tol: float, tol: float, max_iter: int
) -> Solution:
    """Run the alternation of Fig. 1 for all tags; a tag leaves it when its F stays.

    Parameters
    ----------
    base : Base
        The problem without an SVM.
    labelled : array of shape (l, q)
        U_L, rows of labelled photos.
    signs : array of shape (l, k)
        1, -1, or 0 where a photo says nothing of a tag.
    start : array of shape (l, k)
        F of the first SVMs.
    C, svm_tol : float
        Of the SVMs.
    tol : float
        Change of F, relative to F, at which a tag stops.
    max_iter : int
        Most iterations.
    """
    n_tags = signs.shape[1]
    found = Solution(
        labelled.T @ start,
        start.copy(),
        np.zeros((labelled.shape[1], n_tags)),
        np.zeros(n_tags),
        np.zeros(n_tags, dtype=np.intp),
        np.ones(n_tags),
        [],
        np.zeros(n_tags, dtype=np.intp),
    )
    values = np.zeros(n_tags)
    open_tags = np.arange(n_tags)
    for _ in range(max_iter):
        found.pulls[:, open_tags] = labelled.T @ found.dual[:, open_tags]
        subspaces = base.subspaces(found.pulls[:, open_tags])
        found.counts[open_tags], found.scales[open_tags] = subspaces.counts, subspaces.scales
        before = found.dual[:, open_tags]
        values[open_tags] = _fit_svms(base, subspaces, labelled, signs, found, open_tags, C=C, tol=svm_tol)
        found.n_iter[open_tags] += 1
        found.objective.append(float(values.sum()))
        change = np.linalg.norm(found.dual[:, open_tags] - before, axis=0)
        # Without a weight the subspaces do not depend on the SVMs.
        moving = (change > tol * np.linalg.norm(before, axis=0)) & (base.weight != 0)
        open_tags = open_tags[moving]
        if not open_tags.size:
            break
    return found


def _fit_svms(
    base: Base,
    subspaces: Subspaces,
    labelled: Floats,
    signs: Floats,
    found: Solution,
    tags: NDArray[np.intp],
    *,
    C: float,
    tol: float,
) -> Floats:
    """Fit the SVMs of some tags in their subspaces, and return Eq. (5) of each."""
    values = np.zeros(len(tags))
    for place, v in subspaces.directions():
        tag, scale = tags[place], float(subspaces.scales[place])
        rows = np.flatnonzero(signs[:, tag])
        coordinates = scale * ((labelled if len(rows) == len(labelled) else labelled[rows]) @ v)
        dual, intercept, cost = fit_in_coordinates(coordinates, signs[rows, tag : tag + 1], C=C, tol=tol)
        found.dual[:, tag] = 0.0
        found.dual[rows, tag] = dual[:, 0]
        found.intercept[tag] = intercept[0]
        found.coef[:, tag] = scale * (v @ (coordinates.T @ dual[:, 0]))
        # tr(vᵀΛv), from the eigenvalues of Λ + ρzzᵀ.
        rough = float(subspaces.spectra.eigenvalues[place, : v.shape[1]].sum())
        rough -= base.weight * float(np.square(found.pulls[:, tag] @ v).sum())
        # Coordinates are s times as long as in Eq. (5), so that its γ is γ/s² here.
        values[place] = rough + 2.0 * abs(base.weight) / scale**2 * float(cost[0])
    return values


def fit_in_coordinates(coordinates: Floats, signs: Floats, *, C: float, tol: float) -> tuple[Floats, Floats, Floats]:
    """Fit linear SVMs; return F (l, k), b (k,) and ``½‖w‖² + CΣξ`` (k,).

    Parameters
    ----------
    coordinates : array of shape (l, m)
        Of labelled photos.
    signs : array of shape (l, k)
        1, -1, or 0 where a photo says nothing of a tag; every tag has both signs.
    C, tol : float
        As scikit-learn's SVC has them.
    """
    dual, intercept = fit_coordinates(coordinates, signs, C=C, tol=tol)
    w = coordinates.T @ dual
    slack = np.where(signs != 0, np.maximum(1.0 - signs * (coordinates @ w + intercept), 0.0), 0.0)
    return dual, intercept, 0.5 * np.einsum("ij,ij->j", w, w) + C * slack.sum(axis=0)
