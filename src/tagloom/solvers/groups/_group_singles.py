"""Passes over single columns, one after another for all tags at once, with few operations for each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats
from tagloom.solvers.groups.radial import Radial

__all__ = ["Singles"]


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
