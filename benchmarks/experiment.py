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
    """One method: class, parameters that stay, grid, and the paper's own choice.

    ``honest`` has the values that the honest column chooses from where they are not those of the grid, ``default`` the
    point it takes where nothing can be compared; ``folds`` says that only the first so many folds are looked at, for
    methods that are dear. ``data`` and ``conditions`` limit where the method is run.
    """

    name: str
    title: str
    path: str
    fixed: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list[Any]] = field(default_factory=dict)
    paper: dict[str, Any] | None = None
    data: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    honest: dict[str, list[Any]] = field(default_factory=dict)
    default: dict[str, Any] | None = None
    folds: int | None = None

    def runs_in(self, data: str, condition: str) -> bool:
        """Say whether the method is run there."""
        return (not self.data or data in self.data) and (not self.conditions or condition in self.conditions)

    def points(self) -> list[dict[str, Any]]:
        """Return the grid points, the paper's own one last if it is not among them."""
        points = [self.paper] if not self.grid and self.paper is not None else _product(self.grid)
        return points if self.paper is None or self.paper in points else [*points, self.paper]

    def grid_points(self) -> list[dict[str, Any]]:
        """Return the points among which the honest column chooses."""
        if not self.grid and self.paper is not None:
            return [self.paper]
        return _product(self.grid | self.honest)


@dataclass(frozen=True)
class Selection:
    """How parameters are chosen: ``metric`` inside the labelled part, ``on`` names the part "best on test" looks at.

    In the conditions of ``default_in`` nothing can be compared inside the labelled part (one photo of each tag): the
    honest column takes each method's default point there.
    """

    metric: str
    on: str
    n_splits: int = 5
    paper: str = "best_on_test"
    default_in: tuple[str, ...] = ()


@dataclass(frozen=True)
class View:
    """A further table and figure: ``kind`` names its form (see `benchmarks.views`), ``options`` go to it."""

    name: str
    title: str
    kind: str
    text: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Study:
    """What is no table of scores: ``function`` ("module:name") is called with the experiment and ``parameters``.

    See `benchmarks.studies` for what it returns.
    """

    name: str
    title: str
    function: str
    parameters: dict[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True)
class Experiment:
    """All of experiment.toml."""

    name: str
    folder: Path
    title: str
    about: str
    answer: str
    seed: int
    metrics: tuple[str, ...]
    selection: Selection
    data: tuple[DataPart, ...]
    methods: tuple[MethodSpec, ...]
    views: tuple[View, ...] = ()
    studies: tuple[Study, ...] = ()


@dataclass(frozen=True)
class Claim:
    """A statement of a paper about an order: ``method`` is better than each of ``over`` in all of ``conditions``.

    ``gain`` is the relative improvement that was stated, where one was; ``published`` the published figures in words,
    and ``cause`` the likely cause where the claim does not come out.
    """

    text: str
    source: str
    data: str
    metric: str
    method: str
    over: tuple[str, ...]
    conditions: tuple[str, ...]
    gain: float | None = None
    published: str = ""
    cause: str = ""


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
    _only(
        table,
        {"title", "about", "answer", "seed", "metrics", "selection", "data", "methods", "views", "studies"},
        where,
    )
    known = {"metric", "on", "n_splits", "paper", "default_in"}
    chosen = _only(table["selection"], known, f"{where} [selection]")
    selection = Selection(**chosen | {"default_in": tuple(chosen.get("default_in", ()))})
    if selection.paper not in CHOICES:
        raise BenchmarkError(f"{where}: selection.paper must be one of {sorted(CHOICES)}, got {selection.paper!r}")
    methods = tuple(_method(item, where) for item in table["methods"])
    if selection.paper == "fixed" and any(method.paper is None for method in methods):
        raise BenchmarkError(f"{where}: selection.paper = 'fixed' needs [methods.paper] in every method")
    if selection.default_in and any(method.grid and method.default is None for method in methods):
        raise BenchmarkError(f"{where}: selection.default_in needs [methods.default] in every method with a grid")
    return Experiment(
        name=folder.name,
        folder=folder,
        title=table["title"],
        about=table.get("about", "").strip(),
        answer=table.get("answer", "").strip(),
        seed=table["seed"],
        metrics=tuple(table["metrics"]),
        selection=selection,
        data=tuple(_data(item, where) for item in table["data"]),
        methods=methods,
        views=tuple(_view(item, where) for item in table.get("views", ())),
        studies=tuple(
            Study(**_only(item, {"name", "title", "function", "parameters", "text"}, f"{where} [[studies]]"))
            for item in table.get("studies", ())
        ),
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


def read_claims(folder: Path) -> list[Claim]:
    """Read the ``[[claim]]`` tables of ``expected.toml``."""
    known = {"text", "source", "data", "metric", "method", "over", "conditions", "gain", "published", "cause"}
    items = [
        _only(item, known, f"{folder.name}/expected.toml") for item in _read(folder / "expected.toml").get("claim", ())
    ]
    return [Claim(**item | {"over": tuple(item["over"]), "conditions": tuple(item["conditions"])}) for item in items]


def _product(grid: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def _view(item: dict[str, Any], where: str) -> View:
    missing = {"name", "title", "kind"} - set(item)
    if missing:
        raise BenchmarkError(f"{where}: [[views]] needs {sorted(missing)}")
    options = dict(item)
    named = {key: options.pop(key) for key in ("name", "title", "kind")}
    return View(**named, text=options.pop("text", "").strip(), options=options)


def _method(item: dict[str, Any], where: str) -> MethodSpec:
    known = {"name", "title", "class", "fixed", "grid", "paper", "data", "conditions", "honest", "default", "folds"}
    _only(item, known, f"{where} [[methods]]")
    _only(item.get("honest", {}), set(item.get("grid", {})), f"{where} [methods.honest]")
    return MethodSpec(
        name=item["name"],
        title=item.get("title", item["name"]),
        path=item["class"],
        fixed=item.get("fixed", {}),
        grid=item.get("grid", {}),
        paper=item.get("paper"),
        data=tuple(item.get("data", ())),
        conditions=tuple(item.get("conditions", ())),
        honest=item.get("honest", {}),
        default=item.get("default"),
        folds=item.get("folds"),
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
