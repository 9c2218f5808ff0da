"""``tagloom train`` and ``tagloom update``: learn from all that was decided, or quickly from the latest of it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tagloom.cli.console import RichProgress, counted, print_json, print_line, print_table, working
from tagloom.cli.shared import (
    N_SHOWN,
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
    shown,
)

if TYPE_CHECKING:
    from tagloom.learning import TrainResult, UpdateResult

__all__ = ["train", "update"]


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
            f"Skipped {counted(len(result.untried), 'candidate')} for lack of time (train --json names them). "
            "To try more, raise the setting budget_seconds"
        )
    if result.kind != "probability":
        print_line(f"Scores are {not_calibrated(n_missing(result.n_labeled, result.n_yes))}.")
    if result.without_examples:
        print_line(f"Never suggested, because no photo has them: {shown(result.without_examples)}")


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
    flags = {"n_threads": threads}
    with opened(project, flags, verbose=verbose) as found, logged(found), working("learning", quiet=quiet):
        result = found.update()
        names = found.store.tags.texts(result.tag_ids)
    if as_json:
        print_json(result.as_dict() | {"tags": names})
    elif names:
        _print_update(result, names, verbose)
    elif not quiet:
        print_line("Nothing new to learn: no decisions since the last training or update")


def _print_update(result: "UpdateResult", names: Sequence[str], verbose: bool) -> None:

    rows = [
        ("tags updated", f"{len(names)}"),
        ("suggestions carry", "probabilities" if result.kind == "probability" else "scores"),
        ("time", f"{result.seconds:.2f} s"),
    ]
    title = "Not stored: another model was trained meanwhile" if result.model is None else f"Model {result.model}"
    print_table(title, ("", ""), rows)
    print_line(f"updated: {shown(names, len(names) if verbose else N_SHOWN)}")
