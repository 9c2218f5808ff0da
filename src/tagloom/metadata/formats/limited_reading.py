"""Reading a file of any format in a process with limits on memory and time."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from tagloom.core import Keyword
from tagloom.exceptions import LabelsFileError
from tagloom.images import KINDS_OF_FILE, CallFailure, CallLimits, LimitedCalls
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.registry import detect_format, get_reader
from tagloom.metadata.text_file import shown_name

__all__ = ["read_all", "read_limited"]

# A file is read whole, as bytes and as text, and lines of it once more.
MEMORY, MEMORY_PER_BYTE = 2 << 30, 8
SECONDS, BYTES_PER_SECOND = 30.0, 1e6  # until the first result, and from one to the next
ALL_TOGETHER = 10
LARGEST = 1 << 30  # what is larger gets no more: of archives and Parquet files a part is read at a time
_LABELS = frozenset({".csv", ".json", ".jsonl", ".parquet", ".xml"})
_SUBFOLDERS = ("", "Annotations")


def read_limited(path: Path, format: str | None, options: ReadOptions, notes: Notes) -> Iterator[str | Said]:
    """Yield the format's name, then what the file says.

    Parameters
    ----------
    path : Path
        The file or folder. Untrusted.
    format : str or None
        The format; None: told from name and content.
    options : ReadOptions
        What counts as said.
    notes : Notes
        Is told what cannot be used, at the end.

    Raises
    ------
    LabelsFileError
        If it cannot be read, or takes more time or memory than a file of its size may.
    """
    size = min(_size(path), LARGEST)
    seconds = SECONDS + size / BYTES_PER_SECOND
    limits = CallLimits(deadline=seconds, memory=MEMORY + MEMORY_PER_BYTE * size, total=ALL_TOGETHER * seconds)
    with LimitedCalls(limits, (Keyword, Said)) as calls:
        try:
            arguments = os.path.abspath(path), format, options.include_suggested, options.count_empty, options.column
            for item in calls.stream(f"{__name__}:{read_all.__name__}", *arguments):
                if isinstance(item, Said | str):
                    yield item
                elif isinstance(item, list):
                    notes.source, *lines = item
                    for line in lines:
                        notes.line(line)
        except CallFailure as failure:
            raise LabelsFileError(f"{notes.source} could not be read: {failure.reason}") from failure


def read_all(
    path: str, format: str | None, include_suggested: bool, count_empty: bool, column: str | None
) -> Iterator[str | Said | list[str]]:
    """Yield the format's name, what the file says, and a list of its name and problems.

    What `read_limited` calls in a worker process.
    """
    source = Path(path)
    notes = Notes(shown_name(source))
    name = detect_format(source) if format is None else format
    yield name
    yield from get_reader(name)(source, ReadOptions(include_suggested, count_empty, column), notes)
    yield [notes.source, *notes.lines]


def _size(path: Path) -> int:
    """Return the bytes of a file, or of the files of labels in a folder."""
    try:
        status = os.stat(path)
    except FileNotFoundError as error:
        raise LabelsFileError(f"no file at {str(path)!r}; check the path") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LabelsFileError(f"cannot read {shown_name(path)} ({reason}); check the path") from error
    if stat.S_ISDIR(status.st_mode):
        return sum(_label_sizes(path))
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS_OF_FILE.get(stat.S_IFMT(status.st_mode), "something else")
        raise LabelsFileError(f"{shown_name(path)} is {kind}; expected a file. Write the keywords to one and give that")
    return status.st_size


def _label_sizes(folder: Path) -> Iterator[int]:
    for name in _SUBFOLDERS:
        try:
            with os.scandir(folder / name) as entries:
                for entry in entries:
                    if os.path.splitext(entry.name)[1].casefold() in _LABELS and entry.is_file(follow_symlinks=False):
                        yield entry.stat(follow_symlinks=False).st_size
        except OSError:  # the reader tells what it misses
            continue
