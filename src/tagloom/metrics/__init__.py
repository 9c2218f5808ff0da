"""How good scores are: pure functions of a label matrix and a score matrix.

Every function takes ``(Y, scores)``, leaves entries equal to -1 out, and raises `NothingToScoreError` where
nothing can be scored. Ties and 0/0 have one stated rule each; see the docstrings.
"""

from tagloom.metrics.calibration import (
    ReliabilityCurve,
    brier_score,
    brier_skill,
    calibration_error,
    log_loss,
    reliability_curve,
    select_entries,
)
from tagloom.metrics.evaluation import Evaluation, evaluate
from tagloom.metrics.keywords import (
    annotation_accuracy,
    assign_keywords,
    complete_length,
    keyword_precision,
    keyword_recall,
    n_recalled_keywords,
    precision,
)
from tagloom.metrics.ranking import (
    auc,
    average_precision,
    break_even_point,
    break_even_points,
    macro_auc,
    mean_average_precision,
    micro_auc,
)
from tagloom.metrics.scorers import make_scorer

__all__ = [
    "Evaluation",
    "ReliabilityCurve",
    "annotation_accuracy",
    "assign_keywords",
    "auc",
    "average_precision",
    "break_even_point",
    "break_even_points",
    "brier_score",
    "brier_skill",
    "calibration_error",
    "complete_length",
    "evaluate",
    "keyword_precision",
    "keyword_recall",
    "log_loss",
    "macro_auc",
    "make_scorer",
    "mean_average_precision",
    "micro_auc",
    "n_recalled_keywords",
    "precision",
    "reliability_curve",
    "select_entries",
]
