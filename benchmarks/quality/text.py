"""How the pages of the quality benchmark spell figures and tables."""

from collections.abc import Iterable

from benchmarks.quality.analysis import Interval
from benchmarks.quality.methods import METHODS
from benchmarks.quality.sets import SETS


def lines_of(header: list[str], rows: list[list[str]]) -> list[str]:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def percent(found: Interval | None, digits: int = 1) -> str:
    if found is None:
        return "–"
    value, low, high = (f"{100 * number:.{digits}f}" for number in (found.value, found.low, found.high))
    return f"{value} % ({low} to {high})"


def number(found: Interval | None, digits: int = 3) -> str:
    if found is None:
        return "–"
    return f"{found.value:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def title_of(data: str) -> str:
    return SETS[data].title if data in SETS else data


def method_title(name: str) -> str:
    return METHODS[name].title


def fold(title: str, lines: Iterable[str]) -> list[str]:
    """Return lines that a reader opens with a click."""
    return ['<details markdown="1">', f"<summary>{title}</summary>", "", *lines, "", "</details>", ""]
