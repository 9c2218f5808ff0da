"""The parts of the topic model against photo-by-photo loops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from benchmarks.literal import topics as literal
from tagloom.graph import NeighborGraph
from tagloom.methods.topics.model import (
    Averaging,
    ExactSteps,
    NoGraph,
    TopicParameters,
    WordCounts,
    averaged_posteriors,
    exact_posteriors,
    random_start,
    run_em,
)

PRIOR = 0.3


def make_problem(seed=0, n=14, d=9, c=5, K=3, density=0.3):
    """Return F, Y, a graph with isolated nodes, and a start, some photos without any word."""
    rng = np.random.default_rng(seed)
    F = rng.poisson(1.0, size=(n, d)).astype(np.float64)
    F[rng.random(n) < 0.15] = 0.0
    Y = rng.integers(-1, 2, size=(n, c)).astype(np.int8)
    Y[rng.random(n) < 0.4] = -1
    S = rng.random((n, n)) * (rng.random((n, n)) < density)
    S = np.triu(S, 1) + np.triu(S, 1).T
    S[:, 0] = S[0] = 0.0
    parts = [rng.dirichlet(np.ones(size), size=many) for size, many in ((K, 1), (d, K), (c, K))]
    return F, Y, S, (parts[0][0], parts[1], parts[2])


def start_of(parameters):
    alpha, beta, phi = parameters
    return TopicParameters(np.log(alpha), np.log(np.hstack([beta, phi]).T), beta.shape[1])


def counts_of(F, Y, dtype=np.float64):
    return WordCounts(sparse.csr_array(F.astype(dtype)), Y)


def run(F, Y, parameters, smoothing, n_iter):
    options = {"pseudo_count": PRIOR, "max_iter": n_iter, "tol": -1.0}
    return run_em(counts_of(F, Y), start_of(parameters), smoothing, **options)


def assert_same_parameters(found, wanted):
    for ours, theirs in zip((found.prior, found.visual_words, found.tag_words), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)


def prior_term(parameters):
    return PRIOR * sum(np.log(part).sum() for part in parameters)


def literal_objective(F, Y, S, p, parameters, smoothness):
    return literal.objective(F, (Y == 1) * 1.0, S, p, parameters, smoothness) + prior_term(parameters)


@pytest.mark.parametrize("n_iter", [1, 7])
def test_without_a_graph_it_is_the_mixture(n_iter):
    F, Y, _, start = make_problem()
    found = run(F, Y, start, NoGraph(), n_iter)
    p, parameters = literal.mixture(F, (Y == 1) * 1.0, start, n_iter, PRIOR)
    np.testing.assert_allclose(found.p, p, atol=1e-10)
    assert_same_parameters(found.parameters, parameters)
    # 𝔽 of the posteriors of Θ is the likelihood at Θ: the objective lies between that of two iterations.
    _, before = literal.mixture(F, (Y == 1) * 1.0, start, n_iter - 1, PRIOR)
    low, high = (literal.likelihood(F, (Y == 1) * 1.0, at) + prior_term(at) for at in (before, parameters))
    assert low - 1e-9 <= found.objective[-1] <= high + 1e-9


@pytest.mark.parametrize("n_steps", [1, 4])
def test_averaging_is_algorithm_1(n_steps):
    F, Y, S, start = make_problem()
    smoothing = Averaging(NeighborGraph.from_weights(S), 2.0, 3, np.float64, step=0.3, n_steps=n_steps)
    found = run(F, Y, start, smoothing, 5)
    wanted = literal.laplacian_topics(F, (Y == 1) * 1.0, S, start, 5, step=0.3, n_steps=n_steps, prior=PRIOR)
    np.testing.assert_allclose(found.p, wanted[0], atol=1e-10)
    assert_same_parameters(found.parameters, wanted[1])
    assert found.objective[-1] == pytest.approx(literal_objective(F, Y, S, found.p, wanted[1], 2.0))


def test_smoothing_until_r_converges_is_as_printed_and_forgets_the_words():
    F, Y, S, start = make_problem(density=0.6)
    graph = NeighborGraph.from_weights(S)
    smoothing = Averaging(graph, 2.0, 3, np.float64, step=0.3, n_steps=None)
    found = run(F, Y, start, smoothing, 2)
    wanted = literal.laplacian_topics(F, (Y == 1) * 1.0, S, start, 2, step=0.3, n_steps=None, prior=PRIOR)
    np.testing.assert_allclose(found.p, wanted[0], atol=1e-3)  # one step more, since R is that before a step
    linked = graph.degrees > 0
    assert np.ptp(found.p[linked], axis=0).max() < 1e-2
    assert np.ptp(literal.posteriors(F, (Y == 1) * 1.0, start)[linked], axis=0).max() > 0.5


@pytest.mark.parametrize("n_steps", [1, 3])
def test_exact_steps_are_those_of_the_loop(n_steps):
    F, Y, S, start = make_problem()
    found = run(F, Y, start, ExactSteps(NeighborGraph.from_weights(S), 1.5, 3, np.float64, n_steps=n_steps), 4)
    W = (Y == 1) * 1.0
    parameters, p = start, literal.posteriors(F, W, start)
    for _ in range(4):
        joint = literal.log_joint(F, W, parameters)
        for _ in range(n_steps):
            p = literal.exact_step(p, joint, S, 1.5)
        parameters = literal.maximise(F, W, p, PRIOR)
    np.testing.assert_allclose(found.p, p, atol=1e-9)
    assert_same_parameters(found.parameters, parameters)
    assert found.objective[-1] == pytest.approx(literal_objective(F, Y, S, p, parameters, 1.5))


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    smoothness=st.sampled_from([0.01, 0.5, 2.11, 50.0]),
    n_steps=st.integers(1, 4),
    scale=st.sampled_from([1e-3, 1.0, 40.0]),
    density=st.sampled_from([0.05, 0.4, 1.0]),
    n_topics=st.integers(1, 6),
)
def test_exact_steps_never_lower_the_objective(seed, smoothness, n_steps, scale, density, n_topics):
    F, Y, S, start = make_problem(seed, K=n_topics, density=density)
    smoothing = ExactSteps(NeighborGraph.from_weights(scale * S), smoothness, n_topics, np.float64, n_steps=n_steps)
    objective = run(F, Y, start, smoothing, 15).objective
    assert np.isfinite(objective).all()
    assert (np.diff(objective) >= -1e-11 * np.abs(objective[0])).all()


def test_in_float32_it_rises_but_for_rounding():
    F, Y, S, start = make_problem(n=200, d=40)
    smoothing = ExactSteps(NeighborGraph.from_weights(S), 2.11, 3, np.float32, n_steps=3)
    options = {"pseudo_count": PRIOR, "max_iter": 40, "tol": -1.0}
    found = run_em(counts_of(F, Y, np.float32), start_of(start), smoothing, **options)
    assert found.p.dtype == np.float32
    assert (np.diff(found.objective) >= -1e-7 * np.abs(found.objective[0])).all()
    double = ExactSteps(NeighborGraph.from_weights(S), 2.11, 3, np.float64, n_steps=3)
    assert found.objective[-1] == pytest.approx(run(F, Y, start, double, 40).objective[-1], rel=1e-5)


def test_the_heuristic_lowers_the_objective_where_the_exact_step_does_not():
    falls = 0
    for seed in range(10):
        F, Y, S, start = make_problem(seed, n=30)
        smoothing = Averaging(NeighborGraph.from_weights(S), 2.11, 3, np.float64, step=0.1, n_steps=5)
        falls += bool((np.diff(run(F, Y, start, smoothing, 15).objective) < -1e-6).any())
    assert falls > 0


@pytest.mark.parametrize("kind", ["exact", "steps", "none"])
def test_the_order_of_photos_and_topics_does_not_matter(kind):
    F, Y, S, start = make_problem()
    rng = np.random.default_rng(5)
    photos, topics = rng.permutation(len(F)), rng.permutation(3)

    def smoothing(weights):
        graph = NeighborGraph.from_weights(weights)
        if kind == "exact":
            return ExactSteps(graph, 2.0, 3, np.float64, n_steps=2)
        return NoGraph() if kind == "none" else Averaging(graph, 2.0, 3, np.float64, step=0.2, n_steps=3)

    first = run(F, Y, start, smoothing(S), 6)
    moved = tuple(part[topics] for part in start)
    second = run(F[photos], Y[photos], moved, smoothing(S[np.ix_(photos, photos)]), 6)
    np.testing.assert_allclose(first.p[np.ix_(photos, topics)], second.p, atol=1e-10)
    np.testing.assert_allclose(first.objective, second.objective)


def test_extreme_counts_stay_finite():
    F, Y, S, start = make_problem()
    found = run(1e5 * F, Y, start, ExactSteps(NeighborGraph.from_weights(S), 2.0, 3, np.float64, n_steps=3), 10)
    assert np.isfinite(found.objective).all()
    np.testing.assert_allclose(found.p.sum(axis=1), 1.0)
    assert np.isfinite(found.parameters.log_words).all()


def test_a_topic_that_no_photo_has_is_dropped_and_the_rest_stays():
    F, Y, _, start = make_problem(K=2)
    found = run(F, Y, start, NoGraph(), 1)
    p = np.hstack([found.p, np.full((len(F), 1), 1e-9)])
    words = np.hstack([found.parameters.log_words, np.full((14, 1), -3.0)])
    prior = np.append(found.parameters.log_prior, -20.0)
    with_empty = type(found)(TopicParameters(prior, words, 9), p, found.objective, True)
    kept = with_empty.without_empty_topics()
    np.testing.assert_allclose(kept.p, found.p, atol=1e-8)
    assert kept.parameters.n_topics == 2
    assert kept.parameters.prior.sum() == pytest.approx(1.0)


def test_the_start_depends_on_words_alone():
    F, Y, _, _ = make_problem()
    order = np.random.default_rng(1).permutation(len(F))
    first, second = (
        random_start(counts_of(F[rows], Y[rows]), 4, np.random.default_rng(0)) for rows in (slice(None), order)
    )
    np.testing.assert_array_equal(first.log_words, second.log_words)
    assert np.ptp(first.log_words[:9], axis=1).min() > 0
    np.testing.assert_allclose(np.exp(first.log_words[:9]).sum(axis=0), 1.0)
    # Without a visual word the tags have to tell topics apart.
    tags_only = random_start(counts_of(0 * F, Y), 4, np.random.default_rng(0))
    assert np.ptp(tags_only.log_words[9:], axis=1).min() > 0


def test_new_photos_reach_the_maximum_with_fixed_neighbours():
    rng = np.random.default_rng(3)
    joint, known = rng.normal(scale=3.0, size=(6, 4)), rng.dirichlet(np.ones(4), size=10)
    links = rng.random((6, 10)) * (rng.random((6, 10)) < 0.5)
    links[2] = 0.0
    found = exact_posteriors(joint, sparse.csr_array(links), known, 1.7)

    def value(p, i):
        return p @ joint[i] - p @ np.log(p) - 1.7 * (links[i] @ ((p - known) ** 2).sum(axis=1))

    for i in range(6):
        best = value(found[i], i)
        for other in rng.dirichlet(np.ones(4), size=200):
            assert value(0.98 * found[i] + 0.02 * other, i) <= best + 1e-9
    alone = np.exp(joint[2] - joint[2].max())
    np.testing.assert_allclose(found[2], alone / alone.sum())


def test_averaging_of_new_photos_is_equation_10_with_fixed_neighbours():
    rng = np.random.default_rng(4)
    p, known = rng.dirichlet(np.ones(4), size=5), rng.dirichlet(np.ones(4), size=8)
    links = rng.random((5, 8))
    links[1] = 0.0
    found = averaged_posteriors(p, sparse.csr_array(links), known, 0.2, 3)
    wanted = p.copy()
    for _ in range(3):
        for i in (0, 2, 3, 4):
            wanted[i] = 0.8 * wanted[i] + 0.2 * (links[i] @ known) / links[i].sum()
    np.testing.assert_allclose(found, wanted)
    endless = averaged_posteriors(p, sparse.csr_array(links), known, 0.2, None)
    np.testing.assert_allclose(endless[0], links[0] @ known / links[0].sum())
    np.testing.assert_allclose(endless[1], p[1])
