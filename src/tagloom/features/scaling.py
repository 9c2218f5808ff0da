"""Bringing feature groups to one scale, so that inner products are a weighted sum of one kernel per group."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.core import FeatureGroups
from tagloom.exceptions import InvalidInputError

__all__ = ["DEFAULT_MAPS", "GroupScaler", "default_map", "may_be_missing"]

DEFAULT_WEIGHTS: Mapping[str, float] = {
    "deep": 0.55,
    "semantic": 0.15,
    "color": 0.1,
    "moments": 0.1,
    "edges": 0.1,
}
_OTHER_WEIGHT = 0.1
# By family, as measured on training photos alone (docs/benchmarks/features.md).
DEFAULT_MAPS: Mapping[str, str] = {
    "deep": "root",
    "semantic": "root",
    "color": "root",
    "moments": "standardize",
    "correlogram": "root",
    "rgb": "root",
    "edges": "root",
    "edge_blocks": "root",
    "wavelet": "root",
    "cooccurrence": "root",
    "gabor": "root",
    "gist": "standardize",
    "gradients": "standardize",
    "words": "root",
    "blobs": "root",
    "faces": "standardize",
    "context": "unit",
    "phash": "standardize",
    "audio:mfcc": "optional",
}
MAPS = ("root", "standardize", "unit", "optional")
_WITH_MOMENTS = ("standardize", "optional")
AUTOMATIC = "automatic"
_CHUNK_ROWS = 4096


class GroupScaler(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""Scale each group of columns by itself, then weight the groups; no labels are used.

    Each group is mapped in its own way: ``root`` takes the square root (the Hellinger map, under which histograms and
    rectified activations compare well by inner products), ``standardize`` brings each column to mean 0 and deviation 1,
    ``unit`` changes nothing. Then each group's rows are brought to length one and multiplied by the root of the
    group's weight. A photo may lack a group whose map is ``optional``, as it has no sound: its columns are all zero.
    Such rows do not count for means and deviations, their group stays zero, and their other groups share its weight.

    Parameters
    ----------
    groups : FeatureGroups or None, default=None
        The column ranges; None takes all columns as one group named ``features``.
    weights : mapping of str to float or None, default=None
        Weight per group, at least 0; they are divided by their sum. None takes `DEFAULT_WEIGHTS`, embeddings sharing
        that of ``deep``, and 0.1 for other groups.
    maps : mapping of str to {"root", "standardize", "unit", "optional"} or None, default=None
        The map of some groups. Any other group has that of `DEFAULT_MAPS` (of the part of its name before the first
        ``-``), or else ``root`` where no value is negative and ``standardize`` elsewhere.

    Attributes
    ----------
    choices_ : dict
        Per group ``{"map": "root" | "standardize" | "unit" | "optional", "weight": float}``; JSON-able.
    means_, scales_ : dict of str to ndarray
        Column means and standard deviations (1 for constant columns) of the standardised groups.

    Notes
    -----
    With :math:`z_g` the scaled columns of group g, the result satisfies
    :math:`\langle x, x' \rangle = \sum_g w_g \cos(z_g, z'_g)` and, where no group of a row is zero, :math:`\|x\| = 1`;
    a Gaussian kernel on it is a Gaussian kernel on the weighted sum of the groups' distances.
    """

    def __init__(
        self,
        groups: FeatureGroups | None = None,
        *,
        weights: Mapping[str, float] | None = None,
        maps: Mapping[str, str] | None = None,
    ) -> None:
        self.groups = groups
        self.weights = weights
        self.maps = maps

    def fit(self, X: Any, y: Any = None) -> "GroupScaler":  # noqa: ARG002
        """Choose the map of each group and learn means and deviations.

        Parameters
        ----------
        X : array of shape (n, d)
            Features of all photos, labelled or not.
        y : None
            Not used.
        """
        X = validate_data(self, X, dtype=[np.float32, np.float64])
        self._groups = FeatureGroups(["features"], [X.shape[1]]) if self.groups is None else self.groups
        self._groups.check(X)
        weights = self._normalized_weights()
        maps = self._checked_maps()
        self.choices_: dict[str, dict[str, Any]] = {}
        self.means_: dict[str, NDArray[np.float64]] = {}
        self.scales_: dict[str, NDArray[np.float64]] = {}
        for name, columns in self._groups.split(X).items():
            chosen = maps[name]
            if chosen == AUTOMATIC:
                chosen = "root" if columns.min() >= 0 else "standardize"
            if chosen == "standardize":
                self.means_[name], self.scales_[name] = _moments(columns)
            elif chosen == "optional":
                present = columns.any(axis=1)
                self.means_[name], self.scales_[name] = _moments(columns[present] if present.any() else columns)
            self.choices_[name] = {"map": chosen, "weight": weights[name]}
        return self

    @classmethod
    def restore(
        cls,
        groups: FeatureGroups,
        choices: Mapping[str, Mapping[str, Any]],
        means: Mapping[str, NDArray[Any]],
        scales: Mapping[str, NDArray[Any]],
    ) -> "GroupScaler":
        """Return a fitted scaler by its groups and its attributes; raise InvalidInputError where they do not agree."""
        sizes = dict(zip(groups.names, groups.sizes, strict=True))
        standard = {name: (sizes.get(name),) for name, one in choices.items() if one.get("map") in _WITH_MOMENTS}
        if (
            choices.keys() != sizes.keys()
            or any(one.get("map") not in MAPS or not 0.0 <= one.get("weight", -1.0) <= 1.0 for one in choices.values())
            or any({name: one.shape for name, one in part.items()} != standard for part in (means, scales))
        ):
            raise InvalidInputError("expected the maps, weights, means and scales of a fitted scaler, got others")
        scaler = cls(groups)
        scaler._groups, scaler.n_features_in_ = groups, groups.n_columns
        scaler.choices_ = {name: dict(one) for name, one in choices.items()}
        scaler.means_, scaler.scales_ = dict(means), dict(scales)
        return scaler

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Return the scaled features, float32, of the shape of X."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float32, np.float64], reset=False)
        scaled = np.empty(X.shape, dtype=np.float32)
        for rows in _row_chunks(len(X)):
            held = np.ones(len(X[rows]))
            for name, choice in self.choices_.items():
                columns = self._groups[name]
                scaled[rows, columns] = self._scale(name, choice, X[rows, columns])
                if choice["map"] == "optional":
                    held -= choice["weight"] * ~X[rows, columns].any(axis=1)
            if (held < 1.0).any():
                # A photo that has nothing but the groups that it lacks stays zero.
                scaled[rows] /= np.sqrt(np.where(held > 1e-12, held, 1.0)).astype(np.float32)[:, None]
        return scaled

    def scale_group(self, name: str, columns: NDArray[Any]) -> NDArray[np.float32]:
        """Return one group's rows, mapped and brought to length one, without its weight.

        Parameters
        ----------
        name : str
            The group.
        columns : array of shape (n, size of the group)
            Its columns.
        """
        check_is_fitted(self)
        choice = self.choices_[name] | {"weight": 1.0}
        parts = [self._scale(name, choice, columns[rows]) for rows in _row_chunks(len(columns))]
        return np.concatenate(parts).astype(np.float32)

    def _scale(self, name: str, choice: Mapping[str, Any], values: NDArray[Any]) -> NDArray[np.float64]:
        block = values.astype(np.float64)
        if choice["map"] == "root":
            # New photos may have a negative value where no training photo had one.
            block = np.sign(block) * np.sqrt(np.abs(block))
        elif choice["map"] == "standardize":
            block = (block - self.means_[name]) / self.scales_[name]
        elif choice["map"] == "optional":
            block = np.where(block.any(axis=1, keepdims=True), (block - self.means_[name]) / self.scales_[name], 0.0)
        # Bringing the largest entry to one first keeps the squares from under- or overflowing.
        largest = np.abs(block).max(axis=1, keepdims=True)
        block /= np.where(largest > 0, largest, 1.0)
        lengths = np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
        scaled: NDArray[np.float64] = block * (np.sqrt(choice["weight"]) / np.where(lengths > 0, lengths, 1.0))
        return scaled

    def _checked_maps(self) -> dict[str, str]:
        given = dict(self.maps or {})
        wrong = {name: value for name, value in given.items() if name not in self._groups or value not in MAPS}
        if wrong:
            raise InvalidInputError(
                f"maps must name groups of {list(self._groups)} and be one of {', '.join(MAPS)}, got {wrong}"
            )
        return {name: given.get(name, default_map(name)) for name in self._groups}

    def _normalized_weights(self) -> dict[str, float]:
        given = self.weights
        names = self._groups.names
        if given is None:
            embeddings = self._groups.embeddings
            given = {name: DEFAULT_WEIGHTS.get(name, _OTHER_WEIGHT) for name in names}
            given |= dict.fromkeys(embeddings, DEFAULT_WEIGHTS["deep"] / max(len(embeddings), 1))
        wrong = [name for name in names if name not in given] + [name for name in given if name not in names]
        if wrong:
            raise InvalidInputError(f"expected one weight for each of the groups {list(names)}, got {sorted(given)}")
        values = np.array([float(given[name]) for name in names])
        if not np.isfinite(values).all() or values.min() < 0 or values.sum() <= 0:
            raise InvalidInputError(f"weights must be at least 0, not all 0 and finite, got {dict(given)}")
        return dict(zip(names, (values / values.sum()).tolist(), strict=True))


def default_map(group: str) -> str:
    """Return the map of a feature group of this name: one of `DEFAULT_MAPS`, or ``automatic``."""
    return DEFAULT_MAPS.get(group.partition("-")[0], AUTOMATIC)


def may_be_missing(group: str) -> bool:
    """Tell whether a photo may lack a feature group of this name; all its columns are then zero."""
    return default_map(group) == "optional"


def _moments(columns: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means and standard deviations in float64 without a float64 copy of all rows."""
    n = len(columns)
    mean = sum(columns[rows].sum(axis=0, dtype=np.float64) for rows in _row_chunks(n)) / n
    variance = sum(np.square(columns[rows] - mean).sum(axis=0) for rows in _row_chunks(n)) / n
    deviation = np.sqrt(variance)
    # A constant column has a deviation of rounding size only; dividing by that would blow noise up.
    constant = deviation <= 10 * np.finfo(columns.dtype).eps * np.abs(mean)
    return mean, np.where(constant, 1.0, deviation)


def _row_chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, _CHUNK_ROWS):
        yield slice(start, start + _CHUNK_ROWS)
