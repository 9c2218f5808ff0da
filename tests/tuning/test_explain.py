"""Explanations of scores: sums, labels that change, and what stands in for other annotators."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.learning.methods import LEARNERS
from tagloom.methods import (
    NOVA,
    SFSS,
    BoostedAnnotator,
    HarmonicPropagation,
    LapRLS,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.tuning import AutoAnnotator
from tagloom.tuning.explain.explain import ScoreExplainer, explain_score

GROUPS = FeatureGroups(["shape", "colour", "noise"], [4, 3, 2])
LINEAR_IN_LABELS = ["smoothed-ridge", "ridge", "harmonic", "consistency", "laprls", "neighbors"]
LINEAR_IN_FEATURES = ["smoothed-ridge", "ridge", "nova", "fisher", "fsnm", "gllr", "sbmlr", "curds-and-whey"]
#: SFSS is where the regression ranks better than what the graph makes of it.
LINEAR_BY_CHOICE = {"sfss": lambda annotator: annotator.ranking_ == "regression"}
#: A graph of 70 photos that has nothing to do with their features.
CHAIN = sparse.diags_array([np.ones(69), np.ones(69)], offsets=[-1, 1])
EXACT = {
    "ridge": RegularizedLeastSquares(2.0),
    "ridge, a penalty for each tag": RegularizedLeastSquares(per_tag=True),
    "smoothed ridge": RegularizedLeastSquares(0.5, smoothing=0.7, n_neighbors=6),
    "smoothed ridge, a graph": RegularizedLeastSquares(0.5, smoothing=0.7, graph=CHAIN),
    "harmonic": HarmonicPropagation(n_neighbors=5),
    "harmonic, pulled": HarmonicPropagation(n_neighbors=5, pull=0.3, weights="heat"),
    "consistency": LocalGlobalConsistency(n_neighbors=5, alpha=0.9),
    "consistency, as printed": LocalGlobalConsistency(n_neighbors=5, alpha=0.9, normalize=False),
    "neighbours": NeighborTransfer(n_neighbors=6),
    "neighbours, heat": NeighborTransfer(n_neighbors=6, weights="heat", shrinkage=0.0),
    "laprls": LapRLS(n_neighbors=5),
    "laprls, no intercept": LapRLS(n_neighbors=5, fit_intercept=False),
    "laprls, landmarks": LapRLS(n_neighbors=5, n_landmarks=20),
    "laprls, linear": LapRLS("linear", n_neighbors=5),
}


def make_problem(n=70, n_labelled=30, c=3, seed=0, *, open_entries=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, GROUPS.n_columns))
    Y = (X[:, :c] + 0.5 * rng.normal(size=(n, c)) > 0.3).astype(np.int8)
    Y[n_labelled:] = -1
    if open_entries:  # photos known for one tag and not for another
        Y[:n_labelled][rng.random((n_labelled, c)) < 0.2] = -1
    return X, Y


def total(part):
    return part.base + part.amounts.sum()


@pytest.mark.parametrize("name", LINEAR_IN_LABELS)
def test_named_learners_are_sums_over_labels(name):
    X, Y = make_problem()
    annotator = LEARNERS[name].make(5, GROUPS).fit(X, Y)
    explainer = ScoreExplainer(annotator, X, Y, groups=GROUPS)
    for row in (0, 3, 45, 69):
        for tag in range(Y.shape[1]):
            found = explainer.explain(row, tag)
            assert found.score == annotator.transduction_[row, tag]
            assert abs(total(found.neighbors) - found.score) < 1e-6
            assert found.neighbors.is_exact
            assert found.neighbors.names == tuple(np.flatnonzero(Y[:, tag] != -1))
            assert found.tags is None


@pytest.mark.parametrize("name", LINEAR_IN_FEATURES)
def test_named_learners_are_sums_over_groups(name):
    X, Y = make_problem(open_entries=False)
    annotator = LEARNERS[name].make(5, GROUPS).fit(X, Y)
    for row in (0, 45):
        found = explain_score(annotator, X, Y, row, 1, groups=GROUPS)
        assert found.groups.names == GROUPS.names
        assert abs(total(found.groups) - found.score) < 1e-6
        assert found.groups.is_exact


LONG = ("auto", "nova")
QUICK = sorted(name for name, learner in LEARNERS.items() if name not in LONG and "words" not in learner.needs)


@pytest.mark.parametrize("name", [*QUICK, "auto", pytest.param("nova", marks=pytest.mark.medium)])
def test_every_learner_says_how_well_it_is_explained(name):
    X, Y = make_problem(open_entries=False)
    annotator = LEARNERS[name].make(5, GROUPS).fit(X, Y)
    found = explain_score(annotator, X, Y, 50, 0, groups=GROUPS)
    for part in found.parts:
        np.testing.assert_allclose(total(part) + part.rest, found.score, atol=1e-12)
        assert part.error == abs(part.rest)
        assert part.error < 1e-6 or not part.is_exact
    is_sum = name in (*LINEAR_IN_LABELS, "auto", "curds-and-whey")
    assert found.neighbors.is_exact == is_sum
    by_choice = LINEAR_BY_CHOICE.get(name, lambda _: False)(annotator)
    assert found.groups.is_exact == (name in LINEAR_IN_FEATURES or by_choice)
    assert found.is_exact == all(part.is_exact for part in found.parts)
    assert found.error == max(part.error for part in found.parts)
    assert found.rest == found.neighbors.rest


def fixed(annotator):
    """Return an unfitted copy with the penalty that was chosen, since another label may choose another one."""
    if isinstance(annotator, RegularizedLeastSquares) and annotator.regularization == "loo":
        return clone(annotator).set_params(regularization=annotator.regularization_)
    return clone(annotator)


@pytest.mark.parametrize("name", [one for one in EXACT if "each tag" not in one])
@pytest.mark.parametrize("row", [2, 60])
def test_a_label_that_changes_moves_the_score_by_its_weight(name, row):
    X, Y = make_problem()
    annotator = clone(EXACT[name]).fit(X, Y)
    found = explain_score(annotator, X, Y, row, 1).neighbors
    for place in range(0, len(found.names), 4):
        other = Y.copy()
        other[found.names[place], 1] = 1 - found.labels[place]
        moved = fixed(annotator).fit(X, other).transduction_[row, 1] - annotator.transduction_[row, 1]
        assert abs(moved - found.weights[place] * (1 - 2 * found.labels[place])) < 1e-6


@pytest.mark.parametrize("name", EXACT)
def test_weights_are_the_answers_to_single_labels(name):
    X, Y = make_problem(open_entries=False)
    annotator = clone(EXACT[name]).fit(X, Y)
    rows = np.flatnonzero(Y[:, 0] != -1)
    answers = np.full((len(X), len(rows)), -1, dtype=np.int8)
    answers[rows] = np.eye(len(rows), dtype=np.int8)
    for row in (1, 40):
        found = explain_score(annotator, X, Y, row, 0).neighbors
        model = fixed(annotator)
        if isinstance(model, RegularizedLeastSquares):
            model.set_params(regularization=float(np.broadcast_to(annotator.regularization_, 3)[0]))
        single = model.fit(X, answers).transduction_[row]
        offset = found.base - found.frequency * found.weights.sum()
        np.testing.assert_allclose(found.weights + offset, single, atol=1e-6)
        np.testing.assert_allclose(found.amounts, found.weights * (found.labels - found.frequency))


def test_groups_of_smoothed_ridge_are_smoothed_products():
    X, Y = make_problem(open_entries=False)
    annotator = RegularizedLeastSquares(0.5, smoothing=0.7, n_neighbors=6).fit(X, Y)
    found = explain_score(annotator, X, Y, 44, 2, groups=GROUPS).groups
    from tagloom.graph import knn_graph

    smoother = np.linalg.inv(np.eye(len(X)) + 0.7 * knn_graph(X, 6).laplacian("symmetric").toarray())
    for name, amount in zip(found.names, found.amounts, strict=True):
        products = (X - X.mean(axis=0))[:, GROUPS[name]] @ annotator.coef_[GROUPS[name], 2]
        assert abs(amount - (smoother @ products)[44]) < 1e-8


def test_a_group_without_use_adds_nothing():
    X, Y = make_problem(n=300, n_labelled=250, open_entries=False)
    found = explain_score(RegularizedLeastSquares().fit(X, Y), X, Y, 280, 0, groups=GROUPS).groups
    shape, _, noise = np.abs(found.amounts)
    assert noise < 0.2 * shape


def test_a_copy_of_the_photo_counts_most():
    X, Y = make_problem(open_entries=False)
    X[60] = X[4]
    for name in ("neighbours", "laprls", "smoothed ridge"):
        found = explain_score(clone(EXACT[name]).fit(X, Y), X, Y, 60, 0).neighbors
        assert found.names[int(np.argmax(found.weights))] == 4
        assert (found.amounts[4] > 0) == (Y[4, 0] == 1)
        sizes = np.abs(found.amounts)[found.order]
        assert (np.diff(sizes) <= 0).all()


def test_boosted_scores_are_sums_over_tags_groups_and_photos():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 9))
    causes = X[:, :1] + 0.3 * X[:, :3] + rng.normal(size=(120, 1))  # what features do not tell, tags share
    Y = (causes > 0.3).astype(np.int8)
    Y[80:] = -1
    annotator = BoostedAnnotator(RegularizedLeastSquares(1.0), correlations="training").fit(X, Y)
    assert not np.allclose(annotator.transduction_, annotator.annotator_.transduction_)
    found = explain_score(annotator, X, Y, 100, 1, groups=GROUPS)
    assert len(found.parts) == 3
    for part in found.parts:
        assert abs(total(part) - annotator.transduction_[100, 1]) < 1e-6
        assert part.is_exact
    raw = annotator.annotator_.transduction_.copy()
    raw[100, 0] += 1.0
    moved = annotator.booster_.shrink(raw, annotator.score_means_)[100, 1] - annotator.transduction_[100, 1]
    distance = annotator.annotator_.transduction_[100, 0] - annotator.score_means_[0]
    assert abs(found.tags.amounts[0]) > 1e-3
    np.testing.assert_allclose(found.tags.amounts[0], moved * distance, rtol=1e-9)


def test_stand_ins_find_the_scale_of_the_scores():
    X, Y = make_problem(n=300, n_labelled=100, open_entries=False)
    ridge = RegularizedLeastSquares().fit(X, Y[:, [1]])
    scores = np.repeat(3.0 * ridge.transduction_ + 2.0, 3, axis=1)
    found = ScoreExplainer(None, X, Y, scores=scores).explain(200, 1).neighbors
    own = explain_score(ridge, X, Y[:, [1]], 200, 0).neighbors
    np.testing.assert_allclose(found.amounts, 3.0 * own.amounts, atol=1e-8)
    np.testing.assert_allclose(found.base, 3.0 * own.base + 2.0)
    assert found.error < 1e-8
    assert not found.is_exact  # nobody said that the scores are made so
    against = ScoreExplainer(None, X, Y, scores=-scores).explain(200, 1).neighbors
    assert not against.amounts.any()
    assert against.error > 0.01


def test_a_line_is_its_own_local_line():
    X, Y = make_problem(n=300, n_labelled=100, open_entries=False)
    scores = np.repeat((X @ np.arange(9.0))[:, None], 3, axis=1)
    found = ScoreExplainer(None, X, Y, groups=GROUPS, scores=scores).explain(200, 1).groups
    assert found.error < 1e-2 * scores.std()
    assert not found.is_exact


def test_the_unit_of_a_group_changes_nothing_that_stands_in():
    X, Y = make_problem(n=300, n_labelled=100, open_entries=False)
    scores = np.repeat(np.tanh(X @ np.arange(9.0) / 9.0)[:, None], 3, axis=1)
    units = np.concatenate([np.full(GROUPS.sizes[place], unit) for place, unit in enumerate((1.0, 1e3, 1e-3))])
    one, other = (ScoreExplainer(None, Z, Y, groups=GROUPS, scores=scores).explain(200, 1) for Z in (X, X * units))
    np.testing.assert_allclose(other.groups.amounts, one.groups.amounts, rtol=1e-6)
    np.testing.assert_allclose(other.neighbors.amounts, one.neighbors.amounts, rtol=1e-6)
    assert (np.abs(one.groups.amounts) > 1e-3).all()


def test_clamped_labels_do_not_count_for_the_scale():
    X, Y = make_problem(n=300, n_labelled=100, open_entries=False)
    sfss = SFSS(n_neighbors=5).fit(X, Y)
    np.testing.assert_array_equal(sfss.transduction_[:100], Y[:100])
    other = sfss.transduction_ * 0.1 + 0.4
    other[:100] = Y[:100]
    one = ScoreExplainer(sfss, X, Y).explain(200, 0).neighbors
    ten = ScoreExplainer(None, X, Y, scores=other).explain(200, 0).neighbors
    np.testing.assert_allclose(one.amounts, 10 * ten.amounts, rtol=1e-6)


def test_tags_that_say_nothing():
    X, Y = make_problem(open_entries=False)
    Y[:, 1] = -1
    Y[:30, 2] = 0
    for name, annotator in EXACT.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            explainer = ScoreExplainer(clone(annotator).fit(X, Y), X, Y)
        empty, refused = explainer.explain(50, 1), explainer.explain(50, 2)
        assert empty.neighbors.base == empty.score, name
        assert empty.neighbors.amounts.size == 0
        assert refused.neighbors.is_exact, name
        np.testing.assert_allclose(refused.neighbors.amounts, 0.0)


def test_a_component_without_labels_has_the_prior():
    X = np.concatenate([np.random.default_rng(0).normal(size=(20, 2)), 100 + np.arange(12.0).reshape(6, 2)])
    Y = np.full((26, 1), -1, dtype=np.int8)
    Y[:6, 0] = [1, 0, 0, 1, 0, 0]
    for annotator in (HarmonicPropagation(n_neighbors=3), LocalGlobalConsistency(n_neighbors=3)):
        found = explain_score(annotator.fit(X, Y), X, Y, 23, 0).neighbors
        np.testing.assert_allclose(found.weights, 1 / 6)
        assert found.is_exact


def test_input_is_checked():
    X, Y = make_problem()
    ridge = RegularizedLeastSquares(1.0).fit(X, Y)
    with pytest.raises(InvalidInputError, match="row must be a whole number from 0 to 69, got 70"):
        explain_score(ridge, X, Y, 70, 0)
    with pytest.raises(InvalidInputError, match="tag must be a whole number from 0 to 2, got -1"):
        explain_score(ridge, X, Y, 0, -1)
    with pytest.raises(InvalidInputError, match="shape of Y"):
        explain_score(ridge, X[:50], Y[:50], 0, 0)
    with pytest.raises(InvalidInputError, match="neither"):
        ScoreExplainer(None, X, Y)
    with pytest.raises(InvalidInputError, match="9 columns"):
        explain_score(ridge, X[:, :5], Y, 0, 0, groups=GROUPS)
    nova = NOVA(GROUPS, strength=0.1).fit(X, np.abs(Y))
    assert explain_score(nova, X, np.abs(Y), 3, 0, groups=GROUPS).groups.is_exact


@pytest.mark.parametrize(
    "annotator",
    [RegularizedLeastSquares(), RegularizedLeastSquares(smoothing=0.5), BoostedAnnotator(), AutoAnnotator(), NOVA()],
)
def test_an_annotator_that_is_not_fitted_is_told(annotator):
    X, Y = make_problem()
    with pytest.raises(InvalidInputError, match=r"expected a fitted annotator, got .*; fit it first"):
        explain_score(annotator, X, Y, 0, 0)
    with pytest.raises(InvalidInputError, match="groups must be a FeatureGroups or None, got dict"):
        explain_score(annotator, X, Y, 0, 0, groups={"a": X.shape[1]})


def _fitted_without(made, X, Y, row):
    """Return the annotator fitted without a photo's labels, at the penalty of the first tag that was chosen before."""
    hidden = Y.copy()
    hidden[row] = -1
    again = clone(made)
    if isinstance(made, RegularizedLeastSquares):
        again.set_params(regularization=float(np.ravel(made.regularization_)[0]), per_tag=False)
    return again.fit(X, hidden)


@pytest.mark.parametrize("name", EXACT)
def test_without_a_photos_labels_it_is_a_fit_that_never_had_them(name):
    X, Y = make_problem()
    made = clone(EXACT[name]).fit(X, Y)
    explainer = ScoreExplainer(made, X, Y, groups=GROUPS)
    for row in np.flatnonzero(Y[:, 0] != -1)[:3].tolist():
        expected = _fitted_without(made, X, Y, row).transduction_[row, 0]
        found = explainer.without(row).explain(row, 0)
        assert found.score == pytest.approx(expected, abs=1e-6)
        assert row not in found.neighbors.names
        assert found.neighbors.is_exact
        assert found.groups.is_exact == explainer.explain(row, 0).groups.is_exact
        for part in found.parts:
            assert total(part) + part.rest == pytest.approx(found.score, abs=1e-9)
        assert explainer.explain(row, 0).score == pytest.approx(made.transduction_[row, 0], abs=1e-6)
    assert explainer.without(len(X) - 1) is explainer


def test_scores_that_cannot_be_had_without_a_photo():
    X, Y = make_problem()
    row = int(np.flatnonzero(Y[:, 0] != -1)[1])
    given = ScoreExplainer(None, X, Y, scores=X[:, :3])
    found = given.without(row).explain(row, 0)
    assert found.score == given.explain(row, 0).score
    assert row in given.explain(row, 0).neighbors.names
    assert row not in found.neighbors.names
    assert ScoreExplainer(NOVA(strength=0.1).fit(X, Y), X, Y).without(row) is None
