"""The raw XMP and IPTC blocks inside JPEG, PNG, TIFF and WebP files, found without decoding the picture.

Files are untrusted. Every length is checked against a limit before anything of that length is read, every walk has a
limit on its steps, and a file that makes no sense simply has no blocks from there on.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from tagloom.exceptions import MetadataError
from tagloom.metadata.xmp_tree import LARGEST_XMP

__all__ = ["EmbeddedBlocks", "find_blocks", "read_blocks"]

LARGEST_IPTC = 1 << 20
MOST_STEPS = 1 << 20

_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_EXTENDED_XMP = b"http://ns.adobe.com/xmp/extension/\0"
_PHOTOSHOP = b"Photoshop 3.0\0"
_PNG_XMP = b"XML:com.adobe.xmp\0"
_IPTC_RESOURCE = 0x0404
_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP = 700, 33723, 34377
_TIFF_SIZES = {1: 1, 2: 1, 4: 4, 7: 1}


@dataclass(frozen=True, slots=True)
class EmbeddedBlocks:
    """What a photo file holds beside the picture.

    Parameters
    ----------
    xmp : bytes
        The XMP packet, or empty.
    extended_xmp : bytes
        The part of a JPEG's XMP that did not fit into the packet, a packet of its own, or empty.
    iptc : bytes
        The IPTC datasets, or empty.
    """

    xmp: bytes = b""
    extended_xmp: bytes = b""
    iptc: bytes = b""


def read_blocks(path: bytes) -> EmbeddedBlocks:
    """Return the blocks of a photo file.

    Parameters
    ----------
    path : bytes
        The file. In a format that is not known here there are no blocks.

    Raises
    ------
    MetadataError
        If it is no file, or cannot be read.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe could wait for ever
            raise MetadataError("expected a file, got something else; it is not read")
        with open(path, "rb") as handle:
            return find_blocks(handle)
    except OSError as error:
        raise MetadataError(f"the system could not read the file: {error.strerror or error}") from error


def find_blocks(handle: IO[bytes]) -> EmbeddedBlocks:
    """Return the blocks of a photo in an open file.

    Parameters
    ----------
    handle : binary file
        Seekable.
    """
    handle.seek(0)
    head = handle.read(12)
    try:
        if head.startswith(b"\xff\xd8"):
            return _jpeg(handle)
        if head.startswith(b"\x89PNG\r\n\x1a\n"):
            return _png(handle)
        if head.startswith((b"II*\0", b"MM\0*")):
            return _tiff(handle, "<" if head.startswith(b"II") else ">")
        if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
            return _webp(handle)
    except (struct.error, zlib.error):
        pass
    return EmbeddedBlocks()


def _jpeg(handle: IO[bytes]) -> EmbeddedBlocks:
    xmp, photoshop = b"", b""
    extended: dict[bytes, list[tuple[int, int, bytes]]] = {}
    for marker, data in _segments(handle):
        if marker == 0xE1 and data.startswith(_XMP):
            xmp = xmp or data[len(_XMP) :]
        elif marker == 0xE1 and data.startswith(_EXTENDED_XMP) and len(data) > len(_EXTENDED_XMP) + 40:
            start = len(_EXTENDED_XMP)
            total, offset = struct.unpack_from(">II", data, start + 32)
            extended.setdefault(data[start : start + 32], []).append((total, offset, data[start + 40 :]))
        elif marker == 0xED and data.startswith(_PHOTOSHOP):
            photoshop += data[len(_PHOTOSHOP) :]  # a long block goes on in the next segment
    return EmbeddedBlocks(xmp, _assembled(xmp, extended), _resource(photoshop, _IPTC_RESOURCE))


def _segments(handle: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield the application segments of a JPEG before its picture."""
    handle.seek(2)
    for _ in range(MOST_STEPS):
        head = handle.read(4)
        if len(head) < 4 or head[0] != 0xFF:
            return
        marker = head[1]
        if marker == 0xFF:  # a fill byte
            handle.seek(-3, os.SEEK_CUR)
            continue
        length = int.from_bytes(head[2:], "big") - 2
        if marker in (0xDA, 0xD9) or length < 0:
            return
        if marker in (0xE1, 0xED):
            yield marker, handle.read(length)
        else:
            handle.seek(length, os.SEEK_CUR)


def _assembled(xmp: bytes, parts: dict[bytes, list[tuple[int, int, bytes]]]) -> bytes:
    """Return the extended packet that the main one names, if all its parts are there."""
    chosen = next((parts[name] for name in parts if name in xmp), [])
    whole, total = b"", chosen[0][0] if chosen else 0
    for _, offset, data in sorted(chosen, key=lambda part: part[1]):
        if offset != len(whole) or len(whole) > LARGEST_XMP:
            return b""
        whole += data
    return whole if len(whole) == total else b""


def _resource(block: bytes, wanted: int) -> bytes:
    """Return one of Photoshop's image resources."""
    position = 0
    while block[position : position + 4] == b"8BIM" and position + 12 <= len(block):
        (number,) = struct.unpack_from(">H", block, position + 4)
        position += 6
        position += (block[position] + 2) & ~1  # the name, with its length, padded to an even number of bytes
        size = int.from_bytes(block[position : position + 4], "big")
        position += 4
        if number == wanted:
            return block[position : position + size]
        position += (size + 1) & ~1
    return b""


def _png(handle: IO[bytes]) -> EmbeddedBlocks:
    handle.seek(8)
    for _ in range(MOST_STEPS):
        head = handle.read(8)
        if len(head) < 8 or head[4:] == b"IEND":
            break
        length = int.from_bytes(head[:4], "big")
        if head[4:] == b"iTXt" and length <= LARGEST_XMP:
            data = handle.read(length)
            handle.seek(4, os.SEEK_CUR)
            if data.startswith(_PNG_XMP):
                return EmbeddedBlocks(xmp=_international_text(data[len(_PNG_XMP) :]))
        else:
            handle.seek(length + 4, os.SEEK_CUR)
    return EmbeddedBlocks()


def _international_text(data: bytes) -> bytes:
    compressed = data[:1] == b"\1"
    text = data[2:].split(b"\0", 2)[-1]  # after language and translated keyword
    if not compressed:
        return text
    inflater = zlib.decompressobj()
    inflated = inflater.decompress(text, LARGEST_XMP)
    return b"" if inflater.unconsumed_tail else inflated


def _webp(handle: IO[bytes]) -> EmbeddedBlocks:
    handle.seek(12)
    for _ in range(MOST_STEPS):
        head = handle.read(8)
        if len(head) < 8:
            break
        length = int.from_bytes(head[4:], "little")
        if head[:4] == b"XMP " and length <= LARGEST_XMP:
            return EmbeddedBlocks(xmp=handle.read(length))
        handle.seek(length + (length & 1), os.SEEK_CUR)
    return EmbeddedBlocks()


def _tiff(handle: IO[bytes], order: str) -> EmbeddedBlocks:
    """Read the first directory, which is also where raw files of many cameras have these blocks."""
    handle.seek(4)
    handle.seek(struct.unpack(order + "I", handle.read(4))[0])
    (n_entries,) = struct.unpack(order + "H", handle.read(2))
    entries = handle.read(12 * n_entries)
    values = {}
    for start in range(0, len(entries) - 11, 12):
        tag, kind, count = struct.unpack_from(order + "HHI", entries, start)
        limit = LARGEST_XMP if tag == _TIFF_XMP else LARGEST_IPTC
        n_bytes = _TIFF_SIZES.get(kind, 0) * count
        if tag in (_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP) and 4 < n_bytes <= limit:
            handle.seek(struct.unpack_from(order + "I", entries, start + 8)[0])
            values[tag] = _as_written(handle.read(n_bytes), kind, order)
    iptc = values.get(_TIFF_IPTC) or _resource(values.get(_TIFF_PHOTOSHOP, b""), _IPTC_RESOURCE)
    return EmbeddedBlocks(xmp=values.get(_TIFF_XMP, b""), iptc=iptc)


def _as_written(data: bytes, kind: int, order: str) -> bytes:
    """Return the bytes of a value; some programs store IPTC as 32-bit numbers of the file's byte order."""
    if kind == 4 and order == "<" and not data.startswith(b"\x1c"):
        whole = len(data) // 4
        return struct.pack(f">{whole}I", *struct.unpack(f"<{whole}I", data[: 4 * whole]))
    return data
