"""Everything that the review page asks for, without HTTP: the page and the command line call the same verbs."""

import itertools
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import numpy as np

from tagloom.catalog import PhotoIndex, ProjectReader, load_photos
from tagloom.core import FileStamp, is_video, similar_tags, split_tag
from tagloom.exceptions import InvalidInputError, PhotosError, SettingsError, StoreBusyError, StoreError, TagloomError
from tagloom.features.clips import ClipFacts
from tagloom.graph import NeighborGraph
from tagloom.learning import Features, KeptFeatures, clip_facts, graph_of_model, load_choice_features
from tagloom.learning.moments import moments
from tagloom.project import Project, label_pairs
from tagloom.project.propose import proposals
from tagloom.review.answers import (
    AddedTag,
    CellsAnswer,
    ChangedTag,
    ClipAnswer,
    DecidedAnswer,
    HistoryAnswer,
    MomentsAnswer,
    NextUndo,
    OverviewAnswer,
    PhotoAnswer,
    PhotoIds,
    PhotoList,
    PlanAnswer,
    ProgressAnswer,
    TeachAnswer,
    ThresholdsAnswer,
    UndoneAnswer,
)
from tagloom.review.events import EventHub
from tagloom.review.jobs import Job, JobBoard, job_work
from tagloom.review.learner import BackgroundLearning, LiveLearner, load_numbers
from tagloom.review.pictures import Pictures
from tagloom.review.playable import Playable, VideosOfPhotos
from tagloom.review.ranking import LookAlikes, PhotoQuery, Ranking, moment_text, rank
from tagloom.review.similarity import load_looks
from tagloom.review.state import ReviewState, UnknownTagError
from tagloom.review.views import (
    batch_view,
    calibration_view,
    cell_views,
    clip_view,
    photo_line,
    photo_view,
    plan_view,
    tag_views,
    teach_ids,
    threshold_view,
)
from tagloom.settings import PROJECT_FILE_NAME
from tagloom.store import Origin, ProjectStore, Tag

__all__ = ["NothingToUndoError", "OthersActionError", "ReviewSession", "act_once"]

logger = logging.getLogger(__name__)

N_PAIRS = 100_000
N_HISTORY = 20
N_PLANNED = 200
N_TOLD = 500
POLL_SECONDS = 1.0
_BUSY_SECONDS = 5.0
_LONGEST_PAUSE = 60.0
_COMPARED = {"default", "deep"}
_N_PACE = 200
#: How long a choice waits for work in the background before it does without features.
_PATIENCE_SECONDS = 2.0
_REQUESTS = "review_requests"
#: Names of requests that are kept: a page has one on its way at a time, and asks again within a quarter of a minute.
N_KEPT = 200
#: How long the grid waits to learn how long videos are.
_SHORT_PATIENCE_SECONDS = 0.2
T = TypeVar("T")


def act_once(store: ProjectStore, key: str, act: Callable[[], int | None]) -> int | None:
    """Act, unless that was done under the same name before; return the action, None where it changed nothing.

    Parameters
    ----------
    store : ProjectStore
        The project; what is done and that it was done are one transaction.
    key : str
        The name of the request.
    act : callable
        Returns the batch that it made, or None.
    """
    with store.transaction():
        kept = store.settings.get(_REQUESTS, [])
        known = dict(kept)
        if key in known:
            return known[key]
        batch = act()
        store.settings.set(_REQUESTS, [*kept, [key, batch]][-N_KEPT:])
        return batch


class NothingToUndoError(StoreError):
    """There is nothing to take back, or to bring back."""


class OthersActionError(StoreError):
    """What was to be undone was done by somebody else."""


class ReviewSession:
    """A review of a project.

    Threads may share it. Decisions go to the store at once; what is held in memory is a copy that keeps up with what
    anybody decides or trains.

    Parameters
    ----------
    project : Project
        The project; it stays the caller's to close.
    who : str
        For the history, where nobody else is named.
    exports : path, optional
        The folder that exports go to; default: none can be made.
    make_learner : callable, optional
        Makes what learns in the background; default: the model's numbers change with the next training only.
    with_looks : bool, default=True
        Whether to work out, in the background, which photos look alike.

    Attributes
    ----------
    who : str
        For the history, where nobody else is named.
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

    Examples
    --------
    >>> import tempfile
    >>> with (
    ...     tempfile.TemporaryDirectory() as photos,
    ...     Project.init(photos) as project,
    ...     ReviewSession(project, with_looks=False) as session,
    ... ):
    ...     session.overview()["next_job"]
    'scan'
    """

    def __init__(
        self,
        project: Project,
        *,
        who: str = "",
        exports: str | os.PathLike[str] | None = None,
        make_learner: Callable[[], LiveLearner] | None = None,
        with_looks: bool = True,
    ) -> None:
        self.who = who
        self._exports = None if exports is None else Path(exports)
        self._undo_lock = threading.Lock()
        self._made: set[int] = set()
        self._pace: deque[tuple[float, int]] = deque(maxlen=_N_PACE)
        self._features = KeptFeatures(self._load_features)
        self._clips: dict[str, ClipFacts | None] = {}
        self._videos = VideosOfPhotos(os.fsencode(project.root))
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
        self.jobs = JobBoard(lambda job: self.events.publish("job", {**job.as_dict()}), self._job_ended, self.alone)
        self._learning = None if make_learner is None else BackgroundLearning(make_learner, self._learned, self.alone)
        self._threads = [threading.Thread(target=self._watch, name="tagloom-watch", daemon=True)]
        if with_looks:
            self._look_due = threading.Event()
            self._look_due.set()
            self._threads.append(threading.Thread(target=self._look, name="tagloom-looks", daemon=True))
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

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

    def overview(self) -> OverviewAnswer:
        """Return the project: tags, folders, progress, and what to do next."""
        status = self.project.status()
        state, model = self.state, self.project.store.models.active()
        tags = self.project.store.tags
        in_use = {tag.id for tag in tags.in_use()}
        return {
            "name": self.project.root.name,
            "root": os.fsencode(self.project.root).decode("utf-8", errors="replace"),
            "n_photos": len(state.photos),
            "version": state.version,
            "kind": state.kind,
            **calibration_view(state),
            "model": None if model is None else {"id": model.id, "method": str(model.settings.get("method", ""))},
            "tags": tag_views(self._tags, state, in_use),
            "merged": [{"id": tag, "text": text, "into": into} for tag, (text, into) in tags.merged().items()],
            "folders": state.photos.folders,
            "dates": _dates(state.photos),
            "can_write": status.online,
            "can_export": self._exports is not None,
            "can_compare": self.looks.cosines is not None,
            "next_step": status.next_step,
            "next_job": self._next_job(status.command.split()[1]),
            "progress": self.progress(),
        }

    def ranking(self, query: PhotoQuery) -> Ranking:
        """Return the photos that a query means, in order."""
        texts = {tag.id: "\n".join((tag.text, *tag.aliases)).casefold() for tag in self._tags} if query.words else {}
        return rank(self.state, query, self.looks, texts)

    def cells(self, ids: Sequence[int]) -> CellsAnswer:
        """Return what the grid shows of some photos."""
        state = self.state
        clips = self.clips(ids)
        with state.lock:
            return {"version": state.version, "cells": cell_views(state, self.looks, ids, clips)}

    def photo(self, photo: int) -> PhotoAnswer:
        """Return all that is known of one photo."""
        state = self.state
        state.photos.row(photo)
        history = self.project.history(N_HISTORY, photo=photo)
        view = photo_view(self.project.store, state, {tag.id: tag.text for tag in self._tags}, photo, history)
        facts = self.clips([photo]).get(photo)
        return {**view, "clip": clip_view(facts) if facts is not None else self._clip_with(photo)}

    def _clip_with(self, photo: int) -> ClipAnswer | None:
        """Return what is known of the video that was taken with a photo."""
        found = self._video_with(photo)
        if found is None:
            return None
        known = {"duration": round(found.seconds, 2), "times": [], "sound": True, "type": found.media_type}
        return cast(ClipAnswer, {**known, "with_photo": True})

    def _video_with(self, photo: int) -> Playable | None:
        index = self.photos
        row = index.row(photo)
        return self._videos.find(self.project.store, index.paths[row], index.hashes[row])

    def why(self, photo: int, tag: int) -> dict[str, Any]:
        """Return what speaks for a suggestion."""
        self.photos.row(photo)
        text = self.tag(tag).text
        found: dict[str, Any] = self.project.explain(photo, text).as_dict()
        return found

    def photo_list(self, query: PhotoQuery, first: int, n: int) -> PhotoList:
        """Return some of the photos that a query means: ``n`` of them, from the place ``first`` on."""
        found, photos = self.ranking(query), self.photos
        rows = photos.rows(found.ids[first : first + n].tolist())
        values = [None] * len(rows) if found.values is None else found.values[first : first + n].tolist()
        return {
            "version": found.version,
            "total": len(found.ids),
            "photos": [photo_line(photos, row, value) for row, value in zip(rows.tolist(), values, strict=True)],
        }

    def find_photos(self, names: Sequence[str]) -> PhotoIds:
        """Return the ids of photos by their paths below the folder of photos; None where there is no such photo."""
        photos = self.photos
        wanted = set(names)
        ids = {name: int(number) for name, number in zip(photos.names, photos.ids, strict=True) if name in wanted}
        return {"ids": [ids.get(name) for name in names]}

    def thumbnail(self, photo: int) -> bytes:
        """Return a photo's thumbnail, WebP."""
        return self.pictures.thumbnail(self.photos, photo)

    def large(self, photo: int) -> bytes:
        """Return a large picture of a photo, WebP."""
        return self.pictures.large(self.photos, photo)

    def frame(self, photo: int, frame: int) -> bytes:
        """Return the thumbnail of a key frame of a video, WebP."""
        return self.pictures.frame(self.photos, photo, frame)

    def clips(self, photos: Sequence[int]) -> dict[int, ClipFacts]:
        """Return what is known of those of these that are videos."""
        index = self.photos
        rows = [row for row in index.rows(photos).tolist() if is_video(index.paths[row])]
        unknown = sorted({index.hashes[row] for row in rows} - self._clips.keys())
        if unknown:
            try:
                found = self._apart(lambda store: clip_facts(store, unknown), patience=_SHORT_PATIENCE_SECONDS)
                self._clips |= {content: found.get(content) for content in unknown}
            except StoreBusyError:  # the page shows them as photos until it asks again
                logger.info("the facts of %d videos could not be read while the project is busy", len(unknown))
        facts = {int(index.ids[row]): self._clips.get(index.hashes[row]) for row in rows}
        return {photo: one for photo, one in facts.items() if one is not None}

    def moments(self, photo: int) -> MomentsAnswer:
        """Return the scores of the key frames of a video by tag."""
        content = self.photos.hashes[self.photos.row(photo)]
        found = self._apart(lambda store: moments(store, self.project.settings, content))
        scores = zip(found.tag_ids.tolist(), found.scores.T.tolist(), strict=True)
        return {
            "times": list(found.times),
            "tags": {tag: [round(value, 4) for value in row] for tag, row in scores},
        }

    def video(self, photo: int) -> Playable:
        """Return a video that browsers can play, or the one that was taken with a photo.

        Raises
        ------
        PhotosError
            If there is none.
        """
        index = self.photos
        facts = self.clips([photo]).get(photo)
        if facts is not None and facts.media_type:
            path = os.path.join(os.fsencode(self.project.root), index.paths[index.row(photo)])
            return Playable(path, facts.media_type, seconds=facts.duration)
        found = self._video_with(photo)
        if found is None:
            raise PhotosError("browsers cannot play this file; look at its key frames")
        return found

    def teach(self, tag: int | None, n: int) -> TeachAnswer:
        """Return photos to label next."""
        state = self.state
        ids, reason = teach_ids(
            state,
            tag,
            n,
            graph=lambda: self._graph(state.photos),
            features=lambda: self._features.of(state.photos),
        )
        return {"ids": ids, "reason": reason}

    def progress(self) -> ProgressAnswer:
        """Return how far the review is, whether scores are calibrated, and how long the rest takes at this pace."""
        state = self.state
        with state.lock:
            n_reviewed, missing = int(state.reviewed.sum()), state.expected_missing
        pace = self._seconds_per_photo()
        left = len(state.photos) - n_reviewed
        return {
            "n_photos": len(state.photos),
            "n_reviewed": n_reviewed,
            **calibration_view(state),
            "expected_missing": None if missing is None else round(missing, 1),
            "minutes_left": None if pace is None else round(left * pace / 60, 1),
            "seconds_per_photo": None if pace is None else round(pace, 2),
        }

    def thresholds(self) -> ThresholdsAnswer:
        """Return what is suggested at the threshold in force, and what would be at others."""
        return threshold_view(self.state)

    def history(self, limit: int = 50, *, who: str | None = None) -> HistoryAnswer:
        """Return the latest actions, what an undo would take back, and whether there is anything to bring back.

        Parameters
        ----------
        limit : int
            How many actions.
        who : str, optional
            Only what this person did.
        """
        can_undo, can_redo = self.reader.can_undo_or_redo(who)
        batches = [batch_view(batch) for batch in self.project.store.decisions.history(limit, who=who)]
        return {"batches": batches, "can_undo": can_undo, "can_redo": can_redo, "next_undo": self._next_undo(who)}

    def write_plan(self, n: int = N_PLANNED) -> PlanAnswer:
        """Return what writing keywords would do to the files of the first n photos; nothing is written."""
        photos = self.photos
        return plan_view(self.project.store, n, dict(zip(photos.paths, photos.ids.tolist(), strict=True)))

    def decide(
        self,
        photos: Sequence[int],
        tags: Sequence[int],
        state: int,
        *,
        origin: Origin = "human",
        paired: bool = False,
        key: str | None = None,
        who: str | None = None,
    ) -> DecidedAnswer:
        """Say of photos that they have tags (1), have them not (0), or that nothing is said (-1): one action.

        Parameters
        ----------
        photos, tags : sequence of int
            Ids, of at most 100,000 pairs.
        state : {1, 0, -1}
            What is said.
        origin : {"human", "suggested"}, default="human"
            "suggested" is a suggestion that was accepted or refused.
        paired : bool, default=False
            Whether photos and tags stand side by side; otherwise every tag is about every photo.
        key : str, optional
            A name for this request: asked for again under it, nothing is done twice.
        who : str, optional
            For the history; default: who the session belongs to.
        """
        n_pairs = max(len(photos), len(tags)) if paired else len(photos) * len(tags)
        if not 1 <= n_pairs <= N_PAIRS:
            raise InvalidInputError(f"expected from 1 to {N_PAIRS} pairs of photo and tag at once, got {n_pairs}")
        if origin not in ("human", "suggested"):
            raise InvalidInputError(f"origin must be human or suggested, got {origin!r}")
        if state not in (1, 0, -1):
            raise InvalidInputError(f"state must be 1, 0 or -1, got {state!r}")
        store = self.project.store

        def act() -> int | None:
            return self._say(photos, tags, state, origin, paired, self.who if who is None else who)

        batch = self._made_here(act() if key is None else act_once(store, key, act))
        self._pace.append((time.monotonic(), len(photos)))
        self.sync()
        n = 0 if batch is None else store.decisions.batch(batch).n
        return {"batch": batch, "n": n, "version": self.state.version}

    def set_threshold(self, threshold: float | None) -> ThresholdsAnswer:
        """Suggest what lies above one number for all tags, from now on and everywhere; None: as training chose."""
        self.project.threshold = threshold
        self.take_in_threshold()
        return self.thresholds()

    def add_tag(self, text: str, *, new: bool = False) -> AddedTag:
        """Return the tag of a name, made if there is none.

        Parameters
        ----------
        text : str
            The name. A tag that differs in capitals or Unicode form only is the same one.
        new : bool, default=False
            Whether to make a tag without asking whether it is a slip of another one, or a list of several.

        Returns
        -------
        dict
            ``id`` and ``text`` of the tag, and whether it was ``created``. Where it is better asked first, ``id`` is
            None and there are ``similar``, the tag that was perhaps meant, or ``parts``, the names in a list.
        """
        tags = self.project.store.tags
        (number,) = tags.numbers([text])
        doubt = None if number or new else self._doubt(text)
        if doubt is not None:
            return {"id": None, "text": text, "created": False, **doubt}  # type: ignore[typeddict-item]
        is_new = not number
        if is_new:
            (number,) = tags.numbers([text], make=True)
        self.load_tags()
        if is_new:
            self.tell(None, [], [number])
        return {"id": number, "text": self.tag(number).text, "created": is_new}

    def _doubt(self, text: str) -> dict[str, Any] | None:
        """Return what speaks against a new tag of this name."""
        parts = split_tag(text)
        if parts:
            return {"parts": parts}
        tags = sorted(self.project.store.tags.in_use(), key=lambda tag: -tag.n_yes)
        names = {name: tag for tag in reversed(tags) for name in (tag.text, *tag.aliases)}
        found = similar_tags(text, names)
        return {"similar": {"id": names[found[0]].id, "text": names[found[0]].text}} if found else None

    def change_tag(self, tag: int, what: str, value: str | int, *, who: str | None = None) -> ChangedTag:
        """Change a tag.

        Parameters
        ----------
        tag : int
            The tag.
        what : {"rename", "alias", "merge_into", "parent"}
            What to do: another text, a further name, make it another tag, say which tag it implies.
        value : str or int
            The text, or the other tag.
        who : str, optional
            For the history; default: who the session belongs to.
        """
        tags, who = self.project.store.tags, self.who if who is None else who
        self.tag(tag)
        if what in ("merge_into", "parent"):
            self.tag(int(value))
        verbs: dict[str, Callable[[], int | None]] = {
            "rename": lambda: tags.rename(tag, str(value), who=who),
            "alias": lambda: tags.alias(str(value), tag, who=who),
            "merge_into": lambda: tags.merge(tag, int(value), who=who),
            "parent": lambda: tags.imply(tag, int(value), who=who),
        }
        batch = self._made_here(verbs[what]())
        self.sync()
        return {"batch": batch, "version": self.state.version}

    def undo(self, batch: int | None = None, *, who: str | None = None, only_own: bool = False) -> UndoneAnswer:
        """Take back an action, by default the latest one.

        Parameters
        ----------
        batch : int, optional
            The action.
        who : str, optional
            For the history; default: who the session belongs to.
        only_own : bool, default=False
            Whether that may only be a decision that ``who`` made.

        Raises
        ------
        OthersActionError
            If it is another's.
        """
        if only_own:
            decisions = self.project.store.decisions
            found = decisions.undoable(who=who) if batch is None else decisions.batch(batch)
            if found is None:
                raise NothingToUndoError("there is nothing of yours to undo")
            if found.who != who or found.kind == "write":
                raise OthersActionError(f"action {found.id} is not yours: only an owner undoes what others did")
            batch = found.id
        return self._turn("undo", batch, who)

    def withdraw(self, key: str, *, who: str | None = None, only_own: bool = False) -> UndoneAnswer:
        """Take back what was asked for under a name, if it was done; what comes under it later does nothing."""
        batch = act_once(self.project.store, key, lambda: None)
        if batch is None or self.project.store.decisions.batch(batch).undone:
            return {"batch": None, "label": "", "version": self.state.version}
        return self.undo(batch, who=who, only_own=only_own)

    def redo(self, *, who: str | None = None, only_own: bool = False) -> UndoneAnswer:
        """Bring back what was taken back last, or what ``who`` took back last of what was their own."""
        if not only_own:
            return self._turn("redo", None, who)
        batch = self.project.store.decisions.redoable(who=who)
        if batch is None:
            raise NothingToUndoError("there is nothing of yours to redo")
        return self._turn("redo", batch, who)

    def start_job(self, kind: str, options: dict[str, Any] | None = None, *, who: str | None = None) -> Job:
        """Start long work (see `tagloom.review.jobs`), with the settings as they are now."""
        self.take_in_settings()
        who = self.who if who is None else who
        return self.jobs.start(kind, job_work(self.project, kind, options or {}, exports=self._exports, who=who))

    def _say(
        self, photos: Sequence[int], tags: Sequence[int], state: int, origin: Origin, paired: bool, who: str
    ) -> int | None:
        self.photos.rows(photos)
        for tag in set(tags):
            self.tag(tag)
        if not paired:
            pairs = list(itertools.product(dict.fromkeys(photos), dict.fromkeys(tags)))
            photos, tags = [photo for photo, _ in pairs], [tag for _, tag in pairs]
        result = label_pairs(self.project.store, photos, tags, state, who=who, origin=origin)
        return None if result.batch is None else result.batch.id

    def _graph(self, photos: PhotoIndex) -> NeighborGraph:
        found = graph_of_model(self.project.store, photos.ids)
        if found is None:
            raise StoreError("the model has no neighbour graph of these photos; train again: tagloom train")
        return found

    def _load_features(self, photos: PhotoIndex) -> Features:
        state = self.state
        with state.lock:
            said = state.reviewed.copy() if photos is state.photos else np.zeros(len(photos), dtype=bool)
        return self._apart(lambda store: load_choice_features(store, self.project.settings, photos.ids, said=said))

    def _apart(self, read: Callable[[ProjectStore], T], *, patience: float = _PATIENCE_SECONDS) -> T:
        """Read features: one thread at a time."""
        if not self.alone.acquire(timeout=patience):
            raise StoreBusyError("the project is busy in the background; try again in a moment")
        try:
            with ProjectStore(self.project.folder, make=False) as store:  # a lock of its own, as threads need
                return read(store)
        finally:
            self.alone.release()

    def _made_here(self, batch: int | None) -> int | None:
        if batch is not None:
            self._made.add(batch)
        return batch

    def _next_undo(self, who: str | None) -> NextUndo | None:
        """Return what an undo would take back: how much it is, and whether it was done in this review."""
        store = self.project.store
        found = store.decisions.undoable(who=who)
        if found is None:
            return None
        n_files = len(store.writes.entries(batch=found.id, state="done")) if found.kind == "write" else 0
        return {**batch_view(found), "n_files": n_files, "is_own": found.id in self._made}

    def _turn(self, verb: str, batch: int | None, who: str | None) -> UndoneAnswer:
        turn = self.project.undo if verb == "undo" else self.project.redo
        with self._undo_lock:  # the project's lock tells processes apart, not threads
            result = turn(batch, who=self.who if who is None else who)
        if result.batch is None:
            raise NothingToUndoError(f"there is nothing to {verb}")
        self.sync()
        return {"batch": result.batch.id, "label": result.batch.label, "version": self.state.version}

    def _next_job(self, command: str) -> str | None:
        """Return the job that the project needs next, if the page can start it."""
        if command in ("scan", "train"):
            return command
        # Worked out, and yet photos cannot be compared: their features are not there.
        lacks_features = self.looks.stacks is not None and self.looks.cosines is None and len(self.photos) > 0
        return "extract" if lacks_features and _COMPARED & set(self.project.settings.descriptors) else None

    def _seconds_per_photo(self) -> float | None:
        """Return the mean time per photo, without the pauses in which nobody was at work."""
        steps = list(self._pace)
        worked = [
            (now - before, n) for (before, _), (now, n) in itertools.pairwise(steps) if now - before <= _LONGEST_PAUSE
        ]
        n_photos = sum(n for _, n in worked)
        return sum(gap for gap, _ in worked) / n_photos if n_photos else None

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
                logger.exception("changes of the project could not be read; trying again")

    def _catch_up(self) -> None:
        """Take in what was changed, here or by another process."""
        self.sync()
        self.project.keep_backup()
        store = self.project.store
        self.take_in_proposals()
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

    def take_in_proposals(self) -> None:
        """Show what programs propose now, and tell the pages if that has changed."""
        found = proposals(self.project.store)
        with self._sync_lock:
            changed = set(found) ^ set(self._state.proposals)
            if not changed:
                return
            if not {tag for _, tag in changed} <= {tag.id for tag in self._tags}:
                self.load_tags()
            self._state.set_proposals(found)
        photos, tags = sorted({photo for photo, _ in changed}), sorted({tag for _, tag in changed})
        self.tell(None, photos if len(photos) <= N_TOLD else None, tags)

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


def _dates(photos: PhotoIndex) -> list[str] | None:
    """Return the first and the last day on which photos were taken."""
    known = photos.taken[np.isfinite(photos.taken)]
    if not len(known):
        return None
    edges = (moment_text(known.min()), moment_text(known.max()))
    return [edge[:10] for edge in edges if edge is not None]


def _file_stamp(path: Path) -> FileStamp | None:
    """Return what changes with a file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return FileStamp.of(found)
