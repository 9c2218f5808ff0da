"""Features for choosing photos to label next: scaled as for learning, in few columns, for given photos."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.photo_index import PhotoIndex
from tagloom.catalog.project_features import load_rows
from tagloom.core.seeds import check_generator
from tagloom.learning.methods import prepare
from tagloom.learning.photo_choice import Features
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore

__all__ = ["N_COLUMNS", "KeptFeatures", "few_columns", "load_choice_features"]

#: Columns at most: 100,000 photos then take 100 MB.
N_COLUMNS = 256
#: The same photos are chosen on the page and on the command line, today and tomorrow.
_SEED = 0
_ROWS_AT_ONCE = 4096


def load_choice_features(store: ProjectStore, settings: Settings, photo_ids: NDArray[np.int64]) -> Features:
    """Return the stored features of photos; none is computed.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken for the reading.
    settings : Settings
        ``descriptors`` names the features.
    photo_ids : ndarray of int64
        The rows wanted, each once.

    Returns
    -------
    X : ndarray of float32, shape (photos, columns)
        Scaled features in at most `N_COLUMNS` columns, 0 where there are none.
    has : ndarray of bool, shape (photos,)
        Which photos have features.

    Raises
    ------
    PhotosError
        If no photo has features.
    StoreBusyError
        If another process is at work in the project.
    """
    with store.cache() as cache:
        rows = load_rows(store, cache, settings, compute=False)
    found = few_columns(prepare(rows.X, rows.groups))
    _, wanted, there = np.intersect1d(photo_ids, rows.ids, assume_unique=True, return_indices=True)
    X = np.zeros((len(photo_ids), found.shape[1]), dtype=np.float32)
    X[wanted] = found[there]
    has = np.zeros(len(photo_ids), dtype=bool)
    has[wanted] = True
    return X, has


def few_columns(X: NDArray[Any], n_columns: int = N_COLUMNS) -> NDArray[np.float32]:
    """Return rows with about the same distances and directions in fewer columns; few enough stay as they are.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    n_columns : int, default=256
        Columns at most.

    Notes
    -----
    A Gaussian random projection, always the same for the same d. It is linear, so that the mean of the rows becomes the
    mean of the result. The cosine c of two directions from it has an error of mean about 0 and deviation about
    ``(1 - c**2)/sqrt(n_columns)``: what is alike stays so.
    """
    n, d = X.shape
    if d <= n_columns:
        return X.astype(np.float32, copy=False)
    axes = check_generator(_SEED).standard_normal((d, n_columns), dtype=np.float32)
    axes /= np.float32(np.sqrt(n_columns))
    found = np.empty((n, n_columns), dtype=np.float32)
    for start in range(0, n, _ROWS_AT_ONCE):
        found[start : start + _ROWS_AT_ONCE] = X[start : start + _ROWS_AT_ONCE] @ axes
    return found


class KeptFeatures:
    """Features that are made when first asked for, and kept as long as the photos are the same.

    Threads may share it: one makes them, and the others wait for it.

    Parameters
    ----------
    make : callable
        Returns the features of photos. What it raises is passed on, and the next call tries again.
    """

    def __init__(self, make: Callable[[PhotoIndex], Features]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._kept: tuple[PhotoIndex, Features] | None = None

    def of(self, photos: PhotoIndex) -> Features:
        """Return the features of photos."""
        with self._lock:
            if self._kept is None or not _is_same(*self._kept, photos):
                self._kept = None  # before others are made: two would be held at once
                self._kept = photos, self._make(photos)
            return self._kept[1]


def _is_same(kept: PhotoIndex, features: Features, photos: PhotoIndex) -> bool:
    """Tell whether features are still those of the photos."""
    if kept is photos:
        return True
    # Photos that were taken in anew may have got the features that they lacked.
    is_complete = bool(features[1].all())
    return is_complete and np.array_equal(kept.ids, photos.ids) and kept.hashes == photos.hashes
