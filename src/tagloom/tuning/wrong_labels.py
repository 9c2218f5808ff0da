"""Labels that a model clearly disagrees with, by what it says of their photos without them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.core import UNKNOWN, Floats, Ids, LabelMatrix
from tagloom.tuning.constants import CHANCE_LABELS, CHANCE_SHARE, LEAST_ACCEPTED, LEAST_ODDS, LIKELY

__all__ = ["find_wrong_labels"]


@dataclass(frozen=True, slots=True, eq=False)
class WrongLabels:
    """Labels that a model clearly disagrees with, the most surprising first.

    Parameters
    ----------
    rows, columns : ndarray of int64
        Which labels these are.
    chances : ndarray of float64
        How many labels at least as surprising the model expects, yeses beside a yes and noes beside a no.
    """

    rows: Ids
    columns: Ids
    chances: Floats


def find_wrong_labels(probabilities: NDArray[np.floating], Y: LabelMatrix) -> WrongLabels:
    """Return the labels that a model clearly disagrees with.

    Parameters
    ----------
    probabilities : ndarray of shape (n, c)
        What a model says of every photo, of labelled ones without their labels; NaN where it says nothing.
    Y : label matrix of shape (n, c)
        1 has the tag, 0 does not, -1 unknown.

    Notes
    -----
    A no is the more surprising, the larger its p. Of all labels, yes or no, of at least that p the model expects
    Σ (1 - p) to be noes. Which photos were labelled does not matter, so that noes may be refused suggestions.

    A yes is the more surprising, the larger o / q, with q the odds of p and o those of the tag's mean p over all
    photos: a rare tag is not likely anywhere. Of the photos that have a tag by the model a share p / Σ p is expected to
    be one of probability p; so many of the tag's yeses are expected there. Whether noes were said does not matter, so
    that yeses may be keywords found in photos.

    Both lists go down to where the model expects one such label, or a tenth of those there are. If labels are as it
    says, about two are listed in all. A label that is likelier right than wrong is never listed, nor a tag's only yes.
    """
    has = np.isfinite(probabilities)
    columns = np.flatnonzero(np.count_nonzero(has & (Y == 1), axis=0) >= LEAST_ACCEPTED)
    found = [_listed(*_yeses(probabilities, Y, columns)), _listed(*_noes(probabilities, Y, columns))]
    rows, columns, chances = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(chances, kind="stable")
    return WrongLabels(rows[order], columns[order], chances[order])


def _listed(rows: Ids, columns: Ids, surprises: Floats, chances: Floats) -> tuple[Ids, Ids, Floats]:
    """Return the labels down to the last one at which few enough are expected."""
    ranks = len(surprises) - np.searchsorted(np.sort(surprises), surprises)
    few = chances <= np.maximum(CHANCE_LABELS, CHANCE_SHARE * ranks)
    chosen = surprises >= np.min(surprises, initial=np.inf, where=few)
    return rows[chosen], columns[chosen], chances[chosen]


def _noes(probabilities: NDArray[np.floating], Y: LabelMatrix, columns: Ids) -> tuple[Ids, Ids, Floats, Floats]:
    """Return the noes of likely tags: rows, columns, how surprising, and how many such ones are expected."""
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64), np.empty(0, np.int8))]
    for column in columns:  # a tag at a time: no second array of all pairs
        rows = np.flatnonzero((Y[:, column] != UNKNOWN) & (probabilities[:, column] > LIKELY))
        found.append((rows, np.full(len(rows), column), probabilities[rows, column].astype(float), Y[rows, column]))
    rows, places, likely, labels = (np.concatenate(parts) for parts in zip(*found, strict=True))
    ranked = np.sort(likely)
    expected = np.append(np.cumsum((1 - ranked)[::-1])[::-1], 0.0)
    no = labels == 0
    return rows[no], places[no], likely[no], expected[np.searchsorted(ranked, likely[no])]


def _yeses(probabilities: NDArray[np.floating], Y: LabelMatrix, columns: Ids) -> tuple[Ids, Ids, Floats, Floats]:
    """Return the yeses of unlikely tags: rows, columns, how surprising, and how many such ones are expected."""
    found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float64))]
    levels = {}
    for column in columns:
        p = probabilities[:, column]
        known = np.isfinite(p)
        total = float(np.sum(p, where=known, dtype=np.float64))
        if not 0 < total < known.sum():  # the same of all photos
            continue
        levels[column] = total / (known.sum() - total)
        rows = np.flatnonzero((Y[:, column] == 1) & (p < LIKELY))
        odds = p[rows] / (1 - p[rows].astype(np.float64))
        found.append((rows, np.full(len(rows), column), levels[column] / np.maximum(odds, LEAST_ODDS)))
    rows, places, surprises = (np.concatenate(parts) for parts in zip(*found, strict=True))
    chances = np.zeros(len(rows))
    for column, level in levels.items():
        p, is_yes = probabilities[:, column], Y[:, column] == 1
        ranked = np.sort(p[np.isfinite(p)].astype(np.float64))
        share = np.append(0.0, np.cumsum(ranked) / ranked.sum())
        # As surprising is what has at most these odds; a little more, for what is lost in rounding.
        odds = level / surprises * (1 + 1e-9)
        at = np.searchsorted(ranked, odds / (1 + odds), side="right")
        chances += np.count_nonzero(is_yes & np.isfinite(p)) * share[at]
    return rows, places, surprises, chances
