"""Files of named arrays with a JSON description: safetensors, written atomically, no pickle."""

import hashlib
import json
import math
import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load

from tagloom.core import write_bytes
from tagloom.exceptions import DamagedStoreError, InvalidInputError, NewerFormatError
from tagloom.store.array_files import ArrayFile
from tagloom.store.folder import ARRAY_SUFFIX, ProjectFolder, check_array_name
from tagloom.store.runs import to_json

if TYPE_CHECKING:
    import mmap

__all__ = ["load_arrays", "mapped_arrays", "pack_arrays", "read_arrays", "save_arrays", "write_arrays"]

FORMAT = 1
#: A larger file is not read, but mapped. Its checksum is looked at all the same.
MAPPED_BYTES = 1 << 25
#: Written at a time.
WRITTEN_BYTES = 1 << 24
#: What safetensors calls kinds of numbers, by numpy's letter and size.
_DTYPES = {
    "b1": "BOOL",
    **{f"{'i' if letter == 'I' else 'u'}{size}": f"{letter}{8 * size}" for letter in "IU" for size in (1, 2, 4, 8)},
    **{f"f{size}": f"F{8 * size}" for size in (2, 4, 8)},
}
_KINDS = {name: "?" if kind == "b1" else f"<{kind}" for kind, name in _DTYPES.items()}


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
    data = b"".join(pack_arrays(arrays, info))
    write_bytes(path, data)
    return ArrayFile(Path(path).name, len(data), _digest(data).hexdigest())


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
    """Write arrays to a new file in a folder of a project, some rows at a time, and return what to register."""
    file, digest, n_bytes = f"{uuid.uuid4().hex}{ARRAY_SUFFIX}", _digest(), 0

    def counted() -> Iterator[bytes | memoryview]:
        nonlocal n_bytes
        for part in pack_arrays(arrays, info):
            digest.update(part)
            n_bytes += len(part)
            yield part

    folder.make(place)
    folder.write(counted(), place, file)
    return ArrayFile(file, n_bytes, digest.hexdigest())


def read_arrays(
    folder: ProjectFolder, place: str, expected: ArrayFile
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read a registered file in a folder of a project (see `load_arrays`); arrays of a large one stay in the file."""
    name = check_array_name(expected.file)
    try:
        if expected.n_bytes > MAPPED_BYTES:
            return _mapped_arrays(name, folder.map(place, name), expected)
        data = folder.read(place, name, longest=max(0, expected.n_bytes) + 1)
    except OSError as error:
        raise _unreadable(name, error) from error
    return unpack_arrays(name, data, expected)


def mapped_arrays(folder: ProjectFolder, place: str, name: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a file that is not registered; its content is not looked at (see `read_arrays`)."""
    return _mapped_arrays(name, folder.map(place, name), None)[0]


def pack_arrays(arrays: Mapping[str, ArrayLike], info: Mapping[str, Any] | None = None) -> Iterator[bytes | memoryview]:
    """Yield the content of a file of arrays, in the order of safetensors: large elements first, then by name."""
    plain = {name: _plain(name, value) for name, value in arrays.items()}
    names = sorted(plain, key=lambda name: (-plain[name].itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": str(FORMAT), "info": to_json(dict(info or {}))}}
    end = 0
    for name in names:
        begin, end = end, end + plain[name].nbytes
        shape = list(plain[name].shape)
        header[name] = {"dtype": _DTYPES[plain[name].dtype.str[1:]], "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little") + text
    for name in names:
        array = np.atleast_1d(plain[name])
        step = max(1, WRITTEN_BYTES // max(1, array.nbytes // max(1, len(array))))
        for start in range(0, len(array), step):
            # What is read is memory as it lies there: other orders of bytes or axes would come back as other numbers.
            part = np.ascontiguousarray(array[start : start + step], dtype=array.dtype.newbyteorder("<"))
            yield part.reshape(-1).view(np.uint8).data


def unpack_arrays(
    name: str, data: bytes, expected: ArrayFile | None = None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what `pack_arrays` packed (see `load_arrays`)."""
    _check_content(name, data, expected)
    try:
        number, info, _ = _header(data)
        arrays = load(data) if number <= FORMAT else {}
    except (SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _not_ours(name, error) from error
    _check_format(name, number)
    return arrays, info


def _mapped_arrays(
    name: str, data: "mmap.mmap", expected: ArrayFile | None
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return the same, arrays that nobody can write to, and that take no memory of their own."""
    _check_content(name, data, expected)
    try:
        number, info, tensors = _header(data)
        start = 8 + int.from_bytes(data[:8], "little")
        arrays = {key: _mapped(data, start, value) for key, value in tensors.items()} if number <= FORMAT else {}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _not_ours(name, error) from error
    _check_format(name, number)
    return arrays, info


def _mapped(data: "mmap.mmap", start: int, tensor: Any) -> NDArray[Any]:
    kind, shape, (begin, end) = np.dtype(_KINDS[tensor["dtype"]]), tensor["shape"], tensor["data_offsets"]
    count = math.prod(shape)
    if begin < 0 or min(shape, default=0) < 0 or end - begin != count * kind.itemsize or start + end > len(data):
        raise ValueError("an array does not lie in the file")
    return np.frombuffer(data, kind, count, start + begin).reshape(shape)


def _header(data: "bytes | mmap.mmap") -> tuple[int, dict[str, Any], dict[str, Any]]:
    length = int.from_bytes(data[:8], "little")
    tensors = json.loads(data[8 : 8 + length])
    metadata = tensors.pop("__metadata__")
    return int(metadata["format"]), json.loads(metadata["info"]), tensors


def _check_content(name: str, data: "bytes | mmap.mmap", expected: ArrayFile | None) -> None:
    if expected is not None and (len(data) != expected.n_bytes or _digest(data).hexdigest() != expected.checksum):
        raise DamagedStoreError(f"{name} does not have the content that was written to it; make it again")


def _check_format(name: str, number: int) -> None:
    if number > FORMAT:
        raise NewerFormatError(
            f"{name} has format {number}, and this tagloom reads up to {FORMAT}; install a newer one"
        )


def _not_ours(name: str, error: Exception) -> DamagedStoreError:
    return DamagedStoreError(f"{name} is not a file of arrays that tagloom wrote ({error}); make it again")


def _unreadable(name: str, error: OSError) -> DamagedStoreError:
    reason = error.strerror or error
    return DamagedStoreError(f"{name} cannot be read ({reason}); run the command that made it again")


def _plain(name: str, value: ArrayLike) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidInputError(f"the array {name!r} must hold booleans, integers or floats, got dtype {array.dtype}")
    return array


def _digest(data: "bytes | mmap.mmap" = b"") -> Any:
    return hashlib.blake2b(data, digest_size=16)
