"""Decoding many photos in worker processes: one verdict per file, in order, whatever the files do."""

import contextlib
import os
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from types import TracebackType
from typing import Self

from tagloom.core import PhotoRecord, Verdict, is_video, system
from tagloom.exceptions import InvalidInputError, PhotosError
from tagloom.images.photos import DecodedPhoto, photo_from_reply
from tagloom.images.process import WORKER_COMMAND, WorkerFailure, WorkerProcess
from tagloom.images.renditions import WORKING_SIDE, Rendition
from tagloom.images.settings import DEFAULT_MAX_PIXELS, DEFAULT_MEMORY_LIMIT, DecodeSettings
from tagloom.images.wire import ProtocolError

__all__ = ["DecodePool"]

LOOK_AHEAD_PER_WORKER = 4
START_ATTEMPTS = 3
POLL_SECONDS = 1.0
CLIP_DEADLINES = 4
CLIP_BYTES_PER_SECOND = 50e6  # read from a slow disk, twice
LONGEST_DEADLINE = 86_400.0


class DecodePool:
    """Worker processes that decode photos.

    Parameters
    ----------
    renditions : sequence of Rendition
        What to make of each photo.
    n_workers : int, optional
        Number of processes; by default the number of cores.
    thumbnail_size : int, optional
        Longer side of a WebP thumbnail; by default none is made.
    deadline : float, default=30
        Seconds one photo may take; a video may take four times as long, and a second for each 50 MB. A worker that
        takes longer is killed and replaced.
    memory_limit : int, default=2 GiB
        Bytes of address space of one worker (enforced on Linux; elsewhere photos are still refused by what their
        header says they need).
    max_pixels : int, default=500 million
        Photos whose header says more are refused.
    working_side : int, default=720
        The shorter side down to which a large photo may be shrunk while it is decoded, and the most that
        ``thumbnail_size`` can be. Features are defined for the default.
    worker_command : sequence of str, optional
        What to run instead of ``python -m tagloom.images.worker``.

    Notes
    -----
    A file on which a worker dies or exceeds the deadline is tried once more, in a fresh worker that has seen no other
    file; then it gets the verdict "crashed" or "timeout". All other files are unaffected. Results do not depend on
    the number of workers. A path is taken from the input before any worker opens it, and at most
    4 × ``n_workers`` paths are taken before their results are fetched.

    Use it as a context manager; leaving it, also by Ctrl-C, ends the workers at once.

    Examples
    --------
    >>> with DecodePool([Rendition("network", "square", 224)], n_workers=1) as pool:
    ...     [photo.record.verdict.value for photo in pool.decode([b"no-such-file.jpg"])]
    ['missing']
    """

    def __init__(
        self,
        renditions: Sequence[Rendition] = (),
        *,
        n_workers: int | None = None,
        thumbnail_size: int | None = None,
        deadline: float = 30.0,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
        max_pixels: int = DEFAULT_MAX_PIXELS,
        working_side: int = WORKING_SIDE,
        worker_command: Sequence[str] | None = None,
    ) -> None:
        self._settings = DecodeSettings(
            tuple(renditions), thumbnail_size, float(deadline), memory_limit, max_pixels, working_side
        )
        self.n_workers = system.cpu_count() if n_workers is None else n_workers
        if self.n_workers < 1:
            raise InvalidInputError(f"n_workers must be at least 1, got {n_workers!r}")
        self._command = WORKER_COMMAND if worker_command is None else tuple(worker_command)
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[WorkerProcess] = []
        self._living: set[WorkerProcess] = set()
        self._threads = ThreadPoolExecutor(self.n_workers, thread_name_prefix="tagloom-decode")
        self._finalizer = weakref.finalize(self, _dispose_all, self._living)

    def decode(self, paths: Iterable[bytes]) -> Iterator[DecodedPhoto]:
        """Decode files, one result per path, in the order of the paths.

        Parameters
        ----------
        paths : iterable of bytes
            Files, absolute or relative to the current folder; taken as results are fetched.

        Yields
        ------
        DecodedPhoto
            With pixels if ``.record.ok``.

        Raises
        ------
        PhotosError
            If workers cannot be started at all. No file ever raises.
        """
        self._check_open()
        return self._in_order("decode", paths)

    def fingerprint(self, paths: Iterable[bytes]) -> Iterator[PhotoRecord]:
        """Hash files without decoding them, one record per path, in the order of the paths.

        The verdict "ok" means here that the file could be read; width and height are 0.

        Parameters
        ----------
        paths : iterable of bytes
            Files, absolute or relative to the current folder.

        Yields
        ------
        PhotoRecord
            With ``content_hash`` and ``stamp`` if ``.ok``.
        """
        self._check_open()
        return (photo.record for photo in self._in_order("fingerprint", paths))

    def start(self) -> None:
        """Start a worker ahead of the first file, so that the time it takes is not counted as that file's."""
        self._check_open()
        self._give_back(self._take(fresh=False))

    def close(self) -> None:
        """End all workers at once; nothing can be decoded afterwards."""
        with self._lock:
            self._closed = True
            living = list(self._living)
        for worker in living:
            worker.kill()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._closed:
            raise PhotosError("this DecodePool is closed; make a new one")

    def _in_order(self, task: str, paths: Iterable[bytes]) -> Iterator[DecodedPhoto]:
        pending: deque[Future[DecodedPhoto]] = deque()
        try:
            for path in paths:
                self._check_open()
                pending.append(self._threads.submit(self._judge, task, os.fsencode(path)))
                if len(pending) >= LOOK_AHEAD_PER_WORKER * self.n_workers:
                    yield _result(pending.popleft())
            while pending:
                yield _result(pending.popleft())
        finally:
            for future in pending:
                future.cancel()

    def _judge(self, task: str, path: bytes) -> DecodedPhoto:
        """Return the one verdict on a file; the second try gets a worker that has seen nothing else."""
        photo, final = self._attempt(task, path, fresh=False)
        if not final:
            photo, final = self._attempt(task, path, fresh=True)
        if not final and task == "decode" and photo.record.verdict in (Verdict.CRASHED, Verdict.TIMEOUT):
            return self._identified(photo)
        return photo

    def _attempt(self, task: str, path: bytes, *, fresh: bool) -> tuple[DecodedPhoto, bool]:
        """Return a photo, and whether that is final; a worker that failed is gone afterwards."""
        seconds = _clip_deadline(path, self._settings.deadline) if is_video(path) else None
        worker = self._take(fresh=fresh)
        try:
            header, body = worker.request(task, os.path.abspath(path), seconds)
            photo = photo_from_reply(path, header, body, self._settings)
        except (WorkerFailure, ProtocolError) as failure:
            self._discard(worker)
            self._check_open()
            return _failed(path, failure, seconds or self._settings.deadline), False
        except BaseException:
            self._discard(worker)
            raise
        if header.get("again"):
            self._discard(worker)
            return photo, False
        self._give_back(worker)
        return photo, True

    def _identified(self, photo: DecodedPhoto) -> DecodedPhoto:
        """Add hash and stamp to a file that no decoder survives, so that it is known again until it changes."""
        known, final = self._attempt("fingerprint", photo.record.path, fresh=False)
        if not final or not known.record.ok:
            return photo
        record = PhotoRecord(
            path=photo.record.path,
            verdict=photo.record.verdict,
            detail=photo.record.detail,
            content_hash=known.record.content_hash,
            stamp=known.record.stamp,
        )
        return DecodedPhoto(record)

    def _take(self, *, fresh: bool) -> WorkerProcess:
        with self._lock:
            if self._idle and not fresh:
                return self._idle.pop()
        worker = self._start()
        with self._lock:
            if not self._closed:
                self._living.add(worker)
                return worker
        worker.dispose()
        raise PhotosError("this DecodePool was closed while it was decoding")

    def _start(self) -> WorkerProcess:
        reason = ""
        for _ in range(START_ATTEMPTS):
            self._check_open()
            try:
                return WorkerProcess(self._command, self._settings)
            except WorkerFailure as failure:
                reason = failure.reason
        raise PhotosError(
            f"the photo decoder could not be started ({reason}); check that Pillow is installed and works"
        )

    def _give_back(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._idle.append(worker)

    def _discard(self, worker: WorkerProcess) -> None:
        with self._lock:
            self._living.discard(worker)
        worker.dispose()


def _clip_deadline(path: bytes, deadline: float) -> float:
    """Return the seconds that a video may take: several times those of a photo, and more if it is long to read."""
    try:
        n_bytes = os.stat(path).st_size
    except (OSError, ValueError):
        n_bytes = 0
    return min(deadline * CLIP_DEADLINES + n_bytes / CLIP_BYTES_PER_SECOND, LONGEST_DEADLINE)


def _failed(path: bytes, failure: WorkerFailure | ProtocolError, deadline: float) -> DecodedPhoto:
    if isinstance(failure, WorkerFailure) and failure.timed_out:
        detail = f"not decoded within {deadline:g} s, tried twice"
        return DecodedPhoto(PhotoRecord(path, Verdict.TIMEOUT, detail))
    return DecodedPhoto(PhotoRecord(path, Verdict.CRASHED, f"the decoder crashed on it, tried twice ({failure})"))


def _result(future: "Future[DecodedPhoto]") -> DecodedPhoto:
    """Wait for a result in slices, since Ctrl-C does not interrupt one long wait on Windows."""
    while not future.done():
        wait([future], timeout=POLL_SECONDS)
    try:
        return future.result()
    except CancelledError:
        raise PhotosError("this DecodePool was closed while it was decoding") from None


def _dispose_all(living: set[WorkerProcess]) -> None:
    while living:
        with contextlib.suppress(KeyError):
            living.pop().dispose()
