"""Feature shards: one safetensors file with a few hundred rows each, written once and never changed."""

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.folder import ARRAY_SUFFIX, ProjectFolder, check_array_name
from tagloom.store.layout import FEATURES

__all__ = ["ShardInfo", "read_shard", "read_unregistered", "write_shard"]

HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """A written shard: file name, number of rows and columns, size and checksum."""

    file: str
    n_rows: int
    n_columns: int
    n_bytes: int
    checksum: str


def write_shard(folder: ProjectFolder, key: str, hashes: Sequence[str], rows: NDArray[np.float32]) -> ShardInfo:
    """Write rows durably under a new name and return what to register.

    Parameters
    ----------
    folder : ProjectFolder
        The project's folder; this key's shards are in its subfolder ``features/KEY``.
    key : str
        Extractor, version and parameters; kept in the file for later checks.
    hashes : sequence of str
        Content hash of the photo of each row.
    rows : ndarray of float32, shape (n, d)
        The features.
    """
    if rows.ndim != 2 or len(rows) != len(hashes) or rows.dtype != np.float32:
        raise InvalidInputError(
            f"expected {len(hashes)} float32 rows for {len(hashes)} photos, got {rows.dtype} of shape {rows.shape}"
        )
    names = np.frombuffer(b"".join(bytes.fromhex(name) for name in hashes), dtype=np.uint8)
    tensors = {"rows": np.ascontiguousarray(rows), "hashes": names.reshape(len(hashes), HASH_BYTES)}
    data = save(tensors, metadata={"key": key, "format": "1"})
    file = f"{uuid.uuid4().hex}{ARRAY_SUFFIX}"
    folder.make(FEATURES, key)
    folder.write(data, FEATURES, key, file)
    return ShardInfo(file, rows.shape[0], rows.shape[1], len(data), _checksum(data))


def read_shard(folder: ProjectFolder, key: str, info: ShardInfo) -> NDArray[np.float32]:
    """Return the rows of a shard after checking it against what was registered."""
    name = check_array_name(info.file)
    try:
        data = folder.read(FEATURES, key, name, longest=max(0, info.n_bytes) + 1)
    except OSError as error:
        raise DamagedStoreError(f"feature shard {name} cannot be read ({error.strerror or error})") from error
    if len(data) != info.n_bytes or _checksum(data) != info.checksum:
        raise DamagedStoreError(f"feature shard {info.file} does not have the content that was written to it")
    try:
        rows = load(data)["rows"]
    except (SafetensorError, KeyError) as error:
        raise DamagedStoreError(f"feature shard {info.file} is not a feature shard ({error})") from error
    if rows.shape != (info.n_rows, info.n_columns):
        raise DamagedStoreError(
            f"feature shard {info.file} holds {rows.shape} values, expected {(info.n_rows, info.n_columns)}"
        )
    return np.asarray(rows, dtype=np.float32)


def read_unregistered(folder: ProjectFolder, key: str, file: str) -> tuple[ShardInfo, list[bytes]]:
    """Return what to register of a shard that is there, and the content hash of the photo of each row.

    Raises
    ------
    DamagedStoreError
        If the file is no shard of this key.
    """
    data = folder.read(FEATURES, key, check_array_name(file))
    try:
        found = load(data)
        rows, hashes = found["rows"], found["hashes"]
        length = int.from_bytes(data[:8], "little")
        is_ours = json.loads(data[8 : 8 + length])["__metadata__"]["key"] == key
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedStoreError(f"{file} is not a feature shard ({error})") from error
    if not is_ours or rows.ndim != 2 or rows.dtype != np.float32 or hashes.shape != (len(rows), HASH_BYTES):
        raise DamagedStoreError(f"{file} is not a feature shard of {key}")
    if hashes.dtype != np.uint8:
        raise DamagedStoreError(f"{file} is not a feature shard of {key}")
    info = ShardInfo(file, rows.shape[0], rows.shape[1], len(data), _checksum(data))
    return info, [bytes(row) for row in hashes]


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
