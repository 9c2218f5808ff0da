"""Which photos to label next: the choice that the review page and ``tagloom next`` share."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.exceptions import InvalidInputError, StoreError, TagloomError
from tagloom.tuning.queries import QueryStrategy, rank_photos

__all__ = ["NO_PROBABILITIES", "Choice", "Features", "Numbers", "choose_photos", "default_strategy"]

NO_PROBABILITIES = "there are no probabilities yet; label some dozen photos, then train: tagloom train"
#: Probabilities of shape (photos, tags), NaN where there is none, and what is known of the same pairs.
Numbers = tuple[NDArray[np.float32], LabelMatrix]
#: Scaled features of shape (photos, columns), and which photos have any.
Features = tuple[NDArray[np.float32], NDArray[np.bool_]]
#: Needs nothing, and so stands in for a default that cannot be used yet.
_ANY: QueryStrategy = "random"
#: Strategies that look at features, and at nothing else.
_BY_FEATURES = {"representative"}
#: Others that are not named here get probabilities and the graph.
_WITHOUT_NUMBERS, _WITHOUT_GRAPH = {"random", "cover"}, {"random", "uncertainty", "change", "rare"}
#: The same photos come in the same order until something is decided.
_SEED = 0


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
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
    numbers: Callable[[], Numbers],
    graph: Callable[[], Any],
    features: Callable[[], Features],
) -> Choice:
    """Choose among photos of which nothing is said.

    Parameters
    ----------
    said : ndarray of int8, shape (photos,)
        -1 for photos that may be chosen.
    n : int
        How many at most.
    strategy : str, optional
        A strategy of `tagloom.tuning.rank_photos`; default: its own, and a random choice where that cannot be used.
    numbers : callable
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
        return Choice(np.empty(0, dtype=np.intp), _ANY)
    name: Any = default_strategy() if strategy is None else strategy
    why = ""
    try:
        seen = _seen(name, said, numbers, graph, features)
    except TagloomError as error:
        if strategy is not None:
            raise
        name, why = _ANY, str(error)
        seen = _seen(name, said, numbers, graph, features)
    found = rank_photos(seen.P, seen.Y, seen.photos, n, strategy=name, candidates=seen.candidates, random_state=_SEED)
    return Choice(seen.rows[found], name, why)


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
    numbers: Callable[[], Numbers],
    graph: Callable[[], Any],
    features: Callable[[], Features],
) -> _Seen:
    everyone, is_free = np.arange(len(said)), said == UNKNOWN
    if name in _BY_FEATURES:
        return _seen_by_features(said, *features())
    neighbors = None if name in _WITHOUT_GRAPH else graph()
    if name in _WITHOUT_NUMBERS:  # one column tells of which photos something is known
        return _Seen(everyone, np.zeros((len(said), 1)), said[:, None], is_free, neighbors)
    P, Y = numbers()
    used = ~np.isnan(P).all(axis=0)
    P, Y = P[:, used], Y[:, used]
    has_numbers = np.asarray(~np.isnan(P).any(axis=1))
    if is_free.any() and not (is_free & has_numbers).any():
        raise StoreError(
            "no photo of which nothing is said has probabilities yet; bring them up to date: tagloom train"
        )
    return _Seen(everyone, np.nan_to_num(P, nan=0.0), Y, is_free & has_numbers, neighbors)


def _seen_by_features(said: NDArray[np.int8], X: NDArray[np.float32], has: NDArray[np.bool_]) -> _Seen:
    is_free = said == UNKNOWN
    if not has.any() or (is_free.any() and not (is_free & has).any()):
        raise StoreError("no photo that may be chosen has features yet; compute them with: tagloom extract")
    rows = np.flatnonzero(has)
    # Most often all photos have features, and no second copy of them is needed.
    kept = X if len(rows) == len(X) else X[rows]
    return _Seen(rows, np.zeros((len(rows), 1)), said[rows, None], is_free[rows], kept)
