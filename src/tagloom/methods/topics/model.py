"""Words of photos and the topics they are drawn from: the generative part of the topic models."""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from tagloom.core import COMMON, COUNT, NOT_NEGATIVE, POSITIVE, UNKNOWN, Annotator, Floats, LabelMatrix, Reals
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, knn_graph, nearest_neighbors, shared_words_graph
from tagloom.methods.shared import filled

__all__ = [
    "Averaging",
    "CountAnnotator",
    "EMResult",
    "ExactSteps",
    "GivenLinks",
    "Links",
    "NearestLinks",
    "NoGraph",
    "NoLinks",
    "Posterior",
    "SharedLinks",
    "Smoothing",
    "TopicParameters",
    "WordCounts",
    "averaged_posteriors",
    "best_of_starts",
    "exact_posteriors",
    "plain_posteriors",
    "random_start",
    "run_em",
    "tag_scores",
    "warn_unless_converged",
    "with_complement",
]


# E-steps: the posteriors of topics, drawn together over the neighbour graph in one of three ways.

#: Bytes of a block of rows, so that what is done to it one after the other finds it in cache.
_BLOCK_BYTES = 1 << 18
#: R counts as converged once a step changes it by less than this share of where it began.
_CONVERGED = 1e-6
_MOST_STEPS = 2000
#: No probability is below e to this, relative to the largest of its photo.
_LEAST = -40.0


@dataclass
class Posterior:
    """p of every photo (rows) and topic, and its logarithm, which does not underflow."""

    p: Reals
    log_p: Reals

    @classmethod
    def empty(cls, shape: tuple[int, int], dtype: Any) -> "Posterior":
        """Return one that is not filled yet."""
        return cls(np.empty(shape, dtype=dtype), np.empty(shape, dtype=dtype))


class Smoothing(Protocol):
    """An E-step."""

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """Fill ``then`` with the next posteriors; return 𝔽 - λR (less constants) of ``now``.

        Parameters
        ----------
        joint : array of shape (n, K)
            The log-joint of Eq. (9); may be overwritten.
        now, then : Posterior
            The posteriors so far, which stay as they are, and where the next ones go.
        """


def softmax_rows(logits: Reals, p: Reals) -> None:
    """Make rows of logarithms those of probabilities, and put the probabilities into ``p``."""
    logits -= logits.max(axis=1, keepdims=True)
    # Numbers smaller than float32 keeps in full are many times slower in every product. This is too little to count,
    # and its square is large enough. The logarithms stay as they are.
    np.maximum(logits, _LEAST, out=p)
    np.exp(p, out=p)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    logits -= np.log(total)


def _inner(a: Reals, b: Reals) -> float:
    """Return the inner product of two blocks: rows in their own precision, their sum in float64."""
    return float(np.einsum("ij,ij->i", a, b).sum(dtype=np.float64))


class NoGraph:
    """The plain E-step, Eq. (9): λ = 0."""

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """See `Smoothing`."""
        value = 0.0
        for rows in _blocks(joint):
            value += _inner(now.p[rows], joint[rows]) - _inner(now.p[rows], now.log_p[rows])
            then.log_p[rows] = joint[rows]
            softmax_rows(then.log_p[rows], then.p[rows])
        return value


class _OnGraph:
    """What E-steps on a graph have in common: its rows in blocks, its degrees, λ."""

    def __init__(self, graph: NeighborGraph, smoothness: float, n_topics: int, dtype: Any) -> None:
        self.smoothness = float(smoothness)
        self.degrees: Reals = graph.degrees[:, None].astype(dtype)
        weights = sparse.csr_array(graph.weights, dtype=dtype)
        shape = np.broadcast_to(np.zeros(1, dtype=dtype), (graph.n_nodes, n_topics))
        self.blocks: list[tuple[slice, Any]] = [(rows, weights[rows]) for rows in _blocks(shape)]
        # Kept from step to step: fresh memory costs more than what is computed into it.
        self._spare: Reals = np.empty(shape.shape, dtype=dtype)

    def _exchange(self, posterior: Posterior) -> None:
        """Give the posterior the matrix that was just filled, and keep its old one to be filled next."""
        posterior.p, self._spare = self._spare, posterior.p

    def _value(self, joint: Reals, now: Posterior, rows: slice, sums: Reals) -> float:
        """Return what a block adds to 𝔽 - λR, given the neighbours' sums."""
        p = now.p[rows]
        free_energy = _inner(p, joint[rows]) - _inner(p, now.log_p[rows])  # Eq. (2)
        return free_energy - self.smoothness * self._roughness(p, rows, sums)

    def _roughness(self, p: Reals, rows: slice, sums: Reals) -> float:
        """Return what a block adds to R, Eq. (7)."""
        own = np.einsum("ij,ij->i", p, p) * self.degrees[rows, 0]
        return float(own.sum(dtype=np.float64)) - _inner(p, sums)


class ExactSteps(_OnGraph):
    """Closed-form steps that raise Q, from the previous posteriors on.

    With L ⪯ 2D and ‖p - p'‖² ≤ KL(p, p') on the simplex (Pinsker), Q is at least
    ``Σ_i [p_i·(ℓ_i - 2λ(Lp')_i) - p_i·log p_i - 2λ d_i KL(p_i, p'_i)]`` plus a constant, with equality at p'; its
    maximum is ``log p_i = [ℓ_i - 2λ(Lp')_i + 2λ d_i log p'_i] / (1 + 2λ d_i)``, normalised.
    """

    def __init__(self, graph: NeighborGraph, smoothness: float, n_topics: int, dtype: Any, *, n_steps: int) -> None:
        super().__init__(graph, smoothness, n_topics, dtype)
        self.n_steps = n_steps
        own = 1.0 / (1.0 + 2.0 * self.smoothness * self.degrees)
        self.own: Reals = own.astype(dtype)
        self.pull: Reals = (2.0 * self.smoothness * own).astype(dtype)
        self.inertia: Reals = (self.pull * self.degrees).astype(dtype)

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """See `Smoothing`."""
        value = 0.0
        for rows, weights in self.blocks:
            sums = weights @ now.p
            value += self._value(joint, now, rows, sums)
            joint[rows] *= self.own[rows]
            self._step(rows, sums, joint, now.p[rows], now.log_p[rows], then.log_p[rows], then.p[rows])
        for _ in range(1, self.n_steps):
            for rows, weights in self.blocks:
                sums = weights @ then.p
                self._step(rows, sums, joint, then.p[rows], then.log_p[rows], then.log_p[rows], self._spare[rows])
            self._exchange(then)
        return value

    def _step(
        self, rows: slice, sums: Reals, joint: Reals, p: Reals, log_p: Reals, new_log_p: Reals, new_p: Reals
    ) -> None:
        """Do one step of a block; ``joint`` is divided by 1 + 2λd already."""
        np.subtract(log_p, p, out=new_log_p)
        new_log_p *= self.inertia[rows]
        sums *= self.pull[rows]
        new_log_p += sums
        new_log_p += joint[rows]
        softmax_rows(new_log_p, new_p)


class Averaging(_OnGraph):
    """The paper's smoothing: Eq. (9), then steps towards the neighbours' mean, Eq. (10).

    Parameters
    ----------
    step : float
        γ.
    n_steps : int or None
        None: "until R converged".
    """

    def __init__(
        self,
        graph: NeighborGraph,
        smoothness: float,
        n_topics: int,
        dtype: Any,
        *,
        step: float,
        n_steps: int | None,
    ) -> None:
        super().__init__(graph, smoothness, n_topics, dtype)
        self.n_steps = n_steps
        linked = self.degrees > 0
        self.stay: Reals = np.where(linked, 1.0 - step, 1.0).astype(dtype)
        self.move: Reals = np.divide(step, self.degrees, out=np.zeros_like(self.degrees), where=linked).astype(dtype)

    def improve(self, joint: Reals, now: Posterior, then: Posterior) -> float:
        """See `Smoothing`."""
        value = 0.0
        for rows, weights in self.blocks:
            value += self._value(joint, now, rows, weights @ now.p)
            then.log_p[rows] = joint[rows]
            softmax_rows(then.log_p[rows], then.p[rows])
        if self.n_steps is None:
            self._average_until_converged(then)
        else:
            for _ in range(self.n_steps):
                self._average(then)
        tiny = np.finfo(then.p.dtype).tiny
        np.log(np.maximum(then.p, tiny), out=then.log_p)
        return value

    def _average_until_converged(self, posterior: Posterior) -> None:
        """Do Eq. (10) until R has converged."""
        first = before = self._average(posterior, measure=True)
        for _ in range(_MOST_STEPS):
            now = self._average(posterior, measure=True)
            if before - now <= _CONVERGED * first:
                return
            before = now

    def _average(self, posterior: Posterior, *, measure: bool = False) -> float:
        """Do one step of Eq. (10); return R before it, if asked for."""
        p, roughness = self._spare, 0.0
        for rows, weights in self.blocks:
            sums, old = weights @ posterior.p, posterior.p[rows]
            if measure:
                roughness += self._roughness(old, rows, sums)
            np.multiply(old, self.stay[rows], out=p[rows])
            sums *= self.move[rows]
            p[rows] += sums
        self._exchange(posterior)
        return roughness


def _blocks(matrix: Reals) -> Iterator[slice]:
    """Cut the rows of a matrix into blocks."""
    n, width = matrix.shape
    height = max(1, _BLOCK_BYTES // max(1, width * matrix.dtype.itemsize))
    return (slice(start, min(start + height, n)) for start in range(0, n, height))


# Where the graph of a topic model comes from, and how new photos are linked to it.


#: What to do where visual words are too large for a search of neighbours.
INSTEAD = "take graph='shared_words', or build a graph and give it"


class Links(Protocol):
    """A graph over the training photos, and links from new ones."""

    graph: NeighborGraph | None
    report: dict[str, int]

    def of_new(self, visual: Any) -> Any:
        """Return a sparse matrix of shape (m, n): weights of the links of new photos to training photos."""


class NoLinks:
    """No graph at all."""

    def __init__(self, n_photos: int) -> None:
        self.graph: NeighborGraph | None = None
        self.report: dict[str, int] = {}
        self._n_photos = n_photos

    def of_new(self, visual: Any) -> Any:
        """Return no links."""
        return sparse.csr_array((visual.shape[0], self._n_photos))


class GivenLinks:
    """A graph that was given. New photos are linked to the nearest by cosine, as heavily as photos are on average."""

    def __init__(self, given: Any, visual: Any, n_neighbors: int) -> None:
        n_photos = visual.shape[0]
        graph = given if isinstance(given, NeighborGraph) else NeighborGraph.from_weights(given, diagonal="drop")
        if graph.n_nodes != n_photos:
            raise InvalidInputError(
                f"graph must have one node for each row of X: expected {n_photos}, got {graph.n_nodes}. Build it from "
                f"the same photos in the same order, or take graph='shared_words'"
            )
        self.graph: NeighborGraph | None = graph
        self.report = {"isolated": graph.isolated.size}
        self._visual, self._n_neighbors = visual, int(n_neighbors)
        self._weight = float(graph.weights.data.mean()) if graph.n_edges else 0.0

    def of_new(self, visual: Any) -> Any:
        """Return links to the nearest training photos."""
        try:
            points = filled(self._visual, INSTEAD)
        except InvalidInputError:  # too large for a search of neighbours: their words alone tell
            points = None
        if points is None or self._weight == 0.0:
            return sparse.csr_array((visual.shape[0], self._visual.shape[0]))
        return nearest_links(visual, points, self._n_neighbors, np.ones_like) * self._weight


class SharedLinks:
    """Photos that share words, Eq. (3)."""

    def __init__(self, visual: Any, **rule: Any) -> None:
        self._shared = shared_words_graph(visual, **rule)
        self.graph: NeighborGraph | None = self._shared.graph
        self.report = {
            "isolated": self._shared.graph.isolated.size,
            "common_words": self._shared.common_words.size,
            "capped_photos": self._shared.n_capped,
            "dropped_links": self._shared.n_dropped,
        }

    def of_new(self, visual: Any) -> Any:
        """Return links by shared visual words."""
        return self._shared.links(visual)


class NearestLinks:
    """Nearest photos by the cosine of their visual words."""

    def __init__(self, visual: Any, n_neighbors: int, weighting: Any) -> None:
        self._points = filled(visual, INSTEAD)
        self._n_neighbors, self._weighting = int(n_neighbors), weighting
        graph = knn_graph(self._points, self._n_neighbors, metric="cosine", weights=weighting)
        self.graph: NeighborGraph | None = graph
        self.report = {"isolated": graph.isolated.size}
        self._bandwidth = graph.bandwidth or 1.0

    def of_new(self, visual: Any) -> Any:
        """Return links to the nearest training photos, weighted as those are among themselves."""
        return nearest_links(visual, self._points, self._n_neighbors, self._weigh)

    def _weigh(self, distances: Floats) -> Floats:
        if self._weighting == "binary":
            return np.ones_like(distances)
        if self._weighting == "heat":
            weights: Floats = np.exp(-0.5 * np.square(distances / self._bandwidth))
            return weights
        return np.maximum(1.0 - distances, 0.0)


def nearest_links(visual: Any, points: Any, n_neighbors: int, weigh: Callable[[Floats], Floats]) -> Any:
    """Return links from new photos to the nearest training photos by cosine, (m, n) sparse.

    Parameters
    ----------
    visual : array or CSR of shape (m, d)
        Visual words of the new photos.
    points : array of shape (n, d)
        Those of the training photos.
    n_neighbors : int
        How many.
    weigh : callable
        From distances to weights.
    """
    queries, n = filled(visual, INSTEAD), len(points)
    count = min(n_neighbors, n)
    distances, indices = nearest_neighbors(queries, points, count, metric="cosine")
    weights = weigh(distances)
    # A photo without words has no direction: its distances mean nothing.
    weights[~queries.any(axis=1)] = 0.0
    pointers = np.arange(0, indices.size + 1, count)
    links = sparse.csr_array((weights.ravel(), indices.ravel(), pointers), shape=(len(queries), n))
    links.eliminate_zeros()
    return links


def with_complement(Y: LabelMatrix) -> LabelMatrix:
    """Return the labels, and of a single tag its complement as a second one.

    A topic's tags share a probability of 1: a single tag would have all of it in every topic.
    """
    if Y.shape[1] > 1:
        return Y
    return np.hstack([Y, np.where(Y == UNKNOWN, UNKNOWN, 1 - Y).astype(np.int8)])


def warn_unless_converged(name: str, converged: bool, n_iter: int, tol: float) -> None:
    """Say that the iterations were used up."""
    if not converged:
        warnings.warn(
            f"{name} still gained more than tol={tol:g} per photo after {n_iter} iterations; raise max_iter or tol",
            ConvergenceWarning,
            stacklevel=4,
        )


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


class CountAnnotator(Annotator):
    """Base of the topic models: an annotator of visual words, whose tags enter as words where they are known."""

    _accepts_sparse = True
    _parameter_constraints = COMMON | {
        "n_topics": [COUNT],
        "words_per_photo": [POSITIVE, None],
        "prior": [POSITIVE],
        "n_init": [COUNT],
        "tol": [NOT_NEGATIVE],
    }

    words_per_photo: float | None = None

    def _counts_of(self, X: Any) -> Any:
        """Return visual words as CSR without stored zeros, scaled to ``words_per_photo`` where asked for."""
        counts = sparse.csr_array(X, copy=True)
        counts.sum_duplicates()
        counts.eliminate_zeros()
        if counts.nnz and counts.data.min() < 0:
            raise InvalidInputError(
                f"Negative values in data passed to {type(self).__name__}: X must hold counts of visual words, got "
                f"{counts.data.min():g}. Use a group of words (blobs, words …), or give features that are not negative"
            )
        if self.words_per_photo is not None:
            totals = np.asarray(counts.sum(axis=1)).ravel()
            scale = self.words_per_photo / np.where(totals > 0, totals, 1.0)
            counts.data *= np.repeat(scale, np.diff(counts.indptr)).astype(counts.dtype)
        return counts

    def __sklearn_tags__(self) -> Any:
        """Declare that features are counts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _column_sums(p: Reals) -> Floats:
    """Sum in float64 what was summed over a few rows at a time."""
    starts = np.arange(0, p.shape[0], 256)
    return np.asarray(np.add.reduceat(p, starts, axis=0).sum(axis=0, dtype=np.float64))


# The EM loop of the topic models.

#: Topics with less than this number of photos, in expectation, are empty.
EMPTY = 1e-3


@dataclass(frozen=True)
class EMResult:
    """Parameters and posteriors where the loop ended.

    Attributes
    ----------
    parameters : TopicParameters
        Θ.
    p : ndarray of shape (n, K)
        Posteriors.
    objective : list of float
        Q and the prior's term: at the start, then after each iteration.
    converged : bool
        Whether the gain fell to the tolerance.
    """

    parameters: TopicParameters
    p: Reals
    objective: list[float]
    converged: bool

    def without_empty_topics(self) -> "EMResult":
        """Return the same without topics that no photo has."""
        filled = np.asarray(self.p.sum(axis=0, dtype=np.float64) >= EMPTY)
        if filled.all():
            return self
        p = self.p[:, filled]
        p = p / p.sum(axis=1, keepdims=True)
        return EMResult(self.parameters.keep(filled), p, self.objective, self.converged)


def run_em(
    words: WordCounts,
    start: TopicParameters,
    smoothing: Smoothing,
    *,
    pseudo_count: float,
    max_iter: int,
    tol: float,
) -> EMResult:
    """Alternate E-steps and M-steps (Algorithm 1).

    Parameters
    ----------
    words : WordCounts
        The photos.
    start : TopicParameters
        Θ to start at; the posteriors start at those of Eq. (9).
    smoothing : Smoothing
        The E-step.
    pseudo_count : float
        Dirichlet pseudo-count of the M-step.
    max_iter : int
        Most iterations.
    tol : float
        The loop ends when an iteration changes the objective by at most this much per photo.
    """
    parameters = start
    joint, _ = words.log_joint(parameters)
    now, then = (Posterior.empty(joint.shape, joint.dtype) for _ in range(2))
    now.log_p[...] = joint
    softmax_rows(now.log_p, now.p)
    objective: list[float] = []
    while True:
        joint, constant = words.log_joint(parameters)
        value = smoothing.improve(joint, now, then) + constant + parameters.log_density(pseudo_count)
        objective.append(value)
        converged = len(objective) > 1 and abs(value - objective[-2]) <= tol * words.n_photos
        # What was just improved is let go, so that the objective is the one of what is returned.
        if converged or len(objective) > max_iter:
            return EMResult(parameters, now.p, objective, converged)
        now, then = then, now
        parameters = words.maximise(now.p, pseudo_count)


def best_of_starts(
    words: WordCounts,
    smoothing: Smoothing,
    generators: list[np.random.Generator],
    n_topics: int,
    **options: Any,
) -> EMResult:
    """Run from several random starts and keep the highest objective; the first of equals."""
    best: EMResult | None = None
    for generator in generators:
        found = run_em(words, random_start(words, n_topics, generator), smoothing, **options)
        if best is None or found.objective[-1] > best.objective[-1]:
            best = found
    if best is None:
        raise ValueError("at least one start is needed")
    return best


# Posteriors of photos that were not there when topics were learnt; those of their neighbours stay as they are.

#: A photo is done when no probability moves by more.
_SETTLED = 1e-6
_MOST_NEW_STEPS = 1000


def tag_scores(p: Reals, tag_words: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return P(tag) of photos, Eq. (12).

    A sparse product adds up each photo by itself, in the same order whatever photos are beside it: photos with the same
    topics then have the same scores to the last digit, and lie on the same side of a threshold.

    Parameters
    ----------
    p : array of shape (m, K)
        P(topic | photo).
    tag_words : array of shape (K, c)
        P(tag | topic).
    """
    return np.asarray(sparse.csr_array(p.astype(np.float64)) @ tag_words)


def plain_posteriors(visual: Any, parameters: TopicParameters) -> tuple[Reals, Reals]:
    """Return the log-joint of the visual words alone and its posteriors, Eq. (9).

    Parameters
    ----------
    visual : CSR of shape (m, d)
        Counts of visual words.
    parameters : TopicParameters
        The topics.
    """
    n_tags = parameters.log_words.shape[0] - parameters.n_visual
    unknown = np.full((visual.shape[0], n_tags), UNKNOWN, dtype=np.int8)
    joint, _ = WordCounts(visual, unknown).log_joint(parameters)
    logits, p = joint.copy(), np.empty_like(joint)
    softmax_rows(logits, p)
    return joint, p


def exact_posteriors(joint: Reals, links: Any, known: Reals, smoothness: float) -> Reals:
    """Maximise Q over new photos, each by itself.

    With fixed neighbours the quadratic term is ``λ d ‖p - m‖²``, m the neighbours' mean, hence at most
    ``λ d KL(p, p')`` above its tangent at p': steps are half as short as between photos that all move.

    Parameters
    ----------
    joint : array of shape (m, K)
        Log-joint of the new photos.
    links : CSR of shape (m, n)
        Weights of their links to the training photos.
    known : array of shape (n, K)
        Posteriors of the training photos.
    smoothness : float
        λ.
    """
    dtype = joint.dtype
    sums = np.asarray(links @ known, dtype=dtype)
    degrees = np.asarray(links.sum(axis=1), dtype=dtype).reshape(-1, 1)
    own = 1.0 / (1.0 + smoothness * degrees)
    target = own * (joint + 2.0 * smoothness * sums)
    inertia = own * smoothness * degrees
    log_p, p = joint.copy(), np.empty_like(joint)
    softmax_rows(log_p, p)
    moving = np.flatnonzero(degrees[:, 0] > 0)
    for _ in range(_MOST_NEW_STEPS):
        if moving.size == 0:
            break
        logits = target[moving] + inertia[moving] * (log_p[moving] - 2.0 * p[moving])
        moved = np.empty_like(logits)
        softmax_rows(logits, moved)
        change = np.abs(moved - p[moving]).max(axis=1)
        log_p[moving], p[moving] = logits, moved
        moving = moving[change > _SETTLED]
    return p


def averaged_posteriors(p: Reals, links: Any, known: Reals, step: float, n_steps: int | None) -> Reals:
    """Do so many steps of Eq. (10) with fixed neighbours; None: infinitely many, which leaves the neighbours' mean.

    Parameters
    ----------
    p : array of shape (m, K)
        Posteriors of Eq. (9).
    links, known
        As for `exact_posteriors`.
    step : float
        γ.
    n_steps : int or None
        How many.
    """
    degrees = np.asarray(links.sum(axis=1), dtype=p.dtype).reshape(-1, 1)
    sums = np.asarray(links @ known, dtype=p.dtype)
    mean = np.divide(sums, degrees, out=p.copy(), where=degrees > 0)
    left = 0.0 if n_steps is None else (1.0 - step) ** n_steps
    return np.asarray(mean + left * (p - mean), dtype=p.dtype)
