"""What the metrics share: validated input, blocks of bounded size, hits at the head of a ranked list."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import UNKNOWN, Floats, LabelMatrix, check_labels
from tagloom.exceptions import InvalidInputError, NothingToScoreError

__all__ = ["Floats", "blocks", "check_scored", "hits_at_head", "mean_of_scored", "require"]


#: Entries sorted at once: bounds the memory of a metric whatever the number of photos and tags is.
BLOCK_ENTRIES = 1 << 22


def check_scored(Y: ArrayLike, scores: ArrayLike) -> tuple[LabelMatrix, Floats]:
    """Validate labels and scores of the same shape, with at least one known entry and finite scores there.

    Scores at unknown entries are never looked at, so they may be anything, NaN included.
    """
    labels = check_labels(Y)
    values = np.asarray(scores)
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(f"expected numeric scores, got dtype {values.dtype}")
    if values.ndim == 1 and labels.shape[1] == 1:
        values = values[:, None]
    if values.shape != labels.shape:
        raise InvalidInputError(f"expected scores of the shape of Y, {labels.shape} (photos, tags), got {values.shape}")
    known = labels != UNKNOWN
    require(bool(known.any()), "every entry of Y is -1 (unknown): give the labels of at least one photo")
    values = values.astype(np.float64, copy=False)
    if not np.isfinite(values[known]).all():
        raise InvalidInputError(
            "expected finite scores at every known entry, got NaN or infinity: the annotator that made them failed"
        )
    return labels, values


def require(possible: bool, reason: str) -> None:
    """Raise `NothingToScoreError` with the reason unless there is something to score."""
    if not possible:
        raise NothingToScoreError(f"nothing can be scored: {reason}")


def mean_of_scored(values: Floats, reason: str) -> float:
    """Return the mean of the entries that are not NaN; raise with the reason where there is none."""
    scored = ~np.isnan(values)
    require(bool(scored.any()), reason)
    return float(values[scored].mean())


def blocks(n_lists: int, length: int) -> Iterator[slice]:
    """Cut a number of lists into consecutive blocks of at most `BLOCK_ENTRIES` entries."""
    size = max(1, BLOCK_ENTRIES // max(1, length))
    return (slice(start, start + size) for start in range(0, n_lists, size))


def hits_at_head(Y: LabelMatrix, scores: Floats) -> NDArray[np.int64]:
    """Count, in each row, the positives among as many best known entries as the row has positives.

    Ties are decided against the annotator: among equal scores the zeros come first.
    """
    hits = np.zeros(Y.shape[0], dtype=np.int64)
    for block in blocks(*Y.shape):
        hits[block] = _hits_of_block(Y[block], scores[block])
    return hits


def _hits_of_block(Y: LabelMatrix, scores: Floats) -> NDArray[np.int64]:
    known, positive = Y != UNKNOWN, Y == 1
    n_positive = positive.sum(axis=1)
    ranked = -np.sort(np.where(known, -scores, np.inf), axis=1)
    last_in = np.take_along_axis(ranked, np.maximum(n_positive - 1, 0)[:, None], axis=1)
    above, tied = known & (scores > last_in), known & (scores == last_in)
    places_for_ties = n_positive - above.sum(axis=1)
    tied_positives = np.maximum(places_for_ties - (tied & ~positive).sum(axis=1), 0)
    hits: NDArray[np.int64] = np.where(n_positive > 0, (above & positive).sum(axis=1) + tied_positives, 0)
    return hits
