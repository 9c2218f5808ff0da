"""Folder names as keywords: what people have when they sort photos into folders."""

from collections.abc import Collection, Sequence

from tagloom.core import Keyword, Statement
from tagloom.exceptions import InvalidInputError
from tagloom.metadata.formats.reading import Reading
from tagloom.metadata.names import name_to_text

__all__ = ["read_folder_names"]


def read_folder_names(photos: Sequence[bytes], *, hierarchy: bool = True, skip: Collection[str] = ()) -> Reading:
    """Take the folders that a photo lies in as its keyword.

    Parameters
    ----------
    photos : sequence of bytes
        Paths relative to the photo folder, with ``/`` between their parts.
    hierarchy : bool, default=True
        Whether ``Animals/Birds/heron.jpg`` gives the one keyword Animals › Birds, or the two Animals and Birds.
    skip : collection of str
        Folder names that say nothing (``DCIM``, ``2024``), compared without regard to case.

    Returns
    -------
    Reading
        A statement for each photo that lies in a folder; a folder whose name is no keyword is a problem, once.

    Examples
    --------
    >>> read_folder_names([b"Animals/Birds/heron.jpg"]).statements[0].yes[0].text
    'Animals|Birds'
    """
    skipped = {name.casefold() for name in skip}
    cache: dict[bytes, tuple[Keyword, ...]] = {}
    problems: list[str] = []
    statements = []
    for photo in photos:
        folder = photo.rpartition(b"/")[0]
        if folder not in cache:
            try:
                cache[folder] = _keywords(folder, hierarchy, skipped)
            except (InvalidInputError, UnicodeDecodeError) as error:
                cache[folder] = ()
                problems.append(
                    f"folder {name_to_text(folder)!r}: expected names that are keywords ({error}); its photos get none"
                )
        if cache[folder]:
            statements.append(Statement(photo, cache[folder]))
    return Reading("folders", tuple(statements), tuple(problems))


def _keywords(folder: bytes, hierarchy: bool, skipped: Collection[str]) -> tuple[Keyword, ...]:
    levels = [level for level in folder.decode("utf-8").split("/") if level and level.casefold() not in skipped]
    if not levels:
        return ()
    return (Keyword(tuple(levels)),) if hierarchy else tuple(dict.fromkeys(Keyword.flat(level) for level in levels))
