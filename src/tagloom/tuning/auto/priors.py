"""What is known of tags without any example, such as by their names: one more member, weighed tag by tag.

Examples and names are added as log-odds. That weighs them by itself: log-odds of few examples hardly leave the
frequency of the tag, those of many go far. What is left to find is how much of the names the examples say already.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logsumexp

from tagloom.core import UNKNOWN, Bools, Floats, Indices, LabelMatrix
from tagloom.exceptions import InvalidInputError
from tagloom.tuning.calibration import fit_pooled, take_tags
from tagloom.tuning.constants import (
    DESCRIBED_ROWS,
    GIVEN_DEVIATIONS,
    GIVEN_LEAST,
    GIVEN_MEANS,
    GIVEN_SPREAD,
    GIVEN_USUAL_COUNT,
    MAX_NEWTON,
    MAX_ROUNDS,
)

__all__ = ["GivenMember", "check_given"]


def check_given(given: object, n_photos: int, n_tags: int) -> NDArray[np.float16] | None:
    """Return given log-odds in half precision, which is how they are kept; None where nothing is given.

    Parameters
    ----------
    given : array of shape (n_photos, n_tags) or None
        Log-odds, NaN where nothing is known.
    n_photos, n_tags : int
        What its shape has to be.
    """
    if given is None:
        return None
    values = np.asarray(given, dtype=np.float64)
    if values.shape != (n_photos, n_tags) or np.isinf(values).any():
        raise InvalidInputError(
            f"given must be log-odds of shape {(n_photos, n_tags)} (photos, tags), finite or NaN, got {values.shape}"
        )
    return np.clip(values, -100.0, 100.0).astype(np.float16)


@dataclass(frozen=True, eq=False)
class GivenMember:
    """Adds given log-odds to those of the examples: ``η + c + (a/√(1+P) + b + u/√(1+P))·h``.

    P is the number of a tag's examples, and h its given log-odds less the logarithm of their mean odds over the
    photos, which leaves a tag as frequent as its labels let it expect.

    Attributes
    ----------
    levels : ndarray of shape (c,)
        Logarithm of the mean odds of each tag over the photos; NaN where nothing is given.
    counts : ndarray of shape (c,)
        Examples of each tag.
    coefficients : ndarray of shape (4,)
        Of ``(η, 1, h/√(1+P), h)``, for all tags; the first is 1.
    covariance : ndarray of shape (4, 4)
        What the labels leave open of them.
    slopes, variances : ndarray of shape (c,)
        Each tag's own u, and what is not known of it.
    """

    levels: Floats
    counts: Floats
    coefficients: Floats
    covariance: Floats
    slopes: Floats
    variances: Floats

    @classmethod
    def fit(
        cls,
        given: NDArray[np.floating[Any]],
        left_out: Floats,
        Y: LabelMatrix,
        labels: LabelMatrix,
        rows: Indices,
        telling: Bools,
    ) -> Self:
        """Weigh given log-odds by the labelled photos, each scored without its own label.

        Parameters
        ----------
        given : array of shape (n, c)
            Log-odds of all photos; NaN where nothing is given.
        left_out : array of shape (m, c)
            Log-odds of labelled photos by the examples of the others.
        Y : label matrix of shape (n, c)
            What was learnt from: the examples.
        labels : label matrix of shape (m, c)
            What the log-odds shall predict.
        rows : array of int, shape (m,)
            The photos.
        telling : array of bool, shape (m, c)
            Entries that tell something.
        """
        levels = _levels(given)
        counts = (Y == 1).sum(axis=0).astype(np.float64)
        h = _above_level(given[rows], levels)
        known = (labels != UNKNOWN) & telling & ~np.isnan(levels)
        root = 1.0 / np.sqrt(1.0 + np.maximum(counts - (Y[rows] == 1), 0.0))
        features = np.stack([left_out, np.ones(h.shape), root * h, h], axis=-1)
        yes = (labels == 1).astype(np.float64)
        coefficients, covariance = fit_pooled(features[known], yes[known], GIVEN_MEANS, GIVEN_DEVIATIONS, GIVEN_LEAST)
        slopes, variances = _own_slopes(features @ coefficients, root * h, yes, known)
        return cls(levels, counts, coefficients, covariance, slopes, variances)

    def added_to(self, log_odds: NDArray[np.floating[Any]], given: NDArray[np.floating[Any]]) -> Floats:
        """Return log-odds (n, c) by the examples together with those given."""
        constant = np.where(np.isnan(self.levels), 0.0, self.coefficients[1])
        return np.asarray(log_odds + constant + self.weights() * _above_level(given, self.levels))

    def deviations(self, given: NDArray[np.floating[Any]]) -> Floats:
        """Return the standard deviations (n, c) of what it adds."""
        h = _above_level(given, self.levels)
        root = 1.0 / np.sqrt(1.0 + self.counts)
        features = np.stack([np.zeros(h.shape), np.ones(h.shape), root * h, h], axis=-1)
        pooled = np.einsum("ncq,qr,ncr->nc", features, self.covariance, features, optimize=True)
        return np.where(np.isnan(self.levels), 0.0, np.sqrt(pooled + self.variances * np.square(root * h)))

    def weights(self) -> Floats:
        """Return the weight of each tag's given log-odds beside those of its examples: not negative, 0 for none."""
        _, _, falling, lasting = self.coefficients
        weights = np.maximum((falling + self.slopes) / np.sqrt(1.0 + self.counts) + lasting, 0.0)
        return np.where(np.isnan(self.levels), 0.0, weights)

    def with_examples(self, Y: LabelMatrix) -> Self:
        """Return it with the examples of other labels."""
        return replace(self, counts=(Y == 1).sum(axis=0).astype(np.float64))

    def with_tags(self, at: Indices, given: NDArray[np.floating[Any]]) -> Self:
        """Return it for other tags; a new one (-1) has the weights of all tags."""
        levels = np.where(at < 0, _levels(given), take_tags(self.levels, at, np.nan))
        return replace(
            self,
            levels=levels,
            counts=take_tags(self.counts, at, 0.0),
            slopes=take_tags(self.slopes, at, 0.0),
            variances=take_tags(self.variances, at, GIVEN_SPREAD**2),
        )


def _levels(given: NDArray[np.floating[Any]]) -> Floats:
    """Return the logarithm of the mean odds of each tag, NaN where nothing is given."""
    n_given = np.zeros(given.shape[1])
    total = np.full(given.shape[1], -np.inf)
    for start in range(0, len(given), DESCRIBED_ROWS):
        block = given[start : start + DESCRIBED_ROWS].astype(np.float64)
        n_given += (~np.isnan(block)).sum(axis=0)
        total = np.logaddexp(total, logsumexp(np.where(np.isnan(block), -np.inf, block), axis=0))
    return np.where(n_given > 0, total - np.log(np.maximum(n_given, 1.0)), np.nan)


def _above_level(given: NDArray[np.floating[Any]], levels: Floats) -> Floats:
    found = given.astype(np.float64) - levels
    return np.where(np.isnan(found), 0.0, found)


def _own_slopes(eta: Floats, x: Floats, yes: Floats, known: Bools) -> tuple[Floats, Floats]:
    """Return each tag's most probable u in ``η + u x``, and its variance: normal around 0, the spread estimated.

    Notes
    -----
    Empirical Bayes as in `tagloom.tuning.calibration.maps.fit_tags`: the spread is that at which the mean of the
    square of each tag's u, what is not known of it included, is its square. Tags that the labels say nothing of are
    worth nothing, and the usual spread is worth `GIVEN_USUAL_COUNT` tags.
    """
    u, variances, spread = np.zeros(eta.shape[1]), np.zeros(eta.shape[1]), GIVEN_SPREAD
    says = (known & (x != 0.0)).any(axis=0)
    for _ in range(MAX_ROUNDS):
        before = spread
        for _ in range(MAX_NEWTON):
            p = expit(eta + u * x)
            gradient = np.where(known, x * (yes - p), 0.0).sum(axis=0) - u / spread**2
            information = np.where(known, np.square(x) * p * (1.0 - p), 0.0).sum(axis=0) + 1.0 / spread**2
            step = np.clip(gradient / information, -1.0, 1.0)
            u = u + step
            if np.abs(step).max(initial=0.0) < 1e-8:
                break
        variances = 1.0 / information
        total = float((np.square(u) + variances)[says].sum()) + GIVEN_USUAL_COUNT * GIVEN_SPREAD**2
        spread = float(np.sqrt(total / (says.sum() + GIVEN_USUAL_COUNT)))
        if abs(spread - before) < 1e-4:
            break
    return u, variances
