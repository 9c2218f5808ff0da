import numpy as np
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from tagloom.tuning.calibration.maps import choose_steps, fit_steps


def _problem(seed=0, m=300, c=5):
    rng = np.random.default_rng(seed)
    logits = np.round(rng.normal(size=(m, c)), 1)
    positive = rng.random((m, c)) < expit(2 * logits)
    known = rng.random((m, c)) < 0.9
    return logits, positive, known, rng.integers(5, size=m)


def test_one_pass_over_all_tags_is_isotonic_regression_of_each():
    logits, positive, known, _ = _problem()
    tags = np.array([0, 2, 3])
    found = fit_steps(logits, positive, known, tags)
    assert sorted(found.knots) == [0, 2, 3]
    for tag in tags:
        inside = known[:, tag]
        oracle = IsotonicRegression(out_of_bounds="clip").fit(logits[inside, tag], positive[inside, tag])
        at, shares = found.knots[int(tag)]
        np.testing.assert_allclose(shares, oracle.predict(at), atol=1e-12)


def test_steps_are_mixed_with_the_sigmoid():
    logits, positive, known, _ = _problem()
    steps = fit_steps(logits, positive, known, np.array([1]))
    p = steps.mix_into(logits)
    np.testing.assert_array_equal(p[:, [0, 2, 3, 4]], expit(logits[:, [0, 2, 3, 4]]))
    assert (np.diff(p[np.argsort(logits[:, 1]), 1]) >= -1e-12).all()
    assert ((p > 0) & (p < 1)).all()


def test_steps_are_chosen_where_a_sigmoid_is_wrong():
    rng = np.random.default_rng(1)
    logits = rng.uniform(-4, 4, size=(1500, 2))
    chances = np.stack([expit(logits[:, 0]), np.where(logits[:, 1] > 1, 0.5, 0.02)], axis=1)
    positive = rng.random(logits.shape) < chances
    known, folds = np.ones(logits.shape, dtype=bool), rng.integers(5, size=1500)
    assert list(choose_steps(logits, positive, known, folds, compare=True).knots) == [1]
    assert list(choose_steps(logits, positive, known, folds, compare=False).knots) == [0, 1]


def test_tags_with_few_examples_have_none():
    logits, positive, known, folds = _problem(m=60)
    positive[:, 0] = False
    positive[:29, 0] = True
    known[:, 1] = False
    for compare in (True, False):
        chosen = choose_steps(logits, positive, known, folds, compare=compare)
        assert 0 not in chosen.knots
        assert 1 not in chosen.knots
