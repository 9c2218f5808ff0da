"""The learners that a person can name, and the settings they get.

What a learner needs is imported when it is made: to name them all, or to look at features, takes none of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom import features, methods, tuning
from tagloom.core.groups import FeatureGroups
from tagloom.exceptions import SettingsError
from tagloom.features.words.word_counts import WORD_FAMILIES, word_counts
from tagloom.learning.constants import SMOOTHING
from tagloom.settings import Settings

if TYPE_CHECKING:
    from tagloom.core.annotator import Annotator

__all__ = ["Learner", "all_learners", "get_learner", "make_annotator", "prepare", "visual_words"]


def visual_words(X: NDArray[Any], groups: FeatureGroups) -> Any:
    """Return counts of visual words, see `tagloom.features.words.word_counts.word_counts`.

    Parameters
    ----------
    X : array of shape (n, d)
        Features as they are computed, not scaled.
    groups : FeatureGroups
        Their groups.

    Returns
    -------
    sparse array of shape (n, words)
        CSR, float32.

    Raises
    ------
    SettingsError
        If no group is made of words; says which would be.
    """
    found = word_counts(np.asarray(X), groups)
    if found is None:
        raise SettingsError(
            f"method 'topics' needs visual words, but the features are {', '.join(groups.names)}; add one of "
            f"{', '.join(WORD_FAMILIES)} to descriptors (the default descriptors have 'semantic')"
        )
    return found


ENTRY_POINT_GROUP = "tagloom.annotators"
SMOOTHED_RIDGE = "smoothed-ridge"
DEFAULT_METHOD = "auto"


def prepare(X: NDArray[np.float32], groups: FeatureGroups) -> NDArray[Any]:
    """Return features scaled for learning: each group in its own way, weighted, side by side; no label is used."""
    return features.GroupScaler(groups).fit_transform(X)


def as_extracted(X: NDArray[np.float32], groups: FeatureGroups) -> NDArray[Any]:  # noqa: ARG001
    """Return features as they are, for a learner that scales them itself."""
    return X


@dataclass(frozen=True, slots=True)
class Learner:
    """A named way to learn: one line for a person, how to make the annotator, and what it learns from.

    ``make`` takes the number of neighbours of a graph and the feature groups, ``features`` the features as computed and
    their groups. ``smoothing`` is set for ridge alone, which a project can update tag by tag: how much its scores are
    smoothed over the graph. ``is_auto`` is set for the method that searches for the best within a budget.
    """

    name: str
    summary: str
    make: "Callable[[int, FeatureGroups], Annotator]"
    features: Callable[[NDArray[np.float32], FeatureGroups], Any] = prepare
    smoothing: float | None = None
    is_auto: bool = False


LEARNERS = {
    learner.name: learner
    for learner in (
        Learner(
            DEFAULT_METHOD,
            "chooses and combines kernels of the feature groups on your own labels",
            lambda n_neighbors, groups: tuning.AutoAnnotator(groups, n_neighbors=n_neighbors, random_state=0),
            as_extracted,
            is_auto=True,
        ),
        Learner(
            SMOOTHED_RIDGE,
            "regularised least squares, its scores smoothed over the neighbour graph of all photos",
            lambda n_neighbors, groups: methods.RegularizedLeastSquares(smoothing=SMOOTHING, n_neighbors=n_neighbors),  # noqa: ARG005
            smoothing=SMOOTHING,
        ),
        Learner(
            "ridge",
            "regularised least squares on the labelled photos alone",
            lambda n_neighbors, groups: methods.RegularizedLeastSquares(),  # noqa: ARG005
            smoothing=0.0,
        ),
        Learner(
            "harmonic",
            "harmonic propagation of the labels over the neighbour graph",
            lambda n_neighbors, groups: methods.HarmonicPropagation(n_neighbors=n_neighbors),  # noqa: ARG005
        ),
        Learner(
            "consistency",
            "local-global consistency over the neighbour graph",
            lambda n_neighbors, groups: methods.LocalGlobalConsistency(n_neighbors=n_neighbors),  # noqa: ARG005
        ),
        Learner(
            "sfss",
            "SFSS: one set of features for all tags, scores spread over the neighbour graph",
            lambda n_neighbors, groups: methods.SFSS(n_neighbors=n_neighbors, tol=1e-4),  # noqa: ARG005
        ),
        Learner(
            "nova",
            "NOVA: each tag keeps a few whole feature groups",
            lambda n_neighbors, groups: methods.NOVA(groups, tol=1e-4),  # noqa: ARG005
        ),
        Learner(
            "laprls",
            "least squares with a kernel, smooth over the neighbour graph",
            lambda n_neighbors, groups: methods.LapRLS(n_neighbors=n_neighbors),  # noqa: ARG005
        ),
        Learner(
            "topics",
            "a topic model of visual words and tags, smooth over the neighbour graph",
            lambda n_neighbors, groups: methods.LaplacianTopicModel(  # noqa: ARG005
                graph="knn", n_neighbors=n_neighbors, random_state=0
            ),
            visual_words,
        ),
        Learner(
            "neighbors",
            "the tags of the nearest labelled photos",
            lambda n_neighbors, groups: methods.NeighborTransfer(n_neighbors=n_neighbors),  # noqa: ARG005
        ),
    )
}


def make_annotator(learner: Learner, settings: Settings, groups: FeatureGroups) -> "Annotator":
    """Return a learner's annotator with what a person has set."""
    annotator = learner.make(settings.n_neighbors, groups)
    if learner.is_auto:
        annotator.set_params(n_threads=settings.n_threads, budget_seconds=settings.budget_seconds)
    return annotator


def get_learner(name: str) -> Learner:
    """Return the learner of this name.

    Raises
    ------
    SettingsError
        If there is none; lists what there is.
    """
    learners = all_learners()
    if name == "default":
        name = DEFAULT_METHOD
    try:
        return learners[name]
    except KeyError:
        raise SettingsError(f"no method {name!r}; choose one of {', '.join(learners)}") from None


def all_learners() -> dict[str, Learner]:
    """Return the built-in learners and those that other packages offer, by name.

    An entry point of the group ``tagloom.annotators`` names an `Annotator` class; a class with a parameter
    ``n_neighbors`` gets the setting of that name. A name that is taken stays with the built-in learner.
    """
    offered = {point.name: _from_entry_point(point) for point in metadata.entry_points(group=ENTRY_POINT_GROUP)}
    return LEARNERS | {name: learner for name, learner in offered.items() if name not in LEARNERS}


def _from_entry_point(point: metadata.EntryPoint) -> Learner:
    def make(n_neighbors: int, groups: FeatureGroups) -> "Annotator":  # noqa: ARG001
        from tagloom.core.annotator import Annotator

        try:
            annotator = point.load()()
        except Exception as error:  # whatever another package does when it is imported
            raise SettingsError(
                f"method {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(annotator, Annotator):
            raise SettingsError(f"method {point.name!r} ({point.value}) is not a tagloom Annotator")
        return annotator.set_params(n_neighbors=n_neighbors) if "n_neighbors" in annotator.get_params() else annotator

    return Learner(point.name, f"offered by {point.value}", make)
