"""The verbs behind ``tagloom import``: what files, photos and folders say becomes decisions of the origin "imported".

What a person decided in the project is never overturned: where a source says otherwise, the pair is left alone and
reported. Nor does a suggestion become a decision by a round trip: keywords that tagloom itself wrote to sidecars
because they were above the threshold are not taken for said when photos, or copies of them, are read.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.catalog import Result, online_root
from tagloom.core import (
    NO_PROGRESS,
    PARTS,
    UNKNOWN,
    AbsentMeans,
    Keyword,
    Progress,
    Statement,
    check_absent_means,
)
from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata import (
    FieldRecord,
    FileKeywords,
    FileMemory,
    is_programs_own,
    name_to_text,
    put_together,
    read_photos_keywords,
    remembered,
)
from tagloom.project.file_memory import FIELDS_READ, IMPORT_PHOTOS, FileMemories, RecordsRead
from tagloom.project.label import respelled
from tagloom.project.tag_hints import split_statement, tag_hints
from tagloom.project.unwritten import WrittenSuggestions
from tagloom.store import IMPORTED, ProjectStore

if TYPE_CHECKING:
    from tagloom.metadata.formats import Reading

__all__ = ["ImportResult", "import_folder_names", "import_from_photos", "import_keywords"]


# What photos say of themselves: the keywords in them and in their sidecars, less those that tagloom only suggested.


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
    partners: dict[int, int] = dict(store.photos.raw_pairs(clips=True).tolist())
    names: dict[int, bytes] = dict(zip(table.ids.tolist(), table.paths, strict=True))
    photos: dict[bytes, _Photo] = {}
    problems, seen = [], {}
    progress.start("reading keywords", len(table))
    paths = [os.path.join(root, name) for name in names.values()]
    memory = (memories.of(number, path) for number, path in zip(names, paths, strict=True))
    known = [partial(_record, each) if each else None for each in memory]
    reading = read_photos_keywords(paths, sidecars=sidecars, embedded=embedded, known=known, files_only=True)
    for (number, name), content, path, found in zip(names.items(), table.hashes, paths, reading, strict=True):
        progress.advance()
        problems += [f"{name_to_text(name)}: {line}" for line in found.problems]
        if found.sidecar is not None and found.fingerprint:
            seen[str(number)] = found.fingerprint
        main = partners.get(number, number)  # what a RAW file or a clip has, the photo beside it has
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
    current = store.decisions.current()
    yes_to = current.states == 1
    accepted = set(zip(current.photo_ids[yes_to].tolist(), current.tag_ids[yes_to].tolist(), strict=True))
    tags = {text: item.id for item in store.tags.all() for text in (item.text, *item.aliases)}
    n_suggested = 0
    for name, photo in photos.items():
        found, added, removed = put_together([file for _, _, file in photo.files])
        for number, path, file in photo.files:
            if not file.has_word:
                continue
            kept = [each for each in file.reading.keywords if each in found or is_programs_own(each)]
            result.records.add(number, path, file.file, FieldRecord(file.reading.items, frozenset(kept)))
        yes = found
        if photo.suggested:
            yes = tuple(keyword for keyword in found if keyword.text not in photo.suggested)
            n_suggested += len(found) - len(yes)
        no = tuple(each for each in sorted(removed) if (photo.number, tags.get(each.text, 0)) in accepted)
        if yes or no:
            result.statements.append(Statement(name, yes, no))
        for keyword in (*no, *(each for each in yes if each in added)) if no or added else ():
            if not memories.was_decided_since(photo.number, tags.get(keyword.text, 0)):
                result.newer.add((name, keyword))
    return replace(result, n_suggested=n_suggested)


N_CONFLICTS = 50
_WORDS = {1: "yes", 0: "no"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult(Result):
    """What an import did.

    Parameters
    ----------
    source : str
        What was read.
    format : str
        How.
    absent_means : {"no", "unknown"}
        What it was taken to mean that a photo lacks a keyword.
    already : bool
        Whether exactly this was imported before and not undone; nothing was changed then.
    batch : int or None
        What `tagloom undo` takes back.
    n_photos, n_tags : int
        Photos and tags that the source speaks of.
    n_yes, n_no, n_by_absence : int
        Pairs that it affirms, denies, and denies by absence.
    n_decisions : int
        Pairs that were decided anew.
    n_conflicts : int
        Conflicts with labels of a person, which stay.
    conflicts : tuple of (bytes, str, str)
        The first of them: photo, tag, what the source says.
    created : tuple of str
        Tags that did not exist before.
    respelled : tuple of (str, str)
        Keywords that exist as a tag in another spelling, which was used: the keyword, the tag.
    hints : tuple of str
        New tags that may be a mistake, a line each with the command that mends it.
    unmatched : tuple of str
        Names that mean no photo of the project.
    problems : tuple of str
        What could not be used, a line each.
    n_suggested : int
        Keywords that a model said and nobody confirmed; they are left out.
    """

    source: str
    format: str
    absent_means: AbsentMeans
    already: bool = False
    batch: int | None = None
    n_photos: int = 0
    n_tags: int = 0
    n_yes: int = 0
    n_no: int = 0
    n_by_absence: int = 0
    n_decisions: int = 0
    n_conflicts: int = 0
    conflicts: tuple[tuple[bytes, str, str], ...] = ()
    created: tuple[str, ...] = ()
    respelled: tuple[tuple[str, str], ...] = ()
    hints: tuple[str, ...] = ()
    unmatched: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    n_suggested: int = 0


@dataclass(slots=True)
class _Source:
    """A reading on its way into the store."""

    name: str
    format: str
    absent_means: AbsentMeans
    statements: Sequence[Statement]
    problems: list[str] = field(default_factory=list)
    unmatched: tuple[str, ...] = ()
    n_suggested: int = 0
    newer: Collection[tuple[bytes, Keyword]] = ()


def import_keywords(
    store: ProjectStore,
    source: str | os.PathLike[str],
    *,
    format: str | None = None,
    absent_means: AbsentMeans | None = None,
    include_suggested: bool = False,
    separator: str | None = None,
    skip_bad_rows: bool = False,
    who: str = "",
    progress: Progress = NO_PROGRESS,
) -> ImportResult:
    """Take over what a file says about photos.

    Parameters
    ----------
    store : ProjectStore
        The project.
    source : path
        A labels file or any other of `tagloom.metadata.formats.available_readers`.
    format : str, optional
        Default: told from name and content.
    absent_means : {"no", "unknown"}, optional
        What it means that a listed photo lacks one of the file's keywords; default: "no".
    include_suggested : bool, default=False
        Whether what a model said in that file counts as said.
    separator : str, optional
        What stands between the tags of one keyword, such as "," where the file has "plane, sky" as one.
    skip_bad_rows : bool, default=False
        Whether to import the rest of a file with rows that cannot be read; ``problems`` lists these.
    who : str
        For the history.
    progress : Progress, optional
        Told what is done.

    Raises
    ------
    LabelsFileError
        If the file cannot be read, has bad rows that are not to be skipped, or holds no keyword of a photo in the
        project. Nothing is changed then.
    """
    from tagloom.metadata.formats import ReadOptions, read_statements

    means = check_absent_means("no" if absent_means is None else absent_means)
    names = _photo_names(store)
    progress.start("reading the file")
    reading = read_statements(source, names, format=format, options=ReadOptions(include_suggested=include_suggested))
    if reading.problems and not skip_bad_rows:
        raise LabelsFileError(_first_problem(reading.problems))
    if not any(item.yes or item.no or item.unknown for item in reading.statements):
        raise LabelsFileError(_nothing_said(Path(source).name, reading, names))
    given = _Source(
        os.fsdecode(os.path.abspath(source)),
        reading.format,
        means,
        [split_statement(item, separator) for item in reading.statements] if separator else reading.statements,
        list(reading.problems),
        reading.unmatched,
        reading.n_suggested,
    )
    return _take(store, given, f"import {Path(source).name}", who, progress)


def _photo_names(store: ProjectStore) -> list[bytes]:
    """Return the names of the photos that are there; parts of photos go with these."""
    table = store.photos.table(state="present")
    named = zip(table.paths, table.verdicts, strict=True)
    return [name for name, verdict in named if verdict not in PARTS]


def _first_problem(problems: Sequence[str]) -> str:
    more = f" ({len(problems) - 1} more problems)" if len(problems) > 1 else ""
    return (
        f"{problems[0].rstrip('.')}{more}. Nothing was imported: correct the file, or import the rest with "
        f"--skip-bad-rows"
    )


def _nothing_said(name: str, reading: "Reading", photos: Sequence[bytes]) -> str:
    """Return why an import would import nothing."""
    if reading.statements:
        why = f"lists photos ({len(reading.statements)}) but no keyword"
    elif reading.n_suggested:
        why = f"holds only suggestions of a model ({reading.n_suggested}); add --include-suggested to count them"
    elif reading.unmatched:
        known = f"has for example {name_to_text(photos[0])!r}" if photos else "has no photos"
        why = (
            f"names photos ({len(reading.unmatched)}) that are not in the project, such as {reading.unmatched[0]!r}; "
            f"the project {known}"
        )
    elif reading.problems:
        why = f"holds nothing that can be read: {reading.problems[0]}"
    else:
        why = f"holds no keyword of a photo (read as {reading.format}; choose another format with --format)"
    return f"nothing was imported: {name} {why}"


def import_folder_names(
    store: ProjectStore,
    *,
    hierarchy: bool = True,
    skip: Collection[str] = (),
    absent_means: AbsentMeans | None = None,
    who: str = "",
    progress: Progress = NO_PROGRESS,
) -> ImportResult:
    """Take the folders that photos lie in for keywords.

    Parameters
    ----------
    store : ProjectStore
        The project.
    hierarchy : bool, default=True
        Whether ``Animals/Birds`` is one keyword of two levels, or two keywords.
    skip : collection of str
        Folder names that say nothing.
    absent_means : {"no", "unknown"}, optional
        Default: "unknown".
    who : str
        For the history.
    progress : Progress, optional
        Told what is done.

    Raises
    ------
    InvalidInputError
        If no photo lies in a folder that names a keyword.
    """
    from tagloom.metadata.formats import read_folder_names

    means = check_absent_means("unknown" if absent_means is None else absent_means)
    names = _photo_names(store)
    reading = read_folder_names(names, hierarchy=hierarchy, skip=skip)
    if not reading.statements:
        why = f": {reading.problems[0]}" if reading.problems else ""
        raise InvalidInputError(f"nothing was imported: no photo lies in a folder that names a keyword{why}")
    given = _Source("folder names", "folders", means, reading.statements, list(reading.problems))
    return _take(store, given, "import folder names", who, progress)


def import_from_photos(
    store: ProjectStore,
    *,
    absent_means: AbsentMeans | None = None,
    sidecars: bool = True,
    embedded: bool = True,
    who: str = "",
    progress: Progress = NO_PROGRESS,
) -> ImportResult:
    """Take over the keywords that photos have in their sidecars and in the files themselves.

    Parameters
    ----------
    store : ProjectStore
        The project.
    absent_means : {"no", "unknown"}, optional
        What it means that a photo with keywords lacks one that others have; default: "unknown".
    sidecars, embedded : bool, default=True
        Where to look.
    who : str
        For the history.
    progress : Progress, optional
        Told about every photo.
    """
    means = check_absent_means("unknown" if absent_means is None else absent_means)
    root = online_root(store)
    run = store.runs.start(IMPORT_PHOTOS, {"sidecars": sidecars, "embedded": embedded, "absent_means": means})
    found = read_photos(store, root.path, sidecars=sidecars, embedded=embedded, progress=progress)
    given = _Source(
        "photos",
        "photos",
        means,
        found.statements,
        list(found.problems),
        n_suggested=found.n_suggested,
        newer=found.newer,
    )
    result = _take(store, given, "import keywords of photos", who, progress)
    # What the files were like: later reads and writes tell from it what other programs have changed.
    noted = {"seen": found.seen, FIELDS_READ: found.records.as_dict(), "action": store.decisions.latest()}
    store.runs.end(run, {"batch": result.batch, "n_photos": len(found.statements)} | noted)
    return result


def _take(store: ProjectStore, source: _Source, label: str, who: str, progress: Progress) -> ImportResult:
    progress.start("storing the labels")
    result = _store(store, source, label, who)
    progress.finish()
    return result


def _store(store: ProjectStore, source: _Source, label: str, who: str) -> ImportResult:
    """Bring a reading into the store in one transaction."""
    shared = _shared(source)
    digest = _digest(source)
    with store.transaction():
        if not source.newer and _stands(store, digest):
            return ImportResult(**shared, already=True, problems=tuple(source.problems))
        texts, columns = _vocabulary(source.statements)
        before = set(store.tags.find(texts).tolist())
        tags = store.tags.add(texts)
        new = dict.fromkeys(tag for tag in tags.tolist() if tag not in before)
        created = tuple(store.tags.texts(list(new)))
        pairs = _pairs(store, source, columns, tags)
        newer = _newer(store, source, columns, tags)
        n_conflicts, conflicts = _conflicts(store, pairs, newer)
        batch = store.decisions.decide(
            pairs.photos,
            pairs.tags,
            pairs.states,
            origin="imported",
            who=who,
            label=label,
            keep=("human", "suggested"),
            keep_not=newer,
            skip_same=True,
        )
        store.runs.record_import(source.name, source.absent_means, digest, batch=batch)
        n = store.decisions.batch(batch).n if batch is not None else 0
    return ImportResult(
        **shared,
        batch=batch,
        respelled=respelled(store, texts),
        hints=tag_hints(store, created),
        n_tags=len(set(tags.tolist())),
        n_by_absence=int(pairs.absent.sum()),
        n_decisions=n,
        n_conflicts=n_conflicts,
        conflicts=conflicts,
        created=created,
        problems=tuple(source.problems),
    )


def _shared(source: _Source) -> dict[str, Any]:
    """Return what a result says of its source, whatever becomes of it."""
    return {
        "source": source.name,
        "format": source.format,
        "absent_means": source.absent_means,
        "n_photos": len(source.statements),
        "n_yes": sum(len(item.yes) for item in source.statements),
        "n_no": sum(len(item.no) for item in source.statements),
        "unmatched": source.unmatched,
        "n_suggested": source.n_suggested,
    }


def _digest(source: _Source) -> str:
    """Return a checksum of what is said about which photos: the same file says more once more photos are known."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(f"{source.format}\n{source.absent_means}\n".encode())
    for item in sorted(source.statements, key=lambda statement: statement.photo):
        said = [[keyword.text for keyword in sorted(part)] for part in (item.yes, item.no, item.unknown)]
        digest.update(repr((item.photo, said)).encode())
    return digest.hexdigest()


def _stands(store: ProjectStore, digest: str) -> bool:
    """Tell whether an import of this digest was made and not undone."""
    same = [item for item in store.runs.imports() if item.digest == digest]
    return any(item.batch is None or not store.decisions.batch(item.batch).undone for item in same)


def _vocabulary(statements: Iterable[Statement]) -> tuple[list[str], dict[Keyword, int]]:
    columns: dict[Keyword, int] = {}
    for item in statements:
        for keyword in (*item.yes, *item.no, *item.unknown):
            columns.setdefault(keyword, len(columns))
    return [keyword.text for keyword in columns], columns


@dataclass(frozen=True, slots=True)
class _Pairs:
    photos: NDArray[np.int64]
    tags: NDArray[np.int64]
    states: NDArray[np.int8]
    absent: NDArray[np.bool_]


def _pairs(store: ProjectStore, source: _Source, columns: dict[Keyword, int], tags: NDArray[np.int64]) -> _Pairs:
    """Return one state per photo and tag, absence spelled out where it means no."""
    ids = store.photos.find([item.photo for item in source.statements])
    statements = [item for item in source.statements if item.photo in ids]  # a scan may have run meanwhile
    distinct, where = np.unique(tags, return_inverse=True)
    # Keywords that are different names of one tag share a column.
    Y = np.full((len(statements), len(distinct)), UNKNOWN, dtype=np.int8)
    open_ = np.zeros(Y.shape, dtype=bool)
    place_of = dict(zip(columns, where.tolist(), strict=True))
    for row, item in enumerate(statements):
        yes, no, unknown = ([place_of[keyword] for keyword in part] for part in (item.yes, item.no, item.unknown))
        both = set(yes).intersection(no)
        if both:
            source.problems.append(
                f"{name_to_text(item.photo)}: accepted and rejected by two names of one tag; left undecided"
            )
        Y[row, no], Y[row, yes] = 0, 1
        if unknown or both:
            open_[row, [*unknown, *both]] = True
    said = Y != UNKNOWN
    if source.absent_means == "no":
        above = _above(store, columns, where, distinct)
        follows = ((Y == 1).astype(np.float32) @ above) > 0  # a yes to a tag leaves open what it implies
        Y[(Y == UNKNOWN) & ~follows] = 0
    Y[open_] = UNKNOWN
    rows, positions = np.nonzero(Y != UNKNOWN)
    photos = np.array([ids[item.photo] for item in statements], dtype=np.int64)
    return _Pairs(photos[rows], distinct[positions], Y[rows, positions], ~said[rows, positions])


def _above(
    store: ProjectStore, columns: dict[Keyword, int], where: NDArray[np.intp], distinct: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Return which tags (columns) follow from which (rows): by implication, or as an outer level of a hierarchy."""
    above = np.zeros((len(distinct), len(distinct)), dtype=np.float32)
    for keyword, column in columns.items():
        for n_levels in range(1, len(keyword.path)):
            outer = columns.get(Keyword(keyword.path[:n_levels]))
            if outer is not None:
                above[where[column], where[outer]] = 1.0
    closure = store.tags.closure()
    inside = np.isin(closure, distinct).all(axis=1) if len(closure) else np.zeros(0, dtype=bool)
    child, parent = np.searchsorted(distinct, closure[inside]).T
    above[child, parent] = 1.0
    return above


def _newer(
    store: ProjectStore, source: _Source, columns: dict[Keyword, int], tags: NDArray[np.int64]
) -> set[tuple[int, int]]:
    """Return the pairs of photo and tag of which the source has newer word than the project."""
    ids = store.photos.find([photo for photo, _ in source.newer])
    return {(ids[photo], int(tags[columns[keyword]])) for photo, keyword in source.newer if photo in ids}


def _conflicts(
    store: ProjectStore, pairs: _Pairs, newer: Collection[tuple[int, int]]
) -> tuple[int, tuple[tuple[bytes, str, str], ...]]:
    """Return pairs that conflict with a person's labels, unless the source is newer."""
    current = store.decisions.current(photo_ids=sorted(set(pairs.photos.tolist())))
    by_person = current.origins != IMPORTED
    decided = {
        (photo, tag): state
        for photo, tag, state in zip(
            current.photo_ids[by_person].tolist(),
            current.tag_ids[by_person].tolist(),
            current.states[by_person].tolist(),
            strict=True,
        )
    }
    if not decided:
        return 0, ()
    outright = ~pairs.absent
    said = zip(
        pairs.photos[outright].tolist(), pairs.tags[outright].tolist(), pairs.states[outright].tolist(), strict=True
    )
    found = [
        (photo, tag, state)
        for photo, tag, state in said
        if decided.get((photo, tag), state) != state and (photo, tag) not in newer
    ]
    shown = found[:N_CONFLICTS]
    table = store.photos.table(sorted({photo for photo, _, _ in shown}))
    names = dict(zip(table.ids.tolist(), table.paths, strict=True))
    texts = store.tags.texts([tag for _, tag, _ in shown])
    return len(found), tuple(
        (names[photo], text, _WORDS[state]) for (photo, _, state), text in zip(shown, texts, strict=True)
    )
