"""The program ``tagloom``: its commands, its options for all commands, and what it does with errors."""

import os
import sys
from typing import Annotated, Any

import typer

from tagloom._version import __version__
from tagloom.cli import annotate, demo, doctor, extract
from tagloom.cli.console import print_error, print_line
from tagloom.exceptions import TagloomError

__all__ = ["app", "main"]

EXIT_ERROR = 1
EXIT_INTERRUPTED = 130

NEXT_STEPS = """tagloom {version}: tag a few photos, and tagloom tags the rest.

See it work on made-up photos:
  tagloom demo

On your own photos: write a file labels.csv such as
  file,tags
  beach/IMG_0042.jpg,sea;sand;sunset
  IMG_0107.jpg,dog
for a few dozen photos, then
  tagloom annotate PHOTOS --labels labels.csv --out results

tagloom doctor shows whether everything it needs is in place; tagloom --help lists all commands.
"""

app = typer.Typer(
    name="tagloom",
    help="Tag a few photos, and tagloom tags the rest. Works offline; photos are only read.",
    epilog="Exit codes: 0 done, 1 an error that one line explains, 2 wrong usage, 130 interrupted; run again to go on.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("annotate")(annotate.annotate)
app.command("extract")(extract.extract)
app.command("demo")(demo.demo)
app.command("doctor")(doctor.doctor)


def _show_version(value: bool) -> None:
    if value:
        print_line(f"tagloom {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def entry(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Tag a few photos, and tagloom tags the rest. Works offline; photos are only read."""
    context.obj = {"debug": debug}
    if context.invoked_subcommand is None:
        print_line(NEXT_STEPS.format(version=__version__))


def main(arguments: list[str] | None = None) -> None:
    """Run the program; one line for an error, a traceback only with ``--debug``."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    if debug:  # accepted before and after the command
        arguments = ["--debug", *(item for item in arguments if item != "--debug")]
    try:
        _run(arguments)
    except SystemExit as end:
        if end.code == EXIT_INTERRUPTED:
            print_error("interrupted; what was finished is kept. Run the same command again to go on")
        raise
    except TagloomError as error:
        if debug:
            raise
        print_error(_one_line(error))
        sys.exit(EXIT_ERROR)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(EXIT_ERROR)


def _run(arguments: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    code = command.main(args=arguments, prog_name="tagloom", standalone_mode=True)
    sys.exit(code or 0)


def _one_line(error: TagloomError) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else str(error.strerror)
    return str(error)
