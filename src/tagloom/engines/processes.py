"""An engine of processes on this machine."""

import contextlib
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

from tagloom.core import cpu_count
from tagloom.engines.base import LOOK_AHEAD, BlockFailure, Engine
from tagloom.exceptions import InvalidInputError

__all__ = ["ProcessEngine"]

_ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


class ProcessEngine(Engine):
    """A pool of processes, started with the first block and replaced when one of them dies.

    Parameters
    ----------
    n_workers : int, optional
        Processes, each with one thread; default: one per core.
    """

    def __init__(self, n_workers: int | None = None) -> None:
        self.n_workers = cpu_count() if n_workers is None else n_workers
        if self.n_workers < 1:
            raise InvalidInputError(f"n_workers must be at least 1, got {n_workers!r}")
        self._pool: ProcessPoolExecutor | None = None

    def map_blocks(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield the function's result for each block, in the order of the blocks."""
        waiting: deque[tuple[Any, Future[Any]]] = deque()
        try:
            for block in blocks:
                waiting.append((block, self._submit(function, block)))
                if len(waiting) >= LOOK_AHEAD * self.n_workers:
                    yield self._first(function, waiting)
            while waiting:
                yield self._first(function, waiting)
        finally:
            for _, future in waiting:
                future.cancel()

    def close(self) -> None:
        """End the processes; each finishes the block that it has."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _submit(self, function: Callable[[Any], Any], block: Any) -> Future[Any]:
        with contextlib.suppress(BrokenProcessPool):  # of a process that died since
            return self._started().submit(function, block)
        self.close()
        return self._started().submit(function, block)

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Not forked: a copy of a process that ran threads of BLAS or OpenMP can hang.
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.n_workers, mp_context=context, initializer=_prepare)
        return self._pool

    def _first(self, function: Callable[[Any], Any], waiting: deque[tuple[Any, Future[Any]]]) -> Any:
        """Return the next result. After a death all blocks in flight run one by one, to know which is to blame."""
        try:
            result = waiting[0][1].result()
        except BrokenProcessPool:
            lost = [(block, future) for block, future in waiting if not _has_result(future)]
            again = {id(future): self._alone(function, block) for block, future in lost}
            for place, (block, future) in enumerate(waiting):
                waiting[place] = (block, again.get(id(future), future))
            result = waiting[0][1].result()
        waiting.popleft()
        return result

    def _alone(self, function: Callable[[Any], Any], block: Any) -> Future[Any]:
        """Run one block while nothing else runs; return its future, which is done."""
        future = self._submit(function, block)
        if isinstance(future.exception(), BrokenProcessPool):
            reason = str(future.exception()) or "a process died"
            future = Future()
            future.set_result(BlockFailure(reason))
            self.close()
        return future


def _has_result(future: Future[Any]) -> bool:
    return future.done() and not isinstance(future.exception(), BrokenProcessPool)


def _prepare() -> None:
    """Hold a new process to one thread, before it loads numerical libraries, and leave Ctrl-C to its parent."""
    for name in _ONE_THREAD:
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
