"""What photos say of themselves: the keywords in them and in their sidecars, less those that tagloom only suggested."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from tagloom.core.keywords import Keyword
from tagloom.core.progress import Progress
from tagloom.core.statements import Statement
from tagloom.metadata.names import name_to_text
from tagloom.metadata.photo_keywords import FileKeywords, put_together
from tagloom.metadata.photos_keywords import read_photos_keywords
from tagloom.metadata.sidecars import FileMemory, remembered
from tagloom.metadata.xmp_fields import is_programs_own
from tagloom.metadata.xmp_read import FieldRecord
from tagloom.project.file_memory import FileMemories, RecordsRead
from tagloom.project.unwritten import WrittenSuggestions
from tagloom.store.project import ProjectStore

__all__ = ["PhotosRead", "read_photos"]


@dataclass(frozen=True, slots=True)
class PhotosRead:
    """What was found in photos.

    Parameters
    ----------
    statements : list of Statement
        What they say; no is said of keywords that another program took out and that the project still has.
    newer : set of (bytes, Keyword)
        What of it other programs did after all that was decided in the project: photo and keyword.
    problems : list of str
        What could not be used, a line each.
    seen : dict of str to str
        For the id of each photo with a sidecar, its fingerprint.
    records : RecordsRead
        What the fields of all files say.
    n_suggested : int
        Keywords that are left out: tagloom wrote them because they were above the threshold.
    """

    statements: list[Statement]
    newer: set[tuple[bytes, Keyword]]
    problems: list[str]
    seen: dict[str, str]
    records: RecordsRead
    n_suggested: int = 0


@dataclass(slots=True)
class _Photo:
    """A photo with the raw file beside it."""

    number: int
    files: list[tuple[int, bytes, FileKeywords]] = field(default_factory=list)
    suggested: set[str] = field(default_factory=set)


def read_photos(store: ProjectStore, root: bytes, *, sidecars: bool, embedded: bool, progress: Progress) -> PhotosRead:
    """Read the keywords of all photos that are there.

    Parameters
    ----------
    store : ProjectStore
        The project.
    root : bytes
        Its folder of photos.
    sidecars, embedded : bool
        Where to look.
    progress : Progress
        Told about every photo.
    """
    table = store.photos.table(state="present")
    ours = WrittenSuggestions.read(store)
    memories = FileMemories(store)
    partners: dict[int, int] = dict(store.photos.raw_pairs().tolist())
    names: dict[int, bytes] = dict(zip(table.ids.tolist(), table.paths, strict=True))
    photos: dict[bytes, _Photo] = {}
    problems, seen = [], {}
    progress.start("reading keywords", len(table))
    paths = [os.path.join(root, name) for name in names.values()]
    known = [partial(_record, memories.of(number, path)) for number, path in zip(names, paths, strict=True)]
    reading = read_photos_keywords(paths, sidecars=sidecars, embedded=embedded, known=known)
    for (number, name), content, path, found in zip(names.items(), table.hashes, paths, reading, strict=True):
        progress.advance()
        problems += [f"{name_to_text(name)}: {line}" for line in found.problems]
        if found.sidecar is not None and found.fingerprint:
            seen[str(number)] = found.fingerprint
        main = partners.get(number, number)  # what a raw file has, the photo beside it has
        photo = photos.setdefault(names[main], _Photo(main))
        photo.files += [(number, path, file) for file in found.files]
        photo.suggested |= ours.of(number, content)
    progress.finish()
    return _told(store, photos, memories, PhotosRead([], set(), problems, seen, RecordsRead()))


def _record(memory: Mapping[str | bytes, FileMemory], file: bytes, digest: str) -> FieldRecord | None:
    return remembered(memory, file, digest).record


def _told(
    store: ProjectStore, photos: Mapping[bytes, _Photo], memories: FileMemories, result: PhotosRead
) -> PhotosRead:
    """Put together what the files of each photo say, and compare it with what the project has."""
    standing = store.decisions.current()
    yes_to = standing.states == 1
    accepted = set(zip(standing.photo_ids[yes_to].tolist(), standing.tag_ids[yes_to].tolist(), strict=True))
    tags = {text: item.id for item in store.tags.all() for text in (item.text, *item.aliases)}
    n_suggested = 0
    for name, photo in photos.items():
        found, added, removed = put_together([file for _, _, file in photo.files])
        for number, path, file in photo.files:
            if not file.has_word:
                continue
            kept = (each for each in file.reading.keywords if each in found or is_programs_own(each))
            result.records.add(number, path, file.file, FieldRecord(file.reading.items, frozenset(kept)))
        n_suggested += sum(keyword.text in photo.suggested for keyword in found)
        yes = tuple(keyword for keyword in found if keyword.text not in photo.suggested)
        no = tuple(each for each in sorted(removed) if (photo.number, tags.get(each.text, 0)) in accepted)
        if yes or no:
            result.statements.append(Statement(name, yes, no))
        result.newer.update(
            (name, keyword)
            for keyword in (*no, *(each for each in yes if each in added))
            if not memories.was_decided_since(photo.number, tags.get(keyword.text, 0))
        )
    return replace(result, n_suggested=n_suggested)
