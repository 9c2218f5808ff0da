"""Sidecars that stayed behind when their photos were moved: those that tagloom wrote go along with the next write."""

import os
from collections.abc import Collection
from dataclasses import dataclass

from tagloom.core import SidecarName
from tagloom.exceptions import TagloomError
from tagloom.metadata import REMOVED, FileChanges, find_sidecars, fingerprint_at, new_sidecar
from tagloom.project.journal import ProjectChanges, ProjectJournal, is_sidecar
from tagloom.store import ProjectStore, Write

__all__ = ["SidecarLeft", "find_left_sidecars", "take_along"]


@dataclass(frozen=True, slots=True)
class SidecarLeft:
    """A sidecar whose photo is elsewhere by now.

    Parameters
    ----------
    photo : int
        The photo's id.
    file, to : bytes
        Where it is, and where it belongs.
    item : Write
        The write that made it what it is.
    """

    photo: int
    file: bytes
    to: bytes
    item: Write


def find_left_sidecars(store: ProjectStore, root: bytes, photo_ids: Collection[int] | None = None) -> list[SidecarLeft]:
    """Return sidecars that tagloom wrote for photos that were moved since, and that nobody else needs where they are.

    Each is just as tagloom left it, lies below the folder of photos, has no other photo beside it that it could belong
    to, and its own photo has no sidecar where it is now.

    Parameters
    ----------
    store : ProjectStore
        The project, scanned.
    root : bytes
        Its folder of photos.
    photo_ids : collection of int, optional
        Only of these photos.
    """
    last = {item.path: item for item in store.writes.entries(state="done") if is_sidecar(item.path)}
    written = {item.photo: item for item in last.values() if item.photo is not None and item.after != REMOVED}
    chosen = sorted(written if photo_ids is None else set(written).intersection(photo_ids))
    table = store.photos.table(chosen, state="present")
    below = os.path.join(os.path.realpath(root), b"")
    found = []
    for photo, name in zip(table.ids.tolist(), table.paths, strict=True):
        item, path = written[photo], os.path.join(root, name)
        names = _naming(item.path)
        to = new_sidecar(path, names)
        if (
            item.path.startswith(below)
            and os.path.realpath(to) != item.path
            and not find_sidecars(path)
            and not _is_needed(item.path, names)
            and os.path.realpath(item.path) == item.path
            and fingerprint_at(item.path) == item.after
        ):
            found.append(SidecarLeft(photo, item.path, to, item))
    return found


def take_along(journal: ProjectJournal, left: SidecarLeft) -> str:
    """Move a sidecar to its photo, and return what stood in the way, if anything did.

    Parameters
    ----------
    journal : ProjectJournal
        Knows both steps, so that an undo takes both back: first the new file is made, then the old one goes.
    left : SidecarLeft
        From `find_left_sidecars`. Nothing is overwritten.
    """
    changes: FileChanges = ProjectChanges(journal)
    journal.photo = left.photo
    try:
        with open(left.file, "rb") as handle:
            data = handle.read()
        changes.replace(left.to, None, data, kind="sidecar", note=left.item.note, like=left.file)
        changes.remove(left.file, data, kind="sidecar")
    except (TagloomError, OSError) as error:
        return str(error.strerror if isinstance(error, OSError) and error.strerror else error)
    return ""


def _naming(sidecar: bytes) -> SidecarName:
    """Return how a sidecar was named: after the photo with its ending, or without."""
    return "photo.jpg.xmp" if os.path.splitext(os.path.splitext(sidecar)[0])[1] else "photo.xmp"


def _is_needed(sidecar: bytes, names: SidecarName) -> bool:
    """Tell whether a file lies beside a sidecar that it may belong to."""
    base = os.path.splitext(sidecar)[0]
    if os.path.lexists(base):
        return True
    folder, stem = os.path.split(base)
    others = (entry for entry in os.listdir(folder) if os.path.splitext(entry)[1].lower() != b".xmp")
    return names == "photo.xmp" and any(os.path.splitext(entry)[0] == stem for entry in others)
