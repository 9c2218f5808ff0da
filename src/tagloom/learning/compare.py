"""The verb behind ``tagloom compare``: several methods on the same labels, photos and folds."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.catalog import FeatureRows, Result, load_rows
from tagloom.core import NO_PROGRESS, UNKNOWN, Floats, Progress, limit_libraries
from tagloom.exceptions import NothingToScoreError, SettingsError, TagloomError
from tagloom.learning.constants import LEVEL, N_DRAWS
from tagloom.learning.evaluate import check_enough
from tagloom.learning.labels import TrainingLabels, check_decided, read_labels
from tagloom.learning.methods import Learner, choose_learner, make_annotator
from tagloom.learning.probabilities import too_few
from tagloom.metrics import average_precision
from tagloom.settings import Settings
from tagloom.store import ProjectStore
from tagloom.tuning.calibration import cautious_precision
from tagloom.tuning.evaluation import (
    CrossValidation,
    centred,
    cross_validate,
    draw_counts,
    interval,
    mean_over_tags,
    resampled_average_precision,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COMPARED", "MethodComparison", "MethodFigures", "compare"]

#: What is compared unless a person names methods: the default, two plain ones, and those of the five papers.
COMPARED = ("auto", "smoothed-ridge", "ridge", "sfss", "topics", "lpssvm", "tkml", "wtkml", "nova")


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodFigures(Result):
    """How good a method is on held-out photos.

    Parameters
    ----------
    method : str
        Its name.
    parameters : dict
        Those that were set.
    map, low, high : float or None
        Mean average precision and its interval, over the tags with two examples or more, or over all tags where there
        is none; None where the method could not be compared.
    behind, behind_low, behind_high : float or None
        How far it is behind the best method, and the interval of that over photos drawn again: both methods are
        measured on the same ones. 0 of the best.
    precision, recall : float or None
        Of suggestions above the threshold; None for 0/0.
    n_accepted : int
        Suggestions above the threshold.
    seconds : float
        Wall time.
    why_not : str
        Why it could not be compared; empty otherwise.
    """

    method: str
    parameters: dict[str, Any]
    map: float | None = None
    low: float | None = None
    high: float | None = None
    behind: float | None = None
    behind_low: float | None = None
    behind_high: float | None = None
    precision: float | None = None
    recall: float | None = None
    n_accepted: int = 0
    seconds: float = 0.0
    why_not: str = ""

    @property
    def is_behind(self) -> bool:
        """Whether it is behind the best by more than another sample of photos would change."""
        return self.behind_low is not None and self.behind_low > 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class MethodComparison(Result):
    """What `compare` found.

    Parameters
    ----------
    methods : tuple of MethodFigures
        The best first; those that could not be compared last.
    folds : int
        Parts of the labelled photos; each was hidden once.
    n_photos, n_labeled, n_tags : int
        What was learnt from; the tags that the mean is over.
    interrupted : bool
        Whether it was broken off: methods that were not finished are left out.
    seconds : float
        Wall time.
    """

    methods: tuple[MethodFigures, ...]
    folds: int
    n_photos: int
    n_labeled: int
    n_tags: int
    interrupted: bool
    seconds: float

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draw each method's mean average precision with its interval, the best on top (extra ``plot``).

        Parameters
        ----------
        ax : Axes, optional
            Where to draw. Default: a new figure.
        """
        from tagloom.plotting import plot_tag_figures

        found = [one for one in self.methods if one.map is not None]
        values = (np.array([getattr(one, name) for one in found], dtype=float) for name in ("map", "low", "high"))
        return plot_tag_figures(
            [one.method for one in found], *values, x_name="mean average precision on held-out photos", ax=ax
        )


class _Named:
    """Tells of which method the progress is."""

    def __init__(self, progress: Progress, method: str) -> None:
        self._progress, self._method = progress, method

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage."""
        self._progress.start(f"{self._method}: {stage}", total)

    def advance(self, n: int = 1) -> None:
        """Count steps."""
        self._progress.advance(n)

    def finish(self) -> None:
        """End the stage."""
        self._progress.finish()


def compare(
    store: ProjectStore,
    settings: Settings,
    methods: Sequence[str] = COMPARED,
    *,
    folds: int = 5,
    progress: Progress = NO_PROGRESS,
) -> MethodComparison:
    """Cross-validate several methods on the labelled photos; no model is stored.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken while features are read.
    settings : Settings
        Features, neighbours, threads, parameters of methods.
    methods : sequence of str
        Names, each once.
    folds : int, default=5
        Parts of the labelled photos; each is hidden once.
    progress : Progress, optional
        Told how far the work is, method by method.

    Raises
    ------
    SettingsError
        If a method or parameter is not known, or a method is named twice; nothing is read then.
    NothingToScoreError
        If fewer than two photos are labelled, or no photo has a tag.
    """
    begin = time.perf_counter()
    learners = [choose_learner(settings, name) for name in methods or COMPARED]
    names = [learner.name for learner in learners]
    if len(set(names)) != len(names):
        raise SettingsError(f"Name each method once, got {', '.join(names)}.")
    with store.lock(), store.cache() as cache:
        check_decided(store)
        check_enough(store)
        rows = load_rows(store, cache, settings, progress=progress)
    labels = read_labels(store, rows.ids)
    found: dict[str, tuple[CrossValidation | None, MethodFigures]] = {}
    interrupted = False
    with limit_libraries(settings.n_threads):
        try:
            for learner in learners:
                found[learner.name] = _measure(learner, settings, rows, labels, folds, _Named(progress, learner.name))
        except KeyboardInterrupt:
            if not found:
                raise
            interrupted = True
    measured = {name: one for name, (one, _) in found.items() if one is not None}
    if not measured:
        raise NothingToScoreError(f"No method could be compared: {next(iter(found.values()))[1].why_not}")
    figures = {name: one for name, (_, one) in found.items()}
    behind = _behind(measured)
    ranked = [
        replace(figures[name], **behind[name]) for name in sorted(behind, key=lambda name: behind[name]["behind"])
    ]
    without = [one for name, one in figures.items() if name not in measured]
    some = next(iter(measured.values()))
    return MethodComparison(
        methods=(*ranked, *without),
        folds=int(some.held_out.folds.max()) + 1,
        n_photos=len(rows.ids),
        n_labeled=labels.n_labeled,
        n_tags=int(_counted(some).sum()),
        interrupted=interrupted,
        seconds=time.perf_counter() - begin,
    )


def _measure(
    learner: Learner, settings: Settings, rows: FeatureRows, labels: TrainingLabels, folds: int, progress: Progress
) -> tuple[CrossValidation | None, MethodFigures]:
    begin = time.perf_counter()
    figures = MethodFigures(method=learner.name, parameters=dict(learner.parameters))
    # As in training: suggestions are those above a probability, where probabilities can be told.
    sure = None if too_few(labels) else cautious_precision(settings.precision, labels.n_labeled)
    try:
        X = learner.features(rows.X, rows.groups)
        annotator = make_annotator(learner, settings, rows.groups)
        found = cross_validate(annotator, X, labels.Y, precision=sure, n_splits=folds, level=LEVEL, progress=progress)
    except TagloomError as error:  # the others can be compared all the same
        return None, replace(figures, why_not=str(error), seconds=time.perf_counter() - begin)
    is_repeated = not np.isnan(found.repeated_map)
    figure, low, high = (
        (found.repeated_map, found.repeated_map_low, found.repeated_map_high)
        if is_repeated
        else (found.map, found.map_low, found.map_high)
    )
    return found, replace(
        figures,
        map=figure,
        low=low,
        high=high,
        precision=_known(found.precision),
        recall=_known(found.recall),
        n_accepted=found.n_accepted,
        seconds=time.perf_counter() - begin,
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else value


def _counted(found: CrossValidation) -> Any:
    """Return which tags the mean is over."""
    repeated = found.n_positive >= 2
    return repeated if repeated.any() else found.n_positive >= 1


def _behind(measured: dict[str, CrossValidation]) -> dict[str, dict[str, Any]]:
    """Return how far each method is behind the best, with intervals over the same photos drawn again."""
    some = next(iter(measured.values()))
    tags = _counted(some)
    counts = draw_counts(len(some.held_out.rows), N_DRAWS, seed=0)
    own: dict[str, float] = {}
    drawn: dict[str, Floats] = {}
    for name, found in measured.items():
        labels = np.where(tags, found.held_out.labels, UNKNOWN).astype(np.int8)
        figures = average_precision(labels, found.held_out.scores)
        samples = centred(resampled_average_precision(labels, found.held_out.scores, counts), figures)
        own[name], drawn[name] = float(np.nanmean(figures)), mean_over_tags(samples, figures)
    best = max(own, key=lambda name: own[name])
    result = {}
    for name, value in own.items():
        low, high = interval(drawn[best] - drawn[name], LEVEL)
        result[name] = {"behind": own[best] - value, "behind_low": float(low), "behind_high": float(high)}
    return result
