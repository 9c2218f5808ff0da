"""Supervised competitors: what one would take from a library, tuned inside the labelled photos.

All see the same scaled features. Kernels of the labelled photos are computed once and shared by folds, points and tags.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.quality.linear import Loss, fit_linear, kernel_columns, linear_scores
from benchmarks.quality.problem import Floats, Point, Problem, of_groups, with_constants
from benchmarks.quality.sets import Rows

Labels = NDArray[np.int8]
#: Where the search over a linear learner's points ends; the final fit is stricter.
LOOSE, STRICT = 1e-3, 1e-4


class Ridge:
    """Ridge regression of all tags, in closed form: one eigendecomposition for all penalties."""

    penalties = tuple(float(value) for value in np.logspace(-3, 2, 11).round(6))

    def points(self, problem: Problem) -> list[Point]:  # noqa: ARG002
        """Return penalties, as multiples of the mean squared norm of the centred photos."""
        return [{"penalty": value} for value in self.penalties]

    def scores(self, problem: Problem, train: Rows, Y: Labels, targets: Rows, points: Sequence[Point]) -> list[Floats]:
        """Score rows."""
        labeled = problem.draw.labeled[train]
        inner, cross = problem.gram[np.ix_(labeled, train)], problem.gram[np.ix_(targets, train)]
        means = inner.mean(axis=0)
        centred = inner - means - means[:, None] + means.mean()
        cross = cross - cross.mean(axis=1, keepdims=True) - means + means.mean()
        values, vectors = np.linalg.eigh(centred)
        unit = max(float(np.trace(centred)) / len(train), np.finfo(np.float64).tiny)
        responses = (Y == 1).astype(np.float64)
        average = responses.mean(axis=0)
        inside, outside = vectors.T @ (responses - average), cross @ vectors
        return [
            outside @ (inside / (np.maximum(values, 0.0) + point["penalty"] * unit)[:, None]) + average
            for point in points
        ]


class Linear:
    """Logistic regression or linear SVM, all tags at once (see `benchmarks.quality.linear`).

    Parameters
    ----------
    loss : {"logistic", "squared_hinge"}
        scikit-learn's LogisticRegression or LinearSVC.
    weights : tuple of float
        Candidates for C.
    """

    def __init__(self, loss: Loss, weights: tuple[float, ...]) -> None:
        self.loss, self.weights = loss, weights

    def points(self, problem: Problem) -> list[Point]:  # noqa: ARG002
        """Return the values of C, from strong to weak penalties: each starts where the one before ended."""
        return [{"C": value} for value in self.weights]

    def scores(self, problem: Problem, train: Rows, Y: Labels, targets: Rows, points: Sequence[Point]) -> list[Floats]:
        """Score rows."""
        labeled = problem.draw.labeled[train]
        Z, back = kernel_columns(problem.gram[np.ix_(labeled, train)])
        others = problem.gram[np.ix_(targets, train)] @ back
        tol = LOOSE if len(points) > 1 else STRICT

        def fit(signs: Floats) -> list[Floats]:
            found, start = [], None
            for point in points:
                start = fit_linear(Z, signs, point["C"], self.loss, start=start, tol=tol)
                found.append(linear_scores(others, start))
            return found

        return with_constants(Y, len(targets), len(points), fit)


class RBFMachine:
    """scikit-learn's SVC with a Gaussian kernel, tag by tag on one kernel."""

    widths = (0.25, 1.0, 4.0)
    weights = (1.0, 10.0, 100.0)

    def points(self, problem: Problem) -> list[Point]:  # noqa: ARG002
        """Return C and gamma; the latter in units of one over the mean squared distance of labelled photos."""
        return [{"C": weight, "gamma": width} for width in self.widths for weight in self.weights]

    def scores(self, problem: Problem, train: Rows, Y: Labels, targets: Rows, points: Sequence[Point]) -> list[Floats]:
        """Score rows."""
        from tagloom.methods.baselines.svm import fit_tags

        inner = problem.squares[np.ix_(problem.draw.labeled[train], train)]
        cross = problem.squares[np.ix_(targets, train)]
        unit = 1.0 / max(float(inner.mean()), np.finfo(np.float64).tiny)

        def fit(signs: Floats) -> list[Floats]:
            found = []
            for point in points:
                gamma = point["gamma"] * unit
                coefficients, intercepts = fit_tags(np.exp(-gamma * inner), signs, C=point["C"], tol=1e-3)
                found.append(np.exp(-gamma * cross) @ coefficients + intercepts)
            return found

        return with_constants(Y, len(targets), len(points), fit)


class OfClass:
    """A learner of labelled photos with tagloom's interface, at some points.

    Parameters
    ----------
    name : str
        Class in `tagloom.methods`.
    points : list of dict
        Its parameters.
    by_group : bool
        Whether it has a parameter ``groups``.
    """

    def __init__(self, name: str, points: list[Point], *, by_group: bool = False) -> None:
        self.name, self._points, self.by_group = name, points, by_group

    def points(self, problem: Problem) -> list[Point]:  # noqa: ARG002
        """Return the points."""
        return self._points

    def scores(self, problem: Problem, train: Rows, Y: Labels, targets: Rows, points: Sequence[Point]) -> list[Floats]:
        """Score rows."""
        from tagloom import methods

        X = problem.X[problem.draw.labeled[train]]
        fixed: dict[str, Any] = {"groups": of_groups(problem)} if self.by_group else {}
        return [
            np.asarray(getattr(methods, self.name)(**fixed, **point).fit(X, Y).decision_function(problem.X[targets]))
            for point in points
        ]
