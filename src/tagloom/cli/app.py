"""The program ``tagloom``: its commands, its options for all commands, and what it does with errors."""

import os
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer

from tagloom._version import __version__
from tagloom.cli.annotate import annotate
from tagloom.cli.backup import backup, restore
from tagloom.cli.check import check, repair
from tagloom.cli.compare import compare
from tagloom.cli.console import complete, discard_output, output_problem, print_error, print_line, print_text
from tagloom.cli.demo import demo
from tagloom.cli.doctor import doctor
from tagloom.cli.duplicates import duplicates
from tagloom.cli.encoder import encoder
from tagloom.cli.evaluate import evaluate
from tagloom.cli.exit_codes import EPILOG, EXIT_CODES, EXIT_ERROR, EXIT_INTERRUPTED, interrupted
from tagloom.cli.explain import explain
from tagloom.cli.export import export
from tagloom.cli.extract import extract
from tagloom.cli.import_ import import_
from tagloom.cli.init import init, remove
from tagloom.cli.label import label
from tagloom.cli.mcp import mcp
from tagloom.cli.methods import methods
from tagloom.cli.next import next_
from tagloom.cli.readable import Command, Group
from tagloom.cli.report import report
from tagloom.cli.review import review
from tagloom.cli.scan import scan
from tagloom.cli.search import search
from tagloom.cli.serve import serve
from tagloom.cli.status import status
from tagloom.cli.suggest import suggest
from tagloom.cli.sync import sync
from tagloom.cli.tags import tags
from tagloom.cli.train import train, update
from tagloom.cli.trust import trust
from tagloom.cli.undo import history, redo, undo
from tagloom.cli.write import write
from tagloom.exceptions import TagloomError

__all__ = ["app", "main"]

NEXT_STEPS = """tagloom {version}: tag a few photos, and tagloom tags the rest.

See it work on made-up photos:
  tagloom demo

Tag your own photos on a page in your browser:
  tagloom review PHOTOS
In a terminal start with tagloom init PHOTOS; then tagloom status tells you what to do next.

Or do it in one go. List a few dozen photos with their tags in labels.csv:
  file,tags
  beach/IMG_0042.jpg,sea;sand;sunset
  IMG_0107.jpg,dog
then run
  tagloom annotate PHOTOS --labels labels.csv --out results

tagloom doctor checks the installation; tagloom --help lists all commands.
"""

LONGEST_ERROR = 300

app = typer.Typer(
    name="tagloom",
    cls=Group,
    help="Tag a few photos, and tagloom tags the rest. Works offline.",
    epilog=EXIT_CODES,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS: dict[str, Callable[..., None]] = {
    "init": init,
    "scan": scan,
    "import": import_,
    "label": label,
    "extract": extract,
    "train": train,
    "update": update,
    "suggest": suggest,
    "search": search,
    "explain": explain,
    "evaluate": evaluate,
    "compare": compare,
    "methods": methods,
    "report": report,
    "next": next_,
    "duplicates": duplicates,
    "review": review,
    "export": export,
    "write": write,
    "undo": undo,
    "redo": redo,
    "history": history,
    "status": status,
    "check": check,
    "repair": repair,
    "backup": backup,
    "restore": restore,
    "trust": trust,
    "remove": remove,
    "annotate": annotate,
    "demo": demo,
    "doctor": doctor,
    "mcp": mcp,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=Command, epilog=EPILOG)(_command)
app.add_typer(tags, name="tags")
app.add_typer(encoder, name="encoder")
app.add_typer(serve, name="serve")
app.add_typer(sync, name="sync")


def _show_version(value: bool) -> None:
    if value:
        print_line(f"tagloom {__version__}")
        raise typer.Exit


@app.callback(cls=Group, invoke_without_command=True)
def entry(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Tag a few photos, and tagloom tags the rest. Works offline, and photos are never changed unless asked."""
    context.obj = {"debug": debug}
    if context.invoked_subcommand is None:
        print_text(NEXT_STEPS.format(version=__version__))


def main(arguments: list[str] | None = None) -> None:
    """Run the program; one line for an error, a traceback only with ``--debug``."""
    arguments = sys.argv[1:] if arguments is None else arguments
    end = arguments.index("--") if "--" in arguments else len(arguments)  # names of photos follow
    debug = "--debug" in arguments[:end]
    if debug:  # accepted before and after the command
        arguments = ["--debug", *(item for item in arguments[:end] if item != "--debug"), *arguments[end:]]
    complete()
    try:
        _run(arguments if arguments or not _is_in_project() else ["status"])
    except BrokenPipeError:
        discard_output()
        sys.exit(EXIT_ERROR)
    except (TagloomError, OSError) as error:
        if output_problem() is not None:
            discard_output()
        if debug:
            raise
        print_error(_one_line(error))
        sys.exit(EXIT_ERROR)
    except Exception as error:  # of a kind that nobody thought of, as a project of a stranger may bring about
        if debug:
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_ERROR]
        print_error(f"unexpected error ({text}). Run again with --debug to see where")
        sys.exit(EXIT_ERROR)


def _is_in_project() -> bool:
    from tagloom.catalog import find_project

    try:
        find_project(os.environ.get("TAGLOOM_PROJECT") or None)
    except (TagloomError, OSError):
        return False
    return True


def _run(arguments: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    try:
        code = command.main(args=arguments, prog_name="tagloom", standalone_mode=True)
    except SystemExit as end:
        code = end.code
        if code == EXIT_INTERRUPTED:
            print_error(interrupted(arguments))
    # Here and not at the end of the process, where nobody would be told that it cannot be written.
    problem = output_problem()
    if problem is not None:
        raise problem
    sys.exit(code or 0)


def _one_line(error: TagloomError | OSError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
    return str(error)
