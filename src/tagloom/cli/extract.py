"""``tagloom extract``: features of a project's photos, or of a folder's for other programs."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import RichProgress, print_json, print_table
from tagloom.cli.shared import (
    EncoderOption,
    GroupsOption,
    Json,
    ProjectOption,
    Quiet,
    RetryOption,
    ThreadsOption,
    Verbose,
    WorkersOption,
    logged,
    opened,
)

if TYPE_CHECKING:
    from tagloom.catalog import ExtractSummary

__all__ = ["extract"]


def extract(
    photos: Annotated[
        Path | None, typer.Argument(help="With --out: folder of photos, subfolders included. They are only read.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="With PHOTOS: folder for the features; made if needed.")
    ] = None,
    groups: GroupsOption = None,
    encoder: EncoderOption = None,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    retry: RetryOption = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compute the features of all photos that have none yet.

    In a project they are kept for training. Outside a project, name PHOTOS and --out: tagloom writes features.npy (one
    row per photo), photos.csv (which row belongs to which photo, and why a file has none) and groups.json (the columns
    of each group). You can interrupt it at any time: the next run continues.

    Example: tagloom extract --groups deep,color

    Example: tagloom extract ~/Pictures --out features --groups deep,color,gist
    """
    if (photos is None) != (out is None):
        raise typer.BadParameter("name both PHOTOS and --out, or, in a project, neither", param_hint="PHOTOS")
    flags = {"descriptors": groups, "encoder": encoder, "n_workers": workers, "n_threads": threads}
    if photos is not None and out is not None:
        _extract_folder(photos, out, flags, retry, as_json, quiet)
    else:
        _extract_project(project, flags, retry, as_json, quiet, verbose)


def _extract_folder(photos: Path, out: Path, flags: dict[str, Any], retry: bool, as_json: bool, quiet: bool) -> None:
    from tagloom.catalog import plain
    from tagloom.cli.summary import print_extraction
    from tagloom.jobs import extract_folder
    from tagloom.settings import PROJECT_FILE_NAME, load_settings

    settings = load_settings(flags, os.environ, out / PROJECT_FILE_NAME)
    with RichProgress(quiet=quiet) as progress:
        result = extract_folder(photos, out, settings, retry=retry, progress=progress)
    if not as_json:
        print_extraction(result)
        return
    groups = dict(zip(result.groups.names, result.groups.sizes, strict=True))
    counts = {"n_rows": result.n_rows, "groups": groups, "verdicts": result.verdicts, "seconds": result.seconds}
    print_json(plain(counts | {"files": result.files}))


def _extract_project(
    project: Path | None, flags: dict[str, Any], retry: bool, as_json: bool, quiet: bool, verbose: bool
) -> None:

    with opened(project, flags, verbose=verbose) as found, logged(found), RichProgress(quiet=quiet) as progress:
        result = found.extract(retry=retry, progress=progress)
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result)


def _print(result: "ExtractSummary") -> None:

    rows = [
        ("readable photos", f"{result.n_photos}"),
        ("with all features now", f"{result.n_ready}"),
        ("decoded now", f"{result.n_decoded}"),
        ("files that could not be read", f"{result.n_failed}"),
        ("time", f"{result.seconds:.1f} s"),
        *((f"group {name}", f"{size} columns") for name, size in result.groups.items()),
    ]
    print_table("Features", ("", ""), rows)
