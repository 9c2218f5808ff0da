"""Scores as sums over labels: what each label of a tag weighs in the score of one photo.

Annotators that are linear in the labels of a tag have ``score = offset + Σ_i a_i y_i`` over the photos i on which the
tag is known, y 1 or 0. The weights of one photo come from one solution of the annotator's own system with that photo as
the right-hand side, all systems being symmetric; the labels are never looked at.
"""

import copy
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import clone

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.graph import NeighborGraph, check_graph
from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.baselines.neighbor_transfer import NeighborTransfer
from tagloom.methods.baselines.propagation import HarmonicPropagation, LocalGlobalConsistency
from tagloom.methods.shared.smoothing import smoothing_graph
from tagloom.solvers import block_cg

__all__ = ["LabelWeights", "Latest", "RidgeWeights", "RowView", "find_label_weights", "weighted_rows"]


#: Relative residual of the systems; explanations are asked for to 1e-6.
TOLERANCE = 1e-10
#: Factorisations and rows kept for the next explanation.
KEPT = 8
#: Known photos up to which a kernel machine is fitted once for each of them.
MOST_IDENTITY_ROWS = 4000
_ROWS_AT_ONCE = 8192


class Latest:
    """The latest few results of a function, by key."""

    def __init__(self, n_kept: int = KEPT) -> None:
        self._n_kept = n_kept
        self._found: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is kept under a key, made where it is not there."""
        if key not in self._found:
            self._found[key] = make()
            while len(self._found) > self._n_kept:
                self._found.popitem(last=False)
        self._found.move_to_end(key)
        return self._found[key]


@dataclass(frozen=True, eq=False)
class RowView:
    """The features that a linear model's score of a photo comes from: ``score = features·w + share·b``.

    Without smoothing they are the photo's own, and the share is 1.
    """

    features: Floats
    share: float


class LabelWeights(ABC):
    """Weights of labels in scores of training photos.

    Parameters
    ----------
    annotator : Annotator
        Fitted on X and Y.
    X : array of shape (n, d)
        Its features.
    Y : label matrix of shape (n, c)
        Its labels.
    """

    def __init__(self, annotator: Any, X: NDArray[Any], Y: LabelMatrix) -> None:
        self.annotator, self.X, self.Y = annotator, X, Y

    @abstractmethod
    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return the weights of the photos on which the tag is known, in their order, and the offset."""

    def known(self, tag: int) -> NDArray[np.intp]:
        """Return the photos on which the tag is known."""
        return np.flatnonzero(self.Y[:, tag] != UNKNOWN)

    def without(self, Y: LabelMatrix) -> "LabelWeights":
        """Return the weights where some labels are not there, unknown in Y; all else being as it was chosen."""
        return type(self)(copy.copy(self.annotator).fit(self.X, Y), self.X, Y)


class RidgeWeights(LabelWeights):
    """Weights of `RegularizedLeastSquares`, smoothed or not, at the penalty that was chosen."""

    def __init__(self, annotator: Any, X: NDArray[Any], Y: LabelMatrix, *, graph: NeighborGraph | None = None) -> None:
        super().__init__(annotator, X, Y)
        self._views, self._factors = Latest(), Latest()
        #: Lines of tags where they are not those of the annotator.
        self._lines: Latest | None = None
        self._graph = graph
        self._smoother: Any = None

    def view(self, row: int) -> RowView:
        """Return the features that the score comes from: for smoothed scores ``Xᵀm``, ``(I + sL)m = e_row``."""
        if self.annotator.smoothing == 0 or len(self.X) < 2:
            return RowView(self.X[row].astype(np.float64), 1.0)
        return self._views.get(row, lambda: self._smoothed_view(row))

    def smoothed(self, scores: Floats) -> Floats:
        """Return scores of shape (n,) of all photos, smoothed as the annotator does."""
        if self.annotator.smoothing == 0 or len(self.X) < 2:
            return scores
        return _solve(self._smoothing_system(), scores)

    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return ``a = share/l + (X̃X̃ᵀ + λI)⁻¹X̃(z - share·x̄)``, X̃ the centred known rows, and 0."""
        rows, (centred, mean, factor) = self.known(tag), self._factors_of(tag)
        view = self.view(row)
        direction = view.features - view.share * mean
        if len(rows) <= centred.shape[1]:
            slopes = cho_solve(factor, centred @ direction)
        else:
            slopes = centred @ cho_solve(factor, direction)
        return view.share / len(rows) + slopes, 0.0

    def without(self, Y: LabelMatrix) -> "RidgeWeights":
        """Return the weights where some labels are not there; a tag that is asked for is solved at the same penalty."""
        found = copy.copy(self)
        found.Y, found._factors, found._lines = Y, Latest(), Latest()
        return found

    def line(self, tag: int) -> tuple[Floats, float]:
        """Return slopes and intercept of a tag."""
        if self._lines is None:
            coef, intercept = np.asarray(self.annotator.coef_), np.asarray(self.annotator.intercept_)
            return coef[:, tag].astype(np.float64), float(intercept[tag])
        found: tuple[Floats, float] = self._lines.get(tag, lambda: self._solved_line(tag))
        return found

    def _solved_line(self, tag: int) -> tuple[Floats, float]:
        rows = self.known(tag)
        if len(rows) == 0:
            return np.zeros(self.X.shape[1]), 0.0
        centred, mean, factor = self._factors_of(tag)
        level = float(self.Y[rows, tag].mean())
        targets = self.Y[rows, tag] - level
        is_dual = len(rows) <= centred.shape[1]
        coef = centred.T @ cho_solve(factor, targets) if is_dual else cho_solve(factor, centred.T @ targets)
        return coef, level - float(mean @ coef)

    def _factors_of(self, tag: int) -> tuple[Floats, Floats, Any]:
        rows = self.known(tag)
        strength = float(np.broadcast_to(np.asarray(self.annotator.regularization_), (self.Y.shape[1],))[tag])
        found: tuple[Floats, Floats, Any] = self._factors.get(
            (rows.tobytes(), strength), lambda: _factorise(self.X[rows], strength)
        )
        return found

    def _smoothing_system(self) -> Any:
        if self._smoother is None:
            n, annotator = len(self.X), self.annotator
            graph = self._graph
            if graph is None and annotator.graph is not None:
                graph = check_graph(annotator.graph, n)
            if graph is None:
                graph = smoothing_graph(self.X, n_neighbors=annotator.n_neighbors, metric=annotator.metric)
            laplacian = graph.laplacian("symmetric")
            self._smoother = sparse.csr_array(sparse.eye_array(n) + float(annotator.smoothing) * laplacian)
        return self._smoother

    def _smoothed_view(self, row: int) -> RowView:
        weights = _solve(self._smoothing_system(), _unit(len(self.X), row))
        return RowView(weighted_rows(weights, self.X), float(weights.sum()))


class HarmonicWeights(LabelWeights):
    """Weights of `HarmonicPropagation`: the chances that a walk from the photo ends at each known one."""

    def __init__(self, annotator: Any, X: NDArray[Any], Y: LabelMatrix) -> None:
        super().__init__(annotator, X, Y)
        graph = _graph_of(annotator, X)
        self._system = graph.laplacian("unnormalized") + annotator.pull * sparse.eye_array(graph.n_nodes)
        self._system = sparse.csr_array(self._system)
        self._component = sparse.csgraph.connected_components(graph.weights, directed=False)[1]

    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return ``-L_ku m`` with ``L_uu m = e_row``, and 0; a pull to the prior is one to the mean of the labels."""
        rows, known = self.known(tag), self.Y[:, tag] != UNKNOWN
        if known[row]:
            return (rows == row).astype(np.float64), 0.0
        free = ~known
        if self.annotator.pull == 0:
            free &= np.isin(self._component, self._component[rows])
        if not free[row]:
            return np.full(len(rows), 1.0 / len(rows)), 0.0
        solved = _solve(self._system, _unit(len(self.X), row), free)
        return -(self._system @ solved)[rows] + self.annotator.pull * solved.sum() / len(rows), 0.0


class ConsistencyWeights(LabelWeights):
    """Weights of `LocalGlobalConsistency`: what arrives at the photo from each known one."""

    def __init__(self, annotator: Any, X: NDArray[Any], Y: LabelMatrix) -> None:
        super().__init__(annotator, X, Y)
        graph = _graph_of(annotator, X)
        spread = sparse.diags_array((graph.degrees > 0).astype(np.float64)) - graph.laplacian("symmetric")
        self._system = sparse.csr_array(sparse.eye_array(graph.n_nodes) - annotator.alpha * spread)
        self._rows = Latest()

    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return what arrives, as shares of all that does where the annotator normalises, and 0."""
        rows, annotator = self.known(tag), self.annotator
        from_all = self._rows.get(row, lambda: (1.0 - annotator.alpha) * _solve(self._system, _unit(len(self.X), row)))
        arrived: Floats = from_all[rows]
        if not annotator.normalize:
            return arrived, 0.0
        total = arrived.sum()
        if total <= 10 * annotator.tol * (1.0 - annotator.alpha) * np.sqrt(len(rows)):
            return np.full(len(rows), 1.0 / len(rows)), 0.0
        return arrived / total, 0.0


class TransferWeights(LabelWeights):
    """Weights of `NeighborTransfer`: those of the neighbours, and a share of the tag's frequency for all."""

    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return the neighbours' weights over their sum, the frequency's share spread over all known photos, and 0."""
        labelled = np.flatnonzero((self.Y != UNKNOWN).any(axis=1))
        distances, places = self._neighbors(row, labelled)
        nearby = np.zeros(len(self.X))
        nearby[labelled[places]] = self.annotator._weights_of(distances)[0]
        rows = self.known(tag)
        found, shrinkage = nearby[rows], float(self.annotator.shrinkage)
        total = found.sum() + shrinkage
        if total <= 0:
            return np.full(len(rows), 1.0 / len(rows)), 0.0
        return found / total + shrinkage / (total * len(rows)), 0.0

    def _neighbors(self, row: int, labelled: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Return distances (1, k) and places (k,) of the neighbours among labelled photos, without the photo itself."""
        own = np.flatnonzero(labelled == row)
        n_wanted = int(self.annotator.n_neighbors) + own.size
        distances, places = self.annotator._neighbors(self.X[row : row + 1], n_wanted)
        if own.size == 0:
            return distances, places[0]
        is_self = places[0] == own[0]
        # As the annotator does: among many duplicates the last neighbour goes in the photo's place.
        is_self[-1] |= not is_self.any()
        return distances[:, ~is_self], places[0][~is_self]


class IdentityWeights(LabelWeights):
    """Weights of a kernel machine that is linear in labels ±1: it is fitted once with a tag of its own for each photo.

    The system that takes the time is shared by all tags, so that this costs hardly more than one fit.
    """

    def __init__(self, annotator: Any, X: NDArray[Any], Y: LabelMatrix) -> None:
        super().__init__(annotator, X, Y)
        self._responses = Latest(2)

    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return by how much the score rises with each yes, and the score where all labels are no."""
        rows = self.known(tag)
        labels = self.Y[rows, tag]
        if (labels == labels[0]).all():
            return np.zeros(len(rows)), float(np.log((labels.sum() + 0.5) / ((1 - labels).sum() + 0.5)))
        offset = -1.0 if self.annotator.fit_intercept else None
        responses = self._responses.get(rows.tobytes(), lambda: self._respond(rows))
        scores: Floats = responses[row]
        if offset is None:
            # Σ_i f(e_i) = (2 - l) Σ_i a_i without an intercept; with two photos the offset cannot be told so.
            offset = -float(scores.sum()) / (2.0 - len(rows))
        return scores - offset, offset

    def _respond(self, rows: NDArray[np.intp]) -> Floats:
        identity = np.full((len(self.X), len(rows)), UNKNOWN, dtype=np.int8)
        identity[rows] = np.eye(len(rows), dtype=np.int8)
        return np.asarray(clone(self.annotator).fit(self.X, identity).transduction_, dtype=np.float64)


def find_label_weights(
    annotator: Annotator, X: NDArray[Any], Y: LabelMatrix, *, graph: NeighborGraph | None = None
) -> LabelWeights | None:
    """Return the weights of labels for annotators that are linear in them, None for others.

    Parameters
    ----------
    annotator : Annotator
        Fitted on X and Y.
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels.
    graph : NeighborGraph, optional
        The graph that scores of ridge regression are smoothed over, where it is there already.
    """
    if isinstance(annotator, RegularizedLeastSquares):
        return None if annotator.clamp and annotator.smoothing > 0 else RidgeWeights(annotator, X, Y, graph=graph)
    if isinstance(annotator, LapRLS):
        n_known = int((Y != UNKNOWN).sum(axis=0).max())
        can_tell = annotator.fit_intercept or n_known > 2
        is_kernel = annotator.kernel != "precomputed"
        return IdentityWeights(annotator, X, Y) if can_tell and is_kernel and n_known <= MOST_IDENTITY_ROWS else None
    simple: dict[type, type[LabelWeights]] = {
        HarmonicPropagation: HarmonicWeights,
        LocalGlobalConsistency: ConsistencyWeights,
        NeighborTransfer: TransferWeights,
    }
    found = simple.get(type(annotator))
    return None if found is None else found(annotator, X, Y)


def weighted_rows(weights: Floats, X: NDArray[Any]) -> Floats:
    """Return ``Xᵀ weights`` in float64 without a float64 copy of all rows."""
    total = np.zeros(X.shape[1])
    for start in range(0, len(X), _ROWS_AT_ONCE):
        block = slice(start, start + _ROWS_AT_ONCE)
        total += weights[block] @ X[block].astype(np.float64, copy=False)
    return total


def _factorise(rows: NDArray[Any], strength: float) -> tuple[Floats, Floats, Any]:
    """Return the centred rows, their mean and the factor of the smaller Gram matrix plus λ."""
    centred = rows.astype(np.float64)
    mean = centred.mean(axis=0)
    centred -= mean
    system = centred @ centred.T if len(rows) <= rows.shape[1] else centred.T @ centred
    system[np.diag_indices(len(system))] += strength
    return centred, mean, cho_factor(system, lower=True, overwrite_a=True, check_finite=False)


def _graph_of(annotator: Any, X: NDArray[Any]) -> NeighborGraph:
    graph: NeighborGraph = annotator._graph_of(X)
    return graph


def _unit(n: int, row: int) -> Floats:
    target = np.zeros(n)
    target[row] = 1.0
    return target


def _solve(system: Any, target: Floats, free: NDArray[np.bool_] | None = None) -> Floats:
    mask = None if free is None else free[:, None]
    found = block_cg(system, target[:, None], tol=TOLERANCE, column_mask=mask).x[:, 0]
    return np.asarray(found, dtype=np.float64)
