"""What a topic model has learnt, for people: each topic's tags and its most typical photos."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError

__all__ = ["TopicDescription", "TopicPhoto", "TopicTag", "describe"]


@dataclass(frozen=True, slots=True)
class TopicTag:
    """A tag of a topic.

    Attributes
    ----------
    tag : str
        Its name.
    column : int
        Its column in the label matrix.
    probability : float
        P(tag | topic).
    lift : float
        The same over P(tag): above 1 where the topic has it more often than photos in general.
    """

    tag: str
    column: int
    probability: float
    lift: float


@dataclass(frozen=True, slots=True)
class TopicPhoto:
    """A typical photo of a topic: its row in the training data and P(topic | photo)."""

    row: int
    probability: float


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """One topic.

    Attributes
    ----------
    topic : int
        Its number: the column of ``topics_``.
    share : float
        Share of the training photos that have it, in expectation.
    tags : tuple of TopicTag
        Most probable first.
    photos : tuple of TopicPhoto
        Most typical first.
    """

    topic: int
    share: float
    tags: tuple[TopicTag, ...]
    photos: tuple[TopicPhoto, ...]


def describe(
    topics: NDArray[Any],
    fit: NDArray[Any],
    tag_words: Floats,
    tag_names: Sequence[str] | None,
    n_tags: int,
    n_photos: int,
) -> list[TopicDescription]:
    """Describe topics, the largest first.

    Parameters
    ----------
    topics : array of shape (n, K)
        Posteriors.
    fit : array of shape (n, K)
        How well the photos' words fit the topics; decides between photos of the same probability.
    tag_words : array of shape (K, c)
        P(tag | topic).
    tag_names : sequence of str or None
        Names of the tags; None: "tag 0", "tag 1" …
    n_tags, n_photos : int
        How many tags and photos of a topic at most.
    """
    c = tag_words.shape[1]
    names = [f"tag {column}" for column in range(c)] if tag_names is None else [str(name) for name in tag_names]
    if len(names) != c:
        raise InvalidInputError(f"expected {c} tag names, one for each column of Y, got {len(names)}")
    if n_tags < 0 or n_photos < 0:
        raise InvalidInputError(f"n_tags and n_photos must be at least 0, got {n_tags!r} and {n_photos!r}")
    shares = topics.mean(axis=0, dtype=np.float64)
    overall = np.maximum(shares @ tag_words, np.finfo(np.float64).tiny)
    found = []
    for topic in np.argsort(-shares, kind="stable"):
        best = np.argsort(-tag_words[topic], kind="stable")[:n_tags]
        # Many photos have a probability of nearly 1: among these the words decide.
        order = np.lexsort((-fit[:, topic], -np.round(topics[:, topic], 2)))[:n_photos]
        tags = tuple(
            TopicTag(
                names[column],
                int(column),
                float(tag_words[topic, column]),
                float(tag_words[topic, column] / overall[column]),
            )
            for column in best
        )
        photos = tuple(TopicPhoto(int(row), float(topics[row, topic])) for row in order)
        found.append(TopicDescription(int(topic), float(shares[topic]), tags, photos))
    return found
