from .evaluation import (
    CrossValidation as CrossValidation,
    centred as centred,
    cross_validate as cross_validate,
    draw_counts as draw_counts,
    interval as interval,
    mean_over_tags as mean_over_tags,
    resampled_average_precision as resampled_average_precision,
)
from .group_figures import GroupFigure as GroupFigure, compare_groups as compare_groups
from .label_curve import Forecast as Forecast, LearningCurve as LearningCurve, learning_curve as learning_curve
