"""``tagloom label``: which tags photos have. Nothing heavy is imported: it answers at once."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import confirm, counted, cut, marked, print_json, print_line
from tagloom.cli.shared import Json, ProjectOption, Quiet, Verbose, opened, tag_names, who

if TYPE_CHECKING:
    from tagloom.project import LabelResult

__all__ = ["label"]


def label(
    photos: Annotated[
        list[str],
        typer.Argument(
            help="Photos of the project, by path or bare file name. A name that begins with - goes after --."
        ),
    ],
    add: Annotated[
        list[str] | None,
        typer.Option("--add", "-a", metavar="TAG", help="Add this tag; repeatable.", autocompletion=tag_names),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option("--remove", "-r", metavar="TAG", help="Reject this tag; repeatable.", autocompletion=tag_names),
    ] = None,
    clear: Annotated[
        list[str] | None,
        typer.Option(
            "--clear", "-c", metavar="TAG", help="Clear the decision on this tag; repeatable.", autocompletion=tag_names
        ),
    ] = None,
    known_tags: Annotated[
        bool, typer.Option("--known-tags", help="Use existing tags only; an unknown tag is an error.")
    ] = False,
    new: Annotated[
        bool,
        typer.Option(
            "--new",
            help="Make the tag even if it resembles an existing one or looks like a list.",
        ),
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Add tags to photos, reject tags, or clear earlier decisions.

    If one name is wrong, nothing changes. Write the levels of a tag as A|B. `tagloom undo` takes it back.

    Example: tagloom label beach/*.jpg --add sea --add "Places|Coast" --remove snow
    """
    import os
    import sys

    from tagloom.exceptions import SimilarTagError

    tags = list(add or ())
    with opened(project, verbose=verbose) as found:
        while True:
            try:
                result = found.label(
                    photos,
                    add=tags,
                    remove=remove or (),
                    clear=clear or (),
                    who=who(),
                    create=not known_tags,
                    allow_similar=new,
                    base=os.getcwd(),
                )
                break
            except SimilarTagError as error:
                if not (sys.stdin.isatty() and sys.stderr.isatty()):
                    raise
                question = f'There is no tag "{error.tag}" yet. Did you mean "{error.similar[0]}"?'
                if not confirm(question):
                    raise
                tags = [error.similar[0] if tag == error.tag else tag for tag in tags]
    if as_json:
        print_json(result.as_dict())
    elif not quiet:
        print_line(_sentence(result))
        for hint in result.hints:
            print_line(hint)


def _sentence(result: "LabelResult") -> str:
    """Return the outcome on one line: a table would cost more time than the decision."""
    photos = counted(result.n_photos, "photo")
    if result.batch is None:
        return f"{photos}: already labelled like this; nothing changed"
    same = "".join(f'; "{given}" is the tag "{tag}"' for given, tag in result.respelled)
    new = f"{same}; new tags: {', '.join(marked(cut(tag)) for tag in result.created)}" if result.created else same
    return f"{photos}, {counted(result.n_decisions, 'new decision')} (action {result.batch.id}){new}"
