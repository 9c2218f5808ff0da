"""The fields of XMP that hold keywords, and what single items of them mean."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tagloom.core import Keyword
from tagloom.exceptions import InvalidInputError

__all__ = [
    "ACDSEE",
    "FIELDS",
    "HIERARCHICAL",
    "IN_STEP",
    "RDF",
    "READ_ONLY",
    "SUBJECT",
    "TAGS_LIST",
    "WRITTEN",
    "XmpField",
    "absorb",
    "is_programs_own",
    "joined_names",
    "respelled",
]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
Form = Literal["list", "categories", "hierarchy", "regions"]
_N_KEPT, _LONGEST_KEPT = 16_384, 200  # photos share most of their keywords


@dataclass(frozen=True, slots=True)
class XmpField:
    """One property of XMP.

    Parameters
    ----------
    namespace, name : str
        What identifies it.
    prefix : str
        The usual prefix of its namespace.
    separator : str
        What stands between levels; empty for a field of flat keywords.
    stand_in : str
        What is written for the separator inside a level. For ``/`` it is the backslash, as digiKam has it.
    array : str, default="Bag"
        The kind of list that programs expect there.
    form : {"list", "categories", "hierarchy", "regions"}, default="list"
        How the items are written: a plain list, ACDSee's XML in one text, or the nested structures of the Metadata
        Working Group and of Microsoft.
    part : str
        In structures: the name of what holds a keyword.
    """

    namespace: str
    name: str
    prefix: str
    separator: str = ""
    stand_in: str = ""
    array: str = "Bag"
    form: Form = "list"
    part: str = ""

    @property
    def label(self) -> str:
        """The name with its prefix, such as ``dc:subject``."""
        return f"{self.prefix}:{self.name}"

    def keyword(self, text: str) -> Keyword | None:
        """Return the keyword that an item of the field means, None for one that is blank.

        Parameters
        ----------
        text : str
            The item. Empty levels, as in ``/Animals/Cat``, are left out.
        """
        make = _keyword if len(text) <= _LONGEST_KEPT else _keyword.__wrapped__
        return make(text, self.separator)

    def level(self, text: str) -> str:
        """Return one level as the field can hold it: with the stand-in for its separator."""
        return text.replace(self.separator, self.stand_in) if self.separator else text

    def text(self, keyword: Keyword) -> str:
        """Return a keyword as an item of the field; a flat field takes the last level alone.

        Parameters
        ----------
        keyword : Keyword
            Any.
        """
        if not self.separator:
            return keyword.name
        return self.separator.join(map(self.level, keyword.path))


@functools.lru_cache(maxsize=_N_KEPT)
def _keyword(text: str, separator: str) -> Keyword | None:
    levels = text.split(separator) if separator else [text]
    try:
        return Keyword(tuple(level for level in levels if level.strip()))
    except InvalidInputError:
        return None


SUBJECT = XmpField("http://purl.org/dc/elements/1.1/", "subject", "dc")
HIERARCHICAL = XmpField("http://ns.adobe.com/lightroom/1.0/", "hierarchicalSubject", "lr", "|", "/")
TAGS_LIST = XmpField("http://www.digikam.org/ns/1.0/", "TagsList", "digiKam", "/", "\\", "Seq")
#: What every write fills.
FIELDS = (SUBJECT, HIERARCHICAL, TAGS_LIST)
_LAST_KEYWORD = XmpField("http://ns.microsoft.com/photo/1.0/", "LastKeywordXMP", "MicrosoftPhoto", "/", "\\")
_CATALOG_SETS = XmpField("http://ns.iview-multimedia.com/mediapro/1.0/", "CatalogSets", "mediapro", "|", "/")
ACDSEE = XmpField("http://ns.acdsee.com/iptc/1.0/", "categories", "acdsee", "/", "\\", form="categories")
#: What digiKam reads as well: kept in step where it is there, and never made.
IN_STEP = (_LAST_KEYWORD, _CATALOG_SETS, ACDSEE)
WRITTEN = (*FIELDS, *IN_STEP)
_MWG = "http://www.metadataworkinggroup.com/schemas"
#: People and hierarchies that other programs state in structures: read, and never changed.
READ_ONLY = (
    XmpField(f"{_MWG}/keywords/", "Keywords", "mwg-kw", "|", "/", form="hierarchy", part="Keyword"),
    XmpField("http://iptc.org/std/Iptc4xmpExt/2008-02-29/", "PersonInImage", "Iptc4xmpExt"),
    XmpField(f"{_MWG}/regions/", "Regions", "mwg-rs", form="regions", part="Name"),
    XmpField("http://ns.microsoft.com/photo/1.2/", "RegionInfo", "MP", form="regions", part="PersonDisplayName"),
)
#: darktable's own, and what connectors/darktable makes of suggestions.
_OWN_BRANCHES = (("darktable",), ("tagloom", "suggested"), ("tagloom", "rejected"))
_OWN_TEXTS = tuple(sep.join(branch) + sep for branch in _OWN_BRANCHES for sep in "|/")


def absorb(keywords: Iterable[Keyword], flat: Iterable[str] = ()) -> tuple[Keyword, ...]:
    """Return distinct keywords, sorted, and those flat names that do not just repeat one of them.

    Programs repeat ``Animals|Cat`` in fields that know no levels as ``Animals`` and ``Cat``, or as one name with the
    text ``Animals|Cat`` or ``Animals/Cat``; these say nothing new. A flat keyword in a field that knows levels is a
    keyword of its own, also if another one has a level of that name.

    Parameters
    ----------
    keywords : iterable of Keyword
        Of one photo, from fields with levels.
    flat : iterable of str
        Names from fields without levels.
    """
    distinct = set(keywords)
    known = {name for keyword in distinct for name in (*keyword.path, *joined_names(keyword))}
    return tuple(sorted(distinct | {Keyword.flat(name) for name in flat if name not in known}))


def joined_names(keyword: Keyword) -> tuple[str, str]:
    """Return a keyword's levels as programs write them into a field without levels: ``A|B`` and ``A/B``."""
    return "|".join(keyword.path), "/".join(keyword.path)


def respelled(names: Iterable[str]) -> dict[str, str]:
    r"""Return what names with a separator in them may have become in other fields, and the names themselves.

    Parameters
    ----------
    names : iterable of str
        Names as they should be, such as ``AC/DC``; digiKam makes ``AC\DC`` of it.
    """
    exact = set(names)
    found: Mapping[str, str] = {
        of.level(name): name for name in sorted(exact, reverse=True) for of in (HIERARCHICAL, TAGS_LIST)
    }
    return {other: name for other, name in found.items() if other not in exact}


def is_programs_own(keyword: Keyword) -> bool:
    """Tell whether a program wrote a keyword for its own use, and no person.

    darktable puts file formats, styles and whether a photo was changed into the fields of keywords, as
    ``darktable|format|nef``; tagloom's script for darktable puts suggestions there, as ``tagloom|suggested|dog``. They
    say nothing of what is in a photo.

    Parameters
    ----------
    keyword : Keyword
        Also a flat one whose name is such a text.
    """
    if len(keyword.path) > 1:
        return any(len(keyword.path) > len(one) and keyword.path[: len(one)] == one for one in _OWN_BRANCHES)
    return keyword.name.startswith(_OWN_TEXTS)
