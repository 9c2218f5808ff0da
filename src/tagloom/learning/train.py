"""The verb behind ``tagloom train``: from what was decided to a model and to suggestions for every photo.

A model is arrays and a description, never a pickle. It is registered first; then, in one transaction, its suggestions
are stored and it takes the place of the one before. A run that is cut off leaves the old model and its suggestions.
"""

import contextlib
import json
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tagloom.catalog import FeatureRows, Result, load_rows
from tagloom.core import NO_PROGRESS, UNKNOWN, Annotator, LabelMatrix, Progress, labeled_rows, limit_libraries
from tagloom.features import GroupScaler
from tagloom.graph import NeighborGraph
from tagloom.learning.constants import SHOWN_IN_A_TOPIC, TRIED_ROWS
from tagloom.learning.kept_graph import KeptGraph, features_key
from tagloom.learning.labels import TrainingLabels, check_decided, read_labels
from tagloom.learning.methods import Learner, choose_learner, make_annotator, prepare
from tagloom.learning.names import class_probabilities, given_by_names
from tagloom.learning.probabilities import Learned, learn, learn_auto, tells_probabilities, too_few
from tagloom.learning.registration import FeaturesUsed, registration_of
from tagloom.learning.ridge import RidgePhotos, choose_strength
from tagloom.learning.stored_model import (
    AutoModel,
    LinearModel,
    LinearPart,
    ModelHeader,
    OtherModel,
    RidgeModel,
    StoredModel,
    save_model,
)
from tagloom.learning.suggest import PROBABILITY, SCORE
from tagloom.methods import SFSS, HarmonicPropagation, LaplacianTopicModel, LocalGlobalConsistency
from tagloom.metrics import average_precision
from tagloom.settings import Settings
from tagloom.store import ProjectStore
from tagloom.tuning.auto import INTERRUPTED, OVER

__all__ = ["TrainResult", "train"]


AUTOMATIC = "auto"
#: Parameters that ask for another graph than that of the project.
OF_GRAPH = frozenset({"metric", "n_neighbors"})


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trained:
    """What came out of training.

    Parameters
    ----------
    learned : Learned
        The annotator, and what it predicts for all photos.
    model : StoredModel
        What is stored of it.
    features_key : str
        Checksum of the scaled features; empty where they were not scaled.
    choice : dict
        Parameters that it chose.
    reused : tuple of str
        What an earlier model had already.
    """

    learned: Learned
    model: StoredModel
    features_key: str = ""
    choice: dict[str, Any] = field(default_factory=dict)
    reused: tuple[str, ...] = ()


def train_learner(
    store: ProjectStore,
    settings: Settings,
    learner: Learner,
    rows: FeatureRows,
    labels: TrainingLabels,
    *,
    progress: Progress = NO_PROGRESS,
) -> Trained:
    """Fit a learner to all labels.

    Parameters
    ----------
    store : ProjectStore
        Where earlier models are.
    settings : Settings
        Neighbours, threads, ``precision``.
    learner : Learner
        What to fit.
    rows : FeatureRows
        The features.
    labels : TrainingLabels
        What to learn from.
    progress : Progress, optional
        Told how far the work is, by learners that know.

    Notes
    -----
    The graph of an earlier model is taken over where the scaled features and the number of neighbours are the same to
    the last bit, and a chosen penalty where the labels are the same, too: a start from scratch gives the same.
    """
    if learner.is_auto:
        return _train_auto(store, settings, learner, rows, labels, progress)
    if learner.features is not prepare:
        X, annotator = learner.features(rows.X, rows.groups), make_annotator(learner, settings, rows.groups)
        learned, choice = _learn(annotator, X, labels, settings, {})
        return Trained(learned=learned, model=_model_of(learned, learner, rows, labels, X), choice=choice)
    photos = RidgePhotos(store, rows, settings)
    key = features_key(photos.X, settings.n_neighbors)
    if learner.parameters:
        key += f" {json.dumps(dict(learner.parameters), sort_keys=True)}"
    earlier = _earlier_choice(store, learner.name, key, labels)
    if learner.smoothing is not None and not learner.parameters:
        return _train_ridge(settings, learner, learner.smoothing, photos, labels, key, earlier)
    annotator = learner.make(settings.n_neighbors, rows.groups)
    takes_graph = isinstance(annotator, HarmonicPropagation | LocalGlobalConsistency | SFSS)
    if takes_graph and len(photos.X) > 1 and not OF_GRAPH.intersection(learner.parameters):
        annotator.set_params(graph=photos.neighbors)
    learned, choice = _learn(annotator, photos.X, labels, settings, earlier)
    model = _model_of(learned, learner, rows, labels, photos.X, photos.scaler)
    model.graph = None if photos.graph is None else photos.graph.part
    reused = _reused(photos.graph, any(name in earlier for name in choice))
    return Trained(learned=learned, model=model, features_key=key, choice=choice, reused=reused)


def _train_auto(
    store: ProjectStore,
    settings: Settings,
    learner: Learner,
    rows: FeatureRows,
    labels: TrainingLabels,
    progress: Progress,
) -> Trained:
    annotator: Any = make_annotator(learner, settings, rows.groups).set_params(progress=progress)
    kept: list[KeptGraph] = []

    def link(points: NDArray[Any]) -> NeighborGraph:
        kept.append(KeptGraph(store, points, settings.n_neighbors, n_threads=settings.n_threads))
        return kept[0].graph

    annotator.share_views(annotator.make_views(rows.X, link))
    graph = kept[0] if len(rows.ids) > 1 else None
    annotator.set_params(given=given_by_names(class_probabilities(rows.X, rows.groups), labels.names))
    learned = learn_auto(annotator, rows.X, labels, precision=settings.precision)
    header = ModelHeader.of(learner.name, learned.kind, labels, rows.groups, learned.completeness)
    model = AutoModel.of(annotator, header, rows.ids, learned.values)
    model.graph = None if graph is None else graph.part
    return Trained(learned=learned, model=model, reused=_reused(graph, False))


def _train_ridge(
    settings: Settings,
    learner: Learner,
    smoothing: float,
    photos: RidgePhotos,
    labels: TrainingLabels,
    key: str,
    earlier: dict[str, NDArray[Any]],
) -> Trained:
    strength = float(earlier["strength"]) if "strength" in earlier else choose_strength(photos.X, labels.Y)
    options: dict[str, Any] = {"precision": settings.precision, "method": learner.name, "smoothing": smoothing}
    model, learned = RidgeModel.fit(labels, photos, strength=strength, **options)
    reused = _reused(photos.graph, bool(earlier))
    return Trained(learned=learned, model=model, features_key=key, choice={"strength": strength}, reused=reused)


def _learn(
    annotator: Annotator, X: Any, labels: TrainingLabels, settings: Settings, earlier: dict[str, NDArray[Any]]
) -> tuple[Learned, dict[str, Any]]:
    """Fit any annotator; return what it has learnt, and the parameters that it chose once, and not in every fold."""
    automatic = _automatic(annotator)
    found = {name: earlier[name] for name in automatic if name in earlier}
    if automatic and not found and not too_few(labels) and not tells_probabilities(annotator):
        found = _chosen(clone(annotator).fit(X, labels.Y), automatic)
    fixed = {name: value.item() if value.ndim == 0 else value for name, value in found.items()}
    learned = learn(annotator.set_params(**fixed), X, labels, precision=settings.precision)
    return learned, {name: value.tolist() for name, value in found.items()}


def _model_of(
    learned: Learned,
    learner: Learner,
    rows: FeatureRows,
    labels: TrainingLabels,
    X: Any,
    scaler: GroupScaler | None = None,
) -> StoredModel:
    """Return what is stored of a method: its coefficients, or its predictions where it has none."""
    header = ModelHeader.of(learner.name, learned.kind, labels, rows.groups, learned.completeness)
    header = replace(header, parameters=dict(learner.parameters))
    fitted: Any = learned.annotator
    is_linear = scaler is not None and _is_linear(fitted, X)
    can_score = learned.calibration is not None or learned.kind == SCORE
    if scaler is None or not is_linear or not can_score:
        return OtherModel(header, rows.ids, learned.values)
    coef, intercept = np.asarray(fitted.coef_), np.asarray(fitted.intercept_)
    return LinearModel(header, LinearPart(scaler, coef, intercept, learned.calibration))


def _is_linear(fitted: Any, X: NDArray[Any]) -> bool:
    """Tell whether the coefficients of an annotator give its scores: not if they are of coordinates, or boosted."""
    coef, intercept = getattr(fitted, "coef_", None), getattr(fitted, "intercept_", None)
    if coef is None or intercept is None or np.shape(coef) != (X.shape[1], len(fitted.thresholds_)):
        return False
    few = X[:TRIED_ROWS]
    scores = fitted.decision_function(few)
    return bool(np.allclose(few @ coef + intercept, scores, rtol=1e-4, atol=1e-4 * (np.abs(scores).max() + 1e-12)))


def _automatic(annotator: Annotator) -> list[str]:
    """Return the parameters that an annotator chooses itself."""
    parameters = annotator.get_params(deep=False).items()
    return [name for name, value in parameters if isinstance(value, str) and value == AUTOMATIC]


def _topics(annotator: Annotator, labels: TrainingLabels) -> tuple[dict[str, Any], ...]:
    """Return what is stored of the topics that a topic model has learnt, nothing of other learners."""
    if not isinstance(annotator, LaplacianTopicModel):
        return ()
    topics = annotator.describe_topics(labels.tags, n_tags=SHOWN_IN_A_TOPIC, n_photos=SHOWN_IN_A_TOPIC)
    with_ids = (
        replace(topic, photos=tuple(replace(one, row=int(labels.photo_ids[one.row])) for one in topic.photos))
        for topic in topics
    )
    return tuple(asdict(topic) for topic in with_ids)


def _chosen(fitted: Annotator, names: list[str]) -> dict[str, NDArray[Any]]:
    """Return the numbers that a fitted annotator has chosen for parameters that were "auto"."""
    found = {}
    for name in names:
        with contextlib.suppress(TypeError, ValueError):  # a parameter whose choice is not a number stays automatic
            value = getattr(fitted, f"{name}_", getattr(fitted, f"{name}s_", None))  # one number, or one for each tag
            found[name] = _numbers(value)
    return {name: value for name, value in found.items() if value.dtype.kind == "U" or np.isfinite(value).all()}


def _numbers(value: Any) -> NDArray[Any]:
    """Return words and whole numbers as such, others as floats; raise TypeError or ValueError for what is none."""
    values = np.asarray(value)
    if values.ndim == 0 and values.dtype.kind == "U":
        return values
    return values if values.dtype.kind == "i" else np.asarray(value, dtype=np.float64)


def _earlier_choice(store: ProjectStore, method: str, key: str, labels: TrainingLabels) -> dict[str, NDArray[Any]]:
    """Return what the same learner chose on the same features and labels, empty if it never was."""
    for model in store.models.all():
        known = registration_of(model)
        if known is not None and (known.method, known.features_key, model.labels_digest) == (
            method,
            key,
            labels.digest,
        ):
            with contextlib.suppress(TypeError, ValueError):  # what is registered may be anything
                return {name: _numbers(value) for name, value in known.choice.items()}
    return {}


def _reused(graph: KeptGraph | None, has_choice: bool) -> tuple[str, ...]:
    parts = (("graph", graph is not None and graph.is_reused), ("choice", has_choice))
    return tuple(name for name, is_reused in parts if is_reused)


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
        What the suggestions are.
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
        Positive-only tags: labelled photos without them count as not having them.
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
    learner = choose_learner(settings, method)
    with store.lock(), store.cache() as cache:
        check_decided(store)
        rows = load_rows(store, cache, settings, progress=progress)
        labels = read_labels(store, rows.ids)
        progress.start(f"learning ({learner.name})", None)
        with limit_libraries(settings.n_threads):
            trained = train_learner(store, settings, learner, rows, labels, progress=progress)
        progress.finish()
        model = save_model(
            store,
            trained.model,
            trained.learned.predictions(labels),
            labels,
            FeaturesUsed.of(rows),
            settings,
            features_key=trained.features_key,
            choice=trained.choice,
            topics=_topics(trained.learned.annotator, labels),
            verb=TRAIN,
        )
    skipped: dict[str, str] = getattr(trained.learned.annotator, "left_out_", {})
    return TrainResult(
        model=model,
        method=learner.name,
        n_photos=len(rows.ids),
        n_without_features=rows.n_without,
        is_linear=trained.model.linear is not None,
        reused=trained.reused,
        groups=dict(zip(rows.groups.names, rows.groups.sizes, strict=True)),
        seconds=time.perf_counter() - begin,
        interrupted=INTERRUPTED in skipped.values(),
        untried=tuple(name for name, why in skipped.items() if why == OVER),
        **_counts(labels),
        **_quality(trained.learned, labels, is_auto=learner.is_auto),
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


def _quality(learned: Learned, labels: TrainingLabels, *, is_auto: bool) -> dict[str, Any]:
    """Return the fields of a result that say what the predictions are and how good."""
    is_probability = learned.kind == PROBABILITY
    above = (learned.values > learned.thresholds) & (labels.said == UNKNOWN)
    return {
        "kind": learned.kind,
        "why_scores": learned.why_scores,
        "completeness": learned.completeness if labels.named.any() else None,
        # Scores of `auto` are leave-one-out.
        "fit_map": None if is_auto else _map(labels.Y, learned.annotator.transduction_),
        "held_out_map": _map(labels.Y, learned.values) if is_probability else None,
        "n_above": int(above.sum()) if is_probability else 0,
    }


def _map(Y: LabelMatrix, values: NDArray[Any]) -> float | None:
    rows = labeled_rows(Y)
    figures = average_precision(Y[rows], values[rows])
    return float(np.nanmean(figures)) if not np.isnan(figures).all() else None
