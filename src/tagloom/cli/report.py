"""``tagloom report``: the project as one page."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

if TYPE_CHECKING:
    from tagloom.workflow.project_report import ReportResult

__all__ = ["REPORT", "report"]

REPORT = "report.html"
_HEAD, _MARK = 4096, b'<meta name="generator" content="tagloom '


def report(
    out: Annotated[
        Path | None,
        typer.Option("--out", help=f"The file to make or replace; default: {REPORT} in the current folder."),
    ] = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Write a page with the photos, their tags and suggestions, and what was measured last.

    The page is one file that needs no network. How good the suggestions are is in it once tagloom evaluate has run.

    Example: tagloom report --out report.html
    """
    from tagloom.cli.console import print_json
    from tagloom.cli.projects import opened

    with opened(project, verbose=verbose) as found:
        result = found.report(_own_file() if out is None else out)
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, quiet)


def _own_file() -> Path:
    """Return the file that nobody has named, unless something else than a report is there."""
    from tagloom.exceptions import InvalidInputError

    path = Path(REPORT)
    if path.is_file():
        with open(path, "rb") as handle:
            if _MARK in handle.read(_HEAD):
                return path
    elif not path.exists():
        return path
    raise InvalidInputError(f"{REPORT} is there already and is no report of tagloom; name another file with --out")


def _print(result: "ReportResult", quiet: bool) -> None:
    from tagloom.cli.console import print_line, print_table

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
