"""The log file: what tagloom did, for a person who looks for the cause of something.

It holds names, counts, verdicts and times, never pixels or metadata of photos. It is written to a file only; what a
command says to its user goes through the command line.
"""

import contextlib
import dataclasses
import functools
import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tagloom.exceptions import SettingsError, WriteError
from tagloom.store import ProjectFolder

__all__ = ["LOG_FILE_NAME", "configure_logging", "recorded", "stop_logging"]


# What the verbs of a project leave in the log: a line each with counts and seconds, and the files that failed.

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


LOG_FILE_NAME = "tagloom.log"
LOGGER_NAME = "tagloom"
MAX_BYTES = 1_000_000
N_OLD_FILES = 2
MAX_MESSAGE = 4000
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


class _OneLineFormatter(logging.Formatter):
    """Keeps a message on one line and within bounds, so that a photo's name cannot forge or flood the log."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        text = record.message
        if len(text) > MAX_MESSAGE:
            text = f"{text[:MAX_MESSAGE]} … ({len(text)} characters)"
        record.message = _escaped(text)
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        """Indent what follows the message, a traceback: nothing in it passes for a line of the log."""
        first, *rest = super().format(record).split("\n")
        return "\n".join([first, *(f"  {_escaped(line)}" for line in rest)])


def _escaped(text: str) -> str:
    """Return text without characters that steer a terminal or change how text reads, such as ESC and bidi marks."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


class _LogFile(RotatingFileHandler):
    """The handler that this module adds, so that it can find it again. It writes through no link."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        folder, name = ProjectFolder(path.parent.parent), path.parent.name
        file = folder.append(name, path.name)
        if os.fstat(file.fileno()).st_nlink > 1:  # a hard link: another file would get these lines as well
            file.close()
            folder.remove(name, path.name)
            file = folder.append(name, path.name)
        return TextIOWrapper(file, encoding=self.encoding, errors=self.errors)

    def handleError(self, record: logging.LogRecord) -> None:
        """Do nothing: a full disk must neither stop the work nor fill the terminal; the work itself reports it."""

    def close(self) -> None:
        """Close the file; what the disk cannot take is lost, for the same reason."""
        with contextlib.suppress(OSError):
            super().close()


def configure_logging(folder: str | os.PathLike[str], level: str = "INFO") -> Path:
    """Write the log of this process to ``tagloom.log`` in a folder.

    Only the logger "tagloom" is touched: it gets one handler, and its records no longer reach handlers that others
    put on the root logger. The file rotates at 1 MB, three files in all. Calling it again changes folder and level.

    Parameters
    ----------
    folder : path
        Made if it does not exist.
    level : {"DEBUG", "INFO", "WARNING", "ERROR"}, default="INFO"
        The least severe records that are kept.

    Returns
    -------
    Path
        The log file.

    Raises
    ------
    SettingsError
        If the level is not known.
    WriteError
        If the file cannot be opened for writing.
    """
    if level.upper() not in _LEVELS:
        raise SettingsError(f"log_level must be one of {', '.join(_LEVELS)}, got {level!r}")
    path = Path(os.path.abspath(folder)) / LOG_FILE_NAME
    try:
        ProjectFolder(path.parent.parent).make(path.parent.name)
        handler = _LogFile(
            path, maxBytes=MAX_BYTES, backupCount=N_OLD_FILES, encoding="utf-8", errors="backslashreplace"
        )
    except OSError as error:
        raise WriteError(
            error.errno or 0,
            f"could not open the log file ({error.strerror or error}); choose another folder",
            str(path),
        ) from error
    handler.setFormatter(_OneLineFormatter("%(asctime)s %(levelname)s %(process)d %(name)s: %(message)s"))
    stop_logging()
    logger = logging.getLogger(LOGGER_NAME)
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    logger.propagate = False
    return path


def stop_logging() -> None:
    """Close the log file, and leave the logger "tagloom" as it was before `configure_logging`."""
    logger = logging.getLogger(LOGGER_NAME)
    for handler in [handler for handler in logger.handlers if isinstance(handler, _LogFile)]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(logging.NOTSET)
    logger.propagate = True
