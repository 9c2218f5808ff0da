"""The main job: from a folder of photos and a labels file to keywords for every photo."""

import logging
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tagloom.core.files import atomic_write
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import LabelMatrix, labeled_rows
from tagloom.core.photos import PhotoRecord
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.exceptions import LabelsFileError, PhotosError, WriteError
from tagloom.features import ExtractionCounts, ExtractionEngine, OnnxEncoder, get_descriptor, resolve_descriptors
from tagloom.features.registry import DEFAULT_DESCRIPTORS
from tagloom.images import find_photos
from tagloom.metadata import KeywordRow, PhotoLabels, name_to_text, read_labels, write_keywords
from tagloom.store import FolderCache
from tagloom.workflow.annotation_report import write_annotation_report
from tagloom.workflow.evaluate import compare_with_truth
from tagloom.workflow.learners import get_learner, prepare
from tagloom.workflow.logs import configure_logging
from tagloom.workflow.results import AnnotateResult, top_suggestions
from tagloom.workflow.settings import Settings

__all__ = ["annotate"]

logger = logging.getLogger(__name__)

THUMBNAIL_SIZE = 192
MEBI = 1 << 20


def annotate(
    photos: str | os.PathLike[str],
    labels: str | os.PathLike[str],
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    truth: str | os.PathLike[str] | None = None,
    retry: bool = False,
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
        Folder for ``keywords.csv``, ``scores.npz``, ``report.html`` and the cache; made if needed.
    settings : Settings, optional
        Default: the defaults.
    truth : path, optional
        Labels file with the true tags of all photos, to see how good the suggestions are; nothing is learned from it.
    retry : bool, default=False
        Try files again that crashed or hung the decoder in an earlier run.
    progress : Progress, optional
        Told how far the work is.
    """
    settings = settings if settings is not None else Settings()
    learner = get_learner(settings.method)
    root, out = Path(photos), _make_folder(out)
    configure_logging(out / ".tagloom" / "logs", settings.log_level)
    clock = _Clock()
    names, problems = _list_photos(root)
    said = read_labels(labels, names, absent_means=settings.absent_means)
    clock.lap("listing")
    with FolderCache(out / ".tagloom", root) as cache:
        records, X, groups, counts = _extract(cache, root, names, settings, retry, progress)
        clock.lap("features")
        rows = np.flatnonzero([record.ok for record in records])
        Y = said.Y[rows]
        _check_some_labeled(Y, said, records)
        progress.start(f"learning ({learner.name})", None)
        features = prepare(X, groups)
        with threadpool_limits(settings.n_threads):
            scores = learner.make(settings.n_neighbors).fit(features, Y).transduction_
        progress.finish()
        clock.lap("learning")
        result = AnnotateResult(
            photos=[names[row] for row in rows],
            tags=said.vocabulary,
            Y=Y,
            scores=scores,
            X=X,
            groups=groups,
            failed=[record for record in records if not record.ok] + problems,
            labels=said,
            counts=counts,
            method=learner.name,
        )
        if truth is not None:
            named = {f"tagloom: {learner.name}": scores}
            result.comparison = compare_with_truth(truth, result.photos, result.tags, Y, features, named)
        hashes = [records[row].content_hash for row in rows]
        _write_results(result, out, cache, hashes, settings, clock)
    logger.info("annotated %d photos with %d tags by %s", len(rows), len(said.vocabulary), learner.name)
    return result


def _list_photos(root: Path) -> tuple[list[bytes], list[PhotoRecord]]:
    if not root.is_dir():
        raise PhotosError(f"expected a folder of photos, but {str(root)!r} is not a folder; check the path")
    found = find_photos(root)
    if not found.photos:
        raise PhotosError(f"no photo files (jpg, png, webp, tiff …) in {str(root)!r} or below; check the path")
    return found.photos, found.problems


def _extract(
    cache: FolderCache,
    root: Path,
    names: Sequence[bytes],
    settings: Settings,
    retry: bool,
    progress: Progress,
) -> tuple[list[PhotoRecord], NDArray[np.float32], FeatureGroups, ExtractionCounts]:
    descriptors, _ = resolve_descriptors(_wanted(settings))
    with ExtractionEngine(
        descriptors,
        cache,
        root=root,
        n_workers=settings.n_workers,
        thumbnail_size=THUMBNAIL_SIZE,
        batch_size=settings.batch_size,
        retry=retry,
        progress=progress,
        deadline=settings.deadline_seconds,
        memory_limit=settings.memory_limit_mb * MEBI,
        max_pixels=int(settings.max_megapixels * 1_000_000),
    ) as engine:
        records = engine.read(names)
        X, groups = engine.features(records)
        return records, X, groups, engine.counts


def _wanted(settings: Settings) -> list[Any]:
    """Return the descriptors to compute; a network of the user's own takes the place of the bundled one."""
    names = [name for item in settings.descriptors for name in (DEFAULT_DESCRIPTORS if item == "default" else (item,))]
    if settings.encoder is not None:
        encoder = OnnxEncoder.from_toml(settings.encoder, n_threads=settings.n_threads)
        return [encoder, *(name for name in names if name not in ("deep", "semantic"))]
    return [get_descriptor(name, n_threads=settings.n_threads) if name == "deep" else name for name in names]


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
    result.files["keywords"] = out / "keywords.csv"
    write_keywords(result.files["keywords"], _keyword_rows(result, settings.n_keywords))
    result.files["scores"] = out / "scores.npz"
    with atomic_write(result.files["scores"]) as handle:
        np.savez_compressed(
            handle,
            files=np.array([name_to_text(name) for name in result.photos]),
            tags=np.array(result.tags.names),
            labels=result.Y,
            scores=result.scores.astype(np.float32),
        )
    result.seconds = clock.laps
    result.files["report"] = out / "report.html"
    write_annotation_report(result.files["report"], result, hashes, cache, settings)
    clock.lap("writing")


def _keyword_rows(result: AnnotateResult, n_keywords: int) -> Iterator[KeywordRow]:
    columns, counts = top_suggestions(result.Y, result.scores, n_keywords)
    names = result.tags.names
    for row, photo in enumerate(result.photos):
        for rank, column in enumerate(columns[row, : counts[row]], start=1):
            yield KeywordRow(photo, names[column], float(result.scores[row, column]), rank)


def _make_folder(path: str | os.PathLike[str]) -> Path:
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            error.errno or 0, f"cannot make the output folder ({error.strerror}); choose another", str(folder)
        ) from error
    return folder


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
