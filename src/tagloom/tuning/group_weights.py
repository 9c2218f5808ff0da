"""How much each feature group counts, chosen on the labelled photos alone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cholesky, get_lapack_funcs

from tagloom.core import (
    NO_PROGRESS,
    UNKNOWN,
    FeatureGroups,
    Progress,
    check_generator,
    check_labels,
    labeled_rows,
)
from tagloom.exceptions import InvalidInputError
from tagloom.features import GroupScaler
from tagloom.metrics import average_precision
from tagloom.tuning.constants import FIRST_WEIGHT_SHARE, SMALLEST_GAIN, WEIGHT_FACTORS, WEIGHT_PENALTIES

__all__ = ["GroupWeights", "choose_group_weights"]


@dataclass(frozen=True)
class GroupWeights:
    """Result of `choose_group_weights`.

    Attributes
    ----------
    weights : dict of str to float
        They sum to one; give them to `tagloom.features.GroupScaler`. A group with weight 0 did not help.
    score : float
        Leave-one-out mean average precision with these weights.
    start_score : float
        The same with the weights the search began with.
    strength : float
        The ridge penalty that went with them.
    history : list of (str, float)
        Each step that was taken, and the score after it.
    """

    weights: dict[str, float]
    score: float
    start_score: float
    strength: float
    history: list[tuple[str, float]] = field(default_factory=list)


def choose_group_weights(
    X: NDArray[Any],
    groups: FeatureGroups,
    Y: NDArray[Any],
    *,
    start: Mapping[str, float] | None = None,
    n_rounds: int = 2,
    max_rows: int = 3000,
    random_state: int | np.random.Generator | None = None,
    progress: Progress = NO_PROGRESS,
) -> GroupWeights:
    r"""Choose the weights of feature groups by leave-one-out mean average precision of ridge regression.

    Parameters
    ----------
    X : array of shape (n, d)
        Features as extracted, labelled photos among them.
    groups : FeatureGroups
        The column ranges.
    Y : label matrix of shape (n, c)
        Only labelled rows are used. An unknown entry of such a row counts as its tag's mean and is not scored.
    start : mapping, optional
        Weights to begin with; default: those of `GroupScaler`.
    n_rounds : int, default=2
        How often each group's weight is looked at.
    max_rows : int, default=3000
        Labelled photos used at most (drawn at random); one square matrix of this size per group is kept, 36 MB each.
    random_state : int, Generator or None, default=None
        Draws the rows where there are more.
    progress : Progress, optional
        Told how far the work is.

    Returns
    -------
    GroupWeights
        With ``weights`` for `GroupScaler`.

    Notes
    -----
    With :math:`K = \sum_g w_g K_g`, :math:`K_g` the inner products of the scaled, unit-length rows of group g, and an
    intercept that is not penalised, the left-out residual of row i is
    :math:`\alpha_i / (G_{ii} - u_i^2 / s)` where :math:`G = (K + \lambda I)^{-1}`, :math:`u = G 1`, :math:`s = 1^T u`,
    :math:`\alpha = GY - u (u^T Y) / s`: one factorisation scores one choice of weights. Each group's weight in turn is
    tried at 0, a half and twice its value, and kept where the score rises by more than 1e-4; then the penalty is moved.
    Ranked are the scores without the left-out model's intercept, which knows the left-out label.

    Examples
    --------
    >>> import numpy as np
    >>> from tagloom import FeatureGroups
    >>> from tagloom.tuning import choose_group_weights
    >>> rng = np.random.default_rng(0)
    >>> Y = (rng.random((80, 3)) < 0.4).astype(np.int8)
    >>> useful, noise = Y + 0.3 * rng.standard_normal((80, 3)), rng.standard_normal((80, 5))
    >>> found = choose_group_weights(np.hstack([useful, noise]), FeatureGroups(["useful", "noise"], [3, 5]), Y)
    >>> found.weights["useful"] > 0.9
    True
    """
    if n_rounds < 0 or max_rows < 3:
        raise InvalidInputError(
            f"expected n_rounds of at least 0 and max_rows of at least 3, got {n_rounds}, {max_rows}"
        )
    Y = check_labels(Y)
    groups.check(X)
    rows = np.flatnonzero(labeled_rows(Y))
    if len(rows) < 3:
        raise InvalidInputError(f"choosing group weights needs at least 3 labelled photos, got {len(rows)}")
    if len(rows) > max_rows:
        rows = np.sort(check_generator(random_state).choice(rows, max_rows, replace=False))
    scaler = GroupScaler(groups, weights=start).fit(np.asarray(X))
    search = _Search(_kernels(scaler, np.asarray(X)[rows], groups), Y[rows])
    begin = {name: float(choice["weight"]) for name, choice in scaler.choices_.items()}
    progress.start("choosing group weights", n_rounds * len(groups))
    try:
        return search.run(begin, n_rounds, progress)
    finally:
        progress.finish()


def _kernels(scaler: GroupScaler, X: NDArray[Any], groups: FeatureGroups) -> dict[str, NDArray[np.float32]]:
    """Return the inner products of each group's unit-length rows."""
    kernels = {}
    for name, columns in groups.split(X).items():
        rows = scaler.scale_group(name, columns)
        kernels[name] = rows @ rows.T
    return kernels


class _Search:
    """Coordinate search over weights and penalty; scores of the same weights are computed once."""

    def __init__(self, kernels: dict[str, NDArray[np.float32]], Y: NDArray[np.int8]) -> None:
        self.kernels = kernels
        self.Y = Y
        known = Y != UNKNOWN
        means = np.where(known, Y, 0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
        self.targets = np.where(known, Y, means).astype(np.float32)
        self.ranked = (Y == 1).sum(axis=0) >= 2
        if not self.ranked.any():
            raise InvalidInputError("choosing group weights needs a tag that at least two labelled photos have")

    def run(self, weights: dict[str, float], n_rounds: int, progress: Progress) -> GroupWeights:
        scores = {strength: self.score(weights, strength) for strength in WEIGHT_PENALTIES}
        strength = max(scores, key=lambda one: scores[one])
        best = begin = scores[strength]
        history = [("start", begin)]
        for _ in range(n_rounds):
            before = best
            for name in sorted(weights, key=lambda one: -weights[one]):
                weights, best = self._improve(weights, name, strength, best, history)
                progress.advance()
            strength, best = self._move_strength(weights, strength, best, history)
            if best <= before + SMALLEST_GAIN:
                break
        return GroupWeights(weights, best, begin, strength, history)

    def _improve(
        self, weights: dict[str, float], name: str, strength: float, best: float, history: list[tuple[str, float]]
    ) -> tuple[dict[str, float], float]:
        current = weights[name]
        tried = [current * factor for factor in WEIGHT_FACTORS] if current > 0 else [FIRST_WEIGHT_SHARE]
        found = weights
        for value in tried:
            candidate = weights | {name: value}
            total = sum(candidate.values())
            if total <= 0:
                continue
            candidate = {one: share / total for one, share in candidate.items()}
            score = self.score(candidate, strength)
            if score > best + SMALLEST_GAIN:
                found, best = candidate, score
        if found is not weights:
            history.append((f"{name}: {current:.3f} to {found[name]:.3f}", best))
        return found, best

    def _move_strength(
        self, weights: dict[str, float], strength: float, best: float, history: list[tuple[str, float]]
    ) -> tuple[float, float]:
        place = WEIGHT_PENALTIES.index(strength)
        for other in WEIGHT_PENALTIES[max(0, place - 1) : place] + WEIGHT_PENALTIES[place + 1 : place + 2]:
            score = self.score(weights, other)
            if score > best + SMALLEST_GAIN:
                strength, best = other, score
                history.append((f"penalty: {other:g}", best))
        return strength, best

    def score(self, weights: dict[str, float], strength: float) -> float:
        """Return the mean average precision of the left-out scores."""
        slopes = self.left_out(weights, strength)
        return float(np.mean(average_precision(self.Y[:, self.ranked], slopes[:, self.ranked])))

    def left_out(self, weights: dict[str, float], strength: float) -> NDArray[np.float64]:
        """Return each row's score by the model fitted without it, less that model's intercept."""
        n = len(self.Y)
        system = np.zeros((n, n), dtype=np.float32)
        for name, weight in weights.items():
            if weight > 0:
                system += np.float32(weight) * self.kernels[name]
        system[np.diag_indices(n)] += np.float32(strength)
        inverse = _inverse(system)
        u = inverse.sum(axis=1, dtype=np.float64)
        total = u.sum()
        alpha = (inverse @ self.targets).astype(np.float64)
        alpha -= np.outer(u, (u @ self.targets) / total)
        residuals = alpha / (np.diag(inverse) - u * u / total)[:, None]
        return self.targets - self.targets.mean(axis=0) - residuals * (1.0 - 1.0 / n)


def _inverse(system: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the inverse of a symmetric positive definite matrix, which is overwritten.

    The diagonal of the inverse is needed, so that solving for the targets alone would not do.
    """
    (potri,) = get_lapack_funcs(("potri",), (system,))
    try:
        factor = cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:  # cannot be: a sum of inner products plus a positive diagonal
        raise InvalidInputError("the features' inner products are not finite; check the features") from error
    inverse, _ = potri(factor, lower=True, overwrite_c=True)
    lower = np.tril(inverse)
    return lower + np.tril(inverse, -1).T
