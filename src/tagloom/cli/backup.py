"""``tagloom backup`` and ``tagloom restore``: a copy of all that was decided, and the way back to it."""

from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.console import confirm, counted, print_error, print_json, print_line
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, logged, moment, opened

__all__ = ["backup", "restore"]


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
    with opened(project, verbose=verbose) as found, logged(found):
        found.backup(file)
    n_bytes = file.stat().st_size
    if as_json:
        print_json({"file": str(file), "n_bytes": n_bytes})
    elif not quiet:
        print_line(f"written: {file} ({n_bytes:,} bytes)")


def restore(
    backup: Annotated[
        str, typer.Argument(help="A backup from --list, or a file from `tagloom backup`; default: the latest.")
    ] = "latest",
    list_them: Annotated[bool, typer.Option("--list", help="Only list the backups.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Go back to a backup, after damage or a mistake.

    tagloom makes backups by itself. It keeps the current database aside and reuses features that are still valid. Close
    the review first; afterwards run `tagloom scan`, then `tagloom train`.

    Example: tagloom restore
    """
    from tagloom.catalog import find_damaged_project
    from tagloom.store import find_backups
    from tagloom.store import restore as put_back

    folder = find_damaged_project(project)
    known = find_backups(folder)
    if list_them:
        if as_json:
            print_json({"backups": [{"name": item.name, "at": item.at, "action": item.batch} for item in known]})
        for item in known if not as_json else ():
            print_line(f"{item.name}  {moment(item.at)}  up to action {item.batch}")
        if not known and not as_json and not quiet:
            print_line("No backups yet")
        return
    if not yes and not confirm(f"Put the backup {backup} in place of the database in {folder}?"):
        print_error("nothing was changed; answer y, or say --yes")
        raise typer.Exit(1)
    done = put_back(folder, Path(backup) if Path(backup).is_absolute() else backup)
    if as_json:
        print_json(
            {"backup": done.backup, "n_decisions": done.n_decisions, "n_features": done.n_features, "aside": done.aside}
        )
    elif not quiet:
        kept = f"; what was there is in {done.aside}" if done.aside else ""
        print_line(f"restored: {counted(done.n_decisions, 'decision')} from {done.backup}{kept}")
        print_line("next: tagloom scan")
