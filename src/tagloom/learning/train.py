"""The verb behind ``tagloom train``: from what was decided to a model and to suggestions for every photo.

A model is arrays and a description, never a pickle. It is registered first; then, in one transaction, its suggestions
are stored and it takes the place of the one before. A run that is cut off leaves the old model and its suggestions.
"""

import contextlib
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tagloom.catalog.extraction import FeatureRows, load_rows
from tagloom.catalog.results import Result
from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.threads import limit_libraries
from tagloom.features.scaling import GroupScaler
from tagloom.learning.kept_graph import KeptGraph, features_key
from tagloom.learning.labels import TrainingLabels, check_decided, read_labels
from tagloom.learning.methods import Learner, get_learner, make_annotator, prepare
from tagloom.learning.probabilities import Numbers, learn, tells_probabilities, too_few
from tagloom.learning.ridge import RidgeLearner, choose_strength, learn_ridge
from tagloom.learning.stored_model import (
    FeaturesUsed,
    NewModel,
    save_model,
    scaler_parts,
    whole_parts,
)
from tagloom.learning.suggest import PROBABILITY
from tagloom.methods import SFSS, HarmonicPropagation, LocalGlobalConsistency
from tagloom.metrics import average_precision
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.search import INTERRUPTED, OVER

__all__ = ["TRAIN", "TrainResult", "train"]


# Training one learner on a project's features: the graph and the choices that are still right are taken over.

AUTOMATIC = "auto"
FEATURES_KEY, CHOICE = "features_key", "choice"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Trained:
    """What came out of training, and what is stored of it.

    Parameters
    ----------
    numbers : Numbers
        What the learner says of all photos.
    graph : KeptGraph or None
        The neighbour graph it was given.
    arrays, info, settings : dict
        See `tagloom.learning.stored_model.NewModel`.
    reused : tuple of str
        What an earlier model had already.
    """

    numbers: Numbers
    graph: KeptGraph | None = None
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
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
    the last bit, and a chosen penalty where besides the same was decided: a start from scratch gives the same.
    """
    if learner.features is not prepare:
        X = learner.features(rows.X, rows.groups)
        annotator = make_annotator(learner, settings, rows.groups)
        graph: KeptGraph | None = None
        if isinstance(annotator, AutoAnnotator) and len(X) > 1:
            # Not for itself: updates smooth a ridge over it, and must not be kept waiting for it.
            graph = KeptGraph(store, prepare(rows.X, rows.groups), settings.n_neighbors, n_threads=settings.n_threads)
            annotator.set_params(progress=progress)
        return _train_annotator(annotator, X, labels, settings, graph, {}, {})
    scaler = GroupScaler(rows.groups).fit(rows.X)
    X = scaler.transform(rows.X)
    key = features_key(X, settings.n_neighbors)
    choice = _earlier_choice(store, learner.name, key, labels)
    if learner.smoothing is not None:
        return _train_ridge(store, settings, learner.smoothing, X, labels, scaler, key, choice)
    annotator = learner.make(settings.n_neighbors, rows.groups)
    graph = None
    if isinstance(annotator, HarmonicPropagation | LocalGlobalConsistency | SFSS) and len(X) > 1:
        graph = KeptGraph(store, X, settings.n_neighbors, n_threads=settings.n_threads)
        annotator.set_params(graph=graph.graph)
    return _train_annotator(annotator, X, labels, settings, graph, {FEATURES_KEY: key}, choice, scaler)


def _train_ridge(
    store: ProjectStore,
    settings: Settings,
    smoothing: float,
    X: NDArray[np.float32],
    labels: TrainingLabels,
    scaler: GroupScaler,
    key: str,
    choice: dict[str, Any],
) -> Trained:
    graph: KeptGraph | None = None
    if smoothing > 0.0 and len(X) > 1:
        graph = KeptGraph(store, X, settings.n_neighbors, n_threads=settings.n_threads)
    strength = choice["strength"] if choice else choose_strength(X, labels.Y)
    learner = RidgeLearner(X, strength, None if graph is None else graph.graph, smoothing, settings.n_threads)
    numbers = learn_ridge(learner, labels, precision=settings.precision)
    arrays, info = _linear_parts(numbers.annotator, scaler)
    info |= {
        "class": "RegularizedLeastSquares",
        "strength": strength,
        "smoothing": smoothing,
        "n_labeled_at_fit": labels.n_labeled,
    }
    return Trained(
        numbers=numbers,
        graph=graph,
        arrays=arrays,
        info=info,
        settings={FEATURES_KEY: key, CHOICE: {"strength": strength}},
        reused=_reused(graph, choice),
    )


def _train_annotator(
    annotator: Annotator,
    X: Any,
    labels: TrainingLabels,
    settings: Settings,
    graph: KeptGraph | None,
    registered: dict[str, Any],
    choice: dict[str, Any],
    scaler: GroupScaler | None = None,
) -> Trained:
    automatic = [name for name, value in annotator.get_params(deep=False).items() if _is_automatic(value)]
    found = {name: np.asarray(choice[name]) for name in automatic if name in choice}
    if automatic and not found and not too_few(labels) and not tells_probabilities(annotator):
        # Chosen once, and not again in every fold.
        found = _chosen(clone(annotator).fit(X, labels.Y), automatic)
    annotator.set_params(**{name: float(value) if value.ndim == 0 else value for name, value in found.items()})
    numbers = learn(annotator, X, labels, precision=settings.precision)
    arrays, info = _linear_parts(numbers.annotator, scaler)
    if isinstance(annotator, AutoAnnotator):
        state, described = whole_parts(annotator)
        arrays |= state
        info |= {"choice": annotator.choice_, "left_out": annotator.left_out_, "completeness": numbers.completeness}
        info |= described
    return Trained(
        numbers=numbers,
        graph=graph,
        arrays=arrays,
        info={"class": type(annotator).__name__} | info,
        settings=registered | {CHOICE: {name: value.tolist() for name, value in found.items()}},
        reused=_reused(graph, {name: choice[name] for name in automatic if name in choice}),
    )


def _is_automatic(value: Any) -> bool:
    return isinstance(value, str) and value == AUTOMATIC


def _chosen(fitted: Annotator, names: list[str]) -> dict[str, NDArray[Any]]:
    """Return the numbers that a fitted annotator has chosen for parameters that were "auto"."""
    found = {}
    for name in names:
        with contextlib.suppress(TypeError, ValueError):  # a parameter whose choice is not a number stays automatic
            value = getattr(fitted, f"{name}_", getattr(fitted, f"{name}s_", None))  # one number, or one for each tag
            found[name] = np.asarray(value, dtype=np.float64)
    return {name: value for name, value in found.items() if np.isfinite(value).all()}


def _linear_parts(annotator: Annotator, scaler: GroupScaler | None) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what is stored of a linear annotator; of others nothing."""
    if scaler is None or not (hasattr(annotator, "coef_") and hasattr(annotator, "intercept_")):
        return {}, {"is_linear": False}
    arrays, choices = scaler_parts(scaler)
    arrays |= {"coef": np.asarray(annotator.coef_), "intercept": np.asarray(annotator.intercept_)}
    return arrays, {"is_linear": True, "scaler": choices}


def _earlier_choice(store: ProjectStore, method: str, key: str, labels: TrainingLabels) -> dict[str, Any]:
    """Return what the same learner chose on the same features and labels, empty if it never was."""
    for model in store.models.all():
        known = model.settings
        if (known.get("method"), known.get(FEATURES_KEY), model.labels_digest) == (method, key, labels.digest):
            return dict(known.get(CHOICE, {}))
    return {}


def _reused(graph: KeptGraph | None, choice: dict[str, Any]) -> tuple[str, ...]:
    parts = (("graph", graph is not None and graph.is_reused), ("choice", bool(choice)))
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
