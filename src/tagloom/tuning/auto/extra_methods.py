"""Other methods that `AutoAnnotator` may take in: how each is made, and what it sees of the photos."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core.annotator import Annotator
from tagloom.core.groups import FeatureGroups
from tagloom.core.typing import Floats
from tagloom.features.words.word_counts import word_counts
from tagloom.tuning.auto.views import PhotoViews, View

__all__ = ["FEW_COLUMNS", "GUESTS", "Columns", "FittedGuest", "Guest", "GuestFeatures", "Words"]


#: Leading principal components of each feature group: what most methods cost grows with the columns.
COLUMNS_PER_GROUP = 32
#: The same where methods are compared on few photos.
FEW_COLUMNS = 12
#: Photos that components are found on at most.
COMPONENT_ROWS = 2000
#: Methods end their iterations here; rankings hardly change any more.
TOLERANCE = 1e-3


class GuestFeatures(ABC):
    """What a guest sees; made from training photos, applied to any."""

    groups: FeatureGroups

    @abstractmethod
    def of(self, X: NDArray[Any], plain: NDArray[Any]) -> Any:
        """Return features of photos.

        Parameters
        ----------
        X : array of shape (n, d)
            As extracted.
        plain : array of shape (n, d')
            The same in coordinates of `PhotoViews`.
        """


class Columns(GuestFeatures):
    """Leading principal components of each group of a view, weighted as in the view.

    Parameters
    ----------
    views : PhotoViews
        Scaled groups.
    view : View
        Which groups, with what weights.
    count : int, optional
        Components of each group.
    """

    def __init__(self, views: PhotoViews, view: View, count: int = COLUMNS_PER_GROUP) -> None:
        names = [name for name in views.groups if view.weights.get(name, 0.0) > 0.0]
        step = -(-views.n_photos // COMPONENT_ROWS)
        self._parts: list[tuple[slice, Floats]] = []
        for name in names:
            columns = views.groups[name]
            basis = _components(np.asarray(views.plain[::step, columns], dtype=np.float64), count)
            self._parts.append((columns, basis * np.sqrt(view.weights[name])))
        self.groups = FeatureGroups(names, [basis.shape[1] for _, basis in self._parts])

    def of(self, X: NDArray[Any], plain: NDArray[Any]) -> Any:  # noqa: ARG002
        """Return components (n, k)."""
        # In the precision of the features: a wider basis would copy them.
        parts = [plain[:, columns] @ basis.astype(plain.dtype) for columns, basis in self._parts]
        return np.hstack(parts).astype(np.float64, copy=False)


class Words(GuestFeatures):
    """Counts of visual words.

    Parameters
    ----------
    groups : FeatureGroups
        Of the features as extracted, some of them words.
    """

    def __init__(self, groups: FeatureGroups) -> None:
        self.groups = groups

    def of(self, X: NDArray[Any], plain: NDArray[Any]) -> Any:  # noqa: ARG002
        """Return counts (n, words), sparse."""
        return word_counts(X, self.groups)


def _components(rows: Floats, count: int) -> Floats:
    """Return the leading principal directions (d, k) of centred rows."""
    count = min(count, *rows.shape)
    wide = rows.shape[1] > rows.shape[0]
    square = rows @ rows.T if wide else rows.T @ rows
    values, vectors = linalg.eigh(square, subset_by_index=[len(square) - count, len(square) - 1], check_finite=False)
    if not wide:
        return np.asarray(vectors[:, ::-1])
    lengths = np.sqrt(np.maximum(values, 0.0))
    kept = lengths > 1e-6 * max(lengths.max(initial=0.0), 1e-12)
    return np.asarray((rows.T @ (vectors[:, kept] / lengths[kept]))[:, ::-1])


@dataclass(frozen=True)
class Guest:
    """A method.

    Attributes
    ----------
    name : str
        As in ``also`` and in what is told.
    make : function
        From feature groups, neighbours of a graph and labelled photos to the annotator.
    reads_words : bool
        Whether it sees counts of visual words rather than columns.
    """

    name: str
    make: Callable[[FeatureGroups, int, int], Annotator]
    reads_words: bool = False


@dataclass(frozen=True, eq=False)
class FittedGuest:
    """A guest that takes part: its scores are brought to the centre and spread of the combination's, tag by tag.

    Attributes
    ----------
    name : str
        The method.
    annotator : Annotator
        Fitted with all labels.
    features : GuestFeatures
        What it sees.
    centres, sizes : ndarray of shape (c,)
        Deviations of a photo are ``(score - centre) * size``; 0 for tags that it has no say in.
    """

    name: str
    annotator: Annotator
    features: GuestFeatures
    centres: Floats
    sizes: Floats

    def deviations(self, X: NDArray[Any], plain: NDArray[Any]) -> Floats:
        """Return what it adds to the deviations (q, c) of new photos."""
        scores = self.annotator.decision_function(self.features.of(X, plain))
        return np.asarray((scores - self.centres) * self.sizes)


def _maker(
    name: str, *, groups: bool = False, neighbors: bool = False, **options: Any
) -> Callable[[FeatureGroups, int, int], Annotator]:
    """Return what makes an annotator of `tagloom.methods`; it is imported when it is made."""

    def make(of: FeatureGroups, n_neighbors: int, n_labelled: int) -> Annotator:
        import tagloom.methods

        settings = dict(options)
        if neighbors:
            settings["n_neighbors"] = n_neighbors
        if name == "TagProp":
            settings["n_neighbors"] = max(1, min(100, n_labelled // 2))
        found: Annotator = getattr(tagloom.methods, name)(*([of] if groups else []), **settings)
        return found

    return make


#: By name; the five methods of the papers first.
GUESTS = {
    guest.name: guest
    for guest in (
        Guest("sfss", _maker("SFSS", neighbors=True, n_folds=3, tol=TOLERANCE)),
        Guest("nova", _maker("NOVA", groups=True, standardize="groups", n_splits=3, tol=TOLERANCE)),
        Guest("lpssvm", _maker("LPSSVM", neighbors=True)),
        Guest("tkml", _maker("TKML", weighted=True, random_state=0)),
        Guest("topics", _maker("LaplacianTopicModel", neighbors=True, graph="knn", n_init=1, random_state=0), True),
        Guest("laprls", _maker("LapRLS", neighbors=True)),
        Guest("harmonic", _maker("HarmonicPropagation", neighbors=True)),
        Guest("consistency", _maker("LocalGlobalConsistency", neighbors=True)),
        Guest("tagprop", _maker("TagProp", groups=True, metric="euclidean")),
        Guest("gllr", _maker("GLLR", groups=True, tol=TOLERANCE)),
        Guest("svm", _maker("KernelSVM")),
    )
}
