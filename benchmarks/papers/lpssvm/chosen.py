"""The methods of the paper on feature vectors, with parameters chosen inside the labelled part.

Two choices are compared: "paper" has C, γ and θ as the paper fixes them and chooses only what it says it chose (γ_A and
γ_I of LapSVM and LapRLS, the neighbours of the graph); "honest" chooses everything. Kernels, graphs and principal
coordinates are computed once for all methods, candidates and folds of a draw.
"""

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods import shared
from tagloom.core.folds import LabeledKFold
from tagloom.kernels.landmarks import KernelFeatures
from tagloom.kernels.matrix import Kernel, make_kernel
from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.baselines.lpp import LPP, LPPSVM
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.methods.lpssvm import LPSSVM
from tagloom.methods.shared.kernel_task import kernel_graph
from tagloom.metrics import annotation_accuracy

Floats = NDArray[np.float64]

MANIFOLD: dict[str, Any] = {"lapsvm": LapSVM, "laprls": LapRLS}
#: Shares of energy as far as a candidate does not name others.
ENERGY = {"energy": 0.98, "subspace_energy": 0.9}


class Chosen:
    """One of the methods, at the candidate with the best accuracy over folds of the labelled rows.

    Parameters
    ----------
    method : {"svm", "lapsvm", "laprls", "lpp_svm", "lpssvm"}
        Which.
    grids : dict
        By choice, values of parameters; "theta" is θ·d of the RBF kernel.
    choice : str
        Which grid. Of candidates that are level the first is taken: the first values should be the paper's.
    n_splits : int
        Folds. They depend on the labelled rows alone, so that all methods have the same ones.
    **settings
        Parameters that stay.
    """

    def __init__(
        self, method: str, grids: dict[str, dict[str, list[Any]]], choice: str, n_splits: int = 3, **settings: Any
    ) -> None:
        self.method, self.grids, self.choice, self.n_splits, self.settings = method, grids, choice, n_splits, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "Chosen":
        """Choose, then fit with the kernel as it is."""
        points = self.points()
        best = 0
        if len(points) > 1:
            parts, _ = shared(f"ingredients {self.n_splits}", (X, Y), lambda: Ingredients(X, Y, self.n_splits))
            best = int(np.argmax([parts.rate(self.method, point) for point in points]))
        self.point_ = points[best]
        self._is_binary = is_binary(Y)
        self.model_ = make(self.method, self.point_, X.shape[1]).fit(X, Y[:, :1] if self._is_binary else Y)
        self.transduction_ = self._answered(self.model_.transduction_)
        return self

    def points(self) -> list[dict[str, Any]]:
        """Return the candidates."""
        grid = self.grids[self.choice]
        return [self.settings | dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]

    def decision_function(self, X: NDArray[Any]) -> Floats:
        """Score new points."""
        return self._answered(self.model_.decision_function(X))

    def _answered(self, scores: Floats) -> Floats:
        return np.hstack([scores, -scores]) if self._is_binary else scores


def is_binary(Y: NDArray[np.int8]) -> bool:
    """Say whether there are two tags of which every row has one: one question, whose scores are the other's negated."""
    return Y.shape[1] == 2 and bool((Y.sum(axis=1)[(Y >= 0).all(axis=1)] == 1).all())


def make(method: str, point: dict[str, Any], n_columns: int) -> Any:
    """Return the method on the RBF kernel at a candidate."""
    options = dict(point)
    gamma = options.pop("theta", 1.0) / n_columns
    if method == "lpp_svm":
        cost = {"C": options.pop("C", 1.0)}
        return LPPSVM(LPP(gamma=gamma, **ENERGY | options), **cost)
    if method == "lpssvm":
        return LPSSVM(gamma=gamma, **ENERGY | options)
    return (KernelSVM if method == "svm" else MANIFOLD[method])(gamma=gamma, **options)


class Ingredients:
    """Kernels, coordinates and graphs of some rows, and the rate of each candidate over folds, each computed once.

    Parameters
    ----------
    X : array of shape (n, d)
        The rows.
    Y : label matrix of shape (n, c)
        Their labels.
    n_splits : int
        Folds of the labelled rows.
    """

    def __init__(self, X: NDArray[Any], Y: NDArray[np.int8], n_splits: int = 3) -> None:
        self.X, self.Y = X, Y
        self._folds = list(LabeledKFold(n_splits, random_state=0).split_labels(Y))
        self._kept: dict[Any, Any] = {}

    def rate(self, method: str, point: dict[str, Any]) -> float:
        """Return the accuracy of a candidate on held-out rows, the mean over folds."""
        if method == "lpp_svm":
            method, point = "lpssvm", {"svm_weight": 0.0} | point
        if point.get("svm_weight") == 0.0:
            point = {name: value for name, value in point.items() if name != "coupling"}
        return float(self._keep(("rate", method, *sorted(point.items())), lambda: self._rate(method, point)))

    def _rate(self, method: str, point: dict[str, Any]) -> float:
        """Fit all folds at once: the labels that a fold leaves are tags like any other, unknown where it hides them."""
        width = 1 if is_binary(self.Y) else self.Y.shape[1]
        stacked = np.hstack([Y_train[:, :width] for Y_train, _ in self._folds])
        scores = np.split(self.fit(method, point, stacked).transduction_, len(self._folds), axis=1)
        rates = [
            annotation_accuracy(self.Y[rows], np.hstack([part, -part])[rows] if width < self.Y.shape[1] else part[rows])
            for part, (_, rows) in zip(scores, self._folds, strict=True)
        ]
        # Sums of the same rates in another order must not decide.
        return round(float(np.mean(rates)), 12)

    def fit(self, method: str, point: dict[str, Any], Y: NDArray[np.int8]) -> Any:
        """Fit a method as `make` has it, with the parts that are there.

        LPP and LPSSVM get the principal coordinates as columns of a linear kernel: the same problem, but that the first
        SVM of LPSSVM sees 98 % of the kernel. It only serves to choose.
        """
        options = dict(point)
        kernel = self._kernel(options.pop("theta", 1.0))
        if method == "svm":
            return KernelSVM("precomputed", **options).fit(self._gram(kernel), Y)
        n_neighbors = options.pop("n_neighbors", 15)
        if method in MANIFOLD:
            graph = self._graph(kernel, n_neighbors, None)
            return MANIFOLD[method]("precomputed", graph=graph, **options).fit(self._gram(kernel), Y)
        options = ENERGY | options
        energy = options.pop("energy")
        T = self._coordinates(kernel, energy)
        linear = {"kernel": "linear", "energy": 1.0, "graph": self._graph(kernel, n_neighbors, energy)}
        if method == "lpssvm":
            return LPSSVM(**linear | options).fit(T, Y)
        cost = {"C": options.pop("C", 1.0)}
        return LPPSVM(LPP(**linear | options), **cost).fit(T, Y)

    def _kernel(self, theta: float) -> Kernel:
        return make_kernel("rbf", self.X, gamma=theta / self.X.shape[1])

    def _gram(self, kernel: Kernel) -> Floats:
        return self._keep(("gram", kernel.gamma), lambda: kernel.gram(self.X))

    def _coordinates(self, kernel: Kernel, energy: float) -> Floats:
        return self._keep(
            ("coordinates", kernel.gamma, energy),
            lambda: KernelFeatures(kernel, self.X, energy=energy).transform(self.X),
        )

    def _graph(self, kernel: Kernel, n_neighbors: int, energy: float | None) -> Any:
        """Return the graph: weighted by the kernel in the coordinates of an energy, or binary without one."""
        options: dict[str, Any] = {"weights": "binary", "gram": self._gram(kernel)}
        if energy is not None:
            options = {"weights": "kernel", "features": self._coordinates(kernel, energy)}
        return self._keep(
            ("graph", kernel.gamma, n_neighbors, energy),
            lambda: kernel_graph(None, kernel, self.X, n_neighbors=n_neighbors, **options),
        )

    def _keep(self, key: Any, compute: Any) -> Any:
        if key not in self._kept:
            self._kept[key] = compute()
        return self._kept[key]
