"""What the loaders of public sets share: checked reading of array and text files, and the record they return."""

import os
import warnings
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import FeatureGroups, LabelMatrix, TagVocabulary, check_labels
from tagloom.exceptions import InvalidInputError

__all__ = [
    "AnnotatedImages",
    "check_choice",
    "find_file",
    "find_photos",
    "read_arrays",
    "read_names",
    "read_numbers",
    "read_states",
    "split_rows",
]


@dataclass(frozen=True, eq=False)
class AnnotatedImages:
    """Images or table rows with their tags.

    Parameters
    ----------
    name : str
        The set.
    tags : TagVocabulary
        The columns of ``Y``.
    Y : label matrix of shape (n, c)
        1 has the tag, 0 does not, -1 not annotated.
    X : float32 array of shape (n, d) or None
        The features that come with the set.
    groups : FeatureGroups or None
        Named column ranges of ``X``.
    paths : tuple of Path
        The photo files in the order of the rows; empty for a set without photos.
    splits : mapping of str to array of int
        Rows of the published parts, such as "train" and "test".
    extras : mapping of str to array
        What else the set has; see its loader.
    """

    name: str
    tags: TagVocabulary
    Y: LabelMatrix
    X: NDArray[np.float32] | None = None
    groups: FeatureGroups | None = None
    paths: tuple[Path, ...] = ()
    splits: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    extras: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """See that the parts fit each other."""
        n = len(check_labels(self.Y, n_tags=len(self.tags)))
        if self.X is not None and len(self.X) != n:
            raise InvalidInputError(
                f"{self.name}: {len(self.X)} rows of features but {n} of labels; the files disagree"
            )
        if self.paths and len(self.paths) != n:
            raise InvalidInputError(f"{self.name}: {len(self.paths)} photos but {n} rows of labels; the files disagree")
        if self.groups is not None and self.X is not None:
            self.groups.check(self.X)

    def __len__(self) -> int:
        return len(self.Y)

    def __repr__(self) -> str:
        return f"AnnotatedImages({self.name}: {len(self)} rows, {len(self.tags)} tags, {self.groups})"


def find_file(folder: str | os.PathLike[str], name: str, source: str) -> Path:
    """Return the path of a file of a set, or say what was expected where."""
    path = Path(folder) / name
    if not path.is_file():
        raise InvalidInputError(
            f"expected the file {name!r} of {source} in {str(folder)!r}, but there is none; pass the folder "
            f"that holds it"
        )
    return path


def read_arrays(
    folder: str | os.PathLike[str], name: str, wanted: Iterable[str], source: str
) -> dict[str, NDArray[Any]]:
    """Read named arrays of an ``.npz`` file, never unpickling anything.

    Parameters
    ----------
    folder : path
        The folder of the set.
    name : str
        The file in it.
    wanted : iterable of str
        The arrays that are needed.
    source : str
        The name of the set, for messages.
    """
    path = find_file(folder, name, source)
    try:
        # Opened here, because np.load leaves a broken archive open.
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as archive:
            missing = [key for key in wanted if key not in archive.files]
            if missing:
                raise InvalidInputError(
                    f"expected the arrays {missing} of {source} in {str(path)!r}, found {archive.files}"
                )
            return {key: archive[key] for key in wanted}
    except InvalidInputError:
        raise
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"expected {str(path)!r} to be an .npz file of plain arrays ({source}), but it cannot be read: {error}"
        ) from error


def find_photos(folder: str | os.PathLike[str], names: Iterable[str], source: str) -> tuple[Path, ...]:
    """Return the paths of photos given by names relative to the folder, or say how many are missing."""
    root = Path(folder)
    paths = tuple(root / name for name in names)
    present = {parent: set(os.listdir(parent)) for parent in {path.parent for path in paths} if parent.is_dir()}
    missing = [path for path in paths if path.name not in present.get(path.parent, ())]
    if missing:
        raise InvalidInputError(
            f"expected {len(paths)} photos of {source} below {str(folder)!r}, but {len(missing)} are missing, "
            f"the first being {str(missing[0].relative_to(root))!r}; pass with_photos=False to load the tables alone"
        )
    return paths


def split_rows(split: NDArray[Any]) -> dict[str, NDArray[np.intp]]:
    """Return for each value of a column of split names the rows that have it."""
    return {str(name): np.flatnonzero(split == name) for name in np.unique(split)}


def check_choice(name: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise unless a parameter has one of the values it may have."""
    if value not in choices:
        raise InvalidInputError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


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
    """Read one name per line; skip blank lines, and a number before the name.

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
