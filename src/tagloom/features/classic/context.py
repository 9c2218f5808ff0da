"""Photo context: when and where a photo was taken and with what camera, as columns of their own."""

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.features.classic.exif import PhotoFacts, read_exif
from tagloom.features.descriptor import BaseDescriptor
from tagloom.images import DecodedPhoto, Rendition

__all__ = ["CONTEXT_COLUMNS", "ContextDescriptor", "context_row"]

_DAY = 86_400.0
# From a quarter of a day to twenty years. The ratio of neighbours is no simple fraction, so that no later moment has
# nearly the phases of an earlier one.
_PERIODS = np.geomspace(0.25, 7300.0, 12)
_EARTH_RADIUS_KM = 6371.0
_WAVELENGTH_KM = 10.0
_N_CAMERAS = 8
_TYPICAL_EXPOSURE_VALUE = 10.0
_TYPICAL_FOCAL_LENGTH = 35.0

_TIME_COLUMNS = (
    "has_time",
    *(f"{name}_{part}" for name in ("time_of_day", "day_of_week", "day_of_year") for part in ("cos", "sin")),
    *(f"time_{number}_{part}" for number in range(len(_PERIODS)) for part in ("cos", "sin")),
)
_PLACE_COLUMNS = (
    "has_place",
    *"xyz",
    *(f"near_{axis}_{part}" for axis in "xyz" for part in ("cos", "sin")),
    "altitude",
)
_CAMERA_COLUMNS = (
    "has_exposure",
    "exposure",
    "has_focal_length",
    "focal_length",
    "flash",
    *(f"camera_{number}" for number in range(_N_CAMERAS)),
)
CONTEXT_COLUMNS: tuple[str, ...] = _TIME_COLUMNS + _PLACE_COLUMNS + _CAMERA_COLUMNS
"""The names of the columns of group ``context``, in order."""


def context_row(facts: PhotoFacts) -> NDArray[np.float64]:
    """Return the 55 numbers of one photo, named by `CONTEXT_COLUMNS`; what is unknown is 0.

    **Time** (31): 1 if known; cosine and sine of the time of day, of the week (Monday's first minute is the start) and
    of the year; cosine and sine of 2π t / P for the days t since 1970 and twelve periods P in geometric steps from 6
    hours to 20 years. The camera's wall clock counts, whatever its time zone.

    **Place** (11): 1 if known; the unit vector from the earth's centre (x at 0° north 0° east, y at 90° east, z at the
    north pole); cosine and sine of 2π · 6371 km · coordinate / 10 km for the three; altitude as
    sign · log(1 + |metres| / 100).

    **Camera** (13): 1 if exposure time, f-number and ISO are known, and (EV - 10) / 5 of the exposure value at ISO
    100; 1 if the focal length is known, and log₂ of its 35 mm equivalent over 35 mm; flash 1 if it fired, -1 if not;
    eight columns with a 1 in the one that the camera's make and model fall into by their BLAKE2 hash.

    Parameters
    ----------
    facts : PhotoFacts
        Of `tagloom.features.classic.exif.read_exif`.

    Notes
    -----
    Inner products of the twelve pairs of absolute time are Σ cos(2π Δ / P) over the periods: 12 at Δ = 0, about 11.4
    after an hour, 7 after a day, 5 after a month, and noise around 0 from a few months on. So photos of one event are
    near one another at any distance from the others, which neither a count of days (its scale is that of the whole
    collection) nor the calendar columns alone can do. The same holds for the three pairs at a wavelength of 10 km,
    which tell places in a town apart where x, y and z tell countries apart.
    """
    row = np.zeros(len(CONTEXT_COLUMNS))
    time_end = len(_TIME_COLUMNS)
    place_end = time_end + len(_PLACE_COLUMNS)
    if facts.taken is not None:
        row[:time_end] = [1.0, *_calendar(facts.taken), *_circle(facts.seconds / _DAY / _PERIODS)]
    if facts.latitude is not None and facts.longitude is not None:
        point = _unit_vector(facts.latitude, facts.longitude)
        row[time_end : place_end - 1] = [1.0, *point, *_circle(point * (_EARTH_RADIUS_KM / _WAVELENGTH_KM))]
    if facts.altitude is not None:
        row[place_end - 1] = math.copysign(math.log1p(abs(facts.altitude) / 100), facts.altitude)
    row[place_end:] = [*_exposure(facts), *_camera(facts)]
    return row


def _circle(turns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return cosine and sine of each of these numbers of turns, pair by pair."""
    angles = 2 * np.pi * turns
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1).ravel()


def _calendar(taken: datetime) -> NDArray[np.float64]:
    midnight = taken.replace(hour=0, minute=0, second=0, microsecond=0)
    day = (taken - midnight).total_seconds() / _DAY
    new_year = midnight.replace(month=1, day=1)
    days_in_year = (new_year.replace(year=new_year.year + 1) - new_year).days
    turns = (day, (taken.weekday() + day) / 7, ((midnight - new_year).days + day) / days_in_year)
    return _circle(np.array(turns))


def _unit_vector(latitude: float, longitude: float) -> NDArray[np.float64]:
    north, east = math.radians(latitude), math.radians(longitude)
    return np.array([math.cos(north) * math.cos(east), math.cos(north) * math.sin(east), math.sin(north)])


def _exposure(facts: PhotoFacts) -> Iterator[float]:
    value = facts.exposure_value
    yield from (0.0, 0.0) if value is None else (1.0, (value - _TYPICAL_EXPOSURE_VALUE) / 5)
    length = facts.focal_length_35mm
    yield from (0.0, 0.0) if length is None else (1.0, math.log2(length / _TYPICAL_FOCAL_LENGTH))
    yield 0.0 if facts.flash is None else 1.0 if facts.flash else -1.0


def _camera(facts: PhotoFacts) -> NDArray[np.float64]:
    row = np.zeros(_N_CAMERAS)
    name = f"{facts.make or ''} {facts.model or ''}".strip().casefold()
    if name:
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        row[int.from_bytes(digest, "big") % _N_CAMERAS] = 1.0
    return row


class ContextDescriptor(BaseDescriptor):
    """When, where and with what camera a photo was taken: group ``context``, 55 columns (see `context_row`).

    Only the EXIF block is read. A photo without one has a row of zeros.
    """

    name = "context"
    version = 1
    thread_safe = True
    of_clips = "whole"

    @property
    def outputs(self) -> Mapping[str, int]:
        """One group: ``context``."""
        return {"context": len(CONTEXT_COLUMNS)}

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
        rows = np.empty((len(photos), self.n_columns), dtype=np.float32)
        for row, photo in zip(rows, photos, strict=True):
            row[:] = context_row(read_exif(photo.exif))
        return rows
