"""What an annotator says of labelled photos that were hidden from it, fold by fold."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.seeds import check_generator
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.methods.shared.out_of_fold import stable_folds
from tagloom.tuning.calibration._held_out import scale_of
from tagloom.tuning.calibration.maps import fit_map
from tagloom.tuning.evaluation._shared_fits import SharedFits

__all__ = ["HeldOutScores", "deal_folds", "score_held_out"]


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """What an annotator says of labelled photos whose labels it has not seen.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        The labelled photos.
    folds : ndarray of shape (m,)
        Which were held out together.
    labels : label matrix of shape (m, c)
        What is known of them.
    scores : ndarray of shape (m, c)
        Scores on a scale that different folds share, so that they can be ranked together; see `SharedFit`.
    accepted : ndarray of bool, shape (m, c)
        Which scores are above the thresholds of the annotator that gave them.
    described : ndarray of shape (m, c, q)
        The scores as calibration takes them.
    n_learnt : float
        Mean number of labelled photos that were learnt from.
    own : ndarray of shape (m, c) or None
        Probabilities of the annotator itself, where it tells some.
    """

    rows: NDArray[np.intp]
    folds: NDArray[np.intp]
    labels: LabelMatrix
    scores: Floats
    accepted: NDArray[np.bool_]
    described: Floats
    n_learnt: float
    own: Floats | None = None

    def probabilities(self) -> Floats:
        """Return probabilities of the held-out photos, none of which has seen the photo's own fold.

        They are the annotator's own, or else those of a calibration on the other folds.
        """
        if self.own is not None:
            return self.own
        found = np.empty(self.scores.shape)
        for fold in np.unique(self.folds):
            here = self.folds == fold
            learnt = fit_map(self.described[~here], self.labels[~here], self.folds[~here], method="platt")
            found[here] = expit(learnt.logits(self.described[here]))
        return found


def deal_folds(X: Any, Y: LabelMatrix, n_splits: int, seed: int) -> list[NDArray[np.intp]]:
    """Deal the labelled photos to folds, so that neither the order of photos nor that of tags matters.

    Raises
    ------
    NothingToScoreError
        If fewer than two photos are labelled.
    """
    n_labelled = int(labeled_rows(Y).sum())
    if n_labelled < 2:
        raise NothingToScoreError(f"cross-validation needs at least 2 labelled photos, got {n_labelled}; label more")
    return list(stable_folds(X, Y, n_splits=n_splits, random_state=seed))


def score_held_out(
    annotator: Annotator,
    X: Any,
    Y: LabelMatrix,
    folds: Sequence[NDArray[np.intp]],
    *,
    seed: int = 0,
    share: float = 1.0,
    fits: SharedFits | None = None,
    progress: Progress = NO_PROGRESS,
) -> HeldOutScores:
    """Fit an annotator once for each fold of the labelled photos, with that fold unlabelled.

    Parameters
    ----------
    annotator : Annotator
        Cloned, never changed.
    X : array of shape (n, d)
        Features of all photos.
    Y : label matrix of shape (n, c)
        Labels.
    folds : sequence of arrays of int
        The labelled photos of each fold; see `deal_folds`.
    seed : int, default=0
        Draws what is learnt from, where that is not all.
    share : float, default=1.0
        Share of the other folds' labelled photos that is learnt from; smaller shares are parts of larger ones.
    fits : SharedFits, optional
        What fits of the same annotator share.
    progress : Progress, optional
        Advanced by one for each fit.
    """
    rows = np.flatnonzero(labeled_rows(Y))
    if not 0.0 < share <= 1.0:
        raise InvalidInputError(f"share must lie above 0 and not above 1, got {share!r}")
    fits = SharedFits(annotator, X) if fits is None else fits
    place = np.full(len(Y), -1, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    fold_of = np.empty(len(rows), dtype=np.intp)
    scores, accepted = np.empty((len(rows), Y.shape[1])), np.empty((len(rows), Y.shape[1]), dtype=bool)
    own = np.full(scores.shape, np.nan)
    described: list[tuple[NDArray[np.intp], Floats]] = []
    n_learnt = []
    for fold, test in enumerate(folds):
        hidden = _hide(Y, np.setdiff1d(rows, test), share, seed + fold)
        found = fits.fit(hidden)
        here = place[test]
        fold_of[here], scores[here] = fold, found.comparable[test]
        accepted[here] = found.scores[test] > found.thresholds
        if found.probabilities is not None:
            own[here] = found.probabilities[test]
        described.append((here, scale_of(found.scores, hidden).describe(found.scores[test])))
        n_learnt.append(int(labeled_rows(hidden).sum()))
        progress.advance()
    together = np.empty((len(rows), *described[0][1].shape[1:]))
    for here, values in described:
        together[here] = values
    return HeldOutScores(
        rows=rows,
        folds=fold_of,
        labels=Y[rows],
        scores=scores,
        accepted=accepted,
        described=together,
        n_learnt=float(np.mean(n_learnt)),
        own=None if np.isnan(own).any() else own,
    )


def _hide(Y: LabelMatrix, learnt: NDArray[np.intp], share: float, seed: int) -> LabelMatrix:
    """Return the labels of a share of some photos alone."""
    if share < 1.0:
        n_kept = max(1, round(share * len(learnt)))
        learnt = check_generator(seed).permutation(learnt)[:n_kept]
    hidden = np.full_like(Y, UNKNOWN)
    hidden[learnt] = Y[learnt]
    return hidden
