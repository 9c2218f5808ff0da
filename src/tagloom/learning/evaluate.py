"""The verb behind ``tagloom evaluate``: how good a method is on what was said, and what would make it better."""

import dataclasses
import logging
import math
import os
import time
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.catalog.extraction import FeatureRows, load_rows
from tagloom.catalog.results import Result
from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.tag_names import fold_tag
from tagloom.core.threads import limit_libraries
from tagloom.core.vocabulary import TagVocabulary
from tagloom.exceptions import DamagedStoreError, LabelsFileError, NothingToScoreError, TagloomError
from tagloom.learning.labels import TrainingLabels, check_decided, read_labels
from tagloom.learning.methods import Learner, as_extracted, get_learner, make_annotator, prepare
from tagloom.learning.probabilities import too_few
from tagloom.metadata import PhotoLabels
from tagloom.metadata import read_labels as read_labels_file
from tagloom.methods import RegularizedLeastSquares
from tagloom.metrics import mean_average_precision
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.calibration.calibrated import cautious_precision
from tagloom.tuning.evaluation.evaluation import CrossValidation, cross_validate
from tagloom.tuning.evaluation.group_figures import GroupFigure, compare_groups
from tagloom.tuning.evaluation.label_curve import Forecast, LearningCurve, learning_curve

__all__ = [
    "LEVEL",
    "Bin",
    "Comparison",
    "CurvePoint",
    "Evaluation",
    "LastEvaluation",
    "TagFigures",
    "compare_with_truth",
    "evaluate",
    "keep_evaluation",
    "last_evaluation",
    "make_evaluation",
    "read_truth",
]


# What an evaluation found, as plain data; and putting it together from the figures of cross-validation.

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class TagFigures(Result):
    """How well one tag is found.

    Parameters
    ----------
    tag : str
        The tag.
    n_yes, n_no : int
        Photos that have it, and have it not.
    average_precision, low, high : float or None
        On held-out photos, and its interval; None where no photo has the tag.
    precision, recall : float or None
        Above the threshold; None for 0/0.
    """

    tag: str
    n_yes: int
    n_no: int
    average_precision: float | None
    low: float | None
    high: float | None
    precision: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class CurvePoint(Result):
    """Mean average precision with a part of the labels, and its interval."""

    n_labels: float
    map: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin(Result):
    """Held-out entries of like probability: their mean, the share that has the tag, and how many there are."""

    predicted: float
    observed: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Result):
    """How good a method is on held-out photos.

    Parameters
    ----------
    method : str
        The learner's name.
    folds : int
        Parts that the labelled photos were dealt to; each was hidden once.
    level : float
        Share of samples that an interval holds.
    n_photos, n_labeled, n_tags : int
        Photos with features, labelled ones among them, tags.
    map, map_low, map_high : float
        Mean average precision over all tags that a photo has, and its interval.
    precision, recall : float or None
        Right ones among suggestions above the threshold, and found ones among the right, all tags together.
    tags : tuple of TagFigures
        The best first, those without a figure last.
    reliability : tuple of Bin
        Probabilities beside what came true.
    calibration_error : float or None
        Mean distance of the two.
    curve : tuple of CurvePoint
        With parts of the labels; empty where it was not asked for or labels are too few.
    forecast : Forecast or None
        What more labels would bring.
    groups : tuple of GroupFigure
        What each feature group brings, the one that is missed most first; empty with a single group.
    notes : tuple of str
        What to bear in mind.
    seconds : float
        Wall time.
    n_repeated : int or None, default=None
        Tags that two photos or more have; others have no example left when one is held out, so that they cannot be
        found again. None in what an older version has kept.
    repeated_map, repeated_map_low, repeated_map_high : float or None, default=None
        Mean average precision over those tags, and its interval; None where there are none.
    wanted_precision : float or None, default=None
        Precision that the threshold is for; None where labels are too few for probabilities, so that each tag has a
        threshold of its own, of scores.
    threshold : float or None, default=None
        Probability above which suggestions were accepted; None where there is none.
    n_accepted : int or None, default=None
        Held-out pairs of photo and tag above the threshold.
    precision_low, precision_high : float or None, default=None
        Interval of the precision.
    """

    method: str
    folds: int
    level: float
    n_photos: int
    n_labeled: int
    n_tags: int
    map: float
    map_low: float
    map_high: float
    precision: float | None
    recall: float | None
    tags: tuple[TagFigures, ...]
    reliability: tuple[Bin, ...]
    calibration_error: float | None
    curve: tuple[CurvePoint, ...]
    forecast: Forecast | None
    groups: tuple[GroupFigure, ...]
    notes: tuple[str, ...]
    seconds: float
    n_repeated: int | None = None
    repeated_map: float | None = None
    repeated_map_low: float | None = None
    repeated_map_high: float | None = None
    wanted_precision: float | None = None
    threshold: float | None = None
    n_accepted: int | None = None
    precision_low: float | None = None
    precision_high: float | None = None

    @property
    def accepted(self) -> str:
        """What suggestions were accepted, in words."""
        if self.wanted_precision is None:
            return "suggestions above the threshold of their tag"
        limit = "" if self.threshold is None else f" ({self.threshold:.2f})"
        return f"suggestions above the threshold for {self.wanted_precision:.0%}{limit}"

    def mean_figures(self) -> tuple[tuple[str, float, float, float], ...]:
        """Return the mean average precision as it is shown, the first line first: over what, figure, interval.

        "Over what" is empty where there is one figure alone.
        """
        low, high = self.repeated_map_low, self.repeated_map_high
        if self.repeated_map is None or low is None or high is None or self.repeated_map == self.map:
            return (("", self.map, self.map_low, self.map_high),)
        return (
            ("tags with two examples or more", self.repeated_map, low, high),
            ("all tags", self.map, self.map_low, self.map_high),
        )


def make_evaluation(
    method: str,
    tags: Sequence[str],
    n_photos: int,
    found: CrossValidation,
    *,
    wanted_precision: float | None = None,
    learnt: LearningCurve | None = None,
    groups: Sequence[GroupFigure] = (),
    n_more: int = 100,
    named: NDArray[np.bool_] | None = None,
    seconds: float = 0.0,
) -> Evaluation:
    """Put figures together.

    Parameters
    ----------
    method : str
        The learner's name.
    tags : sequence of str
        The columns.
    n_photos : int
        Photos with features.
    found : CrossValidation
        Figures at the level `LEVEL`.
    wanted_precision : float, optional
        What its threshold is for.
    learnt : LearningCurve, optional
        With parts of the labels.
    groups : sequence of GroupFigure
        What each feature group brings.
    n_more : int, default=100
        Photos of the forecast.
    named : ndarray of bool, shape (c,), optional
        Tags that were named rather than judged.
    seconds : float
        Wall time.
    """
    curve = found.reliability
    forecast = None if learnt is None else learnt.forecast(n_more)
    return Evaluation(
        method=method,
        folds=len(np.unique(found.held_out.folds)),
        level=LEVEL,
        n_photos=n_photos,
        n_labeled=len(found.held_out.rows),
        n_tags=len(tags),
        map=found.map,
        map_low=found.map_low,
        map_high=found.map_high,
        precision=_number(found.precision),
        recall=_number(found.recall),
        tags=_tags(tags, found),
        reliability=()
        if curve is None
        else tuple(
            Bin(float(p), float(o), int(n))
            for p, o, n in zip(curve.predicted, curve.observed, curve.counts, strict=True)
        ),
        calibration_error=None if curve is None else curve.error,
        curve=()
        if learnt is None
        else tuple(
            CurvePoint(*map(float, point))
            for point in zip(learnt.n_labels, learnt.map, learnt.low, learnt.high, strict=True)
        ),
        forecast=forecast,
        groups=tuple(groups),
        notes=_notes(len(tags), 0 if named is None else int(named.sum()), found, forecast),
        seconds=seconds,
        n_repeated=int((found.n_positive >= 2).sum()),
        repeated_map=_number(found.repeated_map),
        repeated_map_low=_number(found.repeated_map_low),
        repeated_map_high=_number(found.repeated_map_high),
        wanted_precision=wanted_precision,
        threshold=_number(found.threshold),
        n_accepted=found.n_accepted,
        precision_low=_number(found.precision_low),
        precision_high=_number(found.precision_high),
    )


def _tags(tags: Sequence[str], found: CrossValidation) -> tuple[TagFigures, ...]:
    figures = [
        TagFigures(
            tag,
            int(found.n_positive[column]),
            int(found.n_known[column] - found.n_positive[column]),
            *(
                _number(values[column])
                for values in (
                    found.average_precision,
                    found.low,
                    found.high,
                    found.tag_precision,
                    found.tag_recall,
                )
            ),
        )
        for column, tag in enumerate(tags)
    ]
    return tuple(
        sorted(figures, key=lambda one: (one.average_precision is None, -(one.average_precision or 0.0), one.tag))
    )


def _notes(n_tags: int, n_named: int, found: CrossValidation, forecast: Forecast | None) -> tuple[str, ...]:
    notes = []
    n_rare = int((found.n_positive < 2).sum())
    if n_rare:
        notes.append(f"{n_rare} of {n_tags} tags have fewer than two examples: they cannot be found again.")
    if n_named:
        notes.append(f"{n_named} tags were named rather than judged: a photo without one counts as a no.")
    if forecast is not None and forecast.is_far:
        notes.append("The forecast looks further ahead than there are labels: take it for a guess.")
    return tuple(notes)


def _number(value: float) -> float | None:
    """Return a number as JSON can hold it."""
    return float(value) if math.isfinite(value) else None


# The last evaluation of a project, kept among its runs; and whether anything was decided since.

logger = logging.getLogger(__name__)

EVALUATE = "evaluate"
#: Of what is kept; raised when the fields of an evaluation mean something else.
FORMAT = 1
_UNREADABLE = (
    "The last evaluation cannot be read: it is damaged, or of another version. Measure again: tagloom evaluate"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastEvaluation(Result):
    """What was measured last.

    Parameters
    ----------
    evaluation : Evaluation or None
        The figures; None where they cannot be read.
    at : float
        When, in seconds since 1970; 0 where it cannot be read.
    is_current : bool
        Whether the same is decided now.
    n_further : int
        Decisions made since, those of undo included.
    """

    evaluation: "Evaluation | None"
    at: float = 0.0
    is_current: bool = False
    n_further: int = 0

    @property
    def note(self) -> str:
        """When that was and what came after, in one sentence."""
        if self.evaluation is None:
            return _UNREADABLE
        when = f"Measured {time.strftime('%Y-%m-%d %H:%M', time.localtime(self.at))}"
        if self.is_current:
            return f"{when}, on all that is decided."
        if self.n_further > 0:
            return f"{when}, before {self.n_further:,} further decision{'' if self.n_further == 1 else 's'}."
        return f"{when}, before tags were changed."


def keep_evaluation(store: ProjectStore, found: "Evaluation", labels: TrainingLabels) -> None:
    """Keep an evaluation with the project; where that fails, say so in the log: the figures are worth more.

    Parameters
    ----------
    store : ProjectStore
        The project.
    found : Evaluation
        What was measured.
    labels : TrainingLabels
        On what.
    """
    settings = {
        "method": found.method,
        "folds": found.folds,
        "labels_digest": labels.digest,
        "n_decisions": labels.n_decisions,
        "tagloom": __version__,
    }
    try:
        with store.transaction():
            run = store.runs.start(EVALUATE, settings)
            store.runs.end(run, {"format": FORMAT, "evaluation": found.as_dict()})
    except TagloomError as error:
        logger.warning("the evaluation could not be kept for reports: %s", error)


def last_evaluation(store: ProjectStore) -> LastEvaluation | None:
    """Return what was measured last, None if nothing ever was.

    Parameters
    ----------
    store : ProjectStore
        The project.

    Returns
    -------
    LastEvaluation or None
        One that is damaged, or that another version has written, has no figures, and a note that says so.
    """
    try:
        runs = store.runs.all(EVALUATE, limit=1)
        if not runs:
            return None
        (run,) = runs
        kept, digest = run.result, run.settings["labels_digest"]
        if kept is None or kept["format"] != FORMAT:
            raise ValueError(f"expected the format {FORMAT}")

        evaluation: Evaluation = _restored(Evaluation, kept["evaluation"])
        n_further = store.decisions.count() - _restored(int, run.settings["n_decisions"])
        at = _restored(float, run.ended)
    except (DamagedStoreError, ValueError, TypeError, KeyError, AttributeError) as error:
        logger.warning("the last evaluation cannot be read: %s", error)
        return LastEvaluation(evaluation=None)
    is_current = digest == store.decisions.labels_digest()
    return LastEvaluation(evaluation=evaluation, at=at, is_current=is_current, n_further=n_further)


def _restored(kind: Any, value: Any) -> Any:
    """Return a value of a type from what JSON holds of it, and raise ValueError where it does not fit.

    This undoes `Result.as_dict` for classes of numbers, texts, tuples and such classes.
    """
    if isinstance(kind, types.UnionType):
        (own,) = (one for one in get_args(kind) if one is not types.NoneType)
        return None if value is None else _restored(own, value)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        # Fields with a default are younger than the format.
        needed = {item.name for item in dataclasses.fields(kind) if item.default is dataclasses.MISSING}
        if not isinstance(value, dict) or not needed <= value.keys() <= hints.keys():
            raise ValueError(f"expected the fields {', '.join(hints)}")
        return kind(**{name: _restored(hints[name], item) for name, item in value.items()})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"expected a list, got {value!r}")
        return tuple(_restored(get_args(kind)[0], item) for item in value)
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"expected {kind.__name__}, got {value!r}")
    return kind(value)


# How good suggestions are, where the truth is known.


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
            f"expected true tags of photos that are not labelled in {said.source!r}, got {said.n_labeled} photos, none "
            f"of which shows how good suggestions are; add photos that the labels do not name, or leave --truth out"
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
