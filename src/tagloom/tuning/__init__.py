"""Choices made on a person's own labels: weights of feature groups, probabilities, what to label next.

Public names load lazily: scikit-learn is imported by what needs it.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.tuning.calibration import CalibratedAnnotator
    from tagloom.tuning.group_weights import GroupWeights, choose_group_weights
    from tagloom.tuning.positive_unlabeled import (
        DebiasedLabels,
        PositiveUnlabeledAnnotator,
        debias_labels,
        estimate_completeness,
        weak_negatives,
    )
    from tagloom.tuning.queries import rank_photos

_HOMES = {
    "CalibratedAnnotator": "tagloom.tuning.calibration",
    "DebiasedLabels": "tagloom.tuning.positive_unlabeled",
    "GroupWeights": "tagloom.tuning.group_weights",
    "PositiveUnlabeledAnnotator": "tagloom.tuning.positive_unlabeled",
    "choose_group_weights": "tagloom.tuning.group_weights",
    "debias_labels": "tagloom.tuning.positive_unlabeled",
    "estimate_completeness": "tagloom.tuning.positive_unlabeled",
    "rank_photos": "tagloom.tuning.queries",
    "weak_negatives": "tagloom.tuning.positive_unlabeled",
}

__all__ = [
    "CalibratedAnnotator",
    "DebiasedLabels",
    "GroupWeights",
    "PositiveUnlabeledAnnotator",
    "choose_group_weights",
    "debias_labels",
    "estimate_completeness",
    "rank_photos",
    "weak_negatives",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
