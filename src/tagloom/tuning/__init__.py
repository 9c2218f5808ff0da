"""What is measured and chosen on a person's own labels: weights, probabilities, figures, explanations, what to label.

Public names load lazily: scikit-learn is imported by what needs it.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.tuning.auto.annotator import AutoAnnotator
    from tagloom.tuning.auto.search import LeaderboardRow
    from tagloom.tuning.auto.stacking import stack_scores
    from tagloom.tuning.calibration.calibrated import CalibratedAnnotator
    from tagloom.tuning.calibration.positive_unlabeled import (
        DebiasedLabels,
        PositiveUnlabeledAnnotator,
        debias_labels,
        estimate_completeness,
        weak_negatives,
    )
    from tagloom.tuning.evaluation.evaluation import CrossValidation, cross_validate
    from tagloom.tuning.evaluation.group_figures import GroupFigure, compare_groups
    from tagloom.tuning.evaluation.label_curve import Forecast, LearningCurve, learning_curve
    from tagloom.tuning.explain.explain import Decomposition, Explanation, ScoreExplainer, explain_score
    from tagloom.tuning.group_weights import GroupWeights, choose_group_weights
    from tagloom.tuning.queries import rank_photos

_HOMES = {
    "AutoAnnotator": "tagloom.tuning.auto.annotator",
    "CalibratedAnnotator": "tagloom.tuning.calibration.calibrated",
    "CrossValidation": "tagloom.tuning.evaluation.evaluation",
    "DebiasedLabels": "tagloom.tuning.calibration.positive_unlabeled",
    "Decomposition": "tagloom.tuning.explain.explain",
    "Explanation": "tagloom.tuning.explain.explain",
    "Forecast": "tagloom.tuning.evaluation.label_curve",
    "GroupFigure": "tagloom.tuning.evaluation.group_figures",
    "GroupWeights": "tagloom.tuning.group_weights",
    "LeaderboardRow": "tagloom.tuning.auto.search",
    "LearningCurve": "tagloom.tuning.evaluation.label_curve",
    "PositiveUnlabeledAnnotator": "tagloom.tuning.calibration.positive_unlabeled",
    "ScoreExplainer": "tagloom.tuning.explain.explain",
    "choose_group_weights": "tagloom.tuning.group_weights",
    "compare_groups": "tagloom.tuning.evaluation.group_figures",
    "cross_validate": "tagloom.tuning.evaluation.evaluation",
    "debias_labels": "tagloom.tuning.calibration.positive_unlabeled",
    "estimate_completeness": "tagloom.tuning.calibration.positive_unlabeled",
    "explain_score": "tagloom.tuning.explain.explain",
    "learning_curve": "tagloom.tuning.evaluation.label_curve",
    "rank_photos": "tagloom.tuning.queries",
    "stack_scores": "tagloom.tuning.auto.stacking",
    "weak_negatives": "tagloom.tuning.calibration.positive_unlabeled",
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
