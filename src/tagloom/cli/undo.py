"""``tagloom undo`` and ``tagloom redo``: take back the latest action, and bring it back."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

if TYPE_CHECKING:
    from tagloom.workflow.project_undo import UndoResult

__all__ = ["redo", "undo"]

Action = Annotated[int | None, typer.Argument(help="An action's number in `tagloom history`; default: the latest.")]


def undo(
    action: Action = None,
    leave_changed: Annotated[
        bool,
        typer.Option("--leave-changed", help="Leave files that another program has changed since, and undo the rest."),
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Take back the latest action: labels, an import, a change of tags, or a write.

    Files that were written get their old content back, byte for byte. If another program has changed one since,
    nothing is done, unless --leave-changed says to leave it.

    Example: tagloom undo
    """
    from tagloom.cli.console import working
    from tagloom.cli.projects import logged, opened, who

    with opened(project, verbose=verbose) as found, logged(found), working("undoing", quiet=quiet) as progress:
        result = found.undo(action, who=who(), leave_changed=leave_changed, progress=progress)
    _print(result, "undone", as_json, quiet)


def redo(
    action: Action = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Bring back what was undone last: labels, an import or a change of tags.

    A write that was undone is passed over: `tagloom write` writes the keywords again.

    Example: tagloom redo
    """
    from tagloom.cli.console import working
    from tagloom.cli.projects import logged, opened, who

    with opened(project, verbose=verbose) as found, logged(found), working("redoing", quiet=quiet):
        result = found.redo(action, who=who())
    _print(result, "done again", as_json, quiet)


def _print(result: "UndoResult", word: str, as_json: bool, quiet: bool) -> None:
    from tagloom.cli.console import counted, print_json, print_line

    if as_json:
        print_json(result.as_dict())
        return
    for line in result.left_alone:
        print_line(f"left as it is: {line}")
    if quiet:
        return
    if result.batch is None:
        print_line("there is nothing to take back" if word == "undone" else "there is nothing to bring back")
        return
    have = "has its" if result.n_files == 1 else "have their"
    files = f"; {counted(result.n_files, 'file')} {have} old content again" if result.n_files else ""
    print_line(f"{word}: {result.batch.label} (action {result.batch.id}){files}")
