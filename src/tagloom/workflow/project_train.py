"""The verb behind ``tagloom train``: from what was decided to a model and to suggestions for every photo.

A model is arrays and a description, never a pickle. It is registered first; then, in one transaction, its suggestions
are stored and it takes the place of the one before. A run that is cut off leaves the old model and its suggestions.
"""

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tagloom._version import __version__
from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.exceptions import InvalidInputError
from tagloom.features.scaling import GroupScaler
from tagloom.metrics import average_precision
from tagloom.store.project import ProjectStore
from tagloom.workflow.learners import Learner, get_learner, prepare
from tagloom.workflow.project_features import FeatureRows, load_rows
from tagloom.workflow.project_results import Result
from tagloom.workflow.project_suggest import SCORE
from tagloom.workflow.settings import Settings

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
    n_photos, n_labeled, n_tags : int
        Photos with features, those of which something was decided, tags.
    n_yes, n_no : int
        Pairs that the model learnt from.
    n_without_features : int
        Readable photos that could not be taken along.
    without_examples : tuple of str
        Tags that no photo has: nothing can be suggested for them.
    fit_map : float or None
        Mean average precision on the labelled photos themselves: how well the model fits, not how good it is.
    is_linear : bool
        Whether the model is stored with all that is needed to score photos it has not seen.
    groups : dict of str to int
        Feature groups and their columns.
    seconds : float
        Wall time.
    """

    model: int
    method: str
    kind: str
    n_photos: int
    n_labeled: int
    n_tags: int
    n_yes: int
    n_no: int
    n_without_features: int
    without_examples: tuple[str, ...]
    fit_map: float | None
    is_linear: bool
    groups: dict[str, int]
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class _Labels:
    """What was decided, all of one moment."""

    Y: LabelMatrix
    tag_ids: NDArray[np.int64]
    tags: list[str]
    digest: str
    n_decisions: int


@dataclass(frozen=True, slots=True, eq=False)
class _Fitted:
    """What came out of fitting: numbers for every photo and tag, of a kind, and what there is to store.

    This is the place for calibrated annotators: their numbers are probabilities, ``kind`` says so, and what reads
    suggestions goes by that.
    """

    scores: NDArray[np.float32]
    thresholds: NDArray[np.float64]
    kind: str
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)


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
        Features, neighbours, threads.
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
        _labels(store, None)  # says at once, before photos are read, that there is nothing to learn from
        rows = load_rows(store, cache, settings, progress=progress)
        labels = _labels(store, rows.ids)
        options = {"method": learner.name, "n_neighbors": settings.n_neighbors, "tagloom": __version__}
        run = store.runs.start(TRAIN, options | {"descriptors": list(settings.descriptors)})
        progress.start(f"learning ({learner.name})", None)
        with threadpool_limits(settings.n_threads):
            fitted = _fit(learner, settings, rows, labels.Y)
        progress.finish()
        model = _store(store, run, learner.name, rows, labels, fitted, options)
    return TrainResult(
        model=model,
        method=learner.name,
        kind=fitted.kind,
        n_photos=len(rows.ids),
        n_labeled=int(labeled_rows(labels.Y).sum()),
        n_tags=len(labels.tags),
        n_yes=int((labels.Y == 1).sum()),
        n_no=int((labels.Y == 0).sum()),
        n_without_features=rows.n_without,
        without_examples=tuple(
            tag for tag, has in zip(labels.tags, (labels.Y == 1).any(axis=0), strict=True) if not has
        ),
        fit_map=_fit_map(labels.Y, fitted.scores),
        is_linear=fitted.info["is_linear"],
        groups=dict(zip(rows.groups.names, rows.groups.sizes, strict=True)),
        seconds=time.perf_counter() - begin,
    )


def _labels(store: ProjectStore, photo_ids: NDArray[np.int64] | None) -> _Labels:
    with store.transaction():  # decisions of other processes wait, so that matrix, digest and count agree
        _, tag_ids, Y = store.decisions.labels(photo_ids)
        digest, n_decisions = store.decisions.labels_digest(), store.decisions.count()
        tags = store.tags.texts(tag_ids)
    if not (Y != UNKNOWN).any():
        raise InvalidInputError(
            "no readable photo has a tag decided yet, so that there is nothing to learn from; bring labels in with "
            "tagloom import FILE, or say some with tagloom label PHOTO --add TAG"
        )
    return _Labels(Y, tag_ids, tags, digest, n_decisions)


def _fit(learner: Learner, settings: Settings, rows: FeatureRows, Y: LabelMatrix) -> _Fitted:
    annotator = learner.make(settings.n_neighbors, rows.groups)
    scaler: GroupScaler | None = None
    if learner.features is prepare:
        scaler = GroupScaler(rows.groups).fit(rows.X)
        X = scaler.transform(rows.X)
    else:
        X = learner.features(rows.X, rows.groups)
    annotator.fit(X, Y)
    arrays, info = _describe(annotator, scaler)
    return _Fitted(
        np.asarray(annotator.transduction_, dtype=np.float32),
        np.asarray(annotator.thresholds_, dtype=np.float64),
        SCORE,
        arrays,
        info,
    )


def _describe(annotator: Annotator, scaler: GroupScaler | None) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what of a fitted annotator is stored: all of a linear one, of others how it was made."""
    arrays: dict[str, NDArray[Any]] = {"thresholds": np.asarray(annotator.thresholds_, dtype=np.float64)}
    is_linear = scaler is not None and hasattr(annotator, "coef_") and hasattr(annotator, "intercept_")
    info: dict[str, Any] = {"class": type(annotator).__name__, "is_linear": is_linear}
    if scaler is not None and is_linear:
        arrays |= {"coef": np.asarray(annotator.coef_), "intercept": np.asarray(annotator.intercept_)}
        info["scaler"] = scaler.choices_
        for name in scaler.means_:
            arrays |= {f"means/{name}": scaler.means_[name], f"scales/{name}": scaler.scales_[name]}
    return arrays, info


def _store(
    store: ProjectStore,
    run: int,
    method: str,
    rows: FeatureRows,
    labels: _Labels,
    fitted: _Fitted,
    options: dict[str, Any],
) -> int:
    groups = [[name, size] for name, size in zip(rows.groups.names, rows.groups.sizes, strict=True)]
    described = {"kind": fitted.kind, "tags": labels.tags, "tag_ids": labels.tag_ids.tolist(), "groups": groups}
    model = store.models.save(
        fitted.arrays,
        fitted.info | described,
        features={"keys": rows.keys, "groups": groups},
        labels_digest=labels.digest,
        settings=options | {"n_decisions": labels.n_decisions, "n_photos": len(rows.ids)},
        run=run,
        activate=False,
    )
    with store.transaction():
        store.suggestions.save(
            rows.ids,
            labels.tag_ids,
            fitted.scores,
            thresholds=fitted.thresholds,
            run=run,
            info={"kind": fitted.kind, "model": model, "method": method},
        )
        store.models.activate(model)
        store.runs.end(run, {"model": model})
    return model


def _fit_map(Y: LabelMatrix, scores: NDArray[Any]) -> float | None:
    figures = average_precision(Y, scores)
    return float(np.nanmean(figures)) if not np.isnan(figures).all() else None
