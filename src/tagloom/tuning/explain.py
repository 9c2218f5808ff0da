"""Why an annotator gives a photo a score: by labelled photos, by feature groups, by other tags."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, LabelMatrix, check_labels
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph
from tagloom.methods.baselines.ridge_path import linear_scores
from tagloom.methods.boosted import BoostedAnnotator
from tagloom.tuning._label_weights import LabelWeights, Latest, RidgeWeights, RowView, find_label_weights
from tagloom.tuning._surrogates import RidgeStandIn, labels_shown, local_line

__all__ = ["Decomposition", "Explanation", "NeighborDecomposition", "ScoreExplainer", "explain_score"]

Floats = NDArray[np.float64]

#: What a decomposition may miss of the score and still be called exact, relative to the larger of 1 and the score.
EXACT = 1e-6


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
        1 has the tag, 0 has it not.
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
        By the scores of all tags; None where the annotator looks at each tag alone.
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


class ScoreExplainer:
    """Explains scores of the photos that an annotator was fitted on; what explanations share is computed once.

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
        What is explained. Default: ``annotator.transduction_``.
    graph : NeighborGraph, optional
        The graph that scores of `RegularizedLeastSquares` are smoothed over, where it is there already.

    Notes
    -----
    Exact by labelled photos: `RegularizedLeastSquares` (smoothed or not; at the penalty that was chosen),
    `HarmonicPropagation`, `LocalGlobalConsistency`, `LapRLS` and `NeighborTransfer`. For others ridge regression of
    the same labels stands in, brought to the scale of the scores by a straight line.

    Exact by feature groups: annotators with ``coef_`` whose scores are ``Xw + b``, also smoothed over the graph. An
    amount is ``(z - μ x̄)·w`` over the group's columns: z the photo's features, x̄ those of the average photo, μ = 1;
    with smoothing z and μ are sums of features and of ones, weighted as the smoothing does. For others a line stands in
    that is fitted to the scores of the 256 nearest photos.

    By tags: `BoostedAnnotator` mixes the scores of all tags; its photos and groups are summed through that mixture.
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
        if groups is not None:
            groups.check(self.X)
        if annotator is None and scores is None:
            raise InvalidInputError("expected a fitted annotator or its scores, got neither")
        self.annotator, self.groups = annotator, groups
        given = getattr(annotator, "transduction_", None) if scores is None else scores
        self._scores = None if given is None else _checked_scores(given, self.Y)
        self._mean = self.X.mean(axis=0, dtype=np.float64)
        self._stand_ins, self._columns = Latest(), Latest()
        self._inner: ScoreExplainer | None = None
        self._weights: LabelWeights | None = None
        if isinstance(annotator, BoostedAnnotator):
            self._inner = ScoreExplainer(annotator.annotator_, self.X, self.Y, groups=groups, graph=graph)
        elif annotator is not None:
            self._weights = find_label_weights(annotator, self.X, self.Y, graph=graph)
        if self._scores is None and not isinstance(self._weights, RidgeWeights):
            raise InvalidInputError(
                f"expected a fitted annotator, got {annotator!r} without transduction_; fit it first"
            )

    def scores_of(self, tag: int) -> Floats:
        """Return the scores of all photos for a tag."""
        if self._scores is not None:
            return self._scores[:, tag]
        return self._columns.get(tag, lambda: self._restored_scores(tag))

    def _restored_scores(self, tag: int) -> Floats:
        model: Any = self.annotator
        found = linear_scores(self.X, np.asarray(model.coef_)[:, [tag]], np.asarray(model.intercept_)[[tag]])[:, 0]
        return self._weights.smoothed(found) if isinstance(self._weights, RidgeWeights) else found

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
        score = float(self.scores_of(tag)[row])
        if self._inner is not None:
            return _Mixture(self, self._inner).explain(row, tag, score)
        groups = None if self.groups is None else self._by_groups(row, tag, score)
        return Explanation(row, tag, score, self._by_neighbors(row, tag, score), groups, None)

    def _by_neighbors(self, row: int, tag: int, score: float) -> NeighborDecomposition:
        rows = np.flatnonzero(self.Y[:, tag] != UNKNOWN)
        labels = self.Y[rows, tag]
        frequency = float(labels.mean()) if len(rows) else 0.0
        is_own = self._weights is not None
        if len(rows) == 0:
            weights, offset, is_own = np.empty(0), score, True
        elif self._weights is not None:
            weights, offset = self._weights.of(row, tag)
        else:
            make = lambda: RidgeStandIn(self.X, self.Y, tag, self.scores_of(tag))  # noqa: E731
            weights, offset = self._stand_ins.get(tag, make).of(row)
        amounts = weights * (labels - frequency)
        base = offset + frequency * float(weights.sum())
        rest = score - base - float(amounts.sum())
        names = tuple(rows.tolist())
        return NeighborDecomposition(
            names, amounts, base, rest, is_own and _is_small(rest, score), weights, labels, frequency
        )

    def _by_groups(self, row: int, tag: int, score: float) -> Decomposition:
        line = self._line(row, tag)
        if line is None:
            column = self.scores_of(tag)
            found = local_line(self.X, column, row, labels_shown(column, self.Y[:, tag]))
            return self._grouped((self.X[row] - found.mean) * found.coef, found.level, score, is_own=False)
        view, coef, intercept = line
        base = view.share * float(self._mean @ coef + intercept)
        return self._grouped((view.features - view.share * self._mean) * coef, base, score, is_own=True)

    def _line(self, row: int, tag: int) -> tuple[RowView, Floats, float] | None:
        """Return the photo's features as the annotator takes them, slopes and intercept, None where it has none."""
        coef, intercept = getattr(self.annotator, "coef_", None), getattr(self.annotator, "intercept_", None)
        if coef is None or intercept is None or np.shape(coef) != (self.X.shape[1], self.Y.shape[1]):
            return None
        own = RowView(self.X[row].astype(np.float64), 1.0)
        view = self._weights.view(row) if isinstance(self._weights, RidgeWeights) else own
        return view, np.asarray(coef[:, tag], dtype=np.float64), float(intercept[tag])

    def _grouped(self, products: Floats, base: float, score: float, *, is_own: bool) -> Decomposition:
        groups = FeatureGroups([], []) if self.groups is None else self.groups
        amounts = np.array([float(products[groups[name]].sum()) for name in groups])
        rest = score - base - float(amounts.sum())
        return Decomposition(groups.names, amounts, base, rest, is_own and _is_small(rest, score))


class _Mixture:
    """Explanations of scores that are mixtures of the scores of all tags."""

    def __init__(self, outer: ScoreExplainer, inner: ScoreExplainer) -> None:
        self._outer, self._inner = outer, inner

    def explain(self, row: int, tag: int, score: float) -> Explanation:
        """Sum the explanations of all tags' own scores: ``score = mean + Σ_j (raw_j - mean_j) shrinkage_j``."""
        model: Any = self._outer.annotator
        means, shares = model.score_means_, model.booster_.shrinkage_[:, tag]
        raw = np.array([self._inner.scores_of(one)[row] for one in range(len(means))])
        amounts = (raw - means) * shares
        rest = score - float(means[tag]) - float(amounts.sum())
        by_tags = Decomposition(tuple(range(len(means))), amounts, float(means[tag]), rest, _is_small(rest, score))
        used = np.flatnonzero(shares)
        parts = [self._inner.explain(row, int(one)) for one in used]
        level = float(means[tag] - means[used] @ shares[used])
        groups = self._groups(parts, shares[used], level, score)
        return Explanation(row, tag, score, self._neighbors(parts, shares[used], level, score, tag), groups, by_tags)

    def _groups(self, parts: list[Explanation], shares: Floats, level: float, score: float) -> Decomposition | None:
        found = [part.groups for part in parts if part.groups is not None]
        if not found:
            return None
        amounts = np.sum([share * part.amounts for share, part in zip(shares, found, strict=True)], axis=0)
        base = level + sum(share * part.base for share, part in zip(shares, found, strict=True))
        rest = score - base - float(amounts.sum())
        is_exact = all(part.is_exact for part in found) and _is_small(rest, score)
        return Decomposition(found[0].names, amounts, float(base), rest, is_exact)

    def _neighbors(
        self, parts: list[Explanation], shares: Floats, level: float, score: float, tag: int
    ) -> NeighborDecomposition:
        """Return what each photo adds by all of its labels; weights are those of the label of the tag itself."""
        n = len(self._outer.X)
        totals, own = np.zeros(n), np.zeros(n)
        base = level
        for share, part in zip(shares, parts, strict=True):
            rows = np.asarray(part.neighbors.names, dtype=np.intp)
            totals[rows] += share * part.neighbors.amounts
            base += share * part.neighbors.base
            if part.tag == tag:
                own[rows] = share * part.neighbors.weights
        kept = np.flatnonzero((self._outer.Y != UNKNOWN).any(axis=1))
        rest = score - base - float(totals.sum())
        is_exact = all(part.neighbors.is_exact for part in parts) and _is_small(rest, score)
        labels = self._outer.Y[kept, tag]
        frequency = float(labels[labels != UNKNOWN].mean()) if (labels != UNKNOWN).any() else 0.0
        names = tuple(kept.tolist())
        return NeighborDecomposition(names, totals[kept], float(base), rest, is_exact, own[kept], labels, frequency)


def explain_score(
    annotator: Annotator,
    X: ArrayLike,
    Y: ArrayLike,
    row: int,
    tag: int,
    *,
    groups: FeatureGroups | None = None,
) -> Explanation:
    """Return why a photo that an annotator was fitted on has its score for a tag.

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


def _is_small(rest: float, score: float) -> bool:
    return abs(rest) <= EXACT * max(1.0, abs(score))
