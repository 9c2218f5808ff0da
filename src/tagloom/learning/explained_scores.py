"""What of a stored model can be explained: its own scores where it is there again, or else numbers, by stand-ins."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from tagloom.catalog.project_features import FeatureRows
from tagloom.core.annotator import Annotator
from tagloom.core.labels import LabelMatrix, known_patterns
from tagloom.features.scaling import GroupScaler
from tagloom.graph import NeighborGraph
from tagloom.learning.explained_updates import ExplainedUpdate
from tagloom.learning.methods import get_learner
from tagloom.learning.restored_ridge import common_strength
from tagloom.learning.stored_auto import restore, trained_features
from tagloom.learning.stored_graph import KeptGraph
from tagloom.learning.stored_model import OWN_PHOTOS, load_scaler
from tagloom.learning.suggest import SCORE
from tagloom.methods import (
    NOVA,
    HarmonicPropagation,
    LapRLS,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.methods.shared.ridge_path import linear_scores
from tagloom.store.project import ProjectStore
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.explain.explain import ScoreExplainer

__all__ = ["ExplainedScores", "StoredNumbers", "explained_auto", "explained_numbers"]

#: Where tags listen to each other, an explanation solves once for every set of photos that some tag is known on. With
#: more of these than this it would take too long to wait for.
MOST_PATTERNS = 30
#: Fitted again for an explanation: quick, and the same for the same labels.
_FITTED_AGAIN = (HarmonicPropagation, LocalGlobalConsistency, LapRLS, NeighborTransfer)


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


@dataclass(frozen=True, slots=True, eq=False)
class StoredNumbers:
    """What is suggested, and the labels of now.

    Parameters
    ----------
    tag_ids : ndarray of int64
        The columns.
    values : ndarray of shape (n, c)
        The numbers.
    kind : {"score", "probability"}
        What they are.
    Y : label matrix of shape (n, c)
        The labels.
    """

    tag_ids: NDArray[np.int64]
    values: NDArray[np.float64]
    kind: str
    Y: LabelMatrix

    @property
    def scores(self) -> NDArray[np.float64]:
        """The numbers, probabilities as log-odds."""
        if self.kind == SCORE:
            return self.values
        limit = float(np.finfo(np.float32).eps)
        return np.asarray(logit(np.clip(self.values, limit, 1.0 - limit)))


def explained_auto(
    arrays: dict[str, NDArray[Any]], info: dict[str, Any], rows: FeatureRows, *, n_threads: int | None
) -> ExplainedScores | None:
    """Return the scores of a stored `AutoAnnotator`, with the labels of its training.

    None where it is not whole, or where explaining one score would take too long.

    Parameters
    ----------
    arrays, info : dict
        What the model's file holds.
    rows : FeatureRows
        Features of its photos, and perhaps of others.
    n_threads : int or None
        Threads.
    """
    annotator, X = restore(arrays, info, rows, n_threads=n_threads), trained_features(arrays, rows)
    if annotator is None or X is None or _takes_too_long(annotator):
        return None
    photo_ids, tag_ids = arrays[OWN_PHOTOS], np.asarray(info["tag_ids"], dtype=np.int64)
    return ExplainedScores(photo_ids, tag_ids, ScoreExplainer(annotator, X, annotator._labels, groups=annotator.groups))


def _takes_too_long(annotator: AutoAnnotator) -> bool:
    if annotator._refinement.mixing is None:
        return False
    patterns, _ = known_patterns(annotator._labels[annotator._model.rows])
    return patterns.shape[1] > MOST_PATTERNS


def explained_numbers(
    store: ProjectStore,
    method: str,
    arrays: dict[str, NDArray[Any]],
    info: dict[str, Any],
    rows: FeatureRows,
    numbers: StoredNumbers,
    *,
    n_neighbors: int,
    n_threads: int | None,
) -> ExplainedScores:
    """Return the scores of a linear model, of one that is quickly fitted again, or else the numbers that are stored.

    Parameters
    ----------
    store : ProjectStore
        Where a graph may be.
    method : str
        The learner's name.
    arrays, info : dict
        What the model's file holds.
    rows : FeatureRows
        Features of the photos that have numbers.
    numbers : StoredNumbers
        Their numbers and labels.
    n_neighbors : int
        Of the graph.
    n_threads : int or None
        Threads.
    """
    is_stored = bool(info.get("is_linear")) and "coef" in arrays
    scaler = load_scaler(arrays, info) if is_stored else GroupScaler(rows.groups).fit(rows.X)
    X = scaler.transform(rows.X)
    made = get_learner(method).make(n_neighbors, rows.groups)
    graph = None
    if _needs_graph(made) and len(X) > 1:
        graph = KeptGraph(store, X, n_neighbors, n_threads=n_threads).graph
    annotator, scores, is_log_odds = _annotator(made, arrays if is_stored else {}, X, graph, numbers)
    explainer = ScoreExplainer(annotator, X, numbers.Y, groups=rows.groups, scores=scores, graph=graph)
    return ExplainedScores(rows.ids, numbers.tag_ids, explainer, is_log_odds)


def _needs_graph(made: Annotator) -> bool:
    smooths = isinstance(made, RegularizedLeastSquares) and made.smoothing > 0
    return smooths or isinstance(made, HarmonicPropagation | LocalGlobalConsistency)


def _annotator(
    made: Any, arrays: dict[str, NDArray[Any]], X: NDArray[Any], graph: NeighborGraph | None, numbers: StoredNumbers
) -> tuple[Annotator | None, NDArray[np.float64] | None, bool]:
    """Return the model as far as it was stored or can be fitted again, scores where it lacks them, if log-odds."""
    if arrays:
        made.coef_, made.intercept_ = arrays["coef"], arrays["intercept"]
        if isinstance(made, RegularizedLeastSquares):
            made.regularization_ = common_strength(X, numbers.Y, made.coef_)
            return made, None, False
        if isinstance(made, NOVA) and made.boost is None:
            return made, linear_scores(X, made.coef_, made.intercept_), False
        if numbers.kind == SCORE:
            return made, numbers.values, False
    elif isinstance(made, _FITTED_AGAIN):
        if graph is not None:
            made.set_params(graph=graph)
        return made.fit(X, numbers.Y), None, False
    # What the score was before calibration is not known here, and must not be made up from the coefficients.
    return None, numbers.scores, numbers.kind != SCORE
