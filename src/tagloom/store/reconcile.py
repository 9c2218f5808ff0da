"""Which file is which photo, after files were added, edited, renamed, swapped or taken away."""

import os
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import apsw

from tagloom.store.copies import hand_over
from tagloom.store.database import fetch
from tagloom.store.session import id_array, json_ids

if TYPE_CHECKING:
    from tagloom.store.session import Ids

__all__ = ["Changes", "reconcile"]


@dataclass(frozen=True, slots=True)
class Changes:
    """What a scan found: ids of photos, and two counts.

    Parameters
    ----------
    new, changed, moved, missing, back : ndarray of int64
        Photos seen for the first time; with other content at the same path; with the same content at another path; no
        longer there; there again at the path they had.
    n_same, n_unread : int
        Photos as they were; files that have not been read yet.
    took_over : dict of int to int
        Copies that took over what was said of a photo that is gone, and which photo that is.
    batch : int or None
        The decisions recorded for them.
    """

    new: "Ids"
    changed: "Ids"
    moved: "Ids"
    missing: "Ids"
    back: "Ids"
    n_same: int
    n_unread: int
    took_over: dict[int, int] = field(default_factory=dict)
    batch: int | None = None


@dataclass(frozen=True, slots=True)
class _File:
    path: bytes
    content: bytes
    verdict: str
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class _Photo:
    id: int
    root: int
    path: bytes
    content: bytes
    present: int


def reconcile(connection: apsw.Connection, root: int, names: Iterable[bytes], now: float) -> Changes:
    """Bring the photos of a root up to its files, inside a transaction (see `Photos.reconcile`).

    A photo goes with its content first: to the file at its own path, else to one of the same name, else to any. Only
    what finds its content nowhere stays with its path (edited in place) if it was there at the last scan. So files that
    were renamed in a ring, or whose name was taken by a new one, keep what was decided about them. What was said of a
    photo that is gone, a copy takes over of which nothing was said (see `tagloom.store.copies`).
    """
    listed = set(names)
    files, same, unread = _sort_files(connection, root, listed)
    photos = _unmatched_photos(connection, root, same)
    matched = _match(root, files, photos)
    found = {photo.id for photo in matched.values()}
    lost = [
        photo.id
        for photo in photos
        if photo.present and photo.root == root and photo.id not in found and photo.path not in unread
    ]
    # Paths change hands: first nobody has one, then everybody has the right one.
    _take_away(connection, root, lost)
    connection.executemany("UPDATE photos SET present = 0 WHERE id = ?", [(number,) for number in found])
    connection.executemany(
        "UPDATE photos SET taken = iif(content_hash = ?2, taken, NULL), "
        "dated = iif(content_hash = ?2 AND verdict = ?3, dated, 0), "  # read for the first time: its time is unknown
        "path = ?1, content_hash = ?2, verdict = ?3, width = ?4, height = ?5, root = ?6, last_seen = ?7, present = 1 "
        "WHERE id = ?8",
        [(*_columns(files[path]), root, now, photo.id) for path, photo in matched.items()],
    )
    new = _add(connection, root, [file for path, file in files.items() if path not in matched], now)
    connection.execute("UPDATE roots SET scanned = ? WHERE id = ?", (now, root))
    took_over, batch = hand_over(connection, root, set(lost))
    kinds = _kinds(root, files, matched)
    return Changes(
        new=id_array(new),
        changed=_sorted(kinds["changed"]),
        moved=_sorted(kinds["moved"]),
        missing=_sorted(lost),
        back=_sorted(kinds["back"]),
        n_same=len(same) + len(kinds["same"]),
        n_unread=len(unread),
        took_over=took_over,
        batch=batch,
    )


def _sort_files(
    connection: apsw.Connection, root: int, listed: set[bytes]
) -> tuple[dict[bytes, _File], set[int], set[bytes]]:
    """Return files that are not a photo as it was, the ids of photos as they were, and names of unread files."""
    rows = fetch(
        connection,
        "SELECT f.path, iif(p.content_hash = f.content_hash AND p.verdict = f.verdict, p.id, NULL) FROM files f "
        "LEFT JOIN photos p ON p.root = f.root AND p.path = f.path AND p.present = 1 WHERE f.root = ? ORDER BY f.path",
        (root,),
    )
    read = {path: number for path, number in rows if path in listed}
    details = connection.executemany(
        "SELECT path, content_hash, verdict, width, height FROM files WHERE root = ? AND path = ?",
        [(root, path) for path, number in read.items() if number is None],
    )
    files = {row[0]: _File(*row) for row in details}
    same = {number for number in read.values() if number is not None}
    return files, same, listed.difference(read)


def _unmatched_photos(connection: apsw.Connection, root: int, same: set[int]) -> list[_Photo]:
    """Return photos that are not where they were: of this root all such, of others those known to be missing."""
    ids = {number for (number,) in fetch(connection, "SELECT id FROM photos WHERE root = ? OR present = 0", (root,))}
    rows = fetch(
        connection,
        "SELECT id, root, path, content_hash, present FROM photos WHERE id IN (SELECT value FROM json_each(?)) "
        "ORDER BY id",
        (json_ids(ids - same),),
    )
    return [_Photo(*row) for row in rows]


def _match(root: int, files: dict[bytes, _File], photos: list[_Photo]) -> dict[bytes, _Photo]:
    """Return for files (by path) the photo that they are."""
    matched: dict[bytes, _Photo] = {}
    taken: set[int] = set()
    for rule in (_place, _name, _content):
        waiting: dict[tuple[Any, ...], list[_Photo]] = defaultdict(list)
        for photo in reversed(photos):
            if photo.content and photo.id not in taken:
                waiting[rule(photo.content, photo.root, photo.path)].append(photo)
        for path, file in files.items():
            candidates = waiting.get(rule(file.content, root, path))
            if candidates and path not in matched:
                matched[path] = candidates.pop()
                taken.add(matched[path].id)
    for photo in photos:
        if photo.present and photo.root == root and photo.id not in taken and photo.path in files:
            matched.setdefault(photo.path, photo)
    return matched


def _place(content: bytes, root: int, path: bytes) -> tuple[Any, ...]:
    return content, root, path


def _name(content: bytes, root: int, path: bytes) -> tuple[Any, ...]:  # noqa: ARG001
    return content, os.path.basename(path)


def _content(content: bytes, root: int, path: bytes) -> tuple[Any, ...]:  # noqa: ARG001
    return (content,)


def _kinds(root: int, files: dict[bytes, _File], matched: dict[bytes, _Photo]) -> dict[str, list[int]]:
    kinds: dict[str, list[int]] = defaultdict(list)
    for path, photo in matched.items():
        if (photo.root, photo.path) != (root, path):
            kind = "moved"
        elif photo.content != files[path].content:
            kind = "changed"
        else:
            kind = "same" if photo.present else "back"
        kinds[kind].append(photo.id)
    return kinds


def _take_away(connection: apsw.Connection, root: int, lost: list[int]) -> None:
    """Mark photos as missing; they were last seen when the root was scanned before."""
    connection.executemany(
        "UPDATE photos SET present = 0, last_seen = max(last_seen, (SELECT scanned FROM roots WHERE id = ?)) "
        "WHERE id = ?",
        [(root, number) for number in lost],
    )


def _add(connection: apsw.Connection, root: int, files: list[_File], now: float) -> list[int]:
    ((last,),) = fetch(connection, "SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'photos'")
    ids = list(range(last + 1, last + 1 + len(files)))
    connection.executemany(
        "INSERT INTO photos(path, content_hash, verdict, width, height, root, first_seen, last_seen, id, present) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, ?8, 1)",
        [(*_columns(file), root, now, number) for file, number in zip(files, ids, strict=True)],
    )
    return ids


def _columns(file: _File) -> tuple[bytes, bytes, str, int, int]:
    return file.path, file.content, file.verdict, file.width, file.height


def _sorted(ids: list[int]) -> "Ids":
    return id_array(sorted(ids))
