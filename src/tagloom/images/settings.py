"""What every decode worker of a pool is told once, when it starts."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tagloom.exceptions import InvalidInputError
from tagloom.images.renditions import WORKING_SIDE, Rendition, check_side

__all__ = [
    "DEFAULT_MAX_PIXELS",
    "DEFAULT_MEMORY_LIMIT",
    "LARGEST_EXIF",
    "LARGEST_SOUND",
    "MOST_KEYFRAMES",
    "RESERVED_MEMORY",
    "SOUND_RATE",
    "DecodeSettings",
]

DEFAULT_MEMORY_LIMIT = 2 << 30
DEFAULT_MAX_PIXELS = 500_000_000
RESERVED_MEMORY = 256 << 20
"""Bytes of a worker's memory limit that are not for the photo: interpreter, libraries, renditions."""
LARGEST_EXIF = 1 << 20
LARGEST_THUMBNAIL = 4 << 20
LARGEST_WORKING_SIDE = 4096
MOST_KEYFRAMES = 40
"""Key frames of a clip, however long it is."""
SOUND_RATE = 16_000
"""Samples a second of a clip's sound: 16-bit numbers, one channel."""
LARGEST_SOUND = 2 * SOUND_RATE * 600
LARGEST_FRAME_THUMBNAIL = 1 << 17


@dataclass(frozen=True, slots=True)
class DecodeSettings:
    """Renditions and limits of a pool.

    Parameters
    ----------
    renditions : tuple of Rendition
        What to make of each photo; names are distinct.
    thumbnail_size : int or None
        Longer side of the thumbnail; None makes none.
    deadline : float
        Seconds a file may take.
    memory_limit : int
        Bytes of address space of a worker.
    max_pixels : int
        Photos whose header says more are refused.
    working_side : int
        The shorter side down to which a large photo may be shrunk while it is decoded.
    """

    renditions: tuple[Rendition, ...]
    thumbnail_size: int | None
    deadline: float
    memory_limit: int
    max_pixels: int
    working_side: int = WORKING_SIDE

    def __post_init__(self) -> None:
        names = [rendition.name for rendition in self.renditions]
        if len(set(names)) != len(names):
            raise InvalidInputError(f"renditions need distinct names, got {names}")
        if self.thumbnail_size is not None:
            check_side(self.thumbnail_size, what="thumbnail_size", most=self.working_side)
        if not WORKING_SIDE <= self.working_side <= LARGEST_WORKING_SIDE:
            raise InvalidInputError(
                f"working_side must lie between {WORKING_SIDE} and {LARGEST_WORKING_SIDE} pixels, got "
                f"{self.working_side!r}"
            )
        if not 0 < self.deadline <= 86_400:
            raise InvalidInputError(f"deadline must be seconds above 0 and at most a day, got {self.deadline!r}")
        if self.memory_limit < 2 * RESERVED_MEMORY:
            raise InvalidInputError(
                f"memory_limit must be at least {2 * RESERVED_MEMORY} bytes ({2 * RESERVED_MEMORY >> 20} MiB), "
                f"got {self.memory_limit!r}"
            )
        if self.max_pixels < 1:
            raise InvalidInputError(f"max_pixels must be at least 1, got {self.max_pixels!r}")

    @property
    def longest_file(self) -> int:
        """Bytes of the largest file that is read for decoding."""
        return self.memory_limit // 4

    @property
    def longest_reply(self) -> int:
        """Bytes of the largest reply a worker can honestly send."""
        pixels = sum(3 * math.prod(rendition.bounds) for rendition in self.renditions)
        clip = MOST_KEYFRAMES * (pixels + LARGEST_FRAME_THUMBNAIL) + LARGEST_SOUND
        return pixels + LARGEST_EXIF + LARGEST_THUMBNAIL + clip

    def as_json(self) -> dict[str, Any]:
        """Return the settings as something JSON can say."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "DecodeSettings":
        """Make settings from what `as_json` gave."""
        renditions: Sequence[dict[str, Any]] = values["renditions"]
        return cls(**{**values, "renditions": tuple(Rendition(**each) for each in renditions)})
