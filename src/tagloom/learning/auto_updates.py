"""Updates of the default method by the method itself: its stored model is taken up and learns from what was decided."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.project_features import FeatureRows
from tagloom.core.labels import known_patterns, labeled_rows
from tagloom.learning.judgements import use_looks
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.probabilities import calibration_method, correct_named, representative
from tagloom.learning.stored_auto import restore, whole_parts
from tagloom.learning.stored_model import OWN_PHOTOS
from tagloom.learning.suggest import PROBABILITY
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto._auto_tags import set_tags
from tagloom.tuning.auto.annotator import AutoAnnotator

__all__ = ["AutoUpdates", "take_up"]

#: Names of arrays in a model's file.
GRAPH_ARRAYS, COEFFICIENTS, LABELED = "graph/", "auto/model/coefficients/", "auto/labels/rows"
#: Of what is registered with a model, what is said anew when it is stored.
REGISTERED_ANEW = ("method", "tagloom", "n_decisions", "n_photos")
#: Memory that kernels may take, and multiplications of an update, above which a ridge stands in: a person waits.
MOST_BYTES, MOST_WORK = 800_000_000, 4e10


class AutoUpdates:
    """An annotator that follows the decisions.

    Parameters
    ----------
    annotator : AutoAnnotator
        As it was trained; it is changed.
    tag_ids : ndarray of int64
        Its columns.
    arrays, info, settings : dict
        What is stored of it besides.
    """

    def __init__(
        self,
        annotator: AutoAnnotator,
        tag_ids: NDArray[np.int64],
        arrays: dict[str, NDArray[Any]],
        info: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self._annotator = annotator
        self._tag_ids = tag_ids
        self._completeness = float(info.get("completeness") or 1.0)
        self._arrays, self._info, self._settings = arrays, info, settings
        annotator._model.keep_kernels()

    def is_quick(self, labels: TrainingLabels) -> bool:
        """Tell whether an update with these labels takes about a second, and memory that is to spare.

        Parameters
        ----------
        labels : TrainingLabels
            What would be learnt from.
        """
        rows = labeled_rows(labels.Y)
        patterns, _ = known_patterns(labels.Y[rows])
        return is_quick(labels.Y.shape, patterns.sum(axis=0), int(rows.sum()), len(self._annotator._model.members))

    def learn(self, labels: TrainingLabels, wanted: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Learn from all labels.

        Parameters
        ----------
        labels : TrainingLabels
            Of the photos that the annotator was trained on.
        wanted : ndarray of int
            Columns that are asked for in any case.

        Returns
        -------
        changed : ndarray of int
            Those, and all others whose probabilities are no longer those of before.
        values : ndarray of float32, shape (n, k)
            Their probabilities.
        """
        annotator = self._annotator
        places = {tag: column for column, tag in enumerate(self._tag_ids.tolist())}
        at = np.asarray([places.get(tag, -1) for tag in labels.tag_ids.tolist()], dtype=np.intp)
        before = annotator.probabilities_
        set_tags(annotator, at)
        self._tag_ids = labels.tag_ids
        annotator.set_params(calibration=calibration_method(labels))
        annotator.update(labels.Y, representative(labels))
        old = np.flatnonzero(at >= 0)
        differs = (annotator.probabilities_[:, old] != before[:, at[old]]).any(axis=0)
        changed = np.union1d(wanted, old[differs])
        return changed, self._numbers(labels, changed)

    def _numbers(self, labels: TrainingLabels, columns: NDArray[np.intp]) -> NDArray[np.float32]:
        annotator = self._annotator
        values = annotator.probabilities_[:, columns].astype(np.float32)
        forgettable = labels.forgettable[columns]
        correct_named(values, labels.said[:, columns], forgettable, labels.listed, self._completeness)
        # Log-odds of decided photos are what is said without their labels: nothing is to be fitted again for that.
        scores = annotator.transduction_.astype(np.float32)
        use_looks(
            values,
            scores[:, columns],
            labels,
            columns,
            lambda tags, _: scores[:, tags],
            is_held_out=True,
            trusted=~annotator.seen_,
        )
        return values

    def parts(self) -> dict[str, Any]:
        """Return arrays, info and settings of a model that has learnt since; see `NewModel`."""
        state, described = whole_parts(self._annotator)
        return {"arrays": self._arrays | state, "info": self._info | described, "settings": self._settings}


def is_quick(shape: tuple[int, ...], known: NDArray[Any], n_labeled: int, n_members: int) -> bool:
    """Tell whether an update takes about a second, and memory that is to spare.

    Parameters
    ----------
    shape : tuple of int
        Photos and tags.
    known : array of int
        Photos that tags are known on, once for all tags that are known on the same ones.
    n_labeled : int
        Labelled photos.
    n_members : int
        Members of the combination.
    """
    n, c = shape
    entries = float(n) * n_labeled
    solved = float((np.asarray(known, dtype=np.float64) ** 3).sum())
    # Scores of all tags, and at times left-out scores of all labelled photos.
    work = n_members * (entries * (c + n_labeled) + solved)
    return 4.0 * entries * n_members <= MOST_BYTES and work <= MOST_WORK


def take_up(store: ProjectStore, rows: FeatureRows, *, model: int | None, n_threads: int | None) -> AutoUpdates | None:
    """Return what updates a stored model of the default method.

    Parameters
    ----------
    store : ProjectStore
        Where it is.
    rows : FeatureRows
        The features of now.
    model : int or None
        The model that updates start from.
    n_threads : int or None
        Threads.

    Returns
    -------
    AutoUpdates or None
        None where the model is another one, is not stored whole, tells no probabilities, or knows other photos; and
        where there is too much of it for quick updates.
    """
    active = store.models.active()
    if active is None or active.id != model:
        return None
    arrays, info = store.models.load(active.id)
    if info.get("kind") != PROBABILITY or not np.array_equal(arrays.get(OWN_PHOTOS, np.empty(0)), rows.ids):
        return None
    n_members = sum(name.startswith(COEFFICIENTS) for name in arrays)
    n_labeled = len(arrays.get(LABELED, ()))
    if not is_quick((len(rows.ids), len(info["tag_ids"])), np.array([n_labeled]), n_labeled, n_members):
        return None
    annotator = restore(arrays, info, rows, n_threads=n_threads)
    if annotator is None:
        return None
    # The graph, what was chosen: all that does not follow from the labels.
    carried = {name: value for name, value in arrays.items() if name.startswith(GRAPH_ARRAYS)}
    described = {name: info[name] for name in ("class", "is_linear", "choice", "left_out", "completeness")}
    settings = {name: value for name, value in active.settings.items() if name not in REGISTERED_ANEW}
    return AutoUpdates(annotator, np.asarray(info["tag_ids"], dtype=np.int64), carried, described, settings)
