"""``tagloom review``: the page on which a person confirms, corrects and teaches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.options import Verbose

if TYPE_CHECKING:
    from tagloom.project.project import Project

__all__ = ["review", "serve_project"]


def review(
    where: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PROJECT]",
            envvar="TAGLOOM_PROJECT",
            help="The photo folder or the project. Default: the current folder or the nearest one above.",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port of the page; 0 reuses the last one or picks a free one.",
        ),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    verbose: Verbose = False,
) -> None:
    """Open the review page in your browser: accept, reject and teach.

    Only this computer can reach it. Without a browser, open the printed address; it works once. Every decision is saved
    at once. Ctrl-C ends the review.

    Example: tagloom review
    """
    from tagloom.cli.projects import logged, opened

    with opened(where, verbose=verbose) as found, logged(found):
        serve_project(found, port=port, browser=not no_browser)


def serve_project(project: "Project", *, port: int | None, browser: bool) -> None:
    """Serve the review page of a project until Ctrl-C or SIGTERM."""
    from tagloom.cli.console import print_note
    from tagloom.cli.projects import who
    from tagloom.exceptions import StoreError
    from tagloom.review.learner import ProjectLearner
    from tagloom.review.session import ReviewSession

    try:
        from tagloom.web.server import serve
    except ImportError as error:
        raise StoreError(
            f"the review page needs the package {error.name!r}, which is not installed; install starlette and uvicorn"
        ) from error

    with ReviewSession(
        project, who=who(), exports=Path.cwd() / "tagloom-exports", make_learner=lambda: ProjectLearner(project)
    ) as session:
        serve(session, port=port, ready=_announce, open_browser=_open if browser else None, moved=_moved)
        print_note("The review has ended. All your decisions are saved")


def _announce(address: str) -> None:
    import sys

    from tagloom.cli.console import print_line, print_note

    print_line(address)
    sys.stdout.flush()
    print_note("This address works once, on this computer only. Ctrl-C ends the review")


def _open(address: str) -> None:
    """Open the browser at a file: what stands in a command line is read by every user of the machine."""
    import webbrowser

    webbrowser.open(address)


def _moved(port: int) -> None:
    from tagloom.cli.console import print_note

    print_note(
        f"port {port} of this project's last review is taken, so another one is used; decisions that a tab of that "
        f"review still keeps are sent by: tagloom review --port {port}, once it is free"
    )
