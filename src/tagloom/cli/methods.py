"""``tagloom methods``: which methods there are, and what each takes."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import print_json, print_line, print_table
from tagloom.cli.shared import Json

if TYPE_CHECKING:
    from tagloom.learning import Learner

__all__ = ["methods"]


def methods(
    name: Annotated[str | None, typer.Argument(help="A method; its parameters are listed.")] = None,
    names: Annotated[bool, typer.Option("--names", help="Print the names alone, one a line.")] = False,
    as_json: Json = False,
) -> None:
    """List the methods that learn from labels, or the parameters of one of them.

    Choose a method with --method, and set its parameters with --set name=value.

    Example: tagloom methods nova
    """
    from tagloom.learning import all_learners, get_learner

    learners = list(all_learners().values()) if name is None else [get_learner(name)]
    if names:
        for learner in learners:
            print_line(learner.name)
    elif as_json:
        print_json({"methods": [_as_dict(learner) for learner in learners]})
    elif name is None:
        rows = [(one.name, one.summary, one.paper, ", ".join(one.needs)) for one in learners]
        print_table("Methods", ("method", "what it does", "paper", "needs"), rows, n_left=4)
    else:
        _print(learners[0])


def _print(learner: "Learner") -> None:

    print_line(f"{learner.name}: {learner.summary}")
    if learner.paper:
        print_line(f"Paper: {learner.paper}")
    if learner.needs:
        print_line(f"Needs: {', '.join(learner.needs)}")
    rows = [(one.name, _text(one.default), one.expected) for one in learner.takes()]
    print_table("Parameters", ("--set", "default", "values"), rows, n_left=3)


def _as_dict(learner: "Learner") -> dict[str, Any]:
    return {
        "name": learner.name,
        "summary": learner.summary,
        "paper": learner.paper,
        "needs": list(learner.needs),
        "parameters": [{"name": one.name, "default": one.default, "expected": one.expected} for one in learner.takes()],
    }


def _text(value: Any) -> str:
    """Return a value as a person types it."""
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
