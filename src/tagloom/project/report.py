"""The verb behind ``tagloom report``: what was said, suggested and measured, as one page."""

import contextlib
import datetime
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.catalog import PhotoIndex, ProjectReader, Result, check_report_target, load_photos, refuse_way_out
from tagloom.learning import (
    SCORE,
    TOPICS,
    LastEvaluation,
    OpenSuggestions,
    labels_needed,
    last_evaluation,
    not_calibrated,
    open_suggestions,
)
from tagloom.project.status import n_learnt
from tagloom.report import (
    ReportData,
    ReportPhoto,
    UnreadablePhoto,
    add_thumbnails,
    make_photos,
    suggestions_first,
    write_report,
)
from tagloom.settings import Settings
from tagloom.store import Model, ProjectStore, as_stored

if TYPE_CHECKING:
    from tagloom.methods.topics import TopicDescription

__all__ = ["ReportResult", "read_topics", "report", "report_data"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportResult(Result):
    """What a report shows.

    Parameters
    ----------
    file : Path
        The page.
    n_photos, n_shown, n_labeled, n_with_suggestions : int
        Readable photos; of these those on the page, those of which something is said, and those with suggestions.
    n_unreadable : int
        Files that could not be read.
    has_evaluation : bool
        Whether the page tells how good a method is.
    note : str
        When that was measured and what was decided since, or why the page does not tell.
    """

    file: Path
    n_photos: int
    n_shown: int
    n_labeled: int
    n_with_suggestions: int
    n_unreadable: int
    has_evaluation: bool
    note: str


def report(store: ProjectStore, settings: Settings, path: str | os.PathLike[str]) -> ReportResult:
    """Write a page with all photos, their labels and suggestions, and the last evaluation. No photo is opened.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is not needed.
    settings : Settings
        ``n_keywords`` and ``report_photos``; shown, with where each value came from.
    path : path
        The file to make, or a report of tagloom to replace.

    Raises
    ------
    InvalidInputError
        If another file is there.
    WriteError
        If the system refuses.
    """
    refuse_way_out(store, path)
    check_report_target(path)
    with contextlib.closing(ProjectReader(store.folder)) as reader:
        data = report_data(store, settings, lambda hashes: _thumbnails(reader, hashes))
    return ReportResult(
        file=write_report(path, data),
        n_photos=len(data.photos),
        n_shown=min(len(data.photos), data.max_photos),
        n_labeled=sum(photo.is_labeled for photo in data.photos),
        n_with_suggestions=sum(bool(photo.suggestions) for photo in data.photos),
        n_unreadable=len(data.unreadable),
        has_evaluation=data.measured is not None,
        note=data.measured_note,
    )


def report_data(
    store: ProjectStore, settings: Settings, thumbnails: Callable[[Sequence[str]], dict[str, bytes]]
) -> ReportData:
    """Return what a report of a project shows.

    Parameters
    ----------
    store : ProjectStore
        The project.
    settings : Settings
        See `report`.
    thumbnails : callable
        Returns thumbnails by content hash, as far as there are any.
    """
    index, model, last = load_photos(store), store.models.active(), last_evaluation(store)
    found = open_suggestions(store)
    photos = _photos(store, index, found, settings.n_keywords)
    order = suggestions_first(photos)
    topics = read_topics(store, index.ids[index.by_path][order])
    hashes = [index.hashes[row] for row in index.by_path[order]]
    shown = [photos[row] for row in order]
    typical = {photo.row for topic in topics for photo in topic.photos}
    add_thumbnails(shown, typical.union(range(min(len(shown), settings.report_photos))), hashes, thumbnails)
    note = _note(last, model)
    measured = None if last is None else last.evaluation
    is_score = found is not None and not found.calibrated
    with as_stored("the model"):
        features = "" if model is None else ", ".join(name for name, _ in model.features["groups"])
    scores = (f"Scores are {not_calibrated(labels_needed(store))}.",) if is_score else ()
    return ReportData(
        photos=shown,
        unreadable=[UnreadablePhoto(*problem) for problem in store.photos.problems()],
        method="" if model is None else str(model.settings.get("method", "")),
        features=features,
        n_learned=None if model is None else _n_learned(store, model),
        created=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        version=__version__,
        settings=settings.rows(),
        notes=(*scores, *(() if measured is not None else (note,))),
        measured=measured,
        measured_note=note,
        kind=SCORE if found is None else found.kind,
        topics=topics,
        max_photos=settings.report_photos,
    )


def read_topics(store: ProjectStore, photo_ids: NDArray[np.int64]) -> "list[TopicDescription]":
    """Return what the active model knows of topics, none if it is not a topic model.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : ndarray of int64
        The photos; those of topics are rows of these.
    """
    model = store.models.active()
    stored = None if model is None else model.settings.get(TOPICS)
    if not stored:
        return []
    from tagloom.methods.topics import TopicDescription, TopicPhoto, TopicTag  # loads scikit-learn

    rows = {photo: row for row, photo in enumerate(photo_ids.tolist())}
    with as_stored("the topics of the model"):
        return [
            TopicDescription(
                int(topic["topic"]),
                float(topic["share"]),
                tuple(
                    TopicTag(str(tag["tag"]), int(tag["column"]), float(tag["probability"]), float(tag["lift"]))
                    for tag in topic["tags"]
                ),
                tuple(
                    TopicPhoto(rows[photo["row"]], float(photo["probability"]))
                    for photo in topic["photos"]
                    if photo["row"] in rows
                ),
            )
            for topic in stored
        ]


def _photos(
    store: ProjectStore, index: PhotoIndex, found: OpenSuggestions | None, n_keywords: int
) -> list[ReportPhoto]:
    """Return all readable photos in the order of their paths."""
    ids, names = index.ids[index.by_path], [index.paths[row] for row in index.by_path]
    tag_ids = store.decisions.labels(ids)[1]
    columns = tag_ids if found is None else np.union1d(tag_ids, found.tag_ids)
    Y = store.decisions.labels(ids, columns)[2]
    values = np.full(Y.shape, np.nan, dtype=np.float32)
    if found is not None:
        values[:, np.searchsorted(columns, found.tag_ids)] = found.values_of(ids)
    return make_photos(names, store.tags.texts(columns), Y, values, n_keywords)


def _n_learned(store: ProjectStore, model: Model) -> int:
    """Return how many photos with a number were labelled when the model, or an update since, learnt from them."""
    stored = store.suggestions.load()
    has_number = set() if stored is None else set(stored.photo_ids.tolist())
    return len(store.decisions.labeled_at(n_learnt(store, model)) & has_number)


def _thumbnails(reader: ProjectReader, hashes: Sequence[str]) -> dict[str, bytes]:
    found = ((name, reader.thumbnail(name)) for name in hashes)
    return {name: picture for name, picture in found if picture}


def _note(last: LastEvaluation | None, model: Model | None) -> str:
    if last is None:
        return "Not evaluated yet. To see how good the suggestions are, run: tagloom evaluate"
    method: Any = None if model is None else model.settings.get("method")
    if last.evaluation is None or method in (None, last.evaluation.method):
        return last.note
    return f"{last.note} Measured with {last.evaluation.method}; the suggestions are by {method}."
