"""What checks of connectors share: a served project, waiting for a server, and the record of what came of it."""

import contextlib
import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.results import environment, write_json

#: One file for each connector; `benchmarks.interop.report` makes a row of each.
CONNECTORS = Path(__file__).parent / "results" / "connectors"
PATIENCE = 600.0
TAGLOOM = [sys.executable, "-c", "from tagloom.cli import main; main()"]


@contextlib.contextmanager
def served(photos: Path, config: Path) -> Iterator[tuple[str, str]]:
    """Serve the project of a folder of photos; yield its address and the token of an owner."""
    known = os.environ | {"TAGLOOM_CONFIG": str(config), "OMP_NUM_THREADS": "1"}
    where = ["--project", str(photos)]
    token = subprocess.run(
        [*TAGLOOM, "serve", "user", "add", "checker", "--role", "owner", *where],
        env=known,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    command = [*TAGLOOM, "serve", "--port", "0", *where]
    with running(command, known, config.parent / "serve.txt", stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        base = server.stdout.readline().partition("/?")[0].strip()
        wait_for(lambda: answers(f"{base}/api/v1/health"), "tagloom does not answer")
        yield base, token


@contextlib.contextmanager
def running(
    command: list[str], known: Mapping[str, str], log: Path, *, stdout: int | None = None
) -> "Iterator[subprocess.Popen[str]]":
    """Run a program for as long as this lasts."""
    with open(log, "a", encoding="utf-8") as handle:
        process = subprocess.Popen(
            command, env=known, cwd=log.parent, stdout=stdout or handle, stderr=handle, text=True
        )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def answers(address: str) -> bool:
    """Tell whether a server answers."""
    try:
        with urllib.request.urlopen(address, timeout=30):
            return True
    except OSError:
        return False


def wait_for(is_there: Callable[[], bool], otherwise: str) -> None:
    """Wait for something to happen."""
    end = time.monotonic() + PATIENCE
    while not is_there():
        if time.monotonic() > end:
            raise RuntimeError(f"{otherwise} after {PATIENCE:.0f} s")
        time.sleep(1)


def record(
    name: str, connector: str, command: str, programs: Mapping[str, str], how: str, result: str, **more: Any
) -> None:
    """Keep what a check found.

    Parameters
    ----------
    name : str
        Of the file.
    connector, command : str
        What was tested, and the command that its how-to page has.
    programs : mapping
        The other programs, with their versions.
    how, result : str
        Against what, and what came of it, in words.
    **more
        All figures.
    """
    told = {"connector": connector, "command": command, "programs": dict(programs), "how": how, "result": result}
    write_json(CONNECTORS / f"{name}.json", told | more | {"environment": environment()})
    print(json.dumps(told | more, indent=1))
