"""Fitting an annotator, with probabilities where labels are enough for them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tagloom.core import UNKNOWN, Annotator, LabelMatrix, scratch
from tagloom.learning.constants import COPIED_ROWS, DOUBTED, FIRST_SHOWN, LEAST_DOUBT, MIN_NAMED, MIN_PHOTOS, MIN_YES
from tagloom.learning.judgements import Solver, follow_judgements, lower_to_judgements
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.predictions import Predictions, log_odds
from tagloom.learning.probability_map import ProbabilityMap, load_scale, scale_arrays
from tagloom.learning.suggest import PROBABILITY, SCORE
from tagloom.tuning import CalibratedAnnotator, estimate_completeness
from tagloom.tuning.auto import AutoAnnotator
from tagloom.tuning.calibration import ScoreScale, cautious_precision, common_threshold

__all__ = ["Learned", "learn", "probability_threshold", "too_few"]


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """From an annotator's scores to probabilities.

    Parameters
    ----------
    trained, new : ProbabilityMap
        For photos that were there in training, and for photos never seen.
    scale : ScoreScale
        Of the scores in training.
    completeness : float
        Share of the true tags that are named, for tags that were named rather than judged.
    """

    trained: ProbabilityMap
    new: ProbabilityMap
    scale: ScoreScale
    completeness: float

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what a model file holds of it."""
        return self.trained.arrays("map") | self.new.arrays("new_map") | scale_arrays(self.scale)

    @classmethod
    def load(cls, arrays: dict[str, NDArray[Any]], completeness: float, n_tags: int) -> "Calibration":
        """Return what `arrays` gave; raise KeyError or ValueError where the arrays are others."""
        trained, new = (ProbabilityMap.load(arrays, name, n_tags) for name in ("map", "new_map"))
        return cls(trained, new, load_scale(arrays, n_tags), completeness)


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """A fitted annotator and its predictions for every photo and tag.

    Parameters
    ----------
    annotator : Annotator
        Fitted with all labels.
    values : ndarray of float32, shape (n, c)
        Probabilities or scores. A probability of an entry that was decided is what is said without its photo's labels.
    kind : {"probability", "score"}
        Which.
    thresholds : ndarray of shape (c,)
        A tag is suggested above its threshold.
    why_scores : str
        Why there are no probabilities.
    calibration : Calibration or None
        How scores become probabilities; None where the annotator sees to that itself.
    completeness : float or None
        Share of the true tags that are named; None where it was not looked at.
    """

    annotator: Annotator
    values: NDArray[np.float32]
    kind: str
    thresholds: NDArray[np.float64]
    why_scores: str = ""
    calibration: Calibration | None = None
    completeness: float | None = None

    def predictions(self, labels: TrainingLabels) -> Predictions:
        """Return what it predicts for the photos and tags of these labels."""
        return Predictions(labels.photo_ids, labels.tag_ids, self.values, self.thresholds, self.kind)


def tells_probabilities(annotator: Annotator) -> bool:
    """Tell whether an annotator has probabilities of its own."""
    return hasattr(annotator, "predict_proba")


def too_few(labels: TrainingLabels) -> str:
    """Return why probabilities cannot be told from these labels; empty: they can."""
    n_yes = int((labels.said == 1).sum())
    if labels.n_labeled < MIN_PHOTOS:
        return f"probabilities need {MIN_PHOTOS} labelled photos, and there are {labels.n_labeled}"
    if n_yes < MIN_YES:
        return f"probabilities need {MIN_YES} accepted tags on photos, and there are {n_yes}"
    return ""


def probability_threshold(values: NDArray[np.float32], labels: TrainingLabels, precision: float) -> float:
    """Return the probability above which tags are suggested; +inf where no suggestion is sure enough.

    Parameters
    ----------
    values : ndarray of float32, shape (n, c)
        Probabilities.
    labels : TrainingLabels
        What was learnt from; the fewer photos are labelled, the surer suggestions have to be.
    precision : float
        Wanted share of right ones among the suggestions.
    """
    wanted = cautious_precision(precision, labels.n_labeled)
    return common_threshold(values, labels.said == UNKNOWN, wanted)


def learn(
    annotator: Annotator,
    X: Any,
    labels: TrainingLabels,
    *,
    precision: float,
    settle: Callable[[NDArray[np.float32], Annotator], None] | None = None,
) -> Learned:
    """Fit an annotator, and five times more with a fifth of the labelled photos hidden where that is worth it.

    Parameters
    ----------
    annotator : Annotator
        Cloned.
    X : array of shape (n, d)
        Features.
    labels : TrainingLabels
        What to learn from.
    precision : float
        Share of right ones that is wanted among the suggestions above the threshold.
    settle : callable, optional
        Gets the probabilities, to be changed in place by what was said photo by photo, and the annotator. Default:
        they are lowered by what came of the suggestions judged.

    Notes
    -----
    An annotator that has probabilities of its own is fitted once, and those are taken.
    """
    why = too_few(labels)
    if why:
        return _learn_scores(annotator, X, labels, why)
    if tells_probabilities(annotator):
        own: Any = annotator.fit(X, labels.Y)
        values = own.probabilities_.astype(np.float32)
        lower_to_judgements(values, labels, np.arange(values.shape[1]))
        threshold = probability_threshold(values, labels, precision)
        return Learned(own, values, PROBABILITY, np.full(values.shape[1], threshold))
    method = calibration_method(labels)
    wrapper = _SparseCalibrated if sparse.issparse(X) else CalibratedAnnotator
    fitted = wrapper(annotator, method=method, random_state=0).fit(X, labels.Y, representative(labels))
    values = fitted.probabilities_.astype(np.float32)
    completeness = _completeness(labels, fitted.probabilities_)
    correct_named(values, labels.said, labels.forgettable, labels.listed, completeness)
    if settle is None:
        lower_to_judgements(values, labels, np.arange(values.shape[1]))
    else:
        settle(values, fitted.annotator_)
    threshold = probability_threshold(values, labels, precision)
    maps = ProbabilityMap.of(fitted.map_), ProbabilityMap.of(fitted.new_map_)
    calibration = Calibration(*maps, fitted.scale_, completeness)
    thresholds = np.full(values.shape[1], threshold)
    return Learned(
        fitted.annotator_, values, PROBABILITY, thresholds, calibration=calibration, completeness=completeness
    )


def learn_auto(annotator: AutoAnnotator, X: Any, labels: TrainingLabels, *, precision: float) -> Learned:
    """Fit an annotator that leaves out and calibrates by itself.

    It is told which labels are a sample, and its probabilities follow named tags and judgements as those of others do.

    Parameters
    ----------
    annotator : AutoAnnotator
        It is fitted.
    X, labels, precision
        See `learn`.
    """
    annotator.set_params(calibration=calibration_method(labels)).fit(X, labels.Y, representative(labels))
    return learned_by_auto(annotator, labels, precision=precision)


def learned_by_auto(annotator: AutoAnnotator, labels: TrainingLabels, *, precision: float) -> Learned:
    """Return what an annotator says that has learnt from the labels: after a fit or an update."""
    why = too_few(labels)
    if why:
        found = _scores_of(annotator, why)
        if annotator.given_member_ is None:
            return found
        # Without an example a tag is suggested where its name makes it likely.
        return replace(found, thresholds=np.minimum(found.thresholds, log_odds(np.array(FIRST_SHOWN))))
    completeness = _completeness(labels, annotator.probabilities_)
    values = auto_probabilities(annotator, labels, np.arange(len(labels.tags)), completeness)
    threshold = probability_threshold(values, labels, precision)
    return Learned(annotator, values, PROBABILITY, np.full(values.shape[1], threshold), completeness=completeness)


def auto_probabilities(
    annotator: AutoAnnotator, labels: TrainingLabels, columns: NDArray[np.intp], completeness: float
) -> NDArray[np.float32]:
    """Return probabilities of some tags, corrected by what was named and by what was judged.

    Parameters
    ----------
    annotator : AutoAnnotator
        It has learnt from the labels.
    labels : TrainingLabels
        Those labels.
    columns : array of int, shape (k,)
        The tags.
    completeness : float
        Share of the true tags that are named.
    """
    values = _columns(annotator.probabilities_, columns)
    correct_named(values, labels.said[:, columns], labels.forgettable[columns], labels.listed, completeness)
    # Log-odds of decided photos are leave-one-out scores: nothing has to be fitted again.
    scores, trusted = annotator.transduction_, ~annotator.seen_
    solve: Solver = lambda tags, _: scores[:, tags].astype(np.float32)  # noqa: E731
    everything = len(columns) == scores.shape[1]
    follow_judgements(
        values, scores if everything else scores[:, columns], labels, columns, solve, is_held_out=True, trusted=trusted
    )
    return values


def _columns(values: NDArray[Any], columns: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return fresh columns in single precision; many rows are a memory map."""
    found = scratch((len(values), len(columns)), np.float32)
    for start in range(0, len(values), COPIED_ROWS):
        found[start : start + COPIED_ROWS] = values[start : start + COPIED_ROWS][:, columns]
    return found


def _learn_scores(annotator: Annotator, X: Any, labels: TrainingLabels, why: str) -> Learned:
    return _scores_of(annotator.fit(X, labels.Y), why)


def _scores_of(annotator: Annotator, why: str) -> Learned:
    scores = np.asarray(annotator.transduction_, dtype=np.float32)
    return Learned(annotator, scores, SCORE, np.asarray(annotator.thresholds_, dtype=np.float64), why)


def calibration_method(labels: TrainingLabels) -> Literal["platt", "auto"]:
    """Return which map from scores to probabilities suits the labels."""
    # Steps would raise just those photos whose tags happen to be named, and completeness with them.
    return "platt" if labels.named.any() else "auto"


def representative(labels: TrainingLabels) -> LabelMatrix | None:
    """Return labels that tell how right scores are, None for all: what a review has judged is the top of a ranking."""
    if not labels.reviewed.any():
        return None
    return np.where(labels.listed[:, None], labels.Y, UNKNOWN).astype(np.int8)


class _SparseCalibrated(CalibratedAnnotator):
    """For annotators of word counts, which are mostly zero."""

    _accepts_sparse = True


def correct_named(
    values: NDArray[np.float32],
    said: LabelMatrix,
    named: NDArray[np.bool_],
    listed: NDArray[np.bool_],
    completeness: float,
) -> None:
    """Turn probabilities of being named into those of having the tag, in place.

    Parameters
    ----------
    values : ndarray of float32, shape (n, c)
        Probabilities.
    said : label matrix of shape (n, c)
        What was decided.
    named : ndarray of bool, shape (c,)
        Tags that were named rather than judged; the others stay as they are.
    listed : ndarray of bool, shape (n,)
        Photos whose tags somebody has listed.
    completeness : float
        Share of the true tags that are named.

    Notes
    -----
    See `tagloom.tuning.PositiveUnlabeledAnnotator`: g/c, and on a listed photo that lacks the tag the probability that
    it was forgotten, (1 - c)/c · g/(1 - g), at most g. Where tags are hard to tell, complete labels look like ones of
    which 0.6 are named: only what is below that counts, c/0.6 in the place of c, so that numbers rather err low. They
    are kept below 1 - (1 - g)/20: the order of photos stays, and none is certain.
    """
    if completeness >= 1.0 or not named.any():
        return
    given = values[:, named]
    absent = listed[:, None] & (said[:, named] == UNKNOWN)
    odds = given / np.maximum(1.0 - given, np.finfo(np.float32).tiny)
    forgotten = (1.0 - completeness) / completeness * odds
    most = 1.0 - LEAST_DOUBT * (1.0 - given)
    raised = np.minimum(given / min(1.0, completeness / DOUBTED), most)
    values[:, named] = np.where(absent, np.minimum(forgotten, given), raised)


def _completeness(labels: TrainingLabels, probabilities: NDArray[np.float64]) -> float:
    named = labels.forgettable
    if int((labels.said[:, named] == 1).sum()) < MIN_NAMED:
        return 1.0
    said = np.where(labels.listed[:, None], labels.said, UNKNOWN)[:, named]
    return estimate_completeness(said, probabilities[:, named])
