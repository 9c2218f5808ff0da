from .auto.annotator import AutoAnnotator as AutoAnnotator
from .auto.search import LeaderboardRow as LeaderboardRow
from .auto.stacking import stack_scores as stack_scores
from .calibration.calibrated import CalibratedAnnotator as CalibratedAnnotator
from .calibration.positive_unlabeled import (
    DebiasedLabels as DebiasedLabels,
    PositiveUnlabeledAnnotator as PositiveUnlabeledAnnotator,
    debias_labels as debias_labels,
    estimate_completeness as estimate_completeness,
    weak_negatives as weak_negatives,
)
from .evaluation.evaluation import CrossValidation as CrossValidation, cross_validate as cross_validate
from .evaluation.group_figures import GroupFigure as GroupFigure, compare_groups as compare_groups
from .evaluation.label_curve import (
    Forecast as Forecast,
    LearningCurve as LearningCurve,
    learning_curve as learning_curve,
)
from .explain.explain import (
    Decomposition as Decomposition,
    Explanation as Explanation,
    ScoreExplainer as ScoreExplainer,
    explain_score as explain_score,
)
from .group_weights import GroupWeights as GroupWeights, choose_group_weights as choose_group_weights
from .queries import rank_photos as rank_photos
