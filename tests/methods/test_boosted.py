"""Any annotator boosted: what it is made of, that it helps where it should and harms nowhere."""

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.methods import GLLR, HarmonicPropagation, RegularizedLeastSquares
from tagloom.methods.boosted import BoostedAnnotator
from tagloom.methods.curds_and_whey import CurdsAndWhey
from tagloom.methods.shared.out_of_fold import out_of_fold_scores, stable_folds
from tagloom.metrics import mean_average_precision


def make_problem(n=200, p=40, c=10, *, n_test=1500, independent=False, seed=0):
    """Tags that follow two factors of the features, or each a feature of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + n_test, p))
    scores = X[:, :c] if independent else X @ rng.normal(size=(p, 2)) / np.sqrt(p) @ rng.normal(size=(2, c))
    Y = (scores + rng.normal(size=(n + n_test, c)) > 0.5).astype(np.int8)
    return X[:n], Y[:n], X[n:], Y[n:]


@pytest.mark.parametrize("correlations", ["held_out", "training"])
def test_scores_are_those_of_the_annotator_shrunk(correlations):
    X, Y, X_new, _ = make_problem()
    boosted = BoostedAnnotator(RegularizedLeastSquares(2.0), correlations=correlations).fit(X, Y)
    plain = RegularizedLeastSquares(2.0).fit(X, Y)
    scores = None
    if correlations == "held_out":
        scores = 2.0 * out_of_fold_scores(plain, X, Y)
    shrinkage = CurdsAndWhey(correlations=correlations).fit(X, Y, scores=scores).shrinkage_
    means = plain.transduction_.mean(axis=0)
    for found, raw in (
        (boosted.transduction_, plain.transduction_),
        (boosted.decision_function(X_new), plain.decision_function(X_new)),
    ):
        np.testing.assert_allclose(found, means + (raw - means) @ shrinkage, atol=1e-10)
    assert (boosted.held_out_scores_ is None) == (correlations == "training")


@pytest.mark.parametrize("boost", ["curds_and_whey", "structured"])
def test_correlated_tags_gain_on_new_photos(boost):
    gains, errors = [], []
    for seed in range(4):
        X, Y, X_new, Y_new = make_problem(seed=seed)
        fitted = BoostedAnnotator(boost=boost, tag_fusion=0.0).fit(X, Y)
        scores, plain = fitted.decision_function(X_new), fitted.annotator_.decision_function(X_new)
        gains.append(mean_average_precision(Y_new, scores) - mean_average_precision(Y_new, plain))
        errors.append(np.square(scores - Y_new).mean() / np.square(plain - Y_new).mean())
    assert min(gains) > 0.0
    assert np.mean(gains) > 0.02
    assert np.mean(errors) < 0.97


@pytest.mark.parametrize(
    ("boost", "n_columns"),
    [
        ("curds_and_whey", 40),
        pytest.param("structured", 40, marks=pytest.mark.medium),
        pytest.param("curds_and_whey", 250, marks=pytest.mark.medium),
    ],
)
def test_independent_tags_come_to_no_harm(boost, n_columns):
    losses, errors = [], []
    for seed in range(5):
        X, Y, X_new, Y_new = make_problem(p=n_columns, independent=True, seed=seed)
        fitted = BoostedAnnotator(boost=boost, tag_fusion=0.0).fit(X, Y)
        scores, plain = fitted.decision_function(X_new), fitted.annotator_.decision_function(X_new)
        losses.append(mean_average_precision(Y_new, plain) - mean_average_precision(Y_new, scores))
        errors.append(np.square(scores - Y_new).mean() / np.square(plain - Y_new).mean())
    assert np.mean(losses) < 0.005
    assert np.mean(errors) < 1.005
    assert max(errors) < 1.02


def test_one_weight_for_all_tags_keeps_every_ranking():
    X, Y, X_new, _ = make_problem(independent=True, seed=3)
    fitted = BoostedAnnotator().fit(X, Y)
    assert np.ptp(fitted.booster_.weights_) == 0.0
    for tag in range(Y.shape[1]):
        plain, scores = fitted.annotator_.decision_function(X_new)[:, tag], fitted.decision_function(X_new)[:, tag]
        np.testing.assert_array_equal(np.argsort(plain), np.argsort(scores))


@pytest.mark.parametrize("annotator", [HarmonicPropagation(), GLLR(sparsity=0.3)], ids=["propagation", "logistic"])
def test_annotators_with_scores_of_other_units(annotator):
    X, Y, X_new, Y_new = make_problem(n_test=300)
    fitted = BoostedAnnotator(annotator).fit(X, Y)
    plain = fitted.annotator_.decision_function(X_new)
    scores = fitted.decision_function(X_new)
    assert mean_average_precision(Y_new, scores) > mean_average_precision(Y_new, plain) - 0.01
    assert 0.0 < fitted.booster_.weights_.max() <= 1.0


def test_units_do_not_matter():
    class Coded(RegularizedLeastSquares):
        """Codes labels ±1 instead of 1 and 0."""

        def _fit(self, X, Y):
            super()._fit(X, Y)
            self.transduction_ = 2.0 * self.transduction_ - 1.0

        def _decision_function(self, X):
            return 2.0 * super()._decision_function(X) - 1.0

    X, Y, X_new, _ = make_problem()
    first, second = BoostedAnnotator(RegularizedLeastSquares()).fit(X, Y), BoostedAnnotator(Coded()).fit(X, Y)
    np.testing.assert_allclose(2.0 * first.decision_function(X_new) - 1.0, second.decision_function(X_new), atol=1e-8)


def test_only_columns_in_use_enter():
    X, Y, _, _ = make_problem()
    groups = FeatureGroups(["colour", "edge", "gist"], [10, 20, 10])

    class FirstColumns(RegularizedLeastSquares):
        def _fit(self, X, Y):
            super()._fit(np.where(np.arange(X.shape[1]) < 25, X, 0.0), Y)

    settings = {"boost": "structured", "correlations": "training", "tag_fusion": 0.0}
    found = BoostedAnnotator(FirstColumns(), groups=groups, **settings).fit(X, Y)
    expected = CurdsAndWhey(canonical="structured", tag_fusion=0.0).fit(
        X[:, :25], Y, groups=FeatureGroups(["colour", "edge"], [10, 15])
    )
    np.testing.assert_allclose(found.booster_.shrinkage_, expected.shrinkage_)


def test_thresholds_come_from_photos_that_were_held_out():
    X, Y, _, _ = make_problem()
    Y[150:] = -1
    fitted = BoostedAnnotator().fit(X, Y)
    assert np.isnan(fitted.held_out_scores_[150:]).all()
    predicted = fitted.held_out_scores_[:150] > fitted.thresholds_
    np.testing.assert_array_equal(predicted.sum(axis=0), (Y[:150] == 1).sum(axis=0))


def test_out_of_fold_scores_have_not_seen_the_labels():
    X, Y, _, _ = make_problem(n=60)
    Y[50:] = -1
    scores = out_of_fold_scores(RegularizedLeastSquares(1.0), X, Y)
    assert np.isnan(scores[50:]).all()
    fold = next(stable_folds(X, Y))
    hidden = Y.copy()
    hidden[fold] = -1
    model = RegularizedLeastSquares(1.0).fit(X, hidden)
    means = model.transduction_[(hidden != -1).all(axis=1)].mean(axis=0)
    np.testing.assert_allclose(scores[fold], model.decision_function(X[fold]) - means)


def test_folds_follow_the_photos_and_not_their_order():
    X, Y, _, _ = make_problem(n=50)
    order, tags = np.random.default_rng(0).permutation(50), np.random.default_rng(1).permutation(10)
    first = [set(fold.tolist()) for fold in stable_folds(X, Y)]
    second = [set(order[fold].tolist()) for fold in stable_folds(X[order], Y[order][:, tags])]
    assert first == second
    assert sorted(row for fold in first for row in fold) == list(range(50))


def test_wrong_parameters_are_named():
    X, Y, _, _ = make_problem()
    with pytest.raises(InvalidInputError, match="'boost' parameter of BoostedAnnotator must be"):
        BoostedAnnotator(boost="ada").fit(X, Y)
    with pytest.raises(InvalidInputError, match="weights"):
        BoostedAnnotator(weights="x").fit(X, Y)
    with pytest.raises(InvalidInputError, match="41"):
        BoostedAnnotator(groups=FeatureGroups(["all"], [41])).fit(X, Y)
