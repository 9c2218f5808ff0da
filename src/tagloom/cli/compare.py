"""``tagloom compare``: which method is best on the user's own labels."""

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tagloom.cli.console import RichProgress, counted, print_json, print_line, print_note, print_table
from tagloom.cli.shared import (
    EncoderOption,
    GroupsOption,
    Json,
    NeighborsOption,
    ProjectOption,
    Quiet,
    SetOption,
    ThreadsOption,
    Verbose,
    WorkersOption,
    logged,
    opened,
)

if TYPE_CHECKING:
    from tagloom.learning import MethodComparison, MethodFigures

__all__ = ["compare"]

FIGURES = (".svg", ".png", ".pdf")


def compare(
    methods: Annotated[
        list[str] | None,
        typer.Argument(help="Methods; `tagloom methods` lists them. Default: auto, two ridges and the five papers'."),
    ] = None,
    parameters: SetOption = None,
    folds: Annotated[
        int, typer.Option("--folds", min=2, help="Parts of the labelled photos; each is hidden once.")
    ] = 5,
    figure: Annotated[
        Path | None, typer.Option("--figure", help="Draw the comparison to a new .svg, .png or .pdf file.")
    ] = None,
    neighbors: NeighborsOption = None,
    groups: GroupsOption = None,
    encoder: EncoderOption = None,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Compare methods on your own labels: labels are hidden fold by fold, and each method finds them again.

    Every method is measured on the same photos. No model is stored, and suggestions stay as they are. With --set,
    write METHOD.NAME=VALUE for a parameter of one method.

    Example: tagloom compare auto ridge nova --figure methods.svg
    """
    from tagloom.catalog import refuse_way_out

    flags = {
        "method_parameters": parameters,
        "n_neighbors": neighbors,
        "descriptors": groups,
        "encoder": encoder,
        "n_workers": workers,
        "n_threads": threads,
    }
    if figure is not None:  # before the work, so that a slip of the name costs none
        _check_figure(figure)
    with opened(project, flags, verbose=verbose) as found, logged(found):
        if figure is not None:
            refuse_way_out(found.store, figure)
        with RichProgress(quiet=quiet) as progress:
            result = found.compare(methods or (), folds=folds, progress=progress)
        if as_json:
            print_json(result.as_dict())
        else:
            _print(result)
        if figure is not None:
            _draw(result, figure)
            if not quiet:
                print_note(f"written: {figure}")


def _check_figure(path: Path) -> None:
    from tagloom.catalog import refuse_foreign_target
    from tagloom.exceptions import InvalidInputError
    from tagloom.plotting import plot_tag_figures

    if path.suffix.lower() not in FIGURES:
        raise InvalidInputError(f"A figure is a file that ends in {', '.join(FIGURES)}, got {str(path)!r}.")
    refuse_foreign_target(path, lambda _: False, remedy="name a new file, as in: tagloom compare --figure NEW.svg")
    plot_tag_figures([""], [1.0], [1.0], [1.0])  # where figures cannot be drawn, it says what to install


def _draw(result: "MethodComparison", path: Path) -> None:
    from tagloom.core import atomic_write

    picture = io.BytesIO()
    drawn: Any = result.plot().figure
    drawn.savefig(picture, format=path.suffix.lower()[1:])
    with atomic_write(path) as file:
        file.write(picture.getvalue())


def _print(result: "MethodComparison") -> None:

    measured = [one for one in result.methods if one.map is not None]
    columns = ("method", "mean average precision", "behind the best", "right", "found", "time")
    title = f"{counted(len(measured), 'method')} on held-out photos, {result.folds} folds"
    print_table(title, columns, [_row(one) for one in measured])
    level = [one.method for one in measured[1:] if not one.is_behind]
    if level:
        print_line(
            f"No clear difference from {measured[0].method} on {counted(result.n_labeled, 'labelled photo')}: "
            f"{', '.join(level)}."
        )
    for one in result.methods:
        if one.why_not:
            print_line(f"{one.method} was not compared: {one.why_not}")
    if result.interrupted:
        print_line("Interrupted: methods that were not finished are left out.")


def _row(one: "MethodFigures") -> tuple[str, ...]:
    behind = "–" if not one.behind else f"{one.behind:.3f} ({one.behind_low:.3f} to {one.behind_high:.3f})"
    return (
        one.method,
        f"{one.map:.3f} ({one.low:.3f} to {one.high:.3f})",
        behind,
        "–" if one.precision is None else f"{one.precision:.3f}",
        "–" if one.recall is None else f"{one.recall:.3f}",
        f"{one.seconds:.1f} s",
    )
