"""Feature shards: one safetensors file with a few hundred rows each, written once and never changed."""

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tagloom.core.files import write_bytes
from tagloom.exceptions import DamagedStoreError, InvalidInputError

__all__ = ["ShardInfo", "read_shard", "write_shard"]

SUFFIX = ".safetensors"
HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class ShardInfo:
    """A written shard: file name, number of rows and columns, size and checksum."""

    file: str
    n_rows: int
    n_columns: int
    n_bytes: int
    checksum: str


def write_shard(folder: Path, key: str, hashes: Sequence[str], rows: NDArray[np.float32]) -> ShardInfo:
    """Write rows durably under a new name and return what to register.

    Parameters
    ----------
    folder : Path
        Existing folder of this key's shards.
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
    file = f"{uuid.uuid4().hex}{SUFFIX}"
    write_bytes(folder / file, data)
    return ShardInfo(file, rows.shape[0], rows.shape[1], len(data), _checksum(data))


def read_shard(path: Path, info: ShardInfo) -> NDArray[np.float32]:
    """Return the rows of a shard after checking it against what was registered."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DamagedStoreError(f"feature shard {info.file} cannot be read ({error.strerror})") from error
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


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
