"""Left-out scores of a combination where tags are known on different photos, as after a review of some tags.

The search takes an unknown entry of a labelled photo for one that equals its tag's frequency, which is quick and good
enough to compare candidates by. Where many labelled photos know few tags, those scores are drawn to the frequency, and
probabilities that are learnt from them are too large elsewhere. Here every tag is learnt on the photos it is known on.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from tagloom.core.labels import UNKNOWN, known_patterns
from tagloom.core.typing import Floats
from tagloom.tuning.auto._kept_kernels import KeptKernels
from tagloom.tuning.auto._left_out_scores import prior_shifts
from tagloom.tuning.auto.model import Member, StackModel
from tagloom.tuning.auto.search import GRAPH, GRAPH_SCALE, GRAPH_SMOOTHING, Candidate, Search, spread_labels
from tagloom.tuning.auto.views import View

__all__ = ["members_left_out", "pattern_left_out"]

Part = tuple[NDArray[Any], NDArray[Any], float, Member]


def pattern_left_out(
    search: Search,
    weightings: Sequence[View],
    members: Sequence[Member],
    approximate: Floats,
    *,
    go_on: Callable[[], bool] = lambda: True,
) -> tuple[Floats, int]:
    """Return the combination's deviations of each photo without its own label, exact for known entries.

    Parameters
    ----------
    search : Search
        Kernels, labels and labelled photos.
    weightings : sequence of View
        Those that members name.
    members : sequence of Member
        What is combined.
    approximate : array of shape (m, c)
        Deviations with unknown entries taken for the frequency; right where all tags are known on all photos.
    go_on : callable, optional
        Asked before each group of tags known on the same photos; False leaves the rest as they are.

    Returns
    -------
    deviations : ndarray of shape (m, c)
        Unknown entries as they were.
    n_left : int
        Tags for which there was no time.
    """
    if known_patterns(search.labels)[0].all():
        return approximate, 0
    return _by_pattern(search, _kernels(search, weightings, members), approximate, go_on)


def members_left_out(search: Search, model: StackModel, *, go_on: Callable[[], bool] = lambda: True) -> Floats:
    """Return the same of members that were chosen before, whatever photos tags are known on.

    Parameters
    ----------
    search : Search
        Labels and labelled photos; it need not have been run.
    model : StackModel
        The members, with kernels that were kept.
    go_on : callable, optional
        As for `pattern_left_out`; tags for which there is no time are taken for known on all photos.
    """
    if model.kept is None:
        parts = _kernels(search, model.weightings, model.members)
    else:
        parts = _kept(search, model.kept, model.members)
    approximate, counts = np.zeros(search.targets.shape), (search.labels != UNKNOWN).sum(axis=0)
    for kernel, influence, ridge, member in parts:
        approximate += member.factor * _left_out(kernel, influence, search.targets, ridge, counts)
    patterns, _ = known_patterns(search.labels)
    return approximate if patterns.all() else _by_pattern(search, parts, approximate, go_on)[0]


def _by_pattern(
    search: Search, parts: list[Part], approximate: Floats, go_on: Callable[[], bool]
) -> tuple[Floats, int]:
    patterns, pattern_of = known_patterns(search.labels)
    found, n_left = approximate.copy(), 0
    for pattern in range(patterns.shape[1]):
        rows, tags = np.flatnonzero(patterns[:, pattern]), np.flatnonzero(pattern_of == pattern)
        if not go_on():
            n_left += len(tags)
        elif len(rows):
            square, entries = np.ix_(rows, rows), np.ix_(rows, tags)
            found[entries] = sum(
                member.on(tags)
                * _left_out(kernel[square], influence[square], search.targets[entries], ridge, len(rows))
                for kernel, influence, ridge, member in parts
            )
    return found, n_left


def _kernels(search: Search, weightings: Sequence[View], members: Sequence[Member]) -> list[Part]:
    """Return each member's kernel among the labelled photos, what coefficients bring to scores, penalty, member."""

    def place(member: Member) -> tuple[str, bool]:
        return member.candidate.view, member.candidate.smoothed

    views = {view.name: view for view in weightings}
    taking_part = sorted((one for one in members if one.takes_part), key=place)
    found: list[Part] = []
    for (name, smoothed), group in groupby(taking_part, key=place):
        if name == GRAPH:
            common = GRAPH_SCALE * spread_labels(search.views, search.rows, GRAPH_SMOOTHING)
        else:
            common = search.distances(views[name], smoothed)
        for member in group:
            one: Candidate = member.candidate
            kernel = common if name == GRAPH else np.exp(-one.width * common)
            among, smooth = search.influences(kernel, one.score_smoothing)
            found.append((among, smooth, one.ridge, member))
    return found


def _kept(search: Search, kernels: KeptKernels, members: Sequence[Member]) -> list[Part]:
    """Return the same by kernels that were kept."""
    kernels.hold(search.rows)
    found: list[Part] = []
    for place, member in enumerate(members):
        kernel = kernels.of(place, search.rows)
        found.append((*search.influences(kernel, member.candidate.score_smoothing), member.candidate.ridge, member))
    return found


def _left_out(kernel: NDArray[Any], influence: NDArray[Any], targets: Floats, ridge: float, counts: Any) -> Floats:
    """Return deviations of each photo without its own label, the prior's included; see `left_out_deviations`."""
    system = np.array(kernel, dtype=np.float64)
    system[np.diag_indices(len(system))] += ridge
    factor = linalg.cholesky(system, lower=True, overwrite_a=True, check_finite=False)
    # The diagonal of G = (K + λI)⁻¹ = HᵀH takes all of H, the inverse of the triangle.
    half = linalg.solve_triangular(factor, np.eye(len(factor)), lower=True, overwrite_b=True, check_finite=False)
    coefficients = half.T @ (half @ np.column_stack([targets, np.ones(len(targets))]))
    influence = np.asarray(influence, dtype=np.float64)
    own = np.einsum("ij,ji->i", influence @ half.T, half) / np.einsum("ji,ji->i", half, half)
    found = influence @ coefficients - own[:, None] * coefficients
    return np.asarray(found[:, :-1] + prior_shifts(targets, counts) * found[:, -1:])
