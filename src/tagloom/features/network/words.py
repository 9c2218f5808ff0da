"""Weights of tag names over the classes of the bundled network: what a word says before any photo is labelled.

The table beside this module was built by ``tools/build_words.py``; docs/reference/word-table.md tells from what.
"""

import functools
import importlib.resources
import io
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logit

from tagloom.core import Floats, Keyword
from tagloom.exceptions import InvalidInputError
from tagloom.features.network.efficientnet import N_CLASSES

__all__ = [
    "SMALL_WORDS",
    "WordWeights",
    "class_names",
    "described_scores",
    "seen_classes",
    "split_words",
    "word_log_odds",
    "word_scores",
    "word_weights",
]

#: What the other words of a phrase weigh beside its last, which tells what the thing is.
OTHER_WORDS = 0.3
#: Log-odds that a photo has a tag: a constant, and what the log-odds of its score, the logarithm of how many classes
#: the tag's weights are spread over, and their product add. Fitted by ``python -m benchmarks.words fit`` to Corel5K's
#: training photos and to Caltech-101, the positives of each with the same weight.
SCORE_TO_LOG_ODDS = (0.152, 1.460, -0.465, -0.021)
#: Photos that log-odds are worked out for at once, to hold memory down.
BLOCK_ROWS = 1024
#: Scores are kept this far from 0 and 1.
LEAST_SCORE = 0.002
#: Words between those of a phrase that say nothing by themselves.
SMALL_WORDS = frozenset(
    ["a", "an", "and", "at", "by", "for", "from", "in", "my", "of", "on", "or", "our", "the", "to", "with"]
)
_SEPARATED = re.compile(r"[^\w]+|_+")
_POSSESSIVE = re.compile(r"['’]s\b")


class WordWeights(NamedTuple):
    """Weights of tags.

    Attributes
    ----------
    weights : CSR array of float32, shape (n_tags, 1000)
        Not negative, the largest of a tag 1; a tag that has none has an empty row.
    known : ndarray of bool, shape (n_tags,)
        Which tags have weights.
    """

    weights: sparse.csr_array
    known: NDArray[np.bool_]


def word_weights(tags: Sequence[str]) -> WordWeights:
    """Return weights of tags over the classes of the bundled network.

    Parameters
    ----------
    tags : sequence of str
        Names of tags in English, in any case, singular or plural, of one word or several. Levels have ``|`` between
        them: the last one counts, or the next one up where it is not known.

    Notes
    -----
    A phrase that is not in the table has the weights of its last word and, in part, of the others, if all of its words
    are known. Names of persons and places, years and words that are not in the table have no weights.

    Examples
    --------
    >>> found = word_weights(["Zebras", "Anna", "2019"])
    >>> found.known.tolist()
    [True, False, False]
    >>> class_names()[int(found.weights[[0]].toarray().argmax())]
    'zebra'
    """
    if isinstance(tags, str):
        raise InvalidInputError(f"tags must be a sequence of names, got the one text {tags!r}")
    table = _table()
    rows = [sparse.csr_array(_row_of_tag(str(tag), table)[None]) for tag in tags]
    rows.append(sparse.csr_array((0, N_CLASSES), dtype=np.float32))
    weights = sparse.csr_array(sparse.vstack(rows, format="csr"))
    return WordWeights(weights, np.diff(weights.indptr) > 0)


def word_scores(probabilities: NDArray[Any], tags: Sequence[str]) -> Floats:
    """Return how well photos fit the names of tags: ``√p · w``, not calibrated.

    Parameters
    ----------
    probabilities : array of shape (n, 1000)
        Of the classes, the feature group ``semantic``.
    tags : sequence of str
        Names of tags, see `word_weights`.

    Returns
    -------
    ndarray of shape (n, n_tags)
        Scores that rank photos of a tag; 0 where a tag has no weights. Weights of a tag are scaled to add up to 1 when
        squared.
    """
    if probabilities.ndim != 2 or probabilities.shape[1] != N_CLASSES:
        raise InvalidInputError(f"expected probabilities of shape (n, {N_CLASSES}), got {probabilities.shape}")
    weights = word_weights(tags).weights
    lengths = np.sqrt(weights.power(2).sum(axis=1))
    scaled = sparse.diags_array(1.0 / np.maximum(lengths, 1e-12)) @ weights
    roots = np.sqrt(np.maximum(probabilities, 0.0))
    return np.asarray((scaled @ roots.T).T, dtype=np.float64)


def word_log_odds(probabilities: NDArray[Any], tags: Sequence[str]) -> NDArray[np.float32]:
    """Return the log-odds that photos have tags, by the names of the tags alone.

    Parameters
    ----------
    probabilities : array of shape (n, 1000)
        Of the classes, the feature group ``semantic``.
    tags : sequence of str
        Names of tags, see `word_weights`.

    Returns
    -------
    ndarray of float32, shape (n, n_tags)
        NaN where a tag has no weights.

    Notes
    -----
    Fitted to two public collections; docs/benchmarks/words.md tells how right they are on others. A word whose weights
    are spread over many classes has to score higher than one that is a class.
    """
    constant, *slopes = SCORE_TO_LOG_ODDS
    known = word_weights(tags).known
    found = np.full((len(probabilities), len(tags)), np.nan, dtype=np.float32)
    for start in range(0, len(found), BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        log_odds = constant + described_scores(probabilities[block], tags) @ np.array(slopes)
        found[block, known] = log_odds[:, known]
    return found


def described_scores(probabilities: NDArray[Any], tags: Sequence[str]) -> Floats:
    """Return what log-odds are linear in, shape (n, n_tags, 3): see `SCORE_TO_LOG_ODDS`.

    Parameters
    ----------
    probabilities, tags
        See `word_log_odds`.
    """
    scores = logit(np.clip(word_scores(probabilities, tags), LEAST_SCORE, 1.0 - LEAST_SCORE))
    weights = word_weights(tags).weights
    n_classes = np.square(weights.sum(axis=1)) / np.maximum(weights.power(2).sum(axis=1), 1e-12)
    spread = np.broadcast_to(np.log(np.maximum(n_classes, 1.0)), scores.shape)
    return np.stack([scores, spread, scores * spread], axis=-1)


def seen_classes(probabilities: NDArray[Any], tag: str, n: int = 3) -> list[tuple[str, float]]:
    """Return the classes in one photo that speak most for a tag's name, with their probabilities.

    Parameters
    ----------
    probabilities : array of shape (1000,)
        Of the classes.
    tag : str
        The tag's name.
    n : int, default=3
        Classes at most; those that add less than a tenth of what the first adds are left out.
    """
    weights = word_weights([tag]).weights.toarray()[0]
    added = weights * np.sqrt(np.maximum(probabilities, 0.0))
    order = np.argsort(-added, kind="stable")[:n]
    least = 0.1 * max(float(added.max()), 1e-9)
    return [(class_names()[place], float(probabilities[place])) for place in order if added[place] > least]


def split_words(text: str, *, longest: int = 3) -> list[str]:
    """Return the words of a text in small letters, those that the table has as one together; small words are left out.

    Parameters
    ----------
    text : str
        Such as "a dog beside a traffic light".
    longest : int, default=3
        Words that may be one.

    Examples
    --------
    >>> split_words("a dog with an Ice Cream 2024-05")
    ['dog', 'ice cream', '2024-05']
    """
    table, found = _table(), list[str]()
    words = [word for word in re.findall(r"[\w-]+", unicodedata.normalize("NFKC", text).casefold()) if word != "-"]
    place = 0
    while place < len(words):
        for n in range(min(longest, len(words) - place), 0, -1):
            part = words[place : place + n]
            if n == 1 or _place(part, table) is not None:
                found.append(" ".join(part))
                place += n
                break
    content = [word for word in found if word not in SMALL_WORDS]
    return content or found


def class_names() -> tuple[str, ...]:
    """Return the names of the bundled network's 1,000 classes."""
    return _table().classes


@dataclass(frozen=True, eq=False)
class _Table:
    places: dict[str, int]
    indptr: NDArray[np.uint32]
    indices: NDArray[np.uint16]
    weights: NDArray[np.uint8]
    classes: tuple[str, ...]
    plurals: dict[str, str]
    adjectives: frozenset[str]

    def row(self, place: int) -> NDArray[np.float32]:
        found = np.zeros(N_CLASSES, dtype=np.float32)
        part = slice(int(self.indptr[place]), int(self.indptr[place + 1]))
        found[self.indices[part]] = self.weights[part] / np.float32(255.0)
        return found


@functools.cache
def _table() -> _Table:
    data = importlib.resources.files("tagloom.features.network").joinpath("words.npz").read_bytes()
    with np.load(io.BytesIO(data), allow_pickle=False) as stored:
        words, plurals, classes = (_lines(stored[name]) for name in ("words", "plurals", "classes"))
        return _Table(
            {word: place for place, word in enumerate(words)},
            stored["indptr"],
            stored["indices"],
            stored["weights"],
            tuple(classes),
            dict(line.split("\t") for line in plurals),
            frozenset(_lines(stored["adjectives"])),
        )


def _lines(text: NDArray[np.uint8]) -> list[str]:
    return text.tobytes().decode("ascii").split("\n")


def _row_of_tag(tag: str, table: _Table) -> NDArray[np.float32]:
    try:
        levels = Keyword.parse(tag).path
    except InvalidInputError:
        levels = (tag,)
    for level in reversed(levels):
        row = _row_of_level(level, table)
        if row is not None:
            return row
    return np.zeros(N_CLASSES, dtype=np.float32)


def _row_of_level(level: str, table: _Table) -> NDArray[np.float32] | None:
    folded = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", level).casefold())
    words = [word for word in _SEPARATED.split(folded) if word]
    if not words or any(not word.isalpha() for word in words):
        return None
    place = _place(words, table)
    if place is not None:
        return table.row(place)
    words = [word for word in words if word not in SMALL_WORDS]
    places = [_place([word], table) for word in words]
    if not words or places[-1] is None:
        return None
    if any(place is None and word not in table.adjectives for word, place in zip(words, places, strict=True)):
        return None
    row = table.row(places[-1])
    for other in places[:-1]:
        if other is not None:
            row += OTHER_WORDS * table.row(other)
    return np.asarray(row / row.max())


def _place(words: list[str], table: _Table) -> int | None:
    """Return where a word, or a phrase with any gaps, is in the table; as it is or in the singular."""
    for last in _singulars(words[-1], table):
        for gap in (" ", "-", ""):
            found = table.places.get(gap.join([*words[:-1], last]))
            if found is not None:
                return found
    return None


def _singulars(word: str, table: _Table) -> Iterator[str]:
    yield word
    if word in table.plurals:
        yield table.plurals[word]
    for ending, singular in (("ies", "y"), ("men", "man"), ("s", ""), ("es", ""), ("ves", "f"), ("ves", "fe")):
        if word.endswith(ending) and len(word) > len(ending) + 1 and not word.endswith("ss"):
            yield word[: -len(ending)] + singular
