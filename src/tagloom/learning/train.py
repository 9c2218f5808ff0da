"""The verb behind ``tagloom train``: from what was decided to a model and to suggestions for every photo.

A model is arrays and a description, never a pickle. It is registered first; then, in one transaction, its suggestions
are stored and it takes the place of the one before. A run that is cut off leaves the old model and its suggestions.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.project_features import load_rows
from tagloom.catalog.results import Result
from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.threads import limit_libraries
from tagloom.learning.labels import TrainingLabels, check_decided, read_labels
from tagloom.learning.methods import get_learner
from tagloom.learning.stored_model import FeaturesUsed, NewModel, save_model
from tagloom.learning.suggest import PROBABILITY
from tagloom.learning.training import Trained, train_learner
from tagloom.metrics import average_precision
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.search import INTERRUPTED, OVER

__all__ = ["TRAIN", "TrainResult", "train"]

TRAIN = "train"


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainResult(Result):
    """What a training did.

    Parameters
    ----------
    model : int
        The model's id; it is the active one.
    method : str
        The learner's name.
    kind : {"score", "probability"}
        What the suggestions' numbers are.
    why_scores : str
        Why they are scores; empty where they are probabilities.
    n_photos, n_labeled, n_tags : int
        Photos with features, those of which something was decided, tags.
    n_yes, n_no : int
        Pairs that were decided.
    n_without_features : int
        Readable photos that could not be taken along.
    without_examples : tuple of str
        Tags that no photo has: nothing can be suggested for them.
    silence_is_no : tuple of str
        Tags that were named rather than judged: photos of which anything was said count as not having them.
    completeness : float or None
        Estimated share of the true tags that are named, of those tags.
    fit_map : float or None
        Mean average precision on the labelled photos themselves: how well the model fits, not how good it is.
    held_out_map : float or None
        The same by probabilities, each by a model that has not seen the photo's labels: how good it is.
    n_above : int
        Suggestions above the threshold; 0 while scores are not calibrated.
    is_linear : bool
        Whether scores are linear in the features.
    reused : tuple of str
        What was taken over from an earlier model because nothing it depends on has changed.
    groups : dict of str to int
        Feature groups and their columns.
    seconds : float
        Wall time.
    interrupted : bool
        Whether a search was broken off: the model is the best that was found until then.
    untried : tuple of str
        What there was no time for (setting ``budget_seconds``).
    """

    model: int
    method: str
    kind: str
    why_scores: str
    n_photos: int
    n_labeled: int
    n_tags: int
    n_yes: int
    n_no: int
    n_without_features: int
    without_examples: tuple[str, ...]
    silence_is_no: tuple[str, ...]
    completeness: float | None
    fit_map: float | None
    held_out_map: float | None
    n_above: int
    is_linear: bool
    reused: tuple[str, ...]
    groups: dict[str, int]
    seconds: float
    interrupted: bool = False
    untried: tuple[str, ...] = ()


def train(
    store: ProjectStore,
    settings: Settings,
    method: str | None = None,
    *,
    progress: Progress = NO_PROGRESS,
) -> TrainResult:
    """Learn from all that was decided, and store the model and its suggestions.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken.
    settings : Settings
        Features, neighbours, threads, ``precision``.
    method : str, optional
        A learner's name; default: the setting ``method``.
    progress : Progress, optional
        Told how far the work is.

    Raises
    ------
    InvalidInputError
        If nothing was decided yet.
    """
    begin = time.perf_counter()
    learner = get_learner(method or settings.method)
    with store.lock(), store.cache() as cache:
        check_decided(store)
        rows = load_rows(store, cache, settings, progress=progress)
        labels = read_labels(store, rows.ids)
        progress.start(f"learning ({learner.name})", None)
        with limit_libraries(settings.n_threads):
            trained = train_learner(store, settings, learner, rows, labels, progress=progress)
        progress.finish()
        model = save_model(
            store, _new_model(trained, learner.name, settings, FeaturesUsed.of(rows), labels), verb=TRAIN
        )
    sizes = dict(zip(rows.groups.names, rows.groups.sizes, strict=True))
    found = _counts(labels) | _quality(trained, labels)
    left_out = trained.info.get("left_out", {})
    return TrainResult(
        model=model,
        method=learner.name,
        n_photos=len(rows.ids),
        n_without_features=rows.n_without,
        is_linear=trained.info["is_linear"],
        reused=trained.reused,
        groups=sizes,
        seconds=time.perf_counter() - begin,
        interrupted=INTERRUPTED in left_out.values(),
        untried=tuple(name for name, why in left_out.items() if why == OVER),
        **found,
    )


def _new_model(
    trained: Trained, method: str, settings: Settings, features: FeaturesUsed, labels: TrainingLabels
) -> NewModel:
    options = {"n_neighbors": settings.n_neighbors, "descriptors": list(settings.descriptors)}
    numbers = trained.numbers
    return NewModel(
        method=method,
        values=numbers.values,
        kind=numbers.kind,
        thresholds=numbers.thresholds,
        labels=labels,
        features=features,
        calibration=numbers.calibration,
        graph=trained.graph,
        arrays=trained.arrays,
        info=trained.info,
        settings=options | trained.settings,
    )


def _counts(labels: TrainingLabels) -> dict[str, Any]:
    """Return the fields of a result that say what was learnt from."""
    has_example = (labels.said == 1).any(axis=0)
    return {
        "n_labeled": labels.n_labeled,
        "n_tags": len(labels.tags),
        "n_yes": int((labels.said == 1).sum()),
        "n_no": int((labels.said == 0).sum()),
        "without_examples": tuple(tag for tag, has in zip(labels.tags, has_example, strict=True) if not has),
        "silence_is_no": tuple(tag for tag, named in zip(labels.tags, labels.named, strict=True) if named),
    }


def _quality(trained: Trained, labels: TrainingLabels) -> dict[str, Any]:
    """Return the fields of a result that say what the numbers are and how good."""
    numbers = trained.numbers
    is_probability, is_auto = numbers.kind == PROBABILITY, isinstance(numbers.annotator, AutoAnnotator)
    return {
        "kind": numbers.kind,
        "why_scores": numbers.why_scores,
        "completeness": numbers.completeness if labels.named.any() else None,
        # Scores of `auto` are what is said without the photo's labels.
        "fit_map": None if is_auto else _map(labels.Y, numbers.annotator.transduction_),
        "held_out_map": _map(labels.Y, numbers.values) if is_probability else None,
        "n_above": int(((numbers.values > numbers.thresholds) & (labels.said == UNKNOWN)).sum())
        if is_probability
        else 0,
    }


def _map(Y: LabelMatrix, values: NDArray[Any]) -> float | None:
    figures = average_precision(Y, values)
    return float(np.nanmean(figures)) if not np.isnan(figures).all() else None
