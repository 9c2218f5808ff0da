"""Frames between the parent and a worker: a fixed prefix, a JSON header, raw bytes.

Nothing that crosses the pipe is unpickled or evaluated, and both sides bound what they are willing to read: a worker
that a photo has taken over can lie about the photos it is given, and no more.
"""

import faulthandler
import json
import os
import signal
import struct
from collections.abc import Callable, Sequence
from typing import IO, Any

__all__ = ["LONGEST_HEADER", "ProtocolError", "orphan_patience", "read_frame", "run_worker", "write_frame"]

Header = dict[str, Any]

MAGIC = b"TLM1"
PREFIX = struct.Struct("!4sIQ")
LONGEST_HEADER = 1 << 20
ORPHAN_FACTOR = 1.5
ORPHAN_GRACE = 10.0


class ProtocolError(Exception):
    """The other side sent something that is not a frame."""


def write_frame(stream: IO[bytes], header: Header, parts: Sequence[bytes] = ()) -> None:
    """Write one frame and flush.

    Parameters
    ----------
    stream : binary file
        The pipe.
    header : dict
        Anything JSON can say.
    parts : sequence of bytes
        The body, concatenated.
    """
    text = json.dumps(header).encode("ascii")
    stream.write(PREFIX.pack(MAGIC, len(text), sum(len(part) for part in parts)))
    stream.write(text)
    for part in parts:
        stream.write(part)
    stream.flush()


def read_frame(stream: IO[bytes], *, longest_body: int) -> tuple[Header, bytearray] | None:
    """Read one frame, or return None at the end of the stream.

    Parameters
    ----------
    stream : binary file
        The pipe.
    longest_body : int
        Bytes of body to accept.

    Raises
    ------
    ProtocolError
        If what comes is not a frame, is cut off, or is larger than allowed.
    """
    prefix = stream.read(PREFIX.size)
    if not prefix:
        return None
    if len(prefix) < PREFIX.size:
        raise ProtocolError("the stream ended inside a frame")
    magic, header_size, body_size = PREFIX.unpack(prefix)
    if magic != MAGIC or header_size > LONGEST_HEADER or body_size > longest_body:
        raise ProtocolError("what came is not a frame of the expected size")
    try:
        header = json.loads(bytes(_read_exactly(stream, header_size)))
    except ValueError as error:
        raise ProtocolError("the header of a frame is not JSON") from error
    if not isinstance(header, dict):
        raise ProtocolError("the header of a frame is not an object")
    return header, _read_exactly(stream, body_size)


def _read_exactly(stream: IO[bytes], size: int) -> bytearray:
    buffer = bytearray(size)
    view = memoryview(buffer)
    filled = 0
    while filled < size:
        count = stream.readinto(view[filled:])  # type: ignore[attr-defined]
        if not count:
            raise ProtocolError("the stream ended inside a frame")
        filled += count
    return buffer


def run_worker(serve: Callable[[IO[bytes], IO[bytes]], None]) -> None:
    """Serve requests on standard input and output until there are no more.

    Parameters
    ----------
    serve : callable
        Is given the pipes from and to the parent.
    """
    # Ctrl-C reaches the whole group of processes; ending workers is the parent's task.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    requests, replies = _private_pipes()
    try:
        serve(requests, replies)
    except (BrokenPipeError, ConnectionError, ProtocolError):
        os._exit(1)  # the parent is gone: nobody to tell, and a flush at exit would fail again


def orphan_patience(deadline: float) -> float:
    """Return after how many seconds a worker ends itself; the parent keeps the deadline, unless it died."""
    return deadline * ORPHAN_FACTOR + ORPHAN_GRACE


def _private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take standard input and output for the frames; what a library prints goes to standard error."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, replies
