import numpy as np
import pytest
from sklearn.svm import SVC

from benchmarks.speed import harness, manifold
from tagloom.graph import knn_graph
from tagloom.kernels import kernel_matrix
from tagloom.methods.baselines.lapsvm import LapSVM

SMALL = (80, 5, 30, 5)


def test_the_case_stands_without_the_peer(tmp_path, monkeypatch):
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    monkeypatch.setattr(manifold, "REPEATS", 1)
    stated = manifold.exact_case(*SMALL, 1)
    entries = {entry["name"]: entry for entry in stated["entries"]}
    assert "not there" in entries[manifold.PEER]["skipped"]
    assert list(stated["ratios"]) == ["LapSVM of all tags in eigendecompositions"]
    ours, literal = entries["tagloom LapSVM"], entries["LapSVM as printed, tag by tag"]
    assert max(ours["accuracy"]["KKT"], literal["accuracy"]["KKT"]) < 1e-8
    assert ours["accuracy"]["MAP"] == pytest.approx(literal["accuracy"]["MAP"])
    assert literal["share"][0] == manifold.PEER_TAGS


def test_the_peer_is_compared_with_lapsvm_where_it_ran():
    entries = [
        {"name": "tagloom LapSVM", "cpu": 2.0},
        {"name": manifold.PEER, "cpu": 300.0},
        {"name": manifold.EIGH, "cpu": 4.0},
    ]
    assert list(manifold.exact_ratios(entries).values()) == [0.5, 150.0]


# Environments of peers are made by hand (`make bench-env`), so this is a test only where there is one.
if harness.interpreter("lamda-ssl").is_file():

    @pytest.mark.slow
    def test_the_peer_solves_the_same_problem_with_the_hinge(tmp_path):
        X, Y, _ = manifold.problem(*SMALL)
        signs = manifold.signs_of(Y)[: SMALL[2], manifold.learnt_tags(Y)[:2]]
        graph = knn_graph(X, LapSVM().n_neighbors)
        K = kernel_matrix("rbf", X)
        inputs = manifold.peer_inputs(X, graph.weights.toarray(), signs)
        with harness.Worker("p", "peers/lamda_ssl.py:lapsvm", inputs, tmp_path, environment="lamda-ssl") as peer:
            peer.once()
            found = peer.result()
        # ½[Σ (1 - yf)₊ + γ_A ‖f‖² + γ_I fᵀLf] is an SVM with C = ½ in the kernel K (γ_A I + γ_I L K)⁻¹.
        system = LapSVM().ambient_weight * np.eye(len(X)) + LapSVM().graph_weight * (graph.laplacian() @ K)
        bent = (K @ np.linalg.inv(system))[:, : len(signs)]
        for tag, y in enumerate(signs.T):
            machine = SVC(kernel="precomputed", C=0.5, tol=1e-8).fit(bent[: len(signs)], y)
            scores = K @ found["alpha"][:, tag] + found["b"][tag]
            np.testing.assert_allclose(scores, machine.decision_function(bent), atol=1e-2)
