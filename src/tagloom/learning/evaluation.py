"""What an evaluation found, as plain data; and putting it together from the figures of cross-validation."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import Result
from tagloom.learning.constants import LEVEL
from tagloom.tuning.evaluation import CrossValidation, Forecast, GroupFigure, LearningCurve

__all__ = ["CurvePoint", "ModelEvaluation", "make_evaluation"]


@dataclass(frozen=True, slots=True)
class TagFigures(Result):
    """How well one tag is found.

    Parameters
    ----------
    tag : str
        The tag.
    n_yes, n_no : int
        Photos that have it, and have it not.
    average_precision, low, high : float or None
        On held-out photos, and its interval; None where no photo has the tag.
    precision, recall : float or None
        Above the threshold; None for 0/0.
    """

    tag: str
    n_yes: int
    n_no: int
    average_precision: float | None
    low: float | None
    high: float | None
    precision: float | None
    recall: float | None


@dataclass(frozen=True, slots=True)
class CurvePoint(Result):
    """Mean average precision with a part of the labels, and its interval."""

    n_labels: float
    map: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bin(Result):
    """Held-out entries of like probability: their mean, the share that has the tag, and how many there are."""

    predicted: float
    observed: float
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEvaluation(Result):
    """How good a method is on held-out photos.

    Parameters
    ----------
    method : str
        The learner's name.
    folds : int
        Parts that the labelled photos were dealt to; each was hidden once.
    level : float
        Share of samples that an interval holds.
    n_photos, n_labeled, n_tags : int
        Photos with features, labelled ones among them, tags.
    map, map_low, map_high : float
        Mean average precision over all tags that a photo has, and its interval.
    precision, recall : float or None
        Right ones among suggestions above the threshold, and found ones among the right, all tags together.
    tags : tuple of TagFigures
        The best first, those without a figure last.
    reliability : tuple of Bin
        Probabilities beside what came true.
    calibration_error : float or None
        Mean distance of the two.
    curve : tuple of CurvePoint
        With parts of the labels; empty where it was not asked for or labels are too few.
    forecast : Forecast or None
        What more labels would bring.
    groups : tuple of GroupFigure
        What each feature group brings, the one that is missed most first; empty with a single group.
    notes : tuple of str
        What to bear in mind.
    seconds : float
        Wall time.
    n_repeated : int or None, default=None
        Tags that two photos or more have; others have no example left when one is held out, so that they cannot be
        found again. None in what an older version has kept.
    repeated_map, repeated_map_low, repeated_map_high : float or None, default=None
        Mean average precision over those tags, and its interval; None where there are none.
    wanted_precision : float or None, default=None
        Precision that the threshold is for; None where labels are too few for probabilities, so that each tag has a
        threshold of its own, of scores.
    threshold : float or None, default=None
        Probability above which suggestions were accepted; None where there is none.
    n_accepted : int or None, default=None
        Held-out pairs of photo and tag above the threshold.
    precision_low, precision_high : float or None, default=None
        Interval of the precision.
    """

    method: str
    folds: int
    level: float
    n_photos: int
    n_labeled: int
    n_tags: int
    map: float
    map_low: float
    map_high: float
    precision: float | None
    recall: float | None
    tags: tuple[TagFigures, ...]
    reliability: tuple[Bin, ...]
    calibration_error: float | None
    curve: tuple[CurvePoint, ...]
    forecast: Forecast | None
    groups: tuple[GroupFigure, ...]
    notes: tuple[str, ...]
    seconds: float
    n_repeated: int | None = None
    repeated_map: float | None = None
    repeated_map_low: float | None = None
    repeated_map_high: float | None = None
    wanted_precision: float | None = None
    threshold: float | None = None
    n_accepted: int | None = None
    precision_low: float | None = None
    precision_high: float | None = None

    @property
    def accepted(self) -> str:
        """What suggestions were accepted, in words."""
        if self.wanted_precision is None:
            return "suggestions above the threshold of their tag"
        limit = "" if self.threshold is None else f" ({self.threshold:.2f})"
        return f"suggestions above the threshold for {self.wanted_precision:.0%}{limit}"

    def mean_figures(self) -> tuple[tuple[str, float, float, float], ...]:
        """Return the mean average precision as it is shown, the first line first: over what, figure, interval.

        "Over what" is empty where there is one figure alone.
        """
        low, high = self.repeated_map_low, self.repeated_map_high
        if self.repeated_map is None or low is None or high is None or self.repeated_map == self.map:
            return (("", self.map, self.map_low, self.map_high),)
        return (
            ("tags with two examples or more", self.repeated_map, low, high),
            ("all tags", self.map, self.map_low, self.map_high),
        )


def make_evaluation(
    method: str,
    tags: Sequence[str],
    n_photos: int,
    found: CrossValidation,
    *,
    wanted_precision: float | None = None,
    learnt: LearningCurve | None = None,
    groups: Sequence[GroupFigure] = (),
    n_more: int = 100,
    named: NDArray[np.bool_] | None = None,
    seconds: float = 0.0,
) -> ModelEvaluation:
    """Put figures together.

    Parameters
    ----------
    method : str
        The learner's name.
    tags : sequence of str
        The columns.
    n_photos : int
        Photos with features.
    found : CrossValidation
        Figures at the level `LEVEL`.
    wanted_precision : float, optional
        What its threshold is for.
    learnt : LearningCurve, optional
        With parts of the labels.
    groups : sequence of GroupFigure
        What each feature group brings.
    n_more : int, default=100
        Photos of the forecast.
    named : ndarray of bool, shape (c,), optional
        Tags that were named rather than judged.
    seconds : float
        Wall time.
    """
    curve = found.reliability
    forecast = None if learnt is None else learnt.forecast(n_more)
    return ModelEvaluation(
        method=method,
        folds=len(np.unique(found.held_out.folds)),
        level=LEVEL,
        n_photos=n_photos,
        n_labeled=len(found.held_out.rows),
        n_tags=len(tags),
        map=found.map,
        map_low=found.map_low,
        map_high=found.map_high,
        precision=_number(found.precision),
        recall=_number(found.recall),
        tags=_tags(tags, found),
        reliability=()
        if curve is None
        else tuple(
            Bin(float(p), float(o), int(n))
            for p, o, n in zip(curve.predicted, curve.observed, curve.counts, strict=True)
        ),
        calibration_error=None if curve is None else curve.error,
        curve=()
        if learnt is None
        else tuple(
            CurvePoint(*map(float, point))
            for point in zip(learnt.n_labels, learnt.map, learnt.low, learnt.high, strict=True)
        ),
        forecast=forecast,
        groups=tuple(groups),
        notes=_notes(len(tags), 0 if named is None else int(named.sum()), found, forecast),
        seconds=seconds,
        n_repeated=int((found.n_positive >= 2).sum()),
        repeated_map=_number(found.repeated_map),
        repeated_map_low=_number(found.repeated_map_low),
        repeated_map_high=_number(found.repeated_map_high),
        wanted_precision=wanted_precision,
        threshold=_number(found.threshold),
        n_accepted=found.n_accepted,
        precision_low=_number(found.precision_low),
        precision_high=_number(found.precision_high),
    )


def _tags(tags: Sequence[str], found: CrossValidation) -> tuple[TagFigures, ...]:
    figures = [
        TagFigures(
            tag,
            int(found.n_positive[column]),
            int(found.n_known[column] - found.n_positive[column]),
            *(
                _number(values[column])
                for values in (
                    found.average_precision,
                    found.low,
                    found.high,
                    found.tag_precision,
                    found.tag_recall,
                )
            ),
        )
        for column, tag in enumerate(tags)
    ]
    return tuple(
        sorted(figures, key=lambda one: (one.average_precision is None, -(one.average_precision or 0.0), one.tag))
    )


def _notes(n_tags: int, n_named: int, found: CrossValidation, forecast: Forecast | None) -> tuple[str, ...]:
    notes = []
    n_rare = int((found.n_positive < 2).sum())
    if n_rare:
        notes.append(f"{n_rare} of {n_tags} tags have too few examples to evaluate: they need two or more.")
    if n_named:
        notes.append(f"{n_named} tags are positive-only: a labelled photo without one counts as rejected.")
    if forecast is not None and forecast.is_far:
        notes.append("The forecast reaches beyond twice your labels: treat it as a guess.")
    return tuple(notes)


def _number(value: float) -> float | None:
    """Return a number as JSON can hold it."""
    return float(value) if math.isfinite(value) else None
