from .compare import COMPARED as COMPARED, MethodComparison as MethodComparison, MethodFigures as MethodFigures
from .constants import MIN_PHOTOS as MIN_PHOTOS
from .evaluate import Comparison as Comparison, compare_with_truth as compare_with_truth, read_truth as read_truth
from .evaluation import ModelEvaluation as ModelEvaluation
from .explain import ExplainResult as ExplainResult, ProjectExplainer as ProjectExplainer
from .few_labels import (
    knows_names_alone as knows_names_alone,
    labels_needed as labels_needed,
    n_missing as n_missing,
    not_calibrated as not_calibrated,
)
from .first import (
    FirstResult as FirstResult,
    needs_first as needs_first,
    read_vocabulary as read_vocabulary,
    suggest_first as suggest_first,
)
from .kept_graph import graph_of_model as graph_of_model
from .methods import (
    Learner as Learner,
    all_learners as all_learners,
    choose_learner as choose_learner,
    get_learner as get_learner,
    prepare as prepare,
)
from .moments import clip_facts as clip_facts
from .next_photos import (
    Features as Features,
    KeptFeatures as KeptFeatures,
    LabelledProbabilities as LabelledProbabilities,
    NO_PROBABILITIES as NO_PROBABILITIES,
    NextPhotos as NextPhotos,
    choose_photos as choose_photos,
    load_choice_features as load_choice_features,
)
from .score import ScoreResult as ScoreResult, score_new as score_new
from .search import WordSearchResult as WordSearchResult, matched as matched
from .stored_evaluation import LastEvaluation as LastEvaluation, last_evaluation as last_evaluation
from .suggest import (
    OpenSuggestions as OpenSuggestions,
    PROBABILITY as PROBABILITY,
    SCORE as SCORE,
    Suggestion as Suggestion,
    TOPICS as TOPICS,
    check_threshold as check_threshold,
    open_suggestions as open_suggestions,
    suggest_each as suggest_each,
    suggestions_kind as suggestions_kind,
    top_suggestions as top_suggestions,
)
from .train import TrainResult as TrainResult
from .update import UpdateResult as UpdateResult, Updater as Updater
