"""How good suggestions are, where the truth is known."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.labels import UNKNOWN, LabelMatrix, labeled_rows
from tagloom.core.tag_names import fold_tag
from tagloom.core.vocabulary import TagVocabulary
from tagloom.exceptions import LabelsFileError
from tagloom.metadata import PhotoLabels, read_labels
from tagloom.methods import RegularizedLeastSquares
from tagloom.metrics import mean_average_precision

__all__ = ["Comparison", "compare_with_truth", "hidden_truth", "read_truth"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Mean average precision on photos whose labels the learner did not see, row by row: (method, MAP)."""

    rows: list[tuple[str, float]]
    n_photos: int
    n_tags: int


def hidden_truth(
    truth: LabelMatrix, true_tags: TagVocabulary, told: LabelMatrix, told_tags: TagVocabulary
) -> LabelMatrix:
    """Return the truth with all that the learner was told set to unknown.

    Tags that no labelled photo has cannot be suggested, yet count: their labelled rows are hidden too.
    """
    known = np.repeat(labeled_rows(told)[:, None], len(true_tags), axis=1)
    here, there = _common_columns(true_tags, told_tags)
    known[:, here] = told[:, there] != UNKNOWN
    return np.where(known, UNKNOWN, truth).astype(np.int8)


def _common_columns(true_tags: TagVocabulary, tags: TagVocabulary) -> tuple[list[int], list[int]]:
    columns = {fold_tag(tag): column for column, tag in enumerate(tags)}
    common = [(column, columns[fold_tag(tag)]) for column, tag in enumerate(true_tags) if fold_tag(tag) in columns]
    return [here for here, _ in common], [there for _, there in common]


def read_truth(
    truth: str | os.PathLike[str], photos: Sequence[bytes], tags: TagVocabulary, Y: LabelMatrix
) -> PhotoLabels:
    """Read the true tags of photos, and refuse them if nothing can be told from them.

    Parameters
    ----------
    truth : path
        Labels file with the true tags.
    photos : sequence of bytes
        The photos of the rows.
    tags : TagVocabulary
        The tags of the columns.
    Y : label matrix of shape (n, c)
        What the learner is told.

    Raises
    ------
    LabelsFileError
        If it cannot be read, or has no tag for a photo whose tags the learner was not told.
    """
    said = read_labels(truth, photos)
    if not (hidden_truth(said.Y, said.vocabulary, Y, tags) == 1).any():
        raise LabelsFileError(
            f"expected true tags of photos that are not labelled in {said.source!r}, got {said.n_labeled} photos, none "
            f"of which shows how good suggestions are; add photos that the labels do not name, or leave --truth out"
        )
    return said


def compare_with_truth(
    truth: LabelMatrix,
    true_tags: TagVocabulary,
    tags: TagVocabulary,
    Y: LabelMatrix,
    features: NDArray[Any],
    scores: dict[str, NDArray[Any]],
) -> Comparison:
    """Compare scores with the truth, beside two yardsticks.

    The yardsticks are the tag-frequency prior (it ranks all photos alike) and a supervised learner: regularised least
    squares on the labelled photos alone, same features, its regularisation chosen on the labelled photos. All tags of
    the truth count, also those that no labelled photo has.

    Parameters
    ----------
    truth : label matrix of shape (n, k)
        The true tags of the photos.
    true_tags : TagVocabulary
        The tags of its columns.
    tags : TagVocabulary
        The tags of the other columns.
    Y : label matrix of shape (n, c)
        What the learner was told.
    features : array of shape (n, d)
        Scaled features.
    scores : dict of str to array of shape (n, c)
        What to compare, by name.

    Raises
    ------
    NothingToScoreError
        If there is no tag for any of these photos that the learner was not told.
    """
    hidden = hidden_truth(truth, true_tags, Y, tags)
    here, there = _common_columns(true_tags, tags)
    supervised = RegularizedLeastSquares().fit(features, Y).transduction_
    yardsticks = {
        "tag-frequency prior": np.zeros(Y.shape),
        "supervised: ridge on the labelled photos": supervised,
    }
    rows = []
    for name, values in (yardsticks | scores).items():
        aligned = np.full(hidden.shape, values.min())  # a tag that was never seen ranks all photos alike
        aligned[:, here] = values[:, there]
        rows.append((name, mean_average_precision(hidden, aligned)))
    return Comparison(rows, int(labeled_rows(hidden).sum()), int((hidden == 1).any(axis=0).sum()))
