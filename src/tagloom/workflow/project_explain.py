"""The verb behind ``tagloom explain``: why the active model gives a tag to a photo."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from threadpoolctl import threadpool_limits

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph
from tagloom.methods import (
    NOVA,
    HarmonicPropagation,
    LapRLS,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.methods.baselines.ridge_path import linear_scores
from tagloom.store.models import StoredSuggestions
from tagloom.store.project import ProjectStore
from tagloom.tuning.explain import Decomposition, Explanation, ScoreExplainer
from tagloom.workflow.learners import get_learner
from tagloom.workflow.project_features import load_rows
from tagloom.workflow.project_names import PhotoName, find_photo_ids, find_tag_ids
from tagloom.workflow.project_results import Result
from tagloom.workflow.project_suggest import SCORE
from tagloom.workflow.restored_ridge import common_strength
from tagloom.workflow.settings import Settings
from tagloom.workflow.stored_graph import KeptGraph
from tagloom.workflow.trained_model import load_scaler
from tagloom.workflow.training_labels import read_labels

__all__ = ["ExplainResult", "NamedAmount", "PhotoAmount", "ProjectExplainer"]

#: Fitted again for an explanation: quick, and the same for the same labels.
_FITTED_AGAIN = (HarmonicPropagation, LocalGlobalConsistency, LapRLS, NeighborTransfer)


@dataclass(frozen=True, slots=True)
class PhotoAmount(Result):
    """What one labelled photo adds to a score.

    Parameters
    ----------
    photo_id : int
        The photo.
    photo : bytes
        Its path below the folder of photos.
    has_tag : bool
        What was said of it.
    weight : float
        By how much the score would rise if a no to the tag became a yes there.
    amount : float
        What it adds to the score, or takes from it.
    """

    photo_id: int
    photo: bytes
    has_tag: bool
    weight: float
    amount: float


@dataclass(frozen=True, slots=True)
class NamedAmount(Result):
    """What a feature group or another tag adds to a score.

    Parameters
    ----------
    name : str
        The group or tag.
    amount : float
        What it adds to the score, or takes from it.
    """

    name: str
    amount: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainResult(Result):
    """Why a photo has its score for a tag.

    Parameters
    ----------
    photo_id : int
        The photo.
    photo : bytes
        Its path below the folder of photos.
    tag, method : str
        The tag, and how the model was trained.
    model : int
        The model.
    score : float
        What is explained: the model's score, not calibrated; the log-odds of the probability where the score of the
        model cannot be had again (a note says so).
    value : float or None
        The number that ``tagloom suggest`` goes by.
    kind : {"score", "probability"}
        What that number is.
    decided : bool or None
        What was said of the photo itself; None: nothing.
    photos : tuple of PhotoAmount
        The labelled photos that matter most, the largest amount first.
    photos_base, photos_other, photos_rest : float
        What the score would be if all labels were the tag's frequency, what the photos not listed add together, and
        what is not explained. They and the amounts of ``photos`` sum to the score.
    n_other : int
        Photos not listed.
    groups : tuple of NamedAmount
        Feature groups, the largest amount first.
    groups_base, groups_rest : float
        The score of an average photo, and what is not explained.
    tags : tuple of NamedAmount
        Scores of other tags; empty where the model looks at each tag alone.
    photos_exact, groups_exact : bool
        Whether this is how the model itself comes to its score; otherwise a simpler one stands in for it.
    error : float
        The larger of the two amounts that are not explained.
    notes : tuple of str
        What to bear in mind.
    seconds : float
        Wall time.
    """

    photo_id: int
    photo: bytes
    tag: str
    method: str
    model: int
    score: float
    value: float | None
    kind: str
    decided: bool | None
    photos: tuple[PhotoAmount, ...]
    photos_base: float
    photos_other: float
    photos_rest: float
    n_other: int
    groups: tuple[NamedAmount, ...]
    groups_base: float
    groups_rest: float
    tags: tuple[NamedAmount, ...]
    photos_exact: bool
    groups_exact: bool
    error: float
    notes: tuple[str, ...]
    seconds: float


class ProjectExplainer:
    """Explanations of the active model's scores; features, graph and factorisations are kept between them.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken while features are read. No photo is.
    settings : Settings
        Features, threads.

    Raises
    ------
    StoreError
        If there is no model, or if features have changed since it was trained.
    """

    def __init__(self, store: ProjectStore, settings: Settings) -> None:
        self._store, self._n_threads = store, settings.n_threads
        active, stored = store.models.active(), store.suggestions.load()
        if active is None or stored is None:
            raise StoreError("there is no model yet that could be explained; train one first: tagloom train")
        self.key = _moment(store)
        self._is_log_odds = False
        self.model, self.method = active.id, str(active.settings["method"])
        arrays, self._info = store.models.load(active.id)
        with store.lock(), store.cache() as cache:
            rows = load_rows(store, cache, settings, compute=False)
        if [list(pair) for pair in zip(rows.groups.names, rows.groups.sizes, strict=True)] != self._info["groups"]:
            raise StoreError(
                f"the model was trained on the features {', '.join(name for name, _ in self._info['groups'])}, and the "
                f"settings name {', '.join(rows.groups.names)}; give the same, or train again: tagloom train"
            )
        kept = np.isin(rows.ids, stored.photo_ids)
        self._ids, self._groups = rows.ids[kept], rows.groups
        self._values, self._kind = _aligned(stored, self._ids), str(stored.info["kind"])
        labels = read_labels(store, self._ids)
        self._tag_ids = stored.tag_ids
        self._Y = _columns_of(labels.Y, labels.tag_ids, self._tag_ids)
        self._has_changed = labels.digest != active.labels_digest or len(self._ids) != len(stored.photo_ids)
        n_neighbors = int(active.settings.get("n_neighbors", settings.n_neighbors))
        with threadpool_limits(self._n_threads):
            self._explainer = self._make(arrays, rows.X if kept.all() else rows.X[kept], n_neighbors)

    def is_current(self) -> bool:
        """Tell whether neither the model nor what was decided is another one by now."""
        return self.key == _moment(self._store)

    def explain(self, photo: PhotoName, tag: str, *, n: int = 8, base: Any = None) -> ExplainResult:
        """Return why a photo has its score for a tag.

        Parameters
        ----------
        photo : int, str, bytes or path
            The photo.
        tag : str
            The tag, by any of its names.
        n : int, default=8
            Labelled photos that are listed; 0 means all.
        base : path, optional
            A folder that a relative path may start from.
        """
        begin = time.perf_counter()
        if n < 0:
            raise InvalidInputError(f"n must be at least 0, got {n}")
        photo_id = find_photo_ids(self._store, photo, base=base)[0]
        row = _place(
            self._ids, photo_id, "this photo has no score yet: it was added, or has no features, since training"
        )
        tag_id = find_tag_ids(self._store, [tag])[0]
        column = _place(self._tag_ids, tag_id, f"the model does not know the tag {tag!r}, which is newer")
        with threadpool_limits(self._n_threads):
            found = self._explainer.explain(row, column)
        return self._result(found, photo_id, n, begin)

    def _make(self, arrays: dict[str, NDArray[Any]], features: NDArray[Any], n_neighbors: int) -> ScoreExplainer:
        learner = get_learner(self.method)
        is_stored = bool(self._info.get("is_linear")) and "coef" in arrays
        scaler = load_scaler(arrays, self._info) if is_stored else GroupScaler(self._groups).fit(features)
        X = scaler.transform(features)
        made = learner.make(n_neighbors, self._groups)
        graph = self._graph(made, X, n_neighbors)
        annotator, scores = self._annotator(made, arrays if is_stored else {}, X, graph)
        return ScoreExplainer(annotator, X, self._Y, groups=self._groups, scores=scores, graph=graph)

    def _graph(self, made: Annotator, X: NDArray[Any], n_neighbors: int) -> NeighborGraph | None:
        smooths = isinstance(made, RegularizedLeastSquares) and made.smoothing > 0
        spreads = isinstance(made, HarmonicPropagation | LocalGlobalConsistency)
        if (smooths or spreads) and len(X) > 1:
            return KeptGraph(self._store, X, n_neighbors, n_threads=self._n_threads).graph
        return None

    def _annotator(
        self, made: Any, arrays: dict[str, NDArray[Any]], X: NDArray[Any], graph: NeighborGraph | None
    ) -> tuple[Annotator | None, NDArray[np.float64] | None]:
        """Return the model as far as it was stored or can be fitted again, and scores where it does not have them."""
        if arrays:
            made.coef_, made.intercept_ = arrays["coef"], arrays["intercept"]
            if isinstance(made, RegularizedLeastSquares):
                made.regularization_ = common_strength(X, self._Y, made.coef_)
                return made, None
            if isinstance(made, NOVA) and made.boost is None:
                return made, linear_scores(X, made.coef_, made.intercept_)
            if self._kind == SCORE:
                return made, self._values
        elif isinstance(made, _FITTED_AGAIN):
            if graph is not None:
                made.set_params(graph=graph)
            return made.fit(X, self._Y), None
        # What the score was before calibration is not known here, and must not be made up from the coefficients.
        self._is_log_odds = self._kind != SCORE
        limit = float(np.finfo(np.float32).eps)
        return None, logit(np.clip(self._values, limit, 1.0 - limit)) if self._is_log_odds else self._values

    def _result(self, found: Explanation, photo_id: int, n: int, begin: float) -> ExplainResult:
        near, groups = found.neighbors, found.groups or Decomposition((), np.empty(0), found.score, 0.0, True)
        order = near.order if n == 0 else near.order[:n]
        listed = [int(self._ids[near.names[place]]) for place in order]
        table = self._store.photos.table([photo_id, *listed])
        names = dict(zip(table.ids.tolist(), table.paths, strict=True))
        state = int(self._Y[found.row, found.tag])
        texts = self._store.tags.texts(self._tag_ids)
        return ExplainResult(
            photo_id=photo_id,
            photo=names[photo_id],
            tag=texts[found.tag],
            method=self.method,
            model=self.model,
            score=found.score,
            value=float(self._values[found.row, found.tag]),
            kind=self._kind,
            decided=None if state == UNKNOWN else state == 1,
            photos=tuple(
                PhotoAmount(
                    number,
                    names[number],
                    bool(near.labels[place] == 1),
                    float(near.weights[place]),
                    float(near.amounts[place]),
                )
                for number, place in zip(listed, order, strict=True)
            ),
            photos_base=near.base,
            photos_other=float(near.amounts.sum() - near.amounts[order].sum()),
            photos_rest=near.rest,
            n_other=len(near.amounts) - len(order),
            groups=_named(groups, groups.names),
            groups_base=groups.base,
            groups_rest=groups.rest,
            tags=() if found.tags is None else _named(found.tags, texts),
            photos_exact=near.is_exact,
            groups_exact=groups.is_exact,
            error=found.error,
            notes=self._notes(found),
            seconds=time.perf_counter() - begin,
        )

    def _notes(self, found: Explanation) -> tuple[str, ...]:
        notes = []
        if self._has_changed:
            notes.append("Labels or photos have changed since the model was trained; tagloom train takes them in.")
        if self._is_log_odds:
            notes.append("The score is the log-odds of the probability: the model's own score was not kept.")
        if not found.neighbors.is_exact:
            notes.append("By photos: not exact; what is missing is given as rest.")
        if found.groups is not None and not found.groups.is_exact:
            notes.append("By feature groups: not exact; what is missing is given as rest.")
        return tuple(notes)


def _moment(store: ProjectStore) -> tuple[Any, ...]:
    """Return what an explanation depends on, cheap to look up."""
    active = store.models.active()
    return (None if active is None else active.id, store.suggestions.latest(), store.decisions.count())


def _aligned(stored: StoredSuggestions, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    order = np.argsort(stored.photo_ids)
    rows = order[np.searchsorted(stored.photo_ids, ids, sorter=order)]
    return np.asarray(stored.scores[rows], dtype=np.float64)


def _columns_of(Y: LabelMatrix, have: NDArray[np.int64], wanted: NDArray[np.int64]) -> LabelMatrix:
    """Return the columns of some tags, unknown where nothing was said of them."""
    places = {int(tag): column for column, tag in enumerate(have)}
    found = np.full((len(Y), len(wanted)), UNKNOWN, dtype=np.int8)
    for column, tag in enumerate(wanted.tolist()):
        if tag in places:
            found[:, column] = Y[:, places[tag]]
    return found


def _place(ids: NDArray[np.int64], number: int, reason: str) -> int:
    places = np.flatnonzero(ids == number)
    if not places.size:
        raise InvalidInputError(f"{reason}; train again: tagloom train")
    return int(places[0])


def _named(part: Decomposition, texts: Any) -> tuple[NamedAmount, ...]:
    order = np.argsort(-np.abs(part.amounts), kind="stable")
    named = isinstance(texts, tuple)
    return tuple(
        NamedAmount(str(texts[place] if named else texts[part.names[place]]), float(part.amounts[place]))
        for place in order
    )
