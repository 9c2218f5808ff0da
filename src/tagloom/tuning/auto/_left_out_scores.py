"""What kernel ridge regression, its scores perhaps smoothed over the graph, says of photos left out one by one."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core.labels import UNKNOWN, LabelMatrix
from tagloom.core.typing import Floats

__all__ = ["left_out_deviations", "prior_shifts", "smoothed_priors", "targets_of"]


#: Imagined photos with a tag, and as many without: a tag never seen is not impossible.
PRIOR_COUNT = 0.5


def smoothed_priors(Y: LabelMatrix) -> Floats:
    """Return for each tag how often it is to be expected, one half added to both counts."""
    known = Y != UNKNOWN
    return ((Y == 1).sum(axis=0) + PRIOR_COUNT) / (known.sum(axis=0) + 2.0 * PRIOR_COUNT)


def targets_of(Y: LabelMatrix, priors: Floats) -> Floats:
    """Return the deviations of labels from the priors, 0 where unknown."""
    return np.where(Y != UNKNOWN, Y - priors, 0.0)


def prior_shifts(targets: NDArray[Any], counts: Any) -> Floats:
    """Return by how much the prior of a tag falls where a photo's label is left out, shape (m, c).

    Parameters
    ----------
    targets : array of shape (m, c)
        Labels less their `smoothed_priors`.
    counts : array of shape (c,) or int
        Known labels of each tag.

    Notes
    -----
    A prior that has seen the label that is left out tells it: every other target is less by ``t/n`` where it is a yes,
    more where it is a no, so that an annotator which knows nothing ranks all yeses last. The stronger the penalty, the
    worse candidates would look for it.
    """
    return np.asarray(targets / np.maximum(np.asarray(counts) - 1.0 + 2.0 * PRIOR_COUNT, 1.0), dtype=np.float64)


def left_out_deviations(
    K: NDArray[Any],
    influences: Sequence[NDArray[Any]],
    targets: Floats,
    penalties: Sequence[float],
    *,
    shifts: Floats | None = None,
) -> Iterator[tuple[int, int, Floats]]:
    """Yield ``(influence, penalty, deviations)`` for every pair, deviations (m, c) of each photo without its own label.

    Parameters
    ----------
    K : array of shape (m, m)
        Kernel of the labelled photos, with which coefficients are solved for.
    influences : sequence of arrays of shape (m, m)
        What coefficients bring to the scores of the labelled photos: K itself, or K smoothed over the graph.
    targets : array of shape (m, c)
        Labels less their priors.
    penalties : sequence of float
        Ridge penalties λ > 0.
    shifts : array of shape (m, c), optional
        How much less the prior is without each label, see `prior_shifts`: deviations are then from that prior. Default:
        the prior stays.

    Notes
    -----
    With ``G = (K + λI)⁻¹`` and ``α = GT`` the coefficients without photo i are ``α - G e_i α_i / G_ii``, so its score
    is ``(Bα)_i - (BG)_ii α_i / G_ii``. One eigendecomposition of K serves all penalties and influences; no inverse is
    formed. A prior that is less by s makes all other targets larger by s: the same for targets of 1, times s, is
    added.
    """
    eigenvalues, vectors = linalg.eigh(np.asarray(K, dtype=np.float64), check_finite=False)
    eigenvalues = np.maximum(eigenvalues, 0.0)
    if shifts is not None:
        targets = np.column_stack([targets, np.ones(len(targets))])
    projected = vectors.T @ targets
    squares = np.square(vectors)
    for place, influence in enumerate(influences):
        spread = np.asarray(influence, dtype=np.float64) @ vectors
        mixed = spread * vectors
        for step, penalty in enumerate(penalties):
            gains = 1.0 / (eigenvalues + penalty)
            weighted = gains[:, None] * projected
            own = (mixed @ gains) / (squares @ gains)
            found = spread @ weighted - own[:, None] * (vectors @ weighted)
            yield place, step, found if shifts is None else found[:, :-1] + shifts * found[:, -1:]
