"""All metrics of one score matrix at once, with what had to be left out."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tagloom.core import labeled_rows
from tagloom.exceptions import NothingToScoreError
from tagloom.metrics.inputs import check_scored
from tagloom.metrics.keywords import (
    annotation_accuracy,
    complete_length,
    keyword_precision,
    keyword_recall,
    n_recalled_keywords,
    precision,
)
from tagloom.metrics.ranking import break_even_point, macro_auc, mean_average_precision, micro_auc

__all__ = ["Evaluation", "evaluate"]


@dataclass(frozen=True)
class Evaluation:
    """Result of `evaluate`: every metric of a score matrix.

    Attributes
    ----------
    mean_average_precision, break_even_point : float
        MAP and BEP over the tags that have a known positive.
    keyword_precision, keyword_recall : float
        P and R with ``n_keywords`` tags per photo, over the tags that have a known positive.
    n_recalled_keywords : int
        N+: tags given rightly at least once.
    complete_length, annotation_accuracy : float
        Over the photos that have a known positive.
    macro_auc, micro_auc : float
        NaN where no tag (no entry, for micro) offers both a positive and a negative.
    precision : float
        Micro precision of the entries above the thresholds.
    n_keywords : int
        Tags per photo behind P, R and N+.
    n_photos, n_tags : int
        Photos with a known entry, and all tags.
    tags_without_positive, tags_without_negative : tuple of int
        Columns left out of the means over tags, and those left out of macro AUC besides.
    n_photos_without_positive : int
        Photos with known entries, none of them positive: left out of the means over photos.
    """

    mean_average_precision: float
    break_even_point: float
    keyword_precision: float
    keyword_recall: float
    n_recalled_keywords: int
    complete_length: float
    annotation_accuracy: float
    macro_auc: float
    micro_auc: float
    precision: float
    n_keywords: int
    n_photos: int
    n_tags: int
    tags_without_positive: tuple[int, ...]
    tags_without_negative: tuple[int, ...]
    n_photos_without_positive: int

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary."""
        return asdict(self)


def evaluate(Y: ArrayLike, scores: ArrayLike, n_keywords: int = 5, *, thresholds: ArrayLike = 0.5) -> Evaluation:
    """Compute every metric of a score matrix.

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        1 has the tag, 0 does not, -1 is left out.
    scores : array of shape (n, c)
        Higher means more likely.
    n_keywords : int, default=5
        Keywords per photo for P, R and N+.
    thresholds : float or array of shape (c,), default=0.5
        For ``precision``; an annotator's ``thresholds_`` fits.

    Raises
    ------
    NothingToScoreError
        No entry is known, or no known entry is positive.
    """
    labels, values = check_scored(Y, scores)
    positive = labels == 1
    with_positive, with_negative = positive.any(axis=0), (labels == 0).any(axis=0)
    return Evaluation(
        mean_average_precision=mean_average_precision(labels, values),
        break_even_point=break_even_point(labels, values),
        keyword_precision=keyword_precision(labels, values, n_keywords),
        keyword_recall=keyword_recall(labels, values, n_keywords),
        n_recalled_keywords=n_recalled_keywords(labels, values, n_keywords),
        complete_length=complete_length(labels, values),
        annotation_accuracy=annotation_accuracy(labels, values),
        macro_auc=_nan_where_undefined(macro_auc, labels, values),
        micro_auc=_nan_where_undefined(micro_auc, labels, values),
        precision=precision(labels, values, thresholds),
        n_keywords=int(n_keywords),
        n_photos=int(labeled_rows(labels).sum()),
        n_tags=labels.shape[1],
        tags_without_positive=tuple(np.flatnonzero(~with_positive).tolist()),
        tags_without_negative=tuple(np.flatnonzero(~with_negative).tolist()),
        n_photos_without_positive=int((labeled_rows(labels) & ~positive.any(axis=1)).sum()),
    )


def _nan_where_undefined(metric: Any, labels: Any, values: Any) -> float:
    try:
        return float(metric(labels, values))
    except NothingToScoreError:
        return float("nan")
