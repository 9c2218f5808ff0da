"""Blocks of rows or columns side by side, one thread for each."""

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

from tagloom.core.system import cpu_count
from tagloom.core.threads import limit_libraries
from tagloom.exceptions import InvalidInputError

__all__ = ["choose_threads", "one_thread_each", "run_blocks", "run_rows"]

Block = TypeVar("Block")

# Entries of a block of columns below which starting threads costs more than it brings.
SMALL = 50_000


def choose_threads(n_threads: int | None, n_entries: int) -> int:
    """Return the number of threads: for large problems all cores, or ``OMP_NUM_THREADS`` where lower, unless given."""
    if n_threads is None:
        wish = os.environ.get("OMP_NUM_THREADS", "")
        most = max(1, min(cpu_count(), int(wish))) if wish.isdigit() else cpu_count()
        return most if n_entries >= SMALL else 1
    if n_threads < 1:
        raise InvalidInputError(f"n_threads must be at least 1, got {n_threads!r}")
    return int(n_threads)


def one_thread_each() -> AbstractContextManager[object]:
    """Return a context in which the linear algebra libraries keep to one thread: best for small matrices, too."""
    return limit_libraries(1, only_blas=True)


def run_blocks(work: Callable[[Block], None], blocks: Sequence[Block], n_threads: int) -> None:
    """Call ``work`` for every block, in as many threads as are given.

    Meanwhile the linear algebra libraries keep to one thread each: their own threads, asked for by several of ours at
    once, wait for each other.
    """
    if n_threads == 1 or len(blocks) < 2:
        for block in blocks:
            work(block)
        return
    with one_thread_each(), ThreadPoolExecutor(min(n_threads, len(blocks))) as pool:
        list(pool.map(work, blocks))


def run_rows(work: Callable[[slice], None], n_rows: int, n_columns: int, n_threads: int | None) -> None:
    """Call ``work`` for equal ranges of rows of a matrix, as many as threads; a small matrix is one range."""
    small = n_rows * n_columns < SMALL
    workers = 1 if small else choose_threads(n_threads, n_rows * n_columns)
    edges = [n_rows * block // workers for block in range(workers + 1)]
    run_blocks(work, [slice(first, last) for first, last in itertools.pairwise(edges)], workers)
