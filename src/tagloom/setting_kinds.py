"""What a setting may be: each kind reads text and typed values, and says in words what it expects."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Choice", "Integer", "Kind", "Names", "Number", "OptionalPath", "Word"]

NOTHING = ("auto", "none")


class Kind(Protocol):
    """How one kind of setting is read."""

    @property
    def expected(self) -> str:
        """What a value must be, in words."""

    def parse(self, value: Any) -> Any:
        """Return the value in its final type; raise ValueError where it does not fit."""


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in NOTHING)


@dataclass(frozen=True)
class Integer:
    """A whole number in a range, or (if ``optional``) None, in text "auto".

    Parameters
    ----------
    minimum, maximum : int
        The range, ends included.
    optional : bool, default=False
        Whether tagloom may choose itself.
    """

    minimum: int
    maximum: int
    optional: bool = False

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return f"a whole number from {self.minimum} to {self.maximum}" + (' or "auto"' if self.optional else "")

    def parse(self, value: Any) -> int | None:
        """Return the number."""
        if self.optional and _is_nothing(value):
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError(value)
        number = int(value)
        if not self.minimum <= number <= self.maximum:
            raise ValueError(value)
        return number


@dataclass(frozen=True)
class Number:
    """A finite number above ``above`` and at most ``maximum``.

    Parameters
    ----------
    above, maximum : float
        The range; the lower end is left out.
    """

    above: float
    maximum: float

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return f"a number above {self.above:g} and at most {self.maximum:g}"

    def parse(self, value: Any) -> float:
        """Return the number."""
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError(value)
        number = float(value)
        if not math.isfinite(number) or not self.above < number <= self.maximum:
            raise ValueError(value)
        return number


@dataclass(frozen=True)
class Choice:
    """One of a few words, in any case.

    Parameters
    ----------
    words : tuple of str
        The words as tagloom writes them.
    """

    words: tuple[str, ...]

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return "one of " + ", ".join(f'"{word}"' for word in self.words)

    def parse(self, value: Any) -> str:
        """Return the word."""
        if isinstance(value, str):
            for word in self.words:
                if word.casefold() == value.strip().casefold():
                    return word
        raise ValueError(value)


@dataclass(frozen=True)
class Word:
    """A name without blanks; whoever looks it up knows which names exist."""

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return "a name without blanks"

    def parse(self, value: Any) -> str:
        """Return the name."""
        if not isinstance(value, str) or len(value.split()) != 1 or not value.strip().isprintable():
            raise ValueError(value)
        return value.strip()


@dataclass(frozen=True)
class Names:
    """One or more distinct names; in text they are separated by commas."""

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return 'a list of distinct names such as ["color", "deep"] (in a variable or flag: color,deep)'

    def parse(self, value: Any) -> tuple[str, ...]:
        """Return the names."""
        parts = value.split(",") if isinstance(value, str) else value
        if not isinstance(parts, Sequence) or not parts:
            raise ValueError(value)
        names = tuple(Word().parse(part) for part in parts)
        if len(set(names)) != len(names):
            raise ValueError(value)
        return names


@dataclass(frozen=True)
class OptionalPath:
    """A path, or None (in text "none").

    A relative path stays relative: only the reader of the setting knows which folder it is relative to.
    """

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        return 'a path or "none"'

    def parse(self, value: Any) -> Path | None:
        """Return the path."""
        if _is_nothing(value):
            return None
        if not isinstance(value, str | Path) or not str(value).strip() or "\0" in str(value):
            raise ValueError(value)
        return Path(value)
