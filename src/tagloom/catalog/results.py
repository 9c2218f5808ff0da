"""What the verbs of a project return has in common: plain data that JSON can hold."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

from tagloom.core.keywords import Keyword

__all__ = ["Result", "plain"]


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
        from tagloom.metadata.names import name_to_text

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
