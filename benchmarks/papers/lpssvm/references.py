"""Each baseline beside a library or a dense solution of its definition, on the same draws of one set.

Rates are the shares of unlabelled rows that get the right class. Where labels are searched for (the transductive SVM),
every labelling of a few points is tried; the gap is that of the objective.
"""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize
from sklearn.svm import SVC, LinearSVC

from benchmarks.experiment import Experiment
from benchmarks.literal.lapsvm import lapsvm
from benchmarks.literal.lpssvm import lpssvm_corrected
from benchmarks.runner import open_draw
from tagloom.graph import knn_graph
from tagloom.kernels.matrix import kernel_matrix
from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.baselines.lpp import LPP, LPPSVM
from tagloom.methods.baselines.m3l import M3L
from tagloom.methods.baselines.mkl import MultipleKernelSVM
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.methods.baselines.tsvm import TransductiveSVM
from tagloom.methods.lpssvm import LPSSVM

Floats = NDArray[np.float64]
#: Scores of all rows by us and by the reference, for X and y with 1, -1, and 0 where a row is not labelled.
Pair = Callable[[Floats, Floats], tuple[Floats, Floats]]

#: γ_A and γ_I of LapRLS and LapSVM, neighbours, and dimensions of LPP.
AMBIENT, GRAPH, NEIGHBORS, DIMENSIONS = 0.005, 0.045, 15, 5
WITHIN = 0.02


def compare_baselines(experiment: Experiment, data: str, condition: str, draws: int) -> dict[str, Any]:
    """Return a table of rates, ours and the reference's, of the transductive SVM's objective, and of kernel LPP.

    Parameters
    ----------
    experiment : Experiment
        Whose draws are used.
    data, condition : str
        Its part.
    draws : int
        How many of them.
    """
    rates: dict[str, list[tuple[float, float]]] = {name: [] for name in PAIRS}
    for draw in range(draws):
        dataset, split, X, Y = open_draw(experiment, data, draw, condition=condition)
        truth, rest = 2.0 * dataset.Y[split.fit_rows, 0] - 1.0, (Y[:, 0] == -1)
        y = np.where(rest, 0.0, truth)
        for name, (pair, _) in PAIRS.items():
            rates[name].append(tuple(float(np.mean((f > 0) == (truth > 0), where=rest)) for f in pair(X, y)))  # type: ignore[arg-type]
    rows = [[name, PAIRS[name][1], *_compared(np.mean(found, axis=0))] for name, found in rates.items()]
    _, _, X, Y = open_draw(experiment, data, 0, condition=condition)
    header = ["baseline", "reference", "rate here", "rate of the reference", "difference", "within 2 %"]
    where = f"{data}, {condition}, mean of {draws} draws:"
    return {
        "tables": [
            {"caption": where, "header": header, "rows": rows},
            transductive_gap(X, Y[:, 0]),
            full_rank_lpp(X),
        ]
    }


def _compared(rates: Floats) -> list[str]:
    ours, theirs = rates
    near = "yes" if abs(ours - theirs) <= WITHIN * theirs else "no"
    return [f"{ours:.4f}", f"{theirs:.4f}", f"{ours - theirs:+.4f}", near]


def _labels(y: Floats) -> NDArray[np.int8]:
    return np.where(y == 0, -1, y > 0).astype(np.int8)[:, None]


def _scores(model: Any, X: Floats, y: Floats) -> Floats:
    found: Floats = model.fit(X, _labels(y)).transduction_[:, 0]
    return found


def svm(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Compare with scikit-learn's SVC on feature vectors."""
    known = y != 0
    machine = SVC(C=1.0, gamma=1.0 / X.shape[1], tol=1e-5).fit(X[known], y[known])
    return _scores(KernelSVM(gamma="dimension"), X, y), machine.decision_function(X)


def laprls(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Compare with the normal equations in all n + 1 unknowns."""
    K, L = kernel_matrix("rbf", X, gamma="dimension"), knn_graph(X, NEIGHBORS).laplacian().toarray()
    known, n = (y != 0).astype(float), len(y)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = known[:, None] * K + AMBIENT * np.eye(n) + GRAPH * L @ K
    system[:n, n] = known
    system[n, :n] = known @ K
    system[n, n] = known.sum()
    found = np.linalg.solve(system, np.append(y, y.sum()))
    model = LapRLS(gamma="dimension", ambient_weight=AMBIENT, graph_weight=GRAPH, n_neighbors=NEIGHBORS)
    return _scores(model, X, y), K @ found[:n] + found[n]


def laplacian_svm(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Compare with Newton's method in all n + 1 unknowns, as printed."""
    K, L = kernel_matrix("rbf", X, gamma="dimension"), knn_graph(X, NEIGHBORS).laplacian().toarray()
    alpha, b = lapsvm(K, L, y, AMBIENT, GRAPH)
    model = LapSVM(gamma="dimension", ambient_weight=AMBIENT, graph_weight=GRAPH, n_neighbors=NEIGHBORS)
    return _scores(model, X, y), K @ alpha + b


def lpp_svm(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Compare with SciPy's generalised eigenvectors of XᵀLX and XᵀDX, and scikit-learn's SVC on the projections."""
    graph = knn_graph(X, NEIGHBORS)
    L, degrees = graph.laplacian().toarray(), graph.degrees
    _, a = eigh(X.T @ L @ X, X.T @ (degrees[:, None] * X))
    projected = np.sqrt(degrees.sum() / DIMENSIONS) * (X @ a[:, :DIMENSIONS])
    known = y != 0
    machine = SVC(kernel="linear", tol=1e-5).fit(projected[known], y[known])
    model = LPPSVM(LPP(DIMENSIONS, kernel="linear", energy=1.0, graph=graph))
    return _scores(model, X, y), machine.decision_function(projected)


def multiple_kernels(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Compare with the reference's own way: a gradient in the kernel weights, each value an SVM (SciPy's L-BFGS-B)."""
    kernels = np.array([kernel_matrix("rbf", X, gamma="dimension"), kernel_matrix("linear", X)])
    known = np.flatnonzero(y)
    kernels /= np.array([np.diag(K)[known].mean() for K in kernels])[:, None, None]
    grams = kernels[:, known[:, None], known]

    def dual(weights: Floats) -> tuple[Floats, float]:
        machine = SVC(kernel="precomputed", tol=1e-6).fit(np.tensordot(weights, grams, axes=1), y[known])
        coef = np.zeros(len(known))
        coef[machine.support_] = machine.dual_coef_[0]
        return coef, float(machine.intercept_[0])

    def value(weights: Floats) -> tuple[float, Floats]:
        coef, _ = dual(weights)
        squares = np.einsum("i,kij,j->k", coef, grams, coef)
        return float(np.abs(coef).sum() - 0.5 * weights @ squares + 0.5 * weights @ weights), weights - 0.5 * squares

    weights = minimize(value, np.full(2, 0.5), jac=True, bounds=[(1e-6, None)] * 2, method="L-BFGS-B").x
    coef, b = dual(weights)
    model = MultipleKernelSVM(kernels=("rbf", "linear"), gamma="dimension")
    return _scores(model, X, y), np.tensordot(weights, kernels, axes=1)[:, known] @ coef + b


def multi_label(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Compare with scikit-learn's LinearSVC, hinge, no intercept: M3L with one tag and the linear kernel."""
    known = y != 0
    machine = LinearSVC(C=2.0, loss="hinge", fit_intercept=False, max_iter=1_000_000, tol=1e-6, random_state=0)
    return _scores(M3L("linear"), X, y), machine.fit(X[known], y[known]).decision_function(X)


def joint(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Compare LPSSVM with its dense algorithm, slips mended."""
    graph = knn_graph(X, NEIGHBORS).weights.toarray()
    K = kernel_matrix("rbf", X, gamma="dimension")
    model = LPSSVM(gamma="dimension", graph=K * graph)
    return _scores(model, X, y), lpssvm_corrected(K, K * graph, y)


PAIRS: dict[str, tuple[Pair, str]] = {
    "SVM": (svm, "scikit-learn `SVC`"),
    "LapRLS": (laprls, "dense normal equations in n + 1 unknowns"),
    "LapSVM": (laplacian_svm, "dense Newton steps in n + 1 unknowns"),
    "LPP + SVM, linear": (lpp_svm, "SciPy `eigh` of XᵀLX and XᵀDX, scikit-learn `SVC`"),
    "multiple-kernel SVM": (multiple_kernels, "SciPy L-BFGS-B over the kernel weights, scikit-learn `SVC`"),
    "M3L, linear, one tag": (multi_label, "scikit-learn `LinearSVC`"),
    "LPSSVM": (joint, "dense algorithm, slips mended"),
}


def transductive_gap(X: Floats, states: NDArray[np.int8], n_known: int = 10, n_unknown: int = 10) -> dict[str, Any]:
    """Compare the transductive SVM's objective with the smallest over all labellings of a few points.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows; the first known ones and the first unknown ones are used.
    states : array of shape (n,)
        1, 0, or -1 where a label is not known.
    n_known, n_unknown : int
        How many.
    """
    known, unknown = np.flatnonzero(states != -1)[:n_known], np.flatnonzero(states == -1)[:n_unknown]
    rows = np.append(known, unknown)
    Y = states[rows][:, None]
    model = TransductiveSVM(gamma="dimension").fit(X[rows], Y)
    n_positive = round(float(np.mean(Y[:n_known] == 1)) * n_unknown)
    K = kernel_matrix("rbf", X[rows], gamma="dimension")
    # The squared hinge on row i with weight C_i is a hard problem with 1/(2 C_i) on the diagonal: SVC with a large C.
    costs = np.where(np.arange(len(rows)) < n_known, 1.0, n_known / n_unknown)
    soft = K + np.diag(0.5 / costs)
    values = []
    for positive in itertools.combinations(range(n_unknown), n_positive):
        y = np.append(2.0 * Y[:n_known, 0] - 1.0, np.where(np.isin(np.arange(n_unknown), positive), 1.0, -1.0))
        machine = SVC(C=1e8, kernel="precomputed", tol=1e-6).fit(soft, y)
        coef = machine.dual_coef_[0]
        values.append(np.abs(coef).sum() - 0.5 * coef @ soft[np.ix_(machine.support_, machine.support_)] @ coef)
    best, ours = float(np.min(values)), model.objective_[-1]
    better = int(np.sum(np.array(values) < ours * (1.0 - 1e-6)))
    row = [f"{ours:.5f}", f"{best:.5f}", f"{ours / best - 1.0:+.2%}".replace("%", " %"), f"{better} of {len(values)}"]
    return {
        "caption": f"Transductive SVM, {n_known} labelled and {n_unknown} other points, every labelling tried:",
        "header": ["objective here", "smallest of all labellings", "gap", "labellings that are better"],
        "rows": [row],
    }


def full_rank_lpp(X: Floats, gamma: float = 2.0) -> dict[str, Any]:
    """Look at kernel LPP where the kernel has full rank: projections are those of the graph alone, whatever the kernel.

    Parameters
    ----------
    X : array of shape (n, d)
        Rows; a fifth of them is left out and projected afterwards.
    gamma : float
        θ that makes the kernel nearly the identity.
    """
    X = np.unique(X, axis=0)
    new = np.arange(len(X)) % 5 == 0
    seen = X[~new]
    rows = []
    for theta, energy in ((gamma, 1.0), (gamma, 0.98), (1.0 / X.shape[1], 1.0), (1.0 / X.shape[1], 0.98)):
        model = LPP(len(seen), gamma=theta, energy=energy, n_neighbors=NEIGHBORS, weights="binary").fit(seen)
        graph = knn_graph(seen, NEIGHBORS)
        expected = eigh(graph.laplacian().toarray(), np.diag(graph.degrees), eigvals_only=True)
        count = min(len(model.eigenvalues_), 10)
        gap = float(np.abs(model.eigenvalues_[:count] - expected[:count]).max())
        lengths = [np.linalg.norm(model.transform(part)[:, :10], axis=1).mean() for part in (seen, X[new])]
        rows.append(
            [
                f"{theta:.3g}",
                f"{energy:g}",
                str(len(model.eigenvalues_)),
                f"{gap:.1e}",
                f"{lengths[1] / lengths[0]:.3f}",
            ]
        )
    return {
        "caption": f"Kernel LPP, {len(seen)} points seen and {int(new.sum())} new ones, binary weights:",
        "header": [
            "θ",
            "energy",
            "directions",
            "largest difference of ten λ to the graph's own",
            "length of new points",
        ],
        "rows": rows,
    }
