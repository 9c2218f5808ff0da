"""Methods of NOVA's tables: penalties with and without boosting, points of one path, and the linear SVM."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.methods import find, shared
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN

NOVA = "tagloom.methods.nova:NOVA"


class BoostedNOVA:
    """NOVA with its strengths chosen by cross-validation once for all ways of boosting.

    Parameters
    ----------
    groups : FeatureGroups
        Of the dataset.
    penalty : str
        As for `tagloom.NOVA`.
    boost : {"none", "curds_and_whey", "structured"}
        What is done to the scores.
    **settings
        Further parameters. Folds are dealt by NOVA's own seed: one of the cell would differ between ways of boosting.
    """

    def __init__(self, groups: FeatureGroups, penalty: str, boost: str = "none", **settings: Any) -> None:
        self.groups, self.penalty, self.boost, self.settings = groups, penalty, boost, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "BoostedNOVA":
        """Choose strengths without boosting, then fit with it."""
        plain, self.saved_cpu_ = shared(
            f"NOVA {self.penalty} {sorted((key, str(item)) for key, item in self.settings.items())}",
            (X, Y),
            lambda: self._make().fit(X, Y),
        )
        self.model_ = plain
        if self.boost != "none":
            # A tag that cannot be learnt has no strength; any will do.
            strengths = np.where(np.isfinite(plain.strengths_), plain.strengths_, 1.0)
            self.model_ = self._make(strength=strengths, boost=self.boost).fit(X, Y)
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Score photos."""
        return np.asarray(self.model_.decision_function(X))

    def _make(self, **more: Any) -> Any:
        return find(NOVA)(self.groups, penalty=self.penalty, **self.settings, **more)


class PointOfNOVA:
    """NOVA at one strength of a path that is computed once for all of its points.

    Parameters
    ----------
    groups : FeatureGroups
        Of the dataset.
    strengths : list of float
        λ along the path, the same for all tags.
    strength : float
        The point, one of them.
    **settings
        Further parameters of `tagloom.NOVA`.
    """

    def __init__(self, groups: FeatureGroups, strengths: list[float], strength: float, **settings: Any) -> None:
        self.groups, self.strengths, self.strength, self.settings = groups, strengths, strength, settings

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "PointOfNOVA":
        """Take the point's coefficients."""
        path = np.sort(self.strengths)[::-1]
        found, self.saved_cpu_ = shared(
            f"path of NOVA {path.tolist()} {sorted((key, str(item)) for key, item in self.settings.items())}",
            (X, Y),
            lambda: find(NOVA)(self.groups, **self.settings).path(X, Y, path),
        )
        (index,) = np.flatnonzero(np.isclose(path, self.strength, rtol=1e-9))
        self.coef_, self.intercept_ = found.coefs[index], found.intercepts[index]
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Score photos."""
        return np.asarray(X @ self.coef_ + self.intercept_)


class LinearSVM:
    """One linear support vector machine per tag (scikit-learn's `LinearSVC`).

    Parameters
    ----------
    C : float
        Weight of the errors; the paper does not say which.
    random_state : int
        For the coordinate order.
    """

    def __init__(self, C: float = 1.0, random_state: int = 0) -> None:
        self.C, self.random_state = C, random_state

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "LinearSVM":
        """Fit tag by tag on the rows where it is known; a tag of one kind gets that score for all photos.

        Equal rows are one row with their number as its weight, which is the same problem: 1,000 photos that have the
        attributes of their 50 classes are 50 rows.
        """
        from sklearn.svm import LinearSVC

        distinct, row_of = np.unique(X, axis=0, return_inverse=True)
        self.coef_, self.intercept_ = np.zeros((X.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
        for tag, states in enumerate(Y.T):
            known = states != UNKNOWN
            kinds, counts = np.unique(2 * row_of.ravel()[known] + (states[known] == 1), return_counts=True)
            if len(np.unique(kinds % 2)) < 2:
                self.intercept_[tag] = 1.0 if (states == 1).any() else -1.0
                continue
            model = LinearSVC(C=self.C, dual=True, max_iter=100_000, random_state=self.random_state)
            model.fit(distinct[kinds // 2], kinds % 2, sample_weight=counts)
            self.coef_[:, tag], self.intercept_[tag] = model.coef_[0], model.intercept_[0]
        return self

    def decision_function(self, X: NDArray[Any]) -> NDArray[Any]:
        """Score photos."""
        return np.asarray(X @ self.coef_ + self.intercept_)
