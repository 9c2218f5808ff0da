"""CPU time and wall time of a piece of work, children included."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Elapsed:
    """Seconds spent; filled when the block of `measure` ends."""

    cpu: float = 0.0
    wall: float = 0.0


def cpu_seconds() -> float:
    """Return the CPU time of this process and of its children that have ended."""
    try:
        import resource
    except ImportError:  # Windows counts this process only
        return time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def measure() -> Iterator[Elapsed]:
    """Measure the block."""
    elapsed = Elapsed()
    cpu, wall = cpu_seconds(), time.perf_counter()
    try:
        yield elapsed
    finally:
        elapsed.cpu, elapsed.wall = cpu_seconds() - cpu, time.perf_counter() - wall
