"""Methods of the tables on kernels of all pairs, which all of them share."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods import find
from benchmarks.papers.tkml.pairs import Floats, Pairs, pairs_of
from tagloom.core.folds import label_budget
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, labeled_rows

#: The kernels of each descriptor in the paper's MKL, and the widths of "rbf".
MANY_KERNELS = ("linear", "intersection", "chi2")
WIDTHS = (0.25, 1.0, 4.0)


@lru_cache(maxsize=3)
def _kernel(pairs: Pairs, name: str) -> Floats:
    return pairs.kernel(name)


@lru_cache(maxsize=3)
def _graph(pairs: Pairs, similarity: str, n_neighbors: int) -> Any:
    return pairs.graph(similarity, n_neighbors)


class OnKernel:
    """A kernel method on one of the kernels of the dataset, with the dataset's graph where it takes one.

    Parameters
    ----------
    method : str
        ``"module:Class"``, with ``kernel="precomputed"``.
    kernel : {"linear", "rbf", "intersection", "chi2"}
        Which kernel.
    graph : bool
        Whether the method is given the graph.
    n_labeled : int, optional
        Learn from so many labelled photos at most, drawn so that every tag occurs: for methods that are dear.
    random_state : int
        Draws them.
    **settings
        Further parameters of the method.
    """

    def __init__(
        self,
        method: str,
        kernel: str,
        *,
        graph: bool = False,
        n_labeled: int | None = None,
        random_state: int = 0,
        **settings: Any,
    ) -> None:
        self.method, self.kernel, self.graph = method, kernel, graph
        self.n_labeled, self.random_state, self.settings = n_labeled, random_state, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "OnKernel":
        """Fit, and score all rows."""
        pairs = pairs_of(X)
        rows = learned_rows(Y, self.n_labeled, self.random_state)
        K = _kernel(pairs, self.kernel)
        settings = self.settings
        if self.graph:
            weights = _graph(pairs, *pairs.neighborhood).weights
            settings = settings | {"graph": weights[rows][:, rows]}
        model = find(self.method)(kernel="precomputed", **settings)
        if len(rows) == len(X):
            self.transduction_ = model.fit(K, Y).transduction_
        else:
            model.fit(K[np.ix_(rows, rows)], Y[rows])
            self.transduction_ = model.decision_function(K[:, rows])
        return self


class ManyKernels:
    """Multiple kernel learning over six kernels of each descriptor.

    Parameters
    ----------
    n_labeled, random_state
        As for `OnKernel`; without the unlabelled photos, which this method cannot use.
    **settings
        Of `tagloom.methods.baselines.mkl.MultipleKernelSVM`.
    """

    def __init__(self, n_labeled: int | None = None, random_state: int = 0, **settings: Any) -> None:
        self.n_labeled, self.random_state, self.settings = n_labeled, random_state, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "ManyKernels":
        """Fit, and score all rows."""
        from tagloom.methods.baselines.mkl import MultipleKernelSVM

        pairs = pairs_of(X)
        rows = learned_rows(Y, self.n_labeled, self.random_state)
        rows = rows[labeled_rows(Y[rows])]
        blocks = {
            f"{descriptor} {name} {width:g}": np.asarray(
                pairs.kernel(name, width=width, descriptor=descriptor)[:, rows], dtype=np.float32
            )
            for descriptor in pairs.descriptors
            for name, widths in (*((name, (1.0,)) for name in MANY_KERNELS), ("rbf", WIDTHS))
            for width in widths
        }
        groups = FeatureGroups.from_mapping(dict.fromkeys(blocks, len(rows)))
        kernels = groups.join(blocks)
        model = MultipleKernelSVM(groups, kernels="precomputed", **self.settings).fit(kernels[rows], Y[rows])
        self.transduction_ = model.decision_function(kernels)
        self.kernel_weights_ = dict(zip(groups, model.kernel_weights_.mean(axis=1).tolist(), strict=True))
        return self


class KernelMap:
    """TKML with the dataset's own graph on scaled coordinates.

    Parameters
    ----------
    scale : float
        Length of the coordinates of a photo in the mean: features and labels share one fidelity.
    similarity, n_neighbors : str and int, optional
        Of the graph; default: those of the dataset.
    random_state : int
        Of Φ⁰.
    **settings
        Further parameters of `tagloom.TKML`.
    """

    def __init__(
        self,
        scale: float = 1.0,
        similarity: str | None = None,
        n_neighbors: int | None = None,
        random_state: int = 0,
        **settings: Any,
    ) -> None:
        self.scale, self.similarity, self.n_neighbors = scale, similarity, n_neighbors
        self.random_state, self.settings = random_state, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "KernelMap":
        """Fit; ``transduction_`` has the scores of all rows."""
        from tagloom.methods.tkml import TKML

        pairs = pairs_of(X)
        similarity, n_neighbors = pairs.neighborhood
        graph = _graph(pairs, self.similarity or similarity, self.n_neighbors or n_neighbors)
        coordinates = X * (self.scale / np.linalg.norm(X, axis=1).mean())
        self.model_ = TKML(graph=graph, random_state=self.random_state, **self.settings).fit(coordinates, Y)
        self.transduction_ = self.model_.transduction_
        return self


def learned_rows(Y: NDArray[np.int8], n_labeled: int | None, seed: int) -> NDArray[np.intp]:
    """Return the rows a thinned method sees: all without labels, and so many with them, every tag among them."""
    labeled = np.flatnonzero(labeled_rows(Y))
    if n_labeled is None or len(labeled) <= n_labeled:
        return np.arange(len(Y))
    chosen = labeled_rows(label_budget(Y[labeled], n_labeled, random_state=seed, cover_tags=True))
    rest = np.flatnonzero((Y == UNKNOWN).all(axis=1))
    return np.sort(np.concatenate([labeled[chosen], rest]))
