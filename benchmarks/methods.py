"""Methods and metrics by name.

experiment.toml names a class as ``"module:Class"``, or by a name registered here. Any class with ``fit(X, Y)`` will
do, whose rows seen in training are scored by ``transduction_`` (or, without it, by ``decision_function``).
"""

import hashlib
import inspect
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import measure
from benchmarks.errors import BenchmarkError
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import labeled_rows

METHODS: dict[str, type] = {}
#: A parameter "groups" with this value becomes the feature groups of the dataset.
DATASET_GROUPS = "dataset"
#: Results of `shared` that are kept; the cells that share one follow each other.
N_KEPT = 8


@dataclass(frozen=True)
class Metric:
    """A function of (Y, scores), and whether more is better."""

    path: str
    higher_is_better: bool = True

    def __call__(self, Y: NDArray[np.int8], scores: NDArray[Any]) -> float:
        """Compute it."""
        return float(find(self.path)(Y, scores))


METRICS = {
    "map": Metric("tagloom.metrics:mean_average_precision"),
    "bep": Metric("tagloom.metrics:break_even_point"),
    "accuracy": Metric("tagloom.metrics:annotation_accuracy"),
    "complete_length": Metric("tagloom.metrics:complete_length", higher_is_better=False),
    "keyword_precision": Metric("tagloom.metrics:keyword_precision"),
    "keyword_recall": Metric("tagloom.metrics:keyword_recall"),
    "n_plus": Metric("tagloom.metrics:n_recalled_keywords"),
    "standardized_precision": Metric("benchmarks.papers.tkml.keywords:precision"),
    "standardized_recall": Metric("benchmarks.papers.tkml.keywords:recall"),
    "standardized_n_plus": Metric("benchmarks.papers.tkml.keywords:n_plus"),
    "macro_auc": Metric("tagloom.metrics:macro_auc"),
    "micro_auc": Metric("tagloom.metrics:micro_auc"),
    "precision_at_zero": Metric("benchmarks.methods:precision_at_zero"),
}


def precision_at_zero(Y: NDArray[np.int8], scores: NDArray[Any]) -> float:
    """Return the share of right entries among those scored above 0, the middle where labels are coded ±1."""
    from tagloom.metrics import precision

    return precision(Y, scores, 0.0)


def register_method(name: str) -> Callable[[type], type]:
    """Make a class known under a name that experiment.toml can use."""

    def keep(cls: type) -> type:
        METHODS[name] = cls
        return cls

    return keep


@register_method("tag_prior")
class TagPrior:
    """Scores every photo alike, so that average precision is the tag's share."""

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "TagPrior":
        """Set ``transduction_``."""
        self.transduction_ = np.zeros((X.shape[0], Y.shape[1]))
        return self


@register_method("labeled_only")
class LabeledOnly:
    """Any method, fitted on the labelled rows alone: what it would do without the others.

    Parameters
    ----------
    method : str
        ``"module:Class"``, or a registered name.
    **settings
        Its parameters.
    """

    def __init__(self, method: str, **settings: Any) -> None:
        self.model = _class_of(method)(**settings)

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "LabeledOnly":
        """Fit; there is no ``transduction_``, because the rows are others."""
        rows = labeled_rows(Y)
        self.model.fit(X[rows], Y[rows])
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Score photos."""
        return np.asarray(self.model.decision_function(X))


@register_method("sfss")
class SFSSOfAnySparsity:
    """SFSS with the solver that is fast for the given sparsity: for one grid from dense to empty.

    Where γ is a small share of γ_max hardly a feature is dropped: reweighting (the paper's Algorithm 1) takes a few
    steps there. Above it is exact zeros that count.

    Parameters
    ----------
    regression_weight, sparsity : float
        μ and γ.
    n_neighbors : int
        k of the graph.
    dense_below : float
        Share of γ_max below which features are reweighted.
    ranking : {"propagated", "regression", "auto"}
        What the scores of training photos are.
    """

    def __init__(
        self,
        regression_weight: float,
        sparsity: float,
        n_neighbors: int = 15,
        dense_below: float = 0.05,
        ranking: Any = "propagated",
    ) -> None:
        self.regression_weight, self.sparsity = regression_weight, sparsity
        self.n_neighbors, self.dense_below, self.ranking = n_neighbors, dense_below, ranking

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "SFSSOfAnySparsity":
        """Fit on one thread."""
        from tagloom.graph import knn_graph
        from tagloom.methods.sfss import SFSS

        graph = knn_graph(X, self.n_neighbors, n_threads=1)
        model = SFSS(
            regression_weight=self.regression_weight,
            sparsity=self.sparsity,
            graph=graph,
            ranking=self.ranking,
            tol=1e-2,
            n_threads=1,
        )
        if self.sparsity < self.dense_below * model.largest_sparsity(X, Y):
            model.set_params(solver="irls", tol=1e-3)
        self.model_ = model.fit(X, Y)
        self.transduction_ = model.transduction_
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Score photos never seen."""
        return np.asarray(self.model_.decision_function(X))


@register_method("select_then_least_squares")
class SelectThenLeastSquares:
    """Regularised least squares on the features that a selector keeps; they are selected once for all penalties.

    Parameters
    ----------
    selector : str
        ``"module:Class"`` with ``fit`` and ``selected_features_``.
    regularization : float or "loo"
        Of the least squares.
    **settings
        Parameters of the selector.
    """

    def __init__(self, selector: str, regularization: Any, **settings: Any) -> None:
        self.selector, self.regularization, self.settings = selector, regularization, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "SelectThenLeastSquares":
        """Select, then learn."""
        from tagloom.methods import RegularizedLeastSquares

        rows = labeled_rows(Y)
        X, Y = X[rows], Y[rows]
        self.selected_features_, self.saved_cpu_ = shared(
            f"{self.selector} {sorted(self.settings.items())}",
            (X, Y),
            lambda: find(self.selector)(**self.settings).fit(X, Y).selected_features_,
        )
        self.shares_ = np.mean(Y == 1, axis=0)
        if len(self.selected_features_):
            self.model_ = RegularizedLeastSquares(self.regularization).fit(X[:, self.selected_features_], Y)
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Score photos; all alike where no feature was kept."""
        if not len(self.selected_features_):
            return np.tile(self.shares_, (len(X), 1))
        return np.asarray(self.model_.decision_function(X[:, self.selected_features_]))


@register_method("point_of_path")
class PointOfPath:
    """One point of a method's ``sparsity_path(X, Y, sparsities)``, which is computed once for all of its points.

    Parameters
    ----------
    method : str
        ``"module:Class"``.
    sparsities : list of float
        The path, from large to small.
    sparsity : float
        The point, one of them.
    **settings
        Further parameters of the method.
    """

    def __init__(self, method: str, sparsities: list[float], sparsity: float, **settings: Any) -> None:
        self.method, self.sparsities, self.sparsity, self.settings = method, sparsities, sparsity, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "PointOfPath":
        """Take the point's coefficients."""
        rows = labeled_rows(Y)
        X, Y = X[rows], Y[rows]
        name = f"{self.method} {self.sparsities} {sorted((key, str(item)) for key, item in self.settings.items())}"
        (sparsities, coefs, intercepts), self.saved_cpu_ = shared(
            name, (X, Y), lambda: find(self.method)(**self.settings).sparsity_path(X, Y, self.sparsities)
        )
        (index,) = np.flatnonzero(np.isclose(sparsities, self.sparsity, rtol=1e-9))
        self.coef_, self.intercept_ = coefs[index], intercepts[index]
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Score photos."""
        return np.asarray(X @ self.coef_ + self.intercept_)


_kept: OrderedDict[str, tuple[Any, float]] = OrderedDict()


def shared(name: str, arrays: tuple[NDArray[Any], ...], compute: Callable[[], Any]) -> tuple[Any, float]:
    """Return a result that several cells need, and the CPU seconds that were saved because it was there."""
    mark = hashlib.sha256(name.encode())
    for array in arrays:
        mark.update(f"{array.shape} {array.dtype}".encode())
        mark.update(np.ascontiguousarray(array).data)
    key = mark.hexdigest()
    if key in _kept:
        return _kept[key]
    with measure() as elapsed:
        value = compute()
    _kept[key] = value, elapsed.cpu
    while len(_kept) > N_KEPT:
        _kept.popitem(last=False)
    return value, 0.0


def find(path: str) -> Any:
    """Return the object that ``"module:name"`` names."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BenchmarkError(f"cannot import {path!r}: {error}") from error


def _class_of(name: str) -> Any:
    return METHODS[name] if name in METHODS else find(name)


def make_method(name: str, parameters: dict[str, Any], seed: int, groups: FeatureGroups | None = None) -> Any:
    """Construct a method; ``random_state`` is set where the constructor has one, ``groups = "dataset"`` to groups."""
    if parameters.get("groups") == DATASET_GROUPS:
        parameters = parameters | {"groups": groups}
    cls = _class_of(name)
    if "random_state" in inspect.signature(cls).parameters:
        parameters = {"random_state": seed} | parameters
    return cls(**parameters)


def metric_of(name: str) -> Metric:
    """Return a metric by name."""
    if name not in METRICS:
        raise BenchmarkError(f"no metric {name!r}; there are {sorted(METRICS)} (benchmarks/methods.py)")
    return METRICS[name]
