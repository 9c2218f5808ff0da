"""The Laplacian topic model: one topic for each photo, neighbours have similar ones (paper 001)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import TransformerMixin
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from tagloom.core import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    POSITIVE_SHARE,
    Floats,
    LabelMatrix,
    OneOf,
    Reals,
    fit_thresholds,
    labeled_rows,
    spawn_generators,
)
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph
from tagloom.methods.shared import warn_without_positives
from tagloom.methods.topics.model import (
    Averaging,
    CountAnnotator,
    EMResult,
    ExactSteps,
    GivenLinks,
    Links,
    NearestLinks,
    NoGraph,
    NoLinks,
    SharedLinks,
    Smoothing,
    TopicParameters,
    WordCounts,
    averaged_posteriors,
    best_of_starts,
    exact_posteriors,
    plain_posteriors,
    tag_scores,
    warn_unless_converged,
    with_complement,
)

__all__ = ["LaplacianTopicModel", "TopicDescription", "TopicPhoto", "TopicTag"]


# What a topic model has learnt, for people: each topic's tags and its most typical photos.


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


#: Steps of an E-step where ``n_steps`` is None.
STEPS = {"exact": 3, "steps": 5, "paper": None}


class LaplacianTopicModel(TransformerMixin, CountAnnotator):
    """Topic model of visual words and tags whose topics vary smoothly over a graph of photos.

    Each photo has one latent topic, which its visual words and its tags are drawn from. All photos take part, labelled
    or not; photos that share words are drawn to similar topics. An unlabelled photo gets the tags of its topics.

    Parameters
    ----------
    n_topics : int, default=50
        K.
    smoothness : float, default=2.11
        λ of Eq. (8): how strongly linked photos are drawn together. With 0 it is the plain mixture.
    smoothing : {"exact", "steps", "paper"}, default="exact"
        The E-step. "exact" takes steps that provably raise the objective. "steps" is Eq. (9), then a fixed number of
        steps of Eq. (10). "paper" repeats these "until R converged", as printed; see Notes.
    step : float, default=0.1
        γ of Eq. (10); not for "exact".
    n_steps : int, optional
        Steps in each E-step. Default: 3 for "exact", 5 for "steps"; not for "paper".
    graph : {"shared_words", "knn"}, NeighborGraph or symmetric sparse matrix, default="shared_words"
        "shared_words" is Eq. (3): see `tagloom.graph.shared_words.shared_words_graph`. "knn" is
        `tagloom.graph.knn_graph` on the visual words, by cosine. With a graph of your own, new photos are linked to
        the ``n_neighbors`` nearest training photos by cosine, each link as heavy as the graph's on average.
    weighting : {"binary", "heat", "dot"}, default="binary"
        Weights of the links: Eq. (4), (5) or (6).
    visual_bandwidth, tag_bandwidth : float, optional
        σ_f and σ_w of Eq. (5), of "shared_words". Default: the median squared distance of linked photos.
    visual_weight, tag_weight : float, default=1.0
        μ_f and μ_w of Eq. (6), of "shared_words".
    visual_threshold : int, default=3
        T_f of Eq. (3): visual words that linked photos share.
    word_threshold : int, optional
        T_w of Eq. (3): tags that linked photos share. None: infinite, as in the paper's experiments.
    max_neighbors : int, default=200
        Most links that a photo of the shared-word graph keeps on its own account.
    common_share : float, default=0.5
        Visual words in more than this share of the photos make no links.
    n_neighbors : int, default=15
        k of "knn", and of new photos beside a graph of your own.
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
    topic_prior_ : ndarray of shape (K,)
        α = P(topic).
    visual_words_ : ndarray of shape (K, d)
        β = P(visual word | topic).
    tag_words_ : ndarray of shape (K, c)
        φ = P(tag | topic).
    topics_ : ndarray of shape (n, K)
        p = P(topic | photo) of the training photos.
    transduction_ : ndarray of shape (n, c)
        P(tag) of the training photos, Eq. (12); a photo's values sum to 1.
    thresholds_ : ndarray of shape (c,)
        `fit_thresholds` of the labelled photos, scored as if their own tags were unknown.
    objective_ : list of float
        ``Q + prior·Σ(log α + log β + log φ)`` at the start and after each iteration. With "exact" it never falls, but
        by rounding: 1e-11 of its value, 1e-7 for features of float32.
    n_iter_ : int
        EM iterations of the start that was kept.
    n_topics_ : int
        Topics kept: those that no photo has (less than a thousandth of a photo in all) are dropped at the end.
    n_dropped_topics_ : int
        How many were.
    graph_ : NeighborGraph or None
        The graph; None with ``smoothness=0``.
    graph_report_ : dict of str to int
        Photos without a link (``isolated``) and, for shared words, what keeps the graph sparse: words too common to
        count (``common_words``), photos that had more than ``max_neighbors`` links (``capped_photos``), links left out
        (``dropped_links``).

    Warns
    -----
    UserWarning
        Names the tags (columns) that no photo is known to have.
    ConvergenceWarning
        If ``max_iter`` ends the start that was kept.

    Notes
    -----
    Objective, Eq. (8): ``Q = Σ_i Σ_k p_ki [ℓ_ki - log p_ki] - λ Σ_k p_kᵀ L p_k`` with
    ``ℓ_ki = log α_k + Σ_u F_iu log β_ku + Σ_v W_iv log φ_kv``. The M-step is Eq. (11). The E-step "exact" starts from
    the previous p and repeats
    ``log p_i ← [ℓ_i - 2λ(Lp)_i + 2λ d_i log p_i] / (1 + 2λ d_i)``, normalised: the maximum of a lower bound of Q that
    touches it. A photo without links gets the posterior of Eq. (9), and one without any word P(topic), both drawn to
    neighbours if there are any. A new photo takes the same step with its neighbours held fixed, until it settles.

    Tags enter as words where they are known to be there. That a tag is absent, or unknown, says nothing of the topic.

    Work is in log space, in the precision of X. An iteration is one sparse product for the log-joint, one per step for
    the graph, and one for the M-step; it is linear in K, in the words stored and in the links.

    Deviations: the paper smooths Eq. (9) by Eq. (10) "until R converged", which makes topics constant on each connected
    component and forgets the words; its E-step also discards the previous p, so that Q falls in many iterations. Both
    remain as "paper" and "steps". The stopping rule looks at the size of the change, since Q may fall there. There
    is a pseudo-count, several starts, and a rule for words that most photos have. Distances of tags in Eq. (5)
    are over entries known on both photos. The paper has no new photos.

    References
    ----------
    Y. Shao, Y. Zhou, X. He, D. Cai, H. Bao: Semi-supervised topic modeling for image annotation, ACM Multimedia 2009.
    """

    _parameter_constraints = CountAnnotator._parameter_constraints | {
        "smoothness": [NOT_NEGATIVE],
        "smoothing": [OneOf(*STEPS)],
        "step": [POSITIVE],
        "n_steps": [COUNT, None],
        "graph": [OneOf("shared_words", "knn"), NeighborGraph, "array-like", "sparse matrix"],
        "weighting": [OneOf("binary", "heat", "dot")],
        "visual_bandwidth": [POSITIVE, None],
        "tag_bandwidth": [POSITIVE, None],
        "visual_weight": [NOT_NEGATIVE],
        "tag_weight": [NOT_NEGATIVE],
        "visual_threshold": [COUNT],
        "word_threshold": [COUNT, None],
        "max_neighbors": [COUNT],
        "common_share": [POSITIVE_SHARE],
    }

    def __init__(
        self,
        n_topics: int = 50,
        *,
        smoothness: float = 2.11,
        smoothing: Literal["exact", "steps", "paper"] = "exact",
        step: float = 0.1,
        n_steps: int | None = None,
        graph: Any = "shared_words",
        weighting: Literal["binary", "heat", "dot"] = "binary",
        visual_bandwidth: float | None = None,
        tag_bandwidth: float | None = None,
        visual_weight: float = 1.0,
        tag_weight: float = 1.0,
        visual_threshold: int = 3,
        word_threshold: int | None = None,
        max_neighbors: int = 200,
        common_share: float = 0.5,
        n_neighbors: int = 15,
        words_per_photo: float | None = None,
        prior: float = 0.05,
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 1e-3,
        random_state: Any = None,
    ) -> None:
        self.n_topics = n_topics
        self.smoothness = smoothness
        self.smoothing = smoothing
        self.step = step
        self.n_steps = n_steps
        self.graph = graph
        self.weighting = weighting
        self.visual_bandwidth = visual_bandwidth
        self.tag_bandwidth = tag_bandwidth
        self.visual_weight = visual_weight
        self.tag_weight = tag_weight
        self.visual_threshold = visual_threshold
        self.word_threshold = word_threshold
        self.max_neighbors = max_neighbors
        self.common_share = common_share
        self.n_neighbors = n_neighbors
        self.words_per_photo = words_per_photo
        self.prior = prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def transform(self, X: Any) -> Reals:
        """Return P(topic | photo) of new photos, of shape (m, K); ``topics_`` has those of the training photos.

        Parameters
        ----------
        X : array or CSR of shape (m, d)
            Their visual words.
        """
        check_is_fitted(self)
        visual = self._counts_of(self._check_X(X, reset=False))
        return self._posteriors(visual, self._links.of_new(visual))

    def describe_topics(
        self, tag_names: Sequence[str] | None = None, n_tags: int = 5, n_photos: int = 5
    ) -> list[TopicDescription]:
        """Return what was learnt: for each topic its tags and its most typical photos, the largest topic first.

        Parameters
        ----------
        tag_names : sequence of str, optional
            Names of the tags. Default: "tag 0", "tag 1" …
        n_tags, n_photos : int, default=5
            Tags and photos of each topic. Photos are ordered by P(topic | photo) to two digits, then by how much more
            probable their visual words are in the topic than at large, on average over the words.
        """
        check_is_fitted(self)
        shares = self.topics_.mean(axis=0, dtype=np.float64)
        lift = np.log(self.visual_words_.T) - np.log(shares @ self.visual_words_)[:, None]
        totals = np.asarray(self._visual.sum(axis=1)).reshape(-1, 1)
        fit = (self._visual @ lift) / np.where(totals > 0, totals, 1.0)
        return describe(self.topics_, fit, self.tag_words_, tag_names, n_tags, n_photos)

    def _fit(self, X: Any, Y: LabelMatrix) -> None:
        warn_without_positives(Y, "they get the smallest scores")
        visual = self._counts_of(X)
        self._links = self._make_links(visual, Y)
        self.graph_ = self._links.graph
        self.graph_report_ = self._links.report
        found = best_of_starts(
            WordCounts(visual, with_complement(Y)),
            self._make_smoothing(visual.dtype),
            spawn_generators(self.random_state, int(self.n_init)),
            int(self.n_topics),
            pseudo_count=float(self.prior),
            max_iter=int(self.max_iter),
            tol=float(self.tol),
        )
        warn_unless_converged(type(self).__name__, found.converged, len(found.objective) - 1, self.tol)
        self._keep(found, visual)
        rows = np.flatnonzero(labeled_rows(Y))
        links = sparse.csr_array((len(rows), len(Y))) if self.graph_ is None else self.graph_.weights[rows]
        scores = tag_scores(self._posteriors(visual[rows], links), self.tag_words_)
        self.thresholds_ = fit_thresholds(scores, Y[rows])

    def _keep(self, found: EMResult, visual: Any) -> None:
        """Set what was learnt."""
        kept = found.without_empty_topics()
        self._visual = visual
        self._parameters: TopicParameters = kept.parameters
        self.topic_prior_ = kept.parameters.prior
        self.visual_words_ = kept.parameters.visual_words
        self.tag_words_ = np.ascontiguousarray(kept.parameters.tag_words[:, : self.n_tags_])
        self.topics_ = kept.p
        self.transduction_ = tag_scores(kept.p, self.tag_words_)
        self.objective_ = found.objective
        self.n_iter_ = len(found.objective) - 1
        self.n_topics_ = kept.parameters.n_topics
        self.n_dropped_topics_ = found.parameters.n_topics - self.n_topics_

    def _decision_function(self, X: Any) -> Floats:
        visual = self._counts_of(X)
        return tag_scores(self._posteriors(visual, self._links.of_new(visual)), self.tag_words_)

    def _posteriors(self, visual: Any, links: Any) -> Reals:
        """Return posteriors of photos without tags, whose neighbours are training photos."""
        joint, p = plain_posteriors(visual, self._parameters)
        if links.nnz == 0 or self.smoothness == 0:
            return p
        if self.smoothing == "exact":
            return exact_posteriors(joint, links, self.topics_, float(self.smoothness))
        return averaged_posteriors(p, links, self.topics_, float(self.step), self._number_of_steps())

    def _make_links(self, visual: Any, Y: LabelMatrix) -> Links:
        if self.smoothness == 0:
            return NoLinks(visual.shape[0])
        if not isinstance(self.graph, str):
            return GivenLinks(self.graph, visual, self.n_neighbors)
        if self.graph == "knn":
            return NearestLinks(visual, self.n_neighbors, self.weighting)
        return SharedLinks(
            visual,
            threshold=self.visual_threshold,
            tags=Y,
            tag_threshold=self.word_threshold,
            weights=self.weighting,
            max_neighbors=self.max_neighbors,
            common_share=self.common_share,
            visual_bandwidth=self.visual_bandwidth,
            tag_bandwidth=self.tag_bandwidth,
            visual_weight=self.visual_weight,
            tag_weight=self.tag_weight,
        )

    def _make_smoothing(self, dtype: Any) -> Smoothing:
        if self.graph_ is None or self.graph_.n_edges == 0:
            return NoGraph()
        shape = (self.graph_, float(self.smoothness), int(self.n_topics), dtype)
        steps = self._number_of_steps()
        if self.smoothing == "exact":
            return ExactSteps(*shape, n_steps=steps or 1)
        return Averaging(*shape, step=float(self.step), n_steps=steps)

    def _number_of_steps(self) -> int | None:
        """Return the steps of an E-step; None: until R has converged."""
        if self.smoothing == "paper" or self.n_steps is None:
            return STEPS[self.smoothing]
        return int(self.n_steps)

    def __sklearn_tags__(self) -> Any:
        """Declare that photos are transformed to topics."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=["float64", "float32"])
        return tags
