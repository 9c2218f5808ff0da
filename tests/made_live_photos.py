"""Live Photos and Motion Photos made of boxes: a still, and a video of which only the headers are true."""

import io
import struct

from PIL import Image

PAIR = b"01234567-89AB-CDEF-0123-456789ABCDEF"
OTHER_PAIR = b"FEDCBA98-7654-3210-FEDC-BA9876543210"


def box(name, content=b""):
    """Return a box of MP4."""
    return struct.pack(">I", 8 + len(content)) + name + content


def movie(seconds=3.0, *, pair=b"", version=0, moov_first=False):
    """Return the bytes of an MP4 file of some length that no decoder can read."""
    scale = 600
    length = int(seconds * scale)
    times = struct.pack(">QQIQ", 0, 0, scale, length) if version else struct.pack(">IIII", 0, 0, scale, length)
    header = box(b"mvhd", bytes([version, 0, 0, 0]) + times + bytes(80))
    meta = box(b"meta", b"com.apple.quicktime.content.identifier" + bytes(20) + pair) if pair else b""
    moov, mdat = box(b"moov", header + meta), box(b"mdat", b"\x17ftyp" * 50)
    return box(b"ftyp", b"qt  " + bytes(4)) + (moov + mdat if moov_first else mdat + moov)


def still(colour="red", *, pair=b""):
    """Return a JPEG, with the note of Apple's camera if a name for the pair is given."""
    exif = Image.Exif()
    if pair:
        exif[0x927C] = b"Apple iOS\0\0\x01MM\0\x01" + bytes(20) + pair + b"\0"
    file = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(file, "JPEG", exif=exif)
    return file.getvalue()
