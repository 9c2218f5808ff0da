"""Numbers of photos and tags of one moment, replaced as a whole."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["UpdatedNumbers"]


@dataclass(frozen=True, slots=True, eq=False)
class UpdatedNumbers:
    """Numbers of photos and tags; nothing in it ever changes.

    Parameters
    ----------
    photo_ids, tag_ids : ndarray of int64
        Rows and columns.
    values : ndarray of float32, shape (n, c)
        The numbers.
    thresholds : ndarray of float64, shape (c,)
        A tag is suggested above its threshold.
    kind : {"probability", "score"}
        What the numbers are.
    """

    photo_ids: NDArray[np.int64]
    tag_ids: NDArray[np.int64]
    values: NDArray[np.float32]
    thresholds: NDArray[np.float64]
    kind: str

    def replaced(
        self,
        tag_ids: NDArray[np.int64],
        changed: NDArray[np.intp],
        values: NDArray[np.float32],
        thresholds: NDArray[np.float64],
    ) -> "UpdatedNumbers":
        """Return the numbers of other tags: new ones where they have changed, those of before elsewhere.

        Parameters
        ----------
        tag_ids : ndarray of int64
            The tags; those that have not changed are among the tags of before.
        changed : ndarray of int
            Which of them have.
        values, thresholds : ndarray
            Their numbers.
        """
        kept = np.setdiff1d(np.arange(len(tag_ids)), changed)
        before = self.columns_of(tag_ids[kept])
        everything = np.empty((len(self.photo_ids), len(tag_ids)), dtype=np.float32)
        limits = np.empty(len(tag_ids))
        everything[:, kept], limits[kept] = self.values[:, before], self.thresholds[before]
        everything[:, changed], limits[changed] = values, thresholds
        return UpdatedNumbers(self.photo_ids, tag_ids, everything, limits, self.kind)

    def with_thresholds(self, thresholds: NDArray[np.float64]) -> "UpdatedNumbers":
        """Return the same numbers with other thresholds."""
        return replace(self, thresholds=thresholds)

    def columns_of(self, tag_ids: NDArray[np.int64]) -> NDArray[np.intp]:
        """Return the columns of tags, -1 for one that has none."""
        places = {tag: column for column, tag in enumerate(self.tag_ids.tolist())}
        return np.asarray([places.get(tag, -1) for tag in tag_ids.tolist()], dtype=np.intp)
