"""Learning while a person reviews: one background thread that follows the decisions and never gets in their way."""

import logging
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import StoreBusyError, TagloomError
from tagloom.learning import Updater, open_suggestions
from tagloom.project import Project
from tagloom.project.propose import proposals
from tagloom.review.state import ReviewState
from tagloom.store import ProjectStore

__all__ = ["BackgroundLearning", "LiveLearner", "ProjectLearner", "load_numbers"]

logger = logging.getLogger(__name__)

_BUSY_SECONDS = 1.0


class LiveLearner(Protocol):
    """Re-solves the tags whose labels have changed: `tagloom.learning.update.Updater`, or a stand-in."""

    #: Told of tags whose likeliest photos have new numbers, before all have.
    first_look: Callable[[Any, float], None] | None

    @property
    def photo_ids(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def tag_ids(self) -> NDArray[np.int64]: ...  # noqa: D102
    @property
    def values(self) -> NDArray[np.float32]: ...  # noqa: D102
    @property
    def thresholds(self) -> NDArray[np.float64]: ...  # noqa: D102
    @property
    def kind(self) -> str: ...  # noqa: D102

    def update(self) -> Any:
        """Learn from what was decided since; the result has ``tag_ids``, those that changed, and ``seconds``."""

    def save(self) -> Any:
        """Store the numbers durably."""

    def close(self) -> None:
        """Let go of everything."""


class ProjectLearner(Updater):
    """An updater with a connection of its own: the page's decisions never wait for its reading.

    Parameters
    ----------
    project : Project
        The project.
    """

    def __init__(self, project: Project) -> None:
        self._own = ProjectStore(project.folder, make=False)
        try:
            super().__init__(self._own, project.settings)
        except BaseException:
            self._own.close()
            raise

    def close(self) -> None:
        """Let go of everything."""
        super().close()
        self._own.close()


def load_numbers(store: ProjectStore, state: ReviewState) -> bool:
    """Take the stored suggestions into the state; return whether there are any."""
    state.set_proposals(proposals(store))
    found = open_suggestions(store)
    if found is None:
        return False
    state.clear_values()
    state.set_values(found.photo_ids, found.tag_ids, found.values, found.trained_thresholds, kind=found.kind)
    return True


class BackgroundLearning:
    """A thread that lets a learner follow the decisions; of several changes the latest state counts.

    Parameters
    ----------
    make : callable
        Makes the learner, in the thread. That begins at once, so that the first decision finds it ready.
    learned : callable
        Gets the learner, the tags that changed and the seconds that took.
    alone : Lock
        Held while the learner is made or saved, which takes the project's lock.
    """

    def __init__(
        self, make: Callable[[], LiveLearner], learned: Callable[[LiveLearner, Any, float], None], alone: threading.Lock
    ) -> None:
        self._make = make
        self._tell = learned
        self._alone = alone
        self._due = threading.Event()
        self._is_ending = False
        self._is_outdated = False
        self._learner: LiveLearner | None = None
        self._is_saved = True
        self._thread = threading.Thread(target=self._run, name="tagloom-learning", daemon=True)
        self._due.set()
        self._thread.start()

    def wake(self) -> None:
        """Say that something was decided."""
        self._due.set()

    def restart(self) -> None:
        """Say that photos or the model are others than those that the learner began with."""
        self._is_outdated = True
        self._due.set()

    def close(self, seconds: float = 60.0) -> None:
        """Save what was learned, and end."""
        self._is_ending = True
        self._due.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            self._due.wait()
            self._due.clear()
            if self._is_ending:
                break
            try:
                self._follow()
            except StoreBusyError:
                time.sleep(_BUSY_SECONDS)
                self._due.set()
            except TagloomError as error:
                logger.info("nothing can be learned yet: %s", error)
            except Exception:
                logger.exception("learning in the background failed")
        self._end()

    def _follow(self) -> None:
        if self._is_outdated:
            self._is_outdated, self._is_saved = False, True
            learner, self._learner = self._learner, None
            if learner is not None:
                learner.close()
        if self._learner is None:
            with self._alone:
                self._learner = self._make()
            self._learner.first_look = partial(self._tell, self._learner)
        result = self._learner.update()
        if len(result.tag_ids):
            self._is_saved = False
            self._tell(self._learner, result.tag_ids, result.seconds)

    def _end(self) -> None:
        if self._learner is None:
            return
        try:
            if not self._is_saved:
                with self._alone:
                    self._learner.save()
        except Exception:
            logger.exception("the update could not be saved; the next training includes it")
        finally:
            self._learner.close()
