"""``tagloom undo``, ``tagloom redo`` and ``tagloom history``: take back an action, bring it back, list them all."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import confirm, counted, cut, print_json, print_line, print_note, print_table, working
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, logged, moment, opened, who

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tagloom.project import UndoResult

__all__ = ["history", "redo", "undo"]


N_NAMED = 20

Action = Annotated[int | None, typer.Argument(help="Number of the action in `tagloom history`; default: the latest.")]


def undo(
    action: Action = None,
    leave_changed: Annotated[
        bool,
        typer.Option("--leave-changed", help="Skip files that another program changed since, and undo the rest."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Undo the latest action: labels, an import, a tag change, or a write.

    Written files get their old content back, byte for byte. If another program changed one of them since, nothing is
    undone unless you add --leave-changed. In a project from another user or computer, tagloom names the files and asks
    first.

    Example: tagloom undo
    """
    from functools import partial

    with opened(project, verbose=verbose) as found, logged(found), working("undoing", quiet=quiet) as progress:
        confirm = partial(_confirm, yes, progress.finish)
        result = found.undo(action, who=who(), leave_changed=leave_changed, confirm=confirm, progress=progress)
    _print(result, "undone", as_json, quiet)


def redo(
    action: Action = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Redo the action that was undone last: labels, an import or a tag change.

    Redo skips writes: to write keywords again, run `tagloom write`.

    Example: tagloom redo
    """
    with opened(project, verbose=verbose) as found, logged(found), working("redoing", quiet=quiet):
        result = found.redo(action, who=who())
    _print(result, "done again", as_json, quiet)


def _confirm(yes: bool, clear: "Callable[[], None]", files: "Sequence[bytes]") -> bool:
    """Name the files that an undo would write, and ask; where nobody can answer, only --yes is a yes."""
    import sys

    from tagloom.metadata import name_to_text

    clear()
    for path in files[:N_NAMED]:
        print_note(f"undo writes {name_to_text(path)}")
    if len(files) > N_NAMED:
        print_note(f"… and {len(files) - N_NAMED} more")
    if yes or not sys.stdin.isatty():
        return yes
    return confirm(f"Another user or machine made this project. Put back {counted(len(files), 'file')}?")


def _print(result: "UndoResult", word: str, as_json: bool, quiet: bool) -> None:

    if as_json:
        print_json(result.as_dict())
        return
    for line in result.left_alone:
        print_line(f"left as it is: {line}")
    if quiet:
        return
    if result.batch is None:
        print_line("Nothing to undo" if word == "undone" else "Nothing to redo")
        return
    have = "has its" if result.n_files == 1 else "have their"
    files = f"; {counted(result.n_files, 'file')} {have} old content again" if result.n_files else ""
    print_line(f"{word}: {result.batch.label} (action {result.batch.id}){files}")


def history(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many actions to show.")] = 20,
    photo: Annotated[str | None, typer.Option("--photo", help="Only decisions about this photo.")] = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List all actions, newest first: labels, imports, tag changes, writes, undo and redo.

    Example: tagloom history --photo beach/IMG_0042.jpg
    """
    import os

    from tagloom.catalog import find_photo_ids, plain

    with opened(project, verbose=verbose) as found:
        number = None if photo is None else int(find_photo_ids(found.store, photo, base=os.getcwd())[0])
        batches = found.history(limit, photo=number)
    if as_json:
        print_json({"actions": plain(batches)})
    elif batches:
        what = str if verbose else cut
        rows = [
            (f"{item.id}", moment(item.at), what(_what(item)), item.who, "undone" if item.undone else "", f"{item.n}")
            for item in batches
        ]
        print_table("History", ("action", "when", "what", "who", "", "decisions"), rows, n_left=5)
    elif not quiet:
        print_line("No actions yet")


def _what(batch: Any) -> str:
    return f"{batch.kind}: {batch.label}" if batch.kind in ("undo", "redo") else str(batch.label)
