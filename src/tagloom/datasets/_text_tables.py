"""Checked reading of the plain text files in which image sets publish numbers, states and names."""

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError

__all__ = ["read_names", "read_numbers", "read_states"]


def read_numbers(path: Path, n_columns: int, n_rows: int | None = None) -> NDArray[np.float32]:
    """Read one row of numbers per line, parted by blanks or commas.

    Parameters
    ----------
    path : Path
        The file; it is parsed as it is read, so that only the numbers are ever in memory.
    n_columns : int
        How many numbers a line must have.
    n_rows : int, optional
        How many lines there must be; None: any number but zero.

    Returns
    -------
    float32 array of shape (n_rows, n_columns)
        Finite numbers.
    """
    expected = f"{n_columns} numbers a line" if n_rows is None else f"{n_rows} lines of {n_columns} numbers"
    try:
        with open(path, encoding="utf-8") as handle, warnings.catch_warnings():
            # NumPy warns of a file without numbers; the count below is the clearer message.
            warnings.simplefilter("ignore", UserWarning)
            delimiter = "," if "," in handle.readline() else None
            handle.seek(0)
            numbers = np.loadtxt(handle, dtype=np.float32, ndmin=2, comments=None, delimiter=delimiter)
    except ValueError as error:
        raise InvalidInputError(f"expected {expected} in {str(path)!r}, but {error}; is the file complete?") from error
    if numbers.size == 0 or numbers.shape[1] != n_columns or n_rows not in (None, len(numbers)):
        rows, columns = numbers.shape if numbers.size else (0, 0)
        raise InvalidInputError(
            f"expected {expected} in {str(path)!r}, found {rows} lines of {columns}; is the file complete?"
        )
    wrong = np.flatnonzero(~np.isfinite(numbers).all(axis=1))
    if wrong.size:
        raise InvalidInputError(
            f"expected finite numbers in {str(path)!r}, but line {wrong[0] + 1} has others; is the file damaged?"
        )
    return numbers


def read_states(path: Path, n_columns: int = 1, n_rows: int | None = None) -> NDArray[np.int8]:
    """Read label states, one row per line: 1 has the tag, 0 does not, -1 not annotated.

    Parameters
    ----------
    path : Path
        The file.
    n_columns, n_rows : int
        As for `read_numbers`.

    Returns
    -------
    int8 array of shape (n_rows, n_columns)
        Of 1, 0 and -1.
    """
    numbers = read_numbers(path, n_columns, n_rows)
    wrong = np.flatnonzero(~np.isin(numbers, (-1.0, 0.0, 1.0)).all(axis=1))
    if wrong.size:
        raise InvalidInputError(
            f"expected 1, 0 or -1 everywhere in {str(path)!r}, but line {wrong[0] + 1} has "
            f"{' '.join(f'{value:g}' for value in numbers[wrong[0], :5])}; is this the label file?"
        )
    return numbers.astype(np.int8)


def read_names(path: Path, n_names: int | None = None) -> list[str]:
    """Read one name per line; blank lines and a number before the name are passed over.

    Parameters
    ----------
    path : Path
        The file.
    n_names : int, optional
        How many there must be; None: any number but zero.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"expected a list of names in {str(path)!r}, but it is no text: {error}") from error
    parts = [line.split(maxsplit=1) for line in lines if line.strip()]
    names = [part[1].strip() if len(part) == 2 and part[0].isdigit() else " ".join(part) for part in parts]
    if not names or n_names not in (None, len(names)):
        wanted = "names" if n_names is None else f"{n_names} names"
        raise InvalidInputError(f"expected {wanted} in {str(path)!r}, one a line, found {len(names)}")
    return names
