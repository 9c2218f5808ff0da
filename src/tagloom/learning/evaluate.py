"""The verb behind ``tagloom evaluate``: how good a method is on what was said, and what would make it better."""

import time
from typing import Any

from tagloom.catalog.project_features import FeatureRows, load_rows
from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.threads import limit_libraries
from tagloom.exceptions import NothingToScoreError
from tagloom.learning.evaluation_data import LEVEL, Bin, CurvePoint, Evaluation, TagFigures, make_evaluation
from tagloom.learning.labels import TrainingLabels, check_decided, read_labels
from tagloom.learning.methods import Learner, as_extracted, get_learner, make_annotator, prepare
from tagloom.learning.probabilities import too_few
from tagloom.learning.stored_evaluation import keep_evaluation
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.calibration._accepting import cautious_precision
from tagloom.tuning.evaluation.evaluation import cross_validate
from tagloom.tuning.evaluation.group_figures import GroupFigure, compare_groups
from tagloom.tuning.evaluation.label_curve import learning_curve

__all__ = ["Bin", "CurvePoint", "Evaluation", "TagFigures", "evaluate"]

#: Labelled photos from which a part of them says anything.
_LEAST_FOR_CURVE = 20
#: A budget in which ``auto`` tries its usual candidate alone.
ONE_CANDIDATE = 1e-3


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
) -> Evaluation:
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
    learner = get_learner(method or settings.method)
    with store.lock(), store.cache() as cache:
        check_decided(store)
        _check_enough(store)
        rows = load_rows(store, cache, settings, progress=progress)
    labels = read_labels(store, rows.ids)
    with limit_libraries(settings.n_threads):
        X = learner.features(rows.X, rows.groups)
        annotator = make_annotator(learner, settings, rows.groups)
        # As in training: suggestions are those above a probability, where probabilities can be told.
        wanted = None if too_few(labels) else settings.precision
        options: dict[str, Any] = {"n_splits": folds, "level": LEVEL, "progress": progress}
        sure = None if wanted is None else cautious_precision(wanted, labels.n_labeled)
        found = cross_validate(annotator, X, labels.Y, precision=sure, **options)
        learnt = None
        if curve and int(labeled_rows(labels.Y).sum()) >= _LEAST_FOR_CURVE:
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


def _check_enough(store: ProjectStore) -> None:
    """Say at once, before any photo is read, that the labels are too few to hide some of them."""
    n_labeled = store.photos.counts().labeled
    if n_labeled < 2:
        raise NothingToScoreError(
            f"Nothing to evaluate: it takes two labelled photos, and there is {n_labeled}. Run: tagloom review"
        )
    if not store.decisions.n_standing(1):
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
        if isinstance(annotator, AutoAnnotator):
            # One choice for each of many subsets would take as many times as long as training.
            annotator.set_params(also=(), budget_seconds=ONE_CANDIDATE)
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
