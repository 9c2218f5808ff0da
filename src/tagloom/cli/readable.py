"""Commands whose help is written for people.

Typer shows Python's names for what a value is (``<list[str]>``, ``{photos}``) and cuts summaries short. Here the help
says what to type (``PHOTOS...``, ``--threshold NUMBER``), and every summary is whole.
"""

import functools
from collections.abc import Callable
from typing import Any

from tagloom.cli.light import LightCommand, LightGroup

__all__ = ["Command", "Group"]

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
