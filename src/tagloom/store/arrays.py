"""Files of named arrays with a JSON description: safetensors, written atomically, no pickle."""

import hashlib
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tagloom.core import write_bytes
from tagloom.exceptions import DamagedStoreError, InvalidInputError, NewerFormatError
from tagloom.store.array_files import ArrayFile
from tagloom.store.folder import ARRAY_SUFFIX, ProjectFolder, check_array_name
from tagloom.store.runs import to_json

__all__ = ["load_arrays", "read_arrays", "save_arrays", "write_arrays"]

FORMAT = 1


def save_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, ArrayLike], info: Mapping[str, Any] | None = None
) -> ArrayFile:
    """Write arrays of numbers and a description to one file; when this returns they are on stable storage.

    Parameters
    ----------
    path : path
        The file to make or replace.
    arrays : mapping of str to array-like
        Booleans, integers and floats; text belongs in ``info``.
    info : mapping, optional
        What JSON can hold.

    Returns
    -------
    ArrayFile
        What to register, so that `load_arrays` can tell a damaged file.
    """
    data = pack_arrays(arrays, info)
    write_bytes(path, data)
    return describe(Path(path).name, data)


def load_arrays(
    path: str | os.PathLike[str], expected: ArrayFile | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `save_arrays` wrote.

    Parameters
    ----------
    path : path
        The file.
    expected : ArrayFile, optional
        What was registered; size and checksum must agree.

    Raises
    ------
    DamagedStoreError
        If the file is missing, cut short, changed, or not one of ours.
    NewerFormatError
        If a newer tagloom wrote it.
    """
    name = Path(path).name
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise _unreadable(name, error) from error
    return unpack_arrays(name, data, expected)


def write_arrays(
    folder: ProjectFolder, place: str, arrays: Mapping[str, ArrayLike], info: Mapping[str, Any] | None = None
) -> ArrayFile:
    """Write arrays to a new file in a folder of a project, and return what to register."""
    data = pack_arrays(arrays, info)
    file = f"{uuid.uuid4().hex}{ARRAY_SUFFIX}"
    folder.make(place)
    folder.write(data, place, file)
    return describe(file, data)


def read_arrays(
    folder: ProjectFolder, place: str, expected: ArrayFile
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read a registered file in a folder of a project (see `load_arrays`)."""
    name = check_array_name(expected.file)
    try:
        data = folder.read(place, name, longest=max(0, expected.n_bytes) + 1)
    except OSError as error:
        raise _unreadable(name, error) from error
    return unpack_arrays(name, data, expected)


def pack_arrays(arrays: Mapping[str, ArrayLike], info: Mapping[str, Any] | None = None) -> bytes:
    """Return the content of a file of arrays."""
    tensors = {name: _plain(name, value) for name, value in arrays.items()}
    return bytes(save(tensors, metadata={"format": str(FORMAT), "info": to_json(dict(info or {}))}))


def describe(file: str, data: bytes) -> ArrayFile:
    """Return what to register of a file, so that `load_arrays` can tell a damaged one."""
    return ArrayFile(file, len(data), _checksum(data))


def unpack_arrays(
    name: str, data: bytes, expected: ArrayFile | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what `pack_arrays` packed (see `load_arrays`)."""
    if expected is not None and (len(data) != expected.n_bytes or _checksum(data) != expected.checksum):
        raise DamagedStoreError(f"{name} does not have the content that was written to it; make it again")
    try:
        length = int.from_bytes(data[:8], "little")
        header = json.loads(data[8 : 8 + length])["__metadata__"]
        number, info = int(header["format"]), json.loads(header["info"])
        arrays = load(data) if number <= FORMAT else {}
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedStoreError(
            f"{name} is not a file of arrays that tagloom wrote ({error}); make it again"
        ) from error
    if number > FORMAT:
        raise NewerFormatError(
            f"{name} has format {number}, and this tagloom reads up to {FORMAT}; install a newer one"
        )
    return arrays, info


def _unreadable(name: str, error: OSError) -> DamagedStoreError:
    reason = error.strerror or error
    return DamagedStoreError(f"{name} cannot be read ({reason}); run the command that made it again")


def _plain(name: str, value: ArrayLike) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInputError(f"the array {name!r} must hold booleans, integers or floats, got dtype {array.dtype}")
    # safetensors reads memory as it lies there: other orders of bytes or axes would come back as other numbers.
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C", copy=True)


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
