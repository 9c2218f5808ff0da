"""The search behind `AutoAnnotator`: kernel ridge regression over views, kernels, penalties and smoothing.

Candidates share the scaled features, the graph, the distances of a view and one eigendecomposition per kernel; all
their left-out scores are exact and cost no refit.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import average_precision
from tagloom.solvers import block_cg
from tagloom.tuning.auto.stacking import gain_stands_out, rankable_tags, score_spread
from tagloom.tuning.auto.views import PhotoViews, View, left_out_deviations, prior_shifts, smoothed_priors, targets_of
from tagloom.tuning.constants import (
    CLEARLY_BEHIND,
    GRAPH_SCALE,
    GRAPH_SMOOTHING,
    PENALTIES,
    PENALTIES_WITHOUT_NETWORK,
    SCORE_SMOOTHINGS,
    SETTING_CAUTION,
    WIDTHS,
    WIDTHS_WITHOUT_NETWORK,
)

__all__ = ["OVER", "Candidate", "LeaderboardRow", "Search", "Trial", "smooth_columns", "spread_labels"]


#: Why candidates are left out.
OVER, INTERRUPTED = "the time was over", "interrupted"
GRAPH = "graph"


@dataclass(frozen=True)
class Candidate:
    """A kernel ridge regression.

    Attributes
    ----------
    view : str
        Name of the weighting of feature groups, or ``graph``: the kernel of the neighbour graph alone.
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
        if self.view == GRAPH:
            return f"graph kernel, penalty {self.penalty:g}"
        features = "smoothed features" if self.smoothed else "features"
        after = f", scores smoothed by {self.score_smoothing:g}" if self.score_smoothing else ""
        return f"{self.view}: {features}, width {self.width:g}, penalty {self.penalty:g}{after}"

    @property
    def ridge(self) -> float:
        """λ of the linear system."""
        return self.penalty * (1.0 if self.view == GRAPH else 1.0 - float(np.exp(-self.width)))

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
        self._reached: NDArray[Any] | None = None
        self._best = -np.inf

    def run(self) -> SearchResult:
        """Try the candidates, as many as there is time for; the usual one of the first view always."""
        trials: list[Trial] = []
        left_out: dict[str, str] = {}
        places = [(view, smoothed) for smoothed in (True, False) for view in self.weightings]
        self._progress.start("comparing candidates", len(places) + 1)
        try:
            for view, smoothed in places:
                title = f"{view.name}, {'smoothed features' if smoothed else 'features'}"
                if trials and not self._go_on():
                    left_out[title] = OVER
                else:
                    trials += self._try_view(view, smoothed, title, left_out)
                self._progress.advance()
            trials += self._try_graph(left_out)
        except KeyboardInterrupt:
            if not trials:
                raise
            left_out["further candidates"] = INTERRUPTED
        finally:
            self._progress.finish()
        return SearchResult(trials, left_out)

    def _try_view(self, view: View, smoothed: bool, title: str, left_out: dict[str, str]) -> list[Trial]:
        distances = self.distances(view, smoothed)
        trials: list[Trial] = []
        for width in self._widths[:2]:
            if trials and not self._go_on():
                left_out[f"{title}, width {width:g}"] = OVER
                return trials
            trials.append(self._try_kernel(Candidate(view.name, smoothed, width), np.exp(-width * distances)))
        # Further in the direction that is better.
        further = self._widths[2 if trials[1].figure > trials[0].figure else 3]
        best = max(trial.figure for trial in trials)
        if best < (1.0 - CLEARLY_BEHIND) * self._best:
            left_out[f"{title}, width {further:g}"] = f"clearly behind: {best:.3f} against {self._best:.3f}"
        elif not self._go_on():
            left_out[f"{title}, width {further:g}"] = OVER
        else:
            trials.append(self._try_kernel(Candidate(view.name, smoothed, further), np.exp(-further * distances)))
        return trials

    def _try_graph(self, left_out: dict[str, str]) -> list[Trial]:
        if not self._go_on():
            left_out["graph kernel"] = OVER
            return []
        kernel = GRAPH_SCALE * spread_labels(self.views, self.rows, GRAPH_SMOOTHING)
        return [self._try_kernel(Candidate(GRAPH, False, 0.0, score_smoothing=0.0), kernel, smoothings=(0.0,))]

    def _try_kernel(
        self, candidate: Candidate, kernel: NDArray[Any], smoothings: Sequence[float] = SCORE_SMOOTHINGS
    ) -> Trial:
        """Return the trial of the best penalty and score smoothing; the usual ones unless others stand out."""
        among = self._among(kernel)
        influences = [self._smoothed_influence(kernel) if strength else among for strength in smoothings]
        options = [replace(candidate, penalty=one) for one in self._penalties]
        best: Trial | None = None
        ridges = [one.ridge for one in options]
        for place, step, found in left_out_deviations(among, influences, self.targets, ridges, shifts=self._shifts):
            settings = replace(options[step], score_smoothing=smoothings[place])
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

    def influences(self, kernel: NDArray[Any], score_smoothing: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return a kernel (n, m) among the labelled photos, and what coefficients bring to their scores."""
        among = self._among(kernel)
        return among, self._smoothed_influence(kernel) if score_smoothing else among

    def _among(self, kernel: NDArray[Any]) -> NDArray[Any]:
        among = kernel[self.rows]
        return np.asarray(0.5 * (among + among.T))

    def distances(self, view: View, smoothed: bool) -> NDArray[Any]:
        """Return squared distances (n, m) of all photos to the labelled ones in a view, 1 on average."""
        coordinates = self.views.coordinates(smoothed)
        found = self.views.distances(coordinates, coordinates[self.rows], [view])[0]
        found /= found.dtype.type(self.views.mean_distance(view, smoothed))
        # A photo is at no distance from itself, whatever rounding says.
        found[self.rows, np.arange(len(self.rows))] = 0.0
        return found

    def _smoothed_influence(self, kernel: NDArray[Any]) -> NDArray[Any]:
        """Return what coefficients bring to smoothed scores of the labelled photos: one solve serves all kernels."""
        if self._reached is None:
            self._reached = spread_labels(self.views, self.rows, SCORE_SMOOTHINGS[0]).astype(kernel.dtype)
        return self._reached.T @ kernel


def spread_labels(views: PhotoViews, rows: NDArray[np.intp], strength: float) -> Floats:
    """Return the columns ``(I + sL)⁻¹ e_i`` of some photos, shape (n, m)."""
    sources = np.zeros((views.n_photos, len(rows)), dtype=np.float32)
    sources[rows, np.arange(len(rows))] = 1.0
    return smooth_columns(views, sources, strength)


def smooth_columns(views: PhotoViews, columns: NDArray[Any], strength: float) -> Floats:
    """Return ``(I + sL)⁻¹`` times some columns."""
    system = sparse.csr_array(sparse.eye_array(views.n_photos) + strength * views.laplacian())
    return np.asarray(block_cg(system, columns, tol=1e-6, dtype="float32").x, dtype=np.float64)
