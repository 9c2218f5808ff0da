"""From cells to the two columns and to statuses.

*Paper's protocol* uses the paper's own choice of parameters: fixed ones, or the best grid point on the test part where
the paper did that. *Honest* chooses in every draw by cross-validation inside the labelled part; only this column is
quoted elsewhere.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, ExpectedTable, Experiment, MethodSpec
from benchmarks.methods import metric_of
from benchmarks.results import CellResult, canonical

REPRODUCED = "reproduced"
NOT_REPRODUCED = "not reproduced"
#: The value is near the published one, but a method that was published as better (or worse) is worse (or better).
REVERSED = "near, order reversed"
DATA_MISSING = "data missing"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Column:
    """Mean and spread of one metric over draws, the grid point used in each draw, and the value of each draw."""

    mean: float
    deviation: float
    points: tuple[dict[str, Any], ...]
    values: dict[int, float] = field(default_factory=dict)

    @property
    def n_draws(self) -> int:
        """How many draws are in it."""
        return len(self.points)


class Summary:
    """The two columns of every (data, condition, method).

    Parameters
    ----------
    experiment : Experiment
        What was run.
    cells : iterable of CellResult
        What came out; cells with an error count as not there.
    """

    def __init__(self, experiment: Experiment, cells: Iterable[CellResult]) -> None:
        self.experiment = experiment
        self.cells = list(cells)
        self._methods = {method.name: method for method in experiment.methods}

    def of(self, data: str, condition: str, method: str) -> list[CellResult]:
        """Return the finished cells of one place in the table."""
        return [
            cell
            for cell in self.cells
            if not cell.error and (cell.data, cell.condition, cell.method) == (data, condition, method)
        ]

    def honest(self, data: str, condition: str, method: str, metric: str) -> Column | None:
        """Return the honest column: in every draw the grid point that did best inside the labelled part.

        Where nothing can be compared there it is the default point.
        """
        spec = self._methods.get(method)
        allowed = spec.grid_points() if spec is not None else []
        if spec is not None and spec.default is not None and condition in self.experiment.selection.default_in:
            allowed = [spec.default]
        cells = [cell for cell in self.of(data, condition, method) if cell.point in allowed]
        by_draw: dict[int, list[CellResult]] = {}
        for cell in cells:
            by_draw.setdefault(cell.draw, []).append(cell)
        complete = [group for group in by_draw.values() if len(group) == len(allowed)]
        sign = _sign(self.experiment.selection.metric)
        return _column([max(group, key=lambda cell: sign * (cell.inside or 0.0)) for group in complete], metric)

    def at(self, data: str, condition: str, method: str, metric: str, point: dict[str, Any]) -> Column | None:
        """Return the column of one grid point."""
        return _column([cell for cell in self.of(data, condition, method) if cell.point == point], metric)

    def paper(self, data: str, condition: str, method: str, metric: str) -> Column | None:
        """Return the column of the paper's protocol."""
        if method not in self._methods:
            return None
        choice = self.experiment.selection.paper
        if choice == "cross_validation":
            return self.honest(data, condition, method, metric)
        cells = self.of(data, condition, method)
        if choice == "fixed":
            return _column([cell for cell in cells if cell.point == self._methods[method].paper], metric)
        return _column(self._best_on_test(self._methods[method], cells), metric)

    def _best_on_test(self, method: MethodSpec, cells: list[CellResult]) -> list[CellResult]:
        """Return the cells of the point with the best mean over draws, among points that have all draws."""
        selection = self.experiment.selection
        by_point: dict[str, list[CellResult]] = {canonical(point): [] for point in method.points()}
        for cell in cells:
            # A point that only the honest column uses is no candidate.
            by_point.get(canonical(cell.point), []).append(cell)
        longest = max(len(group) for group in by_point.values())
        candidates = [group for group in by_point.values() if group and len(group) == longest]
        key = f"{selection.on}/{selection.metric}"
        sign = _sign(selection.metric)
        return max(candidates, key=lambda group: sign * _mean(group, key), default=[])

    def seconds(self, data: str, condition: str, method: str) -> tuple[float, float]:
        """Return the median CPU seconds of one fit, and of one grid point's cross-validation."""
        cells = self.of(data, condition, method)
        if not cells:
            return float("nan"), float("nan")
        return tuple(float(np.median([getattr(cell, name) for cell in cells])) for name in ("cpu_fit", "cpu_inside"))  # type: ignore[return-value]

    def missing_reason(self, table: ExpectedTable, data: str) -> str | None:
        """Return why a dataset could not be used, if it could not."""
        if data in table.missing:
            return table.missing[data]
        errors = [cell.error for cell in self.cells if cell.data == data and cell.error.startswith(DATA_MISSING)]
        return errors[0].partition(": ")[2] if errors else None


def claimed(summary: Summary, claims: list[Claim]) -> list[dict[str, Any]]:
    """Compare every claim with both columns.

    In each row and column: in how many of the comparisons (one for each condition and other method) the method is the
    better one, their number, and the relative improvement over the best other method, averaged over conditions.
    """
    rows = []
    for claim in claims:
        row: dict[str, Any] = {"claim": claim}
        for name in ("paper", "honest"):
            column = getattr(summary, name)
            wins, n_compared, gains = 0, 0, []
            for condition in claim.conditions:
                mine = column(claim.data, condition, claim.method, claim.metric)
                others = [column(claim.data, condition, other, claim.metric) for other in claim.over]
                others = [other for other in others if other is not None]
                if mine is None or not others:
                    continue
                sign = _sign(claim.metric.rpartition("/")[2])
                wins += sum(sign * mine.mean > sign * other.mean for other in others)
                n_compared += len(others)
                best = max(sign * other.mean for other in others)
                gains.append((sign * mine.mean - best) / abs(best) if best else 0.0)
            row[name] = {"wins": wins, "of": n_compared, "gain": float(np.mean(gains)) if gains else None}
        rows.append(row)
    return rows


def _mean(cells: list[CellResult], metric: str) -> float:
    return float(np.mean([cell.test[metric] for cell in cells]))


def _sign(metric: str) -> float:
    return 1.0 if metric_of(metric).higher_is_better else -1.0


def _column(cells: list[CellResult], metric: str) -> Column | None:
    cells = sorted((cell for cell in cells if metric in cell.test), key=lambda cell: cell.draw)
    if not cells:
        return None
    values = [cell.test[metric] for cell in cells]
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
    by_draw = {cell.draw: cell.test[metric] for cell in cells}
    return Column(float(np.mean(values)), deviation, tuple(cell.point for cell in cells), by_draw)


def statuses(summary: Summary, tables: list[ExpectedTable]) -> list[dict[str, Any]]:
    """Compare every published value with the paper's-protocol column.

    "reproduced" means: the mean over draws lies within the table's tolerance of the published value, and no other
    method of the same table, data and condition that differs by more than the tolerance stands on the other side of it.
    """
    rows: list[dict[str, Any]] = []
    for table in tables:
        for (data, method, condition), published in table.values.items():
            paper = summary.paper(data, condition, method, table.metric)
            honest = summary.honest(data, condition, method, table.metric)
            reason = summary.missing_reason(table, data)
            if reason is not None:
                status = DATA_MISSING
            elif paper is None:
                status = NOT_RUN
            else:
                near = abs(paper.mean - published) <= table.tolerance + 1e-12
                status = REPRODUCED if near else NOT_REPRODUCED
            rows.append(
                {
                    "table": table.title,
                    "data": data,
                    "method": method,
                    "condition": condition,
                    "metric": table.metric,
                    "published": published,
                    "paper": paper.mean if paper else None,
                    "honest": honest.mean if honest else None,
                    "tolerance": table.tolerance,
                    "status": status,
                    "reason": reason or "",
                }
            )
    for row in rows:
        if row["status"] == REPRODUCED and any(_reverses(row, other) for other in rows):
            row["reversed"] = True
    return [row | {"status": REVERSED} if row.pop("reversed", False) else row for row in rows]


def _reverses(row: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two methods stand the other way round than they were published."""
    if other["paper"] is None or any(row[key] != other[key] for key in ("table", "data", "condition")):
        return False
    published, found = other["published"] - row["published"], other["paper"] - row["paper"]
    return bool(abs(published) > row["tolerance"] and published * found < 0)
