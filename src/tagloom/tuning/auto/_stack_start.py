"""What the combination behind `AutoAnnotator` begins with."""

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import LabelMatrix
from tagloom.tuning.auto.search import CAUTION, Trial
from tagloom.tuning.auto.stacking import gain_stands_out
from tagloom.tuning.auto.views import View

__all__ = ["start_counts"]

#: One of these is there where a network's groups are.
NETWORK_VIEWS = ("deep", "balanced", "deep and semantic", "without the network")

#: Views that the combination begins with, on smoothed and on plain features, where there is an embedding and where not.
SMOOTHED_START, PLAIN_START = ("deep", "joint", "balanced"), ("deep", "joint")
START_WITHOUT_NETWORK = ("joint", "directions")
#: Known positives per tag at which smoothed and plain features begin with equal shares; with more, plain ones gain.
EVEN_POSITIVES = 8.0
#: How much evidence the beginning is worth, in members added: little where features are not known to be good.
START_COUNT, COUNT_WITHOUT_NETWORK = 8.0, 3.0


def start_counts(trials: list[Trial], weightings: list[View], labels: LabelMatrix) -> NDArray[np.float64]:
    """Return how often each candidate is in the combination to begin with.

    Of the kernels of a view the one of the usual width begins, unless the gain of another stands out.
    """
    per_tag = float((labels == 1).sum()) / labels.shape[1]
    plain_share = per_tag / (per_tag + EVEN_POSITIVES)
    names = {view.name for view in weightings}
    has_network = not names.isdisjoint(NETWORK_VIEWS)
    starts = (SMOOTHED_START, PLAIN_START) if has_network else (START_WITHOUT_NETWORK,) * 2
    counts = np.zeros(len(trials))
    for smoothed, start, share in zip((True, False), starts, (1.0 - plain_share, plain_share), strict=True):
        chosen = [_preferred(trials, name, smoothed) for name in start if name in names]
        for place in [place for place in chosen if place is not None]:
            counts[place] += share / len(chosen)
    if not counts.any():
        counts[0] = 1.0
    return (START_COUNT if has_network else COUNT_WITHOUT_NETWORK) * counts / counts.sum()


def _preferred(trials: list[Trial], view: str, smoothed: bool) -> int | None:
    """Return the place of a view's kernel: the first, which has the usual width, unless a better one stands out."""
    places = [
        place
        for place, trial in enumerate(trials)
        if (trial.candidate.view, trial.candidate.smoothed) == (view, smoothed)
    ]
    if not places:
        return None
    usual, best = places[0], max(places, key=lambda place: np.nan_to_num(trials[place].figure, nan=-1.0))
    return best if gain_stands_out(trials[best].precisions - trials[usual].precisions, CAUTION) else usual
