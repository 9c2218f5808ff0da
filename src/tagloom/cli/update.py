"""``tagloom update``: learn from a few more decisions, quickly."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tagloom.cli.options import Json, ProjectOption, Quiet, ThreadsOption, Verbose

if TYPE_CHECKING:
    from tagloom.learning import UpdateResult

__all__ = ["update"]


def update(
    threads: ThreadsOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Update the model with your latest decisions, in seconds.

    Only tags with new decisions are trained; features, graph and method stay. Photos without features wait for `tagloom
    extract`. Without a model, tagloom trains a first one.

    Example: tagloom update
    """
    from tagloom.cli.console import print_json, print_line, working
    from tagloom.cli.projects import logged, opened

    flags = {"n_threads": threads}
    with opened(project, flags, verbose=verbose) as found, logged(found), working("learning", quiet=quiet):
        result = found.update()
        names = found.store.tags.texts(result.tag_ids)
    if as_json:
        print_json(result.as_dict() | {"tags": names})
    elif names:
        _print(result, names, verbose)
    elif not quiet:
        print_line("Nothing new to learn: no decisions since the last training or update")


def _print(result: "UpdateResult", names: Sequence[str], verbose: bool) -> None:
    from tagloom.cli.console import print_line, print_table
    from tagloom.cli.projects import N_SHOWN, shown

    rows = [
        ("tags updated", f"{len(names)}"),
        ("suggestions carry", "probabilities" if result.kind == "probability" else "scores"),
        ("time", f"{result.seconds:.2f} s"),
    ]
    title = "Not stored: another model was trained meanwhile" if result.model is None else f"Model {result.model}"
    print_table(title, ("", ""), rows)
    print_line(f"updated: {shown(names, len(names) if verbose else N_SHOWN)}")
