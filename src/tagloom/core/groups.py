"""Named column ranges of one feature matrix: the "views" of a photo."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError

__all__ = ["FeatureGroups"]


class FeatureGroups:
    """Names and sizes of feature groups, in the order of their columns.

    Parameters
    ----------
    names : sequence of str
        Distinct, non-empty names.
    sizes : sequence of int
        Number of columns of each group, at least 1.
    embeddings : sequence of str
        Groups that are a network's embedding of the whole photo, whatever they are called; ``deep`` always is.

    Attributes
    ----------
    embeddings : tuple of str
        These, in the order of the groups.

    Examples
    --------
    >>> groups = FeatureGroups(["colour", "edge"], [3, 2])
    >>> groups["edge"]
    slice(3, 5, None)
    >>> groups.n_columns
    5
    """

    def __init__(self, names: Sequence[str], sizes: Sequence[int], embeddings: Iterable[str] = ()) -> None:
        names, sizes = tuple(names), tuple(int(size) for size in sizes)
        if len(names) != len(sizes):
            raise InvalidInputError(f"expected one size per group name, got {len(names)} names and {len(sizes)} sizes")
        if len(set(names)) != len(names) or not all(isinstance(name, str) and name.strip() for name in names):
            raise InvalidInputError(f"group names must be distinct and not blank, got {list(names)}")
        if any(size < 1 for size in sizes):
            raise InvalidInputError(f"every group needs at least one column, got sizes {list(sizes)}")
        self.names: tuple[str, ...] = names
        self.sizes: tuple[int, ...] = sizes
        given = {"deep", *embeddings}
        if unknown := sorted(given - {"deep", *names}):
            raise InvalidInputError(f"embeddings must be among the groups {list(names)}, got {unknown}")
        self.embeddings: tuple[str, ...] = tuple(name for name in names if name in given)
        ends = np.cumsum(sizes, dtype=np.int64).tolist() if sizes else []
        self._slices = {name: slice(end - size, end) for name, size, end in zip(names, sizes, ends, strict=True)}

    @classmethod
    def from_mapping(cls, sizes: Mapping[str, int]) -> "FeatureGroups":
        """Make groups from ``{name: size}``."""
        return cls(list(sizes), list(sizes.values()))

    @property
    def n_columns(self) -> int:
        """Total number of columns."""
        return sum(self.sizes)

    @property
    def labels(self) -> NDArray[np.intp]:
        """For each column the index of its group."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    def split(self, X: Any) -> dict[str, Any]:
        """Return ``{name: columns}``, views where X is dense.

        Parameters
        ----------
        X : array or sparse array of shape (n, n_columns)
            The joined features.
        """
        self.check(X)
        return {name: X[:, columns] for name, columns in self._slices.items()}

    def join(self, parts: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Put group matrices side by side in the order of the groups."""
        missing = [name for name in self.names if name not in parts]
        if missing:
            raise InvalidInputError(f"missing feature groups {missing}; got {list(parts)}")
        joined = np.concatenate([parts[name] for name in self.names], axis=1)
        self.check(joined)
        return joined

    def select(self, names: Iterable[str]) -> tuple["FeatureGroups", NDArray[np.intp]]:
        """Return the groups of these names and the columns they take from X."""
        wanted = list(names)
        columns = [np.arange(self[name].start, self[name].stop) for name in wanted]
        kept = [name for name in self.embeddings if name in wanted]
        groups = FeatureGroups(wanted, [len(part) for part in columns], kept)
        return groups, np.concatenate(columns) if columns else np.empty(0, dtype=np.intp)

    def check(self, X: Any) -> None:
        """Raise if X does not have exactly these columns."""
        if getattr(X, "ndim", None) != 2 or X.shape[1] != self.n_columns:
            raise InvalidInputError(
                f"expected a matrix with {self.n_columns} columns ({self}), got shape {getattr(X, 'shape', None)}"
            )

    def __getitem__(self, name: str) -> slice:
        """Return the column range of a group."""
        try:
            return self._slices[name]
        except KeyError:
            raise InvalidInputError(f"no feature group {name!r}; there are {list(self.names)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._slices

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FeatureGroups):
            return False
        return (self.names, self.sizes, self.embeddings) == (other.names, other.sizes, other.embeddings)

    def __hash__(self) -> int:
        return hash((self.names, self.sizes))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}: {size}" for name, size in zip(self.names, self.sizes, strict=True))
        return f"FeatureGroups({inside})"
