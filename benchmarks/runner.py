"""Running the cells of a reproduction: cached, resumable, seeded by what each cell is."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import measure
from benchmarks.datasets import Dataset, load_dataset
from benchmarks.errors import DataMissingError
from benchmarks.experiment import DataPart, Experiment, MethodSpec
from benchmarks.methods import make_method, metric_of
from benchmarks.results import CellResult, CellStore, digest, environment, seed_of
from benchmarks.splits import Split, conditions, draw_split
from tagloom.core.folds import LabeledKFold
from tagloom.core.labels import UNKNOWN
from tagloom.exceptions import NothingToScoreError, TagloomError


@dataclass(frozen=True)
class Cell:
    """One dataset, condition, draw, method and grid point."""

    data: DataPart
    condition: str
    split: dict[str, Any]
    draw: int
    method: MethodSpec
    point: dict[str, Any]
    identity: dict[str, Any]

    @property
    def key(self) -> str:
        """Name of the cell in the cache: what is computed, not how it is titled."""
        return digest(self.identity)

    @property
    def draw_identity(self) -> dict[str, Any]:
        """What the draw depends on: the same for every method and grid point."""
        return {key: self.identity[key] for key in ("dataset", "parameters", "scheme", "split", "draw", "seed")}


def cells_of(experiment: Experiment) -> Iterator[Cell]:
    """Yield every cell; those of one draw follow each other, so that its data stay in memory."""
    for data in experiment.data:
        for condition, split in conditions(data.split):
            for draw in range(data.draws):
                for method in experiment.methods:
                    if method.runs_in(data.name, condition):
                        for point in _points(experiment, method, condition):
                            yield _cell(experiment, data, condition, split, draw, method, point)


def _points(experiment: Experiment, method: MethodSpec, condition: str) -> list[dict[str, Any]]:
    """Return the points to run: beside the grid those that only the honest column uses."""
    points = method.points()
    default = [method.default] if method.default is not None else []
    more = default if condition in experiment.selection.default_in else method.grid_points()
    return points + [point for point in more if point not in points]


def _cell(
    experiment: Experiment,
    data: DataPart,
    condition: str,
    split: dict[str, Any],
    draw: int,
    method: MethodSpec,
    point: dict[str, Any],
) -> Cell:
    selection = experiment.selection
    # A single grid point needs no choice, and one that cannot be chosen no score.
    compared = len(method.points()) > 1 and condition not in selection.default_in
    choices = method.grid_points()
    compared = compared and (not method.honest or (len(choices) > 1 and point in choices))
    identity = {
        "dataset": data.dataset,
        "parameters": data.parameters,
        "scheme": data.scheme,
        "split": split,
        "draw": draw,
        "seed": experiment.seed,
        "method": method.path,
        "settings": method.fixed | point,
        "metrics": list(experiment.metrics),
        "inside": [selection.metric, selection.n_splits, *filter(None, [method.folds])] if compared else None,
    }
    return Cell(data, condition, split, draw, method, point, identity)


def run(
    experiment: Experiment,
    *,
    methods: tuple[str, ...] = (),
    data: tuple[str, ...] = (),
    fresh: bool = False,
    jobs: int = 1,
    say: Callable[[str], None] = print,
) -> list[CellResult]:
    """Run what is not there yet and return all cells of the experiment in its order.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    methods, data : tuple of str
        Only these methods, and only on these data; empty: all. Other cells are kept as they are.
    fresh : bool
        Run also what is there already.
    jobs : int
        Processes; each takes cells of its own.
    say : function
        Receives one line per cell.
    """
    store = CellStore(experiment.folder)
    known = {key: cell for key, cell in store.load().items() if not cell.error}
    wanted = list(cells_of(experiment))
    todo = [
        cell
        for cell in wanted
        if (not methods or cell.method.name in methods)
        and (not data or cell.data.name in data)
        and (fresh or cell.key not in known)
    ]
    # Cells of two methods that compute the same are run once.
    todo = list({cell.key: cell for cell in todo}.values())
    say(f"{experiment.name}: {len(wanted)} cells, {len(todo)} to run")
    where = environment()
    for number, result in enumerate(_results(experiment, todo, where, jobs), start=1):
        if not result.error:
            store.put(result)
        known[result.key] = result
        say(f"[{number}/{len(todo)}] {_line(result)}")
    return finished(experiment, known)


def finished(experiment: Experiment, known: dict[str, CellResult]) -> list[CellResult]:
    """Return those of the known cells that the experiment has now, in its order and with its names."""
    return [_titled(known[cell.key], cell) for cell in cells_of(experiment) if cell.key in known]


def _results(experiment: Experiment, todo: list[Cell], where: dict[str, Any], jobs: int) -> Iterator[CellResult]:
    if jobs == 1:
        yield from (run_cell(experiment, cell, where) for cell in todo)
        return
    from joblib import Parallel, delayed

    # Features are computed (or found missing) here, once, rather than by every process at the same time.
    for data in {cell.data.name: cell.data for cell in todo}.values():
        with suppress(DataMissingError):
            load_dataset(data.dataset, **data.parameters)
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    groups = [list(cells) for _, cells in groupby(todo, key=_what_is_shared)]
    for results in parallel(delayed(_run_cells)(experiment, cells, where) for cells in groups):
        yield from results


def _what_is_shared(cell: Cell) -> str:
    """Return what cells have in common that differ in the last parameter of the grid only: work they may share."""
    point = {name: value for name, value in cell.point.items() if name != list(cell.point)[-1]}
    return digest([cell.draw_identity, cell.method.path, cell.method.fixed, point])


def _run_cells(experiment: Experiment, cells: list[Cell], where: dict[str, Any]) -> list[CellResult]:
    return [run_cell(experiment, cell, where) for cell in cells]


def run_cell(experiment: Experiment, cell: Cell, where: dict[str, Any]) -> CellResult:
    """Run one cell; what goes wrong is recorded in it, never hidden and never the end of the run."""
    result = CellResult(
        cell.key, cell.data.name, cell.condition, cell.draw, cell.method.name, cell.point, environment=where
    )
    try:
        dataset = load_dataset(cell.data.dataset, **cell.data.parameters)
        split = draw_split(dataset, cell.data.scheme, cell.split, seed_of(cell.draw_identity))
        _score_parts(experiment, cell, dataset, split, result)
        if cell.identity["inside"]:
            _score_inside(experiment, cell, dataset, split, result)
    except DataMissingError as error:
        result.error = f"data missing: {error}"
    except (TagloomError, ValueError, ArithmeticError, MemoryError, np.linalg.LinAlgError) as error:
        result.error = f"{type(error).__name__}: {error}"
    return result


def _score_parts(experiment: Experiment, cell: Cell, dataset: Dataset, split: Split, result: CellResult) -> None:
    """Fit on the labelled part and score the parts that the split names."""
    X, Y = _seen(dataset, split)
    with measure() as elapsed:
        model = _make(cell, dataset).fit(X, Y)
        scores = {name: _scores(model, dataset, split, rows) for name, rows in split.evaluate.items()}
    result.cpu_fit = round(elapsed.cpu + _saved(model), 4)
    for name, rows in split.evaluate.items():
        for metric in experiment.metrics:
            result.test[f"{name}/{metric}"] = metric_of(metric)(dataset.Y[rows], scores[name])


def _score_inside(experiment: Experiment, cell: Cell, dataset: Dataset, split: Split, result: CellResult) -> None:
    """Score by cross-validation inside the labelled part: the mean over folds.

    Each fold is scored by itself. Scores of different folds must not be ranked together: a fold that holds a tag's
    positives leaves fewer of them to learn from, so its model scores lower throughout.
    """
    X, Y = _seen(dataset, split)
    selection = experiment.selection
    folds = LabeledKFold(selection.n_splits, random_state=seed_of(cell.draw_identity, "folds"))
    values, saved = [], 0.0
    with measure() as elapsed:
        for Y_train, held_out in islice(folds.split_labels(Y), cell.method.folds):
            model = _make(cell, dataset).fit(X, Y_train)
            saved += _saved(model)
            # What is chosen for photos never seen must not be compared by scores of photos seen.
            novel = selection.on == "novel"
            scores = model.decision_function(X[held_out]) if novel else _seen_scores(model, X)[held_out]
            with suppress(NothingToScoreError):
                values.append(metric_of(selection.metric)(Y[held_out], scores))
    if not values:
        raise NothingToScoreError(f"no fold of draw {cell.draw} has a tag to score; label more rows")
    result.cpu_inside = round(elapsed.cpu + saved, 4)
    result.inside = float(np.mean(values))


def fit_cell(
    experiment: Experiment, data: str, method: str, draw: int, *, condition: str | None = None, **point: Any
) -> tuple[Dataset, Split, Any]:
    """Return dataset, split and fitted model of one cell, for studies that look into a model.

    ``condition`` may be left out where the data have one only.
    """
    (cell,) = (
        cell
        for cell in cells_of(experiment)
        if (cell.data.name, cell.method.name, cell.draw, cell.point) == (data, method, draw, point)
        and condition in (None, cell.condition)
    )
    dataset = load_dataset(cell.data.dataset, **cell.data.parameters)
    split = draw_split(dataset, cell.data.scheme, cell.split, seed_of(cell.draw_identity))
    return dataset, split, _make(cell, dataset).fit(*_seen(dataset, split))


def open_draw(
    experiment: Experiment, data: str, draw: int, *, condition: str | None = None
) -> tuple[Dataset, Split, NDArray[Any], NDArray[np.int8]]:
    """Return dataset, split, and what a method sees of them (X, Y), by default in the first condition of the data."""
    cell = next(
        cell
        for cell in cells_of(experiment)
        if (cell.data.name, cell.draw) == (data, draw) and condition in (None, cell.condition)
    )
    dataset = load_dataset(cell.data.dataset, **cell.data.parameters)
    split = draw_split(dataset, cell.data.scheme, cell.split, seed_of(cell.draw_identity))
    return dataset, split, *_seen(dataset, split)


def _make(cell: Cell, dataset: Dataset) -> Any:
    return make_method(cell.method.path, cell.method.fixed | cell.point, seed_of(cell.identity), dataset.groups)


def _saved(model: Any) -> float:
    """Return the CPU seconds of work that another cell has done for this one."""
    return float(getattr(model, "saved_cpu_", 0.0))


def _seen(dataset: Dataset, split: Split) -> tuple[NDArray[Any], NDArray[np.int8]]:
    Y = np.full((len(split.fit_rows), dataset.Y.shape[1]), UNKNOWN, dtype=np.int8)
    labeled = np.isin(split.fit_rows, split.labeled_rows)
    Y[labeled] = dataset.Y[split.fit_rows[labeled]]
    return dataset.X[split.fit_rows], Y


def _scores(model: Any, dataset: Dataset, split: Split, rows: NDArray[np.intp]) -> NDArray[Any]:
    positions = np.searchsorted(split.fit_rows, rows)
    positions = np.minimum(positions, len(split.fit_rows) - 1)
    if np.array_equal(split.fit_rows[positions], rows):
        return _seen_scores(model, dataset.X[split.fit_rows])[positions]
    return np.asarray(model.decision_function(dataset.X[rows]))


def _seen_scores(model: Any, X: NDArray[Any]) -> NDArray[Any]:
    """Return the scores of the training rows."""
    if hasattr(model, "transduction_"):
        return np.asarray(model.transduction_)
    return np.asarray(model.decision_function(X))


def _titled(result: CellResult, cell: Cell) -> CellResult:
    """Return a cell from the cache with the names it has now; two methods may share one."""
    return replace(result, data=cell.data.name, condition=cell.condition, method=cell.method.name, point=cell.point)


def _line(result: CellResult) -> str:
    point = ", ".join(f"{key} {value}" for key, value in result.point.items())
    told = result.error or ", ".join(f"{key} {value:.4f}" for key, value in result.test.items())
    return f"{result.data} | {result.condition} | draw {result.draw} | {result.method} {point}: {told}"
