"""NOVA against its objective written out, a conic solver, fits of each tag alone, and cross-validation by hand."""

import warnings

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.methods.curds_and_whey import CurdsAndWhey
from tagloom.methods.nova import NOVA, PENALTIES, HeldOutFigures, choose_strengths, held_out_figures
from tagloom.methods.shared.out_of_fold import out_of_fold_scores, stable_folds
from tagloom.solvers.groups.penalties import MCP, SCAD, Norm

GROUPS = FeatureGroups(["color", "edges", "words"], [3, 2, 4])
SIZES = (3, 2, 4)


def photos(n=50, c=3, seed=0, missing=0.0, n_unlabelled=0):
    """Nine features in three groups, tags that one or two of the groups tell, some entries unknown."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 9)) + 3.0
    told = np.repeat(rng.random((3, c)) < 0.6, SIZES, axis=0)
    told[0] |= ~told.any(axis=0)
    effect = (X - 3.0) @ (told * rng.normal(size=(9, c)))
    Y = (effect + 0.5 * rng.normal(size=(n, c)) > 0.2).astype(np.int8)
    Y[0], Y[1] = 1, 0
    Y[2:][rng.random((n - 2, c)) < missing] = -1
    Y[n - n_unlabelled :] = -1
    return X, Y


def runs(sizes):
    ends = np.cumsum(sizes)
    return [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]


def radial_of(penalty, concavity=3.7):
    return SCAD(concavity) if penalty.endswith("scad") else MCP(concavity) if penalty.endswith("mcp") else Norm()


def equation(X, y, coef, intercept, penalty, strength, weights=None, entry_share=0.5):
    """Eq. (1) of one tag over the photos on which it is known, without ½ mean(ỹ²)."""
    known = y != -1
    target = np.where(y[known] == 1, 1.0, -1.0)
    value = np.mean((target - X[known] @ coef - intercept) ** 2) / 2 - np.var(target) / 2
    sizes = SIZES if penalty.startswith(("group", "sparse")) else (1,) * X.shape[1]
    share = entry_share if penalty.startswith("sparse") else 0.0
    for number, rows in enumerate(runs(sizes)):
        limit = (1 - share) * strength * (1.0 if weights is None else weights[number])
        length = np.array(np.linalg.norm(coef[rows]))
        value += float(radial_of(penalty).value(length, np.array(limit)))
    return value + share * strength * np.abs(coef).sum()


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_objective_is_equation_1_in_the_coordinates_given(penalty, missing):
    X, Y = photos(missing=missing, n_unlabelled=5)
    strengths = np.array([0.05, 0.1, 0.2])
    model = NOVA(GROUPS, penalty=penalty, strength=strengths).fit(X, Y)
    total = sum(equation(X, Y[:, t], model.coef_[:, t], model.intercept_[t], penalty, strengths[t]) for t in range(3))
    np.testing.assert_allclose(model.objective_[-1], total, rtol=1e-9)
    assert model.optimality_ <= 1e-6
    # No small change of any entry or intercept lowers it.
    rng = np.random.default_rng(1)
    for tag in range(3):
        here = equation(X, Y[:, tag], model.coef_[:, tag], model.intercept_[tag], penalty, strengths[tag])
        for _ in range(30):
            change, shift = 1e-3 * rng.normal(size=9), 1e-3 * rng.normal()
            coef, intercept = model.coef_[:, tag] + change, model.intercept_[tag] + shift
            assert equation(X, Y[:, tag], coef, intercept, penalty, strengths[tag]) >= here - 1e-12


def test_group_lasso_as_the_conic_solver_with_an_intercept():
    X, Y = photos(missing=0.2)
    model = NOVA(GROUPS, penalty="group_lasso", strength=0.08, group_weights="sqrt").fit(X, Y)
    for tag in range(3):
        known = Y[:, tag] != -1
        target = np.where(Y[known, tag] == 1, 1.0, -1.0)
        w, b = cp.Variable(9), cp.Variable()
        price = sum(0.08 * np.sqrt(rows.stop - rows.start) * cp.norm2(w[rows]) for rows in runs(SIZES))
        cost = cp.sum_squares(target - X[known] @ w - b) / (2 * known.sum()) + price
        cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)
        np.testing.assert_allclose(model.coef_[:, tag], w.value, atol=1e-4)
        np.testing.assert_allclose(model.intercept_[tag], b.value, atol=1e-3)
        weights = np.sqrt(SIZES)
        ours = equation(X, Y[:, tag], model.coef_[:, tag], model.intercept_[tag], "group_lasso", 0.08, weights)
        theirs = equation(X, Y[:, tag], w.value, b.value, "group_lasso", 0.08, weights)
        assert ours <= theirs + 1e-8


@pytest.mark.parametrize("penalty", ["group_scad", "lasso", "sparse_group_lasso"])
def test_each_tag_is_fitted_on_the_photos_where_it_is_known(penalty):
    X, Y = photos(missing=0.3, n_unlabelled=4)
    model = NOVA(GROUPS, penalty=penalty, strength=0.1, tol=1e-9).fit(X, Y)
    for tag in range(3):
        known = Y[:, tag] != -1
        alone = NOVA(GROUPS, penalty=penalty, strength=0.1, tol=1e-9).fit(X[known], Y[known, tag : tag + 1])
        np.testing.assert_allclose(model.coef_[:, tag], alone.coef_[:, 0], atol=1e-7)
        np.testing.assert_allclose(model.intercept_[tag], alone.intercept_[0], atol=1e-6)


@pytest.mark.medium
@pytest.mark.parametrize(
    "model",
    [
        NOVA(GROUPS, strength=0.1),
        NOVA(GROUPS, n_splits=3),
        NOVA(GROUPS, penalty="lasso", strength=0.05, boost="curds_and_whey"),
    ],
    ids=str,
)
def test_the_order_of_photos_and_tags_does_not_matter(model):
    X, Y = photos(seed=2, missing=0.1)
    rng = np.random.default_rng(3)
    rows, tags = rng.permutation(len(X)), np.array([2, 0, 1])
    first = model.fit(X, Y)
    coef, scores = first.coef_, first.transduction_
    second = model.fit(X[rows], Y[rows][:, tags])
    np.testing.assert_allclose(second.coef_, coef[:, tags], atol=1e-6)
    np.testing.assert_allclose(second.transduction_, scores[rows][:, tags], atol=1e-5)


def test_standardizing_is_fitting_scaled_features():
    X, Y = photos(seed=4)
    X = X * 10.0 ** np.linspace(-2, 2, 9)
    spread = X.std(axis=0)
    of_groups = np.concatenate(
        [np.full(m, np.sqrt((spread[rows] ** 2).sum())) for m, rows in zip(SIZES, runs(SIZES), strict=True)]
    )
    for standardize, scale in (("columns", spread), ("groups", of_groups)):
        for penalty in ("group_lasso", "group_scad", "lasso"):
            model = NOVA(GROUPS, penalty=penalty, strength=0.1, standardize=standardize, tol=1e-9).fit(X, Y)
            scaled = NOVA(GROUPS, penalty=penalty, strength=0.1, tol=1e-9).fit(X / scale, Y)
            np.testing.assert_allclose(model.coef_ * scale[:, None], scaled.coef_, atol=1e-6)
            np.testing.assert_allclose(model.decision_function(X), scaled.decision_function(X / scale), atol=1e-6)


def test_weights_of_groups():
    X, Y = photos(seed=5)
    weighted = NOVA(GROUPS, penalty="group_lasso", group_weights="sqrt").largest_strength(X, Y)
    plain = NOVA(GROUPS, penalty="group_lasso").largest_strength(X, Y)
    targets = np.where(Y == 1, 1.0, -1.0)
    pull = (X - X.mean(axis=0)).T @ (targets - targets.mean(axis=0)) / len(X)
    lengths = np.array([np.linalg.norm(pull[rows], axis=0) for rows in runs(SIZES)])
    np.testing.assert_allclose(plain, lengths.max(axis=0), rtol=1e-10)
    np.testing.assert_allclose(weighted, (lengths / np.sqrt(SIZES)[:, None]).max(axis=0), rtol=1e-10)


@pytest.mark.parametrize("penalty", ["lasso", "group_lasso", "sparse_group_lasso"])
def test_from_the_largest_strength_on_nothing_is_used(penalty):
    X, Y = photos(seed=6, missing=0.2)
    model = NOVA(GROUPS, penalty=penalty)
    largest = model.largest_strength(X, Y)
    above = NOVA(GROUPS, penalty=penalty, strength=largest * (1 + 1e-9)).fit(X, Y)
    assert not above.coef_.any()
    assert not above.selected_groups_.any()
    shares = [2.0 * (Y[:, t] == 1).sum() / (Y[:, t] != -1).sum() - 1.0 for t in range(3)]
    np.testing.assert_allclose(above.intercept_, shares, atol=1e-12)
    below = NOVA(GROUPS, penalty=penalty, strength=largest * 0.98).fit(X, Y)
    assert below.selected_groups_.any(axis=1).all()


def test_selected_groups_are_those_with_a_coefficient():
    X, Y = photos(seed=7)
    for penalty in ("group_scad", "lasso"):
        model = NOVA(GROUPS, penalty=penalty, strength=0.3).fit(X, Y)
        expected = [[model.coef_[rows, tag].any() for rows in runs(SIZES)] for tag in range(3)]
        np.testing.assert_array_equal(model.selected_groups_, expected)
    assert NOVA(strength=0.3).fit(X, Y).selected_groups_.shape == (3, 9)


def test_individual_penalties_do_not_look_at_groups():
    X, Y = photos(seed=8)
    for penalty, of_groups in [("lasso", "group_lasso"), ("scad", "group_scad"), ("mcp", "group_mcp")]:
        first = NOVA(GROUPS, penalty=penalty, strength=0.1).fit(X, Y)
        second = NOVA(None, penalty=of_groups, strength=0.1).fit(X, Y)
        np.testing.assert_array_equal(first.coef_, second.coef_)


def test_groups_wider_than_the_photos_and_columns_that_do_not_vary():
    rng = np.random.default_rng(9)
    X, Y = photos(n=14, seed=9)
    wide = np.concatenate([X, np.full((14, 2), 7.0), rng.normal(size=(14, 30))], axis=1)
    groups = FeatureGroups(["a", "constant", "wide"], [9, 2, 30])
    for penalty in ("group_lasso", "group_scad", "sparse_group_lasso"):
        model = NOVA(groups, penalty=penalty, strength=0.05).fit(wide, Y)
        assert model.optimality_ <= 1e-6
        assert not model.coef_[9:11].any()
        assert not model.selected_groups_[:, 1].any()
    # Few rows are solved without a Gram matrix; the same as with it.
    with_gram = NOVA(FeatureGroups(["a", "constant", "wide"], [9, 2, 30]), penalty="group_lasso", strength=0.05)
    doubled = with_gram.fit(np.repeat(wide, 4, axis=0), np.repeat(Y, 4, axis=0)).coef_
    alone = NOVA(groups, penalty="group_lasso", strength=0.05).fit(wide, Y).coef_
    np.testing.assert_allclose(doubled, alone, atol=1e-5)


# Strengths.


@pytest.mark.medium
def test_auto_takes_the_best_area_under_the_curve_over_the_folds():
    X, Y = photos(n=40, seed=10, missing=0.1)
    model = NOVA(GROUPS, penalty="group_lasso", n_splits=3).fit(X, Y)
    grid = model.strength_grid_
    scores = np.zeros_like(grid)
    for held_out in stable_folds(X, Y, n_splits=3, random_state=0):
        rest = np.setdiff1d(np.arange(len(X)), held_out)
        for point, row in enumerate(grid):
            part = NOVA(GROUPS, penalty="group_lasso", strength=row, tol=1e-9).fit(X[rest], Y[rest])
            for tag in range(3):
                known = Y[held_out, tag] != -1
                found = part.decision_function(X[held_out][known])[:, tag]
                scores[point, tag] += roc_auc_score(Y[held_out][known, tag], found) / 3
    np.testing.assert_allclose(model.strength_scores_, scores, atol=0.02)  # the folds are solved to 1e-3
    assert np.median(np.abs(model.strength_scores_ - scores)) < 1e-9
    for tag in range(3):  # the first point uses nothing
        areas, errors = model.strength_scores_[1:, tag], model.strength_errors_[1:, tag]
        tied = np.flatnonzero(areas == areas.max())
        assert model.strengths_[tag] == grid[1 + tied[np.argmin(errors[tied])], tag]
    fixed = NOVA(GROUPS, penalty="group_lasso", strength=model.strengths_).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, fixed.coef_)
    assert fixed.strength_scores_ is None


def test_a_tag_that_can_be_told_is_not_left_without_any_group():
    """Folds of few photos tell it at a strength at which all photos together use nothing."""
    rng = np.random.default_rng(0)
    cluster = np.arange(18) % 3
    X = 8.0 * (np.arange(6) % 3 == cluster[:, None]) + 0.5 * rng.normal(size=(18, 6))
    Y = (cluster[:, None] == np.arange(3)).astype(np.int8)
    model = NOVA(n_splits=2).fit(X, Y)
    equal = np.zeros_like(model.strength_grid_)
    by_folds_alone = choose_strengths(HeldOutFigures(model.strength_scores_, equal, equal), model.strength_grid_)
    assert not NOVA(strength=by_folds_alone).fit(X, Y).selected_groups_.any(axis=1).all()
    assert model.selected_groups_.any(axis=1).all()


def test_equal_areas_take_the_smallest_error_then_the_largest_strength():
    strengths = np.array([[4.0, 40.0, 400.0, 4e3], [2.0, 20.0, 200.0, 2e3], [1.0, 10.0, 100.0, 1e3]])
    areas = np.array([[0.5, 0.5, np.nan, 0.9], [0.9, 0.6, np.nan, 0.9], [0.9, 0.9, np.nan, 0.9]])
    errors = np.array([[0.9, 0.9, np.nan, 0.9], [0.9, 0.9, np.nan, 0.2], [0.9, 0.9, np.nan, 0.3]])
    found = HeldOutFigures(areas, errors, np.zeros_like(errors))
    np.testing.assert_array_equal(choose_strengths(found, strengths), [2.0, 10.0, 100.0, 2e3])
    nothing = HeldOutFigures(*[np.full((3, 4), np.nan)] * 3)
    np.testing.assert_array_equal(choose_strengths(nothing, strengths), [2.0, 20.0, 200.0, 2e3])


def test_one_standard_error_of_the_squared_error():
    strengths = np.array([[4.0, 4.0, 4.0], [2.0, 2.0, 2.0], [1.0, 1.0, 1.0]])
    errors = np.array([[0.50, 0.50, 0.9], [0.45, 0.30, 0.9], [0.40, 0.25, 0.9]])
    deviations = np.array([[0.2, 0.1, 0.1], [0.2, 0.1, 0.1], [0.1, 0.06, 0.1]])
    found = HeldOutFigures(np.ones((3, 3)), errors, deviations)
    # Within 0.10 of 0.40: the first; within 0.06 of 0.25: the second; equal ones: the largest.
    np.testing.assert_array_equal(choose_strengths(found, strengths, "error"), [4.0, 2.0, 4.0])


def test_errors_of_held_out_photos_are_those_of_their_scores():
    X, Y = photos(n=40, seed=10, missing=0.1)
    coefs = np.random.default_rng(0).normal(size=(2, 9, 3))

    def path(features, labels, strengths):
        for coef in coefs:
            yield coef, np.array([0.1, -0.2, 0.0])

    found = held_out_figures(X, Y, np.ones((2, 3)), path, n_splits=4, random_state=0)
    for point, coef in enumerate(coefs):
        scores = X @ coef + np.array([0.1, -0.2, 0.0])
        for tag in range(3):
            known = Y[:, tag] != -1
            errors = (np.where(Y[known, tag] == 1, 1.0, -1.0) - scores[known, tag]) ** 2
            assert found.errors[point, tag] == pytest.approx(errors.mean())
            assert found.deviations[point, tag] == pytest.approx(errors.std() / np.sqrt(known.sum()))


def test_where_every_ranking_is_perfect_scores_still_tell_yes_from_no():
    """Clusters far apart: nearly every strength ranks without a fault, most of them leave all scores below 0."""
    rng = np.random.default_rng(0)
    cluster = np.arange(200) % 8
    X = np.eye(8)[cluster] + 0.02 * rng.normal(size=(200, 8))
    Y = np.eye(8, dtype=np.int8)[cluster]
    for selection in ("auc", "error"):
        model = NOVA(penalty="lasso", selection=selection).fit(X, Y)
        assert (model.strength_scores_ == 1.0).sum(axis=0).min() > 5
        np.testing.assert_array_equal(model.transduction_ > 0, Y == 1)


def test_a_tag_that_no_fold_can_score():
    X, Y = photos(n=30, seed=11)
    Y[:, 1] = 0
    Y[4, 1] = 1  # its one photo is held out or learnt from, never both

    def path(features, labels, strengths):
        assert len(features) < 30
        for _ in strengths:
            yield np.ones((9, 3)), np.zeros(3)

    found = held_out_figures(X, Y, np.ones((2, 3)), path, n_splits=3, random_state=0)
    for figures in (found.areas, found.errors):
        np.testing.assert_array_equal(np.isnan(figures), [[False, True, False]] * 2)
    assert np.isfinite(NOVA(GROUPS, penalty="group_lasso", n_splits=3).fit(X, Y).strengths_).all()


def test_too_few_photos_to_choose_by_warn():
    X, Y = photos(n=12, seed=12)
    Y[2:] = -1
    with pytest.warns(UserWarning, match="no held-out photos could be scored"):
        model = NOVA(GROUPS).fit(X, Y)
    assert np.isfinite(model.strengths_).all()


@pytest.mark.parametrize("penalty", ["group_lasso", "group_scad", "mcp"])
def test_points_of_the_path_are_separate_fits(penalty):
    X, Y = photos(seed=13, missing=0.1)
    Y[:, 2] = 1
    model = NOVA(GROUPS, penalty=penalty)
    path = model.path(X, Y, n_strengths=8, smallest=0.05)
    assert path.strengths.shape == path.intercepts.shape == path.objectives.shape == (8, 3)
    assert path.coefs.shape == (8, 9, 3)
    assert path.optimalities.shape == (8,)
    assert path.optimalities.max() <= 1e-6
    assert np.isnan(path.strengths[:, 2]).all()
    assert np.isnan(path.objectives[:, 2]).all()
    assert not path.coefs[0].any()
    np.testing.assert_allclose(path.strengths[-1, :2], 0.05 * model.largest_strength(X, Y)[:2])
    assert (np.diff(path.strengths[:, :2], axis=0) < 0).all()
    for row, coef, intercept, values in zip(path.strengths, path.coefs, path.intercepts, path.objectives, strict=True):
        alone = NOVA(GROUPS, penalty=penalty, strength=row[:2]).fit(X, Y[:, :2])
        assert values[:2].sum() <= alone.objective_[-1] + 1e-5
        for tag in range(2):
            value = equation(X, Y[:, tag], coef[:, tag], intercept[tag], penalty, row[tag])
            np.testing.assert_allclose(values[tag], value, rtol=1e-7, atol=1e-10)
    given = model.path(X, Y, strengths=[0.3, 0.1])
    np.testing.assert_array_equal(given.strengths[:, :2], [[0.3, 0.3], [0.1, 0.1]])


@pytest.mark.parametrize("penalty", ["group_scad", "group_mcp", "mcp"])
def test_a_default_path_begins_where_nothing_is_worth_its_price(penalty):
    """With small features a concave penalty keeps groups far above the strength at which zero is stationary."""
    for seed in range(4):
        X, Y = photos(seed=seed)
        path = NOVA(GROUPS, penalty=penalty).path(0.1 * X, Y, n_strengths=3)
        assert not path.coefs[0].any()
        assert path.coefs[-1].any()


# Solvers.


def test_solvers_end_as_they_promise():
    lower = 0
    for seed in range(6):
        X, Y = photos(n=40, seed=seed)
        X = 0.3 * X
        values = {
            solver: NOVA(GROUPS, strength=0.15, solver=solver).fit(X, Y).objective_[-1]
            for solver in ("auto", "descent", "lqa")
        }
        assert values["auto"] <= values["descent"] + 1e-12
        assert values["auto"] <= values["lqa"] + 1e-6
        lower += values["auto"] < values["lqa"] - 1e-6
    assert lower > 0


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_objective_never_rises(penalty):
    X, Y = photos(seed=14, missing=0.2)
    history = np.array(NOVA(GROUPS, penalty=penalty, strength=0.03).fit(X, Y).objective_)
    assert (np.diff(history) <= 1e-12).all()


def test_single_and_double_precision_agree():
    X, Y = photos(seed=15)
    for penalty in ("group_scad", "lasso", "sparse_group_lasso"):
        single = NOVA(GROUPS, penalty=penalty, strength=0.1).fit(X.astype(np.float32), Y)
        double = NOVA(GROUPS, penalty=penalty, strength=0.1).fit(X, Y)
        assert single.coef_.dtype == np.float64
        np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-5)


def test_tags_that_do_not_vary_are_named_and_get_one_score():
    X, Y = photos(seed=16)
    Y[:, 1], Y[2:, 2] = 1, -1
    Y[:2, 2] = 0
    with pytest.warns(UserWarning, match="NOVA: tags? 1 and 2|NOVA: .*1.*2.* without a known positive"):
        model = NOVA(GROUPS, strength=0.1).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X)[:, 1:], np.tile([1.0, -1.0], (50, 1)))
    assert np.isnan(model.strengths_[1:]).all()
    assert not model.selected_groups_[1:].any()
    with pytest.warns(UserWarning, match="NOVA: "):
        chosen = NOVA(GROUPS, n_splits=3, boost="curds_and_whey").fit(X, Y)
    np.testing.assert_array_equal(np.isnan(chosen.strengths_), [False, True, True])
    np.testing.assert_array_equal(chosen.decision_function(X)[:, 1:], np.tile([1.0, -1.0], (50, 1)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        NOVA(GROUPS, strength=0.1).fit(X, Y[:, :1])


# Boosting.


@pytest.mark.parametrize(("boost", "canonical"), [("curds_and_whey", "plain"), ("structured", "structured")])
def test_boosting_is_curds_and_whey_with_scores_of_photos_held_out(boost, canonical):
    X, Y = photos(n=60, c=4, seed=17, missing=0.05, n_unlabelled=6)
    boosted = NOVA(GROUPS, strength=0.1, boost=boost, n_splits=3).fit(X, Y)
    plain = NOVA(GROUPS, strength=0.1).fit(X, Y)
    held_out = out_of_fold_scores(plain, X, Y, n_splits=3)
    by_hand = CurdsAndWhey(canonical=canonical, n_splits=3).fit(X, Y, groups=GROUPS, scores=held_out)
    assert by_hand.held_out_
    np.testing.assert_allclose(boosted.transduction_, by_hand.transform(plain.transduction_), atol=1e-12)
    new = photos(n=10, seed=18)[0]
    np.testing.assert_allclose(
        boosted.decision_function(new), by_hand.transform(plain.decision_function(new)), atol=1e-12
    )
    np.testing.assert_array_equal(boosted.coef_, plain.coef_)
    assert plain.boost_ is None


@pytest.mark.medium
def test_held_out_scores_of_boosting_are_those_of_the_chosen_strengths():
    X, Y = photos(n=40, seed=19)
    boosted = NOVA(GROUPS, boost="curds_and_whey", n_splits=3).fit(X, Y)
    held_out = out_of_fold_scores(NOVA(GROUPS, strength=boosted.strengths_), X, Y, n_splits=3)
    by_hand = CurdsAndWhey(n_splits=3).fit(X, Y, groups=GROUPS, scores=held_out)
    np.testing.assert_array_equal(boosted.boost_.shrinkage_, by_hand.shrinkage_)


# What is refused.


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"penalty": "ridge"}, "'penalty' parameter of NOVA must be one of 'lasso', 'group_lasso'"),
        ({"group_weights": "size"}, "'group_weights' parameter of NOVA must be one of 'none', 'sqrt'"),
        ({"solver": "newton"}, "'solver' parameter of NOVA must be one of 'auto', 'descent', 'lqa'"),
        ({"boost": "ada"}, "'boost' parameter of NOVA must be one of 'curds_and_whey', 'structured' or None"),
        ({"standardize": True}, "'standardize' parameter of NOVA must be one of 'columns', 'groups' or None"),
        ({"groups": [3, 6]}, r"'groups' parameter of NOVA must be an instance of .*FeatureGroups' or None"),
        (
            {"strength": "best"},
            r"'strength' parameter of NOVA must be 'auto', a float in the range .*Got 'best'",
        ),
        ({"strength": 0.0}, r"in the range \(0\.0, inf\)"),
        ({"strength": [0.1, 0.2]}, r"one number or 3, got shape \(2,\)"),
        ({"strength": [0.1, np.nan, 0.2]}, "positive"),
        ({"concavity": 2.0}, "SCAD needs a concavity above 2"),
        ({"concavity": 1.0, "penalty": "mcp"}, "MCP needs a concavity above 1"),
        (
            {"penalty": "sparse_group_lasso", "entry_share": 1.0},
            r"'entry_share' parameter .* the range \[0\.0, 1\.0\)",
        ),
        ({"penalty": "sparse_group_lasso", "solver": "lqa"}, "take 'auto'"),
        ({"groups": FeatureGroups(["a"], [4])}, "4"),
    ],
)
def test_errors_say_what_was_expected(parameters, message):
    X, Y = photos()
    with pytest.raises(InvalidInputError, match=message):
        NOVA(**parameters).fit(X, Y)


def test_errors_of_a_path():
    X, Y = photos()
    with pytest.raises(InvalidInputError, match="smallest share between 0 and 1"):
        NOVA(GROUPS).path(X, Y, smallest=1.0)
    with pytest.raises(InvalidInputError, match="positive"):
        NOVA(GROUPS).path(X, Y, strengths=[0.1, -0.1])


@pytest.mark.parametrize("penalty", ["lasso", "group_lasso", "sparse_group_lasso"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_beyond_single_precision(penalty, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 80))
    Y = (X[:, :3] > 0).astype(np.int8)
    plain = NOVA(penalty=penalty, strength=0.1, tol=1e-8).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = NOVA(penalty=penalty, strength=0.1e20, tol=1e-8).fit((X * 1e20).astype(dtype), Y)
        with pytest.raises(InvalidInputError, match="NOVA bears features of up to"):
            NOVA(penalty=penalty).fit(X * 1e200, Y)
    # These penalties are lengths: with λ scaled as the features are, the coefficients are those of the plain ones.
    np.testing.assert_allclose(large.coef_ * 1e20, plain.coef_, atol=1e-5 if dtype == np.float32 else 1e-7)


# Kernels of groups, kept or dropped whole.


@pytest.mark.parametrize("penalty", ["group_lasso", "group_scad"])
def test_the_linear_kernel_is_the_columns_themselves(penalty):
    X, Y = photos(n=60, seed=3, missing=0.1)
    options = {"penalty": penalty, "strength": 0.05, "tol": 1e-9}
    plain = NOVA(GROUPS, **options).fit(X, Y)
    turned = NOVA(GROUPS, kernel="linear", energy=1.0, **options).fit(X, Y)
    np.testing.assert_allclose(turned.transduction_, plain.transduction_, atol=1e-6)
    np.testing.assert_allclose(turned.decision_function(X[:5] + 1.0), plain.decision_function(X[:5] + 1.0), atol=1e-6)
    np.testing.assert_array_equal(turned.selected_groups_, plain.selected_groups_)
    np.testing.assert_allclose(turned.largest_strength(X, Y), plain.largest_strength(X, Y), rtol=1e-9)


def test_a_kernel_tells_what_no_line_does_and_the_other_kernels_go():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    Y = (np.square(X[:, :2]).sum(axis=1) > 1.4).astype(np.int8)[:, None]  # a ring in the first group
    groups = FeatureGroups(["ring", "noise", "more"], [2, 2, 2])
    kept = np.where(np.arange(200)[:, None] < 150, Y, -1).astype(np.int8)
    line = NOVA(groups).fit(X, kept)
    curved = NOVA(groups, kernel="rbf", n_splits=3).fit(X, kept)
    rest = slice(150, None)
    assert roc_auc_score(Y[rest, 0], curved.transduction_[rest, 0]) > 0.95
    assert roc_auc_score(Y[rest, 0], line.transduction_[rest, 0]) < 0.75
    assert curved.selected_groups_[0, 0]
    norms = np.sqrt(np.add.reduceat(np.square(curved.coef_[:, 0]), [0, *np.cumsum(curved._groups.sizes)[:-1]]))
    assert norms[0] > 3 * norms[1:].max()


def test_scores_of_kernels_can_be_boosted():
    X, Y = photos(n=60, seed=3)
    plain, boosted = (
        NOVA(GROUPS, kernel="rbf", strength=0.05, boost=boost).fit(X, Y) for boost in (None, "structured")
    )
    np.testing.assert_array_equal(boosted.coef_, plain.coef_)
    np.testing.assert_allclose(boosted.transduction_, boosted.boost_.transform(plain.transduction_), atol=1e-9)
    np.testing.assert_allclose(boosted.decision_function(X), boosted.transduction_, atol=1e-9)


def test_landmarks_of_kernels_are_asked_for():
    X, Y = photos(n=60, seed=3)
    model = NOVA(GROUPS, kernel="rbf", n_landmarks=10, strength=0.05).fit(X, Y)
    assert len(model.coef_) <= 10 * len(GROUPS)
    alone = NOVA(kernel="rbf", n_landmarks=10, strength=0.05).fit(X, Y)
    assert alone.selected_groups_.shape == (3, 1)
    np.testing.assert_allclose(alone.transduction_, alone.decision_function(X), atol=1e-12)
