import random

import pytest

from tagloom.metadata.iptc import is_utf8, read_iptc

UTF8_MARK = b"\x1c\x01\x5a\x00\x03\x1b%G"


def dataset(record: int, number: int, value: bytes) -> bytes:
    return bytes([0x1C, record, number]) + len(value).to_bytes(2, "big") + value


def texts(block: bytes) -> list[str]:
    return [keyword.text for keyword in read_iptc(block)]


def test_keywords_among_other_datasets():
    block = (
        dataset(2, 0, b"\0\4")
        + dataset(2, 5, b"title")
        + dataset(2, 25, b"sea")
        + dataset(2, 25, b"Sea ")
        + dataset(3, 25, b"no")
    )
    assert texts(block) == ["Sea", "sea"]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (UTF8_MARK + dataset(2, 25, "café".encode()), ["café"]),
        (dataset(2, 25, "café".encode()), ["café"]),
        (dataset(2, 25, b"caf\xe9"), ["café"]),
        # One text that is not UTF-8 decides for all: they come from one program.
        (dataset(2, 25, b"caf\xe9") + dataset(2, 25, "ä".encode()), ["café", "Ã¤"]),
        (dataset(2, 120, b"\xe9") + dataset(2, 25, "ä".encode()), ["Ã¤"]),
        (UTF8_MARK + dataset(2, 25, b"caf\xe9"), ["caf\ufffd"]),
        (dataset(1, 90, b"\x1b.A") + dataset(2, 25, "ä".encode()), ["Ã¤"]),
    ],
)
def test_encodings(block, expected):
    assert texts(block) == expected


def test_version_numbers_are_no_text():
    assert is_utf8(dataset(2, 0, b"\x80\x04") + dataset(2, 25, b"cat"))


def test_long_datasets_and_hierarchy_marks():
    long = b"x" * 9_000
    block = b"\x1c\x02\x19\x80\x04" + len(long).to_bytes(4, "big") + long + dataset(2, 25, b"a|b")
    assert texts(block) == [r"a\|b", long.decode()]


@pytest.mark.parametrize(
    "block",
    [
        b"",
        b"\x1c",
        b"\x1c\x02\x19\xff\xff",
        b"\x1c\x02\x19\x80\x04\xff\xff\xff\xff",
        dataset(2, 25, b"  "),
        dataset(2, 25, b"a\0b"),
    ],
)
def test_damaged_blocks_have_no_keywords(block):
    assert texts(block) == []


def test_what_comes_before_the_damage_counts():
    assert texts(dataset(2, 25, b"cat") + b"\x1c\x02\x19\x00\x09dog") == ["cat"]
    assert texts(dataset(2, 25, b"cat") + bytes(5) + dataset(2, 25, b"dog")) == ["cat"]


def test_any_bytes_are_read():
    generator = random.Random(0)
    for _ in range(500):
        block = bytearray(dataset(2, 25, b"cat") + UTF8_MARK + dataset(2, 25, b"dog"))
        for _ in range(4):
            block[generator.randrange(len(block))] = generator.randrange(256)
        read_iptc(bytes(block))
