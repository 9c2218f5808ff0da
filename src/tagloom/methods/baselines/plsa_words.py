"""pLSA-OneOf: topics of the tags first, visual words of these topics second (Monay and Gatica-Perez 2004)."""

from typing import Any

import numpy as np
from scipy import sparse

from tagloom.core import COUNT, Floats, LabelMatrix, fit_thresholds, spawn_generators
from tagloom.methods.shared import warn_without_positives
from tagloom.methods.topics.model import (
    CountAnnotator,
    with_complement,
)

__all__ = ["PLSAWords"]


#: Stored words whose products with all topics are held at a time.
_BLOCK_ENTRIES = 1 << 18
#: Keeps a word that no topic explains from dividing by zero.
_TINY = 1e-300


class PLSAWords(CountAnnotator):
    """Probabilistic latent semantic analysis with topics learned from tags.

    A photo is a mixture of topics. The topics are those of the tags of labelled photos; the visual words of each topic
    are learnt with the mixtures held fixed; a photo without tags is then folded in by its visual words.

    Parameters
    ----------
    n_topics : int, default=50
        K.
    prior : float, default=1e-3
        Pseudo-count of every word in every topic.
    n_init : int, default=3
        Random starts; the one with the highest likelihood of the tags is kept.
    max_iter : int, default=100
        Most EM iterations of tags' topics, and of their visual words.
    fold_in_iter : int, default=100
        EM iterations that fold in a photo. Few of both are the early stopping that the reference recommends.
    tol : float, default=1e-4
        These end when an iteration gains at most this share of the log-likelihood.
    random_state : int, Generator or None, default=None
        For the starts.

    Attributes
    ----------
    tag_words_ : ndarray of shape (K, c)
        P(tag | topic).
    visual_words_ : ndarray of shape (K, d)
        P(visual word | topic).
    topics_ : ndarray of shape (n, K)
        P(topic | photo): from the tags where a photo has some, else from the visual words.
    topic_prior_ : ndarray of shape (K,)
        Mean mixture of the tagged photos; that of photos without any word.
    transduction_ : ndarray of shape (n, c)
        P(tag | photo) of the training photos.
    thresholds_ : ndarray of shape (c,)
        `fit_thresholds` of the tagged photos, scored by their visual words.
    objective_ : list of float
        Log-likelihood of the tags (and the prior's term) after each iteration of the first step; it never falls.
    n_iter_ : int
        Iterations of the first step.

    Notes
    -----
    pLSA maximises ``Σ n(d, w) log Σ_z P(w | z) P(z | d)``. An iteration is a product of the sparse matrix of ratios
    ``n(d, w) / Σ_z P(w | z) P(z | d)`` with each factor.

    Deviations: a small pseudo-count; the number of iterations is a parameter and not chosen on held-out photos;
    mixtures start equal, so that the order of photos does not matter.

    References
    ----------
    F. Monay, D. Gatica-Perez: PLSA-based image auto-annotation: constraining the latent space, ACM Multimedia 2004.
    """

    _parameter_constraints = CountAnnotator._parameter_constraints | {
        "fold_in_iter": [COUNT],
    }

    def __init__(
        self,
        n_topics: int = 50,
        *,
        prior: float = 1e-3,
        n_init: int = 3,
        max_iter: int = 100,
        fold_in_iter: int = 100,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.fold_in_iter = fold_in_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        warn_without_positives(Y, "they get the smallest scores")
        visual = self._counts_of(X)
        given = with_complement(Y)
        rows = np.flatnonzero((given == 1).any(axis=1))
        tagged = sparse.csr_array((given[rows] == 1).astype(np.float64))
        best = None
        for generator in spawn_generators(self.random_state, int(self.n_init)):
            found = self._learn_tags(tagged, generator)
            if best is None or found.objective[-1] > best.objective[-1]:
                best = found
        if best is None:
            raise ValueError("at least one start is needed")
        self.objective_, self.n_iter_ = best.objective, len(best.objective)
        self.tag_words_ = np.ascontiguousarray(best.words.T[:, : Y.shape[1]])
        self.topic_prior_ = best.mixtures.mean(axis=0) if rows.size else np.full(self.n_topics, 1.0 / self.n_topics)
        self._visual_words = self._learn_visual(visual[rows], best.mixtures)
        self.visual_words_ = np.ascontiguousarray(self._visual_words.T)
        self.topics_ = self._fold_in(visual)
        by_words = self.topics_[rows] @ self.tag_words_
        self.topics_[rows] = best.mixtures
        self.transduction_ = self.topics_ @ self.tag_words_
        self.thresholds_ = fit_thresholds(by_words, Y[rows]) if rows.size else np.full(Y.shape[1], np.inf)

    def _learn_tags(self, tagged: Any, generator: np.random.Generator) -> "_Factors":
        """Do step 1: pLSA of the tags."""
        c = tagged.shape[1]
        frequency = np.asarray(tagged.sum(axis=0)).ravel() + 1.0
        words = frequency[:, None] * (generator.standard_exponential((c, int(self.n_topics))) + 1e-3)
        factors = _Factors(tagged, words / words.sum(axis=0), float(self.prior))
        factors.run(int(self.max_iter), float(self.tol), words_too=True, mixtures_too=True)
        return factors

    def _learn_visual(self, visual: Any, mixtures: Floats) -> Floats:
        """Do step 2: P(visual word | topic) with the mixtures of step 1."""
        d = visual.shape[1]
        factors = _Factors(visual, np.full((d, int(self.n_topics)), 1.0 / d), float(self.prior), mixtures)
        factors.run(int(self.max_iter), float(self.tol), words_too=True, mixtures_too=False)
        return factors.words

    def _fold_in(self, visual: Any) -> Floats:
        """Do step 3: mixtures of photos by their visual words; the mean mixture where there are none."""
        factors = _Factors(visual, self._visual_words, 0.0)
        # Each photo would end by itself; a fixed number keeps it from depending on the others.
        factors.run(int(self.fold_in_iter), -np.inf, words_too=False, mixtures_too=True)
        empty = np.diff(visual.indptr) == 0
        factors.mixtures[empty] = self.topic_prior_
        return factors.mixtures

    def _decision_function(self, X: Any) -> Floats:
        return self._fold_in(self._counts_of(X)) @ self.tag_words_

    def _counts_of(self, X: Any) -> Any:
        return super()._counts_of(X).astype(np.float64)


class _Factors:
    """P(word | topic) and P(topic | photo), improved by EM together or one of them alone."""

    def __init__(self, counts: Any, words: Floats, prior: float, mixtures: Floats | None = None) -> None:
        n, K = counts.shape[0], words.shape[1]
        self.counts, self.prior = counts, prior
        self.words = words
        self.mixtures: Floats = np.full((n, K), 1.0 / K) if mixtures is None else mixtures
        self.objective: list[float] = []
        self._rows = np.repeat(np.arange(n), np.diff(counts.indptr))

    def run(self, max_iter: int, tol: float, *, words_too: bool, mixtures_too: bool) -> None:
        """Improve until the gain is small; the objective is that before each iteration, and at the end."""
        for _ in range(max_iter):
            ratios = self._ratios()
            if len(self.objective) > 1 and self.objective[-1] - self.objective[-2] <= tol * abs(self.objective[-1]):
                return
            new_mixtures = self.mixtures * (ratios @ self.words) if mixtures_too else self.mixtures
            if words_too:
                words = self.words * (ratios.T @ self.mixtures) + self.prior
                self.words = words / words.sum(axis=0)
            if mixtures_too:
                totals = new_mixtures.sum(axis=1, keepdims=True)
                self.mixtures = np.divide(new_mixtures, totals, out=self.mixtures.copy(), where=totals > 0)
        self._ratios()

    def _ratios(self) -> Any:
        """Return counts over what the factors expect, and note the objective."""
        expected = np.empty(self.counts.nnz)
        height = max(1, _BLOCK_ENTRIES // self.words.shape[1])
        for start in range(0, expected.size, height):
            part = slice(start, start + height)
            np.einsum(
                "ij,ij->i", self.mixtures[self._rows[part]], self.words[self.counts.indices[part]], out=expected[part]
            )
        expected = np.maximum(expected, _TINY)
        likelihood = float(self.counts.data @ np.log(expected))
        self.objective.append(likelihood + (self.prior * float(np.log(self.words).sum()) if self.prior else 0.0))
        return sparse.csr_array(
            (self.counts.data / expected, self.counts.indices, self.counts.indptr), shape=self.counts.shape
        )
