"""The report of a run: one HTML file with thumbnails, suggestions and what could not be read.

The file needs nothing but itself: style, script and pictures are inside, and its content security policy forbids
everything else. Photos are drawn as the reader scrolls, so that thousands open quickly; without JavaScript the first
ones are there as plain HTML.
"""

import os
from pathlib import Path

from tagloom.core.files import write_bytes
from tagloom.report.data import ReportData, ReportPhoto, TagSummary, UnreadablePhoto, summarize_tags
from tagloom.report.page import render_page

__all__ = ["ReportData", "ReportPhoto", "TagSummary", "UnreadablePhoto", "summarize_tags", "write_report"]


def write_report(path: str | os.PathLike[str], data: ReportData) -> Path:
    """Write the report as one self-contained HTML file, atomically.

    Parameters
    ----------
    path : path
        The file to make or replace.
    data : ReportData
        What to show.

    Returns
    -------
    Path
        The file.

    Raises
    ------
    WriteError
        If the system refuses.
    """
    write_bytes(path, render_page(data, summarize_tags(data.photos)).encode("utf-8"))
    return Path(path)
