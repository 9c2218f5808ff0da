import numpy as np
import pytest
from scipy import sparse
from sklearn.semi_supervised import LabelPropagation, LabelSpreading

from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph, knn_graph
from tagloom.methods import HarmonicPropagation, LocalGlobalConsistency
from tagloom.methods.checks import annotator_checks

BOTH = [HarmonicPropagation, LocalGlobalConsistency]


def make_problem(n=120, d=5, c=7, share=0.3, seed=0, *, entrywise=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = (X @ rng.standard_normal((d, c)) + rng.standard_normal((n, c)) > 0.5).astype(np.int8)
    Y[rng.random(Y.shape) > share if entrywise else rng.random(n) > share] = -1
    Y[0], Y[1] = 1, 0
    return X, Y


def dense_harmonic(W, y, pull=0.0, prior=0.0):
    """One tag as it stands in the paper: L_uu f_u = W_ul y_l, by a dense solve."""
    W = W.toarray()
    L = np.diag(W.sum(axis=1)) - W + pull * np.eye(len(W))
    known, unknown = np.flatnonzero(y != -1), np.flatnonzero(y == -1)
    f = y.astype(float)
    if unknown.size:
        right = W[np.ix_(unknown, known)] @ f[known] + pull * prior
        f[unknown] = np.linalg.solve(L[np.ix_(unknown, unknown)], right)
    return f


def dense_consistency(W, y, alpha):
    W = W.toarray()
    roots = np.sqrt(W.sum(axis=1))
    S = W / np.outer(roots, roots)
    return (1 - alpha) * np.linalg.solve(np.eye(len(W)) - alpha * S, y)


@pytest.mark.medium
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("name", sorted(annotator_checks()))
def test_promises_of_annotators(kind, name):
    annotator_checks()[name](kind(5))


class TestHarmonic:
    @pytest.mark.parametrize("weights", ["binary", "heat"])
    @pytest.mark.parametrize("entrywise", [False, True])
    @pytest.mark.parametrize("pull", [0.0, 0.3])
    def test_dense_solve(self, weights, entrywise, pull):
        X, Y = make_problem(entrywise=entrywise)
        fitted = HarmonicPropagation(6, weights=weights, pull=pull).fit(X, Y)
        W = knn_graph(X, 6, weights=weights).weights
        for j in range(Y.shape[1]):
            prior = (Y[:, j] == 1).sum() / (Y[:, j] != -1).sum()
            np.testing.assert_allclose(fitted.transduction_[:, j], dense_harmonic(W, Y[:, j], pull, prior), atol=1e-6)
        np.testing.assert_array_equal(fitted.transduction_[Y != -1], Y[Y != -1])
        assert fitted.n_iter_ > 0

    def test_label_propagation_of_scikit_learn(self):
        X, Y = make_problem(60, c=1)
        W = knn_graph(X, 6, weights="heat").weights
        theirs = LabelPropagation(kernel=lambda a, b: W.toarray(), max_iter=100_000, tol=1e-12).fit(X, Y[:, 0])
        ours = HarmonicPropagation(graph=W).fit(X, Y)
        np.testing.assert_allclose(ours.transduction_[:, 0], theirs.label_distributions_[:, 1], atol=1e-6)

    def test_maximum_principle(self):
        X, Y = make_problem(entrywise=True, share=0.1)
        F = HarmonicPropagation(4).fit(X, Y).transduction_
        W = knn_graph(X, 4).weights
        means = (W @ F) / W.sum(axis=1)[:, None]
        unknown = Y == -1
        np.testing.assert_allclose(F[unknown], means[unknown], atol=1e-6)
        assert F.min() >= 0
        assert F.max() <= 1

    def test_component_without_a_label_gets_the_prior(self):
        rng = np.random.default_rng(0)
        X = np.concatenate([rng.standard_normal((20, 2)), 100 + rng.standard_normal((15, 2))])
        Y = np.full((35, 2), -1, dtype=np.int8)
        Y[:4, 0] = [1, 0, 0, 1]
        Y[:4, 1] = [1, 0, 0, 0]
        Y[22, 1] = 0  # the second tag is known in the far component too
        F = HarmonicPropagation(3).fit(X, Y).transduction_
        np.testing.assert_array_equal(F[20:, 0], 0.5)
        np.testing.assert_allclose(F[20:, 1], 0.0, atol=1e-7)

    def test_isolated_photo(self):
        W = sparse.csr_array(np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 0]]))
        F = HarmonicPropagation(2, graph=W).fit(np.eye(3), [[1], [-1], [-1]]).transduction_
        np.testing.assert_allclose(F[:, 0], [1, 1, 1])
        assert HarmonicPropagation(2, graph=W, pull=1.0).fit(np.eye(3), [[0], [-1], [-1]]).transduction_[2, 0] == 0

    def test_strong_pull_gives_the_prior(self):
        X, Y = make_problem()
        fitted = HarmonicPropagation(5, pull=1e6).fit(X, Y)
        rows = (Y == -1).all(axis=1)
        np.testing.assert_allclose(fitted.transduction_[rows], np.tile(fitted.prior_, (rows.sum(), 1)), atol=1e-4)

    def test_threads_do_not_matter(self):
        X, Y = make_problem(entrywise=True)
        one, two = (HarmonicPropagation(5, n_threads=k).fit(X, Y).transduction_ for k in (1, 2))
        np.testing.assert_array_equal(one, two)


class TestConsistency:
    @pytest.mark.parametrize("entrywise", [False, True])
    @pytest.mark.parametrize("alpha", [0.2, 0.99])
    def test_dense_solve(self, entrywise, alpha):
        X, Y = make_problem(entrywise=entrywise)
        W = knn_graph(X, 6).weights
        plain = LocalGlobalConsistency(6, alpha=alpha, normalize=False).fit(X, Y)
        found = dense_consistency(W, (Y == 1).astype(float), alpha)
        np.testing.assert_allclose(plain.transduction_, found, atol=1e-6)
        fitted = LocalGlobalConsistency(6, alpha=alpha, tol=1e-12).fit(X, Y)
        total = dense_consistency(W, (Y != -1).astype(float), alpha)
        np.testing.assert_allclose(fitted.transduction_, found / total, atol=1e-6)

    @pytest.mark.parametrize("alpha", [0.2, 0.9])
    def test_label_spreading_of_scikit_learn(self, alpha):
        X, Y = make_problem(60, c=3)
        W = knn_graph(X, 6, weights="heat").weights
        ours = LocalGlobalConsistency(graph=NeighborGraph.from_weights(W), alpha=alpha, tol=1e-12).fit(X, Y)
        for j in range(3):
            theirs = LabelSpreading(kernel=lambda a, b: W.toarray(), alpha=alpha, max_iter=100_000, tol=1e-14)
            theirs.fit(X, Y[:, j])
            np.testing.assert_allclose(ours.transduction_[:, j], theirs.label_distributions_[:, 1], atol=1e-6)

    def test_component_without_a_label_gets_the_prior(self):
        X = np.concatenate([np.arange(10.0), 1000 + np.arange(10.0)])[:, None]
        Y = np.full((20, 1), -1)
        Y[:3, 0] = [1, 0, 0]
        fitted = LocalGlobalConsistency(2).fit(X, Y)
        np.testing.assert_allclose(fitted.transduction_[10:], 1 / 3)


@pytest.mark.parametrize("kind", BOTH)
class TestBoth:
    @pytest.mark.parametrize("entrywise", [False, True])
    def test_order_of_photos_and_tags(self, kind, entrywise):
        X, Y = make_problem(entrywise=entrywise)
        rng = np.random.default_rng(1)
        rows, tags = rng.permutation(len(X)), rng.permutation(Y.shape[1])
        one = kind(6, tol=1e-10).fit(X, Y).transduction_
        two = kind(6, tol=1e-10).fit(X[rows], Y[rows][:, tags]).transduction_
        np.testing.assert_allclose(two, one[rows][:, tags], atol=1e-7)

    def test_new_photos_are_means_of_neighbors(self, kind):
        X, Y = make_problem()
        new = np.random.default_rng(2).standard_normal((9, X.shape[1]))
        distances = np.linalg.norm(new[:, None] - X, axis=2)
        nearest = np.argsort(distances, axis=1)[:, :4]
        fitted = kind(4).fit(X, Y)
        expected = fitted.transduction_[nearest].mean(axis=1)
        np.testing.assert_allclose(fitted.decision_function(new), expected, atol=1e-12)
        fitted = kind(4, weights="heat", bandwidth=0.7).fit(X, Y)
        kernel = np.exp(-(np.take_along_axis(distances, nearest, axis=1) ** 2) / (2 * 0.7**2))
        expected = np.einsum("qk,qkc->qc", kernel / kernel.sum(axis=1, keepdims=True), fitted.transduction_[nearest])
        np.testing.assert_allclose(fitted.decision_function(new), expected, atol=1e-10)

    def test_far_away_photo_has_finite_scores(self, kind):
        X, Y = make_problem()
        fitted = kind(4, weights="heat", bandwidth=0.01).fit(X, Y)
        assert np.isfinite(fitted.decision_function(np.full((1, X.shape[1]), 1e3))).all()

    def test_tag_without_positives_and_all_labelled(self, kind):
        X, Y = make_problem(share=1.0)
        Y[:, 2] = 0
        fitted = kind(5).fit(X, Y)
        assert (fitted.transduction_[:, 2] == 0).all()
        assert fitted.thresholds_[2] == np.inf
        if kind is HarmonicPropagation:
            np.testing.assert_array_equal(fitted.transduction_, Y)

    def test_one_photo(self, kind):
        fitted = kind().fit([[1.0, 2.0]], [[1, 0, -1]])
        np.testing.assert_allclose(fitted.transduction_, [[1, 0, 0]])
        np.testing.assert_allclose(fitted.decision_function([[5.0, 5.0]]), [[1, 0, 0]])

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"n_neighbors": 0}, "n_neighbors"),
            ({"weights": "dot"}, "weights"),
            ({"bandwidth": -1.0}, "bandwidth"),
            ({"graph": sparse.csr_array((3, 3))}, "one node for each row of X: expected 120, got 3"),
        ],
    )
    def test_named_errors(self, kind, parameters, message):
        X, Y = make_problem()
        with pytest.raises(InvalidInputError, match=message):
            kind(**parameters).fit(X, Y)

    def test_named_errors_of_one(self, kind):
        X, Y = make_problem()
        name, value = ("pull", -1.0) if kind is HarmonicPropagation else ("alpha", 1.0)
        with pytest.raises(InvalidInputError, match=name):
            kind(**{name: value}).fit(X, Y)
