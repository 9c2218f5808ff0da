"""Which files may be written over: no photo ever, and nothing else that tagloom did not make itself.

What a stranger's project says that tagloom made counts in the stranger's own folder alone, and no link in that folder
leads a file out of it.
"""

import hashlib
import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tagloom.catalog.places import FOLDER_NAME, project_folder_around
from tagloom.catalog.trust import is_trusted
from tagloom.core import (
    PHOTO_EXTENSIONS,
    RAW_EXTENSIONS,
    SIDECAR_EXTENSIONS,
    VIDEO_EXTENSIONS,
    before_replacing,
)
from tagloom.exceptions import InvalidInputError, StoreError, WriteError
from tagloom.store import DATABASE, ProjectStore

__all__ = ["MadeFiles", "check_report_target", "check_results", "refuse_foreign_target", "refuse_way_out"]

logger = logging.getLogger(__name__)

MADE_FILES = "made_files"  # the setting that holds the record
N_KNOWN = 500
_SACRED = PHOTO_EXTENSIONS | RAW_EXTENSIONS | VIDEO_EXTENSIONS | SIDECAR_EXTENSIONS
_REPORT_HEAD, _REPORT_MARK = 4096, b'<meta name="generator" content="tagloom '


class MadeFiles:
    """The files that tagloom made outside of a project's folder, each with a digest of what it wrote there last.

    While a file is written, it has two: a process may end before the new content is in its place, and after it.

    Parameters
    ----------
    store : ProjectStore
        Keeps the record: the latest 500 files.
    """

    def __init__(self, store: ProjectStore) -> None:
        self._store = store

    def holds(self, path: Path) -> bool:
        """Tell whether a file is as tagloom wrote it.

        A stranger can enter any file: of files elsewhere the record of a project that is not trusted says nothing.
        """
        if not _is_in(os.path.realpath(path), _territory(self._store)) and not is_trusted(self._store):
            return False
        known = self._read().get(self._key(path))
        return known is not None and _digest(path) in known

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Remember what is written in the body, each file before it is in its place."""

        def note(path: Path, content: Path) -> None:
            with suppress(StoreError, WriteError, OSError):  # said by `note`, which comes in the end
                key, digest = self._key(path), _digest(content)
                self._keep(lambda known: {key: [*known.get(key, [])[-1:], digest]})

        with before_replacing(note):
            yield

    def note(self, paths: Iterable[Path]) -> None:
        """Remember files as they are now. That this fails is no harm: they count as foreign from then on."""
        try:
            now = {self._key(path): [_digest(path)] for path in paths}
            self._keep(lambda _: now)
        except (StoreError, WriteError, OSError) as error:
            logger.warning("could not remember which files were written (%s)", error)

    def _keep(self, change: Callable[[Mapping[str, list[str]]], dict[str, list[str]]]) -> None:
        with self._store.transaction():
            known = self._read()
            new = change(known)
            kept = [item for item in known.items() if item[0] not in new] + list(new.items())
            self._store.settings.set(MADE_FILES, kept[-N_KNOWN:])

    def _read(self) -> dict[str, list[str]]:
        found = self._store.settings.get(MADE_FILES, [])
        return {key: [known] if isinstance(known, str) else known for key, known in found}

    def _key(self, path: Path) -> str:
        """Return a path relative to the folder around the project's, so that both may move; others as they are."""
        around = os.path.dirname(os.path.realpath(self._store.folder))
        place = os.path.realpath(path)
        is_below = place.startswith(os.path.join(around, ""))
        return os.path.relpath(place, around) if is_below else place


def refuse_way_out(store: ProjectStore, path: str | os.PathLike[str]) -> None:
    """Refuse a file to write that a link in a stranger's folder would take elsewhere.

    A person who names ``keywords.csv`` there means a file in that folder, and not what a link of that name leads to.
    Links of the user's own, and those in a project that is trusted, are followed.

    Parameters
    ----------
    store : ProjectStore
        The project.
    path : path
        The file or folder to write.

    Raises
    ------
    InvalidInputError
        If a link on the way leads out.
    """
    if is_trusted(store):
        return
    territory = _territory(store)
    place = os.path.realpath(os.sep if os.path.isabs(path) else os.curdir)
    for part in Path(path).parts:
        named = os.path.join(place, part)
        reached = os.path.realpath(named)
        if part != os.pardir and _is_in(place, territory) and not _is_in(reached, territory):
            raise InvalidInputError(
                f"{named!r} is a link out of the folder of a project that you do not trust, so nothing was written; "
                f"choose another name, or run: tagloom trust"
            )
        place = reached


def _territory(store: ProjectStore) -> str:
    """Return the folder that came with a project: the one around ``.tagloom``, or a project's folder elsewhere."""
    folder = os.path.realpath(store.folder)
    return os.path.dirname(folder) if os.path.basename(folder) == FOLDER_NAME else folder


def _is_in(place: str, folder: str) -> bool:
    return place == folder or place.startswith(os.path.join(folder, ""))


def refuse_foreign_target(
    path: str | os.PathLike[str], is_own: Callable[[Path], bool], *, remedy: str, overwrite: bool = False
) -> None:
    """Refuse a file to write, or a folder to write into, where something would be lost.

    What does not exist yet, an empty file and a folder without files may be written. Of a symbolic link it is the file
    that it leads to.

    Parameters
    ----------
    path : path
        The file or folder.
    is_own : callable
        Tells of an existing file whether tagloom made it.
    remedy : str
        What to do, for the message.
    overwrite : bool, default=False
        Whether files of others may be replaced: never photos, raw files, sidecars and what lies in a project's folder.

    Raises
    ------
    InvalidInputError
        If it must not be written.
    """
    target = Path(os.path.realpath(path)) if os.path.exists(path) else Path(path)
    if os.path.splitext(os.fsencode(target))[1].lower() in _SACRED:
        raise InvalidInputError(
            f"expected a name for a new file, but {str(target)!r} has the extension of a photo, a raw file or a "
            f"sidecar, which tagloom never overwrites; choose another name"
        )
    inside = project_folder_around(target.parent)
    if inside is not None:
        raise InvalidInputError(
            f"expected a path outside of {str(inside)!r}, where tagloom keeps a project, but got {str(target)!r}; "
            f"choose another folder"
        )
    if not os.path.lexists(target):
        return
    if not target.is_file() and not target.is_dir():
        raise InvalidInputError(f"expected a file to write, but {str(target)!r} is something else; choose another name")
    if not overwrite and not all(_may_go(file, is_own) for file in _files(target)):
        what = (
            "and tagloom did not write it, or it has changed since" if target.is_file() else "and other files are in it"
        )
        raise InvalidInputError(f"{str(target)!r} is there already {what}; {remedy}")


def check_report_target(path: str | os.PathLike[str]) -> None:
    """Refuse a file for a report if another file than a report of tagloom is there.

    Raises
    ------
    InvalidInputError
        If it must not be written.
    """
    refuse_foreign_target(path, _is_report, remedy="name another file, as in: tagloom report --out OTHER.html")


def check_results(
    out: Path,
    names: Sequence[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    overwrite: bool = False,
) -> None:
    """Refuse a folder for results in which a file would be lost.

    Parameters
    ----------
    out : Path
        The folder; it need not exist. What was made in it is remembered in its ``.tagloom``.
    names : sequence of str
        The files that will be made or replaced in it.
    inputs : iterable of path
        Files that are read; they are never replaced.
    overwrite : bool, default=False
        Whether other files may be replaced.

    Raises
    ------
    InvalidInputError
        If one of them must not be written.
    """
    read = list(inputs)
    with ExitStack() as stack:
        is_own = _is_report
        if (out / FOLDER_NAME / DATABASE).is_file():
            store = stack.enter_context(ProjectStore(out / FOLDER_NAME, make=False))
            made = MadeFiles(store)
            is_own = lambda path: _is_report(path) or made.holds(path)  # noqa: E731
            for name in names:
                refuse_way_out(store, out / name)
        for name in names:
            if any(_is_same(file, out / name) for file in read):
                raise InvalidInputError(
                    f"{str(out / name)!r} is to be read, and would be replaced by the results; move it to another "
                    f"place, or name another folder with --out"
                )
            remedy = "move it away, name another folder with --out, or replace it with --overwrite"
            refuse_foreign_target(out / name, is_own, remedy=remedy, overwrite=overwrite)


def _is_report(path: Path) -> bool:
    with open(path, "rb") as handle:
        return _REPORT_MARK in handle.read(_REPORT_HEAD)


def _is_same(one: str | os.PathLike[str], other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def _may_go(path: Path, is_own: Callable[[Path], bool]) -> bool:
    try:
        return path.is_file() and (path.stat().st_size == 0 or is_own(path))
    except OSError:  # what cannot be read cannot be told
        return False


def _files(target: Path) -> Iterator[Path]:
    """Yield a file itself, and all that is in a folder but for the folders in it."""
    if target.is_file():
        yield target
        return
    for folder, _, names in os.walk(target):
        yield from (Path(folder, name) for name in names)


def _digest(path: Path) -> str:
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
