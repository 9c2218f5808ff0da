"""Cells: one set, draw and number of labelled photos, with what was exported and how much of it is right."""

import csv
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.clock import measure
from benchmarks.datasets import data_folder, photo_features
from benchmarks.projects import DESCRIPTORS, Collection, made_up
from benchmarks.results import CellResult, CellStore, digest, seed_of
from benchmarks.scenarios.situations import Sizes, Work
from tagloom.features import get_descriptor
from tagloom.learning.suggest import OpenSuggestions
from tagloom.tuning.calibration.calibrated import common_threshold

HERE = Path(__file__).resolve().parent
#: Raised when what a cell computes changes.
VERSION = 3
DRAWS = 5
#: Labelled photos.
LABELS = (3, 10, 15, 20, 30, 40, 50)
#: Photos of a project, drawn from the set; of Corel5K from its test photos, as choices were made on the others.
SETS = {"coco_free": 104, "msrc_v2": 591, "corel5k": 300}
#: For tests: made up, never on the page.
TOY, TOY_PHOTOS = "toy", 120

Key = tuple[str, int, int]


def store_of(folder: Path = HERE) -> CellStore:
    """Return where cells are kept."""
    return CellStore(folder)


def wanted(sets: tuple[str, ...] = ()) -> list[Key]:
    """Return set, draw and number of labelled photos of the cells that are asked for; empty: all."""
    return [(name, draw, n) for name in sets or tuple(SETS) for draw in range(DRAWS) for n in LABELS]


def key_of(cell: Key) -> str:
    """Return the name of a cell in the cache."""
    return digest([*cell, VERSION])


def run_missing(cells: list[Key], where: dict[str, Any], *, fresh: bool = False) -> Iterator[CellResult]:
    """Run what is not there yet, and keep each as soon as it is finished.

    Parameters
    ----------
    cells : list
        Those asked for.
    where : dict
        The environment, for the record.
    fresh : bool
        Run also what is there.
    """
    known = store_of().load()
    todo = [cell for cell in cells if fresh or key_of(cell) not in known]
    for name, members in groupby(todo, key=lambda cell: cell[0]):
        photos = photos_of(name)
        for cell in members:
            result = run_cell(cell, photos, where)
            store_of().put(result)
            yield result


def run_cell(cell: Key, photos: Collection, where: dict[str, Any]) -> CellResult:
    """Import a file with the tags of some photos, train, export, and compare with the truth."""
    name, draw, n = cell
    result = CellResult(key_of(cell), name, "default settings", draw, str(n), {}, environment=where)
    n_photos = SETS.get(name, TOY_PHOTOS)
    rows = np.random.default_rng(seed_of("few", name, draw)).permutation(len(photos.X))[:n_photos]
    with measure() as elapsed, tempfile.TemporaryDirectory() as folder:
        sizes = Sizes(n_photos, n, n, n, 0, 0)
        work = Work(Path(folder), photos.rows(rows), sizes, seed_of("few", name, draw), 1)
        with work.project:
            work.list_tags(np.arange(n))
            work.project.train()
            result.test = figures(work, Path(folder) / "keywords.csv")
    result.cpu_fit = round(elapsed.cpu, 3)
    return result


@lru_cache(maxsize=1)
def photos_of(name: str) -> Collection:
    """Return the photos of a set, with the default features."""
    if name == TOY:
        return made_up(TOY_PHOTOS)
    from tagloom import datasets

    loaded = getattr(datasets, f"load_{name}")(data_folder(name))
    rows = np.asarray(loaded.splits.get("test", np.arange(len(loaded.paths))))
    groups = tuple(group for one in DESCRIPTORS for group in get_descriptor(one).outputs)
    X, found = photo_features(f"few-{name}", [Path(loaded.paths[row]) for row in rows], groups)
    return Collection(X, found, loaded.Y[rows] == 1, DESCRIPTORS, loaded.tags.names)


def figures(work: Work, target: Path) -> dict[str, float]:
    """Return how many suggestions are exported and right, and the same without what holds back those of few labels.

    ``exported`` and ``right`` are of the file that `export` writes. ``before`` and ``before_right`` are suggestions
    above the thresholds of scores, or above the common threshold of probabilities for the same precision whatever the
    number of labelled photos. ``missing`` are tags of unlabelled photos that a labelled photo has.
    """
    work.project.export(target)
    with target.open(encoding="utf-8", newline="") as stream:
        suggested = [(row["file"], row["tag"]) for row in csv.DictReader(stream) if row["source"] == "suggested"]
    found = work.suggestions()
    truth, before = work.truth_of(found), _above_before(found, work.project.settings.precision)
    true = {(f"{row:06d}.jpg", work.tag_name(column)) for row, column in np.argwhere(work.truth).tolist()}
    return {
        "exported": float(len(suggested)),
        "right": float(sum(pair in true for pair in suggested)),
        "before": float(before.sum()),
        "before_right": float(truth[before].sum()),
        "missing": float(truth[found.open].sum()),
        "tags": float(len(found.tags)),
    }


def _above_before(found: OpenSuggestions, precision: float) -> Any:
    limits: Any = found.trained_thresholds
    if found.calibrated:
        limits = common_threshold(found.values, found.open, precision)
    return found.open & (found.values > limits)
