"""The members of a `StackModel` in double precision: what coefficients of labelled photos bring to scores."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import euclidean_distances

from tagloom.solvers import block_cg
from tagloom.tuning._label_weights import TOLERANCE, Latest
from tagloom.tuning._stack_model import StackModel
from tagloom.tuning.search import GRAPH, GRAPH_SCALE, GRAPH_SMOOTHING

__all__ = ["ExactStack"]

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Factorisations are kept up to this size together, one at least.
FACTOR_BYTES = 1_000_000_000


class ExactStack:
    """Kernels and smoothing of a fitted combination, as `StackModel` has them but for its float32.

    Parameters
    ----------
    model : StackModel
        Fitted.

    Notes
    -----
    Of all photos there are blocks of kernels only; what is square is of labelled photos.
    """

    def __init__(self, model: StackModel) -> None:
        self.rows: Rows = model.rows
        self.ridges = [member.candidate.ridge for member in model.members]
        self._candidates = [member.candidate for member in model.members]
        self._photos, self._scales = model.views, model._scales
        self._weightings = {view.name: view for view in model.weightings}
        self._laplacian = model.views.laplacian()
        #: Members by what they share: view, smoothing of features, smoothing of scores.
        self._kinds: dict[tuple[str, bool, float], list[int]] = {}
        for place, one in enumerate(self._candidates):
            strength = GRAPH_SMOOTHING if one.view == GRAPH else one.score_smoothing
            self._kinds.setdefault((one.view, one.smoothed, strength), []).append(place)
        self._influences, self._graph_kernel = Latest(), Latest(1)
        self._factors = Latest(max(1, FACTOR_BYTES // (8 * max(1, len(self.rows)) ** 2)))

    def influences(self, row: int) -> Floats:
        """Return what coefficients of each member bring to the score of a photo, shape (members, m)."""
        return np.asarray(self._influences.get(row, lambda: self._find_influences(row)))

    def scores(self, coefficients: Sequence[Floats]) -> Floats:
        """Return the scores (n,) of all photos, from coefficients (m,) of each member."""
        by_strength: dict[float, Floats] = {}
        for (view, smoothed, strength), places in self._kinds.items():
            found = by_strength.setdefault(strength, np.zeros(self._photos.n_photos))
            if view == GRAPH:
                found[self.rows] += GRAPH_SCALE * sum(coefficients[place] for place in places)
                continue
            for block, distances in self._distances(view, smoothed, self._blocks()):
                for place in places:
                    found[block] += self._kernel(place, distances) @ coefficients[place]
        smooth = [self._smooth(found[:, None], strength)[:, 0] for strength, found in by_strength.items()]
        return np.asarray(np.sum(smooth, axis=0))

    def solve(self, place: int, among: Rows, targets: Floats) -> Floats:
        """Return ``(K + λI)⁻¹ targets`` of a member, over some of the labelled photos.

        Parameters
        ----------
        place : int
            The member.
        among : array of int, shape (k,)
            Places in ``rows``.
        targets : array of shape (k,) or (k, c)
            The right-hand sides.
        """
        if not len(among):
            return np.zeros_like(targets)
        factor = self._factors.get((place, among.tobytes()), lambda: self._factorise(place, among))
        return np.asarray(cho_solve(factor, targets, check_finite=False))

    def _find_influences(self, row: int) -> Floats:
        found = np.zeros((len(self._candidates), len(self.rows)))
        unit = np.zeros((self._photos.n_photos, 1))
        unit[row] = 1.0
        # The smoothing is symmetric: what reaches the photo from others is what reaches them from it.
        by_strength = {strength: self._smooth(unit, strength)[:, 0] for *_, strength in self._kinds}
        for (view, smoothed, strength), places in self._kinds.items():
            reached = by_strength[strength]
            if view == GRAPH:
                found[places] = GRAPH_SCALE * reached[self.rows]
                continue
            blocks = self._blocks() if strength else [slice(row, row + 1)]
            for block, distances in self._distances(view, smoothed, blocks):
                for place in places:
                    found[place] += reached[block] @ self._kernel(place, distances)
        return found

    def _blocks(self) -> Iterator[slice]:
        return self._photos.blocks(self._photos.n_photos, len(self.rows))

    def _smooth(self, columns: Floats, strength: float) -> Floats:
        if not strength:
            return columns
        system = sparse.csr_array(sparse.eye_array(len(columns)) + strength * self._laplacian)
        return np.asarray(block_cg(system, columns, tol=TOLERANCE).x, dtype=np.float64)

    def _distances(self, view: str, smoothed: bool, blocks: Iterable[slice]) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks of photos and their squared distances to the labelled ones."""
        anchors = self._points(view, smoothed, self.rows)
        for block in blocks:
            yield block, euclidean_distances(self._points(view, smoothed, block), anchors, squared=True)

    def _points(self, view: str, smoothed: bool, rows: Rows | slice) -> Floats:
        """Return coordinates whose squared distances are those of a view."""
        groups, weights = self._photos.groups, self._weightings[view].weights
        roots = np.sqrt([weights.get(name, 0.0) for name in groups])[groups.labels]
        used = np.flatnonzero(roots)
        return np.asarray(self._photos.coordinates(smoothed)[rows][:, used] * roots[used], dtype=np.float64)

    def _kernel(self, place: int, distances: Floats) -> Floats:
        one = self._candidates[place]
        return np.asarray(np.exp(distances * (-one.width / self._scales[one.view, one.smoothed])))

    def _factorise(self, place: int, among: Rows) -> tuple[Floats, bool]:
        one = self._candidates[place]
        if one.view == GRAPH:
            system = self._graph_kernel.get(None, self._find_graph_kernel)[np.ix_(among, among)]
        else:
            anchors = self._points(one.view, one.smoothed, self.rows[among])
            system = self._kernel(place, euclidean_distances(anchors, squared=True))
        system[np.diag_indices(len(among))] += self.ridges[place]
        factor: tuple[Floats, bool] = cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        return factor

    def _find_graph_kernel(self) -> Floats:
        """Return the graph kernel (m, m) of the labelled photos, solved for some of them at a time."""
        n = self._photos.n_photos
        found = np.empty((len(self.rows), len(self.rows)))
        for block in self._photos.blocks(len(self.rows), n):
            sources = np.zeros((n, block.stop - block.start))
            sources[self.rows[block], np.arange(sources.shape[1])] = GRAPH_SCALE
            found[:, block] = self._smooth(sources, GRAPH_SMOOTHING)[self.rows]
        return 0.5 * (found + found.T)
