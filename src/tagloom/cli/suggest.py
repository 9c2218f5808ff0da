"""``tagloom suggest``: the tags that the model would give."""

from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.options import Json, ProjectOption, Quiet, Verbose

if TYPE_CHECKING:
    from tagloom.workflow.project_suggest import Suggestion

__all__ = ["suggest"]

N_PHOTOS = 20


def suggest(
    photos: Annotated[list[str] | None, typer.Argument(help="Photos of the project; default: all of them.")] = None,
    keywords: Annotated[
        int | None, typer.Option("--keywords", "-n", min=0, help="Suggestions per photo; 0 means all tags.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", help="In place of the project's, or of those that training chose.")
    ] = None,
    above_only: Annotated[
        bool, typer.Option("--above-only", help="Leave out what is not above the threshold.")
    ] = False,
    remember: Annotated[
        bool,
        typer.Option(
            "--remember", help="Make --threshold the project's own; without --threshold: back to what training chose."
        ),
    ] = False,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Show the tags that the model would give to photos, best first.

    What was decided is not suggested. A * marks what is above the threshold. Without -v the first 20 photos are shown.

    Example: tagloom suggest beach/IMG_0042.jpg -n 3
    """
    import os

    from tagloom.cli.console import print_json
    from tagloom.cli.projects import opened

    with opened(project, verbose=verbose) as found:
        if remember:
            found.threshold = threshold
        n = found.settings.n_keywords if keywords is None else keywords
        rows = found.suggest(photos or None, n=n, threshold=threshold, above_only=above_only, base=os.getcwd())
    if as_json:
        print_json({"suggestions": [row.as_dict() for row in rows]})
    else:
        _print(rows, quiet, verbose)


def _print(rows: "list[Suggestion]", quiet: bool, verbose: bool) -> None:
    from tagloom.cli.console import counted, cut, print_line, print_table
    from tagloom.metadata.names import name_to_text

    photos: dict[bytes, list[str]] = {}
    for row in rows:
        photos.setdefault(row.photo, []).append(
            f"{row.tag if verbose else cut(row.tag)} {row.value:.2f}{'*' if row.is_above else ''}"
        )
    if not photos:
        print_line("nothing to suggest: everything is decided, or nothing is above the threshold")
        return
    shown = list(photos.items())[: None if verbose else N_PHOTOS]
    kind = "probabilities" if rows[0].kind == "probability" else "scores"
    table = [(name_to_text(name), ", ".join(tags)) for name, tags in shown]
    print_table(
        f"Suggestions for {counted(len(photos), 'photo')}",
        ("photo", f"tags and {kind}, * above the threshold"),
        table,
        n_left=2,
    )
    if len(shown) < len(photos) and not quiet:
        print_line(f"… and {counted(len(photos) - len(shown), 'more photo')}; -v shows all, --json is for scripts")
