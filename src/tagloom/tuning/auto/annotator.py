"""The annotator that chooses for itself: views of features, kernels, smoothing, their combination, probabilities."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from tagloom.core.annotator import fit_thresholds
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN, AbsentMeans, LabelMatrix, check_absent_means, check_labels, labeled_rows
from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.seeds import check_generator
from tagloom.core.typing import Floats, Indices
from tagloom.exceptions import InvalidInputError, InvalidLabelsError
from tagloom.tuning.auto.combine import choose_per_tag, combine
from tagloom.tuning.auto.model import Member, StackModel, members_left_out, pattern_left_out
from tagloom.tuning.auto.refine import TagMixing, change_targets, counted_completeness, find_mixing, soft_priors, soften
from tagloom.tuning.auto.search import OVER, Search
from tagloom.tuning.auto.views import PhotoViews, default_views
from tagloom.tuning.calibration.calibrated import Accepting, folds_of, scale_of
from tagloom.tuning.calibration.level_scale import LevelScale, TagRates, heaps, sharpened, telling
from tagloom.tuning.calibration.maps import CalibrationMap, Method, TagSteps, fit_map, left_out_prior
from tagloom.tuning.calibration.positive_unlabeled import absent_entries, forgotten_share, weak_negatives

__all__ = ["AutoAnnotator", "set_tags"]


# Learning from changed labels with a fitted `AutoAnnotator`: its members stay, probabilities keep up with its scores.

#: Labelled photos, in units of those at the last calibration, from which on it is made anew; and so for the photos
#: that a tag is known on, and that have it. Where there are as much fewer, as after an undo, it is made anew, too.
DUE, DUE_FOR_TAG = 1.1, 2.0
#: Share of a fit's budget after which left-out scores of tags known on different photos are no longer made exact.
CALIBRATION_SHARE = 0.3


def update_auto(annotator: "AutoAnnotator", Y: LabelMatrix) -> NDArray[np.intp]:
    """Solve the tags whose labels changed; return those whose probabilities are others now.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted.
    Y : label matrix of shape (n, c)
        All labels.
    """
    labels = targets = annotator._labels_to_learn(Y)
    due = is_calibration_due(annotator, labels)
    if annotator.absent_means == "unknown":
        if due and (labels != UNKNOWN).any():
            return _learn_anew(annotator, Y, labels)
        targets = change_targets(Y, annotator._labels, annotator._targets, annotator._left_out, annotator._forgotten)
    tags = np.flatnonzero((targets != annotator._targets).any(axis=0))
    if not len(tags) and not due:
        return tags
    if not (labels != UNKNOWN).any():
        raise InvalidLabelsError("update needs at least one known label; all entries of Y are -1 (unknown)")
    rows = _rows_to_learn(annotator, labels)
    # A photo that moves in where another has lost its labels brings those of tags that did not change.
    moved_in = np.setdiff1d(rows, annotator._model.rows)
    tags = np.union1d(tags, np.flatnonzero((targets[moved_in] != UNKNOWN).any(axis=0)))
    annotator._targets, annotator._priors = targets.copy(), soft_priors(targets)
    if len(tags):
        annotator._deviations[:, tags] = annotator._model.update(targets, rows, annotator._priors, tags)
    if due:
        _calibrate(annotator, labels, rows)
        tags = np.arange(Y.shape[1])
    else:
        if annotator._mixing is None:
            annotator._scores[:, tags] = annotator._deviations[:, tags] + annotator._priors[tags]
        else:
            annotator._scores = annotator._mix(annotator._deviations) + annotator._priors
            tags = np.arange(Y.shape[1])
        annotator._left_out = np.where(labels == UNKNOWN, annotator._scores, annotator._left_out)
        annotator._scale = annotator._scale_of(labels, annotator._scale.rates)
    annotator._finish(Y, labels)
    return tags


def is_calibration_due(annotator: "AutoAnnotator", labels: LabelMatrix) -> bool:
    """Tell whether the map to probabilities is to be learnt anew.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted.
    labels : label matrix of shape (n, c)
        What is learnt from now.
    """
    # A version that did not note them has stored it: the photos that were compared on, and nothing of tags.
    before = max(getattr(annotator, "_n_calibrated", len(annotator._search_rows)), 1)
    now = int(labeled_rows(labels).sum())
    if now >= DUE * before or before >= DUE * now:
        return True
    then, counts = getattr(annotator, "_calibrated_counts", None), tag_counts(labels)
    if then is None:
        return True
    # A tag that is new has scores without its labels that know nothing, not even of its other labels.
    more = counts >= DUE_FOR_TAG * np.maximum(then, 0.5)
    fewer = then >= DUE_FOR_TAG * np.maximum(counts, 0.5)
    return bool((more | fewer).any())


def tag_counts(labels: LabelMatrix) -> NDArray[np.intp]:
    """Return for each tag how many photos have it, and how many it is known on, shape (2, c)."""
    return np.stack([(labels == 1).sum(axis=0), (labels != UNKNOWN).sum(axis=0)])


def _calibrate(annotator: "AutoAnnotator", labels: LabelMatrix, rows: NDArray[np.intp]) -> None:
    deviations = _leave_out(annotator, labels, rows)
    annotator._express(labels, deviations)
    left_out = annotator._mix(deviations) + annotator._priors
    annotator._calibrate(labels, left_out, _folds(annotator, labels))


def _learn_anew(annotator: "AutoAnnotator", Y: LabelMatrix, labels: LabelMatrix) -> NDArray[np.intp]:
    """Do all that a fit does once members are chosen: how many tags are forgotten is told by all labels."""
    rows = _rows_to_learn(annotator, labels)
    deviations = _leave_out(annotator, labels, rows)
    mixing = annotator._mixing
    plain = annotator._learn_plainly(labels, rows, deviations)
    annotator._mixing = mixing
    annotator._settle(Y, labels, rows, deviations, _folds(annotator, labels), plain)
    return np.arange(Y.shape[1])


def _leave_out(annotator: "AutoAnnotator", labels: LabelMatrix, rows: NDArray[np.intp]) -> NDArray[np.float64]:
    """Choose the photos that left-out scores are of; return deviations by the members."""
    annotator._search_rows = compared = _rows_to_compare(rows, annotator.max_search_rows)
    search = Search(annotator._views, annotator._model.weightings, labels, compared)
    end = time.perf_counter() + CALIBRATION_SHARE * annotator.budget_seconds
    return members_left_out(search, annotator._model, go_on=lambda: time.perf_counter() < end)


def _folds(annotator: "AutoAnnotator", labels: LabelMatrix) -> NDArray[np.intp]:
    return folds_of(annotator._views.plain, labels, annotator._search_rows)


def _rows_to_learn(annotator: "AutoAnnotator", labels: LabelMatrix) -> NDArray[np.intp]:
    """Return the labelled photos, those learnt from before first where there are too many."""
    rows = np.flatnonzero(labeled_rows(labels))
    if len(rows) <= annotator.max_rows:
        return rows
    kept = np.intersect1d(annotator._model.rows, rows)
    added = np.setdiff1d(rows, kept)[: annotator.max_rows - len(kept)]
    return np.union1d(kept, added)


def _rows_to_compare(rows: NDArray[np.intp], most: int) -> NDArray[Any]:
    """Return the photos whose left-out scores are computed; drawn at random where there are too many."""
    return rows if len(rows) <= most else np.sort(np.random.default_rng(0).choice(rows, most, replace=False))


# Other tags for a fitted `AutoAnnotator`: nothing is known of new ones before an update learns from their labels.


def set_tags(annotator: "AutoAnnotator", columns: ArrayLike) -> None:
    """Reorder, drop and add tags; the annotator is changed.

    Parameters
    ----------
    annotator : AutoAnnotator
        Fitted.
    columns : array of int, shape (c,)
        For each tag its column of before; -1 for one of which no label is known.

    Notes
    -----
    A new tag has the members of the combination, each with the mean of its factors; it listens to no other tag, and
    its probabilities follow the pooled map. What is said of other tags stays.
    """
    at = np.asarray(columns, dtype=np.intp)
    if np.array_equal(at, np.arange(annotator.n_tags_)):
        return
    if not len(at) or (at >= annotator.n_tags_).any():
        raise InvalidInputError(f"expected columns below {annotator.n_tags_}, at least one, got {at.tolist()}")
    dropped = np.setdiff1d(np.arange(annotator.n_tags_), at)
    if (annotator._labels[:, dropped] != UNKNOWN).any():
        annotator._n_calibrated = 0  # the pooled map has learnt from them: the next update makes it anew
    labels = _taken(annotator._labels, at, UNKNOWN)
    annotator.n_tags_ = len(at)
    annotator._targets = _taken(annotator._targets, at, UNKNOWN)
    annotator._priors = soft_priors(annotator._targets)
    annotator._deviations = _taken(annotator._deviations, at, 0.0)
    for name in ("_scores", "_left_out"):
        values = _taken(getattr(annotator, name), at, 0.0)
        values[:, at < 0] = annotator._priors[at < 0]
        setattr(annotator, name, values)
    if hasattr(annotator, "_calibrated_counts"):
        annotator._calibrated_counts = _taken(annotator._calibrated_counts, at, 0)
    _set_tags_of_model(annotator._model, at)
    annotator._mixing = _mixing(annotator._mixing, at)
    annotator.map_ = _map(annotator.map_, at)
    learnt = annotator._labels_to_learn(labels)
    annotator._scale = annotator._scale_of(learnt, annotator._scale.rates)
    annotator._finish(labels, learnt)


def _taken(values: NDArray[Any], at: Indices, fill: float) -> NDArray[Any]:
    """Return the columns of tags along the last axis, a number for those that are new."""
    found = values[..., np.maximum(at, 0)]
    found[..., at < 0] = fill
    return found


def _set_tags_of_model(model: StackModel, at: Indices) -> None:
    model.members = [
        Member(one.candidate, _taken(one.factor, at, float(one.factor.mean())))
        if isinstance(one.factor, np.ndarray)
        else one
        for one in model.members
    ]
    coefficients = [_taken(one, at, 0.0) for one in model.coefficients]
    smoothed = {strength: _taken(scores, at, 0.0) for strength, scores in model.smoothed.items()}
    model.restore(model.rows, coefficients, smoothed)


def _mixing(before: TagMixing | None, at: Indices) -> TagMixing | None:
    if before is None:
        return None
    matrix = _taken(_taken(before.matrix, at, 0.0).T, at, 0.0).T
    matrix[at < 0, at < 0] = 1.0
    return replace(before, matrix=matrix)


def _map(before: CalibrationMap, at: Indices) -> CalibrationMap:
    tags, knots = before.tags, before.steps.knots
    return replace(
        before,
        tags=replace(
            tags,
            offsets=_taken(tags.offsets, at, 0.0),
            slopes=_taken(tags.slopes, at, 0.0),
            centres=_taken(tags.centres, at, 0.0),
            offset_variances=_taken(tags.offset_variances, at, tags.offset_spread**2),
            slope_variances=_taken(tags.slope_variances, at, tags.slope_spread**2),
        ),
        steps=TagSteps({place: knots[column] for place, column in enumerate(at.tolist()) if column in knots}),
    )


#: Strength of the smoothing of features, as measured on Corel5K training photos.
FEATURE_SMOOTHING = 2.0
#: Share of the budget after which no further candidate is tried: the fit itself comes afterwards.
SEARCH_SHARE = 0.6
#: Rows described at a time.
DESCRIBED_ROWS = 4096


class AutoAnnotator(Accepting):
    """Chooses, combines and calibrates on the labels themselves; takes features as they were extracted.

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

    _left_out: Floats
    _mixing: TagMixing | None
    #: Made of the same features before; never part of a clone.
    _shared: PhotoViews | None = None

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
        self._views = self._make_views(X) if self._shared is None else self._shared
        weightings = default_views(self._views.groups.names)
        rows, self._search_rows = self._choose_rows(labels)
        progress = self.progress or NO_PROGRESS
        search = Search(
            self._views,
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
        self.choice_ |= {"feature_smoothing": FEATURE_SMOOTHING, "n_search_rows": len(self._search_rows)}
        deviations, n_left = pattern_left_out(
            search,
            weightings,
            members,
            combined.deviations,
            go_on=lambda: time.perf_counter() - began < self.budget_seconds,
        )
        if n_left:
            self.left_out_[f"exact left-out scores of {n_left} tags"] = OVER
        self._model = StackModel(self._views, weightings, members)
        folds = folds_of(X, labels, self._search_rows)
        plain = self._learn_plainly(labels, rows, deviations)
        mixing = find_mixing(deviations, compared, self._deviations.std(axis=0), folds)
        self._mixing = mixing if mixing.strength else None
        self.choice_ |= {"tag_mixing": {"strength": mixing.strength, "gain": mixing.gain}}
        progress.start("working out probabilities")
        self._settle(Y, labels, rows, deviations, folds, plain)
        progress.finish()

    def _learn_plainly(self, labels: LabelMatrix, rows: Indices, deviations: Floats) -> Floats:
        """Solve with the labels, no tag listening to others; return the left-out scores."""
        self._mixing = None
        self._learn(labels, labels, self._search_rows if self.absent_means == "unknown" else rows, deviations)
        return self._left_out

    def _settle(
        self, Y: LabelMatrix, labels: LabelMatrix, rows: Indices, deviations: Floats, folds: Indices, plain: Floats
    ) -> None:
        """Make the map to probabilities; then learn from absent tags as shares of a yes where absence means unknown."""
        if self._mixing is not None:
            self._express(labels, deviations)
        self._calibrate(labels, self._mix(deviations) + self._priors, folds)
        if self.absent_means == "unknown":
            self._forgotten, targets, deviations = soften(self._model, Y, self._search_rows, plain)
            self._learn(labels, targets, rows, deviations)
        self._finish(Y, labels)

    def _learn(self, labels: LabelMatrix, targets: NDArray[Any], rows: Indices, deviations: Floats) -> None:
        """Solve with the targets; deviations are those of photos that were compared on, without their own label."""
        self._targets, self._priors = targets.copy(), soft_priors(targets)
        #: Of the combination alone.
        self._deviations: Floats = self._model.fit(targets, rows, self._priors)
        self._express(labels, deviations)

    def _express(self, labels: LabelMatrix, deviations: Floats) -> None:
        """Set the scores of all photos, and those of known entries without their photo's labels."""
        self._scores: Floats = self._mix(self._deviations) + self._priors
        #: Scores of all photos, those of known entries without their photo's labels.
        self._left_out = self._scores.copy()
        # Without its only labelled photo an annotator knows nothing.
        if len(deviations) >= 2:
            known = labels[self._search_rows] != UNKNOWN
            left_out = self._mix(deviations) + self._priors
            self._left_out[self._search_rows] = np.where(known, left_out, self._scores[self._search_rows])
        self._scale = self._scale_of(labels)

    def _mix(self, deviations: Floats) -> Floats:
        """Return deviations that have listened to those of other tags."""
        return deviations if self._mixing is None else self._mixing.apply(deviations)

    def update(self, Y: Any, against: Any = None) -> "AutoAnnotator":
        """Learn from changed labels of the training photos: features, graph and members stay.

        Only tags whose labels changed are solved again. An entry that was unknown before keeps, as what is said without
        its label, the score it had. From a tenth more or fewer labelled photos on, or twice or half as many of a tag,
        left-out scores and the map to probabilities are made anew.

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
        Y = check_labels(Y, n_rows=len(self._labels), n_tags=self.n_tags_)
        self._against = against
        try:
            update_auto(self, Y)
        finally:
            del self._against
        return self

    def _make_views(self, X: NDArray[Any]) -> PhotoViews:
        return PhotoViews(
            X, self.groups, n_neighbors=self.n_neighbors, smoothing=FEATURE_SMOOTHING, n_threads=self.n_threads
        )

    def _check_parameters(self, X: NDArray[Any]) -> None:
        if self.groups is not None:
            self.groups.check(X)
        check_absent_means(self.absent_means)
        if self.calibration not in get_args(Method):
            raise InvalidInputError(
                f"calibration must be one of {', '.join(get_args(Method))}, got {self.calibration!r}"
            )
        if not self.budget_seconds > 0:
            raise InvalidInputError(f"budget_seconds must be positive, got {self.budget_seconds!r}")
        if self.max_search_rows < 2 or self.max_rows < 2:
            raise InvalidInputError(
                f"max_search_rows and max_rows must be at least 2, got {self.max_search_rows}, {self.max_rows}"
            )

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

    def _calibrate(self, labels: LabelMatrix, left_out: Floats, folds: Indices) -> None:
        """Fit the map from scores to probabilities on left-out scores, on one scale with those of all photos."""
        rows = self._search_rows if len(self._search_rows) >= 2 else self._search_rows[:0]
        left_out, folds = left_out[: len(rows)], folds[: len(rows)]
        self.seen_ = labeled_rows(labels)
        self._n_calibrated, self._calibrated_counts = int(self.seen_.sum()), tag_counts(labels)
        self.seen_[rows] = False
        described = self._scale.describe_left_out(left_out, labels, rows)
        target = self._calibrated_against(labels)
        prior = left_out_prior(heaps(self._left_out, self._scale.evidence > 0.0))
        options: dict[str, Any] = {"method": self.calibration, "prior": prior, "telling": telling(labels, rows)}
        found = fit_map(described, target[rows], folds, bend=True, **options)
        self.map_: CalibrationMap = replace(found, coefficients=sharpened(found.coefficients, len(rows)))

    def _scale_of(self, labels: LabelMatrix, rates: TagRates | None = None) -> LevelScale:
        everywhere = scale_of(self._left_out, np.full_like(labels, UNKNOWN))
        return LevelScale.of(everywhere, labels, rates)

    def _finish(self, Y: LabelMatrix, labels: LabelMatrix) -> None:
        """Set what is reported of the training photos."""
        self._labels = Y.copy()
        logits = self._logits(self._left_out)
        named = expit(logits)
        self.completeness_ = 1.0
        seen = self.seen_[:, None]
        if self.absent_means == "unknown":
            self.completeness_ = counted_completeness(np.where(seen, UNKNOWN, Y).astype(np.int8), named)
        self.transduction_ = logits - np.log(self.completeness_)
        unseen = fit_thresholds(self.transduction_, np.where(seen, UNKNOWN, labels))
        self.thresholds_ = np.where(np.isinf(unseen), fit_thresholds(self.transduction_, labels), unseen)
        self.probabilities_: Floats = np.minimum(named / self.completeness_, 1.0)
        if self.absent_means == "unknown":
            absent = absent_entries(Y)
            missed = forgotten_share(named, self.completeness_)
            self.probabilities_ = np.where(absent, missed, self.probabilities_)

    def _logits(self, scores: Floats) -> Floats:
        return self._mapped(self.map_.logits, scores)

    def _log_odds_deviations(self) -> Floats:
        return self._mapped(self.map_.deviations, self._left_out)

    def _mapped(self, function: Callable[[Floats], Floats], scores: Floats) -> Floats:
        found = np.empty(scores.shape)
        for start in range(0, len(scores), DESCRIBED_ROWS):
            block = slice(start, start + DESCRIBED_ROWS)
            found[block] = function(self._scale.describe(scores[block]))
        return found

    @property
    def scores_(self) -> Floats:
        """Scores (n, c) before calibration, shares in kind; those of known entries without their photo's labels."""
        check_is_fitted(self)
        return self._left_out

    def _decision_function(self, X: NDArray[Any]) -> Floats:
        new = self._views.attach(X)
        scores = self._mix(self._model.deviations(new)) + self._priors
        return self._logits(scores) - np.log(self.completeness_)

    def predict_proba(self, X: Any) -> Floats:
        """Return probabilities of shape (n, c) for photos never seen."""
        named = expit(self.decision_function(X) + np.log(self.completeness_))
        return np.minimum(named / self.completeness_, 1.0)
