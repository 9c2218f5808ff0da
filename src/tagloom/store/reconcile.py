"""Which file is which photo, after files were added, edited, renamed, swapped or taken away."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import apsw

from tagloom.core import PARTS, is_pair_photo, is_raw, pair_key
from tagloom.store.database import fetch
from tagloom.store.log import Records, append
from tagloom.store.session import id_array, json_ids

if TYPE_CHECKING:
    from tagloom.core import Ids

__all__ = ["Changes", "reconcile"]


# The tags of a photo that is gone go to a copy of it that is there, those of one file of a pair to the other.

# Photos that are gone and have decisions in force, beside copies in a root. A content of which something was ever said
# on a present photo is left out: what a person said, or took back, there stands, and nothing is handed over twice.
_PAIRS = """
    SELECT g.id, g.path, p.id, p.path, g.content_hash FROM photos g
    JOIN photos p ON p.content_hash = g.content_hash AND p.present = 1 AND p.root = ?
    WHERE g.present = 0 AND p.verdict NOT IN ('raw_of_photo', 'clip_of_photo') AND g.content_hash <> x''
    AND EXISTS (SELECT 1 FROM standing WHERE photo = g.id)
    AND NOT EXISTS (
        SELECT 1 FROM photos q JOIN decisions d ON d.photo = q.id
        WHERE q.content_hash = g.content_hash AND q.present = 1
    )
    ORDER BY g.id, p.id
"""


def hand_over(connection: apsw.Connection, root: int, lost: Collection[int]) -> tuple[dict[int, int], int | None]:
    """Let copies in a root take over what was said of photos that are gone, inside a transaction.

    Each photo that is gone gives to one copy, and each copy takes from one: a copy of the same name goes first, then
    the one known longest. Where photos have just gone, those that went before them give nothing: what was said of them
    may have come down to the former.

    Parameters
    ----------
    connection : apsw.Connection
        In a transaction, the photos reconciled.
    root : int
        Where the copies are.
    lost : collection of int
        Photos that have just gone.

    Returns
    -------
    givers : dict of int to int
        For each copy, or other file of a pair, the photo that it took over from.
    batch : int or None
        What was recorded.
    """
    rows = fetch(connection, _PAIRS, (root,))
    givers: dict[int, int] = {}
    for several in _by_content(rows).values():
        givers |= _paired([row for row in several if row[0] in lost] or several)
    n_copies = len(givers)
    givers |= {taker: giver for taker, giver in _of_pairs(connection, root, lost).items() if taker not in givers}
    if not givers:
        return {}, None
    said = fetch(
        connection,
        "SELECT photo, tag, state, origin FROM standing WHERE photo IN (SELECT value FROM json_each(?)) "
        "ORDER BY photo, tag",
        (json_ids(sorted(set(givers.values()))),),
    )
    tags: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for photo, *rest in said:
        tags[photo].append((rest[0], rest[1], rest[2]))
    records = sorted((taker, *one) for taker, giver in givers.items() for one in tags[giver])
    label = "a copy inherits the tags of a missing photo"
    if len(givers) > 1:
        label = f"{len(givers)} copies inherit the tags of missing photos"
    if not n_copies:
        label = "a photo inherits the tags of its other file"
    return dict(sorted(givers.items())), append(connection, "decide", Records(*zip(*records, strict=True)), label=label)


def _of_pairs(connection: apsw.Connection, root: int, lost: Collection[int]) -> dict[int, int]:
    """Return for photos without any decision their labelled other file, such as the video of a Live Photo."""
    labelled = fetch(
        connection,
        "SELECT id, path, verdict FROM photos p WHERE root = ? "
        "AND (present = 0 OR verdict IN ('raw_of_photo', 'clip_of_photo')) "
        "AND EXISTS (SELECT 1 FROM standing WHERE photo = p.id) ORDER BY present, id",
        (root,),
    )
    # The RAW file or video that became a part of its photo gives to that, the JPEG that is gone gives to a RAW file.
    parts = {pair_key(path): number for number, path, verdict in labelled if verdict in PARTS}
    gone = {pair_key(path): number for number, path, _ in labelled if number in lost and is_pair_photo(path)}
    if not parts and not gone:
        return {}
    unlabelled = fetch(
        connection,
        "SELECT id, path FROM photos p WHERE root = ? AND present = 1 AND verdict = 'ok' "
        "AND NOT EXISTS (SELECT 1 FROM decisions WHERE photo = p.id) ORDER BY id",
        (root,),
    )
    givers: dict[int, int] = {}
    for number, path in unlabelled:
        giver = parts.get(pair_key(path)) if is_pair_photo(path) else gone.get(pair_key(path)) if is_raw(path) else None
        if giver is not None:
            givers[number] = giver
    return givers


def _by_content(rows: list[tuple[Any, ...]]) -> dict[bytes, list[tuple[Any, ...]]]:
    found: dict[bytes, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[4]].append(row)
    return found


def _paired(rows: list[tuple[Any, ...]]) -> dict[int, int]:
    """Return one copy for each photo of one content, as far as there are copies; namesakes find each other first."""
    givers: dict[int, int] = {}
    given: set[int] = set()
    for by_name in (True, False):
        for gone, path, copy, place, _ in rows:
            if gone in given or copy in givers or (by_name and os.path.basename(path) != os.path.basename(place)):
                continue
            givers[copy] = gone
            given.add(gone)
    return givers


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
    photo that is gone, a copy takes over of which nothing was said (see `tagloom.store.reconcile`).
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
