"""What the verbs of a project leave in the log: a line each with counts and seconds, and the files that failed.

Names of photos, counts and verdicts are written; tags are counted and not named.
"""

import dataclasses
import functools
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

__all__ = ["recorded"]

logger = logging.getLogger(__name__)

#: Files that failed, of one verb.
MOST_FILES = 200
#: Texts that say how something was done.
_WORDS = ("method", "kind", "format", "strategy")
#: Of no use to a reader of the log.
_LEFT_OUT = ("seconds", "examples", "groups", "folds")

P = ParamSpec("P")
R = TypeVar("R")


def recorded(verb: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator of verbs: each call becomes a line of the log, and each file that failed in it another one.

    Parameters
    ----------
    verb : str
        What to call it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            begin = time.perf_counter()
            try:
                result = function(*args, **kwargs)
            except KeyboardInterrupt:
                _warn("%s: interrupted after %.1f s", verb, time.perf_counter() - begin)
                raise
            except Exception as error:
                _warn("%s: failed after %.1f s: %s: %s", verb, time.perf_counter() - begin, type(error).__name__, error)
                raise
            _note(verb, result, time.perf_counter() - begin)
            return result

        return call

    return decorate


def _warn(text: str, *values: object) -> None:
    # Without any handler Python would print it to standard error, where the same is told by other means.
    if logger.hasHandlers():
        logger.warning(text, *values)


def _note(verb: str, result: Any, seconds: float) -> None:
    if not logger.hasHandlers():
        return
    logger.info("%s: %s; %.1f s", verb, ", ".join(_counts(result)) or "nothing", seconds)
    failures = list(_failures(result))
    for line in failures[:MOST_FILES]:
        _warn("%s: %s", verb, line)
    if len(failures) > MOST_FILES:
        _warn("%s: and %d more files", verb, len(failures) - MOST_FILES)


def _counts(result: Any) -> Iterator[str]:
    """Yield how much there was of what, zeros left out."""
    if isinstance(result, int):
        yield f"action {result}"
    elif isinstance(result, Sequence) and not isinstance(result, str):
        yield f"{len(result)} found"
    elif dataclasses.is_dataclass(result):
        for item in dataclasses.fields(result):
            if item.name not in _LEFT_OUT:
                yield from _count(item.name, getattr(result, item.name))


def _count(name: str, value: Any) -> Iterator[str]:
    words = name.removeprefix("n_").replace("_", " ")
    if name == "batch":
        number = getattr(value, "id", value)
        yield from () if number is None else [f"action {number}"]
    elif isinstance(value, Mapping):
        yield from (f"{key} {number}" for key, number in value.items() if isinstance(number, int) and number)
    elif isinstance(value, bool):
        yield from [words] if value else []
    elif isinstance(value, int):
        yield from [f"{words} {value}"] if value else []
    elif isinstance(value, str):
        yield from [f"{words} {value}"] if name in _WORDS and value else []
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        yield from [f"{words} {len(value)}"] if value else []


def _failures(result: Any) -> Iterator[str]:
    """Yield a line for each file that failed: its name and why."""
    for problem in getattr(result, "problems", ()):
        yield problem if isinstance(problem, str) else ": ".join(_text(part) for part in problem if part)
    for item in getattr(result, "files", ()):
        if getattr(item, "status", "") == "failed":
            yield f"{_text(item.photo)}: {item.problem}"
    for line in getattr(result, "left_alone", ()):
        yield f"left alone: {_text(line)}"


def _text(part: object) -> str:
    return os.fsdecode(part) if isinstance(part, bytes) else str(part)
