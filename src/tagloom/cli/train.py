"""``tagloom train``: learn from what was decided."""

from typing import TYPE_CHECKING

from tagloom.cli.options import (
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
)

if TYPE_CHECKING:
    from tagloom.learning import TrainResult

__all__ = ["train"]


def train(
    method: Method = None,
    parameters: SetOption = None,
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
    """Train a model on all your labels, and compute suggestions for every photo.

    Missing features are computed first. The old suggestions stay until the new ones replace them in one step.

    Example: tagloom train
    """
    from tagloom.cli.console import RichProgress, print_json
    from tagloom.cli.projects import logged, opened

    flags = {
        "method": method,
        "method_parameters": parameters,
        "n_neighbors": neighbors,
        "descriptors": groups,
        "encoder": encoder,
        "n_workers": workers,
        "n_threads": threads,
    }
    with opened(project, flags, verbose=verbose) as found, logged(found), RichProgress(quiet=quiet) as progress:
        result = found.train(progress=progress)
        if as_json:
            print_json(result.as_dict())
        else:
            _print(result, verbose)


def _print(result: "TrainResult", verbose: bool) -> None:
    from tagloom.cli.console import print_line, print_table
    from tagloom.cli.projects import shown
    from tagloom.learning import n_missing, not_calibrated

    rows = [
        ("photos with features", f"{result.n_photos}"),
        ("of these labelled", f"{result.n_labeled}"),
        ("photos without features", f"{result.n_without_features}"),
        ("tags", f"{result.n_tags}"),
        ("accepted, rejected", f"{result.n_yes}, {result.n_no}"),
        ("method", result.method),
        ("time", f"{result.seconds:.1f} s"),
    ]
    if verbose:
        if result.fit_map is not None:
            rows.append(("average precision on the photos it learned from", f"{result.fit_map:.3f}"))
        rows += [(f"group {name}", f"{size} columns") for name, size in result.groups.items()]
    print_table(f"Model {result.model}", ("", ""), rows)
    if result.interrupted:
        print_line("Interrupted: this is the best model found so far. To search on, run: tagloom train")
    elif result.untried:
        print_line(
            f"there was no time for {len(result.untried)} of the ways to learn that are compared (train --json names "
            f"them): the setting budget_seconds gives more"
        )
    if result.kind != "probability":
        print_line(f"Scores are {not_calibrated(n_missing(result.n_labeled, result.n_yes))}.")
    if result.without_examples:
        print_line(f"Never suggested, because no photo has them: {shown(result.without_examples)}")
