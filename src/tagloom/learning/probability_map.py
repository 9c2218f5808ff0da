"""From scores to probabilities, as a model keeps it: arrays, and what they do to scores of tags old and new."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tagloom.core import Floats, LabelMatrix
from tagloom.learning.constants import ADDED_TAG_SHARE, FEW_UNKNOWN_SHARE, MOST_OF_MODEL
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.predictions import Predictions, log_odds
from tagloom.learning.suggest import PROBABILITY
from tagloom.tuning.calibration import CalibrationMap, ScoreScale, TagSteps, known_log_odds, scale_of
from tagloom.tuning.constants import LARGEST_LOGIT, PRIOR_MEANS

_SCALE = ("centre", "spread", "prior", "evidence", "n_reference")


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityMap:
    """A fitted `CalibrationMap` without what only fitting needs.

    Parameters
    ----------
    coefficients : ndarray of shape (4,)
        Of the sigmoid that all tags share.
    offsets, slopes, centres : ndarray of shape (c,)
        Each tag's own; 0 for one that follows the shared sigmoid.
    steps : TagSteps
        Isotonic regression of the tags that have one.
    """

    coefficients: Floats
    offsets: Floats
    slopes: Floats
    centres: Floats
    steps: TagSteps

    @classmethod
    def of(cls, fitted: CalibrationMap) -> "ProbabilityMap":
        """Take over what was fitted."""
        tags = fitted.tags
        return cls(fitted.coefficients, tags.offsets, tags.slopes, tags.centres, fitted.steps)

    def take(self, columns: NDArray[np.intp]) -> "ProbabilityMap":
        """Return the map of some columns; -1 stands for a tag it has never seen, which follows the shared sigmoid."""
        new = columns < 0
        offsets, slopes, centres = (
            np.where(new, 0.0, np.append(values, 0.0)[columns]) for values in (self.offsets, self.slopes, self.centres)
        )
        knots = {at: self.steps.knots[tag] for at, tag in enumerate(columns.tolist()) if tag in self.steps.knots}
        return ProbabilityMap(self.coefficients, offsets, slopes, centres, TagSteps(knots))

    def probabilities(self, scores: NDArray[np.float32], scale: ScoreScale) -> NDArray[np.float32]:
        """Return probabilities of scores of shape (n, c), in float32.

        Parameters
        ----------
        scores : ndarray of float32, shape (n, c)
            Of the map's tags.
        scale : ScoreScale
            Of these scores.
        """
        constant, by_distance, by_prior, by_evidence = self.coefficients
        # Shared and own sigmoid are both linear in the compressed distance: for a tag they are one line.
        slope = (by_distance + by_evidence * scale.evidence) * (1.0 + self.slopes)
        level = (constant + by_prior * scale.prior) * (1.0 + self.slopes) + self.offsets - self.slopes * self.centres
        logits = np.arcsinh((scores - scale.centre.astype(np.float32)) / scale.spread.astype(np.float32))
        logits *= slope.astype(np.float32)
        logits += level.astype(np.float32)
        for tag, knots in self.steps.knots.items():
            column = logits[:, tag : tag + 1].astype(np.float64)
            logits[:, tag] = logit(TagSteps({0: knots}).mix_into(column))[:, 0]
        np.clip(logits, -LARGEST_LOGIT, LARGEST_LOGIT, out=logits)
        return np.asarray(expit(logits), dtype=np.float32)

    def arrays(self, prefix: str) -> dict[str, NDArray[Any]]:
        """Return what a model file holds of it."""
        tags = sorted(self.steps.knots)
        knots = [self.steps.knots[tag] for tag in tags]
        empty = np.empty(0)
        found = {
            "coefficients": self.coefficients,
            "offsets": self.offsets,
            "slopes": self.slopes,
            "centres": self.centres,
            "step_tags": np.asarray(tags, dtype=np.int64),
            "step_counts": np.asarray([len(at) for at, _ in knots], dtype=np.int64),
            "step_logits": np.concatenate([empty, *(at for at, _ in knots)]),
            "step_shares": np.concatenate([empty, *(shares for _, shares in knots)]),
        }
        return {f"{prefix}/{name}": values for name, values in found.items()}

    @classmethod
    def load(cls, arrays: dict[str, NDArray[Any]], prefix: str, n_tags: int) -> "ProbabilityMap":
        """Return what `arrays` gave; raise KeyError or ValueError where the arrays are others."""
        coefficients = checked_array(arrays, f"{prefix}/coefficients", (len(PRIOR_MEANS),))
        offsets, slopes, centres = (
            checked_array(arrays, f"{prefix}/{name}", (n_tags,)) for name in ("offsets", "slopes", "centres")
        )
        tags, counts = (
            checked_array(arrays, f"{prefix}/{name}", (None,), "i") for name in ("step_tags", "step_counts")
        )
        if len(tags) != len(counts) or (counts < 1).any() or not np.isin(tags, np.arange(n_tags)).all():
            raise ValueError(f"{prefix}/step_tags does not agree with {prefix}/step_counts")
        knots = (checked_array(arrays, f"{prefix}/step_{name}", (counts.sum(),)) for name in ("logits", "shares"))
        parts = zip(tags.tolist(), *(np.split(values, np.cumsum(counts)[:-1]) for values in knots), strict=False)
        steps = TagSteps({tag: (at, shares) for tag, at, shares in parts})
        return cls(coefficients, offsets, slopes, centres, steps)


def refresh_scale(
    scores: NDArray[np.float32],
    Y: LabelMatrix,
    before: ScoreScale,
    columns: NDArray[np.intp],
    n_labeled: int,
    sample: LabelMatrix | None = None,
) -> ScoreScale:
    """Return the scale of new scores; where hardly an entry is unknown, centre and spread stay as they were.

    Parameters
    ----------
    scores, Y : arrays of shape (n, c)
        The scores, and the labels they were learnt from.
    before : ScoreScale
        Of the model.
    columns : array of int, shape (c,)
        For each tag its column there, -1 for a new one.
    n_labeled : int
        Labelled photos.
    sample : label matrix, optional
        Labels that tell how frequent tags are. Default: Y.
    """
    now = scale_of(scores, Y)
    prior = now.prior if sample is None else known_log_odds(sample)
    few = (now.n_reference < FEW_UNKNOWN_SHARE * n_labeled) & (columns >= 0)
    centre = np.where(few, np.append(before.centre, 0.0)[columns], now.centre)
    spread = np.where(few, np.append(before.spread, 1.0)[columns], now.spread)
    return ScoreScale(centre, spread, prior, now.evidence, now.n_reference)


def scale_arrays(scale: ScoreScale) -> dict[str, NDArray[Any]]:
    """Return what a model file holds of a scale."""
    return {f"scale/{name}": getattr(scale, name) for name in _SCALE}


def load_scale(arrays: dict[str, NDArray[Any]], n_tags: int) -> ScoreScale:
    """Return what `scale_arrays` gave; raise KeyError or ValueError where the arrays are others."""
    kinds = ("i" if name == "n_reference" else "f" for name in _SCALE)
    parts = [checked_array(arrays, f"scale/{name}", (n_tags,), kind) for name, kind in zip(_SCALE, kinds, strict=True)]
    return ScoreScale(*parts)


def checked_array(
    arrays: dict[str, NDArray[Any]], name: str, shape: tuple[int | None, ...], kind: str = "f"
) -> NDArray[Any]:
    """Return an array of a model file; raise KeyError or ValueError where it is not there or another one.

    Parameters
    ----------
    arrays : dict of str to ndarray
        What the file holds: it may be anything.
    name : str
        Its name.
    shape : tuple of int or None
        Its shape; None for any length.
    kind : {"f", "i"}
        Finite floats, or integers.
    """
    found = arrays[name]
    fits = found.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, found.shape, strict=True))
    if not fits or found.dtype.kind != kind or not np.isfinite(found).all():
        raise ValueError(f"the array {name} has the shape {found.shape} and the type {found.dtype}, or is not finite")
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Mixture:
    """Numbers of tags as a sum, ``weight · before + (1 - weight) · (level + slope · score)``: log-odds or scores.

    Parameters
    ----------
    before : ndarray of shape (n, k)
        The model's.
    weight : ndarray of shape (n, k)
        How much they count.
    level, slope : ndarray of shape (k,)
        What brings a ridge's scores to their mean and spread.
    """

    before: NDArray[np.float64]
    weight: NDArray[np.float64]
    level: NDArray[np.float64]
    slope: NDArray[np.float64]

    def of(self, scores: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the sums for a ridge's scores."""
        return np.asarray(self.weight * self.before + (1.0 - self.weight) * (self.level + self.slope * scores))


@dataclass(frozen=True, slots=True, eq=False)
class OwnPredictions:
    """What a model predicted when it was trained.

    Parameters
    ----------
    predictions : Predictions
        For all photos and the model's tags. Those for decided photos are leave-one-out.
    has : ndarray of bool, shape (n,)
        Photos that were there then; the others have no predictions.
    n_positive : dict of int to int
        For each tag how many photos had it then.
    """

    predictions: Predictions
    has: NDArray[np.bool_]
    n_positive: dict[int, int]

    def is_new(self, tag_ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which tags the model did not know."""
        return np.asarray(self.predictions.columns_of(tag_ids) < 0)

    def blended(
        self, scores: NDArray[np.float32], labels: TrainingLabels, changed: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """Return predictions for changed tags: the model's, and a ridge's brought to their mean and spread.

        Parameters
        ----------
        scores : ndarray of float32, shape (n, k)
            A ridge's, of the changed tags.
        labels : TrainingLabels
            What they were learnt from.
        changed : ndarray of int, shape (k,)
            Their columns in the labels.

        Notes
        -----
        With s the share of the photos with a tag that the model knew, its predictions (log-odds of probabilities) weigh
        ``0.7 s²`` and the ridge's the rest. Tags and photos that it did not know have the ridge's alone. Probabilities
        of such tags are what scores usually say; `tagloom.learning.judgements.calibrate_new` asks their labels.
        """
        is_probability = self.predictions.kind == PROBABILITY
        values = scores.copy()
        if is_probability:
            zeros = np.zeros(len(changed))
            scale = scale_of(scores, labels.Y[:, changed])
            values = ProbabilityMap(PRIOR_MEANS, zeros, zeros, zeros, TagSteps({})).probabilities(scores, scale)
        old = np.flatnonzero(~self.is_new(labels.tag_ids[changed]))
        if len(old) and self.has.any():
            mixed = self.mixture(scores[:, old], labels, changed[old]).of(scores[:, old])
            values[:, old] = expit(mixed) if is_probability else mixed
        return values

    def mixture(self, scores: NDArray[np.float32], labels: TrainingLabels, columns: NDArray[np.intp]) -> Mixture:
        """Return how the predictions for tags that the model knew are made of its own and a ridge's.

        Parameters
        ----------
        scores : ndarray of float32, shape (n, k)
            The ridge's.
        labels : TrainingLabels
            What they were learnt from.
        columns : ndarray of int, shape (k,)
            Columns of the tags in the labels.
        """
        before = self.predictions.values[:, self.predictions.columns_of(labels.tag_ids[columns])].astype(np.float64)
        before = log_odds(before) if self.predictions.kind == PROBABILITY else before
        Y = labels.Y[:, columns]
        scale, of_model = scale_of(scores, Y), scale_of(before[self.has], Y[self.has])
        slope = of_model.spread / scale.spread
        weight = np.where(self.has[:, None], self._shares(labels, columns), 0.0)
        return Mixture(before, weight, of_model.centre - slope * scale.centre, slope)

    def _shares(self, labels: TrainingLabels, columns: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how much the model's predictions weigh, for each tag."""
        now = (labels.Y[:, columns] == 1).sum(axis=0)
        # A tag that an update has added: two thirds.
        tag_ids = labels.tag_ids[columns].tolist()
        then = np.array([self.n_positive.get(tag, ADDED_TAG_SHARE * n) for tag, n in zip(tag_ids, now, strict=True)])
        known = np.minimum(then, now) / np.maximum(np.maximum(then, now), 1)
        known[(then == 0) & (now == 0)] = 1.0
        return np.asarray(MOST_OF_MODEL * np.square(known))
