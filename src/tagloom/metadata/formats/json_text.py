"""Large JSON documents, one entry at a time and with line numbers."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tagloom.metadata.text_file import read_text

__all__ = ["MAX_JSON_BYTES", "JsonEntry", "iter_entries", "parse_line", "read_json_text", "write_json"]

MAX_JSON_BYTES = 1024 * 2**20
_DECODER = json.JSONDecoder()
_BLANKS = re.compile(r"[ \t\n\r]*")
_TOO_DEEP = "is nested too deeply"


class JsonEntry(NamedTuple):
    """One entry of a JSON document.

    Parameters
    ----------
    section : str
        The key of the outermost object it lies below; empty where the document is a list.
    key : str
        Its key where the section is an object, empty in a list.
    value : object
        The entry.
    line : int
        The line it begins on, counted from 1.
    """

    section: str
    key: str
    value: Any
    line: int


def read_json_text(path: Path, *, may_be_empty: bool = False) -> str:
    """Return the text of a JSON document of at most 1 GiB."""
    return read_text(path, limit=MAX_JSON_BYTES, expected="a JSON document in UTF-8", may_be_empty=may_be_empty)


def parse_line(text: str) -> Any:
    """Parse a piece of JSON.

    Raises
    ------
    ValueError
        If it is not JSON, nested too deeply or holds a number of thousands of digits; the message says which.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None


def write_json(value: Any) -> bytes:
    """Return a value as one line of JSON in UTF-8."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")


def iter_entries(text: str, report: Callable[[str, str], None]) -> Iterator[JsonEntry]:
    """Yield the entries of the document's list, or of each list and object that its outermost object holds.

    Only one entry is in memory as objects at a time. Where the text stops being JSON, that is reported and nothing
    further is yielded: what came before is good.

    Parameters
    ----------
    text : str
        The document.
    report : callable
        Is told the place and what is wrong.
    """
    walk = _Walk(text)
    try:
        yield from walk.document()
    except RecursionError:
        report(f"line {walk.line()}", f"{_TOO_DEEP}; what follows is not read")
    except json.JSONDecodeError as error:
        walk.position = max(walk.position, error.pos)
        report(f"line {walk.line()}", f"expected JSON, got something else ({error.msg}); what follows is not read")
    except ValueError as error:
        report(f"line {walk.line()}", f"cannot be read as JSON ({error}); what follows is not read")


class _Walk:
    """A position in a JSON text that moves from entry to entry."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._line = 1
        self._counted = 0

    def line(self) -> int:
        """Return the line of the position."""
        self._line += self.text.count("\n", self._counted, self.position)
        self._counted = self.position
        return self._line

    def document(self) -> Iterator[JsonEntry]:
        """Yield the entries of the whole text."""
        first = self._peek()
        if first == "[":
            yield from self._members("", "]")
        elif first == "{":
            yield from self._sections()
        else:
            line = self.line()
            yield JsonEntry("", "", self._value(), line)
        if self._peek():
            self._fail("Extra data")

    def _sections(self) -> Iterator[JsonEntry]:
        for section in self._keys():
            first = self._peek()
            line = self.line()
            if first == "[":
                yield from self._members(section, "]")
            elif first == "{":
                for key in self._keys():
                    line = self.line()
                    yield JsonEntry(section, key, self._value(), line)
            else:
                yield JsonEntry(section, "", self._value(), line)

    def _members(self, section: str, end: str) -> Iterator[JsonEntry]:
        self.position += 1
        if self._peek() == end:
            self.position += 1
            return
        while True:
            self._peek()
            line = self.line()
            yield JsonEntry(section, "", self._value(), line)
            if self._next(end) == end:
                return

    def _keys(self) -> Iterator[str]:
        """Yield the keys of the object at the position; the caller moves past each value."""
        self.position += 1
        if self._peek() == "}":
            self.position += 1
            return
        while True:
            if self._peek() != '"':
                self._fail("Expecting property name enclosed in double quotes")
            key = self._value()
            if self._peek() != ":":
                self._fail("Expecting ':' delimiter")
            self.position += 1
            self._peek()
            yield key
            if self._next("}") == "}":
                return

    def _next(self, end: str) -> str:
        """Move past a comma or the closing bracket and return which it was."""
        found = self._peek()
        if found not in (",", end) or not found:
            self._fail("Expecting ',' delimiter")
        self.position += 1
        return found

    def _peek(self) -> str:
        """Move past blanks and return the character there, or nothing at the end."""
        match = _BLANKS.match(self.text, self.position)
        self.position = self.position if match is None else match.end()
        return self.text[self.position : self.position + 1]

    def _value(self) -> Any:
        value, self.position = _DECODER.raw_decode(self.text, self.position)
        return value

    def _fail(self, message: str) -> None:
        raise json.JSONDecodeError(message, self.text, self.position)
