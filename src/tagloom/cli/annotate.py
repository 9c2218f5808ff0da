"""``tagloom annotate``: keywords for a folder of photos."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.console import RichProgress
from tagloom.cli.first import VocabularyOption
from tagloom.cli.shared import (
    AbsentMeans,
    EncoderOption,
    GroupsOption,
    Json,
    Method,
    NeighborsOption,
    OutFolder,
    Quiet,
    RetryOption,
    SetOption,
    ThreadsOption,
    WorkersOption,
)

__all__ = ["annotate"]


def annotate(
    photos: Annotated[Path, typer.Argument(help="Folder of photos, subfolders included. They are only read.")],
    out: OutFolder,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", help="CSV file with the columns file,tags (tags split by ;). Default: names alone."),
    ] = None,
    vocabulary: VocabularyOption = None,
    method: Method = None,
    parameters: SetOption = None,
    keywords: Annotated[int | None, typer.Option("--keywords", help="Suggestions per photo; 0 means all tags.")] = None,
    absent_means: AbsentMeans = None,
    separator: Annotated[
        str | None,
        typer.Option("--separator", metavar="TEXT", help="Another separator between tags, besides ;."),
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option("--truth", help="Labels file with the true tags, to measure the suggestions against."),
    ] = None,
    evaluate: Annotated[
        bool,
        typer.Option("--evaluate", help="Measure on the labels how good the suggestions are. Takes longer."),
    ] = False,
    neighbors: NeighborsOption = None,
    groups: GroupsOption = None,
    encoder: EncoderOption = None,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    retry: RetryOption = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace results that you changed, or files of other programs.")
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn from a labels file, and suggest keywords for every other photo in the folder.

    Without --labels tags are suggested by their names, those of --vocabulary or everyday words; none is marked.

    Example: tagloom annotate ~/Pictures --labels labels.csv --out results

    Writes keywords.csv (file, tag, score, rank, suggested), scores.npz and report.html. Files that you changed since
    the last run stay as they are. You can interrupt it at any time: the next run continues.
    """
    from tagloom.cli.summary import show_result
    from tagloom.jobs.annotate import annotate as run
    from tagloom.learning import read_vocabulary
    from tagloom.settings import PROJECT_FILE_NAME, load_settings

    flags = {
        "method": method,
        "method_parameters": parameters,
        "n_keywords": keywords,
        "absent_means": absent_means,
        "n_neighbors": neighbors,
        "descriptors": groups,
        "encoder": encoder,
        "n_workers": workers,
        "n_threads": threads,
    }
    settings = load_settings(flags, os.environ, out / PROJECT_FILE_NAME)
    with RichProgress(quiet=quiet) as progress:
        result = run(
            photos,
            labels,
            out,
            settings,
            vocabulary=None if vocabulary is None else read_vocabulary(vocabulary),
            truth=truth,
            separator=separator,
            evaluate=evaluate,
            retry=retry,
            overwrite=overwrite,
            progress=progress,
        )
    show_result(result, as_json)
