"""Splitting labelled rows while the unlabelled ones stay in every training set, and hiding labels on purpose."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix, check_labels, labeled_rows
from tagloom.core.seeds import check_generator
from tagloom.exceptions import InvalidInputError, NothingToScoreError

__all__ = ["LabeledKFold", "label_budget"]


class LabeledKFold:
    """K-fold cross-validation over the labelled rows of a label matrix.

    A plain ``KFold`` over rows with -1 silently mis-scores: folds hold few or no labels, and unlabelled photos are
    lost for training. Here only labelled rows are dealt to the folds; the rarest tags are dealt first, so that the
    positives of each tag are spread as evenly as they can be.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds, at least 2; with fewer labelled rows than folds there is one fold per labelled row.
    shuffle : bool, default=True
        Deal the rows in random order. False deals them in the order they come.
    random_state : int, Generator or None, default=None
        For the shuffling.

    Examples
    --------
    >>> Y = np.array([[1], [0], [1], [0], [-1]])
    >>> for train, test in LabeledKFold(2, random_state=0).split(Y, Y):
    ...     print(4 in train, len(test))
    True 2
    True 2
    """

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = None) -> None:
        if not isinstance(n_splits, int | np.integer) or n_splits < 2:
            raise InvalidInputError(f"n_splits must be an integer of at least 2, got {n_splits!r}")
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds (scikit-learn's splitter interface)."""
        if y is None:
            return self.n_splits
        return min(self.n_splits, int(labeled_rows(check_labels(y)).sum()))

    def split(
        self,
        X: Any,  # noqa: ARG002
        y: Any,
        groups: Any = None,  # noqa: ARG002
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield training rows (all unlabelled ones among them) and held-out labelled rows.

        Parameters
        ----------
        X : ignored
            Present for scikit-learn's interface.
        y : label matrix of shape (n, c)
            Labels with -1 for unknown.
        groups : ignored
            Present for scikit-learn's interface.
        """
        Y = check_labels(y)
        for held_out in self._folds(Y):
            keep = np.ones(len(Y), dtype=bool)
            keep[held_out] = False
            yield np.flatnonzero(keep), held_out

    def split_labels(self, Y: Any) -> Iterator[tuple[LabelMatrix, NDArray[np.intp]]]:
        """Yield label matrices with one fold hidden, for learners that may see the held-out photos unlabelled.

        Parameters
        ----------
        Y : label matrix of shape (n, c)
            Labels with -1 for unknown.

        Yields
        ------
        Y_train : label matrix of shape (n, c)
            Y with the held-out rows set to -1; all photos stay.
        held_out : ndarray of int
            The hidden rows.
        """
        Y = check_labels(Y)
        for held_out in self._folds(Y):
            hidden = Y.copy()
            hidden[held_out] = UNKNOWN
            yield hidden, held_out

    def _folds(self, Y: LabelMatrix) -> list[NDArray[np.intp]]:
        rows = np.flatnonzero(labeled_rows(Y))
        if len(rows) < 2:
            raise NothingToScoreError(
                f"cross-validation needs at least 2 labelled rows, got {len(rows)}; label more photos"
            )
        if self.shuffle:
            rows = check_generator(self.random_state).permutation(rows)
        n_folds = min(self.n_splits, len(rows))
        fold_of = _deal(Y[rows] == 1, n_folds)
        return [np.sort(rows[fold_of == fold]) for fold in range(n_folds)]


def _deal(positive: NDArray[np.bool_], n_folds: int) -> NDArray[np.intp]:
    """Deal rows to folds of equal size, the rarest tags first, each to the fold that lacks its tag most."""
    n_rows = len(positive)
    counts = positive.sum(axis=0)
    rarity = np.where(positive, counts, n_rows + 1).min(axis=1)
    rarest = np.where(positive, counts, n_rows + 1).argmin(axis=1)
    room = np.full(n_folds, n_rows // n_folds)
    room[: n_rows % n_folds] += 1
    have = np.zeros((n_folds, positive.shape[1]), dtype=np.int64)
    fold_of = np.empty(n_rows, dtype=np.intp)
    for row in np.argsort(rarity, kind="stable"):
        has_tag = rarity[row] <= n_rows
        need = have[:, rarest[row]] if has_tag else np.zeros(n_folds, dtype=np.int64)
        fold = int(np.lexsort((-room, need, room == 0))[0])
        fold_of[row] = fold
        room[fold] -= 1
        have[fold] += positive[row]
    return fold_of


def label_budget(Y: Any, budget: float | int, *, random_state: Any = None, cover_tags: bool = True) -> LabelMatrix:
    """Hide all labels except those of a few rows.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        The truth; rows that are already unlabelled stay so.
    budget : float or int
        A share of the labelled rows in (0, 1], or a number of rows (1 means one row, 1.0 means all).
    random_state : int, Generator or None, default=None
        For the draw.
    cover_tags : bool, default=True
        Take one row of every tag first (rarest tags first) as far as the budget goes. False draws uniformly.

    Returns
    -------
    label matrix of shape (n, c)
        A copy with -1 in the hidden rows.
    """
    Y = check_labels(Y)
    rows = np.flatnonzero(labeled_rows(Y))
    n_keep = _count(budget, len(rows))
    order = check_generator(random_state).permutation(rows)
    if cover_tags:
        order = _cover_first(Y, order, n_keep)
    kept = order[:n_keep]
    partial = np.full_like(Y, UNKNOWN)
    partial[kept] = Y[kept]
    return partial


def _count(budget: float | int, n_rows: int) -> int:
    if n_rows == 0:
        raise NothingToScoreError("label_budget needs at least one labelled row, got none")
    if isinstance(budget, int | np.integer) and not isinstance(budget, bool) and 1 <= budget <= n_rows:
        return int(budget)
    if isinstance(budget, float | np.floating) and 0 < budget <= 1:
        return max(1, round(float(budget) * n_rows))
    raise InvalidInputError(
        f"budget must be a share in (0, 1] as a float or a number of rows from 1 to {n_rows}, got {budget!r}"
    )


def _cover_first(Y: LabelMatrix, order: NDArray[np.intp], n_keep: int) -> NDArray[np.intp]:
    positive = Y[order] == 1
    counts = positive.sum(axis=0)
    covered = counts == 0
    chosen: list[int] = []
    for tag in np.argsort(counts, kind="stable"):
        if len(chosen) >= n_keep:
            break
        if not covered[tag]:
            first = int(np.argmax(positive[:, tag]))
            chosen.append(first)
            covered |= positive[first]
    rest: NDArray[np.intp] = np.setdiff1d(np.arange(len(order)), chosen)
    return order[np.concatenate([np.asarray(chosen, dtype=np.intp), rest])]
