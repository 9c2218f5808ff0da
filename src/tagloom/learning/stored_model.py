"""A trained model as a project stores it: it scores new photos, learns from updates, explains itself, and has a file.

A file is arrays and a header, never a pickle. Which class reads it stands in the header; whatever a file holds is
checked, as a project folder may come from anywhere.
"""

# Overriding methods are documented by StoredModel, and need not use all that it gives them.
# ruff: noqa: ARG002, ARG003, D102

import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from tagloom.catalog import FeatureRows, Result, restored
from tagloom.core import UNKNOWN, Annotator, FeatureGroups, known_patterns, rows_of
from tagloom.exceptions import DamagedStoreError, InvalidInputError, StoreError
from tagloom.features import GroupScaler
from tagloom.learning.constants import ENOUGH_ENTRIES, FIRST_PHOTOS, MOST_PATTERNS, SETTLED_PHOTOS, SMOOTHING
from tagloom.learning.explained_scores import ExplainedScores, ExplainedUpdate, LabelledPredictions
from tagloom.learning.judgements import calibrate_new, follow_judgements
from tagloom.learning.kept_graph import GraphPart
from tagloom.learning.labels import TrainingLabels
from tagloom.learning.methods import get_learner
from tagloom.learning.names import Sight, given_by_names
from tagloom.learning.predictions import Predictions, log_odds
from tagloom.learning.probabilities import (
    Calibration,
    Learned,
    auto_probabilities,
    calibration_method,
    correct_named,
    learn_auto,
    learned_by_auto,
    representative,
    too_few,
)
from tagloom.learning.probability_map import OwnPredictions, checked_array, refresh_scale
from tagloom.learning.registration import FeaturesUsed, Registration, registration_of
from tagloom.learning.ridge import RidgeLearner, RidgePhotos, choose_strength, learn_ridge
from tagloom.learning.suggest import PROBABILITY, SCORE, SuggestionInfo
from tagloom.methods import (
    FSNM,
    GLLR,
    NOVA,
    SBMLR,
    FisherScore,
    HarmonicPropagation,
    LapRLS,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)
from tagloom.methods.shared import linear_scores
from tagloom.settings import Settings
from tagloom.store import Model, ProjectStore
from tagloom.tuning import ScoreExplainer
from tagloom.tuning.auto import AutoAnnotator, FirstLook
from tagloom.tuning.calibration import ScoreScale

logger = logging.getLogger(__name__)

Arrays = dict[str, NDArray[Any]]
#: Returns the features of photos, None where some are not there.
LoadFeatures = Callable[[NDArray[np.int64]], FeatureRows | None]
#: Returns arrays by a key, None where there are none.
LoadKept = Callable[[str], Arrays | None]
#: Gets columns, photos, and their predictions (k, t).
FirstPredictions = Callable[[NDArray[np.intp], NDArray[np.intp], NDArray[np.float32]], None]
#: Returns photos as a ridge sees them, by a scaler or by one fitted to them.
MakePhotos = Callable[[GroupScaler | None], RidgePhotos]
#: Columns that an update has changed, and their new predictions.
Changed = tuple[NDArray[np.intp], NDArray[np.float32]]

PHOTO_IDS, VALUES = "photo_ids", "values"
#: Fitted again for an explanation: quick, and the same for the same labels.
_FITTED_AGAIN = (HarmonicPropagation, LocalGlobalConsistency, LapRLS, NeighborTransfer)
#: Their scores in training, too, are linear in the features.
_LINEAR = (NOVA, FSNM, SBMLR, GLLR, FisherScore)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelHeader(Result):
    """What a model's file says beside its arrays.

    Parameters
    ----------
    method : str
        The learner's name.
    kind : {"probability", "score"}
        What it predicts.
    tag_ids : tuple of int
        Its tags.
    column_digests : tuple of str
        For each tag what it was learnt from.
    n_positive : tuple of int
        For each tag how many photos had it.
    forgettable, reviewed : tuple of bool
        See `tagloom.learning.labels.TrainingLabels`, for each tag.
    group_names, group_sizes : tuple of str, tuple of int
        The feature groups.
    completeness : float or None
        Share of the true tags that were named; None where it was not looked at.
    names : tuple of tuple of str
        For each tag its text and its other names, as it was trained with; empty in files that do not hold them.
    embeddings : tuple of str
        Which of the groups are an embedding.
    parameters : dict
        Parameters of the method that were set.
    """

    method: str
    kind: str
    tag_ids: tuple[int, ...]
    column_digests: tuple[str, ...]
    n_positive: tuple[int, ...]
    forgettable: tuple[bool, ...]
    reviewed: tuple[bool, ...]
    group_names: tuple[str, ...]
    group_sizes: tuple[int, ...]
    completeness: float | None
    names: tuple[tuple[str, ...], ...] = ()
    embeddings: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        per_tag = (self.tag_ids, self.column_digests, self.n_positive, self.forgettable, self.reviewed)
        if len({len(values) for values in per_tag}) != 1 or len(set(self.tag_ids)) != len(self.tag_ids):
            raise ValueError("the tags do not agree with the values for each tag")
        if self.names and (len(self.names) != len(self.tag_ids) or not all(self.names)):
            raise ValueError("the tags do not agree with their names")
        if not all(0 <= tag < 2**63 for tag in self.tag_ids):
            raise ValueError("a tag has an id that is out of range")
        if self.kind not in (SCORE, PROBABILITY):
            raise ValueError(f"expected the kind {SCORE} or {PROBABILITY}, got {self.kind!r}")
        if self.completeness is not None and not 0.0 <= self.completeness <= 1.0:
            raise ValueError(f"completeness must lie between 0 and 1, got {self.completeness}")

    @classmethod
    def of(
        cls, method: str, kind: str, labels: TrainingLabels, groups: FeatureGroups, completeness: float | None
    ) -> "ModelHeader":
        """Describe what was learnt from labels."""
        return cls(
            method=method,
            kind=kind,
            tag_ids=tuple(labels.tag_ids.tolist()),
            column_digests=tuple(labels.column_digests),
            n_positive=tuple((labels.Y == 1).sum(axis=0).tolist()),
            forgettable=tuple(labels.forgettable.tolist()),
            reviewed=tuple(labels.reviewed.tolist()),
            group_names=tuple(groups.names),
            group_sizes=tuple(groups.sizes),
            completeness=completeness,
            names=tuple(labels.names),
            embeddings=groups.embeddings,
        )

    @property
    def tags(self) -> NDArray[np.int64]:
        """The ids of its tags."""
        return np.asarray(self.tag_ids, dtype=np.int64)

    @property
    def groups(self) -> FeatureGroups:
        """The feature groups."""
        return FeatureGroups(list(self.group_names), list(self.group_sizes), self.embeddings)

    @property
    def digests(self) -> dict[int, str]:
        """For each tag what it was learnt from."""
        return dict(zip(self.tag_ids, self.column_digests, strict=True))


@dataclass(slots=True, eq=False)
class LinearPart:
    """Scores that are linear in scaled features.

    Parameters
    ----------
    scaler : GroupScaler
        Scales the features.
    coef, intercept : ndarray of shape (d, c), (c,)
        The coefficients.
    calibration : Calibration or None
        How scores become probabilities.
    """

    scaler: GroupScaler
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    calibration: Calibration | None

    def score(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return scores of features as they were extracted, or probabilities of being named."""
        scores = (self.scaler.transform(X) @ self.coef + self.intercept).astype(np.float32)
        if self.calibration is None:
            return scores
        return self.calibration.new.probabilities(scores, self.calibration.scale)

    def arrays(self) -> Arrays:
        """Return what a model file holds of it."""
        found = {f"means/{name}": values for name, values in self.scaler.means_.items()}
        found |= {f"scales/{name}": values for name, values in self.scaler.scales_.items()}
        found |= {"coef": self.coef, "intercept": self.intercept}
        return found if self.calibration is None else found | self.calibration.arrays()

    @classmethod
    def load(cls, header: ModelHeader, arrays: Arrays, scaler: dict[str, dict[str, Any]]) -> "LinearPart":
        """Return what `arrays` gave; raise KeyError or ValueError where the arrays are others."""
        groups, n_tags = header.groups, len(header.tag_ids)
        parts = (
            {name: checked_array(arrays, f"{part}/{name}", (None,)) for name in scaler if f"{part}/{name}" in arrays}
            for part in ("means", "scales")
        )
        calibration = None
        if header.kind == PROBABILITY:
            calibration = Calibration.load(arrays, cast("float", restored(float, header.completeness)), n_tags)
        return cls(
            GroupScaler.restore(groups, scaler, *parts),
            checked_array(arrays, "coef", (groups.n_columns, n_tags)),
            checked_array(arrays, "intercept", (n_tags,)),
            calibration,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scaling(Result):
    scaler: dict[str, dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ridge(Result):
    strength: float
    smoothing: float
    n_labeled: int
    scaler: dict[str, dict[str, Any]]


class StoredModel(ABC):
    """A model of some method.

    Parameters
    ----------
    header : ModelHeader
        What it was trained on, and what it predicts.
    """

    #: What its file calls its class.
    name: ClassVar[str]
    #: Its coefficients, where its scores are linear in the features.
    linear: LinearPart | None = None
    #: For what takes several; None: all.
    n_threads: int | None = None

    def __init__(self, header: ModelHeader) -> None:
        self.header = header
        #: The neighbour graph that is stored with it.
        self.graph: GraphPart | None = None
        #: Returns arrays that were kept by a key, None where they are not there.
        self.load_kept: LoadKept | None = None

    # Scores

    def score(self, new: FeatureRows, load: LoadFeatures) -> NDArray[np.float32] | None:
        """Return predictions (n, c) for photos that came after training, None where it has none of its own.

        Parameters
        ----------
        new : FeatureRows
            Their features.
        load : callable
            Returns the features of the photos that it was trained on.
        """
        if self.linear is None:
            return None
        values = self.linear.score(new.X)
        if self.header.kind == PROBABILITY:
            self._correct_new(values)
        return values

    def solved_since(self, current: Predictions) -> set[int]:
        """Return the tags whose predictions are no longer those that the model explains and scores, but an update's."""
        return set()

    def _correct_new(self, values: NDArray[np.float32]) -> None:
        """Correct probabilities of photos that nobody has labelled for what is forgotten, in place."""
        nobody, nothing = np.zeros(len(values), dtype=bool), np.full(values.shape, UNKNOWN, dtype=np.int8)
        correct_named(values, nothing, np.asarray(self.header.forgettable), nobody, self.header.completeness or 1.0)

    # Updates

    @abstractmethod
    def resume(self, current: Predictions, has: NDArray[np.bool_], info: SuggestionInfo, rows: FeatureRows) -> None:
        """Get ready for updates.

        Parameters
        ----------
        current : Predictions
            The suggestions of now.
        has : ndarray of bool, shape (n,)
            Photos that have some.
        info : SuggestionInfo
            What is noted of them.
        rows : FeatureRows
            Features of the same photos.
        """

    @abstractmethod
    def is_due(self, labels: TrainingLabels) -> bool:
        """Tell whether a ridge has to be fitted from scratch, which concerns all tags."""

    def refit(self, labels: TrainingLabels, photos: RidgePhotos, *, precision: float) -> "tuple[StoredModel, Learned]":
        """Return what takes its place, and what that has learnt; by default a ridge fitted from scratch."""
        return RidgeModel.fit(labels, photos, precision=precision)

    #: Told of predictions that an update has for some photos before it has all of them.
    first_look: FirstPredictions | None = None

    @abstractmethod
    def update(self, labels: TrainingLabels, columns: NDArray[np.intp], photos: RidgePhotos) -> Changed:
        """Learn some tags again.

        Parameters
        ----------
        labels : TrainingLabels
            All labels.
        columns : ndarray of int
            Tags whose labels have changed.
        photos : RidgePhotos
            Features and graph of all photos.

        Returns
        -------
        columns : ndarray of int
            The tags whose predictions have changed.
        values : ndarray of float32, shape (n, k)
            Their predictions.
        """

    @abstractmethod
    def updated(self, labels: TrainingLabels, predictions: Predictions, photos: RidgePhotos) -> "StoredModel | None":
        """Return the model to store after updates; None where the model stays and suggestions alone have changed."""

    @property
    def stand_in(self) -> tuple[float | None, int]:
        """The penalty of a ridge that updates mix in, and how many labelled photos chose it."""
        return None, 0

    # Explanations

    def own_scores(self, rows: FeatureRows) -> ExplainedScores | None:
        """Return the scores of its training, None where they cannot be had again."""
        return None

    def update_scores(
        self,
        current: LabelledPredictions,
        info: SuggestionInfo,
        labels: TrainingLabels,
        photos: MakePhotos,
    ) -> ExplainedScores | None:
        """Return what explains predictions that an update has mixed with a ridge's, None where it did not."""
        return None

    def current_scores(
        self, rows: FeatureRows, current: LabelledPredictions, photos: MakePhotos, n_neighbors: int
    ) -> ExplainedScores:
        """Return scores behind the predictions of now: those of a method quickly fitted again, or the predictions.

        Parameters
        ----------
        rows : FeatureRows
            Features of the photos that have predictions.
        current : LabelledPredictions
            Those, and their labels.
        photos : callable
            Returns scaled features and graph of the same photos, by a scaler or by one fitted to them.
        n_neighbors : int
            Of the graph.
        """
        made, shared = get_learner(self.header.method).make(n_neighbors, rows.groups), photos(None)
        # Parameters that were set may be anything in a project of somebody else's.
        if not isinstance(made, _FITTED_AGAIN) or self.header.parameters:
            return self._by_predictions(rows, current, shared.X)
        graph = None
        if isinstance(made, HarmonicPropagation | LocalGlobalConsistency):
            graph = shared.neighbors
            made.set_params(graph=graph)
        fitted = made.fit(shared.X, current.Y)
        explainer = ScoreExplainer(fitted, shared.X, current.Y, groups=rows.groups, graph=graph)
        return ExplainedScores(rows.ids, current.tag_ids, explainer)

    def _by_predictions(
        self,
        rows: FeatureRows,
        current: LabelledPredictions,
        X: NDArray[Any],
        annotator: Annotator | None = None,
    ) -> ExplainedScores:
        # The score before calibration is not known, and must not be made up.
        explainer = ScoreExplainer(annotator, X, current.Y, groups=rows.groups, scores=current.scores)
        return ExplainedScores(rows.ids, current.tag_ids, explainer, current.kind != SCORE)

    # The file

    def kept(self) -> dict[str, Arrays]:
        """Return arrays that can be made again, and spare much work where they are there, by a key of their own."""
        return {}

    def arrays(self) -> Arrays:
        """Return the arrays of its file."""
        return {} if self.linear is None else self.linear.arrays()

    def details(self) -> dict[str, Any]:
        """Return what JSON holds of it beside the header."""
        return {}

    @classmethod
    @abstractmethod
    def restore(cls, header: ModelHeader, arrays: Arrays, details: Any) -> Self:
        """Return what a file holds; raise KeyError, TypeError or ValueError where it is not such a file."""


class RidgeModel(StoredModel):
    """Ridge, smoothed or not: solved tag by tag, with the penalty and the map to probabilities of its training.

    Parameters
    ----------
    header : ModelHeader
        What it was trained on.
    linear : LinearPart
        Its coefficients.
    strength, smoothing : float
        Its penalty, and how much scores are smoothed over the graph.
    n_labeled : int
        Labelled photos that penalty and probabilities were chosen on.
    """

    name = "ridge"
    linear: LinearPart

    def __init__(
        self, header: ModelHeader, linear: LinearPart, *, strength: float, smoothing: float, n_labeled: int
    ) -> None:
        super().__init__(header)
        if not (0.0 < strength < np.inf and 0.0 <= smoothing < np.inf):
            raise ValueError(f"expected a penalty above 0 and smoothing from 0 on, got {strength} and {smoothing}")
        self.linear, self.strength, self.smoothing, self.n_labeled = linear, strength, smoothing, n_labeled
        #: For each tag its coefficients, and the scale of the scores of those solved since.
        self._coef = {tag: (linear.coef[:, at], float(linear.intercept[at])) for at, tag in enumerate(header.tag_ids)}
        self._scales: dict[int, tuple[float, ...]] = {}

    @classmethod
    def fit(
        cls,
        labels: TrainingLabels,
        photos: RidgePhotos,
        *,
        precision: float,
        method: str = "smoothed-ridge",
        smoothing: float = SMOOTHING,
        strength: float | None = None,
    ) -> "tuple[RidgeModel, Learned]":
        """Fit to all labels; return the model and what it has learnt."""
        if strength is None:
            strength = choose_strength(photos.X, labels.Y, share=ENOUGH_ENTRIES)
        learned = learn_ridge(photos.ridge(strength, smoothing), labels, precision=precision)
        fitted = cast("Any", learned.annotator)
        header = ModelHeader.of(method, learned.kind, labels, photos.groups, learned.completeness)
        linear = LinearPart(photos.scaler, fitted.coef_, fitted.intercept_, learned.calibration)
        model = cls(header, linear, strength=strength, smoothing=smoothing, n_labeled=labels.n_labeled)
        model.graph = None if photos.graph is None else photos.graph.part
        return model, learned

    def resume(self, current: Predictions, has: NDArray[np.bool_], info: SuggestionInfo, rows: FeatureRows) -> None:
        """Do nothing: it is ready."""

    def is_due(self, labels: TrainingLabels) -> bool:
        gets_probabilities = self.linear.calibration is None and not too_few(labels)
        return gets_probabilities or is_outgrown(self.n_labeled, labels)

    def refit(self, labels: TrainingLabels, photos: RidgePhotos, *, precision: float) -> "tuple[RidgeModel, Learned]":
        return self.fit(labels, photos, precision=precision, method=self.header.method, smoothing=self.smoothing)

    def update(self, labels: TrainingLabels, columns: NDArray[np.intp], photos: RidgePhotos) -> Changed:
        learner = photos.ridge(self.strength, self.smoothing)
        found = learner.solve(labels.Y, columns)
        values = self.calibrated(found.scores, labels, columns)
        if self.linear.calibration is not None:
            follow_judgements(values, found.scores, labels, columns, learner.without(labels.Y))
        for at, tag in enumerate(labels.tag_ids[columns].tolist()):
            self._coef[tag] = (found.coef[:, at], float(found.intercept[at]))
        return columns, values

    def calibrated(
        self, scores: NDArray[np.float32], labels: TrainingLabels, columns: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """Return probabilities of scores of some tags, before judgements; scores where there is no calibration.

        Parameters
        ----------
        scores : ndarray of float32, shape (n, k)
            Of all photos.
        labels : TrainingLabels
            What they were learnt from.
        columns : ndarray of int, shape (k,)
            Their columns in the labels.
        """
        calibration = self.linear.calibration
        if calibration is None:
            return scores
        at, Y = rows_of(self.header.tags, labels.tag_ids[columns]), labels.Y[:, columns]
        sample = np.where(labels.listed[:, None] | ~labels.reviewed[columns], Y, UNKNOWN)
        scale = refresh_scale(scores, Y, calibration.scale, at, labels.n_labeled, sample)
        parts = np.stack([scale.centre, scale.spread, scale.prior, scale.evidence, scale.n_reference]).T.tolist()
        self._scales.update(zip(labels.tag_ids[columns].tolist(), map(tuple, parts), strict=True))
        values = calibration.trained.take(at).probabilities(scores, scale)
        forgettable = labels.forgettable[columns]
        correct_named(values, labels.said[:, columns], forgettable, labels.listed, calibration.completeness)
        return values

    def updated(self, labels: TrainingLabels, predictions: Predictions, photos: RidgePhotos) -> "RidgeModel":
        coef, intercept = zip(*(self._coef[tag] for tag in labels.tag_ids.tolist()), strict=True)
        calibration = self._calibration_of(labels)
        completeness = None if calibration is None else calibration.completeness
        header = ModelHeader.of(self.header.method, predictions.kind, labels, self.header.groups, completeness)
        linear = LinearPart(photos.scaler, np.stack(coef, axis=1), np.asarray(intercept), calibration)
        new = RidgeModel(header, linear, strength=self.strength, smoothing=self.smoothing, n_labeled=self.n_labeled)
        new.graph = None if photos.graph is None else photos.graph.part
        return new

    def _calibration_of(self, labels: TrainingLabels) -> Calibration | None:
        """Return the calibration as it is now, its columns in the order of the labels' tags."""
        found = self.linear.calibration
        if found is None:
            return None
        at, before = rows_of(self.header.tags, labels.tag_ids), found.scale
        stored = np.stack([before.centre, before.spread, before.prior, before.evidence, before.n_reference])
        own = np.concatenate([stored, [[0.0], [1.0], [0.0], [0.0], [0.0]]], axis=1)[:, at]
        for column, tag in enumerate(labels.tag_ids.tolist()):
            if tag in self._scales:
                own[:, column] = self._scales[tag]
        centre, spread, prior, evidence, n_reference = own
        scale = ScoreScale(centre, spread, prior, evidence, n_reference.astype(np.int64))
        return Calibration(found.trained.take(at), found.new.take(at), scale, found.completeness)

    def current_scores(
        self, rows: FeatureRows, current: LabelledPredictions, photos: MakePhotos, n_neighbors: int
    ) -> ExplainedScores:
        shared = photos(self.linear.scaler)
        graph = shared.neighbors if self.smoothing > 0.0 else None
        ridge: Any = RegularizedLeastSquares(self.strength, smoothing=self.smoothing, n_neighbors=n_neighbors)
        ridge.coef_, ridge.intercept_, ridge.regularization_ = self.linear.coef, self.linear.intercept, self.strength
        explainer = ScoreExplainer(ridge, shared.X, current.Y, groups=rows.groups, graph=graph)
        return ExplainedScores(rows.ids, current.tag_ids, explainer)

    def details(self) -> dict[str, Any]:
        return _Ridge(
            strength=self.strength,
            smoothing=self.smoothing,
            n_labeled=self.n_labeled,
            scaler=self.linear.scaler.choices_,
        ).as_dict()

    @classmethod
    def restore(cls, header: ModelHeader, arrays: Arrays, details: Any) -> Self:
        found: _Ridge = restored(_Ridge, details)
        linear = LinearPart.load(header, arrays, found.scaler)
        return cls(header, linear, strength=found.strength, smoothing=found.smoothing, n_labeled=found.n_labeled)


class _MixedModel(StoredModel):
    """A model that cannot be solved tag by tag: updates mix it with a ridge that knows the latest labels.

    The mean and spread of the ridge's scores, or of their log-odds, are brought to those of the model; see
    `tagloom.learning.probability_map`. A model of scores gives way to a smoothed ridge once labels are enough for
    probabilities.
    """

    _own: OwnPredictions
    _strength: float | None = None
    _n_labeled = 0
    _ridge: RidgeLearner | None = None

    def own(self, current: Predictions, has: NDArray[np.bool_]) -> OwnPredictions:
        """Return what the model predicted when it was trained, for the photos of now."""
        return OwnPredictions(current, has, dict(zip(self.header.tag_ids, self.header.n_positive, strict=True)))

    def resume(self, current: Predictions, has: NDArray[np.bool_], info: SuggestionInfo, rows: FeatureRows) -> None:
        self._own = self.own(current, has)
        self._strength, self._n_labeled = info.strength, info.n_labeled

    def is_due(self, labels: TrainingLabels) -> bool:
        return self.header.kind == SCORE and not too_few(labels)

    def update(self, labels: TrainingLabels, columns: NDArray[np.intp], photos: RidgePhotos) -> Changed:
        own, ridge = self._own, self._ridge or self._choose_ridge(labels, photos)
        found, solve = ridge.solve(labels.Y, columns), ridge.without(labels.Y)
        values = own.blended(found.scores, labels, columns)
        if self.header.kind == PROBABILITY:
            scores, new = log_odds(values), np.flatnonzero(own.is_new(labels.tag_ids[columns]))
            if len(new):
                of_new = values[:, new]
                calibrate_new(of_new, found.scores[:, new], labels, columns[new], solve)
                values[:, new] = of_new

            def solve_mixed(tags: NDArray[np.intp], hidden: NDArray[np.bool_]) -> NDArray[np.float32]:
                return log_odds(own.blended(solve(tags, hidden), labels, tags))

            follow_judgements(values, scores, labels, columns, solve_mixed)
        return columns, values

    def _choose_ridge(self, labels: TrainingLabels, photos: RidgePhotos) -> RidgeLearner:
        if self._strength is None or is_outgrown(self._n_labeled, labels):
            self._strength = choose_strength(photos.X, labels.Y, share=ENOUGH_ENTRIES)
            self._n_labeled = labels.n_labeled
        self._ridge = photos.ridge(self._strength, SMOOTHING)
        return self._ridge

    @property
    def stand_in(self) -> tuple[float | None, int]:
        return self._strength, self._n_labeled

    def updated(self, labels: TrainingLabels, predictions: Predictions, photos: RidgePhotos) -> StoredModel | None:
        return None


class LinearModel(_MixedModel):
    """A model whose scores are linear in the features, such as SFSS and NOVA.

    Parameters
    ----------
    header : ModelHeader
        What it was trained on.
    linear : LinearPart
        Its coefficients.
    """

    name = "linear"
    linear: LinearPart

    def __init__(self, header: ModelHeader, linear: LinearPart) -> None:
        super().__init__(header)
        self.linear = linear

    def current_scores(
        self, rows: FeatureRows, current: LabelledPredictions, photos: MakePhotos, n_neighbors: int
    ) -> ExplainedScores:
        X = photos(self.linear.scaler).X
        made: Any = get_learner(self.header.method).make(n_neighbors, rows.groups)
        made.coef_, made.intercept_ = self.linear.coef, self.linear.intercept
        if not isinstance(made, _LINEAR):
            return self._by_predictions(rows, current, X, made if current.kind == SCORE else None)
        scores = linear_scores(X, made.coef_, made.intercept_)
        explainer = ScoreExplainer(made, X, current.Y, groups=rows.groups, scores=scores)
        return ExplainedScores(rows.ids, current.tag_ids, explainer)

    def details(self) -> dict[str, Any]:
        return _Scaling(scaler=self.linear.scaler.choices_).as_dict()

    @classmethod
    def restore(cls, header: ModelHeader, arrays: Arrays, details: Any) -> Self:
        return cls(header, LinearPart.load(header, arrays, restored(_Scaling, details).scaler))


class OtherModel(_MixedModel):
    """A model of which its own predictions are kept, and nothing else.

    Parameters
    ----------
    header : ModelHeader
        What it was trained on.
    photo_ids : ndarray of int64
        The photos of its training.
    values : ndarray of float32, shape (n, c)
        What it predicted for them.
    """

    name = "other"

    def __init__(self, header: ModelHeader, photo_ids: NDArray[np.int64], values: NDArray[np.float32]) -> None:
        super().__init__(header)
        thresholds = np.full(len(header.tag_ids), np.inf)
        self.predictions = Predictions(photo_ids, header.tags, values, thresholds, header.kind)

    def own(self, current: Predictions, has: NDArray[np.bool_]) -> OwnPredictions:
        return super().own(*self.predictions.aligned(current.photo_ids))

    def solved_since(self, current: Predictions) -> set[int]:
        own = self.predictions
        at, columns = rows_of(own.photo_ids, current.photo_ids), rows_of(own.tag_ids, current.tag_ids)
        (now,), (known,) = np.nonzero(at >= 0), np.nonzero(columns >= 0)
        same = current.values[np.ix_(now, known)] == own.values[np.ix_(at[now], columns[known])]
        return set(current.tag_ids.tolist()) - set(current.tag_ids[known[same.all(axis=0)]].tolist())

    def update_scores(
        self,
        current: LabelledPredictions,
        info: SuggestionInfo,
        labels: TrainingLabels,
        photos: MakePhotos,
    ) -> ExplainedScores | None:
        if info.strength is None:
            return None
        everyone, shared = np.ones(len(current.Y), dtype=bool), photos(None)
        own, ridge = self.own(current.predictions, everyone), shared.ridge(info.strength, SMOOTHING)
        explainer = ExplainedUpdate(own, ridge, shared.groups, labels, current)
        return ExplainedScores(current.predictions.photo_ids, current.tag_ids, explainer, current.kind == PROBABILITY)

    def arrays(self) -> Arrays:
        return {PHOTO_IDS: self.predictions.photo_ids, VALUES: self.predictions.values}

    @classmethod
    def restore(cls, header: ModelHeader, arrays: Arrays, details: Any) -> Self:
        return cls(header, *_predictions(header, arrays))


def _predictions(header: ModelHeader, arrays: Arrays) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    photo_ids = checked_array(arrays, PHOTO_IDS, (None,), "i")
    if len(np.unique(photo_ids)) != len(photo_ids):
        raise ValueError(f"the array {PHOTO_IDS} names a photo twice")
    values = checked_array(arrays, VALUES, (len(photo_ids), len(header.tag_ids)))
    return photo_ids.astype(np.int64, copy=False), values.astype(np.float32, copy=False)


class AutoModel(StoredModel):
    """The default method's model, stored whole: it scores, learns and explains as the annotator that was trained.

    Parameters
    ----------
    header : ModelHeader
        What it was trained on.
    photo_ids : ndarray of int64
        The photos of its training.
    values : ndarray of float32, shape (n, c)
        What it predicted for them.
    state_arrays, state : dict
        See `AutoAnnotator.state`.
    """

    name = "auto"

    def __init__(
        self,
        header: ModelHeader,
        photo_ids: NDArray[np.int64],
        values: NDArray[np.float32],
        state_arrays: Arrays,
        state: dict[str, Any],
    ) -> None:
        super().__init__(header)
        thresholds = np.full(len(header.tag_ids), np.inf)
        self.predictions = Predictions(photo_ids, header.tags, values, thresholds, header.kind)
        self._state_arrays, self._state = state_arrays, state
        #: What it was made of; keeps its arrays.
        self._fitted: AutoAnnotator | None = None
        #: Follows the decisions; its columns.
        self._annotator: AutoAnnotator | None = None
        #: Whether it learns on other photos than those of its training.
        self._is_moved = False
        #: What the network sees in its photos, for names of tags that are new.
        self._rows: FeatureRows | None = None
        #: Its predictions of now, as far as they belong to its annotator.
        self._shown: NDArray[np.float32] | None = None
        self._columns = header.tags

    @classmethod
    def of(
        cls,
        annotator: AutoAnnotator,
        header: ModelHeader,
        photo_ids: NDArray[np.int64],
        values: NDArray[np.float32],
    ) -> "AutoModel":
        """Return a fitted annotator as it is stored."""
        found = annotator.state()
        if found is None:
            raise InvalidInputError("expected an annotator with plain parameters, which can be stored")
        model = cls(header, photo_ids, values, *found)
        model._fitted = annotator
        return model

    @classmethod
    def fit(
        cls, labels: TrainingLabels, rows: FeatureRows, *, precision: float, n_threads: int | None
    ) -> "tuple[AutoModel, Learned]":
        """Fit an annotator with the names of the tags; return the model, ready for updates, and what it has learnt."""
        learner: Any = get_learner(cls.name)
        annotator = learner.make(Settings().n_neighbors, rows.groups)
        annotator.set_params(n_threads=n_threads, given=given_by_names(Sight.of(rows), labels.names))
        learned = learn_auto(annotator, rows.X, labels, precision=precision)
        header = ModelHeader.of(learner.name, learned.kind, labels, rows.groups, learned.completeness)
        model = cls.of(annotator, header, rows.ids, learned.values)
        model.n_threads = n_threads
        predictions = learned.predictions(labels)
        info = SuggestionInfo(kind=learned.kind, model=0, method=learner.name)
        model.resume(predictions, np.ones(len(rows.ids), dtype=bool), info, rows)
        return model, learned

    def restored(self, rows: FeatureRows) -> AutoAnnotator | None:
        """Return the annotator; None where the photos or features of its training are no longer there.

        Parameters
        ----------
        rows : FeatureRows
            Features, those of all photos that it was trained on among them.
        """
        X = self._trained_features(rows)
        if X is None:
            return None
        try:
            return self._restored(X)
        except InvalidInputError as error:  # it can be trained again
            logger.warning("the stored model cannot be used whole: %s", error)
            return None

    def _restored(self, X: NDArray[np.float32]) -> AutoAnnotator:
        found = AutoAnnotator.restore(X, self._state_arrays, self._state, n_threads=self.n_threads, load=self.load_kept)
        if found.labels_.shape != self.predictions.values.shape:
            raise InvalidInputError("its tags are not those of its header")
        return found

    def _trained_features(self, rows: FeatureRows) -> NDArray[np.float32] | None:
        if np.array_equal(rows.ids, self.predictions.photo_ids):
            return np.asarray(rows.X)
        at = rows_of(rows.ids, self.predictions.photo_ids)
        return None if (at < 0).any() else rows.X[at]

    def score(self, new: FeatureRows, load: LoadFeatures) -> NDArray[np.float32] | None:
        """Return its own predictions.

        Notes
        -----
        Where training changed the probabilities of a tag by what was judged, a new photo has what training gave to
        unlabelled photos with the same log-odds.
        """
        trained = load(self.predictions.photo_ids)
        annotator = None if trained is None else self.restored(trained)
        if annotator is None:
            return None
        names = given_by_names(Sight.of(new), self.header.names)
        if self.header.kind != PROBABILITY:
            return np.asarray(annotator.decision_function(new.X, names), dtype=np.float32)
        given = annotator.predict_proba(new.X, names)
        values = given.astype(np.float32)
        self._correct_new(values)
        for tag in np.flatnonzero(self.header.reviewed):
            is_open = annotator.labels_[:, tag] == UNKNOWN
            if is_open.any():
                before, after = annotator.probabilities_[is_open, tag], self.predictions.values[is_open, tag]
                order = np.argsort(before, kind="stable")
                found = np.interp(log_odds(given[:, tag]), log_odds(before[order]), log_odds(after[order]))
                values[:, tag] = expit(found)
        return values

    def resume(self, current: Predictions, has: NDArray[np.bool_], info: SuggestionInfo, rows: FeatureRows) -> None:
        """Restore the annotator; where photos came or went, its members learn on those of now.

        Raises
        ------
        InvalidInputError
            If it cannot be restored.
        """
        self._is_moved = not np.array_equal(rows.ids, self.predictions.photo_ids)
        if not self._is_moved:
            self._annotator = self._restored(rows.X)
            self._shown = current.values if np.array_equal(current.tag_ids, self._columns) else None
        else:
            self._annotator = AutoAnnotator.moved(rows.X, self._state_arrays, self._state, n_threads=self.n_threads)
        self._rows = rows

    def is_due(self, labels: TrainingLabels) -> bool:
        return self.header.kind == SCORE  # thresholds of scores are found by all labels, and more make probabilities

    def refit(self, labels: TrainingLabels, photos: RidgePhotos, *, precision: float) -> "tuple[AutoModel, Learned]":
        annotator = self._follow(labels)
        learned = learned_by_auto(annotator, labels, precision=precision)
        header = ModelHeader.of(self.header.method, learned.kind, labels, self.header.groups, learned.completeness)
        found = self.of(annotator, header, labels.photo_ids, learned.values)
        found._annotator, found.graph, found.n_threads = annotator, self.graph, self.n_threads
        found._rows, found.load_kept = self._rows, self.load_kept
        return found, learned

    def update(self, labels: TrainingLabels, columns: NDArray[np.intp], photos: RidgePhotos) -> Changed:
        everything = np.arange(len(labels.tags))
        if self.header.kind == SCORE:
            return everything, np.asarray(self._follow(labels).transduction_, dtype=np.float32)
        shown = self._shown

        def look(tags: NDArray[np.intp], log_odds_of: Callable[[NDArray[np.intp]], NDArray[Any]]) -> None:
            if self.first_look is not None and shown is not None and self._annotator is not None:
                rows = _likeliest(shown, tags, FIRST_PHOTOS)
                before = self._annotator.transduction_[rows][:, tags]
                values = _followed(log_odds_of(rows), before, shown[rows][:, tags])
                known = labels.said[rows][:, tags] != UNKNOWN
                self.first_look(tags, rows, np.where(known, shown[rows][:, tags], values))

        annotator = self._follow(labels, look)
        values = auto_probabilities(annotator, labels, everything, self.header.completeness or 1.0)
        self._shown = values
        return everything, values

    def _follow(self, labels: TrainingLabels, first: FirstLook | None = None) -> AutoAnnotator:
        annotator = self._annotator
        if annotator is None:
            raise StoreError("the model was not resumed; open another updater")
        annotator.set_params(calibration=calibration_method(labels))
        at = rows_of(self._columns, labels.tag_ids)
        given = self._given(labels, np.arange(len(at)) if self._is_moved else np.flatnonzero(at < 0))
        annotator.update(labels.Y, representative(labels), columns=at, given=given, first=first)
        self._columns, self._is_moved = labels.tag_ids, False
        return annotator

    def _given(self, labels: TrainingLabels, tags: NDArray[np.intp]) -> NDArray[np.float32] | None:
        """Return what the names of some tags say of the photos, NaN for the others; None for nothing."""
        names = [labels.names[tag] for tag in tags]
        found = given_by_names(Sight.of(self._rows), names) if self._rows is not None and names else None
        if found is None:
            return None
        given = np.full(labels.Y.shape, np.nan, dtype=np.float32)
        given[:, tags] = found
        return given

    def updated(self, labels: TrainingLabels, predictions: Predictions, photos: RidgePhotos) -> "AutoModel | None":
        annotator, before = self._annotator, self.header
        if annotator is None:
            return None
        header = ModelHeader.of(before.method, predictions.kind, labels, before.groups, before.completeness)
        new = self.of(annotator, header, predictions.photo_ids, predictions.values)
        new.graph = self.graph if len(predictions.photo_ids) == len(self.predictions.photo_ids) else None
        return new

    def own_scores(self, rows: FeatureRows) -> ExplainedScores | None:
        annotator, X = self.restored(rows), self._trained_features(rows)
        if annotator is None or X is None or _takes_too_long(annotator):
            return None
        explainer = ScoreExplainer(annotator, X, annotator.labels_, groups=annotator.groups)
        return ExplainedScores(self.predictions.photo_ids, self.header.tags, explainer)

    def kept(self) -> dict[str, Arrays]:
        return {} if self._fitted is None else self._fitted.kept()

    def arrays(self) -> Arrays:
        found: Arrays = {PHOTO_IDS: self.predictions.photo_ids, VALUES: self.predictions.values}
        return found | self._state_arrays

    def details(self) -> dict[str, Any]:
        return self._state

    @classmethod
    def restore(cls, header: ModelHeader, arrays: Arrays, details: Any) -> Self:
        state_arrays = {name: values for name, values in arrays.items() if name.startswith("auto/")}
        return cls(header, *_predictions(header, arrays), state_arrays, restored(dict[str, Any], details))


class NameModel(StoredModel):
    """Suggestions by the names of tags alone; the first labels make a model of the default method of it.

    Parameters
    ----------
    header : ModelHeader
        Its tags, with their names.
    """

    name = "names"
    _rows: FeatureRows | None = None

    def score(self, new: FeatureRows, load: LoadFeatures) -> NDArray[np.float32] | None:
        log_odds = given_by_names(Sight.of(new), self.header.names)
        return None if log_odds is None else expit(np.nan_to_num(log_odds, nan=-np.inf)).astype(np.float32)

    def resume(self, current: Predictions, has: NDArray[np.bool_], info: SuggestionInfo, rows: FeatureRows) -> None:
        self._rows = rows

    def is_due(self, labels: TrainingLabels) -> bool:
        return True

    def refit(self, labels: TrainingLabels, photos: RidgePhotos, *, precision: float) -> "tuple[StoredModel, Learned]":
        if self._rows is None:
            return super().refit(labels, photos, precision=precision)
        return AutoModel.fit(labels, self._rows, precision=precision, n_threads=self.n_threads)

    def update(self, labels: TrainingLabels, columns: NDArray[np.intp], photos: RidgePhotos) -> Changed:
        raise InvalidInputError("suggestions by name learn nothing from labels; train a model: tagloom train")

    def updated(self, labels: TrainingLabels, predictions: Predictions, photos: RidgePhotos) -> StoredModel | None:
        return None

    def current_scores(
        self, rows: FeatureRows, current: LabelledPredictions, photos: MakePhotos, n_neighbors: int
    ) -> ExplainedScores:
        return self._by_predictions(rows, current, photos(None).X)

    @classmethod
    def restore(cls, header: ModelHeader, arrays: Arrays, details: Any) -> Self:
        return cls(header)


def _likeliest(values: NDArray[np.float32], tags: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return photos, ascending: for each tag as many of the likeliest, about so many in all."""
    of_each = min(len(values), -(-count // len(tags)))
    found = [np.argpartition(values[:, tag], len(values) - of_each)[len(values) - of_each :] for tag in tags.tolist()]
    return np.unique(np.concatenate(found))


def _followed(now: NDArray[Any], before: NDArray[Any], values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return for log-odds (k, t) the probabilities that others like them had before, and beyond those in proportion."""
    found, odds = np.empty(now.shape), log_odds(values.astype(np.float64))
    for tag in range(now.shape[1]):
        order = np.argsort(before[:, tag], kind="stable")
        known, given = before[order, tag], np.maximum.accumulate(odds[order, tag])
        beyond = now[:, tag] - np.clip(now[:, tag], known[0], known[-1])
        found[:, tag] = np.interp(now[:, tag], known, given) + beyond
    return np.asarray(expit(found), dtype=np.float32)


def is_outgrown(n_labeled: int, labels: TrainingLabels) -> bool:
    """Tell whether there are so many more labelled photos that what was chosen on few has to be chosen again."""
    return n_labeled < SETTLED_PHOTOS and labels.n_labeled >= 2 * n_labeled


def _takes_too_long(annotator: AutoAnnotator) -> bool:
    if annotator.mixing_ is None:
        return False
    return known_patterns(annotator.labels_[annotator.model_.rows])[0].shape[1] > MOST_PATTERNS


_CLASSES: dict[str, type[StoredModel]] = {
    one.name: one for one in (RidgeModel, LinearModel, OtherModel, AutoModel, NameModel)
}


def load_model(store: ProjectStore, model: Model, *, n_threads: int | None = None) -> StoredModel:
    """Return a registered model.

    Parameters
    ----------
    store : ProjectStore
        The project.
    model : Model
        What is registered of it.
    n_threads : int, optional
        For what takes several.

    Raises
    ------
    DamagedStoreError
        If its file is not one that tagloom writes.
    """
    arrays, info = store.models.load(model.id)
    try:
        registered = registration_of(model)
        if registered is None:
            raise ValueError("what is registered of it is not what tagloom writes")
        header: ModelHeader = restored(ModelHeader, info["header"])
        found = _CLASSES[info["class"]].restore(header, arrays, info["details"])
        found.graph = GraphPart.of(registered, arrays)
    except (KeyError, TypeError, ValueError, OverflowError, InvalidInputError) as error:
        raise DamagedStoreError(f"model {model.id} is damaged ({error}); train again: tagloom train") from error
    found.n_threads, found.load_kept = n_threads, store.kept.load
    return found


def save_model(
    store: ProjectStore,
    model: StoredModel,
    predictions: Predictions,
    labels: TrainingLabels,
    features: FeaturesUsed,
    settings: Settings,
    *,
    features_key: str = "",
    choice: dict[str, Any] | None = None,
    topics: tuple[dict[str, Any], ...] = (),
    verb: str,
) -> int:
    """Store a model; then, in one transaction, its suggestions, and let it take the place of the one before.

    Parameters
    ----------
    store : ProjectStore
        The project.
    model : StoredModel
        The model.
    predictions : Predictions
        What it suggests.
    labels : TrainingLabels
        What it learnt from.
    features : FeaturesUsed
        What from.
    settings : Settings
        Neighbours and descriptors.
    features_key : str
        Checksum of the scaled features, where it was trained on these.
    choice : dict, optional
        Parameters that it chose.
    topics : tuple of dict
        What a topic model knows of its topics.
    verb : str
        What made it, for the list of runs.

    Returns
    -------
    int
        Its id.
    """
    graph = model.graph
    registered = Registration(
        method=model.header.method,
        n_photos=len(features.photo_ids),
        n_decisions=labels.n_decisions,
        n_neighbors=settings.n_neighbors if graph is None else graph.n_neighbors,
        descriptors=tuple(settings.descriptors),
        features_key=features_key,
        choice=choice or {},
        topics=topics,
        graph_key="" if graph is None else graph.key,
        holds_graph=graph is not None and bool(graph.arrays),
    ).as_dict()
    kept = model.kept()
    for key, arrays in kept.items():
        store.kept.save(key, arrays)
    run = store.runs.start(verb, registered)
    number = store.models.save(
        model.arrays() | ({} if graph is None else graph.arrays),
        {"class": model.name, "header": model.header.as_dict(), "details": model.details()},
        features=features.described(),
        labels_digest=labels.digest,
        settings=registered,
        run=run,
        activate=False,
    )
    with store.transaction():
        store.suggestions.save(
            predictions.photo_ids,
            predictions.tag_ids,
            predictions.values,
            thresholds=predictions.thresholds,
            run=run,
            info=SuggestionInfo(kind=predictions.kind, model=number, method=model.header.method).as_dict(),
        )
        store.models.activate(number)
        store.runs.end(run, {"model": number})
    store.kept.keep_only(kept)
    return number
