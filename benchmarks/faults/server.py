"""The verifier's end: ask the server for children, and kill them at a chosen moment."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from benchmarks.datasets import ROOT
from benchmarks.faults.scene import SETTINGS

PATIENCE = 120.0
AFTERMATH = 10.0


@dataclass
class Outcome:
    """What became of a child.

    Parameters
    ----------
    said : list of str
        Its lines between the first and the last one.
    code : int
        Exit code; -9 where it was killed.
    finished : bool
        Whether it said that its verb was done.
    result : int
        The number it said then.
    seconds : float
        From its first line to its last one, or to the kill.
    survivors : int
        Processes that it had started and that were still there some seconds after it.
    """

    said: list[str] = field(default_factory=list)
    code: int = 0
    finished: bool = False
    result: int = 0
    seconds: float = 0.0
    survivors: int = 0


class Server:
    """A running `benchmarks.faults.child`.

    Parameters
    ----------
    errors : Path
        File that the standard error of the children goes to.
    """

    def __init__(self, errors: Path) -> None:
        self._errors = errors.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.faults.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=ROOT,
            env=os.environ | SETTINGS,
        )
        self._rest = b""
        if self._lines(PATIENCE) != ["ready"]:
            raise RuntimeError(f"the server of children did not start; see {errors.name}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def ask(self, delay: float | None = None, **request: Any) -> Outcome:
        """Let a child do a verb; kill it so many seconds after it has begun, if it is still at work then."""
        if self._process.stdin is None:
            raise RuntimeError("the server has no input")
        self._process.stdin.write(json.dumps(request, default=str).encode() + b"\n")
        self._process.stdin.flush()
        outcome, child, begun, kill_at = Outcome(), 0, 0.0, None
        deadline = time.monotonic() + PATIENCE
        while True:
            until = deadline if kill_at is None else kill_at
            lines = self._lines(max(0.0, until - time.monotonic()))
            now = time.monotonic()
            for line in lines:
                word, _, rest = line.partition(" ")
                if word == "begin":
                    child, begun = int(rest), now
                    kill_at = None if delay is None else begun + delay
                elif word == "end":
                    outcome.code = int(rest)
                    outcome.survivors = _survivors(child)
                    return outcome
                elif word == "done":
                    outcome.finished, outcome.result = True, int(rest)
                else:
                    outcome.said.append(line)
                outcome.seconds = now - begun
            if not lines and now >= deadline:
                _kill(child)
                raise RuntimeError(f"a child took longer than {PATIENCE:.0f} s: {request}")
            if kill_at is not None and now >= kill_at:
                _kill(child)
                outcome.seconds, kill_at = now - begun, None

    def _lines(self, timeout: float) -> list[str]:
        """Return the lines that arrive first, none if none arrives in time."""
        output = self._process.stdout
        if output is None or not select.select([output], [], [], timeout)[0]:
            return []
        data = os.read(output.fileno(), 1 << 16)
        if not data:
            raise RuntimeError("the server of children has died")
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode() for line in lines]


def _kill(process: int) -> None:
    """End one child; the server has not reaped it as long as its end has not been read here."""
    if process > 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def _survivors(session: int) -> int:
    """Wait for the processes of a session to end, then end what is left, and return how many these were."""
    deadline = time.monotonic() + AFTERMATH
    while (left := _members(session)) and time.monotonic() < deadline:
        time.sleep(0.02)
    for process in left:
        _kill(process)
    return len(left)


def _members(session: int) -> list[int]:
    """Return the living processes of a session, where there is /proc."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] not in "ZX":
                found.append(int(entry.name))
    return found
