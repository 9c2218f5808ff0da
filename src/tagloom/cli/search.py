"""``tagloom search``: photos by words."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import counted, print_json, print_line, print_table, working
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, opened

if TYPE_CHECKING:
    from tagloom.learning import WordSearchResult

__all__ = ["search"]

#: Probability from which on the best match is called one.
CLEAR = 0.2


def search(
    query: Annotated[str, typer.Argument(help="Words in quotation marks, such as: dog on a beach 2024-05.")],
    photos: Annotated[int, typer.Option("--photos", "-n", min=0, help="Photos that are listed; 0 means all.")] = 20,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Find photos by words: tags, file names, dates, suggestions, and what the network sees.

    Every word counts; the best match comes first. No photo is opened, and nothing has to be labelled.

    Example: tagloom search "dog on a beach"
    """
    with opened(project, verbose=verbose) as found, working("searching", quiet=quiet):
        result = found.search(query, n=photos)
    if as_json:
        print_json(result.as_dict())
    else:
        _print(result)


def _print(result: "WordSearchResult") -> None:
    from tagloom.learning import matched
    from tagloom.metadata import name_to_text

    if not result.photos:
        missed, meant = ", ".join(result.unknown or result.terms), ", ".join(result.similar)
        print_line(f'No photos match "{missed}".' + (f" Did you mean {meant}?" if meant else ""))
        return
    rows = [(name_to_text(one.photo), matched(one.matches)) for one in result.photos]
    terms = ", ".join(result.terms)
    title = f"{counted(result.n_found, 'photo')} may match {terms}"
    if result.photos[0].score < CLEAR:
        title = f"No photo clearly matches {terms}; the nearest"
    print_table(title, ("photo", "found by"), rows, n_left=2)
