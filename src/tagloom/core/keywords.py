"""Keywords as photo software knows them: one word, or a path of levels such as Animals › Birds › Heron."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

from tagloom.core.vocabulary import LONGEST_TAG, normalize_tag
from tagloom.exceptions import InvalidInputError

__all__ = ["Keyword", "SidecarName"]

#: How the sidecar of ``photo.jpg`` is named.
SidecarName = Literal["photo.jpg.xmp", "photo.xmp"]

SEPARATOR = "|"
_ESCAPED = re.compile(r"[|\\]")
_PARTS = re.compile(r"\\([|\\])|(\|)|([^|\\]+)|\\")
# XML has no way to write these two, so that a keyword with one could not be stored in a sidecar.
_NEVER_IN_XML = frozenset("\ufffe\uffff")


@dataclass(frozen=True, order=True)
class Keyword:
    r"""A keyword: one or more levels, outermost first.

    Levels have the one spelling of `tagloom.core.vocabulary.normalize_tag` (Unicode NFC, outer blanks gone, inner runs
    of blanks one space), so that two keywords are equal exactly when their `text` is.

    Parameters
    ----------
    path : tuple of str
        The levels; ``("cat",)`` is a flat keyword. A level may hold any characters but control characters.

    Raises
    ------
    InvalidInputError
        If there is no level, or one is blank, not text, or holds control characters, or all have more than 10,000
        characters.

    Examples
    --------
    >>> heron = Keyword(("Animals", "Birds", "Heron"))
    >>> heron.name, heron.text
    ('Heron', 'Animals|Birds|Heron')
    >>> Keyword.flat("a|b").text
    'a\\|b'
    >>> Keyword.parse("Animals|Birds|Heron") == heron
    True
    """

    path: tuple[str, ...]

    def __post_init__(self) -> None:
        if isinstance(self.path, str) or not self.path:
            raise InvalidInputError(
                f"a keyword's path must be a tuple of one or more levels, got {self.path!r}; use Keyword.flat for one "
                f"level and Keyword.parse for text such as 'Animals|Birds'"
            )
        if len(self.path) > LONGEST_TAG:
            raise InvalidInputError(f"a keyword must have at most {LONGEST_TAG:,} levels, got {len(self.path):,}")
        object.__setattr__(self, "path", tuple(_check_level(level) for level in self.path))
        n_characters = sum(map(len, self.path))
        if n_characters > LONGEST_TAG:
            raise InvalidInputError(
                f"a keyword must have at most {LONGEST_TAG:,} characters, got {n_characters:,} in all levels"
            )

    @property
    def name(self) -> str:
        """The last level."""
        return self.path[-1]

    @cached_property
    def text(self) -> str:
        r"""The levels joined by ``|``; a ``|`` or ``\`` inside a level has a ``\`` before it.

        This is what identifies a tag in a project.
        """
        return SEPARATOR.join(_ESCAPED.sub(r"\\\g<0>", level) for level in self.path)

    @classmethod
    def parse(cls, text: str) -> "Keyword":
        r"""Return the keyword that has this `text`.

        Parameters
        ----------
        text : str
            Levels with ``|`` between them; ``\|`` and ``\\`` stand for the characters themselves.

        Raises
        ------
        InvalidInputError
            If a level is blank, or a ``\`` stands before anything else.
        """
        if not isinstance(text, str):
            raise InvalidInputError(f"a keyword must be text, got {type(text).__name__} {text!r}")
        if len(text) > 3 * LONGEST_TAG:  # with a mark before each character, and one between levels
            raise InvalidInputError(f"a keyword must have at most {LONGEST_TAG:,} characters, got {len(text):,}")
        levels = [""]
        for escaped, separator, plain in _PARTS.findall(text):
            if separator:
                levels.append("")
            elif plain or escaped:
                levels[-1] += plain or escaped
            else:
                raise InvalidInputError(
                    rf"expected \| or \\ after each backslash of a keyword, got {text!r}; write \\ for a backslash"
                )
        for number, level in enumerate(levels, start=1):
            if len(levels) > 1 and not level.strip():
                raise InvalidInputError(
                    rf"the levels of a tag must not be blank, got {text!r}, whose level {number} is; write \| for a | "
                    f"that splits no levels"
                )
        return cls(tuple(levels))

    @classmethod
    def flat(cls, name: str) -> "Keyword":
        """Return the keyword of one level with this name, whatever characters the name holds."""
        return _flat(name) if isinstance(name, str) else cls((name,))

    def __str__(self) -> str:
        return self.text


@lru_cache(maxsize=4096)  # the same few keywords stand in thousands of files
def _flat(name: str) -> Keyword:
    return Keyword((name,))


def _check_level(level: str) -> str:
    name = normalize_tag(level)
    if not _NEVER_IN_XML.isdisjoint(name):
        raise InvalidInputError(f"a keyword must not hold the characters U+FFFE and U+FFFF, got {level!r}")
    return name
