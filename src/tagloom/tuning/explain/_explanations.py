"""What an explanation of a score consists of: sums, and what they leave over."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.typing import Floats

__all__ = ["Decomposition", "Explanation", "NeighborDecomposition", "is_small", "sum_labels", "sum_up"]


#: What a decomposition may miss of the score and still be called exact, relative to the larger of 1 and the score.
EXACT = 1e-6


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A score as a sum: ``score = base + Σ amounts + rest``.

    Attributes
    ----------
    names : tuple
        What the amounts belong to: rows of photos, names of groups, or columns of tags.
    amounts : ndarray of shape (k,)
        What each adds to the score, or takes from it.
    base : float
        What the score would be without any of them.
    rest : float
        What is not explained; rounding where the decomposition is exact.
    is_exact : bool
        Whether this is how the annotator itself comes to its score. Otherwise a simpler model stands in for it.
    """

    names: tuple[Any, ...]
    amounts: Floats
    base: float
    rest: float
    is_exact: bool

    @property
    def error(self) -> float:
        """Size of what is not explained."""
        return abs(self.rest)


@dataclass(frozen=True, eq=False)
class NeighborDecomposition(Decomposition):
    """A score by the photos on which the tag is known, ``amount = weight·(label - frequency)``.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        By how much the score rises if the photo's label goes from no to yes, all else being equal.
    labels : ndarray of shape (k,)
        1 has the tag, 0 has it not.
    frequency : float
        Share of yes among the labels; ``base`` is the score if every label were this number.
    """

    weights: Floats = field(default_factory=lambda: np.empty(0))
    labels: NDArray[np.int8] = field(default_factory=lambda: np.empty(0, dtype=np.int8))
    frequency: float = 0.0

    @property
    def order(self) -> NDArray[np.intp]:
        """Places from the largest amount, whatever its sign, to the smallest."""
        return np.argsort(-np.abs(self.amounts), kind="stable")


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a photo has its score for a tag.

    Attributes
    ----------
    row, tag : int
        The photo and the tag.
    score : float
        The annotator's score, not calibrated.
    neighbors : NeighborDecomposition
        By photos on which the tag is known.
    groups : Decomposition or None
        By feature groups, against the average photo; None where no groups were given.
    tags : Decomposition or None
        By the scores of all tags; None where each tag is looked at alone, or that sum is not known.
    """

    row: int
    tag: int
    score: float
    neighbors: NeighborDecomposition
    groups: Decomposition | None
    tags: Decomposition | None

    @property
    def parts(self) -> tuple[Decomposition, ...]:
        """The decompositions that there are."""
        return tuple(part for part in (self.neighbors, self.groups, self.tags) if part is not None)

    @property
    def rest(self) -> float:
        """What the labelled photos do not explain."""
        return self.neighbors.rest

    @property
    def is_exact(self) -> bool:
        """Whether every decomposition is exact."""
        return all(part.is_exact for part in self.parts)

    @property
    def error(self) -> float:
        """The largest of the errors."""
        return max(part.error for part in self.parts)


def is_small(rest: float, score: float) -> bool:
    """Tell whether what is left of a score is rounding."""
    return abs(rest) <= EXACT * max(1.0, abs(score))


def sum_up(names: tuple[Any, ...], amounts: Floats, base: float, score: float, *, is_own: bool) -> Decomposition:
    """Return a decomposition, exact where it is the annotator's own and leaves nothing over."""
    rest = score - base - float(amounts.sum())
    return Decomposition(names, amounts, base, rest, is_own and is_small(rest, score))


def sum_labels(
    rows: NDArray[np.intp],
    labels: NDArray[np.int8],
    weights: Floats,
    offset: float,
    score: float | None = None,
    *,
    is_own: bool = True,
) -> NeighborDecomposition:
    """Return ``offset + Σ weights·labels`` by photos, against the frequency of yes.

    Parameters
    ----------
    rows, labels, weights : arrays of shape (k,)
        Photos on which the tag is known, their labels, and what those weigh.
    offset : float
        What is there if all labels are no.
    score : float, optional
        What is to be explained. Default: the sum itself.
    is_own : bool, default=True
        Whether this is how the annotator comes to its score.
    """
    frequency = float(labels.mean()) if len(labels) else 0.0
    amounts = weights * (labels - frequency)
    base = offset + frequency * float(weights.sum())
    whole = base + float(amounts.sum())
    rest = 0.0 if score is None else score - whole
    is_exact = is_own and is_small(rest, whole + rest)
    return NeighborDecomposition(tuple(rows.tolist()), amounts, base, rest, is_exact, weights, labels, frequency)
