"""Connections that cannot lock anybody out: there are only so many, and none may keep the server waiting for long."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from tagloom.core import descriptor_limit

__all__ = ["BODY_SECONDS", "HEADER_SECONDS", "N_WAITING", "LimitedProtocol", "log_sparingly", "most_connections"]

logger = logging.getLogger(__name__)

HEADER_SECONDS = 10.0
BODY_SECONDS = 30.0
#: Connections taken from the queue at once, before any of them is counted.
N_WAITING = 32
MOST = 96
_FEWEST = 8
_PAUSE_SECONDS = 60.0
_FULL = b'{"error":"too many connections are open; try again in a moment"}'
_FULL_ANSWER = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


def most_connections() -> int:
    """Return how many connections may be open: files and databases need most of the descriptors of a process."""
    limit = descriptor_limit()
    return MOST if limit is None else max(_FEWEST, min(MOST, limit // 4))


class LimitedProtocol(H11Protocol):
    """HTTP with deadlines for a request's head and body, and a cap on connections.

    At the cap a new connection takes the place of the one that has waited longest without a request of its own: who
    only opens connections locks out nobody but himself. Where all are at work it is told to come again (503).
    """

    _phase: str | None = None
    _since = 0.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection in, if there is room."""
        super().connection_made(transport)
        if self._make_room():
            self._watch()
        else:
            self._unset()
            transport.write(_FULL_ANSWER)
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._unset()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, against the clock."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    def _make_room(self) -> bool:
        if len(self.connections) <= most_connections():
            return True
        waiting = [other for other in self.connections if isinstance(other, LimitedProtocol) and other is not self]
        waiting = [other for other in waiting if other.is_waiting]
        if not waiting:
            return False
        oldest = min(waiting, key=lambda other: other._since)
        self.connections.discard(oldest)
        oldest.transport.abort()
        return True

    def _watch(self) -> None:
        """Start the clock of what is waited for now; one that runs for it runs on."""
        phase = "head" if self.is_waiting else "body" if self.cycle.more_body else None
        if phase == self._phase or self.transport.is_closing():
            return
        self._unset()
        self._phase, self._since = phase, self.loop.time()
        if phase is not None:
            seconds = HEADER_SECONDS if phase == "head" else BODY_SECONDS
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _unset(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def log_sparingly() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return what an event loop does with errors: those of the system are one line a minute, and no traceback each."""
    told: dict[str, float] = {}

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError):
            loop.default_exception_handler(context)
            return
        message = str(context.get("message"))
        now = loop.time()
        if now - told.get(message, -_PAUSE_SECONDS) >= _PAUSE_SECONDS:
            told[message] = now
            logger.error("%s (%s); the same is not logged again for a minute", message, error)

    return handle
