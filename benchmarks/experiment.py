"""Reading a reproduction: ``experiment.toml`` (what is run) and ``expected.toml`` (what was published)."""

import itertools
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError

PAPERS = Path(__file__).resolve().parent / "papers"
CHOICES = {
    "fixed": "the paper's fixed parameters",
    "best_on_test": "best grid point on the test part",
    "cross_validation": "cross-validation on the labelled part",
}


@dataclass(frozen=True)
class DataPart:
    """One dataset of a reproduction, with its split."""

    name: str
    dataset: str
    parameters: dict[str, Any]
    scheme: str
    split: dict[str, Any]
    draws: int


@dataclass(frozen=True)
class MethodSpec:
    """One method: class, parameters that stay, grid, and the paper's own choice."""

    name: str
    title: str
    path: str
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    paper: dict[str, Any] | None = None
    data: tuple[str, ...] = ()

    def points(self) -> list[dict[str, Any]]:
        """Return the grid points, the paper's own one last if it is not among them."""
        points = self.grid_points()
        if self.paper is not None and self.paper not in points:
            points.append(self.paper)
        return points

    def grid_points(self) -> list[dict[str, Any]]:
        """Return the points among which the honest column chooses."""
        if not self.grid and self.paper is not None:
            return [self.paper]
        return [dict(zip(self.grid, values, strict=True)) for values in itertools.product(*self.grid.values())]


@dataclass(frozen=True)
class Selection:
    """How parameters are chosen: ``metric`` inside the labelled part, ``on`` names the part "best on test" looks at."""

    metric: str
    on: str
    n_splits: int = 5
    paper: str = "best_on_test"


@dataclass(frozen=True)
class Experiment:
    """All of experiment.toml."""

    name: str
    folder: Path
    title: str
    about: str
    seed: int
    metrics: tuple[str, ...]
    selection: Selection
    data: tuple[DataPart, ...]
    methods: tuple[MethodSpec, ...]


@dataclass(frozen=True)
class ExpectedTable:
    """One published table: values by data, method and condition, and how near counts as reproduced."""

    title: str
    source: str
    metric: str
    tolerance: float
    values: dict[tuple[str, str, str], float]
    missing: dict[str, str]


def names() -> list[str]:
    """Return the reproductions there are."""
    return sorted(path.parent.name for path in PAPERS.glob("*/experiment.toml"))


def read_experiment(folder: Path) -> Experiment:
    """Read ``experiment.toml`` of a folder."""
    table = _read(folder / "experiment.toml")
    where = f"{folder.name}/experiment.toml"
    _only(table, {"title", "about", "seed", "metrics", "selection", "data", "methods"}, where)
    selection = Selection(**_only(table["selection"], {"metric", "on", "n_splits", "paper"}, f"{where} [selection]"))
    if selection.paper not in CHOICES:
        raise BenchmarkError(f"{where}: selection.paper must be one of {sorted(CHOICES)}, got {selection.paper!r}")
    methods = tuple(_method(item, where) for item in table["methods"])
    if selection.paper == "fixed" and any(method.paper is None for method in methods):
        raise BenchmarkError(f"{where}: selection.paper = 'fixed' needs [methods.paper] in every method")
    return Experiment(
        name=folder.name,
        folder=folder,
        title=table["title"],
        about=table.get("about", "").strip(),
        seed=table["seed"],
        metrics=tuple(table["metrics"]),
        selection=selection,
        data=tuple(_data(item, where) for item in table["data"]),
        methods=methods,
    )


def read_expected(folder: Path) -> list[ExpectedTable]:
    """Read ``expected.toml`` of a folder; a status in it is refused, because statuses are computed."""
    where = f"{folder.name}/expected.toml"
    tables = []
    for item in _read(folder / "expected.toml")["table"]:
        _only(item, {"title", "source", "metric", "tolerance", "values", "missing"}, where)
        values = {
            (data, method, condition): float(value)
            for data, methods in item["values"].items()
            for method, row in methods.items()
            for condition, value in row.items()
        }
        tables.append(
            ExpectedTable(
                item["title"], item["source"], item["metric"], item["tolerance"], values, item.get("missing", {})
            )
        )
    return tables


def _method(item: dict[str, Any], where: str) -> MethodSpec:
    _only(item, {"name", "title", "class", "fixed", "grid", "paper", "data"}, f"{where} [[methods]]")
    return MethodSpec(
        name=item["name"],
        title=item.get("title", item["name"]),
        path=item["class"],
        fixed=item.get("fixed", {}),
        grid=item.get("grid", {}),
        paper=item.get("paper"),
        data=tuple(item.get("data", ())),
    )


def _data(item: dict[str, Any], where: str) -> DataPart:
    _only(item, {"name", "dataset", "parameters", "split"}, f"{where} [[data]]")
    split = dict(item["split"])
    return DataPart(
        name=item["name"],
        dataset=item["dataset"],
        parameters=item.get("parameters", {}),
        scheme=split.pop("scheme"),
        draws=split.pop("draws"),
        split=split,
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BenchmarkError(f"no {path.name} in benchmarks/papers/{path.parent.name}; known: {names()}") from None


def _only(table: dict[str, Any], allowed: set[str], where: str) -> dict[str, Any]:
    unknown = sorted(set(table) - allowed)
    if unknown:
        raise BenchmarkError(f"{where}: unknown keys {unknown}; there are {sorted(allowed)}")
    return table
