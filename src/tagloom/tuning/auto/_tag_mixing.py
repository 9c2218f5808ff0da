"""Tags that go together: scores listen to the scores of other tags, as far as that is seen to help."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats
from tagloom.metrics import average_precision
from tagloom.tuning.auto.stacking import ENOUGH_TAGS, gain_stands_out, rankable_tags

__all__ = ["TagMixing", "find_mixing", "label_correlations"]


#: How much of the other tags is added; the next one is tried where the gain of the one before stood out.
STRENGTHS = (0.1, 0.3)
#: In standard errors over tags.
CAUTION = 2.0


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

    def apply(self, deviations: Floats) -> Floats:
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
    for strength in STRENGTHS:
        found = average_precision(labels[:, tags], _mixed(deviations, spreads, of_others, strength)[:, tags])
        if not gain_stands_out(found - current, CAUTION):
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
