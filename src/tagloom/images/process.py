"""One worker process seen from its parent: start it, ask it, get rid of it."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import IO, Any, Protocol

from tagloom.images import wire
from tagloom.images.verdicts import one_line

__all__ = ["WORKER_COMMAND", "WorkerFailure", "WorkerProcess", "WorkerSettings"]

# -P: a photo folder that happens to hold PIL.py must not be imported from.
WORKER_COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "tagloom.images.worker")
WORKER_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
START_DEADLINE = 60.0
REAP_SECONDS = 2.0
TAIL_BYTES = 4096

Frame = tuple[dict[str, Any], bytearray]


class WorkerFailure(Exception):  # noqa: N818 - an outcome that the pool handles, not an error of the program
    """A worker died, or was killed because it took too long.

    Parameters
    ----------
    reason : str
        What happened, in a few words.
    timed_out : bool
        Whether the deadline had passed.
    """

    def __init__(self, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(reason)
        self.reason = one_line(reason)
        self.timed_out = timed_out


class WorkerSettings(Protocol):
    """What a worker is told when it starts, and what its parent holds it to."""

    @property
    def deadline(self) -> float:
        """Seconds until an answer."""

    @property
    def longest_reply(self) -> int:
        """Bytes of the largest answer that is read."""

    def as_json(self) -> dict[str, Any]:
        """Return the settings as something JSON can say."""


class WorkerProcess:
    """A running worker.

    Replies are read by a thread of their own and awaited with a timeout, which works on every platform and also
    when a process hangs in the kernel (a dead network share) and cannot be killed.

    Parameters
    ----------
    command : sequence of str
        What to run.
    settings : WorkerSettings
        Told to the worker at once.

    Raises
    ------
    WorkerFailure
        If it does not start.
    """

    def __init__(self, command: Sequence[str], settings: WorkerSettings) -> None:
        self._deadline = settings.deadline
        self._tail = _Tail()
        self._replies: queue.Queue[Frame | None] = queue.Queue(maxsize=1)
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the command is ours, never built from a photo
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, **WORKER_ENVIRONMENT},
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except OSError as error:
            raise WorkerFailure(f"{command[0]}: {error.strerror or error}") from error
        self._threads = [
            threading.Thread(target=_pump, args=(self._process.stdout, self._replies, settings.longest_reply)),
            threading.Thread(target=self._tail.follow, args=(self._process.stderr,)),
        ]
        for thread in self._threads:
            thread.daemon = True
            thread.start()
        try:
            header, _ = self._exchange(settings.as_json(), b"", START_DEADLINE)
        except BaseException:
            self.dispose()
            raise
        self.memory_limited = bool(header.get("memory_limited"))

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def request(self, task: str, path: bytes, seconds: float | None = None) -> Frame:
        """Ask for one file and wait for the reply.

        Parameters
        ----------
        task : str
            See `tagloom.images.worker.answer`.
        path : bytes
            The file.
        seconds : float, optional
            The deadline of this file, where it is not that of all.

        Raises
        ------
        WorkerFailure
            If the worker dies or the deadline passes; the worker is of no use after that.
        """
        if seconds is None:
            return self._exchange({"task": task}, path, self._deadline)
        return self._exchange({"task": task, "seconds": seconds}, path, seconds)

    def send(self, header: dict[str, Any], body: bytes) -> None:
        """Ask for something that has several replies; `receive` returns one after the other.

        Raises
        ------
        WorkerFailure
            If the worker is gone.
        """
        try:
            if self._process.stdin is not None:
                wire.write_frame(self._process.stdin, header, [body])
        except (OSError, ValueError):
            raise WorkerFailure(self._epitaph()) from None

    def receive(self) -> Frame:
        """Wait for the next reply.

        Raises
        ------
        WorkerFailure
            If the worker dies or the deadline passes; the worker is of no use after that.
        """
        return self._receive(self._deadline)

    def kill(self) -> None:
        """End the process at once."""
        with contextlib.suppress(OSError):
            self._process.kill()

    def dispose(self) -> None:
        """End the process, reap it, and close what belongs to it."""
        self.kill()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(REAP_SECONDS)
        if self._process.poll() is None:
            return  # it hangs in the kernel: its threads are daemons and end when it does
        self._drain()
        for thread in self._threads:
            thread.join(REAP_SECONDS)

    def _exchange(self, header: dict[str, Any], body: bytes, seconds: float) -> Frame:
        self.send(header, body)
        return self._receive(seconds)

    def _receive(self, seconds: float) -> Frame:
        try:
            frame = self._replies.get(timeout=seconds)
        except queue.Empty:
            raise WorkerFailure(f"no answer within {seconds:g} s", timed_out=True) from None
        if frame is None:
            raise WorkerFailure(self._epitaph())
        return frame

    def _epitaph(self) -> str:
        """Return why the process ended: the signal, or the last line it wrote."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(REAP_SECONDS)
        code = self._process.poll()
        if code is None:
            return "it sent something that is not an answer"
        if code < 0:
            with contextlib.suppress(ValueError):
                return f"killed by {signal.Signals(-code).name}"
        self._threads[1].join(REAP_SECONDS)
        last = self._tail.last_line()
        return f"exit status {code}" + (f": {last}" if last else "")

    def _drain(self) -> None:
        """Take what is left, so that the thread that waits to put something ends."""
        while self._threads[0].is_alive():
            try:
                self._replies.get(timeout=0.05)
            except queue.Empty:
                self._threads[0].join(0.05)


class _Tail:
    """The end of what a process writes to standard error; reading it keeps the pipe from filling up."""

    def __init__(self) -> None:
        self._kept = b""

    def follow(self, pipe: IO[bytes]) -> None:
        with pipe:
            while chunk := os.read(pipe.fileno(), TAIL_BYTES):
                self._kept = (self._kept + chunk)[-TAIL_BYTES:]

    def last_line(self) -> str:
        lines = self._kept.decode("utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else ""


def _pump(pipe: IO[bytes], replies: "queue.Queue[Frame | None]", longest: int) -> None:
    """Read replies until the worker ends or talks nonsense."""
    try:
        with pipe:
            while (frame := wire.read_frame(pipe, longest_body=longest)) is not None:
                replies.put(frame)
    except (OSError, ValueError, wire.ProtocolError):
        pass  # told by the None that follows
    finally:
        replies.put(None)
