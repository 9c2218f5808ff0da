"""LapSVM of LAMDA-SSL, one tag after another; runs in its own environment, see ``lamda-ssl.txt``."""

import numpy as np
from LAMDA_SSL.Algorithm.Classification.LapSVM import LapSVM


def lapsvm(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return coefficients and intercepts for rows ``X`` and ``signs`` of the first rows, one column for each tag.

    The weights ``W`` of the graph are handed to it as its distance function: of a graph that it builds itself it takes
    one degree for all photos, and the rows of its Laplacian do not sum to zero.
    """
    X, W, signs = (arrays[name] for name in ("X", "W", "signs"))
    labelled = len(signs)
    found = [
        LapSVM(
            distance_function=lambda _rows, _others: W,
            kernel_function="rbf",
            gamma_k=float(arrays["gamma"]),
            gamma_A=float(arrays["ambient_weight"]),
            gamma_I=float(arrays["graph_weight"]),
        ).fit(X[:labelled], y, X[labelled:])
        for y in signs.T
    ]
    return {"alpha": np.array([model.alpha for model in found]).T, "b": np.array([model.bound for model in found])}
