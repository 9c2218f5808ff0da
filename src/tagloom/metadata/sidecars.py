"""Writing keywords to XMP sidecars: read, merge, journal, replace. The photos themselves are never opened."""

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tagloom.core import NO_PROGRESS, Keyword, Progress, SidecarName, Verdict
from tagloom.exceptions import ChangedMeanwhileError, MetadataError, TagloomError
from tagloom.images import CallFailure, CallLimits, LimitedCalls, Refused, one_line, read_file
from tagloom.metadata.file_changes import FileChanges, real_file
from tagloom.metadata.names import name_to_text
from tagloom.metadata.photo_keywords import find_sidecar, new_sidecar
from tagloom.metadata.sidecar_plan import FieldChange, SidecarPlan, describe, plan_sidecar
from tagloom.metadata.write_journal import JournalEntry, fingerprint
from tagloom.metadata.xmp_read import NOTHING, FieldRecord, Stated
from tagloom.metadata.xmp_tree import LARGEST_XMP

__all__ = [
    "FileMemory",
    "KeywordChange",
    "SidecarWriter",
    "WriteOutcome",
    "is_disk_full",
    "line_of",
    "plan_foreign",
    "plan_limited",
    "remembered",
]

_TRIES = 3
SMALL = 1 << 16  # bytes of XMP that can take no more than half a second and a few MB to understand
LIMITS = CallLimits()  # of what is larger
_NO_SPACE = frozenset({errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)})  # a quota is no matter on Windows
Status = Literal["planned", "written", "merged", "unchanged", "failed"]


@dataclass(frozen=True, slots=True)
class FileMemory:
    """What tagloom remembers of a file.

    Parameters
    ----------
    own : Stated
        What it brought to the file (``SidecarPlan.own``): what is not asked for any more goes.
    record : FieldRecord or None
        What the file's fields said when it was last read or written: it tells what other programs did since.
    """

    own: Stated = NOTHING
    record: FieldRecord | None = None


NO_MEMORY = FileMemory()


def remembered(memory: Mapping[str | bytes, FileMemory], file: bytes, digest: str) -> FileMemory:
    """Return what is known of a file: by its content, or else by its path.

    Parameters
    ----------
    memory : mapping of str or bytes to FileMemory
        See `KeywordChange`.
    file : bytes
        Its path.
    digest : str
        Its fingerprint.
    """
    return (memory.get(digest) or memory.get(os.path.realpath(file)) or NO_MEMORY) if memory else NO_MEMORY


@dataclass(frozen=True, slots=True)
class KeywordChange:
    """What is asked for one photo.

    Parameters
    ----------
    photo : bytes
        The photo's path.
    add, remove : tuple of Keyword
        Keywords to bring into the sidecar, and to take out of it.
    seen : str or None
        The sidecar's fingerprint when its keywords were last read (``FoundKeywords.fingerprint`` or
        ``WriteOutcome.fingerprint``; empty for no sidecar), to report that another program changed it since. None
        leaves that open.
    memory : mapping of str or bytes to FileMemory
        What is known of files, by their fingerprint, or by their path with links resolved.
    again : tuple of Keyword
        Those that a person decided on after what is remembered: they come and go also if another program has done
        otherwise since.
    sidecar : bytes or None
        The sidecar to write, where a photo has two. Default: the first choice.
    """

    photo: bytes
    add: tuple[Keyword, ...] = ()
    remove: tuple[Keyword, ...] = ()
    seen: str | None = None
    memory: Mapping[str | bytes, FileMemory] = field(default_factory=dict)
    again: tuple[Keyword, ...] = ()
    sidecar: bytes | None = None

    def memory_of(self, file: bytes, content: bytes | None) -> FileMemory:
        """Return what is known of a file that has this content; None: there is no file."""
        return NO_MEMORY if content is None or not self.memory else remembered(self.memory, file, fingerprint(content))


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What became of it.

    Parameters
    ----------
    photo, file : bytes
        The photo, and the file that keywords are written to: its sidecar, or the photo where they are embedded.
    status : {"planned", "written", "merged", "unchanged", "failed"}
        ``merged`` is written as well, into a sidecar that another program had changed since it was seen.
    plan : SidecarPlan or None
        Bytes and keywords before and after; None if it failed before there was a plan.
    entry : JournalEntry or None
        What undoes it.
    problem : str
        One line for a person if it failed.
    """

    photo: bytes
    file: bytes
    status: Status
    plan: SidecarPlan | None = None
    entry: JournalEntry | None = None
    problem: str = ""

    @property
    def fingerprint(self) -> str:
        """Of the file as this outcome leaves it; empty if there is none."""
        if self.entry is not None:
            return self.entry.after
        if self.plan is None or self.plan.after is None:
            return ""
        return fingerprint(self.plan.after)

    def describe(self, *, lines: bool = False) -> str:
        """Return for a person what was or would be done; see `tagloom.metadata.describe`."""
        name = one_line(name_to_text(os.path.basename(self.file)))
        if self.plan is None:
            return f"{name}: {self.problem}"
        text = describe(self.plan, name, lines=lines)
        if self.status == "merged":
            text += "\n  (another program had changed it; what that program wrote is kept)"
        return text + (f"\n  ({self.problem})" if self.problem else "")


class SidecarWriter:
    """Writes keywords to sidecars.

    A photo's sidecar is the one that is there, ``photo.jpg.xmp`` or ``photo.xmp``, or else a new one. It is read right
    before it is written, so that what other programs did to it is kept.

    Parameters
    ----------
    changes : FileChanges
        The journal; its ``undo`` and ``recover`` are for sidecars as well.
    names : {"photo.jpg.xmp", "photo.xmp"}, default="photo.jpg.xmp"
        How a new sidecar is named, and which one is written where both are there.
    """

    def __init__(self, changes: FileChanges, *, names: SidecarName = "photo.jpg.xmp") -> None:
        self._changes = changes
        self._names: SidecarName = names

    def plan(self, change: KeywordChange) -> WriteOutcome:
        """Work out what `write` would do, and change nothing.

        Parameters
        ----------
        change : KeywordChange
            What is asked.
        """
        path = self._path(change)
        try:
            content = _read(path)
            known = change.memory_of(path, content)
            plan = plan_foreign(content, change.add, change.remove, known, change.again)
        except TagloomError as error:
            return WriteOutcome(change.photo, path, "failed", problem=line_of(error))
        return WriteOutcome(change.photo, path, "planned" if plan.changes else "unchanged", plan)

    def write(
        self, changes: Iterable[KeywordChange], *, run: str = "", progress: Progress = NO_PROGRESS
    ) -> Iterator[WriteOutcome]:
        """Write one sidecar after the other; a failure concerns its own file only, but for a full disk.

        Parameters
        ----------
        changes : iterable of KeywordChange
            What is asked.
        run : str, default=""
            A name under which the journal keeps them together.
        progress : Progress, default=NO_PROGRESS
            Advanced by each photo.

        Yields
        ------
        WriteOutcome
            When it is on stable storage.

        Raises
        ------
        WriteError
            If the disk is full: no other file would fare better. What was written is kept, and the journal knows it.
        """
        for change in changes:
            yield self._write(change, run)
            progress.advance()

    def _path(self, change: KeywordChange) -> bytes:
        photo = change.photo
        return change.sidecar or find_sidecar(photo, self._names) or new_sidecar(photo, self._names)

    def _write(self, change: KeywordChange, run: str) -> WriteOutcome:
        was_changed = False
        problem = "other programs keep changing the sidecar; close them and run again"
        path = self._path(change)
        for _ in range(_TRIES):
            outcome = self.plan(change)
            path = outcome.file
            if outcome.plan is None or outcome.plan.after is None or not outcome.plan.changes:
                return outcome
            plan = outcome.plan
            seen = "" if plan.before is None else fingerprint(plan.before)
            was_changed = was_changed or (change.seen is not None and change.seen != seen)
            try:
                entry = self._changes.replace(
                    path, plan.before, outcome.plan.after, kind="sidecar", run=run, note=plan.note()
                )
            except ChangedMeanwhileError:
                was_changed = True
            except (TagloomError, OSError) as error:
                if is_disk_full(error):
                    raise
                problem = line_of(error)
                break
            else:
                return WriteOutcome(change.photo, path, "merged" if was_changed else "written", plan, entry)
        return WriteOutcome(change.photo, path, "failed", problem=problem)


def plan_foreign(
    packet: bytes | None,
    add: Iterable[Keyword],
    remove: Iterable[Keyword],
    known: FileMemory,
    again: Iterable[Keyword],
) -> SidecarPlan:
    """Work out what a packet of unknown origin becomes, a large one in a process with limits on memory and time.

    Parameters
    ----------
    packet : bytes or None
        Untrusted.
    add, remove, known, again
        As of `plan_sidecar`; ``known`` is what is remembered of the file.

    Raises
    ------
    MetadataError
        If it cannot be understood, or takes too much.
    """
    if packet is None or len(packet) <= SMALL:
        return plan_sidecar(packet, add, remove, known.own, known.record, again)
    record = None if known.record is None else known.record.as_dict()
    texts = [[keyword.text for keyword in each] for each in (add, remove, again)]
    try:
        with LimitedCalls(LIMITS, (SidecarPlan, FieldChange, Stated, FieldRecord, Keyword)) as calls:
            (plan,) = calls.stream(f"{__name__}:{plan_limited.__name__}", packet, *texts, known.own.to_text(), record)
    except CallFailure as failure:
        raise MetadataError(f"its XMP could not be understood: {failure.reason}; it is left alone") from failure
    return replace(plan, before=packet)


def plan_limited(
    packet: bytes, add: list[str], remove: list[str], again: list[str], own: str, record: dict[str, Any] | None
) -> Iterator[SidecarPlan]:
    """Yield what becomes of a packet; what `plan_foreign` calls in a worker process."""
    said = None if record is None else FieldRecord.from_dict(record)
    adding, removing, asked = ([Keyword.parse(text) for text in each] for each in (add, remove, again))
    yield replace(plan_sidecar(packet, adding, removing, Stated.from_text(own), said, asked), before=None)


def is_disk_full(error: BaseException) -> bool:
    """Tell whether an error is that there is no space left, which concerns every file to come."""
    return isinstance(error, OSError) and error.errno in _NO_SPACE


def line_of(error: BaseException) -> str:
    """Return an error as one line for a person, without the numbers and paths of an `OSError`."""
    return str(error.strerror if isinstance(error, OSError) and error.strerror else error)


def _read(path: bytes) -> bytes | None:
    """Return a sidecar's bytes, None where there is none."""
    target = real_file(path)
    try:
        return read_file(target, longest=LARGEST_XMP).data
    except Refused as refused:
        if refused.verdict == Verdict.EMPTY:
            return b""
        if refused.verdict == Verdict.MISSING:
            return None
        raise MetadataError(f"the sidecar cannot be read: {refused.detail}") from refused
