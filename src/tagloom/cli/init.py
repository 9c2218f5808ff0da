"""``tagloom init``: a project for a folder of photos."""

from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

__all__ = ["init"]


def init(
    photos: Annotated[Path, typer.Argument(help="Folder of photos, subfolders included.")],
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Make a project for a folder of photos.

    tagloom keeps it in PHOTOS/.tagloom. If the photos are on a read-only disk, choose another folder with --project. An
    existing project stays as it is.

    Example: tagloom init ~/Pictures
    """
    from tagloom.cli.console import print_json, print_line
    from tagloom.cli.projects import command_here, noted
    from tagloom.project import Project

    with noted(verbose), Project.init(photos, project=project) as made:
        status = made.status()
        if as_json:
            print_json(status.as_dict())
        elif not quiet:
            print_line(f"The project for {status.root} is in {status.folder}.")
            print_line(f"{status.next_step} Run: {command_here(made, status.command)}")
