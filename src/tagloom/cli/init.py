"""``tagloom init`` and ``tagloom remove``: the beginning and the end of a project."""

from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.console import confirm, counted, print_error, print_json, print_line
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, command_here, noted, opened

__all__ = ["init", "remove"]


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
    from tagloom.project import Project

    with noted(verbose), Project.init(photos, project=project) as made:
        status = made.status()
        if as_json:
            print_json(status.as_dict())
        elif not quiet:
            print_line(f"The project for {status.root} is in {status.folder}.")
            print_line(f"{status.next_step} Run: {command_here(made, status.command)}")


def remove(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Delete the project and all its decisions. Photos and sidecars stay.

    Only files that tagloom made are deleted. Your tagloom.toml stays. If the folder holds anything else, nothing is
    deleted.

    Example: tagloom remove
    """
    with opened(project, verbose=verbose) as found:
        folder, now = found.folder, found.status()
        said = f"{counted(now.n_yes + now.n_no, 'decision')} about {counted(now.n_labeled, 'photo')}"
        if not yes and not confirm(f"Remove {folder} with {said}? It cannot be undone."):
            print_error("nothing was removed; answer y, or say --yes")
            raise typer.Exit(1)
        n_files = found.remove()
    if as_json:
        print_json({"folder": str(folder), "n_files": n_files})
    elif not quiet:
        print_line(f"removed: {folder} ({counted(n_files, 'file')}); photos and sidecars are untouched")
