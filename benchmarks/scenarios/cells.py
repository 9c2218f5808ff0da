"""Cells: one set, draw and situation, with what the project said and what was true."""

import tempfile
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import measure
from benchmarks.errors import BenchmarkError
from benchmarks.projects import Collection, made_up, public_set
from benchmarks.results import CellResult, CellStore, digest, seed_of
from benchmarks.scenarios.situations import SITUATIONS, Sizes, Work
from tagloom.exceptions import NothingToScoreError
from tagloom.metrics import calibration_error, mean_average_precision

HERE = Path(__file__).resolve().parent
#: Raised when what a cell computes changes.
VERSION = 1
DRAWS = 20
SETS = {"corel5k": Sizes(1500, 50, 150, 400, 100, 300), "msrc_v2": Sizes(591, 30, 60, 160, 40, 120)}
#: For tests: made up, never on the page.
TOY = "toy"
TOY_SIZES = Sizes(300, 40, 80, 120, 40, 40)
#: Of this situation the product is also asked how good it is.
EVALUATED = "listed"

#: All cells of a set are made under the same condition.
CONDITION = "default settings"

Key = tuple[str, int, str]


def store_of(folder: Path = HERE) -> CellStore:
    """Return where cells are kept."""
    return CellStore(folder)


def wanted(sets: tuple[str, ...] = (), situations: tuple[str, ...] = (), draws: int | None = None) -> list[Key]:
    """Return set, draw and situation of the cells that are asked for; empty: all."""
    return [
        (name, draw, situation)
        for name in sets or tuple(SETS)
        for draw in range(draws or DRAWS)
        for situation in situations or tuple(SITUATIONS)
    ]


def key_of(cell: Key) -> str:
    """Return the name of a cell in the cache."""
    return digest([*cell, VERSION])


def run_missing(cells: list[Key], where: dict[str, Any], *, jobs: int = 1, fresh: bool = False) -> Iterator[CellResult]:
    """Run what is not there yet, and keep each as soon as it is finished.

    Parameters
    ----------
    cells : list
        Those asked for.
    where : dict
        The environment, for the record.
    jobs : int
        Processes.
    fresh : bool
        Run also what is there.
    """
    from joblib import Parallel, delayed

    known = store_of().load()
    todo = [cell for cell in cells if fresh or key_of(cell) not in known]
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)
    for name, members in groupby(todo, key=lambda cell: cell[0]):
        # Features are read here, once: one process at a time may open their cache.
        photos = photos_of(name)
        for result in parallel(delayed(run_cell)(cell, photos, where) for cell in members):
            if not result.error:
                store_of().put(result)
            yield result


def run_cell(cell: Key, photos: Collection, where: dict[str, Any], threads: int = 1) -> CellResult:
    """Play one situation through with some of the photos of a set; what goes wrong is recorded."""
    name, draw, situation = cell
    result = CellResult(key_of(cell), name, CONDITION, draw, situation, {}, environment=where)
    sizes = sizes_of(name)
    try:
        rows = np.random.default_rng(seed_of("said", name, draw)).permutation(len(photos.X))[: sizes.photos]
        with measure() as elapsed, tempfile.TemporaryDirectory() as folder:
            work = Work(Path(folder), photos.rows(rows), sizes, seed_of("said", name, draw, "forgotten"), threads)
            with work.project:
                SITUATIONS[situation].play(work)
                result.test = figures(work)
                if situation == EVALUATED:
                    result.test |= evaluated(work)
        result.cpu_fit = round(elapsed.cpu, 3)
    except BenchmarkError as error:
        result.error = f"{type(error).__name__}: {error}"
    return result


@lru_cache(maxsize=1)
def photos_of(name: str) -> Collection:
    """Return the photos of a set."""
    return made_up(TOY_SIZES.photos) if name == TOY else public_set(name)


def sizes_of(name: str) -> Sizes:
    """Return how many of them are told of."""
    return TOY_SIZES if name == TOY else SETS[name]


def figures(work: Work) -> dict[str, float]:
    """Return what the project says of photos and tags that nothing was said of, beside the truth.

    ``above``, ``right`` and ``expected``: suggestions above the threshold, those of them that are true, and the sum of
    their probabilities. The others are of photos of which nothing was said at all: the calibration error of likely
    entries, how many tags are expected and true, and mean average precision.
    """
    found = work.suggestions()
    if found.kind != "probability":
        raise BenchmarkError("there are no probabilities with so few labels")
    truth = work.truth_of(found)
    above = found.above
    untold = found.open.all(axis=1)
    values, labels = found.values[untold].astype(np.float64), truth[untold].astype(np.int8)
    told = {
        "above": float(above.sum()),
        "right": float(truth[above].sum()),
        "expected": float(found.values[above].sum(dtype=np.float64)),
        "tags_expected": float(values.sum()),
        "tags_true": float(labels.sum()),
        "map": mean_average_precision(labels, values),
    }
    # Where no entry is likely there is nothing that could be wrong.
    with suppress(NothingToScoreError):
        told["error"] = calibration_error(labels, values, n_bins=15, entries="likely")
    return told


def evaluated(work: Work) -> dict[str, float]:
    """Return what `evaluate` says of suggestions above the threshold, as far as it can tell."""
    told = work.project.evaluate(curve=False, groups=False)
    if not told.n_accepted:
        return {}
    assert told.precision is not None
    assert told.precision_low is not None
    assert told.precision_high is not None
    return {
        "told/accepted": float(told.n_accepted),
        "told/precision": told.precision,
        "told/low": told.precision_low,
        "told/high": told.precision_high,
    }
