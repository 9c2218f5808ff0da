"""What a request may hold: each field reads its value and refuses what makes no sense, and says so as JSON Schema."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tagloom.exceptions import TagloomError

__all__ = [
    "LARGEST",
    "LONGEST_TEXT",
    "Field",
    "RequestError",
    "choice",
    "id_list",
    "name_list",
    "number",
    "text",
    "whole_number",
]

LARGEST = 2**31 - 1
LONGEST_TEXT = 1_000
_N_DIGITS = 10


class RequestError(TagloomError):
    """A request that makes no sense; the status says how."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a request.

    Parameters
    ----------
    check : callable
        Gets a value of JSON and the name of the field; returns what the route works with, or raises RequestError.
    from_text : callable
        Makes a value of JSON of the text of an address; what it cannot read it returns as it is.
    schema : mapping
        The JSON Schema of the value.
    about : str
        One line for the reference.
    required : bool
        Whether a request must have it.
    default : object
        What a route gets where a request does not have it; None: the route does without it.
    """

    check: Callable[[Any, str], Any]
    from_text: Callable[[str], Any]
    schema: Mapping[str, Any]
    about: str = ""
    required: bool = False
    default: Any = None

    def read(self, value: Any, name: str) -> Any:
        """Return the value of a body."""
        return self.check(value, name)

    def read_text(self, value: str, name: str) -> Any:
        """Return the value of a parameter."""
        return self.check(self.from_text(value), name)

    def needed(self) -> "Field":
        """Return this field where a request must have it."""
        return replace(self, required=True)

    def described(self) -> dict[str, Any]:
        """Return its schema with the default."""
        return {**self.schema} | ({} if self.default is None else {"default": self.default})


def whole_number(about: str = "", *, least: int = 1, most: int = LARGEST, default: int | None = None) -> Field:
    """Return a field of a whole number."""

    def check(value: Any, name: str) -> int:
        # JSON knows one kind of number: 3.0 is 3.
        if type(value) is float and value.is_integer() and abs(value) <= LARGEST:
            value = int(value)
        if type(value) is not int or not least <= value <= most:
            raise RequestError(f"{name} must be a whole number from {least} to {most}")
        return value

    schema = {"type": "integer", "minimum": least, "maximum": most}
    return Field(check, _digits, schema, about, default=default)


def id_list(about: str = "", *, most: int) -> Field:
    """Return a field of ids; in an address they are separated by commas."""
    one = whole_number()

    def check(value: Any, name: str) -> list[int]:
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            raise RequestError(f"{name} must be from 1 to {most} ids")
        return [one.check(item, name) for item in value]

    schema = {"type": "array", "items": one.schema, "minItems": 1, "maxItems": most}
    return Field(check, lambda value: [_digits(item) for item in value.split(",")], schema, about)


def name_list(about: str = "", *, most: int, longest: int = LONGEST_TEXT) -> Field:
    """Return a field of texts."""
    one = text(longest=longest)

    def check(value: Any, name: str) -> list[str]:
        if not isinstance(value, list) or not 1 <= len(value) <= most:
            raise RequestError(f"{name} must be from 1 to {most} texts")
        return [one.check(item, name) for item in value]

    schema = {"type": "array", "items": one.schema, "minItems": 1, "maxItems": most}
    return Field(check, lambda value: [value], schema, about)


def text(about: str = "", *, longest: int = LONGEST_TEXT, least: int = 0) -> Field:
    """Return a field of text that a file can hold."""

    def check(value: Any, name: str) -> str:
        if not isinstance(value, str) or not least <= len(value) <= longest:
            raise RequestError(f"{name} must be text of {least} to {longest} characters")
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise RequestError(f"{name} holds half a character (a lone surrogate)") from None
        return value

    schema = {"type": "string", "maxLength": longest} | ({"minLength": least} if least else {})
    return Field(check, lambda value: value, schema, about)


def choice(about: str = "", *known: Any, default: Any = None) -> Field:
    """Return a field with one of several values; true is not 1 here."""

    def check(value: Any, name: str) -> Any:
        if type(value) is float and value.is_integer() and abs(value) <= LARGEST:
            value = int(value)
        if not any(type(value) is type(item) and value == item for item in known):
            raise RequestError(f"{name} must be one of {', '.join(map(str, known))}")
        return value

    kinds = {bool: "boolean", int: "integer", str: "string"}
    found = sorted({kinds[type(item)] for item in known})
    schema: dict[str, Any] = {"type": found[0]} if found == ["boolean"] else {"type": found[0], "enum": list(known)}
    return Field(check, lambda value: value, schema, about, default=default)


def number(about: str = "", *, null: str = "") -> Field:
    """Return a field of a number; ``null`` says what null means, where it may be given."""

    def check(value: Any, name: str) -> float | None:
        if (value is not None or not null) and type(value) not in (int, float):
            raise RequestError(f"{name} must be a number" + (f", or null for {null}" if null else ""))
        return value

    return Field(check, _digits, {"type": ["number", "null"] if null else "number"}, about)


def _digits(value: str) -> Any:
    """Return the number that a text spells; any other text as it is."""
    return int(value) if value.isascii() and value.isdigit() and len(value) <= _N_DIGITS else value
