"""Live Photos and Motion Photos: a photo and the few seconds of video that were taken with it are one item.

The video of a Live Photo is a file of the same name beside the photo; that of a Motion Photo is inside the photo's own
file, after the picture. Only the boxes of MP4 and MOV are walked, sizes and names; no picture or sound is decoded here.
"""

import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tagloom.core import is_pair_photo, pair_key
from tagloom.images.source import open_regular, read_file
from tagloom.images.verdicts import Refused

__all__ = [
    "LONGEST_MOTION_PHOTO",
    "LONGEST_WITH_PHOTO",
    "InnerClip",
    "clip_seconds",
    "inner_clip",
    "is_clip_of",
    "read_inner_clip",
    "split_clips",
]

LONGEST_WITH_PHOTO = 5.0
"""Seconds of a video that counts as taken with a photo: Live Photos have three."""
LONGEST_MOTION_PHOTO = 64 << 20
"""Bytes of a photo's file that is searched for a video."""
_LONGEST_MOOV = 4 << 20
_STILL_HEAD = 1 << 18  # bytes of a photo that are searched for Apple's name of the pair; EXIF is at most 64 KiB
_MOST_BOXES = 64
_PAIR_FIELD = b"com.apple.quicktime.content.identifier"
_APPLE_NOTE = b"Apple iOS\0"
_UUID = re.compile(rb"[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_BOX = re.compile(rb"[A-Za-z0-9 _-]{4}")


@dataclass(frozen=True, slots=True)
class InnerClip:
    """A video inside a photo's file.

    Parameters
    ----------
    first, size : int
        Where it begins, and how many bytes it has.
    seconds : float
        Its length; 0 where it is not known.
    """

    first: int
    size: int
    seconds: float


def split_clips(root: bytes, clips: Iterable[bytes], photos: Iterable[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return which videos belong to the photo of their name, and which are items of their own.

    Parameters
    ----------
    root : bytes
        The folder.
    clips : iterable of bytes
        Videos with a photo of their name beside them, relative to the root.
    photos : iterable of bytes
        Names among which those photos are.
    """
    clips = list(clips)
    keys = {pair_key(clip) for clip in clips}
    beside = {pair_key(name): name for name in photos if clips and is_pair_photo(name) and pair_key(name) in keys}
    parts = {
        clip
        for clip in clips
        if pair_key(clip) in beside and is_clip_of(os.path.join(root, clip), os.path.join(root, beside[pair_key(clip)]))
    }
    return [clip for clip in clips if clip in parts], [clip for clip in clips if clip not in parts]


def is_clip_of(clip: bytes, photo: bytes) -> bool:
    """Tell whether a video was taken with the photo of its name, as far as the two files tell.

    Where Apple's name of the pair is in both, it decides. Otherwise a video in an MP4 or MOV file of at most five
    seconds was; a file that cannot be read so far was not, and gets the verdict of a video.

    Parameters
    ----------
    clip, photo : bytes
        The files.
    """
    moov = _moov_of(clip)
    pair = _pair_of(moov)
    if pair:
        named = _pairs_of_still(photo)
        if named:
            return pair in named
    return 0 < _seconds_of(moov) <= LONGEST_WITH_PHOTO


def clip_seconds(path: bytes) -> float:
    """Return the length of an MP4 or MOV file as its header tells it; 0 where it tells none.

    Parameters
    ----------
    path : bytes
        The file.
    """
    return _seconds_of(_moov_of(path))


def inner_clip(data: bytes) -> InnerClip | None:
    """Find the video of a Motion Photo in the bytes of its file.

    Parameters
    ----------
    data : bytes
        A JPEG or HEIC.

    Returns
    -------
    InnerClip or None
        None where the photo has none.
    """
    if not (data.startswith(b"\xff\xd8\xff") or data[4:8] == b"ftyp"):
        return None
    place = 8
    for _ in range(_MOST_BOXES):
        place = data.find(b"ftyp", place + 4)
        if place < 0:
            return None
        first = place - 4
        boxes = dict(_boxes(data, first, len(data)))
        if b"moov" in boxes and b"mdat" in boxes:
            end = max(stop for _, stop in boxes.values())
            return InnerClip(first, end - first, _seconds_of(data[slice(*boxes[b"moov"])]))
    return None


def _boxes(data: bytes, first: int, end: int) -> Iterator[tuple[bytes, tuple[int, int]]]:
    """Yield names of boxes and where each begins and ends, up to the first that makes no sense."""
    for _ in range(_MOST_BOXES):
        head = data[first : first + 16]
        size, name = _box(head, end - first)
        if not size:
            return
        yield name, (first, first + size)
        first += size


def _box(head: bytes, n_left: int) -> tuple[int, bytes]:
    """Return size and name of the box that begins with these bytes; size 0 where it is none."""
    if len(head) < 8 or not _BOX.fullmatch(head[4:8]):
        return 0, b""
    (size,) = struct.unpack(">I", head[:4])
    if size == 1 and len(head) == 16:
        (size,) = struct.unpack(">Q", head[8:])
    elif size == 0:
        size = n_left
    return (size, head[4:8]) if 8 <= size <= n_left else (0, b"")


def _moov_of(path: bytes) -> bytes:
    """Return the box of an MP4 or MOV file that says what is in it; empty where there is none."""
    try:
        with open_regular(path) as stream:
            first, end = 0, os.fstat(stream.fileno()).st_size
            for _ in range(_MOST_BOXES):
                stream.seek(first)
                size, name = _box(stream.read(16), end - first)
                if not size:
                    return b""
                if name == b"moov":
                    stream.seek(first)
                    return stream.read(min(size, _LONGEST_MOOV))
                first += size
    except (OSError, ValueError, Refused):
        pass
    return b""


def _seconds_of(moov: bytes) -> float:
    place = moov.find(b"mvhd")
    if place < 0 or len(moov) < place + 36:
        return 0.0
    if moov[place + 4]:
        scale, length = struct.unpack(">IQ", moov[place + 24 : place + 36])
    else:
        scale, length = struct.unpack(">II", moov[place + 16 : place + 24])
    return float(length / scale) if scale else 0.0


def _pair_of(moov: bytes) -> bytes:
    """Return the name that Apple gives the photo and the video of a Live Photo; empty where there is none."""
    place = moov.find(_PAIR_FIELD)
    found = _UUID.search(moov, place) if place >= 0 else None
    return found[0] if found else b""


def _pairs_of_still(photo: bytes) -> set[bytes]:
    """Return what may be that name in a photo: the identifiers in the note of Apple's camera."""
    try:
        with open_regular(photo) as stream:
            head = stream.read(_STILL_HEAD)
    except (OSError, ValueError, Refused):
        return set()
    place = head.find(_APPLE_NOTE)
    return set(_UUID.findall(head, place, place + (1 << 16))) if place >= 0 else set()


def read_inner_clip(path: bytes) -> InnerClip | None:
    """Find the video of a Motion Photo in its file; None where it has none or cannot be read.

    Parameters
    ----------
    path : bytes
        The file.
    """
    try:
        return inner_clip(read_file(path, longest=LONGEST_MOTION_PHOTO).data)
    except Refused:
        return None
