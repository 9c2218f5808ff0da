"""Which photos the review page shows, and in which order."""

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tagloom.core import Bools, Ids, Singles
from tagloom.exceptions import InvalidInputError
from tagloom.features.network import SMALL_WORDS
from tagloom.review.state import ReviewState

__all__ = ["LookAlikes", "PhotoQuery", "Ranking", "Sort", "TagState", "day_seconds", "moment_text", "rank"]

Sort = Literal["path", "score", "uncertainty", "time", "cluster"]
TagState = Literal["any", "has", "suggested", "rejected", "unreviewed", "conflicts"]
_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PhotoQuery:
    """What is asked for.

    Parameters
    ----------
    sort : {"path", "score", "uncertainty", "time", "cluster"}, default="path"
        The order. "score" and "uncertainty" are about ``tag``, or about the best suggestion and about all tags. The
        "score" of conflicts is how clearly the model disagrees.
    tag : int, optional
        The tag that ``state`` and ``sort`` are about; without it they are about any tag.
    state : {"any", "has", "suggested", "rejected", "unreviewed", "conflicts"}, default="any"
        Which photos; "conflicts" are those with a label that the model clearly disagrees with.
    folder : str, optional
        Photos in or below a folder.
    since, until : str, optional
        Days (YYYY-MM-DD) between which photos were taken, both included.
    words : tuple of str
        Each must be in the path, in a tag that the photo has or is suggested, or in what the network sees; the surest
        come first where ``sort`` is "path". Small words such as "on" count where there are no others.
    similar : int, optional
        A photo; those most like it come first, whatever ``sort`` says.
    stacks : bool, default=False
        Whether of near-duplicates and bursts only the first in order is returned.
    """

    sort: Sort = "path"
    tag: int | None = None
    state: TagState = "any"
    folder: str | None = None
    since: str | None = None
    until: str | None = None
    words: tuple[str, ...] = ()
    similar: int | None = None
    stacks: bool = False

    def __post_init__(self) -> None:
        for name, value, known in (("sort", self.sort, get_args(Sort)), ("state", self.state, get_args(TagState))):
            if value not in known:
                raise InvalidInputError(f"{name} must be one of {', '.join(known)}, got {value!r}")


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """Photos in order, and of a tag the model's numbers (NaN where there is none)."""

    ids: NDArray[np.int32]
    values: Singles | None
    version: int


@dataclass(frozen=True, slots=True, eq=False)
class LookAlikes:
    """What is known of how photos look; each is None until it is worked out.

    Parameters
    ----------
    cosines : callable, optional
        Of a row: its similarity to all photos.
    clusters : ndarray of int, optional
        Of each photo the group of those that look alike.
    stacks : ndarray of int, optional
        Of each photo its stack, -1 for none.
    seen : callable, optional
        Of a word: how likely the network sees it in each photo.
    """

    cosines: Callable[[int], Singles] | None = None
    clusters: Ids | None = None
    stacks: Ids | None = None
    seen: Callable[[str], Singles] | None = None


#: Probability from which on a photo is found by what the network sees: low, as the surest come first.
LEAST_SEEN = 0.1


def rank(state: ReviewState, query: PhotoQuery, looks: LookAlikes, texts: Mapping[int, str]) -> Ranking:
    """Return the photos that a query means, in its order.

    Parameters
    ----------
    state : ReviewState
        Labels and numbers.
    query : PhotoQuery
        What is asked for.
    looks : LookAlikes
        Similarity, clusters and stacks.
    texts : mapping of int to str
        Of each tag all its names, folded, to search in.
    """
    with state.lock:
        row = None if query.tag is None else state.place(query.tag)
        matches = _matches(state, query, looks, texts)
        chosen = _chosen(state, query, row) & (matches >= LEAST_SEEN).all(axis=0)
        order = _order(state, query, row, looks)
        if len(matches) and query.sort == "path" and query.similar is None:
            order = _descending(matches.prod(axis=0), state.photos.by_path)
        order = order[chosen[order]]
        if query.stacks and looks.stacks is not None:
            order = order[_first_of_stacks(looks.stacks[order])]
        values = None if row is None else state.values[row, order]
        return Ranking(state.photos.ids[order].astype(np.int32), values, state.version)


def _matches(state: ReviewState, query: PhotoQuery, looks: LookAlikes, texts: Mapping[int, str]) -> Singles:
    """Return how surely each photo meets each word, shape (words, photos)."""
    content = [word for word in query.words if word.casefold() not in SMALL_WORDS]
    found = []
    for word in content or query.words:
        matches = (state.photos.with_word(word) | _tagged(state, word, texts)).astype(np.float32)
        found.append(matches if looks.seen is None else np.maximum(matches, looks.seen(word)))
    return np.stack(found) if found else np.empty((0, len(state.photos)), dtype=np.float32)


def _chosen(state: ReviewState, query: PhotoQuery, row: int | None) -> Bools:
    chosen = _in_state(state, query.state, row)
    if query.folder is not None:
        chosen = chosen & state.photos.in_folder(query.folder)
    if query.since is not None:
        chosen = chosen & (state.photos.taken >= day_seconds(query.since))
    if query.until is not None:
        chosen = chosen & (state.photos.taken < day_seconds(query.until) + _DAY)
    return chosen


def _in_state(state: ReviewState, wanted: TagState, row: int | None) -> Bools:
    if wanted == "any":
        return np.ones(len(state.photos), dtype=bool)
    if wanted == "conflicts":
        return np.asarray(state.label_doubt(row) > 0)
    if row is None:
        about_any: dict[str, Callable[[], Bools]] = {
            "has": lambda: (state.labels == 1).any(axis=0),
            "rejected": lambda: (state.labels == 0).any(axis=0),
            "unreviewed": lambda: ~state.reviewed,
            "suggested": lambda: np.asarray(state.suggested().any(axis=0)),
        }
        return about_any[wanted]()
    if wanted == "suggested":
        return state.suggested(row)
    flags: Bools = state.labels[row] == {"has": 1, "rejected": 0, "unreviewed": -1}[wanted]
    return flags


def _tagged(state: ReviewState, word: str, texts: Mapping[int, str]) -> Bools:
    folded = word.casefold()
    rows = state.places([tag for tag, text in texts.items() if folded in text])
    found = np.zeros(len(state.photos), dtype=bool)
    for row in rows:
        found |= (state.labels[row] == 1) | state.suggested(row)
    return found


def _order(state: ReviewState, query: PhotoQuery, row: int | None, looks: LookAlikes) -> Ids:
    """Return all rows of photos in order; what is equal stays in the order of paths."""
    by_path = state.photos.by_path
    if query.similar is not None:
        if looks.cosines is None:
            raise InvalidInputError("Similar photos need features. Wait a moment, or run: tagloom extract")
        return _descending(looks.cosines(state.photos.row(query.similar)), by_path)
    if query.sort == "score" and query.state == "conflicts":
        return _descending(state.label_doubt(row), by_path)
    if query.sort == "score":
        return _descending(state.best if row is None else state.values[row], by_path)
    if query.sort == "uncertainty":
        return _descending(state.doubt if row is None else state.tag_doubt(row), by_path)
    if query.sort == "time":
        return by_path[np.argsort(state.photos.taken[by_path], kind="stable")]
    if query.sort == "cluster" and looks.clusters is not None:
        return by_path[np.argsort(looks.clusters[by_path], kind="stable")]
    return by_path


def _descending(figures: Singles, by_path: Ids) -> Ids:
    """Return rows by falling figures, NaN last."""
    return by_path[np.argsort(-figures[by_path], kind="stable")]


def _first_of_stacks(stacks: Ids) -> Bools:
    """Return which places are the first of their stack, or in none."""
    first = np.zeros(len(stacks), dtype=bool)
    first[np.unique(stacks, return_index=True)[1]] = True
    return first | (stacks < 0)


def day_seconds(day: str) -> float:
    """Return the seconds since 1970 at which a day begins, by the camera's clock."""
    try:
        date = datetime.date.fromisoformat(day)
    except ValueError:
        raise InvalidInputError(f"expected a day such as 2024-05-31, got {day!r}") from None
    return (date - datetime.date(1970, 1, 1)).days * _DAY


def moment_text(seconds: float) -> str | None:
    """Return a time as ISO 8601 without a zone, as the camera's clock had it; None where it is not known."""
    if not np.isfinite(seconds):
        return None
    try:
        return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=float(seconds))).isoformat()
    except OverflowError:
        return None
