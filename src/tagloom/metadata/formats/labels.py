"""Keywords as the labels of other programs, and what a reader yields."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tagloom.core import Keyword
from tagloom.exceptions import InvalidInputError

__all__ = ["MAX_PROBLEMS", "Notes", "ReadOptions", "Said", "keyword_from_label", "shown"]

MAX_PROBLEMS = 1000
_MAX_SHOWN = 80
_MOST_KNOWN = 10_000


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read keywords from a file of another program.

    Parameters
    ----------
    include_suggested : bool, default=False
        Whether what a model said counts as said. Otherwise it is counted and left out, so that a suggestion never
        becomes a decision by a round trip.
    count_empty : bool, default=False
        Whether a photo that a COCO or CVAT file lists without any keyword was looked at and has none. These formats
        cannot tell it from a photo that nobody has looked at; the other formats can.
    column : str, optional
        Which column, key or field holds the keywords, where the format leaves that open (JSON lines, Parquet, Hugging
        Face, FiftyOne).
    """

    include_suggested: bool = False
    count_empty: bool = False
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """What one place of a file says about one photo, before it is known which photo that is.

    Parameters
    ----------
    place : str
        Such as "line 3".
    name : str
        The photo's name as the file has it.
    yes, no, unknown : tuple of Keyword
        What is said.
    suggested : bool
        Whether a model said it.
    stem : bool
        Whether the name comes without the extension.
    """

    place: str
    name: str
    yes: tuple[Keyword, ...] = ()
    no: tuple[Keyword, ...] = ()
    unknown: tuple[Keyword, ...] = ()
    suggested: bool = False
    stem: bool = False


class Notes:
    """Collects what is wrong with a file, one line each.

    Parameters
    ----------
    source : str
        The file's name in messages.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines: list[str] = []
        self._n_more = 0
        self._known: dict[str, Keyword] = {}

    def problem(self, place: str, text: str) -> None:
        """Note that something at this place of the file could not be used."""
        self.line(f"{self.source}, {place}: {text}")

    def line(self, text: str) -> None:
        """Note a whole line as it is."""
        if len(self._lines) < MAX_PROBLEMS:
            self._lines.append(text)
        else:
            self._n_more += 1

    @property
    def lines(self) -> tuple[str, ...]:
        """What was noted; the last line counts what is too much to list."""
        more = (f"{self.source}: {self._n_more} more problems of this kind are not listed",) if self._n_more else ()
        return (*self._lines, *more)

    def keywords(self, place: str, labels: Any) -> tuple[Keyword, ...]:
        """Return the keywords of a list of labels, of one label, or of None; note each that is not a keyword."""
        if labels is None:
            return ()
        if not isinstance(labels, list | tuple):
            labels = [labels]
        return tuple(dict.fromkeys(self._each(place, labels)))

    def _each(self, place: str, labels: list[Any] | tuple[Any, ...]) -> Iterator[Keyword]:
        for label in labels:
            known = self._known.get(label) if isinstance(label, str) else None
            if known is not None:
                yield known
                continue
            try:
                keyword = keyword_from_label(label)
            except InvalidInputError as error:
                self.problem(place, f"{error}; the keyword is left out")
                continue
            if isinstance(label, str) and len(self._known) < _MOST_KNOWN:
                self._known[label] = keyword  # labels come again and again
            yield keyword


def keyword_from_label(label: Any) -> Keyword:
    r"""Return the keyword that a label of another program stands for.

    Text is read as `tagloom.core.keywords.Keyword.parse` does, so that ``A|B`` has two levels; text that cannot be read
    so (``a\b``, ``a||b``) is one level with exactly these characters. A list is a path of levels.

    Parameters
    ----------
    label : str or list of str
        The label.

    Raises
    ------
    InvalidInputError
        If it is neither, or blank, or holds control characters.
    """
    if isinstance(label, list | tuple):
        if not label or not all(isinstance(level, str) for level in label):
            raise InvalidInputError(f"expected a keyword as a list of levels, got {shown(label)}")
        return Keyword(tuple(label))
    if not isinstance(label, str):
        raise InvalidInputError(f"expected a keyword as text, got {shown(label)}")
    try:
        return Keyword.parse(label)
    except InvalidInputError:
        return Keyword.flat(label)


def shown(value: Any) -> str:
    """Return a value for a message: at most 80 characters, and no line ends."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
