"""``tagloom backup``: a copy of all that was decided."""

from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

__all__ = ["backup"]


def backup(
    file: Annotated[Path, typer.Argument(help="The new file; it must not exist yet.")],
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Copy all your decisions into one file, even while other commands run.

    Features, thumbnails and models are left behind: tagloom can compute them again. To go back to a backup, run
    `tagloom restore FILE`.

    Example: tagloom backup ~/backups/photos.sqlite
    """
    from tagloom.cli.console import print_json, print_line
    from tagloom.cli.projects import logged, opened

    with opened(project, verbose=verbose) as found, logged(found):
        found.backup(file)
    n_bytes = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "n_bytes": n_bytes})
    elif not quiet:
        print_line(f"written: {file} ({n_bytes:,} bytes)")
