"""Writing keywords in any format."""

import os
from collections.abc import Iterable
from pathlib import Path

from tagloom.core import PhotoKeywords
from tagloom.metadata.formats.exporting import ExportOptions, ExportReport
from tagloom.metadata.formats.registry import get_exporter

__all__ = ["export_files", "export_keywords"]


def export_files(target: str | os.PathLike[str], format: str) -> tuple[Path, ...]:
    """Return what an export to this target makes or replaces: the files, or the target where a format does not say.

    Parameters
    ----------
    target : path
        The file or folder to write.
    format : str
        One of `tagloom.metadata.formats.available_exporters`.

    Raises
    ------
    InvalidInputError
        If there is no such format, or the target does not fit it.
    """
    files = getattr(get_exporter(format), "files", None)
    return (Path(target),) if files is None else tuple(files(Path(target)))


def export_keywords(
    photos: Iterable[PhotoKeywords],
    target: str | os.PathLike[str],
    *,
    format: str,
    options: ExportOptions | None = None,
) -> ExportReport:
    """Write the keywords of photos for other programs.

    Only what a person accepted and what a model suggested above the threshold is written, and which of the two it was.
    Photos are never touched or copied, and nothing but their names, sizes and keywords is written: no place, no time.

    Parameters
    ----------
    photos : iterable of PhotoKeywords
        Consumed as it goes.
    target : path
        The file or folder to write.
    format : str
        One of `tagloom.metadata.formats.available_exporters`.
    options : ExportOptions, optional
        What to include.

    Returns
    -------
    ExportReport
        Files, counts, and what the format cannot hold.

    Raises
    ------
    InvalidInputError
        If there is no such format, or the photos are not what can be written; nothing is changed then.
    WriteError
        If the system refuses.
    """
    return get_exporter(format).write(photos, Path(target), options or ExportOptions())
