"""The keywords of an XMP packet."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from tagloom.core.keywords import Keyword
from tagloom.metadata.xmp_fields import FIELDS, SUBJECT, absorb
from tagloom.metadata.xmp_tree import XmpTree, parse_xmp

__all__ = ["NOTHING", "Stated", "read_stated", "read_xmp"]


@dataclass(frozen=True, slots=True)
class Stated:
    """What the three fields say, before it is put together.

    Parameters
    ----------
    flat : frozenset of str
        Names in ``dc:subject``.
    paths : frozenset of Keyword
        Keywords in the two fields that have levels, flat ones among them.
    """

    flat: frozenset[str] = frozenset()
    paths: frozenset[Keyword] = frozenset()

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        """The union, with its hierarchy."""
        return absorb([*self.paths, *(Keyword.flat(name) for name in self.flat)])

    def to_text(self) -> str:
        """Return it as text for `from_text`; empty if it says nothing."""
        if not self.flat and not self.paths:
            return ""
        return json.dumps({"flat": sorted(self.flat), "paths": [keyword.text for keyword in sorted(self.paths)]})

    @classmethod
    def from_text(cls, text: str) -> "Stated":
        """Return what `to_text` made a text of."""
        said = json.loads(text or "{}")
        return cls(frozenset(said.get("flat", ())), frozenset(map(Keyword.parse, said.get("paths", ()))))


NOTHING = Stated()


def read_xmp(packet: bytes) -> tuple[Keyword, ...]:
    """Return the keywords of an XMP packet: the union of the three fields, sorted.

    The fields are ``dc:subject``, ``lr:hierarchicalSubject`` (``Animals|Cat``) and ``digiKam:TagsList``
    (``Animals/Cat``). A flat keyword that is a level of a hierarchical one is not repeated.

    Parameters
    ----------
    packet : bytes
        A sidecar, or the block from inside a photo; NUL bytes after the end are allowed. Untrusted.

    Raises
    ------
    MetadataError
        If the packet cannot be read. Nothing else is raised, whatever the bytes are.

    Examples
    --------
    >>> packet = (
    ...     b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
    ...     b'xmlns:dc="http://purl.org/dc/elements/1.1/"><rdf:Description rdf:about=""><dc:subject><rdf:Bag>'
    ...     b"<rdf:li>cat</rdf:li></rdf:Bag></dc:subject></rdf:Description></rdf:RDF>"
    ... )
    >>> [keyword.text for keyword in read_xmp(packet)]
    ['cat']
    """
    text = packet.rstrip(b"\0") if not packet.startswith((b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")) else packet
    return read_stated(parse_xmp(text)).keywords


def read_stated(tree: XmpTree) -> Stated:
    """Return what the fields of a packet say.

    Parameters
    ----------
    tree : XmpTree
        The packet.
    """
    flat = {keyword.name for keyword in _understood(SUBJECT.keyword(item) for item in tree.items(SUBJECT))}
    paths = {
        keyword
        for each in FIELDS
        if each is not SUBJECT
        for keyword in _understood(each.keyword(item) for item in tree.items(each))
    }
    return Stated(frozenset(flat), frozenset(paths))


def _understood(keywords: Iterable[Keyword | None]) -> list[Keyword]:
    return [keyword for keyword in keywords if keyword is not None]
