"""Labels files: a CSV table of photos and the tags that a person gave them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tagloom.core import (
    UNKNOWN,
    AbsentMeans,
    LabelMatrix,
    TagVocabulary,
    check_absent_means,
    fold_tag,
    normalize_tag,
)
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.labels_rows import STATE_WORDS, LabelRow, read_rows
from tagloom.metadata.names import PhotoMatcher
from tagloom.metadata.text_file import read_text, shown_name

__all__ = ["PhotoLabels", "UnmatchedName", "read_labels"]

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
    respelled : tuple of (str, str)
        Tags that the file spells in two ways: the later spelling, and the first, which counts.
    """

    vocabulary: TagVocabulary
    Y: LabelMatrix = field(repr=False)
    n_labeled: int
    unmatched: tuple[UnmatchedName, ...]
    source: str
    absent_means: AbsentMeans
    respelled: tuple[tuple[str, str], ...] = ()


def read_labels(
    path: str | os.PathLike[str], photos: Sequence[bytes], *, absent_means: str = "no", separator: str | None = None
) -> PhotoLabels:
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
    separator : str, optional
        What else stands between tags, besides ``;``.

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
    spellings: dict[str, str] = {}
    respelled: dict[tuple[str, str], None] = {}
    for row in read_rows(where, read_text(source)):
        photo = _find_photo(where, row, matcher, photos)
        if photo is None:
            unmatched.setdefault(row.name, row.line)
        else:
            states = [
                (_spell(part, spellings, respelled), state)
                for tag, state in row.states
                for part in (_split(tag, separator) if separator else [tag])
            ]
            _note(where, replace(row, states=tuple(states)), said.setdefault(photo, {}))
    _check_something_matched(where, said, unmatched, photos)
    vocabulary = TagVocabulary.union(tag for tags in said.values() for tag in tags if tag)
    if not len(vocabulary):
        raise LabelsFileError(f"{where} lists {len(said)} photos but no tag; write at least one tag in the tags column")
    Y, n_labeled = _encode(said, vocabulary, len(photos), meaning)
    names = tuple(UnmatchedName(name, line) for name, line in unmatched.items())
    return PhotoLabels(vocabulary, Y, n_labeled, names, where, meaning, tuple(respelled))


def _split(tag: str, separator: str) -> list[str]:
    return [normalize_tag(part) for part in tag.split(separator) if part.strip()]


def _spell(tag: str, spellings: dict[str, str], respelled: dict[tuple[str, str], None]) -> str:
    """Return the first spelling of a tag, and note the others."""
    first = spellings.setdefault(fold_tag(tag), tag)
    if first != tag:
        respelled[tag, first] = None
    return first


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


def _note(where: str, row: LabelRow, tags: dict[str, tuple[int, int]]) -> None:
    """Add a row's states to what is known of its photo; the empty tag stands for "labelled, with no tags"."""
    if not row.states:
        tags.setdefault("", (0, row.line))
    for tag, state in row.states:
        earlier, line = tags.setdefault(tag, (state, row.line))
        if earlier != state:
            raise LabelsFileError(
                f"{where}, line {row.line}: says {STATE_WORDS[state]} to {tag!r} for {row.name!r}, but "
                f"line {line} says {STATE_WORDS[earlier]}; keep one of the two"
            )


def _find_photo(where: str, row: LabelRow, matcher: PhotoMatcher, photos: Sequence[bytes]) -> int | None:
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
