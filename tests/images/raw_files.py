"""RAW files made on the spot: the directories of real cameras' files around a JPEG preview and a small sensor."""

import struct

import numpy as np

MAKE, MODEL, ORIENTATION, STRIPS, LENGTHS, SUB, JPEG, JPEG_LENGTH = 271, 272, 274, 273, 279, 330, 513, 514
WIDTH, HEIGHT, BITS, COMPRESSION, PHOTOMETRIC, SAMPLES, ROWS, SUBFILE = 256, 257, 258, 259, 262, 277, 278, 254
EXIF, GPS, TAKEN, DNG_VERSION = 0x8769, 0x8825, 0x9003, 50706
KINDS = {1: "B", 3: "H", 4: "I"}


class Tiff:
    """A TIFF file under construction: blobs and directories get their offsets as they are added."""

    def __init__(self, header: bytes = b"II*\0", extra: bytes = b"") -> None:
        self.order = "<" if header[:2] == b"II" else ">"
        self.data = bytearray(header + bytes(4) + extra)

    def blob(self, content: bytes) -> int:
        """Add bytes; return where."""
        self.data += bytes(-len(self.data) % 2)
        self.data += content
        return len(self.data) - len(content)

    def directory(self, entries: dict, following: int = 0) -> int:
        """Add a directory of {tag: int, list of ints, text or (kind, values)}; return where."""
        packed = []
        for tag, value in sorted(entries.items()):
            kind, values = value if isinstance(value, tuple) else (None, value)
            if isinstance(values, str):
                content, kind, count = values.encode() + b"\0", 2, len(values) + 1
            elif isinstance(values, bytes):
                content, kind, count = values, kind or 7, len(values)
            else:
                values = values if isinstance(values, list) else [values]
                kind = kind or 4
                content, count = struct.pack(f"{self.order}{len(values)}{KINDS[kind]}", *values), len(values)
            place = content.ljust(4, b"\0") if len(content) <= 4 else struct.pack(f"{self.order}I", self.blob(content))
            packed.append(struct.pack(f"{self.order}HHI", tag, kind, count) + place)
        body = struct.pack(f"{self.order}H", len(packed)) + b"".join(packed) + struct.pack(f"{self.order}I", following)
        return self.blob(body)

    def finish(self, first: int) -> bytes:
        """Return the file, its first directory at an offset."""
        struct.pack_into(f"{self.order}I", self.data, 4, first)
        return bytes(self.data)


def sensor(width: int = 64, height: int = 48) -> bytes:
    """Return sensor values of 16 bits."""
    return np.random.default_rng(0).integers(0, 4096, size=(height, width), dtype=np.uint16).tobytes()


def _sensor_directory(tiff: Tiff, width: int = 64, height: int = 48) -> int:
    content = sensor(width, height)
    values = {SUBFILE: 0, WIDTH: width, HEIGHT: height, BITS: (3, [16]), COMPRESSION: (3, [1])}
    values |= {PHOTOMETRIC: (3, [32803]), STRIPS: tiff.blob(content), SAMPLES: (3, [1]), ROWS: height}
    values |= {LENGTHS: len(content), 33421: (3, [2, 2]), 33422: (1, [0, 1, 1, 2])}
    return tiff.directory(values)


def _first(orientation: int, make: str, tiff: Tiff) -> dict:
    taken = tiff.directory({TAKEN: "2021:07:04 12:34:56", 0x927C: b"x" * 9000})
    return {MAKE: make, MODEL: "Model", ORIENTATION: (3, [orientation]), EXIF: taken}


def nef(preview: bytes, *, orientation: int = 1, header: bytes = b"MM\0*") -> bytes:
    """Return a file as Nikon, Sony, Pentax and Samsung build them: a tiny first picture, preview and sensor below."""
    tiff = Tiff(header)
    jpeg = tiff.directory({SUBFILE: 1, COMPRESSION: (3, [6]), JPEG: tiff.blob(preview), JPEG_LENGTH: len(preview)})
    tiny = bytes(16 * 12 * 3)
    first = _first(orientation, "NIKON", tiff) | {SUB: [jpeg, _sensor_directory(tiff)], SUBFILE: 1, WIDTH: 16}
    first |= {HEIGHT: 12, BITS: (3, [8, 8, 8]), COMPRESSION: (3, [1]), PHOTOMETRIC: (3, [2]), SAMPLES: (3, [3])}
    first |= {STRIPS: tiff.blob(tiny), LENGTHS: len(tiny), ROWS: 12}
    return tiff.finish(tiff.directory(first))


def cr2(preview: bytes, *, orientation: int = 1) -> bytes:
    """Return a file as Canon builds them: the preview is the first picture, a chain of directories follows."""
    tiff = Tiff(extra=b"CR\2\0" + bytes(4))
    lossless = b"\xff\xd8\xff\xc3\x00\x0b\x0e\x00\x30\x00\x40\x01\x00\x11\x00" + bytes(64)
    last = tiff.directory({COMPRESSION: (3, [6]), STRIPS: tiff.blob(lossless), LENGTHS: len(lossless)})
    first = _first(orientation, "Canon", tiff) | {COMPRESSION: (3, [6]), STRIPS: tiff.blob(preview)}
    return tiff.finish(tiff.directory(first | {LENGTHS: len(preview)}, last))


def dng(preview: bytes = b"", *, orientation: int = 1, width: int = 64, height: int = 48) -> bytes:
    """Return a DNG; without a preview it has the sensor alone."""
    tiff = Tiff()
    matrix = b"".join(struct.pack("<ii", value, 1) for value in (1, 0, 0, 0, 1, 0, 0, 0, 1))
    first = _first(orientation, "Maker", tiff) | {DNG_VERSION: (1, [1, 4, 0, 0]), 50708: "Maker Model"}
    first |= {50721: (10, matrix), 50778: (3, [21]), 50717: 4095}
    subs = [_sensor_directory(tiff, width, height)]
    if preview:
        values = {SUBFILE: 1, COMPRESSION: (3, [7]), PHOTOMETRIC: (3, [6]), STRIPS: tiff.blob(preview)}
        subs.append(tiff.directory(values | {LENGTHS: len(preview)}))
    return tiff.finish(tiff.directory(first | {SUB: subs}))


def rw2(preview: bytes, *, orientation: int = 1) -> bytes:
    """Return a file as Panasonic builds them: the preview is the value of an entry."""
    tiff = Tiff(b"IIU\0")
    return tiff.finish(tiff.directory(_first(orientation, "Panasonic", tiff) | {0x2E: preview}))


def orf(preview: bytes, *, orientation: int = 1) -> bytes:
    """Return a file as Olympus builds them: no directory that is read leads to the preview."""
    tiff = Tiff(b"IIRO")
    tiff.blob(preview)
    return tiff.finish(tiff.directory(_first(orientation, "OLYMPUS", tiff)))


def mrw(preview: bytes, *, orientation: int = 1) -> bytes:
    """Return a file as Minolta built them: blocks, one of them a TIFF file, and the preview somewhere behind."""
    tiff = Tiff()
    facts = tiff.finish(tiff.directory(_first(orientation, "Minolta", tiff)))
    blocks = b"\0PRD" + struct.pack(">I", 24) + bytes(24) + b"\0TTW" + struct.pack(">I", len(facts)) + facts
    return b"\0MRM" + struct.pack(">I", len(blocks)) + blocks + sensor() + preview


def iiq(preview: bytes, *, orientation: int = 1) -> bytes:
    """Return a file as Phase One builds them: a TIFF file with a mark behind its header."""
    tiff = Tiff(extra=b"IIIITwaR")
    tiff.blob(preview)
    return tiff.finish(tiff.directory(_first(orientation, "Phase One", tiff)))


def raf(preview: bytes) -> bytes:
    """Return a file as Fujifilm builds them; its preview has the EXIF."""
    head = b"FUJIFILMCCD-RAW 0201FF383501X-T4".ljust(84, b"\0")
    return head + struct.pack(">II", 148, len(preview)) + bytes(148 - 92) + preview + sensor()


def box(kind: bytes, content: bytes) -> bytes:
    """Return a box of an ISO file."""
    return struct.pack(">I", 8 + len(content)) + kind + content


def cr3(preview: bytes, full: bytes = b"", *, orientation: int = 1) -> bytes:
    """Return a file as newer Canons build them: a middling preview in a box, a full one in the first track."""

    def block(values: dict) -> bytes:
        tiff = Tiff()
        return tiff.finish(tiff.directory(values))

    facts = box(b"CMT1", block({MAKE: "Canon", MODEL: "EOS R", ORIENTATION: (3, [orientation])}))
    facts += box(b"CMT2", block({TAKEN: "2021:07:04 12:34:56"})) + box(b"CMT4", block({1: "N"}))
    metadata = box(b"uuid", bytes.fromhex("85c0b687820f11e08111f4ce462b6a48") + facts)
    shown = box(b"PRVW", bytes(6) + struct.pack(">HHHHI", 1, 0, 0, 1, len(preview)) + preview)
    shown = box(b"uuid", bytes.fromhex("eaf42b5e1c984b88b9fbb7dc406e4d16") + bytes(8) + shown)
    begin = box(b"ftyp", b"crx \0\0\0\1crx isom")

    def moov(offset: int) -> bytes:
        table = box(b"stsz", struct.pack(">IIII", 0, 0, 1, len(full))) + box(b"co64", struct.pack(">IIQ", 0, 1, offset))
        track = box(b"trak", box(b"mdia", box(b"minf", box(b"stbl", table))))
        return box(b"moov", metadata + (track if full else b""))

    offset = len(begin) + len(moov(0)) + len(shown) + 8
    return begin + moov(offset) + shown + box(b"mdat", full + sensor())
