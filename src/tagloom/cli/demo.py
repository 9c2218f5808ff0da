"""``tagloom demo``: the main job on made-up photos."""

import os
from pathlib import Path
from typing import Annotated

import typer

from tagloom.cli.options import Method, Quiet

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for photos and results; made if needed.")] = Path(
        "tagloom-demo"
    ),
    photos: Annotated[int, typer.Option("--photos", min=20, max=100_000, help="How many photos to make.")] = 600,
    labeled: Annotated[float, typer.Option("--labeled", min=0.001, max=0.9, help="Share that is labelled.")] = 0.05,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Other seeds make other photos.")] = 0,
    method: Method = None,
    quiet: Quiet = False,
) -> None:
    """Make photos of made-up scenes, tag a few, and let tagloom tag the rest.

    Ends with the mean average precision against the hidden truth and the path of the report.
    """
    from tagloom.cli.console import RichProgress
    from tagloom.cli.summary import print_summary
    from tagloom.workflow.demo import demo as run
    from tagloom.workflow.settings import load_settings

    settings = load_settings({"method": method}, os.environ)
    with RichProgress(quiet=quiet) as progress:
        result = run(out, settings, n_photos=photos, labeled=labeled, random_state=seed, progress=progress)
    print_summary(result)
