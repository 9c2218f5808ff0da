"""The search: its closed forms against refits, and what it leaves out."""

import numpy as np
import pytest

from tagloom.core.folds import label_budget
from tagloom.core.groups import FeatureGroups
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.search import Candidate, LabelledKernels, Search, start_views
from tagloom.tuning.auto.views import (
    PhotoViews,
    Reduction,
    View,
    default_views,
    joint_weights,
    left_out_deviations,
    prior_shifts,
    smoothed_priors,
    targets_of,
)


def problem(n=70, seed=0, n_labelled=25):
    rng = np.random.default_rng(seed)
    truth = (rng.random((n, 3)) < 0.35).astype(np.int8)
    X = np.hstack([truth @ rng.standard_normal((3, 6)) + rng.standard_normal((n, 6)), rng.random((n, 4))])
    Y = label_budget(truth, n_labelled, random_state=seed)
    return X, Y, FeatureGroups(["deep", "color"], [6, 4])


def shared(X, groups):
    return PhotoViews(X, groups, n_neighbors=5, smoothing=2.0, n_threads=1)


def smoother(S, strength):
    """Return the matrix of two steps ``f ← (k + sSf)/(1 + s)`` from f = k."""
    one = (np.eye(len(S)) + strength * S) / (1.0 + strength)
    return (np.eye(len(S)) + strength * S @ one) / (1.0 + strength)


CANDIDATES = [
    Candidate("joint", True, 0.7, 0.1, 0.5),
    Candidate("joint", False, 2.0, 0.3, 0.0),
    Candidate("deep", False, 0.2, 0.1, 0.5),
]


@pytest.mark.parametrize("smoothing", [False, True])
def test_left_out_deviations_are_those_of_refits(smoothing):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((12, 3))
    K = np.exp(-0.3 * ((points[:, None] - points) ** 2).sum(axis=2))
    B = rng.random((12, 12)) @ K if smoothing else K
    targets = rng.standard_normal((12, 2))
    for _, _, found in left_out_deviations(K, [B], targets, [0.2]):
        for row in range(12):
            others = np.arange(12) != row
            alpha = np.linalg.solve(K[np.ix_(others, others)] + 0.2 * np.eye(11), targets[others])
            np.testing.assert_allclose(found[row], B[row, others] @ alpha, rtol=1e-8, atol=1e-10)


def test_who_knows_nothing_ranks_left_out_photos_by_chance():
    labels = (np.arange(40) % 5 == 0).astype(np.int8)[:, None]
    targets = targets_of(labels, smoothed_priors(labels))
    same = np.ones((40, 40))
    shifts = prior_shifts(targets, [40])
    [(_, _, found)] = left_out_deviations(same, [same], targets, [1.0], shifts=shifts)
    [(_, _, telling)] = left_out_deviations(same, [same], targets, [1.0])
    assert telling[labels == 1].max() < telling[labels == 0].min()
    # What is left is by the half photo that priors add.
    assert np.ptp(found) < 0.05 * np.ptp(telling)


def test_left_out_scores_of_the_search_are_those_of_models_fitted_without_the_photo():
    X, Y, groups = problem()
    views = shared(X, groups)
    weightings = default_views(groups.names)
    rows = np.flatnonzero(Y[:, 0] != -1)
    for trial in Search(views, weightings, Y, rows).run().trials:
        model = StackModel(views, weightings, [Member(trial.candidate, 1.0)])
        for place in (0, 7):
            hidden = Y.copy()
            hidden[rows[place]] = -1
            found = model.fit(hidden, np.delete(rows, place), smoothed_priors(hidden))[rows[place]]
            np.testing.assert_allclose(trial.deviations[place], found, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("candidate", CANDIDATES, ids=lambda one: one.name)
def test_scores_are_those_of_the_dense_formula(candidate):
    X, Y, groups = problem()
    Y[3:6, 1] = -1  # tags known on different photos
    views = shared(X, groups)
    weightings = default_views(groups.names)
    rows = np.flatnonzero((Y != -1).any(axis=1))
    priors = smoothed_priors(Y)
    found = StackModel(views, weightings, [Member(candidate, 2.0)]).fit(Y, rows, priors)
    S = views.links.toarray()
    A = smoother(S, candidate.score_smoothing)
    factors = views.factors({view.name: view for view in weightings}[candidate.view])
    parts = groups.split(views.coordinates(candidate.smoothed)).items()
    Z = np.hstack([np.sqrt(factors[name]) * part for name, part in parts])
    D = ((Z[:, None] - Z) ** 2).sum(axis=2)
    K = np.exp(-candidate.width * D / D.mean())
    for tag in range(3):
        known = np.flatnonzero(Y[:, tag] != -1)
        system = K[np.ix_(known, known)] + candidate.ridge * np.eye(len(known))
        expected = 2.0 * A @ K[:, known] @ np.linalg.solve(system, Y[known, tag] - priors[tag])
        np.testing.assert_allclose(found[:, tag], expected, rtol=1e-4, atol=1e-5)


def test_groups_have_the_mean_squared_distance_of_the_joint_view_and_views_weight_them():
    X, _, groups = problem()
    views = shared(X, groups)
    for name, part in groups.split(views.plain).items():
        D = ((part[:, None] - part) ** 2).sum(axis=2)
        assert D.mean() == pytest.approx(joint_weights(groups.names)[name], rel=1e-4)
        D /= joint_weights(groups.names)[name]
        view = View("one", {name: 0.3})
        np.testing.assert_allclose(views.distances(views.plain, views.plain, [view])[0], 0.3 * D, atol=1e-5)
        assert views.mean_distance(view, False) == pytest.approx(0.3, rel=1e-4)


def test_smoothed_features_approach_the_solution_of_the_linear_system():
    X, _, groups = problem()
    views = shared(X, groups)
    exact = np.linalg.solve(3.0 * np.eye(len(X)) - 2.0 * views.links.toarray(), views.plain)
    assert np.abs(views.smooth - exact).max() < 0.05 * np.abs(views.plain).max()
    assert np.abs(views.plain - exact).max() > 0.2 * np.abs(views.plain).max()


def test_a_new_photo_is_attached_by_one_step_from_its_neighbours():
    X, _, groups = problem()
    views = shared(X, groups)
    new = views.attach(X[:4] + 0.01)
    for row in range(4):
        nearest = np.argsort(((views.plain - new.plain[row]) ** 2).sum(axis=1))[:5]
        links = 1.0 / np.sqrt(5 * views.graph.degrees[nearest])
        expected = (new.plain[row] + 2.0 * links @ views.smooth[nearest]) / 3.0
        np.testing.assert_allclose(new.smooth[row], expected, atol=1e-6)


def test_views_depend_on_which_groups_there_are():
    assert [view.name for view in default_views(["features"])] == ["joint"]
    assert [view.name for view in default_views(["color", "edges"])] == ["joint", "color", "edges"]
    names = [view.name for view in default_views(["deep", "semantic", "color"])]
    assert names == ["joint", "balanced", "deep", "deep and semantic", "without the network"]
    for view in default_views(["deep", "semantic", "color", "edges"]):
        assert sum(view.weights.values()) == pytest.approx(1.0)


def test_without_a_network_groups_are_there_as_directions_and_standardised():
    X, _, _ = problem()
    groups = FeatureGroups(["color", "edges"], [6, 4])
    views = shared(X, groups)
    assert views.groups.names == ("color", "edges", "color standardised", "edges standardised")
    part = X[:, 6:]
    expected = (part - part.mean(axis=0)) / part.std(axis=0) / np.sqrt(2.0 * 4)
    expected *= np.sqrt(joint_weights(views.groups.names)["edges standardised"])
    np.testing.assert_allclose(views.plain[:, views.groups["edges standardised"]], expected, atol=1e-6)
    np.testing.assert_allclose(views.attach(X[:3]).plain, views.plain[:3], atol=1e-6)
    names = [view.name for view in default_views(views.groups.names)]
    assert names == ["joint", "directions", "standardised", "color", "edges"]


def test_without_time_what_a_combination_begins_with_is_tried_and_the_others_are_named():
    X, Y, groups = problem()
    rows = np.flatnonzero(Y[:, 0] != -1)
    weightings = default_views(groups.names)
    found = Search(shared(X, groups), weightings, Y, rows, go_on=lambda: False).run()
    tried = [(trial.candidate.view, trial.candidate.smoothed, trial.candidate.width) for trial in found.trials]
    assert sorted(tried) == sorted((name, flag, 0.7) for flag, names in start_views(weightings) for name in names)
    assert set(found.left_out.values()) == {"the time was over"}
    assert "without the network, features" in found.left_out


def test_kernels_of_labelled_photos_need_the_photos_around_alone():
    X, Y, groups = problem()
    views = shared(X, groups)
    (joint, *_), rows = default_views(groups.names), np.flatnonzero(Y[:, 0] != -1)
    S, Z = views.links.toarray(), views.smooth
    D = ((Z[:, None] - Z[rows]) ** 2).sum(axis=2)
    K = np.exp(-2.0 * D / views.mean_distance(joint, True))
    [(among, spread)] = LabelledKernels(views, rows, rows).of(joint, True, [2.0])
    np.testing.assert_allclose(among, K[rows], atol=1e-9)
    np.testing.assert_allclose(spread, (smoother(S, 0.5) @ K)[rows], atol=1e-9)


def test_groups_are_reduced_to_principal_axes_that_keep_distances():
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((150, 5))
    X = np.hstack([latent @ rng.standard_normal((5, 90)) + 1e-3 * rng.standard_normal((150, 90)), latent])
    groups = FeatureGroups(["context", "phash"], [90, 5])
    views = shared(X, groups)
    assert set(views.groups.sizes) == {64, 5}
    plain = PhotoViews(
        X,
        groups,
        n_neighbors=5,
        smoothing=2.0,
        n_threads=1,
        reductions={name: Reduction(one.centre, np.ones((1, 1))) for name, one in views.reductions.items()},
    )
    for name in views.groups:
        reduced, whole = (
            ((part[:, None] - part) ** 2).sum(axis=2)
            for part in (views.plain[:, views.groups[name]], plain.plain[:, plain.groups[name]])
        )
        np.testing.assert_allclose(reduced / reduced.mean(), whole / whole.mean(), atol=1e-2)


def test_large_arrays_are_files_that_nobody_sees(monkeypatch, tmp_path):
    monkeypatch.setattr("tagloom.core.mapped.IN_MEMORY_BYTES", 100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    X, _, groups = problem()
    mapped = shared(X, groups)
    assert isinstance(mapped.plain, np.memmap)
    assert isinstance(mapped.smooth, np.memmap)
    monkeypatch.undo()
    np.testing.assert_array_equal(mapped.smooth, shared(X, groups).smooth)


def test_what_is_clearly_behind_is_dropped_with_its_reason():
    rng = np.random.default_rng(0)
    truth = (rng.random((80, 4)) < 0.3).astype(np.int8)
    X = np.hstack([truth + 0.1 * rng.standard_normal((80, 4)), rng.standard_normal((80, 5))])
    groups = FeatureGroups(["useful", "noise"], [4, 5])
    Y = label_budget(truth, 40, random_state=0)
    rows = np.flatnonzero(Y[:, 0] != -1)
    views = shared(X, groups)
    found = Search(views, default_views(views.groups.names), Y, rows).run()
    assert any(name.startswith("noise") and "clearly behind" in why for name, why in found.left_out.items())
    of_view = {view: max(trial.figure for trial in found.trials if trial.candidate.view == view) for view in groups}
    assert of_view["useful"] > of_view["noise"] + 0.3


def test_targets_are_deviations_from_priors_that_are_never_zero():
    Y = np.array([[1, 0], [0, 0], [-1, 0]], dtype=np.int8)
    priors = smoothed_priors(Y)
    np.testing.assert_allclose(priors, [1.5 / 3.0, 0.5 / 4.0])
    np.testing.assert_allclose(targets_of(Y, priors), [[0.5, -0.125], [-0.5, -0.125], [0.0, -0.125]])
