"""The plain mixture of topics: the Laplacian topic model without its graph."""

from typing import Any

import numpy as np

from tagloom.core import Floats, LabelMatrix, fit_thresholds, labeled_rows, spawn_generators
from tagloom.methods.shared import warn_without_positives
from tagloom.methods.topics.model import (
    CountAnnotator,
    NoGraph,
    TopicParameters,
    WordCounts,
    best_of_starts,
    plain_posteriors,
    tag_scores,
    warn_unless_converged,
    with_complement,
)

__all__ = ["TopicMixture"]


class TopicMixture(CountAnnotator):
    """Topic model of visual words and tags without a graph.

    What `tagloom.methods.topics.LaplacianTopicModel` is with ``smoothness=0``.

    Parameters
    ----------
    n_topics : int, default=50
        K.
    words_per_photo : float, optional
        Visual words of each photo are scaled to this total: for shares instead of counts. Default: as they are.
    prior : float, default=0.05
        Dirichlet pseudo-count of every topic, visual word and tag.
    n_init : int, default=3
        Random starts; the one with the highest objective is kept.
    max_iter : int, default=200
        Most EM iterations of a start.
    tol : float, default=1e-3
        A start ends when an iteration changes the objective by at most this much per photo.
    random_state : int, Generator or None, default=None
        For the starts.

    Attributes
    ----------
    topic_prior_, visual_words_, tag_words_ : ndarrays of shape (K,), (K, d), (K, c)
        P(topic), P(visual word | topic), P(tag | topic). Topics that no photo has are dropped.
    topics_ : ndarray of shape (n, K)
        P(topic | photo) of the training photos.
    transduction_ : ndarray of shape (n, c)
        P(tag) of the training photos.
    thresholds_ : ndarray of shape (c,)
        `fit_thresholds` of the labelled photos, scored as if their own tags were unknown.
    objective_ : list of float
        The bound of the log-likelihood and the prior's term, at the start and after each iteration; it never falls.
    n_iter_ : int
        EM iterations of the start that was kept.

    Notes
    -----
    Maximises Eq. (1) of paper 001 and the density of the Dirichlet prior.

    References
    ----------
    K. Nigam, A. McCallum, S. Thrun, T. Mitchell: Text classification from labeled and unlabeled documents using EM,
    Machine Learning 39, 2000.
    """

    def __init__(
        self,
        n_topics: int = 50,
        *,
        words_per_photo: float | None = None,
        prior: float = 0.05,
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.words_per_photo = words_per_photo
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        warn_without_positives(Y, "they get the smallest scores")
        found = best_of_starts(
            WordCounts(self._counts_of(X), with_complement(Y)),
            NoGraph(),
            spawn_generators(self.random_state, int(self.n_init)),
            int(self.n_topics),
            pseudo_count=float(self.prior),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )
        self.objective_, self.n_iter_ = found.objective, len(found.objective) - 1
        warn_unless_converged(type(self).__name__, found.converged, self.n_iter_, self.tol)
        kept = found.without_empty_topics()
        self._parameters: TopicParameters = kept.parameters
        self.topic_prior_ = kept.parameters.prior
        self.visual_words_ = kept.parameters.visual_words
        self.tag_words_ = np.ascontiguousarray(kept.parameters.tag_words[:, : self.n_tags_])
        self.topics_ = kept.p
        self.transduction_ = tag_scores(kept.p, self.tag_words_)
        rows = np.flatnonzero(labeled_rows(Y))
        self.thresholds_ = fit_thresholds(self._decision_function(X[rows]), Y[rows])

    def _decision_function(self, X: Any) -> Floats:
        return tag_scores(plain_posteriors(self._counts_of(X), self._parameters)[1], self.tag_words_)
