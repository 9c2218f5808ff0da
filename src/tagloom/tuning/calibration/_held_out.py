"""Scores of labelled photos by annotators that have not seen their labels, on one scale whatever the annotator is."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.base import clone

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.typing import Floats
from tagloom.graph import knn_graph
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.baselines.propagation import HarmonicPropagation, LocalGlobalConsistency
from tagloom.methods.shared.out_of_fold import stable_folds
from tagloom.methods.shared.smoothing import smoothing_graph

__all__ = ["HeldOut", "ScoreScale", "collect_held_out", "folds_of", "scale_of", "with_shared_graph"]


@dataclass(frozen=True, eq=False)
class ScoreScale:
    """What is known of a fitted annotator's scores without a look at labels it has not seen.

    Attributes
    ----------
    centre, spread : ndarray of shape (c,)
        Mean and standard deviation of each tag's scores over the entries unknown to the annotator.
    prior : ndarray of shape (c,)
        Log-odds of each tag's frequency among the entries known to it, one half added to both counts.
    evidence : ndarray of shape (c,)
        ``log(1 + positives)`` known to it.
    n_reference : ndarray of shape (c,)
        Entries that centre and spread come from.
    """

    centre: Floats
    spread: Floats
    prior: Floats
    evidence: Floats
    n_reference: NDArray[np.int64]

    def describe(self, scores: NDArray[np.floating[Any]]) -> Floats:
        """Return features of scores of shape (n, c) as an array of shape (n, c, 4) for the pooled sigmoid.

        The intercept, the compressed distance from the centre in spreads, the prior, and the product of the second with
        the evidence: a score says more of a tag with more examples.
        """
        distance = np.arcsinh((np.asarray(scores, dtype=np.float64) - self.centre) / self.spread)
        constant = np.ones_like(distance)
        prior = np.broadcast_to(self.prior, distance.shape)
        return np.stack([constant, distance, prior, distance * self.evidence], axis=-1)


def scale_of(scores: NDArray[np.floating[Any]], Y: LabelMatrix) -> ScoreScale:
    """Return the scale of an annotator's scores ``transduction_`` after it was fitted with Y."""
    unknown = Y == UNKNOWN
    count = unknown.sum(axis=0)
    total = np.maximum(count, 1)
    centre = np.where(unknown, scores, 0.0).sum(axis=0, dtype=np.float64) / total
    variance = np.where(unknown, np.square(scores - centre), 0.0).sum(axis=0, dtype=np.float64) / total
    # Scores that do not vary say nothing: any positive number keeps them at the centre.
    tiny = 1e-9 * (1.0 + np.abs(centre))
    spread = np.where(np.sqrt(variance) > tiny, np.sqrt(variance), 1.0)
    return ScoreScale(centre, spread, known_log_odds(Y), np.log1p((Y == 1).sum(axis=0)), count)


def known_log_odds(Y: LabelMatrix) -> Floats:
    """Return for each tag the log-odds of a yes among the known entries, one half added to both counts."""
    n_positive, n_known = (Y == 1).sum(axis=0), (Y != UNKNOWN).sum(axis=0)
    return np.asarray(logit((n_positive + 0.5) / (n_known + 1.0)))


def folds_of(X: NDArray[Any], Y: LabelMatrix, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return a fold for each of some labelled photos, by `stable_folds`; one fold where there are fewer than two."""
    folds = np.zeros(len(Y), dtype=np.intp)
    if len(rows) >= 2:
        for fold, held_out in enumerate(stable_folds(X, Y, random_state=0)):
            folds[held_out] = fold
    return folds[rows]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Held-out scores of the labelled photos as features of the pooled sigmoid.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Labelled photos.
    folds : ndarray of shape (m,)
        Which fold each was held out with.
    trained, new : ndarray of shape (m, c, q)
        Features of the held-out photos' scores as unlabelled photos of the training set, and as new photos.
    scale : ScoreScale
        Of the annotator fitted with all labels.
    """

    rows: NDArray[np.intp]
    folds: NDArray[np.intp]
    trained: Floats
    new: Floats
    scale: ScoreScale


def collect_held_out(
    annotator: Annotator,
    X: Any,
    Y: LabelMatrix,
    scores: NDArray[np.floating[Any]],
    *,
    n_splits: int,
    random_state: Any,
) -> HeldOut | None:
    """Fit clones of an annotator, each with a fold of the labelled photos unlabelled, and describe their scores.

    Parameters
    ----------
    annotator : Annotator
        Cloned, never changed.
    X : array of shape (n, d)
        Features.
    Y : label matrix of shape (n, c)
        Labels.
    scores : array of shape (n, c)
        ``transduction_`` of the annotator fitted with all of Y.
    n_splits, random_state
        See `LabeledKFold`.

    Returns
    -------
    HeldOut or None
        None with fewer than two labelled photos.
    """
    rows = np.flatnonzero(labeled_rows(Y))
    scale = scale_of(scores, Y)
    if len(rows) < 2:
        return None
    place = np.full(len(Y), -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    folds = np.zeros(len(rows), dtype=np.intp)
    described: list[tuple[NDArray[np.intp], Floats, Floats, ScoreScale]] = []
    for fold, held_out in enumerate(stable_folds(X, Y, n_splits=n_splits, random_state=random_state)):
        hidden = Y.copy()
        hidden[held_out] = UNKNOWN
        with warnings.catch_warnings():
            # The annotator warns of what all rows lack when it is fitted on them; a fold lacks more.
            warnings.simplefilter("ignore")
            fitted = clone(annotator).fit(X, hidden)
            as_new = fitted.decision_function(X[held_out])
        found = fitted.transduction_
        own = scale_of(found, hidden)
        folds[place[held_out]] = fold
        described.append((place[held_out], own.describe(found[held_out]), own.describe(as_new), own))
    shape = (len(rows), Y.shape[1], described[0][1].shape[-1])
    trained, new = np.empty(shape), np.empty(shape)
    for places, of_trained, of_new, _ in described:
        trained[places], new[places] = of_trained, of_new
    return HeldOut(rows, folds, trained, new, _settled(scale, [own for *_, own in described], len(rows)))


def _settled(scale: ScoreScale, of_folds: list[ScoreScale], n_labelled: int) -> ScoreScale:
    """Return the scale with centre and spread of the folds where hardly an entry is unknown to the annotator itself."""
    few = scale.n_reference < n_labelled / len(of_folds)
    centre = np.where(few, np.mean([one.centre for one in of_folds], axis=0), scale.centre)
    spread = np.where(few, np.mean([one.spread for one in of_folds], axis=0), scale.spread)
    return replace(scale, centre=centre, spread=spread)


def with_shared_graph(annotator: Annotator, X: Any) -> Annotator:
    """Return a clone that is given its neighbour graph, where it would build the same one in every fit."""
    copy: Annotator = clone(annotator)
    if X.shape[0] < 2:
        return copy
    if isinstance(copy, RegularizedLeastSquares) and copy.smoothing > 0 and copy.graph is None:
        copy.graph = smoothing_graph(X, n_neighbors=copy.n_neighbors, metric=copy.metric)
    if isinstance(copy, HarmonicPropagation | LocalGlobalConsistency) and copy.graph is None:
        bandwidth = copy.bandwidth if copy.weights == "heat" else None
        copy.graph = knn_graph(
            X, copy.n_neighbors, metric=copy.metric, weights=copy.weights, bandwidth=bandwidth, n_threads=copy.n_threads
        )
    return copy
