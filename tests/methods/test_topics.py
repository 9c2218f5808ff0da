import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from benchmarks.literal import topics as literal
from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.methods.baselines.topic_mixture import TopicMixture
from tagloom.methods.topics import LaplacianTopicModel
from tagloom.metrics import annotation_accuracy


def make_photos(n=90, n_labelled=30, seed=0):
    """Return visual words and tags of three kinds of photos, the truth, and labels of some."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n) % 3
    rates = np.where(np.arange(30) // 10 == kind[:, None], 0.45, 0.02)
    X = rng.poisson(rates).astype(np.float64)
    truth = np.zeros((n, 6), dtype=np.int8)
    truth[np.arange(n), 2 * kind] = 1
    truth[np.arange(n), 2 * kind + 1] = rng.random(n) < 0.7
    Y = truth.copy()
    Y[n_labelled:] = -1
    return X, Y, truth


def fitted(X, Y, n_topics=4, **parameters):
    return LaplacianTopicModel(n_topics, random_state=0, **parameters).fit(X, Y)


@pytest.mark.parametrize("smoothing", ["exact", "steps"])
@pytest.mark.parametrize("graph", ["shared_words", "knn"])
def test_it_tags_photos_by_their_kind(smoothing, graph):
    X, Y, truth = make_photos()
    model = fitted(X, Y, smoothing=smoothing, graph=graph)
    assert annotation_accuracy(truth[30:], model.transduction_[30:]) > 0.8
    new, _, of_new = make_photos(seed=1)
    assert annotation_accuracy(of_new, model.decision_function(new)) > 0.75
    np.testing.assert_allclose(model.transform(new).sum(axis=1), 1.0)
    np.testing.assert_allclose(model.decision_function(new), model.transform(new) @ model.tag_words_)


def test_fitted_attributes_agree_with_each_other_and_with_the_literal_objective():
    X, Y, _ = make_photos()
    model = fitted(X, Y, smoothness=0.7, prior=0.2)
    for part in (model.topic_prior_[None], model.visual_words_, model.tag_words_, model.topics_):
        np.testing.assert_allclose(part.sum(axis=1), 1.0)
    np.testing.assert_allclose(model.transduction_, model.topics_ @ model.tag_words_)
    parameters = (model.topic_prior_, model.visual_words_, model.tag_words_)
    assert model.n_dropped_topics_ == 0
    S, W = model.graph_.weights.toarray(), (Y == 1) * 1.0
    value = literal.objective(X, W, S, model.topics_, parameters, 0.7)
    value += 0.2 * sum(np.log(part).sum() for part in parameters)
    assert model.objective_[-1] == pytest.approx(value)
    assert len(model.objective_) == model.n_iter_ + 1
    assert (np.diff(model.objective_) >= -1e-9).all()
    assert abs(model.objective_[-1] - model.objective_[-2]) <= 1e-3 * len(X)


def test_without_smoothness_it_is_the_mixture():
    X, Y, _ = make_photos()
    model, mixture = fitted(X, Y, smoothness=0.0), TopicMixture(4, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(model.transduction_, mixture.transduction_)
    np.testing.assert_array_equal(model.decision_function(X), mixture.decision_function(X))
    np.testing.assert_array_equal(model.thresholds_, mixture.thresholds_)
    assert model.graph_ is None


def test_the_limit_of_weak_smoothness_is_the_mixture():
    X, Y, _ = make_photos()
    weak, mixture = fitted(X, Y, smoothness=1e-9), TopicMixture(4, random_state=0).fit(X, Y)
    np.testing.assert_allclose(weak.transduction_, mixture.transduction_, atol=1e-5)


def test_strong_smoothness_draws_neighbours_together():
    X, Y, _ = make_photos()
    rough = [
        literal.roughness(model.topics_, model.graph_.weights.toarray())
        for model in (fitted(X, Y, smoothness=strength, n_init=1, max_iter=5000) for strength in (0.01, 1.0, 100.0))
    ]
    assert rough[0] > rough[1] > rough[2]


def test_smoothing_as_printed_collapses_to_the_prior():
    X, Y, truth = make_photos()
    X[:, 0] += 1
    model = fitted(X, Y, smoothing="paper", graph=knn_graph(X, 20))
    assert np.ptp(model.topics_, axis=0).max() < 0.1
    good = fitted(X, Y, smoothing="exact", graph=knn_graph(X, 20))
    accuracy = [annotation_accuracy(truth[30:], found.transduction_[30:]) for found in (model, good)]
    assert accuracy[0] < accuracy[1] - 0.2


def test_photos_without_words_and_isolated_photos():
    X, Y, _ = make_photos()
    X[[5, 60]] = 0.0
    model = fitted(X, Y, tol=1e-6, max_iter=5000)
    assert model.graph_report_["isolated"] >= 2
    # Nothing is known of photo 60: it has the topics of photos at large. Photo 5 has tags.
    np.testing.assert_allclose(model.topics_[60], model.topic_prior_, atol=1e-3)
    assert model.topics_[5].max() > 0.9
    np.testing.assert_allclose(model.transform(np.zeros((1, 30)))[0], model.topic_prior_, atol=1e-3)


def test_without_any_visual_word_tags_make_the_topics():
    _, Y, truth = make_photos(n_labelled=90)
    model = fitted(np.zeros((90, 4)), Y, n_topics=3, n_init=5)
    assert annotation_accuracy(truth, model.transduction_) > 0.9


def test_unknown_entries_are_no_words_and_no_absences():
    X, Y, _ = make_photos()
    Y[:30][Y[:30] == 0] = -1
    partly = fitted(X, Y)
    Y[:30][Y[:30] == -1] = 0
    wholly = fitted(X, Y)
    np.testing.assert_array_equal(partly.transduction_, wholly.transduction_)


def test_sparse_words_give_the_same():
    X, Y, _ = make_photos()
    dense, other = fitted(X, Y), fitted(sparse.csr_matrix(X), Y)
    np.testing.assert_array_equal(dense.transduction_, other.transduction_)
    np.testing.assert_array_equal(dense.decision_function(X), other.decision_function(sparse.csr_array(X)))


def test_empty_topics_are_dropped_and_counted():
    X, Y, _ = make_photos(30)
    with pytest.warns(ConvergenceWarning):
        model = fitted(X, Y, n_topics=60, n_init=1, max_iter=300, tol=0.0, prior=1e-4, smoothness=0.0)
    assert model.n_topics_ + model.n_dropped_topics_ == 60
    assert model.n_dropped_topics_ > 0
    assert model.topics_.shape == (30, model.n_topics_)
    np.testing.assert_allclose(model.topics_.sum(axis=1), 1.0)
    assert (model.topics_.sum(axis=0) >= 1e-3).all()


def test_the_best_of_several_starts_is_kept():
    X, Y, _ = make_photos()
    best = max(fitted(X, Y, n_init=1).objective_[-1], fitted(X, Y, n_init=4).objective_[-1])
    assert fitted(X, Y, n_init=4).objective_[-1] == best
    again = [fitted(X, Y, n_init=2).transduction_ for _ in range(2)]
    np.testing.assert_array_equal(*again)


def test_shares_can_be_scaled_to_counts():
    X, Y, _ = make_photos()
    totals = X.sum(axis=1, keepdims=True)
    X = X[totals[:, 0] > 0]
    Y, totals = Y[totals[:, 0] > 0], totals[totals > 0][:, None]
    shares = fitted(X / totals, Y, words_per_photo=7.0)
    counts = fitted(X * 7.0 / totals, Y)
    np.testing.assert_allclose(shares.transduction_, counts.transduction_, atol=1e-8)


def test_what_keeps_the_graph_sparse_is_reported():
    X, Y, _ = make_photos()
    X[:, 0] = 1.0
    model = fitted(X, Y, visual_threshold=1, max_neighbors=3)
    assert model.graph_report_["common_words"] == 1
    assert model.graph_report_["capped_photos"] > 0
    assert model.graph_report_["dropped_links"] > 0
    by_tags = fitted(X, Y, visual_threshold=50, word_threshold=1)
    shared = ((Y == 1) @ (Y == 1).T.astype(int)) > 0
    np.testing.assert_array_equal(by_tags.graph_.weights.toarray() > 0, shared & ~np.eye(90, dtype=bool))


def test_a_graph_of_ones_own():
    X, Y, _ = make_photos()
    graph = knn_graph(X, 5)
    first, second = (fitted(X, Y, graph=given) for given in (graph, graph.weights))
    np.testing.assert_array_equal(first.transduction_, second.transduction_)
    with pytest.raises(InvalidInputError, match="one node for each row"):
        fitted(X[1:], Y[1:], graph=graph)


def test_new_photos_beside_a_graph_of_ones_own_follow_their_nearest():
    X, Y, _ = make_photos()
    X = X + 0.1  # no photo is without words, no two are alike
    X += 0.01 * np.random.default_rng(1).random(X.shape)
    graph = NeighborGraph.from_weights(3.0 * knn_graph(X, 5).weights)
    model = fitted(X, Y, graph=graph, n_neighbors=4, smoothness=0.2)
    new = X[:7] + np.eye(7, X.shape[1])
    p = model.transform(new)
    cosine = (new @ X.T) / np.linalg.norm(new, axis=1)[:, None] / np.linalg.norm(X, axis=1)
    nearest = np.argsort(-cosine, axis=1)[:, :4]
    joint = np.log(model.topic_prior_) + new @ np.log(model.visual_words_).T
    for row in range(7):  # where the step of the E-step stays
        fixed = joint[row] - 2 * 0.2 * 3.0 * (4 * p[row] - model.topics_[nearest[row]].sum(axis=0))
        np.testing.assert_allclose(p[row], softmax(fixed), atol=1e-3)
    alone = fitted(X, Y, graph=sparse.csr_array((90, 90)), n_neighbors=4, smoothness=0.2)
    plain = literal.posteriors(X, np.zeros((90, 6)), (alone.topic_prior_, alone.visual_words_, alone.tag_words_))
    np.testing.assert_allclose(alone.transform(X), plain, atol=1e-9)


@pytest.mark.parametrize(
    ("weighting", "given"),
    [
        ("heat", {"visual_bandwidth": 4.0, "tag_bandwidth": 9.0}),
        ("dot", {"visual_weight": 0.5, "tag_weight": 2.0}),
        ("dot", {"visual_weight": 0.0}),
    ],
)
def test_weights_of_links_are_equations_five_and_six(weighting, given):
    X, Y, _ = make_photos()
    model = fitted(X, Y, weighting=weighting, **given)
    S = model.graph_.weights.tocoo()
    for i, j, value in list(zip(S.row, S.col, S.data, strict=True))[:200]:
        known = (Y[i] != -1) & (Y[j] != -1)
        both = float(((Y[i] == 1) & (Y[j] == 1) & known).sum())
        differ = float(((Y[i] != Y[j]) & known).sum())
        if weighting == "heat":
            distance = ((X[i] - X[j]) ** 2).sum()
            expected = np.exp(-distance / given["visual_bandwidth"] - differ / given["tag_bandwidth"])
        else:
            expected = given.get("visual_weight", 1.0) * X[i] @ X[j] + given.get("tag_weight", 1.0) * both
        assert value == pytest.approx(expected)


def test_thresholds_give_new_photos_as_many_tags_as_labelled_ones_have():
    X, Y, _ = make_photos(300, 150)
    model = fitted(X, Y)
    new, _, of_new = make_photos(300, seed=3)
    assert model.predict(new).sum() == pytest.approx(of_new.sum(), rel=0.35)


def test_topics_are_described_by_their_tags_and_photos():
    X, Y, truth = make_photos()
    model = fitted(X, Y, n_topics=3)
    names = ["sea", "sky", "cat", "sofa", "car", "street"]
    found = model.describe_topics(names, n_tags=2, n_photos=4)
    assert sorted(topic.topic for topic in found) == [0, 1, 2]
    assert [topic.share for topic in found] == sorted((topic.share for topic in found), reverse=True)
    for topic in found:
        pair = [tag.column for tag in topic.tags]
        assert [tag.tag for tag in topic.tags] == [names[column] for column in pair]
        assert pair[0] // 2 == pair[1] // 2
        assert all(tag.lift > 1 for tag in topic.tags)
        assert topic.tags[0].probability == model.tag_words_[topic.topic].max()
        assert all(truth[photo.row, 2 * (pair[0] // 2)] == 1 for photo in topic.photos)
        assert all(photo.probability == model.topics_[photo.row, topic.topic] for photo in topic.photos)
    assert model.describe_topics()[0].tags[0].tag.startswith("tag ")
    with pytest.raises(InvalidInputError, match="expected 6 tag names"):
        model.describe_topics(["sea"])


def test_tags_without_a_photo_are_named():
    X, Y, _ = make_photos()
    Y[Y[:, 4] == 1, 4] = 0
    with pytest.warns(UserWarning, match=r"\(columns\) \[4\], 1 in all"):
        model = fitted(X, Y)
    assert model.predict(X)[:, 4].sum() == 0


def test_negative_features_are_refused():
    X, Y, _ = make_photos()
    with pytest.raises(InvalidInputError, match="Negative values in data passed to LaplacianTopicModel"):
        fitted(X - 1.0, Y)


@pytest.mark.parametrize(
    "parameters",
    [
        {"n_topics": 0},
        {"smoothness": -1.0},
        {"smoothing": "newton"},
        {"step": 0.0},
        {"n_steps": 0},
        {"graph": "chain"},
        {"weighting": "cosine"},
        {"word_threshold": 0},
        {"prior": 0.0},
        {"n_init": 1.5},
        {"words_per_photo": -2.0},
        {"common_share": 2.0},
        {"graph": NeighborGraph.from_weights(np.zeros((3, 3)))},
    ],
)
def test_wrong_parameters_are_refused(parameters):
    X, Y, _ = make_photos()
    with pytest.raises(InvalidInputError):
        LaplacianTopicModel(**parameters).fit(X, Y)
