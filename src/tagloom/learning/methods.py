"""The learners that a person can name, what each needs, and the parameters it takes.

What a learner needs is imported when it is made: to name them all, or to look at features, takes none of it.
"""

# What builds a learner takes neighbours and groups, whether it needs them or not.
# ruff: noqa: ARG005

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import metadata
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom import features, methods, tuning
from tagloom.core import FeatureGroups
from tagloom.exceptions import SettingsError
from tagloom.features.words.word_counts import WORD_FAMILIES, word_counts
from tagloom.learning.constants import SMOOTHING
from tagloom.settings import Settings

if TYPE_CHECKING:
    from tagloom.core import Annotator

__all__ = [
    "Learner",
    "Parameter",
    "all_learners",
    "choose_learner",
    "get_learner",
    "histograms",
    "make_annotator",
    "prepare",
    "visual_words",
]


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
            f"this method needs visual words, but the features are {', '.join(groups.names)}; add one of "
            f"{', '.join(WORD_FAMILIES)} to descriptors (the default descriptors have 'semantic')"
        )
    return found


ENTRY_POINT_GROUP = "tagloom.annotators"
SMOOTHED_RIDGE = "smoothed-ridge"
DEFAULT_METHOD = "auto"
#: What a method may need beside features: groups of columns, visual words, a kernel, a neighbour graph.
GROUPS, WORDS, KERNEL, GRAPH = "groups", "words", "kernel", "graph"
#: Kernels and distances of histograms, which scaled features are not.
OF_HISTOGRAMS = ("chi2", "intersection")
#: Parameters that are objects, which no text stands for, or that tagloom sees to itself.
NOT_PLAIN = frozenset(
    {"annotator", "graph", "groups", "kernel_parameters", "n_threads", "progress", "random_state", "reducer"}
)


def prepare(X: NDArray[np.float32], groups: FeatureGroups) -> NDArray[Any]:
    """Return features scaled for learning: each group in its own way, weighted, side by side; no label is used."""
    return features.GroupScaler(groups).fit_transform(X)


def as_extracted(X: NDArray[np.float32], groups: FeatureGroups) -> NDArray[Any]:  # noqa: ARG001
    """Return features as they are, for a learner that scales them itself."""
    return X


def histograms(X: NDArray[np.float32], groups: FeatureGroups) -> NDArray[Any]:
    """Return each group's columns as histograms, side by side: none negative, and each row of a group sums to 1.

    Columns with negative entries are moved up by their smallest one.
    """
    parts = {}
    for name, part in groups.split(np.asarray(X, dtype=np.float32)).items():
        moved = part - np.minimum(part.min(axis=0, initial=0.0), 0.0)
        totals = moved.sum(axis=1, keepdims=True)
        parts[name] = moved / np.where(totals > 0, totals, 1.0)
    return groups.join(parts)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a method.

    Parameters
    ----------
    name : str
        Its name.
    default : object
        What the method takes without being told.
    expected : str
        What a value must be, in words.
    """

    name: str
    default: Any
    expected: str


@dataclass(frozen=True, slots=True)
class Learner:
    """A named way to learn: one line for a person, how to make the annotator, and what it learns from.

    Parameters
    ----------
    name, summary : str
        Its name, and one line.
    build : callable
        Takes the number of neighbours of a graph and the feature groups, and returns the annotator.
    paper : str
        Where the method was published; empty for those that belong to no paper.
    needs : tuple of str
        What it needs beside features, of "groups", "words", "kernel" and "graph".
    smoothing : float or None
        Of ridge alone, which a project can update tag by tag: how much scores are smoothed over the graph.
    is_auto : bool
        Whether it searches for the best within a budget.
    parameters : mapping
        What a person has set, checked.
    """

    name: str
    summary: str
    build: "Callable[[int, FeatureGroups | None], Annotator]"
    paper: str = ""
    needs: tuple[str, ...] = ()
    smoothing: float | None = None
    is_auto: bool = False
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def make(self, n_neighbors: int, groups: FeatureGroups) -> "Annotator":
        """Return the annotator with the parameters that are set."""
        return self.build(n_neighbors, groups).set_params(**self.parameters)

    @property
    def features(self) -> Callable[[NDArray[np.float32], FeatureGroups], Any]:
        """What it learns from: called with the features as computed and their groups."""
        if WORDS in self.needs:
            return visual_words
        if self.is_auto:
            return as_extracted
        named = [value for name, value in self.parameters.items() if name.endswith(("kernel", "kernels", "metric"))]
        return histograms if any(value in OF_HISTOGRAMS for value in named) else prepare

    def takes(self) -> tuple[Parameter, ...]:
        """Return the parameters that a person may set."""
        annotator = self.build(Settings.n_neighbors, None)
        values = {**annotator.get_params(deep=True), **self.parameters}
        names = [name for name in values if name.rpartition("__")[2] not in NOT_PLAIN]
        # Those of the annotator itself in the order of its signature, those of an inner one after them.
        own = [name for name in inspect.signature(type(annotator)).parameters if name in names]
        inner = sorted(name for name in names if "__" in name)
        return tuple(
            Parameter(name, values[name], _in_words(_constraints_of(annotator, name, values[name])))
            for name in (*own, *inner)
        )

    def with_parameters(self, given: Mapping[str, Any]) -> "Learner":
        """Return the learner with parameters, each checked by the constraints of the annotator.

        Raises
        ------
        SettingsError
            If it has no such parameter, or does not take the value.
        """
        if not given:
            return self
        from tagloom.core import satisfies

        annotator = self.build(Settings.n_neighbors, None)
        known = {one.name: one for one in self.takes()}
        checked: dict[str, Any] = {}
        for name, value in given.items():
            if name not in known:
                close = difflib.get_close_matches(name, list(known), n=1)
                hint = f"Did you mean {close[0]}?" if close else f"It has {', '.join(known) or 'none'}."
                raise SettingsError(
                    f"Method {self.name} has no parameter {name!r}. {hint} Run: tagloom methods {self.name}"
                )
            constraints = _constraints_of(annotator, name, known[name].default)
            is_none = isinstance(value, str) and value.casefold() == "none" and None in constraints
            checked[name] = None if is_none else value
            if not satisfies(checked[name], constraints):
                raise SettingsError(
                    f"Parameter {name} of method {self.name} must be {known[name].expected}, got {value!r}. "
                    f"Run: tagloom methods {self.name}"
                )
        return replace(self, parameters={**self.parameters, **checked})


def _constraints_of(annotator: Any, name: str, default: Any) -> list[Any]:
    """Return the constraints of a parameter; what its name or default tells where the annotator has not named any."""
    outer, _, rest = name.partition("__")
    if rest:
        return _constraints_of(annotator.get_params(deep=False)[outer], rest, default)
    named = getattr(annotator, "_parameter_constraints", {}).get(name)
    return list(named or _unnamed(name) or (["boolean"] if isinstance(default, bool) else []))


def _unnamed(name: str) -> list[Any]:
    """Return the constraints of a parameter that annotators check when they are fitted."""
    # Here and not at the top: to name methods, or to look at features, takes no scikit-learn.
    from tagloom.core import POSITIVE, OneOf

    known: dict[str, list[Any]] = {
        "gamma": [POSITIVE, OneOf("scale", "dimension", "mean"), None],
        "kernel": [OneOf("rbf", "linear", *OF_HISTOGRAMS)],
        "kernels": [OneOf("rbf", "linear", *OF_HISTOGRAMS), None],
        "metric": [OneOf("euclidean", "cosine", "l1", *OF_HISTOGRAMS)],
    }
    return known.get(name, [])


def _in_words(constraints: list[Any]) -> str:
    """Return what a value must be."""
    return " or ".join(map(_one_in_words, constraints)) or "a value that the method knows"


def _one_in_words(constraint: Any) -> str:
    from tagloom.core import NumberIn

    if isinstance(constraint, NumberIn):
        return constraint.in_words()
    known = {None: "none", "array-like": "a list of numbers", "boolean": "true or false", Real: "a number"}
    return known[constraint] if constraint in known else str(constraint)


LEARNERS = {
    learner.name: learner
    for learner in (
        Learner(
            DEFAULT_METHOD,
            "chooses and combines kernels of the feature groups on your own labels",
            lambda k, groups: tuning.AutoAnnotator(groups, n_neighbors=k, random_state=0),
            needs=(GROUPS, GRAPH),
            is_auto=True,
        ),
        Learner(
            SMOOTHED_RIDGE,
            "regularised least squares, its scores smoothed over the neighbour graph of all photos",
            lambda k, groups: methods.RegularizedLeastSquares(smoothing=SMOOTHING, n_neighbors=k),
            needs=(GRAPH,),
            smoothing=SMOOTHING,
        ),
        Learner(
            "ridge",
            "regularised least squares on the labelled photos alone",
            lambda k, groups: methods.RegularizedLeastSquares(),
            smoothing=0.0,
        ),
        Learner(
            "sfss",
            "one set of features for all tags, scores spread over the neighbour graph",
            lambda k, groups: methods.SFSS(n_neighbors=k, tol=1e-4, ranking="auto"),
            "Ma, Yang, Nie, Uijlings, Sebe 2011",
            (GRAPH,),
        ),
        Learner(
            "topics",
            "a topic model of visual words and tags, smooth over the neighbour graph",
            lambda k, groups: methods.LaplacianTopicModel(graph="knn", n_neighbors=k, random_state=0),
            "Shao, Zhou, He, Cai, Bao 2009",
            (WORDS, GRAPH),
        ),
        Learner(
            "lpssvm",
            "a subspace in which neighbours stay together and SVMs separate well, learnt together",
            lambda k, groups: methods.LPSSVM(n_neighbors=k, random_state=0),
            "Jiang, Chang, Jebara, Loui 2008",
            (KERNEL, GRAPH),
        ),
        Learner(
            "tkml",
            "a kernel learnt from labelled and unlabelled photos, which neighbours share",
            lambda k, groups: methods.TKML(n_neighbors=k, random_state=0),
            "Vo, Sahbi 2012",
            (GRAPH,),
        ),
        Learner(
            "wtkml",
            "TKML in which rare tags weigh as much as frequent ones",
            lambda k, groups: methods.TKML(weighted=True, n_neighbors=k, random_state=0),
            "Vo, Sahbi 2012",
            (GRAPH,),
        ),
        Learner(
            "nova",
            "each tag keeps a few whole feature groups (parameter penalty: lasso, group lasso, SCAD …)",
            lambda k, groups: methods.NOVA(groups, tol=1e-4),
            "Wu, Yuan, Rui, Yan, Zhuang 2012",
            (GROUPS,),
        ),
        Learner(
            "harmonic",
            "harmonic propagation of the labels over the neighbour graph",
            lambda k, groups: methods.HarmonicPropagation(n_neighbors=k),
            "Zhu, Ghahramani, Lafferty 2003",
            (GRAPH,),
        ),
        Learner(
            "consistency",
            "local-global consistency over the neighbour graph",
            lambda k, groups: methods.LocalGlobalConsistency(n_neighbors=k),
            "Zhou, Bousquet, Lal, Weston, Schölkopf 2003",
            (GRAPH,),
        ),
        Learner(
            "laprls",
            "least squares with a kernel, smooth over the neighbour graph",
            lambda k, groups: methods.LapRLS(n_neighbors=k, random_state=0),
            "Belkin, Niyogi, Sindhwani 2006",
            (KERNEL, GRAPH),
        ),
        Learner(
            "lapsvm",
            "SVMs with a kernel, smooth over the neighbour graph",
            lambda k, groups: methods.LapSVM(n_neighbors=k, random_state=0),
            "Melacci, Belkin 2011",
            (KERNEL, GRAPH),
        ),
        Learner(
            "svm",
            "one SVM with a kernel for each tag, on the labelled photos alone",
            lambda k, groups: methods.KernelSVM(random_state=0),
            "Cortes, Vapnik 1995",
            (KERNEL,),
        ),
        Learner(
            "tsvm",
            "SVMs that label the unlabelled photos such that the margin is empty",
            lambda k, groups: methods.TransductiveSVM(random_state=0),
            "Joachims 1999",
            (KERNEL,),
        ),
        Learner(
            "mkl",
            "one SVM for each tag on a learnt sum of the feature groups' kernels",
            lambda k, groups: methods.MultipleKernelSVM(groups),
            "Varma, Babu 2009",
            (GROUPS, KERNEL),
        ),
        Learner(
            "m3l",
            "SVMs of all tags together, tied by how tags go together",
            lambda k, groups: methods.M3L(),
            "Hariharan, Zelnik-Manor, Vishwanathan, Varma 2010",
            (KERNEL,),
        ),
        Learner(
            "lpp-svm",
            "locality preserving projection of all photos, then a linear SVM for each tag",
            lambda k, groups: methods.LPPSVM(methods.LPP(n_neighbors=k, random_state=0)),
            "He, Niyogi 2003",
            (KERNEL, GRAPH),
        ),
        Learner(
            "neighbors",
            "the tags of the nearest labelled photos",
            lambda k, groups: methods.NeighborTransfer(n_neighbors=k),
        ),
        Learner(
            "jec",
            "the tags of the nearest labelled photos, all feature groups counting alike",
            lambda k, groups: methods.JEC(groups),
            "Makadia, Pavlovic, Kumar 2008",
            (GROUPS,),
        ),
        Learner(
            "tagprop",
            "the tags of the nearest labelled photos, the groups' distances weighed by likelihood",
            lambda k, groups: methods.TagProp(groups),
            "Guillaumin, Mensink, Verbeek, Schmid 2009",
            (GROUPS,),
        ),
        Learner(
            "fsnm",
            "features selected by a robust regression for all tags, then ridge on them",
            lambda k, groups: methods.FSNM(tol=1e-4),
            "Nie, Huang, Cai, Ding 2010",
        ),
        Learner(
            "fisher",
            "the features with the largest Fisher score, then ridge on them",
            lambda k, groups: methods.FisherScore(),
            "Duda, Hart, Stork 2001",
        ),
        Learner(
            "sbmlr",
            "features selected for each tag by sparse logistic regression, then ridge on them",
            lambda k, groups: methods.SBMLR(tol=1e-4),
            "Cawley, Talbot, Girolami 2006",
        ),
        Learner(
            "gllr",
            "each tag keeps a few whole feature groups by logistic regression",
            lambda k, groups: methods.GLLR(groups, tol=1e-4),
            "Wu, Yuan, Zhuang 2010",
            (GROUPS,),
        ),
        Learner(
            "curds-and-whey",
            "ridge, its scores shrunk towards what tags have in common",
            lambda k, groups: methods.BoostedAnnotator(methods.RegularizedLeastSquares(), groups=groups),
            "Breiman, Friedman 1997",
        ),
        Learner(
            "topic-mixture",
            "a mixture of topics over visual words and tags, without a graph",
            lambda k, groups: methods.TopicMixture(random_state=0),
            "Nigam, McCallum, Thrun, Mitchell 2000",
            (WORDS,),
        ),
        Learner(
            "plsa-words",
            "topics learnt from tags alone, then folded into visual words",
            lambda k, groups: methods.PLSAWords(random_state=0),
            "Monay, Gatica-Perez 2004",
            (WORDS,),
        ),
    )
}


def make_annotator(learner: Learner, settings: Settings, groups: FeatureGroups) -> "Annotator":
    """Return a learner's annotator with what a person has set."""
    annotator = learner.make(settings.n_neighbors, groups)
    if learner.is_auto:
        usual = {"n_threads": settings.n_threads, "budget_seconds": settings.budget_seconds}
        annotator.set_params(**{name: value for name, value in usual.items() if name not in learner.parameters})
    return annotator


def choose_learner(settings: Settings, method: str | None = None) -> Learner:
    """Return a learner with the parameters that are set for it.

    Parameters
    ----------
    settings : Settings
        ``method`` and ``method_parameters``.
    method : str, optional
        Its name; default: the setting ``method``.

    Raises
    ------
    SettingsError
        If there is no such method, or a parameter does not fit.
    """
    learner = get_learner(method or settings.method)
    return learner.with_parameters(settings.parameters_of(learner.name))


def get_learner(name: str) -> Learner:
    """Return the learner of this name, without any parameter set.

    Raises
    ------
    SettingsError
        If there is none; names the closest.
    """
    learners = all_learners()
    if name == "default":
        name = DEFAULT_METHOD
    try:
        return learners[name]
    except KeyError:
        close = difflib.get_close_matches(name, list(learners), n=1)
        hint = f" Did you mean {close[0]}?" if close else ""
        raise SettingsError(f"No method {name!r}.{hint} Run: tagloom methods") from None


def all_learners() -> dict[str, Learner]:
    """Return the built-in learners and those that other packages offer, by name.

    An entry point of the group ``tagloom.annotators`` names an `Annotator` class; a class with a parameter
    ``n_neighbors`` gets the setting of that name. A name that is taken stays with the built-in learner.
    """
    offered = {point.name: _from_entry_point(point) for point in metadata.entry_points(group=ENTRY_POINT_GROUP)}
    return LEARNERS | {name: learner for name, learner in offered.items() if name not in LEARNERS}


def _from_entry_point(point: metadata.EntryPoint) -> Learner:
    def build(n_neighbors: int, groups: FeatureGroups | None) -> "Annotator":  # noqa: ARG001
        from tagloom.core import Annotator

        try:
            annotator = point.load()()
        except Exception as error:  # whatever another package does when it is imported
            raise SettingsError(
                f"method {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(annotator, Annotator):
            raise SettingsError(f"method {point.name!r} ({point.value}) is not a tagloom Annotator")
        return annotator.set_params(n_neighbors=n_neighbors) if "n_neighbors" in annotator.get_params() else annotator

    return Learner(point.name, f"offered by {point.value}", build)
