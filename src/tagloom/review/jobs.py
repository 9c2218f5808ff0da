"""Long work started from the review page: one at a time, in a thread, with live progress, and to be cancelled.

Each job opens the project anew: it takes the project's lock as the command line does, so that a command in another
window and a job here never work at the same time, and the page goes on reading meanwhile.
"""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tagloom.catalog import Result, is_trusted, make_folder
from tagloom.core import Progress
from tagloom.exceptions import InvalidInputError, PhotosError, StoreError, TagloomError
from tagloom.learning import needs_first, suggest_first
from tagloom.learning.compare import compare
from tagloom.learning.train import train
from tagloom.metadata.formats import available_exporters
from tagloom.project import Project
from tagloom.project.export import export
from tagloom.project.scan import scan, scan_and_extract
from tagloom.project.write import write
from tagloom.review.answers import JobAnswer
from tagloom.settings import Settings
from tagloom.store import ProjectStore

__all__ = ["JOB_KINDS", "Job", "JobBoard", "JobCancelled", "JobRunningError", "job_work"]

logger = logging.getLogger(__name__)

JOB_KINDS = ("scan", "extract", "train", "compare", "write", "export")
N_KEPT = 20
_PAUSE = 0.2
_OPTIONS = {
    "scan": (),
    "extract": (),
    "train": (),
    "compare": (),
    "write": ("photos",),
    "export": ("format", "accepted_only"),
}
_SUFFIXES = {
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "coco": ".json",
    "label-studio": ".json",
    "fiftyone": ".json",
    "cvat": ".xml",
}

#: What came of a job in words, and what a comparison found of each method.
Outcome = tuple[str, list[dict[str, Any]]]
JobState = Literal["running", "done", "failed", "cancelled"]
Work = Callable[[Progress], "str | Outcome"]


class JobRunningError(StoreError):
    """Another job is at work."""


class JobCancelled(Exception):  # noqa: N818 - it is no error
    """Raised inside a job that was cancelled."""


@dataclass(slots=True)
class Job:
    """One piece of long work.

    Parameters
    ----------
    id : int
        Counts upwards.
    kind : str
        One of `JOB_KINDS`.
    label : str
        What it is doing now.
    done, total : int
        Steps of the current stage; a total of None is not known.
    state : {"running", "done", "failed", "cancelled"}
        How it stands.
    message : str
        What came of it.
    methods : list of dict
        Of a comparison: what it found of each method, see `tagloom.learning.compare.MethodFigures`.
    """

    id: int
    kind: str
    label: str = ""
    done: int = 0
    total: int | None = None
    state: JobState = "running"
    message: str = ""
    methods: list[dict[str, Any]] = field(default_factory=list)
    began: float = 0.0
    cancelled: bool = False

    def as_dict(self) -> JobAnswer:
        """Return the job as JSON can hold it."""
        left = None
        if self.state == "running" and self.total and self.done:
            left = (time.monotonic() - self.began) / self.done * (self.total - self.done)
        return {
            "id": self.id,
            "kind": self.kind,
            "label": self.label,
            "done": self.done,
            "total": self.total,
            "seconds_left": None if left is None else round(max(0.0, left), 1),
            "state": self.state,
            "message": self.message,
            "methods": self.methods,
        }


class _JobProgress:
    """Tells the pages how far a job is, a few times a second at most, and ends a job that was cancelled."""

    def __init__(self, job: Job, tell: Callable[[Job], None]) -> None:
        self._job = job
        self._tell = tell
        self._told = 0.0

    def start(self, stage: str, total: int | None = None) -> None:
        """Begin a stage."""
        self._check()
        self._job.label, self._job.total, self._job.done = stage, total, 0
        self._job.began = time.monotonic()
        self._tell(self._job)

    def advance(self, n: int = 1) -> None:
        """Count steps as done."""
        self._check()
        self._job.done += n
        if time.monotonic() - self._told > _PAUSE:
            self._told = time.monotonic()
            self._tell(self._job)

    def finish(self) -> None:
        """End the stage."""

    def _check(self) -> None:
        if self._job.cancelled:
            raise JobCancelled


class JobBoard:
    """The jobs of a review session.

    Parameters
    ----------
    tell : callable
        Gets a job whenever it has changed.
    ended : callable
        Gets a job when its work has ended, in the job's thread.
    alone : Lock
        Held while a job is at work.
    """

    def __init__(self, tell: Callable[[Job], None], ended: Callable[[Job], None], alone: threading.Lock) -> None:
        self._tell = tell
        self._ended = ended
        self._alone = alone
        self._lock = threading.Lock()
        self._jobs: list[Job] = []
        self._thread: threading.Thread | None = None
        self._n = 0

    def start(self, kind: str, work: Work) -> Job:
        """Start a job.

        Raises
        ------
        JobRunningError
            If another one is running.
        """
        if kind not in JOB_KINDS:
            raise InvalidInputError(f"kind must be one of {', '.join(JOB_KINDS)}, got {kind!r}")
        with self._lock:
            running = self.running()
            if running is not None:
                raise JobRunningError(f"{running.kind} is running; wait for it, or cancel it")
            self._n += 1
            job = Job(self._n, kind, label=kind, began=time.monotonic())
            self._jobs = [*self._jobs, job][-N_KEPT:]
            self._thread = threading.Thread(target=self._run, args=(job, work), name=f"tagloom-{kind}", daemon=True)
            self._thread.start()
        return job

    def running(self) -> Job | None:
        """Return the job that is at work."""
        return next((job for job in self._jobs if job.state == "running"), None)

    def all(self) -> list[Job]:
        """Return the latest jobs, newest first."""
        return self._jobs[::-1]

    def cancel(self, number: int) -> Job:
        """Ask a job to end at its next step; what is finished is kept."""
        job = next((job for job in self._jobs if job.id == number), None)
        if job is None:
            raise InvalidInputError(f"there is no job {number}")
        job.cancelled = True
        return job

    def close(self, seconds: float = 30.0) -> None:
        """Cancel what is running and wait for it."""
        job, thread = self.running(), self._thread
        if job is not None:
            job.cancelled = True
        if thread is not None:
            thread.join(seconds)

    def _run(self, job: Job, work: Work) -> None:
        self._tell(job)
        state: JobState
        try:
            with self._alone:
                found = work(_JobProgress(job, self._tell))
                state = "done"
                message, job.methods = (found, []) if isinstance(found, str) else found
        except JobCancelled:
            message, state = "cancelled; finished work is kept", "cancelled"
        except TagloomError as error:
            message, state = str(error), "failed"
        except Exception:
            logger.exception("%s failed", job.kind)
            message, state = f"{job.kind} failed; the log in the project's folder says why", "failed"
        # What the job changed is taken in before the pages hear that it has ended.
        self._ended(job)
        job.message, job.state = message, state
        self._tell(job)


def job_summary(kind: str, result: Mapping[str, Any]) -> str:
    """Return one sentence about what a job did."""
    sentences: dict[str, Callable[[], str]] = {
        "scan": lambda: f"{len(result['new'])} new photos, {len(result['missing'])} missing",
        "extract": lambda: f"{result['n_ready']} of {result['n_photos']} photos have features",
        "train": lambda: f"model {result['model']} learned from {result['n_labeled']} photos",
        "compare": lambda: _best_of(result["methods"]),
        "write": lambda: f"{_n_written(result)} files written{_not_written(result)}",
        "export": lambda: " ".join(
            (f"{result['n_photos']} photos exported to {', '.join(result['files'])}", result.get("withheld", ""))
        ).strip(),
    }
    return sentences[kind]()


def _best_of(methods: list[dict[str, Any]]) -> str:
    best, n = methods[0], sum(one["map"] is not None for one in methods)
    return f"{best['method']} is the best of {n} methods: {best['map']:.3f} mean average precision"


def _not_written(result: Mapping[str, Any]) -> str:
    """Return how many files could not be written, and why the first of them; empty: all were."""
    n = result["counts"].get("failed", 0)
    first = next((item for item in result["files"] if item["status"] == "failed"), None)
    return "" if not n or first is None else f", {n} not: {first['photo']}: {first['problem']}"


def _n_written(result: Mapping[str, Any]) -> int:
    return sum(n for status, n in result["counts"].items() if status in ("written", "merged"))


def job_work(project: Project, kind: str, options: dict[str, Any], *, exports: Path | None, who: str) -> Work:
    """Return what a job does, having looked whether it can be asked for.

    Parameters
    ----------
    project : Project
        The project; the job opens it anew.
    kind : str
        One of `JOB_KINDS`.
    options : dict
        Of a write: ``photos``, ids. Of an export: ``format`` and ``accepted_only``.
    exports : Path or None
        The folder that exports go to. A page never names a path.
    who : str
        For the history.
    """
    if kind not in JOB_KINDS:
        raise InvalidInputError(f"kind must be one of {', '.join(JOB_KINDS)}, got {kind!r}")
    unknown = sorted(set(options) - set(_OPTIONS[kind]))
    if unknown:
        raise InvalidInputError(f"{kind} has no option {unknown[0]!r}; it has {', '.join(_OPTIONS[kind]) or 'none'}")
    target = _target(options, exports) if kind == "export" else None
    settings = project.settings

    def work(progress: Progress) -> str | Outcome:
        with ProjectStore(project.folder, make=False) as store:
            result = _do(store, settings, kind, options, target, who, progress).as_dict()
            told = job_summary(kind, result)
            if kind == "scan" and (result["new"] or store.suggestions.latest() is None):
                told += _suggested_first(store, settings, progress)
            if kind == "write" and result["counts"].get("failed"):  # what was written is kept, and counted
                raise TagloomError(told)
            return (told, result["methods"]) if kind == "compare" else told

    return work


def _do(
    store: ProjectStore,
    settings: Settings,
    kind: str,
    options: dict[str, Any],
    target: Path | None,
    who: str,
    progress: Progress,
) -> Result:
    if kind == "scan":
        return scan(store, settings, progress=progress)
    if kind == "extract":
        return scan_and_extract(store, settings, progress=progress)
    if kind == "train":
        return train(store, settings, progress=progress)
    if kind == "compare":
        return compare(store, settings, progress=progress)
    if target is None:
        return write(store, photos=options.get("photos"), who=who, progress=progress)
    if target.parent.is_symlink() and not is_trusted(store):
        raise StoreError(f"{target.parent.name!r} is a link, and this project is a stranger's; remove the link")
    progress.start("exporting", None)
    make_folder(target.parent)
    return export(store, target, str(options["format"]), accepted_only=options.get("accepted_only", True))


def _suggested_first(store: ProjectStore, settings: Settings, progress: Progress) -> str:
    """Suggest tags by their names, where nothing else can be suggested yet; return what to say of it."""
    if not needs_first(store):
        return ""
    try:
        found = suggest_first(store, settings, progress=progress)
    except (PhotosError, StoreError):  # no photo, or nothing to go by: the photos are there all the same
        return ""
    return f"; names of {len(found.tags)} tags fit some of them"


def _target(options: dict[str, Any], exports: Path | None) -> Path:
    name = options.get("format")
    if name not in available_exporters():
        raise InvalidInputError(f"format must be one of {', '.join(available_exporters())}, got {name!r}")
    if exports is None:
        raise InvalidInputError("this review was started without a folder for exports; use: tagloom export")
    return exports / f"keywords-{time.strftime('%Y%m%d-%H%M%S')}-{name}{_SUFFIXES.get(str(name), '')}"
