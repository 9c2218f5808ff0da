"""The verb behind ``tagloom evaluate``: how good a method is on what was said, and what would make it better."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import FeatureRows, load_rows
from tagloom.core import (
    NO_PROGRESS,
    UNKNOWN,
    Annotator,
    FeatureGroups,
    LabelMatrix,
    Progress,
    TagVocabulary,
    fold_tag,
    labeled_rows,
    limit_libraries,
)
from tagloom.exceptions import LabelsFileError, NothingToScoreError
from tagloom.learning.constants import LEAST_FOR_CURVE, LEVEL, ONE_CANDIDATE
from tagloom.learning.evaluation import ModelEvaluation, make_evaluation
from tagloom.learning.labels import TrainingLabels, check_decided, read_labels
from tagloom.learning.methods import Learner, as_extracted, choose_learner, make_annotator, prepare
from tagloom.learning.names import class_probabilities, given_by_names
from tagloom.learning.probabilities import too_few
from tagloom.learning.stored_evaluation import keep_evaluation
from tagloom.metadata import PhotoLabels
from tagloom.metadata import read_labels as read_labels_file
from tagloom.methods import RegularizedLeastSquares
from tagloom.metrics import mean_average_precision
from tagloom.settings import Settings
from tagloom.store import ProjectStore
from tagloom.tuning.calibration import cautious_precision
from tagloom.tuning.evaluation import GroupFigure, compare_groups, cross_validate, learning_curve

__all__ = ["Comparison", "check_enough", "compare_with_truth", "evaluate", "read_truth"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mean average precision on photos whose labels the learner did not see, row by row: (method, MAP)."""

    rows: list[tuple[str, float]]
    n_photos: int
    n_tags: int


def hidden_truth(
    truth: LabelMatrix, true_tags: TagVocabulary, told: LabelMatrix, told_tags: TagVocabulary
) -> LabelMatrix:
    """Return the truth with all that the learner was told set to unknown.

    Tags that no labelled photo has cannot be suggested, yet count: their labelled rows are hidden too.
    """
    known = np.repeat(labeled_rows(told)[:, None], len(true_tags), axis=1)
    here, there = _common_columns(true_tags, told_tags)
    known[:, here] = told[:, there] != UNKNOWN
    return np.where(known, UNKNOWN, truth).astype(np.int8)


def _common_columns(true_tags: TagVocabulary, tags: TagVocabulary) -> tuple[list[int], list[int]]:
    columns = {fold_tag(tag): column for column, tag in enumerate(tags)}
    common = [(column, columns[fold_tag(tag)]) for column, tag in enumerate(true_tags) if fold_tag(tag) in columns]
    return [here for here, _ in common], [there for _, there in common]


def read_truth(
    truth: str | os.PathLike[str], photos: Sequence[bytes], tags: TagVocabulary, Y: LabelMatrix
) -> PhotoLabels:
    """Read the true tags of photos, and refuse them if nothing can be told from them.

    Parameters
    ----------
    truth : path
        Labels file with the true tags.
    photos : sequence of bytes
        The photos of the rows.
    tags : TagVocabulary
        The tags of the columns.
    Y : label matrix of shape (n, c)
        What the learner is told.

    Raises
    ------
    LabelsFileError
        If it cannot be read, or has no tag for a photo whose tags the learner was not told.
    """
    said = read_labels_file(truth, photos)
    if not (hidden_truth(said.Y, said.vocabulary, Y, tags) == 1).any():
        raise LabelsFileError(
            f"Nothing to compare with: none of the {said.n_labeled} photos in {said.source!r} has a true tag that is "
            f"not labelled. Add photos that the labels do not name, or leave --truth out"
        )
    return said


def compare_with_truth(
    truth: LabelMatrix,
    true_tags: TagVocabulary,
    tags: TagVocabulary,
    Y: LabelMatrix,
    features: NDArray[Any],
    scores: dict[str, NDArray[Any]],
) -> Comparison:
    """Compare scores with the truth, beside two yardsticks.

    The yardsticks are the tag-frequency prior (it ranks all photos alike) and a supervised learner: regularised least
    squares on the labelled photos alone, same features, its regularisation chosen on the labelled photos. All tags of
    the truth count, also those that no labelled photo has.

    Parameters
    ----------
    truth : label matrix of shape (n, k)
        The true tags of the photos.
    true_tags : TagVocabulary
        The tags of its columns.
    tags : TagVocabulary
        The tags of the other columns.
    Y : label matrix of shape (n, c)
        What the learner was told.
    features : array of shape (n, d)
        Scaled features.
    scores : dict of str to array of shape (n, c)
        What to compare, by name.

    Raises
    ------
    NothingToScoreError
        If there is no tag for any of these photos that the learner was not told.
    """
    hidden = hidden_truth(truth, true_tags, Y, tags)
    here, there = _common_columns(true_tags, tags)
    supervised = RegularizedLeastSquares().fit(features, Y).transduction_
    yardsticks = {
        "tag-frequency prior": np.zeros(Y.shape),
        "supervised: ridge on the labelled photos": supervised,
    }
    rows = []
    for name, values in (yardsticks | scores).items():
        aligned = np.full(hidden.shape, values.min())  # a tag that was never seen ranks all photos alike
        aligned[:, here] = values[:, there]
        rows.append((name, mean_average_precision(hidden, aligned)))
    return Comparison(rows, int(labeled_rows(hidden).sum()), int((hidden == 1).any(axis=0).sum()))


def evaluate(
    store: ProjectStore,
    settings: Settings,
    method: str | None = None,
    *,
    folds: int = 5,
    n_more: int = 100,
    curve: bool = True,
    groups: bool = True,
    progress: Progress = NO_PROGRESS,
) -> ModelEvaluation:
    """Measure a method by cross-validation on what was said; the figures are kept for reports, and no model is stored.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken while features are read.
    settings : Settings
        Features, neighbours, threads.
    method : str, optional
        A learner's name; default: the setting ``method``.
    folds : int, default=5
        Parts of the labelled photos; each is hidden once.
    n_more : int, default=100
        Photos of the forecast.
    curve, groups : bool, default=True
        Whether to measure with fewer labels, and without each feature group: several times the work.
    progress : Progress, optional
        Told how far the work is.

    Raises
    ------
    NothingToScoreError
        If fewer than two photos are labelled, or no photo has a tag.
    InvalidInputError
        If nothing was decided yet.
    """
    begin = time.perf_counter()
    learner = choose_learner(settings, method)
    with store.lock(), store.cache() as cache:
        check_decided(store)
        check_enough(store)
        rows = load_rows(store, cache, settings, progress=progress)
    labels = read_labels(store, rows.ids)
    with limit_libraries(settings.n_threads):
        X = learner.features(rows.X, rows.groups)
        annotator = make_annotator(learner, settings, rows.groups)
        if learner.is_auto:
            annotator.set_params(given=given_by_names(class_probabilities(rows.X, rows.groups), labels.names))
        # As in training: suggestions are those above a probability, where probabilities can be told.
        wanted = None if too_few(labels) else settings.precision
        options: dict[str, Any] = {"n_splits": folds, "level": LEVEL, "progress": progress}
        sure = None if wanted is None else cautious_precision(wanted, labels.n_labeled)
        found = cross_validate(annotator, X, labels.Y, precision=sure, **options)
        learnt = None
        if curve and int(labeled_rows(labels.Y).sum()) >= LEAST_FOR_CURVE:
            learnt = learning_curve(annotator, X, labels.Y, **options)
        brought = _groups(learner, settings, rows, X, labels, folds, progress) if groups else []
    result = make_evaluation(
        learner.name,
        labels.tags,
        len(rows.ids),
        found,
        wanted_precision=wanted,
        learnt=learnt,
        groups=brought,
        n_more=n_more,
        named=labels.named,
        seconds=time.perf_counter() - begin,
    )
    keep_evaluation(store, result, labels)
    return result


def check_enough(store: ProjectStore) -> None:
    """Say at once, before any photo is read, that the labels are too few to hide some of them."""
    n_labeled = store.photos.counts().labeled
    if n_labeled < 2:
        raise NothingToScoreError(
            f"Nothing to evaluate: it takes two labelled photos, and there is {n_labeled}. Run: tagloom review"
        )
    if not store.decisions.n_decided(1):
        raise NothingToScoreError("Nothing to evaluate: no photo has a tag yet. Run: tagloom review")


def _groups(
    learner: Learner,
    settings: Settings,
    rows: FeatureRows,
    X: Any,
    labels: TrainingLabels,
    folds: int,
    progress: Progress,
) -> list[GroupFigure]:
    if learner.features not in (prepare, as_extracted):  # columns are not those of the groups
        return []

    def make(kept: FeatureGroups) -> Annotator:
        annotator = make_annotator(learner, settings, kept)
        if learner.is_auto:
            # One choice for each of many subsets would take as many times as long as training.
            annotator.set_params(budget_seconds=ONE_CANDIDATE)
        return annotator

    return compare_groups(
        make,
        X,
        rows.groups,
        labels.Y,
        n_splits=folds,
        level=LEVEL,
        progress=progress,
    )
