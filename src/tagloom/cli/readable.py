"""Commands whose help is written for people, and which answer at once.

Typer shows Python's names for what a value is (``<list[str]>``, ``{photos}``) and cuts summaries short. Here the help
says what to type (``PHOTOS...``, ``--threshold NUMBER``), and every summary is whole.

Recent versions of typer convert every value with pydantic, an absent one and plain text included. Loading it takes
longer than all that ``tagloom label`` does, so that absent values, text and plain paths go around it.
"""

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from typer.core import TyperCommand, TyperGroup

__all__ = ["Command", "Group", "LightCommand", "LightGroup", "lighten"]


#: How a path is declared that only has to be readable, if it is there.
_PLAIN_PATH = {
    "exists": False,
    "file_okay": True,
    "dir_okay": True,
    "writable": False,
    "readable": True,
    "resolve_path": False,
    "allow_dash": False,
    "path_type": None,
}


class LightCommand(TyperCommand):
    """A command that takes absent values, text and plain paths as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, that of ``--help`` included, which typer makes only here."""
        return lighten(super().get_params(ctx))


class LightGroup(TyperGroup):
    """A group of commands that takes absent values, text and plain paths as they are."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, that of ``--help`` included, which typer makes only here."""
        return lighten(super().get_params(ctx))


def lighten(parameters: list[Any]) -> list[Any]:
    """Let parameters take absent values, text and plain paths as they are.

    All other values are converted by typer, as before: numbers, choices, paths that must exist, and whatever is wrong.
    Parameters of a version of typer that is built in another way are left alone.

    Parameters
    ----------
    parameters : list
        Parameters of a command; they are changed in place, once.

    Returns
    -------
    list
        The same parameters.
    """
    for parameter in parameters:
        described = getattr(parameter, "type_descriptor", None)
        # Versions without these two convert by other means, and without pydantic.
        is_known = hasattr(described, "annotation") and hasattr(described, "parameter_info")
        if is_known and "process_value" not in vars(parameter):
            parameter.process_value = functools.partial(_process, parameter, parameter.process_value)
    return parameters


def _process(parameter: Any, convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return a parameter's value: as given where that is right already, else as typer converts it."""
    several = parameter.multiple or parameter.nargs == -1
    described = parameter.type_descriptor
    if value is None and not parameter.required:
        value = () if several else None
    elif _is_text(described, value, several):
        value = list(value) if several else value
    elif _is_plain_path(described, value):
        value = Path(value)
    else:
        return convert(context, value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)


def _is_text(described: Any, value: Any, several: bool) -> bool:
    """Tell whether text is wanted and given; no items at all may be an error, which typer words."""
    if getattr(described.parameter_info, "parser", None) is not None:
        return False
    if several:
        return described.annotation == list[str] and bool(value) and all(type(item) is str for item in value)
    return described.annotation is str and type(value) is str


def _is_plain_path(described: Any, value: Any) -> bool:
    """Tell whether a path is wanted and given with which nothing can be wrong."""
    info = described.parameter_info
    if described.annotation is not Path or type(value) is not str or getattr(info, "parser", None) is not None:
        return False
    if any(getattr(info, name, ...) != expected for name, expected in _PLAIN_PATH.items()):
        return False
    return not os.path.exists(value) or os.access(value, os.R_OK)


#: What to type for the value of an option, by the name of its type in recent and in older versions of typer.
_METAVARS = {
    "int": "N",
    "integer": "N",
    "float": "NUMBER",
    "str": "NAME",
    "text": "NAME",
    "Path": "PATH",
    "path": "PATH",
}


class Command(LightCommand):
    """A command with readable help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with names for people."""
        return _named(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line; what may be left out is in brackets."""
        arguments = [item for item in self.get_params(ctx) if item.param_type_name == "argument"]
        names = [_argument_name(item) if item.required else f"[{_argument_name(item)}]" for item in arguments]
        return [*([self.options_metavar] if self.options_metavar else []), *names]

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002
        """Return the whole summary, however long; the list of commands wraps it."""
        return _summary(self.help)


class Group(LightGroup):
    """A group of commands with readable help."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, with names for people."""
        return _named(super().get_params(ctx))

    def get_short_help_str(self, limit: int = 0) -> str:  # noqa: ARG002
        """Return the whole summary, however long; the list of commands wraps it."""
        return _summary(self.help)


def _summary(text: str | None) -> str:
    return " ".join((text or "").strip().split("\n\n", 1)[0].split())


def _named(parameters: list[Any]) -> list[Any]:
    """Name arguments by their own name, and values of options by what they are; in place, once."""
    for parameter in parameters:
        if parameter.param_type_name == "argument":
            if "get_help_record" not in vars(parameter):
                parameter.metavar = (parameter.metavar or parameter.name.upper()).strip("[]")
                parameter.get_help_record = functools.partial(_argument_record, parameter, parameter.get_help_record)
        elif parameter.metavar is None:
            parameter.metavar = _METAVARS.get(_kind_of_value(parameter))
    return parameters


def _kind_of_value(parameter: Any) -> str:
    """Return the name of an option's type; versions of typer differ in where they keep it."""
    if getattr(parameter, "is_flag", False) or getattr(parameter, "count", False):
        return ""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if annotation is not None:
        return str(getattr(annotation, "__name__", ""))
    return str(getattr(parameter.type, "name", "")).split(" ")[0]


def _argument_name(argument: Any) -> str:
    return f"{argument.metavar}..." if argument.nargs != 1 else str(argument.metavar)


def _argument_record(
    argument: Any, make: Callable[[Any], tuple[str, str] | None], context: Any
) -> tuple[str, str] | None:
    record = make(context)
    return None if record is None else (_argument_name(argument), record[1].replace("[required]", "").rstrip())
