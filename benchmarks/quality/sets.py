"""The collections that quality is measured on, and how photos are drawn from them.

A draw has photos that are seen (a share of them with labels) and new ones that nobody sees before they are scored.
Where a collection comes with a test part, those are the new photos; elsewhere they are drawn too.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset, data_folder, learned_features, load_dataset
from benchmarks.errors import BenchmarkError
from benchmarks.results import seed_of
from tagloom.core.groups import FeatureGroups

Rows = NDArray[np.intp]
SEED = 2026
FRACTIONS = (0.01, 0.02, 0.05, 0.1, 0.25)
#: The default groups, and four other classical ones.
PHOTO_GROUPS = ("deep", "semantic", "color", "moments", "edges", "correlogram", "wavelet", "gist", "words")
#: New photos at most; and the rows of Corel16k that are seen in one draw.
MOST_NEW, COREL16K_SEEN = 1000, 4000
COREL16K_SUBSETS = 5


@dataclass(frozen=True, eq=False)
class Draw:
    """One draw: rows of the collection.

    Parameters
    ----------
    seen : int array
        Photos that a method sees, labelled or not.
    labeled : int array
        Those of them whose labels it sees.
    new : int array
        Photos that it does not see before they are scored.
    """

    seen: Rows
    labeled: Rows
    new: Rows

    @property
    def unlabeled(self) -> Rows:
        """Photos seen without labels."""
        return np.setdiff1d(self.seen, self.labeled)


@dataclass(frozen=True)
class QualitySet:
    """A collection.

    Parameters
    ----------
    name, title : str
        In the command, and on the page.
    load : function
        From the number of a draw to its data; most collections have the same for all.
    n_tags, n_seen : int
        Tags (the most of any draw) and photos seen.
    draws : int
        How many are asked for.
    about : str
        A sentence for the page.
    design : bool
        Whether choices for tagloom's own methods were made on it.
    """

    name: str
    title: str
    load: Callable[[int], Dataset]
    n_tags: int
    n_seen: int
    draws: int
    about: str
    design: bool = False

    @property
    def fractions(self) -> tuple[float, ...]:
        """Those at which enough photos are labelled."""
        least = max(20.0, self.n_tags / 5)
        return tuple(share for share in FRACTIONS if round(share * self.n_seen) >= least)

    def draw(self, fraction: float, draw: int) -> tuple[Dataset, Draw]:
        """Return data and one draw; its labelled photos are among those of the same draw with a larger fraction."""
        data = self.load(draw)
        generator = np.random.default_rng(seed_of("quality", self.name, draw, SEED))
        seen, new = self._parts(data, generator)
        order = generator.permutation(seen)
        return data, Draw(seen, np.sort(order[: round(fraction * len(seen))]), new)

    def _parts(self, data: Dataset, generator: np.random.Generator) -> tuple[Rows, Rows]:
        rows = np.arange(len(data.Y))
        if data.test_rows is not None:
            return rows[~data.test_rows], rows[data.test_rows]
        order = generator.permutation(rows)
        n_new = min(len(rows) - self.n_seen, MOST_NEW)
        return np.sort(order[n_new : n_new + self.n_seen]), np.sort(order[:n_new])


def _load_corel5k(_draw: int) -> Dataset:
    return _photos("corel5k")


def _load_msrc_v2(_draw: int) -> Dataset:
    return _photos("msrc_v2")


def _load_coco_free(_draw: int) -> Dataset:
    return _photos("coco_free")


@lru_cache(maxsize=1)
def _photos(name: str) -> Dataset:
    """Return a collection of photos with deep and classical groups, as extracted; words are those of seen photos."""
    from tagloom import datasets

    folder = data_folder(name)
    loaded = getattr(datasets, f"load_{name}")(folder)
    names = [Path(path).relative_to(folder).as_posix().encode() for path in loaded.paths]
    test = None
    if "test" in loaded.splits:
        test = np.isin(np.arange(len(names)), loaded.splits["test"])
    seen = names if test is None else [one for one, is_new in zip(names, test, strict=True) if not is_new]
    X, groups = learned_features(name, folder, names, seen, PHOTO_GROUPS)
    return Dataset(X, loaded.Y, groups, test, loaded.tags.names)


def _load_corel16k(draw: int) -> Dataset:
    data = load_dataset("corel16k", subset=1 + draw % COREL16K_SUBSETS)
    counts: Any = data.X
    return Dataset(counts.toarray(), data.Y, data.groups, tags=data.tags)


def _load_scene(_draw: int) -> Dataset:
    from tagloom.datasets import load_scene

    loaded = load_scene(data_folder("scene"))
    assert loaded.X is not None
    return Dataset(loaded.X, loaded.Y, loaded.groups, tags=loaded.tags.names)


def _load_toy(_draw: int) -> Dataset:
    data = load_dataset("toy", n_rows=240, n_tags=5, n_columns=8)
    groups = FeatureGroups(["deep", "color"], [5, 3])
    return Dataset(np.abs(data.X).astype(np.float32), data.Y, groups)


SETS: dict[str, QualitySet] = {
    item.name: item
    for item in (
        QualitySet(
            "corel5k",
            "Corel5K",
            _load_corel5k,
            260,
            4500,
            5,
            "4,500 training photos seen, its 499 test photos new; 260 words; deep and classical groups",
            design=True,
        ),
        QualitySet("msrc_v2", "MSRC v2", _load_msrc_v2, 23, 493, 10, "591 photos, 23 classes; the same groups"),
        QualitySet(
            "coco_free", "COCO-free", _load_coco_free, 80, 87, 10, "104 photos, 80 classes; the same groups; tiny"
        ),
        QualitySet(
            "corel16k",
            "Corel16k blobs",
            _load_corel16k,
            174,
            COREL16K_SEEN,
            10,
            "500 published blob words, 144 to 174 tags; a draw takes 4,000 rows seen and 1,000 new of one of the "
            "five subsets at hand, in turn",
        ),
        QualitySet("scene", "scene", _load_scene, 6, 2006, 10, "2,407 rows of 294 colour moments, 6 tags"),
    )
}
#: For tests: made up, never on the page.
TOY = QualitySet("toy", "toy", _load_toy, 5, 200, 2, "made up")


def find_set(name: str) -> QualitySet:
    """Return a collection by name."""
    if name == TOY.name:
        return TOY
    if name not in SETS:
        raise BenchmarkError(f"no set {name!r}; there are {', '.join(SETS)}")
    return SETS[name]
