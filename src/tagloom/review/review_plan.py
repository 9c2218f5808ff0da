"""What a write would do, for a page that shows the first few files: no more of them are opened than are shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagloom.catalog.places import online_root
from tagloom.catalog.results import plain
from tagloom.project.unwritten import suggestions_written
from tagloom.project.unwritten_part import unwritten_photos
from tagloom.project.write import FileWrite, write
from tagloom.store.log import IMPORTED
from tagloom.store.project import ProjectStore

__all__ = ["PhotosToWrite", "photos_to_write", "plan_view"]


@dataclass(frozen=True, slots=True)
class PhotosToWrite:
    """Photos that a write looks at; of all others it has nothing to say.

    Parameters
    ----------
    ids : list of int
        Those that decisions ask to look at first, each part in the order of ids.
    n_asked : int
        How many those are. The files of the others were as they should be when all keywords were last written; another
        program may have changed them since.
    """

    ids: list[int]
    n_asked: int


def photos_to_write(store: ProjectStore) -> PhotosToWrite:
    """Return the photos of which there is something to write or to take out, as far as decisions tell.

    Parameters
    ----------
    store : ProjectStore
        The project. No file is opened.
    """
    said = store.decisions.current()
    asks = (said.states == 1) | ((said.states == 0) & (said.origins != IMPORTED))
    own = set(suggestions_written(store))
    noted = {item.photo for item in store.writes.entries(state="done") if item.photo is not None}
    if noted:  # a raw file goes with the photo beside it
        partners = dict(store.photos.raw_pairs().tolist())
        noted = {partners.get(photo, photo) for photo in noted}
    everyone = set(np.unique(said.photo_ids[asks]).tolist()) | own | noted
    since = unwritten_photos(store)
    first = everyone if since is None else everyone & (since | own)
    return PhotosToWrite([*sorted(first), *sorted(everyone - first)], len(first))


def plan_view(store: ProjectStore, n: int, ids: Mapping[bytes, int]) -> dict[str, Any]:
    """Return what a write would do to the files of the first photos it looks at.

    Parameters
    ----------
    store : ProjectStore
        The project; nothing is written.
    n : int
        Photos whose files are opened.
    ids : mapping of bytes to int
        Photos that have a page, by path.

    Returns
    -------
    dict
        ``files`` that would change and their number ``n``; ``n_photos`` that a write looks at, ``n_looked`` of them
        looked at here, and whether that leaves any (``cut``); ``n_asked``: of those left, how many had decisions since
        all keywords were written.
    """
    online_root(store)  # no plan for files that cannot be written now, even if there are none
    found = photos_to_write(store)
    looked = found.ids[:n]
    planned = (
        [item for item in write(store, dry_run=True, photos=looked).files if item.status != "unchanged"]
        if looked
        else []
    )
    return {
        "files": [_file_view(item, ids) for item in planned],
        "n": len(planned),
        "n_photos": len(found.ids),
        "n_looked": len(looked),
        "n_asked": max(0, found.n_asked - len(looked)),
        "cut": len(looked) < len(found.ids),
    }


def _file_view(item: FileWrite, ids: Mapping[bytes, int]) -> dict[str, Any]:
    return {
        "photo": ids.get(item.photo),
        "path": plain(item.photo),
        "adds": plain(item.added),
        "removes": plain(item.removed),
        "conflict": item.status in ("merged", "failed"),
        "problem": item.problem,
    }
