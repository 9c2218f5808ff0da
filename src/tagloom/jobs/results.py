"""What an annotation gives."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import LabelMatrix, labeled_rows
from tagloom.core.photos import PhotoRecord
from tagloom.core.vocabulary import TagVocabulary

if TYPE_CHECKING:
    from tagloom.features import ExtractionCounts
    from tagloom.learning.evaluate_part import Comparison
    from tagloom.learning.evaluation_data import Evaluation
    from tagloom.metadata import PhotoLabels
    from tagloom.methods.topics import TopicDescription

__all__ = ["LEAST_LISTED", "AnnotateResult"]

LEAST_LISTED = 0.1
"""The smallest probability of a tag that is listed for a photo without a label."""


@dataclass(slots=True)
class AnnotateResult:
    """What `annotate` did.

    Attributes
    ----------
    photos : list of bytes
        Readable photos, relative to the folder; the rows of ``Y`` and ``scores``.
    tags : TagVocabulary
        The columns.
    Y : label matrix
        What the labels file said.
    scores : ndarray of shape (n, c)
        Probabilities where labels are enough to tell them, and otherwise the learner's scores.
    kind : {"probability", "score"}
        Which.
    threshold : float
        Probability above which tags are suggested; +inf where none is sure enough, and of scores.
    why_scores : str
        Why they are not probabilities; empty otherwise.
    X, groups
        The features, as extracted.
    failed : list of PhotoRecord
        Files that could not be read, with the reason.
    labels : PhotoLabels
        The labels file as read, its unmatched names included.
    counts : ExtractionCounts
        How many files were known, hashed, decoded.
    method : str
        The learner's name.
    topics : list of TopicDescription
        What a topic model has learnt; empty for other methods. Photos are rows of ``photos``.
    comparison : Comparison or None
        How good the scores are, where the truth was given.
    why_not_compared : str
        Why it is not told although the truth was given; empty otherwise.
    evaluation : Evaluation or None
        What cross-validation on the labels found, where it was asked for and the labels suffice.
    why_not_evaluated : str
        Why they do not; empty otherwise.
    seconds : dict
        Wall time of each stage.
    files : dict
        Paths of what was written: ``keywords``, ``scores``, ``report``.
    """

    photos: list[bytes]
    tags: TagVocabulary
    Y: LabelMatrix
    scores: NDArray[Any]
    X: NDArray[np.float32]
    groups: FeatureGroups
    failed: list[PhotoRecord]
    labels: "PhotoLabels"
    counts: "ExtractionCounts"
    method: str
    kind: str = "score"
    threshold: float = np.inf
    why_scores: str = ""
    topics: "list[TopicDescription]" = field(default_factory=list)
    comparison: "Comparison | None" = None
    why_not_compared: str = ""
    evaluation: "Evaluation | None" = None
    why_not_evaluated: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    files: dict[str, Path] = field(default_factory=dict)

    @property
    def least(self) -> float:
        """The probability below which a tag is not listed; scores are listed all."""
        return LEAST_LISTED if self.kind == "probability" else -np.inf

    @property
    def n_labeled(self) -> int:
        """How many readable photos have a label."""
        return int(labeled_rows(self.Y).sum())

    @property
    def failures(self) -> dict[str, int]:
        """How many files could not be read, by verdict."""
        return dict(Counter(str(record.verdict) for record in self.failed))
