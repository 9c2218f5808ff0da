"""The chosen combination, solved with all labels: coefficients per member, scores of all photos and of new ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core import UNKNOWN, Floats, Indices, Reals, in_scratch, known_patterns, scratch
from tagloom.tuning.auto.search import Candidate, LabelledKernels
from tagloom.tuning.auto.views import (
    NewPhotos,
    PhotoViews,
    View,
    left_out_deviations,
    prior_shifts,
    targets_of,
)
from tagloom.tuning.calibration import take_tags
from tagloom.tuning.constants import MOST_GROWTH, SCORE_STEPS

__all__ = ["Member", "StackModel"]


#: Returns by how much deviations (k, t) of some photos have changed.
Change = Callable[[Indices], Reals]


@dataclass(frozen=True, eq=False)
class Member:
    """A candidate, and the factor of its deviations in the combination: a number, or one for each tag (c,)."""

    candidate: Candidate
    factor: float | Floats

    @property
    def takes_part(self) -> bool:
        """Whether it counts for any tag."""
        return bool(np.any(np.asarray(self.factor) > 0.0))

    def on(self, tags: Indices) -> float | Floats:
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

    Attributes
    ----------
    rows, compared : ndarray of int, shape (m,), (k,)
        The labelled photos that are learnt from, and those that ``left_out`` is of, ascending.
    labels : ndarray of shape (n, c)
        What was learnt from.
    coefficients : list of ndarray of shape (m, c)
        Of each member, its factor included.
    deviations : ndarray of shape (n, c)
        Of all training photos from the priors.
    left_out : ndarray of shape (k, c)
        The same of the photos compared, each known entry without its photo's label of that tag.

    Notes
    -----
    With priors π, ``F = π + Σ_k w_k A_k K_k (K_k + λ_k I)⁻¹ (Y - π)`` over the photos on which a tag is known; A takes
    two steps of smoothing over the graph, or none. Only kernels with the labelled photos are needed, a block of
    photos at a time. Further labels are rows added to the systems (`Systems`), and a tag whose labels are as they were
    keeps what was found: a fit after another one costs what has changed, and gives what a first one gives.
    """

    labels: NDArray[Any]
    rows: Indices
    compared: Indices
    coefficients: list[Floats]
    deviations: Reals
    left_out: Floats

    def __init__(self, views: PhotoViews, weightings: Sequence[View], members: Sequence[Member]) -> None:
        self.views = views
        self.members = [member for member in members if member.takes_part]
        self.weightings = list(weightings)
        self.views_by_name = {view.name: view for view in weightings}
        self.scales = {
            (one.view, one.smoothed): views.mean_distance(self.views_by_name[one.view], one.smoothed)
            for one in (member.candidate for member in self.members)
        }
        #: Of the photos compared; those of further ones would be too large to keep.
        self._systems = Systems(self, range(len(self.members)), leave_out=True)

    def fit(
        self,
        Y: NDArray[Any],
        rows: Indices,
        priors: Floats,
        compared: Indices | None = None,
        *,
        solved: Callable[[Indices, Change], None] | None = None,
    ) -> Reals:
        """Solve for the coefficients and return the deviations (n, c) of all training photos from the priors.

        Parameters
        ----------
        Y : label matrix of shape (n, c)
            Labels; soft ones may lie between 0 and 1.
        rows : array of int
            The labelled photos to learn from, ascending.
        priors : array of shape (c,)
            What labels are compared with.
        compared : array of int, optional
            Labelled photos that ``left_out`` is of: found by members that learn from these alone. Default: none.
        solved : callable, optional
            Told, before all photos are scored, which tags have changed, and what gives the change of some photos.
        """
        compared = rows[:0] if compared is None else compared
        if not hasattr(self, "labels"):
            self.restore(
                np.broadcast_to(np.asarray(UNKNOWN, dtype=Y.dtype), Y.shape),
                (rows, compared),
                [np.zeros((len(rows), Y.shape[1])) for _ in self.members],
                scratch(Y.shape, self.views.dtype),
                np.zeros((len(compared), Y.shape[1])),
            )
            tags = np.arange(Y.shape[1])
        else:
            tags = self._changed(Y, rows, compared)
        left, found = np.zeros((0, len(tags))), list[Floats]()
        # What most tags are known on, whichever of them have changed.
        often = np.flatnonzero((Y[rows] != UNKNOWN).mean(axis=1) > 0.5)
        known = rows[often], Y[:, tags], priors[tags], tags
        if len(compared):
            found, left = self._systems.solve(compared, *known)
        if not np.array_equal(rows, compared):
            found = [
                Systems(self, [place], leave_out=False).solve(rows, *known)[0][0] for place in range(len(self.members))
            ]
        if solved is not None and len(tags):
            solved(tags, lambda photos: self._change(found, rows, tags, photos))
        self._score(found, rows, tags)
        self.coefficients = [
            _merged(one, self.rows, rows, new, tags) for one, new in zip(self.coefficients, found, strict=True)
        ]
        if len(compared):
            self.left_out = _merged(self.left_out, self.compared, compared, left, tags)
            # What is not known has no label to leave out.
            self.left_out = np.where(Y[compared] == UNKNOWN, self.deviations[compared], self.left_out)
        else:
            self.left_out = np.zeros((0, Y.shape[1]))
        self.rows, self.compared, self.labels = rows, compared, in_scratch(Y)
        return self.deviations

    def restore(
        self,
        labels: NDArray[Any],
        rows: tuple[Indices, Indices],
        coefficients: list[Floats],
        deviations: Reals,
        left_out: Floats,
    ) -> None:
        """Take over what `fit` found before: its labels, rows and photos compared, and what it set."""
        self.labels, (self.rows, self.compared) = labels, rows
        self.coefficients, self.deviations, self.left_out = coefficients, deviations, left_out

    @property
    def kind(self) -> bytes:
        """What kernels are of: members and photos compared."""
        names = [str((one.view, one.smoothed, one.width)) for one in (member.candidate for member in self.members)]
        return "|".join(names).encode() + self.compared.astype("<i8").tobytes()

    def kept_spreads(self) -> dict[str, NDArray[Any]] | None:
        """Return smoothed kernels among the photos compared, in single precision; None where none were computed."""
        return self._systems.spreads(self.compared)

    def use_spreads(self, kept: dict[str, NDArray[Any]]) -> None:
        """Take over what `kept_spreads` gave, where it is of these photos, so that the next fit is quick."""
        known = (self.labels[self.compared] != UNKNOWN).mean(axis=1) > 0.5
        self._systems.use_spreads(self.compared, kept, self.compared[known])

    def set_tags(self, at: Indices) -> None:
        """Reorder, drop and add (-1) tags; a new one has the mean of each member's factors, and knows nothing yet."""
        self.members = [
            Member(one.candidate, take_tags(one.factor, at, float(one.factor.mean())))
            if isinstance(one.factor, np.ndarray)
            else one
            for one in self.members
        ]
        if not hasattr(self, "labels"):
            return
        self.coefficients = [take_tags(one, at, 0.0) for one in self.coefficients]
        self.deviations, self.left_out = take_tags(self.deviations, at, 0.0), take_tags(self.left_out, at, 0.0)
        self.labels = take_tags(self.labels, at, UNKNOWN)

    def _changed(self, Y: NDArray[Any], rows: Indices, compared: Indices) -> Indices:
        """Return the tags that have other labels than at the last fit, on photos that are learnt from or were."""
        moved = np.union1d(np.setxor1d(rows, self.rows), np.setxor1d(compared, self.compared))
        known = (Y[moved] != UNKNOWN) | (self.labels[moved] != UNKNOWN)
        return np.flatnonzero((self.labels != Y).any(axis=0) | known.any(axis=0))

    def left_out_operators(self, n_tags: int) -> list[tuple[Indices, Floats]]:
        """Return tags and M of shape (k, k): ``M @ targets`` are deviations of photos, each without its own target.

        Parameters
        ----------
        n_tags : int
            Number of tags, all known on all photos compared; those whose members have the same factors share one
            operator.
        """
        unit = np.eye(len(self.compared))
        factors = np.stack([np.broadcast_to(np.asarray(member.factor, float), n_tags) for member in self.members])
        kinds, kind_of = np.unique(factors, axis=1, return_inverse=True)
        totals = [np.zeros_like(unit) for _ in range(kinds.shape[1])]
        kernels = self._systems.kernels(self.compared)
        for (among, influence), member, of_kinds in zip(kernels, self.members, kinds, strict=True):
            spread = among if influence is None else influence
            for *_, found in left_out_deviations(among, [spread], unit, [member.candidate.ridge]):
                for total, factor in zip(totals, of_kinds, strict=True):
                    total += factor * found
        return [(np.flatnonzero(kind_of.ravel() == kind), total) for kind, total in enumerate(totals)]

    def _score(self, coefficients: list[Floats], rows: Indices, tags: Indices) -> None:
        """Set the deviations of some tags: kernels with the labelled photos times coefficients, perhaps smoothed."""
        if not len(tags):
            return
        sums = self._kernel_sums(self.views.plain, self.views.smooth, rows, coefficients)
        for strength, scores in sums.items():
            if strength:
                self.views.smooth_scores(scores, strength)
        first, *others = sums.values()
        for other in others:
            first += other
        self.deviations[:, tags] = first

    def _change(self, coefficients: list[Floats], rows: Indices, tags: Indices, photos: Indices) -> Reals:
        """Return by how much deviations (k, t) of some photos are others than before, as if no other photo's were."""
        both = np.union1d(rows, self.rows)
        changes = []
        for new, old in zip(coefficients, self.coefficients, strict=True):
            change = np.zeros((len(both), len(tags)))
            change[np.searchsorted(both, rows)] = new
            change[np.searchsorted(both, self.rows)] -= old[:, tags]
            changes.append(change)
        plain, smooth = (np.asarray(self.views.coordinates(smoothed)[photos]) for smoothed in (False, True))
        sums, links = self._kernel_sums(plain, smooth, both, changes), self.views.links[photos][:, photos]
        for strength, scores in sums.items():
            if strength:
                self.views.smooth_scores(scores, strength, links)
        return np.sum(list(sums.values()), axis=0)

    def _kernel_sums(
        self, plain: Reals, smooth: Reals, rows: Indices, coefficients: list[Floats]
    ) -> dict[float, NDArray[Any]]:
        """Return kernels of photos times coefficients, summed by strength of score smoothing."""
        shape, sums = (len(plain), coefficients[0].shape[1]), {}
        for points, smoothed in ((smooth, True), (plain, False)):
            chosen = [
                (member.candidate, values.astype(self.views.dtype))
                for member, values in zip(self.members, coefficients, strict=True)
                if member.candidate.smoothed == smoothed
            ]
            if not chosen:
                continue
            names = sorted({candidate.view for candidate, _ in chosen})
            anchors = self.views.coordinates(smoothed)[rows]
            for candidate, _ in chosen:
                if candidate.score_smoothing not in sums:
                    sums[candidate.score_smoothing] = scratch(shape, self.views.dtype)
                    sums[candidate.score_smoothing][:] = 0.0
            to_anchors = self.views.to_anchors(anchors, [self.views_by_name[name] for name in names])
            blocks = list(self.views.blocks(len(points), len(rows)))
            kernels = np.empty((blocks[0].stop if blocks else 0, len(rows)), self.views.dtype)
            for block in blocks:
                distances = dict(zip(names, to_anchors(np.asarray(points[block])), strict=True))
                kernel = kernels[: len(points[block])]
                for candidate, values in chosen:
                    np.multiply(distances[candidate.view], self.views.dtype(-self._decay(candidate)), out=kernel)
                    sums[candidate.score_smoothing][block] += np.exp(kernel, out=kernel) @ values
        return sums

    def _decay(self, candidate: Candidate) -> float:
        return candidate.width / self.scales[candidate.view, candidate.smoothed]

    def score_new(self, new: NewPhotos) -> Floats:
        """Return the deviations (q, c) of new photos: what they would have among the training photos."""
        found = np.zeros((len(new.plain), self.coefficients[0].shape[1]))
        own = self._kernel_sums(new.plain, new.smooth, self.rows, self.coefficients)
        for strength, scores in own.items():
            found += scores / (1.0 + strength)
        strengths = [strength for strength in own if strength]
        if strengths:
            reached = {one: self.views.spread(new.links, one, SCORE_STEPS - 1) for one in strengths}
            near = np.unique(np.concatenate([one.indices for one in reached.values()]))
            around = self._kernel_sums(self.views.plain[near], self.views.smooth[near], self.rows, self.coefficients)
            for strength, weights in reached.items():
                found += strength / (1.0 + strength) * (weights[:, near] @ around[strength])
        return found


def _merged(before: Floats, old: Indices, now: Indices, values: Floats, tags: Indices) -> Floats:
    """Return what was found for photos of before brought to those of now, some tags replaced."""
    found = np.zeros((len(now), before.shape[1]))
    _, there, here = np.intersect1d(old, now, assume_unique=True, return_indices=True)
    found[here] = before[there]
    found[:, tags] = values
    return found


class Systems:
    """``K + λI`` of each member over labelled photos, solved for whichever of them a tag is known on.

    Parameters
    ----------
    model : StackModel
        Its views and members.
    places : sequence of int
        Which members.
    leave_out : bool
        Whether scores without a photo's own label are wanted, too.

    Notes
    -----
    Most tags are known on the same photos, and some on a few more: those of a review, or of the last minute. So there
    is one factorisation of what most tags have in common, and the further photos of a tag are a block added to it, at
    the cost of m² for each. Kernels are computed for photos that were not there before.
    """

    def __init__(self, model: StackModel, places: Sequence[int], *, leave_out: bool) -> None:
        self._model, self._at, self._leave_out = model, places, leave_out
        self._held: Indices = np.empty(0, dtype=np.intp)
        self._kernels: list[tuple[Floats, Floats | None]] = []
        self._common: Indices = np.empty(0, dtype=np.intp)
        self._factors: list[Factor] = []

    def spreads(self, rows: Indices) -> dict[str, NDArray[Any]] | None:
        """Return each member's smoothed kernel among photos that are held, in single precision."""
        if not len(rows) or not np.isin(rows, self._held).all():
            return None
        square = np.ix_(*[self._places(rows)] * 2)
        return {
            str(place): spread[square].astype(np.float32)
            for place, (_, spread) in enumerate(self._kernels)
            if spread is not None
        }

    def use_spreads(self, rows: Indices, kept: dict[str, NDArray[Any]], often: Indices) -> None:
        """Take over what `spreads` returned for these photos, unless there is something amiss with it.

        Those that most tags are known on are factorised at once.
        """
        wanted = {str(place) for place, one in enumerate(self._members) if one.candidate.score_smoothing}
        shape = len(rows), len(rows)
        same = all(one.shape == shape and one.dtype == np.float32 and np.isfinite(one).all() for one in kept.values())
        if set(kept) == wanted and same:
            self._restore(rows, kept)
            self._factorise(self._places(often))

    @property
    def _members(self) -> list[Member]:
        return [self._model.members[place] for place in self._at]

    def solve(
        self, rows: Indices, often: Indices, Y: NDArray[Any], priors: Floats, tags: Indices
    ) -> tuple[list[Floats], Floats]:
        """Return each member's coefficients (m, k) of some tags, and what all say without a photo's own label (m, k).

        Parameters
        ----------
        rows : array of int, shape (m,)
            The labelled photos.
        often : array of int
            Those that most tags are known on, others among them.
        Y : label matrix of shape (n, k)
            Labels of these tags.
        priors : array of shape (k,)
            What labels are compared with.
        tags : array of int, shape (k,)
            Which tags of the combination these are.
        """
        labels, members = Y[rows], self._members
        targets = targets_of(labels, priors)
        shifts = prior_shifts(targets, (labels != UNKNOWN).sum(axis=0))
        coefficients, left = [np.zeros(targets.shape) for _ in members], np.zeros(targets.shape)
        if not len(rows) or not len(tags):
            return coefficients, left
        self._hold(rows)
        at = self._places(rows)
        patterns, pattern_of = known_patterns(labels)
        self._factorise(self._places(np.intersect1d(often, rows, assume_unique=True)))
        for pattern in range(patterns.shape[1]):
            known, columns = np.flatnonzero(patterns[:, pattern]), np.flatnonzero(pattern_of == pattern)
            if not len(known):
                continue
            places = np.full(len(self._held), -1)
            places[at[known]] = known
            common = places[self._common]
            grows = bool((common >= 0).all())
            order = np.concatenate([common, np.setdiff1d(known, common)]) if grows else known
            sides = np.column_stack([targets[np.ix_(order, columns)], np.ones(len(order))])
            for place, member in enumerate(members):
                kernel, influence = self._kernels[place]
                factor = self._factors[place] if grows else Factor.none()
                found, without = factor.solve(kernel, influence, member.candidate.ridge, at[order], sides)
                share = member.on(tags[columns])
                coefficients[place][np.ix_(order, columns)] = share * found[:, :-1]
                own = without[:, :-1] + shifts[np.ix_(order, columns)] * without[:, -1:]
                left[np.ix_(order, columns)] += share * own
        return coefficients, left

    def kernels(self, rows: Indices) -> list[tuple[Floats, Floats | None]]:
        """Return each member's kernel among labelled photos, and it smoothed where the member's scores are."""
        self._hold(rows)
        square = np.ix_(*[self._places(rows)] * 2)
        return [
            (kernel[square], None if influence is None else influence[square]) for kernel, influence in self._kernels
        ]

    def _places(self, rows: Indices) -> Indices:
        order = np.argsort(self._held)
        return order[np.searchsorted(self._held, rows, sorter=order)]

    def _hold(self, rows: Indices) -> None:
        """Compute kernels with labelled photos that are not there yet; begin anew where many are no longer labelled."""
        if len(np.setdiff1d(self._held, rows)) > MOST_GROWTH * len(self._held):
            self._held, self._kernels, self._factors = self._held[:0], [], []
        new = np.setdiff1d(rows, self._held)
        if not len(new):
            return
        both, n = np.concatenate([self._held, new]), len(self._held)
        of_new, across = (self._find(*photos) for photos in ((new, both), (self._held, new)))
        for place, member in enumerate(self._members):
            one = member.candidate
            rows_of_new, spread_of_new = of_new[one.view, one.smoothed, one.width]
            whole, spread = np.empty((len(both), len(both))), None
            whole[n:, :n], whole[:n, n:] = rows_of_new[:, :n], rows_of_new[:, :n].T
            whole[n:, n:] = 0.5 * (rows_of_new[:, n:] + rows_of_new[:, n:].T)
            if self._leave_out and one.score_smoothing:
                spread = np.empty_like(whole)
                spread[n:], spread[:n, n:] = spread_of_new, across[one.view, one.smoothed, one.width][1]
            if n:
                whole[:n, :n], before = self._kernels[place]
                if spread is not None:
                    spread[:n, :n] = before
            self._kernels[place:] = [(whole, spread), *self._kernels[place + 1 :]]
        self._held = both

    def _restore(self, rows: Indices, kept: dict[str, NDArray[Any]]) -> None:
        """Hold photos whose smoothed kernels are kept; what is left to compute is quick."""
        found = self._find(rows, rows, leave_out=False)
        for place, member in enumerate(self._members):
            one = member.candidate
            among, _ = found[one.view, one.smoothed, one.width]
            spread = kept[str(place)].astype(np.float64) if one.score_smoothing else None
            self._kernels.append((0.5 * (among + among.T), spread))
        self._held = rows

    def _find(
        self, rows: Indices, anchors: Indices, *, leave_out: bool = True
    ) -> dict[tuple[str, bool, float], tuple[Floats, Floats]]:
        """Return the kernels that members want, by view, whether features are smoothed, and width."""
        making = LabelledKernels(self._model.views, rows, anchors)
        wanted: dict[tuple[str, bool], dict[float, bool]] = {}
        for one in (member.candidate for member in self._members):
            needs = wanted.setdefault((one.view, one.smoothed), {})
            needs[one.width] = needs.get(one.width, False) or bool(one.score_smoothing)
        found = {}
        for (name, smoothed), widths in wanted.items():
            spread = leave_out and self._leave_out and any(widths.values())
            kernels = making.of(self._model.views_by_name[name], smoothed, list(widths), spread=spread)
            found.update({(name, smoothed, width): one for width, one in zip(widths, kernels, strict=True)})
        return found

    def _factorise(self, often: Indices) -> None:
        """Factorise what most tags are known on, unless what was factorised before is nearly that."""
        is_part = bool(np.isin(self._common, often).all())
        if self._factors and is_part and len(often) <= (1.0 + MOST_GROWTH) * len(self._common):
            return
        self._common = often
        self._factors = [
            Factor.of(kernel, influence, member.candidate.ridge, self._common)
            for (kernel, influence), member in zip(self._kernels, self._members, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Factor:
    """The inverse H of the Cholesky factor of ``K + λI`` over some photos, so that ``(K + λI)⁻¹ = HᵀH``.

    Attributes
    ----------
    at : ndarray of int, shape (b,)
        The photos.
    half : ndarray of shape (b, b)
        H.
    spread : ndarray of shape (b, b) or None
        ``BHᵀ``, B what coefficients bring to smoothed scores; None where scores are not smoothed.
    """

    at: Indices
    half: Floats
    spread: Floats | None

    @classmethod
    def none(cls) -> "Factor":
        """Return that of no photo: all are further ones."""
        return cls(np.empty(0, dtype=np.intp), np.zeros((0, 0)), np.zeros((0, 0)))

    @classmethod
    def of(cls, kernel: Floats, influence: Floats | None, ridge: float, at: Indices) -> "Factor":
        """Factorise from scratch."""
        half = _half(kernel[np.ix_(at, at)], ridge)
        return cls(at, half, None if influence is None else influence[np.ix_(at, at)] @ half.T)

    def solve(
        self, kernel: Floats, influence: Floats | None, ridge: float, at: Indices, sides: Floats
    ) -> tuple[Floats, Floats]:
        """Return ``(K + λI)⁻¹ sides`` over the photos of the factor and further ones, and left-out scores.

        Parameters
        ----------
        kernel, influence : array of shape (m, m)
            Of all labelled photos; the second None where scores are not smoothed.
        ridge : float
            λ.
        at : array of int, shape (b + e,)
            The photos, those of the factor first.
        sides : array of shape (b + e, k)
            Targets.

        Notes
        -----
        The further photos have the Schur complement ``C = K_ee + λI - WWᵀ``, ``W = K_eb Hᵀ``; with H_e its own H and
        ``V = H_e W H`` the whole inverse factor is ``[[H, 0], [-V, H_e]]``. Without photo i's own target its score is
        ``(Bα)_i - (BG)_ii α_i / G_ii``, ``G = HᵀH`` of the whole; ``T_i - α_i / G_ii`` where B is K.
        """
        n = len(self.at)
        base, more = at[:n], at[n:]
        across = kernel[np.ix_(more, base)] @ self.half.T
        own = _half(kernel[np.ix_(more, more)] - across @ across.T, ridge)
        corner = own @ (across @ self.half)
        top = self.half @ sides[:n]
        lower = own.T @ (own @ (sides[n:] - across @ top))
        found = np.concatenate([self.half.T @ (top - across.T @ lower), lower])
        diagonal = np.concatenate(
            [np.square(self.half).sum(axis=0) + np.square(corner).sum(axis=0), np.square(own).sum(axis=0)]
        )
        if influence is None or self.spread is None:
            return found, sides - found / diagonal[:, None]
        whole = influence[np.ix_(at, at)]
        beyond = whole[:, n:] @ own.T - whole[:, :n] @ corner.T
        reached = np.concatenate(
            [
                np.einsum("ij,ji->i", self.spread, self.half) - np.einsum("ij,ji->i", beyond[:n], corner),
                np.einsum("ij,ji->i", beyond[n:], own),
            ]
        )
        return found, whole @ found - (reached / diagonal)[:, None] * found


def _half(system: Floats, ridge: float) -> Floats:
    """Return the inverse of the Cholesky factor of a matrix with a penalty on its diagonal."""
    if not len(system):
        return system
    system[np.diag_indices(len(system))] += ridge
    factor = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(linalg.lapack.dtrtri(factor, lower=1, overwrite_c=1)[0])
