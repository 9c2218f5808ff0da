"""``tagloom evaluate``: how good a method is on what was decided."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tagloom.cli.console import RichProgress, counted, cut, print_json, print_line, print_note, print_table
from tagloom.cli.shared import (
    EncoderOption,
    GroupsOption,
    Json,
    Method,
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
    from tagloom.learning import ModelEvaluation

__all__ = ["evaluate"]

N_TAGS = 20


def evaluate(
    method: Method = None,
    parameters: SetOption = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds; each is hidden once.")] = 5,
    more: Annotated[
        int, typer.Option("--more", min=1, help="Forecast the gain from this many more labelled photos.")
    ] = 100,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Skip the learning curve and the feature groups, which take most of the time."),
    ] = False,
    report: Annotated[
        Path | None, typer.Option("--report", help="Also write the HTML report with these figures to a file.")
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
    """Measure on your own labels how good the suggestions are.

    tagloom hides the labels of some photos, learns from the others and compares. Every figure has a 95 % interval,
    which is wide on few labels. `tagloom report` shows the figures. The model and its suggestions stay as they are.

    Example: tagloom evaluate --method ridge --quick
    """
    from tagloom.catalog import check_report_target, refuse_way_out

    flags = {
        "method": method,
        "method_parameters": parameters,
        "n_neighbors": neighbors,
        "descriptors": groups,
        "encoder": encoder,
        "n_workers": workers,
        "n_threads": threads,
    }
    if report is not None:  # before the work, so that a slip of the name costs none
        check_report_target(report)
    with opened(project, flags, verbose=verbose) as found, logged(found):
        if report is not None:
            refuse_way_out(found.store, report)
        with RichProgress(quiet=quiet) as progress:
            result = found.evaluate(folds=folds, n_more=more, curve=not quick, groups=not quick, progress=progress)
        if as_json:
            print_json(result.as_dict())
        else:
            _print(result, quiet, verbose)
        if report is not None:  # last, so that a file that cannot be written costs no figures
            found.report(report)
        if not quiet:
            print_note("tagloom report shows these figures with the photos" if report is None else f"written: {report}")


def _print(result: "ModelEvaluation", quiet: bool, verbose: bool) -> None:

    rows = [
        (f"mean average precision{over and ', '}{over}", _between(figure, low, high))
        for over, figure, low, high in result.mean_figures()
    ]
    rows += [
        (result.accepted, "" if result.n_accepted is None else f"{result.n_accepted}"),
        ("precision of these", _between(result.precision, result.precision_low, result.precision_high)),
        ("recall: share of all true tags", _share(result.recall)),
        ("error of probabilities", _share(result.calibration_error)),
        ("labelled photos, of all", f"{result.n_labeled}, {result.n_photos}"),
        ("time", f"{result.seconds:.1f} s"),
    ]
    print_table(f"{result.method} on held-out photos, {result.folds} folds", ("", ""), rows)
    _print_tags(result, quiet, verbose)
    _print_more(result)
    for note in result.notes:
        print_line(note)


def _print_tags(result: "ModelEvaluation", quiet: bool, verbose: bool) -> None:

    shown = result.tags if verbose else result.tags[:N_TAGS]
    columns = ("tag", "yes", "no", "average precision", "right", "found")
    rows = [
        (
            item.tag if verbose else cut(item.tag),
            f"{item.n_yes}",
            f"{item.n_no}",
            _between(item.average_precision, item.low, item.high),
            _share(item.precision),
            _share(item.recall),
        )
        for item in shown
    ]
    print_table(counted(len(result.tags), "tag"), columns, rows)
    if len(shown) < len(result.tags) and not quiet:
        print_line(f"… and {counted(len(result.tags) - len(shown), 'more tag')}; -v lists all")


def _print_more(result: "ModelEvaluation") -> None:
    """Print what more labels and the feature groups bring, as far as it was measured."""
    if result.curve:
        points = [(f"{item.n_labels:.0f}", _between(item.map, item.low, item.high)) for item in result.curve]
        over = "mean average precision" + (", all tags" if len(result.mean_figures()) > 1 else "")
        print_table("With fewer labels", ("labelled photos", over), points)
    if result.forecast is not None:
        ahead = result.forecast
        print_line(
            f"{counted(ahead.n_more, 'more labelled photo')} would bring about {ahead.gain:+.3f} "
            f"({ahead.low:+.3f} to {ahead.high:+.3f})"
        )
    if result.groups:
        rows = [
            (item.name, _between(item.gain, item.low, item.high, sign="+"), f"{item.without:.3f}", f"{item.alone:.3f}")
            for item in result.groups
        ]
        print_table("Feature groups", ("group", "lost without it", "without it", "alone"), rows)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _between(value: float | None, low: float | None, high: float | None, *, sign: str = "") -> str:
    """Return a figure with its interval."""
    if value is None:
        return "–"
    shown = format(value, f"{sign}.3f")
    return shown if low is None or high is None else f"{shown} ({low:{sign}.3f} to {high:{sign}.3f})"
