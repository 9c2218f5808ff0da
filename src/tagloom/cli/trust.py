"""``tagloom trust``: let the settings of a project count that another user or another machine made."""

from typing import Annotated

import typer

from tagloom.cli.console import confirm, print_error, print_json, print_line, print_note
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, opened

__all__ = ["trust"]


def trust(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Trust a project that another user or another computer made.

    Until you do, tagloom ignores its settings that raise limits or name a network, and writes only inside the folder
    around it. tagloom shows these settings and asks. Your own projects are trusted from the start.

    Example: tagloom trust
    """
    import sys

    with opened(project, verbose=verbose) as found:
        raised = found.raised_settings()
        for name, value in raised.items():
            print_note(f"{name} = {value}")
        print_note(f"photos: {found.root}")
        if not yes and not (sys.stdin.isatty() and confirm(f"Trust the project in {found.folder}?")):
            print_error("nothing was changed; answer y, or say --yes")
            raise typer.Exit(1)
        found.trust(raised)
    if as_json:
        print_json({"folder": str(found.folder), "settings": {name: str(value) for name, value in raised.items()}})
    elif not quiet:
        print_line(f"trusted: {found.folder}")
