"""Splits by name: which rows a method sees, which of them are labelled, and which are scored.

A split's parameters come from ``[data.split]`` of experiment.toml. A parameter given as a list there is swept: each
value is a *condition* (a column of the paper's table). Draws differ by seed only.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset
from benchmarks.errors import BenchmarkError
from tagloom.core.folds import label_budget
from tagloom.core.labels import labeled_rows

Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """One draw.

    Parameters
    ----------
    fit_rows : int array
        Rows the method sees.
    labeled_rows : int array
        Those of ``fit_rows`` whose labels it sees.
    evaluate : dict of str to int array
        Named parts that are scored: "unlabeled" (seen without labels), "novel" (never seen).
    """

    fit_rows: Rows
    labeled_rows: Rows
    evaluate: dict[str, Rows]


SCHEMES: dict[str, Callable[..., Split]] = {}


def register_scheme(name: str) -> Callable[[Callable[..., Split]], Callable[..., Split]]:
    """Make a split scheme known under a name that experiment.toml can use."""

    def keep(scheme: Callable[..., Split]) -> Callable[..., Split]:
        SCHEMES[name] = scheme
        return scheme

    return keep


def draw_split(dataset: Dataset, scheme: str, parameters: dict[str, Any], seed: int) -> Split:
    """Draw one split of a dataset."""
    if scheme not in SCHEMES:
        raise BenchmarkError(f"no split scheme {scheme!r}; there are {sorted(SCHEMES)} (benchmarks/splits.py)")
    return SCHEMES[scheme](dataset, np.random.default_rng(seed), **parameters)


def conditions(parameters: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Expand list-valued parameters into (name, parameters), in the order of the file."""
    keys = [key for key, value in parameters.items() if isinstance(value, list)]
    expanded = []
    for values in itertools.product(*(parameters[key] for key in keys)):
        chosen = dict(zip(keys, values, strict=True))
        expanded.append((", ".join(_spell(*item) for item in chosen.items()) or "all", parameters | chosen))
    return expanded


def _spell(key: str, value: Any) -> str:
    if key == "labeled" and isinstance(value, float):
        return f"{100 * value:g} %"
    return f"{key} {value}"


@register_scheme("transductive")
def transductive(
    dataset: Dataset, generator: np.random.Generator, *, labeled: float | int, cover: bool = False
) -> Split:
    """See every row, label some at random, score the others."""
    rows = np.arange(len(dataset.Y))
    chosen = _choose(dataset.Y, rows, labeled, generator, cover)
    return Split(rows, chosen, {"unlabeled": np.setdiff1d(rows, chosen)})


@register_scheme("sampled")
def sampled(
    dataset: Dataset, generator: np.random.Generator, *, n_rows: int, labeled: float | int, cover: bool = False
) -> Split:
    """See ``n_rows`` random rows and nothing else, label some of them, score the others of them."""
    rows = np.sort(generator.permutation(len(dataset.Y))[:n_rows])
    chosen = _choose(dataset.Y, rows, labeled, generator, cover)
    return Split(rows, chosen, {"unlabeled": np.setdiff1d(rows, chosen)})


@register_scheme("train_test")
def train_test(
    dataset: Dataset,
    generator: np.random.Generator,
    *,
    n_train: int,
    labeled: float | int = 1.0,
    cover: bool = False,
) -> Split:
    """See ``n_train`` random rows, label some of them, score the rows never seen (and those seen without labels)."""
    rows = np.sort(generator.permutation(len(dataset.Y))[:n_train])
    chosen = _choose(dataset.Y, rows, labeled, generator, cover)
    parts = {"novel": np.setdiff1d(np.arange(len(dataset.Y)), rows), "unlabeled": np.setdiff1d(rows, chosen)}
    return Split(rows, chosen, {name: part for name, part in parts.items() if len(part)})


@register_scheme("covered")
def covered(dataset: Dataset, generator: np.random.Generator, *, n_train: int) -> Split:
    """See and label ``n_train`` random rows among which every tag occurs, score the others."""
    rows = np.arange(len(dataset.Y))
    chosen = np.sort(_choose(dataset.Y, rows, n_train, generator, cover=True))
    return Split(chosen, chosen, {"novel": np.setdiff1d(rows, chosen)})


@register_scheme("given")
def given(
    dataset: Dataset,
    generator: np.random.Generator,  # noqa: ARG001  every scheme has this signature
    *,
    see_test: bool = True,
) -> Split:
    """Use the dataset's own parts; ``see_test`` says whether the method sees the test rows without their labels."""
    if dataset.test_rows is None:
        raise BenchmarkError("this dataset has no test part of its own; use the scheme 'train_test'")
    train, test = np.flatnonzero(~dataset.test_rows), np.flatnonzero(dataset.test_rows)
    if see_test:
        return Split(np.arange(len(dataset.Y)), train, {"unlabeled": test})
    return Split(train, train, {"novel": test})


@register_scheme("per_class")
def per_class(
    dataset: Dataset,
    generator: np.random.Generator,
    *,
    labeled: int,
    unlabeled: int = 0,
    novel: int = 1_000_000,
) -> Split:
    """Take a number of rows of each class (the first tag a row has) for each role."""
    parts: dict[str, list[Rows]] = {"labeled": [], "unlabeled": [], "novel": []}
    classes = dataset.Y.argmax(axis=1)
    for label in np.unique(classes):
        rows = generator.permutation(np.flatnonzero(classes == label))
        ends = np.cumsum([labeled, unlabeled, novel])
        for part, piece in zip(parts.values(), np.split(rows, np.minimum(ends, len(rows)))[:3], strict=True):
            part.append(piece)
    joined = {name: np.sort(np.concatenate(part)) for name, part in parts.items()}
    fit_rows = np.sort(np.concatenate([joined["labeled"], joined["unlabeled"]]))
    scored = {name: joined[name] for name in ("unlabeled", "novel") if len(joined[name])}
    return Split(fit_rows, joined["labeled"], scored)


@register_scheme("balanced")
def balanced(dataset: Dataset, generator: np.random.Generator, *, per_class: int, labeled: float = 1.0) -> Split:
    """See ``per_class`` random rows of each class (the first tag a row has), label a share of them, score the rest.

    Every class gets the same number of labelled rows; what is left over when the share does not come out even goes to
    classes at random, one row each.
    """
    classes = dataset.Y.argmax(axis=1)
    seen = [generator.permutation(np.flatnonzero(classes == label))[:per_class] for label in np.unique(classes)]
    n_labeled = round(labeled * sum(map(len, seen)))
    each, left_over = divmod(n_labeled, len(seen))
    counts = np.full(len(seen), each)
    counts[generator.permutation(len(seen))[:left_over]] += 1
    if each == 0 or any(count > len(rows) for count, rows in zip(counts, seen, strict=True)):
        raise BenchmarkError(f"labeled = {labeled} does not give each of {len(seen)} classes 1 to {per_class} rows")
    fit_rows = np.sort(np.concatenate(seen))
    chosen = np.sort(np.concatenate([rows[:count] for rows, count in zip(seen, counts, strict=True)]))
    parts = {"novel": np.setdiff1d(np.arange(len(classes)), fit_rows), "unlabeled": np.setdiff1d(fit_rows, chosen)}
    return Split(fit_rows, chosen, {name: part for name, part in parts.items() if len(part)})


def _choose(Y: NDArray[np.int8], rows: Rows, labeled: float | int, generator: np.random.Generator, cover: bool) -> Rows:
    """Choose the labelled ones among rows; with ``cover`` every tag gets a positive, as far as the budget goes."""
    partial = label_budget(Y[rows], labeled, random_state=generator, cover_tags=cover)
    return rows[labeled_rows(partial)]
