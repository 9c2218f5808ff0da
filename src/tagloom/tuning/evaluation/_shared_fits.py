"""Many fits of one annotator on the same photos, each with other labels hidden; what they share is computed once."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone

from tagloom.core.annotator import Annotator
from tagloom.core.labels import LabelMatrix, labeled_rows
from tagloom.core.typing import Floats
from tagloom.graph import check_graph
from tagloom.methods.baselines.least_squares import RegularizedLeastSquares
from tagloom.methods.shared.out_of_fold import known_means
from tagloom.solvers import block_cg
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.views import PhotoViews
from tagloom.tuning.calibration._held_out import with_shared_graph

__all__ = ["SharedFit", "SharedFits"]


#: Times as many labelled photos, from which on other methods are raced once more.
MORE_LABELS = 1.2


class SharedFit(NamedTuple):
    """One of several fits.

    Parameters
    ----------
    scores : ndarray of shape (n, c)
        ``transduction_``.
    thresholds : ndarray of shape (c,)
        Of these.
    comparable : ndarray of shape (n, c)
        Scores of a tag that can be ranked together with those of other fits: less their mean where the tag is known.
        Log-odds of `AutoAnnotator` also depend on how many examples were hidden, which would rank every yes below what
        it deserves; of these it is scores before calibration, less the frequency.
    probabilities : ndarray of shape (n, c) or None
        The annotator's own, where it tells some.
    """

    scores: Floats
    thresholds: Floats
    comparable: Floats
    probabilities: Floats | None


class SharedFits:
    """Scores of all photos for label matrices that differ in what is hidden.

    Parameters
    ----------
    annotator : Annotator
        Cloned, never changed.
    X : array or CSR of shape (n, d)
        Features of all photos.

    Notes
    -----
    Smoothed ridge regression would build its neighbour graph in every fit: it is fitted without smoothing, and its
    scores are smoothed over one graph. Graph propagation is given its graph, `AutoAnnotator` its scaled and smoothed
    features; it chooses anew for all labels, but races other methods once: later fits, of no more labels to speak of,
    race those alone that were taken in. Photos held out later have had a say in that.
    """

    def __init__(self, annotator: Annotator, X: Any) -> None:
        self._X = X
        self._smoother: Any = None
        is_ridge = isinstance(annotator, RegularizedLeastSquares)
        if is_ridge and annotator.smoothing > 0 and not annotator.clamp and len(X) > 1:
            graph = check_graph(with_shared_graph(annotator, X).graph, len(X))
            L = graph.laplacian("symmetric")
            self._smoother = sparse.csr_array(sparse.eye_array(len(X)) + float(annotator.smoothing) * L)
            self._annotator: Annotator = clone(annotator).set_params(smoothing=0.0)
        else:
            self._annotator = with_shared_graph(annotator, X)
        self._views: PhotoViews | None = None
        if isinstance(annotator, AutoAnnotator):
            copy = clone(annotator)
            self._views = copy._make_views(copy._check_X(X, reset=True))
        #: Labelled photos of the fit in which other methods were raced.
        self._n_raced = 0
        self._taken_in: tuple[str, ...] = ()

    def fit(self, Y: LabelMatrix) -> SharedFit:
        """Return the scores of all photos and the thresholds of an annotator fitted with these labels."""
        with warnings.catch_warnings():
            # A person is warned of what all labels lack when a model is trained; a part of them lacks more.
            warnings.simplefilter("ignore")
            fitted = self._fit_auto(Y) if self._views is not None else clone(self._annotator).fit(self._X, Y)
            scores = np.asarray(fitted.transduction_, dtype=np.float64)
            if self._smoother is not None:
                scores = np.asarray(block_cg(self._smoother, scores, x0=scores, tol=1e-8).x, dtype=np.float64)
        is_calibrated = isinstance(fitted, AutoAnnotator)
        comparable = fitted.scores_ - fitted._priors if is_calibrated else scores - known_means(scores, Y)
        own = getattr(fitted, "probabilities_", None)
        return SharedFit(scores, np.asarray(fitted.thresholds_, dtype=np.float64), comparable, own)

    def _fit_auto(self, Y: LabelMatrix) -> Annotator:
        n_labelled = int(labeled_rows(Y).sum())
        fresh: Any = clone(self._annotator)
        races = n_labelled > MORE_LABELS * self._n_raced
        if not races:
            fresh.set_params(also=self._taken_in)
        fresh._shared = self._views
        fresh.fit(self._X, Y)
        if races:
            self._n_raced, self._taken_in = n_labelled, tuple(fresh.choice_["guests"])
        found: Annotator = fresh
        return found
