"""Blocks of columns side by side, one thread for each."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread_each", "run_blocks"]

Block = TypeVar("Block")


@cache
def _libraries() -> ThreadpoolController:
    # Looking for the libraries takes milliseconds. Those of NumPy and SciPy are loaded when a solver is.
    return ThreadpoolController()


def one_thread_each() -> AbstractContextManager[object]:
    """Return a context in which the linear algebra libraries keep to one thread: best for small matrices, too."""
    limited: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return limited


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
