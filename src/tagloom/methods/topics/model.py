"""Words of photos and the topics they are drawn from: the generative part of the topic models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core.labels import LabelMatrix
from tagloom.core.typing import Floats, Reals
from tagloom.exceptions import InvalidInputError

__all__ = ["TopicParameters", "WordCounts", "check_counts", "random_start"]


@dataclass(frozen=True)
class TopicParameters:
    """α, β and φ as logarithms.

    Attributes
    ----------
    log_prior : ndarray of shape (K,)
        log α.
    log_words : ndarray of shape (d + c, K)
        log β above log φ: the visual words first, then the tags.
    n_visual : int
        d.
    """

    log_prior: Floats
    log_words: Floats
    n_visual: int

    @property
    def n_topics(self) -> int:
        """K."""
        return self.log_prior.size

    @property
    def prior(self) -> Floats:
        """α."""
        return np.exp(self.log_prior)

    @property
    def visual_words(self) -> Floats:
        """β, one row for each topic."""
        return np.exp(self.log_words[: self.n_visual].T)

    @property
    def tag_words(self) -> Floats:
        """φ, one row for each topic."""
        return np.exp(self.log_words[self.n_visual :].T)

    def log_density(self, pseudo_count: float) -> float:
        """Return the logarithm of the Dirichlet prior's density, but for a constant."""
        return pseudo_count * float(self.log_prior.sum() + self.log_words.sum())

    def keep(self, topics: NDArray[np.bool_]) -> "TopicParameters":
        """Return the parameters of some topics."""
        log_prior = self.log_prior[topics]
        log_prior = log_prior - np.log(np.exp(log_prior).sum())
        return TopicParameters(log_prior, self.log_words[:, topics], self.n_visual)


class WordCounts:
    """The visual words and tags of photos, side by side, as the products of an EM iteration need them.

    A tag is a word where it is known to be there; absent and unknown tags are no words.

    Parameters
    ----------
    visual : CSR of shape (n, d)
        Counts of visual words.
    Y : label matrix of shape (n, c)
        Tags.
    """

    def __init__(self, visual: Any, Y: LabelMatrix) -> None:
        self.dtype = visual.dtype
        self.n_visual, self.n_tags = visual.shape[1], Y.shape[1]
        tags = sparse.csr_array((Y == 1).astype(self.dtype))
        self.words = sparse.csr_array(sparse.hstack([visual, tags], format="csr"))
        self.by_word = sparse.csr_array(self.words.T)
        self.totals: Floats = np.asarray(self.words.sum(axis=0, dtype=np.float64)).ravel()

    @property
    def n_photos(self) -> int:
        """Number of photos."""
        return int(self.words.shape[0])

    def log_joint(self, parameters: TopicParameters) -> tuple[Reals, float]:
        """Return the log-joint of each photo and topic, Eq. (9), and a constant that belongs to it.

        What a word says of all topics alike is left out of the matrix, which keeps it small enough for float32; the
        constant is the sum over photos of what was left out.
        """
        shift = parameters.log_words.mean(axis=1)
        joint = self.words @ (parameters.log_words - shift[:, None]).astype(self.dtype)
        middle = float(parameters.log_prior.mean())
        joint += (parameters.log_prior - middle).astype(self.dtype)
        return joint, float(self.totals @ shift) + self.n_photos * middle

    def maximise(self, p: Reals, pseudo_count: float) -> TopicParameters:
        """Return the best parameters for posteriors: Eq. (11), with a pseudo-count for every word and topic."""
        words = (self.by_word @ p).astype(np.float64)
        words += pseudo_count
        prior = _column_sums(p) + pseudo_count
        visual, tags = words[: self.n_visual], words[self.n_visual :]
        visual /= visual.sum(axis=0)
        tags /= tags.sum(axis=0)
        return TopicParameters(np.log(prior / prior.sum()), np.log(words), self.n_visual)


def random_start(words: WordCounts, n_topics: int, generator: np.random.Generator) -> TopicParameters:
    """Return Θ at random: each topic is the frequency of visual words, every frequency multiplied at random.

    It depends on the words and not on the photos, so that neither their order nor that of the tags matters. The tags
    of every topic are those of all photos, unless no photo has a visual word.
    """
    marginal = words.totals + 1.0
    log_words = np.repeat(np.log(marginal)[:, None], n_topics, axis=1)
    visual, tags = log_words[: words.n_visual], log_words[words.n_visual :]
    noisy = visual if words.totals[: words.n_visual].any() else tags
    noisy += np.log(generator.standard_exponential(noisy.shape) + 1e-3)
    for part in (visual, tags):
        part -= np.log(np.exp(part).sum(axis=0))
    return TopicParameters(np.full(n_topics, -np.log(n_topics)), log_words, words.n_visual)


def check_counts(X: Any, *, words_per_photo: float | None, name: str) -> Any:
    """Return visual words as CSR without stored zeros, scaled where asked for.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Counts, or shares of words.
    words_per_photo : float or None
        The total of each photo that has a word.
    name : str
        Class that was given X, for the message.
    """
    counts = sparse.csr_array(X, copy=True)
    counts.sum_duplicates()
    counts.eliminate_zeros()
    if counts.nnz and counts.data.min() < 0:
        raise InvalidInputError(
            f"Negative values in data passed to {name}: X must hold counts of visual words, got "
            f"{counts.data.min():g}. Use a group of words (blobs, words …), or give features that are not negative"
        )
    if words_per_photo is not None:
        totals = np.asarray(counts.sum(axis=1)).ravel()
        scale = words_per_photo / np.where(totals > 0, totals, 1.0)
        counts.data *= np.repeat(scale, np.diff(counts.indptr)).astype(counts.dtype)
    return counts


def _column_sums(p: Reals) -> Floats:
    """Sum in float64 what was summed over a few rows at a time."""
    starts = np.arange(0, p.shape[0], 256)
    return np.asarray(np.add.reduceat(p, starts, axis=0).sum(axis=0, dtype=np.float64))
