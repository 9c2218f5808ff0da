"""Labels files: a CSV table of photos and the tags that a person gave them."""

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tagloom.core.labels import UNKNOWN, AbsentMeans, LabelMatrix, check_absent_means
from tagloom.core.vocabulary import TagVocabulary, normalize_tag
from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata.names import PhotoMatcher
from tagloom.metadata.text_file import read_text, shown_name

__all__ = ["PhotoLabels", "UnmatchedName", "read_labels"]

DELIMITERS = (",", ";", "\t", "|")
TAG_SEPARATOR = ";"
STATES = {"yes": 1, "1": 1, "true": 1, "no": 0, "0": 0, "false": 0, "unknown": UNKNOWN, "-1": UNKNOWN}
_STATE_WORDS = {1: "yes", 0: "no", UNKNOWN: "unknown"}
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class UnmatchedName:
    """A name in a labels file that means no photo.

    Parameters
    ----------
    name : str
        The name as the file has it.
    line : int
        The first line it is on, counted from 1.
    """

    name: str
    line: int


@dataclass(frozen=True, eq=False)
class PhotoLabels:
    """What a labels file says of some photos.

    Parameters
    ----------
    vocabulary : TagVocabulary
        The tags of the photos that were found, sorted.
    Y : label matrix of shape (n_photos, n_tags)
        In the order of the photos that were asked for; a photo that the file does not list is a row of -1.
    n_labeled : int
        How many photos the file labels.
    unmatched : tuple of UnmatchedName
        Names in the file that mean no photo, in the order of their lines.
    source : str
        The labels file's base name.
    absent_means : {"no", "unknown"}
        What it means that a tag is not named on a labelled photo.
    """

    vocabulary: TagVocabulary
    Y: LabelMatrix = field(repr=False)
    n_labeled: int
    unmatched: tuple[UnmatchedName, ...]
    source: str
    absent_means: AbsentMeans


@dataclass(frozen=True, slots=True)
class _Row:
    """One row: a name and the states (1, 0, -1) of the tags it speaks of; no tags means "has none"."""

    line: int
    name: str
    states: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Columns:
    """Where the header says things are."""

    delimiter: str
    n_columns: int
    file: int
    tags: int
    state: int | None
    one_tag_per_row: bool


def read_labels(path: str | os.PathLike[str], photos: Sequence[bytes], *, absent_means: str = "no") -> PhotoLabels:
    """Read which photos have which tags from a CSV table.

    The header names the columns: ``file`` and either ``tags`` (several, separated by ``;``) or ``tag`` (one
    per row), and optionally ``state`` (yes, no, 1, 0, true, false, unknown). ``!tag`` is an explicit no. A
    row without tags is a photo that has none of them. Other columns are ignored. See the page "Labels file"
    for all that is understood.

    Parameters
    ----------
    path : path
        The table: UTF-8 (or UTF-16 with a byte-order mark), separated by commas, semicolons, tabs or bars.
    photos : sequence of bytes
        Distinct paths relative to the photo folder, as ``os.fsencode`` gives them.
    absent_means : {"no", "unknown"}, default="no"
        What it means that a tag is not named on a photo that the table labels.

    Returns
    -------
    PhotoLabels
        The vocabulary, the label matrix, and the names that mean no photo.

    Raises
    ------
    LabelsFileError
        If the table cannot be understood, contradicts itself, names a photo that could be several, or names
        none of the photos. The message holds the line and the remedy.
    """
    meaning = check_absent_means(absent_means)
    matcher = PhotoMatcher(photos)
    source = Path(path)
    where = shown_name(source)
    said: dict[int, dict[str, tuple[int, int]]] = {}
    unmatched: dict[str, int] = {}
    for row in _read_rows(where, read_text(source)):
        photo = _find_photo(where, row, matcher, photos)
        if photo is None:
            unmatched.setdefault(row.name, row.line)
        else:
            _note(where, row, said.setdefault(photo, {}))
    _check_something_matched(where, said, unmatched, photos)
    vocabulary = TagVocabulary.union(tag for tags in said.values() for tag in tags if tag)
    if not len(vocabulary):
        raise LabelsFileError(f"{where} lists {len(said)} photos but no tag; write at least one tag in the tags column")
    Y, n_labeled = _encode(said, vocabulary, len(photos), meaning)
    names = tuple(UnmatchedName(name, line) for name, line in unmatched.items())
    return PhotoLabels(vocabulary, Y, n_labeled, names, where, meaning)


def _encode(
    said: dict[int, dict[str, tuple[int, int]]],
    vocabulary: TagVocabulary,
    n_photos: int,
    absent_means: AbsentMeans,
) -> tuple[LabelMatrix, int]:
    """Return the label matrix and how many photos are labelled.

    A photo of which only "unknown" was said stays unlabelled: nobody has said anything about its other tags.
    """
    columns = {tag: column for column, tag in enumerate(vocabulary)}
    Y = np.full((n_photos, len(columns)), UNKNOWN, dtype=np.int8)
    n_labeled = 0
    for photo, tags in said.items():
        if all(state == UNKNOWN for state, _ in tags.values()):
            continue
        n_labeled += 1
        if absent_means == "no":
            Y[photo] = 0
        for tag, (state, _) in tags.items():
            if tag:
                Y[photo, columns[tag]] = state
    return Y, n_labeled


def _note(where: str, row: _Row, tags: dict[str, tuple[int, int]]) -> None:
    """Add a row's states to what is known of its photo; the empty tag stands for "labelled, with no tags"."""
    if not row.states:
        tags.setdefault("", (0, row.line))
    for tag, state in row.states:
        earlier, line = tags.setdefault(tag, (state, row.line))
        if earlier != state:
            raise LabelsFileError(
                f"{where}, line {row.line}: says {_STATE_WORDS[state]} to {tag!r} for {row.name!r}, but "
                f"line {line} says {_STATE_WORDS[earlier]}; keep one of the two"
            )


def _find_photo(where: str, row: _Row, matcher: PhotoMatcher, photos: Sequence[bytes]) -> int | None:
    found = matcher.find(row.name)
    if len(found) > 1:
        named = ", ".join(repr(os.fsdecode(photos[photo])) for photo in found[:_MAX_NAMED])
        more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
        raise LabelsFileError(
            f"{where}, line {row.line}: {row.name!r} could be any of {len(found)} photos: {named}{more}; "
            f"write the path as it is below the photo folder"
        )
    if not found and not row.name.strip():
        raise LabelsFileError(f"{where}, line {row.line}: names no file; fill the file column or remove the line")
    return found[0] if found else None


def _check_something_matched(
    where: str,
    said: dict[int, dict[str, tuple[int, int]]],
    unmatched: dict[str, int],
    photos: Sequence[bytes],
) -> None:
    if said:
        return
    if not unmatched:
        raise LabelsFileError(f"{where} has a header but no rows; add one row per photo, such as beach.jpg,sea;sand")
    name, line = next(iter(unmatched.items()))
    example = (
        f"; the folder holds for example {os.fsdecode(photos[0])!r}" if photos else ", and the folder holds no photos"
    )
    raise LabelsFileError(
        f"{where}: none of its {len(unmatched)} file names is a photo in the folder. The file says for "
        f"example {name!r} (line {line}){example}. Write names relative to the photo folder"
    )


def _read_rows(where: str, text: str) -> Iterator[_Row]:
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
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise LabelsFileError(
                f"{where}, line {line}: cannot be split into cells ({error}); check the quotation marks "
                f'(a cell that holds one is written "like ""this""")'
            ) from error
        if any(cell.strip() for cell in cells):
            yield _parse_row(where, line, cells, columns)


def _split_header(header: str, delimiter: str) -> list[str]:
    try:
        cells = next(csv.reader([header], delimiter=delimiter, strict=True))
    except csv.Error:
        return [header.strip()]
    return [cell.strip() for cell in cells]


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
                f"column state, got the columns {', '.join(names)}; remove or rename the others"
            )
        one_tag_per_row = "tag" in names
        return _Columns(
            delimiter=delimiter,
            n_columns=len(names),
            file=names.index("file"),
            tags=names.index("tag" if one_tag_per_row else "tags"),
            state=names.index("state") if "state" in names else None,
            one_tag_per_row=one_tag_per_row,
        )
    found = max((_split_header(header, delimiter) for delimiter in DELIMITERS), key=len)
    named = ", ".join(repr(name[:60]) for name in found[:_MAX_NAMED]) + (", …" if len(found) > _MAX_NAMED else "")
    raise LabelsFileError(
        f"{where}, line {line}: expected a header with the columns file and tags (or tag), got {named}; "
        f"rename the columns, or add the line file,tags at the top"
    )


def _parse_row(where: str, line: int, cells: list[str], columns: _Columns) -> _Row:
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
        states = tuple(_parse_tag(piece, state) for piece in pieces)
        if not pieces and state is not None and state.strip():
            raise InvalidInputError(f"has the state {state.strip()!r} but no tag; name the tag, or leave both empty")
    except InvalidInputError as error:
        raise LabelsFileError(f"{where}, line {line}: {error}") from error
    return _Row(line, cells[columns.file], states)


def _parse_tag(text: str, state: str | None) -> tuple[str, int]:
    """Return the tag and its state; two marks before it stand for one "!" that belongs to the tag's name."""
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
            f"says no to {tag!r} by '!' and {_STATE_WORDS[value]} in the state column; use one of the two"
        )
    return tag, value
