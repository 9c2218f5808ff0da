"""Scores as sums over labels: what each label of a tag weighs in the score of one photo.

Annotators that are linear in the labels of a tag have ``score = offset + Σ_i a_i y_i`` over the photos i on which the
tag is known, y 1 or 0. The weights of one photo come from one solution of the annotator's own system with that photo as
the right-hand side, all systems being symmetric; the labels are never looked at.
"""

import copy
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from sklearn.base import clone
from sklearn.metrics.pairwise import euclidean_distances

from tagloom.core import (
    UNKNOWN,
    Annotator,
    FeatureGroups,
    Floats,
    Indices,
    LabelMatrix,
    Reals,
    known_patterns,
)
from tagloom.graph import NeighborGraph, check_graph
from tagloom.methods.baselines import (
    HarmonicPropagation,
    LapRLS,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.methods.shared import smoothing_graph
from tagloom.solvers import block_cg
from tagloom.tuning.auto import AutoAnnotator, StackModel, smoothed_priors
from tagloom.tuning.constants import (
    EXPLANATION_ROWS,
    EXPLANATION_TOLERANCE,
    FACTOR_BYTES,
    MOST_IDENTITY_ROWS,
    N_CACHED,
    PRIOR_COUNT,
    STEP_ENTRIES,
    TOGETHER_BYTES,
)

__all__ = [
    "AutoWeights",
    "LabelWeights",
    "Latest",
    "RidgeWeights",
    "RowView",
    "find_auto_weights",
    "find_label_weights",
]


class Latest:
    """The latest few results of a function, by key."""

    def __init__(self, n_kept: int = N_CACHED) -> None:
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
        graph = annotator.graph_of(X)
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
        graph = annotator.graph_of(X)
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
        nearby[labelled[places]] = self.annotator.weights_of(distances)[0]
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
        distances, places = self.annotator.neighbors(self.X[row : row + 1], n_wanted)
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
    for start in range(0, len(X), EXPLANATION_ROWS):
        block = slice(start, start + EXPLANATION_ROWS)
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


def _unit(n: int, row: int) -> Floats:
    target = np.zeros(n)
    target[row] = 1.0
    return target


def _solve(system: Any, target: Floats, free: NDArray[np.bool_] | None = None) -> Floats:
    mask = None if free is None else free[:, None]
    found = block_cg(system, target[:, None], tol=EXPLANATION_TOLERANCE, column_mask=mask).x[:, 0]
    return np.asarray(found, dtype=np.float64)


# The members of a `StackModel` in double precision: what coefficients of labelled photos bring to scores.


class ViewDistances:
    """Squared distances in several views; groups that all of them weigh alike, up to a factor, are multiplied once.

    Parameters
    ----------
    points : array of shape (n, d)
        Coordinates of photos.
    groups : FeatureGroups
        Their columns.
    views : mapping of str to mapping
        For each view what squared distances of a group count.
    """

    def __init__(self, points: Reals, groups: FeatureGroups, views: Mapping[str, Mapping[str, float]]) -> None:
        self.names = list(views)
        self._points = points
        weights = np.array([[factors[name] for name in groups] for factors in views.values()])
        weights = weights.reshape(len(views), len(groups.names))
        largest = weights.max(axis=0, initial=0.0)
        used = np.flatnonzero(largest)
        directions = weights[:, used] / largest[used]
        _, firsts, family_of = np.unique(directions.round(12), axis=1, return_index=True, return_inverse=True)
        #: Columns, their factors, and what the views make of the squared distances in these.
        self._families: list[tuple[Indices, Floats, Floats]] = []
        for family, first in enumerate(firsts):
            columns = np.flatnonzero(np.isin(groups.labels, used[family_of.ravel() == family]))
            roots = np.sqrt(largest[groups.labels[columns]])
            self._families.append((columns, roots, directions[:, first]))

    def between(self, rows: Indices | slice, anchors: Indices, names: Collection[str]) -> dict[str, Floats]:
        """Return squared distances (q, m) of some photos to others, by view."""
        points, ends = self._points[rows], self._points[anchors]
        found = {name: np.zeros((len(points), len(ends))) for name in names}
        # What is made on the way stays small: new memory is slower than the sums.
        step = max(64, STEP_ENTRIES // max(len(ends), 1))
        for columns, roots, factors in self._families:
            wanted = [(name, factor) for name, factor in zip(self.names, factors, strict=True) if name in found]
            if not any(factor for _, factor in wanted):
                continue
            scaled = ends[:, columns] * roots
            for start in range(0, len(points), step):
                block = slice(start, start + step)
                squares = euclidean_distances(points[block, columns] * roots, scaled, squared=True)
                for name, factor in wanted:
                    if factor:
                        found[name][block] += factor * squares
        return found

    def among(self, rows: Indices, names: Collection[str]) -> dict[str, Floats]:
        """Return squared distances (m, m) of some photos to each other, by view."""
        found = self.between(rows, rows, names)
        for squares in found.values():
            np.fill_diagonal(squares, 0.0)
        return found


class ExactStack:
    """Kernels and smoothing of a fitted combination, as `StackModel` has them but for its float32.

    Parameters
    ----------
    model : StackModel
        Fitted.

    Notes
    -----
    What is square is of labelled photos. Of all photos there are blocks of kernels.
    """

    def __init__(self, model: StackModel) -> None:
        self.rows: Indices = model.rows
        self.ridges = [member.candidate.ridge for member in model.members]
        self._candidates = [member.candidate for member in model.members]
        self._photos, self._scales = model.views, model.scales
        self._distances: dict[bool, ViewDistances] = {}
        for smoothed in (True, False):
            used = sorted({one.view for one in self._candidates if one.smoothed == smoothed})
            points, views = model.views.coordinates(smoothed), model.views_by_name
            factors = {name: model.views.factors(views[name]) for name in used}
            self._distances[smoothed] = ViewDistances(points, model.views.groups, factors)
        self._influences = Latest()
        self._factors = Latest(max(1, FACTOR_BYTES // (8 * max(1, len(self.rows)) ** 2)))

    def influences(self, row: int) -> Floats:
        """Return what coefficients of each member bring to the score of a photo, shape (members, m)."""
        return np.asarray(self._influences.get(row, lambda: self._find_influences(row)))

    def scores(self, coefficients: Sequence[Floats]) -> Floats:
        """Return the scores (n,) of all photos, from coefficients (m,) of each member."""
        found = {one.score_smoothing: np.zeros((self._photos.n_photos, 1)) for one in self._candidates}
        for block in self._photos.blocks(self._photos.n_photos, len(self.rows)):
            for place, kernel in self._find_kernels(block, range(len(coefficients))).items():
                found[self._candidates[place].score_smoothing][block, 0] += kernel @ coefficients[place]
        for strength, scores in found.items():
            self._photos.smooth_scores(scores, strength)
        return np.asarray(np.sum(list(found.values()), axis=0)[:, 0])

    def solve(self, among: Indices, targets: Floats) -> Floats:
        """Return ``(K + λI)⁻¹ targets`` of each member, over some of the labelled photos, shape (members, k).

        Parameters
        ----------
        among : array of int, shape (k,)
            Places in ``rows``.
        targets : array of shape (members, k)
            Right-hand sides.
        """
        found, distances = np.zeros_like(targets), _DistancesAmong(self._distances, self.rows[among])
        for place, target in enumerate(targets if len(among) else ()):
            make = partial(self._factorise, place, distances)
            factor = self._factors.get((place, among.tobytes()), make)
            found[place] = cho_solve(factor, target, check_finite=False)
        return found

    def _find_influences(self, row: int) -> Floats:
        found = np.zeros((len(self._candidates), len(self.rows)))
        for strength in {one.score_smoothing for one in self._candidates}:
            # Scores listen to the photos around alone.
            reach = self._photos.reach(np.array([row]), strength)
            places = [place for place, one in enumerate(self._candidates) if one.score_smoothing == strength]
            for place, kernel in self._find_kernels(reach.indices, places).items():
                found[place] = reach.data @ kernel
        return found

    def _find_kernels(self, block: slice | Indices, places: Sequence[int]) -> dict[int, Floats]:
        """Return kernels (q, m) of some photos and the labelled ones, by member."""
        found = {}
        for smoothed, distances in self._distances.items():
            chosen = [place for place in places if self._candidates[place].smoothed == smoothed]
            if not chosen:
                continue
            by_view = distances.between(block, self.rows, {self._candidates[place].view for place in chosen})
            found.update({place: self._kernel(place, by_view[self._candidates[place].view]) for place in chosen})
        return found

    def _kernel(self, place: int, distances: Floats) -> Floats:
        one = self._candidates[place]
        found = distances * (-one.width / self._scales[one.view, one.smoothed])
        return np.exp(found, out=found)

    def _factorise(self, place: int, distances: "_DistancesAmong") -> tuple[Floats, bool]:
        one = self._candidates[place]
        system = self._kernel(place, distances.of(one.view, one.smoothed))
        system[np.diag_indices(len(system))] += self.ridges[place]
        factor: tuple[Floats, bool] = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        return factor


class _DistancesAmong:
    """Distances of some photos to each other, found when they are asked for, those of all views together.

    They are not needed any more where all members are factorised, and should not outlive that.
    """

    def __init__(self, distances: dict[bool, ViewDistances], rows: Indices) -> None:
        self._distances, self._rows = distances, rows
        self._found: dict[bool, dict[str, Floats]] = {}

    def of(self, view: str, smoothed: bool) -> Floats:
        """Return squared distances (k, k) in a view."""
        distances = self._distances[smoothed]
        if 8 * len(distances.names) * len(self._rows) ** 2 > TOGETHER_BYTES:
            return distances.among(self._rows, [view])[view]
        if smoothed not in self._found:
            self._found[smoothed] = distances.among(self._rows, distances.names)
        return self._found[smoothed][view]


# What each label weighs in a score of `AutoAnnotator`, and its scores in double precision.


class AutoWeights(LabelWeights):
    """Weights of labels in scores of `AutoAnnotator` before calibration, each photo's own label among them.

    Photos beyond ``max_rows`` are not learnt from; their labels count through the frequency π alone.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted on X and Y, absence meaning no.
    X : array of shape (n, d)
        Its features.
    Y : label matrix of shape (n, c)
        Its labels.

    Attributes
    ----------
    mixing : ndarray of shape (c, c) or None
        M; None for the identity.
    """

    def __init__(self, annotator: AutoAnnotator, X: NDArray[Any], Y: LabelMatrix) -> None:
        super().__init__(annotator, X, Y)
        model, mixing = annotator.model_, annotator.mixing_
        self.mixing: Floats | None = None if mixing is None else mixing.matrix
        self._stack = ExactStack(model)
        factors = [np.broadcast_to(np.asarray(one.factor, dtype=np.float64), Y.shape[1]) for one in model.members]
        #: Of members and tags.
        self._factors = np.array(factors).reshape(len(factors), Y.shape[1])
        self._take(Y)

    def _take(self, Y: LabelMatrix) -> None:
        self.Y, self._priors, self._learnt = Y, smoothed_priors(Y), Y[self._stack.rows]
        self._patterns, self._pattern_of = known_patterns(self._learnt)
        # Tags that listen to each other need those of all patterns for one photo.
        self._slopes = Latest(max(N_CACHED, self._patterns.shape[1]))

    def without(self, Y: LabelMatrix) -> "AutoWeights":
        """Return the weights where some labels are not there; members, kernels and what tags share stay."""
        found = copy.copy(self)
        found._take(Y)
        return found

    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return weights and offset of ``π + D``: the score where tags do not listen to each other."""
        weights, offset = self.of_deviation(row, tag)
        added, level = self.of_prior(tag)
        return weights + added, offset + level

    def of_prior(self, tag: int) -> tuple[Floats, float]:
        """Return weights and offset of π."""
        count = int((self.Y[:, tag] != UNKNOWN).sum())
        total = count + 2.0 * PRIOR_COUNT
        return np.full(count, 1.0 / total), PRIOR_COUNT / total

    def of_deviation(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return weights and offset of D: those of ``Σ a (y - π)``, π being a sum of labels too."""
        pattern = int(self._pattern_of[tag])
        slopes = self._factors[:, tag] @ self._slopes_of(row, pattern)
        weights, offset = self.of_prior(tag)
        total = float(slopes.sum())
        weights *= -total
        weights[np.searchsorted(self.known(tag), self._stack.rows[self._among(pattern)])] += slopes
        return weights, -total * offset

    def prior(self, tag: int) -> float:
        """Return π."""
        return float(self._priors[tag])

    def shares(self, tag: int) -> Floats:
        """Return what the deviations of all tags count for the score of one: a column of M."""
        return np.eye(self.Y.shape[1])[tag] if self.mixing is None else self.mixing[:, tag]

    def deviations(self, row: int) -> Floats:
        """Return D of a photo for all tags, shape (c,)."""
        found = np.empty(self.Y.shape[1])
        for pattern in range(self._patterns.shape[1]):
            tags = np.flatnonzero(self._pattern_of == pattern)
            found[tags] = self._deviations_of(row, pattern, tags)
        return found

    def score(self, row: int, tag: int) -> float:
        """Return the score of one photo for a tag."""
        if self.mixing is not None:
            return self.prior(tag) + float(self.deviations(row) @ self.shares(tag))
        return self.prior(tag) + float(self._deviations_of(row, int(self._pattern_of[tag]), np.array([tag]))[0])

    def scores(self, tag: int) -> Floats:
        """Return the scores (n,) of all photos for a tag, its coefficients mixed before they are brought to photos."""
        shares = self.shares(tag)
        mixed = np.zeros((len(self._factors), len(self._learnt)))
        for pattern in np.unique(self._pattern_of[np.flatnonzero(shares)]):
            among, tags = self._among(pattern), np.flatnonzero(self._pattern_of == pattern)
            targets = (self._factors[:, tags] * shares[tags]) @ self._targets(pattern, tags).T
            mixed[:, among] += self._stack.solve(among, targets)
        return self._priors[tag] + self._stack.scores(list(mixed))

    def _among(self, pattern: int) -> NDArray[np.intp]:
        return np.flatnonzero(self._patterns[:, pattern])

    def _slopes_of(self, row: int, pattern: int) -> Floats:
        """Return ``(K + λI)⁻¹ b`` of each member, b its influences on the photo, shape (members, k)."""
        return np.asarray(self._slopes.get((row, pattern), lambda: self._find_slopes(row, pattern)))

    def _find_slopes(self, row: int, pattern: int) -> Floats:
        among = self._among(pattern)
        return self._stack.solve(among, self._stack.influences(row)[:, among])

    def _targets(self, pattern: int, tags: NDArray[np.intp]) -> Floats:
        """Return what tags of a pattern are learnt from, shape (k, tags)."""
        return np.asarray(self._learnt[np.ix_(self._among(pattern), tags)] - self._priors[tags])

    def _deviations_of(self, row: int, pattern: int, tags: NDArray[np.intp]) -> Floats:
        products = self._slopes_of(row, pattern) @ self._targets(pattern, tags)
        return np.asarray((self._factors[:, tags] * products).sum(axis=0))


def find_auto_weights(annotator: AutoAnnotator, X: NDArray[Any], Y: LabelMatrix) -> AutoWeights | None:
    """Return the weights of labels where the annotator is linear in them, None elsewhere.

    It is not where absent tags have targets that depend on scores. Labels other than those it has
    learnt from say nothing of its scores.
    """
    is_fitted = hasattr(annotator, "labels_")
    if not is_fitted or annotator.absent_means != "no":
        return None
    return AutoWeights(annotator, X, Y) if np.array_equal(annotator.labels_, Y) else None
