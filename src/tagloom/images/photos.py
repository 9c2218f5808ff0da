"""A decoded photo as the parent process sees it, and how it is made from a worker's reply."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.images.settings import DecodeSettings
from tagloom.images.verdicts import one_line
from tagloom.images.wire import ProtocolError

__all__ = ["DecodedPhoto", "photo_from_reply"]


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
    """

    record: PhotoRecord
    pixels: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    thumbnail: bytes = b""
    exif: bytes = b""


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
    pixels: dict[str, NDArray[np.uint8]] = {}
    start = 0
    for rendition, (width, height) in zip(settings.renditions, header["pictures"], strict=True):
        longest, shortest = rendition.bounds
        if not (1 <= min(width, height) <= shortest and max(width, height) <= longest):
            raise ValueError(f"rendition {rendition.name!r} has {width} × {height} pixels")
        end = start + 3 * width * height
        pixels[rendition.name] = buffer[start:end].reshape(height, width, 3)
        start = end
    end = start + int(header["thumbnail"])
    if not start <= end <= end + int(header["exif"]) == len(body):
        raise ValueError("sizes do not add up")
    return DecodedPhoto(record, pixels, thumbnail=bytes(body[start:end]), exif=bytes(body[end:]))
