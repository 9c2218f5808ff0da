"""``tagloom extract``: features of a folder of photos, for other programs."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.options import EncoderOption, GroupsOption, OutFolder, Quiet, RetryOption, ThreadsOption, WorkersOption

__all__ = ["extract"]


def extract(
    photos: Annotated[Path, typer.Argument(help="Folder of photos, subfolders included. They are only read.")],
    out: OutFolder,
    groups: GroupsOption = None,
    encoder: EncoderOption = None,
    workers: WorkersOption = None,
    threads: ThreadsOption = None,
    retry: RetryOption = False,
    quiet: Quiet = False,
) -> None:
    """Compute features of all photos of a folder, and write them as one array.

    Example: tagloom extract ~/Pictures --out features --groups deep,color,gist

    Writes features.npy (one row per photo), photos.csv (which row is which photo, and why a file has none) and
    groups.json (which columns are what) to the output folder. Interrupt it at any time: run again, it goes on where it
    was.
    """
    from tagloom.cli.console import RichProgress
    from tagloom.cli.summary import print_extraction
    from tagloom.workflow.extract import extract_folder
    from tagloom.workflow.settings import PROJECT_FILE_NAME, load_settings

    flags = {"descriptors": groups, "encoder": encoder, "n_workers": workers, "n_threads": threads}
    settings = load_settings(flags, os.environ, out / PROJECT_FILE_NAME)
    print_extraction(extract_folder(photos, out, settings, retry=retry, progress=RichProgress(quiet=quiet)))
