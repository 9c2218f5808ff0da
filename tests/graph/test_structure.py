"""Laplacians against their dense formulas; validation of users' matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse import csgraph

from tagloom.exceptions import InvalidInputError
from tagloom.graph import NeighborGraph


def random_graph(seed, n, isolated=0):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.4), 1)
    W[:isolated] = 0
    W[:, :isolated] = 0
    return W + W.T


def dense_laplacian(W, kind):
    d = W.sum(axis=1)
    inverse = np.divide(1.0, d, out=np.zeros_like(d), where=d > 0)
    L = np.diag(d) - W
    if kind == "symmetric":
        return np.diag(np.sqrt(inverse)) @ L @ np.diag(np.sqrt(inverse))
    return np.diag(inverse) @ L if kind == "random_walk" else L


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 15), st.integers(0, 3))
def test_laplacians_equal_the_dense_formulas(seed, n, isolated):
    W = random_graph(seed, n, isolated)
    graph = NeighborGraph.from_weights(sparse.csr_array(W))
    for kind in ("unnormalized", "symmetric", "random_walk"):
        L = graph.laplacian(kind)
        assert L.format == "csr"
        assert L.has_sorted_indices
        np.testing.assert_allclose(L.toarray(), dense_laplacian(W, kind), atol=1e-13)
    np.testing.assert_allclose(graph.laplacian().sum(axis=1), 0, atol=1e-13)
    np.testing.assert_allclose(graph.laplacian("random_walk").sum(axis=1), 0, atol=1e-13)
    for kind in ("unnormalized", "symmetric"):
        L = graph.laplacian(kind).toarray()
        np.testing.assert_array_equal(L, L.T)
        assert np.linalg.eigvalsh(L).min() > -1e-12
    assert np.linalg.eigvalsh(graph.laplacian("symmetric").toarray()).max() < 2 + 1e-12


def test_laplacian_equals_scipy():
    W = sparse.csr_array(random_graph(3, 30))
    graph = NeighborGraph.from_weights(W)
    np.testing.assert_allclose(graph.laplacian().toarray(), csgraph.laplacian(W).toarray(), atol=1e-13)
    want = csgraph.laplacian(W, normed=True).toarray()
    np.testing.assert_allclose(graph.laplacian("symmetric").toarray(), want, atol=1e-13)


def test_isolated_nodes_have_rows_of_zeros():
    graph = NeighborGraph.from_weights(random_graph(0, 8, isolated=2))
    assert graph.isolated.tolist()[:2] == [0, 1]
    for kind in ("unnormalized", "symmetric", "random_walk"):
        L = graph.laplacian(kind).toarray()
        assert np.isfinite(L).all()
        assert not L[:2].any()
        assert not L[:, :2].any()


def test_null_space_counts_components():
    W = np.zeros((6, 6))
    for i, j in ((0, 1), (1, 2), (3, 4)):
        W[i, j] = W[j, i] = 0.5
    for kind in ("unnormalized", "symmetric"):
        values = np.linalg.eigvalsh(NeighborGraph.from_weights(W).laplacian(kind).toarray())
        assert (np.abs(values) < 1e-12).sum() == 3


def test_counts_and_degrees():
    graph = NeighborGraph.from_weights(np.array([[0, 1, 2], [1, 0, 0], [2, 0, 0]]))
    assert (graph.n_nodes, graph.n_edges, graph.recall, graph.bandwidth) == (3, 2, None, None)
    np.testing.assert_array_equal(graph.degrees, [3, 1, 2])
    assert graph.degrees.dtype == np.float64


def test_the_graph_is_frozen_and_its_matrix_its_own():
    W = sparse.csr_array(random_graph(1, 5))
    graph = NeighborGraph.from_weights(W)
    before = graph.weights.toarray()
    W.data[:] = 7
    np.testing.assert_array_equal(graph.weights.toarray(), before)
    with pytest.raises(AttributeError):
        graph.weights = W


def test_small_asymmetry_is_averaged_away():
    W = random_graph(2, 6)
    W[0, 1] = W[1, 0] = 0.5
    W[0, 1] += 1e-13
    graph = NeighborGraph.from_weights(W)
    assert (graph.weights != graph.weights.T).nnz == 0


def test_unsorted_duplicate_and_zero_entries_are_tidied():
    rows, columns, data = [0, 0, 1, 0, 2, 1], [2, 1, 0, 1, 0, 2], [1.0, 0.25, 0.5, 0.25, 1.0, 0.0]
    graph = NeighborGraph.from_weights(sparse.coo_array((data, (rows, columns)), shape=(3, 3)))
    assert graph.weights.nnz == 4
    assert graph.weights.has_sorted_indices
    assert graph.weights[0, 1] == 0.5


def test_diagonal_can_be_dropped():
    W = random_graph(4, 5) + np.eye(5)
    graph = NeighborGraph.from_weights(W, diagonal="drop")
    assert not graph.weights.diagonal().any()
    assert graph.weights.nnz == np.count_nonzero(W - np.eye(5))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros((2, 3)), r"square.*\(2, 3\)"),
        (np.zeros((0, 0)), "at least one node"),
        (np.zeros(3), "matrix of numbers"),
        (np.array([["a"]]), "matrix of numbers"),
        (sparse.csr_array(np.eye(2) * 1j), "real numbers"),
        (np.array([[0.0, 1.0], [0.5, 0.0]]), r"symmetric, got"),
        (np.array([[0.0, -1.0], [-1.0, 0.0]]), r"not negative, got -1.0 at \(0, 1\)"),
        (np.array([[0.0, 0.0], [0.0, np.nan]]), r"finite.*got nan at \(1, 1\)"),
        (np.eye(2), 'diagonal="drop"'),
    ],
)
def test_errors_of_from_weights(weights, message):
    with pytest.raises(InvalidInputError, match=message):
        NeighborGraph.from_weights(weights)


def test_errors_of_words():
    with pytest.raises(InvalidInputError, match="diagonal must be"):
        NeighborGraph.from_weights(np.zeros((2, 2)), diagonal="keep")
    with pytest.raises(InvalidInputError, match="kind must be one of"):
        NeighborGraph.from_weights(np.zeros((2, 2))).laplacian("normed")
