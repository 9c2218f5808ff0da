"""What is measured and chosen on a person's own labels: weights, probabilities, figures, explanations, what to label.

Public names load lazily: scikit-learn is imported by what needs it.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.tuning.auto import AutoAnnotator
    from tagloom.tuning.calibration import CalibratedAnnotator
    from tagloom.tuning.evaluation import CrossValidation, cross_validate
    from tagloom.tuning.explain import Decomposition, Explanation, ScoreExplainer, explain_score
    from tagloom.tuning.group_figures import GroupFigure, compare_groups
    from tagloom.tuning.group_weights import GroupWeights, choose_group_weights
    from tagloom.tuning.label_curve import Forecast, LearningCurve, learning_curve
    from tagloom.tuning.positive_unlabeled import (
        DebiasedLabels,
        PositiveUnlabeledAnnotator,
        debias_labels,
        estimate_completeness,
        weak_negatives,
    )
    from tagloom.tuning.queries import rank_photos
    from tagloom.tuning.search import LeaderboardRow
    from tagloom.tuning.stacking import stack_scores

_HOMES = {
    "AutoAnnotator": "tagloom.tuning.auto",
    "CalibratedAnnotator": "tagloom.tuning.calibration",
    "CrossValidation": "tagloom.tuning.evaluation",
    "DebiasedLabels": "tagloom.tuning.positive_unlabeled",
    "Decomposition": "tagloom.tuning.explain",
    "Explanation": "tagloom.tuning.explain",
    "Forecast": "tagloom.tuning.label_curve",
    "GroupFigure": "tagloom.tuning.group_figures",
    "GroupWeights": "tagloom.tuning.group_weights",
    "LeaderboardRow": "tagloom.tuning.search",
    "LearningCurve": "tagloom.tuning.label_curve",
    "PositiveUnlabeledAnnotator": "tagloom.tuning.positive_unlabeled",
    "ScoreExplainer": "tagloom.tuning.explain",
    "choose_group_weights": "tagloom.tuning.group_weights",
    "compare_groups": "tagloom.tuning.group_figures",
    "cross_validate": "tagloom.tuning.evaluation",
    "debias_labels": "tagloom.tuning.positive_unlabeled",
    "estimate_completeness": "tagloom.tuning.positive_unlabeled",
    "explain_score": "tagloom.tuning.explain",
    "learning_curve": "tagloom.tuning.label_curve",
    "rank_photos": "tagloom.tuning.queries",
    "stack_scores": "tagloom.tuning.stacking",
    "weak_negatives": "tagloom.tuning.positive_unlabeled",
}

__all__ = [
    "AutoAnnotator",
    "CalibratedAnnotator",
    "CrossValidation",
    "DebiasedLabels",
    "Decomposition",
    "Explanation",
    "Forecast",
    "GroupFigure",
    "GroupWeights",
    "LeaderboardRow",
    "LearningCurve",
    "PositiveUnlabeledAnnotator",
    "ScoreExplainer",
    "choose_group_weights",
    "compare_groups",
    "cross_validate",
    "debias_labels",
    "estimate_completeness",
    "explain_score",
    "learning_curve",
    "rank_photos",
    "stack_scores",
    "weak_negatives",
]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
