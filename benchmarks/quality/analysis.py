"""From cells to what the page says: regret, gains, calibration, accepted tags, positive-only labels, labels saved."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.methods import COMPETITORS, DEEP_ALONE
from benchmarks.quality.sets import SEED
from benchmarks.results import CellResult

Floats = NDArray[np.float64]
PARTS = ("unlabeled", "new")
N_RESAMPLES = 2000


@dataclass(frozen=True)
class Interval:
    """A figure with its 95 % bootstrap interval, and of how many draws it is."""

    value: float
    low: float
    high: float
    n: int


def bootstrap(*samples: Sequence[float]) -> Interval:
    """Return the mean of the means of some samples, each of one value per draw and resampled by itself."""
    generator = np.random.default_rng(SEED)
    resampled = np.zeros(N_RESAMPLES)
    for sample in samples:
        picks = generator.integers(len(sample), size=(N_RESAMPLES, len(sample)))
        resampled += np.asarray(sample)[picks].mean(axis=1) / len(samples)
    low, high = np.quantile(resampled, [0.025, 0.975])
    value = float(np.mean([np.mean(sample) for sample in samples]))
    return Interval(value, float(low), float(high), min(len(sample) for sample in samples))


def bootstrap_ratio(parts: Sequence[float], wholes: Sequence[float]) -> Interval:
    """Return the sum of the parts over that of the wholes, one of each per draw; draws are resampled together."""
    generator = np.random.default_rng(SEED)
    picks = generator.integers(len(wholes), size=(N_RESAMPLES, len(wholes)))
    above, below = np.asarray(parts)[picks].sum(axis=1), np.asarray(wholes)[picks].sum(axis=1)
    # Where only draws without anything were picked there is no ratio.
    low, high = np.quantile(above[below > 0] / below[below > 0], [0.025, 0.975])
    return Interval(float(sum(parts) / sum(wholes)), float(low), float(high), len(wholes))


class Table:
    """Cells of the annotators by set, condition and method.

    Parameters
    ----------
    cells : iterable of CellResult
        Finished ones.
    """

    def __init__(self, cells: Iterable[CellResult]) -> None:
        self._cells: dict[tuple[str, str, str], dict[int, CellResult]] = {}
        for cell in cells:
            self._cells.setdefault((cell.data, cell.condition, cell.method), {})[cell.draw] = cell

    @property
    def places(self) -> list[tuple[str, str]]:
        """Sets and conditions that have a cell, in the order they came."""
        return list(dict.fromkeys((data, condition) for data, condition, _ in self._cells))

    def values(self, data: str, condition: str, method: str, figure: str) -> dict[int, float]:
        """Return a figure by draw; draws without it are left out."""
        cells = self._cells.get((data, condition, method), {})
        return {draw: cells[draw].test[figure] for draw in sorted(cells) if figure in cells[draw].test}

    def cells_of(self, data: str, condition: str, method: str) -> list[CellResult]:
        """Return the cells of a method at one place, by draw."""
        cells = self._cells.get((data, condition, method), {})
        return [cells[draw] for draw in sorted(cells)]

    def seconds(self, data: str, condition: str, method: str) -> float | None:
        """Return the median CPU seconds of a cell."""
        cells = self._cells.get((data, condition, method), {})
        return float(np.median([cell.cpu_fit + cell.cpu_inside for cell in cells.values()])) if cells else None


@dataclass(frozen=True)
class Shortfall:
    """How far a method falls short of the best other one at one place.

    Parameters
    ----------
    data, condition, part : str
        The place.
    by_draw : tuple of float
        In each draw, of the best other one in that draw: (best - own) / best.
    of_best : tuple of float
        In each draw, of the other one that is best on average over the draws.
    best : str
        That one.
    """

    data: str
    condition: str
    part: str
    by_draw: tuple[float, ...]
    of_best: tuple[float, ...]
    best: str

    @property
    def mean(self) -> float:
        """Of the draws."""
        return float(np.mean(self.by_draw))


def shortfalls(table: Table, method: str, others: Sequence[str] = tuple(COMPETITORS)) -> list[Shortfall]:
    """Return the shortfall of a method at every place where it and all the others have been run in some draw."""
    found = []
    for data, condition in table.places:
        for part in PARTS:
            own = table.values(data, condition, method, f"{part}/map")
            rivals = {name: table.values(data, condition, name, f"{part}/map") for name in others}
            draws = sorted(set(own).intersection(*rivals.values()))
            if not draws:
                continue
            best = max(others, key=lambda name: float(np.mean([rivals[name][draw] for draw in draws])))
            tops = [max(rivals[name][draw] for name in others) for draw in draws]
            by_draw = tuple((top - own[draw]) / top for top, draw in zip(tops, draws, strict=True))
            of_best = tuple((rivals[best][draw] - own[draw]) / rivals[best][draw] for draw in draws)
            found.append(Shortfall(data, condition, part, by_draw, of_best, best))
    return found


@dataclass(frozen=True)
class Regret:
    """Mean over places, and the worst place."""

    mean: Interval
    worst: Interval
    worst_place: Shortfall


def regret(found: Sequence[Shortfall]) -> Regret | None:
    """Return mean and worst shortfall with intervals: draws are resampled within each place."""
    if not found:
        return None
    worst = max(found, key=lambda item: item.mean)
    return Regret(bootstrap(*(item.by_draw for item in found)), bootstrap(worst.by_draw), worst)


def gains_over_deep(table: Table, method: str) -> list[tuple[Shortfall, Interval]]:
    """Return gains over the best supervised learner on the embedding alone, in each draw the best one of that draw."""
    found = shortfalls(table, method, tuple(DEEP_ALONE))
    return [(item, bootstrap([-value for value in item.by_draw])) for item in found]


def figure_of(table: Table, data: str, condition: str, method: str, figure: str) -> Interval | None:
    """Return the mean of a figure over draws."""
    values = list(table.values(data, condition, method, figure).values())
    return bootstrap(values) if values else None


@dataclass(frozen=True)
class Accepted:
    """What is accepted at the wanted precision, all draws together, counts per draw."""

    count: float
    oracle: float
    precision: Interval | None
    share: float | None


def accepted(table: Table, data: str, condition: str, method: str) -> Accepted | None:
    """Return what is accepted at one place."""
    counts, right, oracle = (
        list(table.values(data, condition, method, f"accepted/{name}").values())
        for name in ("count", "right", "oracle")
    )
    if not counts:
        return None
    return Accepted(
        float(np.mean(counts)),
        float(np.mean(oracle)),
        bootstrap_ratio(right, counts) if sum(counts) else None,
        sum(counts) / sum(oracle) if sum(oracle) else None,
    )


def paired(table: Table, data: str, condition: str, one: str, other: str, figure: str) -> Interval | None:
    """Return the difference of a figure between two methods, paired by draw."""
    first, second = (table.values(data, condition, name, figure) for name in (one, other))
    draws = sorted(set(first) & set(second))
    return bootstrap([first[draw] - second[draw] for draw in draws]) if draws else None


def curves(table: Table, data: str, condition: str, method: str) -> tuple[list[int], Floats] | None:
    """Return numbers of labels, and MAP of shape (seeds, numbers)."""
    key = (data, condition, method)
    cells = table._cells.get(key, {})
    if not cells:
        return None
    names = sorted(name for name in next(iter(cells.values())).test if name.startswith("map/"))
    values = np.array([[cells[draw].test[name] for name in names] for draw in sorted(cells)])
    return [int(name.partition("/")[2]) for name in names], values


def labels_needed(labels: Sequence[int], strategy: Floats, random: Floats) -> Interval:
    """Return the share of labels with which a strategy reaches what random has at the end; above 1: it does not.

    Parameters
    ----------
    labels : sequence of int
        Numbers of labels.
    strategy, random : arrays of shape (seeds, numbers)
        MAP; the same seeds in the same order.

    Notes
    -----
    The crossing is that of the curves averaged over seeds, interpolated between steps; seeds are resampled in pairs. A
    strategy that ends below is given the share 1 + its shortfall in MAP, relative to random's, which is no share.
    """
    generator = np.random.default_rng(SEED)
    picks = generator.integers(len(random), size=(N_RESAMPLES, len(random)))
    shares = [_crossing(labels, strategy[rows].mean(axis=0), random[rows].mean(axis=0)[-1]) for rows in picks]
    low, high = np.quantile(shares, [0.025, 0.975])
    value = _crossing(labels, strategy.mean(axis=0), random.mean(axis=0)[-1])
    return Interval(value, float(low), float(high), len(random))


def _crossing(labels: Sequence[int], curve: Floats, goal: float) -> float:
    reached = np.flatnonzero(curve >= goal)
    if not len(reached):
        return 1.0 + float((goal - curve[-1]) / goal)
    place = int(reached[0])
    if place == 0:
        return labels[0] / labels[-1]
    before, after = curve[place - 1], curve[place]
    step = labels[place] - labels[place - 1]
    return float((labels[place - 1] + step * (goal - before) / (after - before)) / labels[-1])
