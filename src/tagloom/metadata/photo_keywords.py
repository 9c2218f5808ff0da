"""The keywords that a photo has already: in its sidecars, in its XMP, in its IPTC, in its EXIF."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from tagloom.core import Keyword, SidecarName, Verdict
from tagloom.exceptions import MetadataError
from tagloom.images import Refused, read_file
from tagloom.metadata.embedded import EmbeddedBlocks, read_blocks
from tagloom.metadata.iptc import read_iptc
from tagloom.metadata.xmp_fields import absorb, is_programs_own
from tagloom.metadata.xmp_read import FieldReading, FieldRecord, Stated, fields_of, read_fields, without_padding
from tagloom.metadata.xmp_tree import LARGEST_XMP, parse_xmp

__all__ = [
    "IPTC",
    "FileFields",
    "FileKeywords",
    "FoundKeywords",
    "Known",
    "PhotoFields",
    "find_sidecar",
    "find_sidecars",
    "interpret",
    "interpret_files",
    "new_sidecar",
    "put_together",
    "read_each",
    "read_photo_fields",
    "read_photo_keywords",
    "sidecar_places",
]

Place = Literal["sidecar", "xmp", "iptc", "exif"]
IPTC, XP_KEYWORDS = "iptc", "exif:XPKeywords"  # labels of fields beside those of XMP
_EXTENSIONS = (b".xmp", b".XMP", b".Xmp")
Known = Callable[[bytes, str], FieldRecord | None]


@dataclass(frozen=True, slots=True)
class FileFields:
    """The fields of one file as they are: a sidecar, or the photo itself.

    Parameters
    ----------
    file : bytes
        Its path.
    places : dict
        For each place, the texts of each field.
    fingerprint : str
        Of a sidecar as it was read; empty for the photo.
    has_word : bool
        Whether the file could be read and has metadata at all.
    """

    file: bytes
    places: dict[Place, dict[str, list[str]]]
    fingerprint: str = ""
    has_word: bool = True


@dataclass(frozen=True, slots=True)
class PhotoFields:
    """The fields of a photo's sidecars and of the photo itself, and a line for each that could not be read."""

    files: tuple[FileFields, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileKeywords:
    """The keywords that one file holds: a sidecar, or the photo itself.

    Parameters
    ----------
    file : bytes
        Its path.
    reading : FieldReading
        What its fields say.
    fingerprint : str
        Of a sidecar as it was read; empty for the photo.
    has_record : bool
        Whether it was known what the file said before.
    has_word : bool
        Whether the file could be read and has metadata at all.
    """

    file: bytes
    reading: FieldReading
    fingerprint: str = ""
    has_record: bool = False
    has_word: bool = True


@dataclass(frozen=True, slots=True)
class FoundKeywords:
    """Keywords found in and beside one photo.

    Parameters
    ----------
    keywords : tuple of Keyword
        All that count, sorted, without names that repeat a level of a hierarchical one and without those that darktable
        writes for its own use, such as ``darktable|format|nef``.
    places : dict
        All keywords of each place that has any: ``"sidecar"``, ``"xmp"``, ``"iptc"`` and ``"exif"`` (in the file).
    sidecar : bytes or None
        The sidecar's path, where there is one; the first choice of several.
    fingerprint : str
        Hexadecimal BLAKE2b-256 of the sidecar as it was read; empty where there is none. Given back when keywords are
        written, it tells whether another program changed the sidecar meanwhile.
    problems : tuple of str
        A line for each place that could not be read.
    files : tuple of FileKeywords
        What each file says by itself.
    added, removed : frozenset of Keyword
        What other programs added and took out since the files were last read or written.
    """

    keywords: tuple[Keyword, ...]
    places: dict[Place, tuple[Keyword, ...]]
    sidecar: bytes | None = None
    fingerprint: str = ""
    problems: tuple[str, ...] = ()
    files: tuple[FileKeywords, ...] = ()
    added: frozenset[Keyword] = frozenset()
    removed: frozenset[Keyword] = frozenset()


def find_sidecar(photo: bytes, names: SidecarName = "photo.jpg.xmp") -> bytes | None:
    """Return the path of a photo's XMP sidecar, None where there is none.

    Parameters
    ----------
    photo : bytes
        ``photo.jpg`` has the sidecar ``photo.jpg.xmp`` or ``photo.xmp``; the extension may be ``.XMP``. The second may
        belong to other photos of that name as well, such as the raw file of a pair.
    names : {"photo.jpg.xmp", "photo.xmp"}, default="photo.jpg.xmp"
        Which of them comes first.
    """
    return next(iter(find_sidecars(photo, names)), None)


def find_sidecars(photo: bytes, names: SidecarName = "photo.jpg.xmp") -> list[bytes]:
    """Return the paths of all sidecars of a photo, at most one by each way of naming them, the first choice first."""
    by_name = (
        next((name for name in _spelled(base) if name != photo and os.path.lexists(name)), None)
        for base in _bases(photo, names)
    )
    return [name for name in by_name if name is not None]


def sidecar_places(photo: bytes, names: SidecarName = "photo.jpg.xmp") -> list[bytes]:
    """Return where the sidecar of a photo can be, the first choice first."""
    return [name for base in _bases(photo, names) for name in _spelled(base) if name != photo]


def new_sidecar(photo: bytes, names: SidecarName = "photo.jpg.xmp") -> bytes:
    """Return where the sidecar of a photo goes that has none.

    Parameters
    ----------
    photo : bytes
        The photo's path.
    names : {"photo.jpg.xmp", "photo.xmp"}, default="photo.jpg.xmp"
        How it is named.
    """
    return _spelled(_bases(photo, names)[0])[0]


def _bases(photo: bytes, names: SidecarName) -> list[bytes]:
    stem, extension = os.path.splitext(photo)
    both = [photo, stem] if extension else [photo]
    return both if names == "photo.jpg.xmp" else both[::-1]


def _spelled(base: bytes) -> list[bytes]:
    return [base + extension for extension in _EXTENSIONS]


def read_photo_keywords(
    photo: bytes, *, sidecars: bool = True, embedded: bool = True, known: Known | None = None
) -> FoundKeywords:
    """Read the keywords of a photo from its sidecars and from the file itself.

    Parameters
    ----------
    photo : bytes
        The photo's path. Only JPEG, PNG, WebP and TIFF files (and raw files built like TIFF) are looked into.
    sidecars, embedded : bool, default=True
        Whether to look beside the photo, and into it.
    known : callable, optional
        Returns what a file, given by its path and fingerprint (empty for the photo), said when it was last read or
        written, or None. Without it every keyword of every place counts.

    Returns
    -------
    FoundKeywords
        What cannot be read is a line in ``problems``; nothing is raised for it.
    """
    return interpret(read_photo_fields(photo, sidecars=sidecars, embedded=embedded), known)


def read_photo_fields(photo: bytes, *, sidecars: bool = True, embedded: bool = True) -> PhotoFields:
    """Read the fields of a photo's sidecars and of the file itself, without asking what they mean.

    Parameters
    ----------
    photo, sidecars, embedded
        As of `read_photo_keywords`.
    """
    problems: list[str] = []

    def xmp(name: str, *packets: bytes) -> tuple[dict[str, list[str]], bool]:
        found: dict[str, list[str]] = {}
        for data in packets:
            try:
                items = fields_of(parse_xmp(without_padding(data))) if data else {}
            except MetadataError as error:
                problems.append(f"{name} {os.fsdecode(os.path.basename(photo))!r}: {error}")
                return found, False
            for label, texts in items.items():
                found.setdefault(label, []).extend(texts)
        return found, True

    files = []
    for file in find_sidecars(photo) if sidecars else ():
        data, fingerprint = _read_sidecar(file, problems)
        items, is_read = xmp("sidecar of", data)
        files.append(FileFields(file, {"sidecar": items}, fingerprint, bool(data) and is_read))
    if embedded:
        blocks = _read_embedded(photo, problems)
        items, is_read = xmp("XMP in", blocks.xmp, blocks.extended_xmp)
        places: dict[Place, dict[str, list[str]]] = {"xmp": items}
        if blocks.iptc:
            places["iptc"] = {IPTC: [keyword.name for keyword in read_iptc(blocks.iptc)]}
        if blocks.xp_keywords:
            places["exif"] = {XP_KEYWORDS: list(blocks.xp_keywords)}
        files.append(FileFields(photo, places, "", blocks != EmbeddedBlocks() and is_read))
    return PhotoFields(tuple(files), tuple(problems))


def read_each(photos: list[bytes], sidecars: bool, embedded: bool) -> Iterator[PhotoFields]:
    """Yield the fields of each photo; what `read_photos_keywords` calls in a worker process."""
    for photo in photos:
        yield read_photo_fields(photo, sidecars=sidecars, embedded=embedded)


def interpret(fields: PhotoFields, known: Known | None = None) -> FoundKeywords:
    """Return the keywords that fields mean, compared with what their files said before.

    Parameters
    ----------
    fields : PhotoFields
        What `read_photo_fields` read.
    known : callable, optional
        As of `read_photo_keywords`.
    """
    found = interpret_files(fields, known)
    places: dict[Place, dict[str, list[str]]] = {}
    for each in fields.files:
        for place, by_label in each.places.items():
            for label, texts in by_label.items():
                places.setdefault(place, {}).setdefault(label, []).extend(texts)
    said = {place: told for place, items in places.items() if (told := _by_people(read_fields(items).keywords))}
    keywords, added, removed = put_together(found.files)
    return replace(found, keywords=keywords, places=said, added=added, removed=removed)


def interpret_files(fields: PhotoFields, known: Known | None = None) -> FoundKeywords:
    """Return what each file means by itself, as `interpret` does, and nothing of what they mean together.

    Parameters
    ----------
    fields, known
        As of `interpret`.
    """
    files, beside = [], []
    for each in fields.files:
        # A file that cannot be read, or lost all its metadata, does not say that keywords are gone.
        record = None if known is None or not each.has_word else known(each.file, each.fingerprint)
        items = {label: texts for place in each.places.values() for label, texts in place.items() if texts}
        reading = read_fields(items, record)
        files.append(FileKeywords(each.file, reading, each.fingerprint, record is not None, each.has_word))
        beside += [files[-1]] if "sidecar" in each.places else []
    sidecar, fingerprint = (beside[0].file, beside[0].fingerprint) if beside else (None, "")
    return FoundKeywords((), {}, sidecar, fingerprint, fields.problems, tuple(files))


def put_together(
    files: Sequence[FileKeywords],
) -> tuple[tuple[Keyword, ...], frozenset[Keyword], frozenset[Keyword]]:
    """Return what several files say of one photo, and what came and went; a file that has not changed has no say.

    Parameters
    ----------
    files : sequence of FileKeywords
        Sidecars and the photo.

    Returns
    -------
    keywords : tuple of Keyword
        All that count, sorted.
    added, removed : frozenset of Keyword
        What other programs added and took out since the files were last read or written.
    """
    return _together(
        tuple((each.reading.stated, each.has_record, each.reading.added, each.reading.removed) for each in files)
    )


@lru_cache(maxsize=1024)  # photos of one event often have the same keywords
def _together(
    files: tuple[tuple[Stated, bool, frozenset[Keyword], frozenset[Keyword]], ...],
) -> tuple[tuple[Keyword, ...], frozenset[Keyword], frozenset[Keyword]]:
    """Do what `put_together` does, given what each file says, whether it has a record, and what came and went."""
    new = {keyword for stated, has_record, *_ in files if not has_record for keyword in stated.keywords}
    added = {keyword for *_, came, _ in files for keyword in came}
    removed = {keyword for *_, went in files for keyword in went} - added - new
    flat = {name for stated, *_ in files for name in stated.flat}
    gone = {level for keyword in removed for level in keyword.path}
    kept = [keyword for stated, *_ in files for keyword in stated.paths if keyword not in removed]
    needed = {name for keyword in (*kept, *added, *new) for name in keyword.path}
    everything = _by_people(absorb(kept, flat - (gone - needed)))
    return everything, frozenset(_by_people(added)), frozenset(removed)


def _by_people(keywords: Iterable[Keyword]) -> tuple[Keyword, ...]:
    # Absorbed before: the levels of a program's own keywords, repeated as flat ones, are no one's keywords either.
    return tuple(sorted(keyword for keyword in keywords if not is_programs_own(keyword)))


def _read_sidecar(path: bytes, problems: list[str]) -> tuple[bytes, str]:
    try:
        source = read_file(path, longest=LARGEST_XMP)
    except Refused as refused:
        if refused.verdict != Verdict.EMPTY:
            problems.append(f"{os.fsdecode(os.path.basename(path))!r}: {refused.detail}")
        return b"", ""
    return source.data, source.content_hash


def _read_embedded(photo: bytes, problems: list[str]) -> EmbeddedBlocks:
    try:
        return read_blocks(photo)
    except MetadataError as error:
        problems.append(f"{os.fsdecode(os.path.basename(photo))!r}: {error}")
        return EmbeddedBlocks()
