"""Which photos belong together in time: bursts of seconds, events of hours or days."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import Reals
from tagloom.exceptions import InvalidInputError
from tagloom.features.relations.duplicates import LinkForest, check_embeddings, linked_in_tile
from tagloom.graph.runtime import row_blocks

__all__ = ["bursts", "events"]

_TILE = 512
_WEEK = 604_800.0


def bursts(
    times: ArrayLike,
    *,
    max_gap_seconds: float = 2.0,
    embeddings: ArrayLike | None = None,
    min_cosine: float = 0.7,
) -> NDArray[np.int64]:
    """Group photos taken one right after the other.

    Two photos are linked if they were taken at most ``max_gap_seconds`` apart and, where embeddings are given, the
    cosine of their rows is at least ``min_cosine``. A burst is a connected component of two photos or more; it may last
    longer than the gap.

    Parameters
    ----------
    times : array-like of shape (n,)
        Seconds from any start, such as `PhotoFacts.seconds`; NaN where the time is unknown.
    max_gap_seconds : float, default=2
        At least 0. Many cameras write whole seconds only.
    embeddings : array-like of shape (n, d), optional
        Feature rows that must agree too, such as the group ``deep``: they tell apart photos of two cameras.
    min_cosine : float, default=0.7
        From -1 to 1.

    Returns
    -------
    labels : ndarray of int, shape (n,)
        Number of each photo's burst in the order of time (of first photos where bursts begin together); -1 for photos
        in no burst, among them all of unknown time.

    Examples
    --------
    >>> bursts([100.0, 7.0, 101.0, 8.5, float("nan"), 50.0])
    array([ 1,  0,  1,  0, -1, -1])
    """
    seconds = _check_times(times)
    if not max_gap_seconds >= 0:
        raise InvalidInputError(f"max_gap_seconds must be at least 0, got {max_gap_seconds!r}")
    rows = check_embeddings(embeddings, len(seconds), min_cosine)
    order = _in_order(seconds)
    sorted_seconds = seconds[order]
    if rows is None:
        within = np.diff(sorted_seconds) <= max_gap_seconds
        forest = LinkForest(len(order))
        forest.add(np.flatnonzero(within), np.flatnonzero(within) + 1)
    else:
        forest = _close_links(sorted_seconds, rows[order], max_gap_seconds, min_cosine)
    labels = np.full(len(seconds), -1, dtype=np.int64)
    labels[order] = forest.labels()
    return labels


def _close_links(seconds: NDArray[np.float64], rows: Reals, max_gap: float, min_cosine: float) -> LinkForest:
    """Link photos in order of time that are near in time and in direction, tile by tile along the diagonal."""
    forest = LinkForest(len(seconds))
    blocks = list(row_blocks(len(seconds), _TILE))
    for number, down in enumerate(blocks):
        for across in blocks[number:]:
            if seconds[across.start] - seconds[down.stop - 1] > max_gap:
                break
            near = seconds[across] - seconds[down, None] <= max_gap
            if down is across:
                near = np.triu(near, 1)
            first, second = linked_in_tile(near, rows, down, across, min_cosine)
            forest.add(first + down.start, second + across.start)
    return forest


def events(
    times: ArrayLike, *, window: int = 10, ratio: float = 17.0, max_gap_seconds: float = _WEEK
) -> NDArray[np.int64]:
    """Cut a collection into events where the time between photos is long for its surroundings.

    Photos are put in order of time. A new event begins after gap i if

        log gap[i] ≥ log ratio + mean of log gap[j] over |j - i| ≤ window,

    that is, if the gap is ``ratio`` times the geometric mean of the gaps around it (as many as there are at the ends
    of the collection); gaps below a second count as one. So a party with photos every minute is cut off by an hour,
    and a holiday with some photos a day is not cut at night. A new event also begins after a gap longer than
    ``max_gap_seconds``, whatever is around it.

    Parameters
    ----------
    times : array-like of shape (n,)
        Seconds from any start, such as `PhotoFacts.seconds`; NaN where the time is unknown.
    window : int, default=10
        Gaps on either side that a gap is compared with; at least 1.
    ratio : float, default=17
        Above 1.
    max_gap_seconds : float, default=604800 (a week)
        Above 0; infinity leaves the first rule alone, under which two lone photos are always one event.

    Returns
    -------
    labels : ndarray of int, shape (n,)
        Number of each photo's event in the order of time; -1 where the time is unknown.

    Notes
    -----
    The rule and its defaults are those of [1]_. Deviations: the least gap of a second, and ``max_gap_seconds``.

    References
    ----------
    .. [1] J. C. Platt, M. Czerwinski, B. A. Field, "PhotoTOC: Automatic clustering for browsing personal photographs",
       Fourth Pacific Rim Conference on Multimedia, 2003.

    Examples
    --------
    >>> events([0, 60, 90, 10_000, 10_060, float("nan")])
    array([ 0,  0,  0,  1,  1, -1])
    """
    seconds = _check_times(times)
    if int(window) != window or window < 1:
        raise InvalidInputError(f"window must be a whole number of at least 1, got {window!r}")
    if not (ratio > 1 and np.isfinite(ratio)):
        raise InvalidInputError(f"ratio must be above 1, got {ratio!r}")
    if not max_gap_seconds > 0:
        raise InvalidInputError(f"max_gap_seconds must be above 0, got {max_gap_seconds!r}")
    labels = np.full(len(seconds), -1, dtype=np.int64)
    order = _in_order(seconds)
    gaps = np.maximum(np.diff(seconds[order]), 1.0)
    logs = np.log(gaps)
    sums = np.concatenate([[0.0], np.cumsum(logs)])
    first = np.maximum(np.arange(len(gaps)) - window, 0)
    last = np.minimum(np.arange(len(gaps)) + window + 1, len(gaps))
    means = (sums[last] - sums[first]) / (last - first)
    cut = (logs >= np.log(ratio) + means) | (gaps > max_gap_seconds)
    labels[order] = np.cumsum(np.concatenate([[0], cut]))[: len(order)]
    return labels


def _in_order(seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the photos of known time by time; those of the same time in their own order."""
    return np.argsort(seconds, kind="stable")[: np.count_nonzero(~np.isnan(seconds))]


def _check_times(times: ArrayLike) -> NDArray[np.float64]:
    seconds = np.asarray(times, dtype=np.float64)
    if seconds.ndim != 1:
        raise InvalidInputError(f"times must be one number of seconds per photo, got shape {seconds.shape}")
    if np.isinf(seconds).any():
        raise InvalidInputError("times must be finite; use NaN where the time is unknown")
    return seconds
