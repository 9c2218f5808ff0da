"""Computing descriptors on several threads: rows never depend on how many."""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tagloom.core import system
from tagloom.core.threads import limit_libraries
from tagloom.exceptions import InvalidInputError
from tagloom.features.descriptor import Descriptor
from tagloom.images import DecodedPhoto

__all__ = ["RowComputer"]


class RowComputer:
    """Runs descriptors over photos.

    A descriptor that says ``thread_safe = True`` gets its photos in as many equal parts as there are threads, side by
    side, with the numerical libraries held to one thread each (so that sums are made in one order whatever the number
    of threads). Any other descriptor is called once, in the calling thread, and may use threads of its own.

    Parameters
    ----------
    n_threads : int, optional
        Threads; default: the number of cores this process may use.
    """

    def __init__(self, n_threads: int | None = None) -> None:
        self.n_threads = system.cpu_count() if n_threads is None else n_threads
        if self.n_threads < 1:
            raise InvalidInputError(f"n_threads must be at least 1, got {n_threads!r}")
        self._executor: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """End the threads."""
        if self._executor is not None:
            self._executor.shutdown(cancel_futures=True)
            self._executor = None

    def compute(self, descriptor: Descriptor, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one checked row per photo.

        Raises
        ------
        InvalidInputError
            If the descriptor gives something else than finite float32 rows of its size.
        """
        if getattr(descriptor, "thread_safe", False):
            with self._one_thread_each():
                rows = self._side_by_side(descriptor, photos)
        else:
            rows = descriptor.compute(photos)
        _check_rows(descriptor, rows, len(photos))
        return rows

    def _side_by_side(self, descriptor: Descriptor, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        n_parts = min(self.n_threads, len(photos))
        if n_parts <= 1:
            return descriptor.compute(photos)
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self.n_threads, thread_name_prefix="tagloom-features")
        cuts = np.linspace(0, len(photos), n_parts + 1).astype(int)
        parts = [photos[start:stop] for start, stop in pairwise(cuts)]
        return np.concatenate(list(self._executor.map(descriptor.compute, parts)))

    @contextmanager
    def _one_thread_each(self) -> Iterator[None]:
        """Hold BLAS and OpenCV to one thread: what runs here is small, and there are as many of it as threads."""
        with ExitStack() as stack:
            stack.enter_context(limit_libraries(1))
            cv2 = sys.modules.get("cv2")
            if cv2 is not None:
                stack.callback(cv2.setNumThreads, cv2.getNumThreads())
                cv2.setNumThreads(1)
            yield


def _check_rows(descriptor: Descriptor, values: NDArray[np.float32], n_rows: int) -> None:
    expected = (n_rows, sum(descriptor.outputs.values()))
    if values.shape != expected or values.dtype != np.float32 or not np.isfinite(values).all():
        raise InvalidInputError(
            f"descriptor {descriptor.name!r} must give finite float32 values of shape {expected}, "
            f"got {values.dtype} of shape {values.shape}"
        )
