"""Chunks of photos that are read elsewhere: the plan that travels to a worker, and what comes back.

A worker sends a chunk back, or writes it to storage that all machines share (any that fsspec knows) and sends its name.
Chunks there are named by plan and photos, so that the same work done twice writes the same file. They wait until the
coordinator has taken them in: work is kept even if worker, scheduler and coordinator all end.
"""

import contextlib
import functools
import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom._version import __version__
from tagloom.core import FileStamp, PhotoRecord, Verdict
from tagloom.exceptions import EngineError, InvalidInputError
from tagloom.features.descriptor import Descriptor

__all__ = ["ChunkStorage", "PhotoChunk", "ReadingPlan"]

DIGEST_BYTES, HASH_BYTES = 16, 32
SUFFIX = ".chunk"


@dataclass(frozen=True, kw_only=True)
class ReadingPlan:
    """How a worker reads photos.

    Parameters
    ----------
    descriptors : tuple of Descriptor
        What to compute.
    keys : tuple of str
        Their keys here; a worker with other weights or another version would give other rows.
    root : bytes
        The folder that paths are relative to, the same on all machines.
    options : mapping
        Of the engine that reads: size of thumbnails, limits.
    storage : str
        Folder or address for chunks; empty: they are sent back.
    version : str
        Of tagloom.
    """

    descriptors: tuple[Descriptor, ...]
    keys: tuple[str, ...]
    root: bytes
    options: Mapping[str, Any]
    storage: str = ""
    version: str = __version__

    @functools.cached_property
    def name(self) -> str:
        """A name for all that the chunks depend on but for the photos."""
        text = json.dumps([self.version, self.keys, self.root.hex(), dict(self.options)], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=DIGEST_BYTES).hexdigest()

    def check(self) -> None:
        """Refuse to work where rows would be others than at the coordinator.

        Raises
        ------
        EngineError
            If version or keys differ.
        """
        if self.version != __version__:
            raise EngineError(f"a worker has tagloom {__version__}, expected {self.version}; install the same on all")
        mine = tuple(one.key for one in self.descriptors)
        if mine != self.keys:
            raise EngineError(f"a worker would compute {mine}, expected {self.keys}; install the same packages on all")


@dataclass(frozen=True, slots=True, eq=False)
class PhotoChunk:
    """What a worker made of some photos.

    Parameters
    ----------
    records : list of PhotoRecord
        One per file.
    rows : dict of str to (list of str, ndarray of float32)
        Per key the content hashes that have a row, and the rows. Key frames of videos have hashes of their own.
    thumbnails : dict of str to bytes
        By content hash.
    """

    records: list[PhotoRecord]
    rows: dict[str, tuple[list[str], NDArray[np.float32]]] = field(default_factory=dict)
    thumbnails: dict[str, bytes] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """Return the chunk as bytes that `from_bytes` can check."""
        from safetensors.numpy import save

        records = [
            [one.path.hex(), str(one.verdict), one.detail, one.content_hash, _stamp_items(one), one.width, one.height]
            for one in self.records
        ]
        tensors = {
            "records": np.frombuffer(json.dumps(records).encode(), dtype=np.uint8),
            "thumbnails": np.frombuffer(b"".join(self.thumbnails.values()), dtype=np.uint8),
            "thumbnail_sizes": np.array([len(one) for one in self.thumbnails.values()], dtype=np.int64),
            "hashes": _joined(self.thumbnails),
        }
        for key, (hashes, rows) in self.rows.items():
            tensors |= {f"hashes/{key}": _joined(hashes), f"rows/{key}": np.ascontiguousarray(rows, dtype=np.float32)}
        data = save(tensors)
        return _digest(data) + data

    @classmethod
    def from_bytes(cls, data: bytes) -> "PhotoChunk":
        """Return the chunk that `to_bytes` made these bytes of.

        Raises
        ------
        InvalidInputError
            If they are cut short or changed.
        """
        from safetensors.numpy import load

        if _digest(data[DIGEST_BYTES:]) != data[:DIGEST_BYTES]:
            raise InvalidInputError("a chunk of photos is not what was written")
        found = load(data[DIGEST_BYTES:])
        records = [
            PhotoRecord(
                bytes.fromhex(path), Verdict(verdict), detail, content, stamp and FileStamp(*stamp), width, height
            )
            for path, verdict, detail, content, stamp, width, height in json.loads(found["records"].tobytes())
        ]
        pictures, ends = found["thumbnails"].tobytes(), np.cumsum(found["thumbnail_sizes"]).tolist()
        parts = [pictures[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        keys = [name.removeprefix("rows/") for name in found if name.startswith("rows/")]
        return cls(
            records,
            {key: (_cut(found[f"hashes/{key}"]), found[f"rows/{key}"]) for key in keys},
            dict(zip(_cut(found["hashes"]), parts, strict=True)),
        )


class ChunkStorage:
    """Chunks of one plan, in storage that all machines share.

    Parameters
    ----------
    plan : ReadingPlan
        Says where.

    Raises
    ------
    EngineError
        If fsspec is not installed, or does not know that storage.
    """

    def __init__(self, plan: ReadingPlan) -> None:
        try:
            import fsspec
        except ImportError as error:
            raise EngineError("shared_storage needs another package: pip install tagloom[cluster]") from error
        try:
            self._files, base = fsspec.core.url_to_fs(plan.storage)
            self._folder = f"{base.rstrip('/')}/{plan.name}"
            self._files.makedirs(self._folder, exist_ok=True)
        except (ValueError, ImportError, OSError) as error:
            raise EngineError(f"shared_storage {plan.storage!r} cannot be used: {error}") from error

    def name_of(self, paths: Sequence[bytes]) -> str:
        """Return the name of the chunk of these photos."""
        digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        for path in paths:
            digest.update(len(path).to_bytes(8, "little") + path)
        return digest.hexdigest() + SUFFIX

    def names(self) -> list[str]:
        """Return the names of the chunks that are there."""
        with contextlib.suppress(FileNotFoundError):
            paths = self._files.ls(self._folder, detail=False, refresh=True)
            return sorted(path.rpartition("/")[2] for path in paths if path.endswith(SUFFIX))
        return []

    def write(self, name: str, chunk: PhotoChunk) -> None:
        """Write a chunk: under another name first, so that no half of one is found under its own."""
        path = f"{self._folder}/{name}"
        aside = f"{path}.{uuid.uuid4().hex}"
        self._files.pipe_file(aside, chunk.to_bytes())
        self._files.mv(aside, path)

    def read(self, name: str) -> PhotoChunk | None:
        """Return a chunk, or None where there is none or not all of it."""
        with contextlib.suppress(FileNotFoundError, InvalidInputError):
            return PhotoChunk.from_bytes(self._files.cat_file(f"{self._folder}/{name}"))
        return None

    def remove(self, name: str) -> None:
        """Remove a chunk that was taken in."""
        with contextlib.suppress(FileNotFoundError):
            self._files.rm_file(f"{self._folder}/{name}")

    def leftovers(self) -> Iterator[tuple[str, PhotoChunk]]:
        """Yield the chunks that nobody has taken in, by name; what is damaged is removed, and read again."""
        for name in self.names():
            chunk = self.read(name)
            if chunk is None:
                self.remove(name)
            else:
                yield name, chunk


def _stamp_items(record: PhotoRecord) -> list[int] | None:
    stamp = record.stamp
    return None if stamp is None else [stamp.size, stamp.mtime_ns, stamp.inode, stamp.ctime_ns]


def _joined(hashes: Iterable[str]) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join(map(bytes.fromhex, hashes)), dtype=np.uint8)


def _cut(joined: NDArray[np.uint8]) -> list[str]:
    return [bytes(one).hex() for one in joined.reshape(-1, HASH_BYTES)]


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
