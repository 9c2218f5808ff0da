"""scikit-learn's LabelSpreading and SelfTrainingClassifier tag by tag, with the work that tags share done once."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.linear import fit_linear, linear_scores
from benchmarks.quality.problem import Floats, Point, Problem
from benchmarks.quality.sets import Rows

Labels = NDArray[np.int8]
#: Steps of label spreading: 0.9 to the power of 100 is 3e-5.
N_STEPS = 100
#: Rounds of self-training at most, scikit-learn's own default.
N_ROUNDS = 10


class LabelSpread:
    """LabelSpreading on the neighbour graph of all photos seen.

    For one tag the method has a column of noes and a column of yeses. Their sum is the same for all tags, and one
    sequence of products with the graph serves all values of alpha.
    """

    neighbors = (7, 15, 30, 60)
    alphas = (0.2, 0.5, 0.8, 0.9)

    def points(self, problem: Problem) -> list[Point]:  # noqa: ARG002
        """Return neighbours and alpha."""
        return [{"n_neighbors": count, "alpha": alpha} for count in self.neighbors for alpha in self.alphas]

    def scores(self, problem: Problem, train: Rows, Y: Labels, targets: Rows, points: Sequence[Point]) -> list[Floats]:
        """Score rows: the share of yes."""
        seen = problem.draw.seen
        known = np.zeros((len(seen), Y.shape[1] + 1), dtype=np.float32)
        places = np.searchsorted(seen, problem.draw.labeled[train])
        known[places, :-1], known[places, -1] = Y == 1, 1.0
        found: dict[tuple[int, float], Floats] = {}
        for count in sorted({point["n_neighbors"] for point in points}):
            graph = spreading_graph(problem, count)
            alphas = sorted({point["alpha"] for point in points if point["n_neighbors"] == count})
            for alpha, spread in spread_labels(graph, known, alphas).items():
                found[count, alpha] = _at_rows(problem, _shares(spread), targets, count)
        return [found[point["n_neighbors"], point["alpha"]] for point in points]


def spreading_graph(problem: Problem, n_neighbors: int) -> Any:
    """Return scikit-learn's normalised graph of the photos seen, built once for all folds and tags."""
    kept: dict[int, Any] = problem.__dict__.setdefault("_spreading_graphs", {})
    if n_neighbors not in kept:
        from scipy import sparse
        from sklearn.semi_supervised import LabelSpreading

        count = min(n_neighbors, len(problem.draw.seen) - 1)
        model = LabelSpreading(kernel="knn", n_neighbors=count)
        model.X_ = problem.X[problem.draw.seen]
        kept[n_neighbors] = sparse.csr_array(model._build_graph(), dtype=np.float32)
    return kept[n_neighbors]


def spread_labels(graph: Any, known: NDArray[np.float32], alphas: Sequence[float]) -> dict[float, NDArray[np.float32]]:
    """Return for each alpha ``(1 - α) Σ_t αᵗ Sᵗ Y``, what the method's iteration tends to.

    Parameters
    ----------
    graph : CSR of shape (n, n)
        S.
    known : array of shape (n, k)
        Y.
    alphas : sequence of float
        α.
    """
    totals = {alpha: (1.0 - alpha) * known for alpha in alphas}
    step = known
    for power in range(1, N_STEPS + 1):
        live = [alpha for alpha in alphas if alpha**power > 1e-5]
        if not live:
            break
        step = graph @ step
        for alpha in live:
            totals[alpha] += np.float32((1.0 - alpha) * alpha**power) * step
    return totals


def _shares(spread: NDArray[np.float32]) -> Floats:
    """Return yes over yes and no; 0 where nothing has arrived."""
    total = spread[:, -1:].astype(np.float64)
    return np.divide(spread[:, :-1], total, out=np.zeros((len(spread), spread.shape[1] - 1)), where=total > 0)


def _at_rows(problem: Problem, shares: Floats, targets: Rows, n_neighbors: int) -> Floats:
    """Return the shares of rows; new photos have the mean of their nearest seen ones, as in scikit-learn."""
    from tagloom.graph import nearest_neighbors

    seen = problem.draw.seen
    places = np.minimum(np.searchsorted(seen, targets), len(seen) - 1)
    scores = shares[places]
    new = np.flatnonzero(seen[places] != targets)
    if len(new):
        count = min(n_neighbors, len(seen))
        _, near = nearest_neighbors(problem.X[targets[new]], problem.X[seen], count, n_threads=1)
        scores[new] = shares[near].mean(axis=1)
    return scores


class SelfTraining:
    """SelfTrainingClassifier around logistic regression, all tags at once, on the leading principal components."""

    thresholds = (0.75, 0.95)
    weights = (1.0, 10.0, 100.0)
    #: Of the five folds: each fit learns from all photos seen, which makes it the dearest competitor.
    n_folds = 2

    def points(self, problem: Problem) -> list[Point]:  # noqa: ARG002
        """Return C and how sure a pseudo-label has to be."""
        return [{"C": weight, "threshold": limit} for weight in self.weights for limit in self.thresholds]

    def scores(self, problem: Problem, train: Rows, Y: Labels, targets: Rows, points: Sequence[Point]) -> list[Floats]:
        """Score rows; a tag without a yes or without a no among the labelled has a constant score."""
        seen = problem.draw.seen
        frequency = np.mean(Y == 1, axis=0)
        varied = np.flatnonzero((frequency > 0) & (frequency < 1))
        signs = np.zeros((len(seen), len(varied)))
        signs[np.searchsorted(seen, problem.draw.labeled[train])] = np.where(Y[:, varied] == 1, 1.0, -1.0)
        found = []
        for point in points:
            scores = np.zeros((len(targets), Y.shape[1]))
            if len(varied):
                coefficients = self_train(problem.components[seen], signs, point["C"], point["threshold"])
                scores[:, varied] = linear_scores(problem.components[targets], coefficients)
            found.append(scores)
        return found


def self_train(Z: Floats, signs: Floats, C: float, threshold: float, *, tol: float = 1e-3) -> Floats:
    """Return the coefficients after the rounds of scikit-learn's SelfTrainingClassifier, of all tags.

    Parameters
    ----------
    Z : array of shape (n, p)
        Columns of all photos seen.
    signs : array of shape (n, c)
        1 and -1 where labelled, 0 elsewhere; every tag has both signs.
    C : float
        Of the logistic regression.
    threshold : float
        Entries surer than this get a label for good.
    tol : float
        Of each fit.
    """
    signs = signs.copy()
    coefficients = fit_linear(*_labeled(Z, signs), C, "logistic", tol=tol)
    for _ in range(N_ROUNDS):
        logits = linear_scores(Z, coefficients)
        sure = (signs == 0) & (np.abs(logits) > np.log(threshold / (1.0 - threshold)))
        changed = sure.any(axis=0)
        if not changed.any():
            break
        signs[sure] = np.sign(logits[sure])
        part = _labeled(Z, signs[:, changed])
        coefficients[:, changed] = fit_linear(*part, C, "logistic", start=coefficients[:, changed], tol=tol)
    return coefficients


def _labeled(Z: Floats, signs: Floats) -> tuple[Floats, Floats]:
    """Return the rows that say something of some tag."""
    rows = (signs != 0).any(axis=1)
    return Z[rows], signs[rows]
