"""CPU time and wall time of a piece of work, children included."""

import contextlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Elapsed:
    """Seconds spent; filled when the block of `measure` ends."""

    cpu: float = 0.0
    wall: float = 0.0


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children: those that have ended and, on Linux, those alive."""
    try:
        import resource
    except ImportError:  # Windows counts this process only
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime + living_children_seconds()


def living_children_seconds() -> float:
    """Return the CPU time of the children that are still running, 0 where there is no /proc (ticks of 10 ms)."""
    children: list[str] = []
    ticks = 0
    # A thread or a child may end between two looks; such a child is counted with those that have ended.
    for listing in Path("/proc/self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            children += listing.read_text().split()
    for child in children:
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])  # utime and stime, counted after the name in brackets
    return ticks / os.sysconf("SC_CLK_TCK") if ticks else 0.0


@contextmanager
def measure() -> Iterator[Elapsed]:
    """Measure the block."""
    elapsed = Elapsed()
    cpu, wall = cpu_seconds(), time.perf_counter()
    try:
        yield elapsed
    finally:
        elapsed.cpu, elapsed.wall = cpu_seconds() - cpu, time.perf_counter() - wall
