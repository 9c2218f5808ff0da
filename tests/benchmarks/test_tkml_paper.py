import numpy as np
import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.experiment import PAPERS, read_expected, read_experiment
from benchmarks.methods import metric_of
from benchmarks.papers.tkml import pairs as pairs_module
from benchmarks.papers.tkml.keywords import standardized
from benchmarks.papers.tkml.methods import KernelMap, ManyKernels, OnKernel, learned_rows
from benchmarks.papers.tkml.pairs import chi2_of_histograms, keep_pairs, pairs_of, similarity_graph
from benchmarks.papers.tkml.photos import as_histograms, principal_coordinates
from benchmarks.runner import cells_of
from tagloom.kernels import chi2_kernel, intersection_kernel, rbf_kernel
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.methods.tkml import TKML
from tagloom.metrics import keyword_recall, mean_average_precision, n_recalled_keywords

SVM = "tagloom.methods.baselines.svm:KernelSVM"
LAPSVM = "tagloom.methods.baselines.lapsvm:LapSVM"


@pytest.fixture
def histograms():
    generator = np.random.default_rng(0)
    return {
        name: as_histograms((generator.random((40, 30)) * (generator.random((40, 30)) < 0.4)).astype(np.float32))
        for name in ("one", "two")
    }


@pytest.fixture
def photos(histograms, tmp_path, monkeypatch):
    """Coordinates and labels of 40 photos, half of them labelled, whose kernels are known."""
    monkeypatch.setattr(pairs_module, "CACHE", tmp_path)
    monkeypatch.setattr(pairs_module, "_known", {})
    joined = np.concatenate([np.sqrt(part) for part in histograms.values()], axis=1)
    X = principal_coordinates(joined, 6)
    keep_pairs(X, "photos", lambda: histograms, ("intersection", 3))
    Y = (X[:, :3] > 0).astype(np.int8)
    Y[20:] = -1
    return X, Y


def test_the_files_fit_each_other():
    experiment = read_experiment(PAPERS / "tkml")
    methods = {method.name for method in experiment.methods}
    data = {part.name for part in experiment.data}
    for table in read_expected(experiment.folder):
        assert {name for _, name, _ in table.values} <= methods
        assert {name for name, _, _ in table.values} <= data
        assert table.metric.partition("/")[2] in experiment.metrics
    assert {part.parameters["features"] for part in experiment.data} == {"color_sift", "deep"}
    for cell in cells_of(experiment):
        # One setting for all tags, chosen inside the labelled part or not at all.
        assert cell.identity["inside"] is None or cell.point in cell.method.grid_points()


def test_chi2_is_that_of_the_package(histograms):
    values = histograms["one"]
    mine = chi2_of_histograms(values)
    np.testing.assert_allclose(np.exp(-2.0 * mine), chi2_kernel(values, gamma=2.0), atol=1e-6)
    np.testing.assert_array_equal(mine, mine.T)
    # More columns and rows than are summed at a time.
    wide = as_histograms(np.random.default_rng(1).random((300, 600)).astype(np.float32))
    np.testing.assert_allclose(np.exp(-chi2_of_histograms(wide)), chi2_kernel(wide, gamma=1.0), atol=1e-6)


def test_kernels_are_those_of_all_descriptors_side_by_side(photos, histograms):
    pairs = pairs_of(photos[0])
    joined = np.concatenate(list(histograms.values()), axis=1).astype(float)
    upper = np.triu_indices(40, 1)
    shared = intersection_kernel(joined)
    np.testing.assert_allclose(pairs.kernel("intersection"), shared / np.diag(shared).mean(), atol=1e-6)
    linear = joined @ joined.T
    np.testing.assert_allclose(pairs.kernel("linear"), linear / np.diag(linear).mean(), atol=1e-6)
    squares = np.square(joined[:, None] - joined).sum(axis=2)
    wanted = rbf_kernel(joined, gamma=4.0 / squares[upper].mean())
    np.testing.assert_allclose(pairs.kernel("rbf", width=4.0), wanted, atol=1e-5)
    one = histograms["one"].astype(float)
    distances = -np.log(chi2_kernel(one, gamma=1.0))
    wanted = chi2_kernel(one, gamma=1.0 / distances[upper].mean())
    np.testing.assert_allclose(pairs.kernel("chi2", descriptor="one"), wanted, atol=1e-5)
    with pytest.raises(BenchmarkError, match="kernel must be one of"):
        pairs.kernel("cosine")


def test_what_is_kept_is_not_computed_again_and_other_rows_are_not_known(photos):
    X, _ = photos

    def fail():
        raise AssertionError("computed again")

    keep_pairs(X + 1.0, "photos", fail, ("euclidean", 2))
    assert pairs_of(X + 1.0).descriptors == ("one", "two")
    with pytest.raises(BenchmarkError, match="load the dataset first"):
        pairs_of(X[::-1])


def test_a_graph_has_the_nearest_of_every_photo_in_both_directions(photos):
    similarity = pairs_of(photos[0]).kernel("intersection")
    graph = similarity_graph(similarity, 3).weights.toarray()
    np.testing.assert_array_equal(graph, graph.T)
    for row in range(40):
        others = np.delete(np.arange(40), row)
        nearest = others[np.argsort(-similarity[row, others], kind="stable")[:3]]
        np.testing.assert_allclose(graph[row, nearest], similarity[row, nearest])
    assert 3 * 40 <= (graph > 0).sum() <= 2 * 3 * 40
    heat = pairs_of(photos[0]).graph("euclidean", 2).weights
    # The median neighbour lies at the width.
    assert 0.3 < np.median(heat.data) <= np.exp(-0.5) + 0.2
    with pytest.raises(BenchmarkError, match="similarity must be"):
        pairs_of(photos[0]).graph("cosine", 2)


def test_kernel_methods_see_the_kernel_and_the_graph(photos):
    X, Y = photos
    pairs = pairs_of(X)
    K = pairs.kernel("intersection")
    mine = OnKernel(SVM, "intersection", C=2.0).fit(X, Y)
    np.testing.assert_allclose(mine.transduction_, KernelSVM("precomputed", C=2.0).fit(K, Y).transduction_)
    mine = OnKernel(LAPSVM, "intersection", graph=True).fit(X, Y)
    direct = LapSVM("precomputed", graph=pairs.graph("intersection", 3)).fit(K, Y)
    np.testing.assert_allclose(mine.transduction_, direct.transduction_)


def test_a_thinned_method_learns_from_some_labelled_photos_and_scores_all(photos):
    X, Y = photos
    rows = learned_rows(Y, 8, 0)
    assert (rows < 20).sum() == 8
    assert set(range(20, 40)) <= set(rows.tolist())
    assert (Y[rows[:8]] == 1).any(axis=0).all()
    np.testing.assert_array_equal(learned_rows(Y, 20, 0), np.arange(40))
    K = pairs_of(X).kernel("linear")
    mine = OnKernel(SVM, "linear", n_labeled=8).fit(X, Y)
    direct = KernelSVM("precomputed").fit(K[np.ix_(rows, rows)], Y[rows])
    np.testing.assert_allclose(mine.transduction_, direct.decision_function(K[:, rows]))


def test_many_kernels_are_six_of_each_descriptor(photos):
    X, Y = photos
    model = ManyKernels(per_tag=False, max_iter=30, tol=1e-3).fit(X, Y)
    assert len(model.kernel_weights_) == 12
    assert model.transduction_.shape == Y.shape
    assert ((model.transduction_[:20] > 0) == (Y[:20] == 1)).mean() > 0.9


def test_the_kernel_map_is_that_of_tkml_on_scaled_coordinates(photos):
    X, Y = photos
    mine = KernelMap(scale=3.0, n_neighbors=2, weighted=True, n_atoms=4, random_state=1).fit(X, Y)
    graph = pairs_of(X).graph("intersection", 2)
    scaled = X * (3.0 / np.linalg.norm(X, axis=1).mean())
    direct = TKML(graph=graph, weighted=True, n_atoms=4, random_state=1).fit(scaled, Y)
    np.testing.assert_allclose(mine.transduction_, direct.transduction_)


def test_principal_coordinates_are_those_of_the_whole_decomposition():
    X = np.random.default_rng(0).random((50, 20)) @ np.diag(0.7 ** np.arange(20))
    centred = X - X.mean(axis=0)
    U, s, _ = np.linalg.svd(centred, full_matrices=False)
    mine = principal_coordinates(X.astype(np.float32), 5)
    np.testing.assert_allclose(np.abs(mine), np.abs(U[:, :5] * s[:5]), atol=1e-4)
    assert (mine[np.abs(mine).argmax(axis=0), np.arange(5)] > 0).all()


def test_standardised_scores_rank_photos_as_before_and_bring_up_words_of_little_spread():
    generator = np.random.default_rng(0)
    Y = (generator.random((30, 8)) < 0.3).astype(np.int8)
    scores = Y + generator.standard_normal((30, 8))
    # The same scores, but one word's lie close to -1: it is never among the best of a photo.
    flat = scores.copy()
    flat[:, 0] = -5.0 + 0.01 * flat[:, 0]
    found = standardized(flat)
    np.testing.assert_allclose(found, (scores - scores.mean(axis=0)) / scores.std(axis=0))
    assert mean_average_precision(Y, found) == pytest.approx(mean_average_precision(Y, scores))
    assert metric_of("n_plus")(Y, flat) == n_recalled_keywords(Y, flat) == 7
    assert metric_of("standardized_n_plus")(Y, flat) == 8
    assert metric_of("standardized_recall")(Y, flat) == keyword_recall(Y, found)
    assert metric_of("standardized_precision")(Y, scores) == metric_of("standardized_precision")(Y, 3.0 * scores + 1.0)
    assert not standardized(np.full((4, 2), 0.1)).any()
