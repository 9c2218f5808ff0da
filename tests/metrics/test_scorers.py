import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from tagloom.core.folds import LabeledKFold, label_budget
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.methods import LPSSVM, NOVA, SFSS, TKML, LaplacianTopicModel, RegularizedLeastSquares
from tagloom.metrics import brier_score, macro_auc, make_scorer, mean_average_precision
from tagloom.tuning import CalibratedAnnotator


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    X = rng.gamma(1.0, size=(90, 8))
    truth = (X[:, :3] + 0.2 * rng.normal(size=(90, 3)) > 1.0).astype(np.int8)
    return X, label_budget(truth, 60, random_state=0)


@pytest.mark.parametrize(
    ("annotator", "grid"),
    [
        (SFSS(), {"sparsity": [0.1, 1.0]}),
        (LaplacianTopicModel(n_topics=4, max_iter=20), {"smoothness": [1.0, 10.0]}),
        (LPSSVM(gamma=0.3), {"C": [0.1, 1.0]}),
        (TKML(), {"smoothness": [0.1, 1.0]}),
        (NOVA(groups=FeatureGroups(["a", "b"], [4, 4])), {"strength": [0.01, 0.1]}),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, dict) else "",
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_grid_search_over_each_of_the_five_methods(problem, annotator, grid):
    X, Y = problem
    search = GridSearchCV(annotator, grid, cv=LabeledKFold(3, random_state=0), error_score="raise").fit(X, Y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ > 0.4
    assert search.decision_function(X).shape == Y.shape


def test_a_scorer_gives_the_metric_of_known_entries(problem):
    X, Y = problem
    model = RegularizedLeastSquares().fit(X, Y)
    scores = model.decision_function(X)
    assert make_scorer(mean_average_precision)(model, X, Y) == mean_average_precision(Y, scores)
    assert make_scorer(macro_auc, greater_is_better=False)(model, X, Y) == -macro_auc(Y, scores)
    calibrated = CalibratedAnnotator(RegularizedLeastSquares()).fit(X, Y)
    scorer = make_scorer(brier_score, greater_is_better=False, response_method="predict_proba")
    assert scorer(calibrated, X, Y) == -brier_score(Y, calibrated.predict_proba(X))
    values = cross_val_score(RegularizedLeastSquares(), X, Y, cv=LabeledKFold(3), scoring=make_scorer(macro_auc))
    assert values.shape == (3,)


def test_wrong_arguments_are_named():
    with pytest.raises(InvalidInputError, match="metric"):
        make_scorer("auc")
    with pytest.raises(InvalidInputError, match="response_method"):
        make_scorer(macro_auc, response_method="predict")
