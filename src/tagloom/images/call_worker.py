"""The worker behind `tagloom.images.limited`: calls functions that read untrusted files, in a process with limits.

The first frame on standard input holds the limits; then each frame asks for one call; the end of the input ends the
process. Run as ``python -m tagloom.images.call_worker``.
"""

import faulthandler
import time
from collections.abc import Iterable
from importlib import import_module
from typing import IO, Any

from tagloom.core import from_plain, system, to_plain
from tagloom.exceptions import TagloomError
from tagloom.images import wire
from tagloom.images.verdicts import one_line

__all__ = ["main", "serve"]

LARGEST_REQUEST = 64 << 20
REPLY_SECONDS = 0.5
REPLY_BYTES = 1 << 20


def serve(requests: IO[bytes], replies: IO[bytes]) -> None:
    """Answer requests until there are no more.

    Parameters
    ----------
    requests, replies : binary files
        The pipes from and to the parent.
    """
    first = wire.read_frame(requests, longest_body=0)
    if first is None:
        return
    limited = system.limit_memory(first[0]["memory"])
    wire.write_frame(replies, {"ready": True, "memory_limited": limited})
    patience = wire.orphan_patience(first[0]["deadline"])
    while (frame := wire.read_frame(requests, longest_body=LARGEST_REQUEST)) is not None:
        faulthandler.dump_traceback_later(patience, exit=True)
        try:
            module, _, name = frame[0]["function"].partition(":")
            _stream(getattr(import_module(module), name)(*from_plain(frame[1])), replies, patience)
        except MemoryError:
            wire.write_frame(replies, {"error": "MemoryError"})
        except (OSError, wire.ProtocolError):
            raise
        except TagloomError as error:
            wire.write_frame(replies, {"error": type(error).__name__, "text": str(error)[: wire.LONGEST_HEADER // 8]})
        except Exception as error:  # whatever a library makes of bytes that nobody expected
            wire.write_frame(replies, {"error": "", "text": one_line(f"{type(error).__name__}: {error}")})
        faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Run a worker on standard input and output."""
    wire.run_worker(serve)


def _stream(values: Iterable[Any], replies: IO[bytes], patience: float) -> None:
    """Send what a function yields, many values in a frame but none late."""
    texts: list[str] = []
    n_bytes, last = 0, time.monotonic()
    for value in values:
        texts.append(to_plain(value))
        n_bytes += len(texts[-1])
        if n_bytes > REPLY_BYTES or time.monotonic() - last > REPLY_SECONDS:
            wire.write_frame(replies, {}, [f"[{','.join(texts)}]".encode()])
            texts, n_bytes, last = [], 0, time.monotonic()
            faulthandler.dump_traceback_later(patience, exit=True)
    wire.write_frame(replies, {"end": True}, [f"[{','.join(texts)}]".encode()])


if __name__ == "__main__":
    main()
