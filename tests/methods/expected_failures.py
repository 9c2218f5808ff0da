"""The annotators under shared checks, and the checks of scikit-learn that cannot hold, each with its reason.

The table is exact: a check listed here that starts to pass fails the tests.
"""

from functools import cache

import pytest

from tagloom.methods import (
    FSNM,
    GLLR,
    JEC,
    LPPSVM,
    LPSSVM,
    M3L,
    NOVA,
    SBMLR,
    SFSS,
    TKML,
    BoostedAnnotator,
    FisherScore,
    HarmonicPropagation,
    KernelSVM,
    LaplacianTopicModel,
    LapRLS,
    LapSVM,
    LocalGlobalConsistency,
    MultipleKernelSVM,
    NeighborTransfer,
    PLSAWords,
    RegularizedLeastSquares,
    TagProp,
    TopicMixture,
    TransductiveSVM,
)
from tagloom.tuning import AutoAnnotator, CalibratedAnnotator, PositiveUnlabeledAnnotator

ANNOTATORS = [
    AutoAnnotator(),
    BoostedAnnotator(),
    BoostedAnnotator(boost="structured", correlations="training", weights="asymptotic"),
    CalibratedAnnotator(folds=3),
    FSNM(n_splits=2),
    FSNM(sparsity=0.5, refit=False),
    FisherScore(),
    FisherScore(3, regularization=1.0),
    GLLR(),
    GLLR(sparsity=0.1, standardize=True),
    HarmonicPropagation(),
    JEC(),
    KernelSVM(),
    KernelSVM(kernel="linear"),
    LapRLS(),
    LapSVM(),
    LaplacianTopicModel(3),
    LaplacianTopicModel(3, smoothing="steps", graph="knn"),
    LocalGlobalConsistency(),
    LPPSVM(),
    LPSSVM(),
    LPSSVM(kernel="linear", coupling="paper"),
    M3L(),
    MultipleKernelSVM(),
    NOVA(penalty="group_lasso", n_splits=2),
    NOVA(n_splits=2),
    NOVA(penalty="lasso", strength=0.05, standardize="columns"),
    NOVA(penalty="mcp", strength=0.1, boost="curds_and_whey"),
    NeighborTransfer(),
    NeighborTransfer(weights="uniform"),
    NeighborTransfer(n_neighbors=3, weights="heat", shrinkage=0.0),
    PLSAWords(3),
    PositiveUnlabeledAnnotator(),
    RegularizedLeastSquares(),
    RegularizedLeastSquares(0.1, smoothing=1.0),
    RegularizedLeastSquares(selection="map", per_tag=True, smoothing=0.5, clamp=True),
    SBMLR(),
    SBMLR(refit=False),
    SFSS(n_folds=2),
    SFSS(sparsity=0.5),
    SFSS(sparsity=0.5, unlabeled_pull=0.1, regression_weight=20.0, solver="irls"),
    SFSS(sparsity=0.5, objective="direct"),
    TKML(),
    TKML(weighted=True),
    TagProp(),
    TagProp(weights="rank", sigmoids=False),
    TopicMixture(3),
    TransductiveSVM(),
]

#: These take nearly as long as all others together; cheaper settings of the same classes run in `make test`.
LONGEST = ("NOVA(n_splits=2)",)

#: Checks of our own that one annotator cannot hold: {class name: {check name: reason}}.
EXEMPT_FROM_OUR_CHECKS: dict[str, dict[str, str]] = {
    "PLSAWords": {"order_of_tags": "it starts from random shares of each tag, drawn in the order of the tags"},
}

_LABELS = "fits the labels 1 and 2 (or 2 and 3); a label matrix holds 1, 0 and -1. Ours instead: "

#: For every annotator.
EXPECTED_FAILURES = {
    "check_estimators_dtypes": _LABELS + "precision_of_features and layout_of_input",
    "check_fit2d_1feature": _LABELS + "one_feature",
}

#: For one annotator besides.
EXPECTED_FAILURES_OF: dict[str, dict[str, str]] = {
    "SBMLR": {
        "check_fit_idempotent": "transform warns: labels drawn at random support no feature. Ours instead: refitting"
    },
}

#: Of the checks for every annotator those that one passes.
PASSED_BY = {name: {"check_fit2d_1feature"} for name in ("LaplacianTopicModel", "PLSAWords", "TopicMixture")}

#: Not run: skips unless scipy was imported under SCIPY_ARRAY_API=1, and annotators do not declare array API support.
NOT_RUN = {"check_array_api_input"}


def expected_failures(annotator):
    """Return ``{check name: reason}`` of one annotator."""
    name = type(annotator).__name__
    expected = EXPECTED_FAILURES | EXPECTED_FAILURES_OF.get(name, {})
    return {check: reason for check, reason in expected.items() if check not in PASSED_BY.get(name, set())}


def marks_of(annotator):
    """Return the marks of an annotator's checks."""
    return [pytest.mark.slow] if title(annotator) in LONGEST else []


@cache
def title(annotator):
    """Return an annotator and its parameters on one line."""
    return " ".join(str(annotator).split())
