"""Runs commands of tagloom under a deadline and tells what they did: exit code, output, the most memory a process had.

As a program it is a server: it loads tagloom once and forks a child for each line of JSON that it reads, so that
thousands of commands do not cost thousands of starts of Python.
"""

import contextlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.datasets import ROOT

LARGEST_OUTPUT = 200_000
LARGEST_FILE = 2 << 30  # a command that fills the disk is stopped


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command did; ``code`` is None where it ran past its deadline."""

    code: int | None
    out: str
    err: str
    seconds: float
    megabytes: float


class Commands:
    """A server in a process of its own.

    Parameters
    ----------
    environment : dict
        The environment of the commands.
    """

    def __init__(self, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.faults.hostile.commands"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment,
        )
        self._ask({})  # wait until everything is loaded

    def run(
        self, arguments: list[str], folder: Path, *, deadline: float, environment: dict[str, str] | None = None
    ) -> Ran:
        """Run ``tagloom`` with arguments in a folder, with some variables of the environment changed."""
        request = {"arguments": arguments, "folder": str(folder), "deadline": deadline}
        return Ran(**self._ask(request | {"environment": environment or {}}))

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the server was started without pipes")
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End the server."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait(timeout=60)
        if self._process.stdout is not None:
            self._process.stdout.close()


def _run(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.perf_counter()
        child = os.fork()
        if child == 0:
            _command(request, out.fileno(), err.fileno())
        code, usage = _wait(child, begin + request["deadline"])
        seconds = time.perf_counter() - begin
        _end_group(child)
        texts = {}
        for name, file in (("out", out), ("err", err)):
            file.seek(0)
            texts[name] = file.read(LARGEST_OUTPUT).decode(errors="replace")
    return {"code": code, "seconds": seconds, "megabytes": usage.ru_maxrss / 1024, **texts}


def _command(request: dict[str, Any], out: int, err: int) -> None:
    """Be the command: never returns."""
    code = 70
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        os.chdir(request["folder"])
        os.environ.update(request["environment"])
        from tagloom.cli import main

        try:
            main(request["arguments"])
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _wait(child: int, deadline: float) -> tuple[int | None, resource.struct_rusage]:
    late = False
    handle = os.pidfd_open(child)
    try:
        if not select.select([handle], [], [], max(0.0, deadline - time.perf_counter()))[0]:
            late = True
            os.killpg(child, signal.SIGKILL)
    finally:
        os.close(handle)
    _, status, usage = os.wait4(child, 0)
    return (None if late else os.waitstatus_to_exitcode(status)), usage


def _end_group(child: int) -> None:
    """End workers that a killed command may have left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)


def serve() -> None:
    """Answer requests from standard input until it ends."""
    import cv2  # noqa: F401
    import lxml.etree  # noqa: F401
    import numpy  # noqa: F401
    import sklearn.linear_model  # noqa: F401

    import tagloom.cli
    import tagloom.project.project  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_run(request) if request else {}), flush=True)


if __name__ == "__main__":
    serve()
