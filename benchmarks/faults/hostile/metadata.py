"""Photos and sidecars whose metadata means harm: XMP, EXIF, IPTC and text chunks."""

import io
import random
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from PIL import Image

N_TRUNCATED = 40
N_MUTATED = 60
_RDF = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"'


@dataclass(frozen=True, slots=True)
class BadFile:
    """A file to lay beside the good photos: family, name, what it is called there, its bytes."""

    family: str
    name: str
    file: str
    data: bytes


def files() -> list[BadFile]:
    """Return all hostile photos and sidecars."""
    return [*_sidecars(), *_chunks(), *_jpegs(), *_tiffs(), *_others(), *_damaged()]


def xmp(body: str = "", *, head: str = "", attributes: str = "") -> bytes:
    """Return a packet with something inside its description."""
    return (
        f'{head}<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF {_RDF}><rdf:Description rdf:about="" {attributes}>'
        f"{body}</rdf:Description></rdf:RDF></x:xmpmeta>"
    ).encode(errors="surrogateescape")


def subjects(*items: str) -> str:
    """Return the element that holds keywords."""
    return f"<dc:subject><rdf:Bag>{''.join(f'<rdf:li>{item}</rdf:li>' for item in items)}</rdf:Bag></dc:subject>"


def namespace_bomb(n_bytes: int) -> bytes:
    """Return a packet in which one long namespace is declared, and elements are nested inside it."""
    space = "n" * (n_bytes // 4)
    depth = 200
    body = "".join(f'<a{i}:x xmlns:a{i}="{space[: n_bytes // depth]}{i}">' for i in range(depth))
    return xmp(body + "".join(f"</a{i}:x>" for i in reversed(range(depth))))


def _texts() -> Iterator[tuple[str, bytes]]:
    """Yield packets by name, for sidecars and for photos alike."""
    yield "namespaces of 1 MB, nested", namespace_bomb(1_000_000)
    long = "u" * 30_000
    many = "".join(f'<p{i}:e xmlns:p{i}="http://{long}/{i}"/>' for i in range(35))
    yield "35 namespaces of 30 kB", xmp(many)
    one = f'<q:a xmlns:q="http://{"v" * 200_000}">' + "<q:b/>" * 40_000 + "</q:a>"
    yield "one namespace of 200 kB, 40,000 elements", xmp(one)
    yield "100,000 keywords", xmp(subjects(*(f"k{i}" for i in range(100_000))))
    yield "a keyword of 5 MB", xmp(subjects("k" * 5_000_000))
    yield "50,000 attributes", xmp(attributes=" ".join(f'dc:a{i}="x"' for i in range(50_000)))
    yield "nested 100,000 deep", xmp("<dc:a>" * 100_000 + "</dc:a>" * 100_000)
    yield "nested 5,000 deep", xmp("<dc:a>" * 5_000 + "</dc:a>" * 5_000)
    laughs = '<!DOCTYPE x [<!ENTITY a "haha">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)
    )
    yield "a billion laughs", xmp(subjects("&j;"), head=laughs + "]>")
    yield "an entity from a file", xmp(subjects("&f;"), head='<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]>')
    yield "an entity from a server", xmp(head='<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">')
    yield "a parameter entity", xmp(head='<!DOCTYPE x [<!ENTITY % p SYSTEM "file:///dev/zero"> %p;]>')
    yield "quadratic blow-up", xmp(subjects("&a;" * 20_000), head=f'<!DOCTYPE x [<!ENTITY a "{"x" * 20_000}">]>')
    yield "comments of 8 MB", xmp("<!--" + "c" * 8_000_000 + "-->")
    yield "200,000 processing instructions", xmp("<?p x?>" * 200_000)
    yield "NUL bytes", xmp(subjects("a\0b"))
    yield "control characters", xmp(subjects("a&#27;]0;owned&#7;b"))
    yield "not UTF-8", xmp(subjects("a\udcffb"))
    yield "UTF-16 without a mark", xmp(subjects("a")).decode().encode("utf-16-le")
    yield "UTF-16 with a mark", xmp(subjects("a")).decode().encode("utf-16")
    yield "another encoding", xmp(subjects("a"), head='<?xml version="1.0" encoding="EBCDIC-CP-BE"?>')
    yield "empty", b""
    yield "only blanks", b" " * 2_000_000
    yield "only markup", b"<" * 1_000_000
    yield "not XML", bytes(range(256)) * 4_000
    yield "two roots", xmp(subjects("a")) * 2
    yield "rdf:about of 4 MB", xmp(attributes=f'dc:title="{"t" * 4_000_000}"')
    yield (
        "bags inside bags",
        xmp("<dc:subject>" + "<rdf:Bag><rdf:li>" * 2_000 + "</rdf:li></rdf:Bag>" * 2_000 + "</dc:subject>"),
    )
    resources = "".join(f'<rdf:li rdf:parseType="Resource"><dc:x>{i}</dc:x></rdf:li>' for i in range(20_000))
    yield "20,000 resources", xmp(f"<dc:subject><rdf:Bag>{resources}</rdf:Bag></dc:subject>")
    yield "a keyword with 60,000 levels", xmp(subjects("|".join("a" * 60_000)))
    yield "bidi and zero width", xmp(subjects("\u202egpj.exe", "\u200b", "\u2066a"))
    yield "20 MB of text", xmp(subjects("x")) + b"<!--" + b" " * 20_000_000 + b"-->"


def _sidecars() -> Iterator[BadFile]:
    for name, data in _texts():
        yield BadFile("sidecars", name, "bad.jpg.xmp", data)
        yield BadFile("sidecars", f"{name}, named without the extension", "bad.xmp", data)


def picture(format: str = "JPEG", **options: object) -> bytes:
    """Return a small photo."""
    stream = io.BytesIO()
    Image.radial_gradient("L").resize((32, 32)).convert("RGB").save(stream, format, **options)
    return stream.getvalue()


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png_with(*chunks: tuple[bytes, bytes]) -> bytes:
    """Return a PNG with chunks after its header."""
    good = picture("PNG")
    return good[:33] + b"".join(_chunk(kind, data) for kind, data in chunks) + good[33:]


def _itxt(packet: bytes, *, packed: bool) -> bytes:
    head = b"XML:com.adobe.xmp\0" + (b"\1\0" if packed else b"\0\0") + b"\0\0"
    return head + (zlib.compress(packet, 9) if packed else packet)


def _chunks() -> Iterator[BadFile]:
    def one(name: str, *chunks: tuple[bytes, bytes]) -> BadFile:
        return BadFile("PNG chunks", name, "bad.png", png_with(*chunks))

    bomb = namespace_bomb(1_000_000)
    yield one("namespaces in packed text", (b"iTXt", _itxt(bomb, packed=True)))
    yield one("200 MB of blanks in packed text", (b"iTXt", _itxt(b" " * 200_000_000, packed=True)))
    yield one("200 MB in zTXt", (b"zTXt", b"Comment\0\0" + zlib.compress(b"x" * 200_000_000, 9)))
    yield one(
        "a raw profile of 100 MB",
        (b"zTXt", b"Raw profile type xmp\0\0" + zlib.compress(b"\nxmp\n  9999\n" + b"ff" * 50_000_000, 9)),
    )
    yield one(
        "a raw IPTC profile",
        (b"zTXt", b"Raw profile type iptc\0\0" + zlib.compress(b"\niptc\n 99999999\n" + b"1c0219" * 9_000, 9)),
    )
    yield one(
        "a raw EXIF profile",
        (b"zTXt", b"Raw profile type exif\0\0" + zlib.compress(b"\nexif\n 99\n" + b"4d4d002a00000008ffff" * 99, 9)),
    )
    yield one("packed text that is damaged", (b"iTXt", _itxt(xmp(subjects("a")), packed=True)[:-8] + b"\0" * 8))
    yield one("text without an end", (b"iTXt", b"XML:com.adobe.xmp"))
    yield one("an unknown packing", (b"iTXt", b"XML:com.adobe.xmp\0\1\7\0\0abc"))
    yield one("10,000 text chunks", *[(b"tEXt", b"Comment\0x")] * 10_000)
    yield one("200 packed texts", *[(b"iTXt", _itxt(b" " * 1_000_000, packed=True))] * 200)
    yield one("an ICC profile of 100 MB", (b"iCCP", b"x\0\0" + zlib.compress(b"\0" * 100_000_000, 9)))
    yield one("EXIF that points at itself", (b"eXIf", _looping_tiff()))
    for name, packet in _texts():
        if len(packet) < 3_000_000:
            yield one(f"XMP: {name}", (b"iTXt", _itxt(packet, packed=False)))
    good = picture("PNG")
    for length in (0, 0x7FFFFFFF, 0xFFFFFFFF):
        data = good[:33] + struct.pack(">I", length) + b"iTXtXML:com.adobe.xmp\0\0\0\0\0" + good[33:]
        yield BadFile("PNG chunks", f"a chunk of length {length}", "bad.png", data)


def _segment(marker: int, data: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def jpeg_with(*segments: bytes) -> bytes:
    """Return a JPEG with segments after its start."""
    good = picture()
    return good[:2] + b"".join(segments) + good[2:]


def _looping_tiff() -> bytes:
    entry = struct.pack(">HHII", 0x8769, 4, 1, 8)
    return b"MM\0*" + struct.pack(">I", 8) + struct.pack(">H", 1) + entry + struct.pack(">I", 8)


def _tiff_tag(tag: int, kind: int, count: int, value: int) -> bytes:
    return b"MM\0*" + struct.pack(">IHHHII", 8, 1, tag, kind, count, value) + struct.pack(">I", 0)


def _jpegs() -> Iterator[BadFile]:
    def one(name: str, *segments: bytes) -> BadFile:
        return BadFile("JPEG segments", name, "bad.jpg", jpeg_with(*segments))

    header = b"http://ns.adobe.com/xap/1.0/\0"
    for name, packet in _texts():
        if len(packet) < 65_000:
            yield one(f"XMP: {name}", _segment(0xE1, header + packet))
    yield one("800 XMP segments", *[_segment(0xE1, header + xmp(subjects("a")))] * 800)
    extended = b"http://ns.adobe.com/xmp/extension/\0" + b"A" * 32
    note = xmp(attributes=f'xmlns:n="http://ns.adobe.com/xmp/note/" n:HasExtendedXMP="{"A" * 32}"')
    for length, offset in ((0xFFFFFFFF, 0), (1 << 30, 1 << 29), (100, 0xFFFFFFF0), (0, 0)):
        part = _segment(0xE1, extended + struct.pack(">II", length, offset) + b"x" * 1000)
        yield one(f"extended XMP of length {length} at {offset}", _segment(0xE1, header + note), part)
    for name, data in (
        ("points at itself", _looping_tiff()),
        ("keywords of 4 GB", _tiff_tag(0x9C9E, 1, 0xFFFFFFFF, 26)),
        ("keywords beyond the end", _tiff_tag(0x9C9E, 1, 1000, 0xFFFFFF00)),
        ("an unknown kind", _tiff_tag(0x9C9E, 999, 10, 8)),
        ("65,535 entries", b"MM\0*" + struct.pack(">IH", 8, 0xFFFF) + struct.pack(">HHII", 0x9C9E, 1, 4, 0) * 5_000),
        ("half a header", b"MM\0"),
        ("an orientation of 99", _tiff_tag(0x0112, 3, 1, 99 << 16)),
        ("a date of 60 kB", _tiff_tag(0x9003, 2, 60_000, 26) + b"9" * 60_000),
    ):
        yield one(f"EXIF: {name}", _segment(0xE1, b"Exif\0\0" + data))
    for name, data in (
        ("a record of 2 GB", b"\x1c\x02\x19\x80\x04\x7f\xff\xff\xff" + b"x" * 100),
        ("a length of 255 bytes", b"\x1c\x02\x19\x80\xff" + b"\xff" * 255),
        ("20,000 empty keywords", b"\x1c\x02\x19\x00\x00" * 12_000),
        ("broken UTF-8", b"\x1c\x01\x5a\x00\x03\x1b%G\x1c\x02\x19\x00\x04\xff\xfe\xfd\xfc"),
        ("no record", b"\0" * 1000),
    ):
        resource = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">I", len(data)) + data
        yield one(f"IPTC: {name}", _segment(0xED, resource))
    wrong = b"Photoshop 3.0\x008BIM\x04\x04\0\0" + struct.pack(">I", 0xFFFFFFF0)
    yield one("IPTC: a resource of 4 GB", _segment(0xED, wrong))
    yield one("IPTC: 5,000 resources", _segment(0xED, b"Photoshop 3.0\0" + (b"8BIM\x04\x00\0\0" + b"\0" * 4) * 5_000))
    yield BadFile("JPEG segments", "fill bytes for ever", "bad.jpg", b"\xff\xd8" + b"\xff" * 3_000_000)
    yield BadFile("JPEG segments", "100,000 empty segments", "bad.jpg", jpeg_with(*[_segment(0xE5, b"")] * 100_000))


def _tiffs() -> Iterator[BadFile]:
    for name, data in (
        ("points at itself", _looping_tiff()),
        ("XMP of 4 GB", _tiff_tag(700, 1, 0xFFFFFFFF, 26)),
        ("XMP that is the file", _tiff_tag(700, 1, 26, 0) * 100),
        ("IPTC of 4 GB", _tiff_tag(33723, 7, 0xFFFFFFFF, 26)),
    ):
        yield BadFile("TIFF and others", f"TIFF: {name}", "bad.tif", data)
        yield BadFile("TIFF and others", f"raw: {name}", "bad.nef", data)
        yield BadFile("TIFF and others", f"DNG: {name}", "bad.dng", data)


def _box(kind: bytes, data: bytes, *, length: int | None = None) -> bytes:
    return struct.pack(">I", len(data) + 8 if length is None else length) + kind + data


def _others() -> Iterator[BadFile]:
    webp = picture("WEBP")
    for length in (0, 0x7FFFFFFF, 0xFFFFFFFF):
        data = webp + b"XMP " + struct.pack("<I", length) + xmp(subjects("a"))
        yield BadFile("TIFF and others", f"WebP: XMP of length {length}", "bad.webp", data)
    start = _box(b"ftyp", b"heic\0\0\0\0heicmif1")
    for name, data in (
        ("boxes inside boxes", start + _nested(20_000)),
        ("a box of length 0", start + _box(b"meta", b"\0" * 12, length=0)),
        ("a box of length 1", start + _box(b"meta", b"\xff" * 8, length=1)),
        ("a box of 4 GB", start + _box(b"meta", b"\0" * 12, length=0xFFFFFFFF)),
        ("65,535 items", start + _box(b"meta", b"\0" * 4 + _box(b"iinf", b"\0" * 4 + b"\xff\xff"))),
        (
            "extents of 2 GB",
            start + _box(b"meta", b"\0" * 4 + _box(b"iloc", b"\0\0\0\0\x44\0\xff\xff" + b"\xff" * 400)),
        ),
    ):
        yield BadFile("TIFF and others", f"HEIC: {name}", "bad.heic", data)
        yield BadFile("TIFF and others", f"AVIF: {name}", "bad.avif", data.replace(b"heic", b"avif"))
    yield BadFile(
        "TIFF and others",
        "GIF: XMP without an end",
        "bad.gif",
        picture("GIF")[:-1] + b"!\xff\x0bXMP DataXMP" + b"\xff" * 100_000,
    )


def _nested(depth: int) -> bytes:
    data = b""
    for _ in range(depth):
        data = struct.pack(">I", len(data) + 8) + b"moov" + data
    return data


def _damaged() -> Iterator[BadFile]:
    """Yield good photos and sidecars, cut and mutated."""
    packet = xmp(subjects("sea", "Places|Coast"))
    good = {
        "bad.jpg": jpeg_with(
            _segment(0xE1, b"http://ns.adobe.com/xap/1.0/\0" + packet),
            _segment(0xE1, b"Exif\0\0" + _tiff_tag(0x9C9E, 1, 4, 0x61006200)),
        ),
        "bad.png": png_with((b"iTXt", _itxt(packet, packed=True))),
        "bad.webp": picture("WEBP", xmp=packet),
        "bad.jpg.xmp": packet,
    }
    for file, data in good.items():
        rng = random.Random(len(data))
        for _ in range(N_TRUNCATED // len(good)):
            cut = rng.randrange(len(data))
            yield BadFile("cut and mutated", f"{file} cut at {cut}", file, data[:cut])
        for number in range(N_MUTATED // len(good)):
            spoiled = bytearray(data)
            for _ in range(1 + number):
                spoiled[rng.randrange(len(spoiled))] = rng.randrange(256)
            yield BadFile("cut and mutated", f"{file} mutated, {number}", file, bytes(spoiled))
