"""The verb behind ``tagloom export``: keywords of all photos in a format of other programs."""

import os
from dataclasses import dataclass
from pathlib import Path

from tagloom.catalog.output_guard import MadeFiles, refuse_foreign_target
from tagloom.catalog.places import project_root
from tagloom.catalog.results import Result
from tagloom.exceptions import InvalidInputError
from tagloom.learning.suggest import check_threshold, suggestions_kind
from tagloom.metadata.formats import ExportOptions, detect_export_format, export_files, export_keywords
from tagloom.project.project_keywords import photo_keywords, why_withheld
from tagloom.store.project import ProjectStore

__all__ = ["ExportResult", "export"]


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
        raise InvalidInputError("no export of tagloom holds where photos were taken; leave gps out")
    if threshold is not None:
        check_threshold(threshold, suggestions_kind(store))
    format = detect_export_format(Path(target)) if format is None else format
    if photo_url is not None and format != "label-studio":
        raise InvalidInputError(f"only label-studio holds addresses of photos; {format} needs no photo_url")
    made = MadeFiles(store)
    for file in export_files(target, format):
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
    is_withheld = not (accepted_only or uncalibrated or report.n_suggested)
    return ExportResult(
        format=report.format,
        files=report.files,
        n_photos=report.n_photos,
        n_accepted=report.n_accepted,
        n_suggested=report.n_suggested,
        n_rejected=report.n_rejected,
        warnings=report.warnings,
        withheld=why_withheld(store) if is_withheld else "",
    )
