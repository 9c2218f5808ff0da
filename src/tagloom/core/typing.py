"""Names for the arrays that travel between functions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Bools", "Floats", "Ids", "Indices", "Ints", "Reals", "Singles"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Reals = NDArray[np.floating[Any]]  # single or double precision
Indices = NDArray[np.intp]  # of rows or columns
Ints = NDArray[np.int64]
Ids = NDArray[np.int64]  # of photos, tags or decisions in a project
Bools = NDArray[np.bool_]
