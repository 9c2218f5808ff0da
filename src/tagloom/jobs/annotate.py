"""The main job: from a folder of photos and a labels file to keywords for every photo."""

import datetime
import logging
import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.catalog.extraction import check_descriptors, list_photos, make_folder, open_engine
from tagloom.catalog.logs import configure_logging
from tagloom.catalog.output_guard import MadeFiles, check_results
from tagloom.catalog.places import check_output_folder
from tagloom.core.annotator import Annotator
from tagloom.core.files import atomic_write
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.photos import FeatureCache, PhotoRecord
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.threads import limit_libraries
from tagloom.core.vocabulary import TagVocabulary
from tagloom.exceptions import LabelsFileError, NothingToScoreError, PhotosError
from tagloom.features import ExtractionCounts
from tagloom.learning.evaluate import compare_with_truth, read_truth
from tagloom.learning.evaluation import LEVEL, make_evaluation
from tagloom.learning.labels import TrainingLabels, labels_of
from tagloom.learning.methods import Learner, get_learner, make_annotator, prepare
from tagloom.learning.probabilities import Learned, learn, probability_threshold, too_few
from tagloom.learning.suggest import PROBABILITY, SCORE, top_suggestions
from tagloom.metadata import KeywordRow, PhotoLabels, name_to_text, read_labels, write_keywords
from tagloom.methods.topics import LaplacianTopicModel, TopicDescription
from tagloom.report.data import add_thumbnails, make_photos, suggestions_first
from tagloom.report.page import ReportData, UnreadablePhoto, write_report
from tagloom.settings import Settings
from tagloom.store import FolderCache
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.evaluation.evaluation import cross_validate

if TYPE_CHECKING:
    from tagloom.learning.evaluate import Comparison
    from tagloom.learning.evaluation import ModelEvaluation

__all__ = ["AnnotateResult", "annotate"]


# What an annotation gives.

LEAST_LISTED = 0.1
"""The smallest probability of a tag that is listed for a photo without a label."""


@dataclass(slots=True)
class AnnotateResult:
    """What `annotate` did.

    Attributes
    ----------
    photos : list of bytes
        Readable photos, relative to the folder; the rows of ``Y`` and ``scores``.
    tags : TagVocabulary
        The columns.
    Y : label matrix
        What the labels file said.
    scores : ndarray of shape (n, c)
        Probabilities where labels are enough to tell them, and otherwise the learner's scores.
    kind : {"probability", "score"}
        Which.
    threshold : float
        Probability above which tags are suggested; +inf where none is sure enough, and of scores.
    why_scores : str
        Why they are not probabilities; empty otherwise.
    X, groups
        The features, as extracted.
    failed : list of PhotoRecord
        Files that could not be read, with the reason.
    labels : PhotoLabels
        The labels file as read, its unmatched names included.
    counts : ExtractionCounts
        How many files were known, hashed, decoded.
    method : str
        The learner's name.
    topics : list of TopicDescription
        What a topic model has learnt; empty for other methods. Photos are rows of ``photos``.
    comparison : Comparison or None
        How good the scores are, where the truth was given.
    why_not_compared : str
        Why it is not told although the truth was given; empty otherwise.
    evaluation : ModelEvaluation or None
        What cross-validation on the labels found, where it was asked for and the labels suffice.
    why_not_evaluated : str
        Why they do not; empty otherwise.
    seconds : dict
        Wall time of each stage.
    files : dict
        Paths of what was written: ``keywords``, ``scores``, ``report``.
    """

    photos: list[bytes]
    tags: TagVocabulary
    Y: LabelMatrix
    scores: NDArray[Any]
    X: NDArray[np.float32]
    groups: FeatureGroups
    failed: list[PhotoRecord]
    labels: "PhotoLabels"
    counts: "ExtractionCounts"
    method: str
    kind: str = "score"
    threshold: float = np.inf
    why_scores: str = ""
    topics: "list[TopicDescription]" = field(default_factory=list)
    comparison: "Comparison | None" = None
    why_not_compared: str = ""
    evaluation: "ModelEvaluation | None" = None
    why_not_evaluated: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """The probability below which a tag is not listed; scores are listed all."""
        return LEAST_LISTED if self.kind == "probability" else -np.inf

    @property
    def n_labeled(self) -> int:
        """How many readable photos have a label."""
        return int(labeled_rows(self.Y).sum())

    @property
    def failures(self) -> dict[str, int]:
        """How many files could not be read, by verdict."""
        return dict(Counter(str(record.verdict) for record in self.failed))


# How good one annotation is, where nothing but its labels is known: cross-validation.

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


# The report of one annotation: from scores and thumbnails to the page.


def write_annotation_report(
    path: str | os.PathLike[str],
    result: AnnotateResult,
    hashes: Sequence[str],
    cache: FeatureCache,
    settings: Settings,
) -> None:
    """Write report.html.

    Parameters
    ----------
    path : path
        The file to make or replace.
    result : AnnotateResult
        The run.
    hashes : sequence of str
        Content hash of each photo of the result, under which its thumbnail is kept.
    cache : FeatureCache
        Holds the thumbnails.
    settings : Settings
        Shown, with where each value came from.
    """
    photos = make_photos(result.photos, result.tags.names, result.Y, result.scores, settings.n_keywords)
    order = suggestions_first(photos)
    typical = {photo.row for topic in result.topics for photo in topic.photos}
    add_thumbnails(photos, typical.union(order[: settings.report_photos]), hashes, cache.thumbnails)
    comparison = result.comparison
    write_report(
        path,
        ReportData(
            photos=[photos[row] for row in order],
            unreadable=[UnreadablePhoto(item.path, str(item.verdict), item.detail) for item in result.failed],
            method=result.method,
            features=", ".join(result.groups),
            seconds=sum(result.seconds.values()),
            created=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
            version=__version__,
            settings=settings.rows(),
            notes=_notes(result),
            evaluation=[(f"MAP, {name}", f"{value:.3f}") for name, value in comparison.rows] if comparison else (),
            measured=result.evaluation,
            kind=result.kind,
            topics=_placed(result.topics, order),
            max_photos=settings.report_photos,
        ),
    )


def _placed(topics: Sequence[TopicDescription], order: Sequence[int]) -> list[TopicDescription]:
    """Return topics whose photos are places in an order instead of rows."""
    places = {row: place for place, row in enumerate(order)}
    return [
        replace(topic, photos=tuple(replace(photo, row=places[photo.row]) for photo in topic.photos))
        for topic in topics
    ]


def _notes(result: AnnotateResult) -> list[str]:
    notes = [result.why_not_evaluated] if result.why_not_evaluated else []
    notes += [f"Labels file, line {item.line}: no photo {item.name!r}." for item in result.labels.unmatched[:20]]
    if len(result.labels.unmatched) > 20:
        notes.append(f"… and {len(result.labels.unmatched) - 20} more names without a photo.")
    n_positive = (result.Y == 1).sum(axis=0)
    rare = [tag for tag, n in zip(result.tags, n_positive, strict=True) if n < 2]
    if rare:
        shown = ", ".join(rare[:10]) + (" …" if len(rare) > 10 else "")
        notes.append(f"{len(rare)} tags have fewer than two labelled photos, so expect little of them: {shown}")
    if not (result.Y == UNKNOWN).any():
        notes.append("Every photo is labelled for every tag; there is nothing to suggest.")
    return notes


logger = logging.getLogger(__name__)

KEYWORDS_FILE, SCORES_FILE, REPORT_FILE = "keywords.csv", "scores.npz", "report.html"
#: Tags, and typical photos, that the report shows of a topic.
SHOWN_IN_A_TOPIC = 5


def annotate(
    photos: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    truth: str | os.PathLike[str] | None = None,
    separator: str | None = None,
    evaluate: bool = False,
    retry: bool = False,
    overwrite: bool = False,
    progress: Progress = NO_PROGRESS,
) -> AnnotateResult:
    """Learn from the labelled photos of a folder and suggest keywords for the others.

    Photos are only read. Features are kept in ``out/.tagloom``, so that a second run, or one after an interruption,
    reads only what is new.

    Parameters
    ----------
    photos : path
        Folder of photos, subfolders included.
    labels : path
        Labels file (see the docs page "The labels file").
    out : path
        Folder for ``keywords.csv``, ``scores.npz``, ``report.html`` and the cache; made if needed. Files of these names
        that are not as an earlier run left them are not replaced.
    settings : Settings, optional
        Default: the defaults.
    truth : path, optional
        Labels file with the true tags of all photos, to see how good the suggestions are; nothing is learned from it.
    separator : str, optional
        What else stands between tags in the labels file, besides ``;``.
    evaluate : bool, default=False
        Measure by cross-validation on the labels how good the suggestions are, for the report: several times the work
        of learning.
    retry : bool, default=False
        Try files again that crashed or hung the decoder in an earlier run.
    overwrite : bool, default=False
        Replace other files of these names, too; never the labels and the truth.
    progress : Progress, optional
        Told how far the work is.

    Raises
    ------
    InvalidInputError
        If a file is in the way; nothing is read then.
    StoreError
        If ``out`` holds the project of other photos; nothing is read then.
    """
    settings = settings if settings is not None else Settings()
    learner = get_learner(settings.method)
    check_output_folder(out, photos)
    inputs = [labels] if truth is None else [labels, truth]
    check_results(Path(out), (KEYWORDS_FILE, SCORES_FILE, REPORT_FILE), inputs=inputs, overwrite=overwrite)
    check_descriptors(settings)
    root, clock = Path(photos), _Clock()
    names, problems = list_photos(root)
    said = read_labels(labels, names, absent_means=settings.absent_means, separator=separator)
    true_tags = None if truth is None else read_truth(truth, names, said.vocabulary, said.Y)
    clock.lap("listing")
    out = make_folder(out)  # nothing is left behind where photos or labels cannot be read
    configure_logging(out / ".tagloom" / "logs", settings.log_level)
    with FolderCache(out / ".tagloom", root) as cache:
        records, X, groups, counts = _extract(cache, root, names, settings, retry, progress)
        clock.lap("features")
        rows = np.flatnonzero([record.ok for record in records])
        Y = said.Y[rows]
        _check_some_labeled(Y, said, records)
        progress.start(f"learning ({learner.name})", None)
        with limit_libraries(settings.n_threads):
            annotator = make_annotator(learner, settings, groups)
            told = labels_of(Y, said.vocabulary.names)
            numbers = _learn(annotator, learner.features(X, groups), told, settings, progress)
        progress.finish()
        clock.lap("learning")
        result = AnnotateResult(
            photos=[names[row] for row in rows],
            tags=said.vocabulary,
            Y=Y,
            scores=numbers.values,
            X=X,
            groups=groups,
            failed=[record for record in records if not record.ok] + problems,
            labels=said,
            counts=counts,
            method=learner.name,
            kind=numbers.kind,
            threshold=float(numbers.thresholds.max(initial=-np.inf)) if numbers.kind == PROBABILITY else np.inf,
            why_scores=numbers.why_scores,
            topics=_topics(numbers.annotator, said.vocabulary.names),
        )
        if evaluate:
            with limit_libraries(settings.n_threads):
                measure_labels(result, learner, settings, progress=progress)
            clock.lap("evaluating")
        if true_tags is not None:
            _compare(result, true_tags.Y[rows], true_tags.vocabulary)
        hashes = [records[row].content_hash for row in rows]
        with ProjectStore(cache.folder, make=False) as store:
            made = MadeFiles(store)
            with made.watching():  # so that a run that is cut off here can be run again
                _write_results(result, out, cache, hashes, settings, clock)
            made.note(result.files.values())
    logger.info("annotated %d photos with %d tags by %s", len(rows), len(said.vocabulary), learner.name)
    return result


def _extract(
    cache: FolderCache,
    root: Path,
    names: Sequence[bytes],
    settings: Settings,
    retry: bool,
    progress: Progress,
) -> tuple[list[PhotoRecord], NDArray[np.float32], FeatureGroups, ExtractionCounts]:
    engine, wanted = open_engine(cache, root, names, settings, retry=retry, progress=progress)
    with engine:
        records = engine.read(names)
        X, groups = engine.features(records)
    if list(groups) != wanted:
        groups, columns = groups.select(wanted)
        X = X[:, columns]
    return records, X, groups, engine.counts


def _learn(annotator: Annotator, X: Any, labels: TrainingLabels, settings: Settings, progress: Progress) -> Learned:
    """Learn as a project does, but that `AutoAnnotator` is told what absence means and sees to it itself."""
    if not isinstance(annotator, AutoAnnotator):
        return learn(annotator, X, labels, precision=settings.precision)
    annotator.set_params(absent_means=settings.absent_means, progress=progress).fit(X, labels.said)
    why = too_few(labels)
    if why:
        return Learned(annotator, annotator.transduction_.astype(np.float32), SCORE, annotator.thresholds_, why)
    values = annotator.probabilities_.astype(np.float32)
    limit = probability_threshold(values, labels, settings.precision)
    return Learned(annotator, values, PROBABILITY, np.full(values.shape[1], limit))


def _topics(annotator: Annotator, tags: Sequence[str]) -> list[TopicDescription]:
    """Return what a topic model has learnt, nothing of other learners."""
    if not isinstance(annotator, LaplacianTopicModel):
        return []
    return annotator.describe_topics(tags, n_tags=SHOWN_IN_A_TOPIC, n_photos=SHOWN_IN_A_TOPIC)


def _compare(result: AnnotateResult, truth: LabelMatrix, true_tags: TagVocabulary) -> None:
    named = {f"tagloom: {result.method}": result.scores}
    features = prepare(result.X, result.groups)
    try:
        result.comparison = compare_with_truth(truth, true_tags, result.tags, result.Y, features, named)
    except NothingToScoreError:
        result.why_not_compared = "not compared with the truth: none of its photos that are not labelled could be read"


def _check_some_labeled(Y: LabelMatrix, said: PhotoLabels, records: Sequence[PhotoRecord]) -> None:
    if len(Y) == 0:
        first = records[0]
        raise PhotosError(
            f"none of the {len(records)} photo files could be read; the first is {name_to_text(first.path)!r} "
            f"({first.verdict}: {first.detail})"
        )
    if not labeled_rows(Y).any():
        raise LabelsFileError(
            f"{said.n_labeled} photos are listed in {said.source!r}, but none of them could be read; "
            f"label some of the {len(Y)} readable photos"
        )


def _write_results(
    result: AnnotateResult,
    out: Path,
    cache: FolderCache,
    hashes: Sequence[str],
    settings: Settings,
    clock: "_Clock",
) -> None:
    result.files["keywords"] = out / KEYWORDS_FILE
    write_keywords(result.files["keywords"], _keyword_rows(result, settings.n_keywords))
    result.files["scores"] = out / SCORES_FILE
    with atomic_write(result.files["scores"]) as handle:
        np.savez_compressed(
            handle,
            files=np.array([name_to_text(name) for name in result.photos]),
            tags=np.array(result.tags.names),
            labels=result.Y,
            scores=result.scores.astype(np.float32),
            kind=np.array(result.kind),
        )
    result.seconds = clock.laps
    result.files["report"] = out / REPORT_FILE
    write_annotation_report(result.files["report"], result, hashes, cache, settings)
    clock.lap("writing")


def _keyword_rows(result: AnnotateResult, n_keywords: int) -> Iterator[KeywordRow]:
    least = -np.inf if n_keywords == 0 else result.least  # all tags are asked for
    columns, counts = top_suggestions(result.Y, result.scores, n_keywords, least)
    names = result.tags.names
    for row, photo in enumerate(result.photos):
        for rank, column in enumerate(columns[row, : counts[row]], start=1):
            score = float(result.scores[row, column])
            yield KeywordRow(photo, names[column], score, rank, score > result.threshold)


class _Clock:
    """Wall time of named stages."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """Close the stage that has just ended."""
        now = time.perf_counter()
        self.laps[name] = now - self._since
        self._since = now
