"""What each label weighs in a score of `AutoAnnotator`, and its scores in double precision.

With π the frequencies and what was chosen being fixed, ``score_t = π_t + Σ_u D_u M_ut`` with
``D_u = Σ_k f_ku A_k K_k (K_k + λ_k I)⁻¹ (Y_u - π_u)`` over the photos that are learnt from and on which tag u is known.
"""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix, known_patterns
from tagloom.core.typing import Floats
from tagloom.tuning.auto._left_out_scores import PRIOR_COUNT, smoothed_priors
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.explain._exact_stack import ExactStack
from tagloom.tuning.explain.label_weights import KEPT, LabelWeights, Latest

__all__ = ["AutoWeights", "find_auto_weights"]


class AutoWeights(LabelWeights):
    """Weights of labels in scores of `AutoAnnotator` before calibration, each photo's own label among them.

    Photos beyond ``max_rows`` are not learnt from; their labels count through the frequency π alone.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted on X and Y, absence meaning no, no other method taken in.
    X : array of shape (n, d)
        Its features.
    Y : label matrix of shape (n, c)
        Its labels.

    Attributes
    ----------
    mixing : ndarray of shape (c, c) or None
        M; None for the identity.
    """

    def __init__(self, annotator: AutoAnnotator, X: NDArray[Any], Y: LabelMatrix) -> None:
        super().__init__(annotator, X, Y)
        model, mixing = annotator._model, annotator._refinement.mixing
        self.mixing: Floats | None = mixing.matrix if mixing is not None and mixing.strength else None
        self._stack = ExactStack(model)
        factors = [np.broadcast_to(np.asarray(one.factor, dtype=np.float64), Y.shape[1]) for one in model.members]
        #: Of members and tags.
        self._factors = np.array(factors).reshape(len(factors), Y.shape[1])
        self._take(Y)

    def _take(self, Y: LabelMatrix) -> None:
        self.Y, self._priors, self._learnt = Y, smoothed_priors(Y), Y[self._stack.rows]
        self._patterns, self._pattern_of = known_patterns(self._learnt)
        # Tags that listen to each other need those of all patterns for one photo.
        self._slopes = Latest(max(KEPT, self._patterns.shape[1]))

    def without(self, Y: LabelMatrix) -> "AutoWeights":
        """Return the weights where some labels are not there; members, kernels and what tags share stay."""
        found = copy.copy(self)
        found._take(Y)
        return found

    def of(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return weights and offset of ``π + D``: the score where tags do not listen to each other."""
        weights, offset = self.of_deviation(row, tag)
        added, level = self.of_prior(tag)
        return weights + added, offset + level

    def of_prior(self, tag: int) -> tuple[Floats, float]:
        """Return weights and offset of π."""
        count = int((self.Y[:, tag] != UNKNOWN).sum())
        total = count + 2.0 * PRIOR_COUNT
        return np.full(count, 1.0 / total), PRIOR_COUNT / total

    def of_deviation(self, row: int, tag: int) -> tuple[Floats, float]:
        """Return weights and offset of D: those of ``Σ a (y - π)``, π being a sum of labels too."""
        pattern = int(self._pattern_of[tag])
        slopes = self._factors[:, tag] @ self._slopes_of(row, pattern)
        weights, offset = self.of_prior(tag)
        total = float(slopes.sum())
        weights *= -total
        weights[np.searchsorted(self.known(tag), self._stack.rows[self._among(pattern)])] += slopes
        return weights, -total * offset

    def prior(self, tag: int) -> float:
        """Return π."""
        return float(self._priors[tag])

    def shares(self, tag: int) -> Floats:
        """Return what the deviations of all tags count for the score of one: a column of M."""
        return np.eye(self.Y.shape[1])[tag] if self.mixing is None else self.mixing[:, tag]

    def deviations(self, row: int) -> Floats:
        """Return D of a photo for all tags, shape (c,)."""
        found = np.empty(self.Y.shape[1])
        for pattern in range(self._patterns.shape[1]):
            tags = np.flatnonzero(self._pattern_of == pattern)
            found[tags] = self._deviations_of(row, pattern, tags)
        return found

    def score(self, row: int, tag: int) -> float:
        """Return the score of one photo for a tag."""
        if self.mixing is not None:
            return self.prior(tag) + float(self.deviations(row) @ self.shares(tag))
        return self.prior(tag) + float(self._deviations_of(row, int(self._pattern_of[tag]), np.array([tag]))[0])

    def scores(self, tag: int) -> Floats:
        """Return the scores (n,) of all photos for a tag, its coefficients mixed before they are brought to photos."""
        shares = self.shares(tag)
        mixed = np.zeros((len(self._factors), len(self._learnt)))
        for pattern in np.unique(self._pattern_of[np.flatnonzero(shares)]):
            among, tags = self._among(pattern), np.flatnonzero(self._pattern_of == pattern)
            targets = (self._factors[:, tags] * shares[tags]) @ self._targets(pattern, tags).T
            mixed[:, among] += self._stack.solve(among, targets)
        return self._priors[tag] + self._stack.scores(list(mixed))

    def _among(self, pattern: int) -> NDArray[np.intp]:
        return np.flatnonzero(self._patterns[:, pattern])

    def _slopes_of(self, row: int, pattern: int) -> Floats:
        """Return ``(K + λI)⁻¹ b`` of each member, b its influences on the photo, shape (members, k)."""
        return np.asarray(self._slopes.get((row, pattern), lambda: self._find_slopes(row, pattern)))

    def _find_slopes(self, row: int, pattern: int) -> Floats:
        among = self._among(pattern)
        return self._stack.solve(among, self._stack.influences(row)[:, among])

    def _targets(self, pattern: int, tags: NDArray[np.intp]) -> Floats:
        """Return what tags of a pattern are learnt from, shape (k, tags)."""
        return np.asarray(self._learnt[np.ix_(self._among(pattern), tags)] - self._priors[tags])

    def _deviations_of(self, row: int, pattern: int, tags: NDArray[np.intp]) -> Floats:
        products = self._slopes_of(row, pattern) @ self._targets(pattern, tags)
        return np.asarray((self._factors[:, tags] * products).sum(axis=0))


def find_auto_weights(annotator: AutoAnnotator, X: NDArray[Any], Y: LabelMatrix) -> AutoWeights | None:
    """Return the weights of labels where the annotator is linear in them, None elsewhere.

    It is not where absent tags have targets that depend on scores, or where other methods were taken in. Labels other
    than those it has learnt from say nothing of its scores.
    """
    is_fitted = hasattr(annotator, "_labels")
    if not is_fitted or annotator.absent_means != "no" or annotator._refinement.outcome is not None:
        return None
    return AutoWeights(annotator, X, Y) if np.array_equal(annotator._labels, Y) else None
