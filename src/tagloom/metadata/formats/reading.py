"""From what a file says to one statement per photo: names matched, rows merged, contradictions reported."""

import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tagloom.core import UNKNOWN, Keyword, Statement
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.limited_reading import read_limited
from tagloom.metadata.formats.registry import get_reader
from tagloom.metadata.labels_rows import STATE_WORDS
from tagloom.metadata.names import PhotoMatcher
from tagloom.metadata.text_file import shown_name

__all__ = ["Reading", "collect", "read_statements"]

_MAX_NAMED = 5
_ANCHOR = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*://|[A-Za-z]:[/\\]|[/\\])")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a file says about the photos.

    Parameters
    ----------
    format : str
        The format's name.
    statements : tuple of Statement
        One for each photo that the file says something about, in the order of the file.
    problems : tuple of str
        What could not be used, a line each: where, what was expected, what came.
    unmatched : tuple of str
        Names in the file that mean no photo, each once.
    n_suggested : int
        How many keywords of photos a model said and nobody confirmed; they are in the statements only if asked for.
    """

    format: str
    statements: tuple[Statement, ...]
    problems: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    n_suggested: int = 0


@dataclass(slots=True)
class _Known:
    """What is known of one photo: for each keyword its state and the place that said so."""

    states: dict[Keyword, tuple[int, str]] = field(default_factory=dict)
    suggested: dict[Keyword, None] = field(default_factory=dict)
    listed: bool = False


def read_statements(
    path: str | os.PathLike[str],
    photos: Sequence[bytes],
    *,
    format: str | None = None,
    options: ReadOptions | None = None,
) -> Reading:
    """Read which photos have which keywords from a file of any format that tagloom knows.

    Parameters
    ----------
    path : path
        The file, or the folder of a format that is one.
    photos : sequence of bytes
        Distinct paths relative to the photo folder, as ``os.fsencode`` gives them.
    format : str, optional
        One of `tagloom.metadata.formats.available_readers`; by default told from the file's name and content.
    options : ReadOptions, optional
        What counts as said.

    Returns
    -------
    Reading
        One statement per photo, and what could not be used. A row that is wrong is a problem, not an error. The file
        is untrusted: a process with limits on memory and time reads it.

    Raises
    ------
    LabelsFileError
        If the file as a whole cannot be read.
    InvalidInputError
        If there is no such format, or tagloom does not read it.
    """
    source = Path(path)
    options = options or ReadOptions()
    if format is not None:
        get_reader(format)  # that there is none is no matter of the file
    notes = Notes(shown_name(source))
    found = read_limited(source, format, options, notes)
    name = str(next(found))
    return collect(name, (item for item in found if isinstance(item, Said)), photos, options, notes)


def collect(format: str, said: Iterable[Said], photos: Sequence[bytes], options: ReadOptions, notes: Notes) -> Reading:
    """Match names to photos and merge what is said of each.

    A keyword that one place affirms and another denies is left open and reported. What a person said stands against
    what a model said.

    Parameters
    ----------
    format : str
        The format's name.
    said : iterable of Said
        What a reader yields.
    photos : sequence of bytes
        Distinct paths relative to the photo folder.
    options : ReadOptions
        What counts as said.
    notes : Notes
        The reader's own; problems of matching and merging are added.
    """
    finder = _Finder(photos)
    known: dict[int, _Known] = {}
    unmatched: dict[str, None] = {}
    for item in said:
        found = finder.find(item)
        if len(found) == 1:
            _merge(item, known.setdefault(found[0], _Known()), notes)
        elif not found:
            unmatched[item.name.encode("utf-8", errors="backslashreplace").decode("utf-8")] = None
        else:
            named = ", ".join(repr(os.fsdecode(photos[row])) for row in found[:_MAX_NAMED])
            more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
            notes.problem(
                item.place,
                f"{item.name!r} could be any of {len(found)} photos: {named}{more}; write the path as it is below the "
                f"photo folder",
            )
    n_suggested = sum(len(entry.suggested.keys() - entry.states.keys()) for entry in known.values())
    made = (_statement(photos[row], entry, options) for row, entry in known.items())
    statements = tuple(statement for statement in made if statement is not None)
    return Reading(format, statements, notes.lines, tuple(unmatched), n_suggested)


def _merge(item: Said, known: _Known, notes: Notes) -> None:
    if item.suggested:
        known.suggested.update(dict.fromkeys(item.yes))
        return
    known.listed |= not (item.yes or item.no or item.unknown)
    for state, keywords in ((1, item.yes), (0, item.no), (UNKNOWN, item.unknown)):
        for keyword in keywords:
            earlier, place = known.states.setdefault(keyword, (state, item.place))
            if earlier != state:
                known.states[keyword] = (UNKNOWN, place)
                notes.problem(
                    item.place,
                    f"says {STATE_WORDS[state]} to {keyword.text!r} for {item.name!r}, but {place} says "
                    f"{STATE_WORDS[earlier]}; left undecided; keep one of the two",
                )


def _statement(photo: bytes, known: _Known, options: ReadOptions) -> Statement | None:
    states = {keyword: state for keyword, (state, _) in known.states.items()}
    if options.include_suggested:
        states = dict.fromkeys(known.suggested, 1) | states
    yes, no, unknown = (
        tuple(keyword for keyword, state in states.items() if state == wanted) for wanted in (1, 0, UNKNOWN)
    )
    # A photo of which nothing but "unknown" was said stays unlabelled, as in a labels file.
    return Statement(photo, yes, no, unknown) if yes or no or known.listed else None


class _Finder:
    """Finds the photo that a name means, also where the name is absolute or comes without its extension."""

    def __init__(self, photos: Sequence[bytes]) -> None:
        self._photos = photos
        self._matcher = PhotoMatcher(photos)
        self._stems: dict[str, list[int]] | None = None

    def find(self, item: Said) -> list[int]:
        """Return the rows of the photos that may be meant."""
        try:
            return self._find(item)
        except UnicodeEncodeError:  # half a surrogate pair, which JSON can hold and no file name does
            return []

    def _find(self, item: Said) -> list[int]:
        found = self._matcher.find(item.name)
        if not found and item.stem:
            found = self._by_stem(item.name)
        if not found and _ANCHOR.match(item.name):
            # The photo folder may lie elsewhere on this machine: the longest end of the path that is a photo decides.
            parts = _ANCHOR.sub("", item.name).replace("\\", "/").split("/")
            for first in range(len(parts)):
                found = self._matcher.find("/".join(parts[first:]))
                if found:
                    return found
        return found

    def _by_stem(self, name: str) -> list[int]:
        if self._stems is None:
            self._stems = {}
            for row, photo in enumerate(self._photos):
                stem = posixpath.splitext(photo.decode("utf-8", errors="surrogateescape"))[0]
                for key in {stem, posixpath.basename(stem)}:
                    self._stems.setdefault(key, []).append(row)
        return self._stems.get(name, [])
