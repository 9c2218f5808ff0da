"""From scores to probabilities, as a model keeps it: arrays, and what they do to scores of tags old and new."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from tagloom.core.labels import LabelMatrix
from tagloom.core.typing import Floats
from tagloom.tuning.calibration._held_out import ScoreScale, known_log_odds, scale_of
from tagloom.tuning.calibration._isotonic import TagSteps
from tagloom.tuning.calibration.maps import LARGEST_LOGIT, CalibrationMap

__all__ = ["ProbabilityMap", "ScoreScale", "load_scale", "refresh_scale", "scale_arrays"]

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
    def load(cls, arrays: dict[str, NDArray[Any]], prefix: str) -> "ProbabilityMap":
        """Return what `arrays` gave."""
        found = {name.removeprefix(f"{prefix}/"): values for name, values in arrays.items()}
        ends = np.cumsum(found["step_counts"])[:-1]
        parts = zip(
            found["step_tags"].tolist(),
            np.split(found["step_logits"], ends),
            np.split(found["step_shares"], ends),
            strict=False,  # splitting nothing gives one empty part
        )
        steps = TagSteps({tag: (at, shares) for tag, at, shares in parts})
        return cls(found["coefficients"], found["offsets"], found["slopes"], found["centres"], steps)


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
    few = (now.n_reference < n_labeled / 5) & (columns >= 0)
    centre = np.where(few, np.append(before.centre, 0.0)[columns], now.centre)
    spread = np.where(few, np.append(before.spread, 1.0)[columns], now.spread)
    return ScoreScale(centre, spread, prior, now.evidence, now.n_reference)


def scale_arrays(scale: ScoreScale) -> dict[str, NDArray[Any]]:
    """Return what a model file holds of a scale."""
    return {f"scale/{name}": getattr(scale, name) for name in _SCALE}


def load_scale(arrays: dict[str, NDArray[Any]]) -> ScoreScale:
    """Return what `scale_arrays` gave."""
    return ScoreScale(*(arrays[f"scale/{name}"] for name in _SCALE))
