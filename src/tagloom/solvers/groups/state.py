"""Some tags of a penalised problem on their way: passes over the groups, and Newton steps."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Bools, Floats
from tagloom.solvers.groups.newton import NewtonModel, best_steps, directions
from tagloom.solvers.groups.penalties import Radial
from tagloom.solvers.groups.problem import GroupProblem

__all__ = ["GroupState", "Singles", "best_on_axes", "shortened"]


# Minimisation over one group of every tag at once, the other groups fixed.

#: Steps of the equation for a length, and the relative change at which they end.
LENGTH_STEPS, LENGTH_CHANGE = 40, 1e-13
#: Tangents of a concave penalty that are drawn one after another.
TANGENTS = 3


def shortened(z: Floats, curvature: Floats, limit: Floats) -> Floats:
    """Return for each column the minimiser of ``½ Σ_k curvature_k b_k² - zᵀb + limit ‖b‖``.

    Parameters
    ----------
    z : array of shape (m, c)
        The linear part.
    curvature : array of shape (m,)
        Positive.
    limit : array of shape (c,)
        Not negative.

    Notes
    -----
    b = 0 where ‖z‖ ≤ limit. Elsewhere ``b = r z / (curvature r + limit)`` with the length r at which
    ``h(r) = ‖z / (curvature r + limit)‖`` is 1; 1/h is concave and nearly a line, so that Newton's method on it climbs
    to the solution from below without a step too far.
    """
    free = limit <= 0
    result = np.zeros_like(z)
    if free.any():
        result[:, free] = z[:, free] / curvature[:, None]
    length = np.sqrt(np.einsum("kc,kc->c", z, z))
    columns = np.flatnonzero((length > limit) & ~free)
    if columns.size:
        part, bounds = z[:, columns], limit[columns]
        r = (length[columns] - bounds) / curvature.max()
        squares = np.square(part)
        for _ in range(LENGTH_STEPS):
            scale = curvature[:, None] * r
            scale += bounds
            np.reciprocal(scale, out=scale)
            terms = squares * scale
            terms *= scale
            h = np.sqrt(terms.sum(axis=0))
            terms *= scale
            # A step back is rounding, and from a length of nearly nothing it would lead below zero.
            step = np.maximum(h * h * (h - 1) / (curvature @ terms), 0.0)
            r += step
            if (step <= LENGTH_CHANGE * r).all():
                break
        result[:, columns] = part * (r / (curvature[:, None] * r + bounds))
    return result


def best_on_axes(z: Floats, curvature: Floats, radial: Radial, limit: Floats, now: Floats) -> Floats:
    """Return for each column a b that is not worse than ``now`` for ``½ Σ curvature_k b_k² - zᵀb + p(‖b‖; limit)``.

    The minimiser where p is convex. Else the end of a few tangents to p, zero, or the end of tangents from the best
    step of the penalty's own proximal map, whichever is lowest: the last finds a way out of zero where the penalty is
    too flat to hold it, and zero a way into it.
    """
    if radial.convex:
        return shortened(z, curvature, limit)
    best = _follow_tangents(now, z, curvature, radial, limit)
    low = _block_value(best, z, curvature, radial, limit)
    steepness = curvature.max()
    target = now + (z - curvature[:, None] * now) / steepness
    s = np.sqrt(np.einsum("kc,kc->c", target, target))
    r = radial.shrink(s, limit, np.full_like(limit, steepness))
    leap = np.flatnonzero((r > 0) & ~best.any(axis=0))
    if leap.size:
        start = target[:, leap] * (r[leap] / s[leap])
        landed = _follow_tangents(start, z[:, leap], curvature, radial, limit[leap])
        value = _block_value(landed, z[:, leap], curvature, radial, limit[leap])
        better = value < low[leap]
        best[:, leap[better]], low[leap[better]] = landed[:, better], value[better]
    best[:, low > 0] = 0.0
    return best


def _block_value(b: Floats, z: Floats, curvature: Floats, radial: Radial, limit: Floats) -> Floats:
    """Return the function that `best_on_axes` lowers."""
    smooth = np.einsum("kc,kc->c", 0.5 * curvature[:, None] * b - z, b)
    return smooth + radial.value(np.sqrt(np.einsum("kc,kc->c", b, b)), limit)


def _follow_tangents(b: Floats, z: Floats, curvature: Floats, radial: Radial, limit: Floats) -> Floats:
    """Minimise with the penalty replaced by its tangent at b, which lies above it, a few times."""
    for _ in range(TANGENTS):
        b = shortened(z, curvature, radial.slope(np.sqrt(np.einsum("kc,kc->c", b, b)), limit))
    return b


# Passes over single columns, one after another for all tags at once, with few operations for each.


class Singles:
    """The exact minimum over single columns, the other columns fixed, in straight pieces of its linear part.

    Parameters
    ----------
    curvature : array of shape (g,)
        The quadratic part of each column by itself.
    radial : Radial
        The penalty of a length.
    limits : array of shape (g, c)
        Its limits.
    entry_limits : array of shape (c,) or None
        The price of a unit of each entry's absolute value, besides.
    """

    def __init__(self, curvature: Floats, radial: Radial, limits: Floats, entry_limits: Floats | None) -> None:
        pieces = radial.pieces(curvature[:, None])
        self.curvature, self.entry_limits, self.convex = curvature, entry_limits, radial.convex
        self.bounds = np.ascontiguousarray(np.moveaxis(pieces.knots * limits, 0, 1))
        self.slopes = np.ascontiguousarray(np.moveaxis(pieces.slopes, 0, 1))
        self.jumps = pieces.jump * limits
        first = np.where(pieces.slopes[0] > 0, np.minimum(pieces.knots[0], pieces.jump), pieces.jump)
        #: The largest gradient at which a column stays zero.
        self.hold = first * limits * curvature[:, None] + (0.0 if entry_limits is None else entry_limits)

    def one_after_another(self, columns: Any, block: Floats, W: Floats, gradient: Floats) -> Floats:
        """Minimise over some columns in turn, each with those before it where they have got to; return them.

        Columns that are zero and stay so are looked at together. Where one leaves zero only by what others have done,
        all go once more from the beginning, this one among them.

        Parameters
        ----------
        columns : slice or array of int
            Which of the m columns.
        block : array of shape (m, m)
            Their quadratic part.
        W, gradient : arrays of shape (m, c)
            Coefficients, and the gradient of the smooth part.
        """
        hold = self.hold[columns]
        visited = W.any(axis=1) | (np.abs(gradient) > hold).any(axis=1)
        while True:
            after, met = self._take_turns(columns, np.flatnonzero(visited), block, W, gradient.copy())
            late = ~visited
            if late.any():
                late &= (np.abs(met) > hold).any(axis=1)
            if not late.any():
                return after
            visited |= late

    def _take_turns(
        self, columns: Any, places: NDArray[np.intp], block: Floats, W: Floats, gradient: Floats
    ) -> tuple[Floats, Floats]:
        """Minimise over the columns at some places; return all columns, and the gradient that each met."""
        curvature, bounds = self.curvature[columns], self.bounds[columns]
        slopes, jumps = self.slopes[columns], self.jumps[columns]
        after, linear, divisors = W.copy(), curvature[:, None] * W, curvature.tolist()
        for place in places.tolist():
            z = linear[place] - gradient[place]
            length = np.abs(z)
            if self.entry_limits is not None:
                length = np.maximum(length - self.entry_limits, 0.0)
            length /= divisors[place]
            parts = np.maximum(length - bounds[place], 0.0)
            parts *= slopes[place]
            r, *others = parts
            for other in others:
                r += other
            if not self.convex:
                np.copyto(r, length, where=length > jumps[place])
            new = after[place] = np.copysign(r, z)
            gradient[place + 1 :] += block[place + 1 :, place, None] * (new - W[place])
        return after, gradient


#: Proximal steps on a group while its block of the matrix is at hand.
INNER_STEPS = 5
#: Longest Newton direction, in lengths of the coefficients.
FURTHEST = 10.0
#: Relative size of the residual at which a Newton direction is good enough.
FORCING = 0.05
#: The same for the systems of local quadratic approximation.
PARABOLA_FORCING = 1e-4
#: A group shorter than this share of a tag's coefficients is gone in local quadratic approximation.
VANISHED = 1e-12


class GroupState:
    """Coefficients W, gradient G and limits of some tags.

    Parameters
    ----------
    problem : GroupProblem
        The matrices and groups.
    radial : Radial
        The penalty of a length.
    strengths : array of shape (c,)
        λ of each of these tags.
    W, G : arrays of shape (r, c)
        Coefficients on the axes and the gradient of the smooth part there.
    tags : array of shape (c,)
        Their numbers in the problem.
    """

    def __init__(
        self,
        problem: GroupProblem,
        radial: Radial,
        strengths: Floats,
        W: Floats,
        G: Floats,
        tags: NDArray[np.intp],
    ) -> None:
        self.problem, self.radial, self.tags = problem, radial, tags
        self.layout, self.A = problem.axes.layout, problem.axes.A
        self.W, self.G = np.ascontiguousarray(W), np.ascontiguousarray(G)
        self.strengths = strengths
        self.limits = problem.weights[:, None] * strengths * (1 - problem.entry_share)
        self.entry_limits = problem.entry_share * strengths
        # A tag that nothing pulls at has no scale of its own.
        largest = problem.largest[tags]
        self.scale = np.where(largest > 0, largest, 1.0)

    def take(self, tags: NDArray[np.intp]) -> "GroupState":
        """Return some of the tags."""
        part = self.strengths[tags]
        return GroupState(self.problem, self.radial, part, self.W[:, tags], self.G[:, tags], self.tags[tags])

    def penalties(self, W: Floats, norms: Floats | None = None) -> Floats:
        """Return each tag's penalty."""
        norms = self.layout.norms(W) if norms is None else norms
        result: Floats = self.radial.value(norms, self.limits).sum(axis=0)
        if self.problem.entry_share > 0:
            result = result + self.entry_limits * np.abs(W).sum(axis=0)
        return result

    def values(self) -> Floats:
        """Return each tag's objective."""
        B = self.problem.axes.B[:, self.tags]
        return 0.5 * np.einsum("kc,kc->c", self.W, self.G - B) + self.penalties(self.W)

    def refresh(self, *, all_tags: bool, some: Bools | None = None) -> None:
        """Compute the gradient of the smooth part anew, for all tags or for some: changes add up rounding."""
        columns = np.arange(self.tags.size) if all_tags or some is None else np.flatnonzero(some)
        W = self.W[:, columns]
        used = np.flatnonzero(W.any(axis=1))
        product = self.A @ W if used.size > 0.8 * len(W) else self.A[:, used] @ W[used]
        self.G[:, columns] = product - self.problem.axes.B[:, self.tags[columns]]

    def optimality(self) -> Floats:
        """Return each tag's largest distance from stationarity, relative to the strength at which it uses nothing."""
        norms = self.layout.norms(self.W)
        used = norms > 0
        pull = np.divide(self.radial.slope(norms, self.limits), norms, out=np.zeros_like(norms), where=used)
        slopes = self.G + pull[self.layout.group_of] * self.W
        if self.problem.entry_share > 0:
            kept = np.sign(slopes) * np.maximum(np.abs(slopes) - self.entry_limits, 0.0)
            slopes = np.where(self.W != 0, slopes + self.entry_limits * np.sign(self.W), kept)
        distance = self.layout.norms(slopes)
        distance = np.where(used, distance, np.maximum(distance - self.limits, 0.0))
        worst: Floats = distance.max(axis=0, initial=0.0) / self.scale
        return worst

    def sweep(self, wanted: Bools | None = None) -> None:
        """Go over all groups once, for all tags or for some."""
        if wanted is not None and not wanted.all():
            part = self.take(np.flatnonzero(wanted))
            part.sweep()
            self.W[:, wanted], self.G[:, wanted] = part.W, part.G
            return
        singles = self._singles() if (self.layout.sizes == 1).any() else None
        for group, groups, rows in self.layout.turns:
            now = self.W[rows]
            if group is None and singles is not None:
                block = self.A[np.ix_(rows, rows)]
                self._move(rows, singles.one_after_another(groups, block, now, self.G[rows]))
            elif self.problem.entry_share > 0:
                self._move(rows, self._proximal_steps(groups, rows))
            else:
                curvature = self.A[rows, rows].diagonal()
                z = curvature[:, None] * now - self.G[rows]
                self._move(rows, best_on_axes(z, curvature, self.radial, self.limits[groups], now))

    def _singles(self) -> Singles:
        """Return the minimum over each column, for groups of one."""
        entry_limits = self.entry_limits if self.problem.entry_share > 0 else None
        # Groups of several rows, which have none of this, may begin with a column of zeros.
        curvature = np.where(self.layout.sizes == 1, self.A.diagonal()[self.layout.starts], 1.0)
        return Singles(curvature, self.radial, self.limits, entry_limits)

    def _proximal_steps(self, group: int, rows: slice) -> Floats:
        """Return a group after a few proximal steps: entries first, then the group, which is exact for the sum."""
        steepness, limit = float(self.problem.steepness[group]), self.limits[group]
        block, gradient, W = self.A[rows, rows], self.G[rows].copy(), self.W[rows]
        for _ in range(INNER_STEPS):
            target = W - gradient / steepness
            target = np.sign(target) * np.maximum(np.abs(target) - self.entry_limits / steepness, 0.0)
            norms = np.sqrt(np.einsum("kc,kc->c", target, target))
            shorter = self.radial.shrink(norms, limit, np.full_like(limit, steepness))
            after = target * np.divide(shorter, norms, out=np.zeros_like(norms), where=norms > 0)
            change = after - W
            W = after
            if not change.any():
                break
            gradient += block @ change
        return W

    def _move(self, rows: slice | NDArray[np.intp], after: Floats) -> None:
        """Set some rows and bring the gradient up to date, for the tags that change."""
        change = after - self.W[rows]
        columns = np.flatnonzero(change.any(axis=0))
        if columns.size > 0.7 * change.shape[1]:
            self.G += self.A[:, rows] @ change
        elif columns.size:
            self.G[:, columns] += self.A[:, rows] @ change[:, columns]
        self.W[rows] = after

    def newton(self, wanted: Bools) -> Bools:
        """Take a Newton step for some tags on what they use, as long as it lowers; return who took a whole step.

        Where a concave penalty bends the model down, its solution may lead up. Such tags take the step of the penalty's
        tangents, which lie above it.
        """
        tags = np.flatnonzero(wanted)
        steps = self._step(tags)
        stuck = steps == 0
        if stuck.any() and not self.radial.convex:
            steps[stuck] = self._step(tags[stuck], tangents=True)
        whole = np.zeros(self.tags.size, dtype=bool)
        whole[tags] = steps == 1
        return whole

    def _step(self, tags: NDArray[np.intp], *, tangents: bool = False) -> Floats:
        """Take the best step along each tag's direction; return the steps."""
        state = self.take(tags)
        model, slopes = state._model()
        if tangents:
            model = replace(model, bend=np.maximum(model.bend, -model.pull))
        found = directions(model, slopes, FORCING)
        found *= state._within_reach(found)
        change = self.A @ found
        step, gain = state._line(found, change)
        state._move_on(step * found, step * change, gain, found)
        self.W[:, tags], self.G[:, tags] = state.W, state.G
        return step

    def _within_reach(self, found: Floats) -> Floats:
        """Return what each tag's direction is multiplied by, so that it is not much longer than the coefficients.

        Where columns depend on each other and a concave penalty is flat, or bends down, a direction can be so long that
        what the matrix says of it is rounding.
        """
        furthest = FURTHEST * np.sqrt(np.einsum("kc,kc->c", self.W, self.W))
        length = np.sqrt(np.einsum("kc,kc->c", found, found))
        return np.divide(furthest, length, out=np.ones_like(length), where=length > furthest)

    def _move_on(self, change: Floats, gradient: Floats, gain: Floats, found: Floats) -> None:
        """Take the steps; or the whole step with single entries that would change sign left at zero, if lower.

        Entries at a kink stop a step along the line; here they drop out, many at once.
        """
        if self.layout.sizes.max(initial=1) == 1 or self.problem.entry_share > 0:
            crossing = (self.W != 0) & (np.sign(self.W + found) == -np.sign(self.W))
            tags = np.flatnonzero(crossing.any(axis=0))
            if tags.size:
                W = self.W[:, tags]
                other = np.where(crossing[:, tags], -W, found[:, tags])
                product = self.A @ other
                rest = self.take(tags)
                smooth = np.einsum("kc,kc->c", other, rest.G + 0.5 * product)
                lower = smooth + rest.penalties(W + other) - rest.penalties(W) < gain[tags]
                change[:, tags[lower]], gradient[:, tags[lower]] = other[:, lower], product[:, lower]
        self.W = self.W + change
        self.G = self.G + gradient

    def approximate(self) -> Floats:
        """Solve with every penalty replaced by the parabola through its slope; return the length of the changes."""
        model, slopes = self._model()
        parabola = replace(model, bend=np.zeros_like(model.bend), directions=np.zeros_like(model.directions))
        found = directions(parabola, slopes, PARABOLA_FORCING)
        self.W += found
        whole = np.sqrt(np.einsum("kc,kc->c", self.W, self.W))
        self.W[(self.layout.norms(self.W) < VANISHED * whole)[self.layout.group_of]] = 0.0
        self.refresh(all_tags=True)
        length: Floats = np.sqrt(np.einsum("kc,kc->c", found, found))
        return length

    def _model(self) -> tuple[NewtonModel, Floats]:
        """Return the second-order model on what is in use, and the slopes there."""
        norms = self.layout.norms(self.W)
        used = norms > 0
        safe = np.where(used, norms, 1.0)
        pull = np.where(used, self.radial.slope(norms, self.limits) / safe, 0.0)
        bend = np.where(used, self.radial.curvature(norms, self.limits) - pull, 0.0)
        group_of = self.layout.group_of
        entries = self.W != 0 if self.problem.entry_share > 0 else used[group_of]
        slopes = self.G + pull[group_of] * self.W
        if self.problem.entry_share > 0:
            slopes += self.entry_limits * np.sign(self.W)
        units = np.where(entries, self.W / safe[group_of], 0.0)
        plain = self.problem.entry_share > 0 or bool(self.layout.sizes.max(initial=1) == 1)
        model = NewtonModel(self.A, self.problem.single, self.layout, entries, pull, bend, units, plain)
        return model, np.where(entries, slopes, 0.0)

    def _line(self, found: Floats, change: Floats) -> tuple[Floats, Floats]:
        """Return each tag's best step along its direction, and the change of its objective."""
        slope = np.einsum("kc,kc->c", self.G, found)
        curvature = np.einsum("kc,kc->c", found, change)
        dot = self.layout.dot
        squares = (dot(self.W, self.W), dot(self.W, found), dot(found, found))

        def penalties(step: float) -> Floats:
            norms = np.sqrt(np.maximum(squares[0] + 2 * step * squares[1] + step**2 * squares[2], 0.0))
            return self.penalties(self.W + step * found if self.problem.entry_share > 0 else self.W, norms)

        return best_steps((slope, curvature), penalties, penalties(0.0))
