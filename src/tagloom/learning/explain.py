"""The verb behind ``tagloom explain``: why the active model gives a tag to a photo."""

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import PhotoName, Result, find_photo_ids, find_tag_ids, load_rows
from tagloom.core import UNKNOWN, limit_libraries, rows_of, take_rows
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.features import GroupScaler
from tagloom.features.network import seen_classes
from tagloom.learning.explained_scores import ExplainedScores, ExplainedUpdate, LabelledPredictions, UpdateExplanation
from tagloom.learning.labels import read_labels, unlabelled
from tagloom.learning.names import class_probabilities, telling_name
from tagloom.learning.predictions import Predictions, log_odds
from tagloom.learning.registration import registration_of
from tagloom.learning.ridge import RidgePhotos
from tagloom.learning.stored_model import NameModel, load_model
from tagloom.learning.suggest import PROBABILITY, suggestion_info
from tagloom.settings import Settings
from tagloom.store import ProjectStore
from tagloom.tuning import Decomposition, Explanation, ScoreExplainer
from tagloom.tuning.auto import AutoAnnotator

__all__ = ["ExplainResult", "ProjectExplainer"]


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
    by_name : float or None
        What the name of the tag adds to the log-odds of the probability, beside the score; None where it adds nothing.
    seen : tuple of NamedAmount
        Classes that the network sees in the photo and that speak most for the name, with their probabilities.
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
    by_name: float | None
    seen: tuple[NamedAmount, ...]
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
        self.id, self._model = active.id, load_model(store, active, n_threads=settings.n_threads)
        registered, header = registration_of(active), self._model.header
        if registered is not None:
            self._settings = replace(settings, n_neighbors=registered.n_neighbors)
        with store.cache() as cache:
            rows = load_rows(store, cache, settings, compute=False)
        if (tuple(rows.groups.names), tuple(rows.groups.sizes)) != (header.group_names, header.group_sizes):
            raise StoreError(
                f"the model was trained on the features {', '.join(header.group_names)}, and the settings name "
                f"{', '.join(rows.groups.names)}; give the same, or train again: tagloom train"
            )
        kept = np.isin(rows.ids, stored.photo_ids)
        self._rows = rows if kept.all() else replace(rows, ids=rows.ids[kept], X=rows.X[kept])
        is_by_name = isinstance(self._model, NameModel) and not len(store.decisions.current().photo_ids)
        self._labels = labels = (
            unlabelled(store, self._rows.ids, self._model.header.tags)
            if is_by_name
            else read_labels(store, self._rows.ids)
        )
        self._info = suggestion_info(stored)
        everything = Predictions.of(stored)
        predictions, _ = everything.aligned(self._rows.ids)
        Y = take_rows(labels.Y.T, rows_of(labels.tag_ids, stored.tag_ids), UNKNOWN).T
        self._current = LabelledPredictions(predictions, Y)
        self._has_changed = labels.digest != active.labels_digest or len(self._rows.ids) != len(stored.photo_ids)
        self._by_predictions: ExplainedScores | None = None
        self._by_update: ExplainedScores | None = None
        if before is not None and before.id == active.id and before._own is not None:
            self._own: ExplainedScores | None = before._own
        else:
            with limit_libraries(settings.n_threads):
                self._own = self._model.own_scores(self._rows)
        #: Tags whose predictions are no longer those of the training.
        self._solved_since = self._model.solved_since(everything)

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
        tag_id = find_tag_ids(self._store, [tag])[0]
        row, column = _entry(self._rows.ids, self._current.tag_ids, photo_id, tag_id)
        if row < 0:
            why = "this photo has no score yet: it is newer than the model, or has no features"
            raise InvalidInputError(f"{why}; train again: tagloom train")
        if column < 0:
            raise InvalidInputError(
                f"the model does not know the tag {tag!r}, which is newer; train again: tagloom train"
            )
        with limit_libraries(self._settings.n_threads):
            scores = self._scores_of(photo_id, tag_id)
            entry = _entry(scores.photo_ids, scores.tag_ids, photo_id, tag_id)
            explainer, knows_own = self._explainer_of(scores, *entry)
            found = explainer.explain(*entry)
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
        unaware = scores.explainer.without(row) if self._current.kind == PROBABILITY else None
        return (scores.explainer, True) if unaware is None else (unaware, False)

    def _scores_of(self, photo_id: int, tag_id: int) -> ExplainedScores:
        """Return the scores behind a photo's prediction for a tag, or the predictions themselves."""
        if self._own is not None and tag_id not in self._solved_since and photo_id in self._own.photo_ids:
            return self._own
        if tag_id in self._solved_since:
            if self._by_update is None:
                self._by_update = self._model.update_scores(self._current, self._info, self._labels, self._photos)
            update = self._by_update
            if update is not None and isinstance(update.explainer, ExplainedUpdate) and update.explainer.covers(tag_id):
                return update
        if self._by_predictions is None:
            self._by_predictions = self._model.current_scores(
                self._rows, self._current, self._photos, self._settings.n_neighbors
            )
        return self._by_predictions

    def _photos(self, scaler: GroupScaler | None) -> RidgePhotos:
        return RidgePhotos(self._store, self._rows, self._settings, scaler=scaler)

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
        state = int(self._current.Y[row, column])
        texts = self._store.tags.texts(scores.tag_ids)
        by_name, seen = self._by_name(found, scores, photo_id)
        return ExplainResult(
            photo_id=photo_id,
            photo=names[photo_id],
            tag=texts[found.tag],
            method=self._model.header.method,
            model=self.id,
            score=found.score,
            value=float(self._current.predictions.values[row, column]),
            kind=self._current.kind,
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
            by_name=by_name,
            seen=seen,
            photos_exact=near.is_exact,
            groups_exact=groups.is_exact,
            earlier=found.earlier if isinstance(found, UpdateExplanation) else 0.0,
            error=found.error,
            notes=self._notes(found, scores, knows_own),
            seconds=time.perf_counter() - begin,
        )

    def _by_name(
        self, found: Explanation, scores: ExplainedScores, photo_id: int
    ) -> tuple[float | None, tuple[NamedAmount, ...]]:
        """Return what the name of a tag adds to log-odds, and the classes that the network sees for it."""
        annotator, names = getattr(scores.explainer, "annotator", None), self._model.header.names
        shares = annotator.given_share(found.row) if isinstance(annotator, AutoAnnotator) else None
        classes = class_probabilities(self._rows.X, self._rows.groups)
        (row,) = rows_of(self._rows.ids, np.array([photo_id]))
        if isinstance(self._model, NameModel):
            shares = log_odds(self._current.predictions.values[row].astype(np.float64))
        if shares is None or classes is None or not names:
            return None, ()
        seen = seen_classes(classes[row], telling_name(names[found.tag]))
        if not seen:
            return None, ()
        return float(shares[found.tag]), tuple(NamedAmount(name, probability) for name, probability in seen)

    def _notes(self, found: Explanation, scores: ExplainedScores, knows_own: bool) -> tuple[str, ...]:
        notes = []
        if knows_own and self._current.kind == PROBABILITY:
            # Of auto these are photos beyond those that it compares candidates on.
            both = scores is self._own or scores is self._by_update
            notes.append(
                f"The score uses your label of this photo; its probability {'does too' if both else 'does not'}."
            )
        if self._has_changed:
            notes.append("Labels or photos have changed since training. To include them, run: tagloom train")
        if isinstance(found, UpdateExplanation):
            notes.append(
                "The score comes from an update: the older model is one row, the update is explained in detail."
            )
        if scores.is_log_odds:
            notes.append("The score is the log-odds of the probability: the model's own score was not kept.")
        if not found.neighbors.is_exact:
            notes.append("The table of photos is approximate; one row holds what it does not explain.")
        if found.groups is not None and not found.groups.is_exact:
            notes.append("The table of feature groups is approximate; one row holds what it does not explain.")
        return tuple(notes)


def _moment(store: ProjectStore) -> tuple[Any, ...]:
    """Return what an explanation depends on, cheap to look up."""
    active = store.models.active()
    return (None if active is None else active.id, store.suggestions.latest(), store.decisions.count())


def _entry(photo_ids: NDArray[np.int64], tag_ids: NDArray[np.int64], photo_id: int, tag_id: int) -> tuple[int, int]:
    """Return row and column of a photo and a tag, -1 for one that is not there."""
    (row,), (column,) = rows_of(photo_ids, np.array([photo_id])), rows_of(tag_ids, np.array([tag_id]))
    return int(row), int(column)


def _named(part: Decomposition, texts: Any) -> tuple[NamedAmount, ...]:
    order = np.argsort(-np.abs(part.amounts), kind="stable")
    named = isinstance(texts, tuple)
    return tuple(
        NamedAmount(str(texts[place] if named else texts[part.names[place]]), float(part.amounts[place]))
        for place in order
    )
