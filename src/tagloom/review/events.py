"""News for the open pages: what was decided, learned, and how far long work is."""

import secrets
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["EventHub", "ReviewEvent"]

N_KEPT = 500


@dataclass(frozen=True, slots=True)
class ReviewEvent:
    """One piece of news: its place in the order, its name, and what JSON can hold."""

    id: str
    name: str
    data: dict[str, Any]


class EventHub:
    """Hands news to all listeners, and keeps the latest for those that were away for a moment.

    Parameters
    ----------
    n_kept : int, default=500
        How many are kept.
    """

    def __init__(self, n_kept: int = N_KEPT) -> None:
        self._lock = threading.Lock()
        self._kept: deque[ReviewEvent] = deque(maxlen=n_kept)
        self._listeners: dict[int, Callable[[ReviewEvent | None], None]] = {}
        self._n = 0
        self._next_listener = 0
        self._closed = False
        self._start = secrets.token_hex(4)  # ids of an earlier run must not be taken for those of this one

    def publish(self, name: str, data: dict[str, Any]) -> None:
        """Tell all listeners."""
        with self._lock:
            self._n += 1
            event = ReviewEvent(f"{self._start}-{self._n}", name, data)
            self._kept.append(event)
            for listener in list(self._listeners.values()):
                listener(event)

    def listen(
        self, listener: Callable[[ReviewEvent | None], None], last_id: str | None = None
    ) -> tuple[Callable[[], None], list[ReviewEvent] | None]:
        """Add a listener, called from any thread and with None at the end; it must return at once.

        Parameters
        ----------
        listener : callable
            Gets each event.
        last_id : str, optional
            The last event that was seen before.

        Returns
        -------
        stop : callable
            Removes the listener.
        missed : list of ReviewEvent or None
            What came since ``last_id``; None if that is no longer known.
        """
        with self._lock:
            number = self._next_listener
            self._next_listener += 1
            self._listeners[number] = listener
            if self._closed:
                listener(None)
            return lambda: self._remove(number), self._since(last_id)

    def last_id(self) -> str:
        """Return the id of the latest event."""
        with self._lock:
            return f"{self._start}-{self._n}"

    def close(self) -> None:
        """Tell all listeners, now and later, that no more will come."""
        with self._lock:
            self._closed = True
            for listener in list(self._listeners.values()):
                listener(None)

    def _since(self, last_id: str | None) -> list[ReviewEvent] | None:
        if last_id is None or last_id == f"{self._start}-{self._n}":
            return []
        ids = [event.id for event in self._kept]
        if last_id not in ids:
            return None
        return list(self._kept)[ids.index(last_id) + 1 :]

    def _remove(self, number: int) -> None:
        with self._lock:
            self._listeners.pop(number, None)
