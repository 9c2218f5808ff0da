"""One door to all kernels: by name, by a function of one's own, or computed elsewhere."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.kernels.intersection import intersection_kernel
from tagloom.kernels.pairwise import (
    check_dtype,
    check_gamma,
    chi2_distances,
    chi2_kernel,
    linear_kernel,
    rbf_kernel,
    row_blocks,
)
from tagloom.kernels.pyramid import pyramid_match_kernel

__all__ = [
    "DENSE_BYTES",
    "DENSE_ROWS",
    "KERNELS",
    "Gamma",
    "Kernel",
    "KernelSpec",
    "default_gamma",
    "kernel_matrix",
    "make_kernel",
]

KernelFunction = Callable[[Any, Any], Any]
KernelSpec = str | KernelFunction
Gamma = float | Literal["scale", "dimension", "mean"] | None

KERNELS = ("rbf", "linear", "chi2", "intersection", "pyramid", "precomputed")
#: Most bytes of a dense kernel of all pairs in float64, and how many rows that is. Beyond it, use landmarks.
DENSE_BYTES = 1 << 30
DENSE_ROWS = math.isqrt(DENSE_BYTES // 8)
_WITH_GAMMA = ("rbf", "chi2")
_SAMPLE = 1000
_BLOCK = 1024
#: How far entries (i, j) and (j, i) may differ, relative to the largest; float32 kernels are within it.
_SYMMETRIC = 1e-6


@dataclass(frozen=True)
class Kernel:
    """A kernel with fixed parameters, made by `make_kernel`.

    Training photos that later scores depend on are kept as *anchors*: copies of their rows, or, for a kernel that was
    computed elsewhere, their numbers.

    Parameters
    ----------
    name : str
        One of `KERNELS`, or "callable".
    function : callable
        ``function(A, B)``, B None for all pairs of A.
    gamma : float, optional
        γ of "rbf" and "chi2".
    """

    name: str
    function: KernelFunction = field(repr=False)
    gamma: float | None = None

    @property
    def precomputed(self) -> bool:
        """Whether rows hold kernel values and not features."""
        return self.name == "precomputed"

    def select(self, X: Reals, rows: NDArray[Any] | None = None) -> Reals | NDArray[np.intp]:
        """Return the anchors of some training rows (default: all), a copy."""
        if self.precomputed:
            return np.arange(len(X)) if rows is None else np.flatnonzero(rows) if rows.dtype == bool else rows.copy()
        chosen: Reals = X.copy() if rows is None else X[rows]
        return chosen

    def between(self, X: Reals, anchors: Any) -> NDArray[np.float64]:
        """Return the kernel of rows with anchors, shape (n, m), float64."""
        if self.precomputed:
            return np.asarray(X[:, anchors], dtype=np.float64)
        return _checked(self.function(X, anchors), (len(X), len(anchors)))

    def gram(self, X: Reals, rows: NDArray[Any] | None = None) -> NDArray[np.float64]:
        """Return the kernel of all pairs of training rows, or of some of them, float64 and symmetric.

        Raises
        ------
        InvalidInputError
            Above `DENSE_ROWS` rows, unless the kernel is precomputed, or where a given kernel is not symmetric.
        """
        n = len(X) if rows is None else int(rows.sum()) if rows.dtype == bool else len(rows)
        if self.precomputed:
            given = X if rows is None else X[rows][:, rows]
            return _symmetric(_checked(given, (n, n)), "a precomputed kernel")
        _check_dense(n)
        chosen = X if rows is None else X[rows]
        found = _checked(self.function(chosen, None), (n, n))
        return _symmetric(found, "the kernel") if self.name == "callable" else found

    def product(self, X: Reals, anchors: Any, coef: NDArray[np.float64], *, block: int = _BLOCK) -> NDArray[np.float64]:
        """Return ``K(X, anchors) @ coef``, a block of rows at a time."""
        scores = np.zeros((len(X), coef.shape[1]))
        if len(anchors):
            for rows in row_blocks(len(X), block):
                scores[rows] = self.between(X[rows], anchors) @ coef
        return scores


def make_kernel(
    kernel: KernelSpec, X: Reals, *, gamma: Gamma = None, parameters: Mapping[str, Any] | None = None
) -> Kernel:
    """Make a kernel with parameters chosen on the training rows.

    Parameters
    ----------
    kernel : {"rbf", "linear", "chi2", "intersection", "pyramid", "precomputed"} or callable
        A callable gets two arrays of rows (n, d) and (m, d) and returns (n, m); it has to be symmetric and positive
        semi-definite.
    X : array of shape (n, d)
        Training rows; for "precomputed" the kernel of all pairs of them, (n, n).
    gamma : float, "scale", "dimension", "mean" or None, default=None
        γ of "rbf" and "chi2"; see `default_gamma`.
    parameters : mapping, optional
        For "pyramid": ``levels`` and ``n_words``, optionally ``weights`` and ``n_threads``; for "intersection":
        optionally ``n_threads``.
    """
    if parameters is not None and not isinstance(parameters, Mapping):
        raise InvalidInputError(f"parameters of a kernel must be a mapping or None, got {parameters!r}")
    options = dict(parameters or {})
    if callable(kernel):
        _no_options("a callable", options)
        return Kernel("callable", partial(_of_both, kernel))
    if kernel not in KERNELS:
        raise InvalidInputError(
            f"kernel must be one of {', '.join(KERNELS)} or a function of two arrays, got {kernel!r}"
        )
    if kernel in ("intersection", "pyramid"):
        return _of_histograms(kernel, options)
    _no_options(kernel, options)
    if kernel == "precomputed":
        if X.ndim != 2 or X.shape[0] != X.shape[1]:
            raise InvalidInputError(
                f"kernel='precomputed' needs the kernel of all pairs of training photos, (n, n), got shape {X.shape}"
            )
        return Kernel("precomputed", _as_given)
    if kernel == "linear":
        return Kernel("linear", linear_kernel)
    value = check_gamma(gamma) if not isinstance(gamma, str) and gamma is not None else default_gamma(kernel, X, gamma)
    base = rbf_kernel if kernel == "rbf" else chi2_kernel
    return Kernel(kernel, partial(base, gamma=value), value)


def kernel_matrix(
    kernel: KernelSpec,
    X: ArrayLike,
    Y: ArrayLike | None = None,
    *,
    gamma: Gamma = None,
    parameters: Mapping[str, Any] | None = None,
    dtype: DTypeLike = np.float64,
    block: int = _BLOCK,
) -> Reals:
    """Return the kernel of all pairs of rows of X, or of rows of X with rows of Y.

    Parameters
    ----------
    kernel : {"rbf", "linear", "chi2", "intersection", "pyramid", "precomputed"} or callable
        See `make_kernel`. "precomputed": X is returned, checked.
    X : array of shape (n, d)
        Rows.
    Y : array of shape (m, d), optional
        Other rows; default: X itself. A default γ is settled on Y where there is one: the training rows.
    gamma : float, "scale", "dimension", "mean" or None, default=None
        See `default_gamma`.
    parameters : mapping, optional
        See `make_kernel`.
    dtype : {float64, float32}, default=float64
        Of the result. float32 halves its memory; blocks are computed in float64.
    block : int, default=1024
        Rows of X that are computed at a time where Y is given.

    Returns
    -------
    ndarray of shape (n, m)
        Exact: every entry is computed.

    Raises
    ------
    InvalidInputError
        Without Y above `DENSE_ROWS` (11,585) rows: that is what landmarks are for.

    Examples
    --------
    >>> kernel_matrix("linear", [[1.0, 0.0], [2.0, 1.0]], [[0.0, 3.0]])
    array([[0.],
           [3.]])
    """
    kind = check_dtype(dtype)
    rows = np.asarray(X)
    others = None if Y is None else np.asarray(Y)
    if block < 1:
        raise InvalidInputError(f"block must be at least 1, got {block!r}")
    if kernel == "precomputed":
        if others is not None:
            raise InvalidInputError("kernel='precomputed' takes no Y: X already holds the kernel values")
        return make_kernel(kernel, rows).gram(rows).astype(kind, copy=False)
    settled = make_kernel(kernel, rows if others is None else others, gamma=gamma, parameters=parameters)
    if others is None:
        return settled.gram(rows).astype(kind, copy=False)
    result = np.empty((len(rows), len(others)), dtype=kind)
    for part in row_blocks(len(rows), block):
        result[part] = settled.between(rows[part], others)
    return result


def default_gamma(kernel: str, X: ArrayLike, rule: str | None = None) -> float:
    """Return the default γ of an "rbf" or "chi2" kernel.

    Parameters
    ----------
    kernel : {"rbf", "chi2"}
        Which kernel.
    X : array of shape (n, d)
        Training rows.
    rule : {"scale", "dimension", "mean"} or None, default=None
        "scale": 1 / (d · variance of all entries), as scikit-learn has it; "dimension": 1 / d, θ of the LPSSVM paper
        (the same for features of unit variance); "mean": 1 / mean (squared, for "rbf") distance of two different
        rows, over at most 1,000 rows at equal spacing. None: "scale" for "rbf", "mean" for "chi2". Where all rows are
        equal: 1.
    """
    if kernel not in _WITH_GAMMA:
        raise InvalidInputError(f"kernel must be 'rbf' or 'chi2' to have a gamma, got {kernel!r}")
    rule = ("scale" if kernel == "rbf" else "mean") if rule is None else rule
    rows = np.asarray(X)
    if rule == "dimension":
        return 1.0 / max(rows.shape[1], 1)
    if rule == "scale":
        spread = rows.shape[1] * float(rows.var(dtype=np.float64)) if rows.size else 0.0
    elif rule == "mean":
        spread = _mean_distance(kernel, rows)
    else:
        raise InvalidInputError(f"gamma must be a positive number, 'scale', 'dimension' or 'mean', got {rule!r}")
    return 1.0 / spread if spread > 0.0 else 1.0


def _mean_distance(kernel: str, X: Reals) -> float:
    n = len(X)
    if n < 2:
        return 0.0
    sample = X[np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).round().astype(np.intp))]
    if kernel == "chi2":
        return float(chi2_distances(sample).sum()) / (len(sample) * (len(sample) - 1))
    # The mean over all pairs of different rows is twice the unbiased variance.
    return 2.0 * float(sample.var(axis=0, ddof=1, dtype=np.float64).sum())


def _of_histograms(kernel: str, options: dict[str, Any]) -> Kernel:
    needed = {"levels", "n_words"} if kernel == "pyramid" else set()
    allowed = needed | {"n_threads"} | ({"weights"} if kernel == "pyramid" else set())
    if not needed <= set(options) <= allowed:
        raise InvalidInputError(
            f"kernel={kernel!r} takes the parameters {sorted(allowed)} and needs {sorted(needed)}, "
            f"got {sorted(options)}"
        )
    base = pyramid_match_kernel if kernel == "pyramid" else intersection_kernel
    return Kernel(kernel, partial(base, **options))


def _of_both(function: KernelFunction, A: Any, B: Any) -> Any:
    return function(A, A if B is None else B)


def _as_given(A: Any, B: Any) -> Any:  # noqa: ARG001
    return A


def _no_options(kernel: str, options: dict[str, Any]) -> None:
    if options:
        raise InvalidInputError(f"{kernel} kernel takes no further parameters, got {sorted(options)}")


def _check_dense(n: int) -> None:
    if n > DENSE_ROWS:
        raise InvalidInputError(
            f"a dense kernel of {n} rows would need {8e-9 * n * n:.1f} GB; the limit is {DENSE_ROWS} rows. Use "
            f"landmarks (n_landmarks=1000, or tagloom.kernels.KernelFeatures)"
        )


def _checked(found: Any, shape: tuple[int, int]) -> NDArray[np.float64]:
    kernel: NDArray[np.float64] = np.asarray(found, dtype=np.float64)
    if kernel.shape != shape:
        raise InvalidInputError(f"the kernel must return one value for each pair, {shape}, got shape {kernel.shape}")
    if not np.isfinite(kernel).all():
        raise InvalidInputError("the kernel holds NaN or infinity")
    return kernel


def _symmetric(kernel: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    gap = float(np.abs(kernel - kernel.T).max(initial=0.0))
    if gap > _SYMMETRIC * float(np.abs(kernel).max(initial=0.0)):
        raise InvalidInputError(f"{what} must be symmetric, two entries differ by {gap:.3g}")
    return 0.5 * (kernel + kernel.T)
