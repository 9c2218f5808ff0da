"""What is done to the scores of the combination afterwards: other tags are listened to, forgotten tags allowed for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.metrics import average_precision
from tagloom.tuning.auto.model import StackModel
from tagloom.tuning.auto.stacking import gain_stands_out, rankable_tags
from tagloom.tuning.auto.views import prior_shifts, smoothed_priors
from tagloom.tuning.calibration import absent_entries, estimate_completeness, weak_negatives
from tagloom.tuning.constants import ENOUGH_TAGS, HEAD, LEAST_NAMED, MIXING_CAUTION, MIXING_STRENGTHS

__all__ = ["TagMixing", "counted_completeness", "find_mixing", "soften"]


# Tags that go together: scores listen to the scores of other tags, as far as that is seen to help.


@dataclass(frozen=True, eq=False)
class TagMixing:
    """``D + s D₁ R``, each tag in units of its spread: D the deviations, R the correlations of labels.

    Attributes
    ----------
    strength : float
        s; with 0 nothing changes.
    matrix : ndarray of shape (c, c)
        What deviations are multiplied by.
    gain : float
        Of mean average precision on photos whose labels had no part in the correlations.
    """

    strength: float
    matrix: Floats
    gain: float

    def apply(self, deviations: NDArray[Any]) -> NDArray[Any]:
        """Return mixed deviations (n, c)."""
        return deviations @ self.matrix if self.strength else deviations


def label_correlations(labels: LabelMatrix) -> Floats:
    """Return correlations (c, c) of tags over photos, 0 on the diagonal; an unknown entry is at its tag's mean."""
    known = labels != UNKNOWN
    means = (labels == 1).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    centred = np.where(known, labels - means, 0.0)
    lengths = np.sqrt(np.square(centred).sum(axis=0))
    unit = centred / np.where(lengths > 0.0, lengths, 1.0)
    found = unit.T @ unit
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)


def find_mixing(deviations: Floats, labels: LabelMatrix, spreads: Floats, folds: NDArray[np.intp]) -> TagMixing:
    """Return the mixing, of strength 0 unless a gain stands out on photos that the correlations are not of.

    Parameters
    ----------
    deviations : array of shape (m, c)
        Of labelled photos, each without its own label.
    labels : label matrix of shape (m, c)
        Their labels.
    spreads : array of shape (c,)
        Standard deviation of each tag's deviations over all photos.
    folds : array of shape (m,)
        Photos of one fold are mixed by the correlations of the others.
    """
    n_tags = labels.shape[1]
    none = TagMixing(0.0, np.eye(n_tags), 0.0)
    tags = rankable_tags(labels)
    if tags.sum() < ENOUGH_TAGS or len(np.unique(folds)) < 2:
        return none
    of_others = [
        (rows := np.flatnonzero(folds == fold), label_correlations(np.delete(labels, rows, axis=0)))
        for fold in np.unique(folds)
    ]
    start = current = average_precision(labels[:, tags], deviations[:, tags])
    chosen = 0.0
    for strength in MIXING_STRENGTHS:
        found = average_precision(labels[:, tags], _mixed(deviations, spreads, of_others, strength)[:, tags])
        if not gain_stands_out(found - current, MIXING_CAUTION):
            break
        chosen, current = strength, found
    if not chosen:
        return none
    matrix = _matrix(label_correlations(labels), spreads, chosen)
    return TagMixing(chosen, matrix, float((current - start).mean()))


def _mixed(
    deviations: Floats, spreads: Floats, of_others: Sequence[tuple[NDArray[np.intp], Floats]], strength: float
) -> Floats:
    mixed = np.empty_like(deviations)
    for rows, correlations in of_others:
        mixed[rows] = deviations[rows] @ _matrix(correlations, spreads, strength)
    return mixed


def _matrix(correlations: Floats, spreads: Floats, strength: float) -> Floats:
    # A tag whose scores do not vary neither speaks nor listens.
    inverse = np.divide(1.0, spreads, out=np.zeros_like(spreads), where=spreads > 1e-12)
    return np.asarray(np.eye(len(spreads)) + strength * inverse[:, None] * correlations * spreads)


# Targets for labels of which some were forgotten: an absent tag is learnt from as the share of a yes it may be.

#: Targets of shape (n, c): within 0 and 1, -1 where nothing is learnt from.
Targets = NDArray[Any]


def forgotten_per_named(Y: LabelMatrix, left_out: Floats) -> float:
    """Return how many true tags were forgotten for each that is named, ``(1 - c)/c``, at most 2/3.

    Parameters
    ----------
    Y : label matrix of shape (m, c)
        1 where named, 0 where denied, -1 elsewhere.
    left_out : array of shape (m, c)
        Scores of being named by a model that has not seen the entry.
    """
    if not (Y == 1).any():
        return 0.0
    completeness = estimate_completeness(Y, left_out, least=LEAST_NAMED)
    return (1.0 - completeness) / completeness


def counted_completeness(Y: LabelMatrix, probabilities: Floats) -> float:
    """Return the share of true tags that are named, as far as so many named ones can tell it.

    Parameters
    ----------
    Y : label matrix of shape (m, c)
        1 where named, 0 where denied, -1 elsewhere.
    probabilities : array of shape (m, c)
        Of being named, by a model that has not seen the entry.

    Notes
    -----
    The estimate is made on the `HEAD` likeliest entries. Where fewer are named, that head cannot be full of named ones,
    and the probabilities that would be divided by the share are themselves surer than they should be. So its logarithm
    counts by the root of how many are named, over that number.
    """
    n_named = int((Y == 1).sum())
    if not n_named:
        return 1.0
    estimate = estimate_completeness(Y, probabilities, least=LEAST_NAMED)
    return float(estimate ** np.sqrt(min(1.0, n_named / HEAD)))


def soften(model: StackModel, Y: LabelMatrix, left_out: NDArray[Any]) -> tuple[Targets, Floats]:
    """Return targets (n, c), and left-out deviations (m, c) of a solution with them.

    Parameters
    ----------
    model : StackModel
        The combination, solved with absence as no on the photos compared.
    Y : label matrix of shape (n, c)
        1 where named, 0 where denied, -1 elsewhere.
    left_out : array of shape (n, c)
        Its scores, those of the photos compared without their own label.

    Notes
    -----
    With g the left-out score, an estimate of the chance of being named, an absent tag has the target ``a·g``, cut at 0
    and 1; a is what `forgotten_per_named` returns. ``M(T - π)`` being the left-out deviations, those of the new targets
    ``T'`` are ``M(T' - π')``, but the target of photo k has ``a M_ki (T_i - π)`` from the label of photo i. What thus
    comes back to photo i, ``a Σ_k M_ik M_ki (T_i - π)`` over the k where the tag is absent and not cut, is taken off.
    The prior is that without the photo's own target (`prior_shifts`).
    """
    labels, rows = weak_negatives(Y), model.compared
    priors = smoothed_priors(labels)
    named = left_out[rows]
    share = forgotten_per_named(Y[rows], named)
    targets = _mixed_labels(Y, share * left_out)
    slopes = np.where(absent_entries(Y)[rows] & (named > 0.0) & (share * named < 1.0), share, 0.0)
    deviations = targets[rows] - smoothed_priors(targets)
    shifts = prior_shifts(deviations, len(rows))
    found = np.empty(deviations.shape)
    for tags, operator in model.left_out_operators(Y.shape[1]):
        own = ((operator * operator.T) @ slopes[:, tags]) * (labels[rows] - priors)[:, tags]
        shifted = shifts[:, tags] * operator.sum(axis=1, keepdims=True)
        found[:, tags] = operator @ deviations[:, tags] + shifted - own
    return targets, found


def _mixed_labels(Y: LabelMatrix, forgotten: Floats) -> Targets:
    return np.where(absent_entries(Y), np.clip(forgotten, 0.0, 1.0), Y).astype(np.float32)
