"""What other photo programs read from sidecars and write to them.

What darktable 4.2.1 reads and writes, and what digiKam 7.9.0 reads, was seen when these programs ran on sidecars made
for this. What digiKam writes was not: it follows digiKam's published source. darktable reads
``lr:hierarchicalSubject``, or else ``dc:subject``, and rewrites these two. digiKam reads the first of its fields that
holds anything, and rewrites all of them; of a tag with levels ``dc:subject`` gets the last one. Not modelled: digiKam
takes a root tag for a level of that name if it reads the level first.
"""

from collections.abc import Iterable
from xml.sax.saxutils import escape

from tagloom.metadata.xmp_fields import ACDSEE, HIERARCHICAL, RDF, SUBJECT, TAGS_LIST, WRITTEN, XmpField
from tagloom.metadata.xmp_read import categories_text, field_items
from tagloom.metadata.xmp_tree import parse_xmp

_LAST_KEYWORD, _CATALOG_SETS = WRITTEN[3:5]
#: All that digiKam 7.9.0 leaves of a sidecar of keywords when the last one goes.
EMPTY = b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
_ORDER = (TAGS_LIST, _LAST_KEYWORD, HIERARCHICAL, _CATALOG_SETS, ACDSEE, SUBJECT)

Tags = set[tuple[str, ...]]


def items(packet: bytes | None) -> dict[XmpField, list[str]]:
    """Return the items of all fields that are written by any program."""
    if packet is None:
        return {of: [] for of in WRITTEN}
    tree = parse_xmp(packet)
    return {of: field_items(tree, of) for of in WRITTEN}


def darktable_reads(packet: bytes | None) -> Tags:
    """Return the tags that darktable shows."""
    found = items(packet)
    return {tuple(text.split("|")) for text in found[HIERARCHICAL] or found[SUBJECT]}


def darktable_writes(packet: bytes | None, tags: Iterable[tuple[str, ...]]) -> bytes:
    """Return a sidecar as darktable saves it."""
    chosen = set(tags)
    changed = {
        HIERARCHICAL: sorted(map("|".join, chosen)),
        SUBJECT: sorted({level for path in chosen for level in path}),
    }
    return _packet(items(packet) | changed)


def digikam_reads(packet: bytes | None) -> Tags:
    """Return the tags that digiKam shows."""
    found = items(packet)
    for of in _ORDER:
        if found[of]:
            texts = found[of]
            if of.separator == "|":
                texts = [text.replace("/", "\\").replace("|", "/") for text in texts]
            return {tuple(text.split("/")) for text in texts}
    return set()


def digikam_writes(packet: bytes | None, tags: Iterable[tuple[str, ...]]) -> bytes:
    """Return a sidecar as digiKam saves it."""
    paths = sorted(set(tags))
    if not paths:
        return EMPTY
    slashes, bars = ["/".join(path) for path in paths], ["|".join(path) for path in paths]
    changed = {TAGS_LIST: slashes, _LAST_KEYWORD: slashes, HIERARCHICAL: bars, _CATALOG_SETS: bars, ACDSEE: slashes}
    return _packet(items(packet) | changed | {SUBJECT: list(dict.fromkeys(path[-1] for path in paths))})


def flat_program_writes(packet: bytes | None, names: Iterable[str]) -> bytes:
    """Return a sidecar as a program saves it that knows ``dc:subject`` alone."""
    return _packet(items(packet) | {SUBJECT: sorted(set(names))})


def _packet(fields: dict[XmpField, list[str]]) -> bytes:
    inner = ""
    for of, texts in fields.items():
        if texts and of is ACDSEE:
            value = categories_text(keyword for text in texts if (keyword := of.keyword(text)))
            inner += f"   <{of.label}>{escape(value)}</{of.label}>\n"
        elif texts:
            listed = "".join(f"     <rdf:li>{escape(text)}</rdf:li>\n" for text in texts)
            inner += f"   <{of.label}>\n    <rdf:{of.array}>\n{listed}    </rdf:{of.array}>\n   </{of.label}>\n"
    declared = "".join(f'\n    xmlns:{of.prefix}="{of.namespace}"' for of in WRITTEN)
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="XMP Core 4.4.0-Exiv2">\n'
        f' <rdf:RDF xmlns:rdf="{RDF}">\n  <rdf:Description rdf:about=""{declared}>\n{inner}'
        f"  </rdf:Description>\n </rdf:RDF>\n</x:xmpmeta>\n"
    ).encode()
