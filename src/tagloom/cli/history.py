"""``tagloom history``: what was done, newest first."""

from typing import Annotated, Any

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

__all__ = ["history"]


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
    from tagloom.cli.console import cut, print_json, print_line, print_table
    from tagloom.cli.projects import moment, opened

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
