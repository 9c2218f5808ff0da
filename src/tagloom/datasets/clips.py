"""Made-up clips with known tags: scenes that move, with sounds that were synthesised."""

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import (
    NO_PROGRESS,
    TEMPORARY_MARK,
    Floats,
    LabelMatrix,
    Progress,
    TagVocabulary,
    check_generator,
    decode_labels,
    label_budget,
    labeled_rows,
    write_text,
)
from tagloom.datasets._clip_file import write_clip
from tagloom.datasets._clip_sound import SOUND_TAGS, make_sound
from tagloom.datasets._scene_painter import paint_scene
from tagloom.datasets._scene_plan import SCENE_TAGS, ScenePlan, plan_scene
from tagloom.datasets.scenes import LABELS_FILE, TRUTH_FILE, Scenes, make_scenes
from tagloom.exceptions import InvalidInputError, WriteError

__all__ = ["Clips", "make_clips", "write_clips"]

RATE = 12
MARGIN = 1.3  # the painting is this much larger than the frame that wanders over it
#: Sounds that have nothing to do with the picture, and their chances.
ONLY_HEARD = {"music": 0.3, "crowd": 0.25, "engine": 0.25, "speech": 0.25}
SECOND_SHOT, WITHOUT_SOUND = 0.35, 0.08
_SECOND = 1_000_003  # what is added to the index of a clip to plan its second shot
_SOUND_STREAM, _CAMERA_STREAM, _FORM_STREAM = 101, 102, 103


@dataclass(frozen=True)
class Shot:
    """What a clip shows from one moment to another.

    Parameters
    ----------
    begin, end : float
        Seconds.
    plan : ScenePlan
        The scene.
    index : int
        Of the painting.
    """

    begin: float
    end: float
    plan: ScenePlan
    index: int


@dataclass(frozen=True)
class Clips:
    """A set of made-up clips; frames and sounds are made when they are asked for.

    Parameters
    ----------
    names : tuple of str
        File names.
    tags : TagVocabulary
        The columns of ``Y``: those of `make_scenes` are seen, the others are heard.
    Y : label matrix of shape (n, c)
        What each clip shows or lets hear, complete.
    size : (int, int)
        Width and height.
    seconds : float
        How long each is.
    seed : int
        Where all random numbers come from.
    shots : tuple of tuple of Shot
        The one or two shots of each clip.
    """

    names: tuple[str, ...]
    tags: TagVocabulary
    Y: LabelMatrix
    size: tuple[int, int]
    seconds: float
    seed: int
    shots: tuple[tuple[Shot, ...], ...]

    def __len__(self) -> int:
        return len(self.names)

    def frames(self, index: int) -> Iterator[NDArray[np.uint8]]:
        """Yield the frames of clip ``index``: a window that wanders over a painting."""
        width, height = self.size
        random = np.random.Generator(np.random.PCG64([self.seed, index, _CAMERA_STREAM]))
        for shot in self.shots[index]:
            large = (_even(width * MARGIN), _even(height * MARGIN))
            painting = paint_scene(shot.plan, self.seed, shot.index, large)
            room = (painting.shape[1] - width, painting.shape[0] - height)
            path = random.random((2, 2)) * room
            n = round((shot.end - shot.begin) * RATE)
            for step in range(n):
                share = 0.5 - 0.5 * np.cos(np.pi * step / max(n - 1, 1))
                left, top = np.rint(path[0] + share * (path[1] - path[0])).astype(int)
                yield painting[top : top + height, left : left + width]

    def sound(self, index: int) -> Floats | None:
        """Return the sound of clip ``index`` at 16,000 samples a second; None where it has no sound track."""
        random = np.random.Generator(np.random.PCG64([self.seed, index, _SOUND_STREAM]))
        if random.random() < WITHOUT_SOUND and not self._heard(index):
            return None
        return make_sound(self._heard(index), self.seconds, random)

    def write(self, index: int, path: str | os.PathLike[str], **options: Any) -> None:
        """Encode clip ``index`` into a file; options are those of the encoder, H.264 and AAC unless they say more."""
        write_clip(path, self.frames(index), rate=RATE, sound=self.sound(index), **options)

    def _heard(self, index: int) -> set[str]:
        return {tag for tag, value in zip(self.tags, self.Y[index], strict=True) if value == 1 and tag in SOUND_TAGS}


def make_clips(
    n_clips: int = 60, *, size: tuple[int, int] = (240, 160), seconds: float = 4.0, random_state: Any = 0
) -> Clips:
    """Make up clips of the scenes of `make_scenes`, with the 23 tags that are seen and six that are heard.

    Music, crowd, engine and speech are in the sound alone. Waves are heard at the sea, birdsong where there are trees
    or grass by day, not always. One clip in three has two shots, the second of another place; one in twelve of those
    in which nothing is to be heard has no sound track.

    Parameters
    ----------
    n_clips : int, default=60
        How many, at least 1.
    size : (int, int), default=(240, 160)
        Width and height, even numbers from 32 to 4,096.
    seconds : float, default=4
        How long each is, 1 to 600.
    random_state : int, Generator or None, default=0
        The seed of the set.

    Returns
    -------
    Clips

    Examples
    --------
    >>> clips = make_clips(3, random_state=0)
    >>> clips.Y.shape
    (3, 29)
    """
    if n_clips < 1:
        raise InvalidInputError(f"n_clips must be at least 1, got {n_clips!r}")
    if any(not 32 <= side <= 4_096 or side % 2 for side in size):
        raise InvalidInputError(f"size must be two even numbers from 32 to 4096, got {size!r}")
    if not 1 <= seconds <= 600:
        raise InvalidInputError(f"seconds must be 1 to 600, got {seconds!r}")
    seed = int(check_generator(random_state).integers(2**31))
    shots = tuple(_shots(seed, index, float(seconds)) for index in range(n_clips))
    names = tuple(f"clip_{index:05d}.mp4" for index in range(n_clips))
    vocabulary = (*SCENE_TAGS, *SOUND_TAGS)
    tagged = [_tags(seed, index, each) for index, each in enumerate(shots)]
    Y = np.array([[tag in tags for tag in vocabulary] for tags in tagged], dtype=np.int8)
    return Clips(names, TagVocabulary(vocabulary), Y, (int(size[0]), int(size[1])), float(seconds), seed, shots)


def _shots(seed: int, index: int, seconds: float) -> tuple[Shot, ...]:
    random = np.random.Generator(np.random.PCG64([seed, index, _FORM_STREAM]))
    first = _level(plan_scene(seed, index))
    if random.random() >= SECOND_SHOT:
        return (Shot(0.0, seconds, first, index),)
    cut = round(seconds * random.uniform(0.4, 0.65) * RATE) / RATE
    second = _level(plan_scene(seed, index + _SECOND))
    return Shot(0.0, cut, first, index), Shot(cut, seconds, second, index + _SECOND)


def _level(plan: ScenePlan) -> ScenePlan:
    """Return a plan as a landscape: the frames of a clip have one size."""
    return replace(plan, portrait=False)


def _tags(seed: int, index: int, shots: tuple[Shot, ...]) -> set[str]:
    random = np.random.Generator(np.random.PCG64([seed, index, _FORM_STREAM, 1]))
    seen = set().union(*(shot.plan.tags for shot in shots))
    heard = {tag for tag, chance in ONLY_HEARD.items() if random.random() < chance}
    if "sea" in seen and random.random() < 0.9:
        heard.add("waves")
    if seen & {"forest", "tree", "grass"} and "night" not in seen and random.random() < 0.5:
        heard.add("birdsong")
    return seen | heard


def _even(value: float) -> int:
    return int(value) // 2 * 2


def write_clips(
    folder: str | os.PathLike[str],
    n_clips: int = 60,
    n_photos: int = 0,
    *,
    size: tuple[int, int] = (240, 160),
    seconds: float = 4.0,
    labeled: float | int = 0.2,
    random_state: Any = 0,
    progress: Progress = NO_PROGRESS,
) -> tuple[Clips, Scenes | None]:
    """Write made-up clips, and photos beside them, with labels for a few of them.

    The folder gets ``labels.csv`` and ``truth.csv`` as `write_scenes` makes them. Files that are there stay as they
    are.

    Parameters
    ----------
    folder : path
        Made if needed.
    n_clips, size, seconds, random_state
        See `make_clips`.
    n_photos : int, default=0
        Photos of `make_scenes` to write beside the clips.
    labeled : float or int, default=0.2
        Share or number of them in ``labels.csv``; every tag is covered as far as that goes.
    progress : Progress, optional
        Told about every file.

    Returns
    -------
    Clips
        The clips.
    Scenes or None
        The photos.
    """
    clips = make_clips(n_clips, size=size, seconds=seconds, random_state=random_state)
    scenes = make_scenes(n_photos, size=size, random_state=clips.seed) if n_photos else None
    target = Path(folder)
    names, Y = list(clips.names), clips.Y
    if scenes is not None:
        silent = np.zeros((len(scenes), len(SOUND_TAGS)), dtype=np.int8)
        names, Y = [*scenes.names, *names], np.vstack([np.hstack([scenes.Y, silent]), Y])
    partial = label_budget(Y, labeled, random_state=clips.seed)
    try:
        target.mkdir(parents=True, exist_ok=True)
        for file, rows in ((TRUTH_FILE, np.arange(len(Y))), (LABELS_FILE, np.flatnonzero(labeled_rows(partial)))):
            if not (target / file).exists():
                write_text(target / file, _labels_text(names, Y, clips.tags, rows))
        progress.start("writing photos and videos", len(names))
        for index, name in enumerate(scenes.names if scenes is not None else ()):
            if scenes is not None and not (target / name).exists():
                (target / name).write_bytes(scenes.encode(index))
            progress.advance()
        for index, name in enumerate(clips.names):
            if not (target / name).exists():
                temporary = target / f"{name}{TEMPORARY_MARK}{os.getpid()}"
                clips.write(index, temporary, container="mp4")
                os.replace(temporary, target / name)
            progress.advance()
    except OSError as error:
        raise WriteError(
            error.errno or 0,
            f"could not write the videos ({error.strerror}); free some space, then repeat",
            str(target),
        ) from error
    progress.finish()
    return clips, scenes


def _labels_text(names: list[str], Y: LabelMatrix, tags: TagVocabulary, rows: NDArray[np.intp]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["file", "tags"])
    words = decode_labels(Y[rows], tags)
    writer.writerows([names[row], ";".join(each)] for row, each in zip(rows.tolist(), words, strict=True))
    return buffer.getvalue()
