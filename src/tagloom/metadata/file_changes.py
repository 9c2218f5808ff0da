"""Replacing files so that every change can be taken back byte for byte, whenever the power fails.

A change has these steps, each on stable storage before the next: what was there goes to the journal; the new content
goes to a temporary file beside the target; the two files change names in one step; the journal notes that the change is
made. A crash between any two leaves the file as it was or as it should be, and `FileChanges.recover` finds out which.

Another program may save the file at any moment. Under the temporary name then lies what came out of the target. Only if
that is what was read is it removed; otherwise the two change names once more, and the caller reads and merges again. A
program that opens the file to write into it meanwhile waits, and then finds its own file (the kernel grants that to the
owner of a file; see `tagloom.core.system.hold_off_writers`). Where a system or a file system cannot exchange names
(macOS, Windows, most network drives), the target is looked at right before it is replaced and, through an open
descriptor, right after: a save by a rename in the microseconds between is lost from the file there.
"""

import contextlib
import functools
import hashlib
import os
import stat
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tagloom.core import TEMPORARY_MARK, atomic_write, system
from tagloom.exceptions import ChangedMeanwhileError, MetadataError, WriteError
from tagloom.metadata.names import name_to_text
from tagloom.metadata.write_journal import JournalEntry, State, WriteJournal, fingerprint

__all__ = ["REMOVED", "FileChanges", "Recovered", "fingerprint_at", "real_file", "sweep"]

_NO_FILE = "no file"
REMOVED = "removed"  # in place of the fingerprint of what was written
_CHUNK = 1 << 20
_PATIENCE, _PAUSE = 1.0, 0.005  # seconds to wait until other programs have closed a file that they write to
_TRIES = 20
_SWAP = b"-swap"  # ends the name of a temporary file that is complete: from then on it may be another program's


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
    """Return the fingerprint of a file as it is now; None where there is none.

    A folder, a pipe or a device has a word that is no file's fingerprint; it is never waited for.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        return None
    except IsADirectoryError:
        return _NO_FILE
    try:
        return _digest(descriptor) if stat.S_ISREG(os.fstat(descriptor).st_mode) else _NO_FILE
    finally:
        os.close(descriptor)


def _digest(descriptor: int) -> str:
    """Return the fingerprint of what an open file holds now."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    digest = hashlib.blake2b(digest_size=32)
    while chunk := os.read(descriptor, _CHUNK):
        digest.update(chunk)
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
        self,
        path: bytes,
        before: bytes | None,
        after: bytes,
        *,
        kind: str,
        run: str = "",
        note: str = "",
        like: bytes | None = None,
    ) -> JournalEntry:
        """Put new content in place of what a file holds.

        Permissions, access lists and extended attributes stay as they are, as does the owner where the system allows.

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
        like : bytes, optional
            A file whose permissions, owner and attributes a new one gets.

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
            _put(target, entry.before, after, like)
        except ChangedMeanwhileError:
            self.journal.forget(entry)  # nothing was done, and what is there now is another program's
            raise
        except BaseException:
            with contextlib.suppress(OSError):
                self._settle(entry)
            raise
        return self.journal.mark(entry, "done")

    def remove(self, path: bytes, before: bytes, *, kind: str, run: str = "", note: str = "") -> JournalEntry:
        """Remove a file; `undo` puts it back.

        Parameters
        ----------
        path : bytes
            The file; a link is followed.
        before : bytes
            What it held when it was read.
        kind, run, note : str
            See `JournalEntry`.

        Returns
        -------
        JournalEntry
            Its ``after`` is `REMOVED`. The change is made and on stable storage.

        Raises
        ------
        ChangedMeanwhileError
            If the file is no longer what it was.
        WriteError
            If the system refuses.
        """
        target = real_file(path)
        entry = self.journal.begin(target, before, REMOVED, kind=kind, run=run, note=note)
        try:
            _remove(target, entry.before)
        except ChangedMeanwhileError:
            self.journal.forget(entry)
            raise
        except BaseException:
            with contextlib.suppress(OSError):
                self._settle(entry)
            raise
        return self.journal.mark(entry, "done")

    def undo(self, entry: JournalEntry, *, path: bytes | None = None, like: bytes | None = None) -> JournalEntry:
        """Take a change back: the file becomes byte for byte what it was, and goes if there was none.

        Parameters
        ----------
        entry : JournalEntry
            From `replace` or `entries`, with its present state.
        path : bytes, optional
            Where the file is now, if it was moved.
        like : bytes, optional
            A file whose permissions, owner and attributes one gets that had been removed.

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
        now, after = fingerprint_at(target), _after(entry)
        if now != entry.before and (now != after or entry.state != "done"):
            raise MetadataError(
                f"{_shown(target)} has changed since tagloom wrote it; undoing would lose that, so it is left alone. "
                f"Undo later writes of it first, or take the keywords out and write once more"
            )
        data = self.journal.saved(entry)
        entry = self.journal.mark(entry, "undoing")
        if now == after:
            try:
                _put(target, after, data, like) if data is not None else _remove(target, after)
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
        sweep(entry.path, {entry.before, _after(entry)})
        system.sync_folder(folder)  # a rename that the crash came right after may not have been on the disk yet
        now = fingerprint_at(entry.path)
        state: State
        if now == _after(entry):
            state, message = "done", f"{shown} had been written when the crash came"
        elif now == entry.before:
            state, message = "undone", f"{shown} is as it was before"
        else:
            state, message = "unclear", f"{shown} was changed by another program after the crash; it is left alone"
        if state == "undone" and entry.state == "pending":
            self.journal.forget(entry)  # nothing was done, so that there is nothing to undo
            return Recovered(replace(entry, state=state), message)
        return Recovered(self.journal.mark(entry, state), message)


def _after(entry: JournalEntry) -> str | None:
    return None if entry.after == REMOVED else entry.after


def sweep(target: bytes, known: Collection[str | None]) -> None:
    """Remove temporary files of a target that a crash left behind; another program's save among them is put back.

    Parameters
    ----------
    target : bytes
        The file, links resolved.
    known : collection of str or None
        Fingerprints of what it held before and after the changes that a crash interrupted.
    """
    folder, name = os.path.split(target)
    for each in os.listdir(folder):
        if not each.startswith(name + os.fsencode(TEMPORARY_MARK)):
            continue
        path = os.path.join(folder, each)
        with contextlib.suppress(OSError):
            if each.endswith(_SWAP) and fingerprint_at(path) not in known and fingerprint_at(target) in known:
                _put_back(path, target, known)
            else:
                os.unlink(path)


class _HeldFile:
    """A file that stays the same one while names change hands.

    Parameters
    ----------
    path : bytes
        A name of it.

    Attributes
    ----------
    held_off : bool or None
        Whether other programs wait before they write into it; False: one is writing, None: they do not wait.
    """

    def __init__(self, path: bytes) -> None:
        flags = os.O_RDONLY
        for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY", "O_NOINHERIT"):
            flags |= getattr(os, name, 0)
        self._descriptor = os.open(path, flags)
        self.held_off = system.hold_off_writers(self._descriptor)
        end = time.monotonic() + _PATIENCE
        while self.held_off is False and time.monotonic() < end:
            time.sleep(_PAUSE)
            self.held_off = system.hold_off_writers(self._descriptor)

    def is_named(self, path: bytes) -> bool:
        """Tell whether this is the file that has a name now."""
        return os.path.samestat(os.fstat(self._descriptor), os.lstat(path))

    def fingerprint(self) -> str:
        """Return the fingerprint of what it holds now."""
        return _digest(self._descriptor)

    def is_still(self, expected: str) -> bool:
        """Tell whether a file that had this fingerprint still has, and nobody is about to change that."""
        if self.held_off:
            return not system.is_writer_waiting(self._descriptor)
        return self.held_off is None and self.fingerprint() == expected

    def content(self) -> bytes:
        """Return what it holds now."""
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        return b"".join(iter(lambda: os.read(self._descriptor, _CHUNK), b""))

    def close(self) -> None:
        """Let other programs write again; to close it twice changes nothing."""
        if self._descriptor >= 0:
            if self.held_off:
                system.let_writers_in(self._descriptor)
            os.close(self._descriptor)
            self._descriptor = -1


@contextlib.contextmanager
def _held(path: bytes, expected: str | None) -> Iterator[_HeldFile]:
    """Hold a file that must have a fingerprint and must not be written to by others."""
    try:
        file = _HeldFile(path)
    except FileNotFoundError:
        raise _changed(path) from None
    try:
        if file.held_off is False or file.fingerprint() != expected:
            raise _changed(path)
        yield file
    finally:
        file.close()


def _put(target: bytes, expected: str | None, data: bytes, like: bytes | None = None) -> None:
    """Replace a file if it still has the expected fingerprint; a new one gets the attributes of another."""
    model = like if expected is None else target
    put = functools.partial(_take_place, expected=expected, new=fingerprint(data))
    with atomic_write(os.fsdecode(target), put=put) as handle:
        handle.write(data)
        handle.flush()
        if model is not None:
            with contextlib.suppress(FileNotFoundError):  # seen below
                system.copy_attributes(model, os.fsencode(handle.name))


def _take_place(temporary: Path, place: Path, *, expected: str | None, new: str) -> None:
    """Let a complete file take the place of one with the expected fingerprint, or of none."""
    target = os.fsencode(place)
    swap = os.fsencode(temporary) + _SWAP
    if expected is None:
        try:
            system.move_to_free_name(os.fsencode(temporary), target)
        except FileExistsError:
            raise _changed(target) from None
        return
    # By another name: from here on what lies there may be another program's, and is not removed unseen.
    os.replace(temporary, swap)
    exchanged = False
    try:
        with _held(target, expected) as held:
            if not held.is_named(target):
                raise _changed(target)
            # As little as possible between this look, the exchange and the next look: what came out wrongly is
            # missing from its place for that long.
            exchanged = system.exchange_files(swap, target)
            if not exchanged:
                _replace(swap, target, held, expected, new)
                return
            if held.is_named(swap) and held.held_off is None:
                system.sync_folder(os.path.dirname(target))  # takes its time, in which others finish what they write
            if not held.is_named(swap) or not held.is_still(expected):
                _put_back(swap, target, {new})
                raise _changed(target)
            os.unlink(swap)
    except FileNotFoundError:
        raise _changed(target) from None
    finally:
        if not exchanged and fingerprint_at(swap) == new:
            os.unlink(swap)


def _put_back(swap: bytes, target: bytes, known: Collection[str | None]) -> None:
    """Bring another program's save back to its place, unless a still later one has come there meanwhile.

    Parameters
    ----------
    swap, target : bytes
        The save, and its place.
    known : collection of str or None
        Fingerprints of what may be removed from there.
    """
    known = {*known}
    for _ in range(_TRIES):
        with open(swap, "rb") as save:
            try:
                exchanged = system.exchange_files(swap, target)  # before all else: the save is missing from its place
            except FileNotFoundError:
                with contextlib.suppress(FileExistsError):
                    system.move_to_free_name(swap, target)
                    return
                continue
            put_back = _digest(save.fileno())
        if not exchanged:
            if os.path.lexists(target) and fingerprint_at(target) not in known:
                os.unlink(swap)  # a later save is there
            else:
                os.replace(swap, target)
            return
        out = _HeldFile(swap)
        try:
            if out.held_off is not False and out.fingerprint() in known and out.is_still(out.fingerprint()):
                os.unlink(swap)
                return
        finally:
            out.close()
        known.add(put_back)  # what came out is later, and goes back in its place


def _replace(swap: bytes, target: bytes, held: _HeldFile, expected: str, new: str) -> None:
    """Replace a file where names cannot be exchanged; what another program wrote into it meanwhile is put back."""
    if os.name == "nt":
        held.close()  # Windows does not replace a file that is open
        os.replace(swap, target)
        return
    if not held.is_named(target):
        os.unlink(swap)
        raise _changed(target)
    os.replace(swap, target)
    system.sync_folder(os.path.dirname(target))
    if not held.is_still(expected):
        if fingerprint_at(target) == new:
            with atomic_write(os.fsdecode(target)) as handle:
                handle.write(held.content())
                system.copy_attributes(target, os.fsencode(handle.name))
        raise _changed(target)


def _remove(target: bytes, expected: str | None) -> None:
    """Remove a file if it still has the expected fingerprint."""
    folder, name = os.path.split(target)
    swap = os.path.join(folder, name + os.fsencode(f"{TEMPORARY_MARK}{os.getpid()}-{time.monotonic_ns()}") + _SWAP)
    try:
        with _held(target, expected) as held:
            if os.name == "nt":
                held.close()  # Windows does not rename a file that is open
            try:
                os.rename(target, swap)
            except FileNotFoundError:
                raise _changed(target) from None
            is_same = fingerprint_at(swap) == expected if os.name == "nt" else held.is_named(swap)
            try:
                if not is_same or (os.name != "nt" and not held.is_still(str(expected))):
                    raise _changed(target)
                os.unlink(swap)
            except BaseException:
                _put_back(swap, target, ())
                raise
        system.sync_folder(folder)
    except OSError as error:
        raise WriteError(
            error.errno or 0, f"could not remove {_shown(target)} ({error.strerror or error})", os.fsdecode(target)
        ) from error


def _changed(target: bytes) -> ChangedMeanwhileError:
    return ChangedMeanwhileError(f"{_shown(target)} was changed by another program; it has not been touched")


def _shown(path: bytes) -> str:
    return repr(name_to_text(os.path.basename(path)))
