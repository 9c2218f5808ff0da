"""Metrics as scorers of scikit-learn's model selection."""

from collections.abc import Callable
from typing import Any

from tagloom.exceptions import InvalidInputError

__all__ = ["make_scorer"]


class make_scorer:  # noqa: N801
    """Make a scorer for ``GridSearchCV`` and ``cross_val_score`` from a metric of (Y, scores).

    scikit-learn's own ``make_scorer`` asks only classifiers of one column for their scores, and knows no -1.

    Parameters
    ----------
    metric : callable
        A function of this package, such as `tagloom.metrics.mean_average_precision`.
    greater_is_better : bool, default=True
        False for losses, whose sign is turned.
    response_method : {"decision_function", "predict_proba"}, default="decision_function"
        What the metric is given: scores, or the probabilities of annotators that have them.
    **options
        Further arguments of the metric.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from tagloom import LabeledKFold, label_budget
    >>> from tagloom.datasets import make_moons
    >>> from tagloom.methods import RegularizedLeastSquares
    >>> from tagloom.metrics import macro_auc
    >>> X, Y = make_moons(200, random_state=0)
    >>> scores = cross_val_score(RegularizedLeastSquares(), X, Y, cv=LabeledKFold(3), scoring=make_scorer(macro_auc))
    >>> scores.shape
    (3,)
    """

    def __init__(
        self,
        metric: Callable[..., float],
        *,
        greater_is_better: bool = True,
        response_method: str = "decision_function",
        **options: Any,
    ) -> None:
        if not callable(metric):
            raise InvalidInputError(f"metric must be a function of (Y, scores), got {metric!r}")
        if response_method not in ("decision_function", "predict_proba"):
            raise InvalidInputError(
                f"response_method must be 'decision_function' or 'predict_proba', got {response_method!r}"
            )
        self.metric = metric
        self.sign = 1 if greater_is_better else -1
        self.response_method = response_method
        self.options = options

    def __call__(self, estimator: Any, X: Any, Y: Any) -> float:
        """Return the value of the metric, turned where smaller is better."""
        return self.sign * float(self.metric(Y, getattr(estimator, self.response_method)(X), **self.options))

    def __repr__(self) -> str:
        """Return what makes it."""
        return f"make_scorer({self.metric.__name__})"
