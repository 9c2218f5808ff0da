"""The keywords of many photos, read in processes with limits on memory and time."""

import os
from collections.abc import Iterator, Sequence

from tagloom.images import CallFailure, call_each
from tagloom.metadata.photo_keywords import (
    FileFields,
    FoundKeywords,
    Known,
    PhotoFields,
    find_sidecar,
    interpret,
    interpret_files,
    read_each,
)

__all__ = ["read_photos_keywords"]


def read_photos_keywords(
    photos: Sequence[bytes],
    *,
    sidecars: bool = True,
    embedded: bool = True,
    known: Sequence[Known | None] | None = None,
    files_only: bool = False,
) -> Iterator[FoundKeywords]:
    """Read the keywords of photos from their sidecars and from the files themselves, as `read_photo_keywords` does.

    Parameters
    ----------
    photos : sequence of bytes
        Paths. The files are untrusted: worker processes read them, and one on which a process dies, hangs or runs out
        of memory has a line in ``problems``.
    sidecars, embedded : bool, default=True
        Whether to look beside the photos, and into them.
    known : sequence of callable, optional
        For each photo, as of `read_photo_keywords`.
    files_only : bool, default=False
        Leave out what the files of a photo say together, which takes longer than to read them.

    Yields
    ------
    FoundKeywords
        One for each photo, in their order.
    """
    results = call_each(
        f"{read_each.__module__}:{read_each.__name__}",
        [photo if os.path.isabs(photo) else os.path.abspath(photo) for photo in photos],
        options=[sidecars, embedded],
        classes=(PhotoFields, FileFields),
    )
    meaning = interpret_files if files_only else interpret
    for row, (photo, result) in enumerate(zip(photos, results, strict=True)):
        if isinstance(result, PhotoFields):
            yield meaning(result, None if known is None else known[row])
            continue
        reason = result.reason if isinstance(result, CallFailure) else "the process that reads it sent damaged data"
        problem = f"{os.fsdecode(os.path.basename(photo))!r}: its keywords could not be read: {reason}"
        yield FoundKeywords((), {}, find_sidecar(photo), problems=(problem,))
