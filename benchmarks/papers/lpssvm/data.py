"""The sets of the paper: three suns, two tables of the UCI repository, and Caltech-101 by photo numbers."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import Dataset, data_folder
from benchmarks.papers.lpssvm.patches import caltech_patches
from tagloom.datasets import load_uci, make_suns

#: Not one of the 101 categories.
BACKGROUND = "BACKGROUND_Google"


def suns(n_samples: int = 170, seed: int = 0) -> Dataset:
    """Make the toy problem once; draws differ in which points are labelled. Columns have mean 0 and deviation 1."""
    X, Y = make_suns(n_samples, random_state=seed)
    centred = X.astype(np.float64) - X.mean(axis=0)
    return Dataset(centred / centred.std(axis=0), Y, tags=("left sun", "right sun", "rays"))


def uci(table: str, scale: bool = True) -> Dataset:
    """Load Ionosphere or Sonar with both classes as tags.

    Parameters
    ----------
    table : {"ionosphere", "sonar"}
        Which.
    scale : bool
        Whether to scale columns to [-1, 1] and leave constant ones out, or take them as they are in the file.
    """
    loaded = load_uci(data_folder(table), table)
    Y = np.hstack([loaded.Y, 1 - loaded.Y]).astype(np.int8)
    X = to_range(loaded.X) if scale else loaded.X.astype(np.float64)
    return Dataset(X, Y, tags=(loaded.tags.names[0], "other"))


def caltech101(every: int = 1) -> Dataset:
    """Load the 101 categories; the one column of X is the number of the photo in `caltech_patches`.

    Parameters
    ----------
    every : int
        Only each so many-th category in the order of the alphabet.
    """
    patches = caltech_patches()
    categories = [name for name in np.unique(patches.categories) if name != BACKGROUND][::every]
    rows = np.flatnonzero(np.isin(patches.categories, categories))
    Y = (patches.categories[rows][:, None] == np.array(categories)).astype(np.int8)
    return Dataset(rows[:, None], Y, tags=tuple(map(str, categories)))


def to_range(X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the columns that vary, scaled to [-1, 1]."""
    values = X.astype(np.float64)
    low, high = values.min(axis=0), values.max(axis=0)
    varies = high > low
    return 2.0 * (values[:, varies] - low[varies]) / (high[varies] - low[varies]) - 1.0
