"""The strength of the penalty by held-out labels."""

import warnings
from collections.abc import Callable, Iterable

import numpy as np

from tagloom.core.folds import LabeledKFold
from tagloom.core.labels import LabelMatrix
from tagloom.core.typing import Floats
from tagloom.exceptions import NothingToScoreError
from tagloom.methods.sfss.features import CentredFeatures
from tagloom.metrics import mean_average_precision

__all__ = ["CHOOSING_TOLERANCE", "SHARES", "choose_share"]


#: Shares of γ_max that ``sparsity="auto"`` chooses from.
SHARES = 10.0 ** np.arange(-0.25, -2.01, -0.25)
#: Share that is taken where nothing can be compared.
PLAIN_SHARE = 0.1
#: Optimality of the fits that are only compared.
CHOOSING_TOLERANCE = 1e-2


def choose_share(
    features: CentredFeatures,
    Y: LabelMatrix,
    folds: LabeledKFold,
    solve: Callable[[LabelMatrix], Iterable[Floats]],
) -> float:
    """Return the share of γ_max whose ``XW + b`` ranks held-out labelled photos best; the largest among equals.

    Parameters
    ----------
    features : CentredFeatures
        Of all photos.
    Y : label matrix of shape (n, c)
        Labels.
    folds : LabeledKFold
        Which labels are hidden together.
    solve : callable
        From labels with one fold hidden to W for each of `SHARES`.

    Warns
    -----
    UserWarning
        If no hidden label can be scored; then it is `PLAIN_SHARE`.
    """
    found = []
    try:
        for labels, held_out in folds.split_labels(Y):
            if (Y[held_out] == 1).any():
                ranked = [features.times_on(held_out, W) for W in solve(labels)]
                found.append([mean_average_precision(Y[held_out], scores) for scores in ranked])
    except NothingToScoreError:
        found = []
    if found:
        return float(SHARES[int(np.argmax(np.mean(found, axis=0)))])
    warnings.warn(
        f'sparsity="auto" has no held-out labels to compare with and takes {PLAIN_SHARE:g} times the largest sparsity. '
        f"Label more photos (each fold needs some with a tag and some without), or give sparsity as a number",
        UserWarning,
        stacklevel=2,
    )
    return PLAIN_SHARE
