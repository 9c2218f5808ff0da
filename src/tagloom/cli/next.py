"""``tagloom next``: which photos to label next."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import print_json, print_line, print_note, print_table, working
from tagloom.cli.shared import EncoderOption, GroupsOption, Json, ProjectOption, Quiet, ThreadsOption, Verbose, opened

if TYPE_CHECKING:
    from tagloom.learning import NextPhotos

__all__ = ["next_"]


def _strategies(incomplete: str) -> list[str]:
    """Return strategies that begin as typed, for the shell's completion."""
    from typing import get_args

    from tagloom.tuning.queries import QueryStrategy

    return [name for name in get_args(QueryStrategy) if name.startswith(incomplete)]


def next_(
    photos: Annotated[int, typer.Option("--photos", "-n", min=1, help="How many photos to list.")] = 20,
    strategy: Annotated[
        str | None,
        typer.Option("--strategy", help="How to choose; an unknown name lists them all.", autocompletion=_strategies),
    ] = None,
    groups: GroupsOption = None,
    encoder: EncoderOption = None,
    threads: ThreadsOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List the unlabelled photos that are most useful to label next.

    In a pipe it prints one name per line, ready for `tagloom label`.

    Example: tagloom next -n 10
    """
    flags = {"descriptors": groups, "encoder": encoder, "n_threads": threads}
    with opened(project, flags, verbose=verbose) as found, working("choosing photos", quiet=quiet):
        result = found.next_photos(photos, strategy)
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result, quiet)


def _print(result: "NextPhotos", quiet: bool) -> None:
    from tagloom.metadata import name_to_line, name_to_text

    names = [name_to_text(name) for name in result.photos]
    if names and sys.stdout.isatty():
        title = f"{len(names)} of {result.n_unlabeled} unlabelled photos"
        print_table(title, ("", "photo"), [(f"{place}", name) for place, name in enumerate(names, start=1)], n_left=2)
    else:
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        for name in result.photos:
            print_line(name_to_line(name, encoding))
    if not quiet:
        print_note(result.why)
