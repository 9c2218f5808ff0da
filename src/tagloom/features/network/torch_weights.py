"""Reading a PyTorch state dict without PyTorch, and without running anything the file says.

A ``.pth`` file is a pickle, and a pickle can name any function to call. The reader here resolves three kinds of names
only (an ordered dictionary, "rebuild this tensor", and numeric storages); every other name is an error before
anything is called.
"""

import io
import math
import os
import pickle
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import ModelError

__all__ = ["read_state_dict"]

_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001
_MAX_FILE_BYTES = 2**31
_STORAGE_TYPES = {"FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "LongStorage": "<i8"}


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    dtype: str
    n_items: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RestrictedUnpickler(pickle.Unpickler):
    """Rebuild a state dict of `_Tensor` descriptions; every other name in the file is refused."""

    def __init__(self, handle: IO[bytes]) -> None:
        super().__init__(handle)

        # Made per file, so that nothing a file does to them outlives its reading.
        def rebuild_tensor(storage: _Storage, offset: int, shape: Any, strides: Any, *_: Any) -> _Tensor:
            return _Tensor(storage, offset, tuple(shape), tuple(strides))

        self._rebuild_tensor: Callable[..., _Tensor] = rebuild_tensor

    def find_class(self, module: str, name: str) -> Any:
        """Resolve the few names that a state dict needs."""
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return self._rebuild_tensor
        if module == "torch" and name in _STORAGE_TYPES:
            return name
        raise ModelError(
            f"the weights file asks for {module}.{name}, which a plain state dict does not need; "
            f"it is not opened. Use a file that holds tensors only"
        )

    def persistent_load(self, pid: Any) -> _Storage:
        """Describe one storage; its bytes follow after the pickles."""
        kind, type_name, key, _location, n_items, view = pid
        if kind != "storage" or type_name not in _STORAGE_TYPES or view is not None:
            raise ModelError(f"the weights file has a storage of an unknown kind: {pid!r}")
        return _Storage(str(key), _STORAGE_TYPES[type_name], int(n_items))


def read_state_dict(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Read the tensors of a ``.pth`` file in PyTorch's stream layout (the default before 1.6).

    Parameters
    ----------
    path : path
        The weights file.

    Returns
    -------
    dict of str to ndarray
        The tensors by name, each a copy in the machine's byte order.

    Raises
    ------
    ModelError
        If the file is missing, damaged, in another layout, or holds anything but tensors.
    """
    path = Path(path)
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ModelError(f"{path.name!r} has {path.stat().st_size} bytes; at most {_MAX_FILE_BYTES} are read")
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read the weights file {path.name!r}: {error.strerror or error}") from error
    if data[:4] == b"PK\x03\x04":
        raise ModelError(
            f"{path.name!r} is in PyTorch's zip layout, expected the older stream layout; save it again with "
            f"torch.save(..., _use_new_zipfile_serialization=False)"
        )
    try:
        return _read_stream(io.BytesIO(data))
    except ModelError as error:
        raise ModelError(f"{path.name!r}: {error}") from error
    except Exception as error:  # a damaged pickle raises nearly anything
        raise ModelError(
            f"{path.name!r} is not a readable PyTorch weights file ({type(error).__name__}: {error}); "
            f"it may be damaged: install its package again"
        ) from error


def _read_stream(handle: IO[bytes]) -> dict[str, NDArray[Any]]:
    magic = _RestrictedUnpickler(handle).load()
    version = _RestrictedUnpickler(handle).load()
    if magic != _MAGIC_NUMBER or version != _PROTOCOL_VERSION:
        raise ModelError(f"expected a PyTorch weights file of protocol {_PROTOCOL_VERSION}, got {version!r}")
    system = _RestrictedUnpickler(handle).load()
    if not system.get("little_endian", True):
        raise ModelError("the weights file is big-endian; only little-endian files are read")
    tensors = _RestrictedUnpickler(handle).load()
    if not isinstance(tensors, dict) or not all(isinstance(tensor, _Tensor) for tensor in tensors.values()):
        raise ModelError("expected a dictionary of tensors (a state dict) and nothing else")
    keys = _RestrictedUnpickler(handle).load()
    dtypes = {tensor.storage.key: np.dtype(tensor.storage.dtype) for tensor in tensors.values()}
    storages = {key: _read_storage(handle, dtypes[key]) for key in keys}
    return {str(name): _materialize(str(name), tensor, storages) for name, tensor in tensors.items()}


def _read_storage(handle: IO[bytes], dtype: np.dtype[Any]) -> NDArray[Any]:
    n_items = int.from_bytes(handle.read(8), "little")
    data = handle.read(n_items * dtype.itemsize)
    if len(data) != n_items * dtype.itemsize:
        raise ModelError("the file ends before its last tensor; it is damaged: install its package again")
    return np.frombuffer(data, dtype=dtype)


def _materialize(name: str, tensor: _Tensor, storages: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Cut one tensor out of its storage, after checking that it lies inside."""
    storage = storages[tensor.storage.key]
    shape, strides = tensor.shape, tensor.strides
    numbers = (tensor.offset, *shape, *strides)
    if len(shape) != len(strides) or not all(type(value) is int and value >= 0 for value in numbers):
        raise ModelError(f"tensor {name!r} has impossible sizes {shape} or strides {strides}")
    last = tensor.offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if math.prod(shape) > storage.size or (math.prod(shape) > 0 and last >= storage.size):
        raise ModelError(f"tensor {name!r} of shape {shape} does not lie inside its {storage.size} numbers")
    view = np.lib.stride_tricks.as_strided(
        storage[tensor.offset :], shape, [stride * storage.itemsize for stride in strides], writeable=False
    )
    return np.array(view, dtype=view.dtype.newbyteorder("="), order="C")
