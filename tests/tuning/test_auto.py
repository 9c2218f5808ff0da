"""The annotator that chooses for itself."""

import json

import numpy as np
import pytest

from tagloom.core.folds import label_budget
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError, InvalidLabelsError
from tagloom.methods import HarmonicPropagation, RegularizedLeastSquares, check_annotator
from tagloom.metrics import brier_skill, calibration_error, mean_average_precision
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.model import StackModel
from tagloom.tuning.auto.views import smoothed_priors
from tagloom.tuning.calibration.positive_unlabeled import weak_negatives


def clusters(n=400, c=6, seed=0, noise=1.0):
    """Photos of one to two tags each; one group shows them well, the other badly."""
    rng = np.random.default_rng(seed)
    truth = np.zeros((n, c), dtype=np.int8)
    truth[np.arange(n), rng.integers(c, size=n)] = 1
    truth[np.arange(n), rng.integers(c, size=n)] = 1
    good = truth @ rng.standard_normal((c, 8)) + noise * rng.standard_normal((n, 8))
    bad = truth @ rng.standard_normal((c, 8)) + 4.0 * noise * rng.standard_normal((n, 8))
    return np.hstack([good, bad]), truth, FeatureGroups(["deep", "texture"], [8, 8])


@pytest.fixture(scope="module")
def fitted():
    X, truth, groups = clusters()
    Y = label_budget(truth, 80, random_state=0)
    return X, truth, Y, AutoAnnotator(groups, random_state=0).fit(X, Y)


def test_it_passes_the_checks_of_annotators():
    check_annotator(AutoAnnotator())


def test_it_is_not_behind_single_learners_on_the_same_features(fitted):
    X, truth, Y, model = fitted
    hidden = Y[:, 0] == -1
    reached = mean_average_precision(truth[hidden], model.transduction_[hidden])
    for other in (RegularizedLeastSquares(), HarmonicPropagation()):
        single = mean_average_precision(truth[hidden], other.fit(X, Y).transduction_[hidden])
        assert reached > 0.99 * single


def test_probabilities_of_hidden_entries_are_calibrated(fitted):
    _, truth, Y, model = fitted
    hidden = Y[:, 0] == -1
    assert calibration_error(truth[hidden], model.probabilities_[hidden]) < 0.08
    assert brier_skill(truth[hidden], model.probabilities_[hidden]) > 0.2
    assert ((model.probabilities_ > 0) & (model.probabilities_ < 1)).all()


def test_known_entries_have_what_is_said_without_their_labels(fitted):
    X, _, Y, model = fitted
    known = Y[:, 0] != -1
    # With their labels the labelled photos would be ranked all but perfectly.
    reached = mean_average_precision(Y[known], model.transduction_[known])
    assert reached < 0.98
    changed = Y.copy()
    row = int(np.flatnonzero(known)[3])
    changed[row] = 1 - changed[row]
    other = AutoAnnotator(model.groups, random_state=0).fit(X, changed)
    gap = np.abs(other.probabilities_[row] - model.probabilities_[row])
    assert gap.max() < 0.2  # priors, members and maps move a little; the photo's own label is not in it


def test_new_photos_are_scored_like_the_same_photos_in_the_training_set():
    X, truth, groups = clusters(500)
    Y = label_budget(truth[:400], 100, random_state=1)
    model = AutoAnnotator(groups, random_state=0).fit(X[:400], Y)
    together = AutoAnnotator(groups, random_state=0).fit(X, np.vstack([Y, np.full((100, 6), -1)]))
    as_new = model.decision_function(X[400:])
    np.testing.assert_allclose(model.predict_proba(X[400:]), 1.0 / (1.0 + np.exp(-as_new)))
    assert np.corrcoef(as_new.ravel(), together.transduction_[400:].ravel())[0, 1] > 0.97


def test_what_was_chosen_is_told_in_plain_words_and_numbers(fitted):
    *_, model = fitted
    told = json.loads(json.dumps(model.choice_))
    assert sum(member["weight"] for member in told["members"]) == pytest.approx(1.0)
    assert told["map"] >= told["map_of_start"]
    figures = [row.map for row in model.leaderboard_]
    assert figures == sorted(figures, reverse=True)
    assert sum(row.weight for row in model.leaderboard_) == pytest.approx(1.0)
    assert all(isinstance(why, str) for why in model.left_out_.values())


def _trained_with_the_members_of(model, X, Y, limits):
    """Return an annotator whose search finds what another one's has found."""
    again = AutoAnnotator(model.groups, random_state=0, **limits)
    again.left_out_, again.choice_, again._against, again._seed = {}, {}, None, model._seed
    again.views_, again.n_tags_, again.n_features_in_ = model.make_views(X), Y.shape[1], X.shape[1]
    again.model_ = StackModel(again.views_, model.model_.weightings, model.model_.members)
    again._learn(Y)
    return again


@pytest.mark.parametrize("n_more", [7, 200])
@pytest.mark.parametrize("limits", [{}, {"max_rows": 60, "max_search_rows": 40}], ids=["all", "some"])
def test_an_update_is_a_training_given_the_same_members(fitted, n_more, limits):
    X, truth, Y, model = fitted
    updated = AutoAnnotator(model.groups, random_state=0, **limits).fit(X, Y)
    more = Y.copy()
    rows = np.flatnonzero(Y[:, 0] == -1)[:n_more]
    more[rows] = truth[rows]
    more[rows[:3], 0] = -1
    more[rows[4:], 3] = -1
    more[np.flatnonzero(Y[:, 0] != -1)[:2]] = -1
    assert updated.update(more) is updated
    trained = _trained_with_the_members_of(updated, X, more, limits)
    for name in ("probabilities_", "transduction_", "scores_", "own_scores_", "priors_", "thresholds_"):
        np.testing.assert_allclose(getattr(updated, name), getattr(trained, name), atol=1e-6, err_msg=name)
    np.testing.assert_allclose(updated.predict_proba(X[:5] + 0.01), trained.predict_proba(X[:5] + 0.01), atol=1e-6)


def test_update_solves_changed_tags_only(fitted):
    X, truth, Y, model = fitted
    updated = AutoAnnotator(model.groups, random_state=0).fit(X, Y)
    attached = updated.views_.attach(X[:7])
    scores, new = updated.own_scores_.copy(), updated.model_.score_new(attached)
    more = Y.copy()
    row = int(np.flatnonzero(Y[:, 0] == -1)[0])
    more[row, 2] = truth[row, 2]
    updated.update(more)
    others = np.arange(6) != 2
    np.testing.assert_array_equal(updated.own_scores_[:, others], scores[:, others])
    np.testing.assert_allclose(updated.model_.score_new(attached)[:, others], new[:, others], atol=1e-8)
    assert np.abs(updated.own_scores_[:, 2] - scores[:, 2]).max() > 1e-6
    before = updated.transduction_
    assert updated.update(more).transduction_ is before


def test_what_an_update_says_of_a_known_entry_is_said_without_its_label(fitted):
    X, truth, Y, model = fitted
    updated = AutoAnnotator(model.groups, random_state=0).fit(X, Y)
    before = updated.map_.coefficients
    more = Y.copy()
    rows = np.flatnonzero(Y[:, 0] == -1)[:120]
    more[rows] = truth[rows]
    more[rows[:30], 2:] = -1
    updated.update(more)
    known = np.flatnonzero((more != -1).any(axis=1))
    for row, tag in ((rows[0], 0), (rows[100], 4), (np.flatnonzero(Y[:, 0] != -1)[5], 3)):
        hidden = more.copy()
        hidden[row, tag] = -1
        priors = smoothed_priors(hidden)
        fresh = StackModel(updated.views_, updated.model_.weightings, updated.model_.members)
        without = fresh.fit(hidden, known, priors)[row, tag] + priors[tag]
        prior_told = updated.priors_[tag] - priors[tag]
        assert updated.scores_[row, tag] == pytest.approx(without + prior_told, abs=2e-4)
    hidden = (more == -1).all(axis=1)
    assert calibration_error(truth[hidden], updated.probabilities_[hidden]) < 0.08
    assert not np.array_equal(updated.map_.coefficients, before)
    assert not updated.seen_.any()


def test_update_calibrates_against_other_labels_where_they_are_given(fitted):
    X, truth, Y, model = fitted
    more = Y.copy()
    rows = np.flatnonzero(Y[:, 0] == -1)[:20]
    more[rows] = truth[rows]
    plain, sampled = (AutoAnnotator(model.groups, random_state=0).fit(X, Y) for _ in range(2))
    plain.update(more)
    # Half of the yeses are doubted: probabilities come out lower, scores stay.
    doubted = np.where(more == 1, np.random.default_rng(0).integers(0, 2, more.shape), more).astype(np.int8)
    sampled.update(more, against=doubted)
    np.testing.assert_array_equal(plain.own_scores_, sampled.own_scores_)
    assert sampled.probabilities_.sum() < 0.8 * plain.probabilities_.sum()


def test_update_refuses_labels_that_do_not_fit(fitted):
    X, _, Y, model = fitted
    with pytest.raises(InvalidLabelsError, match="rows"):
        model.update(Y[1:])
    with pytest.raises(InvalidLabelsError, match="at least one known"):
        AutoAnnotator(model.groups).fit(X, Y).update(np.full_like(Y, -1))


def test_named_tags_alone_are_learnt_from_as_positive_and_unlabelled():
    X, truth, groups = clusters(600, noise=0.6)
    rng = np.random.default_rng(3)
    named = np.where((truth == 1) & (rng.random(truth.shape) < 0.5), 1, -1)
    named[300:] = -1
    explicit = AutoAnnotator(groups, absent_means="unknown", random_state=0).fit(X, named)
    as_no = AutoAnnotator(groups, random_state=0).fit(X, weak_negatives(named))
    assert 0.4 < explicit.completeness_ < 0.8
    hidden = slice(300, None)
    assert brier_skill(truth[hidden], explicit.probabilities_[hidden]) > brier_skill(
        truth[hidden], as_no.probabilities_[hidden]
    )
    assert explicit.predict_proba(X[:9]).max() <= 1.0
    assert as_no.completeness_ == 1.0


def test_only_positive_labels_without_the_word_give_finite_answers():
    X, truth, groups = clusters(60)
    Y = np.where(truth == 1, 1, -1)
    Y[20:] = -1
    assert np.isfinite(AutoAnnotator(groups).fit(X, Y).transduction_).all()


@pytest.mark.parametrize("n_labelled", [1, 2, 3])
def test_very_few_labels_give_finite_answers(n_labelled):
    X, truth, groups = clusters(40)
    Y = label_budget(truth, n_labelled, random_state=0)
    model = AutoAnnotator(groups, random_state=0).fit(X, Y)
    assert np.isfinite(model.transduction_).all()
    assert model.choice_["members"]


def test_a_tag_nobody_has_shown_is_most_likely_on_photos_unlike_the_labelled_ones():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 0.3, (60, 4)), rng.normal(5, 0.3, (30, 4))])
    Y = np.full((90, 2), -1, dtype=np.int8)
    Y[:30] = np.column_stack([rng.integers(2, size=30), np.zeros(30)])
    scores = AutoAnnotator(random_state=0).fit(X, Y).transduction_[:, 1]
    assert scores[60:].min() > scores[30:60].max()


def test_the_length_of_rows_counts_where_there_is_no_network():
    rng = np.random.default_rng(0)
    angle, far = rng.uniform(0, 2 * np.pi, 200), rng.integers(2, size=200)
    X = (1.0 + 2.0 * far + 0.2 * rng.standard_normal(200))[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    truth = np.column_stack([far, 1 - far]).astype(np.int8)
    Y = label_budget(truth, 20, random_state=0)
    hidden = Y[:, 0] == -1
    assert mean_average_precision(truth[hidden], AutoAnnotator().fit(X, Y).transduction_[hidden]) > 0.97


def test_more_labels_than_are_learnt_from_are_named():
    X, truth, groups = clusters(200)
    model = AutoAnnotator(groups, max_rows=50, max_search_rows=30, random_state=0).fit(X, truth)
    assert any("labelled photos" in name for name in model.left_out_)
    assert model.choice_["n_search_rows"] == 30
    assert np.isfinite(model.transduction_).all()
    truth[0, 0] = 1 - truth[0, 0]
    assert np.isfinite(model.update(truth).transduction_).all()


def test_a_photo_that_moves_in_after_another_lost_its_labels_counts_for_all_its_tags():
    X, truth, groups = clusters(120)
    model = AutoAnnotator(groups, max_rows=50, random_state=0).fit(X, truth)
    fewer = truth.copy()
    fewer[model.model_.rows[0]] = -1
    model.update(fewer)
    rows = model.model_.rows.copy()
    assert len(rows) == 50
    expected = model.model_.fit(fewer, rows, model.priors_) + model.priors_
    np.testing.assert_allclose(model.own_scores_, expected, atol=1e-6)


def test_without_time_it_still_answers_and_says_so(fitted):
    X, truth, Y, model = fitted
    hasty = AutoAnnotator(model.groups, budget_seconds=1e-6, random_state=0).fit(X, Y)
    assert "the time was over" in hasty.left_out_.values()
    hidden = Y[:, 0] == -1
    assert mean_average_precision(truth[hidden], hasty.transduction_[hidden]) > 0.5


def test_interrupted_it_goes_on_with_what_it_has(fitted):
    X, _, Y, model = fitted

    class Impatient:
        steps = 0

        def start(self, stage, total=None):
            pass

        def advance(self, n=1):
            self.steps += 1
            if self.steps == 2:
                raise KeyboardInterrupt

        def finish(self):
            pass

    stopped = AutoAnnotator(model.groups, progress=Impatient(), random_state=0).fit(X, Y)
    assert stopped.left_out_["further candidates"] == "interrupted"
    assert np.isfinite(stopped.transduction_).all()


@pytest.mark.parametrize(
    "wrong",
    [{"budget_seconds": 0}, {"absent_means": "maybe"}, {"max_rows": 1}, {"groups": FeatureGroups(["a"], [3])}],
    ids=str,
)
def test_parameters_that_do_not_fit_are_refused(wrong):
    X, truth, _ = clusters(30)
    with pytest.raises(InvalidInputError):
        AutoAnnotator(**wrong).fit(X, truth)
