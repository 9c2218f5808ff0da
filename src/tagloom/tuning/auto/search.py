"""The search behind `AutoAnnotator`: kernel ridge regression over views, kernels, penalties and smoothing.

Candidates share the scaled features, the graph, the distances of a view and one eigendecomposition per kernel; all
their left-out scores are exact and cost no refit.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import NO_PROGRESS, UNKNOWN, Floats, LabelMatrix, Progress
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import average_precision
from tagloom.tuning.auto.stacking import gain_stands_out, rankable_tags, score_spread
from tagloom.tuning.auto.views import PhotoViews, View, left_out_deviations, prior_shifts, smoothed_priors, targets_of
from tagloom.tuning.constants import (
    CLEARLY_BEHIND,
    PENALTIES,
    PENALTIES_WITHOUT_NETWORK,
    PLAIN_START,
    SCORE_SMOOTHINGS,
    SETTING_CAUTION,
    SMOOTHED_START,
    START_WITHOUT_NETWORK,
    WIDTHS,
    WIDTHS_WITHOUT_NETWORK,
)

__all__ = ["OVER", "Candidate", "LabelledKernels", "LeaderboardRow", "Search", "Trial", "has_network", "start_views"]


#: Why candidates are left out.
OVER, INTERRUPTED = "the time was over", "interrupted"
#: One of these views is there where a network's groups are.
NETWORK_VIEWS = ("deep", "balanced", "deep and semantic", "without the network")


@dataclass(frozen=True)
class Candidate:
    """A kernel ridge regression.

    Attributes
    ----------
    view : str
        Name of the weighting of feature groups.
    smoothed : bool
        Whether features are smoothed over the graph first.
    width : float
        γ of the Gaussian kernel, in units of the mean squared distance.
    penalty : float
        Ridge penalty, in units of what a kernel value lacks to 1 at that distance.
    score_smoothing : float
        Strength with which scores are smoothed over the graph.
    """

    view: str
    smoothed: bool = True
    width: float = WIDTHS[0]
    penalty: float = PENALTIES[0]
    score_smoothing: float = SCORE_SMOOTHINGS[0]

    @property
    def name(self) -> str:
        """One line for a person."""
        features = "smoothed features" if self.smoothed else "features"
        after = f", scores smoothed by {self.score_smoothing:g}" if self.score_smoothing else ""
        return f"{self.view}: {features}, width {self.width:g}, penalty {self.penalty:g}{after}"

    @property
    def ridge(self) -> float:
        """λ of the linear system."""
        return self.penalty * (1.0 - float(np.exp(-self.width)))

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as a plain dictionary."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Trial:
    """A candidate with its left-out deviations from the priors (m, c), their spread, and precisions of ranked tags."""

    candidate: Candidate
    deviations: Floats
    spread: float
    precisions: Floats

    @property
    def figure(self) -> float:
        """Mean average precision over the tags that can be ranked; NaN where there is none."""
        return float(self.precisions.mean()) if len(self.precisions) else float("nan")


@dataclass(frozen=True)
class LeaderboardRow:
    """One line of the leaderboard.

    Attributes
    ----------
    name : str
        The candidate.
    map : float
        Left-out mean average precision over tags with two known positives; NaN where there is none.
    error : float
        Its standard error over tags.
    weight : float
        Share in the combination; 0 where it has none.
    """

    name: str
    map: float
    error: float
    weight: float

    @classmethod
    def of(cls, name: str, precisions: Floats, weight: float) -> "LeaderboardRow":
        """Return the line of left-out average precisions, one for each tag that can be ranked."""
        mean = float(precisions.mean()) if len(precisions) else float("nan")
        error = float(precisions.std(ddof=1) / np.sqrt(len(precisions))) if len(precisions) > 1 else float("nan")
        return cls(name, mean, error, weight)


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Trials, the best settings of each kernel, and what was left out and why."""

    trials: list[Trial]
    left_out: dict[str, str]


class LabelledKernels:
    """Kernels of some labelled photos with others, and the same with the scores that they add up to smoothed.

    Scores are smoothed by two steps over the graph, so that only photos around these have a part in it: a search, and
    an update, cost about the same in a collection of any size.

    Parameters
    ----------
    views : PhotoViews
        Shared work.
    rows : array of int, shape (m,)
        The photos that have scores.
    anchors : array of int, shape (k,)
        The photos that scores come from.
    """

    def __init__(self, views: PhotoViews, rows: NDArray[np.intp], anchors: NDArray[np.intp]) -> None:
        self._views, self._rows, self._anchors = views, rows, anchors

    @cached_property
    def _reached(self) -> tuple[NDArray[np.intp], Any]:
        """The photos around, and what each of them gives."""
        reach = self._views.reach(self._rows, SCORE_SMOOTHINGS[0])
        around = np.unique(reach.indices)
        return around, reach.tocsc()[:, around]

    def of(
        self, view: View, smoothed: bool, widths: Sequence[float], *, spread: bool = True
    ) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return for each width the kernel (m, k), and the same with smoothed scores; zeros where that is not asked."""
        shape, scale = (len(self._rows), len(self._anchors)), self._views.mean_distance(view, smoothed)
        # Systems are solved with the first, and have to be the same whatever else is computed beside it.
        own = self._distances(self._rows, view, smoothed, scale, np.float64)
        totals = [np.zeros(shape) for _ in widths]
        reach: Any = None
        around = self._rows[:0]
        if spread:
            around, reach = self._reached
        for block in self._views.blocks(len(around), len(self._anchors)):
            distances = self._distances(around[block], view, smoothed, scale, self._views.dtype)
            for total, width in zip(totals, widths, strict=True):
                total += reach[:, block] @ np.exp(-self._views.dtype(width) * distances)
        return [(np.exp(-width * own), total) for width, total in zip(widths, totals, strict=True)]

    def _distances(
        self, photos: NDArray[np.intp], view: View, smoothed: bool, scale: float, dtype: Any
    ) -> NDArray[Any]:
        """Return squared distances of photos to the anchors, 1 on average over all."""
        points = self._views.coordinates(smoothed)
        ends = points[self._anchors].astype(dtype, copy=False)
        found = self._views.distances(points[photos].astype(dtype, copy=False), ends, [view])[0]
        found /= dtype(scale)
        # A photo is at no distance from itself, whatever rounding says.
        _, own, at = np.intersect1d(photos, self._anchors, assume_unique=True, return_indices=True)
        found[own, at] = 0.0
        return found


def has_network(weightings: Sequence[View]) -> bool:
    """Tell whether a network's groups are among those weighted."""
    return any(view.name in NETWORK_VIEWS for view in weightings)


def start_views(weightings: Sequence[View]) -> list[tuple[bool, list[str]]]:
    """Return the views that a combination begins with, on smoothed features and on plain ones."""
    names = [view.name for view in weightings]
    starts = (SMOOTHED_START, PLAIN_START) if has_network(weightings) else (START_WITHOUT_NETWORK,) * 2
    kept = [[name for name in start if name in names] for start in starts]
    return list(zip((True, False), kept, strict=True))


class Search:
    """Scores of labelled photos, each without its own label, by many candidates.

    Parameters
    ----------
    views : PhotoViews
        Shared work.
    weightings : sequence of View
        The views to try, the one most trusted first.
    Y : label matrix of shape (n, c)
        Labels.
    rows : array of int
        The labelled photos that are looked at.
    go_on : callable, optional
        Asked before each kernel; False ends the search.
    progress : Progress, optional
        Told how far the work is.
    """

    def __init__(
        self,
        views: PhotoViews,
        weightings: Sequence[View],
        Y: LabelMatrix,
        rows: NDArray[np.intp],
        *,
        go_on: Callable[[], bool] = lambda: True,
        progress: Progress = NO_PROGRESS,
    ) -> None:
        self.views = views
        self.weightings = list(weightings)
        self.rows = rows
        self.labels = Y[rows]
        self.targets = targets_of(self.labels, smoothed_priors(Y))
        self._shifts = prior_shifts(self.targets, (self.labels != UNKNOWN).sum(axis=0))
        self._widths = WIDTHS if views.has_network else WIDTHS_WITHOUT_NETWORK
        self._penalties = PENALTIES if views.has_network else PENALTIES_WITHOUT_NETWORK
        self._ranked = rankable_tags(self.labels)
        self._go_on = go_on
        self._progress = progress
        self._kernels = LabelledKernels(views, rows, rows)
        self._best = -np.inf

    def run(self) -> SearchResult:
        """Try the candidates, as many as there is time for; those that a combination begins with always."""
        trials: list[Trial] = []
        left_out: dict[str, str] = {}
        start = {(name, smoothed) for smoothed, names in start_views(self.weightings) for name in names}
        places = [(view, smoothed) for smoothed in (True, False) for view in self.weightings]
        places.sort(key=lambda place: (place[0].name, place[1]) not in start)
        self._progress.start("comparing candidates", len(places))
        try:
            for view, smoothed in places:
                trials += self._try_view(view, smoothed, left_out, (view.name, smoothed) in start)
                self._progress.advance()
        except KeyboardInterrupt:
            if not trials:
                raise
            left_out["further candidates"] = INTERRUPTED
        finally:
            self._progress.finish()
        return SearchResult(trials, left_out)

    def _try_view(self, view: View, smoothed: bool, left_out: dict[str, str], is_start: bool) -> list[Trial]:
        title = f"{view.name}, {'smoothed features' if smoothed else 'features'}"
        if not self._go_on():
            left_out[f"{title}, further widths" if is_start else title] = OVER
            return self._try_widths(view, smoothed, self._widths[:1]) if is_start else []
        trials = self._try_widths(view, smoothed, self._widths[:2])
        # Further in the direction that is better.
        further = self._widths[2 if trials[1].figure > trials[0].figure else 3]
        best = max(trial.figure for trial in trials)
        if best < (1.0 - CLEARLY_BEHIND) * self._best:
            left_out[f"{title}, width {further:g}"] = f"clearly behind: {best:.3f} against {self._best:.3f}"
        elif not self._go_on():
            left_out[f"{title}, width {further:g}"] = OVER
        else:
            trials += self._try_widths(view, smoothed, [further])
        return trials

    def _try_widths(self, view: View, smoothed: bool, widths: Sequence[float]) -> list[Trial]:
        kernels = self._kernels.of(view, smoothed, widths)
        return [
            self._try_kernel(Candidate(view.name, smoothed, width), among, spread)
            for width, (among, spread) in zip(widths, kernels, strict=True)
        ]

    def _try_kernel(self, candidate: Candidate, among: NDArray[Any], spread: NDArray[Any]) -> Trial:
        """Return the trial of the best penalty and score smoothing; the usual ones unless others stand out."""
        influences = [spread if strength else among for strength in SCORE_SMOOTHINGS]
        options = [replace(candidate, penalty=one) for one in self._penalties]
        best: Trial | None = None
        ridges = [one.ridge for one in options]
        for place, step, found in left_out_deviations(among, influences, self.targets, ridges, shifts=self._shifts):
            settings = replace(options[step], score_smoothing=SCORE_SMOOTHINGS[place])
            trial = Trial(settings, found, score_spread(found, self.labels), self._precisions(found))
            if best is None or gain_stands_out(trial.precisions - best.precisions, SETTING_CAUTION):
                best = trial
        if best is None:
            raise InvalidInputError("a search needs at least one penalty and one smoothing")
        self._best = max(self._best, best.figure)
        return best

    def _precisions(self, scores: Floats) -> Floats:
        if not self._ranked.any():
            return np.empty(0)
        return average_precision(self.labels[:, self._ranked], scores[:, self._ranked])
