"""What is done to the scores of the combination afterwards: other tags are listened to, other methods taken in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core.progress import NO_PROGRESS, Progress
from tagloom.core.typing import Floats
from tagloom.tuning.auto._heats import Field
from tagloom.tuning.auto._race import Outcome, race
from tagloom.tuning.auto._tag_mixing import TagMixing, find_mixing
from tagloom.tuning.auto.search import LeaderboardRow
from tagloom.tuning.auto.views import NewPhotos

__all__ = ["Refinement", "refine"]


@dataclass(frozen=True, eq=False)
class Refinement:
    """Deviations D of the combination become ``a (D M) + G``.

    Attributes
    ----------
    mixing : TagMixing or None
        M; None for the identity.
    outcome : Outcome or None
        a, the share of the combination for each tag, and G, what guests add; None where there is no guest.
    board : list of LeaderboardRow
        Methods of the race's final.
    reasons : dict of str to str
        Methods that do not take part, and why.
    told : dict
        What was chosen; plain numbers and words.
    """

    mixing: TagMixing | None = None
    outcome: Outcome | None = None
    board: list[LeaderboardRow] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def changes_nothing(self) -> bool:
        """Whether scores stay as they are."""
        return self.mixing is None and self.outcome is None

    def of_all(self, deviations: Floats) -> Floats:
        """Return the deviations (n, c) of the training photos."""
        mixed = self.mix(deviations)
        if self.outcome is None or self.outcome.everywhere is None:
            return mixed
        return mixed * self.outcome.shares + self.outcome.everywhere

    def of_left_out(self, deviations: Floats) -> Floats:
        """Return the deviations (m, c) of photos that were compared on, each without its own label."""
        mixed = self.mix(deviations)
        if self.outcome is None or self.outcome.left_out is None:
            return mixed
        return mixed * self.outcome.shares + self.outcome.left_out

    def of_new(self, deviations: Floats, X: NDArray[Any], new: NewPhotos) -> Floats:
        """Return the deviations (q, c) of new photos, from their features as extracted and attached to the graph."""
        mixed = self.mix(deviations)
        if self.outcome is None:
            return mixed
        added = sum(guest.deviations(X, new.plain) for guest in self.outcome.guests)
        return np.asarray(mixed * self.outcome.shares + added)

    def join_board(self, rows: Sequence[LeaderboardRow]) -> list[LeaderboardRow]:
        """Return the combination's candidates and the methods of the final, the best first."""
        share = 1.0 - sum(row.weight for row in self.board)
        shrunk = [replace(row, weight=share * row.weight) for row in rows]
        return sorted([*shrunk, *self.board], key=lambda row: -float(np.nan_to_num(row.map, nan=-1.0)))

    def mix(self, deviations: Floats) -> Floats:
        """Return deviations that have listened to those of other tags."""
        return deviations if self.mixing is None else self.mixing.apply(deviations)


def refine(
    on: Field, entered: Sequence[str], *, seconds_left: Callable[[], float], progress: Progress = NO_PROGRESS
) -> Refinement:
    """Return what left-out scores show to help.

    Parameters
    ----------
    on : Field
        Photos, labels, and the combination.
    entered : sequence of str
        Other methods that are raced.
    seconds_left : callable
        Time that is left for it.
    progress : Progress, optional
        Told how far it is.
    """
    mixing = find_mixing(on.left_out, on.labels[on.rows], on.everywhere.std(axis=0), on.folds)
    told: dict[str, Any] = {"tag_mixing": {"strength": mixing.strength, "gain": mixing.gain}, "guests": {}}
    found = Refinement(mixing if mixing.strength else None, told=told)
    if not entered:
        return found
    mixed = replace(on, left_out=found.mix(on.left_out), everywhere=found.mix(on.everywhere))
    outcome = race(entered, mixed, seconds_left=seconds_left, progress=progress)
    told["guests"] = {row.name: row.weight for row in outcome.board if row.weight > 0.0}
    taken = outcome if outcome.guests else None
    return replace(found, outcome=taken, board=outcome.board, reasons=outcome.reasons)
