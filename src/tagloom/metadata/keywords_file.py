"""Suggested keywords as a table that spreadsheets and scripts read."""

import math
import os
from collections.abc import Iterable
from typing import NamedTuple

from tagloom.core import atomic_write, normalize_tag
from tagloom.exceptions import InvalidInputError
from tagloom.metadata.names import name_to_text

__all__ = ["KeywordRow", "write_keywords"]

HEADER = "file,tag,score,rank,suggested\n"
_NEEDS_QUOTES = frozenset(',"\r\n')


class KeywordRow(NamedTuple):
    """One keyword of one photo.

    Parameters
    ----------
    file : bytes
        The photo's path relative to the photo folder.
    tag : str
        The keyword.
    score : float
        The method's score; larger is more certain.
    rank : int
        1 for the photo's best keyword, and so on.
    suggested : bool, default=False
        Whether the score is above the threshold for suggesting.
    """

    file: bytes
    tag: str
    score: float
    rank: int
    suggested: bool = False


def write_keywords(path: str | os.PathLike[str], rows: Iterable[KeywordRow | tuple[bytes, str, float, int]]) -> int:
    r"""Write keywords as CSV with the columns ``file``, ``tag``, ``score``, ``rank`` and ``suggested``, atomically.

    The file is UTF-8 with ``\n`` at the line ends. Cells hold the data exactly: a tag that begins with
    ``=`` or ``+`` is not changed, so import the table into a spreadsheet as text if tags come from people
    you do not trust. A photo's name that is not UTF-8 is written as `tagloom.metadata.name_to_text` says,
    and a ``!`` at the beginning of a tag is doubled; `tagloom.metadata.read_labels` understands both.

    Parameters
    ----------
    path : path
        The file to make or replace.
    rows : iterable of KeywordRow
        Written in the order they come; an iterator is consumed as it goes.

    Returns
    -------
    int
        How many rows were written.

    Raises
    ------
    InvalidInputError
        If a tag is blank or holds control characters, a score is not finite or a rank is below 1; nothing is
        written then.
    WriteError
        If the system refuses.
    """
    n_rows = 0
    with atomic_write(path) as handle:
        handle.write(HEADER.encode())
        for row in rows:
            handle.write(_format(KeywordRow(*row)).encode("utf-8"))
            n_rows += 1
    return n_rows


def _format(row: KeywordRow) -> str:
    if not isinstance(row.file, bytes):
        raise InvalidInputError(f"a photo's name must be bytes, got {row.file!r}; use os.fsencode")
    if not math.isfinite(row.score) or row.rank < 1:
        raise InvalidInputError(
            f"expected a finite score and a rank from 1 on, got {row.score} and {row.rank} "
            f"for {row.tag!r} of {row.file!r}"
        )
    tag = normalize_tag(row.tag)
    n_marks = len(tag) - len(tag.lstrip("!"))
    suggested = "yes" if row.suggested else "no"
    return f"{_cell(name_to_text(row.file))},{_cell('!' * n_marks + tag)},{row.score:.6g},{row.rank:d},{suggested}\n"


def _cell(text: str) -> str:
    # The csv module leaves a lone carriage return unquoted when lines end in "\n", and reads it as a line
    # end.
    if _NEEDS_QUOTES.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'
