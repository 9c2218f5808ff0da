"""Multiple-kernel SVM: its objective falls, and with one kernel it is an SVM with another C."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import InvalidInputError
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods.baselines.mkl import MultipleKernelSVM

GROUPS = FeatureGroups(["useful", "noise"], [3, 4])


def make_problem(n=60, c=3, *, labelled=40, seed=0):
    """Tags that depend on the first group alone."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 7))
    Y = (X[:, :3] @ rng.normal(size=(3, c)) + 0.2 * rng.normal(size=(n, c)) > 0.1).astype(np.int8)
    Y[labelled:] = -1
    Y[:6, 1] = -1
    return X, Y


def test_one_kernel_is_an_svm_with_another_c():
    X, Y = make_problem()
    model = MultipleKernelSVM(kernels="rbf", gamma=0.2, C=3.0, tol=1e-9).fit(X, Y)
    for tag in range(3):
        known = Y[:, tag] != -1
        reference = SVC(C=3.0 * model.kernel_weights_[0, tag], gamma=0.2, tol=1e-8).fit(X[known], Y[known, tag])
        np.testing.assert_allclose(model.transduction_[:, tag], reference.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("per_tag", [True, False])
def test_the_objective_falls_and_is_the_documented_one(per_tag):
    X, Y = make_problem()
    model = MultipleKernelSVM(GROUPS, gamma=0.2, C=2.0, weight_penalty=0.5, per_tag=per_tag, tol=1e-6).fit(X, Y)
    assert len(model.objective_) > 2
    assert (np.diff(model.objective_) <= 1e-6 * model.objective_[0]).all()
    signs = np.where(Y == -1, 0.0, 2.0 * Y - 1)
    kernels = [kernel_matrix("rbf", X[:40, part], gamma=0.2) for part in (slice(0, 3), slice(3, 7))]
    d, a = model.kernel_weights_, model.dual_coef_
    norms = np.array([[d[k, t] ** 2 * a[:, t] @ kernels[k] @ a[:, t] for t in range(3)] for k in range(2)])
    loss = 2.0 * (np.maximum(1 - signs * model.transduction_, 0) * (signs != 0)).sum()
    penalty = 0.25 * (d**2).sum() / (1 if per_tag else 3)
    assert model.objective_[-1] == pytest.approx(0.5 * (norms / d).sum() + loss + penalty, rel=1e-6)
    # The weights are the best for the machines, nearly: the last step was small.
    best = np.cbrt((norms if per_tag else norms.sum(axis=1, keepdims=True)) / (2 * 0.5))
    np.testing.assert_allclose(d, np.broadcast_to(best, d.shape), rtol=0.02)


def test_the_useful_group_has_the_larger_weight():
    X, Y = make_problem()
    model = MultipleKernelSVM(GROUPS, C=10.0).fit(X, Y)
    assert (model.kernel_weights_[0] > model.kernel_weights_[1]).all()
    shared = MultipleKernelSVM(GROUPS, C=10.0, per_tag=False).fit(X, Y)
    np.testing.assert_array_equal(shared.kernel_weights_, shared.kernel_weights_[:, :1].repeat(3, axis=1))


def test_several_kernels_and_precomputed_ones_side_by_side():
    X, Y = make_problem()
    two = MultipleKernelSVM(kernels=("linear", "rbf"), gamma=0.2).fit(X, Y)
    side_by_side = np.hstack([X @ X.T, kernel_matrix("rbf", X, gamma=0.2)])
    given = MultipleKernelSVM(FeatureGroups(["a", "b"], [60, 60]), kernels="precomputed").fit(side_by_side, Y)
    np.testing.assert_allclose(given.transduction_, two.transduction_, atol=1e-6)
    np.testing.assert_allclose(given.decision_function(side_by_side[:4]), two.decision_function(X[:4]), atol=1e-6)


def test_tags_that_cannot_be_learnt_are_named_and_constant():
    X, Y = make_problem()
    Y[:40, 0] = 1
    with pytest.warns(UserWarning, match="MultipleKernelSVM: tag 0 is without"):
        model = MultipleKernelSVM().fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X)[:, 0], np.log(40.5 / 0.5))


def test_too_few_alternations_warn():
    with pytest.warns(ConvergenceWarning, match="3 tags still changed after 1 alternations"):
        MultipleKernelSVM(max_iter=1).fit(*make_problem())


@pytest.mark.parametrize(
    "parameters",
    [
        {"C": 0},
        {"weight_penalty": 0},
        {"kernels": ()},
        {"groups": FeatureGroups(["a"], [3])},
        {"groups": GROUPS, "kernels": ("rbf",)},
    ],
)
def test_wrong_parameters_are_refused(parameters):
    with pytest.raises(InvalidInputError):
        MultipleKernelSVM(**parameters).fit(*make_problem())
