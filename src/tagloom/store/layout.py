"""The folder of a project: what it may hold, making it, and removing it."""

import contextlib
import logging
import os
import re
from collections.abc import Iterator
from pathlib import Path

from tagloom.core import TEMPORARY_MARK
from tagloom.exceptions import DamagedStoreError, StoreError, WriteError
from tagloom.store.folder import ProjectFolder, is_bare, temporary_of
from tagloom.store.lock import FolderLock

__all__ = [
    "BACKUPS",
    "DATABASE",
    "FEATURES",
    "KEPT",
    "MODELS",
    "SCRATCH",
    "SUGGESTIONS",
    "USER_SETTINGS",
    "WRITTEN",
    "make_project_folder",
    "refuse_emptied",
    "remove_project",
]

logger = logging.getLogger(__name__)

DATABASE = "tagloom.sqlite"
BACKUPS = "backups"
FEATURES = "features"
MODELS = "models"
KEPT = "kept"
SUGGESTIONS = "suggestions"
WRITTEN = "written"
SCRATCH = "scratch-"  # in WRITTEN: folders in which copies of photos are worked on
USER_SETTINGS = "tagloom.toml"
# What may lie beside a database that a process was killed in the making of.
_OF_A_NEW_PROJECT = frozenset(
    {
        DATABASE,
        USER_SETTINGS,
        "README.txt",
        "lock",
        "logs",
        FEATURES,
        *(f"{DATABASE}{end}" for end in ("-wal", "-shm", "-journal")),
    }
)
README = """This folder was made by tagloom. It holds what you decided about your photos, and features and thumbnails of
them, so they need not be read again. Your photos are not in it. If you delete it, your decisions are lost.
"""
# Compiled where they are used, which is when a project is removed: every other start is spared it.
_SQLITE = r"(tagloom|thumbnails)\.sqlite(-wal|-shm|-journal)?"
_TEMPORARY = rf"({re.escape(TEMPORARY_MARK)}\d+-\d+(-journal|-wal|-shm)?)?"
_KNOWN_FILES = "|".join(
    (
        rf"README\.txt{_TEMPORARY}",
        r"lock",
        rf"{_SQLITE}{_TEMPORARY}",
        rf"features/[\w.-]+/[0-9a-f]{{32}}\.safetensors{_TEMPORARY}",
        rf"backups/[\w.-]+\.sqlite(-wal)?{_TEMPORARY}",
        rf"({MODELS}|{SUGGESTIONS}|{KEPT})/[0-9a-f]{{32}}\.safetensors{_TEMPORARY}",
        rf"vocabularies/[\w.-]+\.safetensors{_TEMPORARY}",
        rf"{WRITTEN}/[0-9a-f]{{64}}{_TEMPORARY}",
        rf"{WRITTEN}/{SCRATCH}\w+/((original|copy)\.\w+|packet\.xmp)",
        r"logs/tagloom\.log(\.\d+)?",
    )
)
_KNOWN_FOLDERS = (
    rf"features(/[\w.-]+)?|backups|{MODELS}|{SUGGESTIONS}|{KEPT}|vocabularies|{WRITTEN}(/{SCRATCH}\w+)?|logs"
)


def make_project_folder(folder: Path) -> None:
    """Make the folder ``.tagloom`` with its subfolder of features and its note of what it is.

    Raises
    ------
    WriteError
        If the system refuses.
    StoreError
        If something in it is a link.
    """
    files = ProjectFolder(folder)
    files.check()
    try:
        files.make(FEATURES)
        if not files.has("README.txt"):
            with contextlib.suppress(WriteError) if files.has(DATABASE) else contextlib.nullcontext():
                files.write(README.encode(), "README.txt")
    except WriteError:
        raise
    except OSError as error:
        raise WriteError(
            error.errno or 0,
            f"cannot make or write {folder.name!r} ({error.strerror}); choose another output folder",
            str(folder),
        ) from error


def refuse_emptied(files: ProjectFolder) -> None:
    """Refuse a project whose database is empty, or gone: it would pass for a new one, and all that is there for none.

    Raises
    ------
    DamagedStoreError
        If the folder holds what only a project leaves there.
    """
    if files.has(DATABASE):
        # Names first, then the size: a process that makes the project now fills the database before it makes others.
        names = {*(temporary_of(name) or name for name in files.files()), *files.folders()}
        is_used = bool(names.difference(_OF_A_NEW_PROJECT) or files.folders(FEATURES))
        if files.size(DATABASE):
            return
        what = "is empty"
    else:
        what, is_used = "is gone", any(name.startswith("decisions-") for name in files.files(BACKUPS))
    if is_used:
        raise DamagedStoreError(
            f"{DATABASE} in {str(files.path)!r} {what}, and a project was there: it is damaged. Nothing was changed; "
            f"put your decisions back with: tagloom restore"
        )


def remove_project(folder: str | os.PathLike[str]) -> int:
    """Remove a project folder: only what tagloom made there, and nothing at all if there is anything else.

    A file ``tagloom.toml`` is the user's own and is expected there: it stays, with the folder around it, and a warning
    in the log says so.

    Parameters
    ----------
    folder : path
        The ``.tagloom`` folder.

    Returns
    -------
    int
        How many files were removed.

    Raises
    ------
    StoreError
        If this is no project folder, or files are in it that tagloom does not make; nothing is removed then.
    StoreBusyError
        If another tagloom is at work there.
    """
    place = Path(folder)
    if place.is_symlink() or not (place / DATABASE).is_file():
        raise StoreError(f"{place} is not a tagloom folder (it has no {DATABASE}); nothing was removed")
    with FolderLock(place):
        names, folders, foreign = _sort(place)
        is_kept = USER_SETTINGS in foreign
        others = [name for name in foreign if name != USER_SETTINGS]
        if others:
            shown = ", ".join(repr(name) for name in others[:5]) + (" …" if len(others) > 5 else "")
            raise StoreError(
                f"{len(others)} things in {place} were not made by tagloom ({shown}); nothing was removed. "
                f"Move them away, then run again"
            )
        files = ProjectFolder(place)  # by handles: what has become a link since is not followed
        try:
            for name in names:
                if name not in ("lock", DATABASE):
                    files.remove(*name.split("/"))
            for name in sorted(folders, reverse=True):
                files.remove_folder(*name.split("/"))
            files.remove(DATABASE)
        except OSError as error:
            raise StoreError(
                f"not all of {place} could be removed ({error.strerror or error}); look at what is there, then run "
                f"again: tagloom remove"
            ) from error
    files.remove("lock")
    if is_kept:
        logger.warning("%s is your own and was left; a new project made here uses it", place / USER_SETTINGS)
    else:
        place.rmdir()
    return len(names)


def _sort(place: Path) -> tuple[list[str], list[str], list[str]]:
    """Return the names of files and folders that tagloom makes, and those of all others."""
    files: list[str] = []
    folders: list[str] = []
    foreign: list[str] = []
    for name, entry in _walk(place, ""):
        is_ours = all(map(is_bare, name.split("/")))
        if is_ours and entry.is_dir(follow_symlinks=False) and re.fullmatch(_KNOWN_FOLDERS, name):
            folders.append(name)
        elif is_ours and entry.is_file(follow_symlinks=False) and re.fullmatch(_KNOWN_FILES, name):
            files.append(name)
        else:
            foreign.append(name)
    return files, folders, foreign


def _walk(place: Path, prefix: str) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    with os.scandir(place) as entries:
        for entry in sorted(entries, key=lambda item: item.name):
            name = f"{prefix}{entry.name}"
            yield name, entry
            if entry.is_dir(follow_symlinks=False) and re.fullmatch(_KNOWN_FOLDERS, name):
                yield from _walk(Path(entry.path), f"{name}/")
