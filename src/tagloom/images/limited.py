"""Calls in worker processes with limits on memory and time: for what reads untrusted files and is no picture.

The function is named, not passed, and runs in a process that imports it; arguments and results are plain data
(`tagloom.core.plain_json`). A file on which the process dies, hangs or runs out of memory costs that one call.
"""

import contextlib
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any, Self

from tagloom import exceptions
from tagloom.core import from_plain, system, to_plain
from tagloom.exceptions import PhotosError, TagloomError
from tagloom.images.process import WorkerFailure, WorkerProcess
from tagloom.images.wire import ProtocolError

__all__ = ["CallFailure", "CallLimits", "LimitedCalls", "call_each"]

# -P: a folder that happens to hold a module of some name must not be imported from.
COMMAND = (sys.executable, "-P", "-W", "ignore", "-m", "tagloom.images.call_worker")
BATCH = 100
LOOK_AHEAD_PER_WORKER = 2


@dataclass(frozen=True, slots=True)
class CallLimits:
    """What a call may take.

    Parameters
    ----------
    deadline : float, default=30
        Seconds until a result, or the next of several. A process that takes longer is killed.
    memory : int, default=1 GiB
        Bytes of address space (enforced on Linux; elsewhere the functions' own limits are what is left).
    longest_reply : int, default=64 MiB
        Bytes of the largest result that is taken.
    total : float, optional
        Seconds for all results of a call; by default as long as they keep coming.
    """

    deadline: float = 30.0
    memory: int = 1 << 30
    longest_reply: int = 64 << 20
    total: float | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the limits as something JSON can say."""
        return asdict(self)


class CallFailure(Exception):  # noqa: N818 - an outcome of one file, not an error of the program
    """A call had no result: the process died, took too long, or ran out of memory.

    Parameters
    ----------
    reason : str
        What happened, in a few words that follow "could not be read:".
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class LimitedCalls:
    """A worker process that calls functions, replaced when it fails.

    Parameters
    ----------
    limits : CallLimits, optional
        What a call may take.
    classes : iterable of type
        Dataclasses that results may hold.

    Examples
    --------
    >>> with LimitedCalls() as calls:
    ...     list(calls.stream("builtins:sorted", ["b", "a"]))
    ['a', 'b']
    """

    def __init__(self, limits: CallLimits | None = None, classes: Iterable[type] = ()) -> None:
        self._limits = limits or CallLimits()
        self._classes = tuple(classes)
        self._worker: WorkerProcess | None = None
        self._closed = False

    def stream(self, function: str, *arguments: Any) -> Iterator[Any]:
        """Call a function that returns an iterable, and yield what that yields.

        Parameters
        ----------
        function : str
            ``module:name``.
        *arguments : object
            Plain data.

        Raises
        ------
        CallFailure
            If the process did not survive it; the next call gets another one.
        TagloomError
            What the function raised, of its own class.
        """
        ended, started, total = False, time.monotonic(), self._limits.total
        try:
            worker = self._started()
            worker.send({"function": function}, to_plain(arguments).encode())
            while not ended:
                header, body = worker.receive()
                if "error" in header:
                    self._fail(header)
                ended = bool(header.get("end"))
                yield from from_plain(body, self._classes)
                if total is not None and time.monotonic() - started > total:
                    raise CallFailure(f"it takes more than {total:.0f} s")
        except WorkerFailure as failure:
            seconds = f"it takes more than {self._limits.deadline:.3g} s"
            raise CallFailure(seconds if failure.timed_out else f"the reader died ({failure.reason})") from failure
        except (ProtocolError, ValueError) as error:
            if isinstance(error, TagloomError):
                ended = True
                raise
            raise CallFailure(f"the reader answered nonsense ({error})") from error
        finally:
            if not ended:  # what is left of its answers would be taken for those of the next call
                self._dispose()

    def close(self) -> None:
        """End the process; nothing can be called afterwards, and a call that waits in another thread fails."""
        self._closed = True
        self._dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _started(self) -> WorkerProcess:
        worker = self._worker
        if worker is None and not self._closed:
            try:
                worker = self._worker = WorkerProcess(COMMAND, self._limits)
            except WorkerFailure as failure:
                raise PhotosError(f"the reader of untrusted files could not be started ({failure.reason})") from failure
        if worker is None or self._closed:
            self._dispose()
            raise PhotosError("the reader of untrusted files was closed; make a new one")
        return worker

    def _dispose(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.dispose()

    def _fail(self, header: dict[str, Any]) -> None:
        kind, text = str(header["error"]), str(header.get("text", ""))
        if kind == "MemoryError":
            raise CallFailure(f"it takes more than {self._limits.memory >> 20} MiB of memory")
        known = getattr(exceptions, kind, None) if kind in exceptions.__all__ else None
        if isinstance(known, type) and issubclass(known, TagloomError) and not issubclass(known, OSError):
            raise known(text)
        raise CallFailure(text or kind)


def call_each(
    function: str,
    items: Sequence[Any],
    *,
    options: Sequence[Any] = (),
    limits: CallLimits | None = None,
    classes: Iterable[type] = (),
) -> Iterator[Any]:
    """Call a function for many items, many at a time; one result per item, in their order.

    Parameters
    ----------
    function : str
        ``module:name``; called with a list of items and the options, it yields a result for each item.
    items : sequence
        Plain data.
    options : sequence
        Further arguments of every call.
    limits : CallLimits, optional
        What a result may take.
    classes : iterable of type
        Dataclasses that results may hold.

    Yields
    ------
    object
        The result, or a `CallFailure`. An item on which the process fails is tried once more, in a fresh one.
    """
    batches = [list(items[start : start + BATCH]) for start in range(0, len(items), BATCH)]
    n_workers = min(system.cpu_count(), len(batches))
    if not n_workers:
        return
    with contextlib.ExitStack() as stack:
        threads = stack.enter_context(ThreadPoolExecutor(n_workers, thread_name_prefix="tagloom-read"))
        idle = deque(stack.enter_context(LimitedCalls(limits, classes)) for _ in range(n_workers))
        stack.callback(threads.shutdown, wait=False, cancel_futures=True)

        def work(batch: list[Any]) -> list[Any]:
            calls = idle.popleft()
            try:
                return _results(calls, function, batch, options)
            finally:
                idle.append(calls)

        pending: deque[Future[list[Any]]] = deque()
        for batch in batches:
            pending.append(threads.submit(work, batch))
            if len(pending) >= LOOK_AHEAD_PER_WORKER * n_workers:
                yield from pending.popleft().result()
        while pending:
            yield from pending.popleft().result()


def _results(calls: LimitedCalls, function: str, batch: list[Any], options: Sequence[Any]) -> list[Any]:
    results: list[Any] = []
    with contextlib.suppress(CallFailure):
        for result in calls.stream(function, batch, *options):
            results.append(result)  # what came before a failure is kept
    del results[len(batch) :]
    # Which of the others it was is not known: each gets a call of its own.
    for item in batch[len(results) :]:
        results.append(_result(calls, function, item, options))
    return results


def _result(calls: LimitedCalls, function: str, item: Any, options: Sequence[Any]) -> Any:
    failure = CallFailure("there is no result")
    for _ in range(2):
        try:
            for result in list(calls.stream(function, [item], *options))[:1]:
                return result
        except CallFailure as again:
            failure = again
    return failure
