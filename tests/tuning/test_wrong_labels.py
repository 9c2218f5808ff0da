import numpy as np
import pytest

from tagloom.tuning.wrong_labels import find_wrong_labels


def _made(seed, *, spread=6.0, n=500, n_labeled=200):
    """Return probabilities, and labels of the first photos that are as these say; tags from frequent to rare."""
    rng = np.random.default_rng(seed)
    p = 1 / (1 + np.exp(np.linspace(0.5, 4.5, 10) + spread * rng.normal(size=(n, 10))))
    Y = np.where(rng.random(p.shape) < p, 1, 0).astype(np.int8)
    Y[n_labeled:] = -1
    return p, Y


def _flipped(p, Y, seed, n_flips):
    """Return labels of which a few are turned, each on a photo of which the model is fairly sure."""
    rng = np.random.default_rng(seed)
    right = np.where(Y == 1, p, 1 - p)
    turned = Y.copy()
    places = set()
    for label in (1, 0):
        sure = np.argwhere((label == Y) & (right > 0.999))
        for row, column in sure[rng.choice(len(sure), n_flips, replace=False)].tolist():
            turned[row, column] = 1 - label
            places.add((row, column))
    return turned, places


def _places(found):
    return list(zip(found.rows.tolist(), found.columns.tolist(), strict=True))


@pytest.mark.parametrize("seed", range(4))
def test_turned_labels_come_first(seed):
    p, Y = _made(seed)
    turned, places = _flipped(p, Y, seed, 5)
    found = _places(find_wrong_labels(p, turned))
    assert places <= set(found[: len(places) + 2])  # others may be as surprising by chance
    assert len(found) <= len(places) + 6


@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0, 6.0])
def test_labels_that_are_as_the_model_says_are_hardly_ever_listed(spread):
    counts, below = [], []
    for seed in range(40):
        p, Y = _made(seed, spread=spread)
        counts.append(len(find_wrong_labels(p, Y).rows))
        below.append(np.count_nonzero((Y == 1) & (p <= 0.9)))
    assert np.mean(counts) < 3  # of 2,000 labels; two are expected
    assert np.mean(below) > 40  # yeses below 90 %: nothing to wonder at


def _literal(p, Y):
    """Return the labels that may be listed, with how surprising they are and how many such ones are expected."""
    odds, level = p / (1 - p), p.mean(axis=0) / (1 - p.mean(axis=0))
    found = {0: [], 1: []}
    for row, column in np.argwhere(Y != -1).tolist():
        if Y[row, column] == 0 and p[row, column] > 0.5:
            as_surprising = (Y != -1) & (p >= p[row, column])
            found[0].append((row, column, p[row, column], (1 - p)[as_surprising].sum()))
        elif Y[row, column] == 1 and p[row, column] < 0.5:
            figure = level[column] / odds[row, column]
            share = np.where(level / odds >= figure, p, 0).sum(axis=0) / p.sum(axis=0)
            found[1].append((row, column, figure, (share * (Y == 1).sum(axis=0)).sum()))
    return found


@pytest.mark.parametrize("n_flips", [0, 2, 25])
def test_as_a_literal_loop_over_labels(n_flips):
    p, Y = _made(0, n=150, n_labeled=60)
    turned, _ = _flipped(p, Y, 0, n_flips)
    expected = {}
    for several in _literal(p, turned).values():
        few = [s for _, _, s, chance in several if chance <= max(1, 0.1 * sum(other[2] >= s for other in several))]
        expected |= {(row, column): chance for row, column, s, chance in several if few and s >= min(few)}
    found = find_wrong_labels(p, turned)
    assert set(_places(found)) == set(expected)
    np.testing.assert_allclose(found.chances, [expected[place] for place in _places(found)])
    assert (np.diff(found.chances) >= 0).all()


def test_named_tags_and_their_level_are_no_wonder():
    """Yeses alone, found in photos: that they are rare, or that nobody said where they are not, is no disagreement."""
    p, Y = _made(3, spread=2.0)
    Y[Y == 0] = -1
    assert len(find_wrong_labels(p, Y).rows) <= 3


def test_refused_suggestions_are_no_wonder_where_as_many_were_accepted_as_the_model_said():
    p, Y = _made(4, spread=3.0)
    Y[p < 0.7] = -1
    assert np.count_nonzero(Y == 0) > 20
    assert len(find_wrong_labels(p, Y).rows) <= 3


def test_odd_input_has_a_finite_answer():
    p, Y = _made(0)
    p[:, 0], p[:, 1], p[:5, 2] = 0.0, 1.0, np.nan
    p[10, 3], p[11, 3] = 0.0, 1.0
    Y[10, 3], Y[11, 3] = 1, 0
    found = find_wrong_labels(p, Y)
    assert {(10, 3), (11, 3)} <= set(_places(found))
    assert np.isfinite(found.chances).all()
    for shape in ((0, 3), (4, 0)):
        assert len(find_wrong_labels(np.zeros(shape), np.zeros(shape, dtype=np.int8)).rows) == 0


def test_the_only_yes_of_a_tag_is_not_listed():
    p, Y = _made(0)
    Y[:, 5] = np.where(Y[:, 5] == 1, 0, Y[:, 5])
    p[:, 5] = np.linspace(0.0001, 0.05, len(p))
    Y[0, 5] = 1
    assert (0, 5) not in _places(find_wrong_labels(p, Y))
    Y[400, 5] = 1
    p[400, 5] = 0.9
    p[0, 5] = 1e-12
    assert (0, 5) in _places(find_wrong_labels(p, Y))
