"""``tagloom report``: the project as one page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import print_json, print_line, print_table, working
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, logged, opened

if TYPE_CHECKING:
    from tagloom.project import ReportResult

__all__ = ["REPORT", "report"]

REPORT = "report.html"


def report(
    out: Annotated[
        Path | None,
        typer.Option("--out", help=f"The new report, or an older one to replace; default: {REPORT} in this folder."),
    ] = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write an HTML page with all photos, their tags and suggestions, and the latest evaluation.

    The page is a single file and works offline. Run `tagloom evaluate` first to include how good the suggestions are.

    Example: tagloom report --out report.html
    """
    with opened(project, verbose=verbose) as found, logged(found), working("making the page", quiet=quiet):
        result = found.report(Path(REPORT) if out is None else out)
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, quiet)


def _print(result: "ReportResult", quiet: bool) -> None:

    rows = [
        ("photos", f"{result.n_photos}"),
        ("on the page", f"{result.n_shown}"),
        ("labelled", f"{result.n_labeled}"),
        ("with suggestions", f"{result.n_with_suggestions}"),
        ("files that could not be read", f"{result.n_unreadable}"),
    ]
    print_table("Report", ("", ""), rows)
    if not quiet:
        print_line(result.note)
    print_line(f"written: {result.file}")
