"""What the review page reads beside the store, over connections of its own: changes of the log, and thumbnails.

A connection of its own sees what any other connection commits (``data_version``), the command line in another process
included, and never waits for a job that reads through the store.
"""

import contextlib
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Ids
from tagloom.store import DATABASE, PROJECT_FORMAT, Database, Thumbnails, connect, find_redoable, find_undoable

__all__ = ["DecisionChanges", "ProjectReader"]

_STATES = (
    "SELECT d.photo, d.tag, ifnull(s.state, -1) FROM (SELECT DISTINCT photo, tag FROM decisions WHERE id > ?) d "
    "LEFT JOIN standing s ON s.photo = d.photo AND s.tag = d.tag"
)

_TAGS_CHANGED = (
    "SELECT EXISTS (SELECT 1 FROM batches WHERE id > ?1 AND ifnull(refers, id) IN (SELECT batch FROM tag_changes))"
)


@dataclass(frozen=True, slots=True, eq=False)
class DecisionChanges:
    """Pairs of photo and tag that were decided since a version, and what stands now (-1: nothing).

    Parameters
    ----------
    version : int
        How many decisions the log holds.
    batch : int
        The latest action.
    tags_changed : bool
        Whether tags got other names, became one, or imply others since.
    photo_ids, tag_ids, states : ndarray
        The pairs.
    """

    version: int
    batch: int
    tags_changed: bool
    photo_ids: Ids
    tag_ids: Ids
    states: NDArray[np.int8]


class ProjectReader:
    """Reads a project's databases; threads may share it.

    Parameters
    ----------
    folder : Path
        The project's folder.
    """

    def __init__(self, folder: Path) -> None:
        path = folder / DATABASE
        self._main = Database(path, connect(path, PROJECT_FORMAT))
        self._lock = threading.Lock()
        try:
            self._thumbnails = Thumbnails(folder)
        except BaseException:
            self._main.close()
            raise

    def close(self) -> None:
        """Close the databases."""
        with contextlib.ExitStack() as stack:
            stack.callback(self._thumbnails.close)
            stack.callback(self._main.close)

    def stamp(self) -> int:
        """Return a number that changes whenever anybody has changed the project."""
        return int(self._main.value("PRAGMA data_version"))

    def changes(self, version: int, batch: int) -> DecisionChanges:
        """Return what was decided after the first ``version`` decisions and the first ``batch`` actions."""
        with self._main.reading() as connection, connection:  # one moment for all of them
            now = int(self._main.value("SELECT ifnull(max(id), 0) FROM decisions"))
            last = int(self._main.value("SELECT ifnull(max(id), 0) FROM batches"))
            tags_changed = bool(self._main.value(_TAGS_CHANGED, (batch,)))
            # What a project holds when it is opened is in the table of states, without a detour over the log.
            sql, values = (_STATES, (version,)) if version else ("SELECT photo, tag, state FROM standing", ())
            photos, tags, states = self._main.table(sql, values, n_columns=3).T
        return DecisionChanges(
            now, last, tags_changed, np.ascontiguousarray(photos), np.ascontiguousarray(tags), states.astype(np.int8)
        )

    def can_undo_or_redo(self, who: str | None = None) -> tuple[bool, bool]:
        """Tell whether there is anything to take back, and anything to bring back; or anything of one person."""
        with self._main.reading() as connection:
            undoable, redoable = find_undoable(connection, who=who), find_redoable(connection, writes=False, who=who)
        return undoable is not None, redoable is not None

    def thumbnail(self, content_hash: str) -> bytes | None:
        """Return the WebP thumbnail of a content, or None."""
        with self._lock:
            return self._thumbnails.get([content_hash]).get(content_hash)
