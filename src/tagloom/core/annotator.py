"""The base of every annotator: scikit-learn's conventions for label matrices with unknown entries."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted, validate_data

from tagloom.core.labels import UNKNOWN, LabelMatrix, check_labels
from tagloom.core.validation import COMMON, check_parameters
from tagloom.exceptions import InvalidLabelsError, NothingToScoreError

__all__ = ["Annotator", "fit_thresholds"]


def fit_thresholds(scores: NDArray[np.floating[Any]], Y: LabelMatrix) -> NDArray[np.float64]:
    """Return one threshold per tag so that the known rows get as many tags as they have.

    With p known positives of a tag, the threshold lies midway between the p-th and the (p+1)-th largest score
    among its known rows; a tag without a known positive gets +inf (it is never predicted), a tag whose known rows are
    all positive gets a threshold just below its smallest score.

    Parameters
    ----------
    scores : array of shape (n, c)
        Scores of the rows of Y.
    Y : label matrix of shape (n, c)
        Known entries 1 and 0; -1 is left out.
    """
    scores = np.asarray(scores, dtype=np.float64)
    known = Y != UNKNOWN
    n_known = known.sum(axis=0)
    n_positive = (Y == 1).sum(axis=0)
    ranked = -np.sort(-np.where(known, scores, -np.inf), axis=0)
    columns = np.arange(Y.shape[1])
    last_in = ranked[np.maximum(n_positive - 1, 0), columns]
    first_out = ranked[np.minimum(n_positive, ranked.shape[0] - 1), columns]
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (last_in + first_out)
    thresholds = np.where(n_positive == n_known, np.nextafter(last_in, -np.inf), middle)
    return np.where(n_positive == 0, np.inf, thresholds)


class Annotator(BaseEstimator):
    """Base class of every annotator: `fit`, `decision_function`, `predict` and `score`.

    A subclass implements ``_fit(X, Y)``, which sets ``transduction_`` (n, c), and ``_decision_function(X)``. Both get
    validated input: X float32 or float64, dense or CSR where ``_accepts_sparse`` is true; Y an int8 label matrix.
    ``requires_labels`` says whether at least one known entry is needed. Parameters satisfy
    ``_parameter_constraints`` by then, a table of scikit-learn's constraints (`tagloom.core.validation`).

    Attributes
    ----------
    transduction_ : ndarray of shape (n, c)
        Scores of the training rows.
    thresholds_ : ndarray of shape (c,)
        See `fit_thresholds`; set here unless ``_fit`` did.
    n_tags_ : int
        Number of tags.
    """

    transduction_: NDArray[np.floating[Any]]
    thresholds_: NDArray[np.float64]

    _accepts_sparse = False
    requires_labels = True
    _parameter_constraints = COMMON

    def fit(self, X: Any, Y: Any) -> "Annotator":
        """Learn from labelled and unlabelled rows together.

        Parameters
        ----------
        X : array or CSR of shape (n, d)
            Features of all photos.
        Y : label matrix of shape (n, c)
            1 has the tag, 0 does not, -1 unknown; a row of -1 is an unlabelled photo.

        Returns
        -------
        self
        """
        if Y is None:
            raise InvalidLabelsError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give a label matrix"
            )
        X = self._check_X(X, reset=True)
        Y = check_labels(Y, n_rows=X.shape[0])
        if self.requires_labels and not (Y != UNKNOWN).any():
            raise InvalidLabelsError(
                f"{type(self).__name__} needs at least one known label; all {Y.size} entries of Y are -1 (unknown). "
                f"Label a few photos first"
            )
        self.n_tags_ = Y.shape[1]
        # Those of an earlier fit must not pass for set by this one.
        self.__dict__.pop("thresholds_", None)
        self._fit(X, Y)
        if "thresholds_" not in vars(self):
            self.thresholds_ = fit_thresholds(self.transduction_, Y)
        return self

    def decision_function(self, X: Any) -> NDArray[np.floating[Any]]:
        """Return scores of shape (n, c) for photos never seen."""
        check_is_fitted(self)
        return self._decision_function(self._check_X(X, reset=False))

    def predict(self, X: Any) -> LabelMatrix:
        """Return a (n, c) matrix of 0 and 1: which scores lie above ``thresholds_``."""
        return np.asarray(self.decision_function(X) > self.thresholds_, dtype=np.int8)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean average precision of photos whose labels are known, as `GridSearchCV` wants it.

        Parameters
        ----------
        X : array or CSR of shape (n, d)
            Features.
        y : label matrix of shape (n, c)
            The truth; entries of -1 do not count, nor do tags without a known positive.

        Raises
        ------
        NothingToScoreError
            If no tag has a known positive.
        """
        from sklearn.metrics import average_precision_score

        scores = self.decision_function(X)
        Y = check_labels(y, n_rows=len(scores), n_tags=scores.shape[1])
        tags = np.flatnonzero((Y == 1).any(axis=0))
        if not tags.size:
            raise NothingToScoreError("nothing can be scored: no tag has a known positive; give labels with some")
        known = Y != UNKNOWN
        values = [average_precision_score(Y[known[:, tag], tag], scores[known[:, tag], tag]) for tag in tags]
        return float(np.mean(values))

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        if reset:
            check_parameters(self)
        return validate_data(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self._accepts_sparse else False,
            dtype=[np.float64, np.float32],
        )

    def _fit(self, X: Any, Y: LabelMatrix) -> None:  # noqa: ARG002
        raise TypeError(f"{type(self).__name__} does not define _fit")

    def _decision_function(self, X: Any) -> NDArray[np.floating[Any]]:  # noqa: ARG002
        raise TypeError(f"{type(self).__name__} does not define _decision_function")

    def __sklearn_tags__(self) -> Any:
        """Declare two-dimensional targets and sparse input to scikit-learn."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        # Each tag is a question of yes or no.
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        tags.input_tags.sparse = self._accepts_sparse
        return tags
