"""What is kept of a video beside its features: the times of its key frames, its length, how a browser can play it."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.images import Clip

__all__ = ["CLIP_KEY", "ClipFacts"]

CLIP_KEY = "clip-v1"
_N_TIMES = 40
#: How a browser is told to play a video, by container, picture and sound.
_PLAYABLE = ("", "video/mp4", "video/webm")
_MP4 = frozenset({"h264"}), frozenset({"", "aac", "mp3", "mp3float"})
_WEBM = (
    frozenset({"vp8", "vp9", "libvpx", "libvpx-vp9", "av1", "libdav1d"}),
    frozenset({"", "opus", "libopus", "vorbis"}),
)


@dataclass(frozen=True, slots=True)
class ClipFacts:
    """What is known of a video.

    Parameters
    ----------
    duration : float
        Seconds; 0 where it is not known.
    times : tuple of float
        When its key frames are.
    has_sound : bool
        Whether sound of it could be decoded.
    media_type : str
        "video/mp4" or "video/webm" if browsers can play it, otherwise empty.
    """

    duration: float
    times: tuple[float, ...]
    has_sound: bool
    media_type: str

    @classmethod
    def of(cls, clip: Clip) -> "ClipFacts":
        """Return what is known of a decoded video."""
        media_type = ""
        for pictures, sounds, containers, name in (
            (*_MP4, ("mov",), "video/mp4"),
            (*_WEBM, ("matroska", "webm"), "video/webm"),
        ):
            family = clip.container.split(",")[0]
            if family in containers and clip.picture_codec in pictures and clip.sound_codec in sounds:
                media_type = name
        return cls(clip.duration, clip.times, bool(clip.sound_codec), media_type)

    def as_row(self) -> NDArray[np.float32]:
        """Return it as a row that a feature cache can keep."""
        row = np.zeros(4 + _N_TIMES, dtype=np.float32)
        times = self.times[:_N_TIMES]
        row[:4] = self.duration, len(times), self.has_sound, _PLAYABLE.index(self.media_type)
        row[4 : 4 + len(times)] = times
        return row

    @classmethod
    def from_row(cls, row: NDArray[np.float32]) -> "ClipFacts":
        """Return what a row says; a strange one says that nothing is known."""
        if row.shape != (4 + _N_TIMES,) or not np.isfinite(row).all() or (row < 0).any():
            return cls(0.0, (), False, "")
        n, kind = int(row[1]), int(row[3])
        if n > _N_TIMES or kind >= len(_PLAYABLE):
            return cls(0.0, (), False, "")
        return cls(float(row[0]), tuple(row[4 : 4 + n].tolist()), bool(row[2]), _PLAYABLE[kind])
