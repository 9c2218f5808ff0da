"""One scale for scores of photos never labelled and for scores of labelled photos without their own label.

Of a tag with P examples, a photo never labelled is scored by a model that knew P; a photo with the tag, its own label
left out, by one that knew P - 1. So what is said of an entry is described by the examples that its score knew, and a
left-out score tells what a score of the same number of examples is worth elsewhere.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, logit, pdtr

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.tuning.calibration.calibrated import ScoreScale
from tagloom.tuning.constants import (
    HEAPS_BOUNDS,
    HEAPS_FEWEST_PHOTOS,
    HEAPS_MOST_PHOTOS,
    LEAST_UNSEEN,
    MISSED_PHOTOS,
    PRIOR_ALONE,
    RATE_WEIGHTS,
    UNSEEN_CHANCE,
    USUAL_HEAPS,
    USUAL_WEIGHT,
    WEIGHT_SPREAD,
    WITHOUT_EXAMPLES,
)

__all__ = ["LevelScale", "TagRates", "heaps", "sharpened", "tag_counts", "telling"]


@dataclass(frozen=True)
class TagRates:
    """How frequent tags are before they are looked at: a beta distribution.

    Parameters
    ----------
    mean : float
        Its mean.
    weight : float
        Photos that it is worth.
    """

    mean: float
    weight: float

    def log_odds(self, n_yes: Any, n_known: Any) -> Floats:
        """Return the log-odds of the mean rate of tags that so many of so many photos have."""
        return np.asarray(logit((n_yes + self.mean * self.weight) / (n_known + self.weight)))


def fit_rates(n_yes: NDArray[np.integer[Any]], n_known: NDArray[np.integer[Any]]) -> TagRates:
    """Return the distribution of rates that makes the counts of all tags most probable.

    Parameters
    ----------
    n_yes, n_known : array of shape (c,)
        Photos that have the tag, and photos of which that is known.
    """
    mean = (float(n_yes.sum()) + 0.5) / (float(n_known.sum()) + 1.0)
    a, b = mean * RATE_WEIGHTS[:, None], (1.0 - mean) * RATE_WEIGHTS[:, None]
    evidence = (betaln(n_yes + a, n_known - n_yes + b) - betaln(a, b)).sum(axis=1)
    evidence -= 0.5 * np.square(np.log(RATE_WEIGHTS / USUAL_WEIGHT) / WEIGHT_SPREAD)
    return TagRates(mean, float(RATE_WEIGHTS[int(np.argmax(evidence))]))


@dataclass(frozen=True, eq=False)
class LevelScale(ScoreScale):
    """A `ScoreScale` whose priors are drawn towards the rate of all tags.

    Attributes
    ----------
    usual_rate, usual_weight : float
        Of the `TagRates`.
    """

    usual_rate: float
    usual_weight: float

    @classmethod
    def of(cls, scale: ScoreScale, Y: LabelMatrix, rates: TagRates | None = None) -> "LevelScale":
        """Return the scale with priors of the labels that scores were learnt from.

        Parameters
        ----------
        scale : ScoreScale
            Centre and spread.
        Y : label matrix of shape (n, c)
            The labels.
        rates : TagRates, optional
            How frequent tags are before they are looked at. Default: as the labels say.
        """
        n_yes, n_known = tag_counts(Y)
        rates = fit_rates(n_yes, n_known) if rates is None else rates
        prior = rates.log_odds(n_yes, n_known)
        return cls(scale.centre, scale.spread, prior, np.log1p(n_yes), scale.n_reference, rates.mean, rates.weight)

    @property
    def rates(self) -> TagRates:
        """How frequent tags are before they are looked at."""
        return TagRates(self.usual_rate, self.usual_weight)

    def describe(self, scores: NDArray[np.floating[Any]]) -> Floats:
        """Return features of scores of shape (n, c) as an array of shape (n, c, 4) for the pooled sigmoid.

        Whether the tag has an example, the compressed distance from the centre in spreads, the prior, and the product
        of the second with the evidence. A tag without an example has hardly more than its prior.
        """
        distance = np.arcsinh((np.asarray(scores, dtype=np.float64) - self.centre) / self.spread)
        has_examples = np.broadcast_to(self.evidence > 0.0, distance.shape)
        distance = distance * np.where(has_examples, 1.0, WITHOUT_EXAMPLES)
        prior = np.broadcast_to(self.prior, distance.shape)
        return np.stack([has_examples, distance, prior, distance * self.evidence], axis=-1, dtype=np.float64)

    def describe_left_out(self, scores: Floats, Y: LabelMatrix, rows: NDArray[np.intp]) -> Floats:
        """Return the same for scores of labelled photos, each by a model without the photo's own labels.

        Parameters
        ----------
        scores : array of shape (m, c)
            The scores.
        Y : label matrix of shape (n, c)
            All labels.
        rows : array of int, shape (m,)
            The photos. The models knew the labels of these alone, frequencies are those of all.

        Notes
        -----
        The deviation of a score from its mean adds up from the examples: its spread grows as the root of their number.
        """
        yes, known = Y[rows] == 1, Y[rows] != UNKNOWN
        n_yes, n_known = tag_counts(Y)
        prior = self.rates.log_odds(n_yes - yes, n_known - known)
        n_examples = yes.sum(axis=0)
        level = n_examples - yes
        shrunk = np.sqrt(np.where(level > 0, level / np.maximum(n_examples, 1), 1.0))
        own = replace(self, spread=self.spread * shrunk, prior=prior, evidence=np.log1p(level))
        return own.describe(scores)


def has_unseen_tags(n_yes: NDArray[np.integer[Any]]) -> bool:
    """Tell whether tags were listed beforehand, those that no labelled photo has among them.

    Parameters
    ----------
    n_yes : array of shape (c,)
        Photos that have each tag.

    Notes
    -----
    With N₁ tags that one photo has and N₂ that two have, about ``N₁(N₁ - 1)/(2(N₂ + 1))`` others that occur were missed
    (Chao's estimate). Where far fewer have no example, and chance does not explain it (Poisson), tags are there because
    a labelled photo has them.
    """
    unseen, once, twice = (int((n_yes == number).sum()) for number in range(3))
    expected = once * (once - 1) / (2.0 * (twice + 1.0))
    return bool(unseen >= LEAST_UNSEEN * expected or pdtr(unseen, expected) > UNSEEN_CHANCE)


def telling(Y: LabelMatrix, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which entries of labelled photos tell how right scores are, shape (m, c).

    Parameters
    ----------
    Y : label matrix of shape (n, c)
        All labels.
    rows : array of int, shape (m,)
        The photos.

    Notes
    -----
    Left out, a tag's only example tells what the tag's scores are worth without any, beside all the noes of tags that
    have none. Where tags are there only because a labelled photo has them, there are no such noes: every entry that was
    scored without an example is a yes, and says nothing but that.
    """
    yes = Y[rows] == 1
    # A tag of which nothing is known is in no list that somebody went through.
    if has_unseen_tags((Y == 1).sum(axis=0)[(Y != UNKNOWN).any(axis=0)]):
        return np.ones(yes.shape, dtype=bool)
    return ~yes | (yes.sum(axis=0) > 1)


def heaps(scores: NDArray[Any], tags: NDArray[np.bool_]) -> float:
    """Return how clearly scores of all photos fall into two heaps; 0 is usual, or not known.

    Parameters
    ----------
    scores : array of shape (n, c)
        The scores.
    tags : array of bool, shape (c,)
        Tags with examples.

    Notes
    -----
    The logarithm of the median coefficient of bimodality, ``(skewness² + 1)/kurtosis``, over the usual one. With 25
    labelled photos this tells how much a score says as well as the labels do, and no label is needed for it.
    """
    if len(scores) < HEAPS_FEWEST_PHOTOS or not tags.any():
        return 0.0
    found = scores[:: max(1, len(scores) // HEAPS_MOST_PHOTOS)][:, tags].astype(np.float64)
    found = found - found.mean(axis=0)
    spread = found.std(axis=0)
    telling = spread > 1e-9
    if not telling.any():
        return 0.0
    z = found[:, telling] / spread[telling]
    bimodality = (np.square((z**3).mean(axis=0)) + 1.0) / (z**4).mean(axis=0)
    return float(np.clip(np.log(np.median(bimodality) / USUAL_HEAPS), *HEAPS_BOUNDS))


def sharpened(coefficients: Floats, n_left_out: int) -> Floats:
    """Return coefficients for scores that know all labels, from those of left-out scores of so many photos."""
    return PRIOR_ALONE + (1.0 + MISSED_PHOTOS / max(n_left_out, 1)) * (coefficients - PRIOR_ALONE)


def tag_counts(Y: LabelMatrix) -> NDArray[np.int64]:
    """Return for each tag how many photos have it, and how many it is known on, shape (2, c)."""
    return np.stack([(Y == 1).sum(axis=0), (Y != UNKNOWN).sum(axis=0)])
