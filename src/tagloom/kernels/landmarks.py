"""Finite coordinates of a kernel: principal coordinates of all rows, or of landmarks (Nyström)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from tagloom.core import Floats, check_generator
from tagloom.exceptions import InvalidInputError
from tagloom.kernels.matrix import Kernel
from tagloom.kernels.pairwise import row_blocks

__all__ = ["KernelFeatures", "choose_landmarks"]


#: Eigenvalues below this share of the largest are rounding and are left out.
SMALLEST = 1e-10
_BLOCK = 1024


class KernelFeatures:
    """Coordinates whose inner products approximate a kernel (Nyström).

    With all training rows as landmarks these are the (uncentred) kernel principal coordinates; with fewer the Nyström
    approximation, whose memory grows with the number of rows times the number of landmarks.

    Parameters
    ----------
    kernel : Kernel
        Settled by `make_kernel`.
    X : array of shape (n, d)
        Training rows.
    landmarks : int array of shape (m,), optional
        Rows of X, see `choose_landmarks`; default: all of them.
    energy : float, default=1.0
        Share of the sum of eigenvalues of the landmarks' kernel that is kept, in (0, 1]. Eigenvalues below 1e-10 of the
        largest are left out in any case.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (p,)
        Of the landmarks' kernel, from large to small, those kept.
    energy_ : float
        The share that is kept.

    Notes
    -----
    With ``K_mm = UΛUᵀ``, ``φ(x) = Λ^(-1/2) Uᵀ k(landmarks, x)``. For the linear kernel with at most as many columns as
    landmarks the same coordinates come from the d × d matrix ``XᵀX``.

    References
    ----------
    C. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.

    Examples
    --------
    >>> from tagloom.kernels.matrix import make_kernel
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0], [3.0, 0.0]])
    >>> kernel = make_kernel("rbf", X, gamma=0.5)
    >>> features = KernelFeatures(kernel, X).transform(X)
    >>> bool(np.allclose(features @ features.T, kernel.gram(X)))
    True
    """

    def __init__(
        self, kernel: Kernel, X: NDArray[Any], landmarks: NDArray[np.intp] | None = None, *, energy: float = 1.0
    ) -> None:
        if not 0.0 < energy <= 1.0:
            raise InvalidInputError(f"energy must lie in (0, 1], got {energy!r}")
        count = len(X) if landmarks is None else len(landmarks)
        self._kernel = kernel
        self._direct = kernel.name == "linear" and X.shape[1] <= count
        if self._direct:
            chosen = np.asarray(X if landmarks is None else X[landmarks], dtype=np.float64)
            values, vectors = eigh(chosen.T @ chosen)
        else:
            self._anchors = kernel.select(X, landmarks)
            values, vectors = eigh(kernel.gram(X, landmarks))
        values, vectors = values[::-1], vectors[:, ::-1]
        keep = _n_kept(values, energy)
        self.eigenvalues_: Floats = values[:keep].copy()
        total = float(np.maximum(values, 0.0).sum())
        self.energy_ = float(self.eigenvalues_.sum()) / total if total > 0.0 else 1.0
        self._map: Floats = vectors[:, :keep] if self._direct else vectors[:, :keep] / np.sqrt(self.eigenvalues_)

    @property
    def n_features(self) -> int:
        """Number of coordinates p; 0 where the kernel is zero."""
        return int(self._map.shape[1])

    def transform(self, X: NDArray[Any], *, block: int = _BLOCK) -> Floats:
        """Return coordinates of shape (n, p), computed a block of rows at a time."""
        features = np.empty((len(X), self.n_features))
        for rows in row_blocks(len(X), block):
            part = X[rows].astype(np.float64) if self._direct else self._kernel.between(X[rows], self._anchors)
            features[rows] = part @ self._map
        return features

    def linear_map(self, coef: Floats) -> Floats | None:
        """Return coefficients of the columns of X for coefficients of the coordinates; None unless they are linear."""
        return self._map @ coef if self._direct else None


def choose_landmarks(n: int, n_landmarks: int, random_state: Any = 0) -> NDArray[np.intp]:
    """Draw landmark rows uniformly without replacement.

    Parameters
    ----------
    n : int
        Number of rows.
    n_landmarks : int
        How many; all rows where there are no more.
    random_state : int, Generator or None, default=0
        For the draw.

    Examples
    --------
    >>> choose_landmarks(3, 10)
    array([0, 1, 2])
    """
    is_whole = isinstance(n_landmarks, int | np.integer) and not isinstance(n_landmarks, bool)
    if not is_whole or n_landmarks < 1:
        raise InvalidInputError(f"n_landmarks must be an integer of at least 1, got {n_landmarks!r}")
    if n_landmarks >= n:
        return np.arange(n)
    return np.sort(check_generator(random_state).choice(n, int(n_landmarks), replace=False))


def _n_kept(values: Floats, energy: float) -> int:
    """Return how many of the descending eigenvalues are kept."""
    useful = int((values > SMALLEST * max(float(values[0]), 0.0)).sum()) if len(values) else 0
    if energy >= 1.0 or useful == 0:
        return useful
    shares = np.cumsum(np.maximum(values, 0.0)) / np.maximum(values, 0.0).sum()
    return min(useful, int(np.searchsorted(shares, energy - 1e-12)) + 1)
