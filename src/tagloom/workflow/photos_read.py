"""What photos say of themselves: the keywords in them and in their sidecars, less those that tagloom only suggested."""

import os
from dataclasses import dataclass, replace

from tagloom.core.keywords import Keyword
from tagloom.core.progress import Progress
from tagloom.core.statements import Statement
from tagloom.metadata.names import name_to_text
from tagloom.metadata.photo_keywords import FoundKeywords, read_photo_keywords
from tagloom.metadata.xmp_fields import absorb
from tagloom.store.project import ProjectStore
from tagloom.workflow.written_suggestions import WrittenSuggestions

__all__ = ["PhotosRead", "read_photos"]


@dataclass(frozen=True, slots=True)
class PhotosRead:
    """What was found in photos.

    Parameters
    ----------
    statements : list of Statement
        What they say.
    problems : list of str
        What could not be used, a line each.
    seen : dict of str to str
        For the id of each photo with a sidecar, its fingerprint.
    n_suggested : int
        Keywords that are left out: tagloom wrote them because they were above the threshold.
    """

    statements: list[Statement]
    problems: list[str]
    seen: dict[str, str]
    n_suggested: int


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
    partners = dict(store.photos.raw_pairs().tolist())
    names = dict(zip(table.ids.tolist(), table.paths, strict=True))
    said: dict[bytes, dict[Keyword, None]] = {}
    left_out: set[tuple[bytes, str]] = set()
    problems, seen = [], {}
    progress.start("reading keywords", len(table))
    for (number, name), content in zip(names.items(), table.hashes, strict=True):
        found = _keywords_of(os.path.join(root, name), sidecars, embedded)
        progress.advance()
        problems += [f"{name_to_text(name)}: {line}" for line in found.problems]
        if found.sidecar is not None and found.fingerprint:
            seen[str(number)] = found.fingerprint
        suggested = ours.of(number, content)
        photo = names[partners.get(number, number)]  # what a raw file has, the photo beside it has
        left_out.update((photo, keyword.text) for keyword in found.keywords if keyword.text in suggested)
        keywords = [keyword for keyword in found.keywords if keyword.text not in suggested]
        if keywords:
            said.setdefault(photo, {}).update(dict.fromkeys(keywords))
    progress.finish()
    statements = [Statement(name, tuple(keywords)) for name, keywords in said.items()]
    return PhotosRead(statements, problems, seen, len(left_out))


def _keywords_of(photo: bytes, sidecars: bool, embedded: bool) -> FoundKeywords:
    found = read_photo_keywords(photo, embedded=embedded)
    if sidecars:
        return found
    inside = absorb(keyword for place, said in found.places.items() if place != "sidecar" for keyword in said)
    return replace(found, keywords=inside, sidecar=None)
