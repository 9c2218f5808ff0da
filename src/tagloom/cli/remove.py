"""``tagloom remove``: the end of a project."""

from typing import Annotated

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

__all__ = ["remove"]


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
    from tagloom.cli.console import confirm, counted, print_error, print_json, print_line
    from tagloom.cli.projects import opened

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
