"""Threads, memory blocks and the optional faiss library."""

import importlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from types import ModuleType

from tagloom.core import Progress, cpu_count, limit_libraries
from tagloom.exceptions import InvalidInputError

__all__ = ["check_threads", "load_faiss", "map_blocks", "row_blocks", "single_threaded_libraries"]

NO_FAISS = "TAGLOOM_NO_FAISS"


def check_threads(n_threads: int | None) -> int:
    """Return how many threads to use.

    Parameters
    ----------
    n_threads : int or None
        None: the cores this process may use, or ``OMP_NUM_THREADS`` where that is set lower.
    """
    if n_threads is None:
        wish = os.environ.get("OMP_NUM_THREADS", "")
        return max(1, min(cpu_count(), int(wish))) if wish.isdigit() else cpu_count()
    if isinstance(n_threads, bool) or int(n_threads) != n_threads or n_threads < 1:
        raise InvalidInputError(f"n_threads must be None or an integer of at least 1, got {n_threads!r}")
    return int(n_threads)


def load_faiss() -> ModuleType | None:
    """Import faiss, or return None where it is missing, broken or switched off by ``TAGLOOM_NO_FAISS=1``.

    A clash of OpenMP runtimes (seen on macOS beside scikit-learn) aborts the process and cannot be caught here; the
    environment variable is the way out.
    """
    if os.environ.get(NO_FAISS, "") not in ("", "0"):
        return None
    try:
        return importlib.import_module("faiss")
    except (ImportError, OSError, AttributeError, RuntimeError):
        return None


def row_blocks(n_rows: int, block: int) -> Iterator[slice]:
    """Cut ``range(n_rows)`` into slices of at most ``block`` rows."""
    for start in range(0, n_rows, block):
        yield slice(start, min(start + block, n_rows))


def single_threaded_libraries() -> AbstractContextManager[object]:
    """Return a context in which BLAS and OpenMP use one thread, so that our own threads do not fight theirs."""
    return limit_libraries(1)


def map_blocks(work: Callable[[slice], None], n_rows: int, block: int, n_threads: int, progress: Progress) -> None:
    """Run ``work`` on blocks of rows in threads; count finished rows in ``progress``, in order.

    Parameters
    ----------
    work : callable
        Takes a slice of rows and writes its own results.
    n_rows, block : int
        Rows in all, and rows per block.
    n_threads : int
        Number of Python threads; BLAS and OpenMP get one thread each meanwhile.
    progress : Progress
        If it raises, blocks not yet begun are dropped and the exception goes on.
    """
    blocks = list(row_blocks(n_rows, block))
    with single_threaded_libraries():
        if n_threads == 1:
            for rows in blocks:
                work(rows)
                progress.advance(rows.stop - rows.start)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            futures = [pool.submit(work, rows) for rows in blocks]
            try:
                for rows, future in zip(blocks, futures, strict=True):
                    future.result()
                    progress.advance(rows.stop - rows.start)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
