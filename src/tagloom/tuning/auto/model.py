"""The chosen combination, solved with all labels: coefficients per member, scores of all photos and of new ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core.labels import UNKNOWN, known_patterns
from tagloom.core.typing import Floats
from tagloom.tuning.auto.search import GRAPH, Candidate, Search, smooth_columns, spread_labels
from tagloom.tuning.auto.views import NewPhotos, PhotoViews, View, left_out_deviations, prior_shifts, targets_of
from tagloom.tuning.calibration.maps import take_tags
from tagloom.tuning.constants import GRAPH_SCALE, GRAPH_SMOOTHING, ROOM

__all__ = ["Member", "StackModel", "members_left_out", "pattern_left_out"]


# Kernels of all photos with the labelled ones, kept between updates: a photo's column is computed once.

#: Columns of some labelled photos, one array (n, k) for each member.
Columns = Callable[[NDArray[np.intp]], list[NDArray[np.float32]]]


class KeptKernels:
    """One kernel (n, m) for each member.

    Parameters
    ----------
    n_photos, n_members : int
        Sizes.
    columns : callable
        Computes columns of some labelled photos.
    """

    def __init__(self, n_photos: int, n_members: int, columns: Columns) -> None:
        self._columns = columns
        # Columns lie one after another, so that those in use are one piece.
        self._kernels = [np.empty((n_photos, 0), dtype=np.float32, order="F") for _ in range(n_members)]
        #: Where the column of a photo is; -1: nowhere yet.
        self._places = np.full(n_photos, -1, dtype=np.intp)
        self._count = 0

    def hold(self, rows: NDArray[np.intp]) -> None:
        """Compute the columns of labelled photos that are not there yet."""
        new = rows[self._places[rows] < 0]
        if not len(new):
            return
        wanted = self._count + len(new)
        if self._kernels and wanted > self._kernels[0].shape[1]:
            self._kernels = [self._larger(kernel, int(np.ceil((1.0 + ROOM) * wanted))) for kernel in self._kernels]
        for kernel, found in zip(self._kernels, self._columns(new), strict=True):
            kernel[:, self._count : wanted] = found
        self._places[new] = np.arange(self._count, wanted)
        self._count = wanted

    def of(self, member: int, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return a member's kernel of all photos with some labelled ones that are held."""
        return self._kernels[member][:, self._places[rows]]

    def among(self, member: int, rows: NDArray[np.intp]) -> Floats:
        """Return a member's kernel among some labelled photos that are held, as symmetric as it should be."""
        found = self._kernels[member][np.ix_(rows, self._places[rows])].astype(np.float64)
        return np.asarray(0.5 * (found + found.T))

    def times(self, member: int, rows: NDArray[np.intp], coefficients: Floats) -> Floats:
        """Return a member's kernel times coefficients (m, c) of labelled photos that are held."""
        weights = np.zeros((self._count, coefficients.shape[1]), dtype=np.float32)
        weights[self._places[rows]] = coefficients
        return np.asarray(self._kernels[member][:, : self._count] @ weights, dtype=np.float64)

    def _larger(self, kernel: NDArray[np.float32], n_columns: int) -> NDArray[np.float32]:
        found = np.empty((len(kernel), n_columns), dtype=np.float32, order="F")
        found[:, : self._count] = kernel[:, : self._count]
        return found


@dataclass(frozen=True, eq=False)
class Member:
    """A candidate, and the factor of its deviations in the combination: a number, or one for each tag (c,)."""

    candidate: Candidate
    factor: float | Floats

    @property
    def takes_part(self) -> bool:
        """Whether it counts for any tag."""
        return bool(np.any(np.asarray(self.factor) > 0.0))

    def on(self, tags: NDArray[np.intp]) -> float | Floats:
        """Return the factor for some tags."""
        return self.factor[tags] if isinstance(self.factor, np.ndarray) else self.factor


class StackModel:
    """Members solved on the labelled photos; every score is linear in the labels.

    Parameters
    ----------
    views : PhotoViews
        Shared work.
    weightings : sequence of View
        Those that members name.
    members : sequence of Member
        What is combined.

    Notes
    -----
    With priors π, ``F = π + Σ_k w_k A_k K_k (K_k + λ_k I)⁻¹ (Y - π)`` over the photos on which a tag is known; A is the
    graph's smoothing or the identity. Tags known on the same photos share one factorisation.
    """

    #: Smoothed deviations by strength, of which a new photo takes its neighbours' share.
    _smoothed: dict[float, Floats]
    #: Kernels of all photos with the labelled ones, where many updates are to be quick.
    kept: KeptKernels | None = None

    def __init__(self, views: PhotoViews, weightings: Sequence[View], members: Sequence[Member]) -> None:
        self.views = views
        self.members = [member for member in members if member.takes_part]
        self.weightings = list(weightings)
        self._weightings = {view.name: view for view in weightings}
        self.scales = {
            (one.candidate.view, one.candidate.smoothed): views.mean_distance(
                self._weightings[one.candidate.view], one.candidate.smoothed
            )
            for one in self.members
            if one.candidate.view != GRAPH
        }

    def keep_kernels(self) -> None:
        """Keep the kernels from now on; they take 4 bytes for each photo, labelled photo and member."""
        self.kept = KeptKernels(self.views.n_photos, len(self.members), self._columns)

    def fit(
        self, Y: NDArray[Any], rows: NDArray[np.intp], priors: Floats, tags: NDArray[np.intp] | None = None
    ) -> Floats:
        """Solve for the coefficients and return the deviations (n, c) of all training photos from the priors.

        Parameters
        ----------
        Y : label matrix of shape (n, c)
            Labels; soft ones may lie between 0 and 1.
        rows : array of int
            The labelled photos to learn from.
        priors : array of shape (c,)
            What labels are compared with.
        tags : array of int, optional
            Which tags of the combination the columns are. Default: all.
        """
        self.rows = rows
        if self.kept is not None:
            self.kept.hold(rows)
        columns = np.arange(Y.shape[1]) if tags is None else tags
        patterns, pattern_of = known_patterns(Y[rows])
        targets = targets_of(Y[rows], priors)
        self.coefficients = [
            _solve(self._among(place, rows), member.candidate.ridge, targets, patterns, pattern_of) * member.on(columns)
            for place, member in enumerate(self.members)
        ]
        return self._deviations_of_all(Y.shape[1])

    def restore(self, rows: NDArray[np.intp], coefficients: list[Floats], smoothed: dict[float, Floats]) -> None:
        """Take over what `fit` found before, instead of solving for it.

        Parameters
        ----------
        rows : array of int, shape (m,)
            The labelled photos that were learnt from.
        coefficients : list of array of shape (m, c)
            Of each member.
        smoothed : dict of float to array of shape (n, c)
            Smoothed deviations of all training photos, by strength.
        """
        self.rows, self.coefficients, self._smoothed = rows, coefficients, smoothed

    def set_tags(self, at: NDArray[np.intp]) -> None:
        """Reorder, drop and add (-1) tags; a new one has the mean of each member's factors, and knows nothing yet."""
        self.members = [
            Member(one.candidate, take_tags(one.factor, at, float(one.factor.mean())))
            if isinstance(one.factor, np.ndarray)
            else one
            for one in self.members
        ]
        self.coefficients = [take_tags(one, at, 0.0) for one in self.coefficients]
        self._smoothed = {strength: take_tags(scores, at, 0.0) for strength, scores in self._smoothed.items()}

    @property
    def smoothed(self) -> dict[float, Floats]:
        """Smoothed deviations (n, c) of all training photos, by strength of score smoothing."""
        return self._smoothed

    def update(self, Y: NDArray[Any], rows: NDArray[np.intp], priors: Floats, tags: NDArray[np.intp]) -> Floats:
        """Solve some tags anew, leave the others, and return the deviations (n, len(tags)) of all training photos.

        Parameters
        ----------
        Y, rows, priors
            As for `fit`, all tags. Other tags must be unknown on photos that came to ``rows`` or left them.
        tags : array of int
            The columns that changed.
        """
        old_rows, old_coefficients, old_smoothed = self.rows, self.coefficients, self._smoothed
        found = self.fit(Y[:, tags], rows, priors[tags], tags)
        stayed = np.isin(old_rows, rows)
        places = np.searchsorted(rows, old_rows[stayed])
        merged = []
        for before, after in zip(old_coefficients, self.coefficients, strict=True):
            whole = np.zeros((len(rows), Y.shape[1]))
            whole[places] = before[stayed]
            whole[:, tags] = after
            merged.append(whole)
        self.coefficients = merged
        for strength, scores in self._smoothed.items():
            whole = old_smoothed[strength].copy()
            whole[:, tags] = scores
            self._smoothed[strength] = whole
        return found

    def left_out_operators(self, rows: NDArray[np.intp], n_tags: int) -> list[tuple[NDArray[np.intp], Floats]]:
        """Return tags and M of shape (m, m): ``M @ targets`` are deviations of photos, each without its own target.

        Parameters
        ----------
        rows : array of int
            The labelled photos, all tags known on all of them.
        n_tags : int
            Number of tags; those whose members have the same factors share one operator.
        """
        unit = np.eye(len(rows))
        factors = np.stack([np.broadcast_to(np.asarray(member.factor, float), n_tags) for member in self.members])
        kinds, kind_of = np.unique(factors, axis=1, return_inverse=True)
        totals = [np.zeros_like(unit) for _ in range(kinds.shape[1])]
        reached: dict[float, Floats] = {}
        for place, (member, of_kinds) in enumerate(zip(self.members, kinds, strict=True)):
            candidate, strength = member.candidate, member.candidate.score_smoothing
            among = influence = self._among(place, rows)
            if strength:
                if strength not in reached:
                    reached[strength] = spread_labels(self.views, rows, strength)
                influence = self._smoothed_influence(candidate, rows, reached[strength])
            for *_, found in left_out_deviations(among, [influence], unit, [candidate.ridge]):
                for total, factor in zip(totals, of_kinds, strict=True):
                    total += factor * found
        return [(np.flatnonzero(kind_of.ravel() == kind), total) for kind, total in enumerate(totals)]

    def _smoothed_influence(self, candidate: Candidate, rows: NDArray[np.intp], reached: Floats) -> Floats:
        """Return what coefficients bring to the smoothed scores of the labelled photos."""
        points = self.views.coordinates(candidate.smoothed)
        found = np.zeros((len(rows), len(rows)))
        for block in self.views.blocks(len(points), len(rows)):
            distances = self.views.distances(points[block], points[rows], [self._weightings[candidate.view]])[0]
            found += reached[block].T @ self._kernel(candidate, distances)
        return found

    def _among(self, place: int, rows: NDArray[np.intp]) -> Floats:
        """Return the kernel of the member at a place among labelled photos."""
        candidate = self.members[place].candidate
        if self.kept is not None:
            return self.kept.among(place, rows)
        if candidate.view == GRAPH:
            kernel = GRAPH_SCALE * spread_labels(self.views, rows, GRAPH_SMOOTHING)[rows]
        else:
            anchors = self.views.coordinates(candidate.smoothed)[rows]
            distances = self.views.distances(anchors, anchors, [self._weightings[candidate.view]])[0]
            np.fill_diagonal(distances, 0.0)
            kernel = self._kernel(candidate, distances).astype(np.float64)
        return 0.5 * (kernel + kernel.T)

    def _kernel(self, candidate: Candidate, distances: NDArray[Any]) -> NDArray[Any]:
        scale = candidate.width / self.scales[candidate.view, candidate.smoothed]
        return np.exp(distances * distances.dtype.type(-scale))

    def _deviations_of_all(self, n_tags: int) -> Floats:
        """Return the sum of all members' deviations; keeps those that are smoothed, for new photos."""
        plain, self._smoothed = np.zeros((self.views.n_photos, n_tags)), {}
        pairs = list(enumerate(zip(self.members, self.coefficients, strict=True)))
        if self.kept is None:
            for smoothed in (True, False):
                self._add_kernels(self.views.coordinates(smoothed), smoothed, plain, self._smoothed)
        else:
            for place, (member, coefficients) in pairs:
                if member.candidate.view != GRAPH:
                    strength = member.candidate.score_smoothing
                    target = plain if not strength else self._smoothed.setdefault(strength, np.zeros_like(plain))
                    target += self.kept.times(place, self.rows, coefficients)
        for strength, scores in self._smoothed.items():
            self._smoothed[strength] = smooth_columns(self.views, scores, strength)
        for place, (member, coefficients) in pairs:
            if member.candidate.view == GRAPH:
                spread = (
                    self._spread(coefficients) if self.kept is None else self.kept.times(place, self.rows, coefficients)
                )
                self._smoothed[GRAPH_SMOOTHING] = self._smoothed.get(GRAPH_SMOOTHING, 0.0) + spread
        return plain + sum(self._smoothed.values())

    def _spread(self, coefficients: Floats) -> Floats:
        sources = np.zeros((self.views.n_photos, coefficients.shape[1]))
        sources[self.rows] = GRAPH_SCALE * coefficients
        return smooth_columns(self.views, sources, GRAPH_SMOOTHING)

    def _columns(self, rows: NDArray[np.intp]) -> list[NDArray[np.float32]]:
        """Return the kernel of all photos with some labelled ones, for each member."""
        found: dict[tuple[str, bool], NDArray[Any]] = {}
        for smoothed in (True, False):
            points = self.views.coordinates(smoothed)
            names = sorted(
                {
                    one.candidate.view
                    for one in self.members
                    if one.candidate.view != GRAPH and one.candidate.smoothed == smoothed
                }
            )
            distances = self.views.distances(points, points[rows], [self._weightings[name] for name in names])
            for name, values in zip(names, distances, strict=True):
                # A photo is at no distance from itself, whatever rounding says.
                values[rows, np.arange(len(rows))] = 0.0
                found[name, smoothed] = values
        return [self._column(member.candidate, found, rows) for member in self.members]

    def _column(
        self, candidate: Candidate, distances: dict[tuple[str, bool], NDArray[Any]], rows: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        if candidate.view == GRAPH:
            kernel = GRAPH_SCALE * spread_labels(self.views, rows, GRAPH_SMOOTHING)
        else:
            kernel = self._kernel(candidate, distances[candidate.view, candidate.smoothed])
        return kernel.astype(np.float32)

    def _add_kernels(self, points: NDArray[Any], smoothed: bool, plain: Floats, to_smooth: dict[float, Floats]) -> None:
        """Add kernels times coefficients to ``plain`` or, by strength of score smoothing, to ``to_smooth``."""
        chosen = [
            (member.candidate, coefficients)
            for member, coefficients in zip(self.members, self.coefficients, strict=True)
            if member.candidate.view != GRAPH and member.candidate.smoothed == smoothed
        ]
        if not chosen:
            return
        names = sorted({candidate.view for candidate, _ in chosen})
        anchors = self.views.coordinates(smoothed)[self.rows]
        for block in self.views.blocks(len(points), len(anchors)):
            found = self.views.distances(points[block], anchors, [self._weightings[name] for name in names])
            distances = dict(zip(names, found, strict=True))
            for candidate, coefficients in chosen:
                scores = self._kernel(candidate, distances[candidate.view]) @ coefficients
                strength = candidate.score_smoothing
                target = plain if not strength else to_smooth.setdefault(strength, np.zeros_like(plain))
                target[block] += scores

    def deviations(self, new: NewPhotos) -> Floats:
        """Return the deviations (q, c) of new photos.

        Smoothing a new photo's scores takes one step: ``f = (k + s Σ_j S_j F_j)/(1 + s)`` with its nearest training
        photos j, whose own scores F stay.
        """
        n_tags = self.coefficients[0].shape[1]
        scores = np.zeros((len(new.plain), n_tags))
        to_smooth: dict[float, Floats] = {}
        for smoothed in (True, False):
            self._add_kernels(new.smooth if smoothed else new.plain, smoothed, scores, to_smooth)
        for strength, of_training in self._smoothed.items():
            own = to_smooth.get(strength, 0.0)
            scores += (own + strength * (new.links @ of_training)) / (1.0 + strength)
        return scores


def _solve(
    kernel: Floats, ridge: float, targets: Floats, patterns: NDArray[np.bool_], pattern_of: NDArray[np.intp]
) -> Floats:
    """Return coefficients (m, c), zero where a tag is unknown."""
    coefficients = np.zeros_like(targets)
    for pattern in range(patterns.shape[1]):
        rows, tags = np.flatnonzero(patterns[:, pattern]), np.flatnonzero(pattern_of == pattern)
        if not len(rows):
            continue
        system = kernel[np.ix_(rows, rows)]
        system[np.diag_indices(len(rows))] += ridge
        factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
        coefficients[np.ix_(rows, tags)] = linalg.cho_solve(factor, targets[np.ix_(rows, tags)], check_finite=False)
    return coefficients


# Left-out scores of a combination where tags are known on different photos, as after a review of some tags.

Part = tuple[NDArray[Any], NDArray[Any], float, Member]


def pattern_left_out(
    search: Search,
    weightings: Sequence[View],
    members: Sequence[Member],
    approximate: Floats,
    *,
    go_on: Callable[[], bool] = lambda: True,
) -> tuple[Floats, int]:
    """Return the combination's deviations of each photo without its own label, exact for known entries.

    Parameters
    ----------
    search : Search
        Kernels, labels and labelled photos.
    weightings : sequence of View
        Those that members name.
    members : sequence of Member
        What is combined.
    approximate : array of shape (m, c)
        Deviations with unknown entries taken for the frequency; right where all tags are known on all photos.
    go_on : callable, optional
        Asked before each group of tags known on the same photos; False leaves the rest as they are.

    Returns
    -------
    deviations : ndarray of shape (m, c)
        Unknown entries as they were.
    n_left : int
        Tags for which there was no time.
    """
    if known_patterns(search.labels)[0].all():
        return approximate, 0
    return _by_pattern(search, _kernels(search, weightings, members), approximate, go_on)


def members_left_out(search: Search, model: StackModel, *, go_on: Callable[[], bool] = lambda: True) -> Floats:
    """Return the same of members that were chosen before, whatever photos tags are known on.

    Parameters
    ----------
    search : Search
        Labels and labelled photos; it need not have been run.
    model : StackModel
        The members, with kernels that were kept.
    go_on : callable, optional
        As for `pattern_left_out`; tags for which there is no time are taken for known on all photos.
    """
    if model.kept is None:
        parts = _kernels(search, model.weightings, model.members)
    else:
        model.kept.hold(search.rows)
        parts = [
            (
                *search.influences(model.kept.of(place, search.rows), one.candidate.score_smoothing),
                one.candidate.ridge,
                one,
            )
            for place, one in enumerate(model.members)
        ]
    approximate, counts = np.zeros(search.targets.shape), (search.labels != UNKNOWN).sum(axis=0)
    for kernel, influence, ridge, member in parts:
        approximate += member.factor * _left_out(kernel, influence, search.targets, ridge, counts)
    patterns, _ = known_patterns(search.labels)
    return approximate if patterns.all() else _by_pattern(search, parts, approximate, go_on)[0]


def _by_pattern(
    search: Search, parts: list[Part], approximate: Floats, go_on: Callable[[], bool]
) -> tuple[Floats, int]:
    patterns, pattern_of = known_patterns(search.labels)
    found, n_left = approximate.copy(), 0
    for pattern in range(patterns.shape[1]):
        rows, tags = np.flatnonzero(patterns[:, pattern]), np.flatnonzero(pattern_of == pattern)
        if not go_on():
            n_left += len(tags)
        elif len(rows):
            square, entries = np.ix_(rows, rows), np.ix_(rows, tags)
            found[entries] = sum(
                member.on(tags)
                * _left_out(kernel[square], influence[square], search.targets[entries], ridge, len(rows))
                for kernel, influence, ridge, member in parts
            )
    return found, n_left


def _kernels(search: Search, weightings: Sequence[View], members: Sequence[Member]) -> list[Part]:
    """Return each member's kernel among the labelled photos, what coefficients bring to scores, penalty, member."""

    def place(member: Member) -> tuple[str, bool]:
        return member.candidate.view, member.candidate.smoothed

    views = {view.name: view for view in weightings}
    taking_part = sorted((one for one in members if one.takes_part), key=place)
    found: list[Part] = []
    for (name, smoothed), group in groupby(taking_part, key=place):
        if name == GRAPH:
            common = GRAPH_SCALE * spread_labels(search.views, search.rows, GRAPH_SMOOTHING)
        else:
            common = search.distances(views[name], smoothed)
        for member in group:
            one: Candidate = member.candidate
            kernel = common if name == GRAPH else np.exp(-one.width * common)
            among, smooth = search.influences(kernel, one.score_smoothing)
            found.append((among, smooth, one.ridge, member))
    return found


def _left_out(kernel: NDArray[Any], influence: NDArray[Any], targets: Floats, ridge: float, counts: Any) -> Floats:
    """Return deviations of each photo without its own label, the prior's included; see `left_out_deviations`."""
    system = np.array(kernel, dtype=np.float64)
    system[np.diag_indices(len(system))] += ridge
    factor = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    # The diagonal of G = (K + λI)⁻¹ = HᵀH takes all of H, the inverse of the triangle.
    half = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True, overwrite_b=True, check_finite=False)
    coefficients = half.T @ (half @ np.column_stack([targets, np.ones(len(targets))]))
    influence = np.asarray(influence, dtype=np.float64)
    own = np.einsum("ij,ji->i", influence @ half.T, half) / np.einsum("ji,ji->i", half, half)
    found = influence @ coefficients - own[:, None] * coefficients
    return np.asarray(found[:, :-1] + prior_shifts(targets, counts) * found[:, -1:])
