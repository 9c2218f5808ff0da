"""An engine of Dask workers: on this machine, or on those of a cluster that somebody else runs (extra ``cluster``)."""

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from typing import Any

from tagloom.core import cpu_count
from tagloom.engines.base import LOOK_AHEAD, BlockFailure, Engine, add_up, tree_order
from tagloom.exceptions import EngineError

__all__ = ["DaskEngine"]

START_SECONDS = 30.0
WORKER_SECONDS = 60.0


class DaskEngine(Engine):
    """Workers of a Dask cluster.

    Dask gives a block to another worker when one is lost. A block on which several workers die is a `BlockFailure`.

    Parameters
    ----------
    address : str, default=""
        ``dask://host:port`` or ``dask+tls://host:port`` of a scheduler; empty starts workers on this machine, which
        talk to nobody else: they need a certificate that is made for them.
    n_workers : int, optional
        Worker processes on this machine, each with one thread; default: one per core.

    Raises
    ------
    EngineError
        If Dask is not installed, or the scheduler or its workers do not answer.
    """

    def __init__(self, address: str = "", *, n_workers: int | None = None) -> None:
        try:
            import distributed
        except ImportError as error:
            raise EngineError("the engine dask needs another package: pip install tagloom[cluster]") from error
        self._lost = distributed.scheduler.KilledWorker
        self._cluster: Any = None
        self._client: Any = None
        self.address = address.replace("dask+tls://", "tls://").replace("dask://", "tcp://")
        try:
            if not address:
                self._cluster = distributed.LocalCluster(
                    n_workers=cpu_count() if n_workers is None else n_workers,
                    threads_per_worker=1,
                    processes=True,
                    # Who can talk to a scheduler can run programs as its user: others on this machine cannot.
                    security=True,
                    dashboard_address="127.0.0.1:0",
                    worker_dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            self._client = distributed.Client(
                self._cluster or self.address, timeout=START_SECONDS, set_as_default=False
            )
            self._client.wait_for_workers(1, timeout=WORKER_SECONDS)
            self.n_workers = max(1, sum(self._client.nthreads().values()))
        except (OSError, TimeoutError, ValueError, ImportError, RuntimeError) as error:
            self.close()
            where = f"the Dask scheduler {self.address}" if address else "a Dask cluster on this machine"
            raise EngineError(
                f"{where} has no workers for tagloom ({_first_line(error)}); start them with: dask scheduler, and on "
                f"each machine: dask worker HOST:PORT"
            ) from error

    def map_blocks(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield the function's result for each block, in the order of the blocks."""
        waiting: deque[Any] = deque()
        try:
            for block in blocks:
                waiting.append(self._submit(function, block))
                if len(waiting) >= LOOK_AHEAD * self.n_workers:
                    yield self._result(waiting.popleft())
            while waiting:
                yield self._result(waiting.popleft())
        finally:
            with contextlib.suppress(Exception):
                self._client.cancel(list(waiting))

    def tree_sum(self, function: Callable[[Any], Any], blocks: Iterable[Any]) -> Any:
        """Return the sum of what a function gives for each block; the workers add, and one sum comes back."""

        def summands() -> Iterator[Any]:
            begun: deque[Any] = deque()
            for block in blocks:
                future = self._submit(function, block)
                begun.append(future)
                if len(begun) >= LOOK_AHEAD * self.n_workers:
                    begun.popleft().exception()  # waits, and fetches no sum
                yield future

        total = self._result(tree_order(summands(), lambda one, other: self._submit(add_up, one, other)))
        if isinstance(total, BlockFailure):
            raise EngineError(f"workers died of a block of work ({total.reason}); give them more memory")
        return total

    def close(self) -> None:
        """Leave the cluster; one that this engine started ends."""
        for one in (self._client, self._cluster):
            if one is not None:
                one.close()
        self._client = self._cluster = None

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        # Not by what it computes: files change, so the same question may have another answer later.
        return self._client.submit(function, *arguments, pure=False)

    def _result(self, future: Any) -> Any:
        try:
            return future.result()
        except self._lost as error:
            return BlockFailure(_first_line(error))
        except (CancelledError, OSError, TimeoutError) as error:
            if self._client is not None and self._client.status == "running" and not future.cancelled():
                raise
            raise EngineError(
                f"the Dask scheduler is gone ({_first_line(error)}); what is done is kept: run the same command again"
            ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
