"""A choice for single tags where the labels can tell."""

import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from tagloom.core.groups import FeatureGroups
from tagloom.metrics import mean_average_precision
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.combine import Combination, choose_per_tag
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.search import Candidate, Trial
from tagloom.tuning.auto.stacking import score_spread
from tagloom.tuning.constants import OWN_CHOICE_SHARE


def told_apart(n=600, seed=0):
    """Six tags that the embedding shows, and one that the texture alone shows."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, 7)) < 0.25).astype(np.int8)
    deep = truth[:, :6] @ rng.standard_normal((6, 30)) + 0.5 * rng.standard_normal((n, 30))
    texture = truth[:, 6:] @ np.ones((1, 6)) + rng.standard_normal((n, 6))
    return np.hstack([deep, texture]), truth, FeatureGroups(["deep", "texture"], [30, 6])


@pytest.fixture(scope="module")
def fitted():
    X, truth, groups = told_apart(seed=2)
    Y = truth.copy()
    Y[300:] = -1
    return X, truth, Y, AutoAnnotator(groups, random_state=0).fit(X, Y)


def test_the_tag_that_other_features_show_gets_them(fitted):
    _, truth, _, model = fitted
    told = json.loads(json.dumps(model.choice_["single_tags"]))
    assert 6 in [one["tag"] for one in told]
    assert all(one["gain"] > 0 for one in told)
    (of_last,) = [one["candidate"] for one in told if one["tag"] == 6]
    assert of_last.startswith(("without the network", "balanced", "joint"))
    shared = [member for member in model.model_.members if not isinstance(member.factor, np.ndarray)]
    without = StackModel(model.views_, model.model_.weightings, [*shared, *_as_for_others(model, tag=6)])
    rows = model.model_.rows
    scores = without.fit(model.model_.labels, rows, model.priors_)
    before = mean_average_precision(truth[300:, 6:], scores[300:, 6:])
    assert mean_average_precision(truth[300:, 6:], model.transduction_[300:, 6:]) > before + 0.02


def _as_for_others(model, tag):
    """Members of single tags with the factors that most tags have."""
    for member in model.model_.members:
        if isinstance(member.factor, np.ndarray):
            others = np.delete(member.factor, [one["tag"] for one in model.choice_["single_tags"]])
            yield Member(member.candidate, float(others[0]))


def test_scores_of_new_photos_and_updates_keep_the_choice(fitted):
    X, truth, Y, model = fitted
    as_new = model.decision_function(X[300:400])
    assert np.corrcoef(as_new[:, 6], model.transduction_[300:400, 6])[0, 1] > 0.9
    again = AutoAnnotator(model.groups, random_state=0).fit(X, Y)
    more = Y.copy()
    more[300:310, 6] = truth[300:310, 6]
    again.update(more)
    fresh = again.model_.fit(more, np.flatnonzero((more != -1).any(axis=1)), again.priors_)
    np.testing.assert_allclose(again.own_scores_, fresh + again.priors_, atol=1e-6)


def made_up(deviations, others, factors=(1.0, 0.0)):
    trials = [
        Trial(
            Candidate("joint"),
            deviations,
            score_spread(deviations, np.ones_like(deviations, dtype=np.int8)),
            np.empty(0),
        ),
        Trial(Candidate("deep"), others, 1.0, np.empty(0)),
    ]
    members = [Member(trial.candidate, factor) for trial, factor in zip(trials, factors, strict=True)]
    return trials, Combination(members, deviations, [], {})


def test_the_gain_is_that_of_average_precision():
    rng = np.random.default_rng(0)
    labels = (rng.random((200, 3)) < 0.3).astype(np.int8)
    own, other = rng.standard_normal((200, 3)), rng.standard_normal((200, 3))
    other[:, 1] += 3.0 * labels[:, 1]
    trials, combination = made_up(own, other)
    found = choose_per_tag(trials, combination, labels)
    (told,) = found.choice["single_tags"]
    assert told["tag"] == 1
    spread = score_spread(own, labels)
    mixed = (1 - OWN_CHOICE_SHARE) * own[:, 1] + OWN_CHOICE_SHARE * spread * other[:, 1]
    gain = average_precision_score(labels[:, 1], mixed) - average_precision_score(labels[:, 1], own[:, 1])
    assert told["gain"] == pytest.approx(gain)
    np.testing.assert_allclose(found.deviations[:, 1], mixed)
    np.testing.assert_array_equal(found.deviations[:, [0, 2]], own[:, [0, 2]])
    np.testing.assert_allclose(found.members[0].factor, [1.0, 1.0 - OWN_CHOICE_SHARE, 1.0])
    np.testing.assert_allclose(found.members[1].factor, [0.0, OWN_CHOICE_SHARE * spread, 0.0])


def test_few_photos_or_no_difference_leave_the_combination_alone():
    rng = np.random.default_rng(1)
    own = rng.standard_normal((200, 3))
    other = own + 0.01 * rng.standard_normal((200, 3))
    labels = (rng.random((200, 3)) < 0.3).astype(np.int8)
    trials, combination = made_up(own, other)
    found = choose_per_tag(trials, combination, labels)
    assert found.choice["single_tags"] == []
    assert found.deviations is own
    rare = np.zeros((200, 3), dtype=np.int8)
    rare[:19] = 1
    trials, combination = made_up(own, own + 5.0 * rare)
    assert choose_per_tag(trials, combination, rare).choice["single_tags"] == []


def test_unknown_entries_take_no_part():
    rng = np.random.default_rng(2)
    labels = (rng.random((200, 1)) < 0.4).astype(np.int8)
    own, other = rng.standard_normal((200, 1)), rng.standard_normal((200, 1)) + 2.0 * labels
    trials, combination = made_up(own, other)
    hidden = labels.copy()
    hidden[100:] = -1
    noisy = other.copy()
    noisy[100:] = -1e3
    found = choose_per_tag(*made_up(own, noisy), hidden)
    expected = choose_per_tag(trials, combination, hidden)
    assert found.choice["single_tags"] == expected.choice["single_tags"]
