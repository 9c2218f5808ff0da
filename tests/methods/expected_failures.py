"""The annotators under shared checks, and the checks of scikit-learn that cannot hold, each with its reason.

The table is exact: a check listed here that starts to pass fails the tests (``xfail_strict``).
"""

from tagloom.methods import (
    FSNM,
    GLLR,
    SBMLR,
    SFSS,
    FisherScore,
    HarmonicPropagation,
    LocalGlobalConsistency,
    NeighborTransfer,
    RegularizedLeastSquares,
)

ANNOTATORS = [
    FSNM(n_splits=2),
    FSNM(sparsity=0.5, refit=False),
    FisherScore(),
    FisherScore(3, regularization=1.0),
    GLLR(),
    GLLR(sparsity=0.1, standardize=True),
    HarmonicPropagation(),
    LocalGlobalConsistency(),
    NeighborTransfer(),
    NeighborTransfer(weights="uniform"),
    NeighborTransfer(n_neighbors=3, weights="heat", shrinkage=0.0),
    RegularizedLeastSquares(),
    RegularizedLeastSquares(0.1, smoothing=1.0),
    RegularizedLeastSquares(selection="map", per_tag=True, smoothing=0.5, clamp=True),
    SBMLR(),
    SBMLR(refit=False),
    SFSS(n_folds=2),
    SFSS(sparsity=0.5),
    SFSS(sparsity=0.5, unlabeled_pull=0.1, regression_weight=20.0, solver="irls"),
    SFSS(sparsity=0.5, objective="direct"),
]

#: Checks of our own that one annotator cannot hold: {class name: {check name: reason}}.
EXEMPT_FROM_OUR_CHECKS: dict[str, dict[str, str]] = {}

_LABELS = "fits the labels 1 and 2 (or 2 and 3); a label matrix holds 1, 0 and -1. Ours instead: "

#: For every annotator.
EXPECTED_FAILURES = {
    "check_estimators_dtypes": _LABELS + "precision_of_features and layout_of_input",
    "check_fit2d_1feature": _LABELS + "one_feature",
}

_OF_SELECTORS = (
    "check_transformer_data_not_an_array",
    "check_transformer_general",
    "check_transformer_n_iter",
    "check_transformer_preserve_dtypes",
)
_ONE_DIMENSION = "fits labels of one dimension. Ours instead: "

#: For one annotator besides.
EXPECTED_FAILURES_OF: dict[str, dict[str, str]] = {
    "FSNM": dict.fromkeys(_OF_SELECTORS, _ONE_DIMENSION + "test_it_is_a_feature_selector_in_a_pipeline"),
    "FisherScore": {
        name: _ONE_DIMENSION + "test_it_is_a_feature_selector_in_a_pipeline"
        for name in _OF_SELECTORS
        if name != "check_transformer_n_iter"  # it does not iterate
    },
    "SBMLR": dict.fromkeys(_OF_SELECTORS, _ONE_DIMENSION + "test_it_is_a_selector")
    | {"check_fit_idempotent": "transform warns: labels drawn at random support no feature. Ours instead: refitting"},
    "SFSS": dict.fromkeys(_OF_SELECTORS, _ONE_DIMENSION + "test_it_is_a_feature_selector_in_a_pipeline"),
}

#: Not run: skips unless scipy was imported under SCIPY_ARRAY_API=1, and annotators do not declare array API support.
NOT_RUN = {"check_array_api_input"}


def expected_failures(annotator):
    """Return ``{check name: reason}`` of one annotator."""
    return EXPECTED_FAILURES | EXPECTED_FAILURES_OF.get(type(annotator).__name__, {})


def title(annotator):
    """Return an annotator and its parameters on one line."""
    return " ".join(str(annotator).split())
