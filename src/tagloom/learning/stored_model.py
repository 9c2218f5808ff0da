"""A model on disk: arrays and a description, and taking the place of the one before together with its suggestions."""

import logging
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tagloom._version import __version__
from tagloom.catalog.extraction import FeatureRows
from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix, known_patterns
from tagloom.exceptions import InvalidInputError
from tagloom.features.scaling import GroupScaler
from tagloom.learning.kept_graph import KeptGraph
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.probabilities import Calibration, correct_named
from tagloom.learning.probability_map import log_odds
from tagloom.learning.suggest import PROBABILITY
from tagloom.store.models import Model, StoredSuggestions
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator

__all__ = [
    "OWN_PHOTOS",
    "OWN_VALUES",
    "FeaturesUsed",
    "NewModel",
    "common_strength",
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
    found = annotator.state() if isinstance(annotator, AutoAnnotator) else None
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
        return AutoAnnotator.restore(X, arrays, info[STATE], n_threads=n_threads)
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
        is_open = annotator.labels_[:, tag] == UNKNOWN
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
