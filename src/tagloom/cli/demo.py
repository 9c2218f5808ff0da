"""``tagloom demo``: the main job on made-up photos."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer

from tagloom.cli.console import RichProgress
from tagloom.cli.shared import Json, Method, Quiet

__all__ = ["demo"]


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for photos and results; made if needed.")] = Path(
        "tagloom-demo"
    ),
    photos: Annotated[
        int | None,
        typer.Option("--photos", min=20, max=100_000, help="How many photos to make; default: 600, 200 with videos."),
    ] = None,
    labeled: Annotated[
        float | None,
        typer.Option(
            "--labeled", min=0.001, max=0.9, help="Share of photos that are labelled; default: 0.05, 0.3 with videos."
        ),
    ] = None,
    video: Annotated[
        bool, typer.Option("--video", help="Make 80 short videos beside the photos; some tags are only heard.")
    ] = False,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Another seed makes other photos.")] = 0,
    method: Method = None,
    review: Annotated[
        bool, typer.Option("--review", help="Open the review page on these photos; they are deleted when it ends.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port of the review page; 0 picks a free one.")
    ] = 0,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Only print the address of the page.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make photos of made-up scenes, tag a few, and let tagloom tag the rest.

    It ends with the mean average precision against the hidden truth, and the path of the report.

    Example: tagloom demo --photos 200 --out try
    Example: tagloom demo --video
    """
    options: dict[str, Any] = {
        "n_photos": photos if photos is not None else 200 if video else 600,
        "labeled": labeled if labeled is not None else 0.3 if video else 0.05,
        "n_videos": 80 if video else 0,
        "random_state": seed,
    }
    if review:
        _review(options | {"flags": {"method": method}}, port=port, browser=not no_browser, quiet=quiet)
        return
    from tagloom.cli.summary import show_result
    from tagloom.jobs.demo import demo as run
    from tagloom.settings import load_settings

    settings = load_settings({"method": method}, os.environ)
    with RichProgress(quiet=quiet) as progress:
        result = run(out, settings, progress=progress, **options)
    show_result(result, as_json)


def _review(options: dict[str, Any], *, port: int, browser: bool, quiet: bool) -> None:
    """Review made-up photos in a project that is gone afterwards."""
    import tempfile

    from tagloom.cli.review import serve_project
    from tagloom.jobs import demo_project

    with tempfile.TemporaryDirectory(prefix="tagloom-demo-") as folder:
        with RichProgress(quiet=quiet) as progress:
            project = demo_project(folder, progress=progress, **options)
        with project:
            serve_project(project, port=port, browser=browser)
