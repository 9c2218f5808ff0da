"""A decoded photo as the parent process sees it, and how it is made from a worker's reply."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FileStamp, PhotoRecord, Verdict
from tagloom.images.settings import MOST_KEYFRAMES, SOUND_RATE, DecodeSettings
from tagloom.images.verdicts import one_line
from tagloom.images.wire import ProtocolError

__all__ = ["Clip", "DecodedPhoto", "photo_from_reply"]

LONGEST_CLIP = 1e7  # seconds


@dataclass(frozen=True, slots=True, eq=False)
class DecodedPhoto:
    """One photo, or the verdict on a file that is none.

    Parameters
    ----------
    record : PhotoRecord
        Path, verdict, content hash, size.
    pixels : dict of str to ndarray of uint8, shape (height, width, 3)
        One array per rendition, by its name; empty unless the verdict is "ok".
    thumbnail : bytes
        WebP, or empty.
    exif : bytes
        The EXIF block from its TIFF header (``II*`` or ``MM``) on, or empty.
    clip : Clip or None
        The key frames and sound of a video, whose poster the pixels are; None of a photo.
    """

    record: PhotoRecord
    pixels: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    thumbnail: bytes = b""
    exif: bytes = b""
    clip: "Clip | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """What a video has beyond a photo: its key frames and its sound.

    Parameters
    ----------
    frames : tuple of DecodedPhoto
        The key frames in order of time. Each has the record of the video, and as its own clip the sound around it.
    times : tuple of float
        When they are, in seconds.
    duration : float
        Seconds; 0 where it is not known.
    container, picture_codec, sound_codec : str
        FFmpeg's names; the last is empty where there is no sound.
    sound : tuple of (float, ndarray of int16)
        Pieces of the sound and when they begin: one channel, 16,000 samples a second.
    """

    frames: tuple[DecodedPhoto, ...] = ()
    times: tuple[float, ...] = ()
    duration: float = 0.0
    container: str = ""
    picture_codec: str = ""
    sound_codec: str = ""
    sound: tuple[tuple[float, NDArray[np.int16]], ...] = ()

    def sound_around(self, time: float, seconds: float = 2.0) -> tuple[tuple[float, NDArray[np.int16]], ...]:
        """Return the sound around a time.

        Parameters
        ----------
        time : float
            Seconds from the beginning.
        seconds : float, default=2
            How much, half of it before the time.
        """
        found = []
        for begin, samples in self.sound:
            first = max(int((time - seconds / 2 - begin) * SOUND_RATE), 0)
            part = samples[first : max(int((time + seconds / 2 - begin) * SOUND_RATE), 0)]
            if len(part):
                found.append((begin + first / SOUND_RATE, part))
        return tuple(found)


def photo_from_reply(path: bytes, header: dict[str, Any], body: bytearray, settings: DecodeSettings) -> DecodedPhoto:
    """Make a photo from a reply that is believed only as far as it is consistent.

    Parameters
    ----------
    path : bytes
        The file that was asked for.
    header, body : dict, bytearray
        The reply.
    settings : DecodeSettings
        Of the pool.

    Raises
    ------
    ProtocolError
        If the reply contradicts itself or the settings.
    """
    try:
        record = _record(path, header)
        if "pictures" not in header:
            return DecodedPhoto(record)
        return _with_pixels(record, header, body, settings)
    except (KeyError, TypeError, ValueError) as error:
        raise ProtocolError(f"a worker's reply makes no sense: {error}") from error


def _record(path: bytes, header: dict[str, Any]) -> PhotoRecord:
    stamp = FileStamp(*(int(value) for value in header["stamp"])) if "stamp" in header else None
    return PhotoRecord(
        path=path,
        verdict=Verdict(header["verdict"]),
        detail=one_line(str(header.get("detail", ""))),
        content_hash=str(header.get("hash", "")),
        stamp=stamp,
        width=int(header.get("width", 0)),
        height=int(header.get("height", 0)),
    )


def _with_pixels(
    record: PhotoRecord, header: dict[str, Any], body: bytearray, settings: DecodeSettings
) -> DecodedPhoto:
    buffer = np.frombuffer(body, dtype=np.uint8)
    photo, end = _one_photo(record, header, buffer, 0, settings)
    if "clip" in header:
        clip, end = _clip(photo, header["clip"], buffer, end, settings)
        photo = replace(photo, clip=clip)
    if end != len(buffer):
        raise ValueError("sizes do not add up")
    return photo


def _one_photo(
    record: PhotoRecord, header: dict[str, Any], buffer: NDArray[np.uint8], start: int, settings: DecodeSettings
) -> tuple[DecodedPhoto, int]:
    """Return the photo, or key frame, that begins at a place of the body, and where it ends."""
    pixels: dict[str, NDArray[np.uint8]] = {}
    for rendition, (width, height) in zip(settings.renditions, header["pictures"], strict=True):
        longest, shortest = rendition.bounds
        if not (1 <= min(width, height) <= shortest and max(width, height) <= longest):
            raise ValueError(f"rendition {rendition.name!r} has {width} × {height} pixels")
        end = start + 3 * width * height
        pixels[rendition.name] = buffer[start:end].reshape(height, width, 3)
        start = end
    middle = start + int(header["thumbnail"])
    end = middle + int(header["exif"])
    if not start <= middle <= end <= len(buffer):
        raise ValueError("sizes do not add up")
    return DecodedPhoto(record, pixels, bytes(buffer[start:middle]), bytes(buffer[middle:end])), end


def _clip(
    photo: DecodedPhoto, header: dict[str, Any], buffer: NDArray[np.uint8], start: int, settings: DecodeSettings
) -> tuple[Clip, int]:
    """Return the clip whose key frames begin at a place of the body, and where its sound ends."""
    if not 1 <= len(header["frames"]) <= MOST_KEYFRAMES:
        raise ValueError(f"a video with {len(header['frames'])} key frames")
    frames, times = [], []
    for each in header["frames"]:
        frame, start = _one_photo(photo.record, each, buffer, start, settings)
        frames.append(replace(frame, exif=photo.exif))
        times.append(_seconds(each["time"]))
    if times != sorted(times):
        raise ValueError("key frames that are not in order")
    pieces = []
    for time, n_bytes in header["sound"]:
        end = start + int(n_bytes)
        if not start <= end <= len(buffer):
            raise ValueError("sizes do not add up")
        pieces.append((_seconds(time), buffer[start : end - (end - start) % 2].view("<i2").astype(np.int16)))
        start = end
    container, picture, voice = (
        one_line(str(header[name]))[:40] for name in ("container", "picture_codec", "sound_codec")
    )
    clip = Clip(
        times=tuple(times),
        duration=_seconds(header["duration"]),
        container=container,
        picture_codec=picture,
        sound_codec=voice,
        sound=tuple(pieces),
    )
    around = [
        replace(frame, clip=Clip(times=(time,), sound=clip.sound_around(time)))
        for frame, time in zip(frames, times, strict=True)
    ]
    return replace(clip, frames=tuple(around)), start


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not 0 <= seconds < LONGEST_CLIP:
        raise ValueError(f"{seconds} seconds in a video")
    return seconds
