"""``tagloom review``: the page on which a person confirms, corrects and teaches."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import print_line, print_note, working
from tagloom.cli.first import VocabularyOption
from tagloom.cli.shared import ProjectOption, Verbose, logged, opened, who

if TYPE_CHECKING:
    from tagloom.project import Project
    from tagloom.web.server import Network

__all__ = ["review", "serve_project"]

#: Photos whose features are computed before the page opens, about a minute's work; of more, those that are there count.
MOST_WAITED_FOR = 1000


def review(
    where: Annotated[
        Path | None,
        typer.Argument(
            metavar="[PROJECT]",
            help="A project or a folder of photos; a new folder gets a project. Otherwise the same as --project DIR.",
        ),
    ] = None,
    project: ProjectOption = None,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help="Port of the page; 0 reuses the last one or picks a free one.",
        ),
    ] = None,
    vocabulary: VocabularyOption = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address.")] = False,
    verbose: Verbose = False,
) -> None:
    """Open the review page in your browser: accept, reject and teach.

    Only this computer can reach it. Without a browser, open the printed address; it works once. Every decision is saved
    at once. Ctrl-C ends the review.

    In a folder without a project, tagloom makes one and finds the photos first. Before any photo is labelled, it
    suggests tags by their names: those of --vocabulary, those of the project, or everyday words.

    Example: tagloom review ~/Pictures
    """
    from tagloom.cli.first import suggest_first
    from tagloom.exceptions import PhotosError

    _make_if_new(where, project)
    with opened(where or project, verbose=verbose) as found, logged(found):
        if found.store.roots.all()[0].scanned == 0.0:
            with working("looking at files") as progress:
                found.scan(progress=progress)
        try:
            with working("looking for what the photos show") as progress:
                suggest_first(found, vocabulary, progress, compute=_is_small(found))
        except PhotosError as error:
            if vocabulary is not None:
                raise
            print_note(f"nothing is suggested yet: {error}")
        serve_project(found, port=port, browser=not no_browser)


def _make_if_new(where: Path | None, project: Path | None) -> None:
    """Make a project for a folder that has none: one that was named, or the current one where a person says so."""
    import sys

    from tagloom.catalog import FOLDER_NAME, find_project
    from tagloom.cli.console import confirm, print_note
    from tagloom.exceptions import StoreError
    from tagloom.project import Project

    try:
        find_project(where or project)
    except StoreError:
        folder = where or Path.cwd()
        is_asked = project is None and (where is not None or sys.stdin.isatty())
        if not is_asked or not folder.is_dir() or (folder / FOLDER_NAME).exists():
            raise
        if where is None and not confirm(f"There is no project yet. Make one for the photos in {folder}?"):
            raise typer.Exit(1) from None
        with Project.init(folder) as made:
            print_note(f"Made a project for {made.root}; tagloom keeps it in {made.folder}")


def _is_small(project: "Project") -> bool:
    """Tell whether features of all photos are computed while a person waits for the page."""
    return len(project.store.photos.there()) <= MOST_WAITED_FOR


def serve_project(project: "Project", *, port: int | None, browser: bool, network: "Network | None" = None) -> None:
    """Serve the review page of a project until Ctrl-C or SIGTERM."""
    from tagloom.exceptions import StoreError
    from tagloom.review import ProjectLearner, ReviewSession

    try:
        from tagloom.web import serve
    except ImportError as error:
        raise StoreError(
            f"the review page needs the package {error.name!r}, which is not installed; install starlette and uvicorn"
        ) from error

    with ReviewSession(
        project, who=who(), exports=Path.cwd() / "tagloom-exports", make_learner=lambda: ProjectLearner(project)
    ) as session:
        serve(
            session,
            port=port,
            ready=_announce,
            open_browser=_open if browser else None,
            moved=_moved,
            network=network,
        )
        print_note("The review has ended. All your decisions are saved")


def _announce(address: str) -> None:
    import sys

    print_line(address)
    sys.stdout.flush()
    print_note("This address works once, on this computer only. Ctrl-C ends the review")


def _open(address: str) -> None:
    """Open the browser at a file: what stands in a command line is read by every user of the machine."""
    import webbrowser

    webbrowser.open(address)


def _moved(port: int) -> None:

    print_note(
        f"port {port} of this project's last review is taken, so another one is used; decisions that a tab of that "
        f"review still keeps are sent by: tagloom review --port {port}, once it is free"
    )
