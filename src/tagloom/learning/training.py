"""Training one learner on a project's features: the graph and the choices that are still right are taken over."""

import contextlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tagloom.catalog.project_features import FeatureRows
from tagloom.core.annotator import Annotator
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.features.scaling import GroupScaler
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.methods import Learner, make_annotator, prepare
from tagloom.learning.probabilities import Numbers, learn, tells_probabilities, too_few
from tagloom.learning.ridge_learning import RidgeLearner, choose_strength, learn_ridge
from tagloom.learning.stored_auto import whole_parts
from tagloom.learning.stored_graph import KeptGraph, features_key
from tagloom.learning.stored_model import scaler_parts
from tagloom.methods import SFSS, HarmonicPropagation, LocalGlobalConsistency
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator

__all__ = ["Trained", "train_learner"]

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
