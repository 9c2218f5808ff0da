"""The three fields of XMP that hold keywords, and what a photo's keywords are when several fields speak of them."""

from collections.abc import Iterable
from dataclasses import dataclass

from tagloom.core.keywords import Keyword
from tagloom.exceptions import InvalidInputError

__all__ = [
    "FIELDS",
    "HIERARCHICAL",
    "RDF",
    "SUBJECT",
    "TAGS_LIST",
    "XmpField",
    "absorb",
    "is_programs_own",
    "joined_names",
]

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"


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
    array : str, default="Bag"
        The kind of list that programs expect there.
    """

    namespace: str
    name: str
    prefix: str
    separator: str
    array: str = "Bag"

    def keyword(self, text: str) -> Keyword | None:
        """Return the keyword that an item of the field means, None for one that is blank.

        Parameters
        ----------
        text : str
            The item. Empty levels, as in ``/Animals/Cat``, are left out.
        """
        levels = text.split(self.separator) if self.separator else [text]
        try:
            return Keyword(tuple(level for level in levels if level.strip()))
        except InvalidInputError:
            return None

    def text(self, keyword: Keyword) -> str | None:
        """Return a keyword as an item of the field, None where the field cannot hold it.

        Parameters
        ----------
        keyword : Keyword
            A level that holds the separator would be read as two, and a flat field has no levels.
        """
        if not self.separator:
            return keyword.name if len(keyword.path) == 1 else None
        if any(self.separator in level for level in keyword.path):
            return None
        return self.separator.join(keyword.path)


SUBJECT = XmpField("http://purl.org/dc/elements/1.1/", "subject", "dc", "")
HIERARCHICAL = XmpField("http://ns.adobe.com/lightroom/1.0/", "hierarchicalSubject", "lr", "|")
TAGS_LIST = XmpField("http://www.digikam.org/ns/1.0/", "TagsList", "digiKam", "/", "Seq")
FIELDS = (SUBJECT, HIERARCHICAL, TAGS_LIST)
_OWN_ROOT = "darktable"


def absorb(keywords: Iterable[Keyword]) -> tuple[Keyword, ...]:
    """Return distinct keywords, sorted, without the flat ones that repeat a hierarchical one.

    Programs repeat ``Animals|Cat`` as the flat keywords ``Animals`` and ``Cat``, for readers that know no hierarchy,
    or as one flat keyword with the text ``Animals|Cat`` or ``Animals/Cat``; these say nothing new.

    Parameters
    ----------
    keywords : iterable of Keyword
        Of one photo.
    """
    distinct = set(keywords)
    hierarchical = [keyword for keyword in distinct if len(keyword.path) > 1]
    known = {name for keyword in hierarchical for name in (*keyword.path, *joined_names(keyword))}
    return tuple(sorted(keyword for keyword in distinct if len(keyword.path) > 1 or keyword.name not in known))


def joined_names(keyword: Keyword) -> tuple[str, str]:
    """Return a keyword's levels as programs write them into a field without levels: ``A|B`` and ``A/B``."""
    return "|".join(keyword.path), "/".join(keyword.path)


def is_programs_own(keyword: Keyword) -> bool:
    """Tell whether a photo program wrote a keyword for its own use, and no person: those below ``darktable``.

    darktable puts file formats, styles and whether a photo was changed into the fields of keywords, as
    ``darktable|format|nef``. They say nothing of what is in a photo.

    Parameters
    ----------
    keyword : Keyword
        Also a flat one whose name is such a text.
    """
    if len(keyword.path) > 1:
        return keyword.path[0] == _OWN_ROOT
    return keyword.name.startswith((f"{_OWN_ROOT}|", f"{_OWN_ROOT}/"))
