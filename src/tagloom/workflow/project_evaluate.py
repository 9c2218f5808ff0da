"""The verb behind ``tagloom evaluate``: how good a method is on what was said, and what would make it better."""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from tagloom.core.labels import labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.store.project import ProjectStore
from tagloom.tuning.evaluation import CrossValidation, cross_validate
from tagloom.tuning.group_figures import GroupFigure, compare_groups
from tagloom.tuning.label_curve import Forecast, LearningCurve, learning_curve
from tagloom.workflow.learners import Learner, get_learner, prepare
from tagloom.workflow.project_features import FeatureRows, load_rows
from tagloom.workflow.project_results import Result
from tagloom.workflow.settings import Settings
from tagloom.workflow.training_labels import TrainingLabels, read_labels

__all__ = ["Bin", "CurvePoint", "Evaluation", "TagFigures", "evaluate"]

#: Labelled photos from which a part of them says anything.
_LEAST_FOR_CURVE = 20
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class TagFigures(Result):
    """How well one tag is found.

    Parameters
    ----------
    tag : str
        The tag.
    n_yes, n_no : int
        Photos that have it, and have it not.
    average_precision, low, high : float or None
        On held-out photos, and its interval; None where no photo has the tag.
    precision, recall : float or None
        Above the threshold; None for 0/0.
    """

    tag: str
    n_yes: int
    n_no: int
    average_precision: float | None
    low: float | None
    high: float | None
    precision: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class CurvePoint(Result):
    """Mean average precision with a part of the labels, and its interval."""

    n_labels: float
    map: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin(Result):
    """Held-out entries of like probability: their mean, the share that has the tag, and how many there are."""

    predicted: float
    observed: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Result):
    """How good a method is on held-out photos.

    Parameters
    ----------
    method : str
        The learner's name.
    folds : int
        Parts that the labelled photos were dealt to; each was hidden once.
    level : float
        Share of samples that an interval holds.
    n_photos, n_labeled, n_tags : int
        Photos with features, labelled ones among them, tags.
    map, map_low, map_high : float
        Mean average precision over tags that a photo has, and its interval.
    precision, recall : float or None
        Right ones among suggestions above the thresholds, and found ones among the right, all tags together.
    tags : tuple of TagFigures
        The best first, those without a figure last.
    reliability : tuple of Bin
        Probabilities beside what came true.
    calibration_error : float or None
        Mean distance of the two.
    curve : tuple of CurvePoint
        With parts of the labels; empty where it was not asked for or labels are too few.
    forecast : Forecast or None
        What more labels would bring.
    groups : tuple of GroupFigure
        What each feature group brings, the one that is missed most first; empty with a single group.
    notes : tuple of str
        What to bear in mind.
    seconds : float
        Wall time.
    """

    method: str
    folds: int
    level: float
    n_photos: int
    n_labeled: int
    n_tags: int
    map: float
    map_low: float
    map_high: float
    precision: float | None
    recall: float | None
    tags: tuple[TagFigures, ...]
    reliability: tuple[Bin, ...]
    calibration_error: float | None
    curve: tuple[CurvePoint, ...]
    forecast: Forecast | None
    groups: tuple[GroupFigure, ...]
    notes: tuple[str, ...]
    seconds: float


def evaluate(
    store: ProjectStore,
    settings: Settings,
    method: str | None = None,
    *,
    folds: int = 5,
    n_more: int = 100,
    curve: bool = True,
    groups: bool = True,
    progress: Progress = NO_PROGRESS,
) -> Evaluation:
    """Measure a method by cross-validation on what was said; no model is stored.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken while features are read.
    settings : Settings
        Features, neighbours, threads.
    method : str, optional
        A learner's name; default: the setting ``method``.
    folds : int, default=5
        Parts of the labelled photos; each is hidden once.
    n_more : int, default=100
        Photos of the forecast.
    curve, groups : bool, default=True
        Whether to measure with fewer labels, and without each feature group: several times the work.
    progress : Progress, optional
        Told how far the work is.

    Raises
    ------
    NothingToScoreError
        If fewer than two photos are labelled, or no photo has a tag.
    InvalidInputError
        If nothing was decided yet.
    """
    begin = time.perf_counter()
    learner = get_learner(method or settings.method)
    with store.lock(), store.cache() as cache:
        rows = load_rows(store, cache, settings, progress=progress)
    labels = read_labels(store, rows.ids)
    with threadpool_limits(settings.n_threads):
        X = learner.features(rows.X, rows.groups)
        annotator = learner.make(settings.n_neighbors, rows.groups)
        found = cross_validate(annotator, X, labels.Y, n_splits=folds, level=LEVEL, progress=progress)
        learnt = None
        if curve and int(labeled_rows(labels.Y).sum()) >= _LEAST_FOR_CURVE:
            learnt = learning_curve(annotator, X, labels.Y, n_splits=folds, level=LEVEL, progress=progress)
        brought = _groups(learner, settings, rows, X, labels, folds, progress) if groups else []
    return _evaluation(learner.name, rows, labels, found, learnt, brought, n_more, begin)


def _groups(
    learner: Learner,
    settings: Settings,
    rows: FeatureRows,
    X: Any,
    labels: TrainingLabels,
    folds: int,
    progress: Progress,
) -> list[GroupFigure]:
    if learner.features is not prepare:  # columns are not those of the groups
        return []
    return compare_groups(
        lambda kept: learner.make(settings.n_neighbors, kept),
        X,
        rows.groups,
        labels.Y,
        n_splits=folds,
        level=LEVEL,
        progress=progress,
    )


def _evaluation(
    method: str,
    rows: FeatureRows,
    labels: TrainingLabels,
    found: CrossValidation,
    learnt: LearningCurve | None,
    brought: list[GroupFigure],
    n_more: int,
    begin: float,
) -> Evaluation:
    curve = found.reliability
    forecast = None if learnt is None else learnt.forecast(n_more)
    return Evaluation(
        method=method,
        folds=len(np.unique(found.held_out.folds)),
        level=LEVEL,
        n_photos=len(rows.ids),
        n_labeled=len(found.held_out.rows),
        n_tags=len(labels.tags),
        map=found.map,
        map_low=found.map_low,
        map_high=found.map_high,
        precision=_number(found.precision),
        recall=_number(found.recall),
        tags=_tags(labels, found),
        reliability=()
        if curve is None
        else tuple(
            Bin(float(p), float(o), int(n))
            for p, o, n in zip(curve.predicted, curve.observed, curve.counts, strict=True)
        ),
        calibration_error=None if curve is None else curve.error,
        curve=()
        if learnt is None
        else tuple(
            CurvePoint(*map(float, point))
            for point in zip(learnt.n_labels, learnt.map, learnt.low, learnt.high, strict=True)
        ),
        forecast=forecast,
        groups=tuple(brought),
        notes=_notes(labels, found, forecast),
        seconds=time.perf_counter() - begin,
    )


def _tags(labels: TrainingLabels, found: CrossValidation) -> tuple[TagFigures, ...]:
    figures = [
        TagFigures(
            tag,
            int(found.n_positive[column]),
            int(found.n_known[column] - found.n_positive[column]),
            *(
                _number(values[column])
                for values in (
                    found.average_precision,
                    found.low,
                    found.high,
                    found.tag_precision,
                    found.tag_recall,
                )
            ),
        )
        for column, tag in enumerate(labels.tags)
    ]
    return tuple(
        sorted(figures, key=lambda one: (one.average_precision is None, -(one.average_precision or 0.0), one.tag))
    )


def _notes(labels: TrainingLabels, found: CrossValidation, forecast: Forecast | None) -> tuple[str, ...]:
    notes = []
    n_rare = int((found.n_positive < 2).sum())
    if n_rare:
        notes.append(f"{n_rare} of {len(labels.tags)} tags have fewer than two examples: they cannot be found again.")
    if labels.named.any():
        notes.append(
            f"{int(labels.named.sum())} tags were named rather than judged: a photo without one counts as a no."
        )
    if forecast is not None and forecast.is_far:
        notes.append("The forecast looks further ahead than there are labels: take it for a guess.")
    return tuple(notes)


def _number(value: float) -> float | None:
    """Return a number as JSON can hold it."""
    return None if math.isnan(value) else float(value)
