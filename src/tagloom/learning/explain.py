"""The verb behind ``tagloom explain``: why the active model gives a tag to a photo."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from tagloom.catalog.extraction import FeatureRows, load_rows
from tagloom.catalog.lookup import PhotoName, find_photo_ids, find_tag_ids
from tagloom.catalog.results import Result
from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, known_patterns
from tagloom.core.threads import limit_libraries
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph
from tagloom.learning.kept_graph import KeptGraph
from tagloom.learning.labels import TrainingLabels, read_labels
from tagloom.learning.methods import get_learner
from tagloom.learning.probability_map import Mixture
from tagloom.learning.ridge import RidgeLearner
from tagloom.learning.stored_model import (
    OWN_PHOTOS,
    OWN_VALUES,
    FeaturesUsed,
    common_strength,
    is_whole,
    load_scaler,
    restore,
    solved_since,
    trained_features,
)
from tagloom.learning.suggest import PROBABILITY, SCORE
from tagloom.learning.update import Start, start_from
from tagloom.methods import (
    NOVA,
    HarmonicPropagation,
    LapRLS,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.methods.shared.ridge_path import linear_scores
from tagloom.settings import Settings
from tagloom.store.database import as_stored
from tagloom.store.models import StoredSuggestions
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.explain.explain import Decomposition, Explanation, ScoreExplainer

__all__ = ["ExplainResult", "NamedAmount", "PhotoAmount", "ProjectExplainer"]


# Why an update gives a photo its number: by labelled photos and feature groups, and by the model from before.

#: What numbers in single precision leave of an exact sum.
ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class UpdateExplanation(Explanation):
    """An explanation with what the model from before the update adds to the score.

    Attributes
    ----------
    earlier : float
        That amount, which is in neither of the sums by photos and by groups.
    """

    earlier: float = 0.0


class ExplainedUpdate:
    """Explains numbers that mix those of a model with those of a ridge that knows the latest labels.

    Parameters
    ----------
    start : Start
        The model from before, and the ridge's penalty.
    learner : RidgeLearner
        The ridge.
    rows : FeatureRows
        The photos.
    labels : TrainingLabels
        What it learns from.
    scores, Y : ndarray of shape (n, c)
        What is explained, log-odds or scores, and the labels of now.
    tag_ids : ndarray of int64
        Its columns.
    """

    def __init__(
        self,
        start: Start,
        learner: RidgeLearner,
        rows: FeatureRows,
        labels: TrainingLabels,
        scores: Floats,
        Y: LabelMatrix,
        tag_ids: NDArray[np.int64],
    ) -> None:
        self._start, self._learner, self._rows, self._labels = start, learner, rows, labels
        self._scores, self._tag_ids, self.Y = scores, tag_ids, Y
        self._columns = {int(tag): column for column, tag in enumerate(labels.tag_ids)}
        self._solved: dict[int, tuple[ScoreExplainer, Mixture | None]] = {}

    @classmethod
    def of(
        cls,
        store: ProjectStore,
        settings: Settings,
        rows: FeatureRows,
        labels: TrainingLabels,
        scores: Floats,
        Y: LabelMatrix,
        tag_ids: NDArray[np.int64],
    ) -> "ExplainedUpdate | None":
        """Return what explains the active model's updates, None where they are no mixture with a ridge."""
        start = start_from(store, FeaturesUsed.of(rows))
        if not start.is_blended or start.own is None or start.strength is None:
            return None
        X = GroupScaler(rows.groups).fit(rows.X).transform(rows.X)
        options: dict[str, Any] = {"n_threads": settings.n_threads}
        graph = KeptGraph(store, X, settings.n_neighbors, **options).graph if start.smoothing > 0.0 else None
        learner = RidgeLearner(X, start.strength, graph, start.smoothing, settings.n_threads)
        return cls(start, learner, rows, labels, scores, Y, tag_ids)

    def covers(self, tag_id: int) -> bool:
        """Tell whether the numbers of a tag are such a mixture, or scores of the ridge alone."""
        own = self._start.own
        if tag_id not in self._columns or own is None:
            return False
        return own.numbers.kind == SCORE or not own.is_new(np.asarray([tag_id]))[0]

    def explain(self, row: int, column: int) -> UpdateExplanation:
        """Return why a photo has its number for a tag.

        Parameters
        ----------
        row, column : int
            The photo and the tag.
        """
        ridge, mixture = self._solved_tag(int(self._tag_ids[column]))
        part, score = ridge.explain(row, 0), float(self._scores[row, column])
        share, level, earlier = 1.0, 0.0, 0.0
        if mixture is not None:
            weight = float(mixture.weight[row, 0])
            share, level = (1.0 - weight) * float(mixture.slope[0]), (1.0 - weight) * float(mixture.level[0])
            earlier = weight * float(mixture.before[row, 0])
        near: Any = _scaled(part.neighbors, share, level, score - earlier)
        near = replace(near, weights=share * near.weights)
        groups = None if part.groups is None else _scaled(part.groups, share, level, score - earlier)
        return UpdateExplanation(row, column, score, near, groups, None, earlier)

    def _solved_tag(self, tag_id: int) -> tuple[ScoreExplainer, Mixture | None]:
        if tag_id not in self._solved:
            own, column = self._start.own, np.asarray([self._columns[tag_id]], dtype=np.intp)
            found, learner = self._learner.solve(self._labels.Y, column), self._learner
            ridge: Any = RegularizedLeastSquares(learner.strength, smoothing=learner.smoothing)
            ridge.coef_, ridge.intercept_, ridge.regularization_ = found.coef, found.intercept, learner.strength
            Y = self._labels.Y[:, column]
            explainer = ScoreExplainer(ridge, learner.X, Y, groups=self._rows.groups, graph=learner.graph)
            is_mixed = own is not None and own.has.any() and not own.is_new(np.asarray([tag_id]))[0]
            mixture = own.mixture(found.scores, self._labels, column) if own is not None and is_mixed else None
            self._solved[tag_id] = explainer, mixture
        return self._solved[tag_id]


def _scaled(part: Decomposition, share: float, level: float, score: float) -> Decomposition:
    """Return a ridge's sum as a share of another score."""
    amounts, base = share * part.amounts, level + share * part.base
    rest = score - base - float(amounts.sum())
    is_exact = part.is_exact and abs(rest) <= ROUNDING * max(1.0, abs(score))
    return replace(part, amounts=amounts, base=base, rest=rest, is_exact=is_exact)


# What of a stored model can be explained: its own scores where it is there again, or else numbers, by stand-ins.

#: Where tags listen to each other, an explanation solves once for every set of photos that some tag is known on. With
#: more of these than this it would take too long to wait for.
MOST_PATTERNS = 30
#: Fitted again for an explanation: quick, and the same for the same labels.
_FITTED_AGAIN = (HarmonicPropagation, LocalGlobalConsistency, LapRLS, NeighborTransfer)


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedScores:
    """Scores of photos and tags, and what explains them.

    Parameters
    ----------
    photo_ids, tag_ids : ndarray of int64
        Rows and columns.
    explainer : ScoreExplainer or ExplainedUpdate
        Explains them.
    is_log_odds : bool
        Whether they are log-odds of probabilities, the model's own scores not being known.
    """

    photo_ids: NDArray[np.int64]
    tag_ids: NDArray[np.int64]
    explainer: ScoreExplainer | ExplainedUpdate
    is_log_odds: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class StoredNumbers:
    """What is suggested, and the labels of now.

    Parameters
    ----------
    tag_ids : ndarray of int64
        The columns.
    values : ndarray of shape (n, c)
        The numbers.
    kind : {"score", "probability"}
        What they are.
    Y : label matrix of shape (n, c)
        The labels.
    """

    tag_ids: NDArray[np.int64]
    values: NDArray[np.float64]
    kind: str
    Y: LabelMatrix

    @property
    def scores(self) -> NDArray[np.float64]:
        """The numbers, probabilities as log-odds."""
        if self.kind == SCORE:
            return self.values
        limit = float(np.finfo(np.float32).eps)
        return np.asarray(logit(np.clip(self.values, limit, 1.0 - limit)))


def explained_auto(
    arrays: dict[str, NDArray[Any]], info: dict[str, Any], rows: FeatureRows, *, n_threads: int | None
) -> ExplainedScores | None:
    """Return the scores of a stored `AutoAnnotator`, with the labels of its training.

    None where it is not whole, or where explaining one score would take too long.

    Parameters
    ----------
    arrays, info : dict
        What the model's file holds.
    rows : FeatureRows
        Features of its photos, and perhaps of others.
    n_threads : int or None
        Threads.
    """
    annotator, X = restore(arrays, info, rows, n_threads=n_threads), trained_features(arrays, rows)
    if annotator is None or X is None or _takes_too_long(annotator):
        return None
    photo_ids, tag_ids = arrays[OWN_PHOTOS], np.asarray(info["tag_ids"], dtype=np.int64)
    return ExplainedScores(photo_ids, tag_ids, ScoreExplainer(annotator, X, annotator.labels_, groups=annotator.groups))


def _takes_too_long(annotator: AutoAnnotator) -> bool:
    if annotator.mixing_ is None:
        return False
    patterns, _ = known_patterns(annotator.labels_[annotator.model_.rows])
    return patterns.shape[1] > MOST_PATTERNS


def explained_numbers(
    store: ProjectStore,
    method: str,
    arrays: dict[str, NDArray[Any]],
    info: dict[str, Any],
    rows: FeatureRows,
    numbers: StoredNumbers,
    *,
    n_neighbors: int,
    n_threads: int | None,
) -> ExplainedScores:
    """Return the scores of a linear model, of one that is quickly fitted again, or else the numbers that are stored.

    Parameters
    ----------
    store : ProjectStore
        Where a graph may be.
    method : str
        The learner's name.
    arrays, info : dict
        What the model's file holds.
    rows : FeatureRows
        Features of the photos that have numbers.
    numbers : StoredNumbers
        Their numbers and labels.
    n_neighbors : int
        Of the graph.
    n_threads : int or None
        Threads.
    """
    is_stored = bool(info.get("is_linear")) and "coef" in arrays
    scaler = load_scaler(arrays, info) if is_stored else GroupScaler(rows.groups).fit(rows.X)
    X = scaler.transform(rows.X)
    made = get_learner(method).make(n_neighbors, rows.groups)
    graph = None
    if _needs_graph(made) and len(X) > 1:
        graph = KeptGraph(store, X, n_neighbors, n_threads=n_threads).graph
    annotator, scores, is_log_odds = _annotator(made, arrays if is_stored else {}, X, graph, numbers)
    explainer = ScoreExplainer(annotator, X, numbers.Y, groups=rows.groups, scores=scores, graph=graph)
    return ExplainedScores(rows.ids, numbers.tag_ids, explainer, is_log_odds)


def _needs_graph(made: Annotator) -> bool:
    smooths = isinstance(made, RegularizedLeastSquares) and made.smoothing > 0
    return smooths or isinstance(made, HarmonicPropagation | LocalGlobalConsistency)


def _annotator(
    made: Any, arrays: dict[str, NDArray[Any]], X: NDArray[Any], graph: NeighborGraph | None, numbers: StoredNumbers
) -> tuple[Annotator | None, NDArray[np.float64] | None, bool]:
    """Return the model as far as it was stored or can be fitted again, scores where it lacks them, if log-odds."""
    if arrays:
        made.coef_, made.intercept_ = arrays["coef"], arrays["intercept"]
        if isinstance(made, RegularizedLeastSquares):
            made.regularization_ = common_strength(X, numbers.Y, made.coef_)
            return made, None, False
        if isinstance(made, NOVA) and made.boost is None:
            return made, linear_scores(X, made.coef_, made.intercept_), False
        if numbers.kind == SCORE:
            return made, numbers.values, False
    elif isinstance(made, _FITTED_AGAIN):
        if graph is not None:
            made.set_params(graph=graph)
        return made.fit(X, numbers.Y), None, False
    # What the score was before calibration is not known here, and must not be made up from the coefficients.
    return None, numbers.scores, numbers.kind != SCORE


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
    knows_own_label : bool
        Whether that is in the score. It is not where the number is a probability, which is without it too, and the
        score can be had so; elsewhere a note says so.
    photos : tuple of PhotoAmount
        The labelled photos that matter most, the largest amount first.
    photos_base, photos_other, photos_rest : float
        What the score would be if all labels were the tag's frequency, what the photos not listed add together, and
        what is not explained. They, ``earlier`` and the amounts of ``photos`` sum to the score.
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
    earlier : float
        What the model from before an update adds to the score; 0 where the number is no update's. It belongs to both
        sums.
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
    knows_own_label: bool
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
    earlier: float
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
    before : ProjectExplainer, optional
        An earlier one of the same project: what it holds of the same model is taken over.

    Raises
    ------
    StoreError
        If there is no model, or if features have changed since it was trained.
    """

    def __init__(self, store: ProjectStore, settings: Settings, *, before: "ProjectExplainer | None" = None) -> None:
        self._store, self._settings = store, settings
        active, stored = store.models.active(), store.suggestions.load()
        if active is None or stored is None:
            raise StoreError("there is no model yet that could be explained; train one first: tagloom train")
        self.key = _moment(store)
        with as_stored("the model"):
            self.model, self.method = active.id, str(active.settings["method"])
            self._n_neighbors = int(active.settings.get("n_neighbors", settings.n_neighbors))
        self._arrays, self._info = store.models.load(active.id)
        with store.cache() as cache:
            rows = load_rows(store, cache, settings, compute=False)
        if [list(pair) for pair in zip(rows.groups.names, rows.groups.sizes, strict=True)] != self._info["groups"]:
            raise StoreError(
                f"the model was trained on the features {', '.join(name for name, _ in self._info['groups'])}, and the "
                f"settings name {', '.join(rows.groups.names)}; give the same, or train again: tagloom train"
            )
        kept = np.isin(rows.ids, stored.photo_ids)
        self._rows = rows if kept.all() else replace(rows, ids=rows.ids[kept], X=rows.X[kept])
        labels = read_labels(store, self._rows.ids)
        Y = _columns_of(labels.Y, labels.tag_ids, stored.tag_ids)
        values = _aligned(stored, self._rows.ids)
        self._numbers = StoredNumbers(stored.tag_ids, values, str(stored.info["kind"]), Y)
        self._has_changed = labels.digest != active.labels_digest or len(values) != len(stored.photo_ids)
        self._labels = labels
        self._by_numbers: ExplainedScores | None = None
        self._by_update: ExplainedScores | None = None
        self._whole: ExplainedScores | None = None
        if before is not None and before.model == active.id:
            self._whole = before._whole
        if self._whole is None and is_whole(self._info):
            with limit_libraries(settings.n_threads):
                self._whole = explained_auto(self._arrays, self._info, self._rows, n_threads=settings.n_threads)
        #: Tags of which a model that is there again no longer tells the numbers.
        self._solved_since = solved_since(self._arrays, self._info, stored) if OWN_VALUES in self._arrays else set()

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
            self._rows.ids, photo_id, "this photo has no score yet: it was added, or has no features, since training"
        )
        tag_id = find_tag_ids(self._store, [tag])[0]
        column = _place(self._numbers.tag_ids, tag_id, f"the model does not know the tag {tag!r}, which is newer")
        with limit_libraries(self._settings.n_threads):
            scores = self._scores_of(photo_id, tag_id)
            places = np.flatnonzero(scores.photo_ids == photo_id), np.flatnonzero(scores.tag_ids == tag_id)
            explainer, knows_own = self._explainer_of(scores, *(int(place[0]) for place in places))
            found = explainer.explain(*(int(place[0]) for place in places))
        return self._result(found, scores, row, column, n, knows_own, begin)

    def _explainer_of(
        self, scores: ExplainedScores, row: int, column: int
    ) -> tuple[ScoreExplainer | ExplainedUpdate, bool]:
        """Return what explains the score of a photo, and whether what was said of the photo itself is in that score.

        Probabilities of labelled photos are without it, so the score should be.
        """
        if scores.explainer.Y[row, column] == UNKNOWN:
            return scores.explainer, False
        if isinstance(scores.explainer, ExplainedUpdate):  # the numbers of an update know all labels
            return scores.explainer, True
        unaware = scores.explainer.without(row) if self._numbers.kind == PROBABILITY else None
        return (scores.explainer, True) if unaware is None else (unaware, False)

    def _scores_of(self, photo_id: int, tag_id: int) -> ExplainedScores:
        """Return the scores that a photo's number for a tag was made of, or the numbers themselves."""
        if self._whole is not None and tag_id not in self._solved_since and photo_id in self._whole.photo_ids:
            return self._whole
        if tag_id in self._solved_since:
            update = self._explained_update()
            if update is not None and isinstance(update.explainer, ExplainedUpdate) and update.explainer.covers(tag_id):
                return update
        if self._by_numbers is None:
            self._by_numbers = explained_numbers(
                self._store,
                self.method,
                self._arrays,
                self._info,
                self._rows,
                self._numbers,
                n_neighbors=self._n_neighbors,
                n_threads=self._settings.n_threads,
            )
        return self._by_numbers

    def _explained_update(self) -> ExplainedScores | None:
        """Return what explains numbers that an update has mixed with a ridge's, None where it did not."""
        if self._by_update is not None:
            return self._by_update
        settings, numbers = replace(self._settings, n_neighbors=self._n_neighbors), self._numbers
        found = ExplainedUpdate.of(
            self._store, settings, self._rows, self._labels, numbers.scores, numbers.Y, numbers.tag_ids
        )
        if found is None:
            return None
        self._by_update = ExplainedScores(self._rows.ids, numbers.tag_ids, found, numbers.kind == PROBABILITY)
        return self._by_update

    def _result(
        self,
        found: Explanation,
        scores: ExplainedScores,
        row: int,
        column: int,
        n: int,
        knows_own: bool,
        begin: float,
    ) -> ExplainResult:
        near, groups = found.neighbors, found.groups or Decomposition((), np.empty(0), found.score, 0.0, True)
        order = near.order if n == 0 else near.order[:n]
        photo_id = int(self._rows.ids[row])
        listed = [int(scores.photo_ids[near.names[place]]) for place in order]
        table = self._store.photos.table([photo_id, *listed])
        names = dict(zip(table.ids.tolist(), table.paths, strict=True))
        state = int(self._numbers.Y[row, column])
        texts = self._store.tags.texts(scores.tag_ids)
        return ExplainResult(
            photo_id=photo_id,
            photo=names[photo_id],
            tag=texts[found.tag],
            method=self.method,
            model=self.model,
            score=found.score,
            value=float(self._numbers.values[row, column]),
            kind=self._numbers.kind,
            decided=None if state == UNKNOWN else state == 1,
            knows_own_label=knows_own,
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
            earlier=found.earlier if isinstance(found, UpdateExplanation) else 0.0,
            error=found.error,
            notes=self._notes(found, scores, knows_own),
            seconds=time.perf_counter() - begin,
        )

    def _notes(self, found: Explanation, scores: ExplainedScores, knows_own: bool) -> tuple[str, ...]:
        notes = []
        if knows_own and self._numbers.kind == PROBABILITY:
            # Of auto these are photos beyond those that it compares candidates on.
            both = scores is self._whole or scores is self._by_update
            notes.append(
                f"The score knows what was said of this photo; its probability {'does, too' if both else 'does not'}."
            )
        if self._has_changed:
            notes.append("Labels or photos have changed since the model was trained; tagloom train takes them in.")
        if isinstance(found, UpdateExplanation):
            notes.append(
                "The score comes from an update: the model from before it is one row, the update itself is explained."
            )
        if scores.is_log_odds:
            notes.append("The score is the log-odds of the probability: the model's own score was not kept.")
        if not found.neighbors.is_exact:
            notes.append("By photos: not exact; the rest is not explained.")
        if found.groups is not None and not found.groups.is_exact:
            notes.append("By feature groups: not exact; the rest is not explained.")
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
