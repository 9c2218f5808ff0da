"""M3L: independent machines for R = I, and the optimality conditions of the joint problem."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from tagloom.exceptions import InvalidInputError
from tagloom.methods.baselines.m3l import M3L, solve_kronecker_svm


def make_problem(n=50, d=5, c=4, *, labelled=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    coef = rng.normal(size=(d, c))
    coef[:, 1] = coef[:, 0] + 0.2 * rng.normal(size=d)
    Y = (X @ coef + 0.5 * rng.normal(size=(n, c)) > 0.1).astype(np.int8)
    Y[labelled:] = -1
    return X, Y


def test_identity_is_independent_svms_without_bias():
    X, Y = make_problem()
    Y[:4, 2] = -1
    model = M3L("linear", C=0.5, tag_similarity="identity", tol=1e-6, max_iter=50_000).fit(X, Y)
    for tag in range(4):
        known = Y[:, tag] != -1
        reference = LinearSVC(
            C=2 * 0.5, loss="hinge", fit_intercept=False, tol=1e-9, max_iter=1_000_000, random_state=0
        )
        reference.fit(X[known], Y[known, tag])
        np.testing.assert_allclose(model.transduction_[:, tag], reference.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("entrywise", [False, True])
def test_optimality_conditions_of_the_joint_problem(entrywise):
    X, Y = make_problem()
    if entrywise:
        Y[np.random.default_rng(1).random(Y.shape) < 0.2] = -1
    model = M3L(C=0.7, tol=1e-5, max_iter=50_000).fit(X, Y)
    known = Y[:30] != -1
    signs = np.where(known, 2.0 * Y[:30] - 1, 0.0)
    K = model.kernel_.gram(X[:30])
    alpha = model.alpha_
    scores = K @ (alpha * signs) @ model.tag_similarity_
    np.testing.assert_allclose(scores, model.transduction_[:30], atol=1e-9)
    margin = signs * scores
    assert (alpha >= 0).all()
    assert (alpha <= 1.4 + 1e-12).all()
    assert not alpha[~known].any()
    assert (margin[known & (alpha == 0)] >= 1 - 1e-5).all()
    assert (margin[known & (alpha == 1.4)] <= 1 + 1e-5).all()
    inner = known & (alpha > 0) & (alpha < 1.4)
    np.testing.assert_allclose(margin[inner], 1.0, atol=1e-5)
    # No duality gap: the primal objective with R = inverse of the similarity.
    dual = alpha.sum() - 0.5 * (alpha * margin).sum()
    assert model.objective_[-1] == pytest.approx(dual, rel=1e-4)


def test_similar_tags_share_what_they_know():
    ties = np.eye(4)
    ties[0, 1] = ties[1, 0] = 0.9
    right = np.zeros((2, 4))
    for seed in range(4):
        X, Y = make_problem(160, labelled=60, seed=seed)
        _, truth = make_problem(160, labelled=160, seed=seed)
        Y[8:, 1] = -1
        for row, similarity in enumerate((ties, "identity")):
            model = M3L(tag_similarity=similarity, tol=1e-3).fit(X, Y)
            right[row, seed] = ((model.transduction_[60:, 1] > 0) == (truth[60:, 1] == 1)).mean()
    assert right[0].mean() > right[1].mean() + 0.05


def test_correlation_of_tags():
    X, Y = make_problem()
    model = M3L(shrinkage=0.25).fit(X, Y)
    expected = 0.25 * np.eye(4) + 0.75 * np.corrcoef(Y[:30].T)
    np.testing.assert_allclose(model.tag_similarity_, expected, atol=1e-10)


def test_new_photos():
    X, Y = make_problem()
    model = M3L().fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), model.transduction_, atol=1e-10)


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:30, 3] = 0
    with pytest.warns(UserWarning, match="M3L: tag 3 is without"):
        model = M3L().fit(X, Y)
    np.testing.assert_allclose(model.transduction_[:, 3], np.log(0.5 / 30.5))
    assert not model.alpha_[:, 3].any()


def test_too_few_iterations_warn():
    with pytest.warns(ConvergenceWarning, match="M3L was left at an optimality of"):
        M3L(max_iter=2).fit(*make_problem())


def test_a_kernel_of_zeros():
    alpha, violation, _ = solve_kronecker_svm(np.zeros((3, 3)), np.eye(1), np.ones((3, 1)), 2.0, tol=1e-6, max_iter=500)
    np.testing.assert_allclose(alpha, 2.0)
    assert violation == 0.0


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 0},
        {"tag_similarity": "cosine"},
        {"tag_similarity": np.eye(3)},
        {"tag_similarity": -np.eye(4)},
        {"shrinkage": 2.0},
    ],
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        M3L(**parameters).fit(*make_problem())
