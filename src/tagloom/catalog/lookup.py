"""Which photos and tags a person means."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeGuard

from tagloom.catalog.places import project_root
from tagloom.core import is_raw, is_video
from tagloom.exceptions import InvalidInputError
from tagloom.store import ProjectStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["PhotoName", "find_photo_ids", "find_tag_ids"]

PhotoName = int | str | bytes | os.PathLike[Any]
_BYTES_MARK = "bytes://"
_N_NAMED = 5
_N_CLOSE = 3


def find_photo_ids(
    store: ProjectStore, photos: "PhotoName | Sequence[PhotoName] | NDArray[np.integer]", *, base: Any = None
) -> list[int]:
    """Return the ids of photos, each once, in the order given.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photos : one or several of int, str, bytes or path
        Ids; absolute paths; paths relative to ``base`` or to the folder of photos; or bare file names, as in a labels
        file, where one photo alone has that name. The RAW file of a pair means the
        photo beside it.
    base : path, optional
        A folder that relative paths may start from, such as the current one; it goes first.

    Raises
    ------
    InvalidInputError
        If one of them is no photo of the project, or may be several; names the first few.
    """
    given = [photos] if isinstance(photos, int | str | bytes | os.PathLike) else list(photos)
    if not given:
        raise InvalidInputError("expected at least one photo, got none")
    ids = [int(item) for item in given if _is_id(item)]
    names = [item for item in given if not _is_id(item)]
    root = project_root(store).path if names else b""
    candidates = {name: _candidates(root, name, base) for name in map(_as_bytes, names)}
    wanted = sorted({name for several in candidates.values() for name in several})
    found = store.photos.find(wanted) if wanted else {}
    chosen = {
        item: next(found[name] for name in several if name in found)
        for item, several in candidates.items()
        if not found.keys().isdisjoint(several)
    }
    chosen |= _by_bare_name(store, root, {item: candidates[item] for item in candidates if item not in chosen})
    _check_found(store, {item: several for item, several in candidates.items() if item not in chosen})
    if any(is_raw(item) or is_video(item) for item in chosen):
        partners = dict(store.photos.raw_pairs(clips=True).tolist())
        chosen = {item: partners.get(number, number) for item, number in chosen.items()}
    known = store.photos.existing(set(ids)) if ids else set()
    unknown = [number for number in ids if number not in known]
    if unknown:
        raise InvalidInputError(f"no photo has the id {unknown[0]}; nothing was changed")
    numbers = [int(item) if _is_id(item) else chosen[_as_bytes(item)] for item in given]
    return list(dict.fromkeys(numbers))


def _is_id(item: Any) -> TypeGuard[SupportsIndex]:
    """Tell whether an item is a whole number, also one of numpy's."""
    return hasattr(item, "__index__")


def _as_bytes(item: Any) -> bytes:
    if isinstance(item, str) and item.startswith(_BYTES_MARK):
        from tagloom.metadata import name_from_text

        return name_from_text(item)
    return os.fsencode(item)


def _candidates(root: bytes, name: bytes, base: Any) -> list[bytes]:
    """Return the paths below the root that a name may mean, the likeliest first."""
    places = [name] if os.path.isabs(name) else [os.path.join(os.fsencode(base), name)] if base is not None else []
    if not os.path.isabs(name):
        places.append(os.path.join(root, name))
    below = []
    for place in places:
        path = os.path.abspath(place)
        # A link on the way to the root must not hide that the photo lies below it.
        resolved = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        for one, top in ((path, root), (resolved, os.path.realpath(root))):
            if one.startswith(os.path.join(top, b"")):
                below.append(os.path.relpath(one, top).replace(os.fsencode(os.sep), b"/"))
    return list(dict.fromkeys(below))


def _by_bare_name(store: ProjectStore, root: bytes, lacking: Mapping[bytes, Sequence[bytes]]) -> dict[bytes, int]:
    """Return the photos that names without a folder mean wherever they lie, by the rules of labels files.

    A name that is that of a file, or was that of a photo, where it was looked for first means that one and no other.

    Raises
    ------
    InvalidInputError
        If several photos have such a name.
    """
    bare = {name: tried for name, tried in lacking.items() if os.path.basename(name) == name}
    if not bare:
        return {}
    from tagloom.metadata import PhotoMatcher, name_to_text

    gone = set(store.photos.missing())
    paths = store.photos.paths()
    matcher = PhotoMatcher(paths)
    found: dict[bytes, bytes] = {}
    for name, tried in bare.items():
        if not gone.isdisjoint(tried) or any(_is_listed(os.path.join(root, path)) for path in tried):
            continue
        rows = matcher.find(name_to_text(name))
        if len(rows) > 1:
            shown = ", ".join(repr(os.fsdecode(paths[row])) for row in rows[:_N_NAMED])
            more = f" and {len(rows) - _N_NAMED} more" if len(rows) > _N_NAMED else ""
            raise InvalidInputError(
                f"{os.fsdecode(name)!r} could be any of {len(rows)} photos: {shown}{more}; nothing was changed. Name "
                f"it with its folder"
            )
        if rows:
            found[name] = paths[rows[0]]
    ids = store.photos.find(sorted(set(found.values()))) if found else {}
    return {name: ids[path] for name, path in found.items()}


def _is_listed(path: bytes) -> bool:
    """Tell whether there is a file of just this name; a disk may know no upper and lower case."""
    if not os.path.lexists(path):
        return False
    return os.path.basename(path) in os.listdir(os.path.dirname(path))


def _check_found(store: ProjectStore, lacking: Mapping[bytes, Sequence[bytes]]) -> None:
    """Raise for names that mean no photo, with the paths below the root that they were tried as."""
    if lacking:
        names = list(lacking)
        shown = ", ".join(repr(os.fsdecode(name)) for name in names[:_N_NAMED])
        more = f" and {len(names) - _N_NAMED} more" if len(names) > _N_NAMED else ""
        raise InvalidInputError(
            f"not a photo of this project: {shown}{more}; nothing was changed. {_advice(store, lacking)}"
        )


def _advice(store: ProjectStore, lacking: Mapping[bytes, Sequence[bytes]]) -> str:
    """Return what a person may have meant by the first of some names."""
    name, tried = next(iter(lacking.items()))
    if not set(store.photos.missing()).isdisjoint(tried):
        return f"{os.fsdecode(name)!r} was not there at the last scan; if it is back: tagloom scan"
    root = project_root(store).path
    is_there = any(_is_listed(os.path.join(root, path)) for path in tried)
    base = os.path.basename(name).lower()
    close = [] if is_there else [path for path in store.photos.paths() if os.path.basename(path).lower() == base]
    if not close:
        return "If the file is new: tagloom scan"
    shown = " or ".join(repr(os.fsdecode(path)) for path in close[:_N_CLOSE])
    return f"Did you mean {shown}{' …' if len(close) > _N_CLOSE else ''}?"


def find_tag_ids(store: ProjectStore, texts: Sequence[str], *, in_use: bool = False) -> list[int]:
    """Return the ids of tags by any of their names; if asked, only of those of which anything stands.

    Raises
    ------
    InvalidInputError
        If there is no such tag; says which is close.
    """
    ids = store.tags.numbers(texts)
    known = {tag.id for tag in store.tags.in_use()} if in_use else set(ids) - {0}
    for text, number in zip(texts, ids, strict=True):
        if number not in known:
            import difflib

            close = difflib.get_close_matches(text, [tag.text for tag in store.tags.in_use()], n=1)
            if close:
                raise InvalidInputError(f"there is no tag {text!r}; did you mean {close[0]!r}? Nothing was changed")
            raise InvalidInputError(f"there is no tag {text!r}; nothing was changed. List all tags: tagloom tags")
    return ids
