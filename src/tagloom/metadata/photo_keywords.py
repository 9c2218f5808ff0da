"""The keywords that a photo has already: in its sidecar, in its XMP, in its IPTC."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from tagloom.core.keywords import Keyword
from tagloom.core.verdicts import Verdict
from tagloom.exceptions import MetadataError
from tagloom.images.source import read_file
from tagloom.images.verdicts import Refused
from tagloom.metadata.embedded import EmbeddedBlocks, read_blocks
from tagloom.metadata.iptc import read_iptc
from tagloom.metadata.xmp_fields import absorb, is_programs_own
from tagloom.metadata.xmp_read import read_xmp
from tagloom.metadata.xmp_tree import LARGEST_XMP

__all__ = ["FoundKeywords", "find_sidecar", "new_sidecar", "read_photo_keywords", "sidecar_places"]

Place = Literal["sidecar", "xmp", "iptc"]
_EXTENSIONS = (b".xmp", b".XMP", b".Xmp")


@dataclass(frozen=True, slots=True)
class FoundKeywords:
    """Keywords found in and beside one photo.

    Parameters
    ----------
    keywords : tuple of Keyword
        The union of all places, sorted, without flat keywords that repeat a hierarchical one and without those that
        darktable writes for its own use, such as ``darktable|format|nef``.
    places : dict
        The keywords of each place that has any: ``"sidecar"``, ``"xmp"`` (in the file) and ``"iptc"`` (in the file).
    sidecar : bytes or None
        The sidecar's path, where there is one.
    fingerprint : str
        Hexadecimal BLAKE2b-256 of the sidecar as it was read; empty where there is none. Given back when keywords are
        written, it tells whether another program changed the sidecar meanwhile.
    problems : tuple of str
        A line for each place that could not be read.
    """

    keywords: tuple[Keyword, ...]
    places: dict[Place, tuple[Keyword, ...]]
    sidecar: bytes | None = None
    fingerprint: str = ""
    problems: tuple[str, ...] = ()


def find_sidecar(photo: bytes) -> bytes | None:
    """Return the path of a photo's XMP sidecar, None where there is none.

    Parameters
    ----------
    photo : bytes
        ``photo.jpg`` has the sidecar ``photo.jpg.xmp``, or else ``photo.xmp``; the extension may be ``.XMP``. The
        second may belong to other photos of that name as well, such as the raw file of a pair.
    """
    return next((name for name in sidecar_places(photo) if os.path.lexists(name)), None)


def sidecar_places(photo: bytes) -> list[bytes]:
    """Return where the sidecar of a photo can be, the first choice first."""
    names = [photo + extension for extension in _EXTENSIONS]
    stem, has_extension = os.path.splitext(photo)
    if has_extension:
        names += [stem + extension for extension in _EXTENSIONS]
    return [name for name in names if name != photo]


def new_sidecar(photo: bytes) -> bytes:
    """Return where the sidecar of a photo goes that has none: ``photo.jpg.xmp``."""
    return photo + _EXTENSIONS[0]


def read_photo_keywords(photo: bytes, *, embedded: bool = True) -> FoundKeywords:
    """Read the keywords of a photo from its sidecar and from the file itself.

    Parameters
    ----------
    photo : bytes
        The photo's path. Only JPEG, PNG, WebP and TIFF files (and raw files built like TIFF) are looked into.
    embedded : bool, default=True
        Whether to look into the photo, too.

    Returns
    -------
    FoundKeywords
        What cannot be read is a line in ``problems``; nothing is raised for it.
    """
    places: dict[Place, tuple[Keyword, ...]] = {}
    problems: list[str] = []

    def note(place: Place, read: Callable[[bytes], tuple[Keyword, ...]], data: bytes) -> None:
        try:
            places[place] = (*places.get(place, ()), *(read(data) if data else ()))
        except MetadataError as error:
            problems.append(f"{_place_name(photo, place)}: {error}")

    sidecar = find_sidecar(photo)
    fingerprint = ""
    if sidecar is not None:
        data, fingerprint = _read_sidecar(sidecar, problems)
        note("sidecar", read_xmp, data)
    if embedded:
        blocks = _read_embedded(photo, problems)
        note("xmp", read_xmp, blocks.xmp)
        note("xmp", read_xmp, blocks.extended_xmp)
        note("iptc", read_iptc, blocks.iptc)
    everything = [keyword for keywords in places.values() for keyword in keywords]
    said = {place: found for place, keywords in places.items() if (found := _by_people(keywords))}
    return FoundKeywords(_by_people(everything), said, sidecar, fingerprint, tuple(problems))


def _by_people(keywords: Iterable[Keyword]) -> tuple[Keyword, ...]:
    # Absorbed first: the levels of a program's own keywords, repeated as flat ones, are no one's keywords either.
    return tuple(keyword for keyword in absorb(keywords) if not is_programs_own(keyword))


def _place_name(photo: bytes, place: Place) -> str:
    name = os.fsdecode(os.path.basename(photo))
    return {"sidecar": f"sidecar of {name!r}", "xmp": f"XMP in {name!r}", "iptc": f"IPTC in {name!r}"}[place]


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
