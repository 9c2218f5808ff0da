"""The photos of a project: files that keep their id when they move, change or go missing."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tagloom.core import MOTION_PHOTO, PARTS, VIDEO_EXTENSIONS, Verdict, is_pair_photo, is_raw, pair_key
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.store.session import Database, id_array, json_ids, whole_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tagloom.core import Ids
    from tagloom.store.photo_table import PhotoTable
    from tagloom.store.reconcile import Changes

__all__ = ["PhotoCounts", "Photos", "Stamp"]

_CHUNK = 500
_PARTS = ", ".join(f"'{verdict}'" for verdict in sorted(PARTS))
_UNREADABLE = f"verdict NOT IN ('{Verdict.OK}', {_PARTS})"

Stamp = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class PhotoCounts:
    """How many photos are present, missing and offline; of those not missing, how many have a tag decided.

    Parts of photos (the RAW file of a pair, the video of a Live Photo) are not counted. Some of the present ones are
    unreadable.
    """

    present: int
    missing: int
    offline: int
    labeled: int
    unreadable: int = 0


class Photos:
    """The photos of a project.

    A photo is a file with an id. The id stays when the file is edited in place or moves (the same content at another
    path, the old path gone), and while the file is missing; nothing is ever removed. Copies are photos of their own; a
    copy of which nothing was said takes over what was said of a photo that is gone.

    Parameters
    ----------
    database : Database
        The project's database.
    root : int or None
        The root that paths are relative to where none is named.
    """

    def __init__(self, database: Database, root: int | None) -> None:
        self._database = database
        self._root = root

    def changed_files(
        self, names: Sequence[bytes], stamps: Sequence[Stamp | None], *, root: int | None = None
    ) -> list[int]:
        """Return the positions of files that were never read, or have changed since; they need reading.

        Parameters
        ----------
        names : sequence of bytes
            The files.
        stamps : sequence of (size, mtime_ns, inode, ctime_ns) or None
            How they look now; None where that could not be seen. Tuples, since there are many.
        root : int, optional
            Default: the root the store was opened with.
        """
        sql = "SELECT path, size, mtime_ns, inode, ctime_ns FROM files WHERE root = ?"
        known = set(self._database.read(sql, (self._root_id(root),)))
        return [
            position
            for position, (name, stamp) in enumerate(zip(names, stamps, strict=True))
            if stamp is None or (name, *stamp) not in known
        ]

    def reconcile(self, names: Iterable[bytes], *, root: int | None = None, now: float | None = None) -> "Changes":
        """Bring the photos of a root up to the files that were listed there and have been read.

        Parameters
        ----------
        names : iterable of bytes
            All photo files that are there now. Those without a record from reading (`FolderCache.record`) are left out
            and counted as unread.
        root : int, optional
            Default: the root the store was opened with.
        now : float, optional
            Seconds since 1970; default: the clock.

        Returns
        -------
        Changes
            Ids of photos that are new, changed, moved, missing and back again, and of copies that took over what was
            said of a missing one.

        Raises
        ------
        StoreError
            If the root is offline: its photos are not missing.
        """
        from tagloom.store.reconcile import reconcile

        number = self._root_id(root)
        if not self._database.value("SELECT online FROM roots WHERE id = ?", (number,)):
            raise StoreError("the folder of these photos cannot be reached (offline); plug it in, then run again")
        with self._database.write() as connection:
            return reconcile(connection, number, names, time.time() if now is None else now)

    def table(self, ids: "ArrayLike | None" = None, *, state: str | None = None) -> "PhotoTable":
        """Return photos by column: all, or some by id, or those in a state."""
        from tagloom.store.photo_table import COLUMNS, photo_table

        where, values = ["1"], []
        if ids is not None:
            where.append("id IN (SELECT value FROM json_each(?))")
            values.append(json_ids(whole_numbers(ids, "ids")))
        if state is not None:
            where.append("state = ?")
            values.append(state)
        sql = f"SELECT * FROM ({COLUMNS}) WHERE {' AND '.join(where)} ORDER BY id"  # noqa: S608
        return photo_table(self._database.read(sql, values))

    def there(self, ids: "ArrayLike | None" = None) -> "Ids":
        """Return which photos, of all or of some by id, are present or out of reach, sorted; not which are missing."""
        some, values = "", tuple[str, ...]()
        if ids is not None:
            some, values = "AND p.id IN (SELECT value FROM json_each(?))", (json_ids(whole_numbers(ids, "ids")),)
        sql = (
            "SELECT p.id FROM photos p JOIN roots r ON r.id = p.root "  # noqa: S608
            f"WHERE (p.present OR NOT r.online) {some} ORDER BY p.id"
        )
        return self._database.table(sql, values).ravel()

    def readable(self, ids: "ArrayLike | None" = None, *, offline: bool = True) -> "tuple[Ids, list[bytes], list[str]]":
        """Return ids, paths and content of readable photos that are present or, if asked for, out of reach."""
        where, values = "", tuple[str, ...]()
        if ids is not None:
            where, values = "AND p.id IN (SELECT value FROM json_each(?))", (json_ids(whole_numbers(ids, "ids")),)
        sql = (
            "SELECT p.id, p.path, p.content_hash FROM photos p JOIN roots r ON r.id = p.root "  # noqa: S608
            f"WHERE p.verdict = ? AND {'(p.present OR NOT r.online)' if offline else 'p.present AND r.online'} {where} "
            "ORDER BY p.id"
        )
        numbers: list[int] = []
        paths: list[bytes] = []
        hashes: list[str] = []
        # One by one: of a million photos all rows at once are half a gigabyte.
        with self._database.reading() as connection:
            for number, path, content in connection.execute(sql, (str(Verdict.OK), *values)):
                numbers.append(number)
                paths.append(path)
                hashes.append(content.hex())
        return id_array(numbers), paths, hashes

    def paths(self, *, root: int | None = None) -> list[bytes]:
        """Return the paths of the present photos of a root, sorted."""
        sql = "SELECT path FROM photos WHERE present = 1 AND root = ? ORDER BY path"
        return [path for (path,) in self._database.read(sql, (self._root_id(root),))]

    def has_videos(self) -> bool:
        """Tell whether any file that could be read is a video, whether it is there or not."""
        ends = ", ".join(f"x'{end.hex()}'" for end in sorted(VIDEO_EXTENSIONS))
        lengths = sorted({len(end) for end in VIDEO_EXTENSIONS})
        tails = " OR ".join(f"CAST(lower(substr(path, -{n})) AS BLOB) IN ({ends})" for n in lengths)
        sql = f"SELECT EXISTS(SELECT 1 FROM photos WHERE verdict = 'ok' AND ({tails}))"  # noqa: S608
        ((found,),) = self._database.read(sql, ())
        return bool(found)

    def outside(self) -> bytes | None:
        """Return a stored path that leads out of its root, None if there is none: tagloom stores no such path."""
        leads_out = " OR ".join(
            (
                "path = x'2e2e'",
                "substr(path, 1, 1) = x'2f'",
                "substr(path, 1, 3) = x'2e2e2f'",
                "substr(path, -3) = x'2f2e2e'",
                "instr(path, x'2f2e2e2f')",
                "instr(path, x'00')",
            )
        )
        for table in ("photos", "files", "attempts"):
            found = self._database.value(f"SELECT path FROM {table} WHERE {leads_out} LIMIT 1")  # noqa: S608
            if found is not None:
                return bytes(found)
        return None

    def unreadable(self, *, root: int | None = None) -> list[tuple[bytes, str]]:
        """Return paths and verdicts of the present files of a root that could not be read as photos."""
        where = f"present = 1 AND root = ? AND {_UNREADABLE}"
        sql = f"SELECT path, substr(verdict, 1, 64) FROM photos WHERE {where} ORDER BY id"  # noqa: S608
        return [(path, verdict) for path, verdict in self._database.read(sql, (self._root_id(root),))]

    def problems(self, *, root: int | None = None) -> list[tuple[bytes, str, str]]:
        """Return path, verdict and detail of the present photos of a root that could not be read."""
        rows = self._database.read(
            "SELECT p.path, substr(p.verdict, 1, 64), substr(ifnull(f.detail, ''), 1, 1000) FROM photos p "  # noqa: S608
            "LEFT JOIN files f ON f.root = p.root AND f.path = p.path "
            f"WHERE p.present = 1 AND p.root = ? AND p.{_UNREADABLE} ORDER BY p.path",
            (self._root_id(root),),
        )
        return [(path, verdict, detail) for path, verdict, detail in rows]

    def parts(self) -> dict[int, tuple[bytes, bool]]:
        """Return for each part of a photo (its RAW file, its clip) by id the path and whether it is present."""
        sql = f"SELECT id, path, present FROM photos WHERE verdict IN ({_PARTS}) ORDER BY id"  # noqa: S608
        return {number: (path, bool(present)) for number, path, present in self._database.read(sql)}

    def clip_of(self, path: bytes, *, root: int | None = None) -> bytes | None:
        """Return the path of the video that was taken with a photo (a Live Photo), None if there is none.

        Parameters
        ----------
        path : bytes
            Of the photo.
        root : int, optional
            Default: the root the store was opened with.
        """
        folder = path[: path.rfind(b"/") + 1]
        where = "root = ? AND present = 1 AND verdict = ? AND path >= ? AND path < ?"
        end = folder[:-1] + b"0" if folder else b"\xff"  # "0" comes after "/"
        values = (self._root_id(root), str(Verdict.CLIP_OF_PHOTO), folder, end)
        rows = self._database.read(f"SELECT path FROM photos WHERE {where} ORDER BY path", values)  # noqa: S608
        return next((clip for (clip,) in rows if pair_key(clip) == pair_key(path)), None)

    def n_with_clip_inside(self) -> int:
        """Return how many present photos have a video in their own file (Motion Photos)."""
        sql = (
            "SELECT count(*) FROM photos p JOIN files f ON f.root = p.root AND f.path = p.path "
            "WHERE p.present = 1 AND p.verdict = 'ok' AND substr(f.detail, 1, ?) = ?"
        )
        return int(self._database.value(sql, (len(MOTION_PHOTO), MOTION_PHOTO)))

    def missing(self) -> list[bytes]:
        """Return the paths of photos that were not there at the last scan, sorted; no parts of photos."""
        rows = self._database.read(
            "SELECT p.path FROM photos p JOIN roots r ON r.id = p.root "  # noqa: S608
            f"WHERE p.present = 0 AND r.online AND p.verdict NOT IN ({_PARTS}) ORDER BY p.path"
        )
        return [path for (path,) in rows]

    def missing_ids(self) -> set[int]:
        """Return the ids of photos, and of parts of photos, that were not there at the last scan."""
        sql = "SELECT p.id FROM photos p JOIN roots r ON r.id = p.root WHERE p.present = 0 AND r.online"
        return {number for (number,) in self._database.read(sql)}

    def existing(self, ids: Iterable[int]) -> set[int]:
        """Return which of these ids are those of photos, present or not."""
        sql = "SELECT id FROM photos WHERE id IN (SELECT value FROM json_each(?))"
        return {number for (number,) in self._database.read(sql, (json_ids(ids),))}

    def find(self, names: Sequence[bytes], *, root: int | None = None) -> dict[bytes, int]:
        """Return the ids of present photos by path."""
        number = self._root_id(root)
        found: dict[bytes, int] = {}
        for start in range(0, len(names), _CHUNK):
            chunk = names[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            sql = f"SELECT path, id FROM photos WHERE root = ? AND present = 1 AND path IN ({marks})"  # noqa: S608
            found.update(self._database.read(sql, (number, *chunk)))
        return found

    def duplicates(self) -> "list[Ids]":
        """Return groups of present photos with the same content."""
        rows = self._database.read(
            # The inner query is answered by the index alone.
            "SELECT group_concat(id) FROM photos WHERE present = 1 AND content_hash IN (SELECT content_hash "
            "FROM photos WHERE content_hash <> x'' GROUP BY content_hash HAVING count(*) > 1) "
            "GROUP BY content_hash HAVING count(*) > 1 ORDER BY min(id)"
        )
        return [id_array(sorted(map(int, text.split(",")))) for (text,) in rows]

    def raw_pairs(self, *, clips: bool = False) -> "Ids":
        """Return pairs (RAW, JPEG or HEIC) of present files with the same folder and name, shape (k, 2).

        Parameters
        ----------
        clips : bool, default=False
            Whether to return (video, JPEG or HEIC) of Live Photos, too.
        """
        sql = "SELECT id, root, path, verdict FROM photos WHERE present = 1 ORDER BY id"
        files = list(self._database.read(sql))
        raws = [
            ((root, *pair_key(path)), number)
            for number, root, path, verdict in files
            if is_raw(path) or (clips and verdict == Verdict.CLIP_OF_PHOTO)
        ]
        photos: dict[tuple[Any, ...], int] = {}
        for number, root, path, _ in files if raws else ():
            if is_pair_photo(path):
                photos.setdefault((root, *pair_key(path)), number)
        return id_array(item for key, raw in raws if key in photos for item in (raw, photos[key])).reshape(-1, 2)

    def set_taken(self, ids: "ArrayLike", seconds: "ArrayLike") -> None:
        """Store when photos were taken, such as `PhotoFacts.seconds`; NaN: looked for and not found."""
        from tagloom.store.photo_table import times_of

        rows = times_of(ids, seconds)
        with self._database.write() as connection:
            connection.executemany("UPDATE photos SET taken = ?, dated = 1 WHERE id = ?", rows)

    def undated(self) -> "Ids":
        """Return the ids of present photos whose time was never looked for."""
        return self._database.table("SELECT id FROM photos WHERE present = 1 AND dated = 0 ORDER BY id").ravel()

    def counts(self) -> PhotoCounts:
        """Count photos by state, and those of which something is decided."""
        with self._database.reading():
            rows = self._database.read(
                f"SELECT r.online, p.present, p.{_UNREADABLE}, count(*) FROM photos p JOIN roots r ON r.id = p.root "  # noqa: S608
                f"WHERE p.verdict NOT IN ({_PARTS}) GROUP BY 1, 2, 3"
            )
            labeled = self._database.value(
                f"SELECT count(*) FROM photos WHERE present = 1 AND verdict NOT IN ({_PARTS}) "  # noqa: S608
                "AND id IN (SELECT photo FROM standing)"
            )
        present = sum(n for online, is_there, _, n in rows if online and is_there)
        missing = sum(n for online, is_there, _, n in rows if online and not is_there)
        offline = sum(n for online, _, _, n in rows if not online)
        unreadable = sum(n for online, is_there, failed, n in rows if online and is_there and failed)
        return PhotoCounts(present, missing, offline, labeled, unreadable)

    def _root_id(self, root: int | None) -> int:
        number = self._root if root is None else root
        if number is None:
            raise InvalidInputError("this store was opened without a root; name one")
        return number
