"""What each feature group brings: an annotator without it, and with nothing else."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.core import NO_PROGRESS, Annotator, FeatureGroups, Floats, Progress, check_labels, labeled_rows
from tagloom.exceptions import NothingToScoreError
from tagloom.metrics import average_precision
from tagloom.tuning.evaluation.evaluation import (
    centred,
    check_draws,
    deal_folds,
    draw_counts,
    draw_seed,
    interval_around,
    mean_over_tags,
    resampled_average_precision,
    score_held_out,
)

__all__ = ["GroupFigure", "compare_groups"]


@dataclass(frozen=True)
class GroupFigure:
    """Gain of one feature group.

    Attributes
    ----------
    name : str
        The group.
    without, alone : float
        Mean average precision without it, and with nothing else.
    gain, low, high : float
        What is lost without it, and the interval of that over photos drawn again, the same ones with and without it.
    """

    name: str
    without: float
    alone: float
    gain: float
    low: float
    high: float


def compare_groups(
    make: Callable[[FeatureGroups], Annotator],
    X: NDArray[Any],
    groups: FeatureGroups,
    Y: ArrayLike,
    *,
    n_splits: int = 5,
    n_draws: int = 400,
    level: float = 0.95,
    random_state: Any = 0,
    progress: Progress = NO_PROGRESS,
) -> list[GroupFigure]:
    """Measure the gain of each feature group: without it, and alone.

    Parameters
    ----------
    make : callable
        Takes the groups that there are and returns an annotator.
    X : array of shape (n, d)
        Features, scaled.
    groups : FeatureGroups
        Their columns; at least two groups, or nothing is measured.
    Y : label matrix of shape (n, c)
        Labels.
    n_splits, n_draws, level, random_state, progress
        As for `cross_validate`; the folds and samples are the same for the same ``random_state``.

    Returns
    -------
    list of GroupFigure
        The group that is missed most first.

    Raises
    ------
    NothingToScoreError
        If fewer than two photos are labelled, or no tag has a known positive.
    """
    Y = check_labels(Y, n_rows=len(X))
    groups.check(X)
    check_draws(n_draws, level)
    if len(groups) < 2:
        return []
    if not (Y == 1).any():
        raise NothingToScoreError("no tag has a known positive; label photos that have the tags")
    seed = draw_seed(random_state)
    # Dealt by all features, so that the folds are the same with and without a group.
    folds = deal_folds(X, Y, n_splits, seed)
    counts = draw_counts(int(labeled_rows(Y).sum()), n_draws, seed)

    def measure(names: Sequence[str]) -> tuple[float, Floats]:
        chosen, columns = groups.select(names)
        found = score_held_out(make(chosen), np.ascontiguousarray(X[:, columns]), Y, folds, progress=progress)
        drawn = resampled_average_precision(found.labels, found.scores, counts)
        own = average_precision(found.labels, found.scores)
        return float(np.nanmean(own)), mean_over_tags(centred(drawn, own), own)

    progress.start("comparing feature groups", len(folds) * (2 * len(groups) + 1))
    try:
        everything, drawn = measure(groups.names)
        figures = []
        for name in groups:
            without, drawn_without = measure([other for other in groups if other != name])
            alone, _ = measure([name])
            gain = everything - without
            low, high = interval_around(gain, drawn - drawn_without, level, least=-1.0)
            figures.append(GroupFigure(name, without, alone, gain, float(low), float(high)))
    finally:
        progress.finish()
    return sorted(figures, key=lambda item: -item.gain)
