"""Where a project lies: making its folder, finding it again, and the folder of photos that it is about."""

import os
import shlex
from pathlib import Path

from tagloom.catalog.trust import is_trusted, note_own
from tagloom.exceptions import PhotosError, StoreError, TagloomError, WriteError
from tagloom.store import BACKUPS, DATABASE, USER_SETTINGS, ProjectStore, Root

__all__ = [
    "FOLDER_NAME",
    "check_output_folder",
    "claim_folder",
    "find_damaged_project",
    "find_project",
    "new_project_folder",
    "online_root",
    "own_root",
    "project_folder_around",
    "project_root",
]

FOLDER_NAME = ".tagloom"


def new_project_folder(photos: str | os.PathLike[str], project: str | os.PathLike[str] | None) -> Path:
    """Return the folder that a project of these photos goes to.

    Parameters
    ----------
    photos : path
        The folder of photos.
    project : path, optional
        A new or empty folder (a ``tagloom.toml`` may be in it), or one with a project; default:
        ``.tagloom`` in the folder of photos.

    Raises
    ------
    PhotosError
        If the photos are not in a folder.
    StoreError
        If the project's folder holds other things; or, where none is named, if a folder above or below has a project:
        the same photos would be in both.
    """
    root = Path(photos)
    if not root.is_dir():
        raise PhotosError(f"expected a folder of photos, but {str(root)!r} is not a folder; check the path")
    if project is None:
        folder = root / FOLDER_NAME
        if not (folder / DATABASE).is_file() and not os.access(folder if folder.exists() else root, os.W_OK):
            raise WriteError(
                0, f"{str(root)!r} cannot be written to; keep the project elsewhere: tagloom init PHOTOS --project DIR"
            )
        if not (folder / DATABASE).is_file():
            _refuse_second_project(root)
        return folder
    folder = Path(project)
    if folder.exists() and not folder.is_dir():
        raise StoreError(f"expected a folder for the project, but {str(folder)!r} is a file; name another")
    if folder.is_dir() and not (folder / DATABASE).is_file() and any(x.name != USER_SETTINGS for x in folder.iterdir()):
        raise StoreError(f"{str(folder)!r} holds other files; name a new or an empty folder for the project")
    return folder


def _refuse_second_project(root: Path) -> None:
    place = Path(os.path.realpath(root))
    elsewhere = f"for a project of its own anyway, run: tagloom init {shlex.quote(str(root))} --project DIR"
    above = next((folder for folder in place.parents if _has_project(folder)), None)
    if above is not None:
        raise StoreError(
            f"the photos in {str(root)!r} belong to the project of {str(above)!r}, a folder above; work there: cd "
            f"{shlex.quote(str(above))}; or {elsewhere}"
        )
    for folder, names, _ in os.walk(place):
        if folder != str(place) and FOLDER_NAME in names and _has_project(Path(folder)):
            raise StoreError(
                f"{folder!r}, a folder below {str(root)!r}, has a project already; work there: cd "
                f"{shlex.quote(folder)}; or {elsewhere}"
            )
        names[:] = [name for name in names if not name.startswith(".")]


def _has_project(folder: Path) -> bool:
    """Tell whether a folder of photos has a project in it; a store that only keeps features is none."""
    if not (folder / FOLDER_NAME / DATABASE).is_file():
        return False
    try:
        with ProjectStore(folder / FOLDER_NAME, make=False) as store:
            return store.roots.is_claimed()
    except (TagloomError, OSError):
        return True  # one that cannot be opened is still somebody's


def claim_folder(folder: Path, photos: str | os.PathLike[str]) -> None:
    """Make the store of a project, and note which photos it is about; a project that is there stays as it is.

    One that is made here is trusted: what is in it, this user put there.

    A store that only keeps features, as ``tagloom annotate`` makes one, becomes a project of these photos.

    Parameters
    ----------
    folder : Path
        The project's folder.
    photos : path
        The folder of photos.
    """
    is_new = not os.path.lexists(folder / DATABASE)
    if not is_new:
        with ProjectStore(folder, make=False) as store:
            if store.roots.is_claimed():
                return
    with ProjectStore(folder, photos) as store:
        if store.root_id is not None:
            store.roots.claim(store.root_id)
        if is_new:
            note_own(store)


def project_folder_around(path: str | os.PathLike[str]) -> Path | None:
    """Return the project's folder that a folder is or lies in, links followed; None if there is none."""
    place = Path(os.path.realpath(path))
    for folder in (place, *place.parents):
        if folder.name == FOLDER_NAME or (folder / DATABASE).is_file():
            return folder
    return None


def check_output_folder(out: str | os.PathLike[str], photos: str | os.PathLike[str]) -> None:
    """Refuse a folder for results of some photos that belongs to a project of others.

    Parameters
    ----------
    out : path
        The folder; it need not exist.
    photos : path
        The folder of photos.

    Raises
    ------
    StoreError
        If it holds the project of another folder of photos, or is a project's own folder.
    """
    inside = project_folder_around(out)
    if inside is not None:
        raise StoreError(
            f"expected a folder for results, but {str(out)!r} is in {str(inside)!r}, where tagloom keeps a project; "
            f"name another with --out"
        )
    folder = Path(out) / FOLDER_NAME
    if not (folder / DATABASE).is_file():
        return
    with ProjectStore(folder, make=False) as store:
        if not store.roots.is_claimed():
            return
        about = project_root(store).path
    if os.path.realpath(about) != os.path.realpath(os.fsencode(photos)):
        raise StoreError(
            f"{str(out)!r} holds the project of {os.fsdecode(about)!r}, and {os.fspath(photos)!r} are other photos; "
            f"name another folder with --out"
        )


def find_project(where: str | os.PathLike[str] | None = None) -> Path:
    """Return the project folder that a path means.

    Parameters
    ----------
    where : path, optional
        A project folder, or a folder of photos with ``.tagloom`` in it. Default: the current folder or the nearest one
        above it that is either.

    Raises
    ------
    StoreError
        If there is none.
    """
    start = Path.cwd() if where is None else Path(where)
    for place in [start, *start.parents] if where is None else [start]:
        for folder in (place, place / FOLDER_NAME):
            if (folder / DATABASE).is_file():
                return folder
    above = " or above it" if where is None else ""
    raise StoreError(
        f"there is no tagloom project in {str(start)!r}{above}; "
        "make one with: tagloom review PHOTOS (or tagloom init PHOTOS)"
    )


def find_damaged_project(where: str | os.PathLike[str] | None = None) -> Path:
    """Return the project folder that a path means, also where its database is gone and only backups are left.

    Raises
    ------
    StoreError
        If there is none.
    """
    start = Path.cwd() if where is None else Path(where)
    for place in [start, *start.parents] if where is None else [start]:
        for folder in (place, place / FOLDER_NAME):
            if (folder / DATABASE).is_file() or (folder.name == FOLDER_NAME and (folder / BACKUPS).is_dir()):
                return folder
    return find_project(where)


def project_root(store: ProjectStore) -> Root:
    """Return the folder of photos of a project, as last known.

    Raises
    ------
    StoreError
        If the project has none.
    """
    found = next((root for root in store.roots.all() if root.id == store.root_id), None)
    if found is None:
        raise StoreError(
            f"the project in {str(store.folder)!r} has no folder of photos; make one with: tagloom init PHOTOS"
        )
    return found


def own_root(store: ProjectStore) -> Root:
    """Return the folder of photos of a project, to read it.

    Raises
    ------
    StoreError
        If the project has none, or another user or machine made it and it names a folder elsewhere: any on this disk.
    """
    root = project_root(store)
    around = os.path.dirname(os.path.realpath(store.folder))
    is_around = os.path.realpath(root.path) == os.fsencode(around)
    if not is_around and os.path.isdir(root.path) and not is_trusted(store):
        raise StoreError(
            f"this project was made by another user or on another machine, and its photos are in "
            f"{os.fsdecode(root.path)!r}, outside of the folder around it; if that is right, run: tagloom trust"
        )
    return root


def online_root(store: ProjectStore) -> Root:
    """Look whether the folder of photos can be reached now, and return it.

    Raises
    ------
    StoreError
        If it cannot; says what to do.
    """
    root = own_root(store)
    if not store.roots.refresh().get(root.id, False):
        raise StoreError(
            f"the folder of photos {os.fsdecode(root.path)!r} cannot be reached (offline); plug it in, or say where it "
            f"is now: tagloom scan --photos PHOTOS"
        )
    return root
