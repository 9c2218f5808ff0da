"""Whether an object of another package has what a protocol asks for."""

import inspect
from typing import Any

__all__ = ["missing_attributes"]

_ABSENT = object()


def missing_attributes(item: Any, protocol: type) -> list[str]:
    """Return the public attributes of a protocol that an object lacks, in the protocol's order.

    Nothing of the object is evaluated. On Python 3.11 ``isinstance`` with a runtime protocol reads every property,
    which may raise, as the key of a descriptor does whose model is not installed.

    Parameters
    ----------
    item : object
        What was made by an entry point.
    protocol : type
        A protocol class; what it inherits is not looked at.
    """
    names = dict.fromkeys([*inspect.get_annotations(protocol), *vars(protocol)])
    return [
        name for name in names if not name.startswith("_") and inspect.getattr_static(item, name, _ABSENT) is _ABSENT
    ]
