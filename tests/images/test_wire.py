import io

import pytest

from tagloom.images import wire


def frame(header, *parts):
    stream = io.BytesIO()
    wire.write_frame(stream, header, list(parts))
    return stream.getvalue()


def test_frames_come_back_one_after_another():
    stream = io.BytesIO(frame({"a": [1, "ü"]}, b"one", b"\x00\xff") + frame({}))
    assert wire.read_frame(stream, longest_body=5) == ({"a": [1, "ü"]}, bytearray(b"one\x00\xff"))
    assert wire.read_frame(stream, longest_body=5) == ({}, bytearray())
    assert wire.read_frame(stream, longest_body=5) is None


def test_a_frame_cut_off_anywhere_is_an_error():
    whole = frame({"a": 1}, b"body")
    for end in range(1, len(whole)):
        with pytest.raises(wire.ProtocolError):
            wire.read_frame(io.BytesIO(whole[:end]), longest_body=100)


def test_more_than_allowed_is_refused_before_it_is_read():
    stream = io.BytesIO(frame({}, b"123456"))
    with pytest.raises(wire.ProtocolError):
        wire.read_frame(stream, longest_body=5)
    assert stream.tell() == wire.PREFIX.size


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        wire.PREFIX.pack(wire.MAGIC, wire.LONGEST_HEADER + 1, 0),
        wire.PREFIX.pack(wire.MAGIC, 1, 0) + b"{",
        wire.PREFIX.pack(wire.MAGIC, 2, 0) + b"[]",
        wire.PREFIX.pack(wire.MAGIC, 1, 0) + b"\xff",
    ],
)
def test_garbage_is_an_error(garbage):
    with pytest.raises(wire.ProtocolError):
        wire.read_frame(io.BytesIO(garbage), longest_body=100)
