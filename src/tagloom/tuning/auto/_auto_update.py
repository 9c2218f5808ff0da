"""Learning from changed labels with a fitted `AutoAnnotator`: its members stay, probabilities keep up with its scores.

With more labels scores become surer, so that a map learnt from scores of fewer labels is wrong for them before long. In
time, left-out scores of all labelled photos are computed anew, and the map with them: in closed form, as in the search.
"""

import time
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.exceptions import InvalidLabelsError
from tagloom.tuning.auto._pattern_left_out import members_left_out
from tagloom.tuning.auto._soft_labels import change_targets, soft_priors
from tagloom.tuning.auto.search import Search
from tagloom.tuning.calibration._held_out import folds_of

if TYPE_CHECKING:
    from tagloom.tuning.auto.annotator import AutoAnnotator

__all__ = ["is_calibration_due", "tag_counts", "update_auto"]

#: Labelled photos, in units of those at the last calibration, from which on it is made anew; and so for the photos
#: that a tag is known on, and that have it. Where there are as much fewer, as after an undo, it is made anew, too.
DUE, DUE_FOR_TAG = 1.1, 2.0
#: Share of a fit's budget after which left-out scores of tags known on different photos are no longer made exact.
CALIBRATION_SHARE = 0.3


def update_auto(annotator: "AutoAnnotator", Y: LabelMatrix) -> NDArray[np.intp]:
    """Solve the tags whose labels changed; return those whose probabilities are others now.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted.
    Y : label matrix of shape (n, c)
        All labels.
    """
    labels = targets = annotator._labels_to_learn(Y)
    due = is_calibration_due(annotator, labels)
    if annotator.absent_means == "unknown":
        if due and (labels != UNKNOWN).any():
            return _learn_anew(annotator, Y, labels)
        targets = change_targets(Y, annotator._labels, annotator._targets, annotator._left_out, annotator._forgotten)
    tags = np.flatnonzero((targets != annotator._targets).any(axis=0))
    if not len(tags) and not due:
        return tags
    if not (labels != UNKNOWN).any():
        raise InvalidLabelsError("update needs at least one known label; all entries of Y are -1 (unknown)")
    rows = _rows_to_learn(annotator, labels)
    # A photo that moves in where another has lost its labels brings those of tags that did not change.
    moved_in = np.setdiff1d(rows, annotator._model.rows)
    tags = np.union1d(tags, np.flatnonzero((targets[moved_in] != UNKNOWN).any(axis=0)))
    annotator._targets, annotator._priors = targets.copy(), soft_priors(targets)
    if len(tags):
        annotator._deviations[:, tags] = annotator._model.update(targets, rows, annotator._priors, tags)
    if due:
        _calibrate(annotator, labels, rows)
        tags = np.arange(Y.shape[1])
    else:
        if annotator._refinement.changes_nothing:
            annotator._scores[:, tags] = annotator._deviations[:, tags] + annotator._priors[tags]
        else:
            annotator._scores = annotator._refinement.of_all(annotator._deviations) + annotator._priors
            tags = np.arange(Y.shape[1])
        annotator._left_out = np.where(labels == UNKNOWN, annotator._scores, annotator._left_out)
        annotator._scale = annotator._scale_of(labels, annotator._scale.rates)
    annotator._finish(Y, labels)
    return tags


def is_calibration_due(annotator: "AutoAnnotator", labels: LabelMatrix) -> bool:
    """Tell whether the map to probabilities is to be learnt anew.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted.
    labels : label matrix of shape (n, c)
        What is learnt from now.
    """
    # What another method says of photos without their labels is not known in closed form.
    if annotator._refinement.outcome is not None:
        return False
    # A version that did not note them has stored it: the photos that were compared on, and nothing of tags.
    before = max(getattr(annotator, "_n_calibrated", len(annotator._search_rows)), 1)
    now = int(labeled_rows(labels).sum())
    if now >= DUE * before or before >= DUE * now:
        return True
    then, counts = getattr(annotator, "_calibrated_counts", None), tag_counts(labels)
    if then is None:
        return True
    # A tag that is new has scores without its labels that know nothing, not even of its other labels.
    more = counts >= DUE_FOR_TAG * np.maximum(then, 0.5)
    fewer = then >= DUE_FOR_TAG * np.maximum(counts, 0.5)
    return bool((more | fewer).any())


def tag_counts(labels: LabelMatrix) -> NDArray[np.intp]:
    """Return for each tag how many photos have it, and how many it is known on, shape (2, c)."""
    return np.stack([(labels == 1).sum(axis=0), (labels != UNKNOWN).sum(axis=0)])


def _calibrate(annotator: "AutoAnnotator", labels: LabelMatrix, rows: NDArray[np.intp]) -> None:
    deviations = _leave_out(annotator, labels, rows)
    annotator._express(labels, deviations)
    left_out = annotator._refinement.of_left_out(deviations) + annotator._priors
    annotator._calibrate(labels, left_out, _folds(annotator, labels))


def _learn_anew(annotator: "AutoAnnotator", Y: LabelMatrix, labels: LabelMatrix) -> NDArray[np.intp]:
    """Do all that a fit does once members are chosen: how many tags are forgotten is told by all labels."""
    rows = _rows_to_learn(annotator, labels)
    deviations = _leave_out(annotator, labels, rows)
    refinement = annotator._refinement
    plain = annotator._learn_plainly(labels, rows, deviations)
    annotator._refinement = refinement
    annotator._settle(Y, labels, rows, deviations, _folds(annotator, labels), plain)
    return np.arange(Y.shape[1])


def _leave_out(annotator: "AutoAnnotator", labels: LabelMatrix, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Choose the photos that left-out scores are of; return deviations by the members."""
    annotator._search_rows = compared = _rows_to_compare(rows, annotator.max_search_rows)
    search = Search(annotator._views, annotator._model.weightings, labels, compared)
    end = time.perf_counter() + CALIBRATION_SHARE * annotator.budget_seconds
    return members_left_out(search, annotator._model, go_on=lambda: time.perf_counter() < end)


def _folds(annotator: "AutoAnnotator", labels: LabelMatrix) -> NDArray[np.intp]:
    return folds_of(annotator._views.plain, labels, annotator._search_rows)


def _rows_to_learn(annotator: "AutoAnnotator", labels: LabelMatrix) -> NDArray[np.intp]:
    """Return the labelled photos, those learnt from before first where there are too many."""
    rows = np.flatnonzero(labeled_rows(labels))
    if len(rows) <= annotator.max_rows:
        return rows
    kept = np.intersect1d(annotator._model.rows, rows)
    added = np.setdiff1d(rows, kept)[: annotator.max_rows - len(kept)]
    return np.union1d(kept, added)


def _rows_to_compare(rows: NDArray[np.intp], most: int) -> NDArray[Any]:
    """Return the photos whose left-out scores are computed; drawn at random where there are too many."""
    return rows if len(rows) <= most else np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
