"""How time grows with the number of photos.

Building the neighbour graph and training ten tags, with 64 features and one thread. The graph is exact here, so its
time grows with the square of the number; above some 20,000 photos tagloom switches to an approximate search.
"""

import time

import numpy as np
from matplotlib.figure import Figure

from tagloom import RegularizedLeastSquares
from tagloom.graph import knn_graph
from tagloom.plotting import plot_curves

rng = np.random.default_rng(0)
numbers = [1000, 2000, 4000, 8000, 16000]
seconds = {"neighbour graph": [], "training": []}
for n in numbers:
    X = rng.normal(size=(n, 64)).astype(np.float32)
    Y = np.full((n, 10), -1, dtype=np.int8)
    Y[:200] = rng.random((200, 10)) < 0.3
    start = time.perf_counter()
    graph = knn_graph(X, 15, n_threads=1)
    seconds["neighbour graph"].append(time.perf_counter() - start)
    start = time.perf_counter()
    RegularizedLeastSquares(smoothing=0.5, graph=graph).fit(X, Y)
    seconds["training"].append(time.perf_counter() - start)
series = {name: (np.array(values), None) for name, values in seconds.items()}
figure = Figure(figsize=(7, 4), layout="constrained")
plot_curves(numbers, series, x_name="photos", y_name="seconds", log_x=True, ax=figure.subplots())
figure.savefig("scale.svg")
