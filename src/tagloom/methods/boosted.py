"""Any annotator with its scores shrunk along the directions in which tags go together."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tagloom.core import (
    UNKNOWN,
    Annotator,
    FeatureGroups,
    Floats,
    LabelMatrix,
    OneOf,
    fit_thresholds,
    labeled_rows,
)
from tagloom.methods.baselines import RegularizedLeastSquares
from tagloom.methods.curds_and_whey import CurdsAndWhey
from tagloom.methods.shared import known_means, out_of_fold_scores

__all__ = ["BoostedAnnotator"]


#: Root mean square over tags up to which scores have the means of labels coded 1 and 0, or ±1.
SAME_MEANS = 0.1


class BoostedAnnotator(Annotator):
    """Annotator whose scores are improved by correlations between tags (`CurdsAndWhey`).

    Parameters
    ----------
    annotator : Annotator or None, default=None
        What is boosted; it is cloned. None: `RegularizedLeastSquares`.
    boost : {"curds_and_whey", "structured"}, default="curds_and_whey"
        Plain or structured sparse canonical coordinates.
    groups : FeatureGroups or None, default=None
        Groups of the columns of X for "structured".
    weights : {"gcv", "asymptotic"}, default="gcv"
        See `CurdsAndWhey`.
    correlations : {"held_out", "training", "auto"}, default="held_out"
        "held_out" fits the annotator ``n_splits`` times more, each time with a fold of the labelled photos unlabelled,
        and measures what its scores are worth there: right for any annotator. "training" fits no more and takes the
        annotator for least squares on the columns it uses; a model that is regularised already is then shrunk twice.
        "auto" as in `CurdsAndWhey`.
    ridge, feature_sparsity, group_sparsity, tag_sparsity, tag_fusion : float
        See `CurdsAndWhey`.
    n_splits : int, default=5
        Folds of "held_out".
    random_state : int, Generator or None, default=0
        For dealing the folds; the annotator has its own.

    Attributes
    ----------
    annotator_ : Annotator
        The clone fitted on all labelled photos.
    booster_ : CurdsAndWhey
        Coordinates, weights and the matrix ``shrinkage_``.
    score_means_ : ndarray of shape (c,)
        Mean of the annotator's scores over the photos on which the tag is known: what scores are shrunk towards.
    held_out_scores_ : ndarray of shape (n, c) or None
        Boosted scores of each labelled photo by an annotator fitted without its labels, NaN for the others. The
        shrinkage itself has seen all labels.
    thresholds_ : ndarray of shape (c,)
        `fit_thresholds` of the held-out scores where there are some, else of ``transduction_``.

    Notes
    -----
    Scores keep the annotator's units: they are shrunk towards their own means. For the weights they are taken as labels
    coded 1 and 0 or ±1 where their means say so, else multiplied by the one factor for all tags that fits them to ±1
    best. Where the annotator has a
    ``coef_`` of shape (d, c), only columns that some tag uses enter the canonical analysis, as in the paper.
    A tag that does not vary on the labelled photos keeps its scores.
    """

    _parameter_constraints = CurdsAndWhey._parameter_constraints | {
        "boost": [OneOf("curds_and_whey", "structured")],
        "annotator": [Annotator, None],
    }

    def __init__(
        self,
        annotator: Annotator | None = None,
        *,
        boost: Literal["curds_and_whey", "structured"] = "curds_and_whey",
        groups: FeatureGroups | None = None,
        weights: Literal["gcv", "asymptotic"] = "gcv",
        correlations: Literal["held_out", "training", "auto"] = "held_out",
        ridge: float = 1.0,
        feature_sparsity: float = 0.1,
        group_sparsity: float = 0.1,
        tag_sparsity: float = 0.0,
        tag_fusion: float = 0.1,
        n_splits: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.annotator = annotator
        self.boost = boost
        self.groups = groups
        self.weights = weights
        self.correlations = correlations
        self.ridge = ridge
        self.feature_sparsity = feature_sparsity
        self.group_sparsity = group_sparsity
        self.tag_sparsity = tag_sparsity
        self.tag_fusion = tag_fusion
        self.n_splits = n_splits
        self.random_state = random_state

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        booster = self._make_booster()
        if self.groups is not None:
            self.groups.check(X)
        base = RegularizedLeastSquares() if self.annotator is None else self.annotator
        self.annotator_: Annotator = clone(base).fit(X, Y)
        raw = np.asarray(self.annotator_.transduction_, dtype=np.float64)
        self.score_means_ = known_means(raw, Y)
        held_out = None
        if self.correlations == "held_out" and labeled_rows(Y).sum() >= 2:
            held_out = out_of_fold_scores(base, X, Y, n_splits=self.n_splits, random_state=self.random_state)
        used, groups = self._used_columns(X.shape[1])
        as_labels = None if held_out is None else held_out * self._unit(raw, Y)
        self.booster_ = booster.fit(X[:, used], Y, groups=groups, scores=as_labels)
        self.transduction_ = self.booster_.shrink(raw, self.score_means_)
        self.held_out_scores_ = None
        if held_out is not None:
            self.held_out_scores_ = self.booster_.shrink(held_out + self.score_means_, self.score_means_)
        honest = self.transduction_ if self.held_out_scores_ is None else self.held_out_scores_
        # Rows without a label have no held-out score; the thresholds do not look at them.
        self.thresholds_ = fit_thresholds(np.where(np.isnan(honest), self.transduction_, honest), Y)

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        raw = np.asarray(self.annotator_.decision_function(X), dtype=np.float64)
        return self.booster_.shrink(raw, self.score_means_)

    def _make_booster(self) -> CurdsAndWhey:
        canonical: dict[str, Literal["plain", "structured"]] = {"curds_and_whey": "plain", "structured": "structured"}
        return CurdsAndWhey(
            canonical=canonical[self.boost],
            weights=self.weights,
            correlations=self.correlations,
            ridge=self.ridge,
            feature_sparsity=self.feature_sparsity,
            group_sparsity=self.group_sparsity,
            tag_sparsity=self.tag_sparsity,
            tag_fusion=self.tag_fusion,
            n_splits=self.n_splits,
            random_state=self.random_state,
        )

    def _used_columns(self, n_columns: int) -> tuple[NDArray[np.intp], FeatureGroups | None]:
        """Return the columns that some tag uses, and their groups; all columns where that is not known."""
        coef = getattr(self.annotator_, "coef_", None)
        if coef is None or np.shape(coef)[0] != n_columns or not np.any(coef):
            return np.arange(n_columns), self.groups
        used = np.flatnonzero(np.any(np.asarray(coef), axis=1))
        if self.groups is None:
            return used, None
        sizes = np.bincount(self.groups.labels[used], minlength=len(self.groups))
        kept = {name: int(size) for name, size in zip(self.groups.names, sizes, strict=True) if size}
        return used, FeatureGroups.from_mapping(kept)

    def _unit(self, raw: Floats, Y: LabelMatrix) -> float:
        """Return what one unit of the annotator's scores is in labels coded ±1."""
        known = Y != UNKNOWN
        counts = known.sum(axis=0)
        shares = (Y == 1).sum(axis=0)[counts > 0] / counts[counts > 0]
        means = self.score_means_[counts > 0]
        # A regression keeps the means of the labels, and so tells how it codes them.
        away = {2.0: means - shares, 1.0: means - (2.0 * shares - 1.0)}
        distances = {unit: float(np.sqrt(np.square(distance).mean())) for unit, distance in away.items()}
        nearest = min(distances, key=lambda unit: distances[unit])
        if distances[nearest] <= SAME_MEANS:
            return nearest
        centred = np.where(known, raw - self.score_means_, 0.0)
        length = float(np.square(centred).sum())
        slope = float((centred * np.where(Y == 1, 1.0, -1.0)).sum()) / length if length > 0 else 1.0
        return slope if slope > 0 else 1.0
