"""The timing loop, written once: interleaved runs after a warm-up, CPU and wall time, threads forced.

A benchmark builds contenders, calls `compare` for each problem and `record` at the end::

    contenders = [
        Local("tagloom", lambda: harmonic(graph, Y), role="ours"),
        Local("dense, as printed", lambda: literal(graph, Y), role="literal", runs=1),
        Worker("another tool", "peers/another.py:propagate", {"X": X, "Y": Y}, folder, environment="another"),
    ]
    entries = compare(contenders, accuracy=lambda F: {"max. error": np.abs(F - exact).max()})
    cases.append(case("n = 2,000", {"n": 2000}, entries))
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.clock import Elapsed, measure
from benchmarks.errors import BenchmarkError
from benchmarks.results import environment, write_json
from benchmarks.speed.report import benchmark_lines

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results"
REPEATS = 5
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
Role = Literal["ours", "literal", "peer"]
Accuracy = Callable[[Any], dict[str, float]]


class Contender(Protocol):
    """Something that can be timed.

    ``runs``: fewer rounds than the others and, if 1, no warm-up; None: as many. ``share``: (3, 81) says that it does
    3 of 81 equal parts of the work, so that its times are multiplied by 27. ``version``: empty where the results'
    list of versions has it.
    """

    name: str
    role: Role
    skipped: str
    runs: int | None
    share: tuple[int, int]
    version: str

    def once(self) -> Elapsed:
        """Do the work once."""

    def result(self) -> Any:
        """Return what the last run gave."""

    def peak_memory(self) -> int | None:
        """Return the peak resident bytes of the process that ran it, where that is known."""


class Local:
    """A function of this process.

    Parameters
    ----------
    name : str
        Name in the table.
    function : callable
        The work; no arguments.
    role : {"ours", "literal", "peer"}
        "peer" is another library in the same environment.
    runs : int, optional
        For what is slow: see `Contender`.
    share : tuple of two int
        For what is slow and does its work in equal parts: see `Contender`.
    skipped : str
        Why it does not take part; empty: it does.
    prepare : callable, optional
        Called before every run, and not timed.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[], Any],
        *,
        role: Role,
        runs: int | None = None,
        share: tuple[int, int] = (1, 1),
        skipped: str = "",
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self._prepare = prepare
        self.role: Role = role
        self.skipped = skipped
        self.runs = runs
        self.share = share
        self.version = ""
        self._function = function
        self._result: Any = None

    def once(self) -> Elapsed:
        """Do the work once."""
        self._prepare()
        with measure() as elapsed:
            self._result = self._function()
        return elapsed

    def result(self) -> Any:
        """Return what the last run gave."""
        return self._result

    def peak_memory(self) -> int | None:
        """Return None: other contenders share this process."""
        return None


class Worker:
    """A function that runs in a process of its own: a peer's environment, or this one for its peak memory.

    Parameters
    ----------
    name : str
        Name in the table.
    target : str
        ``"FILE.py:function"``, the file relative to benchmarks/speed; the function takes and returns a dict of arrays.
    inputs : dict of arrays
        What it gets.
    folder : Path
        Where inputs and results are exchanged.
    role : {"ours", "literal", "peer"}
        See `Local`.
    environment : str
        Name of the peer's environment (``.venv-bench-NAME``); empty: this interpreter.
    threads : int
        Threads of its numerical libraries.
    """

    def __init__(
        self,
        name: str,
        target: str,
        inputs: dict[str, NDArray[Any]],
        folder: Path,
        *,
        role: Role = "peer",
        environment: str = "",
        threads: int = 1,
    ) -> None:
        self.name = name
        self.role: Role = role
        self.runs: int | None = None
        self.share = (1, 1)
        self.version = peer_version(environment)
        self._peak: int | None = None
        self._process: subprocess.Popen[str] | None = None
        self._shared = False
        self._folder = folder
        python = interpreter(environment)
        self.skipped = "" if python.is_file() else f"environment {environment!r} is not there (make bench-env)"
        if self.skipped:
            return
        self._give(inputs)
        file, _, function = target.partition(":")
        self._process = subprocess.Popen(
            [str(python), str(HERE / "worker.py"), str(HERE / file), function],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=thread_environment(threads),
        )

    def sibling(self, name: str, inputs: dict[str, NDArray[Any]]) -> "Worker":
        """Return a contender that does the same with other inputs in this process, which compiles only once.

        The peak memory of either is then that of the process so far, and is not stated.
        """
        other = copy(self)
        other.name = name
        self._shared = other._shared = True
        if not other.skipped:
            other._give(inputs)
        return other

    def once(self) -> Elapsed:
        """Do the work once, timed inside the worker."""
        answer = self._ask("run")
        self._peak = answer["peak"]
        return Elapsed(answer["cpu"], answer["wall"])

    def result(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the last run."""
        self._ask("save")
        with np.load(self._out, allow_pickle=False) as stored:
            return dict(stored)

    def peak_memory(self) -> int | None:
        """Return the worker's peak resident bytes, None where several share it."""
        return None if self._shared else self._peak

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.communicate()
            self._process = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _give(self, inputs: dict[str, NDArray[Any]]) -> None:
        number = len(list(self._folder.iterdir()))  # contenders of several problems may share name and folder
        self._given = self._folder / f"{number}-inputs.npz"
        self._out = self._folder / f"{number}-result.npz"
        np.savez(self._given, **inputs)

    def _ask(self, command: str) -> dict[str, Any]:
        process = self._process
        order = {"do": command, "inputs": str(self._given), "out": str(self._out)}
        if process is None or process.stdin is None or process.stdout is None:
            raise BenchmarkError(f"worker {self.name!r} is not running")
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise BenchmarkError(f"worker {self.name!r} ended with code {process.wait()}; its message is above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def interpreter(environment: str) -> Path:
    """Return the Python of a peer's environment; empty: this one."""
    if not environment:
        return Path(sys.executable)
    folder = ROOT / f".venv-bench-{environment}"
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def peer_version(environment: str) -> str:
    """Return the version of the package that gave a peer's environment its name, empty where it is not there."""
    folder = ROOT / f".venv-bench-{environment}"
    sites = [*folder.glob("lib/python*/site-packages"), *folder.glob("Lib/site-packages")]
    found = list(metadata.distributions(name=environment, path=[str(site) for site in sites])) if sites else []
    return found[0].version if found else ""


def thread_environment(threads: int) -> dict[str, str]:
    """Return this process's environment with the thread counts of numerical libraries forced."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads))}


@contextmanager
def forced_threads(threads: int) -> Iterator[None]:
    """Force the thread count of the libraries loaded here and of the children started meanwhile."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        with threadpool_limits(threads):
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def compare(
    contenders: Sequence[Contender],
    *,
    accuracy: Accuracy | None = None,
    repeats: int = REPEATS,
    threads: int = 1,
) -> list[dict[str, Any]]:
    """Time contenders in turns: one warm-up each, then ``repeats`` rounds in which each runs once.

    Turns spread whatever else the machine does over all of them.

    Parameters
    ----------
    contenders : sequence of Contender
        Who takes part; one with ``skipped`` set is listed with that reason.
    accuracy : function, optional
        Of a result; what it returns, by name, stands beside each time.
    repeats : int
        Rounds.
    threads : int
        Threads of the numerical libraries.

    Returns
    -------
    list of dict
        One entry per contender: medians, all runs, accuracy, peak memory.
    """
    active = [contender for contender in contenders if not contender.skipped]
    runs: dict[int, list[Elapsed]] = {id(contender): [] for contender in active}
    with forced_threads(threads):
        for contender in active:
            if contender.runs != 1:
                contender.once()
        for turn in range(repeats):
            for contender in active:
                if contender.runs is None or turn < contender.runs:
                    runs[id(contender)].append(contender.once())
    return [_entry(contender, runs.get(id(contender), []), accuracy) for contender in contenders]


def _entry(contender: Contender, runs: list[Elapsed], accuracy: Accuracy | None) -> dict[str, Any]:
    entry: dict[str, Any] = {"name": contender.name, "role": contender.role}
    if contender.skipped:
        return entry | {"skipped": contender.skipped}
    done, of = contender.share
    entry |= {
        "cpu": statistics.median(run.cpu for run in runs) * of / done,
        "wall": statistics.median(run.wall for run in runs) * of / done,
        "cpu_runs": [run.cpu for run in runs],
        "wall_runs": [run.wall for run in runs],
        "warm_up": contender.runs != 1,
        "peak_memory": contender.peak_memory(),
    }
    if done != of:
        entry["share"] = [done, of]
    if contender.version:
        entry["version"] = contender.version
    if accuracy is not None:
        entry["accuracy"] = {name: float(value) for name, value in accuracy(contender.result()).items()}
    return entry


def case(
    title: str,
    parameters: dict[str, Any],
    entries: list[dict[str, Any]],
    *,
    photos: int | None = None,
    ratios: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Return one problem of a benchmark.

    Parameters
    ----------
    title : str
        Heading of its table.
    parameters : dict
        What it was made from.
    entries : list of dict
        What `compare` returned.
    photos : int, optional
        How many photos a run goes through; the page then gives times per photo.
    ratios : dict, optional
        Further ratios of times, by what they say.
    """
    found: dict[str, Any] = {"title": title, "parameters": parameters, "entries": entries}
    return found | ({"photos": photos} if photos else {}) | ({"ratios": ratios} if ratios else {})


def missing_case(title: str, reason: str) -> dict[str, Any]:
    """Return a problem that cannot be had on this machine."""
    return {"title": title, "parameters": {}, "entries": [], "skipped": reason}


def wall_ratio(entries: list[dict[str, Any]], slower: str, faster: str) -> float:
    """Return how many times the wall time of one entry is that of another, both by name."""
    wall = {entry["name"]: entry["wall"] for entry in entries if "wall" in entry}
    return wall[slower] / wall[faster]


def record(
    name: str, title: str, cases: list[dict[str, Any]], out: Path, *, threads: int = 1, packages: Sequence[str] = ()
) -> None:
    """Write the JSON of a benchmark and print its tables; ``packages``: whose versions are also stated."""
    where = environment(threads) | {package: metadata.version(package) for package in packages}
    content = {"format": 2, "name": name, "title": title, "environment": where, "cases": cases}
    write_json(out, content)
    print("\n".join(benchmark_lines(content)), flush=True)


def out_parser(name: str) -> argparse.ArgumentParser:
    """Return the parser every benchmark starts from: ``--out FILE``, ``--threads N``, ``--quick``."""
    parser = argparse.ArgumentParser(prog=f"benchmarks.speed.{name}")
    parser.add_argument("--out", type=Path, default=RESULTS / f"{name}.json")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small problems only, to see that it works")
    return parser
