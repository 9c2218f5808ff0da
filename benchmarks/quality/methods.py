"""Who takes part, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.quality import ours
from benchmarks.quality.competitors import Linear, OfClass, RBFMachine, Ridge
from benchmarks.quality.ours import Outcome
from benchmarks.quality.problem import Competitor, Problem
from benchmarks.quality.propagation import LabelSpread, SelfTraining

DEEP = ("deep",)
#: On the embedding alone methods are run where few photos are labelled, for the claim about these.
DEEP_FRACTIONS = (0.02, 0.05, 0.1)


@dataclass(frozen=True)
class Method:
    """A participant.

    Parameters
    ----------
    name, title : str
        In the command, and on the page.
    competitor : Competitor or None
        How it learns, with points to choose from.
    own : function or None
        tagloom's own annotator.
    groups : tuple of str
        Feature groups it sees; empty: all.
    about : str
        Points and shared work, for the page.
    """

    name: str
    title: str
    competitor: Competitor | None = None
    own: Callable[[Problem], Outcome] | None = None
    groups: tuple[str, ...] = ()
    about: str = ""


_SUPERVISED = (
    Method("ridge", "ridge", Ridge(), about="11 penalties, closed form"),
    Method(
        "logistic",
        "logistic regression",
        Linear("logistic", (1.0, 10.0, 100.0, 1000.0, 10000.0)),
        about="C 1 to 10000; scikit-learn's objective, all tags in one L-BFGS on the labelled photos' kernel",
    ),
    Method(
        "linear_svm",
        "linear SVM",
        Linear("squared_hinge", (0.1, 1.0, 10.0)),
        about="C 0.1, 1, 10; LinearSVC's objective, solved in the same way",
    ),
    Method(
        "rbf_svm",
        "RBF SVM",
        RBFMachine(),
        about="C 1, 10, 100; gamma 1/4, 1, 4 over the mean squared distance; SVC on one kernel for all tags",
    ),
    Method(
        "knn",
        "kNN",
        OfClass(
            "NeighborTransfer",
            [{"n_neighbors": k, "weights": w} for k in (5, 15, 40) for w in ("uniform", "rank")],
        ),
        about="k 5, 15, 40; equal weights or by rank; drawn to the tag's frequency",
    ),
)
_TRANSFER_GRID = [{"metric": metric, "n_neighbors": k} for metric in ("l1", "euclidean") for k in (3, 5, 10, 20, 40)]

COMPETITORS: dict[str, Method] = {
    method.name: method
    for method in (
        *_SUPERVISED,
        Method(
            "jec",
            "JEC",
            OfClass("JEC", _TRANSFER_GRID, by_group=True),
            about="k 3, 5, 10, 20, 40; l1 or Euclidean; one distance per group",
        ),
        Method(
            "tagprop",
            "TagProp",
            OfClass(
                "TagProp",
                [
                    {"metric": "euclidean", "weights": w, "n_neighbors": k}
                    for w in ("distance", "rank")
                    for k in (20, 100, 200)
                ],
                by_group=True,
            ),
            about="K 20, 100, 200; weights by distance or rank, with sigmoids; Euclidean, one distance per group",
        ),
        Method(
            "label_spreading",
            "LabelSpreading",
            LabelSpread(),
            about="k 7, 15, 30, 60; alpha 0.2, 0.5, 0.8, 0.9; its neighbour graph, not the dense Gaussian kernel",
        ),
        Method(
            "self_training",
            "SelfTraining",
            SelfTraining(),
            about="logistic regression, C 1, 10, 100; threshold 0.75, 0.95; 256 principal components, two of the folds",
        ),
    )
}

OWN: dict[str, Method] = {
    method.name: method
    for method in (
        Method("smoothed_ridge", "smoothed ridge (tagloom)", own=ours.smoothed_ridge, about="the default before"),
        Method("auto", "auto (tagloom)", own=ours.auto, about="`AutoAnnotator`, budget 300 s"),
    )
}

DEEP_ALONE: dict[str, Method] = {
    f"deep_{method.name}": Method(
        f"deep_{method.name}", f"{method.title}, deep alone", method.competitor, groups=DEEP, about=method.about
    )
    for method in _SUPERVISED
}

METHODS: dict[str, Method] = {**COMPETITORS, **DEEP_ALONE, **OWN}


def methods_of(set_name: str, fraction: float) -> list[Method]:
    """Return who is run at one place; on the embedding alone only with Corel5K."""
    deep = DEEP_ALONE.values() if set_name in ("corel5k", "toy") and fraction in DEEP_FRACTIONS else ()
    return [*COMPETITORS.values(), *deep, *OWN.values()]
