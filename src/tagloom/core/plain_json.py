"""Values as plain JSON and back: what crosses the pipe from a process that reads untrusted files.

JSON has no bytes, tuples, sets, or keys other than text, and no classes. Each is an object with one key that says which
it is. Of classes only those are made again that the reader names, by their ordinary constructors, so that nothing that
crosses the pipe is evaluated.
"""

import functools
import json
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from typing import Any

__all__ = ["from_plain", "to_plain"]

_AS_THEY_ARE = frozenset({str, int, float, bool, type(None)})


def to_plain(value: Any) -> str:
    """Return a value as JSON text.

    Parameters
    ----------
    value : object
        Made of dataclasses, mappings, lists, tuples, sets, bytes, text, numbers and None.

    Raises
    ------
    TypeError
        If it holds anything else.

    Examples
    --------
    >>> to_plain((1, b"x"))
    '{"tuple":[1,{"bytes":"x"}]}'
    """
    return json.dumps(_plain(value), separators=(",", ":"))


def from_plain(text: str | bytes | bytearray, classes: Iterable[type] = ()) -> Any:
    """Return the value that `to_plain` made a text of.

    Parameters
    ----------
    text : str or bytes
        The JSON.
    classes : iterable of type
        Dataclasses that may occur.

    Raises
    ------
    ValueError
        If it is something else.

    Examples
    --------
    >>> from_plain('{"tuple":[1,{"bytes":"x"}]}')
    (1, b'x')
    """
    reader = _Reader(classes)
    try:
        return json.loads(text, object_hook=reader.made)
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"not a value that was sent ({type(error).__name__}: {error})") from error


def _plain(value: Any) -> Any:
    kind: Any = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if kind is list:
        return _all_plain(value)
    if kind is tuple:
        return {"tuple": _all_plain(value)}
    if kind is bytes:
        return {"bytes": value.decode("latin-1")}
    if kind is frozenset:
        return {"set": _all_plain(value)}
    if kind is dict:
        return {"dict": [_all_plain(pair) for pair in value.items()]}
    return {kind.__name__: _all_plain([getattr(value, name) for name in _field_names(kind)])}


def _all_plain(values: Iterable[Any]) -> list[Any]:
    return [item if type(item) in _AS_THEY_ARE else _plain(item) for item in values]


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...]:
    if not is_dataclass(kind):
        raise TypeError(f"expected plain data, got a {kind.__name__}")
    return tuple(each.name for each in fields(kind))


class _Reader:
    """Makes values of the objects of a JSON text, the inner ones first."""

    def __init__(self, classes: Iterable[type]) -> None:
        self._known = {each.__name__: each for each in classes}
        self._same: dict[tuple[str, Any], Any] = {}

    def made(self, value: dict[str, Any]) -> Any:
        """Return what an object with one key stands for."""
        ((kind, inner),) = value.items()
        if kind == "tuple":
            return tuple(inner)
        if kind == "bytes":
            return inner.encode("latin-1")
        if kind == "set":
            return frozenset(inner)
        if kind == "dict":
            return dict(inner)
        if len(inner) != 1:
            return self._known[kind](*inner)
        # A class of one field, such as a keyword, comes many times with the same value: it is made once.
        key = kind, inner[0]
        if key not in self._same:
            self._same[key] = self._known[kind](*inner)
        return self._same[key]
