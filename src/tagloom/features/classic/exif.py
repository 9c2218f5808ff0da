"""What the camera wrote beside the picture: when, where and how a photo was taken.

The block is untrusted. Nothing in it is followed but the pointers to the two directories of camera and position data,
so that there are three directories at most and no cycles; a directory is read up to a fixed number of entries; a value
counts only where it lies wholly inside the block. Whatever does not make sense is missing, never an error.
"""

import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.features.descriptor import BaseDescriptor
from tagloom.images import DecodedPhoto, Rendition

__all__ = [
    "CaptureTime",
    "PhotoFacts",
    "read_exif",
    "seconds_of",
]

MAX_ENTRIES = 512
MAX_TEXT = 128

_BYTE_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
_TEXT_TYPES = {1, 2, 7, 129}  # 129 is the UTF-8 text of Exif 3.0; some cameras write text as bytes
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 129: 1}
_NUMBERS = {1: "B", 3: "H", 4: "I", 6: "b", 8: "h", 9: "i", 11: "f", 12: "d", 13: "I"}
_RATIONALS = {5: "I", 10: "i"}

_EXIF_POINTER, _GPS_POINTER = 0x8769, 0x8825
_MAKE, _MODEL = 0x010F, 0x0110
_EXPOSURE_TIME, _F_NUMBER, _FLASH, _FOCAL_LENGTH, _FOCAL_LENGTH_35MM = 0x829A, 0x829D, 0x9209, 0x920A, 0xA405
# Above 65,534 the first is full, and the recommended exposure index, the output sensitivity or the speed says it.
_SENSITIVITIES = (0x8827, 0x8832, 0x8831, 0x8833)
_SENSITIVITY_FULL = 65535
# Taken, digitised, changed: time, its fraction of a second, its offset from UTC; the first that is a time counts.
_TIMES = ((0x9003, 0x9291, 0x9011), (0x9004, 0x9292, 0x9012), (0x0132, 0x9290, 0x9010))
_LATITUDE_REF, _LATITUDE, _LONGITUDE_REF, _LONGITUDE, _ALTITUDE_REF, _ALTITUDE = 1, 2, 3, 4, 5, 6

_TIME = re.compile(rb"\s*([0-9]{4})[:/.-]([0-9]{2})[:/.-]([0-9]{2})[ T]([0-9]{2}):([0-9]{2}):([0-9]{2})")
_OFFSET = re.compile(rb"\s*([+-])([0-9]{2}):([0-9]{2})")
_FIRST_YEAR, _LAST_YEAR = 1826, 2099  # the oldest photograph there is; beyond: a clock that was never set
_LARGEST_OFFSET = timedelta(hours=15)
_ALTITUDES = (-12_000.0, 100_000.0)  # from the deepest sea to balloons
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class PhotoFacts:
    """When, where and how a photo was taken, from EXIF.

    Parameters
    ----------
    taken : datetime, optional
        The camera's wall clock when the photo was taken, without a time zone.
    utc_offset : timedelta, optional
        How far that clock was ahead of UTC.
    latitude, longitude : float, optional
        Degrees, north and east positive; both or neither.
    altitude : float, optional
        Metres above the sea.
    make, model : str, optional
        Of the camera.
    focal_length : float, optional
        Millimetres, of the lens.
    focal_length_35mm : float, optional
        Millimetres that give the same picture on 35 mm film.
    exposure_time : float, optional
        Seconds.
    f_number : float, optional
        Focal length over aperture.
    iso : float, optional
        Sensitivity.
    flash : bool, optional
        Whether it fired.
    """

    taken: datetime | None = None
    utc_offset: timedelta | None = None
    latitude: float | None = None
    longitude: float | None = None
    altitude: float | None = None
    make: str | None = None
    model: str | None = None
    focal_length: float | None = None
    focal_length_35mm: float | None = None
    exposure_time: float | None = None
    f_number: float | None = None
    iso: float | None = None
    flash: bool | None = None

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since 1970 began, NaN where the time is unknown; what `bursts` and `events` take.

        The offset from UTC is left out on purpose: most cameras do not write it, and photos of one event by two
        cameras, one that does and one that does not, must not lie hours apart.
        """
        return math.nan if self.taken is None else (self.taken.replace(tzinfo=UTC) - _EPOCH).total_seconds()

    @property
    def exposure_value(self) -> float | None:
        """Brightness of the scene as log₂(f-number² / seconds) at ISO 100: about 15 in the sun, 5 in a room."""
        if self.f_number is None or self.exposure_time is None or self.iso is None:
            return None
        return math.log2(self.f_number**2 / self.exposure_time) - math.log2(self.iso / 100)


def read_exif(block: bytes) -> PhotoFacts:
    """Read an EXIF block.

    Parameters
    ----------
    block : bytes
        From the TIFF header (``II*`` or ``MM``) on, as in ``DecodedPhoto.exif``; untrusted, may be empty.

    Returns
    -------
    PhotoFacts
        None for what is missing or impossible: a latitude beyond 90°, a position of exactly 0° and 0° or without its
        hemispheres, the date 0000:00:00, a division by zero, an empty text.

    Notes
    -----
    Tags and types are those of the Exif 2.32 and 3.0 standards (CIPA DC-008). The work does not depend on the length
    of the block. Nothing is raised, whatever the bytes are.

    Examples
    --------
    >>> read_exif(b"") == PhotoFacts()
    True
    """
    order = _BYTE_ORDERS.get(block[:4])
    if order is None or len(block) < 8:
        return PhotoFacts()
    main = _Directory(block, order, struct.unpack_from(order + "I", block, 4)[0])
    camera = main.child(_EXIF_POINTER)
    place = main.child(_GPS_POINTER)
    taken, utc_offset = _time(main, camera)
    latitude, longitude = _position(place)
    flash = camera.number(_FLASH, _whole)
    return PhotoFacts(
        taken=taken,
        utc_offset=utc_offset,
        latitude=latitude,
        longitude=longitude,
        altitude=_altitude(place),
        make=main.text(_MAKE),
        model=main.text(_MODEL),
        focal_length=camera.number(_FOCAL_LENGTH, _between(0.01, 1e5)),
        focal_length_35mm=camera.number(_FOCAL_LENGTH_35MM, _between(0.01, 1e5)),
        exposure_time=camera.number(_EXPOSURE_TIME, _between(1e-9, 1e6)),
        f_number=camera.number(_F_NUMBER, _between(0.01, 1e4)),
        iso=_sensitivity(camera),
        flash=None if flash is None else bool(int(flash) & 1),
    )


class _Directory:
    """One list of tags in a block; empty where the offset points nowhere.

    Parameters
    ----------
    block : bytes
        The whole block.
    order : {"<", ">"}
        Of bytes, in the words of `struct`.
    offset : int
        Where the directory begins.
    """

    def __init__(self, block: bytes, order: str, offset: int) -> None:
        self.block = block
        self.order = order
        self.entries = {tag: entry for tag, *entry in self._read(offset)}

    def _read(self, offset: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield tag, type, count and the position of the value; the last of several entries of one tag counts."""
        if not 8 <= offset <= len(self.block) - 2:
            return
        (stated,) = struct.unpack_from(self.order + "H", self.block, offset)
        complete = (len(self.block) - offset - 2) // 12
        for index in range(min(stated, complete, MAX_ENTRIES)):
            start = offset + 2 + 12 * index
            tag, kind, count = struct.unpack_from(self.order + "HHI", self.block, start)
            n_bytes = _SIZES.get(kind, 0) * count
            position = start + 8
            if n_bytes > 4:
                (position,) = struct.unpack_from(self.order + "I", self.block, position)
            if 0 < n_bytes <= len(self.block) - position:
                yield tag, kind, count, position

    def child(self, tag: int) -> "_Directory":
        """Return the directory that a tag points to."""
        offset = self.number(tag, _whole)
        return _Directory(self.block, self.order, 0 if offset is None else int(offset))

    def raw(self, tag: int) -> bytes:
        """Return the first bytes of a text, up to its NUL."""
        kind, count, position = self.entries.get(tag, (0, 0, 0))
        if kind not in _TEXT_TYPES:
            return b""
        return self.block[position : position + min(count, MAX_TEXT)].partition(b"\0")[0]

    def text(self, tag: int) -> str | None:
        """Return a text in one line without control characters, or None where nothing is left."""
        words = self.raw(tag).decode("utf-8", errors="replace").split()
        return "".join(letter for letter in " ".join(words) if letter.isprintable()).strip() or None

    def numbers(self, tag: int, n: int) -> list[float] | None:
        """Return the first n numbers, or None where one of them is missing, not finite or divided by zero."""
        kind, count, position = self.entries.get(tag, (0, 0, 0))
        if count < n:
            return None
        if kind in _RATIONALS:
            parts = struct.unpack_from(f"{self.order}{2 * n}{_RATIONALS[kind]}", self.block, position)
            if not all(parts[1::2]):
                return None
            return [above / below for above, below in zip(parts[::2], parts[1::2], strict=True)]
        if kind not in _NUMBERS:
            return None
        values = [
            float(value) for value in struct.unpack_from(f"{self.order}{n}{_NUMBERS[kind]}", self.block, position)
        ]
        return values if all(math.isfinite(value) for value in values) else None

    def number(self, tag: int, allowed: Callable[[float], bool]) -> float | None:
        """Return the first number of a tag, or None where there is none that is allowed."""
        values = self.numbers(tag, 1)
        return values[0] if values is not None and allowed(values[0]) else None


def _between(low: float, high: float) -> Callable[[float], bool]:
    return lambda value: low <= value <= high


def _whole(value: float) -> bool:
    return value >= 0 and value == int(value)


def _time(main: _Directory, camera: _Directory) -> tuple[datetime | None, timedelta | None]:
    for time_tag, fraction_tag, offset_tag in _TIMES:
        for directory in (camera, main):
            taken = _date(directory.raw(time_tag), directory.raw(fraction_tag) or camera.raw(fraction_tag))
            if taken is not None:
                return taken, _utc_offset(directory.raw(offset_tag) or camera.raw(offset_tag))
    return None, None


def _date(text: bytes, fraction: bytes) -> datetime | None:
    found = _TIME.match(text)
    if found is None:
        return None
    digits = fraction.strip()
    microseconds = int(digits[:6].ljust(6, b"0")) if digits.isdigit() else 0
    try:
        taken = datetime(*(int(part) for part in found.groups()), microsecond=microseconds)  # type: ignore[arg-type, misc]
    except ValueError:
        return None
    return taken if _FIRST_YEAR <= taken.year <= _LAST_YEAR else None


def _utc_offset(text: bytes) -> timedelta | None:
    found = _OFFSET.match(text)
    if found is None:
        return None
    sign, hours, minutes = found.groups()
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    if offset > _LARGEST_OFFSET or int(minutes) > 59:
        return None
    return -offset if sign == b"-" else offset


def _position(place: _Directory) -> tuple[float | None, float | None]:
    latitude = _degrees(place, _LATITUDE, _LATITUDE_REF, b"NS", 90)
    longitude = _degrees(place, _LONGITUDE, _LONGITUDE_REF, b"EW", 180)
    # Devices without a fix write zeros; the point is in the open sea.
    if latitude is None or longitude is None or latitude == longitude == 0:
        return None, None
    return latitude, longitude


def _degrees(place: _Directory, tag: int, ref_tag: int, signs: bytes, limit: float) -> float | None:
    parts = place.numbers(tag, 3)
    sign = place.raw(ref_tag).strip().upper()
    if parts is None or len(sign) != 1 or sign not in signs:
        return None
    degrees, minutes, seconds = parts
    if min(parts) < 0 or max(minutes, seconds) > 60:  # 60 itself comes of rounding
        return None
    angle = degrees + minutes / 60 + seconds / 3600
    if angle > limit:
        return None
    return -angle if sign == signs[1:] else angle


def _altitude(place: _Directory) -> float | None:
    height = place.number(_ALTITUDE, _between(*_ALTITUDES))
    if height is None or place.number(_ALTITUDE_REF, lambda value: value == 1) is None:
        return height
    return -height if _between(*_ALTITUDES)(-height) else None


def _sensitivity(camera: _Directory) -> float | None:
    values = (camera.number(tag, _between(0.01, 1e8)) for tag in _SENSITIVITIES)
    return next((value for value in values if value is not None and value != _SENSITIVITY_FULL), None)


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
