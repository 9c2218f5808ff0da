"""Kernels of all photos with the labelled ones, kept between updates: a photo's column is computed once.

Of an update most of the time goes into distances, and nearly all of them are those of the update before.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats

__all__ = ["KeptKernels"]

#: Columns of some labelled photos, one array (n, k) for each member.
Columns = Callable[[NDArray[np.intp]], list[NDArray[np.float32]]]

#: Room for this share of columns more, so that a few more labelled photos move nothing.
ROOM = 0.25


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
