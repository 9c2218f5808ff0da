"""How good an annotator is on a person's own labels: cross-validation with intervals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from tagloom.core.annotator import Annotator
from tagloom.core.labels import UNKNOWN, LabelMatrix, check_labels
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.seeds import check_generator
from tagloom.core.typing import Floats
from tagloom.exceptions import InvalidInputError, NothingToScoreError
from tagloom.metrics import average_precision
from tagloom.metrics.calibration import ReliabilityCurve, reliability_curve
from tagloom.tuning.calibration._accepting import check_precision, common_threshold
from tagloom.tuning.evaluation._bootstrap import (
    centred,
    draw_counts,
    interval,
    interval_around,
    mean_over_tags,
    resampled_average_precision,
    share_interval,
    spread_of_few,
)
from tagloom.tuning.evaluation._fold_scores import HeldOutScores, deal_folds, score_held_out

__all__ = [
    "CrossValidation",
    "HeldOutScores",
    "check_draws",
    "cross_validate",
    "deal_folds",
    "draw_seed",
    "score_held_out",
]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """What `cross_validate` found; intervals are of other photos, as many.

    Attributes
    ----------
    held_out : HeldOutScores
        The scores behind the figures.
    map, map_low, map_high : float
        Mean average precision over the tags that have a known positive, and its interval.
    repeated_map, repeated_map_low, repeated_map_high : float
        The same over the tags with two known positives or more: others have no example left when one is held out. NaN
        without such a tag.
    average_precision, low, high : ndarray of shape (c,)
        Of each tag, and its interval; NaN without a known positive.
    n_positive, n_known : ndarray of shape (c,)
        Labels of each tag.
    threshold : float
        Probability above which suggestions were accepted; +inf where none can be, NaN where each annotator's own
        thresholds decided.
    n_accepted : int
        Known entries that were accepted.
    precision, precision_low, precision_high : float
        Right ones among these, over all tags together, and the interval; NaN for 0/0.
    recall : float
        Accepted ones among the right.
    tag_precision, tag_recall : ndarray of shape (c,)
        Of each tag.
    reliability : ReliabilityCurve or None
        Probabilities of held-out photos beside the share that has the tag, over entries of at least 0.05; None where
        there is none.
    """

    held_out: HeldOutScores
    map: float
    map_low: float
    map_high: float
    repeated_map: float
    repeated_map_low: float
    repeated_map_high: float
    average_precision: Floats
    low: Floats
    high: Floats
    n_positive: NDArray[np.int64]
    n_known: NDArray[np.int64]
    threshold: float
    n_accepted: int
    precision: float
    precision_low: float
    precision_high: float
    recall: float
    tag_precision: Floats
    tag_recall: Floats
    reliability: ReliabilityCurve | None


def cross_validate(
    annotator: Annotator,
    X: Any,
    Y: ArrayLike,
    *,
    n_splits: int = 5,
    precision: float | None = None,
    n_draws: int = 400,
    level: float = 0.95,
    random_state: Any = 0,
    progress: Progress = NO_PROGRESS,
) -> CrossValidation:
    """Measure an annotator on labelled photos that it has not seen the labels of.

    Parameters
    ----------
    annotator : Annotator
        Cloned, never changed.
    X : array or CSR of shape (n, d)
        Features of all photos; unlabelled ones stay in every fit.
    Y : label matrix of shape (n, c)
        Labels with -1 for unknown.
    n_splits : int, default=5
        Folds of the labelled photos; see `LabeledKFold`.
    precision : float, optional
        Accept what is right with this precision by its probabilities, as `thresholds_for` has it, and nothing that is
        less likely than not. Default: what is above the annotator's ``thresholds_``.
    n_draws : int, default=400
        Samples of photos behind the intervals.
    level : float, default=0.95
        Share of the samples that an interval holds.
    random_state : int, Generator or None, default=0
        Deals folds and draws samples.
    progress : Progress, optional
        Told about each fit.

    Notes
    -----
    Held-out photos are unlabelled photos of the training set, as those are that a person wants suggestions for.
    Scores of all folds are ranked together. The intervals hold what another sample of as many labelled photos would
    change; what other folds or another seed of the annotator would change is not in them. The interval of a tag is that
    of a share of as many as it has examples. The interval of a mean over tags is of photos drawn again: the tags are
    the same in every sample, each tag's samples are moved to its own figure, and vary at least as much as such a share.

    Examples
    --------
    >>> import numpy as np
    >>> from tagloom.methods import RegularizedLeastSquares
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> Y = (X[:, :2] > 0.5).astype(np.int8)
    >>> Y[80:] = -1
    >>> found = cross_validate(RegularizedLeastSquares(), X, Y)
    >>> found.map_low < found.map < found.map_high
    True
    """
    X = X if sparse.issparse(X) else np.asarray(X)
    Y = check_labels(Y, n_rows=X.shape[0])
    check_draws(n_draws, level)
    if precision is not None:
        check_precision(precision)
    seed = draw_seed(random_state)
    folds = deal_folds(X, Y, n_splits, seed)
    progress.start("cross-validating", len(folds))
    try:
        held_out = score_held_out(annotator, X, Y, folds, seed=seed, progress=progress)
    finally:
        progress.finish()
    return _figures(held_out, precision, n_draws, level, seed)


def _figures(held_out: HeldOutScores, wanted: float | None, n_draws: int, level: float, seed: int) -> CrossValidation:
    labels, scores = held_out.labels, held_out.scores
    figures, n_positive = average_precision(labels, scores), (labels == 1).sum(axis=0)
    if np.isnan(figures).all():
        raise NothingToScoreError("no tag has a known positive; label photos that have the tags")
    counts = draw_counts(len(labels), n_draws, seed)
    drawn = centred(resampled_average_precision(labels, scores, counts), figures)
    drawn = spread_of_few(drawn, figures, n_positive, seed)
    low, high = share_interval(figures, n_positive, level)
    probabilities = held_out.probabilities()
    threshold, accepted = np.nan, held_out.accepted
    if wanted is not None:
        threshold = common_threshold(probabilities, labels != UNKNOWN, wanted)
        accepted = probabilities > threshold
    right, known = accepted & (labels == 1), accepted & (labels != UNKNOWN)
    n_right, n_accepted = right.sum(axis=0), known.sum(axis=0)
    precision = _precision(right.sum(axis=1), known.sum(axis=1), counts, level)
    every = _mean_figure(figures, drawn, level)
    repeated = _mean_figure(np.where(n_positive >= 2, figures, np.nan), drawn, level)
    return CrossValidation(
        held_out=held_out,
        map=every[0],
        map_low=every[1],
        map_high=every[2],
        repeated_map=repeated[0],
        repeated_map_low=repeated[1],
        repeated_map_high=repeated[2],
        average_precision=figures,
        low=low,
        high=high,
        n_positive=n_positive,
        n_known=(labels != UNKNOWN).sum(axis=0),
        threshold=float(threshold),
        n_accepted=int(n_accepted.sum()),
        precision=precision[0],
        precision_low=precision[1],
        precision_high=precision[2],
        recall=float(_ratio(n_right.sum(keepdims=True), n_positive.sum(keepdims=True))[0]),
        tag_precision=_ratio(n_right, n_accepted),
        tag_recall=_ratio(n_right, n_positive),
        reliability=_reliability(labels, probabilities),
    )


def _precision(
    n_right: NDArray[np.int64], n_accepted: NDArray[np.int64], counts: NDArray[np.int64], level: float
) -> tuple[float, float, float]:
    """Return the share of right ones among what was accepted for each photo, and its interval; NaN for 0/0."""
    total = int(n_accepted.sum())
    if not total:
        return np.nan, np.nan, np.nan
    share = float(n_right.sum() / total)
    # Tags of one photo are right or wrong together, which samples of photos tell; few that are all right tell nothing.
    of_photos = interval(_ratio(counts @ n_right, counts @ n_accepted), level)
    of_share = share_interval(share, total, level)
    low, high = (np.array([one, other]) for one, other in zip(of_photos, of_share, strict=True))
    return share, min(share, float(np.nanmin(low))), max(share, float(np.nanmax(high)))


def _mean_figure(figures: Floats, drawn: Floats, level: float) -> tuple[float, float, float]:
    """Return the mean over the tags that have a figure, and its interval; NaN where none has one."""
    if np.isnan(figures).all():
        return np.nan, np.nan, np.nan
    mean = float(np.nanmean(figures))
    low, high = interval_around(mean, mean_over_tags(drawn, figures), level)
    return mean, float(low), float(high)


def _reliability(labels: LabelMatrix, probabilities: Floats) -> ReliabilityCurve | None:
    try:
        return reliability_curve(labels, probabilities, entries="likely", n_bins=10)
    except NothingToScoreError:
        return None


def check_draws(n_draws: int, level: float) -> None:
    """Raise unless the number of samples and the share that an interval holds can be used."""
    if not isinstance(n_draws, int | np.integer) or n_draws < 2:
        raise InvalidInputError(f"n_draws must be an integer of at least 2, got {n_draws!r}")
    if not 0.0 < level < 1.0:
        raise InvalidInputError(f"level must lie between 0 and 1, got {level!r}")


def draw_seed(random_state: Any) -> int:
    """Return one number for all that is drawn, so that figures that are compared rest on the same draws."""
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_generator(random_state).integers(2**31))


def _ratio(part: NDArray[np.int64], whole: NDArray[np.int64]) -> Floats:
    found = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found
