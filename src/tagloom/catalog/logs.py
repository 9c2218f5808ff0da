"""The log file: what tagloom did, for a person who looks for the cause of something.

It holds names, counts, verdicts and times, never pixels or metadata of photos. It is written to a file only; what a
command says to its user goes through the command line.
"""

import contextlib
import logging
import os
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from tagloom.exceptions import SettingsError, WriteError
from tagloom.store.folder import ProjectFolder

__all__ = ["LOG_FILE_NAME", "configure_logging", "stop_logging"]

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
