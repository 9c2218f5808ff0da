"""A part of a file that is written later than it comes."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO

__all__ = ["Spool", "spooled"]

_MEMORY = 16 * 2**20


class Spool:
    """Collects lines, in memory while they are few and in an unnamed temporary file beyond that."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._n_lines = 0

    def add(self, line: bytes, *, between: bytes = b",\n") -> None:
        """Add a line, with something between it and the one before."""
        self._file.write((between if self._n_lines else b"") + line)
        self._n_lines += 1

    def copy_to(self, handle: IO[bytes]) -> None:
        """Write everything that was added."""
        self._file.seek(0)
        shutil.copyfileobj(self._file, handle)


@contextlib.contextmanager
def spooled() -> Iterator[Spool]:
    """Open a spool; what is left of it is gone afterwards."""
    with tempfile.SpooledTemporaryFile(max_size=_MEMORY) as file:
        yield Spool(file)
