"""The photos of a project by column; apart from `tagloom.store.photos`, which labelling loads without numpy."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.store.session import id_array, whole_numbers

if TYPE_CHECKING:
    from tagloom.core import Ids

__all__ = ["COLUMNS", "PhotoTable", "photo_table", "times_of"]

COLUMNS = (
    "SELECT p.id AS id, p.root, p.path, p.content_hash, substr(p.verdict, 1, 64) AS verdict, p.width, p.height, "
    "p.taken, "
    "CASE WHEN NOT r.online THEN 'offline' WHEN p.present THEN 'present' ELSE 'missing' END AS state, "
    "p.first_seen, iif(p.present, max(p.last_seen, r.scanned), p.last_seen) FROM photos p JOIN roots r ON r.id = p.root"
)


@dataclass(frozen=True, slots=True)
class PhotoTable:
    """Photos by column, in the order of their ids.

    Parameters
    ----------
    ids, roots : ndarray of int64
        The photos and the folders they lie in.
    paths : list of bytes
        Relative to the root.
    hashes : list of str
        Content, hexadecimal; empty where the file could not be read.
    verdicts : list of str
        "ok", or why the file could not be read as a photo.
    sizes : ndarray of int64, shape (n, 2)
        Width and height in pixels after orientation.
    taken : ndarray of float64
        Seconds; NaN where not known.
    states : list of str
        "present", "missing" (not found in the last scan) or "offline" (its root cannot be reached).
    first_seen, last_seen : ndarray of float64
        Seconds since 1970.
    """

    ids: "Ids"
    roots: "Ids"
    paths: list[bytes]
    hashes: list[str]
    verdicts: list[str]
    sizes: "Ids"
    taken: NDArray[np.float64]
    states: list[str]
    first_seen: NDArray[np.float64]
    last_seen: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)


def photo_table(rows: Sequence[tuple[Any, ...]]) -> PhotoTable:
    """Return rows of `COLUMNS` by column."""
    id_, roots, paths, hashes, verdicts, widths, heights, taken, states, first, last = (
        zip(*rows, strict=True) if rows else ((),) * 11
    )
    return PhotoTable(
        ids=id_array(id_),
        roots=id_array(roots),
        paths=list(paths),
        hashes=[item.hex() for item in hashes],
        verdicts=list(verdicts),
        sizes=np.array([widths, heights], dtype=np.int64).T.reshape(-1, 2),
        taken=np.array(taken, dtype=np.float64),  # None becomes NaN
        states=list(states),
        first_seen=np.array(first, dtype=np.float64),
        last_seen=np.array(last, dtype=np.float64),
    )


def times_of(ids: ArrayLike, seconds: ArrayLike) -> list[tuple[float | None, int]]:
    """Return pairs (seconds, photo); None where they are NaN."""
    photos, times = whole_numbers(ids, "ids"), np.atleast_1d(np.asarray(seconds, dtype=np.float64))
    if times.shape != (len(photos),):
        raise InvalidInputError(f"expected a time for each of {len(photos)} photos, got {times.shape}")
    return [(None if time != time else time, photo) for photo, time in zip(photos, times.tolist(), strict=True)]
