"""The last evaluation of a project, kept among its runs; and whether anything was decided since."""

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom._version import __version__
from tagloom.catalog import Result, restored
from tagloom.exceptions import DamagedStoreError, TagloomError
from tagloom.learning.labels import TrainingLabels
from tagloom.store import ProjectStore

if TYPE_CHECKING:
    from tagloom.learning.evaluation import ModelEvaluation

__all__ = ["LastEvaluation", "last_evaluation"]

logger = logging.getLogger(__name__)

EVALUATE = "evaluate"
#: Of what is kept; raised when the fields of an evaluation mean something else.
FORMAT = 1
_UNREADABLE = (
    "The last evaluation cannot be read: it is damaged, or of another version. Measure again: tagloom evaluate"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastEvaluation(Result):
    """What was measured last.

    Parameters
    ----------
    evaluation : ModelEvaluation or None
        The figures; None where they cannot be read.
    at : float
        When, in seconds since 1970; 0 where it cannot be read.
    is_current : bool
        Whether the same is decided now.
    n_further : int
        Decisions made since, those of undo included.
    """

    evaluation: "ModelEvaluation | None"
    at: float = 0.0
    is_current: bool = False
    n_further: int = 0

    @property
    def note(self) -> str:
        """When that was and what came after, in one sentence."""
        if self.evaluation is None:
            return _UNREADABLE
        when = f"Measured {time.strftime('%Y-%m-%d %H:%M', time.localtime(self.at))}"
        if self.is_current:
            return f"{when}, on all your decisions."
        if self.n_further > 0:
            return f"{when}, before {self.n_further:,} further decision{'' if self.n_further == 1 else 's'}."
        return f"{when}, before tags were changed."


def keep_evaluation(store: ProjectStore, found: "ModelEvaluation", labels: TrainingLabels) -> None:
    """Keep an evaluation with the project; where that fails, say so in the log: the figures are worth more.

    Parameters
    ----------
    store : ProjectStore
        The project.
    found : ModelEvaluation
        What was measured.
    labels : TrainingLabels
        On what.
    """
    settings = {
        "method": found.method,
        "folds": found.folds,
        "labels_digest": labels.digest,
        "n_decisions": labels.n_decisions,
        "tagloom": __version__,
    }
    try:
        with store.transaction():
            run = store.runs.start(EVALUATE, settings)
            store.runs.end(run, {"format": FORMAT, "evaluation": found.as_dict()})
    except TagloomError as error:
        logger.warning("the evaluation could not be kept for reports: %s", error)


def last_evaluation(store: ProjectStore) -> LastEvaluation | None:
    """Return what was measured last, None if nothing ever was.

    Parameters
    ----------
    store : ProjectStore
        The project.

    Returns
    -------
    LastEvaluation or None
        One that is damaged, or that another version has written, has no figures, and a note that says so.
    """
    try:
        runs = store.runs.all(EVALUATE, limit=1)
        if not runs:
            return None
        (run,) = runs
        kept, digest = run.result, run.settings["labels_digest"]
        if kept is None or kept["format"] != FORMAT:
            raise ValueError(f"expected the format {FORMAT}")
        from tagloom.learning.evaluation import ModelEvaluation  # here, as it brings scikit-learn along

        evaluation: ModelEvaluation = restored(ModelEvaluation, kept["evaluation"])
        n_further = store.decisions.count() - restored(int, run.settings["n_decisions"])
        at = restored(float, run.ended)
    except (DamagedStoreError, ValueError, TypeError, KeyError, AttributeError) as error:
        logger.warning("the last evaluation cannot be read: %s", error)
        return LastEvaluation(evaluation=None)
    is_current = digest == store.decisions.labels_digest()
    return LastEvaluation(evaluation=evaluation, at=at, is_current=is_current, n_further=n_further)
