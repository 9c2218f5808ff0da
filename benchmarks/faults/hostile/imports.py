"""Import files that mean harm: tables, JSON, XML, archives, Parquet."""

import io
import json
import struct
import tarfile
from collections.abc import Iterator

from benchmarks.faults.hostile.metadata import BadFile

PHOTO = "good-0.jpg"


def files() -> list[BadFile]:
    """Return all hostile files to import."""
    return [*_tables(), *_json(), *_xml(), *_archives(), *_parquet()]


def _tables() -> Iterator[BadFile]:
    def one(name: str, data: bytes, file: str = "bad.csv") -> BadFile:
        return BadFile("tables", name, file, data)

    head = b"file,tags\n"
    row = PHOTO.encode() + b","
    yield one("a tag of 100 MB", head + row + b"t" * 100_000_000 + b"\n")
    yield one("1,000,000 tags in a row", head + row + b"a;" * 1_000_000 + b"\n")
    yield one("200,000 different tags", head + row + b";".join(b"t%d" % i for i in range(200_000)) + b"\n")
    yield one("a quote that never ends", head + b'"' + b"x" * 5_000_000)
    yield one("NUL bytes", head + row + b"a\0b\n")
    yield one("no header", b"\xff\xfe\0\0" * 1000)
    yield one("a header of 10 MB", b"file," * 2_000_000 + b"tags\n")
    yield one(
        "a million columns", b"file,tags," + b",".join(b"c%d" % i for i in range(1_000_000)) + b"\n" + row + b"a\n"
    )
    yield one("a name that is a path of the victim", head + b"../home/.profile,sea\n/etc/passwd,sea\n")
    yield one("control characters", head + row + b"\x1b]0;owned\x07\n")
    yield one("empty", b"")
    yield one("only line ends", b"\n" * 3_000_000)
    yield one("UTF-16 cut in the middle", "file,tags\n".encode("utf-16")[:-1])
    yield one("a state that is no state", b"file,tag,state\n" + row + b"sea,\xf0\x9f\x92\xa9\n")
    yield one("2,000,000 rows of one photo", head + (row + b"sea\n") * 2_000_000)


def _json() -> Iterator[BadFile]:
    def one(name: str, text: str | bytes, file: str = "bad.json") -> BadFile:
        return BadFile("JSON", name, file, text.encode() if isinstance(text, str) else text)

    for file in ("bad.json", "bad.jsonl"):
        yield one(f"nested 200,000 deep ({file})", "[" * 200_000, file)
        yield one(f"an object nested deep ({file})", '{"a":' * 100_000 + "1" + "}" * 100_000, file)
        yield one(f"a number of 1 MB ({file})", '{"images": ' + "9" * 1_000_000 + "}", file)
        yield one(f"half a surrogate ({file})", '{"file": "\\ud800", "tags": ["\\udfff"]}', file)
        yield one(f"cut ({file})", '{"images": [{"id": 1, "file_n', file)
    image = {"id": 1, "file_name": PHOTO, "width": 1, "height": 1}
    coco = {"images": [image], "annotations": [], "categories": [{"id": 1, "name": "sea"}]}
    yield one("COCO: ids that are lists", json.dumps(coco | {"annotations": [{"image_id": [1], "category_id": {}}]}))
    yield one("COCO: images that are a number", json.dumps(coco | {"images": 5}))
    yield one("COCO: a category of 30 MB", json.dumps(coco | {"categories": [{"id": 1, "name": "x" * 30_000_000}]}))
    many = [{"id": i, "image_id": 1, "category_id": 1} for i in range(500_000)]
    yield one("COCO: 500,000 annotations", json.dumps(coco | {"annotations": many}))
    yield one("COCO: a path of the victim", json.dumps(coco | {"images": [image | {"file_name": "/etc/passwd"}]}))
    yield one("captions", json.dumps({"images": [image], "annotations": [{"image_id": 1, "caption": "a dog"}]}))
    yield one(
        "Label Studio: choices that are numbers",
        json.dumps([{"data": {"image": PHOTO}, "annotations": [{"result": [{"value": {"choices": [1, None, {}]}}]}]}]),
    )
    yield one("FiftyOne: samples that are text", json.dumps({"samples": "x" * 1000}))
    yield one("1,000,000 empty objects", b"[" + b",".join([b"{}"] * 1_000_000) + b"]")
    yield one("duplicate keys", '{"images": [], "images": {}, "images": 3}')
    yield one("a mark before it", b"\xef\xbb\xbf\xef\xbb\xbf{}")


def _xml() -> Iterator[BadFile]:
    def one(name: str, text: str) -> BadFile:
        return BadFile("XML", name, "bad.xml", text.encode())

    laughs = '<!DOCTYPE x [<!ENTITY a "ha">' + "".join(
        f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9)
    )
    yield one(
        "a billion laughs",
        f'<?xml version="1.0"?>{laughs}]><annotations><image name="{PHOTO}">&j;</image></annotations>',
    )
    yield one(
        "an entity from a file", '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><annotations>&f;</annotations>'
    )
    yield one("nested 100,000 deep", "<annotations>" * 100_000)
    tags = '<tag label="t"/>' * 300_000
    yield one("300,000 tags", f'<annotations><image name="{PHOTO}">{tags}</image></annotations>')
    yield one(
        "a label of 30 MB",
        f'<annotations><image name="{PHOTO}"><tag label="{"x" * 30_000_000}"/></image></annotations>',
    )
    yield one("a video", '<annotations><track id="0" label="dog"><box frame="0"/></track></annotations>')
    yield one("cut", '<annotations><image name="a')
    yield one(
        "VOC with a path of the victim",
        "<annotation><filename>../../home/.profile</filename><object><name>dog</name></object></annotation>",
    )
    yield one("namespaces of 1 MB", f'<annotations xmlns="{"n" * 1_000_000}">' + "<a/>" * 10_000 + "</annotations>")


def _header(name: bytes, size: bytes, kind: bytes = b"0") -> bytes:
    block = bytearray(512)
    block[0 : len(name)] = name
    block[100:108] = b"0000644\0"
    block[124 : 124 + len(size)] = size
    block[148:156] = b" " * 8
    block[156:157] = kind
    block[257:265] = b"ustar  \0"
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def _archives() -> Iterator[BadFile]:
    def one(name: str, data: bytes) -> BadFile:
        return BadFile("archives", name, "bad.tar", data)

    negative = b"\xff" + (-512 & ((1 << 88) - 1)).to_bytes(11, "big")
    yield one("a member of negative size", _header(b"a.jpg", negative) * 4)
    yield one("a member of 8 EB", _header(b"a.json", b"\x80" + b"\0" * 3 + b"\x7f" + b"\xff" * 7) + b"x" * 512)
    yield one("a long name of 8 GB", _header(b"././@LongLink", b"77777777777\0", b"L") + b"x" * 512)
    yield one(
        "a long name of 1 MB",
        _header(b"././@LongLink", b"%011o\0" % 1_000_000, b"L") + b"n" * 1_000_448 + _header(b"a", b"0\0"),
    )
    yield one(
        "long names one after the other", (_header(b"././@LongLink", b"00000000020\0", b"L") + b"n" * 512) * 4_000
    )
    pax = b"9999999999 path=x\n"
    yield one("an extended header that lies", _header(b"p", b"%011o\0" % len(pax), b"x") + pax.ljust(512, b"\0"))
    yield one("a sparse file", _header(b"s.json", b"00000000000\0", b"S"))
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in (
            ("../../home/.profile", b"owned"),
            ("/etc/owned.json", b"{}"),
            ("good-0.json", b'{"tags": ["sea"]}'),
        ):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
        link = tarfile.TarInfo("good-0.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    yield one("members outside", stream.getvalue())
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for i in range(60_000):
            archive.addfile(tarfile.TarInfo(f"{i}.cls"))
    yield one("60,000 empty members", stream.getvalue())
    large = io.BytesIO()
    with tarfile.open(fileobj=large, mode="w:gz") as archive:
        member = tarfile.TarInfo("good-0.json")
        member.size = 300_000_000
        archive.addfile(member, io.BytesIO(b" " * 300_000_000))
    yield one("packed, 300 MB of blanks", large.getvalue())
    yield one("cut in a header", _header(b"a.json", b"00000000010\0")[:300])


def _parquet() -> Iterator[BadFile]:
    def one(name: str, data: bytes) -> BadFile:
        return BadFile("Parquet", name, "bad.parquet", data)

    yield one("only marks", b"PAR1PAR1")
    yield one("a footer of 2 GB", b"PAR1" + b"\0" * 100 + struct.pack("<I", 0x7FFFFFFF) + b"PAR1")
    yield one("a footer of blanks", b"PAR1" + b"\x15" * 5_000 + struct.pack("<I", 4_999) + b"PAR1")
    yield one("cut", b"PAR1" + b"\0" * 3)
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    for name, table in (
        ("30,000,000 equal rows", pa.table({"file": pa.array([PHOTO]).take(pa.array([0] * 30_000_000, pa.int32()))})),
        ("a list of 20,000,000 equal tags", pa.table({"file": [PHOTO], "tags": [["sea"] * 20_000_000]})),
        ("2,000 columns", pa.table({f"c{i}": [1] for i in range(2_000)} | {"file": [PHOTO], "tags": [["sea"]]})),
        ("tags that are numbers", pa.table({"file": [PHOTO], "tags": [[1.5, None]]})),
        ("a tag of 50 MB", pa.table({"file": [PHOTO], "tags": [["x" * 50_000_000]]})),
    ):
        stream = io.BytesIO()
        pq.write_table(table, stream, compression="zstd")
        yield one(name, stream.getvalue())
        yield one(f"{name}, flipped", _flipped(stream.getvalue()))


def _flipped(data: bytes) -> bytes:
    spoiled = bytearray(data)
    for at in range(8, len(spoiled) - 8, max(1, len(spoiled) // 40)):
        spoiled[at] ^= 0x55
    return bytes(spoiled)
