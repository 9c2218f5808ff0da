"""One open database of a project, shared by its parts and by the threads of a process.

numpy is imported by what makes arrays, and not before: a person who labels one photo does not wait for it.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.database import fetch, savepoint, transaction, translate_errors
from tagloom.store.folder import ProjectFolder

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tagloom.core import Ids

__all__ = ["Database", "as_ids", "clean_text", "id_array", "json_ids", "whole_numbers"]


class Database:
    """A connection with a lock for the threads of this process; never to be carried over a fork.

    Parameters
    ----------
    path : Path
        The database file, for messages.
    connection : apsw.Connection
        Opened by `tagloom.store.database.connect`.
    """

    def __init__(self, path: Path, connection: apsw.Connection) -> None:
        self.path = path
        self.connection = connection
        self._mutex = threading.RLock()
        self._later: list[Callable[[], object]] = []

    @property
    def folder(self) -> Path:
        """The project folder."""
        return self.path.parent

    @property
    def files(self) -> ProjectFolder:
        """What lies in the project folder."""
        return ProjectFolder(self.path.parent)

    def close(self) -> None:
        """Close the connection."""
        with self._mutex:
            self.connection.close()

    @contextlib.contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Lend the connection for some queries."""
        with self._mutex, translate_errors(self.path):
            yield self.connection

    def read(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return all rows of a query."""
        with self.reading() as connection:
            return fetch(connection, sql, tuple(values))

    def table(self, sql: str, values: Sequence[Any] = (), *, n_columns: int = 1) -> "Ids":
        """Return the rows of a query of integers as an array of shape (n, n_columns)."""
        with self.reading() as connection:
            found = chain.from_iterable(connection.execute(sql, tuple(values)))
            try:
                return id_array(found).reshape(-1, n_columns)
            except (TypeError, ValueError, OverflowError) as error:
                raise DamagedStoreError(
                    f"{self.path.name} is damaged (a number is none); put a backup in its place with: tagloom restore"
                ) from error

    def value(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Return the first column of the first row, or None where there is none."""
        rows = self.read(sql, values)
        return rows[0][0] if rows else None

    @contextlib.contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """Run the body in one transaction; inside another one it is a part of that, undone alone if it raises."""
        with self._mutex, translate_errors(self.path):
            if self.connection.in_transaction:
                with savepoint(self.connection):
                    yield self.connection
            else:
                self._later = []
                with transaction(self.connection):
                    yield self.connection
                for action in self._later:
                    action()

    def later(self, action: Callable[[], object]) -> None:
        """Do something when the transaction around has been committed, and not at all if it is rolled back."""
        with self._mutex:
            self._later.append(action)


def id_array(numbers: Iterable[int]) -> "Ids":
    """Return whole numbers as an array."""
    import numpy as np

    return np.fromiter(numbers, dtype=np.int64)


def as_ids(values: "ArrayLike", what: str) -> "Ids":
    """Return a one-dimensional array of integer ids."""
    import numpy as np

    array = np.atleast_1d(np.asarray(values))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InvalidInputError(f"{what} must be a row of whole numbers, got {array.dtype} of shape {array.shape}")
    return array.astype(np.int64)


def whole_numbers(values: "ArrayLike", what: str) -> list[int]:
    """Return a row of integers as a list; lists of int go the short way, without numpy."""
    if type(values) is int:
        return [values]
    if isinstance(values, list | tuple) and all(type(item) is int for item in values):
        return list(values)
    numbers: list[int] = as_ids(values, what).tolist()
    return numbers


def json_ids(ids: Iterable[int]) -> str:
    """Return ids as SQL's ``json_each`` takes them."""
    return json.dumps(list(ids))


def clean_text(text: str) -> str:
    """Return text that SQLite can hold: what is not Unicode becomes a question mark."""
    return text.encode("utf-8", errors="replace").decode("utf-8")
