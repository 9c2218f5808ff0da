"""Large arrays in files that go with them, so that a collection of any size takes no memory of its own."""

import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["in_scratch", "scratch"]

#: An array above this size is a memory map.
IN_MEMORY_BYTES = 16 << 20


def scratch(shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """Return an empty array; a large one is a memory map of a file that goes with it."""
    if np.prod(shape, dtype=float) * np.dtype(dtype).itemsize <= IN_MEMORY_BYTES:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, dtype=dtype, mode="w+", shape=shape)


def in_scratch(array: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array; a large one is a memory map of a file that goes with it."""
    found = scratch(array.shape, array.dtype)
    found[...] = array
    return found
