"""The members of a `StackModel` in double precision: what coefficients of labelled photos bring to scores."""

from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import euclidean_distances

from tagloom.core.groups import FeatureGroups
from tagloom.core.typing import Floats, Indices, Reals
from tagloom.solvers import block_cg
from tagloom.tuning.auto.model import StackModel
from tagloom.tuning.auto.search import GRAPH, GRAPH_SCALE, GRAPH_SMOOTHING
from tagloom.tuning.auto.views import View
from tagloom.tuning.explain.label_weights import TOLERANCE, Latest

__all__ = ["ExactStack"]


#: Factorisations are kept up to this size together, one at least.
FACTOR_BYTES = 1_000_000_000
#: So are kernels of members whose scores are smoothed: every photo's score comes from all of them.
KERNEL_BYTES = 500_000_000
#: Distances of labelled photos in all views are computed together up to this size, and otherwise one by one.
TOGETHER_BYTES = 400_000_000
#: Distances that are computed at a time.
STEP_ENTRIES = 1_000_000
#: Solutions with the graph kernel are differences of nearly equal numbers, divided by the penalty.
GRAPH_TOLERANCE = 1e-12


class ViewDistances:
    """Squared distances in several views; groups that all of them weigh alike, up to a factor, are multiplied once.

    Parameters
    ----------
    points : array of shape (n, d)
        Coordinates of photos.
    groups : FeatureGroups
        Their columns.
    views : sequence of View
        The weightings.
    """

    def __init__(self, points: Reals, groups: FeatureGroups, views: Sequence[View]) -> None:
        self.names = [view.name for view in views]
        self._points = points
        weights = np.array([[view.weights.get(name, 0.0) for name in groups] for view in views])
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
    What is square is of labelled photos. Of all photos there are blocks of kernels, some of them kept.
    """

    def __init__(self, model: StackModel) -> None:
        self.rows: Indices = model.rows
        self.ridges = [member.candidate.ridge for member in model.members]
        self._candidates = [member.candidate for member in model.members]
        self._photos, self._scales = model.views, model._scales
        weightings = {view.name: view for view in model.weightings}
        self._distances: dict[bool, ViewDistances] = {}
        for smoothed in (True, False):
            used = sorted({one.view for one in self._candidates if one.smoothed == smoothed} - {GRAPH})
            points = model.views.coordinates(smoothed)
            self._distances[smoothed] = ViewDistances(points, model.views.groups, [weightings[name] for name in used])
        self._in_graph = [place for place, one in enumerate(self._candidates) if one.view == GRAPH]
        self._in_views = [place for place, one in enumerate(self._candidates) if one.view != GRAPH]
        self._laplacian = model.views.laplacian()
        self._influences, self._systems = Latest(), Latest()
        self._factors = Latest(max(1, FACTOR_BYTES // (8 * max(1, len(self.rows)) ** 2)))
        self._kernels: dict[int, dict[int, Floats]] = {}

    def influences(self, row: int) -> Floats:
        """Return what coefficients of each member bring to the score of a photo, shape (members, m)."""
        return np.asarray(self._influences.get(row, lambda: self._find_influences(row)))

    def scores(self, coefficients: Sequence[Floats]) -> Floats:
        """Return the scores (n,) of all photos, from coefficients (m,) of each member."""
        by_strength = {self._strength(place): np.zeros(self._photos.n_photos) for place in range(len(coefficients))}
        for block in self._blocks():
            for place, kernel in self._find_kernels(block, self._in_views).items():
                by_strength[self._strength(place)][block] += kernel @ coefficients[place]
        for place in self._in_graph:
            by_strength[self._strength(place)][self.rows] += GRAPH_SCALE * coefficients[place]
        smooth = [self._smooth(found, strength) for strength, found in by_strength.items()]
        return np.asarray(np.sum(smooth, axis=0))

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
            if self._candidates[place].view == GRAPH:
                found[place] = self._solve_in_graph(place, among, target)
                continue
            make = partial(self._factorise, place, distances)
            factor = self._factors.get((place, among.tobytes()), make)
            found[place] = cho_solve(factor, target, check_finite=False)
        return found

    def _solve_in_graph(self, place: int, among: Indices, targets: Floats) -> Floats:
        """Solve without the kernel, which is dense.

        With ``K = P Q⁻¹ Pᵀ``, Q sparse and P taking the photos out of all,
        ``(K + λI)⁻¹ = (I - P (λQ + PᵀP)⁻¹ Pᵀ)/λ``.
        """
        ridge, rows = self.ridges[place], self.rows[among]
        taken, spread = np.zeros((self._photos.n_photos, 1)), np.zeros((self._photos.n_photos, 1))
        taken[rows, 0], spread[rows, 0] = 1.0, targets
        system = self._system(GRAPH_SMOOTHING)
        scales = np.array([ridge / GRAPH_SCALE])
        found = block_cg(system, spread, tol=GRAPH_TOLERANCE, scales=scales, shifts=taken).x[rows, 0]
        return np.asarray((targets - found) / ridge, dtype=np.float64)

    def _find_influences(self, row: int) -> Floats:
        found = np.zeros((len(self._candidates), len(self.rows)))
        unit = np.zeros(self._photos.n_photos)
        unit[row] = 1.0
        # The smoothing is symmetric: what reaches the photo from others is what reaches them from it.
        strengths = {self._strength(place) for place in range(len(found))}
        reached = {strength: self._smooth(unit, strength) for strength in strengths}
        for place in self._in_graph:
            found[place] = GRAPH_SCALE * reached[self._strength(place)][self.rows]
        own = [place for place in self._in_views if not self._strength(place)]
        for place, kernel in self._find_kernels(slice(row, row + 1), own).items():
            found[place] = kernel[0]
        others = [place for place in self._in_views if self._strength(place)]
        for block in self._blocks() if others else ():
            for place, kernel in self._kept_kernels(block, others).items():
                found[place] += reached[self._strength(place)][block] @ kernel
        return found

    def _strength(self, place: int) -> float:
        one = self._candidates[place]
        return GRAPH_SMOOTHING if one.view == GRAPH else one.score_smoothing

    def _blocks(self) -> Iterator[slice]:
        return self._photos.blocks(self._photos.n_photos, len(self.rows))

    def _system(self, strength: float) -> Any:
        identity = sparse.eye_array(self._photos.n_photos)
        return self._systems.get(strength, lambda: sparse.csr_array(identity + strength * self._laplacian))

    def _smooth(self, column: Floats, strength: float) -> Floats:
        if not strength:
            return column
        found = block_cg(self._system(strength), column[:, None], tol=TOLERANCE).x[:, 0]
        return np.asarray(found, dtype=np.float64)

    def _kept_kernels(self, block: slice, places: Sequence[int]) -> dict[int, Floats]:
        """Return kernels of a block of photos, kept as long as there is room."""
        if block.start in self._kernels:
            return self._kernels[block.start]
        found = self._find_kernels(block, places)
        sizes = [kernel.nbytes for kernels in (found, *self._kernels.values()) for kernel in kernels.values()]
        if sum(sizes) <= KERNEL_BYTES:
            self._kernels[block.start] = found
        return found

    def _find_kernels(self, block: slice, places: Sequence[int]) -> dict[int, Floats]:
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
