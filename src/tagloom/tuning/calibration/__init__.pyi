from .calibrated import (
    Accepting as Accepting,
    ScoreScale as ScoreScale,
    cautious_precision as cautious_precision,
    check_precision as check_precision,
    common_threshold as common_threshold,
    folds_of as folds_of,
    known_log_odds as known_log_odds,
    scale_of as scale_of,
    with_shared_graph as with_shared_graph,
)
from .level_scale import LevelScale as LevelScale, heaps as heaps, sharpened as sharpened, telling as telling
from .maps import (
    CalibrationMap as CalibrationMap,
    FOLDS_PRIOR as FOLDS_PRIOR,
    Method as Method,
    TagSigmoids as TagSigmoids,
    TagSteps as TagSteps,
    fit_map as fit_map,
    fit_pooled as fit_pooled,
    left_out_prior as left_out_prior,
    take_tags as take_tags,
)
from .positive_unlabeled import (
    absent_entries as absent_entries,
    estimate_completeness as estimate_completeness,
    forgotten_share as forgotten_share,
    weak_negatives as weak_negatives,
)
