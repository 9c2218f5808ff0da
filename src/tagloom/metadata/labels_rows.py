"""The rows of a labels file: one photo's name and the states of the tags that the row speaks of."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tagloom.core import UNKNOWN, normalize_tag
from tagloom.exceptions import InvalidInputError, LabelsFileError

__all__ = ["FILE_COLUMNS", "STATE_WORDS", "TAGS_COLUMNS", "TAG_COLUMNS", "LabelRow", "parse_tag", "read_rows"]

DELIMITERS = (",", ";", "\t", "|")
TAG_SEPARATOR = ";"
# What other programs call the columns; those of a labels file come first, and decide where they are there.
_IMAGE_COLUMNS = ("image", "image_name", "image_path", "image_id", "img")
FILE_COLUMNS = ("file", "file_name", "filename", *_IMAGE_COLUMNS, "photo", "path", "filepath")
TAG_COLUMNS = ("tag", "label", "class", "class_name", "category", "keyword")
TAGS_COLUMNS = ("tags", "labels", "classes", "categories", "keywords")
STATES = {"yes": 1, "1": 1, "true": 1, "no": 0, "0": 0, "false": 0, "unknown": UNKNOWN, "-1": UNKNOWN}
STATE_WORDS = {1: "yes", 0: "no", UNKNOWN: "unknown"}
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One row of a labels file.

    Parameters
    ----------
    line : int
        The line it begins on, counted from 1.
    name : str
        The photo's name as the file has it.
    states : tuple of (str, int)
        The states (1, 0, -1) of the tags it speaks of; no tags means "has none".
    source : str
        The cell of the column ``source``, empty where there is no such column.
    foreign : bool
        Whether the columns have the names that other programs give them: then photos may be named without extension.
    """

    line: int
    name: str
    states: tuple[tuple[str, int], ...]
    source: str = ""
    foreign: bool = False


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the header says things are."""

    delimiter: str
    n_columns: int
    file: int
    tags: int
    state: int | None
    source: int | None
    one_tag_per_row: bool
    foreign: bool = False


def read_rows(where: str, text: str, *, report: Callable[[str], None] | None = None) -> Iterator[LabelRow]:
    """Yield the rows of a table with the columns ``file``, ``tags`` or ``tag``, and perhaps ``state`` and ``source``.

    Columns may have the names that other programs give them, such as ``image`` and ``label``.

    Parameters
    ----------
    where : str
        The file's name in messages.
    text : str
        The whole table.
    report : callable, optional
        Is told of a row that cannot be understood, which is then left out. Without it such a row is an error.

    Raises
    ------
    LabelsFileError
        If the header cannot be understood, or a row and nobody wants to be told.
    """
    stream = io.StringIO(text, newline="")
    n_before, header = 0, ""
    # Some spreadsheets put a line "sep=;" before the header; the header itself says the same.
    while not header.strip() or re.fullmatch(r"sep=.\s*", header):
        header = stream.readline()
        n_before += 1
        if not header:
            raise LabelsFileError(f"{where} has no header; expected a first line such as file,tags")
    columns = _find_columns(where, n_before, header)
    reader = csv.reader(stream, delimiter=columns.delimiter, strict=True)
    while True:
        line = n_before + reader.line_num + 1
        try:
            row = _next_row(where, line, reader, columns)
        except StopIteration:
            return
        except LabelsFileError as error:
            if report is None:
                raise
            report(str(error))
            continue
        if row is not None:
            yield row


def parse_tag(text: str, state: str | None = None) -> tuple[str, int]:
    """Return a tag and its state; two marks before it stand for one "!" that belongs to the tag's name.

    Parameters
    ----------
    text : str
        The tag as a table has it: ``tag``, or ``!tag`` for an explicit no.
    state : str, optional
        The cell of the column ``state``, where there is one.

    Raises
    ------
    InvalidInputError
        If the tag is blank or holds control characters, the state is not known, or the two contradict each other.
    """
    text = text.strip()
    n_marks = len(text) - len(text.lstrip("!"))
    tag = normalize_tag("!" * (n_marks // 2) + text[n_marks:])
    refused = n_marks % 2 == 1
    if state is None:
        return tag, 0 if refused else 1
    value = STATES.get(state.strip().casefold())
    if value is None:
        raise InvalidInputError(
            f"the state of {tag!r} must be yes, no or unknown (or 1, 0, true, false), got {state!r}"
        )
    if refused and value != 0:
        raise InvalidInputError(
            f"says no to {tag!r} by '!' and {STATE_WORDS[value]} in the state column; use one of the two"
        )
    return tag, value


def _next_row(where: str, line: int, reader: Iterator[list[str]], columns: _Columns) -> LabelRow | None:
    """Return the next row, or None for one without any text."""
    try:
        cells = next(reader)
    except csv.Error as error:
        raise LabelsFileError(
            f"{where}, line {line}: cannot be split into cells ({error}); check the quotation marks "
            f'(a cell that holds one is written "like ""this""")'
        ) from error
    if not any(cell.strip() for cell in cells):
        return None
    return _parse_row(where, line, cells, columns)


def _split_header(header: str, delimiter: str) -> list[str]:
    try:
        cells = next(csv.reader([header], delimiter=delimiter, strict=True))
    except csv.Error:
        return [header.strip()]
    return [cell.strip() for cell in cells]


def _named(columns: list[str]) -> str:
    return ", ".join(repr(name[:60]) for name in columns[:_MAX_NAMED]) + (", …" if len(columns) > _MAX_NAMED else "")


def _find_columns(where: str, line: int, header: str) -> _Columns:
    # Only the header can tell a semicolon between columns from one between tags.
    for delimiter in DELIMITERS:
        names = [name.casefold() for name in _split_header(header, delimiter)]
        if "file" not in names or not {"tag", "tags"} & set(names):
            continue
        used = [name for name in names if name in ("file", "tag", "tags", "state")]
        if len(used) != len(set(used)) or {"tag", "tags"} <= set(used):
            raise LabelsFileError(
                f"{where}, line {line}: expected one column file, one column tags or tag, and at most one "
                f"column state, got the columns {_named(names)}; remove or rename the others"
            )
        one_tag_per_row = "tag" in names
        return _Columns(
            delimiter=delimiter,
            n_columns=len(names),
            file=names.index("file"),
            tags=names.index("tag" if one_tag_per_row else "tags"),
            state=names.index("state") if "state" in names else None,
            source=names.index("source") if "source" in names else None,
            one_tag_per_row=one_tag_per_row,
        )
    foreign = _foreign_columns(header)
    if foreign is not None:
        return foreign
    found = max((_split_header(header, delimiter) for delimiter in DELIMITERS), key=len)
    raise LabelsFileError(
        f"{where}, line {line}: expected a header with the columns file and tags (or tag), got {_named(found)}; "
        f"rename the columns, or add the line file,tags at the top"
    )


def _foreign_columns(header: str) -> _Columns | None:
    """Return where things are in a table of another program, None where its header does not tell."""
    for delimiter in DELIMITERS:
        names = [name.casefold() for name in _split_header(header, delimiter)]
        files = [name for name in FILE_COLUMNS if names.count(name) == 1]
        tags = [name for name in (*TAG_COLUMNS, *TAGS_COLUMNS) if name in names]
        if not files or len(tags) != 1 or names.count(tags[0]) != 1:
            continue
        return _Columns(
            delimiter=delimiter,
            n_columns=len(names),
            file=names.index(files[0]),
            tags=names.index(tags[0]),
            state=None,
            source=None,
            one_tag_per_row=tags[0] in TAG_COLUMNS,
            foreign=True,
        )
    return None


def _parse_row(where: str, line: int, cells: list[str], columns: _Columns) -> LabelRow:
    tags_last = columns.tags == columns.n_columns - 1
    if columns.delimiter == TAG_SEPARATOR and tags_last and not columns.one_tag_per_row:
        # Between semicolons everything after the last column is more tags of it.
        cells = [*cells[: columns.tags], TAG_SEPARATOR.join(cells[columns.tags :])]
    if any(cell.strip() for cell in cells[columns.n_columns :]):
        raise LabelsFileError(
            f"{where}, line {line}: has {len(cells)} cells, the header has {columns.n_columns}; separate tags "
            f"by {TAG_SEPARATOR!r}, and put quotation marks around a name that holds {columns.delimiter!r}"
        )
    cells = cells + [""] * (columns.n_columns - len(cells))
    cell = cells[columns.tags]
    pieces = [cell] if columns.one_tag_per_row else cell.split(TAG_SEPARATOR)
    pieces = [piece for piece in pieces if piece.strip()]
    state = None if columns.state is None else cells[columns.state]
    try:
        states = tuple(parse_tag(piece, state) for piece in pieces)
        if not pieces and state is not None and state.strip():
            raise InvalidInputError(f"has the state {state.strip()!r} but no tag; name the tag, or leave both empty")
    except InvalidInputError as error:
        raise LabelsFileError(f"{where}, line {line}: {error}") from error
    source = "" if columns.source is None else cells[columns.source].strip()
    return LabelRow(line, cells[columns.file], states, source, columns.foreign)
