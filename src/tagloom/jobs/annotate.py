"""The main job: from a folder of photos and a labels file to keywords for every photo.

A temporary project learns: it takes the features that the output folder keeps, imports the labels, and trains, suggests
and evaluates as any project does.
"""

import logging
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import (
    MadeFiles,
    check_descriptors,
    check_output_folder,
    check_results,
    configure_logging,
    list_photos,
    load_rows,
    make_folder,
    open_engine,
)
from tagloom.core import (
    NO_PROGRESS,
    UNKNOWN,
    FeatureGroups,
    LabelMatrix,
    PhotoRecord,
    Progress,
    TagVocabulary,
    atomic_write,
    labeled_rows,
)
from tagloom.exceptions import InvalidInputError, LabelsFileError, NothingToScoreError, PhotosError
from tagloom.features import ExtractionCounts
from tagloom.learning import (
    MIN_PHOTOS,
    Comparison,
    ModelEvaluation,
    choose_learner,
    compare_with_truth,
    open_suggestions,
    prepare,
    read_truth,
    suggest_each,
    suggest_first,
)
from tagloom.learning.evaluate import evaluate
from tagloom.learning.train import train
from tagloom.metadata import KeywordRow, PhotoLabels, name_to_text, read_labels, write_keywords
from tagloom.methods.topics import TopicDescription
from tagloom.project import import_keywords, read_topics, report_data
from tagloom.report import UnreadablePhoto, write_report
from tagloom.settings import Settings
from tagloom.store import FolderCache, ProjectStore

__all__ = ["AnnotateResult", "annotate"]

logger = logging.getLogger(__name__)

KEYWORDS_FILE, SCORES_FILE, REPORT_FILE = "keywords.csv", "scores.npz", "report.html"
NO_LABELS = PhotoLabels(TagVocabulary(()), np.empty((0, 0), dtype=np.int8), 0, (), "", "no", ())
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
        The labels.
    scores : ndarray of shape (n, c)
        Probabilities where labels are enough to tell them, and otherwise the learner's scores.
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
    kind : {"probability", "score"}
        What ``scores`` are.
    threshold : float
        Probability above which tags are suggested; +inf where none is sure enough, and of scores.
    why_scores : str
        Why they are not probabilities; empty otherwise.
    topics : list of TopicDescription
        What a topic model has learnt; empty for other methods. Photos are rows of ``photos``.
    comparison : Comparison or None
        How good the scores are, where the truth was given.
    why_not_compared : str
        Why they are not compared although the truth was given; empty otherwise.
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
    labels: PhotoLabels
    counts: ExtractionCounts
    method: str
    kind: str
    threshold: float
    why_scores: str
    topics: list[TopicDescription]
    comparison: Comparison | None = None
    why_not_compared: str = ""
    evaluation: ModelEvaluation | None = None
    why_not_evaluated: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """The probability below which a tag is not listed; scores are listed all."""
        return LEAST_LISTED if self.kind == "probability" or self.method == "names" else -np.inf

    @property
    def n_labeled(self) -> int:
        """How many readable photos have a label."""
        return int(labeled_rows(self.Y).sum())

    @property
    def failures(self) -> dict[str, int]:
        """How many files could not be read, by verdict."""
        return dict(Counter(str(record.verdict) for record in self.failed))


def annotate(
    photos: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None,
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    vocabulary: Sequence[str] | None = None,
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
    labels : path or None
        Labels file (see the docs page "The labels file"). None: tags are suggested by their names alone, and no
        suggestion is marked, as scores are not calibrated on these photos.
    out : path
        Folder for ``keywords.csv``, ``scores.npz``, ``report.html`` and the cache; made if needed. Files of these names
        that are not as an earlier run left them are not replaced.
    settings : Settings, optional
        Default: the defaults.
    vocabulary : sequence of str, optional
        Without labels the tags to suggest. Default: everyday words that stand out in the photos.
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
        If a file is in the way, or where ``truth`` or ``evaluate`` is asked for without labels; nothing is read then.
    StoreError
        If ``out`` holds the project of other photos; nothing is read then.
    """
    settings = settings if settings is not None else Settings()
    learner = choose_learner(settings)
    if labels is None and (truth is not None or evaluate):
        raise InvalidInputError("measuring suggestions needs labels; give a labels file with --labels")
    if labels is not None and vocabulary is not None:
        raise InvalidInputError("labels and a vocabulary exclude each other; leave out --labels or --vocabulary")
    check_output_folder(out, photos)
    inputs = [one for one in (labels, truth) if one is not None]
    check_results(Path(out), (KEYWORDS_FILE, SCORES_FILE, REPORT_FILE), inputs=inputs, overwrite=overwrite)
    check_descriptors(settings)
    root, clock = Path(photos), _Clock()
    names, problems = list_photos(root)
    # A wrong file is to be known before hours of reading photos.
    listed = NO_LABELS
    if labels is not None:
        listed = read_labels(labels, names, absent_means=settings.absent_means, separator=separator)
    true_tags = None if truth is None else read_truth(truth, names, listed.vocabulary, listed.Y)
    clock.lap("listing")
    out = make_folder(out)  # nothing is left behind where photos or labels cannot be read
    configure_logging(out / ".tagloom" / "logs", settings.log_level)
    with FolderCache(out / ".tagloom", root) as cache:
        engine, _ = open_engine(cache, root, names, settings, retry=retry, progress=progress)
        with engine:
            records = engine.read(names)
        _check_some_read(records)
        if labels is not None:
            _check_some_labeled(listed, records)
        clock.lap("features")
        with (
            tempfile.TemporaryDirectory(prefix="tagloom-", ignore_cleanup_errors=True) as folder,
            ProjectStore(Path(folder, "project"), root, features=cache) as store,
        ):
            _add_photos(store, root, records)
            if labels is None:
                suggest_first(store, settings, vocabulary, compute=False, progress=progress)
                method, why_scores = "names", "no photo is labelled, so they come from tag names alone"
            else:
                import_keywords(
                    store,
                    labels,
                    format="csv",
                    absent_means=settings.absent_means,
                    include_suggested=True,
                    separator=separator,
                    skip_bad_rows=True,
                    progress=progress,
                )
                method = learner.name
                why_scores = train(store, settings, method, progress=progress).why_scores
            failed = [record for record in records if not record.ok] + problems
            result = _result(store, cache, settings, failed, listed, engine.counts, method, why_scores)
            clock.lap("learning")
            if evaluate:
                _evaluate(store, settings, result, progress)
                clock.lap("evaluating")
            if true_tags is not None:
                row_of = {name: row for row, name in enumerate(names)}
                rows = [row_of[name] for name in result.photos]
                _compare(result, true_tags.Y[rows], true_tags.vocabulary)
            with ProjectStore(cache.folder, make=False) as kept:
                made = MadeFiles(kept)
                with made.watching():  # so that a run that is cut off here can be run again
                    _write_results(store, cache, settings, result, out, clock)
                made.note(result.files.values())
    logger.info("annotated %d photos with %d tags by %s", len(result.photos), len(result.tags), learner.name)
    return result


def _check_some_read(records: Sequence[PhotoRecord]) -> None:
    if not any(record.ok for record in records):
        first = records[0]
        raise PhotosError(
            f"none of the {len(records)} photo files could be read; the first is {name_to_text(first.path)!r} "
            f"({first.verdict}: {first.detail})"
        )


def _check_some_labeled(listed: PhotoLabels, records: Sequence[PhotoRecord]) -> None:
    readable = [row for row, record in enumerate(records) if record.ok]
    if not labeled_rows(listed.Y[readable]).any():
        raise LabelsFileError(
            f"{listed.n_labeled} photos are listed in {listed.source!r}, but none of them could be read; "
            f"label some of the {len(readable)} readable photos"
        )


def _add_photos(store: ProjectStore, root: Path, records: Sequence[PhotoRecord]) -> None:
    """Let a project know photos that have been read, as a scan does."""
    with FolderCache(store.folder, root, lock=store.lock()) as own:
        own.record(records)
    store.photos.reconcile(record.path for record in records)


def _result(
    store: ProjectStore,
    cache: FolderCache,
    settings: Settings,
    failed: list[PhotoRecord],
    labels: PhotoLabels,
    counts: ExtractionCounts,
    method: str,
    why_scores: str,
) -> AnnotateResult:
    """Return what the project has learnt, tags sorted by name."""
    rows = load_rows(store, cache, settings, compute=False)
    found = open_suggestions(store, rows.ids)
    assert found is not None  # noqa: S101
    order = sorted(range(len(found.tags)), key=found.tags.__getitem__)
    return AnnotateResult(
        photos=store.photos.table(rows.ids).paths,
        tags=TagVocabulary(found.tags[column] for column in order),
        Y=store.decisions.labels(rows.ids, found.tag_ids)[2][:, order],
        scores=found.values_of(rows.ids)[:, order],
        X=rows.X,
        groups=rows.groups,
        failed=failed,
        labels=labels,
        counts=counts,
        method=method,
        kind=found.kind,
        threshold=float(found.thresholds.max(initial=-np.inf)),
        why_scores=why_scores,
        topics=read_topics(store, rows.ids),
    )


def _evaluate(store: ProjectStore, settings: Settings, result: AnnotateResult, progress: Progress) -> None:
    """Measure the learner on the labels, and enter into the result what was found or why nothing was."""
    n_yes, n_no = int((result.Y == 1).sum()), int((result.Y == 0).sum())
    if result.n_labeled >= MIN_PHOTOS and n_yes and n_no:
        result.evaluation = evaluate(store, settings, curve=False, groups=False, progress=progress)
        return
    result.why_not_evaluated = (
        f"Not evaluated: that needs {MIN_PHOTOS} labelled photos, with accepted and rejected tags among them; there "
        f"are {result.n_labeled} photos, {n_yes} accepted and {n_no} rejected tags."
    )


def _compare(result: AnnotateResult, truth: LabelMatrix, true_tags: TagVocabulary) -> None:
    named = {f"tagloom: {result.method}": result.scores}
    features = prepare(result.X, result.groups)
    try:
        result.comparison = compare_with_truth(truth, true_tags, result.tags, result.Y, features, named)
    except NothingToScoreError:
        result.why_not_compared = "not compared with the truth: none of its photos that are not labelled could be read"


def _write_results(
    store: ProjectStore, cache: FolderCache, settings: Settings, result: AnnotateResult, out: Path, clock: "_Clock"
) -> None:
    result.files["keywords"] = out / KEYWORDS_FILE
    least = -np.inf if settings.n_keywords == 0 else result.least  # all tags are asked for
    write_keywords(result.files["keywords"], _keyword_rows(store, settings.n_keywords, least))
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
    data, comparison = report_data(store, settings, cache.thumbnails), result.comparison
    data = replace(
        data,
        unreadable=[UnreadablePhoto(item.path, str(item.verdict), item.detail) for item in result.failed],
        seconds=sum(result.seconds.values()),
        notes=[*(note for note in data.notes if note != data.measured_note), *_notes(result)],
        evaluation=[(f"MAP, {name}", f"{value:.3f}") for name, value in comparison.rows] if comparison else (),
    )
    write_report(result.files["report"], data)
    clock.lap("writing")


def _keyword_rows(store: ProjectStore, n_keywords: int, least: float) -> Iterator[KeywordRow]:
    for item in suggest_each(store, n=n_keywords):
        if item.value >= least:
            yield KeywordRow(item.photo, item.tag, item.value, item.rank, item.is_above)


def _notes(result: AnnotateResult) -> list[str]:
    notes = [result.why_not_evaluated] if result.why_not_evaluated else []
    notes += [f"Labels file, line {item.line}: no photo {item.name!r}." for item in result.labels.unmatched[:20]]
    if len(result.labels.unmatched) > 20:
        notes.append(f"… and {len(result.labels.unmatched) - 20} more names without a photo.")
    n_positive = (result.Y == 1).sum(axis=0)
    rare = [tag for tag, n in zip(result.tags, n_positive, strict=True) if n < 2]
    if rare:
        shown = ", ".join(rare[:10]) + (" …" if len(rare) > 10 else "")
        notes.append(f"{len(rare)} tags have fewer than two labelled photos, too few to find more such photos: {shown}")
    if not (result.Y == UNKNOWN).any():
        notes.append("Nothing to suggest: every tag is decided on every photo.")
    return notes


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
