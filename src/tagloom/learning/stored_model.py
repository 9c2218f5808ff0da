"""A model on disk: arrays and a description, and taking the place of the one before together with its suggestions."""

import hashlib
import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from tagloom._version import __version__
from tagloom.catalog.extraction import FeatureRows
from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix, known_patterns
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.probabilities import Calibration, correct_named
from tagloom.learning.probability_map import log_odds
from tagloom.learning.suggest import PROBABILITY
from tagloom.store.models import Model, StoredSuggestions
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.state import auto_state, restore_auto

__all__ = [
    "OWN_PHOTOS",
    "OWN_VALUES",
    "FeaturesUsed",
    "KeptGraph",
    "NewModel",
    "common_strength",
    "features_key",
    "graph_of_model",
    "graph_of_photos",
    "is_whole",
    "load_scaler",
    "numbers_of_new",
    "restore",
    "save_model",
    "scaler_parts",
    "solved_since",
    "trained_features",
    "whole_parts",
]


# The neighbour graph of all photos, kept with the model that was trained on it.

GRAPH_KEY, HOLDS_GRAPH = "graph_key", "holds_graph"
_ROWS_AT_ONCE = 65536


class KeptGraph:
    """The graph of scaled features: that of an earlier model where nothing has changed, or a new one.

    Parameters
    ----------
    store : ProjectStore
        The project.
    X : ndarray of shape (n, d)
        Scaled features.
    n_neighbors : int
        Neighbours of each photo.
    given : NeighborGraph, optional
        The graph, where the caller has it already.
    n_threads : int, optional
        Threads.

    Attributes
    ----------
    graph : NeighborGraph
        Neighbours by Euclidean distance, all weights 1.
    key : str
        Checksum of the features and the number of neighbours.
    is_reused : bool
        Whether a model held it.
    """

    def __init__(
        self,
        store: ProjectStore,
        X: NDArray[Any],
        n_neighbors: int,
        *,
        given: NeighborGraph | None = None,
        n_threads: int | None = None,
    ) -> None:
        k = max(1, min(n_neighbors, len(X) - 1))
        self.key = features_key(X, k)
        found = None if given is not None else _find(store, self.key, len(X))
        self.is_reused = found is not None
        self.graph = given or found or knn_graph(X, k, n_threads=n_threads)

    @property
    def settings(self) -> dict[str, Any]:
        """What is registered of it with a model."""
        return {GRAPH_KEY: self.key, HOLDS_GRAPH: not self.is_reused}

    @property
    def arrays(self) -> dict[str, NDArray[Any]]:
        """What the model file holds of it: nothing where an earlier model's does."""
        if self.is_reused:
            return {}
        weights = self.graph.weights
        return {"graph/indices": weights.indices.astype(np.int32), "graph/starts": weights.indptr.astype(np.int64)}


def features_key(X: NDArray[Any], n_neighbors: int) -> str:
    """Return a checksum of features and a number of neighbours: what is equal has the same graph."""
    digest = hashlib.blake2b(f"{X.shape} {X.dtype.str} {n_neighbors}".encode(), digest_size=16)
    for start in range(0, len(X), _ROWS_AT_ONCE):
        digest.update(np.ascontiguousarray(X[start : start + _ROWS_AT_ONCE]).data)
    return digest.hexdigest()


def graph_of_model(store: ProjectStore, photo_ids: NDArray[np.int64]) -> NeighborGraph | None:
    """Return the graph that the active model was trained on, over other rows; no features are read.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : ndarray of int64
        The rows wanted; a photo that the model has not seen has no neighbours.

    Returns
    -------
    NeighborGraph or None
        None where the model has no graph, or where it is not known which photos its rows are.
    """
    model, stored = store.models.active(), store.suggestions.load()
    if model is None or stored is None or GRAPH_KEY not in model.settings:
        return None
    n = int(model.settings.get("n_photos", 0))
    # Stored together, so that the rows are the same; photos that were scored later come after them.
    if model.run is None or stored.run != model.run or len(stored.photo_ids) < n:
        return None
    found = _find(store, model.settings[GRAPH_KEY], n)
    return None if found is None else graph_of_photos(found, stored.photo_ids[:n], photo_ids)


def graph_of_photos(graph: NeighborGraph, graph_ids: NDArray[np.int64], photo_ids: NDArray[np.int64]) -> NeighborGraph:
    """Return a graph over other rows: photos that it does not have are without neighbours.

    Parameters
    ----------
    graph : NeighborGraph
        A graph.
    graph_ids : ndarray of int64
        The photos of its rows, each once.
    photo_ids : ndarray of int64
        The rows wanted, each once.
    """
    _, wanted, there = np.intersect1d(photo_ids, graph_ids, assume_unique=True, return_indices=True)
    ones, shape = np.ones(len(wanted)), (len(photo_ids), len(graph_ids))
    chosen = sparse.csr_array((ones, (wanted, there)), shape=shape)
    weights = sparse.csr_array(chosen @ graph.weights @ chosen.T)
    weights.sort_indices()
    return NeighborGraph(weights)


def _find(store: ProjectStore, key: str, n: int) -> NeighborGraph | None:
    for model in store.models.all():
        if model.settings.get(GRAPH_KEY) != key or not model.settings.get(HOLDS_GRAPH):
            continue
        try:
            arrays = store.models.load(model.id)[0]
        except (StoreError, OSError) as error:  # it can be made again
            logger.warning("the graph of model %d cannot be read: %s", model.id, error)
            continue
        indices, starts = arrays["graph/indices"], arrays["graph/starts"]
        weights = sparse.csr_array((np.ones(len(indices)), indices, starts.astype(indices.dtype)), shape=(n, n))
        return NeighborGraph(weights)
    return None


# The penalty of a stored ridge regression, told from its coefficients.


def common_strength(X: NDArray[Any], Y: LabelMatrix, coef: NDArray[Any]) -> float:
    """Return the λ that coefficients were fitted with, one for all tags.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels.
    coef : array of shape (d, c)
        The coefficients.

    Notes
    -----
    At the optimum ``X̃ᵀ(ỹ - X̃w) = λw``, so that ``λ = wᵀX̃ᵀ(ỹ - X̃w) / wᵀw`` for every tag. The median over tags: labels
    of a few tags may have changed since.
    """
    patterns, pattern_of = known_patterns(Y)
    found = np.full(Y.shape[1], np.nan)
    for group in range(patterns.shape[1]):
        rows, tags = np.flatnonzero(patterns[:, group]), np.flatnonzero(pattern_of == group)
        lengths = np.square(coef[:, tags]).sum(axis=0)
        if not len(rows) or not lengths.any():
            continue
        centred = X[rows].astype(np.float64)
        centred -= centred.mean(axis=0)
        labels = Y[np.ix_(rows, tags)].astype(np.float64)
        fitted = centred @ coef[:, tags]
        pulls = (fitted * (labels - labels.mean(axis=0) - fitted)).sum(axis=0)
        np.divide(pulls, lengths, out=lengths, where=lengths > 0)
        found[tags] = np.where(np.square(coef[:, tags]).sum(axis=0) > 0, lengths, np.nan)
    known = found[found > 0]
    return float(np.median(known)) if known.size else 1.0


#: What a model says of its photos, in the file of one that is not linear.
OWN_PHOTOS, OWN_VALUES = "own_photo_ids", "own_values"


@dataclass(frozen=True, slots=True, eq=False)
class FeaturesUsed:
    """Which features a model takes: photos, the descriptors' keys, and the groups.

    Parameters
    ----------
    photo_ids : ndarray of int64
        The photos it was trained on.
    keys : dict of str to str
        For each descriptor the key of its cached rows.
    groups : FeatureGroups
        Names and sizes.
    """

    photo_ids: NDArray[np.int64]
    keys: dict[str, str]
    groups: FeatureGroups

    @classmethod
    def of(cls, rows: FeatureRows) -> "FeaturesUsed":
        """Take over what feature rows say of themselves."""
        return cls(rows.ids, rows.keys, rows.groups)

    def described(self) -> dict[str, Any]:
        """Return what is registered with a model."""
        return {"keys": self.keys, "groups": [[name, size] for name, size in self._pairs()]}

    def fits(self, model: Model) -> bool:
        """Tell whether a model takes these features."""
        return bool(model.features == self.described())

    def _pairs(self) -> "zip[tuple[str, int]]":
        return zip(self.groups.names, self.groups.sizes, strict=True)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewModel:
    """All that is stored of a training or an update.

    Parameters
    ----------
    method : str
        The learner's name.
    values : ndarray of float32, shape (n, c)
        The suggestions' numbers.
    kind : {"probability", "score"}
        What they are.
    thresholds : ndarray of shape (c,)
        A tag is suggested above its threshold.
    labels : TrainingLabels
        What was learnt from.
    features : FeaturesUsed
        What from.
    calibration : Calibration or None
        How scores became probabilities.
    graph : KeptGraph or None
        The neighbour graph.
    arrays, info, settings : dict
        What else the model file holds, its description, and what is registered.
    """

    method: str
    values: NDArray[np.float32]
    kind: str
    thresholds: NDArray[np.float64]
    labels: TrainingLabels
    features: FeaturesUsed
    calibration: Calibration | None = None
    graph: KeptGraph | None = None
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def save_model(store: ProjectStore, new: NewModel, *, verb: str) -> int:
    """Store a model; then, in one transaction, its suggestions, and let it take the place of the one before.

    Parameters
    ----------
    store : ProjectStore
        The project.
    new : NewModel
        The model.
    verb : str
        What made it, for the list of runs.

    Returns
    -------
    int
        Its id.
    """
    labels, described = new.labels, new.features.described()
    settings = {"method": new.method, "tagloom": __version__} | new.settings
    run = store.runs.start(verb, settings)
    arrays = dict(new.arrays) | {"thresholds": new.thresholds}
    arrays |= {} if new.calibration is None else new.calibration.arrays()
    arrays |= {} if new.graph is None else new.graph.arrays
    if not new.info.get("is_linear"):
        # Updates of a model that cannot be solved tag by tag start from its own numbers, and replace those suggested.
        arrays |= {OWN_PHOTOS: new.features.photo_ids, OWN_VALUES: new.values}
    info = new.info | {
        "kind": new.kind,
        "tags": labels.tags,
        "tag_ids": labels.tag_ids.tolist(),
        "groups": described["groups"],
        "column_digests": labels.column_digests,
        "silence_is_no": labels.tag_ids[labels.named].tolist(),
        "n_yes": (labels.Y == 1).sum(axis=0).tolist(),
        "forgettable": labels.tag_ids[labels.forgettable].tolist(),
        "reviewed": labels.tag_ids[labels.reviewed].tolist(),
        "completeness": new.info.get("completeness") if new.calibration is None else new.calibration.completeness,
    }
    registered = settings | {"n_decisions": labels.n_decisions, "n_photos": len(new.features.photo_ids)}
    model = store.models.save(
        arrays,
        info,
        features=described,
        labels_digest=labels.digest,
        settings=registered | ({} if new.graph is None else new.graph.settings),
        run=run,
        activate=False,
    )
    with store.transaction():
        store.suggestions.save(
            new.features.photo_ids,
            labels.tag_ids,
            new.values,
            thresholds=new.thresholds,
            run=run,
            info={"kind": new.kind, "model": model, "method": new.method},
        )
        store.models.activate(model)
        store.runs.end(run, {"model": model})
    if new.graph is not None:
        new.graph.is_reused = True  # from now on this model holds it
    return model


def scaler_parts(scaler: GroupScaler) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return arrays and description of a fitted scaler."""
    arrays = {f"means/{name}": values for name, values in scaler.means_.items()}
    arrays |= {f"scales/{name}": values for name, values in scaler.scales_.items()}
    return arrays, scaler.choices_


def load_scaler(arrays: dict[str, NDArray[Any]], info: dict[str, Any]) -> GroupScaler:
    """Return the scaler of a stored model."""
    names, sizes = zip(*info["groups"], strict=True)
    groups = FeatureGroups(list(names), list(sizes))
    scaler = GroupScaler(groups)
    scaler._groups = groups
    scaler.n_features_in_ = sum(sizes)
    scaler.choices_ = info["scaler"]
    scaler.means_ = {name: arrays[f"means/{name}"] for name in names if f"means/{name}" in arrays}
    scaler.scales_ = {name: arrays[f"scales/{name}"] for name in scaler.means_}
    return scaler


# The default method's model as a project stores it: whole, so that it can say more than its numbers.

logger = logging.getLogger(__name__)

STATE = "state"


def whole_parts(annotator: Annotator) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return arrays and description of a fitted annotator; of one that cannot be stored whole nothing."""
    found = auto_state(annotator) if isinstance(annotator, AutoAnnotator) else None
    return ({}, {}) if found is None else (found[0], {STATE: found[1]})


def is_whole(info: dict[str, Any]) -> bool:
    """Tell whether a model's file holds all of an `AutoAnnotator`."""
    return STATE in info


def trained_features(arrays: dict[str, NDArray[Any]], rows: FeatureRows) -> NDArray[np.float32] | None:
    """Return the features of the photos that a model was trained on, in its order; None where some are not there."""
    wanted = arrays[OWN_PHOTOS]
    if np.array_equal(rows.ids, wanted):
        return rows.X
    places = np.minimum(np.searchsorted(rows.ids, wanted), max(len(rows.ids) - 1, 0))
    return rows.X[places] if len(rows.ids) and np.array_equal(rows.ids[places], wanted) else None


def restore(
    arrays: dict[str, NDArray[Any]], info: dict[str, Any], rows: FeatureRows, *, n_threads: int | None
) -> AutoAnnotator | None:
    """Return the annotator of a model file.

    Parameters
    ----------
    arrays, info : dict
        What the file holds.
    rows : FeatureRows
        Features, those of all photos that the model was trained on among them.
    n_threads : int or None
        Threads.

    Returns
    -------
    AutoAnnotator or None
        None where the file does not hold it, or where the photos or features of its training are no longer there.
    """
    if not is_whole(info):
        return None
    X = trained_features(arrays, rows)
    if X is None:
        return None
    try:
        return restore_auto(X, arrays, info[STATE], n_threads=n_threads)
    except InvalidInputError as error:  # it can be trained again, and there are other ways until then
        logger.warning("the stored model cannot be used whole: %s", error)
        return None


def numbers_of_new(
    annotator: AutoAnnotator, X: NDArray[np.float32], arrays: dict[str, NDArray[Any]], info: dict[str, Any]
) -> NDArray[np.float32]:
    """Return numbers (n, c) of photos that an annotator has not seen, of the kind that its model has.

    Parameters
    ----------
    annotator : AutoAnnotator
        See `restore`.
    X : ndarray of float32, shape (n, d)
        Their features.
    arrays, info : dict
        What the model's file holds.

    Notes
    -----
    Where training changed the probabilities of a tag by what was said of its suggestions photo by photo, a new photo
    has what the training gave to photos with the same log-odds of which nothing was said.
    """
    if info["kind"] != PROBABILITY:
        return np.asarray(annotator.decision_function(X), dtype=np.float32)
    told = annotator.predict_proba(X)
    values, tag_ids = told.astype(np.float32), np.asarray(info["tag_ids"])
    nobody, nothing = np.zeros(len(X), dtype=bool), np.full(values.shape, UNKNOWN, dtype=np.int8)
    correct_named(values, nothing, np.isin(tag_ids, info["forgettable"]), nobody, info["completeness"])
    for tag in np.flatnonzero(np.isin(tag_ids, info["reviewed"])):
        is_open = annotator._labels[:, tag] == UNKNOWN
        if is_open.any():
            before, after = annotator.probabilities_[is_open, tag], arrays[OWN_VALUES][is_open, tag]
            order = np.argsort(before, kind="stable")
            found = np.interp(log_odds(told[:, tag]), log_odds(before[order]), log_odds(after[order]))
            values[:, tag] = expit(found)
    return values


def solved_since(arrays: dict[str, NDArray[Any]], info: dict[str, Any], stored: StoredSuggestions) -> set[int]:
    """Return the tags whose numbers are no longer those of the training, but an update's.

    Parameters
    ----------
    arrays, info : dict
        What the model's file holds.
    stored : StoredSuggestions
        The numbers of now.
    """
    _, now, then = np.intersect1d(stored.photo_ids, arrays[OWN_PHOTOS], return_indices=True)
    known, columns, places = np.intersect1d(info["tag_ids"], stored.tag_ids, return_indices=True)
    same = (stored.scores[np.ix_(now, places)] == arrays[OWN_VALUES][np.ix_(then, columns)]).all(axis=0)
    return set(stored.tag_ids.tolist()) - set(known[same].tolist())
