"""The annotator that chooses for itself: views of features, kernels, smoothing, their combination, probabilities."""

import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from tagloom.core.annotator import fit_thresholds
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, AbsentMeans, LabelMatrix, check_labels, labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.seeds import check_generator
from tagloom.core.typing import Floats, Indices
from tagloom.core.validation import COMMON, NumberIn, OneOf
from tagloom.exceptions import InvalidInputError, InvalidLabelsError
from tagloom.tuning.auto.combine import choose_per_tag, combine
from tagloom.tuning.auto.model import StackModel, members_left_out, pattern_left_out
from tagloom.tuning.auto.refine import TagMixing, change_targets, counted_completeness, find_mixing, soften
from tagloom.tuning.auto.search import OVER, Search
from tagloom.tuning.auto.state import (
    Arrays,
    NotPlainError,
    add_rows,
    changed_rows,
    pack,
    parts_of_model,
    parts_of_views,
    restored_model,
    restored_views,
    unpack,
)
from tagloom.tuning.auto.views import PhotoViews, default_views, smoothed_priors
from tagloom.tuning.calibration.calibrated import Accepting, folds_of, scale_of
from tagloom.tuning.calibration.level_scale import LevelScale, TagRates, heaps, sharpened, tag_counts, telling
from tagloom.tuning.calibration.maps import CalibrationMap, Method, fit_map, left_out_prior, take_tags
from tagloom.tuning.calibration.positive_unlabeled import absent_entries, forgotten_share, weak_negatives
from tagloom.tuning.constants import (
    CALIBRATION_SHARE,
    DESCRIBED_ROWS,
    DUE,
    DUE_FOR_TAG,
    FEATURE_SMOOTHING,
    SEARCH_SHARE,
)

__all__ = ["AutoAnnotator"]

#: Of a stored state; one more whenever the same numbers would mean another model, such as with another graph kernel.
FORMAT = 1
#: Parameters that matter to a fit alone and may be anything, or that are stored in a way of their own.
NOT_STORED = {"groups", "n_threads", "progress", "random_state"}
#: Attributes that are made again, or stored in a way of their own. All others are stored as they are.
MADE_AGAIN = {
    *("views_", "model_", "labels_", "scores_", "own_scores_", "_targets", "_deviations"),
    *("transduction_", "probabilities_", "_shared", "n_features_in_"),
}


class AutoAnnotator(Accepting):
    """Annotator that compares methods on the labels, combines the best few and calibrates them.

    Kernel ridge regressions over several weightings of the feature groups, with features and scores smoothed over the
    neighbour graph of all photos or not, are compared by the scores they give labelled photos without their own
    label. The best few are combined, for single tags differently where their photos say so; tags listen to those they
    go with where left-out scores show a gain that stands out. The same left-out scores make probabilities of the
    scores.

    Parameters
    ----------
    groups : FeatureGroups or None, default=None
        The column ranges of X; None takes all columns as one group.
    budget_seconds : float, default=300
        Past six tenths of it no further candidate is tried; ``left_out_`` names those.
    absent_means : {"no", "unknown"}, default="no"
        "unknown": an entry -1 of a photo that has a known one was not named, which is no no. It is learnt from as the
        share of a yes that its left-out score gives it, and probabilities are corrected by the share of true tags that
        are named; see `PositiveUnlabeledAnnotator`. "no": every -1 is unknown and nothing is learnt from it.
    n_neighbors : int, default=15
        Of the graph.
    max_search_rows : int, default=1500
        Labelled photos on which candidates are compared at most.
    max_rows : int, default=6000
        Labelled photos that are learnt from at most; drawn at random where there are more.
    calibration : {"auto", "platt", "isotonic"}, default="auto"
        ``method`` of `CalibratedAnnotator`.
    n_threads : int or None, default=None
        Threads of the graph's search.
    progress : Progress or None, default=None
        Told how far the work is.
    random_state : int, Generator or None, default=None
        Draws labelled photos where there are too many, and deals folds.

    Attributes
    ----------
    probabilities_ : ndarray of shape (n, c)
        Of the training photos; known entries have what would be said of them without their photo's labels (but for
        labelled photos beyond ``max_search_rows``).
    transduction_ : ndarray of shape (n, c)
        Log-odds; ``decision_function`` returns log-odds too.
    leaderboard_ : list of LeaderboardRow
        Candidates, the best first.
    left_out_ : dict of str to str
        What was not tried, and why.
    choice_ : dict
        The members with their weights, and figures of the combination; plain numbers and words.
    completeness_ : float
        Share of true tags that are named, never taken for less than 0.6, and for more the fewer than 100 are named; 1
        where absence means no.
    map_ : CalibrationMap
        From scores to probabilities.
    seen_ : ndarray of bool, shape (n,)
        Labelled photos that candidates were not compared on: what is said of them knows their labels.
    labels_ : label matrix of shape (n, c)
        What it has learnt from.
    scores_, own_scores_ : ndarray of shape (n, c)
        Scores before calibration, shares in kind; those of known entries without and with their photo's labels.
    priors_ : ndarray of shape (c,)
        How often each tag is expected.
    views_ : PhotoViews
        Scaled features and the neighbour graph.
    model_ : StackModel
        The combination, solved with all labels.
    mixing_ : TagMixing or None
        How tags listen to each other; None where they do not.

    Notes
    -----
    Every member has scores ``π + A K (K + λI)⁻¹ (Y - π)``: π the tag's frequency with one half added to both counts, K
    a Gaussian kernel, A the smoothing ``(I + sL)⁻¹`` over the graph or the identity. A tag that no labelled photo has
    is thereby most likely where a photo is unlike all labelled ones. Scores without a photo's own label follow in
    closed form, so that the search costs one eigendecomposition per kernel. The combination starts from views known to
    be good and moves only where the gain stands out of its standard error over the tags: with few labels little is
    chosen, with many much.

    Interrupted during the search, it goes on with the best found so far.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> Y = (X[:, :2] + 0.3 * rng.normal(size=(300, 2)) > 1).astype(np.int8)
    >>> Y[100:] = -1
    >>> AutoAnnotator(random_state=0).fit(X, Y).predict_proba(X[:3]).shape
    (3, 2)
    """

    #: Made of the same features before; never part of a clone.
    _shared: PhotoViews | None = None
    mixing_: TagMixing | None

    _parameter_constraints = COMMON | {
        "budget_seconds": [NumberIn(Real, 0, None, closed="right")],
        "absent_means": [OneOf(*get_args(AbsentMeans))],
        "max_search_rows": [NumberIn(Integral, 2, None, closed="left")],
        "max_rows": [NumberIn(Integral, 2, None, closed="left")],
        "calibration": [OneOf(*get_args(Method))],
    }

    def __init__(
        self,
        groups: FeatureGroups | None = None,
        *,
        budget_seconds: float = 300.0,
        absent_means: AbsentMeans = "no",
        n_neighbors: int = 15,
        max_search_rows: int = 1500,
        max_rows: int = 6000,
        calibration: Method = "auto",
        n_threads: int | None = None,
        progress: Progress | None = None,
        random_state: Any = None,
    ) -> None:
        self.groups = groups
        self.budget_seconds = budget_seconds
        self.absent_means = absent_means
        self.n_neighbors = n_neighbors
        self.max_search_rows = max_search_rows
        self.max_rows = max_rows
        self.calibration = calibration
        self.n_threads = n_threads
        self.progress = progress
        self.random_state = random_state

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        began = time.perf_counter()
        self._check_parameters(X)
        self.left_out_: dict[str, str] = {}
        labels = self._labels_to_learn(Y)
        self.views_ = self._make_views(X) if self._shared is None else self._shared
        weightings = default_views(self.views_.groups.names)
        rows, self._search_rows = self._choose_rows(labels)
        progress = self.progress or NO_PROGRESS
        search = Search(
            self.views_,
            weightings,
            labels,
            self._search_rows,
            go_on=lambda: time.perf_counter() - began < SEARCH_SHARE * self.budget_seconds,
            progress=progress,
        )
        found = search.run()
        progress.start("combining the best")
        self.left_out_ |= found.left_out
        compared = labels[self._search_rows]
        combined = choose_per_tag(found.trials, combine(found.trials, compared, weightings), compared)
        members, self.leaderboard_, self.choice_ = combined.members, combined.leaderboard, combined.choice
        deviations, n_left = pattern_left_out(
            search,
            weightings,
            members,
            combined.deviations,
            go_on=lambda: time.perf_counter() - began < self.budget_seconds,
        )
        if n_left:
            self.left_out_[f"exact leave-one-out scores of {n_left} tags"] = OVER
        self.model_ = StackModel(self.views_, weightings, members)
        folds = folds_of(X, labels, self._search_rows)
        plain = self._learn_unmixed(labels, rows, deviations)
        mixing = find_mixing(deviations, compared, self._deviations.std(axis=0), folds)
        self.choice_ |= {
            "feature_smoothing": FEATURE_SMOOTHING,
            "n_search_rows": len(self._search_rows),
            "tag_mixing": {"strength": mixing.strength, "gain": mixing.gain},
        }
        progress.start("working out probabilities")
        self._settle(Y, labels, rows, deviations, folds, plain, mixing if mixing.strength else None)
        progress.finish()

    def _learn_unmixed(self, labels: LabelMatrix, rows: Indices, deviations: Floats) -> Floats:
        """Solve with the labels, no tag listening to others; return the left-out scores."""
        self.mixing_ = None
        self._learn(labels, labels, self._search_rows if self.absent_means == "unknown" else rows, deviations)
        return self.scores_

    def _settle(
        self,
        Y: LabelMatrix,
        labels: LabelMatrix,
        rows: Indices,
        deviations: Floats,
        folds: Indices,
        plain: Floats,
        mixing: TagMixing | None,
    ) -> None:
        """Make the map to probabilities; then learn from absent tags as shares of a yes where absence means unknown."""
        self.mixing_ = mixing
        self._calibrate(labels, deviations, folds)
        if self.absent_means == "unknown":
            self._forgotten, targets, deviations = soften(self.model_, Y, self._search_rows, plain)
            self._learn(labels, targets, rows, deviations)
        self._finish(Y, labels)

    def _learn(self, labels: LabelMatrix, targets: NDArray[Any], rows: Indices, deviations: Floats) -> None:
        """Solve with the targets; deviations are those of photos that were compared on, without their own label."""
        self._targets, self.priors_ = targets.copy(), smoothed_priors(targets)
        #: Of the combination alone.
        self._deviations: Floats = self.model_.fit(targets, rows, self.priors_)
        self._express(labels, deviations)

    def _express(self, labels: LabelMatrix, deviations: Floats) -> None:
        """Set the scores of all photos, and those of known entries without their photo's labels."""
        self.own_scores_: Floats = self._mixed(self._deviations) + self.priors_
        self.scores_: Floats = self.own_scores_.copy()
        # Without its only labelled photo an annotator knows nothing.
        if len(deviations) >= 2:
            known = labels[self._search_rows] != UNKNOWN
            left_out = self._mixed(deviations) + self.priors_
            self.scores_[self._search_rows] = np.where(known, left_out, self.own_scores_[self._search_rows])
        self._scale = self._scale_of(labels)

    def _mixed(self, deviations: Floats) -> Floats:
        """Return deviations that have listened to those of other tags."""
        return deviations if self.mixing_ is None else self.mixing_.apply(deviations)

    def _calibrate(self, labels: LabelMatrix, deviations: Floats, folds: Indices) -> None:
        """Fit the map from scores to probabilities on left-out scores, on one scale with those of all photos."""
        self._express(labels, deviations)
        rows = self._search_rows if len(self._search_rows) >= 2 else self._search_rows[:0]
        left_out = (self._mixed(deviations) + self.priors_)[: len(rows)]
        self.seen_ = labeled_rows(labels)
        self._n_calibrated, self._calibrated_counts = int(self.seen_.sum()), tag_counts(labels)
        self.seen_[rows] = False
        described = self._scale.describe_left_out(left_out, labels, rows)
        found = fit_map(
            described,
            self._calibrated_against(labels)[rows],
            folds[: len(rows)],
            method=self.calibration,
            bend=True,
            prior=left_out_prior(heaps(self.scores_, self._scale.evidence > 0.0)),
            telling=telling(labels, rows),
        )
        self.map_: CalibrationMap = replace(found, coefficients=sharpened(found.coefficients, len(rows)))

    def _scale_of(self, labels: LabelMatrix, rates: TagRates | None = None) -> LevelScale:
        return LevelScale.of(scale_of(self.scores_, np.full_like(labels, UNKNOWN)), labels, rates)

    def _finish(self, Y: LabelMatrix, labels: LabelMatrix) -> None:
        """Set what is reported of the training photos."""
        self.labels_ = Y.copy()
        logits = self._described(self.map_.logits, self.scores_)
        named = expit(logits)
        self.completeness_ = 1.0
        seen = self.seen_[:, None]
        if self.absent_means == "unknown":
            self.completeness_ = counted_completeness(np.where(seen, UNKNOWN, Y).astype(np.int8), named)
        self.transduction_ = logits - np.log(self.completeness_)
        unseen = fit_thresholds(self.transduction_, np.where(seen, UNKNOWN, labels))
        self.thresholds_ = np.where(np.isinf(unseen), fit_thresholds(self.transduction_, labels), unseen)
        self.probabilities_ = np.minimum(named / self.completeness_, 1.0)
        if self.absent_means == "unknown":
            missed = forgotten_share(named, self.completeness_)
            self.probabilities_ = np.where(absent_entries(Y), missed, self.probabilities_)

    def _described(self, function: Callable[[Floats], Floats], scores: Floats) -> Floats:
        """Return what a function makes of described scores, a few rows at a time."""
        found = np.empty(scores.shape)
        for start in range(0, len(scores), DESCRIBED_ROWS):
            block = slice(start, start + DESCRIBED_ROWS)
            found[block] = function(self._scale.describe(scores[block]))
        return found

    def _log_odds_deviations(self) -> Floats:
        return self._described(self.map_.deviations, self.scores_)

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        scores = self._mixed(self.model_.deviations(self.views_.attach(X))) + self.priors_
        return self._described(self.map_.logits, scores) - np.log(self.completeness_)

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of shape (n, c) for photos never seen."""
        named = expit(self.decision_function(X) + np.log(self.completeness_))
        return np.minimum(named / self.completeness_, 1.0)

    def update(self, Y: Any, against: Any = None) -> Self:
        """Learn from changed labels of the training photos: features, graph and members stay.

        Only tags whose labels changed are solved again. An entry that was unknown before keeps, as what is said without
        its label, the score it had. From a tenth more or fewer labelled photos on, or twice or half as many of a tag,
        left-out scores and the map to probabilities are made again.

        Parameters
        ----------
        Y : label matrix of shape (n, c)
            All labels, the same photos and tags as in ``fit``.
        against : label matrix of shape (n, c), optional
            See ``fit``.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        Y = check_labels(Y, n_rows=len(self.labels_), n_tags=self.n_tags_)
        self._against = against
        try:
            self._update(Y)
        finally:
            del self._against
        return self

    def _update(self, Y: LabelMatrix) -> None:
        labels = targets = self._labels_to_learn(Y)
        due, any_known = self.is_calibration_due(labels), bool((labels != UNKNOWN).any())
        if self.absent_means == "unknown":
            if due and any_known:
                # How many tags are forgotten is told by all labels.
                rows, mixing = self._rows_to_learn(labels), self.mixing_
                deviations, folds = self._leave_out(labels, rows)
                plain = self._learn_unmixed(labels, rows, deviations)
                self._settle(Y, labels, rows, deviations, folds, plain, mixing)
                return
            targets = change_targets(Y, self.labels_, self._targets, self.scores_, self._forgotten)
        tags = np.flatnonzero((targets != self._targets).any(axis=0))
        if not len(tags) and not due:
            return
        if not any_known:
            raise InvalidLabelsError("update needs at least one known label; all entries of Y are -1 (unknown)")
        rows = self._rows_to_learn(labels)
        # A photo that moves in where another has lost its labels brings those of tags that did not change.
        moved_in = np.setdiff1d(rows, self.model_.rows)
        tags = np.union1d(tags, np.flatnonzero((targets[moved_in] != UNKNOWN).any(axis=0)))
        self._targets, self.priors_ = targets.copy(), smoothed_priors(targets)
        if len(tags):
            self._deviations[:, tags] = self.model_.update(targets, rows, self.priors_, tags)
        if due:
            self._calibrate(labels, *self._leave_out(labels, rows))
        else:
            if self.mixing_ is None:
                self.own_scores_[:, tags] = self._deviations[:, tags] + self.priors_[tags]
            else:
                self.own_scores_ = self._mixed(self._deviations) + self.priors_
            self.scores_ = np.where(labels == UNKNOWN, self.own_scores_, self.scores_)
            self._scale = self._scale_of(labels, self._scale.rates)
        self._finish(Y, labels)

    def is_calibration_due(self, labels: LabelMatrix) -> bool:
        """Tell whether an update with these labels makes the map to probabilities again.

        Parameters
        ----------
        labels : label matrix of shape (n, c)
            What is learnt from now.
        """
        before, now = max(self._n_calibrated, 1), int(labeled_rows(labels).sum())
        if now >= DUE * before or before >= DUE * now:
            return True
        # A tag that is new has scores without its labels that know nothing, not even of its other labels.
        then, counts = self._calibrated_counts, tag_counts(labels)
        more, fewer = counts >= DUE_FOR_TAG * np.maximum(then, 0.5), then >= DUE_FOR_TAG * np.maximum(counts, 0.5)
        return bool((more | fewer).any())

    def _leave_out(self, labels: LabelMatrix, rows: Indices) -> tuple[Floats, Indices]:
        """Choose the photos that left-out scores are of; return deviations by the members, and folds."""
        if len(rows) > self.max_search_rows:
            rows = np.sort(np.random.default_rng(0).choice(rows, self.max_search_rows, replace=False))
        self._search_rows = rows
        search = Search(self.views_, self.model_.weightings, labels, rows)
        end = time.perf_counter() + CALIBRATION_SHARE * self.budget_seconds
        deviations = members_left_out(search, self.model_, go_on=lambda: time.perf_counter() < end)
        return deviations, folds_of(self.views_.plain, labels, rows)

    def _rows_to_learn(self, labels: LabelMatrix) -> Indices:
        """Return the labelled photos, those learnt from before first where there are too many."""
        rows = np.flatnonzero(labeled_rows(labels))
        if len(rows) <= self.max_rows:
            return rows
        kept = np.intersect1d(self.model_.rows, rows)
        added = np.setdiff1d(rows, kept)[: self.max_rows - len(kept)]
        return np.union1d(kept, added)

    def set_tags(self, columns: ArrayLike) -> None:
        """Reorder, drop and add tags of a fitted annotator.

        Parameters
        ----------
        columns : array of int, shape (c,)
            For each tag its column of before; -1 for one of which no label is known.

        Notes
        -----
        A new tag has the members of the combination, each with the mean of its factors; it listens to no other tag, and
        its probabilities follow the pooled map. What is said of other tags stays.
        """
        at = np.asarray(columns, dtype=np.intp)
        if np.array_equal(at, np.arange(self.n_tags_)):
            return
        if not len(at) or (at >= self.n_tags_).any():
            raise InvalidInputError(f"expected columns below {self.n_tags_}, at least one, got {at.tolist()}")
        dropped = np.setdiff1d(np.arange(self.n_tags_), at)
        if (self.labels_[:, dropped] != UNKNOWN).any():
            self._n_calibrated = 0  # the pooled map has learnt from them: the next update makes it again
        labels = take_tags(self.labels_, at, UNKNOWN)
        self.n_tags_ = len(at)
        self._targets = take_tags(self._targets, at, UNKNOWN)
        self.priors_ = smoothed_priors(self._targets)
        self._deviations = take_tags(self._deviations, at, 0.0)
        self.own_scores_, self.scores_ = take_tags(self.own_scores_, at, 0.0), take_tags(self.scores_, at, 0.0)
        self.own_scores_[:, at < 0] = self.scores_[:, at < 0] = self.priors_[at < 0]
        self._calibrated_counts = take_tags(self._calibrated_counts, at, 0)
        self.model_.set_tags(at)
        self.mixing_ = None if self.mixing_ is None else self.mixing_.with_tags(at)
        self.map_ = self.map_.with_tags(at)
        learnt = self._labels_to_learn(labels)
        self._scale = self._scale_of(learnt, self._scale.rates)
        self._finish(labels, learnt)

    def state(self) -> tuple[Arrays, dict[str, Any]] | None:
        """Return what has to be stored of a fitted annotator: no pickle, and no copy of the features.

        Returns
        -------
        tuple of dict, or None
            Arrays, whose names all begin with ``auto/``, and a description that JSON can hold. None where a value is
            neither a number, nor text, nor an array.

        Notes
        -----
        Scores of the photos are stored as exact as coordinates are: in float64 with few photos, in float32 with many.
        Coefficients are always in float64: they are large and of both signs, and what they sum to is small.
        """
        check_is_fitted(self)
        parameters, dtype = self.get_params(deep=False), self.views_.plain.dtype
        parts = {
            "parameters": {name: value for name, value in parameters.items() if name not in NOT_STORED},
            "groups": self.groups,
            "views": parts_of_views(self.views_),
            "model": parts_of_model(self.model_, dtype),
            "deviations": self._deviations.astype(dtype),
            "labels": changed_rows(self.labels_, np.full_like(self.labels_, UNKNOWN)),
            "targets": changed_rows(self._targets, self.labels_),
            "scores": changed_rows(self.scores_, self.own_scores_, dtype),
            "rest": {
                name: value for name, value in vars(self).items() if name not in MADE_AGAIN and name not in parameters
            },
        }
        arrays: Arrays = {}
        try:
            packed = {name: pack(value, f"auto/{name}", arrays) for name, value in parts.items()}
        except NotPlainError:
            return None
        shape = [self.views_.n_photos, self.views_.given_groups.n_columns]
        return arrays, {"format": FORMAT, "shape": shape, **packed}

    @classmethod
    def restore(cls, X: NDArray[Any], arrays: Arrays, info: dict[str, Any], *, n_threads: int | None = None) -> Self:
        """Return an annotator that behaves as the one whose `state` was stored.

        Parameters
        ----------
        X : array of shape (n, d)
            The features that it was fitted on, in the same order.
        arrays, info
            What `state` gave; there may be other arrays.
        n_threads : int, optional
            For neighbours of new photos.

        Raises
        ------
        InvalidInputError
            If these are not the features that it was fitted on, or if another version stored it in a way not known
            here.
        """
        if info.get("format") != FORMAT:
            raise InvalidInputError(
                f"expected a model kept in the format {FORMAT}, got {info.get('format')!r}; train it again"
            )
        shape = info.get("shape")
        if list(np.shape(X)) != shape:
            raise InvalidInputError(
                "expected the features that the model was trained on, of shape "
                f"{tuple(shape) if isinstance(shape, list) else shape} (photos, columns), got {np.shape(X)}; "
                "give those, or train again"
            )
        try:
            return cls._restored(X, {name: unpack(value, arrays) for name, value in info.items()}, n_threads)
        except InvalidInputError:
            raise
        except (KeyError, TypeError, IndexError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidInputError(
                f"expected a model as this version keeps it, got one that lacks something ({error}); train it again"
            ) from error

    @classmethod
    def _restored(cls, X: NDArray[Any], parts: dict[str, Any], n_threads: int | None) -> Self:
        found = cls(parts["groups"], n_threads=n_threads, **parts["parameters"])
        X = found._check_X(X, reset=True)
        for name, value in parts["rest"].items():
            setattr(found, name, value)
        found.views_ = restored_views(X, parts["views"], n_threads)
        found.model_ = restored_model(found.views_, parts["model"])
        found._deviations = parts["deviations"].astype(np.float64)
        found.own_scores_ = found._mixed(found._deviations) + found.priors_
        Y = add_rows(np.full(found.own_scores_.shape, UNKNOWN, dtype=np.int8), parts["labels"])
        found._targets = add_rows(Y, parts["targets"])
        found.scores_ = add_rows(found.own_scores_, parts["scores"])
        found._finish(Y, found._labels_to_learn(Y))
        return found

    def make_views(self, X: Any) -> PhotoViews:
        """Return what all fits to the same features share; see `share_views`."""
        return self._make_views(self._check_X(X, reset=True))

    def share_views(self, views: PhotoViews) -> Self:
        """Let later fits use these instead of scaling features and building a graph; they have to fit to X.

        Returns
        -------
        self
        """
        self._shared = views
        return self

    def _make_views(self, X: NDArray[Any]) -> PhotoViews:
        return PhotoViews(
            X, self.groups, n_neighbors=self.n_neighbors, smoothing=FEATURE_SMOOTHING, n_threads=self.n_threads
        )

    def _check_parameters(self, X: NDArray[Any]) -> None:
        if self.groups is not None:
            self.groups.check(X)

    def _labels_to_learn(self, Y: LabelMatrix) -> LabelMatrix:
        return weak_negatives(Y) if self.absent_means == "unknown" else Y

    def _choose_rows(self, labels: LabelMatrix) -> tuple[Indices, Indices]:
        """Return the photos to learn from and those to compare candidates on."""
        rows = np.flatnonzero(labeled_rows(labels))
        generator = check_generator(self.random_state)
        if len(rows) > self.max_rows:
            self.left_out_[f"{len(rows) - self.max_rows} labelled photos"] = f"max_rows is {self.max_rows}"
            rows = np.sort(generator.choice(rows, self.max_rows, replace=False))
        if len(rows) <= self.max_search_rows:
            return rows, rows
        return rows, np.sort(generator.choice(rows, self.max_search_rows, replace=False))
