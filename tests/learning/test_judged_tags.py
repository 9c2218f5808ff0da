"""Probabilities of tags that a person goes through from the likeliest photo down."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import bernoulli, beta, norm

from tagloom.learning import judgements as judged_tags
from tagloom.learning.judgements import calibrate_new, follow_judgements, judged_probabilities, lower_to_judgements
from tests.made_labels import labels_of


class Said:
    """Judgements made of pairs of photo and outcome per tag."""

    def __init__(self, suggested, photos=None):
        self._suggested, self._photos = suggested, photos or {}

    def suggested(self, tag):
        return np.array(self._suggested.get(tag, []), dtype=np.int64).reshape(-1, 2)

    def photos(self, tag):
        return np.asarray(self._photos.get(tag, []), dtype=np.int64)


def top_of_a_ranking(rng, n=4000, n_judged=600):
    """Return scores, the truth behind them, and labels known for the photos with the highest scores alone."""
    scores = rng.normal(size=(n, 1)).astype(np.float32)
    truth = (rng.random((n, 1)) < expit(2.5 * scores - 3.0)).astype(np.int8)
    said = np.full((n, 1), -1, dtype=np.int8)
    judged = np.argsort(-scores[:, 0])[:n_judged]
    said[judged] = truth[judged]
    return scores, truth, said, judged


@pytest.mark.parametrize("seed", range(3))
def test_what_is_left_below_has_the_probability_it_has(seed):
    rng = np.random.default_rng(seed)
    scores, truth, said, judged = top_of_a_ranking(rng)
    found = judged_probabilities(lambda tags, hidden: scores, said, np.array([0]), said >= 0, scores)
    left = np.setdiff1d(np.argsort(-scores[:, 0])[:1400], judged)
    assert truth[judged].mean() > 0.4
    assert found[left].mean() == pytest.approx(truth[left].mean(), abs=0.04)
    assert np.array_equal(np.argsort(found[left, 0]), np.argsort(scores[left, 0]))


def test_every_judged_photo_is_scored_without_its_label():
    scores, _, said, _ = top_of_a_ranking(np.random.default_rng(0), n=300, n_judged=90)
    times_hidden = np.zeros(scores.shape, dtype=int)

    def solve(tags, hidden):
        assert tags.tolist() == [0]
        times_hidden[hidden] += 1
        return np.where(hidden, scores, 1e6).astype(np.float32)

    with_labels = np.where(said >= 0, 1e6, scores).astype(np.float32)  # what knows its label is far too sure
    found = judged_probabilities(solve, said, np.array([0]), said >= 0, with_labels)
    assert np.array_equal(times_hidden[:, 0], (said[:, 0] >= 0).astype(int))
    honest = judged_probabilities(lambda tags, hidden: scores, said, np.array([0]), said >= 0, scores)
    assert np.allclose(found, honest)


def said_of(n, suggested):
    """Return labels in which just these suggestions were judged."""
    said = np.full((n, 1 + max(suggested)), -1, dtype=np.int8)
    for tag, pairs in suggested.items():
        for photo, state in pairs:
            said[photo, tag] = state
    return labels_of(said, looks=Said(suggested))


def most_probable(promised, outcomes, spread):
    """Return by trying 200,001 numbers which one log-odds are most probably off by."""
    offsets = np.linspace(-10.0, 0.0, 200_001)
    chances = norm(scale=spread).logpdf(offsets)
    for one, outcome in zip(promised, outcomes, strict=True):
        chances = chances + bernoulli.logpmf(outcome, expit(logit(one) + offsets))
    return offsets[np.argmax(chances)]


@pytest.mark.parametrize("is_own", [False, True])
@pytest.mark.parametrize("outcomes", [[0], [1] * 13 + [0], [0] * 5, [1, 0, 0, 1, 0], [0] * 60])
def test_log_odds_are_lowered_by_the_most_probable_number(outcomes, is_own):
    rng, n_looks = np.random.default_rng(0), len(outcomes)
    given = rng.uniform(0.02, 0.98, size=(n_looks + 20, 1)).astype(np.float32)
    labels = said_of(len(given), {0: list(enumerate(outcomes))})
    values = given.copy()
    lower_to_judgements(values, labels, np.array([0]), own=np.array([is_own]))
    spread = judged_tags.OWN_SPREAD if is_own else judged_tags.MODEL_SPREAD
    offset = most_probable(given[:n_looks, 0].astype(float), outcomes, spread)
    assert values[:, 0] == pytest.approx(expit(logit(given[:, 0].astype(float)) + offset), abs=2e-5)
    assert np.array_equal(np.argsort(values[:, 0]), np.argsort(given[:, 0]))


def test_one_refusal_among_many_yeses_changes_little_and_a_row_of_them_much():
    outcomes = {0: [1] * 13 + [0], 1: [0] * 5, 2: [1] * 14}
    labels = said_of(40, {tag: list(enumerate(said)) for tag, said in outcomes.items()})
    values = np.full((40, 3), 0.95, dtype=np.float32)
    lower_to_judgements(values, labels, np.arange(3))
    assert 0.92 < values[-1, 0] < 0.95
    assert values[-1, 1] < 0.5
    assert np.all(values[:, 2] == np.float32(0.95))  # never raised


def test_a_look_that_was_taken_back_counts_no_more():
    labels = said_of(30, {0: [(photo, 0) for photo in range(10)]})
    labels.said[:10] = -1
    labels.said[10:20] = 0  # judged otherwise
    values = np.full((30, 1), 0.9, dtype=np.float32)
    lower_to_judgements(values, labels, np.arange(1))
    assert np.all(values == np.float32(0.9))


def test_numbers_that_know_their_labels_promise_what_the_likeliest_open_photo_has():
    looks = {0: [(at, int(at > 7)) for at in range(10)], 1: [(0, 0), (1, 1)]}
    labels = said_of(20, looks)
    given = np.random.default_rng(0).uniform(size=(20, 2)).astype(np.float32)
    given = np.where(labels.said == -1, given, labels.said).astype(np.float32)  # as sure as what was said
    values = given.copy()
    lower_to_judgements(values, labels, np.arange(2), is_held_out=False)
    for column, pairs in looks.items():
        is_open = labels.said[:, column] == -1
        promised = np.full(len(pairs), given[is_open, column].max(), dtype=float)
        offset = most_probable(promised, [state for _, state in pairs], judged_tags.MODEL_SPREAD)
        lowered = expit(logit(given[is_open, column].astype(float)) + offset)
        assert values[is_open, column] == pytest.approx(lowered, abs=2e-5)


def test_nothing_happens_where_all_is_decided():
    labels = said_of(4, {0: [(at, 0) for at in range(4)]})
    values = np.full((4, 1), 0.9, dtype=np.float32)
    lower_to_judgements(values, labels, np.arange(1), is_held_out=False)
    assert np.all(values == np.float32(0.9))


@pytest.mark.parametrize("n_yes", [0, 13])
def test_one_refusal_leaves_most_suggestions_of_a_good_tag(n_yes):
    n, n_listed = 300, 60
    rng = np.random.default_rng(3)
    truth = np.arange(n) % 5 == 0
    scores = (rng.normal(size=(n, 1)) + np.where(truth, 4.0, -3.0)[:, None]).astype(np.float32)
    said = np.full((n, 1), -1, dtype=np.int8)
    said[:n_listed, 0] = truth[:n_listed]
    order = n_listed + np.argsort(-scores[n_listed:, 0])[: n_yes + 1]
    shown = [(int(photo), int(place < n_yes)) for place, photo in enumerate(order)]
    for photo, state in shown:
        said[photo, 0] = state
    looks = Said({0: shown}, {0: order})
    labels = labels_of(said, listed=np.arange(n) < n_listed, reviewed=[True], looks=looks)
    values = expit(scores)
    follow_judgements(values, scores, labels, np.array([0]), lambda tags, hidden: scores[:, tags], is_held_out=True)
    left = truth & (said[:, 0] == -1)
    assert left.sum() > 30
    assert (values[left, 0] > 0.8).mean() > 0.5


def test_no_more_photos_are_expected_than_listed_ones_make_plausible():
    n, n_listed = 500, 20
    said = np.full((n, 2), -1, dtype=np.int8)
    said[:n_listed] = 0
    said[:3] = 1
    said[n_listed : n_listed + 40] = 1  # all above here
    labels = labels_of(said, listed=np.arange(n) < n_listed, reviewed=[True, False], looks=Said({}))
    values = np.random.default_rng(0).uniform(0.8, 0.99, size=(n, 2)).astype(np.float32)
    given = values.copy()
    scores = np.zeros((n, 2), dtype=np.float32)  # they tell nothing
    follow_judgements(values, scores, labels, np.arange(2), lambda tags, hidden: scores[:, tags])
    is_open = said[:, 0] == -1
    share = beta(4, 17).ppf(0.9)  # three of twenty
    assert values[is_open, 0].sum() + 43 <= share * n * 1.001
    assert np.array_equal(values[:, 1], given[:, 1])


def test_the_surest_photos_stay_in_order_where_fewer_are_plausible():
    said = np.full((200, 1), -1, dtype=np.int8)
    said[:20] = 0
    labels = labels_of(said, listed=np.arange(200) < 20, reviewed=[True], looks=Said({}))
    values = expit(np.linspace(6.5, 10.0, 200, dtype=np.float32))[:, None]
    scores = np.zeros((200, 1), dtype=np.float32)
    follow_judgements(values, scores, labels, np.arange(1), lambda tags, hidden: scores[:, tags])
    assert values.max() < 0.5
    assert np.all(np.diff(values[:, 0]) > 0)


def test_suggestions_accepted_by_the_hundred_are_no_judgement():
    scores, _, said, judged = top_of_a_ranking(np.random.default_rng(1), n=400, n_judged=120)
    labels = labels_of(said, listed=np.isin(np.arange(400), judged), reviewed=[True], looks=Said({}))

    def solve(tags, hidden):
        raise AssertionError("nobody has looked at any photo")

    values = np.full(scores.shape, 0.1, dtype=np.float32)
    follow_judgements(values, scores, labels, np.array([0]), solve)
    assert np.all(values == np.float32(0.1))


def new_tag(rng, n_yes, n_listed=800, n=4000, *, told):
    """Return scores and labels of a tag that was given to listed photos, and which photos have it."""
    truth = rng.random(n) < n_yes / n_listed
    scores = (rng.normal(size=(n, 1)) + 3.0 * told * truth[:, None]).astype(np.float32)
    said = np.full((n, 2), -1, dtype=np.int8)
    said[:n_listed, 0] = rng.random(n_listed) < 0.5
    said[:n_listed, 1] = np.where(truth[:n_listed], 1, -1)
    return scores, labels_of(said), truth


def calibrated(scores, labels):
    """Return probabilities of the last tag; its scores do not know its labels."""
    values = np.full(scores.shape, 0.9999, dtype=np.float32)
    calibrate_new(values, scores, labels, np.array([1]), lambda tags, hidden: scores)
    return values[:, 0]


@pytest.mark.parametrize("n_yes", [20, 200, 500])
def test_a_new_tag_that_scores_tell_nothing_of_gets_its_share(n_yes):
    scores, labels, truth = new_tag(np.random.default_rng(0), n_yes, told=False)
    found = calibrated(scores, labels)[800:]
    share = truth[:800].mean()
    assert found.mean() == pytest.approx(share, rel=0.25)
    assert np.quantile(found, 0.99) < 2.0 * share


@pytest.mark.parametrize("n_yes", [8, 20])
def test_a_new_tag_of_a_handful_of_photos_is_expected_as_often_as_it_is(n_yes):
    scores, labels, truth = new_tag(np.random.default_rng(1), n_yes, told=True)
    found, truth = calibrated(scores, labels)[800:], truth[800:]
    assert found.sum() == pytest.approx(truth.sum(), rel=0.5)
    assert found[truth].mean() > 10.0 * found[~truth].mean()


@pytest.mark.parametrize("n_yes", [80, 400])
def test_a_new_tag_that_scores_tell_has_the_probability_it_has(n_yes):
    scores, labels, truth = new_tag(np.random.default_rng(1), n_yes, told=True)
    found, truth = calibrated(scores, labels)[800:], truth[800:]
    assert found.sum() == pytest.approx(truth.sum(), rel=0.5)
    assert found[truth].mean() > 3.0 * found[~truth].mean()
    likely = found > 0.5
    assert likely.any()
    assert found[likely].mean() == pytest.approx(truth[likely].mean(), abs=0.2)


def test_a_new_tag_with_a_single_photo_keeps_what_scores_usually_say():
    scores, labels, _ = new_tag(np.random.default_rng(0), 0, told=False)
    labels.Y[:800, 1] = 0
    labels.Y[3, 1] = 1
    assert np.all(calibrated(scores, labels) == np.float32(0.9999))


def test_only_tags_whose_suggestions_were_judged_get_a_sigmoid_of_their_own():
    scores, _, said, judged = top_of_a_ranking(np.random.default_rng(1), n=400, n_judged=120)
    scores, said = np.repeat(scores, 3, axis=1), np.repeat(said, 3, axis=1)
    said[:, 2] = np.where(said[:, 2] == 0, -1, said[:, 2])  # nothing but yes
    looks = Said({}, dict.fromkeys(range(3), judged))
    labels = labels_of(said, listed=np.zeros(400, dtype=bool), reviewed=[False, True, True], looks=looks)
    asked = []

    def solve(tags, hidden):
        asked.append(tags.tolist())
        return scores[:, tags]

    values = np.full(scores.shape, 0.7, dtype=np.float32)
    follow_judgements(values, scores, labels, np.arange(3), solve)
    assert asked == [[1]] * 4
    assert np.all(values[:, [0, 2]] == np.float32(0.7))
    assert values[:, 1].std() > 0.1
