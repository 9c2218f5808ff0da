"""The verb behind ``tagloom next``: which photos to label next."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.photo_index import load_photos
from tagloom.catalog.project_features import load_rows
from tagloom.catalog.results import Result
from tagloom.exceptions import InvalidInputError, StoreError
from tagloom.graph import NeighborGraph
from tagloom.learning.choice_features import load_choice_features
from tagloom.learning.methods import prepare
from tagloom.learning.photo_choice import NO_PROBABILITIES, Numbers, choose_photos
from tagloom.learning.stored_graph import KeptGraph, graph_of_model, graph_of_photos
from tagloom.learning.suggest import PROBABILITY, open_suggestions
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore

__all__ = ["NextPhotos", "next_photos"]


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
    photos that have these.
    """
    if n < 1:
        raise InvalidInputError(f"n must be at least 1, got {n}")
    photos = load_photos(store)
    is_said = np.isin(photos.ids, store.decisions.current().photo_ids)
    chosen = choose_photos(
        np.where(is_said, 1, -1).astype(np.int8),
        n,
        strategy=strategy,
        numbers=lambda: _numbers(store, photos.ids),
        graph=lambda: graph_of_model(store, photos.ids) or _graph_of_features(store, settings, photos.ids),
        features=lambda: load_choice_features(store, settings, photos.ids),
    )
    rows = chosen.rows.tolist()
    why = f"Unlabelled photos, {chosen.how}."
    if chosen.why_not_default:
        why += f" For a better choice: {chosen.why_not_default}."
    return NextPhotos(
        photos=tuple(photos.paths[row] for row in rows),
        photo_ids=tuple(photos.ids[rows].tolist()),
        strategy=chosen.strategy,
        n_unlabeled=int((~is_said).sum()),
        why=why if rows else "There is no readable photo of which nothing is said.",
    )


def _numbers(store: ProjectStore, photo_ids: NDArray[np.int64]) -> Numbers:
    found = open_suggestions(store)
    if found is None or found.kind != PROBABILITY or not len(found.photo_ids):
        raise StoreError(NO_PROBABILITIES)
    return found.values_of(photo_ids), store.decisions.labels(photo_ids, found.tag_ids)[2]


def _graph_of_features(store: ProjectStore, settings: Settings, photo_ids: NDArray[np.int64]) -> NeighborGraph:
    with store.cache() as cache:
        rows = load_rows(store, cache, settings, compute=False)
    if len(rows.ids) < 2:
        raise StoreError("a single photo has features, so that there are no neighbours; run: tagloom extract")
    X = prepare(rows.X, rows.groups)
    kept = KeptGraph(store, X, settings.n_neighbors, n_threads=settings.n_threads)
    return graph_of_photos(kept.graph, rows.ids, photo_ids)
