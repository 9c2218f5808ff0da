"""Why an update gives a photo its number: by labelled photos and feature groups, and by the model from before."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog.project_features import FeatureRows
from tagloom.core.labels import LabelMatrix
from tagloom.core.typing import Floats
from tagloom.features.scaling import GroupScaler
from tagloom.learning.blended_numbers import Mixture
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.ridge_learning import RidgeLearner
from tagloom.learning.stored_graph import KeptGraph
from tagloom.learning.stored_model import FeaturesUsed
from tagloom.learning.suggest import SCORE
from tagloom.learning.update_start import Start, start_from
from tagloom.methods import RegularizedLeastSquares
from tagloom.settings import Settings
from tagloom.store.project import ProjectStore
from tagloom.tuning.explain.explain import Decomposition, Explanation, ScoreExplainer

__all__ = ["ExplainedUpdate", "UpdateExplanation"]


#: What numbers in single precision leave of an exact sum.
ROUNDING = 1e-3


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
    """Explains numbers that mix those of a model with those of a ridge that knows the latest labels.

    Parameters
    ----------
    start : Start
        The model from before, and the ridge's penalty.
    learner : RidgeLearner
        The ridge.
    rows : FeatureRows
        The photos.
    labels : TrainingLabels
        What it learns from.
    scores, Y : ndarray of shape (n, c)
        What is explained, log-odds or scores, and the labels of now.
    tag_ids : ndarray of int64
        Its columns.
    """

    def __init__(
        self,
        start: Start,
        learner: RidgeLearner,
        rows: FeatureRows,
        labels: TrainingLabels,
        scores: Floats,
        Y: LabelMatrix,
        tag_ids: NDArray[np.int64],
    ) -> None:
        self._start, self._learner, self._rows, self._labels = start, learner, rows, labels
        self._scores, self._tag_ids, self.Y = scores, tag_ids, Y
        self._columns = {int(tag): column for column, tag in enumerate(labels.tag_ids)}
        self._solved: dict[int, tuple[ScoreExplainer, Mixture | None]] = {}

    @classmethod
    def of(
        cls,
        store: ProjectStore,
        settings: Settings,
        rows: FeatureRows,
        labels: TrainingLabels,
        scores: Floats,
        Y: LabelMatrix,
        tag_ids: NDArray[np.int64],
    ) -> "ExplainedUpdate | None":
        """Return what explains the active model's updates, None where they are no mixture with a ridge."""
        start = start_from(store, FeaturesUsed.of(rows))
        if not start.is_blended or start.own is None or start.strength is None:
            return None
        X = GroupScaler(rows.groups).fit(rows.X).transform(rows.X)
        options: dict[str, Any] = {"n_threads": settings.n_threads}
        graph = KeptGraph(store, X, settings.n_neighbors, **options).graph if start.smoothing > 0.0 else None
        learner = RidgeLearner(X, start.strength, graph, start.smoothing, settings.n_threads)
        return cls(start, learner, rows, labels, scores, Y, tag_ids)

    def covers(self, tag_id: int) -> bool:
        """Tell whether the numbers of a tag are such a mixture, or scores of the ridge alone."""
        own = self._start.own
        if tag_id not in self._columns or own is None:
            return False
        return own.numbers.kind == SCORE or not own.is_new(np.asarray([tag_id]))[0]

    def explain(self, row: int, column: int) -> UpdateExplanation:
        """Return why a photo has its number for a tag.

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
            own, column = self._start.own, np.asarray([self._columns[tag_id]], dtype=np.intp)
            found, learner = self._learner.solve(self._labels.Y, column), self._learner
            ridge: Any = RegularizedLeastSquares(learner.strength, smoothing=learner.smoothing)
            ridge.coef_, ridge.intercept_, ridge.regularization_ = found.coef, found.intercept, learner.strength
            Y = self._labels.Y[:, column]
            explainer = ScoreExplainer(ridge, learner.X, Y, groups=self._rows.groups, graph=learner.graph)
            is_mixed = own is not None and own.has.any() and not own.is_new(np.asarray([tag_id]))[0]
            mixture = own.mixture(found.scores, self._labels, column) if own is not None and is_mixed else None
            self._solved[tag_id] = explainer, mixture
        return self._solved[tag_id]


def _scaled(part: Decomposition, share: float, level: float, score: float) -> Decomposition:
    """Return a ridge's sum as a share of another score."""
    amounts, base = share * part.amounts, level + share * part.base
    rest = score - base - float(amounts.sum())
    is_exact = part.is_exact and abs(rest) <= ROUNDING * max(1.0, abs(score))
    return replace(part, amounts=amounts, base=base, rest=rest, is_exact=is_exact)
