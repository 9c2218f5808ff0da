"""The verb behind ``tagloom report``: what was said, suggested and measured, as one page."""

import contextlib
import datetime
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tagloom._version import __version__
from tagloom.catalog.output_guard import check_report_target
from tagloom.catalog.photo_index import PhotoIndex, load_photos
from tagloom.catalog.reader import ProjectReader
from tagloom.catalog.results import Result
from tagloom.learning.few_labels import labels_needed, not_calibrated
from tagloom.learning.stored_evaluation import LastEvaluation, last_evaluation
from tagloom.learning.suggest import SCORE, OpenSuggestions, open_suggestions
from tagloom.project.status import n_learnt
from tagloom.report.data import add_thumbnails, make_photos, suggestions_first
from tagloom.report.page import ReportData, ReportPhoto, UnreadablePhoto, write_report
from tagloom.settings import Settings
from tagloom.store.database import as_stored
from tagloom.store.models import Model
from tagloom.store.project import ProjectStore

__all__ = ["ReportResult", "report"]


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
    """Write a page with all photos, what was said and suggested, and the last evaluation. No photo is opened.

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
    check_report_target(path)
    index, model, last = load_photos(store), store.models.active(), last_evaluation(store)
    rows = index.by_path
    found = open_suggestions(store)
    photos = _photos(store, index, found, settings.n_keywords)
    order = suggestions_first(photos)
    hashes = [index.hashes[row] for row in rows]
    with contextlib.closing(ProjectReader(store.folder)) as reader:
        add_thumbnails(photos, order[: settings.report_photos], hashes, lambda names: _thumbnails(reader, names))
    unreadable = [UnreadablePhoto(*found) for found in store.photos.problems()]
    note = _note(last, model)
    has_evaluation = last is not None and last.evaluation is not None
    is_score = found is not None and not found.calibrated
    with as_stored("the model"):
        features = "" if model is None else ", ".join(name for name, _ in model.features["groups"])
    scores = (f"Scores are {not_calibrated(labels_needed(store))}.",) if is_score else ()
    data = ReportData(
        photos=[photos[row] for row in order],
        unreadable=unreadable,
        method="" if model is None else str(model.settings.get("method", "")),
        features=features,
        n_learned=None if model is None else _n_learned(store, model),
        created=datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
        version=__version__,
        settings=settings.rows(),
        notes=(*scores, *(() if has_evaluation else (note,))),
        measured=None if last is None else last.evaluation,
        measured_note=note,
        kind=SCORE if found is None else found.kind,
        max_photos=settings.report_photos,
    )
    return ReportResult(
        file=write_report(path, data),
        n_photos=len(photos),
        n_shown=min(len(photos), settings.report_photos),
        n_labeled=sum(photo.is_labeled for photo in photos),
        n_with_suggestions=sum(bool(photo.suggestions) for photo in photos),
        n_unreadable=len(unreadable),
        has_evaluation=has_evaluation,
        note=note,
    )


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
        return "How good the suggestions are was not measured yet: tagloom evaluate"
    method: Any = None if model is None else model.settings.get("method")
    if last.evaluation is None or method in (None, last.evaluation.method):
        return last.note
    return f"{last.note} Measured is {last.evaluation.method}; the suggestions are by {method}."
