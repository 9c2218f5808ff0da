"""``tagloom duplicates``: which photos show the same picture."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import RichProgress, counted, print_json, print_line
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, WorkersOption, opened

if TYPE_CHECKING:
    from tagloom.project import DuplicatePhoto, DuplicatesResult

__all__ = ["duplicates"]

_N_GROUPS = 20


def duplicates(
    threshold: Annotated[
        int,
        typer.Option(
            "--threshold",
            min=0,
            max=64,
            help="How many of 64 fingerprint bits may differ; 0 means identical fingerprints.",
        ),
    ] = 6,
    workers: WorkersOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show photos that are the same picture: identical files, and resized, resaved or slightly brightened copies.

    Nothing is changed or deleted. Each group starts with the photo that has the most pixels. The first run reads every
    photo once. Without -v you see the first 20 groups.

    Example: tagloom duplicates --threshold 4
    """
    with (
        opened(project, {"n_workers": workers}, verbose=verbose) as found,
        RichProgress(quiet=quiet) as progress,
    ):
        result = found.duplicates(threshold, progress=progress)
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, verbose)


def _print(result: "DuplicatesResult", verbose: bool) -> None:

    for group in result.groups if verbose else result.groups[:_N_GROUPS]:
        for photo in group:
            print_line(_line(photo, is_first=photo is group[0]))
        print_line("")
    if len(result.groups) > _N_GROUPS and not verbose:
        print_line(f"… and {counted(len(result.groups) - _N_GROUPS, 'more group')}; -v lists all")
    n_photos = sum(map(len, result.groups))
    if result.groups:
        print_line(f"{counted(len(result.groups), 'group')}: {n_photos} of {result.n_photos} photos. Nothing changed.")
    else:
        print_line(f"No near-duplicates among {counted(result.n_photos, 'photo')}.")
    if result.n_without:
        print_line(f"Not compared, because they are offline: {counted(result.n_without, 'photo')}.")


def _line(photo: "DuplicatePhoto", *, is_first: bool) -> str:
    from tagloom.metadata import name_to_text

    alike = "identical file" if photo.identical else f"differs in {photo.bits} of 64 bits"
    size = f"{photo.width} × {photo.height}"
    return f"{name_to_text(photo.photo)}  {size}" if is_first else f"  {name_to_text(photo.photo)}  {size}  {alike}"
