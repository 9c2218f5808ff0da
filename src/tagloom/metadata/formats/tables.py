"""Tables of other programs: the header, and the rows with their lines."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.labels import Notes
from tagloom.metadata.labels_rows import DELIMITERS
from tagloom.metadata.text_file import read_text

__all__ = ["column", "read_table", "split_table"]

Row = tuple[int, list[str]]


def split_table(text: str) -> tuple[list[str], Iterator[Row | csv.Error]]:
    """Return the header of a table, and its rows with the line that each ends on.

    Parameters
    ----------
    text : str
        The table. What stands between its columns is what makes most columns of the header.
    """
    first = text.split("\n", 1)[0]
    delimiter = max(DELIMITERS, key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        header = [cell.strip() for cell in next(reader, [])]
    except csv.Error:
        header = []

    def rows() -> Iterator[Row | csv.Error]:
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield error
                continue
            if any(cell.strip() for cell in cells):
                yield reader.line_num, [cell.strip() for cell in cells]

    return header, rows()


def read_table(path: Path, notes: Notes) -> tuple[list[str], Iterator[Row]]:
    """Return the header of a table in a file, and the rows that have as many cells.

    Parameters
    ----------
    path : Path
        The file.
    notes : Notes
        Collects rows that cannot be understood.

    Raises
    ------
    LabelsFileError
        If it is no text, or its first line cannot be split.
    """
    header, found = split_table(read_text(path))
    if not header:
        raise LabelsFileError(f"{notes.source}, line 1: cannot be split into cells; check the quotation marks")

    def rows() -> Iterator[Row]:
        for row in found:
            if isinstance(row, csv.Error):
                notes.problem("a row", f"cannot be split into cells ({row}); check the quotation marks")
            elif len(row[1]) != len(header):
                notes.problem(f"line {row[0]}", f"has {len(row[1])} cells, the header has {len(header)}")
            else:
                yield row

    return header, rows()


def column(header: list[str], *names: str) -> int | None:
    """Return where the first of these names is in a header, compared without regard to case; None if none is."""
    folded = [name.casefold() for name in header]
    return next((folded.index(name) for name in names if name in folded), None)
