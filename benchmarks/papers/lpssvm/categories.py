"""Caltech-101: a vocabulary, a kernel and a graph for each category, and every method one against all on each.

The loop over kernels is here because the paper's protocol asks for it; the methods see one tag and one kernel.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.clock import measure
from benchmarks.methods import shared
from benchmarks.papers.lpssvm.patches import (
    PYRAMID,
    Patches,
    caltech_patches,
    category_words,
    pyramid_histograms,
)
from tagloom.kernels import linear_kernel
from tagloom.kernels.landmarks import KernelFeatures
from tagloom.kernels.matrix import make_kernel
from tagloom.methods.baselines.laprls import LapRLS
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.baselines.lpp import LPP, LPPSVM
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.methods.lpssvm import LPSSVM
from tagloom.methods.shared.kernel_task import kernel_graph

Floats = NDArray[np.float64]
#: Makes a method for columns that are coordinates of the kernel, given the graph with binary and with kernel weights.
Factory = Callable[[Any, Any], Any]


def methods_of(subspace_energy: float) -> dict[str, Factory]:
    """Return the methods of Table 1; C = 1, γ = 1."""
    shares = {"kernel": "linear", "subspace_energy": subspace_energy}
    return {
        # As a function, the linear kernel is one like any other: the SVM has the hinge, as with kernels.
        "svm": lambda _binary, _weighted: KernelSVM(linear_kernel),
        "lapsvm": lambda binary, _weighted: LapSVM("linear", graph=binary),
        "laprls": lambda binary, _weighted: LapRLS("linear", graph=binary),
        "lpp_svm": lambda _binary, weighted: LPPSVM(LPP(graph=weighted, **shares)),
        "lpssvm": lambda _binary, weighted: LPSSVM(graph=weighted, **shares),
        "lpssvm_printed": lambda _binary, weighted: LPSSVM(coupling="paper", graph=weighted, **shares),
    }


class OneKernelPerCategory:
    """One of the methods of Table 1; all of them are fitted together, because they share vocabularies and kernels.

    Parameters
    ----------
    method : str
        A key of `methods_of`.
    most_exact : int
        Up to so many photos seen the kernel is exact. Beyond, the labelled ones are landmarks (Nyström): the kernel of
        any photo with a labelled one is exact, hence the SVM too.
    n_words, n_neighbors, subspace_energy : numbers
        Codewords of a category, neighbours in the graph, energy ratio.
    """

    def __init__(
        self,
        method: str,
        most_exact: int = 1000,
        n_words: int = 50,
        n_neighbors: int = 15,
        subspace_energy: float = 0.7,
    ) -> None:
        self.method = method
        self.settings: dict[str, Any] = {
            "most_exact": most_exact,
            "n_words": n_words,
            "n_neighbors": n_neighbors,
            "subspace_energy": subspace_energy,
        }

    def fit(self, X: NDArray[Any], Y: NDArray[np.int8]) -> "OneKernelPerCategory":
        """Fit on the photos whose numbers are in X; scores of all photos are kept, those never seen among them."""
        with measure() as elapsed:
            (scores, seconds), _ = shared(
                f"categories {sorted(self.settings.items())}",
                (X, Y),
                lambda: score_categories(caltech_patches(), X[:, 0], Y, **self.settings),
            )
        # Time of this method alone, whoever has computed it.
        self.saved_cpu_ = seconds[self.method] - elapsed.cpu
        self._scores = scores[self.method]
        self.transduction_ = self.decision_function(X)
        return self

    def decision_function(self, X: NDArray[Any]) -> Floats:
        """Return scores of photos by their numbers."""
        found: Floats = self._scores[X[:, 0]]
        return found


def score_categories(
    patches: Patches,
    photos: NDArray[np.int64],
    Y: NDArray[np.int8],
    *,
    most_exact: int,
    n_words: int,
    n_neighbors: int,
    subspace_energy: float,
    methods: dict[str, Factory] | None = None,
) -> tuple[dict[str, NDArray[np.float32]], dict[str, float]]:
    """Return for each method scores of all photos (n, c), NaN for other categories' photos, and its CPU seconds.

    Parameters
    ----------
    patches : Patches
        Of all photos.
    photos : int array of shape (m,)
        Those seen.
    Y : label matrix of shape (m, c)
        Their labels.
    most_exact, n_words, n_neighbors, subspace_energy
        See `OneKernelPerCategory`.
    methods : dict, optional
        Others than `methods_of` has.
    """
    chosen = methods_of(subspace_energy) if methods is None else methods
    every = np.flatnonzero(np.isin(patches.categories, np.unique(patches.categories[photos])))
    part, seen = patches.take(every), np.searchsorted(every, photos)
    labelled = np.flatnonzero((Y >= 0).any(axis=1))
    scores = {name: np.full((len(patches.categories), Y.shape[1]), np.nan, np.float32) for name in chosen}
    seconds = dict.fromkeys(chosen, 0.0)
    for tag in range(Y.shape[1]):
        with measure() as common:
            words = category_words(part.take(seen[Y[:, tag] == 1]), n_words, seed=tag)
            histograms = pyramid_histograms(part, words)
            kernel = make_kernel("pyramid", histograms, parameters={"levels": PYRAMID, "n_words": n_words})
            anchors = labelled if len(photos) > most_exact else None
            coordinates = KernelFeatures(kernel, histograms[seen], anchors).transform(histograms)
            binary, weighted = graphs(coordinates[seen], n_neighbors)
        for name, make in chosen.items():
            with measure() as own:
                model = make(binary, weighted).fit(coordinates[seen], Y[:, [tag]])
                scores[name][every, tag] = model.decision_function(coordinates)[:, 0]
            seconds[name] += common.cpu + own.cpu
    return scores, seconds


def graphs(coordinates: Floats, n_neighbors: int) -> tuple[Any, Any]:
    """Return the graph of neighbours with weights 1 and with the kernel's values."""
    kernel = make_kernel("linear", coordinates)
    binary = kernel_graph(None, kernel, coordinates, n_neighbors=n_neighbors, weights="binary", features=coordinates)
    weighted = kernel_graph(None, kernel, coordinates, n_neighbors=n_neighbors, weights="kernel", features=coordinates)
    return binary, weighted
