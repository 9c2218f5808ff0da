import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import betabinom

from tagloom.tuning import AutoAnnotator
from tagloom.tuning.calibration.calibrated import scale_of
from tagloom.tuning.calibration.level_scale import LevelScale, fit_rates, has_unseen_tags, heaps, sharpened, telling
from tagloom.tuning.calibration.maps import fit_pooled
from tagloom.tuning.constants import WITHOUT_EXAMPLES


def _problem(seed=0, n=40, c=7, m=15):
    rng = np.random.default_rng(seed)
    Y = np.full((n, c), -1, dtype=np.int8)
    Y[:m] = rng.random((m, c)) < np.linspace(0.02, 0.5, c)
    return rng.normal(size=(n, c)), Y


def test_rates_are_those_that_make_the_counts_most_probable():
    rng = np.random.default_rng(1)
    n_known = rng.integers(30, 60, size=400)
    n_yes = rng.binomial(n_known, rng.beta(1.2, 10.8, size=400))
    found = fit_rates(n_yes, n_known)

    def loss(log_weight):
        weight = np.exp(log_weight[0])
        a, b = found.mean * weight, (1 - found.mean) * weight
        return -betabinom.logpmf(n_yes, n_known, a, b).sum() + 0.5 * (log_weight[0] - np.log(8.0)) ** 2

    best = float(np.exp(minimize(loss, [2.0]).x[0]))
    assert found.mean == pytest.approx(n_yes.sum() / n_known.sum(), abs=1e-4)
    assert found.weight == pytest.approx(best, rel=0.06)
    assert found.weight == pytest.approx(12.0, rel=0.3)


def test_tags_that_differ_by_chance_alone_are_drawn_together():
    rng = np.random.default_rng(2)
    n_known = np.full(200, 25)
    by_chance = rng.binomial(n_known, 0.1)
    in_fact = rng.binomial(n_known, rng.beta(1.0, 9.0, size=200))
    assert fit_rates(by_chance, n_known).weight > 5 * fit_rates(in_fact, n_known).weight
    rates = expit(fit_rates(by_chance, n_known).log_odds(by_chance, n_known))
    assert np.square(rates - 0.1).mean() < np.square(by_chance / 25 - 0.1).mean() / 10


@pytest.mark.parametrize("row", range(15))
def test_a_left_out_entry_is_described_as_if_its_photo_had_never_been_labelled(row):
    scores, Y = _problem()
    scale = LevelScale.of(scale_of(scores, Y), Y)
    rows = np.arange(15)
    found = scale.describe_left_out(scores[rows], Y, rows)[row]
    hidden = Y.copy()
    hidden[row] = -1
    without = LevelScale.of(scale, hidden, scale.rates)
    # A score of fewer examples varies less.
    n_yes, n_left = (Y == 1).sum(axis=0), (hidden == 1).sum(axis=0)
    shrunk = np.where(n_left > 0, np.sqrt(n_left / np.maximum(n_yes, 1)), 1.0)
    distance = np.arcsinh((scores[row] - scale.centre) / (scale.spread * shrunk))
    distance *= np.where(n_left > 0, 1.0, WITHOUT_EXAMPLES)
    expected = np.stack([n_left > 0, distance, without.prior, distance * np.log1p(n_left)], axis=-1)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_frequencies_of_left_out_entries_do_not_tell_the_label():
    # Scores are noise: what is left of a tag is its frequency, which must not be surer than the tags deserve.
    rng = np.random.default_rng(3)
    coefficients = []
    for _ in range(20):
        Y = np.full((60, 40), -1, dtype=np.int8)
        Y[:30] = rng.random((30, 40)) < rng.beta(1.0, 9.0, size=40)
        scores = rng.normal(size=Y.shape)
        scale = LevelScale.of(scale_of(scores, Y), Y)
        rows = np.arange(30)
        features = scale.describe_left_out(scores[rows], Y, rows)[..., [2]].reshape(-1, 1)
        wide = np.array([10.0])
        coefficients.append(fit_pooled(features, (Y[rows] == 1).ravel().astype(float), np.ones(1), wide)[0][0])
    assert np.mean(coefficients) == pytest.approx(1.0, abs=0.06)


def test_a_pooled_prior_may_have_a_covariance():
    rng = np.random.default_rng(4)
    features = rng.normal(size=(60, 3))
    labels = (rng.random(60) < expit(features @ [1.0, -1.0, 0.5])).astype(float)
    means = np.array([0.5, 0.0, -0.5])
    root = rng.normal(size=(3, 3))
    covariance = root @ root.T + 0.1 * np.eye(3)

    def loss(w):
        eta = features @ w
        away = w - means
        return np.sum(np.logaddexp(0, eta) - labels * eta) + 0.5 * away @ np.linalg.solve(covariance, away)

    found, _ = fit_pooled(features, labels, means, covariance)
    np.testing.assert_allclose(found, minimize(loss, means, tol=1e-12).x, atol=1e-4)


def test_with_few_labels_probabilities_are_right_on_the_whole():
    rng = np.random.default_rng(5)
    ratios, skills = [], []
    for _ in range(6):
        centres = rng.normal(size=(12, 6))
        kind = rng.integers(12, size=400)
        X = centres[kind] + 0.8 * rng.normal(size=(400, 6))
        truth = (rng.random((12, 10)) < 0.25)[kind].astype(np.int8)
        Y = np.full_like(truth, -1)
        Y[:30] = truth[:30]
        found = AutoAnnotator(random_state=0).fit(X, Y).probabilities_[30:]
        usual = np.broadcast_to((truth[:30].sum(axis=0) + 0.5) / 31, found.shape)
        ratios.append(logit(found.mean()) - logit(truth[30:].mean()))
        skills.append(1 - np.square(found - truth[30:]).sum() / np.square(usual - truth[30:]).sum())
    assert abs(np.mean(ratios)) < 0.15
    assert min(skills) > 0.2


def test_scores_in_two_heaps_are_told_from_scores_in_one():
    rng = np.random.default_rng(6)
    one = rng.normal(size=(2000, 4))
    two = one + 15.0 * (rng.random((2000, 4)) < 0.1)
    every = np.ones(4, dtype=bool)
    # One heap has a coefficient of 1/3, below the bound; two points have one of 1.
    assert heaps(one, every) == -0.6
    assert heaps(two, every) > 0.2
    # Neither scale nor order of photos matters, nor tags without examples.
    assert heaps(7.0 * two[::-1] + 3.0, every) == pytest.approx(heaps(two, every), abs=1e-9)
    mixed = np.column_stack([two, one, one])
    assert heaps(mixed, np.array([True] * 4 + [False] * 8)) == pytest.approx(heaps(two, every), abs=1e-12)
    # Too few photos, constant scores or no tag with an example say nothing.
    assert heaps(two[:50], every) == heaps(np.ones((500, 4)), every) == heaps(two, ~every) == 0.0


def test_left_out_coefficients_are_sharpened_away_from_the_prior_alone():
    alone = np.array([0.0, 0.0, 1.0, 0.0])
    np.testing.assert_array_equal(sharpened(alone, 25), alone)
    found = np.array([-1.0, 2.0, 1.5, 0.5])
    np.testing.assert_allclose(sharpened(found, 25), [-1.08, 2.16, 1.54, 0.54])
    np.testing.assert_allclose(sharpened(found, 10**9), found)


def _rare_tags(seed, n=600, c=120, m=60):
    """Make photos with many rare tags, the first m of them labelled; and say which tags these have."""
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, c)) < 0.3 / np.arange(1, c + 1) ** 0.9).astype(np.int8)
    X = truth @ rng.normal(size=(c, 24)) + 0.5 * rng.normal(size=(n, 24))
    Y = np.full(truth.shape, -1, dtype=np.int8)
    Y[:m] = truth[:m]
    return X, truth, Y, (Y == 1).any(axis=0)


@pytest.mark.parametrize("seed", range(5))
def test_a_list_of_tags_made_beforehand_is_told_from_tags_that_turned_up(seed):
    _, _, Y, seen = _rare_tags(seed)
    counts = (Y == 1).sum(axis=0)
    assert has_unseen_tags(counts)
    assert not has_unseen_tags(counts[seen])
    assert not has_unseen_tags(np.append(counts[seen], 0))  # one of which there is only a no


@pytest.mark.parametrize("counts", [[], [0], [1], [5, 9, 3], [0, 0, 1]])
def test_where_nothing_could_be_missed_every_entry_tells(counts):
    counts = np.array(counts, dtype=np.int64)
    assert has_unseen_tags(counts)
    Y = (np.arange(10)[:, None] < counts).astype(np.int8)
    assert telling(Y, np.arange(10)).all()


def test_the_only_examples_of_tags_that_turned_up_tell_nothing():
    _, _, Y, seen = _rare_tags(0)
    rows = np.flatnonzero((Y != -1).any(axis=1))
    found = telling(Y[:, seen], rows)
    only = (Y[rows][:, seen] == 1) & ((Y[:, seen] == 1).sum(axis=0) == 1)
    assert (found == ~only).all()
    assert telling(Y, rows).all()


@pytest.mark.medium
def test_as_many_tags_are_expected_as_there_are_though_rare_ones_are_known_by_chance():
    expected = true = 0.0
    for seed in range(6):
        X, truth, Y, seen = _rare_tags(seed)
        found = AutoAnnotator(random_state=0, n_threads=1).fit(X, Y[:, seen])
        expected += found.probabilities_[60:].sum()
        true += truth[60:, seen].sum()
    assert expected == pytest.approx(true, rel=0.12)
