"""LPSSVM against its dense literal form, LPP, and SVMs in the same coordinates."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh
from sklearn.svm import SVC

from benchmarks.literal.lpssvm import lpssvm_corrected, lpssvm_printed
from tagloom.core.folds import LabeledKFold
from tagloom.exceptions import ApproximationWarning, InvalidInputError
from tagloom.graph import knn_graph
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods import check_annotator
from tagloom.methods.baselines.lpp import LPP, LPPSVM
from tagloom.methods.lpssvm import LPSSVM, SHARES
from tagloom.metrics import mean_average_precision


def make_problem(n=90, d=6, c=3, *, labelled=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, d))
    scores = X @ rng.normal(size=(d, c))
    Y = (scores > np.median(scores, axis=0)).astype(np.int8)
    Y[labelled:] = -1
    return X, Y


def signs_of(Y):
    return np.where(Y == -1, 0.0, 2.0 * Y - 1.0)


@pytest.mark.parametrize(("coupling", "sign"), [("saddle", -1.0), ("paper", 1.0)])
@pytest.mark.parametrize("svm_weight", [1.0, 20.0])
def test_against_the_dense_algorithm_tag_by_tag(coupling, sign, svm_weight):
    X, Y = make_problem()
    Y[:6, 1] = -1
    graph = knn_graph(X, 8)
    K, W = kernel_matrix("rbf", X, gamma=0.1), graph.weights.toarray()
    options = {"svm_weight": svm_weight, "C": 2.0, "energy": 0.95}
    model = LPSSVM(gamma=0.1, graph=graph, coupling=coupling, subspace_energy=0.6, tol=1e-9, **options).fit(X, Y)
    assert model.n_iter_ > 1
    for tag in range(3):
        expected = lpssvm_corrected(K, W, signs_of(Y)[:, tag], share=0.6, sign=sign, **options)
        np.testing.assert_allclose(model.transduction_[:, tag], expected, atol=2e-3)


def test_the_sign_matters_and_the_printed_scale_regularises_everything_away():
    X, Y = make_problem()
    graph = knn_graph(X, 8)
    saddle, paper = (
        LPSSVM(gamma=0.1, graph=graph, coupling=name, svm_weight=20.0).fit(X, Y) for name in ("saddle", "paper")
    )
    assert np.abs(saddle.transduction_ - paper.transduction_).max() > 0.05
    for tag in range(3):
        K, W = kernel_matrix("rbf", X, gamma=0.1), graph.weights.toarray()
        printed = lpssvm_printed(K, W, signs_of(Y)[:, tag], svm_weight=20.0)
        assert np.ptp(printed) < 0.1 * np.ptp(paper.transduction_[:, tag])


def test_edges_weigh_what_the_kernel_says():
    X, Y = make_problem()
    K = kernel_matrix("rbf", X, gamma=1.0)
    W = K * (knn_graph(X, 8).weights.toarray() > 0)
    found = LPSSVM(gamma=1.0, n_neighbors=8, energy=1.0).fit(X, Y)
    expected = LPSSVM(gamma=1.0, graph=W, energy=1.0).fit(X, Y)
    np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, atol=1e-8)
    np.testing.assert_allclose(found.transduction_, expected.transduction_, atol=1e-4)


def test_without_the_svm_s_weight_it_is_lpp():
    X, Y = make_problem()
    Y[5:9, 2] = -1
    reducer = LPP(gamma=0.3, subspace_energy=0.7, n_neighbors=8)
    expected = LPPSVM(reducer, C=3.0).fit(X, Y)
    model = LPSSVM(gamma=0.3, subspace_energy=0.7, n_neighbors=8, svm_weight=0.0, C=3.0).fit(X, Y)
    found = expected.reducer_
    m = found.projection_.shape[1]
    np.testing.assert_array_equal(model.n_directions_, m)
    np.testing.assert_allclose(model.eigenvalues_[:m], found.eigenvalues_, atol=1e-12)
    np.testing.assert_allclose(model.projection_, np.tile(found.projection_, 3), atol=1e-10)
    np.testing.assert_allclose(model.transform(X), np.tile(found.embedding_, 3), atol=1e-10)
    np.testing.assert_allclose(model.scale_, found.scale_)
    np.testing.assert_allclose(model.transduction_, expected.transduction_, atol=1e-9)
    assert model.n_iter_ == 1


# The paper's sign takes a direction away as soon as its eigenvalue reaches 1.
@pytest.mark.parametrize(("coupling", "svm_weight"), [("saddle", 1.0), ("paper", 0.01)])
def test_identity_weights_and_full_energy_are_an_svm_in_rescaled_principal_coordinates(coupling, svm_weight):
    X, Y = make_problem()
    options = {"graph": sparse.eye_array(90), "energy": 1.0, "subspace_energy": 1.0, "C": 0.7}
    model = LPSSVM(gamma=2.0, coupling=coupling, svm_weight=svm_weight, **options).fit(X, Y)
    values, vectors = eigh(kernel_matrix("rbf", X, gamma=2.0))
    kept = vectors[:, values > 1e-10 * values[-1]]
    coordinates = np.sqrt(90 / kept.shape[1]) * kept
    for tag in range(3):
        machine = SVC(C=0.7, kernel="linear", tol=1e-5).fit(coordinates[:40], Y[:40, tag])
        np.testing.assert_allclose(model.transduction_[:, tag], machine.decision_function(coordinates), atol=1e-4)


@pytest.mark.parametrize("coupling", [-0.5, 0.5])
def test_directions_solve_the_generalised_eigenproblem_of_their_tag(coupling):
    X, Y = make_problem()
    graph = knn_graph(X, 6)
    name = "saddle" if coupling < 0 else "paper"
    model = LPSSVM("linear", energy=1.0, graph=graph, svm_weight=5.0, coupling=name, max_iter=1).fit(X, Y)
    L, D = graph.laplacian().toarray(), np.diag(graph.degrees)
    P = model.transform(X, tags=[1])
    m = P.shape[1]
    np.testing.assert_allclose(P.T @ D @ P, np.eye(m), atol=1e-10)
    first = SVC(kernel="linear", tol=1e-5).fit(X[:40], Y[:40, 1])
    pull = X[first.support_].T @ first.dual_coef_[0]
    change = 5.0 * coupling * np.outer(pull, pull)
    expected, a = eigh(X.T @ L @ X + change, X.T @ D @ X)
    found = P.T @ L @ P + 5.0 * coupling * np.outer(*[P[first.support_].T @ first.dual_coef_[0]] * 2)
    np.testing.assert_allclose(found, np.diag(expected[:m]), atol=1e-4)
    np.testing.assert_allclose(P @ P.T, X @ a[:, :m] @ a[:, :m].T @ X.T, atol=1e-5)


@pytest.mark.parametrize("kernel", ["rbf", "linear", "chi2", "intersection", "pyramid", "precomputed", "callable"])
def test_scores_of_training_photos_by_the_rule_for_new_ones(kernel):
    X, Y = make_problem()
    parameters = {"levels": [(1, 1), (1, 2)], "n_words": 2} if kernel == "pyramid" else None
    given = (lambda A, B: (A @ B.T + 1) ** 2) if kernel == "callable" else kernel
    rows = X @ X.T if kernel == "precomputed" else X
    model = LPSSVM(given, kernel_parameters=parameters).fit(rows, Y)
    np.testing.assert_allclose(model.decision_function(rows), model.transduction_, atol=1e-9)
    np.testing.assert_allclose(model.decision_function(rows[:3]), model.transduction_[:3], atol=1e-9)
    P = model.transform(rows, tags=[2])
    dual = model.scale_[2] ** 2 * (P @ (P.T @ model.support_coef_[:, 2])) + model.intercept_[2]
    np.testing.assert_allclose(dual, model.transduction_[:, 2], atol=1e-9)
    if kernel == "linear":
        np.testing.assert_allclose(X @ model.coef_ + model.intercept_, model.transduction_, atol=1e-9)
        again = LPSSVM("precomputed", graph=knn_graph(X, 15, weights="binary")).fit(X @ X.T, Y)
        other = LPSSVM("linear", graph=knn_graph(X, 15, weights="binary")).fit(X, Y)
        np.testing.assert_allclose(again.transduction_, other.transduction_, atol=1e-3)


def test_landmarks():
    X, Y = make_problem()
    exact, every = (LPSSVM(gamma=0.5, n_landmarks=count).fit(X, Y) for count in (None, 90))
    np.testing.assert_allclose(every.transduction_, exact.transduction_, atol=1e-6)
    few = LPSSVM(gamma=0.5, n_landmarks=20).fit(X, Y)
    assert few.landmarks_.shape == (20,)
    assert few.dual_coef_.shape[0] <= 20
    np.testing.assert_allclose(few.decision_function(X), few.transduction_, atol=1e-9)


def test_many_photos_get_landmarks_and_many_labels_no_kernel_of_all_pairs(monkeypatch):
    X, Y = make_problem()
    expected = LPSSVM(gamma=0.5, n_landmarks=30).fit(X, Y)
    monkeypatch.setattr("tagloom.methods.baselines.svm.DENSE_ROWS", 10)
    found = LPSSVM(gamma=0.5, n_landmarks=30).fit(X, Y)
    np.testing.assert_allclose(found.transduction_, expected.transduction_, atol=1e-3)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-4)
    monkeypatch.setattr(LPSSVM, "_kernel_bytes", 8 * 30**2)
    monkeypatch.setattr(LPSSVM, "_most_landmarks", 25)
    with pytest.warns(ApproximationWarning, match="LPSSVM approximates"):
        assert LPSSVM().fit(X, Y).landmarks_.shape == (25,)


def test_the_objective_is_the_paper_s():
    X, Y = make_problem(c=1)
    graph = knn_graph(X, 6)
    model = LPSSVM(gamma=0.5, graph=graph, svm_weight=4.0, C=1.5).fit(X, Y)
    P, scale = model.transform(X), model.scale_[0]
    w = scale * (P.T @ model.support_coef_[:, 0])
    slack = np.maximum(1 - (2.0 * Y[:40, 0] - 1) * model.transduction_[:40, 0], 0).sum()
    expected = np.trace(P.T @ graph.laplacian() @ P) + 4.0 / scale**2 * (0.5 * w @ w + 1.5 * slack)
    assert model.objective_[-1] == pytest.approx(expected, rel=1e-9)
    assert len(model.objective_) == model.n_iter_


def test_tags_do_not_depend_on_each_other():
    X, Y = make_problem(c=4)
    Y[:9, 1] = -1
    together = LPSSVM().fit(X, Y)
    for tag in range(4):
        alone = LPSSVM().fit(X, Y[:, [tag]])
        np.testing.assert_allclose(alone.transduction_[:, 0], together.transduction_[:, tag], atol=1e-9)
        np.testing.assert_allclose(alone.transform(X), together.transform(X, tags=tag), atol=1e-9)


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:40, 0] = 0
    with pytest.warns(UserWarning, match="LPSSVM: tag 0 is without a known positive"):
        model = LPSSVM().fit(X, Y)
    np.testing.assert_allclose(model.transduction_[:, 0], np.log(0.5 / 40.5))
    np.testing.assert_allclose(model.transform(X, tags=0), LPP().fit(X).embedding_, atol=1e-10)
    with pytest.warns(UserWarning, match="LPSSVM: tag 0 is"):
        model = LPSSVM().fit(X, Y[:, :1])
    assert model.objective_ == [0.0]
    np.testing.assert_allclose(model.decision_function(X), np.log(0.5 / 40.5))


def test_photos_without_neighbours_or_without_features():
    X, Y = make_problem()
    for rows, graph in ((X, np.zeros((90, 90))), (np.zeros((90, 2)), None), (np.ones((90, 2)), None)):
        for kernel in ("rbf", "linear"):
            scores = LPSSVM(kernel, graph=graph).fit(rows, Y).transduction_
            assert np.isfinite(scores).all()


def test_it_is_a_reducer_with_names():
    X, Y = make_problem()
    model = LPSSVM().fit(X, Y)
    assert model.transform(X).shape == (90, model.n_directions_.sum())
    assert len(model.get_feature_names_out()) == model.projection_.shape[1] == model.n_directions_.sum()
    np.testing.assert_array_equal(LPSSVM().fit_transform(X, Y), model.transform(X))
    both = np.hstack([model.transform(X, tags=[2]), model.transform(X, tags=[0])])
    np.testing.assert_allclose(model.transform(X, tags=[2, 0]), both, atol=1e-12)
    with pytest.raises(InvalidInputError, match="tags must be numbers from 0 to 2"):
        model.transform(X, tags=[3])


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 0.0},
        {"svm_weight": -1.0},
        {"coupling": "plus"},
        {"energy": 0.0},
        {"subspace_energy": 1.5},
        {"max_iter": 0},
        {"max_iter": 1.5},
        {"tol": 0.0},
        {"n_landmarks": 0},
        {"n_neighbors": 0},
        {"weights": "heat"},
        {"kernel": "sigmoid"},
    ],
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        LPSSVM(**parameters).fit(*make_problem())


@pytest.mark.medium
def test_landmarks_keep_the_shared_promises_of_annotators():
    # Which photos are landmarks depends on their order.
    check_annotator(LPSSVM(n_landmarks=30), skip={"order_of_photos"})


def test_it_is_shown_in_a_notebook_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "LPSSVM" in LPSSVM()._repr_html_()


# The printed scale, columns divided by their deviation, and the dimension of the subspace.


def test_the_printed_scale_is_another_weight_of_the_loss():
    X, Y = make_problem()
    graph = knn_graph(X, 8)
    options = {"gamma": 0.1, "graph": graph, "svm_weight": 0.0, "subspace_energy": 0.6}
    scaled = LPSSVM(C=2.0, **options).fit(X, Y)
    printed = LPSSVM(scale="paper", C=2.0 * float(scaled.scale_[0]) ** 2, **options).fit(X, Y)
    assert (printed.scale_ == 1.0).all()
    np.testing.assert_array_equal(printed.n_directions_, scaled.n_directions_)
    np.testing.assert_allclose(printed.transduction_, scaled.transduction_, atol=2e-3)
    small = LPSSVM(scale="paper", C=2.0, **options).fit(X, Y)
    assert np.ptp(small.transduction_, axis=0).max() < 0.5 * np.ptp(scaled.transduction_, axis=0).min()


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_columns_divided_by_their_deviation(kernel):
    X, Y = make_problem()
    X = X * np.array([1.0, 10.0, 0.1, 5.0, 1.0, 100.0])
    gamma = {"gamma": 0.1} if kernel == "rbf" else {}
    inside = LPSSVM(kernel, standardize=True, **gamma).fit(X, Y)
    outside = LPSSVM(kernel, **gamma).fit(X / X.std(axis=0), Y)
    new = X[::-1] * 1.1
    np.testing.assert_allclose(inside.transduction_, outside.transduction_, atol=1e-9)
    scores = outside.decision_function(new / X.std(axis=0))
    np.testing.assert_allclose(inside.decision_function(new), scores, atol=1e-8)
    np.testing.assert_allclose(inside.transform(new), outside.transform(new / X.std(axis=0)), atol=1e-8)
    if kernel == "linear":
        np.testing.assert_allclose(new @ inside.coef_ + inside.intercept_, scores, atol=1e-8)
    with pytest.raises(InvalidInputError, match="not for kernel='precomputed'"):
        LPSSVM("precomputed", standardize=True).fit(X @ X.T, Y)


def test_the_share_is_the_best_on_held_out_photos():
    X, Y = make_problem(labelled=60)
    graph = knn_graph(X, 8)
    options = {"gamma": 0.1, "graph": graph}
    found = LPSSVM(subspace_energy="auto", n_splits=3, **options).fit(X, Y)
    figures = []
    for labels, held_out in LabeledKFold(3, random_state=0).split_labels(Y):
        fits = [LPSSVM(subspace_energy=share, **options).fit(X, labels) for share in SHARES]
        figures.append([mean_average_precision(Y[held_out], one.transduction_[held_out]) for one in fits])
    assert found.subspace_energy_ == SHARES[int(np.argmax(np.mean(figures, axis=0)))]
    fixed = LPSSVM(subspace_energy=found.subspace_energy_, **options).fit(X, Y)
    np.testing.assert_array_equal(found.transduction_, fixed.transduction_)


def test_a_share_that_nothing_can_be_compared_for_is_the_usual_one():
    X, Y = make_problem(labelled=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert LPSSVM(gamma=0.1, subspace_energy="auto").fit(X, Y).subspace_energy_ == 0.9
