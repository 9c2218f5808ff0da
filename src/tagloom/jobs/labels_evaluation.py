"""How good one annotation is, where nothing but its labels is known: cross-validation."""

import time

from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.jobs.results import AnnotateResult
from tagloom.learning.evaluation_data import LEVEL, make_evaluation
from tagloom.learning.methods import Learner, make_annotator
from tagloom.learning.suggest import PROBABILITY
from tagloom.settings import Settings
from tagloom.tuning.evaluation.evaluation import cross_validate

__all__ = ["MIN_PHOTOS", "measure_labels"]

#: Labelled photos from which on figures say anything.
MIN_PHOTOS = 20


def measure_labels(
    result: AnnotateResult, learner: Learner, settings: Settings, *, progress: Progress = NO_PROGRESS
) -> None:
    """Measure a learner on the labels of an annotation, and enter into its result what was found or why nothing was.

    Parameters
    ----------
    result : AnnotateResult
        The annotation: features and labels.
    learner : Learner
        What to measure.
    settings : Settings
        ``n_neighbors``, ``precision``.
    progress : Progress, optional
        Told about each fit.
    """
    begin = time.perf_counter()
    Y, n_labeled = result.Y, result.n_labeled
    n_yes, n_no = int((Y == 1).sum()), int((Y == 0).sum())
    if n_labeled < MIN_PHOTOS or not n_yes or not n_no:
        result.why_not_evaluated = (
            f"How good the suggestions are cannot be told: that takes {MIN_PHOTOS} labelled photos and tags that some "
            f"of them have and some have not; there are {n_labeled}, {n_yes} times a yes and {n_no} times a no."
        )
        return
    annotator = make_annotator(learner, settings, result.groups)
    X = learner.features(result.X, result.groups)
    wanted = settings.precision if result.kind == PROBABILITY else None
    found = cross_validate(annotator, X, Y, precision=wanted, level=LEVEL, progress=progress)
    seconds = time.perf_counter() - begin
    result.evaluation = make_evaluation(
        learner.name, result.tags.names, len(Y), found, wanted_precision=wanted, seconds=seconds
    )
