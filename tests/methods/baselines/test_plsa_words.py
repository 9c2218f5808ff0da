import numpy as np
import pytest

from benchmarks.literal import topics as literal
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.plsa_words import PLSAWords


def make_photos(n=60, n_labelled=30, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    X = rng.poisson(np.where(np.arange(15) // 5 == kind[:, None], 0.9, 0.1)).astype(np.float64)
    Y = np.zeros((n, 6), dtype=np.int8)
    Y[np.arange(n), 2 * kind] = 1
    Y[np.arange(n), 2 * kind + 1] = rng.random(n) < 0.6
    truth = Y.copy()
    Y[n_labelled:] = -1
    return X, Y, truth


def test_the_three_steps_are_those_of_the_loops():
    X, Y, _ = make_photos()
    options = {"random_state": 0, "n_init": 1, "prior": 0.01, "tol": 0.0, "fold_in_iter": 6}
    model = PLSAWords(3, max_iter=8, **options).fit(X, Y)
    # One iteration fewer gives the start of the last one.
    before = PLSAWords(3, max_iter=7, **options).fit(X, Y)
    tags = (Y[:30] == 1) * 1.0
    words, mixtures = literal.plsa(tags, before.tag_words_, before.topics_[:30], 1, prior=0.01)
    np.testing.assert_allclose(model.tag_words_, words, atol=1e-10)
    np.testing.assert_allclose(model.topics_[:30], mixtures, atol=1e-10)
    start = np.full((3, 15), 1 / 15)
    visual, _ = literal.plsa(X[:30], start, mixtures, 8, prior=0.01, fix_mixtures=True)
    np.testing.assert_allclose(model.visual_words_, visual, atol=1e-8)
    rest = X[30:][X[30:].any(axis=1)]
    _, folded = literal.plsa(rest, visual, np.full((len(rest), 3), 1 / 3), 6, fix_words=True)
    np.testing.assert_allclose(model.decision_function(rest), folded @ words, atol=1e-8)
    np.testing.assert_allclose(model.transduction_[30:][X[30:].any(axis=1)], folded @ words, atol=1e-8)


def test_the_likelihood_of_the_tags_rises():
    X, Y, _ = make_photos()
    model = PLSAWords(3, random_state=0, prior=0.01).fit(X, Y)
    assert (np.diff(model.objective_) >= -1e-9).all()
    tags = (Y[:30] == 1) * 1.0
    expected = model.topics_[:30] @ model.tag_words_
    value = (tags * np.log(expected)).sum() + 0.01 * np.log(model.tag_words_).sum()
    assert model.objective_[-1] == pytest.approx(value)


def test_it_tags_photos_by_their_kind():
    X, Y, truth = make_photos()
    model = PLSAWords(3, random_state=0, n_init=5).fit(X, Y)
    best = model.transduction_[30:].argmax(axis=1)
    assert (truth[30:][np.arange(30), best] == 1).mean() > 0.7


def test_photos_without_words_get_the_mean_mixture():
    X, Y, _ = make_photos()
    X[40] = 0.0
    model = PLSAWords(3, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.topics_[40], model.topic_prior_)
    np.testing.assert_allclose(model.decision_function(np.zeros((1, 15)))[0], model.topic_prior_ @ model.tag_words_)


def test_labels_without_a_single_tag():
    X, Y, _ = make_photos()
    Y[Y == 1] = 0
    with pytest.warns(UserWarning, match="no photo is known to have"):
        model = PLSAWords(3, random_state=0).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
    assert not model.predict(X).any()


@pytest.mark.parametrize("parameters", [{"n_topics": 0}, {"prior": 0}, {"fold_in_iter": 0}, {"tol": -1.0}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        PLSAWords(**parameters).fit(*make_photos()[:2])
