"""Tables with a column for each keyword: 1 where the photo has it, 0 where it has not."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from tagloom.core import UNKNOWN
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown
from tagloom.metadata.formats.tables import column, read_table, split_table
from tagloom.metadata.labels_rows import FILE_COLUMNS, STATES, TAG_COLUMNS, TAGS_COLUMNS

__all__ = ["is_one_hot", "read_one_hot"]

_STATES = STATES | {"1.0": 1, "0.0": 0, "-1.0": UNKNOWN, "": UNKNOWN}
_N_TRIED = 20


def is_one_hot(head: str) -> bool:
    """Tell whether a table has a column for each keyword.

    Parameters
    ----------
    head : str
        The beginning of the table; its last line may be cut off.
    """
    header, rows = split_table(head.rpartition("\n")[0] or head)
    if column(header, *FILE_COLUMNS) is None or column(header, *TAG_COLUMNS, *TAGS_COLUMNS) is not None:
        return False
    name = column(header, *FILE_COLUMNS)
    tried = [row[1] for row in itertools.islice(rows, _N_TRIED) if isinstance(row, tuple)]
    cells = [cell for row in tried for position, cell in enumerate(row) if position != name]
    return any(cells) and all(cell.casefold() in _STATES for cell in cells)


def read_one_hot(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:  # noqa: ARG001
    """Yield the keywords of each row, one for every column; an empty cell and -1 leave it open.

    Parameters
    ----------
    path : Path
        The table.
    options : ReadOptions
        Not needed here.
    notes : Notes
        Collects rows that cannot be understood.
    """
    header, rows = read_table(path, notes)
    name = column(header, *FILE_COLUMNS)
    if name is None:
        raise LabelsFileError(
            f"{notes.source}, line 1: expected a column file (or filename, image) and one for each keyword, got "
            f"{shown(header)}"
        )
    keywords = [() if position == name else notes.keywords("line 1", text) for position, text in enumerate(header)]
    for line, cells in rows:
        states = [_STATES.get(cell.casefold()) for cell in cells]
        wrong = [cell for position, cell in enumerate(cells) if position != name and states[position] is None]
        if wrong:
            notes.problem(f"line {line}", f"expected 1, 0 or nothing for each keyword, got {shown(wrong[0])}")
            continue
        yes, no, unknown = (
            tuple(k for place, found in enumerate(keywords) if states[place] == wanted for k in found)
            for wanted in (1, 0, UNKNOWN)
        )
        yield Said(f"line {line}", cells[name], yes, no, unknown, stem=True)
