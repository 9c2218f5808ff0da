"""Made-up photos with known tags, for demos, tests and benchmarks without anyone's pictures."""

import contextlib
import csv
import io
import json
import numbers
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tagloom.core import (
    NO_PROGRESS,
    TEMPORARY_MARK,
    LabelMatrix,
    Progress,
    TagVocabulary,
    check_generator,
    decode_labels,
    label_budget,
    labeled_rows,
    write_text,
)
from tagloom.datasets._scene_painter import paint_scene
from tagloom.datasets._scene_plan import SCENE_TAGS, ScenePlan, plan_scene
from tagloom.exceptions import InvalidInputError, WriteError

__all__ = ["Scenes", "make_scenes", "write_scenes"]

LABELS_FILE = "labels.csv"
TRUTH_FILE = "truth.csv"
_RECORD_FILE = "scenes.json"
_FORMAT = 1
_SMALLEST_SIDE, _LARGEST_SIDE = 32, 4096


@dataclass(frozen=True)
class Scenes:
    """A set of made-up photos; pixels are painted when they are asked for.

    Parameters
    ----------
    names : tuple of str
        File names.
    tags : TagVocabulary
        The columns of ``Y``.
    Y : label matrix of shape (n, c)
        What each photo shows, complete.
    size : (int, int)
        Width and height of a landscape photo; about one in five is a portrait, with the two exchanged.
    seed : int
        Where all random numbers come from.
    plans : tuple of ScenePlan
        The decisions behind each photo.
    """

    names: tuple[str, ...]
    tags: TagVocabulary
    Y: LabelMatrix
    size: tuple[int, int]
    seed: int
    plans: tuple[ScenePlan, ...]

    def __len__(self) -> int:
        return len(self.names)

    def pixels(self, index: int) -> NDArray[np.uint8]:
        """Paint photo ``index`` as an array of shape (height, width, 3)."""
        return paint_scene(self.plans[index], self.seed, range(len(self))[index], self.size)

    def render(self, index: int) -> Image.Image:
        """Paint photo ``index`` as a Pillow image."""
        return Image.fromarray(self.pixels(index))

    def encode(self, index: int) -> bytes:
        """Paint photo ``index`` and return it as a JPEG; the quality varies from photo to photo."""
        buffer = io.BytesIO()
        self.render(index).save(buffer, format="JPEG", quality=self.plans[index].quality)
        return buffer.getvalue()


def make_scenes(n_photos: int = 600, *, size: tuple[int, int] = (240, 160), random_state: Any = 0) -> Scenes:
    """Make up photos of coasts, mountains, meadows, woods, villages, towns and flowers with 23 tags.

    Tags come from common (sky, on nearly nine of ten) to rare (fog, on one of sixteen) and occur together as places,
    seasons and weather have it.
    The same seed gives the same pixels on every machine, and photo i does not depend on how many there are.

    Parameters
    ----------
    n_photos : int, default=600
        How many, at least 1.
    size : (int, int), default=(240, 160)
        Width and height of a landscape photo, 32 to 4,096 pixels each.
    random_state : int, Generator or None, default=0
        The seed of the set.

    Returns
    -------
    Scenes

    Notes
    -----
    The set is meant to be neither trivial nor hopeless: colour tells night and sunset at once, sea and grass often,
    cars and birds hardly. The figures are in ``docs/reference/datasets.md``.

    Examples
    --------
    >>> scenes = make_scenes(3, random_state=0)
    >>> scenes.Y.shape
    (3, 23)
    """
    if not isinstance(n_photos, numbers.Integral) or n_photos < 1:
        raise InvalidInputError(f"n_photos must be an integer of at least 1, got {n_photos!r}")
    checked_size = _check_size(size)
    seed = int(check_generator(random_state).integers(2**62))
    plans = tuple(plan_scene(seed, index) for index in range(int(n_photos)))
    Y = np.array([[tag in plan.tags for tag in SCENE_TAGS] for plan in plans], dtype=np.int8)
    names = tuple(f"scene_{index:05d}.jpg" for index in range(int(n_photos)))
    return Scenes(names, TagVocabulary(SCENE_TAGS), Y, checked_size, seed, plans)


def write_scenes(
    folder: str | os.PathLike[str],
    n_photos: int = 600,
    *,
    size: tuple[int, int] = (240, 160),
    labeled: float | int = 0.05,
    random_state: Any = 0,
    progress: Progress = NO_PROGRESS,
) -> Scenes:
    """Write made-up photos as JPEG files, with labels for a few of them.

    Beside the photos the folder gets ``labels.csv`` (columns file and tags, tags joined by ``;``) with the labelled
    share, ``truth.csv`` with all photos, and ``scenes.json`` with the settings. When the same call is repeated, the
    photos that are missing are written and everything that is there, edited labels included, stays as it is.

    Parameters
    ----------
    folder : path
        A new or empty folder, or one that the same call began to fill.
    n_photos, size, random_state
        See `make_scenes`.
    labeled : float or int, default=0.05
        Share or number of the photos in ``labels.csv``; every tag is covered as far as that goes.
    progress : Progress, optional
        Told about every photo.

    Returns
    -------
    Scenes
        What was written.

    Raises
    ------
    InvalidInputError
        If the folder holds anything else, or scenes with other settings.
    WriteError
        If the system refuses; repeat the call to go on.
    """
    scenes = make_scenes(n_photos, size=size, random_state=random_state)
    partial = label_budget(scenes.Y, labeled, random_state=scenes.seed)
    target = Path(folder)
    settings = {
        "format": _FORMAT,
        "n_photos": len(scenes),
        "size": list(scenes.size),
        "n_labeled": int(labeled_rows(partial).sum()),
        "seed": scenes.seed,
    }
    _claim_folder(target, settings)
    for name, rows in ((TRUTH_FILE, np.arange(len(scenes))), (LABELS_FILE, np.flatnonzero(labeled_rows(partial)))):
        if not (target / name).exists():
            write_text(target / name, _labels_text(scenes, rows))
    progress.start("writing photos", len(scenes))
    for index, name in enumerate(scenes.names):
        if not (target / name).exists():
            _write_photo(target / name, scenes.encode(index))
        progress.advance()
    progress.finish()
    return scenes


def _check_size(size: Any) -> tuple[int, int]:
    if (
        not isinstance(size, Sequence)
        or len(size) != 2
        or not all(isinstance(n, int) and _SMALLEST_SIDE <= n <= _LARGEST_SIDE for n in size)
    ):
        raise InvalidInputError(
            f"size must be (width, height) in pixels, {_SMALLEST_SIDE} to {_LARGEST_SIDE} each, got {size!r}"
        )
    return int(size[0]), int(size[1])


def _claim_folder(folder: Path, settings: dict[str, Any]) -> None:
    """Make the folder, or see that it is empty or ours with the same settings."""
    record = folder / _RECORD_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        found = sorted(entry.name for entry in os.scandir(folder) if TEMPORARY_MARK not in entry.name)
    except OSError as error:
        raise WriteError(
            error.errno or 0, f"cannot write to the folder ({error.strerror}); choose another one", str(folder)
        ) from error
    if not found:
        write_text(record, json.dumps(settings, indent=2) + "\n")
        return
    if _RECORD_FILE not in found:
        raise InvalidInputError(
            f"expected a new or empty folder for the scenes, but {str(folder)!r} holds {len(found)} other file(s), "
            f"{found[0]!r} among them; choose another folder"
        )
    if _read_settings(record) != settings:
        raise InvalidInputError(
            f"{str(folder)!r} holds scenes made with other settings (see {_RECORD_FILE} there); choose another folder, "
            f"or delete this one first"
        )


def _read_settings(record: Path) -> Any:
    with contextlib.suppress(OSError, ValueError):
        return json.loads(record.read_text(encoding="utf-8"))
    return None


def _write_photo(path: Path, data: bytes) -> None:
    # Renamed when complete, so that a photo that exists is whole; not synced, because it can be painted again.
    temporary = path.with_name(f"{path.name}{TEMPORARY_MARK}{os.getpid()}")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise WriteError(
            error.errno or 0,
            f"could not write {path.name!r} ({error.strerror}); free some space, then repeat the same call to go on",
            str(path),
        ) from error


def _labels_text(scenes: Scenes, rows: NDArray[np.intp]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["file", "tags"])
    tags = decode_labels(scenes.Y[rows], scenes.tags)
    writer.writerows([scenes.names[row], ";".join(words)] for row, words in zip(rows.tolist(), tags, strict=True))
    return buffer.getvalue()
