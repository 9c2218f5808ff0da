"""An XMP packet as a tree that knows at which bytes of the file each element lies.

The tree is made by expat, which reports the position of every event in the bytes as they came, whatever their
encoding. It holds what keywords need and no more: the elements down to the properties of each ``rdf:Description``, and
everything inside the properties of `tagloom.metadata.xmp_fields`.

A packet is untrusted. One with a document type is refused before anything in it is declared, so that there are no
entities to expand and nothing outside to fetch; one that is too large is refused before it is parsed. A parser writes
out the namespace of every name it reports, so that a few bytes of names can take any amount of memory: how long
namespaces are and how often they are used is checked on the bytes, before there is a parser.
"""

import codecs
import functools
import re
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from tagloom.exceptions import MetadataError
from tagloom.metadata.xmp_fields import RDF, READ_ONLY, WRITTEN, XmpField

__all__ = ["LARGEST_XMP", "Node", "XmpTree", "is_empty", "parse_xmp"]

LARGEST_XMP = 16 << 20
DEEPEST = 250  # of elements inside each other; other parsers stop at 256
MOST_ELEMENTS = 500_000
MOST_KEPT = 200_000  # elements and pieces of text that are held in memory
LONGEST_NAMESPACE = 1000
MOST_NAMESPACES = 20_000
LARGEST_NAMES = 16 << 20  # bytes of all names with their namespaces written out
_CHUNK = 1 << 16
_N_KEPT, _LONGEST_KEPT = 1024, 200  # packets share most of their names, and longer ones are a packet's own
_NAMESPACE = re.compile(rb"""xmlns(?::[^\s=<>"']*+)?+\s*+=\s*+(?:"([^"]*+)|'([^']*+))""")
_ATTACK = "it is not read, as it may be an attack"
_BETWEEN = "\x01"  # no character of XML, so that it cannot be part of a name
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_EMPTY = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xpacket begin=[^<>]*\?>\s*+(?:<\?xpacket end=[^<>]*\?>[\s\0]*+)?")
_OWN = {(each.namespace, each.name) for each in (*WRITTEN, *READ_ONLY)}
_NAMESPACES = {namespace for namespace, _ in _OWN}

Name = tuple[str, str]


@dataclass(eq=False, slots=True)
class Node:
    """An element and its place in the bytes.

    Parameters
    ----------
    name : (namespace, local name)
        What it is.
    prefix : str
        As it is written; empty for none.
    attributes : dict
        Values by name.
    scope : dict
        Namespaces by the prefixes that are declared here.
    start, inside, close, end : int
        Where its first tag begins and ends, and where its last tag begins and ends. In ``<a/>`` the last three are
        equal.
    parent : Node or None
        The element around it.
    """

    name: Name
    prefix: str
    attributes: dict[Name, str]
    scope: dict[str, str]
    start: int
    parent: "Node | None"
    inside: int = -1
    close: int = -1
    end: int = -1
    children: list["Node"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text directly inside."""
        return "".join(self.texts)

    def find(self, namespace: str, *names: str) -> list["Node"]:
        """Return the children with one of these names."""
        return [child for child in self.children if child.name[0] == namespace and child.name[1] in names]

    def tag(self, local: str) -> str:
        """Return a name in the namespace of this element, as it is written here."""
        return f"{self.prefix}:{local}" if self.prefix else local


@dataclass(eq=False, slots=True)
class XmpTree:
    """A packet.

    Parameters
    ----------
    data : bytes
        The packet as it came.
    encoding : str
        Of its characters.
    rdf : Node
        The element ``rdf:RDF``.
    """

    data: bytes
    encoding: str
    rdf: Node

    @property
    def descriptions(self) -> list[Node]:
        """The blocks of properties."""
        return self.rdf.find(RDF, "Description")

    def items(self, of: XmpField) -> list[str]:
        """Return the items of a field, in all forms in which programs write them, in their order."""
        found = []
        for description in self.descriptions:
            simple = description.attributes.get((of.namespace, of.name))
            if simple is not None:
                found.append(simple)
            for element in description.find(of.namespace, of.name):
                found += [item_text(item) for item in items_of(element)]
        return found

    def decode(self, start: int, end: int) -> str:
        """Return a stretch of the packet as text."""
        return self.data[start:end].decode(self.encoding)

    def encode(self, text: str) -> bytes:
        """Return text as bytes of this packet; what its encoding lacks becomes a character reference."""
        return text.encode(self.encoding, errors="xmlcharrefreplace")


def items_of(element: Node) -> list[Node]:
    """Return the elements of a property that hold one keyword each: those of its array, or else the property itself."""
    arrays = element.find(RDF, "Bag", "Seq", "Alt")
    if arrays:
        return [item for array in arrays for item in array.find(RDF, "li")]
    return [] if element.children or not element.text.strip() else [element]


def item_text(item: Node) -> str:
    """Return the text of an item, which lies one or two elements deeper where the item has qualifiers."""
    for _ in range(2):
        inner = item.find(RDF, "value") or item.find(RDF, "Description")
        if not inner:
            break
        item = inner[0]
    return item.attributes.get((RDF, "value"), item.text)


def parse_xmp(packet: bytes) -> XmpTree:
    """Parse a packet.

    Parameters
    ----------
    packet : bytes
        Untrusted.

    Raises
    ------
    MetadataError
        If it is too large, not well-formed, has a document type or names without end, or is no XMP. Nothing else is
        raised.
    """
    if len(packet) > LARGEST_XMP:
        raise MetadataError(
            f"expected at most {LARGEST_XMP >> 20} MiB of XMP, got {len(packet) / 2**20:,.0f} MiB; it is not read"
        )
    if is_empty(packet):
        return XmpTree(packet, "utf-8", Node((RDF, "RDF"), "rdf", {}, {}, 0, None))
    _check_namespaces(packet)
    builder = _Builder(packet)
    try:
        # In pieces: a handler that raises is heeded at the end of the piece.
        for start in range(0, len(packet), _CHUNK):
            builder.parser.Parse(packet[start : start + _CHUNK], False)
        builder.parser.Parse(b"", True)
    except expat.ExpatError as error:
        raise MetadataError(f"expected well-formed XML, got {error}; repair or remove it") from error
    except (LookupError, ValueError, UnicodeError) as error:
        if isinstance(error, MetadataError):
            raise
        raise MetadataError(f"expected XML in a usual encoding, got one that is not known ({error})") from error
    finally:
        del builder.parser
    if builder.rdf is None:
        raise MetadataError("expected XMP with an element rdf:RDF, got other XML; it is left alone")
    return XmpTree(packet, builder.encoding or "utf-8", builder.rdf)


def is_empty(packet: bytes) -> bool:
    """Tell whether a packet is a wrapper around nothing: what digiKam leaves when the last keyword goes."""
    return _EMPTY.fullmatch(packet) is not None


def _check_namespaces(packet: bytes) -> None:
    """Refuse a packet whose names would take much more memory than the packet has bytes."""
    plain = packet.replace(b"\0", b"") if b"\0" in packet else packet  # two bytes for each character
    lengths = [len(double or single) for double, single in _NAMESPACE.findall(plain)]
    longest = max(lengths, default=0)
    if longest > LONGEST_NAMESPACE:
        raise MetadataError(
            f"expected XMP with namespaces of at most {LONGEST_NAMESPACE} characters, got {longest:,}; {_ATTACK}"
        )
    n_names = plain.count(b"<") + plain.count(b"=")
    if len(lengths) > MOST_NAMESPACES or longest * n_names > LARGEST_NAMES:
        raise MetadataError(f"expected XMP, got {n_names:,} names in {len(lengths):,} namespaces; {_ATTACK}")


class _Builder:
    """Makes the tree from the parser's events."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.encoding = next((name for mark, name in _MARKS if data.startswith(mark)), "")
        self.parser = parser = expat.ParserCreate(None, _BETWEEN)
        parser.namespace_prefixes = True
        parser.buffer_text = False  # a merged text would hide where the tag before it ends
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartNamespaceDeclHandler = self._declare
        parser.XmlDeclHandler = self._declaration
        parser.StartDoctypeDeclHandler = self._refuse
        parser.CommentHandler = parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = self._settle
        parser.ProcessingInstructionHandler = parser.DefaultHandler = self._settle
        self.rdf: Node | None = None
        self._around: list[Node] = []
        self._names: dict[str, tuple[Name, str]] = {}
        self._n_outside = 0  # elements around rdf:RDF
        self._n_skipped = 0
        self._keywords = 0  # how many elements deep inside a field of keywords
        self._n_elements = 0
        self._n_kept = 0
        self._declared: dict[str, str] = {}
        self._opened: Node | None = None
        self._closed: Node | None = None

    def _refuse(self, *_: Any) -> None:
        raise MetadataError(f"expected XMP without a document type, got <!DOCTYPE; {_ATTACK}")

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if not self.encoding:
            self.encoding = codecs.lookup(encoding or "utf-8").name
            if "xmlns".encode(self.encoding) != b"xmlns":  # then nobody has looked at the namespaces
                raise MetadataError(f"expected XML in UTF-8, got {self.encoding}; it is not read")

    def _declare(self, prefix: str | None, uri: str | None) -> None:
        self._settle()
        self._declared[prefix or ""] = _namespace(uri or "")

    def _settle(self, *_: Any) -> None:
        """Note that the tag before this event ends where the event begins."""
        if self._opened is None and self._closed is None:
            return
        position = self.parser.CurrentByteIndex
        if self._opened is not None:
            self._opened.inside = position
            self._opened = None
        if self._closed is not None:
            self._closed.end = position
            self._closed = None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._settle()
        declared, self._declared = self._declared, {}
        self._n_elements += 1
        around = self._around
        if len(around) + self._n_skipped >= DEEPEST or self._n_elements > MOST_ELEMENTS:
            raise MetadataError(f"expected XMP, got elements without end; {_ATTACK}")
        if self._n_skipped or not self._is_wanted():
            self._n_skipped += 1
            return
        self._keep()
        parent = around[-1] if around else None
        full, prefix = self._split(name)
        named = {self._split(each)[0]: value for each, value in attributes.items()} if attributes else {}
        node = Node(full, prefix, named, declared, self.parser.CurrentByteIndex, parent)
        if parent is not None:
            parent.children.append(node)
        if self.rdf is None and full == (RDF, "RDF"):
            self.rdf, self._n_outside = node, len(around)
        around.append(node)
        self._opened = node
        if self._keywords or full in _OWN:
            self._keywords += 1

    def _is_wanted(self) -> bool:
        """Tell whether an element that begins here is one that keywords need."""
        if self.rdf is None:
            return True
        n_deep = len(self._around) - self._n_outside
        if n_deep == 2:
            return self._around[-1].name == (RDF, "Description")
        if n_deep == 3:
            return self._around[-1].name in _OWN
        return n_deep > 0  # deeper ones are in a field of keywords; none is wanted after the end of rdf:RDF

    def _end(self, _name: str) -> None:
        self._settle()
        if self._n_skipped:
            self._n_skipped -= 1
            return
        node = self._around.pop()
        if self._keywords:
            self._keywords -= 1
        node.close = self.parser.CurrentByteIndex
        self._closed = node

    def _text(self, text: str) -> None:
        self._settle()
        if self._around and not self._n_skipped and (self._keywords or not text.isspace()):
            self._keep()
            self._around[-1].texts.append(text)

    def _keep(self) -> None:
        self._n_kept += 1
        if self._n_kept > MOST_KEPT:
            raise MetadataError(f"expected XMP, got keywords without end; {_ATTACK}")

    def _split(self, name: str) -> tuple[Name, str]:
        if len(name) <= _LONGEST_KEPT:
            return _split(name)
        if name not in self._names:
            self._names[name] = _split.__wrapped__(name)
        return self._names[name]


@functools.lru_cache(maxsize=_N_KEPT)
def _split(name: str) -> tuple[Name, str]:
    """Return namespace, local name and prefix; the namespace is one text, however often it is used."""
    parts = name.split(_BETWEEN)
    uri, local = parts[:2] if len(parts) > 1 else ("", parts[0])
    return (_namespace(uri), local), parts[2] if len(parts) > 2 else ""


@functools.lru_cache(maxsize=_N_KEPT)
def _namespace(uri: str) -> str:
    """Return a namespace with its last slash, which exiftool leaves out of Microsoft's."""
    return f"{uri}/" if f"{uri}/" in _NAMESPACES else uri
