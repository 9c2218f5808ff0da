"""The verb behind ``tagloom next``: which photos to label next."""

import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import PhotoIndex, Result, load_photos, load_rows
from tagloom.core import UNKNOWN, LabelMatrix, check_generator, rows_of, take_rows
from tagloom.exceptions import InvalidInputError, StoreError, TagloomError
from tagloom.graph import NeighborGraph
from tagloom.learning.constants import CHOICE_ROWS, MOST_FREE, MOST_FREE_PER_PHOTO, N_COLUMNS
from tagloom.learning.kept_graph import KeptGraph, graph_of_model, graph_of_photos
from tagloom.learning.methods import prepare
from tagloom.learning.suggest import PROBABILITY, open_suggestions
from tagloom.settings import Settings
from tagloom.store import ProjectStore
from tagloom.tuning import rank_photos
from tagloom.tuning.queries import QueryStrategy

__all__ = [
    "NO_PROBABILITIES",
    "Features",
    "KeptFeatures",
    "LabelledProbabilities",
    "NextPhotos",
    "choose_photos",
    "load_choice_features",
    "next_photos",
]


NO_PROBABILITIES = "there are no probabilities yet. Label a few dozen photos, then run: tagloom train"
#: Probabilities of shape (photos, tags), NaN where there is none, and what is known of the same pairs.
LabelledProbabilities = tuple[NDArray[np.float32], LabelMatrix]
#: Scaled features of shape (photos, columns), and which photos have any.
Features = tuple[NDArray[np.float32], NDArray[np.bool_]]
#: Needs nothing, and so stands in for a default that cannot be used yet.
_ANY: QueryStrategy = "random"
#: Strategies that look at features, and at nothing else.
_BY_FEATURES = {"representative"}
#: Others that are not named here get probabilities and the graph.
_WITHOUT_PREDICTIONS, _WITHOUT_GRAPH = {"random", "cover"}, {"random", "uncertainty", "change", "rare"}
#: The same photos come in the same order until something is decided.
_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class PhotoChoice:
    """Photos to label next.

    Parameters
    ----------
    rows : ndarray of int
        The most useful first.
    strategy : str
        How they were chosen.
    why_not_default : str
        Why the default strategy could not be used; empty where it was, or where another was asked for.
    """

    rows: NDArray[np.intp]
    strategy: QueryStrategy
    why_not_default: str = ""

    @property
    def how(self) -> str:
        """The end of a sentence about these photos."""
        return "picked at random" if self.strategy == _ANY else f"the most useful first ({self.strategy})"


def default_strategy() -> QueryStrategy:
    """Return the strategy that `tagloom.tuning.rank_photos` has when none is named."""
    found: QueryStrategy = inspect.signature(rank_photos).parameters["strategy"].default
    return found


def choose_photos(
    said: NDArray[np.int8],
    n: int,
    *,
    strategy: str | None = None,
    predictions: Callable[[], LabelledProbabilities],
    graph: Callable[[], Any],
    features: Callable[[], Features],
) -> PhotoChoice:
    """Choose among photos of which nothing is said.

    Parameters
    ----------
    said : ndarray of int8, shape (photos,)
        -1 for photos that may be chosen.
    n : int
        How many at most.
    strategy : str, optional
        A strategy of `tagloom.tuning.rank_photos`; default: its own, and a random choice where that cannot be used.
    predictions : callable
        Returns probabilities and labels; called only for a strategy that looks at them. Photos without probabilities
        are not chosen then. It raises a TagloomError where there are none.
    graph : callable
        Returns the neighbour graph; called only for a strategy that looks at it, and raises likewise.
    features : callable
        Returns scaled features and which photos have any; called only for a strategy that looks at them, and raises
        likewise. Photos without features are then neither chosen nor represented.

    Raises
    ------
    InvalidInputError
        If there is no such strategy.
    TagloomError
        If the strategy was named, and what it needs is not there.
    """
    known = get_args(QueryStrategy)
    if strategy is not None and strategy not in known:
        raise InvalidInputError(f"strategy must be one of {', '.join(known)}, got {strategy!r}")
    if not len(said):
        return PhotoChoice(np.empty(0, dtype=np.intp), _ANY)
    name: Any = default_strategy() if strategy is None else strategy
    why = ""
    try:
        seen = _seen(name, said, predictions, graph, features)
    except TagloomError as error:
        if strategy is not None:
            raise
        name, why = _ANY, str(error)
        seen = _seen(name, said, predictions, graph, features)
    found = rank_photos(seen.P, seen.Y, seen.photos, n, strategy=name, candidates=seen.candidates, random_state=_SEED)
    return PhotoChoice(seen.rows[found], name, why)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """What a strategy looks at: rows of all photos, of each its probabilities and labels, and the graph or features."""

    rows: NDArray[np.intp]
    P: NDArray[Any]
    Y: LabelMatrix
    candidates: NDArray[np.bool_]
    photos: Any = None


def _seen(
    name: str,
    said: NDArray[np.int8],
    predictions: Callable[[], LabelledProbabilities],
    graph: Callable[[], Any],
    features: Callable[[], Features],
) -> _Seen:
    everyone, is_free = np.arange(len(said)), said == UNKNOWN
    if name in _BY_FEATURES:
        return _seen_by_features(said, *features())
    neighbors = None if name in _WITHOUT_GRAPH else graph()
    if name in _WITHOUT_PREDICTIONS:  # one column tells of which photos something is known
        return _Seen(everyone, np.zeros((len(said), 1)), said[:, None], is_free, neighbors)
    P, Y = predictions()
    used = ~np.isnan(P).all(axis=0)
    P, Y = P[:, used], Y[:, used]
    has_predictions = np.asarray(~np.isnan(P).any(axis=1))
    if is_free.any() and not (is_free & has_predictions).any():
        raise StoreError("no unlabelled photo has probabilities yet. Run: tagloom train")
    return _Seen(everyone, np.nan_to_num(P, nan=0.0), Y, is_free & has_predictions, neighbors)


def _seen_by_features(said: NDArray[np.int8], X: NDArray[np.float32], has: NDArray[np.bool_]) -> _Seen:
    is_free = said == UNKNOWN
    if not has.any() or (is_free.any() and not (is_free & has).any()):
        raise StoreError("no photo that may be chosen has features yet; compute them with: tagloom extract")
    rows = np.flatnonzero(has)
    # Most often all rows are of photos that have features, and no second copy of them is needed.
    kept = X if len(rows) == len(X) else X[rows]
    return _Seen(rows, np.zeros((len(rows), 1)), said[rows, None], is_free[rows], kept)


def load_choice_features(
    store: ProjectStore,
    settings: Settings,
    photo_ids: NDArray[np.int64],
    *,
    sampled: bool = False,
    said: NDArray[np.bool_] | None = None,
) -> Features:
    """Return the stored features of photos; none is computed.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken for the reading.
    settings : Settings
        ``descriptors`` names the features.
    photo_ids : ndarray of int64
        The rows wanted, each once.
    sampled : bool, default=False
        Whether these are so many that scales come from them, and no others are read.
    said : ndarray of bool, shape (photos,), optional
        Of which photos something is said. Of more than 20,000 others so many are drawn then; the rest are left out, as
        if they had no features.

    Returns
    -------
    X : ndarray of float32, shape (photos, columns)
        Scaled features in at most `N_COLUMNS` columns, 0 where there are none; or rows of those alone that have any.
    has : ndarray of bool, shape (photos,)
        Which photos have features.

    Raises
    ------
    PhotosError
        If no photo has features.
    StoreBusyError
        If another process is at work in the project.
    """
    if said is not None:
        some = np.union1d(np.flatnonzero(said), drawn(np.flatnonzero(~said), MOST_FREE))
        if len(some) < len(photo_ids):
            X, has_some = load_choice_features(store, settings, photo_ids[some], sampled=True)
            has = np.zeros(len(photo_ids), dtype=bool)
            has[some] = has_some
            return X[has_some], has
    with store.cache() as cache:
        rows = load_rows(store, cache, settings, photo_ids=photo_ids if sampled else None, compute=False)
    found = few_columns(prepare(rows.X, rows.groups))
    at = rows_of(rows.ids, photo_ids)
    return take_rows(found, at, 0.0), at >= 0


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
    for start in range(0, n, CHOICE_ROWS):
        found[start : start + CHOICE_ROWS] = X[start : start + CHOICE_ROWS] @ axes
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


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPhotos(Result):
    """Photos to label next.

    Parameters
    ----------
    photos : tuple of bytes
        Their paths below the folder of photos, the most useful first.
    photo_ids : tuple of int
        The same photos.
    strategy : str
        How they were chosen.
    n_unlabeled : int
        Readable photos of which nothing is said, these among them.
    why : str
        The same in a sentence.
    """

    photos: tuple[bytes, ...]
    photo_ids: tuple[int, ...]
    strategy: str
    n_unlabeled: int
    why: str


def next_photos(store: ProjectStore, settings: Settings, n: int = 20, *, strategy: str | None = None) -> NextPhotos:
    """Return the photos that would teach the most; nothing is learnt, and no photo is opened.

    Parameters
    ----------
    store : ProjectStore
        The project.
    settings : Settings
        Which features, and how many neighbours for a strategy that needs a graph where the model has none.
    n : int, default=20
        How many; fewer where fewer are left.
    strategy : str, optional
        A strategy of `tagloom.tuning.rank_photos`. Default: its own, which needs no model, and a random choice where
        its features are not there or another process is at work.

    Raises
    ------
    InvalidInputError
        If there is no such strategy, or n is not positive.
    StoreError
        If the strategy was named and needs a model, and there is none that tells probabilities; or it needs features,
        and no photo of which nothing is said has any.
    PhotosError
        If the strategy was named and needs features, and no photo has any.

    Notes
    -----
    Strategies that look at probabilities choose among photos that have some, and those that look at features among
    photos that have these. Of more than 20,000 photos of which nothing is said so many are drawn: what is typical of
    these is typical of all.
    """
    if n < 1:
        raise InvalidInputError(f"n must be at least 1, got {n}")
    photos = load_photos(store)
    is_said = np.isin(photos.ids, store.decisions.current().photo_ids)
    seen = np.union1d(np.flatnonzero(is_said), drawn(np.flatnonzero(~is_said), max(MOST_FREE, MOST_FREE_PER_PHOTO * n)))
    ids = photos.ids[seen]
    chosen = choose_photos(
        np.where(is_said[seen], 1, -1).astype(np.int8),
        n,
        strategy=strategy,
        predictions=lambda: _predictions(store, ids),
        graph=lambda: graph_of_model(store, ids) or _graph_of_features(store, settings, ids),
        features=lambda: load_choice_features(store, settings, ids, sampled=len(ids) < len(photos.ids)),
    )
    rows = seen[chosen.rows].tolist()
    why = f"Unlabelled photos, {chosen.how}."
    if chosen.why_not_default:
        why += f" For a better choice: {chosen.why_not_default}."
    return NextPhotos(
        photos=tuple(photos.paths[row] for row in rows),
        photo_ids=tuple(photos.ids[rows].tolist()),
        strategy=chosen.strategy,
        n_unlabeled=int((~is_said).sum()),
        why=why if rows else "Nothing to label: no readable photo is unlabelled.",
    )


def drawn(rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:
    """Return at most so many rows, drawn at random where there are more; the same ones every time."""
    if len(rows) <= most:
        return rows
    return np.sort(check_generator(_SEED).choice(rows, most, replace=False))


def _predictions(store: ProjectStore, photo_ids: NDArray[np.int64]) -> LabelledProbabilities:
    found = open_suggestions(store)
    if found is None or found.kind != PROBABILITY or not len(found.photo_ids):
        raise StoreError(NO_PROBABILITIES)
    return found.values_of(photo_ids), store.decisions.labels(photo_ids, found.tag_ids)[2]


def _graph_of_features(store: ProjectStore, settings: Settings, photo_ids: NDArray[np.int64]) -> NeighborGraph:
    with store.cache() as cache:
        rows = load_rows(store, cache, settings, compute=False)
    if len(rows.ids) < 2:
        raise StoreError("only one photo has features, so it has no neighbours. Run: tagloom extract")
    X = prepare(rows.X, rows.groups)
    kept = KeptGraph(store, X, settings.n_neighbors, n_threads=settings.n_threads)
    return graph_of_photos(kept.graph, rows.ids, photo_ids)
