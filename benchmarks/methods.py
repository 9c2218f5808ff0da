"""Methods and metrics by name.

experiment.toml names a class as ``"module:Class"``, or by a name registered here. Any class with ``fit(X, Y)`` will
do, whose rows seen in training are scored by ``transduction_`` (or, without it, by ``decision_function``).
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchmarkError

METHODS: dict[str, type] = {}


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
    "macro_auc": Metric("tagloom.metrics:macro_auc"),
    "micro_auc": Metric("tagloom.metrics:micro_auc"),
}


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


def find(path: str) -> Any:
    """Return the object that ``"module:name"`` names."""
    module, _, name = path.partition(":")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BenchmarkError(f"cannot import {path!r}: {error}") from error


def make_method(name: str, parameters: dict[str, Any], seed: int) -> Any:
    """Construct a method; ``random_state`` is set where the constructor has one."""
    cls = METHODS[name] if name in METHODS else find(name)
    if "random_state" in inspect.signature(cls).parameters:
        parameters = {"random_state": seed} | parameters
    return cls(**parameters)


def metric_of(name: str) -> Metric:
    """Return a metric by name."""
    if name not in METRICS:
        raise BenchmarkError(f"no metric {name!r}; there are {sorted(METRICS)} (benchmarks/methods.py)")
    return METRICS[name]
