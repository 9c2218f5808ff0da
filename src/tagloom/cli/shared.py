"""What commands share: their options, opening a project, its log, and lists that do not flood the terminal."""

import contextlib
import logging
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import marked, print_line, print_note, printable

if TYPE_CHECKING:
    from tagloom.project import Project

__all__ = [
    "N_SHOWN",
    "AbsentMeans",
    "EncoderOption",
    "GroupsOption",
    "Json",
    "Method",
    "NeighborsOption",
    "OutFolder",
    "ProjectOption",
    "Quiet",
    "RetryOption",
    "SetOption",
    "ThreadsOption",
    "Verbose",
    "WorkersOption",
    "command_here",
    "logged",
    "moment",
    "noted",
    "opened",
    "print_some",
    "shown",
    "tag_names",
    "who",
]

N_SHOWN = 5
VERB_LOG = "tagloom.catalog.logs"

Method = Annotated[str | None, typer.Option("--method", help="Learning method; `tagloom methods` lists them.")]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Parameter of the method, repeatable; `tagloom methods NAME` lists them.",
    ),
]
NeighborsOption = Annotated[int | None, typer.Option("--neighbors", help="Neighbours per photo in the graph.")]
WorkersOption = Annotated[int | None, typer.Option("--workers", help="Number of processes that decode photos.")]
ThreadsOption = Annotated[int | None, typer.Option("--threads", help="Number of threads for computing.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Hide progress; print results only.")]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Print full lists, and log each step to standard error.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of tables.")]
ProjectOption = Annotated[
    Path | None,
    typer.Option(
        "--project",
        envvar="TAGLOOM_PROJECT",
        metavar="DIR",
        help="The project, or the photo folder that holds it. Default: the current folder or the nearest one above.",
    ),
]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder for the results; created if needed.")]
AbsentMeans = Annotated[
    str | None,
    typer.Option(
        "--absent-means",
        metavar="no|unknown",
        help="Whether a tag missing on a listed photo is rejected (no) or undecided (unknown).",
    ),
]
GroupsOption = Annotated[
    str | None,
    typer.Option("--groups", help="Feature groups or descriptors, separated by commas; `tagloom doctor` lists them."),
]
EncoderOption = Annotated[
    Path | None, typer.Option("--encoder", help="TOML file that describes your own ONNX encoder.")
]
RetryOption = Annotated[bool, typer.Option("--retry", help="Retry files that crashed the decoder before.")]


class _Notes(logging.Handler):
    """Shows records of the log on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line, whatever a photo's name holds."""
        if record.name == VERB_LOG:  # for the log file: the command tells the same
            return
        print_note(f"{record.levelname.lower()}: {record.getMessage()}")


@contextlib.contextmanager
def noted(verbose: bool) -> Iterator[None]:
    """Show on standard error what is done, if asked."""
    logger, notes = logging.getLogger("tagloom"), _Notes()
    if verbose:
        logger.addHandler(notes)
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(notes)


@contextlib.contextmanager
def opened(where: Path | None, flags: Mapping[str, Any] | None = None, *, verbose: bool = False) -> "Iterator[Project]":
    """Open a project, and say which files an interrupted write had left open."""
    from tagloom.project import Project
    from tagloom.store import as_stored

    with noted(verbose), Project.open(where, flags=flags) as project:
        for line in project.recovered:
            print_note(line)
        # A stranger can store anything that has the right type.
        with contextlib.nullcontext() if project.is_trusted else as_stored("its photos and what was learned of them"):
            yield project


@contextlib.contextmanager
def logged(project: "Project") -> Iterator[None]:
    """Keep a log of what is done in the project's folder; where that cannot be, say so and go on."""
    from tagloom.catalog import configure_logging, stop_logging
    from tagloom.exceptions import WriteError

    try:
        configure_logging(project.folder / "logs", project.settings.log_level)
    except WriteError as error:
        print_note(f"no log is kept: {error.strerror or error}")
    if project.settings.ignored:
        print_note(
            f"ignored {', '.join(project.settings.ignored)} because you do not trust this project yet. To use these "
            f"settings, run: {command_here(project, 'tagloom trust')}"
        )
    try:
        yield
    finally:
        stop_logging()


def who() -> str:
    """Return who is at work, for the history: ``$TAGLOOM_WHO`` or the name of the login."""
    chosen = os.environ.get("TAGLOOM_WHO")
    if chosen:
        return chosen
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a user without a name, as in some containers
        return ""


def command_here(project: "Project", command: str) -> str:
    """Return a command as it has to be typed in the current folder to mean this project."""
    from tagloom.catalog import FOLDER_NAME, find_project
    from tagloom.exceptions import StoreError

    try:
        if os.path.samefile(find_project(os.environ.get("TAGLOOM_PROJECT") or None), project.folder):
            return command
    except (StoreError, OSError):
        pass
    folder = project.folder
    place = folder.parent if folder.name == FOLDER_NAME else folder
    return f"{command} --project {shlex.quote(os.fspath(place))}"


def moment(seconds: float) -> str:
    """Return a time as a person here reads it."""
    import time

    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds)) if seconds else "never"


def shown(names: Sequence[str], n: int = N_SHOWN) -> str:
    """Return the first few of several names as one text."""
    return ", ".join(marked(printable(name)) for name in names[:n]) + (f" … ({len(names)})" if len(names) > n else "")


def print_some(lines: Sequence[str], *, verbose: bool, more: str, n: int = N_SHOWN) -> None:
    """Print the first few lines, or all of them; ``more`` names what is left out."""
    for line in lines if verbose else lines[:n]:
        print_line(line)
    if len(lines) > n and not verbose:
        print_line(f"… and {len(lines) - n} more {more}; -v lists all")


def tag_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return tags of the project that begin as typed, for the shell's completion; none if anything is amiss."""
    from tagloom.project import Project

    with contextlib.suppress(Exception), Project.open(context.params.get("project")) as project:
        return [tag.text for tag in project.tags() if tag.text.startswith(incomplete)]
    return []
