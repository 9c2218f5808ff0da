"""Searching by words: what the network sees, tags, file names and dates, together."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tagloom.catalog import PhotoIndex, Result, load_photos, load_rows
from tagloom.core import Floats, rows_of, similar_tags
from tagloom.exceptions import InvalidInputError, PhotosError
from tagloom.features.network import split_words, word_log_odds, word_weights
from tagloom.learning.constants import LEAST_MATCH, LEAST_OF_BEST
from tagloom.learning.names import class_probabilities
from tagloom.learning.suggest import PROBABILITY, open_suggestions
from tagloom.settings import Settings
from tagloom.store import ProjectStore

__all__ = ["FoundPhoto", "WordSearchResult", "search"]

_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?$")
#: What a term is found by, the surest first.
SOURCES = ("tag", "file name", "date", "suggestion", "network")


@dataclass(frozen=True, slots=True)
class Match(Result):
    """How a term of a search is met by a photo.

    Parameters
    ----------
    term : str
        A word, or several that belong together.
    by : {"tag", "file name", "date", "suggestion", "network"}
        What says so.
    value : float
        How surely: 1 for tags, file names and dates, a probability for what is suggested or seen.
    """

    term: str
    by: str
    value: float


@dataclass(frozen=True, slots=True)
class FoundPhoto(Result):
    """A photo that a search found.

    Parameters
    ----------
    photo_id : int
        The photo.
    photo : bytes
        Its path below the folder of photos.
    score : float
        The product of the values of all terms.
    matches : tuple of Match
        How each term is met.
    """

    photo_id: int
    photo: bytes
    score: float
    matches: tuple[Match, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSearchResult(Result):
    """What a search found.

    Parameters
    ----------
    terms : tuple of str
        What was searched for.
    n_found : int
        Photos that meet all terms, more or less surely.
    photos : tuple of FoundPhoto
        The best of them, best first.
    unknown : tuple of str
        Terms that no photo can meet: no tag, file name or date has them, and the network does not know them.
    similar : tuple of str
        Tags that may have been meant by these.
    """

    terms: tuple[str, ...]
    n_found: int
    photos: tuple[FoundPhoto, ...]
    unknown: tuple[str, ...]
    similar: tuple[str, ...]


def search(store: ProjectStore, settings: Settings, query: str, *, n: int = 20) -> WordSearchResult:
    """Find photos by words.

    Parameters
    ----------
    store : ProjectStore
        The project. No photo is opened.
    settings : Settings
        Features.
    query : str
        Words, such as "dog on a beach 2024"; days and months are written 2024-05-31 and 2024-05.
    n : int, default=20
        Photos at most; 0 means all.

    Raises
    ------
    InvalidInputError
        If the query has no word.
    """
    if n < 0:
        raise InvalidInputError(f"n must be at least 0, got {n}")
    terms = split_words(query)
    if not terms:
        raise InvalidInputError(f"expected words to search for, got {query!r}")
    photos = load_photos(store)
    evidence = _Evidence(store, settings, photos)
    values, sources = zip(*(evidence.of(term) for term in terms), strict=True)
    unknown = tuple(term for term, value in zip(terms, values, strict=True) if not value.any())
    product = np.prod(np.stack(values), axis=0)
    least = [max(LEAST_MATCH, LEAST_OF_BEST * value.max(initial=0.0)) for value in values]
    kept = np.flatnonzero((np.stack(values) >= np.array(least)[:, None]).all(axis=0))
    order = kept[np.lexsort((np.argsort(photos.by_path)[kept], -product[kept]))]
    found = tuple(
        FoundPhoto(
            int(photos.ids[row]),
            photos.paths[row],
            float(product[row]),
            tuple(
                Match(term, SOURCES[source[row]], float(value[row]))
                for term, value, source in zip(terms, values, sources, strict=True)
            ),
        )
        for row in (order if n == 0 else order[:n])
    )
    texts = [tag.text for tag in store.tags.in_use()]
    similar = tuple(dict.fromkeys(tag for term in unknown for tag in similar_tags(term, texts)))
    return WordSearchResult(terms=tuple(terms), n_found=len(kept), photos=found, unknown=unknown, similar=similar)


class _Evidence:
    """How surely photos meet terms."""

    def __init__(self, store: ProjectStore, settings: Settings, photos: PhotoIndex) -> None:
        self._photos = photos
        self._tags = [(tag.id, [name.casefold() for name in (tag.text, *tag.aliases)]) for tag in store.tags.all()]
        tag_ids = np.array([tag for tag, _ in self._tags], dtype=np.int64)
        self._Y = store.decisions.labels(photos.ids, tag_ids)[2]
        self._suggested = np.zeros(self._Y.shape)
        found = open_suggestions(store, photos.ids)
        if found is not None and found.kind == PROBABILITY:
            rows, columns = rows_of(found.photo_ids, photos.ids), rows_of(found.tag_ids, tag_ids)
            known = np.ix_(rows >= 0, columns >= 0)
            self._suggested[known] = found.values[np.ix_(rows[rows >= 0], columns[columns >= 0])]
        self._classes: NDArray[np.float32] | None = None
        self._at = np.empty(0, dtype=np.intp)
        try:
            with store.cache() as cache:
                features = load_rows(store, cache, settings, photo_ids=photos.ids, compute=False)
        except PhotosError:  # no features yet: tags, names and dates are there
            return
        self._classes = class_probabilities(features.X, features.groups)
        self._at = rows_of(photos.ids, features.ids)

    def of(self, term: str) -> tuple[Floats, NDArray[np.intp]]:
        """Return for each photo how surely it meets a term, and by which of the sources."""
        n = len(self._photos)
        columns = [place for place, (_, names) in enumerate(self._tags) if any(_has(name, term) for name in names)]
        exact = [place for place in columns if any(name.rpartition("|")[2] == term for name in self._tags[place][1])]
        has = (self._Y[:, columns] == 1).any(axis=1)
        refused = (self._Y[:, exact] == 0).any(axis=1) & ~has
        suggested = np.where(self._Y[:, columns] == 0, 0.0, self._suggested[:, columns]).max(axis=1, initial=0.0)
        seen = np.zeros(n)
        if self._classes is not None and word_weights([term]).known[0]:
            seen[self._at] = expit(word_log_odds(self._classes, [term])[:, 0])
        in_path = self._photos.with_word(term)
        values = np.stack([has, in_path, self._taken(term), suggested, np.where(refused, 0.0, seen)])
        best = np.argmax(values, axis=0)
        return values[best, np.arange(n)], best

    def _taken(self, term: str) -> NDArray[np.bool_]:
        """Return which photos were taken on a day, or in a month or year."""
        if not _DATE.match(term):
            return np.zeros(len(self._photos), dtype=bool)
        moments = np.full(len(self._photos), np.datetime64("NaT"), dtype="datetime64[D]")
        is_known = np.isfinite(self._photos.taken)
        seconds = np.floor(self._photos.taken[is_known]).astype(np.int64)
        moments[is_known] = seconds.astype("datetime64[s]").astype("datetime64[D]")
        unit = ("Y", "M", "D")[term.count("-")]
        try:
            wanted = np.array([term], dtype=f"datetime64[{unit}]")[0]
        except ValueError:  # no such day
            return np.zeros(len(self._photos), dtype=bool)
        return np.asarray(moments.astype(f"datetime64[{unit}]") == wanted)


def _has(name: str, term: str) -> bool:
    """Tell whether a name has a term as whole words, as it is or with a plural s."""
    return re.search(rf"(?<!\w){re.escape(term.removesuffix('s'))}s?(?!\w)", name) is not None


def matched(result: Sequence[Match]) -> str:
    """Return in words how a photo meets the terms of a search."""
    return ", ".join(f"{one.term}: {one.by}" + (f" {one.value:.2f}" if one.value < 1.0 else "") for one in result)
