"""How many threads the numerical libraries (BLAS, OpenMP) may use for a while."""

import sys
from contextlib import AbstractContextManager

from threadpoolctl import ThreadpoolController

__all__ = ["limit_libraries"]

_found: tuple[tuple[str, ...], ThreadpoolController] | None = None


def limit_libraries(n_threads: int | None, *, only_blas: bool = False) -> AbstractContextManager[object]:
    """Return a context in which the libraries loaded by now use at most so many threads; its end undoes that.

    Parameters
    ----------
    n_threads : int or None
        Threads of each library; None leaves them as they are.
    only_blas : bool, default=False
        Leave OpenMP alone, unless a BLAS runs on it.

    Notes
    -----
    The limit holds from this call on, not from ``with`` on. A library that no import brought (one opened by ctypes) is
    found once any module has been imported after it.
    """
    api = "blas" if only_blas else None
    limited: AbstractContextManager[object] = _libraries().limit(limits=n_threads, user_api=api)
    return limited


def _libraries() -> ThreadpoolController:
    """Return the libraries in this process: looked for once, and again when modules have come or gone since."""
    global _found
    # Looking takes milliseconds, comparing names microseconds; their number alone could stay while they change. Names
    # come first: what another thread imports during the search is then looked for at the next call.
    names, found = tuple(sys.modules.copy()), _found
    if found is None or found[0] != names:
        found = _found = (names, ThreadpoolController())
    return found[1]
