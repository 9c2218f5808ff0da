"""Approximate neighbours by PyNNDescent; runs in its own environment, see ``pynndescent.txt``."""

import numpy as np
from pynndescent import NNDescent


def neighbors(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the neighbours of every row of ``X``, itself left out."""
    n_neighbors = int(arrays["n_neighbors"])
    index = NNDescent(arrays["X"], n_neighbors=n_neighbors + 1, random_state=0, n_jobs=1)
    return {"indices": index.neighbor_graph[0][:, 1:]}
