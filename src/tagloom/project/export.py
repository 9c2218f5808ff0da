"""The verb behind ``tagloom export``: keywords of all photos in a format of other programs."""

import os
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.catalog import MadeFiles, Result, project_root, refuse_foreign_target, refuse_way_out
from tagloom.core import PARTS, Keyword, PhotoKeywords
from tagloom.exceptions import InvalidInputError
from tagloom.learning import (
    PROBABILITY,
    check_threshold,
    labels_needed,
    not_calibrated,
    open_suggestions,
    suggestions_kind,
)
from tagloom.metadata.formats import ExportOptions, detect_export_format, export_files, export_keywords
from tagloom.store import IMPORTED, ProjectStore

__all__ = ["ExportResult", "export", "photo_keywords", "why_none", "why_withheld"]


# Which keywords photos have in a project, and why: what exports and writes are made of.

NO_MODEL = "There are no suggestions yet. Run: tagloom train"
NO_LABELS = "There are no suggestions yet: no photo is labelled. Run: tagloom review"
NONE_SURE = "No suggestion is above the threshold. Label more photos, or choose a lower --threshold"


def why_withheld(store: ProjectStore) -> str:
    """Return why no suggestion leaves the project unless it is asked for; empty: they do leave.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    if suggestions_kind(store) in (None, PROBABILITY):
        return ""
    return (
        f"Suggestions stay in the project, {not_calibrated(labels_needed(store))}. "
        f"To export their scores anyway, add --uncalibrated"
    )


def why_none(store: ProjectStore) -> str:
    """Return why there is no suggestion to leave the project.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    if suggestions_kind(store) is None:
        return NO_MODEL if store.photos.counts().labeled else NO_LABELS
    return why_withheld(store) or NONE_SURE


def photo_keywords(
    store: ProjectStore,
    photo_ids: ArrayLike | None = None,
    *,
    accepted_only: bool = True,
    threshold: float | None = None,
    uncalibrated: bool = False,
) -> Iterator[tuple[int, PhotoKeywords]]:
    """Yield each present photo's id and keywords, in the order of ids.

    Accepted is what was said, by a person or by an import, and what follows from it; rejected is what a person denied
    outright (that an imported list does not name a keyword is no reason to remove it anywhere).

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : array-like of int, optional
        Only these photos.
    accepted_only : bool, default=True
        Whether to leave out suggestions above the threshold.
    threshold : float, optional
        Default: the project's, else those that training chose for each tag.
    uncalibrated : bool, default=False
        Whether scores that are not calibrated may be suggestions, too.
    """
    table = store.photos.table(photo_ids, state="present")
    _, tag_ids, Y = store.decisions.labels(table.ids)
    keywords = [Keyword.parse(text) for text in store.tags.texts(tag_ids)]
    rejected = _rejected(store, table.ids)
    suggested = {} if accepted_only else _suggested(store, table.ids, threshold, uncalibrated)
    for row, number in enumerate(table.ids.tolist()):
        width, height = table.sizes[row].tolist()
        if table.verdicts[row] in PARTS:
            continue  # it goes with the photo beside it
        accepted = tuple(keywords[column] for column in np.flatnonzero(Y[row] == 1))
        yield (
            number,
            PhotoKeywords(
                table.paths[row],
                width,
                height,
                accepted,
                tuple(suggested.get(number, ())),
                tuple(keyword for keyword in rejected.get(number, ()) if keyword not in accepted),
            ),
        )


def _rejected(store: ProjectStore, ids: NDArray[np.int64]) -> dict[int, list[Keyword]]:
    current = store.decisions.current(photo_ids=ids)
    mine = (current.states == 0) & (current.origins != IMPORTED)
    tags = np.unique(current.tag_ids[mine])
    keywords = dict(zip(tags.tolist(), map(Keyword.parse, store.tags.texts(tags)), strict=True))
    found: dict[int, list[Keyword]] = defaultdict(list)
    for photo, tag in zip(current.photo_ids[mine].tolist(), current.tag_ids[mine].tolist(), strict=True):
        found[photo].append(keywords[tag])
    return found


def _suggested(
    store: ProjectStore, ids: NDArray[np.int64], threshold: float | None, uncalibrated: bool
) -> dict[int, list[tuple[Keyword, float]]]:
    found = open_suggestions(store, ids, threshold=threshold, uncalibrated=uncalibrated)
    if found is None or not (found.calibrated or uncalibrated):
        return {}
    keywords = [Keyword.parse(text) for text in found.tags]
    chosen: dict[int, list[tuple[Keyword, float]]] = defaultdict(list)
    for row, column in np.argwhere(found.above).tolist():
        chosen[int(found.photo_ids[row])].append((keywords[column], float(found.values[row, column])))
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult(Result):
    """What an export wrote: format, files, counts, and a line for each thing that the format cannot hold.

    ``withheld`` says why no suggestion left the project; empty: none was held back.
    """

    format: str
    files: tuple[Path, ...]
    n_photos: int
    n_accepted: int
    n_suggested: int
    n_rejected: int
    warnings: tuple[str, ...]
    withheld: str = ""


def export(
    store: ProjectStore,
    target: str | os.PathLike[str],
    format: str | None = None,
    *,
    threshold: float | None = None,
    accepted_only: bool = False,
    uncalibrated: bool = False,
    gps: bool = False,
    overwrite: bool = False,
    photo_url: str | None = None,
) -> ExportResult:
    """Write the keywords of all present photos; accepted and suggested ones are told apart.

    Parameters
    ----------
    store : ProjectStore
        The project.
    target : path
        The file or folder to write. A file that is there is replaced only if it is as the last export left it.
    format : str, optional
        One of `tagloom.metadata.formats.available_exporters`; default: told from the target's name.
    threshold : float, optional
        Suggestions above it are written; default: the project's, else those that training chose for each tag.
    accepted_only : bool, default=False
        Whether to leave suggestions out.
    uncalibrated : bool, default=False
        Whether suggestions may leave the project that have a score and no probability yet.
    gps : bool, default=False
        Where photos were taken is never written; asking for it is an error as long as no format here holds it.
    overwrite : bool, default=False
        Replace other files, too: never photos, raw files, sidecars, or what lies in a project's folder.
    photo_url : str, optional
        The address below which Label Studio finds the photos; default: that of its local files.

    Raises
    ------
    InvalidInputError
        If there is no such format, it cannot hold what is asked, or a file is in the way.
    WriteError
        If the system refuses.
    """
    if gps:
        raise InvalidInputError("tagloom never exports locations; leave gps out")
    if threshold is not None:
        check_threshold(threshold, suggestions_kind(store))
    format = detect_export_format(Path(target)) if format is None else format
    if photo_url is not None and format != "label-studio":
        raise InvalidInputError(f"only label-studio holds addresses of photos; {format} needs no photo_url")
    made = MadeFiles(store)
    for file in export_files(target, format):
        refuse_way_out(store, file)
        remedy = "choose another name, or replace it with --overwrite"
        refuse_foreign_target(file, made.holds, remedy=remedy, overwrite=overwrite)
    active = store.models.active()
    options = ExportOptions(
        include_suggested=not accepted_only,
        model_version="tagloom" if active is None else f"tagloom-model-{active.id}",
        photo_root=os.fsdecode(project_root(store).path),
        **({} if photo_url is None else {"photo_url": photo_url}),
    )
    photos = photo_keywords(store, accepted_only=accepted_only, threshold=threshold, uncalibrated=uncalibrated)
    with made.watching():
        report = export_keywords((item for _, item in photos), target, format=format, options=options)
    made.note(report.files)
    withheld = ""
    if not (accepted_only or uncalibrated or report.n_suggested):
        withheld = why_none(store)
    return ExportResult(
        format=report.format,
        files=report.files,
        n_photos=report.n_photos,
        n_accepted=report.n_accepted,
        n_suggested=report.n_suggested,
        n_rejected=report.n_rejected,
        warnings=report.warnings,
        withheld=withheld,
    )
