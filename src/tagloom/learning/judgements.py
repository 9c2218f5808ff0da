"""Probabilities of tags that a person goes through from the likeliest photo down.

What was judged in a review is no sample: it is the top of a ranking. Probabilities that were learnt on other labels, on
the scale of other scores, do not hold for what is left below. So a tag that was judged often enough gets a sigmoid of
its own, fitted to what the model of this moment says of the judged photos while it does not know their labels. That is
still too good to be true where the photos that were shown have the tag less often than listed ones of the same score.
The judgements say so, and lower the probabilities of the rest.

A tag that the model has never seen is another one whose probabilities are made here, by its own labels alone.
"""

from collections.abc import Callable
from dataclasses import fields, replace

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit

from tagloom.core import UNKNOWN, Floats, LabelMatrix
from tagloom.learning.constants import (
    FEWEST,
    FEWEST_LISTED,
    HALVINGS,
    LEAST_LEFT,
    LEAST_SHARE,
    LEAST_SLOPE,
    LEVEL_SPREAD,
    MODEL_SPREAD,
    N_FOLDS,
    OWN_SPREAD,
    PLAUSIBLE,
    SLOPE,
    SLOPE_SPREAD,
)
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.predictions import log_odds
from tagloom.learning.probability_map import ProbabilityMap
from tagloom.tuning.calibration import FOLDS_PRIOR, ScoreScale, TagSteps, fit_pooled, known_log_odds, scale_of
from tagloom.tuning.constants import PRIOR_LEAST

#: Scores of some columns, learnt without some of their entries (n, k).
Solver = Callable[[NDArray[np.intp], NDArray[np.bool_]], NDArray[np.float32]]


def follow_judgements(
    values: NDArray[np.float32],
    scores: NDArray[np.float32],
    labels: TrainingLabels,
    columns: NDArray[np.intp],
    solve: Solver,
    *,
    is_held_out: bool = False,
    trusted: NDArray[np.bool_] | None = None,
) -> None:
    """Bring probabilities of tags whose suggestions a person judges to what the judgements say, in place.

    Parameters
    ----------
    values, scores : ndarray of float32, shape (n, k)
        Probabilities of some columns, and the scores they were made of.
    labels : TrainingLabels
        What was learnt from.
    columns : array of int, shape (k,)
        Which columns of the labels.
    solve : callable
        Gives scores of columns that were learnt without some of their entries.
    is_held_out : bool, default=False
        Whether the given probabilities of decided photos are what is said without their labels.
    trusted : array of bool, shape (n,), optional
        Photos of which ``solve`` gives scores that do not know their labels. Default: all.
    """
    reviewed = np.flatnonzero(labels.reviewed[columns])
    # Suggestions that were accepted by the hundred say nothing of how right they are.
    looked_at = [len(labels.judgements.photos(tag)) > 0 for tag in labels.tag_ids[columns[reviewed]].tolist()]
    evidence = labels.evidence(columns[reviewed])
    if trusted is not None:
        evidence &= trusted[:, None]
    Y = labels.Y[:, columns[reviewed]]
    fewest = np.minimum(((Y == 1) & evidence).sum(axis=0), ((Y == 0) & evidence).sum(axis=0))
    judged = np.asarray(looked_at, dtype=bool) & (fewest >= FEWEST)
    places = reviewed[judged]
    if len(places):
        values[:, places] = judged_probabilities(
            solve, labels.Y, columns[places], evidence[:, judged], scores[:, places]
        )
    for place in reviewed.tolist():
        _lower_to_share(values[:, place], labels, int(columns[place]))
    lower_to_judgements(values, labels, columns, own=np.isin(np.arange(len(columns)), places), is_held_out=is_held_out)


def judged_probabilities(
    solve: Solver,
    Y: LabelMatrix,
    tags: NDArray[np.intp],
    evidence: NDArray[np.bool_],
    scores: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Return probabilities of tags that were judged often enough, both ways.

    Parameters
    ----------
    solve : callable
        Asked four times, each time without a fourth of the evidence.
    Y : label matrix of shape (n, c)
        All labels.
    tags : array of int, shape (k,)
        The tags.
    evidence : array of bool, shape (n, k)
        Entries that somebody has looked at.
    scores : ndarray of float32, shape (n, k)
        What the model that knows all labels says.

    Returns
    -------
    ndarray of float32, shape (n, k)
        Those of the evidence are what is said without its label.
    """
    known = evidence & (Y[:, tags] != UNKNOWN)
    folds = _deal(scores, known)
    held_out = np.zeros(scores.shape)
    for fold in range(N_FOLDS):
        hidden = folds == fold
        held_out[hidden] = solve(tags, hidden)[hidden]
    found = np.empty(scores.shape, dtype=np.float32)
    said = np.where(known, held_out, scores)
    for column, tag in enumerate(tags.tolist()):
        rows = known[:, column]
        level, slope = _sigmoid(held_out[rows, column], Y[rows, tag].astype(np.float64))
        found[:, column] = expit(level + slope * said[:, column])
    return found


def calibrate_new(
    values: NDArray[np.float32],
    scores: NDArray[np.float32],
    labels: TrainingLabels,
    columns: NDArray[np.intp],
    solve: Solver,
) -> None:
    """Give tags that no model knew probabilities by their own labels, in place; those of too few labels stay.

    Parameters
    ----------
    values, scores : ndarray of float32, shape (n, k)
        Probabilities of these tags as scores usually say, and the scores.
    labels : TrainingLabels
        What was learnt from.
    columns : array of int, shape (k,)
        Which columns of the labels.
    solve : callable
        Asked four times, each time without a fourth of the listed photos.

    Notes
    -----
    The sigmoid is that of training (see `tagloom.tuning.CalibratedAnnotator`), drawn to what is usual and fitted to one
    tag: with a handful of photos it is cautious, and a tag that scores tell nothing of gets its share. Silence of
    listed photos counts as a no: where a tag was given to most of them, nothing else says how frequent it is.
    """
    sample = np.where(labels.listed[:, None], labels.Y[:, columns] == 1, UNKNOWN).astype(np.int8)
    told = np.flatnonzero(np.minimum((sample == 1).sum(axis=0), (sample == 0).sum(axis=0)) >= FEWEST)
    if not len(told):
        return
    sample, scores, tags = sample[:, told], scores[:, told], columns[told]
    folds, listed = _deal(scores, sample != UNKNOWN), np.flatnonzero(labels.listed)
    described = np.empty((len(listed), len(told), len(FOLDS_PRIOR.means)))
    for fold in range(N_FOLDS):
        hidden = folds == fold
        found = solve(tags, hidden)
        scale = _scale(found, np.where(hidden, UNKNOWN, labels.Y[:, tags]).astype(np.int8), sample)
        described[hidden[listed]] = scale.describe(found[listed])[hidden[listed]]
    scale = _scale(scores, labels.Y[:, tags], sample)
    for place, column in enumerate(told.tolist()):
        truth = sample[listed, place].astype(np.float64)
        means, deviations = FOLDS_PRIOR.means, FOLDS_PRIOR.deviations
        fitted, _ = fit_pooled(described[:, place], truth, means, deviations, PRIOR_LEAST)
        one, none = slice(place, place + 1), np.zeros(1)
        of_tag = ScoreScale(*(getattr(scale, name.name)[one] for name in fields(scale)))
        found = ProbabilityMap(fitted, none, none, none, TagSteps({})).probabilities(scores[:, one], of_tag)
        values[:, column] = found[:, 0]


def _scale(scores: NDArray[np.float32], Y: LabelMatrix, sample: LabelMatrix) -> ScoreScale:
    """Return the scale of scores of tags that are as frequent as in a sample."""
    return replace(scale_of(scores, Y), prior=known_log_odds(sample))


def _deal(scores: NDArray[np.float32], known: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return a fold for each entry, -1 where there is no evidence: neighbours in the ranking are in different ones."""
    folds = np.full(scores.shape, -1, dtype=np.intp)
    for column in range(scores.shape[1]):
        rows = np.flatnonzero(known[:, column])
        rows = rows[np.argsort(scores[rows, column], kind="stable")]
        folds[rows, column] = np.arange(len(rows)) % N_FOLDS
    return folds


def _sigmoid(scores: Floats, labels: Floats) -> tuple[float, float]:
    """Return level and slope of log-odds, linear in the scores."""
    centre, spread = float(scores.mean()), float(scores.std())
    spread = spread if spread > 0.0 else 1.0
    features = np.column_stack([np.ones_like(scores), (scores - centre) / spread])
    share = float(np.clip(labels.mean(), LEAST_SHARE, 1.0 - LEAST_SHARE))
    means, deviations = np.array([float(logit(share)), SLOPE]), np.array([LEVEL_SPREAD, SLOPE_SPREAD])
    (level, slope), _ = fit_pooled(features, labels, means, deviations)
    slope = max(float(slope), LEAST_SLOPE)
    return float(level) - slope * centre / spread, slope / spread


def _lower_to_share(values: NDArray[np.float32], labels: TrainingLabels, column: int) -> None:
    """Lower a tag's probabilities, in place, so that no more photos are expected to have it than is plausible.

    Where the scores tell nothing, a sigmoid gives every photo the share of yes among the judged ones, which is that of
    the top of a ranking. Photos whose tags were listed are a fairer sample.
    """
    listed = labels.Y[labels.listed, column]
    n_yes, n_no = int((listed == 1).sum()), int((listed == 0).sum())
    is_open = labels.said[:, column] == UNKNOWN
    if n_yes + n_no < FEWEST_LISTED or not is_open.any():
        return
    share = float(betaincinv(n_yes + 1.0, max(n_no, 0.5), PLAUSIBLE))
    n_left = share * len(values) - int((labels.said[:, column] == 1).sum())
    most = max(n_left / int(is_open.sum()), LEAST_LEFT)
    if float(values[is_open].mean()) <= most:
        return
    odds = log_odds(values.astype(np.float64))
    low, high = -30.0, 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if float(expit(odds[is_open] + middle).mean()) > most else (middle, high)
    values[:] = np.minimum(values, expit(odds + low))


def lower_to_judgements(
    values: NDArray[np.float32],
    labels: TrainingLabels,
    columns: NDArray[np.intp],
    *,
    own: NDArray[np.bool_] | None = None,
    is_held_out: bool = True,
) -> None:
    """Lower probabilities, in place, by what came of the suggestions of their tag; the order of photos stays.

    Parameters
    ----------
    values : ndarray of float32, shape (n, k)
        Probabilities of some columns.
    labels : TrainingLabels
        Whose judgements count.
    columns : array of int, shape (k,)
        Which columns of the labels.
    own : array of bool, shape (k,), optional
        Columns with a sigmoid of their own, whose probabilities of decided photos are what is said without their
        labels. Default: none.
    is_held_out : bool, default=True
        Whether that goes for the other columns, too. If not, each look is taken to have been promised what the
        likeliest open photo is promised now: the likeliest are shown first.

    Notes
    -----
    All log-odds of a tag are off by one number, which is normal around 0 before any judgement. Each judgement is a draw
    with its photo's probability. The most probable number is added where it is below 0: many judgements that come as
    promised and one that does not change little, a row of refusals much.
    """
    for place, column in enumerate(columns.tolist()):
        photos, states = _current_judgements(labels, column).T
        is_open = labels.said[:, column] == UNKNOWN
        if not len(photos) or not is_open.any():
            continue
        is_own = own is not None and bool(own[place])
        odds = log_odds(values[:, place].astype(np.float64))
        if is_own or is_held_out:
            promised = odds[np.isin(labels.photo_ids, photos)]
        else:
            promised = np.full(len(photos), odds[is_open].max())
        offset = _offset(promised, int(states.sum()), OWN_SPREAD if is_own else MODEL_SPREAD)
        if offset < 0.0:
            values[:, place] = np.minimum(values[:, place], expit(odds + offset))


def _offset(promised: Floats, n_yes: int, spread: float) -> float:
    """Return by how much log-odds of judged photos are most probably too high, at most 0; see `lower_to_judgements`."""

    def slope(offset: float) -> float:
        return n_yes - float(expit(promised + offset).sum()) - offset / spread**2

    if slope(0.0) >= 0.0:
        return 0.0
    # The sum is below the number of judgements, so the slope has changed its sign by then.
    return float(brentq(slope, -len(promised) * spread**2, 0.0))


def _current_judgements(labels: TrainingLabels, column: int) -> NDArray[np.int64]:
    """Return the judged suggestions of a tag that still hold: what was taken back counts no more."""
    made = labels.judgements.suggested(int(labels.tag_ids[column]))
    said = labels.said[:, column]
    yes, no = (np.isin(made[:, 0], labels.photo_ids[said == state]) for state in (1, 0))
    return made[np.where(made[:, 1] == 1, yes, no)]
