"""EXIF blocks made by Pillow and by hand, and blocks that are broken in every way hypothesis thinks of."""

import math
import struct
from dataclasses import fields
from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from PIL.TiffImagePlugin import IFDRational

from tagloom.features.classic.exif import MAX_ENTRIES, PhotoFacts, read_exif

EXIF, GPS = 0x8769, 0x8825
ORDERS = [b"II*\0\x08\0\0\0", b"MM\0*\0\0\0\x08"]


def pillow_block(main=(), camera=(), place=(), header=ORDERS[0]):
    exif = Image.Exif()
    # What decides the byte order of Exif.tobytes() is the header of the block that was loaded before.
    exif.load(b"Exif\0\0" + header + b"\0\0" + b"\0\0\0\0")
    exif.update(main)
    for pointer, values in ((EXIF, camera), (GPS, place)):
        if values:
            exif.get_ifd(pointer).update(values)
    block = exif.tobytes().removeprefix(b"Exif\0\0")
    assert block.startswith(header[:4])
    return block


def hand_block(entries, order="<", tail=b"", n_entries=None):
    """Return a block with one directory of (tag, type, count, four bytes) entries."""
    mark = b"II*\0" if order == "<" else b"MM\0*"
    body = b"".join(struct.pack(order + "HHI", tag, kind, count) + value for tag, kind, count, value in entries)
    n_entries = len(entries) if n_entries is None else n_entries
    return mark + struct.pack(order + "IH", 8, n_entries) + body + tail


FULL = {
    "main": {0x010F: "Canon", 0x0110: "EOS 5D", 0x0132: "2021:01:01 00:00:00"},
    "camera": {
        0x9003: "2019:07:21 18:05:09",
        0x9291: "25",
        0x9011: "+02:00",
        0x829A: IFDRational(1, 250),
        0x829D: IFDRational(28, 10),
        0x8827: 400,
        0x9209: 0x19,
        0x920A: IFDRational(50, 1),
        0xA405: 80,
    },
    "place": {
        1: "S",
        2: (IFDRational(33, 1), IFDRational(51, 1), IFDRational(3572, 100)),
        3: "E",
        4: (IFDRational(151, 1), IFDRational(12, 1), IFDRational(40, 1)),
        5: b"\x01",
        6: IFDRational(125, 10),
    },
}


@pytest.mark.parametrize("header", ORDERS, ids=["little-endian", "big-endian"])
def test_a_full_block(header):
    facts = read_exif(pillow_block(**FULL, header=header))
    assert facts == PhotoFacts(
        taken=datetime(2019, 7, 21, 18, 5, 9, 250_000),
        utc_offset=timedelta(hours=2),
        latitude=-(33 + 51 / 60 + 35.72 / 3600),
        longitude=151 + 12 / 60 + 40 / 3600,
        altitude=-12.5,
        make="Canon",
        model="EOS 5D",
        focal_length=50.0,
        focal_length_35mm=80.0,
        exposure_time=1 / 250,
        f_number=2.8,
        iso=400.0,
        flash=True,
    )
    assert facts.exposure_value == pytest.approx(math.log2(2.8**2 * 250 / 4))
    assert datetime.fromtimestamp(facts.seconds) - datetime.fromtimestamp(0) == facts.taken - datetime(1970, 1, 1)


@settings(max_examples=30, deadline=None)
@given(
    header=st.sampled_from(ORDERS),
    make=st.text("abcDEF 123-", max_size=30),
    exposure=st.fractions(Fraction(1, 60_000), 600, max_denominator=60_000),
    iso=st.integers(1, 65_534),
    degrees=st.tuples(st.integers(0, 89), st.integers(0, 59), st.fractions(0, 59, max_denominator=10_000)),
    north=st.booleans(),
    when=st.datetimes(datetime(1990, 1, 1), datetime(2050, 1, 1)),
    flash=st.integers(0, 127),
)
def test_what_pillow_writes_pillow_and_we_read_alike(header, make, exposure, iso, degrees, north, when, flash):
    block = pillow_block(
        {0x010F: make},
        {
            0x829A: IFDRational(exposure.numerator, exposure.denominator),
            0x8827: iso,
            0x9003: when.strftime("%Y:%m:%d %H:%M:%S"),
            0x9209: flash,
        },
        {1: "N" if north else "S", 2: tuple(map(IFDRational, degrees)), 3: "W", 4: (1.0, 0.0, 0.0)},
        header,
    )
    oracle = Image.Exif()
    oracle.load(block)
    camera, place = oracle.get_ifd(EXIF), oracle.get_ifd(GPS)
    facts = read_exif(block)
    assert facts.make == (" ".join(oracle[0x010F].split()) or None)
    assert facts.exposure_time == pytest.approx(float(camera[0x829A]), rel=1e-12)
    assert facts.iso == camera[0x8827]
    assert facts.taken == datetime.strptime(camera[0x9003], "%Y:%m:%d %H:%M:%S")
    assert facts.flash == bool(camera[0x9209] % 2)
    angle = sum(float(part) / 60**power for power, part in enumerate(place[2]))
    assert facts.latitude == pytest.approx(angle if north else -angle, rel=1e-12)
    assert facts.longitude == -1.0


def test_nothing_is_known_of_an_empty_block():
    for block in (b"", b"II*\0", b"II*\0\x08\0\0", b"JFIF" * 8, b"MM*\0\0\0\0\x08"):
        assert read_exif(block) == PhotoFacts()
    assert math.isnan(PhotoFacts().seconds)
    assert PhotoFacts(f_number=2.0, iso=100.0).exposure_value is None


@pytest.mark.parametrize(
    "camera",
    [{0x9003: "0000:00:00 00:00:00"}, {0x9003: "    :  :     :  :  "}, {0x9003: "2019:02:30 10:00:00"}, {}],
    ids=["zeros", "blanks", "February 30", "none"],
)
def test_the_next_time_is_taken_where_one_is_impossible(camera):
    later = {0x9004: "2018:05:06 07:08:09", 0x9292: "5  ", 0x9012: "-03:30"}
    facts = read_exif(pillow_block({0x0132: "2021:01:01 00:00:00"}, camera | later))
    assert facts.taken == datetime(2018, 5, 6, 7, 8, 9, 500_000)
    assert facts.utc_offset == -timedelta(hours=3, minutes=30)
    assert read_exif(pillow_block({0x0132: "2021:01:01 00:00:00"}, camera)).taken == datetime(2021, 1, 1)


@pytest.mark.parametrize(
    "text", ["0001:01:01 00:00:00", "9999:01:01 00:00:00", "2019:07:21", "yesterday", "2019:13:01 1"]
)
def test_impossible_times(text):
    assert read_exif(pillow_block({0x0132: text})).taken is None


@pytest.mark.parametrize(
    ("offset", "expected"), [("+14:00", timedelta(hours=14)), ("+99:00", None), ("+01:75", None), ("   :  ", None)]
)
def test_offsets(offset, expected):
    facts = read_exif(pillow_block({}, {0x9003: "2019:07:21 18:05:09", 0x9011: offset}))
    assert facts.taken == datetime(2019, 7, 21, 18, 5, 9)
    assert facts.utc_offset == expected


ZERO = IFDRational(0, 1)


@pytest.mark.parametrize(
    "change",
    [
        {2: (IFDRational(91, 1), ZERO, ZERO)},
        {4: (IFDRational(180, 1), IFDRational(1, 1), ZERO)},
        {2: (IFDRational(48, 1), IFDRational(70, 1), ZERO)},
        {2: (IFDRational(0, 0), IFDRational(0, 0), IFDRational(0, 0))},
        {2: (IFDRational(48, 1), IFDRational(1, 1), IFDRational(1, 0))},
        {2: (IFDRational(48, 1), IFDRational(1, 1))},
        {2: (ZERO, ZERO, ZERO), 4: (ZERO, ZERO, ZERO)},
        {1: "X"},
        {1: ""},
        {3: "NS"},
    ],
)
def test_impossible_positions(change):
    assert read_exif(pillow_block(**FULL)).latitude is not None
    facts = read_exif(pillow_block(place=FULL["place"] | change))
    assert (facts.latitude, facts.longitude) == (None, None)
    assert facts.altitude == -12.5


def test_impossible_numbers():
    camera = {0x829A: IFDRational(1, 0), 0x829D: ZERO, 0x8827: 0, 0xA405: 0, 0x920A: ZERO}
    facts = read_exif(pillow_block({}, camera, {6: IFDRational(4_294_967_295, 1)}))
    assert facts == PhotoFacts()


def test_a_full_sensitivity_is_said_elsewhere():
    assert read_exif(pillow_block({}, {0x8827: 65535, 0x8832: 102_400})).iso == 102_400
    assert read_exif(pillow_block({}, {0x8827: 65535})).iso is None


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"NIKON\0\0\0\0\0", "NIKON"),
        (b"  NIKON \t COOLPIX \n\0", "NIKON COOLPIX"),
        (b"\0\0\0\0\0\0", None),
        (b"      ", None),
        (b"a\x1b[31mb\x07c", "a[31mbc"),
        ("Käfer".encode(), "Käfer"),
        (b"K\xe4fer", "K\ufffdfer"),
        (b"x" * 5000, "x" * 128),
    ],
)
def test_texts(raw, expected):
    tail = b"\0" * 4 + raw
    block = hand_block([(0x010F, 2, len(raw), struct.pack("<I", 26))], tail=tail)
    assert read_exif(block).make == expected


def test_values_must_lie_inside_the_block():
    inside = hand_block([(0x010F, 2, 6, struct.pack("<I", 22))], tail=b"Canon\0")
    assert read_exif(inside).make == "Canon"
    assert read_exif(inside[:-1]).make is None
    for count, position in ((0xFFFFFFFF, 22), (6, 0xFFFFFFFF), (7, 22)):
        assert read_exif(hand_block([(0x010F, 2, count, struct.pack("<I", position))], tail=b"Canon\0")).make is None


def test_directories_that_point_at_themselves():
    for pointer in (EXIF, GPS):
        block = hand_block([(0x0110, 2, 4, b"X-1\0"), (pointer, 4, 1, struct.pack("<I", 8))], tail=b"\x08\0\0\0")
        assert read_exif(block) == PhotoFacts(model="X-1")


def test_more_entries_than_there_are():
    block = hand_block([(0x0110, 2, 4, b"X-1\0")], n_entries=65535)
    assert read_exif(block) == PhotoFacts(model="X-1")
    filler = [(0xFFFE, 3, 1, b"\0\0\0\0")] * (MAX_ENTRIES - 1)
    model = (0x0110, 2, 4, b"X-1\0")
    assert read_exif(hand_block([*filler, model])).model == "X-1"
    assert read_exif(hand_block([*filler, filler[0], model])).model is None


def assert_sensible(facts):
    for field in fields(PhotoFacts):
        value = getattr(facts, field.name)
        assert value is None or not isinstance(value, float) or math.isfinite(value)
    assert (facts.latitude is None) == (facts.longitude is None)
    assert facts.latitude is None or (abs(facts.latitude) <= 90 and abs(facts.longitude) <= 180)
    assert all(text is None or (text.isprintable() and 0 < len(text) <= 128) for text in (facts.make, facts.model))
    for value in (facts.exposure_time, facts.f_number, facts.iso, facts.focal_length, facts.focal_length_35mm):
        assert value is None or value > 0
    assert facts.exposure_value is None or math.isfinite(facts.exposure_value)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(ORDERS), st.binary(max_size=200))
def test_random_bytes(header, rest):
    assert_sensible(read_exif(rest))
    assert_sensible(read_exif(header + rest))


@settings(max_examples=120, deadline=None)
@given(
    header=st.sampled_from(ORDERS),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=12),
    kept=st.floats(0, 1),
)
def test_mutated_blocks(header, changes, kept):
    block = bytearray(pillow_block(**FULL, header=header))
    for place, value in changes:
        block[int(place * len(block))] = value
    assert_sensible(read_exif(bytes(block[: round(kept * len(block)) if kept < 0.9 else None])))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0x010F, 0x0110, 0x0132, EXIF, GPS, 1, 2, 3, 4, 6, 0x829A, 0x829D, 0x8827, 0x9003, 0x9209]),
            st.sampled_from([*range(14), 129]),
            st.one_of(st.integers(0, 4), st.integers(0, 2**32 - 1)),
            st.one_of(
                st.binary(min_size=4, max_size=4), st.sampled_from([bytes([n, 0, 0, 0]) for n in (4, 8, 10, 22)])
            ),
        ),
        max_size=20,
    ),
    st.binary(max_size=64),
)
def test_any_entries(entries, tail):
    assert_sensible(read_exif(hand_block(entries, tail=tail)))
