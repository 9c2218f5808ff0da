"""A fitted `AutoAnnotator` as arrays and a plain description, and back; the oracle is the one in memory."""

import copy
import json

import numpy as np
import pytest

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.tuning.auto import annotator as _annotator
from tagloom.tuning.auto import views as _photo_views
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.refine import TagMixing, label_correlations
from tagloom.tuning.auto.views import PhotoViews
from tagloom.tuning.explain.explain import ScoreExplainer

GROUPS = FeatureGroups(["deep", "texture"], [6, 4])
N, N_LABELLED, N_TAGS = 160, 70, 4


def make_problem(seed=0):
    """Return features of photos and of new ones, and labels with gaps."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((N + 30, N_TAGS)) < 0.35).astype(np.int8)
    truth[:, 1] |= truth[:, 0]
    X = truth @ rng.standard_normal((N_TAGS, 10)) + rng.standard_normal((N + 30, 10))
    Y = truth[:N].copy()
    Y[N_LABELLED:] = -1
    Y[:N_LABELLED][rng.random((N_LABELLED, N_TAGS)) < 0.1] = -1
    return X[:N], X[N:], Y


def forced_mixing(deviations, labels, spreads, folds):
    return TagMixing(0.3, np.eye(len(spreads)) + 0.3 * label_correlations(labels), 0.01)


def own_factors(fitted, Y):
    """Give tags members of their own, as the choice tag by tag does where photos are many."""
    model = fitted.model_
    members = [type(one)(one.candidate, one.factor * np.linspace(0.5, 1.5, N_TAGS)) for one in model.members]
    fitted.model_ = type(model)(model.views, model.weightings, members)
    fitted._against = None
    fitted._learn(Y)
    del fitted._against


CASES = ("as chosen", "float32", "no groups", "some rows", "steps", "mixed tags", "own factors", "named", "one photo")


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """Return features, new ones, labels and the annotator fitted on them."""
    X, new, Y = make_problem()
    options = {"n_neighbors": 8, "random_state": 0}
    groups = None if request.param == "no groups" else GROUPS
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "float32":
            patch.setattr(_photo_views, "DOUBLE_ENTRIES", 100)
            X, new = X.astype(np.float32), new.astype(np.float32)
        if request.param == "some rows":
            options |= {"max_rows": 40, "max_search_rows": 25, "random_state": np.random.default_rng(1)}
        if request.param == "steps":
            options |= {"calibration": "isotonic"}
            Y[:N_LABELLED, 0] = np.arange(N_LABELLED) % 2
        if request.param == "mixed tags":
            patch.setattr(_annotator, "find_mixing", forced_mixing)
        if request.param == "named":
            options |= {"absent_means": "unknown"}
            Y = np.where(Y == 1, 1, -1).astype(np.int8)
        if request.param == "one photo":
            Y[1:] = -1
            Y[0] = [1, 0, 1, 0]
        fitted = AutoAnnotator(groups, **options).fit(X, Y)
        if request.param == "own factors":
            own_factors(fitted, Y)
        assert bool(fitted.map_.steps.knots) == (request.param == "steps")
        assert (fitted.mixing_ is not None) == (request.param == "mixed tags")
        assert fitted.views_.plain.dtype == (np.float32 if request.param == "float32" else np.float64)
        yield request.param, X, new, Y, fitted


def kept(annotator):
    """Return the state after a way through text and bytes."""
    arrays, info = annotator.state()
    assert all(name.startswith("auto/") for name in arrays)
    assert all(array.dtype.kind in "biuf" for array in arrays.values())
    text = json.dumps(info, allow_nan=False)
    copies = {name: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape) for name, array in arrays.items()}
    return copies, json.loads(text)


def close(found, expected, name):
    """Compare; scores of many photos are kept in float32, and restored systems are factorised in one go."""
    tolerance = 1e-6 if name == "float32" else 1e-10
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


def test_new_photos_have_the_same_numbers(case):
    name, X, new, _, fitted = case
    found = AutoAnnotator.restore(X, *kept(fitted))
    close(found.decision_function(new), fitted.decision_function(new), name)
    close(found.predict_proba(new), fitted.predict_proba(new), name)
    np.testing.assert_array_equal(found.predict(new), fitted.predict(new))


def test_what_is_known_of_the_training_photos_is_the_same(case):
    name, X, _, _, fitted = case
    found = AutoAnnotator.restore(X, *kept(fitted))
    for one in ("transduction_", "probabilities_", "thresholds_", "completeness_", "scores_", "own_scores_", "priors_"):
        close(getattr(found, one), getattr(fitted, one), name)
    np.testing.assert_array_equal(found.seen_, fitted.seen_)
    np.testing.assert_array_equal(found.labels_, fitted.labels_)
    np.testing.assert_array_equal(found.model_.labels, fitted.model_.labels)
    assert found.model_.labels.dtype == fitted.model_.labels.dtype
    assert found.choice_ == fitted.choice_
    assert found.left_out_ == fitted.left_out_
    assert repr(found.leaderboard_) == repr(fitted.leaderboard_)  # NaN is not equal to itself
    close(found.thresholds_for(0.8), fitted.thresholds_for(0.8), name)
    close(found.thresholds_for(0.8, caution=1.0), fitted.thresholds_for(0.8, caution=1.0), name)


def test_nothing_that_a_fit_sets_is_missing(case):
    _, X, _, _, fitted = case
    found = AutoAnnotator.restore(X, *kept(fitted))
    assert set(vars(found)) == set(vars(fitted))
    assert set(vars(found.model_)) == set(vars(fitted.model_))
    assert set(vars(found.views_)) == set(vars(fitted.views_))
    parameters = set(found.get_params(deep=False)) - {"groups", "random_state"}
    assert {one: getattr(found, one) for one in parameters} == {one: getattr(fitted, one) for one in parameters}


def test_later_labels_change_it_in_the_same_way(case):
    name, X, new, Y, fitted = case
    one, other = copy.deepcopy(fitted), AutoAnnotator.restore(X, *kept(fitted))
    more = Y.copy()
    more[100:106, 0] = [1, 0, 1, 1, 0, 1]
    more[2, 2] = -1
    one.update(more)
    other.update(more)
    for attribute in ("transduction_", "probabilities_", "thresholds_", "scores_"):
        close(getattr(other, attribute), getattr(one, attribute), name)
    close(other.predict_proba(new), one.predict_proba(new), name)
    assert np.abs(other.probabilities_ - fitted.probabilities_).max() > 1e-3
    # What has been updated is kept as well.
    close(AutoAnnotator.restore(X, *kept(other)).predict_proba(new), one.predict_proba(new), name)


@pytest.mark.medium
def test_explanations_are_the_same(case):
    name, X, _, Y, fitted = case
    groups = fitted.groups
    found = ScoreExplainer(AutoAnnotator.restore(X, *kept(fitted)), X, Y, groups=groups)
    expected = ScoreExplainer(fitted, X, Y, groups=groups)
    for row, tag in ((0, 0), (40, 1), (120, 3)):
        one, other = found.explain(row, tag), expected.explain(row, tag)
        assert len(one.parts) == len(other.parts)
        close(one.score, other.score, name)
        for part, same in zip(one.parts, other.parts, strict=True):
            assert (part.names, part.is_exact) == (same.names, same.is_exact)
            close(part.amounts, same.amounts, name)
            close(part.base, same.base, name)


def test_the_graph_is_not_built_again(monkeypatch):
    X, new, Y = make_problem()
    fitted = AutoAnnotator(GROUPS, n_neighbors=8, random_state=0).fit(X, Y)
    state = kept(fitted)
    monkeypatch.setattr(_photo_views, "knn_graph", None)
    found = AutoAnnotator.restore(X, *state, n_threads=1)
    assert found.n_threads == 1
    np.testing.assert_array_equal(found.views_.graph.weights.toarray(), fitted.views_.graph.weights.toarray())
    close(found.predict_proba(new), fitted.predict_proba(new), "")


def test_weights_of_a_graph_and_shared_views_are_kept():
    X, new, Y = make_problem()
    views = PhotoViews(X, GROUPS, n_neighbors=8, smoothing=2.0, n_threads=1)
    weighted = views.graph.weights.copy()
    weighted.data = 1.0 + 0.5 * np.cos(weighted.indices + np.repeat(np.arange(N), np.diff(weighted.indptr)))
    graph = type(views.graph)(weighted, recall=0.9)
    shared = PhotoViews(X, GROUPS, n_neighbors=8, smoothing=2.0, n_threads=1, link=lambda _: graph)
    annotator = AutoAnnotator(GROUPS, random_state=0)
    annotator.share_views(shared)
    fitted = annotator.fit(X, Y)
    found = AutoAnnotator.restore(X, *kept(fitted))
    np.testing.assert_array_equal(found.views_.graph.weights.toarray(), weighted.toarray())
    assert found.views_.graph.recall == 0.9
    close(found.predict_proba(new), fitted.predict_proba(new), "")


@pytest.fixture(scope="module")
def small():
    X, _, Y = make_problem()
    return X, AutoAnnotator(GROUPS, n_neighbors=8, random_state=0).fit(X, Y)


def test_what_cannot_be_told_in_plain_values_is_not_kept(small):
    _, fitted = small
    fitted.later_ = object()
    try:
        assert fitted.state() is None
    finally:
        del fitted.later_


def test_other_features_are_refused(small):
    X, fitted = small
    state = kept(fitted)
    for wrong in (X[:-1], X[:, :-1]):
        with pytest.raises(InvalidInputError, match=r"of shape \(160, 10\)"):
            AutoAnnotator.restore(wrong, *state)
    swapped = X.copy()
    swapped[[3, 5]] = swapped[[5, 3]]
    for wrong in (X + np.arange(N)[:, None], X[::-1], swapped):
        with pytest.raises(InvalidInputError, match="in the same order, got others"):
            AutoAnnotator.restore(wrong, *state)
    AutoAnnotator.restore(X + 1e-9, *state)


def test_what_another_version_kept_is_refused(small):
    X, fitted = small
    arrays, info = kept(fitted)
    with pytest.raises(InvalidInputError, match="format 2, got 3"):
        AutoAnnotator.restore(X, arrays, info | {"format": _annotator.FORMAT + 1})
    less = {name: array for name, array in arrays.items() if name != "auto/model/deviations"}
    with pytest.raises(InvalidInputError, match=r"lacks something.*auto/model/deviations"):
        AutoAnnotator.restore(X, less, info)
    text = json.dumps(info).replace('"CalibrationMap"', '"SomethingNewer"')
    with pytest.raises(InvalidInputError, match="SomethingNewer"):
        AutoAnnotator.restore(X, arrays, json.loads(text))
