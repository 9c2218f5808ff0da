"""Combining scores: non-negative weights found on left-out scores, drawn towards a combination known to be good."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import average_precision
from tagloom.tuning.constants import ENOUGH_TAGS

__all__ = ["gain_stands_out", "rankable_tags", "score_spread", "stack_scores"]


@dataclass(frozen=True, eq=False)
class Stack:
    """What `stack_scores` found.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        Of the members' scores, each divided by its spread; they sum to one.
    score : float
        Mean average precision of the combination over the tags that can be ranked; NaN where there is none.
    start_score : float
        The same with the weights it began with.
    history : list of (int, float)
        Each member that was added, and the score after it.
    """

    weights: Floats
    score: float
    start_score: float
    history: list[tuple[int, float]]


def rankable_tags(Y: LabelMatrix) -> NDArray[np.bool_]:
    """Return which tags have two known positives and a known negative: leaving one out leaves an example."""
    return ((Y == 1).sum(axis=0) >= 2) & ((Y == 0).sum(axis=0) >= 1)


def score_spread(scores: NDArray[Any], Y: LabelMatrix) -> float:
    """Return the root mean square deviation of scores from their tag's mean over the known entries, 1 for none."""
    known = Y != UNKNOWN
    counts = np.maximum(known.sum(axis=0), 1)
    means = np.where(known, scores, 0.0).sum(axis=0) / counts
    square = float(np.square(np.where(known, scores - means, 0.0)).sum()) / max(int(known.sum()), 1)
    return float(np.sqrt(square)) if square > 0.0 else 1.0


def stack_scores(
    members: Sequence[Floats],
    Y: LabelMatrix,
    *,
    start: Sequence[float] | None = None,
    max_steps: int = 10,
    caution: float = 0.5,
    go_on: Callable[[], bool] = lambda: True,
) -> Stack:
    """Choose non-negative weights of scores by mean average precision.

    Parameters
    ----------
    members : sequence of arrays of shape (m, c)
        Left-out scores of the labelled photos, brought to one spread.
    Y : label matrix of shape (m, c)
        Their labels.
    start : sequence of float, optional
        How often each member is in the combination to begin with. Default: once each.
    max_steps : int, default=10
        Times a member is added at most; the same one may be added again.
    caution : float, default=0.5
        A member is added only where the mean gain over tags is larger than this many standard errors.
    go_on : callable, optional
        Asked before each step; False ends the search.

    Notes
    -----
    Greedy selection with replacement (Caruana et al., ICML 2004); where no single addition stands out, one that makes
    up half of the combination is tried. What it begins with acts as a prior: it keeps its share, and where no gain
    stands out of the noise nothing is added.

    Examples
    --------
    >>> Y = np.array([[1], [1], [0], [0]], dtype=np.int8)
    >>> good, bad = np.array([[2.0], [1.0], [0.0], [-1.0]]), np.array([[-3.0], [0.0], [1.0], [2.0]])
    >>> int(stack_scores([bad, good], Y).weights.argmax())
    1
    """
    counts = np.ones(len(members)) if start is None else np.asarray(start, dtype=np.float64).copy()
    if len(counts) != len(members) or not len(members) or counts.min() < 0.0 or counts.sum() <= 0.0:
        raise InvalidInputError(
            f"expected a start of at least 0 for each of {len(members)} members, not all 0, got {counts.tolist()}"
        )
    tags = rankable_tags(Y)
    if not tags.any():
        return Stack(counts / counts.sum(), np.nan, np.nan, [])
    labels = Y[:, tags]
    parts = [np.asarray(member)[:, tags] for member in members]
    total = np.einsum("k,kij->ij", counts, np.stack(parts))
    current = average_precision(labels, total)
    begin, history = float(current.mean()), []
    for _ in range(max_steps):
        if not go_on():
            break
        # Where one more of any member brings nothing, as much of one as of all others may.
        for step in (1.0, float(counts.sum())):
            found = [average_precision(labels, total + step * part) for part in parts]
            best = int(np.argmax([one.mean() for one in found]))
            if gain_stands_out(found[best] - current, caution):
                break
        else:
            break
        counts[best] += step
        total, current = total + step * parts[best], found[best]
        history.append((best, float(current.mean())))
    return Stack(counts / counts.sum(), float(current.mean()), begin, history)


def gain_stands_out(gains: Floats, caution: float) -> bool:
    """Return whether the mean of gains, one per tag, is positive and above so many standard errors."""
    if not len(gains):
        return False
    error = float(gains.std(ddof=1)) / np.sqrt(len(gains)) if len(gains) >= ENOUGH_TAGS else 0.0
    return float(gains.mean()) > max(caution * error, 1e-12)
