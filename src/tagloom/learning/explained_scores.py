"""Scores of photos and tags with what explains them, also where an update has mixed a model with a ridge."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from tagloom.core import FeatureGroups, Floats, LabelMatrix
from tagloom.learning.constants import SCORE_ROUNDING
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.predictions import Predictions
from tagloom.learning.probability_map import Mixture, OwnPredictions
from tagloom.learning.ridge import RidgeLearner
from tagloom.learning.suggest import SCORE
from tagloom.methods import RegularizedLeastSquares
from tagloom.tuning import Decomposition, Explanation, ScoreExplainer


@dataclass(frozen=True, slots=True, eq=False)
class LabelledPredictions:
    """The current predictions, and the labels of now.

    Parameters
    ----------
    predictions : Predictions
        For photos (n) and tags (c).
    Y : label matrix of shape (n, c)
        The labels.
    """

    predictions: Predictions
    Y: LabelMatrix

    @property
    def tag_ids(self) -> NDArray[np.int64]:
        """The columns."""
        return self.predictions.tag_ids

    @property
    def kind(self) -> str:
        """What the predictions are."""
        return self.predictions.kind

    @property
    def scores(self) -> Floats:
        """The predictions, probabilities as log-odds."""
        values = self.predictions.values.astype(np.float64)
        if self.kind == SCORE:
            return values
        least = float(np.finfo(np.float32).eps)
        return np.asarray(logit(np.clip(values, least, 1.0 - least)))


@dataclass(frozen=True, eq=False)
class UpdateExplanation(Explanation):
    """An explanation with what the model from before the update adds to the score.

    Attributes
    ----------
    earlier : float
        That amount, which is in neither of the sums by photos and by groups.
    """

    earlier: float = 0.0


class ExplainedUpdate:
    """Explains predictions that mix those of a model with those of a ridge that knows the latest labels.

    Parameters
    ----------
    own : OwnPredictions
        The model's from before.
    ridge : RidgeLearner
        The ridge.
    groups : FeatureGroups
        Of its features.
    labels : TrainingLabels
        What it learns from.
    current : LabelledPredictions
        What is explained.
    """

    def __init__(
        self,
        own: OwnPredictions,
        ridge: RidgeLearner,
        groups: FeatureGroups,
        labels: TrainingLabels,
        current: LabelledPredictions,
    ) -> None:
        self._own, self._ridge, self._groups, self._labels = own, ridge, groups, labels
        self._scores, self._tag_ids, self.Y = current.scores, current.tag_ids, current.Y
        self._columns = {tag: column for column, tag in enumerate(labels.tag_ids.tolist())}
        self._solved: dict[int, tuple[ScoreExplainer, Mixture | None]] = {}

    def covers(self, tag_id: int) -> bool:
        """Tell whether the predictions of a tag are such a mixture, or scores of the ridge alone."""
        if tag_id not in self._columns:
            return False
        return self._own.predictions.kind == SCORE or not self._own.is_new(np.asarray([tag_id]))[0]

    def explain(self, row: int, column: int) -> UpdateExplanation:
        """Return why a photo has its score for a tag.

        Parameters
        ----------
        row, column : int
            The photo and the tag.
        """
        ridge, mixture = self._solved_tag(int(self._tag_ids[column]))
        part, score = ridge.explain(row, 0), float(self._scores[row, column])
        share, level, earlier = 1.0, 0.0, 0.0
        if mixture is not None:
            weight = float(mixture.weight[row, 0])
            share, level = (1.0 - weight) * float(mixture.slope[0]), (1.0 - weight) * float(mixture.level[0])
            earlier = weight * float(mixture.before[row, 0])
        near: Any = _scaled(part.neighbors, share, level, score - earlier)
        near = replace(near, weights=share * near.weights)
        groups = None if part.groups is None else _scaled(part.groups, share, level, score - earlier)
        return UpdateExplanation(row, column, score, near, groups, None, earlier)

    def _solved_tag(self, tag_id: int) -> tuple[ScoreExplainer, Mixture | None]:
        if tag_id not in self._solved:
            own, learner = self._own, self._ridge
            column = np.asarray([self._columns[tag_id]], dtype=np.intp)
            found, Y = learner.solve(self._labels.Y, column), self._labels.Y[:, column]
            ridge: Any = RegularizedLeastSquares(learner.strength, smoothing=learner.smoothing)
            ridge.coef_, ridge.intercept_, ridge.regularization_ = found.coef, found.intercept, learner.strength
            explainer = ScoreExplainer(ridge, learner.X, Y, groups=self._groups, graph=learner.graph)
            is_mixed = own.has.any() and not own.is_new(np.asarray([tag_id]))[0]
            self._solved[tag_id] = explainer, own.mixture(found.scores, self._labels, column) if is_mixed else None
        return self._solved[tag_id]


def _scaled(part: Decomposition, share: float, level: float, score: float) -> Decomposition:
    """Return a ridge's sum as a share of another score."""
    amounts, base = share * part.amounts, level + share * part.base
    rest = score - base - float(amounts.sum())
    is_exact = part.is_exact and abs(rest) <= SCORE_ROUNDING * max(1.0, abs(score))
    return replace(part, amounts=amounts, base=base, rest=rest, is_exact=is_exact)


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedScores:
    """Scores of photos and tags, and what explains them.

    Parameters
    ----------
    photo_ids, tag_ids : ndarray of int64
        Rows and columns.
    explainer : ScoreExplainer or ExplainedUpdate
        Explains them.
    is_log_odds : bool
        Whether they are log-odds of probabilities, the model's own scores not being known.
    """

    photo_ids: NDArray[np.int64]
    tag_ids: NDArray[np.int64]
    explainer: ScoreExplainer | ExplainedUpdate
    is_log_odds: bool = False
