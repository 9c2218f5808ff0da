"""Approximate neighbours by PyNNDescent; runs in its own environment, see ``pynndescent.txt``."""

import numpy as np
from pynndescent import NNDescent


def neighbors(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the ``n_neighbors`` nearest of the ``n_built`` found for every row of ``X``, itself counted."""
    n_built, threads = int(arrays["n_built"]), int(arrays["threads"])
    index = NNDescent(arrays["X"], n_neighbors=n_built, random_state=0, n_jobs=threads)
    return {"indices": index.neighbor_graph[0][:, : int(arrays["n_neighbors"])]}
