"""What the verbs of a project return has in common: plain data that JSON can hold."""

import dataclasses
import os
import types
from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin, get_type_hints

from tagloom.core import Keyword

__all__ = ["Result", "plain", "restored"]


class Result:
    """Base of the verbs' results, all frozen dataclasses."""

    __slots__ = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the result as JSON can hold it: names of photos as text, tags as text, arrays as lists."""
        return {item.name: plain(getattr(self, item.name)) for item in dataclasses.fields(self)}  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it."""
    if isinstance(value, bytes):
        # Imported where it is used: labelling needs no part of the metadata package.
        from tagloom.metadata import name_to_text

        return name_to_text(value)
    if isinstance(value, Keyword):
        return value.text
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {plain(key): plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def restored(kind: Any, value: Any) -> Any:
    """Return a value of a type from what JSON holds of it, and raise ValueError where it does not fit.

    This undoes `Result.as_dict` for classes of numbers, texts, tuples, dicts and such classes.
    """
    if isinstance(kind, types.UnionType):
        (own,) = (one for one in get_args(kind) if one is not types.NoneType)
        return None if value is None else restored(own, value)
    if dataclasses.is_dataclass(kind):
        hints = get_type_hints(kind)
        missing = dataclasses.MISSING
        needed = {item.name for item in dataclasses.fields(kind) if item.default is item.default_factory is missing}
        if not isinstance(value, dict) or not needed <= value.keys() <= hints.keys():
            raise ValueError(f"expected the fields {', '.join(hints)}")
        return kind(**{name: restored(hints[name], item) for name, item in value.items()})  # type: ignore[operator]
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise ValueError(f"expected a list, got {value!r}")
        return tuple(restored(get_args(kind)[0], item) for item in value)
    if get_origin(kind) is dict:
        if not isinstance(value, dict):
            raise ValueError(f"expected names and values, got {value!r}")
        names, values = get_args(kind)
        return {restored(names, name): restored(values, item) for name, item in value.items()}
    if kind is Any:
        return value
    fits = isinstance(value, int | float) if kind is float else isinstance(value, kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"expected {kind.__name__}, got {value!r}")
    return kind(value)
