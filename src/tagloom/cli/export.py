"""``tagloom export``: keywords in a format of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import print_json, print_line, print_table, working
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, logged, opened, print_some

if TYPE_CHECKING:
    from tagloom.project import ExportResult

__all__ = ["export"]


def _format_names(incomplete: str) -> list[str]:
    """Return formats that begin as typed, for the shell's completion."""
    from tagloom.metadata.formats import available_exporters

    return [name for name in available_exporters() if name.startswith(incomplete)]


def export(
    target: Annotated[Path | None, typer.Argument(help="The file or folder to write.")] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            help="The format; default: chosen by the file name. See --list-formats.",
            autocompletion=_format_names,
        ),
    ] = None,
    list_formats: Annotated[bool, typer.Option("--list-formats", help="Only list the formats.")] = False,
    accepted_only: Annotated[bool, typer.Option("--accepted-only", help="Export accepted keywords only.")] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold", help="Export suggestions above this probability; default: the project's threshold."
        ),
    ] = None,
    photo_url: Annotated[
        str | None,
        typer.Option(
            "--photo-url",
            metavar="URL",
            help="With label-studio: the address of the photo folder, such as '/data/local-files/?d=photos/'.",
        ),
    ] = None,
    uncalibrated: Annotated[
        bool, typer.Option("--uncalibrated", help="Also export uncalibrated scores, before 20 photos are labelled.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a file that changed since the last export; never a photo.")
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Export the keywords of all photos to a table or a dataset format.

    Every format marks which keywords you accepted and which are suggestions above the threshold. Suggestions are
    exported once 20 photos are labelled. Photos are not copied, and locations are never written. An existing file is
    replaced only if it is unchanged since the last export.

    Example: tagloom export keywords.csv
    """
    if list_formats:
        _list(as_json)
        return
    if target is None:
        raise typer.BadParameter(
            "Name a file or folder to write. List the formats with --list-formats", param_hint="TARGET"
        )
    if str(target) == "-":
        raise typer.BadParameter("an export goes to a file, not to standard output; name one", param_hint="TARGET")
    with opened(project, verbose=verbose) as found, logged(found), working("exporting keywords", quiet=quiet):
        result = found.export(
            target,
            format_,
            threshold=threshold,
            accepted_only=accepted_only,
            uncalibrated=uncalibrated,
            overwrite=overwrite,
            photo_url=photo_url,
        )
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, quiet, verbose)


def _list(as_json: bool) -> None:
    from tagloom.metadata.formats import describe_formats

    rows = [(item.name, bool(item.reader), bool(item.exporter), item.description) for item in describe_formats()]
    if as_json:
        names = ("name", "reads", "writes", "description")
        print_json({"formats": [dict(zip(names, row, strict=True)) for row in rows]})
        return
    words = {True: "yes", False: "no"}
    table = [(name, words[reads], words[writes], text) for name, reads, writes, text in rows]
    print_table("Formats", ("format", "import", "export", ""), table, n_left=4)


def _print(result: "ExportResult", quiet: bool, verbose: bool) -> None:

    rows = [
        ("photos", f"{result.n_photos}"),
        ("accepted keywords", f"{result.n_accepted}"),
        ("suggested keywords", f"{result.n_suggested}"),
        ("rejected keywords", f"{result.n_rejected}"),
    ]
    print_table(f"Export ({result.format})", ("", ""), rows)
    if not quiet:
        print_some(result.warnings, verbose=verbose, more="items that the format cannot hold")
        if result.withheld:
            print_line(result.withheld)
    for file in result.files:
        print_line(f"written: {file}")
