"""Methods of Fig. 2: the topic model on a graph that cells share, pLSA-Words with a number of iterations."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods import find, shared
from tagloom.core.labels import UNKNOWN

MODEL = "tagloom.methods.topics:LaplacianTopicModel"
PLSA = "tagloom.methods.baselines.plsa_words:PLSAWords"


def graph_of(X: Any, threshold: int) -> tuple[Any, float]:
    """Return the shared-word graph of photos, and the CPU seconds saved because another cell had made it."""
    return shared(
        f"shared words {threshold}",
        (X.indptr, X.indices, X.data),
        lambda: find("tagloom.graph.shared_words:shared_words_graph")(X, threshold=threshold).graph,
    )


class TopicsOnSharedGraph:
    """`LaplacianTopicModel` on the graph of Eq. (3), which is made once for all cells of a draw.

    Parameters
    ----------
    n_topics : int
        K.
    visual_threshold : int
        T_f.
    random_state : int
        For the starts.
    **settings
        Further parameters of `tagloom.LaplacianTopicModel`.
    """

    def __init__(self, n_topics: int, visual_threshold: int = 3, random_state: int = 0, **settings: Any) -> None:
        self.n_topics, self.visual_threshold = n_topics, visual_threshold
        self.random_state, self.settings = random_state, settings

    def fit(self, X: Any, Y: NDArray[np.int8]) -> "TopicsOnSharedGraph":
        """Fit to photos with and without tags."""
        graph, self.saved_cpu_ = graph_of(X, self.visual_threshold)
        self.model_ = find(MODEL)(self.n_topics, graph=graph, random_state=self.random_state, **self.settings)
        self.transduction_ = self.model_.fit(X, Y).transduction_
        return self


class PLSAWordsFor:
    """`PLSAWords` with one number of iterations for all its three steps.

    Parameters
    ----------
    n_topics : int
        K.
    iterations : int
        Few stop early; with 100 the likelihood has converged.
    random_state : int
        For the starts.
    **settings
        Further parameters of `PLSAWords`.
    """

    def __init__(self, n_topics: int, iterations: int, random_state: int = 0, **settings: Any) -> None:
        self.n_topics, self.iterations = n_topics, iterations
        self.random_state, self.settings = random_state, settings

    def fit(self, X: Any, Y: NDArray[np.int8]) -> "PLSAWordsFor":
        """Fit to the tagged photos, and fold in the others."""
        self.model_ = find(PLSA)(
            self.n_topics,
            max_iter=self.iterations,
            fold_in_iter=self.iterations,
            random_state=self.random_state,
            **self.settings,
        )
        self.transduction_ = self.model_.fit(X, Y).transduction_
        return self


class TagFrequency:
    """Gives every photo the tags by how many labelled photos have them: what a collapsed model says.

    Of equally frequent ones the first is first: the metrics count a tie against a method, and no model has any.
    """

    def fit(self, X: Any, Y: NDArray[np.int8]) -> "TagFrequency":
        """Count."""
        shares = (Y == 1).sum(axis=0) / np.maximum((Y != UNKNOWN).sum(axis=0), 1)
        self.transduction_ = np.tile(shares - 1e-9 * np.arange(len(shares)), (X.shape[0], 1))
        return self
