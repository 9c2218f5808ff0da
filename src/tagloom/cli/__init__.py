"""The command line: arguments and printing, nothing else.

A file holds one command, or those that belong together, and calls a verb of the project. Nothing heavy is imported
before a command runs: ``tagloom --help`` answers at once.
"""

import gc
import sys

from tagloom.cli.exit_codes import EXIT_INTERRUPTED, interrupted

__all__ = ["main"]

#: Python looks for unused objects after so many new ones. With its own 700 the import of the keywords of 5,000 photos
#: spends 5 % of its time on that, with these 2 %.
ALLOCATIONS = 20_000


def main(arguments: list[str] | None = None) -> None:
    """Run the program; one line for an error, a traceback only with ``--debug``."""
    gc.set_threshold(ALLOCATIONS)
    try:
        from tagloom.cli.app import main as run  # here, as a person may have second thoughts meanwhile

        run(arguments)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write(f"tagloom: {interrupted(sys.argv[1:] if arguments is None else arguments)}\n")
        sys.exit(EXIT_INTERRUPTED)
