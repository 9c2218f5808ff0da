"""The part of a review session that keeps up: arrays that follow the store, learning and jobs in the background."""

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tagloom.catalog.photo_index import PhotoIndex, load_photos
from tagloom.catalog.reader import ProjectReader
from tagloom.core.photos import FileStamp
from tagloom.exceptions import InvalidInputError, SettingsError, StoreBusyError, TagloomError
from tagloom.project.project import Project
from tagloom.review.events import EventHub
from tagloom.review.jobs import Job, JobBoard
from tagloom.review.learner import BackgroundLearning, LiveLearner, load_numbers
from tagloom.review.pictures import Pictures
from tagloom.review.ranking import LookAlikes
from tagloom.review.similarity import load_looks
from tagloom.review.state import ReviewState, UnknownTagError
from tagloom.settings import PROJECT_FILE_NAME
from tagloom.store.project import ProjectStore
from tagloom.store.tags import Tag

__all__ = ["LiveReview"]

logger = logging.getLogger(__name__)

N_TOLD = 500
POLL_SECONDS = 1.0
_BUSY_SECONDS = 5.0


class LiveReview:
    """Photos, labels and numbers of a project in memory, kept up to what anybody decides or trains.

    Parameters
    ----------
    project : Project
        The project.
    make_learner : callable or None
        Makes what learns in the background.
    with_looks : bool
        Whether to work out which photos look alike.

    Attributes
    ----------
    events : EventHub
        News for the pages.
    jobs : JobBoard
        Long work.
    pictures : Pictures
        Thumbnails and large pictures.
    reader : ProjectReader
        The project's databases.
    alone : Lock
        Held by the thread here that works under the project's lock, so that threads wait for each other and are
        refused only where another process is at work.
    """

    def __init__(self, project: Project, *, make_learner: Callable[[], LiveLearner] | None, with_looks: bool) -> None:
        self.project = project
        self.events = EventHub()
        self._with_looks = with_looks
        self._sync_lock = threading.RLock()
        self.alone = threading.Lock()
        self._closing = threading.Event()
        self._tags: list[Tag] = []
        self._looks = LookAlikes()
        self.reader = ProjectReader(project.folder)
        try:
            self.pictures = Pictures(self.reader, os.fsencode(project.root))
            self._state = self._load()
        except BaseException:
            self.reader.close()
            raise
        self.jobs = JobBoard(lambda job: self.events.publish("job", job.as_dict()), self._job_ended, self.alone)
        self._learning = None if make_learner is None else BackgroundLearning(make_learner, self._learned, self.alone)
        self._threads = [threading.Thread(target=self._watch, name="tagloom-watch", daemon=True)]
        if with_looks:
            self._look_due = threading.Event()
            self._look_due.set()
            self._threads.append(threading.Thread(target=self._look, name="tagloom-looks", daemon=True))
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End background work, save what was learned, and tell the pages."""
        self._closing.set()
        if self._with_looks:
            self._look_due.set()
        self.events.close()
        self.jobs.close()
        if self._learning is not None:
            self._learning.close()
        for thread in self._threads:
            thread.join(_BUSY_SECONDS)
        self.pictures.close()
        self.reader.close()

    @property
    def state(self) -> ReviewState:
        """Labels and numbers."""
        return self._state

    @property
    def photos(self) -> PhotoIndex:
        """The photos."""
        return self._state.photos

    @property
    def looks(self) -> LookAlikes:
        """Similarity, clusters and stacks, as far as they are worked out."""
        return self._looks

    def tag(self, number: int) -> Tag:
        """Return a tag by id."""
        found = next((tag for tag in self._tags if tag.id == number), None)
        if found is not None:
            return found
        text, into = self.project.store.tags.merged().get(number, ("", 0))
        if not into:
            raise UnknownTagError(f"no tag has the id {number}; load the page again")
        (now,) = self.project.store.tags.texts([into])
        raise InvalidInputError(f"the tag {text!r} was merged into {now!r}; name that one")

    def sync(self) -> bool:
        """Take in what was decided since, by whomever, and tell the pages; return whether there was anything."""
        with self._sync_lock:
            state = self._state
            changes = self.reader.changes(state.version, state.batch)
            if (changes.version, changes.batch) == (state.version, state.batch):
                return False
            if changes.tags_changed or not state.knows(changes.tag_ids):
                self.load_tags()
            state.take_in(changes)
            photos, tags = sorted(set(changes.photo_ids.tolist())), sorted(set(changes.tag_ids.tolist()))
            self.tell(changes.batch, photos if len(photos) <= N_TOLD else None, tags)
        if self._learning is not None and photos:
            self._learning.wake()
        return True

    def tell(self, batch: int | None, photos: list[int] | None, tags: list[int]) -> None:
        """Tell the pages what was decided; None stands for many photos."""
        data = {"version": self._state.version, "batch": batch, "photos": photos, "tags": tags}
        self.events.publish("decided", data)

    def load_tags(self) -> None:
        """Take in which tags there are."""
        with self._sync_lock:
            self._tags = self.project.store.tags.all()
            self._state.set_tags([tag.id for tag in self._tags], self.project.store.tags.closure())

    def _load(self) -> ReviewState:
        store = self.project.store
        self._roots, self._numbers = tuple(store.roots.all()), store.suggestions.latest()
        state = ReviewState(load_photos(store))
        self._tags = store.tags.all()
        state.set_tags([tag.id for tag in self._tags], store.tags.closure())
        state.take_in(self.reader.changes(0, 0))
        load_numbers(store, state)
        state.set_threshold(self.project.threshold)
        return state

    def _start_anew(self) -> None:
        """Take in everything again: photos came or went, or another model has taken over."""
        if self._learning is not None:
            self._learning.restart()
        with self._sync_lock:
            before, self._state = self.photos, self._load()
            # How the same photos look is worked out anew, and until then what is known of them holds.
            if not self.photos.is_same(before):
                self._looks = LookAlikes()
            version, tags = self._state.version, [tag.id for tag in self._tags]
        if self._with_looks:
            self._look_due.set()
        self._tell_learned(version, tags)
        self.events.publish("reset", {})  # whatever a page holds of a photo, its picture too, may be another one now

    def _watch(self) -> None:
        """Look once a second whether another process has changed the project, or a person its settings."""
        seen: Any = None
        while not self._closing.wait(POLL_SECONDS):
            try:
                now = (self.reader.stamp(), _file_stamp(self.project.folder / PROJECT_FILE_NAME))
                if now == seen:
                    continue
                self._catch_up()
                seen = now
            except SettingsError as error:
                logger.warning("%s; until then the settings stay as they were", error)
                seen = now
            except Exception:
                logger.exception("changes of the project could not be taken in; trying again")

    def _catch_up(self) -> None:
        """Take in what was changed, here or by another process."""
        self.sync()
        self.project.keep_backup()
        store = self.project.store
        if (self._roots, self._numbers) != (tuple(store.roots.all()), store.suggestions.latest()):
            self._start_anew()
        self.take_in_threshold()
        self.take_in_settings()

    def take_in_threshold(self) -> None:
        """Suggest by the project's threshold as it is now, and tell the pages if it has changed."""
        with self._sync_lock:
            threshold = self.project.threshold
            if threshold == self._state.threshold:
                return
            self._state.set_threshold(threshold)
            version, tags = self._state.version, [tag.id for tag in self._tags]
        self._tell_learned(version, tags)

    def take_in_settings(self) -> None:
        """Read the settings again; what learns in the background begins anew where they have changed."""
        if self.project.reload_settings() and self._learning is not None:
            self._learning.restart()

    def _tell_learned(self, version: int, tags: list[int], seconds: float = 0.0) -> None:
        self.events.publish("learned", {"version": version, "tags": tags, "seconds": round(seconds, 3)})

    def _learned(self, learner: LiveLearner, tag_ids: Any, seconds: float) -> None:
        changed = {int(tag) for tag in tag_ids}
        columns = [place for place, tag in enumerate(learner.tag_ids.tolist()) if tag in changed]
        limits = learner.thresholds[columns]
        with self._sync_lock:
            self._state.clear_values(changed.difference(learner.tag_ids.tolist()))
            self._state.set_values(
                learner.photo_ids, learner.tag_ids[columns], learner.values[:, columns], limits, kind=learner.kind
            )
            version = self._state.version
        self._tell_learned(version, sorted(changed), seconds)

    def _job_ended(self, job: Job) -> None:
        self.sync()
        if job.kind in ("scan", "extract", "train"):
            self._start_anew()

    def _look(self) -> None:
        """Work out which photos look alike whenever that is due, also when another tagloom was at work at first."""
        while True:
            self._look_due.wait()
            self._look_due.clear()
            if self._closing.is_set():
                return
            photos = self.photos
            try:
                with self.alone, ProjectStore(self.project.folder, make=False) as store:
                    looks = load_looks(store, photos)
            except StoreBusyError:
                self._closing.wait(_BUSY_SECONDS)
                self._look_due.set()
                continue
            except TagloomError as error:
                logger.info("photos cannot be compared: %s", error)
                continue
            with self._sync_lock:
                if photos is not self.photos:
                    continue
                self._looks = looks
            self.events.publish("looks", {})


def _file_stamp(path: Path) -> FileStamp | None:
    """Return what changes with a file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return FileStamp.of(found)
