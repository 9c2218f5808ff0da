"""Frames and sound into a video file, by FFmpeg through PyAV (the extra "video")."""

import contextlib
import fractions
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Floats
from tagloom.exceptions import PhotosError

__all__ = ["write_clip"]

PICTURE_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "libx264": {"preset": "veryfast", "crf": "23"},
    "libx265": {"preset": "ultrafast", "crf": "28", "x265-params": "log-level=none:pools=none:frame-threads=1"},
    "libsvtav1": {"preset": "12", "svtav1-params": "lp=1"},
    "libvpx": {"deadline": "realtime", "cpu-used": "8"},
    "libvpx-vp9": {"deadline": "realtime", "cpu-used": "8"},
}


def write_clip(
    path: str | os.PathLike[str],
    frames: Iterable[NDArray[np.uint8]],
    *,
    rate: int = 12,
    sound: Floats | None = None,
    sound_rate: int = 16_000,
    picture_codec: str = "libx264",
    sound_codec: str = "aac",
    pixel_format: str = "yuv420p",
    gop_size: int | None = None,
    container: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Encode frames, and sound if there is any, into a file.

    Parameters
    ----------
    path : path
        The file; its extension says the container.
    frames : iterable of uint8 arrays of shape (height, width, 3)
        All of one size; sides that are even.
    rate : int, default=12
        Frames a second.
    sound : ndarray, optional
        One channel, between -1 and 1.
    sound_rate : int, default=16000
        Its samples a second.
    picture_codec, sound_codec, pixel_format : str
        FFmpeg's names.
    gop_size : int, optional
        Frames from one that stands by itself to the next.
    container : str, optional
        FFmpeg's name of the container, where the extension does not say it.
    metadata : mapping, optional
        What the container says of the clip, such as ``creation_time``.
    """
    try:
        import av
    except ImportError as error:
        raise PhotosError("writing videos needs PyAV; install it with: pip install 'tagloom[video]'") from error
    with _kept_scheduling(), av.open(os.fspath(path), "w", format=container) as output:
        output.metadata.update(metadata or {})
        picture: Any = None
        voice: Any = None
        if sound is not None:
            voice = output.add_stream(sound_codec, rate=sound_rate, layout="mono")
        for index, pixels in enumerate(frames):
            if picture is None:
                picture = output.add_stream(
                    picture_codec, rate=rate, options=dict(PICTURE_OPTIONS.get(picture_codec, {}))
                )
                picture.width, picture.height, picture.pix_fmt = pixels.shape[1], pixels.shape[0], pixel_format
                picture.codec_context.thread_count = 1
                if gop_size is not None:
                    picture.codec_context.gop_size = gop_size
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(pixels), format="rgb24")
            frame.pts, frame.time_base = index, fractions.Fraction(1, rate)
            output.mux(picture.encode(frame))
        if picture is not None:
            output.mux(picture.encode(None))
        if voice is not None and sound is not None:
            _add_sound(output, voice, sound, sound_rate)


@contextlib.contextmanager
def _kept_scheduling() -> Iterator[None]:
    """Leave the thread scheduled as it was: SVT-AV1 gives it real-time priority where it may, before all else here."""
    before = (os.sched_getscheduler(0), os.sched_getparam(0)) if hasattr(os, "sched_getscheduler") else None
    try:
        yield
    finally:
        if before is not None:
            os.sched_setscheduler(0, *before)


def _add_sound(output: Any, voice: Any, sound: Floats, rate: int) -> None:
    import av

    samples = np.round(np.clip(sound, -1.0, 1.0) * 32_767).astype(np.int16)
    frame = av.AudioFrame.from_ndarray(samples[None], format="s16", layout="mono")
    frame.sample_rate, frame.pts, frame.time_base = rate, 0, fractions.Fraction(1, rate)
    fifo = av.AudioResampler(
        format=voice.codec_context.format,
        layout="mono",
        rate=voice.codec_context.sample_rate,
        frame_size=voice.codec_context.frame_size or 1024,
    )
    for part in [*fifo.resample(frame), *fifo.resample(None)]:
        output.mux(voice.encode(part))
    output.mux(voice.encode(None))
