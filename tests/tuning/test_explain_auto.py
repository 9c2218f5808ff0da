"""Explanations of what `AutoAnnotator` says: sums over labels, against refits and a dense literal version."""

import copy

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import labeled_rows
from tagloom.exceptions import InvalidInputError
from tagloom.methods import BoostedAnnotator
from tagloom.tuning.auto import annotator as _annotator
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.refine import TagMixing, label_correlations
from tagloom.tuning.auto.search import Candidate
from tagloom.tuning.auto.views import default_views, smoothed_priors
from tagloom.tuning.explain import label_weights as _exact_stack
from tagloom.tuning.explain.explain import ScoreExplainer, explain_score
from tagloom.tuning.explain.label_weights import AutoWeights
from tests.tuning.test_search import smoother

pytestmark = pytest.mark.medium

GROUPS = FeatureGroups(["deep", "texture"], [6, 4])
N, N_LABELLED, N_TAGS = 150, 50, 4
#: The annotator itself smooths in float32.
FLOAT32 = 2e-6


def make_problem(seed=0, *, open_entries=True):
    rng = np.random.default_rng(seed)
    truth = (rng.random((N, N_TAGS)) < 0.35).astype(np.int8)
    truth[:, 1] |= truth[:, 0]
    X = truth @ rng.standard_normal((N_TAGS, 10)) + rng.standard_normal((N, 10))
    Y = truth.copy()
    Y[N_LABELLED:] = -1
    if open_entries:  # photos known for one tag and not for another
        Y[:N_LABELLED][rng.random((N_LABELLED, N_TAGS)) < 0.2] = -1
    return X, Y


def fit(Y, X, **parameters):
    return AutoAnnotator(GROUPS, n_neighbors=8, random_state=0, **parameters).fit(X, Y)


@pytest.fixture(scope="module")
def chosen():
    X, Y = make_problem()
    return X, Y, fit(Y, X)


#: Combinations that the search need not choose.
COMBINATIONS = {
    "one": [Member(Candidate("deep", False, 0.7, 0.3, 0.0), 1.0)],
    "smoothed": [Member(Candidate("joint", True, 2.0, 0.1, 0.5), 0.8)],
    "two": [Member(Candidate("deep", True), 0.5), Member(Candidate("deep", False, 2.0, 0.3, 0.0), 0.7)],
    "a factor for each tag": [
        Member(Candidate("joint", True), np.array([0.2, 1.0, 0.0, 0.5])),
        Member(Candidate("deep", False, 0.2, 0.03, 0.0), np.array([0.9, 0.0, 0.4, 0.5])),
        Member(Candidate("balanced", True, 5.0, 1.0, 0.5), 0.3),
    ],
}


def combined(members, chosen):
    """Return features, labels, and an annotator whose combination is this one."""
    X, Y, fitted = chosen
    model = copy.copy(fitted)
    model.model_ = StackModel(model.views_, model.model_.weightings, members)
    rows = np.flatnonzero(labeled_rows(Y))
    model.model_.fit(Y, rows, smoothed_priors(Y), rows)
    return X, Y, model


def refitted(model, Y):
    """Return scores by the same combination with other labels, the frequencies being theirs."""
    stack = StackModel(model.views_, model.model_.weightings, model.model_.members)
    priors = smoothed_priors(Y)
    return stack.fit(Y, model.model_.rows, priors) + priors


def literal_deviations(model, labels, tag):
    """Return D (n,) of a tag with labels (n,) that are any numbers, NaN where unknown; everything is dense."""
    views, rows = model.views_, model.model_.rows
    rows = rows[~np.isnan(labels[rows])]
    prior = (np.nansum(labels) + 0.5) / ((~np.isnan(labels)).sum() + 1)
    S, weightings = views.links.toarray(), model.model_.views_by_name
    total = np.zeros(N)
    for member in model.model_.members:
        one = member.candidate
        points = views.smooth if one.smoothed else views.plain
        squares = sum(
            factor * cdist(points[:, views.groups[name]], points[:, views.groups[name]], "sqeuclidean")
            for name, factor in views.factors(weightings[one.view]).items()
        )
        kernel = np.exp(-one.width * squares / squares.mean())
        inner = np.linalg.inv(kernel[np.ix_(rows, rows)] + one.ridge * np.eye(len(rows)))
        found = kernel[:, rows] @ inner @ (labels[rows] - prior)
        factor = np.broadcast_to(member.factor, N_TAGS)[tag]
        total += factor * smoother(S, one.score_smoothing) @ found
    return total


def as_numbers(column):
    return np.where(column == -1, np.nan, column.astype(float))


def total(part):
    return part.base + part.amounts.sum()


def test_every_photo_is_a_sum_over_labels(chosen):
    X, Y, model = chosen
    explainer = ScoreExplainer(model, X, Y, groups=GROUPS)
    known_and_not = (0, 7, N_LABELLED - 1, N_LABELLED, 90, N - 1)
    for row in known_and_not:
        for tag in range(N_TAGS):
            found = explainer.explain(row, tag)
            assert abs(found.score - model.own_scores_[row, tag]) < FLOAT32
            assert abs(total(found.neighbors) - found.score) < 1e-9
            assert found.neighbors.is_exact
            assert found.neighbors.names == tuple(np.flatnonzero(Y[:, tag] != -1))
            assert found.tags is None
            assert not found.groups.is_exact
            np.testing.assert_allclose(total(found.groups) + found.groups.rest, found.score, atol=1e-12)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_scores_and_weights_are_those_of_the_dense_literal_version(name, chosen):
    X, Y, model = combined(COMBINATIONS[name], chosen)
    explainer = ScoreExplainer(model, X, Y)
    for tag in (0, 3):
        labels = as_numbers(Y[:, tag])
        expected = literal_deviations(model, labels, tag) + smoothed_priors(Y)[tag]
        np.testing.assert_allclose(explainer.scores_of(tag), expected, atol=1e-9)
        moves = []
        for photo in np.flatnonzero(Y[:, tag] != -1)[:6]:
            raised = labels.copy()
            raised[photo] += 1.0
            n_known = (~np.isnan(labels)).sum()
            moves.append(literal_deviations(model, raised, tag) + smoothed_priors(Y)[tag] + 1 / (n_known + 1))
        for row in (1, 120):
            found = explainer.explain(row, tag)
            assert found.is_exact
            assert abs(found.score - model.own_scores_[row, tag]) < FLOAT32
            assert abs(found.score - expected[row]) < 1e-9
            by_literal = [one[row] - expected[row] for one in moves]
            np.testing.assert_allclose(found.neighbors.weights[:6], by_literal, atol=1e-9)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_label_that_changes_moves_the_score_by_its_weight(name, chosen):
    X, Y, model = combined(COMBINATIONS[name], chosen)
    before = refitted(model, Y)
    for row in (3, 77):
        found = explain_score(model, X, Y, row, 1).neighbors
        for place in range(0, len(found.names), 12):
            other = Y.copy()
            other[found.names[place], 1] = 1 - found.labels[place]
            moved = refitted(model, other)[row, 1] - before[row, 1]
            assert abs(moved - found.weights[place] * (1 - 2 * found.labels[place])) < FLOAT32


def test_one_score_does_not_wait_for_those_of_all_photos(chosen, monkeypatch):
    X, Y, model = chosen
    expected = literal_deviations(model, as_numbers(Y[:, 1]), 1) + smoothed_priors(Y)[1]
    monkeypatch.delattr(AutoWeights, "scores")
    explainer = ScoreExplainer(model, X, Y, groups=GROUPS)
    for row in (2, 110):
        found = explainer.explain(row, 1)
        assert abs(found.score - expected[row]) < 1e-9
        assert found.neighbors.is_exact
    with pytest.raises(AttributeError):
        explainer.scores_of(1)


@pytest.mark.parametrize("name", ["smoothed", "two", "a factor for each tag"])
def test_what_there_is_no_room_for_is_computed_again(name, chosen, monkeypatch):
    for limit in ("FACTOR_BYTES", "TOGETHER_BYTES", "STEP_ENTRIES"):
        monkeypatch.setattr(_exact_stack, limit, 0)
    X, Y, model = combined(COMBINATIONS[name], chosen)
    explainer = ScoreExplainer(model, X, Y)
    for tag in (0, 3):
        expected = literal_deviations(model, as_numbers(Y[:, tag]), tag) + smoothed_priors(Y)[tag]
        for row in (1, 120, 121):
            found = explainer.explain(row, tag)
            assert abs(found.score - expected[row]) < 1e-9
            assert abs(total(found.neighbors) - expected[row]) < 1e-9


@pytest.mark.parametrize("names", [["deep", "semantic", "rgb", "edges"], ["colour", "edges"], ["deep"]])
def test_distances_of_several_views_are_those_of_each(names):
    points = np.random.default_rng(0).standard_normal((30, 3 * len(names))).astype(np.float32)
    views = default_views(names)
    factors = {view.name: {name: view.weights.get(name, 0.0) for name in names} for view in views}
    distances = _exact_stack.ViewDistances(points, FeatureGroups(names, [3] * len(names)), factors)
    wide, rows = points.astype(float), np.array([3, 8, 9])
    for asked in (views, views[-1:]):
        found = distances.between(slice(4, 21), rows, [view.name for view in asked])
        square = distances.among(rows, [view.name for view in asked])
        assert set(found) == {view.name for view in asked}
        for view in asked:
            roots = np.sqrt(np.repeat([view.weights.get(name, 0.0) for name in names], 3))
            expected = cdist(wide * roots, wide * roots, "sqeuclidean")
            np.testing.assert_allclose(found[view.name], expected[4:21][:, rows], atol=1e-12)
            np.testing.assert_allclose(square[view.name], expected[np.ix_(rows, rows)], atol=1e-12)


def test_photos_that_are_not_learnt_from_count_through_the_frequency():
    X, Y = make_problem()
    model = fit(Y, X, max_rows=30)
    explainer = ScoreExplainer(model, X, Y)
    found = explainer.explain(100, 2)
    labels = as_numbers(Y[:, 2])
    assert len(model.model_.rows) == 30
    np.testing.assert_allclose(total(found.neighbors), found.score, atol=1e-9)
    expected = literal_deviations(model, labels, 2) + smoothed_priors(Y)[2]
    np.testing.assert_allclose(explainer.scores_of(2), expected, atol=1e-9)
    passed_over = ~np.isin(found.neighbors.names, model.model_.rows)
    assert passed_over.any()
    assert np.ptp(found.neighbors.weights[passed_over]) < 1e-12
    before = refitted(model, Y)
    other = Y.copy()
    photo = np.array(found.neighbors.names)[passed_over][0]
    other[photo, 2] = 1 - other[photo, 2]
    moved = (refitted(model, other) - before)[100, 2] * (1 - 2 * Y[photo, 2])
    np.testing.assert_allclose(found.neighbors.weights[passed_over], moved, atol=FLOAT32)


def test_labels_that_came_later_are_explained_too():
    X, Y = make_problem()
    model = fit(Y, X)
    more = Y.copy()
    more[60:64, 0] = [1, 0, 1, 1]
    model.update(more)
    for tag in (0, 1):
        found = explain_score(model, X, more, 62, tag)
        assert found.neighbors.is_exact
        assert abs(found.score - model.own_scores_[62, tag]) < FLOAT32
    # Of the labels before nothing of this can be told exactly.
    assert not explain_score(model, X, Y, 62, 0).neighbors.is_exact


def test_scores_that_are_not_the_sum_are_not_called_exact(chosen):
    X, Y, model = chosen
    explainer = ScoreExplainer(model, X, Y)
    kept = explainer._scores[:, 0].copy()
    explainer._scores = explainer._scores + 0.01
    found = explainer.explain(100, 0)
    assert found.score == kept[100] + 0.01
    np.testing.assert_allclose(found.neighbors.error, 0.01, atol=FLOAT32)
    assert not found.neighbors.is_exact


def test_one_score_that_is_not_the_sum_is_told_of_that_photo(chosen):
    X, Y, model = chosen
    explainer = ScoreExplainer(model, X, Y)
    explainer._scores = explainer._scores.copy()
    explainer._scores[100, 0] += 0.01
    found = explainer.explain(100, 0)
    assert found.score == explainer._scores[100, 0]
    assert not found.neighbors.is_exact
    for row, tag in ((101, 0), (100, 1)):
        assert explainer.explain(row, tag).neighbors.is_exact


def test_a_tag_that_nobody_knows_has_its_frequency():
    X, Y = make_problem()
    Y[:, 1] = -1
    found = explain_score(fit(Y, X), X, Y, 120, 1)
    assert found.score == found.neighbors.base == 0.5
    assert found.neighbors.amounts.size == 0


@pytest.fixture
def mixed(monkeypatch):
    """Return an annotator whose tags listen to each other, whatever the labels say."""

    def find(deviations, labels, spreads, folds):
        return TagMixing(0.3, np.eye(len(spreads)) + 0.3 * label_correlations(labels), 0.0)

    monkeypatch.setattr(_annotator, "find_mixing", find)
    X, Y = make_problem(2)
    return X, Y, fit(Y, X)


def test_tags_that_listen_to_each_other_are_a_sum_over_tags(mixed):
    X, Y, model = mixed
    matrix = np.eye(N_TAGS) + 0.3 * label_correlations(Y[:N_LABELLED])
    deviations = np.column_stack([literal_deviations(model, as_numbers(Y[:, tag]), tag) for tag in range(N_TAGS)])
    explainer = ScoreExplainer(model, X, Y, groups=GROUPS)
    for row, tag in ((4, 0), (88, 1), (149, 3)):
        found = explainer.explain(row, tag)
        assert found.neighbors.is_exact
        assert found.tags.is_exact
        assert not found.groups.is_exact
        assert abs(found.score - model.own_scores_[row, tag]) < FLOAT32
        assert found.tags.names == tuple(range(N_TAGS))
        np.testing.assert_allclose(found.tags.base, smoothed_priors(Y)[tag])
        expected = smoothed_priors(Y)[tag] + deviations[row] @ matrix[:, tag]
        np.testing.assert_allclose([found.score, explainer.scores_of(tag)[row]], expected, atol=1e-9)
        np.testing.assert_allclose(found.tags.amounts, deviations[row] * matrix[:, tag], atol=1e-9)
        np.testing.assert_allclose([total(found.tags), total(found.neighbors)], found.score, atol=1e-9)


def test_photos_add_by_all_of_their_labels_where_tags_are_mixed(mixed):
    X, Y, model = mixed
    row, tag = 101, 1
    found = explain_score(model, X, Y, row, tag).neighbors
    matrix, photo = model.mixing_.matrix, 9
    amount, weight = 0.0, 0.0
    for other in range(N_TAGS):
        labels = as_numbers(Y[:, other])
        if np.isnan(labels[photo]):
            continue
        raised = labels.copy()
        raised[photo] += 1.0
        move = literal_deviations(model, raised, other)[row] - literal_deviations(model, labels, other)[row]
        move = matrix[other, tag] * move + (other == tag) / ((~np.isnan(labels)).sum() + 1)
        amount += move * (labels[photo] - np.nanmean(labels))
        weight = move if other == tag else weight
    place = found.names.index(photo)
    assert found.names == tuple(np.flatnonzero(labeled_rows(Y)))
    np.testing.assert_allclose(found.amounts[place], amount, atol=1e-9)
    np.testing.assert_allclose(found.weights[place], weight, atol=1e-9)


def is_marked(model, X, Y, groups=GROUPS):
    found = explain_score(model, X, Y, len(X) - 1, 0, groups=groups)
    assert found.score == model.own_scores_[-1, 0]
    for part in found.parts:
        assert not part.is_exact
        np.testing.assert_allclose(total(part) + part.rest, found.score, atol=1e-12)
    return True


def test_absence_that_is_no_no_is_explained_by_a_stand_in():
    X, Y = make_problem(open_entries=False)
    named = np.where(Y == 1, 1, -1)
    assert is_marked(fit(named, X, absent_means="unknown"), X, named)


def test_given_scores_are_explained_by_a_stand_in(chosen):
    X, Y, model = chosen
    found = ScoreExplainer(model, X, Y, scores=model.transduction_).explain(120, 0)
    assert found.score == model.transduction_[120, 0]
    assert not found.neighbors.is_exact


def test_boosted_log_odds_are_not_taken_for_scores():
    X, Y = make_problem(open_entries=False)
    inner = AutoAnnotator(GROUPS, n_neighbors=8, random_state=0)
    boosted = BoostedAnnotator(inner, correlations="training").fit(X, Y)
    found = explain_score(boosted, X, Y, 120, 1)
    assert found.tags.is_exact
    assert found.score == boosted.transduction_[120, 1]
    assert not found.neighbors.is_exact


def test_an_annotator_has_to_be_fitted():
    X, Y = make_problem()
    with pytest.raises(InvalidInputError, match="fit it first"):
        explain_score(AutoAnnotator(GROUPS), X, Y, 0, 0)


def test_without_its_own_labels_it_is_what_the_probability_was_made_of(chosen):
    X, Y, annotator = chosen
    explainer = ScoreExplainer(annotator, X, Y, groups=GROUPS)
    levels = smoothed_priors(Y)
    for row, tag in np.argwhere(Y[:N_LABELLED] != -1)[::9].tolist():
        hidden = Y.copy()
        hidden[row] = -1
        found = explainer.without(row).explain(row, tag)
        # The frequency is the one without the photo, too.
        expected = annotator.scores_[row, tag] - levels[tag] + smoothed_priors(hidden)[tag]
        assert found.score == pytest.approx(expected, abs=1e-5)
        assert row not in found.neighbors.names
        assert found.neighbors.is_exact
        assert found.neighbors.base + found.neighbors.amounts.sum() == pytest.approx(found.score, abs=1e-9)
        assert explainer.explain(row, tag).score != pytest.approx(expected, abs=1e-3)
    assert explainer.without(N_LABELLED) is explainer


def test_photos_whose_labels_are_in_their_probabilities_cannot_be_explained_without():
    X, Y = make_problem(open_entries=False)
    annotator = fit(Y, X, max_search_rows=40)
    explainer = ScoreExplainer(annotator, X, Y)
    assert annotator.seen_.sum() == N_LABELLED - 40
    for row in range(N_LABELLED):
        assert (explainer.without(row) is None) == annotator.seen_[row]
