"""The main job on made-up photos whose truth is known."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tagloom.core import NO_PROGRESS, Progress
from tagloom.datasets import write_clips, write_scenes
from tagloom.jobs.annotate import AnnotateResult, annotate
from tagloom.project import Project
from tagloom.settings import Settings

__all__ = ["demo", "demo_project"]


def demo(
    out: str | os.PathLike[str],
    settings: Settings | None = None,
    *,
    n_photos: int = 600,
    labeled: float = 0.05,
    n_videos: int = 0,
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
    n_videos : int, default=0
        How many videos to make beside them, with tags that are only heard; needs the extra "video".
    random_state : int, default=0
        Other seeds make other photos.
    progress : Progress, optional
        Told how far the work is.
    """
    photos = Path(out) / "photos"
    photos.parent.mkdir(parents=True, exist_ok=True)
    _write(photos, n_photos, n_videos, labeled, random_state, progress)
    return annotate(photos, photos / "labels.csv", out, settings, truth=photos / "truth.csv", progress=progress)


def demo_project(
    out: str | os.PathLike[str],
    *,
    n_photos: int = 600,
    labeled: float = 0.05,
    n_videos: int = 0,
    random_state: int = 0,
    flags: Mapping[str, Any] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Project:
    """Make scenes and a project of them that has learned from a few labels: something to review.

    Parameters
    ----------
    out : path
        Folder for the photos; made if needed.
    n_photos, labeled, n_videos, random_state
        As for `demo`.
    flags : mapping, optional
        Settings that win over others.
    progress : Progress, optional
        Told how far the work is.

    Returns
    -------
    Project
        Open; the caller closes it.
    """
    photos = Path(out) / "photos"
    photos.parent.mkdir(parents=True, exist_ok=True)
    _write(photos, n_photos, n_videos, labeled, random_state, progress)
    project = Project.init(photos, flags=flags)
    try:
        project.scan(progress=progress)
        project.import_keywords(photos / "labels.csv", who="demo")
        project.train(progress=progress)
    except BaseException:
        project.close()
        raise
    return project


def _write(folder: Path, n_photos: int, n_videos: int, labeled: float, random_state: int, progress: Progress) -> None:
    if n_videos:
        write_clips(folder, n_videos, n_photos, labeled=labeled, random_state=random_state, progress=progress)
    else:
        write_scenes(folder, n_photos=n_photos, labeled=labeled, random_state=random_state, progress=progress)
