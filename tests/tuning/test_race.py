"""Other methods raced against the combination of the annotator that chooses for itself."""

import json

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tagloom.core.annotator import Annotator
from tagloom.core.folds import label_budget
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.metrics import mean_average_precision
from tagloom.tuning.auto import extra_methods as _race
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.extra_methods import GUESTS, Columns, Guest
from tagloom.tuning.auto.views import PhotoViews, View

pytestmark = pytest.mark.medium


def group_sparse(n=360, c=6, n_groups=10, size=4, seed=0):
    """Tags that one of ten groups shows each; the others are noise, which kernels of all groups drown in."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, n_groups * size))
    shown = np.column_stack([X[:, tag * size : (tag + 1) * size] @ rng.standard_normal(size) for tag in range(c)])
    truth = (shown + 0.3 * rng.standard_normal(shown.shape) > 1.1 * shown.std(axis=0)).astype(np.int8)
    return X, truth, FeatureGroups([f"g{number}" for number in range(n_groups)], [size] * n_groups)


@pytest.fixture(scope="module")
def problem():
    X, truth, groups = group_sparse()
    return X, truth, groups, label_budget(truth[:260], 150, random_state=0)


@pytest.fixture(scope="module")
def fitted(problem):
    X, _, groups, Y = problem
    return AutoAnnotator(groups, also=("gllr", "harmonic", "topics"), random_state=0).fit(X[:260], Y)


def test_a_method_that_suits_the_photos_is_taken_in(problem, fitted):
    X, truth, groups, Y = problem
    told = json.loads(json.dumps(fitted.choice_["guests"]))
    assert list(told) == ["gllr"]
    alone = AutoAnnotator(groups, also=(), random_state=0).fit(X[:260], Y)
    hidden = Y[:, 0] == -1
    before = mean_average_precision(truth[:260][hidden], alone.transduction_[hidden])
    assert mean_average_precision(truth[:260][hidden], fitted.transduction_[hidden]) > before + 0.15
    of_new = mean_average_precision(truth[260:], alone.decision_function(X[260:]))
    assert mean_average_precision(truth[260:], fitted.decision_function(X[260:])) > of_new + 0.15


def test_the_others_are_named_with_their_figures(fitted):
    assert "together with the combination's" in fitted.left_out_["harmonic"]
    assert fitted.left_out_["topics"] == "no feature group is made of visual words"
    assert "gllr" not in fitted.left_out_
    assert sum(row.weight for row in fitted.leaderboard_) == pytest.approx(1.0)
    figures = [row.map for row in fitted.leaderboard_]
    assert figures == sorted(figures, reverse=True)
    assert {row.name for row in fitted.leaderboard_} & set(GUESTS) == {"gllr"}


def test_scores_are_shares_of_the_combination_and_of_the_method(problem, fitted):
    X, _, _, Y = problem
    outcome, weight = fitted._refinement.outcome, fitted.choice_["guests"]["gllr"]
    (guest,) = outcome.guests
    own = fitted._model.fit(Y, np.flatnonzero(Y[:, 0] != -1), fitted._priors)
    seen = fitted._refinement.outcome.guests[0].features.of(X[:260], fitted._views.plain)
    scores = GUESTS["gllr"].make(guest.features.groups, 15, 150).fit(seen, Y).transduction_
    unit = (scores - scores.mean(axis=0)) / scores.std(axis=0)
    np.testing.assert_allclose(
        fitted._scores - fitted._priors, (1 - weight) * own + weight * unit * own.std(axis=0), atol=1e-6
    )


def test_left_out_scores_are_by_models_that_have_not_seen_the_photo(problem, fitted):
    X, _, groups, Y = problem
    row = int(np.flatnonzero(Y[:, 0] != -1)[7])
    changed = Y.copy()
    changed[row] = 1 - changed[row]
    other = AutoAnnotator(groups, also=("gllr",), random_state=0).fit(X[:260], changed)
    # Priors, weights and maps move a little; with the own label in it scores would change sides.
    assert np.abs(other.probabilities_[row] - fitted.probabilities_[row]).max() < 0.25


def test_update_keeps_what_the_method_said(problem):
    X, truth, groups, Y = problem
    model = AutoAnnotator(groups, also=("gllr",), random_state=0).fit(X[:260], Y)
    added = model._refinement.outcome.everywhere
    more = Y.copy()
    rows = np.flatnonzero(Y[:, 0] == -1)[:10]
    more[rows] = truth[:260][rows]
    model.update(more)
    fresh = model._model.fit(more, np.flatnonzero(more[:, 0] != -1), model._priors)
    expected = fresh * model._refinement.outcome.shares + added + model._priors
    np.testing.assert_allclose(model._scores, expected, atol=1e-6)


def test_a_tag_nobody_has_shown_is_left_to_the_combination(problem):
    X, _, groups, Y = problem
    Y = Y.copy()
    Y[:, 5] = np.where(Y[:, 5] == -1, -1, 0)
    model = AutoAnnotator(groups, also=("gllr",), random_state=0).fit(X[:260], Y)
    assert model.choice_["guests"]
    assert model._refinement.outcome.shares[5] == 1.0
    assert not model._refinement.outcome.everywhere[:, 5].any()


def test_with_too_few_labels_nothing_is_raced(problem):
    X, truth, groups, _ = problem
    Y = label_budget(truth[:260], 12, random_state=0)
    model = AutoAnnotator(groups, random_state=0).fit(X[:260], Y)
    assert all("too few labels" in model.left_out_[name] for name in GUESTS)


class Failing(Annotator):
    """Cannot be fitted."""

    def _fit(self, X, Y):
        raise np.linalg.LinAlgError("singular")


class Interrupted(Annotator):
    """The person has had enough."""

    def _fit(self, X, Y):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("method", "name", "told"), [(Failing, "svm", "cannot be fitted"), (Interrupted, "further methods", "interrupted")]
)
def test_methods_that_fail_and_interruptions_lose_nothing(problem, monkeypatch, method, name, told):
    X, _, groups, Y = problem
    monkeypatch.setitem(_race.GUESTS, "svm", Guest("svm", lambda *_: method()))
    model = AutoAnnotator(groups, also=("harmonic", "svm"), random_state=0).fit(X[:260], Y)
    assert told in model.left_out_[name]
    assert np.isfinite(model.transduction_).all()
    assert model.choice_["guests"] == {}


def test_without_time_methods_are_named(problem, monkeypatch):
    X, _, groups, Y = problem
    hasty = AutoAnnotator(groups, also=("harmonic",), budget_seconds=1e-6, random_state=0).fit(X[:260], Y)
    assert hasty.left_out_["harmonic"] == "the time was over"

    def heat(_self, guest):
        return 0.5, "good", 3600.0

    monkeypatch.setattr(_race.Heat, "run", heat)
    model = AutoAnnotator(groups, also=("harmonic",), random_state=0).fit(X[:260], Y)
    assert model.left_out_["harmonic"] == "no time: a fit would take about 3600 s, and 6 are needed"


def test_many_photos_are_scored_by_a_method_that_has_learnt_from_some(problem, monkeypatch):
    X, truth, groups, Y = problem
    monkeypatch.setattr(_race, "MOST_PHOTOS", 200)
    model = AutoAnnotator(groups, also=("gllr",), random_state=0).fit(X[:260], Y)
    (guest,) = model._refinement.outcome.guests
    assert len(guest.annotator.transduction_) == 200
    hidden = Y[:, 0] == -1
    assert mean_average_precision(truth[:260][hidden], model.transduction_[hidden]) > 0.7


def test_the_columns_methods_see_are_principal_components():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 100)) @ rng.standard_normal((100, 100))
    groups = FeatureGroups(["deep", "wide"], [20, 80])
    views = PhotoViews(X, groups, n_neighbors=5, smoothing=2.0, n_threads=1)
    found = Columns(views, View("joint", {"deep": 0.5, "wide": 0.5}), 12)
    assert found.groups.sizes == (12, 12)
    seen = found.of(X, views.plain)
    for name in groups:
        exact = PCA(12, svd_solver="full").fit_transform(views.plain[:, groups[name]]) * np.sqrt(0.5)
        np.testing.assert_allclose(np.abs(seen[:, found.groups[name]]), np.abs(exact), atol=1e-6)
    assert list(Columns(views, View("deep", {"deep": 1.0})).groups) == ["deep"]


@pytest.mark.parametrize("wrong", ["sfss", ("sfss", "magic")])
def test_methods_that_are_not_there_are_refused(problem, wrong):
    X, truth, groups, _ = problem
    with pytest.raises(InvalidInputError, match="some of sfss, nova"):
        AutoAnnotator(groups, also=wrong).fit(X, truth)


def test_every_method_can_be_raced(problem):
    X, _, groups, Y = problem
    words = np.random.default_rng(0).poisson(1.0, size=(260, 30)).astype(float)
    joined = FeatureGroups([*groups.names, "blobs"], [*groups.sizes, 30])
    model = AutoAnnotator(joined, random_state=0).fit(np.hstack([X[:260], words]), Y)
    raced = set(GUESTS) & (set(model.left_out_) | set(model.choice_["guests"]))
    assert raced == set(GUESTS)
    assert not [why for why in model.left_out_.values() if "cannot be fitted" in why]
