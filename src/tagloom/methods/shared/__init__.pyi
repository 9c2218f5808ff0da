from .gram import DenseGram as DenseGram, Gram as Gram, gram_of_features as gram_of_features
from .group_distances import GroupDistances as GroupDistances, MetricSpec as MetricSpec
from .inputs import filled as filled, warn_without_positives as warn_without_positives
from .kernel_task import EdgeWeights as EdgeWeights
from .kernel_task import KernelAnnotator as KernelAnnotator, TagTask as TagTask, landmarks_for as landmarks_for
from .logistic_task import (
    LogisticTask as LogisticTask,
    name_tags as name_tags,
    warn_unless_converged as warn_unless_converged,
)
from .manifold import ManifoldAnnotator as ManifoldAnnotator, SymmetricLaplacian as SymmetricLaplacian
from .out_of_fold import (
    known_means as known_means,
    out_of_fold_scores as out_of_fold_scores,
    stable_folds as stable_folds,
)
from .ridge_path import RidgePath as RidgePath, linear_scores as linear_scores
from .ridge_update import FixedRidge as FixedRidge, GraphSmoother as GraphSmoother
from .selection import (
    SelectingAnnotator as SelectingAnnotator,
    best_first as best_first,
    dense as dense,
    fold_precision as fold_precision,
    label_folds as label_folds,
    tag_shares as tag_shares,
    top_features as top_features,
)
from .smoothing import smooth_scores as smooth_scores, smoothing_graph as smoothing_graph
from .squared_hinge import (
    HingeResult as HingeResult,
    fit_squared_hinge as fit_squared_hinge,
    solve_masked as solve_masked,
)
