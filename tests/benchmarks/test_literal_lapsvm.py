"""The printed LapSVM against ours."""

import numpy as np

from benchmarks.literal.lapsvm import lapsvm
from tagloom.graph import knn_graph
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods.baselines.lapsvm import LapSVM


def test_the_printed_newton_steps_reach_the_same_machine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    Y = (X[:, :2] + 0.5 * rng.normal(size=(50, 2)) > 0).astype(np.int8)
    Y[20:] = -1
    model = LapSVM(gamma=0.3, ambient_weight=0.1, graph_weight=0.05).fit(X, Y)
    K, L = kernel_matrix("rbf", X, gamma=0.3), knn_graph(X, 15).laplacian().toarray()
    signs = np.where(Y == -1, 0.0, 2.0 * Y - 1)
    for tag in range(2):
        alpha, b = lapsvm(K, L, signs[:, tag], 0.1, 0.05)
        np.testing.assert_allclose(K @ alpha + b, model.transduction_[:, tag], atol=1e-9)
