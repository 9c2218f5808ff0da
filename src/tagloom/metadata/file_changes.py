"""Replacing files so that every change can be taken back byte for byte, whenever the power fails.

A change has these steps, each on stable storage before the next: what was there goes to the journal; the new content
goes to a temporary file beside the target; the target is looked at once more and must be what it was; the temporary
file takes its place by a rename; the journal notes that the change is made. A crash between any two leaves the file as
it was or as it should be, and `FileChanges.recover` finds out which.

Between the last look and the rename lie some microseconds in which another program's save would be lost from the file
(not from that program): no system call of POSIX or Windows closes this gap.
"""

import contextlib
import hashlib
import os
import shutil
import stat
from dataclasses import dataclass, replace

from tagloom.core import system
from tagloom.core.files import TEMPORARY_MARK, atomic_write
from tagloom.exceptions import ChangedMeanwhileError, MetadataError, WriteError
from tagloom.metadata.names import name_to_text
from tagloom.metadata.write_journal import JournalEntry, State, WriteJournal, fingerprint

__all__ = ["FileChanges", "Recovered", "fingerprint_at", "real_file"]

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class Recovered:
    """What became of a change that a crash had interrupted.

    Parameters
    ----------
    entry : JournalEntry
        With its new state, ``done``, ``undone`` or ``unclear``; still ``pending`` or ``undoing`` where the folder
        cannot be reached now.
    message : str
        One line for a person.
    """

    entry: JournalEntry
    message: str


def real_file(path: bytes) -> bytes:
    """Return the absolute path of the file that a name stands for, links resolved, whether it exists or not.

    Parameters
    ----------
    path : bytes
        The name.

    Raises
    ------
    MetadataError
        If it is something else than a file, or a link that points to nothing.
    """
    target = os.path.realpath(path)
    try:
        mode = os.stat(target).st_mode
    except FileNotFoundError:
        if os.path.islink(path):
            raise MetadataError(
                f"expected a file, got {_shown(path)}, a symbolic link that points to nothing; remove the link"
            ) from None
        return target
    except OSError as error:
        raise MetadataError(f"{_shown(path)} cannot be reached: {error.strerror or error}") from error
    if not stat.S_ISREG(mode):
        raise MetadataError(f"expected a file, got {_shown(path)}, which is none; move it away")
    return target


def fingerprint_at(path: bytes) -> str | None:
    """Return the fingerprint of a file as it is now; None where there is none."""
    digest = hashlib.blake2b(digest_size=32)
    try:
        with open(path, "rb") as handle:
            while chunk := handle.read(_CHUNK):
                digest.update(chunk)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


class FileChanges:
    """Replaces files, keeps what they held, and takes changes back.

    Parameters
    ----------
    folder : path
        Of the journal; made if it is missing. The caller holds the project's lock while anything here is called.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.journal = WriteJournal(folder)

    def entries(self, *, run: str | None = None) -> list[JournalEntry]:
        """Return all changes, or those of one run, oldest first."""
        return self.journal.entries(run=run)

    def replace(
        self, path: bytes, before: bytes | None, after: bytes, *, kind: str, run: str = "", note: str = ""
    ) -> JournalEntry:
        """Put new content in place of what a file holds.

        Permissions stay as they are, as does the owner where the system allows it.

        Parameters
        ----------
        path : bytes
            The file; a link is followed.
        before : bytes or None
            What the file held when it was read; None if there was none.
        after : bytes
            What it shall hold.
        kind, run, note : str
            See `JournalEntry`.

        Returns
        -------
        JournalEntry
            The change is made and on stable storage.

        Raises
        ------
        ChangedMeanwhileError
            If the file is no longer what it was.
        WriteError
            If the system refuses.
        """
        target = real_file(path)
        entry = self.journal.begin(target, before, fingerprint(after), kind=kind, run=run, note=note)
        try:
            _put(target, entry.before, after)
        except BaseException:
            with contextlib.suppress(OSError):
                self._settle(entry)
            raise
        return self.journal.mark(entry, "done")

    def undo(self, entry: JournalEntry, *, path: bytes | None = None) -> JournalEntry:
        """Take a change back: the file becomes byte for byte what it was, and goes if there was none.

        Parameters
        ----------
        entry : JournalEntry
            From `replace` or `entries`, with its present state.
        path : bytes, optional
            Where the file is now, if it was moved.

        Raises
        ------
        MetadataError
            If the file was changed after it was written here; it is then left alone.
        WriteError
            If the system refuses.
        """
        target = real_file(entry.path if path is None else path)
        if entry.state == "undone":
            return entry
        now = fingerprint_at(target)
        if now != entry.before and (now != entry.after or entry.state != "done"):
            raise MetadataError(
                f"{_shown(target)} is no longer as it was written, so that undoing would lose what came after; it is "
                f"left alone. Undo later writes of it first, or take the keywords out again and write once more"
            )
        data = self.journal.saved(entry)
        entry = self.journal.mark(entry, "undoing")
        if now == entry.after:
            try:
                _put(target, entry.after, data) if data is not None else _remove(target, entry.after)
            except BaseException:
                with contextlib.suppress(OSError):
                    self._settle(entry)
                raise
        return self.journal.mark(entry, "undone")

    def recover(self) -> list[Recovered]:
        """Bring changes to an end that a crash interrupted; files are left as the crash left them.

        Returns
        -------
        list of Recovered
            One for each such change; empty where there was no crash.
        """
        self.journal.sweep()
        return [self._settle(entry) for entry in self.journal.entries(states=("pending", "undoing"))]

    def forget(self, entry: JournalEntry) -> None:
        """Remove a change from the journal: it can no longer be undone."""
        self.journal.forget(entry)

    def _settle(self, entry: JournalEntry) -> Recovered:
        folder = os.path.dirname(entry.path)
        shown = _shown(entry.path)
        if not os.path.isdir(folder):
            return Recovered(entry, f"{shown} cannot be reached now; run again when its folder is back")
        _sweep(entry.path)
        system.sync_folder(folder)  # a rename that the crash came right after may not have been on the disk yet
        now = fingerprint_at(entry.path)
        state: State
        if now == entry.after:
            state, message = "done", f"{shown} had been written when the crash came"
        elif now == entry.before:
            state, message = "undone", f"{shown} is as it was before"
        else:
            state, message = "unclear", f"{shown} was changed by another program after the crash; it is left alone"
        if state == "undone" and entry.state == "pending":
            self.journal.forget(entry)  # nothing was done, so that there is nothing to undo
            return Recovered(replace(entry, state=state), message)
        return Recovered(self.journal.mark(entry, state), message)


def _put(target: bytes, expected: str | None, data: bytes) -> None:
    """Replace a file if it still has the expected fingerprint."""
    with atomic_write(os.fsdecode(target)) as handle:
        handle.write(data)
        if expected is not None:
            with contextlib.suppress(FileNotFoundError):  # seen below
                _keep_permissions(target, handle.name)
        handle.flush()
        # Synchronising takes milliseconds: done before the look at the target, it does not widen the gap after it.
        system.sync_file(handle.fileno())
        if fingerprint_at(target) != expected:
            raise ChangedMeanwhileError(f"{_shown(target)} was changed by another program; it has not been touched")


def _remove(target: bytes, expected: str | None) -> None:
    if fingerprint_at(target) != expected:
        raise ChangedMeanwhileError(f"{_shown(target)} was changed by another program; it has not been touched")
    try:
        os.unlink(target)
        system.sync_folder(os.path.dirname(target))
    except OSError as error:
        raise WriteError(
            error.errno or 0, f"could not remove {_shown(target)} ({error.strerror or error})", os.fsdecode(target)
        ) from error


def _keep_permissions(target: bytes, temporary: str) -> None:
    status = os.stat(target)
    if hasattr(os, "chown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        with contextlib.suppress(PermissionError):
            os.chown(temporary, status.st_uid, status.st_gid)
    shutil.copymode(target, temporary)  # after the owner: changing that clears some permissions


def _sweep(target: bytes) -> None:
    """Remove temporary files of a target that a crash left behind."""
    folder, name = os.path.split(target)
    for each in os.listdir(folder):
        if each.startswith(name + os.fsencode(TEMPORARY_MARK)):
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(folder, each))


def _shown(path: bytes) -> str:
    return repr(name_to_text(os.path.basename(path)))
