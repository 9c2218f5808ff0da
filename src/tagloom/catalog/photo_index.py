"""The photos of a project as the review page needs them: arrays in memory, so that a ranking is a few numpy calls."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Ids
from tagloom.exceptions import InvalidInputError
from tagloom.metadata import name_to_text
from tagloom.store import ProjectStore

__all__ = ["PhotoIndex", "UnknownPhotoError", "load_photos"]

_LARGEST_ID = 2**31 - 1  # rankings travel as 32-bit numbers
_END = b"\0"  # no path holds it, so that a search never runs from one path into the next


class UnknownPhotoError(InvalidInputError):
    """No readable photo of the project has this id."""


@dataclass(frozen=True, slots=True, eq=False)
class PhotoIndex:
    """Readable photos by column, in the order of their ids.

    Parameters
    ----------
    ids : ndarray of int64
        The photos.
    paths : list of bytes
        Below the folder of photos.
    names : list of str
        The same as text.
    hashes : list of str
        Content, hexadecimal.
    states : list of str
        "present" or "offline".
    sizes : ndarray of int64, shape (n, 2)
        Width and height.
    taken : ndarray of float64
        Seconds since 1970; NaN where not known.
    by_path : ndarray of int64
        Rows in the order of paths.
    folders : list of str
        All folders with photos in or below them, sorted; "" is the folder of photos itself.
    folder_of : ndarray of int64
        Of each photo the place of its folder in ``folders``.
    text : bytes
        All paths one after the other, folded for searching.
    starts : ndarray of int64
        Where each path begins in ``text``.
    """

    ids: Ids
    paths: list[bytes]
    names: list[str]
    hashes: list[str]
    states: list[str]
    sizes: Ids
    taken: NDArray[np.float64]
    by_path: Ids
    folders: list[str]
    folder_of: Ids
    text: bytes
    starts: Ids

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, ids: Sequence[int] | Ids) -> Ids:
        """Return the rows of photos.

        Raises
        ------
        UnknownPhotoError
            If one of them is no readable photo of the project.
        """
        wanted = [int(item) for item in ids]
        outside = [item for item in wanted if not 0 < item <= _LARGEST_ID]
        numbers = np.asarray([] if outside else wanted, dtype=np.int64)
        rows = np.searchsorted(self.ids, numbers)
        found = rows < len(self.ids)
        found[found] = self.ids[rows[found]] == numbers[found]
        if outside or not found.all():
            missing = outside[0] if outside else numbers[~found][0]
            raise UnknownPhotoError(f"no readable photo of the project has the id {missing}; load the page again")
        return rows

    def is_same(self, other: "PhotoIndex") -> bool:
        """Tell whether these are the same photos with the same content."""
        return np.array_equal(self.ids, other.ids) and self.hashes == other.hashes

    def row(self, photo: int) -> int:
        """Return the row of one photo."""
        return int(self.rows([photo])[0])

    def known(self, ids: Ids) -> tuple[NDArray[np.bool_], Ids]:
        """Return which ids are those of readable photos, and the rows of these."""
        rows = np.searchsorted(self.ids, ids)
        found = rows < len(self.ids)
        found[found] = self.ids[rows[found]] == ids[found]
        return found, rows[found]

    def in_folder(self, folder: str) -> NDArray[np.bool_]:
        """Return which photos lie in a folder or below it."""
        if folder not in self.folders:
            raise InvalidInputError(f"no photo lies in a folder {folder!r}; choose one of the list")
        below = [not folder or one == folder or one.startswith(f"{folder}/") for one in self.folders]
        return np.asarray(below, dtype=bool)[self.folder_of]

    def with_word(self, word: str) -> NDArray[np.bool_]:
        """Return which photos have a word in their path, whatever the case."""
        found = np.zeros(len(self), dtype=bool)
        wanted = _folded(word)
        if _END in wanted:
            return found
        places = [match.start() for match in re.finditer(re.escape(wanted), self.text)]
        found[np.searchsorted(self.starts, np.asarray(places, dtype=np.int64), side="right") - 1] = True
        return found


def load_photos(store: ProjectStore) -> PhotoIndex:
    """Return the readable photos of a project that are present or out of reach.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    table = store.photos.table()
    kept = [
        row
        for row, (verdict, state) in enumerate(zip(table.verdicts, table.states, strict=True))
        if verdict == "ok" and state != "missing"
    ]
    paths = [table.paths[row] for row in kept]
    names = [name_to_text(path) for path in paths]
    folders, folder_of = _folders([path.rpartition(b"/")[0] for path in paths])
    # All at once: a call for each of a million paths takes seconds.
    text = _folded(b"".join(path + _END for path in paths).decode("utf-8", errors="surrogateescape"))
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == 0)
    by_path = np.asarray(sorted(range(len(paths)), key=paths.__getitem__), dtype=np.int64)
    return PhotoIndex(
        ids=table.ids[kept],
        paths=paths,
        names=names,
        hashes=[table.hashes[row] for row in kept],
        states=[table.states[row] for row in kept],
        sizes=table.sizes[kept],
        taken=table.taken[kept],
        by_path=by_path,
        folders=folders,
        folder_of=folder_of,
        text=text,
        starts=np.concatenate([[0], ends + 1]).astype(np.int64)[: len(paths)],
    )


def _folded(text: str) -> bytes:
    return text.casefold().encode("utf-8", errors="surrogateescape")


def _folders(places: Sequence[bytes]) -> tuple[list[str], Ids]:
    """Return all folders and those above them as text, and the place of each photo's folder among them."""
    above: set[bytes] = {b""}
    for place in set(places):
        while place:
            above.add(place)
            place = os.path.dirname(place)
    texts = {place: name_to_text(place) for place in above}
    folders = sorted(texts.values())
    place_of = {text: number for number, text in enumerate(folders)}
    return folders, np.asarray([place_of[texts[place]] for place in places], dtype=np.int64)
