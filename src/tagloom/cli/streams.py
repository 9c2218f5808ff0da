"""The three standard streams, where one is closed, full or gone."""

import errno
import os
import sys

from tagloom.exceptions import WriteError

__all__ = ["complete", "discard_output", "output_problem"]


def complete() -> None:
    """See to it that the three standard streams are there, whatever the shell has closed.

    Python leaves a closed one out, and the next file to be opened, such as a project's database, would get its number
    and whatever a library writes to it. What is written to a closed standard output is an error, as for a full one;
    messages for a closed standard error go nowhere.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            # Standard output is opened for reading alone, so that writing to it fails.
            _hold(number, os.O_WRONLY if name == "stderr" else os.O_RDONLY)
            setattr(sys, name, os.fdopen(number, mode, encoding="utf-8", errors="backslashreplace", closefd=False))


def _hold(number: int, flags: int) -> None:
    held = os.open(os.devnull, flags)
    if held != number:
        os.dup2(held, number)
        os.close(held)


def output_problem() -> OSError | None:
    """Write out what standard output holds back, and return what is in the way of that, None if nothing is."""
    try:
        sys.stdout.flush()
    except BrokenPipeError as error:
        return error
    except OSError as error:
        return WriteError(f"standard output cannot be written: {error.strerror or error}")
    except ValueError:  # closed by a library
        return WriteError(f"standard output cannot be written: {os.strerror(errno.EBADF)}")
    return None


def discard_output() -> None:
    """Let what standard output still holds go nowhere: Python would try once more at its end, and complain."""
    held = os.open(os.devnull, os.O_WRONLY)
    os.dup2(held, sys.stdout.fileno())
    os.close(held)
