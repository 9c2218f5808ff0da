"""The photos of a report: what was given and suggested to each, their order, and thumbnails of those that are shown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import LabelMatrix, labeled_rows
from tagloom.learning.top_suggestions import top_suggestions
from tagloom.report.data import ReportPhoto

__all__ = ["add_thumbnails", "make_photos", "suggestions_first"]

SHOWN_KEYWORDS = 10


def make_photos(
    names: Sequence[bytes], tags: Sequence[str], Y: LabelMatrix, scores: NDArray[Any], n_keywords: int
) -> list[ReportPhoto]:
    """Return photos with given tags and the best suggestions, without thumbnails.

    Parameters
    ----------
    names : sequence of bytes
        The rows.
    tags : sequence of str
        The columns.
    Y : label matrix of shape (n, c)
        What was said; suggested is only what nobody has spoken about.
    scores : ndarray of shape (n, c)
        The model's numbers; NaN where there is none.
    n_keywords : int
        Suggestions for each photo at most; 0 means as many as a card shows.
    """
    n_shown = min(n_keywords or SHOWN_KEYWORDS, SHOWN_KEYWORDS)
    # What has no number is ranked as if it were decided: not at all.
    columns, counts = top_suggestions(np.where(np.isnan(scores), 0, Y), scores, n_shown)
    labeled = labeled_rows(Y)
    return [
        ReportPhoto(
            name,
            given=[tags[tag] for tag in (Y[row] == 1).nonzero()[0]],
            suggestions=[(tags[tag], float(scores[row, tag])) for tag in columns[row, : counts[row]]],
            labeled=bool(labeled[row]),
        )
        for row, name in enumerate(names)
    ]


def suggestions_first(photos: Sequence[ReportPhoto]) -> list[int]:
    """Return the rows in the order to show: what a person has labelled comes last."""
    return sorted(range(len(photos)), key=lambda row: photos[row].is_labeled)


def add_thumbnails(
    photos: list[ReportPhoto],
    rows: Iterable[int],
    hashes: Sequence[str],
    find: Callable[[Sequence[str]], dict[str, bytes]],
) -> None:
    """Put thumbnails to some photos, in place.

    Parameters
    ----------
    photos : list of ReportPhoto
        All photos.
    rows : iterable of int
        Those that are shown.
    hashes : sequence of str
        Content hash of each photo.
    find : callable
        Returns thumbnails by content hash, as far as there are any.
    """
    shown = sorted(rows)
    thumbnails = find([hashes[row] for row in shown])
    for row in shown:
        photos[row] = replace(photos[row], thumbnail=thumbnails.get(hashes[row], b""))
