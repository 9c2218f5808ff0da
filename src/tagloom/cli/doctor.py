"""``tagloom doctor``: whether everything is in place."""

from typing import TYPE_CHECKING, Any

from tagloom.cli.console import print_json, print_table
from tagloom.cli.shared import Json

if TYPE_CHECKING:
    from tagloom.jobs import Section

__all__ = ["doctor"]


def doctor(as_json: Json = False) -> None:
    """Show versions, threads, the network, learning methods and optional tools.

    Example: tagloom doctor
    """
    from tagloom.jobs import examine

    sections = examine()
    if as_json:
        print_json({"sections": [_as_dict(section) for section in sections]})
        return
    for section in sections:
        print_table(section.title, ("", ""), section.rows, n_left=2)


def _as_dict(section: "Section") -> dict[str, Any]:
    """Return a section with its rows as a list: a name may come twice, such as that of a thread pool."""
    return {"title": section.title, "rows": [{"name": name, "value": value} for name, value in section.rows]}
