"""The annotator that chooses for itself: views of features, kernels, smoothing, their combination, probabilities."""

import contextlib
import hashlib
import time
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from tagloom.core import (
    COMMON,
    NO_PROGRESS,
    UNKNOWN,
    AbsentMeans,
    FeatureGroups,
    Floats,
    Indices,
    LabelMatrix,
    NumberIn,
    OneOf,
    Progress,
    Reals,
    check_generator,
    check_labels,
    fit_thresholds,
    in_scratch,
    labeled_rows,
    scratch,
)
from tagloom.exceptions import InvalidInputError, InvalidLabelsError
from tagloom.graph import NeighborGraph
from tagloom.tuning.auto.combine import choose_per_tag, combine
from tagloom.tuning.auto.model import Change, StackModel
from tagloom.tuning.auto.priors import GivenMember, check_given
from tagloom.tuning.auto.refine import TagMixing, counted_completeness, find_mixing, soften
from tagloom.tuning.auto.search import Search
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
from tagloom.tuning.auto.views import PhotoViews, default_views, row_blocks, smoothed_priors
from tagloom.tuning.calibration import (
    Accepting,
    CalibrationMap,
    LevelScale,
    Method,
    absent_entries,
    fit_map,
    folds_of,
    forgotten_share,
    heaps,
    left_out_prior,
    scale_of,
    sharpened,
    take_tags,
    telling,
    weak_negatives,
)
from tagloom.tuning.constants import (
    DESCRIBED_ROWS,
    FEATURE_SMOOTHING,
    SEARCH_SHARE,
)

__all__ = ["AutoAnnotator"]

#: Of a stored state; one more whenever the same numbers would mean another model.
FORMAT = 2
#: Parameters that matter to a fit alone and may be anything, or that are stored in a way of their own.
NOT_STORED = {"given", "groups", "n_threads", "progress", "random_state"}
#: Attributes that are made again, or stored in a way of their own. All others are stored as they are.
MADE_AGAIN = {"views_", "model_", "labels_", "transduction_", "probabilities_", "_against", "_shared", "n_features_in_"}


#: Gets tags, and what gives their log-odds (k, t) for some photos.
FirstLook = Callable[[Indices, Callable[[Indices], Reals]], None]


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
        Processor time of the search and what follows it. Past six tenths of it no further candidate is tried beside
        those that the combination begins with; ``left_out_`` names those.
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
    given : array of shape (n, c), optional
        Log-odds that the photos of ``fit`` have the tags, by something that needs no examples, such as what a network
        makes of the tags' names; NaN where nothing is known. They count the less the more examples a tag has, and the
        better the more they agree with its labels; see `GivenMember`. Default: nothing is given.
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
    priors_ : ndarray of shape (c,)
        How often each tag is expected.
    views_ : PhotoViews
        Scaled features and the neighbour graph.
    model_ : StackModel
        The combination, solved with all labels.
    mixing_ : TagMixing or None
        How tags listen to each other; None where they do not.
    given_member_ : GivenMember or None
        What given log-odds count; None where none are given.

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
    #: Whether probabilities were learnt against other labels.
    _is_sampled = False
    mixing_: TagMixing | None
    given_member_: GivenMember | None = None
    _given: NDArray[np.float16] | None = None

    _parameter_constraints = COMMON | {
        "budget_seconds": [NumberIn(Real, 0, None, closed="right")],
        "absent_means": [OneOf(*get_args(AbsentMeans))],
        "max_search_rows": [NumberIn(Integral, 2, None, closed="left")],
        "max_rows": [NumberIn(Integral, 2, None, closed="left")],
        "calibration": [OneOf(*get_args(Method))],
        "given": ["array-like", None],
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
        given: ArrayLike | None = None,
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
        self.given = given
        self.n_threads = n_threads
        self.progress = progress
        self.random_state = random_state

    def _fit(self, X: NDArray[Any], Y: LabelMatrix) -> None:
        self._check_parameters(X)
        self.left_out_: dict[str, str] = {}
        self._given, self.given_member_ = check_given(self.given, *Y.shape), None
        labels = self._labels_to_learn(Y)
        self._seed = int(check_generator(self.random_state).integers(2**31))
        self.views_ = self._make_views(X) if self._shared is None else self._shared
        # Processor time, so that a busy machine learns the same; the graph is not chosen, and not counted.
        began = time.process_time()
        weightings = default_views(self.views_.groups.names, self.views_.groups.embeddings)
        rows, compared = self._choose_rows(labels)
        n_beyond = int(labeled_rows(labels).sum()) - len(rows)
        if n_beyond:
            self.left_out_[f"{n_beyond} labelled photos"] = f"max_rows is {self.max_rows}"
        progress = self.progress or NO_PROGRESS
        search = Search(
            self.views_,
            weightings,
            labels,
            compared,
            go_on=lambda: time.process_time() - began < SEARCH_SHARE * self.budget_seconds,
            progress=progress,
        )
        found = search.run()
        progress.start("combining the best")
        self.left_out_ |= found.left_out
        combined = choose_per_tag(found.trials, combine(found.trials, search.labels, weightings), search.labels)
        self.leaderboard_, self.choice_ = combined.leaderboard, combined.choice
        self.choice_ |= {"feature_smoothing": FEATURE_SMOOTHING, "n_search_rows": len(compared)}
        self.model_ = StackModel(self.views_, weightings, combined.members)
        progress.start("working out probabilities")
        self._learn(Y)
        progress.finish()

    def _learn(self, Y: LabelMatrix, first: FirstLook | None = None) -> None:
        """Learn from labels with the members there are: what a fit does once they are chosen, and all of an update."""
        look = None if first is None else self._first_look(first)
        model, labels = self.model_, self._labels_to_learn(Y)
        rows, compared = self._choose_rows(labels)
        is_unknown = self.absent_means == "unknown"
        self.mixing_ = None
        self._solve(labels, compared if is_unknown else rows, compared, look)
        folds = folds_of(self.views_.plain, labels, compared)
        mixing = find_mixing(model.left_out, labels[compared], _spreads(model.deviations), folds)
        self.choice_ |= {"tag_mixing": {"strength": mixing.strength, "gain": mixing.gain}}
        plain = self.scores_ if is_unknown else None
        self.mixing_ = mixing if mixing.strength else None
        self._calibrate(labels, folds)
        if plain is not None:
            targets, left_out = soften(model, Y, plain)
            self._solve(targets, rows, compared)
            model.left_out = left_out
            self._scale = self._scale_of(labels)
        self._finish(Y, labels)

    def _solve(
        self,
        targets: NDArray[Any],
        rows: Indices,
        compared: Indices,
        look: Callable[[Indices, Change], None] | None = None,
    ) -> None:
        self.priors_ = smoothed_priors(targets)
        self.model_.fit(targets, rows, self.priors_, compared, solved=look)

    def _first_look(self, first: FirstLook) -> Callable[[Indices, Change], None]:
        """Return what tells the log-odds of some photos as the mixing and the map of before make them."""
        mixing = self.mixing_

        def look(tags: Indices, change: Change) -> None:
            def log_odds(photos: Indices) -> Reals:
                deviations = np.asarray(self.model_.deviations[photos])
                deviations[:, tags] += change(photos)
                scores = (deviations if mixing is None else mixing.apply(deviations)) + self.priors_
                return self._log_odds(scores, None if self._given is None else self._given[photos])[:, tags]

            first(tags, log_odds)

        return look

    @property
    def own_scores_(self) -> Reals:
        """Scores (n, c) before calibration, shares in kind; those of known entries know their photo's labels."""
        deviations = self.model_.deviations
        found = scratch(deviations.shape, deviations.dtype)
        for block in row_blocks(len(found), DESCRIBED_ROWS):
            found[block] = self._mixed(deviations[block]) + self.priors_
        return found

    @property
    def scores_(self) -> Reals:
        """The same, those of known entries without their photo's labels."""
        found, compared = self.own_scores_, self.model_.compared
        # Without its only labelled photo an annotator knows nothing.
        if len(compared) >= 2:
            known = self.model_.labels[compared] != UNKNOWN
            found[compared] = np.where(known, self._left_out_scores(), found[compared])
        return found

    def _left_out_scores(self) -> Floats:
        return self._mixed(self.model_.left_out) + self.priors_

    def _mixed(self, deviations: NDArray[Any]) -> NDArray[Any]:
        """Return deviations that have listened to those of other tags."""
        return deviations if self.mixing_ is None else self.mixing_.apply(deviations)

    def _calibrate(self, labels: LabelMatrix, folds: Indices) -> None:
        """Fit the map from scores to probabilities on left-out scores, on one scale with those of all photos."""
        self._scale = self._scale_of(labels)
        self._is_sampled = self._against is not None
        compared = self.model_.compared
        rows = compared if len(compared) >= 2 else compared[:0]
        self.seen_ = labeled_rows(labels)
        self.seen_[rows] = False
        described = self._scale.describe_left_out(self._left_out_scores()[: len(rows)], labels, rows)
        against, tells = self._calibrated_against(labels)[rows], telling(labels, rows)
        found = fit_map(
            described,
            against,
            folds[: len(rows)],
            method=self.calibration,
            bend=True,
            prior=left_out_prior(heaps(self.scores_, self._scale.evidence > 0.0)),
            telling=tells,
        )
        self.map_: CalibrationMap = replace(found, coefficients=sharpened(found.coefficients, len(rows)))
        if self._given is not None:
            by_examples = self.map_.logits(described)
            self.given_member_ = GivenMember.fit(self._given, by_examples, labels, against, rows, tells)

    def _scale_of(self, labels: LabelMatrix) -> LevelScale:
        everywhere = np.broadcast_to(np.int8(UNKNOWN), labels.shape)
        return LevelScale.of(scale_of(self.scores_, everywhere), labels)

    def _finish(self, Y: LabelMatrix, labels: LabelMatrix) -> None:
        """Set what is reported of the training photos."""
        self.labels_ = in_scratch(Y)
        if self.given_member_ is not None:
            self.given_member_ = self.given_member_.with_examples(labels)
        self.transduction_ = logits = self._log_odds(self.scores_, self._given)
        self.probabilities_ = scratch(logits.shape, logits.dtype)
        for block in row_blocks(len(logits), DESCRIBED_ROWS):
            self.probabilities_[block] = expit(logits[block])
        self.completeness_ = 1.0
        rows = np.flatnonzero(labeled_rows(labels))
        not_seen = np.where(self.seen_[rows, None], UNKNOWN, labels[rows])
        if self.absent_means == "unknown":
            named = self.probabilities_[rows]
            self.completeness_ = counted_completeness(
                np.where(self.seen_[rows, None], UNKNOWN, Y[rows]).astype(np.int8), named
            )
            missed = forgotten_share(named, self.completeness_)
            logits -= np.log(self.completeness_)
            np.minimum(self.probabilities_ / self.completeness_, 1.0, out=self.probabilities_)
            self.probabilities_[rows] = np.where(absent_entries(Y)[rows], missed, self.probabilities_[rows])
        unseen = fit_thresholds(logits[rows], not_seen)
        self.thresholds_ = np.where(np.isinf(unseen), fit_thresholds(logits[rows], labels[rows]), unseen)

    def _described(self, function: Callable[[Floats], Floats], scores: NDArray[Any]) -> Reals:
        """Return what a function makes of described scores, a few rows at a time."""
        found = scratch(scores.shape, scores.dtype)
        for block in row_blocks(len(scores), DESCRIBED_ROWS):
            found[block] = function(self._scale.describe(scores[block]))
        return found

    def _log_odds(self, scores: NDArray[Any], given: NDArray[np.float16] | None) -> Reals:
        """Return log-odds of being named, by scores and by what is given."""
        found = self._described(self.map_.logits, scores)
        if self.given_member_ is not None and given is not None:
            for block in row_blocks(len(found), DESCRIBED_ROWS):
                found[block] = self.given_member_.added_to(found[block], given[block])
        return found

    def given_share(self, row: int) -> Floats | None:
        """Return what given log-odds add to those of a training photo for each tag, None where nothing is given.

        Parameters
        ----------
        row : int
            The photo.
        """
        if self.given_member_ is None or self._given is None:
            return None
        nothing = np.zeros((1, self.n_tags_))
        return self.given_member_.added_to(nothing, self._given[[row]])[0]

    def _log_odds_deviations(self) -> Reals:
        found = self._described(self.map_.deviations, self.scores_)
        if self.given_member_ is not None and self._given is not None:
            for block in row_blocks(len(found), DESCRIBED_ROWS):
                found[block] = np.hypot(found[block], self.given_member_.deviations(self._given[block]))
        return found

    def decision_function(self, X: Any, given: ArrayLike | None = None) -> Floats:
        """Return log-odds of shape (n, c) for photos never seen.

        Parameters
        ----------
        X : array of shape (n, d)
            Their features.
        given : array of shape (n, c), optional
            What is given of them, as the parameter of that name. Default: nothing.
        """
        check_is_fitted(self)
        X = self._check_X(X, reset=False)
        return self._decision_function(X, check_given(given, len(X), self.n_tags_))

    def _decision_function(self, X: NDArray[Any], given: NDArray[np.float16] | None = None) -> Any:
        scores = self._mixed(self.model_.score_new(self.views_.attach(X))) + self.priors_
        return self._log_odds(scores, given) - np.log(self.completeness_)

    def predict_proba(self, X: Any, given: ArrayLike | None = None) -> Reals:
        """Return probabilities of shape (n, c) for photos never seen; see `decision_function`."""
        named = expit(self.decision_function(X, given) + np.log(self.completeness_))
        return np.minimum(named / self.completeness_, 1.0)

    def update(
        self,
        Y: Any,
        against: Any = None,
        *,
        columns: ArrayLike | None = None,
        given: ArrayLike | None = None,
        first: FirstLook | None = None,
    ) -> Self:
        """Learn from changed labels of the training photos: features, graph and members stay.

        What comes out is what a fit with the same members gives: further labels are rows added to systems that are
        solved already, tags whose labels are as they were keep their scores, and left-out scores and the map to
        probabilities follow in closed form.

        Parameters
        ----------
        Y : label matrix of shape (n, c)
            All labels, the same photos as in ``fit``.
        against : label matrix of shape (n, c), optional
            See ``fit``.
        columns : array of int, shape (c,), optional
            For each tag its column of before; -1 for a new one, which has the members of the combination, each with the
            mean of its factors. Default: the tags of before.
        given : array of shape (n, c), optional
            What is given of new tags, as the parameter of that name; what was given of those of before stays. Default:
            nothing.
        first : callable, optional
            Told, before all photos have new scores, which tags have other ones, and what gives log-odds (k, t) of some
            photos: nearly those that these will have. Not called where the tags are others than before.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        at = np.arange(self.n_tags_) if columns is None else np.asarray(columns, dtype=np.intp)
        if not len(at) or (at >= self.n_tags_).any():
            raise InvalidInputError(f"expected columns below {self.n_tags_}, at least one, got {at.tolist()}")
        Y = check_labels(Y, n_rows=len(self.labels_), n_tags=len(at))
        if not (Y != UNKNOWN).any():
            raise InvalidLabelsError("update needs at least one known label; all entries of Y are -1 (unknown)")
        is_same = np.array_equal(at, np.arange(self.n_tags_))
        before, self._given = self._given, check_given(given, len(Y), len(at))
        if before is not None and self._given is None:
            self._given = take_tags(before, at, np.nan)
        elif before is not None and self._given is not None:
            self._given[:, at >= 0] = before[:, at[at >= 0]]
        if not is_same:
            self.n_tags_ = len(at)
            self.model_.set_tags(at)
        elif given is None and against is None and not self._is_sampled and np.array_equal(Y, self.labels_):
            return self
        self._against = against
        try:
            self._learn(Y, first if is_same and self.absent_means == "no" and hasattr(self, "map_") else None)
        finally:
            del self._against
        return self

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
        parameters = self.get_params(deep=False)
        parts = {
            "parameters": {name: value for name, value in parameters.items() if name not in NOT_STORED},
            "groups": self.groups,
            "views": parts_of_views(self.views_),
            "model": parts_of_model(self.model_),
            "labels": changed_rows(self.labels_, np.full_like(self.labels_, UNKNOWN)),
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

    def kept(self) -> dict[str, Arrays]:
        """Return arrays that spare `restore` most of its work, by a key that says what they are of: of many photos.

        They can be made again from the features and from what `state` returns. Coordinates are the same for all models
        of the same features.
        """
        if self.views_.dtype != np.float32:
            return {}
        marks = self.views_.marks.tobytes()
        found = {_key(marks): {"plain": self.views_.plain, "smooth": self.views_.smooth}}
        spreads = self.model_.kept_spreads()
        return found | ({_key(marks, self.model_.kind): spreads} if spreads else {})

    @classmethod
    def restore(
        cls,
        X: NDArray[Any],
        arrays: Arrays,
        info: dict[str, Any],
        *,
        n_threads: int | None = None,
        load: Callable[[str], Arrays | None] | None = None,
    ) -> Self:
        """Return an annotator that behaves as the one whose `state` was stored.

        Parameters
        ----------
        X : array of shape (n, d)
            The features that it was fitted on, in the same order.
        arrays, info
            What `state` gave; there may be other arrays.
        n_threads : int, optional
            For neighbours of new photos.
        load : callable, optional
            Returns what `kept` gave, by its key; None where it is not there. With coordinates X is looked at for new
            photos alone, and may be anything that gives rows.

        Raises
        ------
        InvalidInputError
            If these are not the features that it was fitted on, or if another version stored it in a way not known
            here.
        """
        return cls._checked(X, arrays, info, n_threads, load)

    @classmethod
    def _checked(
        cls,
        X: NDArray[Any],
        arrays: Arrays,
        info: dict[str, Any],
        n_threads: int | None,
        load: Callable[[str], Arrays | None] | None = None,
        *,
        is_moved: bool = False,
    ) -> Self:
        if info.get("format") != FORMAT:
            raise InvalidInputError(
                f"expected a model kept in the format {FORMAT}, got {info.get('format')!r}; train it again"
            )
        shape = info.get("shape")
        if not is_moved and list(np.shape(X)) != shape:
            raise InvalidInputError(
                "expected the features that the model was trained on, of shape "
                f"{tuple(shape) if isinstance(shape, list) else shape} (photos, columns), got {np.shape(X)}; "
                "give those, or train again"
            )
        try:
            parts = {name: unpack(value, arrays) for name, value in info.items()}
            return cls._restored(X, parts, n_threads, load, is_moved=is_moved)
        except InvalidInputError:
            raise
        except (KeyError, TypeError, IndexError, ValueError, AttributeError, OverflowError) as error:
            raise InvalidInputError(
                f"expected a model as this version keeps it, got one that lacks something ({error}); train it again"
            ) from error

    @classmethod
    def _restored(
        cls,
        X: NDArray[Any],
        parts: dict[str, Any],
        n_threads: int | None,
        load: Callable[[str], Arrays | None] | None,
        *,
        is_moved: bool,
    ) -> Self:
        found = cls(parts["groups"], n_threads=n_threads, **parts["parameters"])
        found.n_features_in_ = X.shape[1]
        for name, value in parts["rest"].items():
            setattr(found, name, value)
        if is_moved:
            found.views_ = found._make_views(found._check_X(X, reset=True))
            found.model_ = StackModel(found.views_, parts["model"]["weightings"], parts["model"]["members"])
            found.labels_ = np.full((len(X), found.n_tags_), UNKNOWN, dtype=np.int8)
            found._given = None
            return found
        marks = parts["views"]["marks"].tobytes()
        kept = None if load is None else load(_key(marks))
        views = None
        if kept is not None:
            with contextlib.suppress(InvalidInputError, KeyError):  # a file may hold anything, and can be made again
                views = restored_views(X, parts["views"], n_threads, (kept["plain"], kept["smooth"]))
        found.views_ = views or restored_views(found._check_X(X, reset=True), parts["views"], n_threads)
        found.model_ = restored_model(found.views_, parts["model"])
        spreads = None if load is None else load(_key(marks, found.model_.kind))
        if spreads is not None:
            found.model_.use_spreads(spreads)
        Y = add_rows(np.full(found.model_.labels.shape, UNKNOWN, dtype=np.int8), parts["labels"])
        found._finish(Y, found._labels_to_learn(Y))
        return found

    @classmethod
    def moved(cls, X: NDArray[Any], arrays: Arrays, info: dict[str, Any], *, n_threads: int | None = None) -> Self:
        """Return an annotator with the members of one whose `state` was stored, on other photos.

        It knows no label yet: `update` tells it those of these photos, and what is given of them.

        Parameters
        ----------
        X : array of shape (n, d)
            Features of the photos, the same columns.
        arrays, info, n_threads
            See `restore`.
        """
        return cls._checked(np.asarray(X), arrays, info, n_threads, is_moved=True)

    def make_views(self, X: Any, link: Callable[[Reals], NeighborGraph] | None = None) -> PhotoViews:
        """Return what all fits to the same features share, and perhaps a graph; see `share_views` and `PhotoViews`."""
        return self._make_views(self._check_X(X, reset=True), link)

    def share_views(self, views: PhotoViews) -> Self:
        """Let later fits use these instead of scaling features and building a graph; they have to fit to X.

        Returns
        -------
        self
        """
        self._shared = views
        return self

    def _make_views(self, X: NDArray[Any], link: Callable[[Reals], NeighborGraph] | None = None) -> PhotoViews:
        return PhotoViews(
            X,
            self.groups,
            n_neighbors=self.n_neighbors,
            smoothing=FEATURE_SMOOTHING,
            n_threads=self.n_threads,
            link=link,
        )

    def _check_parameters(self, X: NDArray[Any]) -> None:
        if self.groups is not None:
            self.groups.check(X)

    def _labels_to_learn(self, Y: LabelMatrix) -> LabelMatrix:
        return weak_negatives(Y) if self.absent_means == "unknown" else Y

    def _choose_rows(self, labels: LabelMatrix) -> tuple[Indices, Indices]:
        """Return the photos to learn from and those to compare candidates on, drawn in an order that stays."""
        rows = np.flatnonzero(labeled_rows(labels))
        if len(rows) <= min(self.max_rows, self.max_search_rows):
            return rows, rows
        order = np.random.default_rng(self._seed).permutation(len(labels))
        drawn = rows[np.argsort(order[rows])]
        rows = np.sort(drawn[: self.max_rows])
        return rows, np.sort(drawn[: min(self.max_rows, self.max_search_rows)])


def _spreads(values: NDArray[Any]) -> Floats:
    """Return the standard deviations of columns, some rows at a time."""
    blocks = list(row_blocks(len(values), DESCRIBED_ROWS))
    centre = np.sum([values[one].sum(axis=0, dtype=np.float64) for one in blocks], axis=0) / len(values)
    squares = np.sum([np.square(values[one] - centre).sum(axis=0) for one in blocks], axis=0)
    return np.asarray(np.sqrt(squares / len(values)))


def _key(*parts: bytes) -> str:
    return hashlib.blake2b(b"".join(parts), digest_size=16).hexdigest()
