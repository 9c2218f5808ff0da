import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tagloom.exceptions import InvalidInputError
from tagloom.graph.shared_words import shared_words_graph


def make_words(n=30, d=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.5, size=(n, d)).astype(np.float64), rng.integers(-1, 2, size=(n, 4)).astype(np.int8)


def literal_links(F, threshold, Y=None, tag_threshold=None):
    n = len(F)
    links = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            shared = len(set(np.flatnonzero(F[i])) & set(np.flatnonzero(F[j])))
            links[i, j] = i != j and shared >= threshold
            if tag_threshold is not None and i != j:
                links[i, j] |= len(set(np.flatnonzero(Y[i] == 1)) & set(np.flatnonzero(Y[j] == 1))) >= tag_threshold
    return links


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 4), st.sampled_from([None, 1, 2]))
def test_links_are_those_of_the_literal_rule(seed, threshold, tag_threshold):
    F, Y = make_words(seed=seed)
    found = shared_words_graph(F, threshold=threshold, tags=Y, tag_threshold=tag_threshold, common_share=1.0)
    np.testing.assert_array_equal(found.graph.weights.toarray() > 0, literal_links(F, threshold, Y, tag_threshold))
    assert found.n_capped == found.n_dropped == found.common_words.size == 0
    assert found.graph.weights.has_sorted_indices


@pytest.mark.parametrize("density", [0.02, 0.5])
def test_sparse_and_dense_products_agree(density, monkeypatch):
    F = np.random.default_rng(1).poisson(density, size=(40, 60)).astype(np.float64)
    first = shared_words_graph(F, threshold=1, common_share=1.0)
    monkeypatch.setattr("tagloom.graph.shared_words._DENSE", 2.0 if density > 0.1 else 0.0)
    monkeypatch.setattr("tagloom.graph.shared_words._BLOCK_ENTRIES", 40 * 7)
    second = shared_words_graph(sparse.csr_matrix(F), threshold=1, common_share=1.0)
    np.testing.assert_array_equal(first.graph.weights.toarray(), second.graph.weights.toarray())
    assert first.graph.n_edges > 0


def test_weights_are_equations_4_to_6():
    F, Y = make_words()
    links = literal_links(F, 2)
    heat = shared_words_graph(
        F, threshold=2, tags=Y, weights="heat", common_share=1.0, visual_bandwidth=3.0, tag_bandwidth=2.0
    )
    dot = shared_words_graph(F, threshold=2, tags=Y, weights="dot", common_share=1.0, visual_weight=0.5, tag_weight=4.0)
    for i, j in np.argwhere(links):
        both = (Y[i] >= 0) & (Y[j] >= 0)
        far = ((F[i] - F[j]) ** 2).sum() / 3.0 + (Y[i] != Y[j])[both].sum() / 2.0
        assert heat.graph.weights[i, j] == pytest.approx(np.exp(-far))
        shared = 0.5 * F[i] @ F[j] + 4.0 * ((Y[i] == 1) & (Y[j] == 1)).sum()
        assert dot.graph.weights[i, j] == pytest.approx(shared)
    assert heat.graph.n_edges == dot.graph.n_edges == links.sum() // 2
    for found in (heat, dot):
        np.testing.assert_array_equal(found.graph.weights.toarray(), found.graph.weights.toarray().T)


def test_heat_without_bandwidths_takes_the_median():
    F, _ = make_words()
    found = shared_words_graph(F, threshold=2, weights="heat", common_share=1.0)
    i, j = np.nonzero(np.triu(literal_links(F, 2)))
    far = ((F[i] - F[j]) ** 2).sum(axis=1)
    np.testing.assert_allclose(found.graph.weights.toarray()[i, j], np.exp(-far / np.median(far)))


def test_words_that_most_photos_have_do_not_count_and_are_reported():
    F = np.zeros((10, 6))
    F[:, :3] = 1.0
    F[:2, 3:] = 1.0
    found = shared_words_graph(F, threshold=3)
    assert found.common_words.tolist() == [0, 1, 2]
    assert found.graph.n_edges == 1
    assert shared_words_graph(F, threshold=3, common_share=1.0).graph.n_edges == 45


def test_the_cap_keeps_the_best_links_and_counts_the_others():
    rng = np.random.default_rng(2)
    F = (rng.random((40, 15)) < 0.5).astype(np.float64)
    full = shared_words_graph(F, threshold=1, common_share=1.0)
    capped = shared_words_graph(F, threshold=1, common_share=1.0, max_neighbors=5)
    counts = F @ F.T
    np.fill_diagonal(counts, 0)
    kept = capped.graph.weights.toarray() > 0
    wanted = np.zeros_like(kept)
    for i in range(40):
        order = sorted(np.flatnonzero(counts[i]), key=lambda j: (-counts[i, j], F[j].sum(), j))
        wanted[i, order[:5]] = True
    np.testing.assert_array_equal(kept, wanted | wanted.T)
    assert capped.n_capped == ((counts > 0).sum(axis=1) > 5).sum()
    assert capped.n_dropped == full.graph.n_edges - capped.graph.n_edges > 0


def test_new_photos_are_linked_by_the_same_rule():
    F, _ = make_words()
    for weights in ("binary", "heat", "dot"):
        found = shared_words_graph(F, threshold=2, weights=weights, common_share=1.0)
        links = found.links(F).toarray()
        np.testing.assert_allclose(
            links[~np.eye(30, dtype=bool)], found.graph.weights.toarray()[~np.eye(30, dtype=bool)]
        )
        assert (np.diag(links) > 0).sum() == ((F > 0).sum(axis=1) >= 2).sum()


def test_photos_without_words_have_no_links():
    F, _ = make_words()
    F[3] = 0.0
    assert 3 in shared_words_graph(F, threshold=1, common_share=1.0).graph.isolated
    nothing = shared_words_graph(np.zeros((4, 3)))
    assert nothing.graph.n_edges == 0
    assert nothing.links(np.ones((2, 3))).nnz == 0


@pytest.mark.parametrize(
    "parameters",
    [{"threshold": 0}, {"tag_threshold": 0.5}, {"weights": "cosine"}, {"max_neighbors": 0}, {"common_share": 0.0}],
)
def test_wrong_parameters_are_refused(parameters):
    F, Y = make_words()
    with pytest.raises(InvalidInputError):
        shared_words_graph(F, tags=Y, **parameters)


def test_wrong_counts_are_refused():
    with pytest.raises(InvalidInputError, match="not negative"):
        shared_words_graph([[1.0, -1.0]])
    with pytest.raises(InvalidInputError, match="expected 2 visual words"):
        shared_words_graph([[1.0, 1.0]]).links([[1.0]])
