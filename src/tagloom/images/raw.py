"""A camera's RAW file to renditions: its JPEG preview, or with rawpy the RAW picture. Runs in a decode worker.

The preview is found without decoding the RAW picture. Most RAW files are TIFF files whose directories point to a JPEG
(NEF, CR2, ARW, DNG, PEF, SRW, RW2 …). CR3 is built of boxes like a video, RAF has a header of its own. In all others
the bytes are searched for JPEG headers. The file is untrusted: directories, entries, boxes and headers are read up to
fixed numbers, nothing outside the file is followed, and whatever makes no sense is missing rather than an error.
"""

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from PIL import Image

from tagloom.core import Verdict
from tagloom.images.colour import reduction, shrink_to_rgb
from tagloom.images.decoding import BEGINNINGS, Decoded, decode_bytes, decode_preview, finished, judged
from tagloom.images.settings import RESERVED_MEMORY, DecodeSettings
from tagloom.images.verdicts import Refused

__all__ = [
    "Preview",
    "RawContent",
    "decode_raw",
    "read_raw",
]

MAX_DIRECTORIES = 32
MAX_ENTRIES = 512
MAX_POINTERS = 16
MAX_BOXES = 512
MAX_SEGMENTS = 256
MAX_SCANNED = 1024
LARGEST_EXIF_VALUE = 4096

_BYTE_ORDERS = {b"II": "<", b"MM": ">"}
# TIFF's own number, and those that Olympus (RO, RS) and Panasonic (U) have in its place.
_TIFF_NUMBER = 42
_TIFF_NUMBERS = frozenset({_TIFF_NUMBER, 0x4F52, 0x5352, 0x55})
_MARKS_BEHIND_HEADER = (b"CR", b"IIII", b"MMMM")  # Canon, Phase One
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}
_INTEGERS = {1: "B", 3: "H", 4: "I", 13: "I"}

_COMPRESSION, _PHOTOMETRIC, _ORIENTATION = 259, 262, 274
_STRIP_OFFSETS, _STRIP_LENGTHS, _SUB_DIRECTORIES = 273, 279, 330
_JPEG_OFFSET, _JPEG_LENGTH, _PANASONIC_JPEG, _DNG_VERSION = 513, 514, 0x2E, 50706
_EXIF_POINTER, _GPS_POINTER, _INTEROP_POINTER = 0x8769, 0x8825, 0xA005
_JPEG_COMPRESSIONS = frozenset({6, 7})
# How sensors are stored: colour filter array, linear; compressions of Nikon, Sony, Pentax, Samsung, Kodak.
_SENSOR_PHOTOMETRICS = frozenset({32803, 34892})
_SENSOR_COMPRESSIONS = frozenset({32767, 32769, 32770, 34713, 65000, 65535})
# What the EXIF of a photo has of the first directory: camera, orientation, software, time.
_FIRST_KEPT = frozenset({0x010E, 0x010F, 0x0110, _ORIENTATION, 0x0131, 0x0132, 0x013B, 0x8298})

_RAF = b"FUJIFILMCCD-RAW "
_RAF_POINTER = 84
_MRW, _MRW_TIFF = b"\0MRM", b"\0TTW"
_OTHER_BEGINNINGS = (b"FOVb", b"II\x1a\0\0\0HEAPCCDR")
_CR3_BRAND = b"crx "
_CR3_METADATA = bytes.fromhex("85c0b687820f11e08111f4ce462b6a48")
_CR3_PREVIEW = bytes.fromhex("eaf42b5e1c984b88b9fbb7dc406e4d16")
_CONTAINERS = frozenset({b"moov", b"trak", b"mdia", b"minf", b"stbl"})

_START = b"\xff\xd8\xff"
_FRAMES = frozenset({0xC0, 0xC1, 0xC2})  # baseline, extended, progressive: the ones that are pictures of 8 bits
_OTHER_FRAMES = frozenset(range(0xC3, 0xD0)) - {0xC4, 0xC8, 0xCC}

Entry = tuple[int, int, int]  # type, count, where the value is
Directory = dict[int, Entry]


@dataclass(frozen=True, slots=True)
class Preview:
    """A JPEG inside a file: where it is, and the size in pixels that its header claims."""

    start: int
    stop: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class RawContent:
    """What is known of a RAW file.

    Parameters
    ----------
    previews : tuple of Preview
        The largest first.
    orientation : int
        As in EXIF; 0: not known.
    exif : bytes
        An EXIF block from its TIFF header on, or empty.
    is_raw : bool
        Whether the file has the marks of a RAW file; otherwise it may be a plain TIFF, or anything.
    """

    previews: tuple[Preview, ...] = ()
    orientation: int = 0
    exif: bytes = b""
    is_raw: bool = False


@dataclass(slots=True)
class _Findings:
    places: list[tuple[int, int]] = field(default_factory=list)  # start and stop of what may be a JPEG
    orientation: int = 0
    exif: bytes = b""
    is_raw: bool = False


def read_raw(data: bytes, *, smallest: int) -> RawContent:
    """Look for the previews in a RAW file.

    Parameters
    ----------
    data : bytes
        The file's content.
    smallest : int
        Pixels of the longer side of a preview that will do; if the file's own directories lead to none, its bytes are
        searched.
    """
    found = _Findings()
    if data.startswith(_RAF):
        _read_raf(data, found)
    elif data[4:8] == b"ftyp" and data[8:12] == _CR3_BRAND:
        _read_cr3(data, found)
    elif data.startswith(_MRW):  # blocks, one of them a TIFF file
        found.is_raw = True
        position = data.find(_MRW_TIFF, 0, 4096)
        if position >= 0 and (tiff := _Tiff.at(data, position + 8, len(data))) is not None:
            _read_tiff(tiff, found)
    elif (tiff := _Tiff.at(data, 0, len(data))) is not None:
        _read_tiff(tiff, found)
    found.is_raw = found.is_raw or data.startswith(_OTHER_BEGINNINGS)
    previews = _previews(data, found.places)
    if not any(max(preview.width, preview.height) >= smallest for preview in previews):
        previews = _previews(data, [*found.places, *_jpeg_starts(data)])
    return RawContent(tuple(previews), found.orientation, found.exif, found.is_raw)


def _previews(data: bytes, places: list[tuple[int, int]]) -> list[Preview]:
    found: dict[int, Preview] = {}
    for start, stop in places:
        size = _jpeg_size(data, start, min(stop, len(data)))
        if size is not None:
            found.setdefault(start, Preview(start, min(stop, len(data)), *size))
    return sorted(found.values(), key=lambda item: (-item.width * item.height, item.start))


def _jpeg_starts(data: bytes) -> Iterator[tuple[int, int]]:
    position = -1
    for _ in range(MAX_SCANNED):
        position = data.find(_START, position + 1)
        if position < 0:
            return
        yield position, len(data)


def _jpeg_size(data: bytes, start: int, stop: int) -> tuple[int, int] | None:
    """Return the size in the header of a JPEG of 8 bits; None where there is none."""
    if start < 0 or data[start : start + 3] != _START:
        return None
    position = start + 2
    for _ in range(MAX_SEGMENTS):
        if position + 10 > stop or data[position] != 0xFF:
            return None
        marker = data[position + 1]
        if marker == 0xFF:  # a fill byte
            position += 1
            continue
        if marker in _FRAMES:
            bits, height, width, n_colours = struct.unpack_from(">BHHB", data, position + 4)
            return (width, height) if bits == 8 and n_colours in (1, 3) and width and height else None
        length = int.from_bytes(data[position + 2 : position + 4], "big")
        if marker in _OTHER_FRAMES or marker in (0xD9, 0xDA) or length < 2:
            return None
        position += 2 + length
    return None


# files built like TIFF -------------------------------------------------------------------------------------------


class _Tiff:
    """The directories of a TIFF file, or of one inside another file."""

    def __init__(self, data: bytes, start: int, stop: int, order: str) -> None:
        self._data, self._start, self._stop = data, start, stop
        self.order = order
        self.is_plain = self._number(start + 2, "H") == _TIFF_NUMBER and not data.startswith(
            _MARKS_BEHIND_HEADER, start + 8
        )
        self.first = self._number(start + 4, "I")

    @classmethod
    def at(cls, data: bytes, start: int, stop: int) -> "_Tiff | None":
        order = _BYTE_ORDERS.get(data[start : start + 2])
        if order is None or stop - start < 8:
            return None
        number = struct.unpack_from(f"{order}H", data, start + 2)[0]
        return cls(data, start, stop, order) if number in _TIFF_NUMBERS else None

    def _number(self, position: int, kind: str) -> int:
        if position < self._start or position + struct.calcsize(kind) > self._stop:
            return 0
        return int(struct.unpack_from(f"{self.order}{kind}", self._data, position)[0])

    def directory(self, offset: int) -> tuple[Directory, int]:
        """Return the entries of a directory, and where the next one is (0: nowhere)."""
        position = self._start + offset
        n_entries = self._number(position, "H") if offset else 0
        if not 0 < n_entries <= MAX_ENTRIES or position + 2 + 12 * n_entries > self._stop:
            return {}, 0
        entries: Directory = {}
        for index in range(n_entries):
            where = position + 2 + 12 * index
            tag, kind, count = struct.unpack_from(f"{self.order}HHI", self._data, where)
            length = _SIZES.get(kind, 0) * count
            place = where + 8 if length <= 4 else self._start + self._number(where + 8, "I")
            if 0 < length <= self._stop - place:
                entries.setdefault(tag, (kind, count, place))
        return entries, self._number(position + 2 + 12 * n_entries, "I")

    def numbers(self, directory: Directory, tag: int) -> tuple[int, ...]:
        """Return the first whole numbers of an entry."""
        kind, count, place = directory.get(tag, (0, 0, 0))
        if kind not in _INTEGERS:
            return ()
        return struct.unpack_from(f"{self.order}{min(count, MAX_POINTERS)}{_INTEGERS[kind]}", self._data, place)

    def number(self, directory: Directory, tag: int) -> int:
        """Return the one whole number of an entry; -1 where it has none."""
        return next(iter(self.numbers(directory, tag)), -1)

    def value(self, entry: Entry) -> bytes:
        """Return the bytes of an entry."""
        kind, count, place = entry
        return self._data[place : place + _SIZES[kind] * count]

    def span(self, offset: int, length: int) -> list[tuple[int, int]]:
        """Return a place in the file as (start, stop), none where it makes no sense."""
        start = self._start + offset
        return [(start, min(start + length, self._stop))] if offset > 0 and length > 0 else []


def _read_tiff(tiff: _Tiff, found: _Findings) -> None:
    waiting, seen = [tiff.first], set[int]()
    found.is_raw = found.is_raw or not tiff.is_plain
    first: Directory | None = None
    while waiting and len(seen) < MAX_DIRECTORIES:
        offset = waiting.pop(0)
        if offset in seen:
            continue
        seen.add(offset)
        directory, following = tiff.directory(offset)
        first = directory if first is None else first
        waiting += [*tiff.numbers(directory, _SUB_DIRECTORIES), following]
        is_sensor = (
            tiff.number(directory, _PHOTOMETRIC) in _SENSOR_PHOTOMETRICS
            or tiff.number(directory, _COMPRESSION) in _SENSOR_COMPRESSIONS
        )
        found.is_raw = found.is_raw or is_sensor or _DNG_VERSION in directory
        found.places += _places_in(tiff, directory, is_sensor)
    _read_facts(tiff, first or {}, found)


def _places_in(tiff: _Tiff, directory: Directory, is_sensor: bool) -> list[tuple[int, int]]:
    """Return where a directory says that a JPEG is."""
    places = tiff.span(tiff.number(directory, _JPEG_OFFSET), tiff.number(directory, _JPEG_LENGTH))
    if _PANASONIC_JPEG in directory:
        kind, count, place = directory[_PANASONIC_JPEG]
        places.append((place, place + _SIZES[kind] * count))
    offsets, lengths = tiff.numbers(directory, _STRIP_OFFSETS), tiff.numbers(directory, _STRIP_LENGTHS)
    is_jpeg = tiff.number(directory, _COMPRESSION) in _JPEG_COMPRESSIONS
    if is_jpeg and not is_sensor and len(offsets) == len(lengths) == 1:
        places += tiff.span(offsets[0], lengths[0])
    return places


def _read_facts(tiff: _Tiff, first: Directory, found: _Findings) -> None:
    orientation = tiff.number(first, _ORIENTATION)
    found.orientation = orientation if 1 <= orientation <= 8 else 0
    camera, _ = tiff.directory(max(tiff.number(first, _EXIF_POINTER), 0))
    position, _ = tiff.directory(max(tiff.number(first, _GPS_POINTER), 0))
    kept = {tag: entry for tag, entry in first.items() if tag in _FIRST_KEPT}
    found.exif = _exif_block(tiff.order, [_values(tiff, item) for item in (kept, camera, position)])


# EXIF anew -------------------------------------------------------------------------------------------------------

Values = dict[int, tuple[int, int, bytes]]  # type, count, bytes


def _values(tiff: _Tiff, directory: Directory) -> Values:
    """Return the values of a directory that are small: no maker's notes, no pointers."""
    return {
        tag: (entry[0], entry[1], tiff.value(entry))
        for tag, entry in directory.items()
        if _SIZES[entry[0]] * entry[1] <= LARGEST_EXIF_VALUE and tag != _INTEROP_POINTER
    }


def _exif_block(order: str, directories: list[Values]) -> bytes:
    """Return an EXIF block of three directories: of the picture, the camera and the position."""
    first, *others = directories
    if not any(directories):
        return b""
    header = (b"II*\0" if order == "<" else b"MM\0*") + struct.pack(f"{order}I", 8)
    pointers = {tag: values for tag, values in zip((_EXIF_POINTER, _GPS_POINTER), others, strict=True) if values}
    # The first directory is as long with pointers that lead nowhere, so that it tells where the others go.
    blank = {tag: (4, 1, struct.pack(f"{order}I", 0)) for tag in pointers}
    offset = 8 + len(_packed(order, first | blank, 8))
    parts = []
    for tag, values in pointers.items():
        blank[tag] = (4, 1, struct.pack(f"{order}I", offset))
        parts.append(_packed(order, values, offset))
        offset += len(parts[-1])
    return b"".join([header, _packed(order, first | blank, 8), *parts])


def _packed(order: str, values: Values, start: int) -> bytes:
    """Return a directory that lies at an offset, followed by its values."""
    entries, beyond = [], []
    offset = start + 6 + 12 * len(values)
    for tag, (kind, count, value) in sorted(values.items()):
        place = value.ljust(4, b"\0") if len(value) <= 4 else struct.pack(f"{order}I", offset)
        entries.append(struct.pack(f"{order}HHI", tag, kind, count) + place)
        if len(value) > 4:
            beyond.append(value + b"\0" * (len(value) % 2))
            offset += len(beyond[-1])
    return b"".join([struct.pack(f"{order}H", len(values)), *entries, b"\0\0\0\0", *beyond])


# files with a structure of their own ----------------------------------------------------------------------------


def _read_raf(data: bytes, found: _Findings) -> None:
    found.is_raw = True
    if len(data) >= _RAF_POINTER + 8:
        start, length = struct.unpack_from(">II", data, _RAF_POINTER)
        found.places.append((start, start + length))


def _read_cr3(data: bytes, found: _Findings) -> None:
    found.is_raw = True
    directories: dict[bytes, Values] = {}
    order = "<"
    sample_length = 0
    for kind, start, stop in _boxes(data):
        if kind in (b"CMT1", b"CMT2", b"CMT4"):
            tiff = _Tiff.at(data, start, stop)
            if tiff is None:
                continue
            directory, _ = tiff.directory(tiff.first)
            if kind == b"CMT1":
                order = tiff.order
                orientation = tiff.number(directory, _ORIENTATION)
                found.orientation = orientation if 1 <= orientation <= 8 else 0
                directory = {tag: entry for tag, entry in directory.items() if tag in _FIRST_KEPT}
            if tiff.order == order:
                directories[kind] = _values(tiff, directory)
        elif kind in (b"PRVW", b"THMB"):
            position = data.find(_START, start, min(stop, start + 64))
            found.places += [(position, stop)] if position >= 0 else []
        elif kind == b"stsz" and stop - start >= 12:  # the length of samples, in the first track those of a JPEG
            sample_length = int.from_bytes(data[start + 4 : start + 8], "big")
            if sample_length == 0 and stop - start >= 16:
                sample_length = int.from_bytes(data[start + 12 : start + 16], "big")
        elif kind in (b"co64", b"stco") and stop - start >= 16:
            width = 8 if kind == b"co64" else 4
            offset = int.from_bytes(data[start + 8 : start + 8 + width], "big")
            found.places.append((offset, offset + sample_length))
    found.exif = _exif_block(order, [directories.get(kind, {}) for kind in (b"CMT1", b"CMT2", b"CMT4")])


def _boxes(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Yield kind, start and stop of the content of boxes, those inside others after them, in the file's order."""
    stack = [(0, len(data))]
    for _ in range(MAX_BOXES):
        while stack and stack[-1][0] + 8 > stack[-1][1]:
            stack.pop()
        if not stack:
            return
        position, stop = stack.pop()
        length, kind = int.from_bytes(data[position : position + 4], "big"), data[position + 4 : position + 8]
        begin = position + 8
        if length == 1:
            length, begin = int.from_bytes(data[begin : begin + 8], "big"), begin + 8
        end = stop if length == 0 else position + length
        if end <= position or end < begin or end > stop:
            continue  # what follows in this box cannot be trusted
        stack.append((end, stop))
        if kind == b"uuid":
            name = data[begin : begin + 16]
            if name == _CR3_METADATA:
                stack.append((begin + 16, end))
            elif name == _CR3_PREVIEW:
                stack.append((begin + 24, end))
        elif kind in _CONTAINERS:
            stack.append((begin, end))
        else:
            yield kind, begin, end


SMALLEST_PREVIEW = 320  # pixels of the longer side: less than that is a thumbnail
N_PREVIEWS = 3
BYTES_PER_PIXEL = 24  # of the sensor, to develop it: sensor values, four colours of 16 bits, the picture, copies


def decode_raw(data: bytes, settings: DecodeSettings) -> Decoded:
    """Decode a RAW file by its largest preview; one without a preview that will do is developed if rawpy is installed.

    Parameters
    ----------
    data : bytes
        The file's content. Where it is no RAW file but a photo, it is decoded as such.
    settings : DecodeSettings
        What to make of it, and limits.

    Raises
    ------
    Refused
        With the verdict on a photo that cannot be decoded. Nothing else is raised.
    """
    raw = read_raw(data, smallest=SMALLEST_PREVIEW)
    previews = [item for item in raw.previews if max(item.width, item.height) >= SMALLEST_PREVIEW]
    if not raw.is_raw and (data.startswith(BEGINNINGS) or not previews):
        return decode_bytes(data, settings)
    refusal: Refused | None = None
    for item in previews[:N_PREVIEWS]:
        try:
            return decode_preview(
                data[item.start : item.stop],
                settings,
                orientation=raw.orientation,
                exif=raw.exif,
                n_held=len(data),
            )
        except Refused as refused:
            refusal = refusal or refused
    if refusal is not None:
        raise refusal
    return judged(lambda: _develop(data, raw, settings), data, settings)


def _develop(data: bytes, raw: RawContent, settings: DecodeSettings) -> Decoded:
    try:
        import rawpy  # optional: the extra "raw"
    except ImportError as error:
        raise Refused(
            Verdict.UNREADABLE,
            f"a RAW file without a preview of at least {SMALLEST_PREVIEW} pixels; to read it: "
            f"pip install 'tagloom[raw]'",
        ) from error
    with rawpy.imread(io.BytesIO(data)) as picture:
        sizes = picture.sizes
        n_pixels = sizes.raw_width * sizes.raw_height
        _check(n_pixels, len(data), settings)
        is_large = reduction(sizes.width, sizes.height, settings.working_side) > 1
        pixels = picture.postprocess(half_size=is_large, use_camera_wb=True, output_bps=8)
    height, width = pixels.shape[:2]
    image = Image.frombytes("RGB", (width, height), pixels.tobytes())
    factor = 2 if is_large else 1
    return finished(shrink_to_rgb(image, settings.working_side), (factor * width, factor * height), raw.exif, settings)


def _check(n_pixels: int, n_file: int, settings: DecodeSettings) -> None:
    """Refuse by its header what may be a bomb, or needs more memory than is allowed."""
    if n_pixels > settings.max_pixels:
        raise Refused(
            Verdict.TOO_LARGE,
            f"the header claims {n_pixels:,} pixels, more than the {settings.max_pixels:,} allowed; raise max_pixels "
            f"if the photo is genuine",
        )
    need, allowed = n_pixels * BYTES_PER_PIXEL, settings.memory_limit - RESERVED_MEMORY - n_file
    if need > allowed:
        raise Refused(
            Verdict.TOO_LARGE,
            f"the RAW picture needs about {need >> 20} MiB to develop, more than the {allowed >> 20} MiB allowed; "
            f"raise memory_limit",
        )
