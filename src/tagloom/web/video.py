"""Playing a video: a part of the file for each request, after a look at whether it is one."""

import os
import re
import stat

from starlette.responses import Response

from tagloom.exceptions import PhotosError
from tagloom.review import Playable
from tagloom.web.http import error_answer

__all__ = ["LARGEST_PART", "video_answer"]

LARGEST_PART = 1 << 20
"""Bytes of an answer at most: a browser asks on for more."""
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
_MP4_BOXES = (b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip", b"pnot")
_FLAGS = ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY", "O_NOINHERIT")


def video_answer(video: Playable, wanted: str | None) -> Response:
    """Return a part of a video.

    Parameters
    ----------
    video : Playable
        Where it is. It must begin as what it is sent as, whatever the file's name: a stored path that leads elsewhere,
        as that of an unpacked project may, gives no other file away.
    wanted : str or None
        The header ``Range`` of the request. Without one the answer begins with the file.

    Returns
    -------
    Response
        206 with at most `LARGEST_PART` bytes; 416 where the range makes no sense.

    Raises
    ------
    PhotosError
        If the file is gone, or is no such video.
    """
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in _FLAGS)
    try:
        if not stat.S_ISREG(os.stat(video.path).st_mode):
            raise PhotosError("this is no file any more; scan again")
        descriptor = os.open(video.path, flags)
    except (OSError, ValueError) as error:
        raise PhotosError("the video cannot be read; scan again") from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode):
            file.seek(video.first)
        if not stat.S_ISREG(status.st_mode) or not _is_video(file.read(12), video.media_type):
            raise PhotosError("this is no video that browsers can play; scan again")
        n_left = status.st_size - video.first
        size = n_left if video.size is None else min(video.size, n_left)
        span = _span(wanted, size)
        if span is None:
            answer = error_answer("the range makes no sense", 416)
            answer.headers["Content-Range"] = f"bytes */{size}"
            return answer
        first, last = span
        file.seek(video.first + first)
        data = file.read(last - first + 1)
    if not data:
        raise PhotosError("the video became shorter; scan again")
    headers = {"Accept-Ranges": "bytes", "Content-Range": f"bytes {first}-{first + len(data) - 1}/{size}"}
    return Response(data, 206, headers, media_type=video.media_type)


def _is_video(beginning: bytes, media_type: str) -> bool:
    if media_type == "video/mp4":
        return beginning[4:8] in _MP4_BOXES
    return beginning.startswith(b"\x1a\x45\xdf\xa3")


def _span(wanted: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and last byte to send, None where the range makes no sense."""
    if wanted is None:
        return 0, min(size, LARGEST_PART) - 1
    found = _RANGE.fullmatch(wanted.strip())
    if found is None or found.groups() == ("", ""):
        return None
    begin, end = found.groups()
    if begin == "":
        first, last = max(size - int(end), 0), size - 1
    else:
        first, last = int(begin), min(int(end), size - 1) if end else size - 1
    return (first, min(last, first + LARGEST_PART - 1)) if first <= last and first < size else None
