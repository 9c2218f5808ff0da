import numpy as np
import pytest

from benchmarks.literal import topics as literal
from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.topic_mixture import TopicMixture


def make_photos(n=60, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 2
    X = rng.poisson(np.where(np.arange(12) // 6 == kind[:, None], 0.8, 0.1)).astype(np.float64)
    Y = np.stack([kind, 1 - kind], axis=1).astype(np.int8)
    return X, Y, kind


def test_the_result_is_stationary_and_no_topic_is_better():
    X, Y, _ = make_photos()
    model = TopicMixture(2, random_state=0, prior=0.3, tol=1e-10, max_iter=2000).fit(X, Y)
    start = (model.topic_prior_, model.visual_words_, model.tag_words_)
    p, after = literal.mixture(X, Y.astype(float), start, 1, 0.3)
    np.testing.assert_allclose(p, model.topics_, atol=1e-4)
    for before, then in zip(start, after, strict=True):
        np.testing.assert_allclose(before, then, atol=1e-4)
    assert (np.diff(model.objective_) >= -1e-9).all()
    value = literal.likelihood(X, Y.astype(float), start) + 0.3 * sum(np.log(part).sum() for part in start)
    assert model.objective_[-1] == pytest.approx(value, rel=1e-6)


def test_new_photos_are_scored_by_their_words():
    X, Y, kind = make_photos()
    Y[20:] = -1
    model = TopicMixture(2, random_state=0).fit(X, Y)
    parameters = (model.topic_prior_, model.visual_words_, model.tag_words_)
    wanted = literal.posteriors(X, np.zeros((60, 2)), parameters) @ model.tag_words_
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-12)
    assert ((wanted[:, 0] > wanted[:, 1]) == kind).mean() > 0.85


@pytest.mark.parametrize("parameters", [{"n_topics": 0}, {"prior": 0}, {"n_init": 0}, {"words_per_photo": 0}])
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        TopicMixture(**parameters).fit(*make_photos()[:2])
