"""Pictures for the review page: stored thumbnails, and larger ones decoded by worker processes; never the original."""

import os
import threading
from collections import OrderedDict

from tagloom.catalog import PhotoIndex, ProjectReader
from tagloom.exceptions import PhotosError
from tagloom.features.engine import frame_hash
from tagloom.images import DecodePool

__all__ = ["Pictures"]

N_KEPT = 64
N_WORKERS = 2
LARGE_SIDE = 1600
DEADLINE = 30.0


class Pictures:
    """Thumbnails and large pictures, all of them WebP that was made here.

    Large pictures have at most `LARGE_SIDE` pixels on the longer side. The latest are kept in memory: the page asks for
    a photo's neighbours ahead of time.

    Parameters
    ----------
    reader : ProjectReader
        Where thumbnails are.
    root : bytes
        The folder of photos.
    n_kept : int, default=64
        How many large pictures are kept.
    """

    def __init__(self, reader: ProjectReader, root: bytes, *, n_kept: int = N_KEPT) -> None:
        self._reader = reader
        self._root = root
        self._n_kept = n_kept
        self._lock = threading.Lock()
        self._pool: DecodePool | None = None
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._closed = False

    def thumbnail(self, photos: PhotoIndex, photo: int) -> bytes:
        """Return a photo's thumbnail; one that is not stored is decoded."""
        found = self._reader.thumbnail(photos.hashes[photos.row(photo)])
        return found if found else self.large(photos, photo)

    def frame(self, photos: PhotoIndex, photo: int, frame: int) -> bytes:
        """Return the thumbnail of a key frame of a video.

        Raises
        ------
        PhotosError
            If there is none.
        """
        found = self._reader.thumbnail(frame_hash(photos.hashes[photos.row(photo)], frame))
        if not found:
            raise PhotosError("there is no such key frame; scan again")
        return found

    def large(self, photos: PhotoIndex, photo: int) -> bytes:
        """Return a large picture.

        Raises
        ------
        PhotosError
            If the file is gone or cannot be read.
        """
        row = photos.row(photo)
        key = photos.hashes[row]
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        decoded = next(iter(self._workers().decode([os.path.join(self._root, photos.paths[row])])))
        if not decoded.record.ok or not decoded.thumbnail:
            raise PhotosError(f"{photos.names[row]}: {decoded.record.detail or decoded.record.verdict}; scan again")
        with self._lock:
            self._kept[key] = decoded.thumbnail
            while len(self._kept) > self._n_kept:
                self._kept.popitem(last=False)
        return decoded.thumbnail

    def close(self) -> None:
        """End the workers."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.close()

    def _workers(self) -> DecodePool:
        with self._lock:
            if self._closed:
                raise PhotosError("the review has ended")
            if self._pool is None:
                self._pool = DecodePool(
                    n_workers=N_WORKERS, thumbnail_size=LARGE_SIDE, working_side=LARGE_SIDE, deadline=DEADLINE
                )
            return self._pool
