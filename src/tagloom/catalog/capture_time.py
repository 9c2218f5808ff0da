"""When photos were taken, read while they are decoded and kept like a feature, by content."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.features import BaseDescriptor
from tagloom.features.classic.exif import read_exif
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["CaptureTime", "seconds_of"]

_DAY = 86_400


class CaptureTime(BaseDescriptor):
    """The camera's clock as three columns: 1 if known, days since 1970, seconds of the day.

    No learner sees it. Days and seconds are whole numbers below 2²⁴, which float32 holds exactly; a count of seconds
    since 1970 would be off by minutes.
    """

    name = "taken"
    version = 1
    thread_safe = True
    of_clips = "whole"

    @property
    def outputs(self) -> Mapping[str, int]:
        """One group: ``taken``."""
        return {"taken": 3}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """None: no pixels are needed."""
        return ()

    @property
    def parameters(self) -> Mapping[str, Any]:
        """There are none."""
        return {}

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one float32 row per photo."""
        seconds = np.array([read_exif(photo.exif).seconds for photo in photos], dtype=np.float64)
        known = ~np.isnan(seconds)
        days, rest = np.divmod(np.where(known, seconds, 0.0), _DAY)
        return np.stack([known, days, np.floor(rest)], axis=1).astype(np.float32).reshape(-1, 3)


def seconds_of(rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return seconds since 1970 of the rows that `CaptureTime` made, NaN where the time is not known."""
    known, days, rest = rows.astype(np.float64).T
    return np.where(known > 0, days * _DAY + rest, np.nan)
