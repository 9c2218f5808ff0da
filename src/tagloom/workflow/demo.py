"""The main job on made-up photos whose truth is known."""

import os
from pathlib import Path

from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.datasets import write_scenes
from tagloom.workflow.annotate import annotate
from tagloom.workflow.results import AnnotateResult
from tagloom.workflow.settings import Settings

__all__ = ["demo"]


def demo(
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    n_photos: int = 600,
    labeled: float = 0.05,
    random_state: int = 0,
    progress: Progress = NO_PROGRESS,
) -> AnnotateResult:
    """Make scenes, annotate them from a few labels, and compare with the truth.

    Parameters
    ----------
    out : path
        Folder for the photos and the results; made if needed.
    settings : Settings, optional
        As for `annotate`.
    n_photos : int, default=600
        How many photos to make.
    labeled : float, default=0.05
        Share of the photos whose tags the learner is told.
    random_state : int, default=0
        Other seeds make other photos.
    progress : Progress, optional
        Told how far the work is.
    """
    photos = Path(out) / "photos"
    photos.parent.mkdir(parents=True, exist_ok=True)
    write_scenes(photos, n_photos=n_photos, labeled=labeled, random_state=random_state, progress=progress)
    return annotate(photos, photos / "labels.csv", out, settings, truth=photos / "truth.csv", progress=progress)
