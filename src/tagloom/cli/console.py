"""Printing and progress bars. Results go to standard output, everything else to standard error."""

import sys
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = ["RichProgress", "print_error", "print_line", "print_table", "printable"]


def printable(text: str) -> str:
    """Return text that any terminal takes: broken Unicode and control characters are shown as escapes."""
    safe = "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1] for character in text
    )
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    return safe.encode(encoding, errors="backslashreplace").decode(encoding)


def print_line(text: str) -> None:
    """Print a line to standard output."""
    sys.stdout.write(printable(text) + "\n")


def print_error(text: str) -> None:
    """Print a line to standard error, marked as tagloom's."""
    sys.stderr.write(f"tagloom: {printable(text)}\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, n_left: int = 1) -> None:
    """Print a table; all but the first ``n_left`` columns are set to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=box.SIMPLE, title_style="bold", show_header=any(columns))
    for number, name in enumerate(columns):
        table.add_column(name, justify="left" if number < n_left else "right", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    Console(highlight=False).print(table)


class RichProgress:
    """A progress bar with rate and time left on standard error; plain lines where that is no terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Any = None
        self._task: Any = None
        self._is_terminal = sys.stderr.isatty()

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage."""
        if self._quiet:
            return
        if not self._is_terminal:
            sys.stderr.write(f"{stage} …" + (f" ({total} to do)" if total else "") + "\n")
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            *((MofNCompleteColumn(), TextColumn("{task.fields[rate]}"), TimeRemainingColumn()) if total else ()),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(stage, total=total, rate="")

    def advance(self, n: int = 1) -> None:
        """Count steps as done."""
        if self._bar is not None:
            self._bar.advance(self._task, n)
            speed = self._bar.tasks[0].speed
            self._bar.update(self._task, rate=f"{speed:.0f}/s" if speed else "")

    def finish(self) -> None:
        """End the stage."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
