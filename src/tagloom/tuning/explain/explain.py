"""Why an annotator gives a photo a score: by labelled photos, by feature groups, by other tags."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.core import UNKNOWN, Annotator, FeatureGroups, Floats, LabelMatrix, check_groups, check_labels
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph
from tagloom.methods import BoostedAnnotator
from tagloom.methods.shared import linear_scores
from tagloom.tuning.auto import AutoAnnotator, smoothed_priors
from tagloom.tuning.constants import EXACT, N_CACHED_DECOMPOSITIONS, SMOOTHING_ROUNDING
from tagloom.tuning.explain.label_weights import (
    AutoWeights,
    LabelWeights,
    Latest,
    RidgeWeights,
    RowView,
    find_auto_weights,
    find_label_weights,
)
from tagloom.tuning.explain.surrogates import PatternRidges, RidgeStandIn, even_factors, labels_shown, local_line

__all__ = ["Decomposition", "Explanation", "ScoreExplainer", "explain_score"]


# What an explanation of a score consists of: sums, and what they leave over.


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A score as a sum: ``score = base + Σ amounts + rest``.

    Attributes
    ----------
    names : tuple
        What the amounts belong to: rows of photos, names of groups, or columns of tags.
    amounts : ndarray of shape (k,)
        What each adds to the score, or takes from it.
    base : float
        What the score would be without any of them.
    rest : float
        What is not explained; rounding where the decomposition is exact.
    is_exact : bool
        Whether this is how the annotator itself comes to its score. Otherwise a simpler model stands in for it.
    """

    names: tuple[Any, ...]
    amounts: Floats
    base: float
    rest: float
    is_exact: bool

    @property
    def error(self) -> float:
        """Size of what is not explained."""
        return abs(self.rest)


@dataclass(frozen=True, eq=False)
class NeighborDecomposition(Decomposition):
    """A score by the photos on which the tag is known, ``amount = weight·(label - frequency)``.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        By how much the score rises if the photo's label goes from no to yes, all else being equal.
    labels : ndarray of shape (k,)
        1 has the tag, 0 does not.
    frequency : float
        Share of yes among the labels; ``base`` is the score if every label were this number.
    """

    weights: Floats = field(default_factory=lambda: np.empty(0))
    labels: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    frequency: float = 0.0

    @property
    def order(self) -> NDArray[np.intp]:
        """Places from the largest amount, whatever its sign, to the smallest."""
        return np.argsort(-np.abs(self.amounts), kind="stable")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a photo has its score for a tag.

    Attributes
    ----------
    row, tag : int
        The photo and the tag.
    score : float
        The annotator's score, not calibrated.
    neighbors : NeighborDecomposition
        By photos on which the tag is known.
    groups : Decomposition or None
        By feature groups, against the average photo; None where no groups were given.
    tags : Decomposition or None
        By the scores of all tags; None where each tag is looked at alone, or that sum is not known.
    """

    row: int
    tag: int
    score: float
    neighbors: NeighborDecomposition
    groups: Decomposition | None
    tags: Decomposition | None

    @property
    def parts(self) -> tuple[Decomposition, ...]:
        """The decompositions that there are."""
        return tuple(part for part in (self.neighbors, self.groups, self.tags) if part is not None)

    @property
    def rest(self) -> float:
        """What the labelled photos do not explain."""
        return self.neighbors.rest

    @property
    def is_exact(self) -> bool:
        """Whether every decomposition is exact."""
        return all(part.is_exact for part in self.parts)

    @property
    def error(self) -> float:
        """The largest of the errors."""
        return max(part.error for part in self.parts)


def is_small(rest: float, score: float) -> bool:
    """Tell whether what is left of a score is rounding."""
    return abs(rest) <= EXACT * max(1.0, abs(score))


def sum_up(names: tuple[Any, ...], amounts: Floats, base: float, score: float, *, is_own: bool) -> Decomposition:
    """Return a decomposition, exact where it is the annotator's own and leaves nothing over."""
    rest = score - base - float(amounts.sum())
    return Decomposition(names, amounts, base, rest, is_own and is_small(rest, score))


def sum_labels(
    rows: NDArray[np.intp],
    labels: NDArray[np.int8],
    weights: Floats,
    offset: float,
    score: float | None = None,
    *,
    is_own: bool = True,
) -> NeighborDecomposition:
    """Return ``offset + Σ weights·labels`` by photos, against the frequency of yes.

    Parameters
    ----------
    rows, labels, weights : arrays of shape (k,)
        Photos on which the tag is known, their labels, and what those weigh.
    offset : float
        What is there if all labels are no.
    score : float, optional
        What is to be explained. Default: the sum itself.
    is_own : bool, default=True
        Whether this is how the annotator comes to its score.
    """
    frequency = float(labels.mean()) if len(labels) else 0.0
    amounts = weights * (labels - frequency)
    base = offset + frequency * float(weights.sum())
    whole = base + float(amounts.sum())
    rest = 0.0 if score is None else score - whole
    is_exact = is_own and is_small(rest, whole + rest)
    return NeighborDecomposition(tuple(rows.tolist()), amounts, base, rest, is_exact, weights, labels, frequency)


# Explanations of scores that are mixtures: sums of what is known of the scores of single tags.


def mix_groups(parts: Sequence[tuple[float, Decomposition]], level: float, score: float) -> Decomposition | None:
    """Return the sum of decompositions of single tags by the same names, None where there are none.

    Parameters
    ----------
    parts : sequence of (float, Decomposition)
        Shares and decompositions.
    level : float
        What the mixture adds to their sum.
    score : float
        What is explained.
    """
    if not parts:
        return None
    amounts = np.sum([share * part.amounts for share, part in parts], axis=0)
    base = level + sum(share * part.base for share, part in parts)
    return sum_up(parts[0][1].names, amounts, float(base), score, is_own=all(part.is_exact for _, part in parts))


def mix_neighbors(
    parts: Sequence[tuple[int, float, NeighborDecomposition]], level: float, score: float, Y: LabelMatrix, tag: int
) -> NeighborDecomposition:
    """Return what each labelled photo adds by all of its labels; weights are those of the label of the tag itself.

    Parameters
    ----------
    parts : sequence of (int, float, NeighborDecomposition)
        Tags, their shares, and decompositions by photos; a tag may be there more than once.
    level : float
        What the mixture adds to their sum.
    score : float
        What is explained.
    Y : label matrix of shape (n, c)
        Labels.
    tag : int
        The tag that is explained.
    """
    totals, own = np.zeros(len(Y)), np.zeros(len(Y))
    base = level
    for other, share, part in parts:
        rows = np.asarray(part.names, dtype=np.intp)
        totals[rows] += share * part.amounts
        base += share * part.base
        if other == tag:
            own[rows] += share * part.weights
    kept = np.flatnonzero((Y != UNKNOWN).any(axis=1))
    rest = score - base - float(totals.sum())
    is_exact = all(part.is_exact for *_, part in parts) and is_small(rest, score)
    labels = Y[kept, tag]
    frequency = float(labels[labels != UNKNOWN].mean()) if (labels != UNKNOWN).any() else 0.0
    names = tuple(kept.tolist())
    return NeighborDecomposition(names, totals[kept], float(base), rest, is_exact, own[kept], labels, frequency)


class ScoreExplainer:
    """Explains the scores of a fitted annotator, sharing work between explanations.

    Parameters
    ----------
    annotator : Annotator or None
        Fitted on X and Y. None: nothing is known but its scores. A `RegularizedLeastSquares` needs ``coef_``,
        ``intercept_`` and ``regularization_`` alone, as they may have been stored.
    X : array of shape (n, d)
        The features.
    Y : label matrix of shape (n, c)
        The labels.
    groups : FeatureGroups, optional
        Column ranges of X.
    scores : array of shape (n, c), optional
        What is explained. Default: ``annotator.transduction_``; of `AutoAnnotator` its scores before calibration, in
        which a labelled photo has its own label (``transduction_`` is log-odds, without it).
    graph : NeighborGraph, optional
        The graph that scores of `RegularizedLeastSquares` are smoothed over, where it is there already.

    Notes
    -----
    Exact by labelled photos: `RegularizedLeastSquares` (smoothed or not; at the penalty that was chosen),
    `HarmonicPropagation`, `LocalGlobalConsistency`, `LapRLS` and `NeighborTransfer`; `AutoAnnotator` where absence
    means no, at the choice that was made and its scores computed again in double precision. For others ridge regression
    of the same labels stands in, on groups scaled to the same variance, brought to the scale of the scores by a
    straight line.

    Exact by feature groups: annotators with ``coef_`` whose scores are ``Xw + b``, also smoothed over the graph. An
    amount is ``(z - μ x̄)·w`` over the group's columns: z the photo's features, x̄ those of the average photo, μ = 1;
    with smoothing z and μ are sums of features and of ones, weighted as the smoothing does. For others a line stands in
    that is fitted to the scores of the 256 nearest photos, each group scaled to the same variance.

    By tags: `BoostedAnnotator` mixes the scores of all tags; its photos and groups are summed through that mixture. So
    are the photos of an `AutoAnnotator` whose tags listen to each other; a photo then adds by all of its labels.
    """

    def __init__(
        self,
        annotator: Annotator | None,
        X: ArrayLike,
        Y: ArrayLike,
        *,
        groups: FeatureGroups | None = None,
        scores: ArrayLike | None = None,
        graph: NeighborGraph | None = None,
    ) -> None:
        if sparse.issparse(X):
            raise InvalidInputError("explanations need dense features, got a sparse matrix; give X.toarray()")
        self.X = np.asarray(X)
        self.Y = check_labels(Y, n_rows=len(self.X))
        check_groups(groups)
        if groups is not None:
            groups.check(self.X)
        if annotator is None and scores is None:
            raise InvalidInputError("expected a fitted annotator or its scores, got neither")
        if scores is None and not any(hasattr(annotator, name) for name in ("transduction_", "coef_")):
            raise InvalidInputError(f"expected a fitted annotator, got {annotator!r} without scores; fit it first")
        self.annotator, self.groups = annotator, groups
        # Log-odds are no sum over labels; scores before calibration may be.
        own = "own_scores_" if isinstance(annotator, AutoAnnotator) else "transduction_"
        given = getattr(annotator, own, None) if scores is None else scores
        self._scores = None if given is None else _checked_scores(given, self.Y)
        self._mean = self.X.mean(axis=0, dtype=np.float64)
        self._even: Floats | None = None
        self._stand_ins, self._columns, self._shared = Latest(), Latest(), Latest(N_CACHED_DECOMPOSITIONS)
        self._others = Latest(N_CACHED_DECOMPOSITIONS)
        self._inner: ScoreExplainer | None = None
        self._weights: LabelWeights | None = None
        if isinstance(annotator, BoostedAnnotator):
            inner = annotator.annotator_
            mixed = inner.transduction_
            self._inner = ScoreExplainer(inner, self.X, self.Y, groups=groups, scores=mixed, graph=graph)
        elif isinstance(annotator, AutoAnnotator):
            self._weights = find_auto_weights(annotator, self.X, self.Y) if scores is None else None
        elif annotator is not None:
            self._weights = find_label_weights(annotator, self.X, self.Y, graph=graph)
        if self._scores is None and not isinstance(self._weights, RidgeWeights):
            raise InvalidInputError(
                f"expected a fitted annotator, got {annotator!r} without transduction_; fit it first"
            )

    def scores_of(self, tag: int) -> Floats:
        """Return the scores of all photos for a tag."""
        if isinstance(self._weights, AutoWeights) or self._scores is None:
            return self._columns.get(tag, lambda: self._restored_scores(tag))
        return self._scores[:, tag]

    def _restored_scores(self, tag: int) -> Floats:
        if isinstance(self._weights, AutoWeights) and self._scores is not None:
            found, kept = self._weights.scores(tag), self._scores[:, tag]
            return found if np.abs(found - kept).max() <= SMOOTHING_ROUNDING else kept
        ridge: Any = self._weights  # no other annotator is without scores
        coef, intercept = ridge.line(tag)
        return np.asarray(ridge.smoothed(linear_scores(self.X, coef[:, None], np.array([intercept]))[:, 0]))

    def _score_of(self, row: int, tag: int) -> float:
        """Return the score of one photo, without those of all others where they are dear."""
        if not isinstance(self._weights, AutoWeights) or self._scores is None:
            return float(self.scores_of(tag)[row])
        found, kept = self._weights.score(row, tag), float(self._scores[row, tag])
        # Another difference than that of rounding is for the explanation to tell.
        return found if abs(found - kept) <= SMOOTHING_ROUNDING else kept

    def explain(self, row: int, tag: int) -> Explanation:
        """Return why a photo has its score for a tag.

        Parameters
        ----------
        row : int
            The photo's row in X.
        tag : int
            The tag's column in Y.
        """
        row, tag = _index(row, len(self.X), "row"), _index(tag, self.Y.shape[1], "tag")
        score = self._score_of(row, tag)
        if self._inner is not None:
            return self._explain_boosted(self._inner, row, tag, score)
        groups = None if self.groups is None else self._by_groups(self.groups, row, tag, score)
        if isinstance(self._weights, AutoWeights) and self._weights.mixing is not None:
            neighbors, tags = self._by_mixed_tags(self._weights, row, tag, score)
            return Explanation(row, tag, score, neighbors, groups, tags)
        return Explanation(row, tag, score, self._by_neighbors(row, tag, score), groups, None)

    def without(self, row: int) -> "ScoreExplainer | None":
        """Return what explains the score of a photo as it is without what was said of that photo.

        Penalties and whatever else was chosen stay. Of an `AutoAnnotator` it is the score that a labelled photo's
        probability is made of. Scores given without an annotator are taken for such as they are: only what stands in
        for them is learnt without the photo. None where the score cannot be had without it.

        Parameters
        ----------
        row : int
            The photo's row in X.
        """
        row = _index(row, len(self.X), "row")
        if (self.Y[row] == UNKNOWN).all():
            return self
        return self._others.get(row, lambda: self._make_without(row))

    def _make_without(self, row: int) -> "ScoreExplainer | None":
        Y = self.Y.copy()
        Y[row] = UNKNOWN
        model: Any = self.annotator
        is_known = self._weights is not None or model is None
        if isinstance(self._weights, AutoWeights):  # where candidates were not compared, the label is in all numbers
            is_known = row in model.model_.compared
        if not is_known or (Y == UNKNOWN).all():
            return None
        found = copy.copy(self)
        found.Y, found._others = Y, Latest()
        found._stand_ins, found._columns, found._shared = Latest(), Latest(), Latest(N_CACHED_DECOMPOSITIONS)
        if self._weights is not None:
            found._weights = self._weights.without(Y)
            found.annotator = found._weights.annotator
            found._scores = self._scores_without(found._weights, row)
        return found

    def _scores_without(self, weights: LabelWeights, row: int) -> Floats | None:
        """Return scores of all photos without one photo's labels, as far as a line through them needs those."""
        if isinstance(weights, RidgeWeights):
            return None
        if not isinstance(weights, AutoWeights):
            return _checked_scores(weights.annotator.transduction_, self.Y)
        scores = weights.annotator.scores_.astype(np.float64)
        # What is kept is a deviation from the frequency without the photo, added to the frequency with it.
        scores[row] += smoothed_priors(weights.Y) - smoothed_priors(self.Y)
        return scores

    def _by_neighbors(self, row: int, tag: int, score: float) -> NeighborDecomposition:
        rows = np.flatnonzero(self.Y[:, tag] != UNKNOWN)
        is_own = self._weights is not None
        if len(rows) == 0:
            weights, offset, is_own = np.empty(0), score, True
        elif self._weights is not None:
            weights, offset = self._weights.of(row, tag)
        else:
            weights, offset = self._stand_ins.get(tag, lambda: self._stand_in(rows, tag)).of(row)
        return sum_labels(rows, self.Y[rows, tag], weights, offset, score, is_own=is_own)

    def _stand_in(self, rows: NDArray[np.intp], tag: int) -> RidgeStandIn:
        """Return the ridge regression of a tag; tags known on the same photos share all but the last step."""
        is_known = self.Y != UNKNOWN
        tags = np.flatnonzero((is_known == is_known[:, [tag]]).all(axis=0))
        factors = self._factors
        shared = self._shared.get(
            rows.tobytes(), lambda: PatternRidges(self.X[rows] * factors, self.Y[np.ix_(rows, tags)])
        )
        place = int(np.searchsorted(tags, tag))
        return RidgeStandIn(self.X, shared, place, self.Y[:, tag], self.scores_of(tag), factors)

    @property
    def _factors(self) -> Floats:
        if self._even is None:
            self._even = even_factors(self.X, self.groups)
        return self._even

    def _explain_boosted(self, inner: "ScoreExplainer", row: int, tag: int, score: float) -> Explanation:
        """Sum the explanations of all tags' own scores: ``score = mean + Σ_j (raw_j - mean_j) shrinkage_j``."""
        model: Any = self.annotator
        means, shares = model.score_means_, model.booster_.shrinkage_[:, tag]
        raw = np.array([inner.scores_of(one)[row] for one in range(len(means))])
        names = tuple(range(len(means)))
        by_tags = sum_up(names, (raw - means) * shares, float(means[tag]), score, is_own=True)
        used = np.flatnonzero(shares)
        level = float(means[tag] - means[used] @ shares[used])
        parts = [(float(shares[one]), inner.explain(row, int(one))) for one in used]
        groups = mix_groups([(share, part.groups) for share, part in parts if part.groups is not None], level, score)
        by_photos = [(part.tag, share, part.neighbors) for share, part in parts]
        return Explanation(row, tag, score, mix_neighbors(by_photos, level, score, self.Y, tag), groups, by_tags)

    def _by_mixed_tags(
        self, weights: AutoWeights, row: int, tag: int, score: float
    ) -> tuple[NeighborDecomposition, Decomposition]:
        """Return the score by labelled photos and by tags: ``score = π + Σ_u D_u M_ut``."""
        shares = weights.shares(tag)
        names = tuple(range(len(shares)))
        by_tags = sum_up(names, weights.deviations(row) * shares, weights.prior(tag), score, is_own=True)
        terms = [(tag, 1.0, weights.of_prior(tag))]
        terms += [(int(one), float(shares[one]), weights.of_deviation(row, int(one))) for one in np.flatnonzero(shares)]
        parts = []
        for one, share, (of_photos, offset) in terms:
            rows = weights.known(one)
            parts.append((one, share, sum_labels(rows, self.Y[rows, one], of_photos, offset)))
        return mix_neighbors(parts, 0.0, score, self.Y, tag), by_tags

    def _by_groups(self, groups: FeatureGroups, row: int, tag: int, score: float) -> Decomposition:
        line = self._line(row, tag)
        if line is None:
            # The line is no more exact than scores that are rounded.
            column = self.scores_of(tag) if self._scores is None else self._scores[:, tag]
            found = local_line(self.X, column, row, labels_shown(column, self.Y[:, tag]), self._factors)
            return _grouped(groups, (self.X[row] - found.mean) * found.coef, found.level, score, is_own=False)
        view, coef, intercept = line
        base = view.share * float(self._mean @ coef + intercept)
        return _grouped(groups, (view.features - view.share * self._mean) * coef, base, score, is_own=True)

    def _line(self, row: int, tag: int) -> tuple[RowView, Floats, float] | None:
        """Return the photo's features as the annotator takes them, slopes and intercept, None where it has none."""
        if isinstance(self._weights, RidgeWeights):
            return self._weights.view(row), *self._weights.line(tag)
        coef, intercept = getattr(self.annotator, "coef_", None), getattr(self.annotator, "intercept_", None)
        if coef is None or intercept is None or np.shape(coef) != (self.X.shape[1], self.Y.shape[1]):
            return None
        own = RowView(self.X[row].astype(np.float64), 1.0)
        return own, np.asarray(coef[:, tag], dtype=np.float64), float(intercept[tag])


def explain_score(
    annotator: Annotator,
    X: ArrayLike,
    Y: ArrayLike,
    row: int,
    tag: int,
    *,
    groups: FeatureGroups | None = None,
) -> Explanation:
    """Explain the score of one photo for one tag.

    Parameters
    ----------
    annotator : Annotator
        Fitted on X and Y.
    X : array of shape (n, d)
        The features.
    Y : label matrix of shape (n, c)
        The labels.
    row, tag : int
        The photo and the tag.
    groups : FeatureGroups, optional
        Column ranges of X.

    See Also
    --------
    ScoreExplainer : For several explanations of one annotator.

    Examples
    --------
    >>> import numpy as np
    >>> from tagloom.methods import RegularizedLeastSquares
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> Y = np.array([[0], [0], [1], [-1]])
    >>> annotator = RegularizedLeastSquares(1.0).fit(X, Y)
    >>> found = explain_score(annotator, X, Y, row=3, tag=0)
    >>> bool(np.isclose(found.neighbors.base + found.neighbors.amounts.sum(), annotator.transduction_[3, 0]))
    True
    >>> found.is_exact
    True
    """
    return ScoreExplainer(annotator, X, Y, groups=groups).explain(row, tag)


def _grouped(groups: FeatureGroups, products: Floats, base: float, score: float, *, is_own: bool) -> Decomposition:
    """Return the sum of products of columns, by groups."""
    amounts = np.array([float(products[groups[name]].sum()) for name in groups])
    return sum_up(groups.names, amounts, base, score, is_own=is_own)


def _checked_scores(scores: ArrayLike, Y: LabelMatrix) -> Floats:
    values = np.asarray(scores, dtype=np.float64)
    if values.shape != Y.shape:
        raise InvalidInputError(
            f"expected scores of the shape of Y, {Y.shape} (photos, tags), got {values.shape}; explain the photos "
            f"that the annotator was fitted on"
        )
    return values


def _index(value: int, length: int, name: str) -> int:
    if not hasattr(value, "__index__") or not 0 <= value < length:
        raise InvalidInputError(f"{name} must be a whole number from 0 to {length - 1}, got {value!r}")
    return int(value)
