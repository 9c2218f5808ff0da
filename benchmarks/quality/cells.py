"""Cells of the quality benchmark: what each is, running those that are missing, and what they will cost.

A cell is one study, set, fraction, draw and method. It is kept as soon as it is finished.
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import measure
from benchmarks.datasets import Dataset
from benchmarks.errors import BenchmarkError, DataMissingError
from benchmarks.quality import active, more, positive
from benchmarks.quality.methods import METHODS, methods_of
from benchmarks.quality.ours import probability_figures
from benchmarks.quality.problem import Problem, choose, final_scores
from benchmarks.quality.sets import FRACTIONS, SEED, SETS, find_set
from benchmarks.results import CellResult, CellStore, digest, environment, seed_of, write_json
from tagloom.exceptions import TagloomError
from tagloom.metrics import mean_average_precision

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
COSTS = RESULTS / "costs.json"
STUDIES = ("annotators", "positive", "active", "more")
#: Costs not measured are guessed from another fraction of the set, growing with this power of the labelled photos.
COST_POWER = 1.5
#: Raised when what a study computes changes, so that older cells no longer count.
VERSIONS = {"annotators": 1, "positive": 1, "active": 1, "more": 1}


@dataclass(frozen=True)
class Cell:
    """One study, set, fraction, draw and method."""

    study: str
    set_name: str
    fraction: float
    draw: int
    method: str

    @property
    def key(self) -> str:
        """Name in the cache."""
        return digest([*self.place, self.draw, self.method, SEED, VERSIONS[self.study]])

    @property
    def place(self) -> tuple[str, str, float]:
        """Study, set and fraction."""
        return self.study, self.set_name, self.fraction

    @property
    def condition(self) -> str:
        """The fraction in words."""
        return f"{100 * self.fraction:g} %"


@dataclass(frozen=True)
class Wanted:
    """Which cells of a study are meant; empty: all."""

    sets: tuple[str, ...] = ()
    fractions: tuple[float, ...] = ()
    methods: tuple[str, ...] = ()
    draws: int | None = None

    def cells(self, study: str) -> list[Cell]:
        """Return them; those of one draw follow each other."""
        return [cell for name in self.sets or SETS for cell in self._of_set(study, name)]

    def _of_set(self, study: str, name: str) -> Iterator[Cell]:
        if study == "more":
            yield from self._more(name)
            return
        item = find_set(name)
        draws = {"annotators": item.draws, "positive": item.draws, "active": active.N_SEEDS}[study]
        for fraction in _fractions(study, name):
            if self.fractions and fraction not in self.fractions and study != "active":
                continue
            for draw in range(min(draws, self.draws) if self.draws else draws):
                for method in _method_names(study, name, fraction):
                    if not self.methods or method in self.methods:
                        yield Cell(study, name, fraction, draw, method)

    def _more(self, name: str) -> Iterator[Cell]:
        """Return further draws; ``draws`` counts those of them."""
        last = find_set(name).draws + (self.draws or np.inf)
        for fraction, draw, method in more.cells_of(name):
            if draw < last and fraction in (self.fractions or (fraction,)) and method in (self.methods or (method,)):
                yield Cell("more", name, fraction, draw, method)


def _fractions(study: str, name: str) -> tuple[float, ...]:
    item = find_set(name)
    if study == "annotators":
        return item.fractions
    if study == "positive":
        return positive.fractions(item)
    return active.fractions(item)


def _method_names(study: str, name: str, fraction: float) -> tuple[str, ...]:
    if study == "annotators":
        return tuple(method.name for method in methods_of(name, fraction))
    return positive.METHODS if study == "positive" else active.STRATEGIES


def store_of(study: str) -> CellStore:
    """Return where a study's cells are kept."""
    store = CellStore(HERE)
    store.path, store.cache = RESULTS / f"{study}.json", HERE / ".cache" / study
    return store


def run(
    study: str,
    wanted: Wanted,
    *,
    jobs: int = 1,
    fresh: bool = False,
    say: Callable[[str], None] = print,
) -> list[CellResult]:
    """Run what is not there yet; return what this run has computed.

    Parameters
    ----------
    study : {"annotators", "positive", "active", "more"}
        Which.
    wanted : Wanted
        Which cells of it.
    jobs : int
        Processes; each takes the methods of one draw.
    fresh : bool
        Run also what is there already.
    say : function
        Receives one line per cell.
    """
    known = store_of(study).load()
    cells = wanted.cells(study)
    todo = [cell for cell in cells if fresh or cell.key not in known]
    say(f"{study}: {len(cells)} cells, {len(todo)} to run")
    where = environment()
    found = []
    for number, result in enumerate(_results(todo, where, jobs), start=1):
        found.append(result)
        told = result.error or ", ".join(f"{key} {value:.4f}" for key, value in list(result.test.items())[:3])
        name = f"{result.data} | {result.condition} | draw {result.draw} | {result.method}"
        say(f"[{number}/{len(todo)}] {name}: {told} ({result.cpu_fit + result.cpu_inside:.1f} CPU s)")
    return found


def _results(todo: list[Cell], where: dict[str, Any], jobs: int) -> Iterator[CellResult]:
    if jobs == 1:
        yield from (run_and_keep(cell, where) for cell in todo)
        return
    from joblib import Parallel, delayed

    groups = [list(cells) for _, cells in groupby(todo, key=lambda cell: (cell.place, cell.draw))]
    for name in {cell.set_name for cell in todo}:
        try:
            # Features are computed here, once, rather than by every process at the same time.
            find_set(name).load(0)
        except DataMissingError:
            continue
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    for results in parallel(delayed(_run_group)(cells, where) for cells in groups):
        yield from results


def _run_group(cells: list[Cell], where: dict[str, Any]) -> list[CellResult]:
    return [run_and_keep(cell, where) for cell in cells]


def run_and_keep(cell: Cell, where: dict[str, Any]) -> CellResult:
    """Run one cell and keep it at once unless it failed."""
    result = run_cell(cell, where)
    if not result.error:
        store_of(cell.study).put(result)
    return result


def run_cell(cell: Cell, where: dict[str, Any], *, shuffled: bool = False) -> CellResult:
    """Run one cell; what goes wrong is recorded in it.

    Parameters
    ----------
    cell : Cell
        Which.
    where : dict
        The environment, for the record.
    shuffled : bool
        Photos have the features of others: for its cost alone, when the scores must not be looked at.
    """
    result = CellResult(cell.key, cell.set_name, cell.condition, cell.draw, cell.method, {}, environment=where)
    try:
        if cell.study == "annotators" or (cell.study == "more" and not more.is_positive(cell.method)):
            _run_annotator(cell, open_problem(cell, shuffled), result)
        else:
            with measure() as elapsed:
                study = active if cell.study == "active" else positive
                result.test = study.figures(open_problem(cell, shuffled), cell.method, cell.draw)
            result.cpu_fit = round(elapsed.cpu, 3)
    except DataMissingError as error:
        result.error = f"data missing: {error}"
    except (BenchmarkError, TagloomError, ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
        result.error = f"{type(error).__name__}: {error}"
    return result


def open_problem(cell: Cell, shuffled: bool = False) -> Problem:
    """Return the draw of a cell, as its method sees it; the last two stay in memory."""
    groups = METHODS[cell.method].groups if cell.study == "annotators" else ()
    draw = 0 if cell.study == "active" else cell.draw
    return _open(cell.set_name, cell.fraction, draw, groups, shuffled)


@lru_cache(maxsize=2)
def _open(name: str, fraction: float, draw: int, groups: tuple[str, ...], shuffled: bool) -> Problem:
    data, drawn = find_set(name).draw(fraction, draw)
    if shuffled:
        order = np.random.default_rng(0).permutation(len(data.X))
        data = Dataset(data.X[order], data.Y, data.groups, data.test_rows, data.tags)
    return Problem(data, drawn, seed_of("quality", name, draw, "folds", SEED), groups)


def _run_annotator(cell: Cell, problem: Problem, result: CellResult) -> None:
    method, draw = METHODS[cell.method], problem.draw
    began = time.perf_counter()
    if method.own is not None:
        with measure() as elapsed:
            outcome = method.own(problem)
        unlabeled = outcome.seen[np.searchsorted(draw.seen, draw.unlabeled)]
        scores = {"unlabeled": unlabeled, "new": outcome.new}
        result.point = outcome.told or {}
    else:
        assert method.competitor is not None
        with measure() as choosing:
            chosen = choose(method.competitor, problem)
        result.point, result.inside = chosen.point, chosen.inside
        result.cpu_inside = round(choosing.cpu, 3)
        with measure() as elapsed:
            found = final_scores(method.competitor, problem, chosen.point, np.append(draw.unlabeled, draw.new))
        scores = {"unlabeled": found[: len(draw.unlabeled)], "new": found[len(draw.unlabeled) :]}
    result.cpu_fit = round(elapsed.cpu, 3)
    rows = {"unlabeled": draw.unlabeled, "new": draw.new}
    result.test = {f"{part}/map": mean_average_precision(problem.truth[rows[part]], scores[part]) for part in rows}
    if method.own is not None:
        result.test |= probability_figures(problem, outcome)
    result.test["seconds"] = round(time.perf_counter() - began, 3)


def measure_costs(study: str, wanted: Wanted, say: Callable[[str], None] = print) -> None:
    """Record the CPU seconds of one cell of each kind, on photos that have the features of others.

    Scores of such photos say nothing, so that costs can be measured before the sets are run for good.
    """
    costs = read_costs()
    for cell in wanted.cells(study):
        if cell.draw == 0 and _cost_key(cell) not in costs:
            result = run_cell(cell, {}, shuffled=True)
            if not result.error:
                costs[_cost_key(cell)] = round(result.cpu_fit + result.cpu_inside, 2)
                write_json(COSTS, costs)
            say(f"{_cost_key(cell)}: {result.error or costs[_cost_key(cell)]}")


def read_costs() -> dict[str, float]:
    """Return CPU seconds by kind of cell, as recorded by `measure_costs`."""
    found: dict[str, float] = json.loads(COSTS.read_text(encoding="utf-8")) if COSTS.is_file() else {}
    return found


def _cost_key(cell: Cell) -> str:
    return "/".join([cell.study, cell.set_name, f"{cell.fraction:g}", cell.method])


@dataclass(frozen=True)
class PlanRow:
    """Cells of one study, set and fraction: how many are missing, and the CPU seconds they will take.

    The cost of ``n_guessed`` of them comes from other fractions; that of ``n_unknown`` is not in the sum.
    """

    study: str
    set_name: str
    fraction: float
    n_cells: int
    n_missing: int
    seconds: float
    n_guessed: int
    n_unknown: int


def plan(studies: Iterable[str], wanted: Wanted) -> list[PlanRow]:
    """Return what is left to run.

    A cell costs what its finished sisters took; else what `measure_costs` recorded, else a guess from the nearest
    fraction of the same set and method.
    """
    rows = []
    for study in studies:
        known = store_of(study).load()
        cells = wanted.cells(study)
        costs = read_costs() | _spent(Wanted(wanted.sets).cells(study), known)
        for (_, name, fraction), group in groupby(cells, key=lambda cell: cell.place):
            members = list(group)
            missing = [cell for cell in members if cell.key not in known]
            guessed = [cell for cell in missing if _cost_key(cell) not in costs]
            taken = [costs.get(_cost_key(cell), _guess(cell, costs)) for cell in missing]
            told = [value for value in taken if value is not None]
            n_unknown = len(taken) - len(told)
            n_guessed = len(guessed) - n_unknown
            rows.append(PlanRow(study, name, fraction, len(members), len(missing), sum(told), n_guessed, n_unknown))
    return rows


def _spent(cells: list[Cell], known: dict[str, CellResult]) -> dict[str, float]:
    """Return the median CPU seconds of finished cells by kind."""
    spent: dict[str, list[float]] = {}
    for cell in cells:
        if cell.key in known:
            done = known[cell.key]
            spent.setdefault(_cost_key(cell), []).append(done.cpu_fit + done.cpu_inside)
    return {key: float(np.median(values)) for key, values in spent.items()}


def _guess(cell: Cell, costs: dict[str, float]) -> float | None:
    near = [share for share in FRACTIONS if _cost_key(replace(cell, fraction=share)) in costs]
    if not near:
        return None
    other = min(near, key=lambda share: abs(np.log(share / cell.fraction)))
    ratio = float(cell.fraction / other)
    return float(costs[_cost_key(replace(cell, fraction=other))] * ratio**COST_POWER)
