"""The command line: arguments and printing, nothing else.

A file holds one command, or those that belong together, and calls a verb of the project. Nothing heavy is imported
before a command runs: ``tagloom --help`` answers at once.
"""

import sys

from tagloom.cli.exit_codes import EXIT_INTERRUPTED, interrupted

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> None:
    """Run the program; one line for an error, a traceback only with ``--debug``."""
    try:
        from tagloom.cli.app import main as run  # here, as a person may have second thoughts meanwhile

        run(arguments)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write(f"tagloom: {interrupted(sys.argv[1:] if arguments is None else arguments)}\n")
        sys.exit(EXIT_INTERRUPTED)
