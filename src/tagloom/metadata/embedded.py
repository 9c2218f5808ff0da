"""XMP and IPTC blocks and the keywords of Windows in JPEG, PNG, TIFF and WebP files, found without decoding pictures.

Files are untrusted. Every length is checked against a limit before anything of that length is read, every walk has a
limit on its steps, and a file that makes no sense simply has no blocks from there on.
"""

import os
import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import IO

from tagloom.exceptions import MetadataError
from tagloom.metadata.xmp_tree import LARGEST_XMP

__all__ = ["EmbeddedBlocks", "find_blocks", "read_blocks"]

LARGEST_IPTC = 1 << 20
LARGEST_BLOCKS = 4 * LARGEST_XMP  # of all segments of a JPEG together
MOST_STEPS = 1 << 20

_XMP = b"http://ns.adobe.com/xap/1.0/\0"
_EXTENDED_XMP = b"http://ns.adobe.com/xmp/extension/\0"
_PHOTOSHOP = b"Photoshop 3.0\0"
_PNG_XMP = b"XML:com.adobe.xmp\0"
_IPTC_RESOURCE = 0x0404
_EXIF = b"Exif\0\0"
_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP, _TIFF_XP_KEYWORDS = 700, 33723, 34377, 0x9C9E
_TIFF_WANTED = frozenset({_TIFF_XMP, _TIFF_IPTC, _TIFF_PHOTOSHOP, _TIFF_XP_KEYWORDS})
_TIFF_ORDERS = {b"II*\0": "<", b"MM\0*": ">"}
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
    xp_keywords : tuple of str
        The field ``XPKeywords`` of EXIF, in which Windows keeps keywords.
    """

    xmp: bytes = b""
    extended_xmp: bytes = b""
    iptc: bytes = b""
    xp_keywords: tuple[str, ...] = ()


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
        if head[:4] in _TIFF_ORDERS:
            return _tiff(handle, _TIFF_ORDERS[head[:4]])
        if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
            return _webp(handle)
    except (struct.error, zlib.error):
        pass
    return EmbeddedBlocks()


def _jpeg(handle: IO[bytes]) -> EmbeddedBlocks:
    xmp, exif = b"", b""
    photoshop: list[bytes] = []
    n_kept = 0
    extended: dict[bytes, list[tuple[int, int, bytes]]] = {}
    for marker, data in _segments(handle):
        n_kept += len(data)
        if n_kept > LARGEST_BLOCKS:
            break
        if marker == 0xE1 and data.startswith(_XMP):
            xmp = xmp or data[len(_XMP) :]
        elif marker == 0xE1 and data.startswith(_EXTENDED_XMP) and len(data) > len(_EXTENDED_XMP) + 40:
            start = len(_EXTENDED_XMP)
            total, offset = struct.unpack_from(">II", data, start + 32)
            extended.setdefault(data[start : start + 32], []).append((total, offset, data[start + 40 :]))
        elif marker == 0xE1 and data.startswith(_EXIF):
            exif = exif or data[len(_EXIF) :]
        elif marker == 0xED and data.startswith(_PHOTOSHOP):
            photoshop.append(data[len(_PHOTOSHOP) :])  # a long block goes on in the next segment
    iptc = _resource(b"".join(photoshop), _IPTC_RESOURCE)
    iptc = iptc if len(iptc) <= LARGEST_IPTC else b""
    return EmbeddedBlocks(xmp, _assembled(xmp, extended), iptc, _xp_keywords(exif))


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
    whole, total = bytearray(), chosen[0][0] if chosen else 0
    for _, offset, data in sorted(chosen, key=lambda part: part[1]):
        if offset != len(whole) or len(whole) > LARGEST_XMP:
            return b""
        whole += data
    return bytes(whole) if len(whole) == total else b""


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
    xmp, exif = b"", b""
    for _ in range(MOST_STEPS):
        head = handle.read(8)
        if len(head) < 8 or head[4:] == b"IEND":
            break
        length = int.from_bytes(head[:4], "big")
        if head[4:] in (b"iTXt", b"eXIf") and length <= LARGEST_XMP:
            data = handle.read(length)
            handle.seek(4, os.SEEK_CUR)
            if head[4:] == b"eXIf":
                exif = exif or data
            elif data.startswith(_PNG_XMP):
                xmp = xmp or _international_text(data[len(_PNG_XMP) :])
        else:
            handle.seek(length + 4, os.SEEK_CUR)
    return EmbeddedBlocks(xmp=xmp, xp_keywords=_xp_keywords(exif))


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
    xmp, exif = b"", b""
    for _ in range(MOST_STEPS):
        head = handle.read(8)
        if len(head) < 8:
            break
        length = int.from_bytes(head[4:], "little")
        if head[:4] in (b"XMP ", b"EXIF") and length <= LARGEST_XMP:
            data = handle.read(length + (length & 1))[:length]
            xmp, exif = (xmp or data, exif) if head[:4] == b"XMP " else (xmp, exif or data)
        else:
            handle.seek(length + (length & 1), os.SEEK_CUR)
    return EmbeddedBlocks(xmp=xmp, xp_keywords=_xp_keywords(exif.removeprefix(_EXIF)))


def _tiff(handle: IO[bytes], order: str) -> EmbeddedBlocks:
    """Read the first directory, which is also where raw files of many cameras have these blocks."""
    values = _directory(handle, order)
    iptc = values.get(_TIFF_IPTC) or _resource(values.get(_TIFF_PHOTOSHOP, b""), _IPTC_RESOURCE)
    return EmbeddedBlocks(
        xmp=values.get(_TIFF_XMP, b""), iptc=iptc, xp_keywords=_listed(values.get(_TIFF_XP_KEYWORDS, b""))
    )


def _directory(handle: IO[bytes], order: str) -> dict[int, bytes]:
    """Return the values of the first directory that are of use here."""
    handle.seek(4)
    handle.seek(struct.unpack(order + "I", handle.read(4))[0])
    (n_entries,) = struct.unpack(order + "H", handle.read(2))
    entries = handle.read(12 * n_entries)
    values = {}
    for start in range(0, len(entries) - 11, 12):
        tag, kind, count = struct.unpack_from(order + "HHI", entries, start)
        limit = LARGEST_XMP if tag == _TIFF_XMP else LARGEST_IPTC
        n_bytes = _TIFF_SIZES.get(kind, 0) * count
        if tag in _TIFF_WANTED and 4 < n_bytes <= limit:
            handle.seek(struct.unpack_from(order + "I", entries, start + 8)[0])
            values[tag] = _as_written(handle.read(n_bytes), kind, order)
        elif tag == _TIFF_XP_KEYWORDS and 0 < n_bytes <= 4:
            values[tag] = entries[start + 8 : start + 8 + n_bytes]
    return values


def _xp_keywords(exif: bytes) -> tuple[str, ...]:
    """Return the keywords of an EXIF block; none where it makes no sense."""
    order = _TIFF_ORDERS.get(exif[:4])
    if order is None:
        return ()
    try:
        return _listed(_directory(BytesIO(exif), order).get(_TIFF_XP_KEYWORDS, b""))
    except struct.error:
        return ()


def _listed(value: bytes) -> tuple[str, ...]:
    """Return the items of a text in UTF-16 with semicolons between them, as Windows writes it."""
    text = value.decode("utf-16-le", errors="replace").split("\0", 1)[0]
    return tuple(dict.fromkeys(item.strip() for item in text.split(";") if item.strip()))


def _as_written(data: bytes, kind: int, order: str) -> bytes:
    """Return the bytes of a value; some programs store IPTC as 32-bit numbers of the file's byte order."""
    if kind == 4 and order == "<" and not data.startswith(b"\x1c"):
        whole = len(data) // 4
        return struct.pack(f">{whole}I", *struct.unpack(f"<{whole}I", data[: 4 * whole]))
    return data
