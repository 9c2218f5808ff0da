"""Printing, progress bars, and standard streams that are closed, full or gone.

Results go to standard output, everything else to standard error.
"""

import errno
import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from tagloom.exceptions import WriteError

__all__ = [
    "PATIENCE",
    "RichProgress",
    "complete",
    "confirm",
    "counted",
    "cut",
    "discard_output",
    "marked",
    "output_problem",
    "print_error",
    "print_json",
    "print_json_list",
    "print_line",
    "print_note",
    "print_table",
    "print_text",
    "printable",
    "working",
]

PATIENCE = 1.0  # seconds after which a person begins to wonder
LONGEST_ERROR = 1500  # characters


def printable(text: str) -> str:
    """Return text that any terminal takes, on one line: broken Unicode and control characters become escapes."""
    safe = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return safe.encode(encoding, errors="backslashreplace").decode(encoding)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless it is one."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def cut(text: str, n: int = 80) -> str:
    """Return a text for a table, a very long one without its end."""
    return text if len(text) <= n else f"{text[: n - 1]}…"


def marked(text: str) -> str:
    """Return a name for a list of names, in quotation marks where it looks like several."""
    return f'"{text}"' if "," in text else text


@contextmanager
def _writing() -> Iterator[None]:
    """Say of an error that standard output is what cannot be written; a reader that went away is no error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise WriteError(f"standard output cannot be written: {error.strerror or error}") from error


def print_line(text: str) -> None:
    """Print a line to standard output."""
    with _writing():
        sys.stdout.write(printable(text) + "\n")


def print_text(text: str) -> None:
    """Print text of several lines that holds nothing from files."""
    for line in text.split("\n"):
        print_line(line)


def print_json(value: Any) -> None:
    """Print one JSON document to standard output: ASCII, so that every terminal and every reader takes it."""
    import json

    with _writing():
        sys.stdout.write(json.dumps(value, indent=2, allow_nan=False) + "\n")


def print_json_list(name: str, items: Iterable[Any], **first: Any) -> None:
    """Print what `print_json` prints of a list under one name, item by item, so that the list is never in memory.

    Parameters
    ----------
    name : str
        The list's key.
    items : iterable
        What the list holds.
    **first
        Keys that come before it.
    """
    import json

    keys = "".join(f"\n  {json.dumps(key)}: {json.dumps(value)}," for key, value in first.items())
    begin = f"{{{keys}\n  {json.dumps(name)}: ["
    n = 0
    for item in items:
        # Line breaks within texts are escaped, so that all that are there are those of the layout.
        text = json.dumps(item, indent=2, allow_nan=False).replace("\n", "\n    ")
        with _writing():
            sys.stdout.write(f"{',' if n else begin}\n    {text}")
        n += 1
    with _writing():
        sys.stdout.write("\n  ]\n}\n" if n else f"{begin}]\n}}\n")


def print_note(text: str) -> None:
    """Print a line to standard error that is no error."""
    with suppress(OSError):  # there is nowhere left to say so
        sys.stderr.write(printable(text) + "\n")


def print_error(text: str) -> None:
    """Print a line to standard error, marked as tagloom's; one that a file made very long is cut."""
    print_note(f"tagloom: {cut(text, LONGEST_ERROR)}")


def confirm(question: str) -> bool:
    """Ask a question that only a clear yes answers with yes; the end of the input is a no."""
    sys.stderr.write(f"{printable(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, n_left: int = 1) -> None:
    """Print a table; all but the first ``n_left`` columns are set to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=Text(printable(title)),
        title_justify="left",
        box=box.SIMPLE,
        title_style="bold",
        show_header=any(columns),
    )
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < n_left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    with _writing():
        Console(highlight=False).print(table)


class RichProgress:
    """A progress bar with rate and time left on standard error; plain lines where that is no terminal.

    Use it as a context manager: the terminal is left in order whatever happens. The cursor stays in sight, as nothing
    could bring it back once the process is killed.

    Parameters
    ----------
    quiet : bool, default=False
        Show nothing.
    after : float, default=0.0
        Show nothing of work that is over in so many seconds, and nothing at all where there is no terminal.
    """

    def __init__(self, *, quiet: bool = False, after: float = 0.0) -> None:
        self._quiet = quiet
        self._after = after
        self._due = time.monotonic() + after
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()
        self._n_done = 0
        self._bar: Any = None
        self._task: Any = None
        self._is_terminal = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.finish()

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage."""
        self.finish()
        if self._quiet:
            return
        if not self._is_terminal:
            if not self._after:
                print_note(f"{stage} …" + (f" ({total} to do)" if total else ""))
            return
        self._n_done = 0
        wait = self._due - time.monotonic()
        if wait <= 0.0:
            self._show(stage, total)
            return
        self._timer = threading.Timer(wait, self._show, (stage, total))
        self._timer.daemon = True
        self._timer.start()

    def _show(self, stage: str, total: int | None) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *((MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn()) if total else ()),
            console=_console_with_cursor(),
            transient=True,
            redirect_stdout=False,  # results go where they belong
        )
        with self._lock:
            bar.start()
            self._task = bar.add_task(stage, total=total, completed=self._n_done, rate="")
            self._bar = bar

    def advance(self, n: int = 1) -> None:
        """Count steps as done."""
        with self._lock:
            self._n_done += n
            if self._bar is not None:
                self._bar.advance(self._task, n)
                speed = self._bar.tasks[0].speed
                self._bar.update(self._task, rate=f"{speed:.0f}/s" if speed else "")

    def finish(self) -> None:
        """End the stage."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()  # it may be showing the bar right now
            self._timer = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def working(stage: str, *, quiet: bool = False) -> RichProgress:
    """Return the progress of work that is quick in most projects, begun with a stage.

    On a terminal it shows what is done and goes again; work that is over within a second shows nothing, and neither
    does standard error that is no terminal.

    Parameters
    ----------
    stage : str
        What is done.
    quiet : bool, default=False
        Show nothing.
    """
    progress = RichProgress(quiet=quiet, after=PATIENCE)
    progress.start(stage)
    return progress


def _console_with_cursor() -> Any:
    """Return the terminal behind standard error as rich sees it, but for its cursor, which is never hidden."""
    from rich.console import Console

    class WithCursor(Console):
        def show_cursor(self, show: bool = True) -> bool:
            return show

    return WithCursor(stderr=True)


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
