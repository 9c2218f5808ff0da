"""The keywords of an XMP packet, and which of them count when its fields differ.

Photo programs maintain different fields: darktable and Lightroom rewrite ``dc:subject`` and ``lr:hierarchicalSubject``
and leave ``digiKam:TagsList`` as it was, digiKam rewrites all of them, simple programs only ``dc:subject``. So the
fields come to differ, and alone they do not tell a keyword that one program added from one that another took out. A
`FieldRecord` does: what each field said when tagloom last read or wrote it. A field that still says the same has
nothing new to say; what the others added since is added, and what they took out is gone from all of them. Without a
record every keyword of every field counts, but for what the last writer left behind: where ``dc:subject`` and
``lr:hierarchicalSubject`` agree and ``digiKam:TagsList`` has more, digiKam did not save the file last.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from tagloom.core import Keyword
from tagloom.exceptions import MetadataError
from tagloom.metadata.xmp_fields import (
    ACDSEE,
    HIERARCHICAL,
    IN_STEP,
    RDF,
    READ_ONLY,
    SUBJECT,
    TAGS_LIST,
    WRITTEN,
    XmpField,
    absorb,
    joined_names,
    respelled,
)
from tagloom.metadata.xmp_tree import Node, XmpTree, parse_xmp

__all__ = [
    "NOTHING",
    "FieldReading",
    "FieldRecord",
    "Stated",
    "categories_text",
    "field_items",
    "fields_of",
    "read_fields",
    "read_xmp",
    "without_padding",
]

Items = Mapping[str, Collection[str]]
T = TypeVar("T")
_BY_LABEL = {of.label: of for of in (*WRITTEN, *READ_ONLY)}
_WRITTEN_LABELS = frozenset(of.label for of in WRITTEN)


@dataclass(frozen=True, slots=True)
class Stated:
    """What fields say, before it is put together.

    Parameters
    ----------
    flat : frozenset of str
        Names in ``dc:subject`` and other fields without levels.
    paths : frozenset of Keyword
        Keywords in fields that have levels, flat ones among them.
    """

    flat: frozenset[str] = frozenset()
    paths: frozenset[Keyword] = frozenset()

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        """The union, without flat names that repeat a level."""
        return _absorbed(self.paths, self.flat)

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


_absorbed = lru_cache(maxsize=1024)(absorb)  # photos of one event often have the same keywords

NOTHING = Stated()


@dataclass(frozen=True, slots=True)
class FieldRecord:
    """What fields said at one moment, and which keywords that meant.

    Parameters
    ----------
    items : mapping of str to collection of str
        The items of each field that had any, by its label.
    keywords : frozenset of Keyword
        Those that counted; fields may have held others that were gone already.
    added, removed : frozenset of Keyword
        What other programs had added and taken out by then, of which the project has not been told by an import.
    is_whole : bool, default=True
        Whether a field without items had none. Otherwise that goes for the fields that tagloom writes, and of others
        nothing is known.
    """

    items: Items
    keywords: frozenset[Keyword]
    added: frozenset[Keyword] = frozenset()
    removed: frozenset[Keyword] = frozenset()
    is_whole: bool = True

    def covers(self, label: str) -> bool:
        """Tell whether it is known what a field said."""
        return self.is_whole or label in self.items or label in _WRITTEN_LABELS

    def said_by_others(self) -> frozenset[Keyword]:
        """Return those of the keywords that fields said which tagloom does not write."""
        others = {label: items for label, items in self.items.items() if label not in _WRITTEN_LABELS}
        return self.keywords.intersection(read_fields(others).keywords)

    def only(self, labels: Collection[str]) -> "FieldRecord":
        """Return what it has of some fields."""
        return replace(self, items={label: items for label, items in self.items.items() if label in labels})

    def key(self) -> tuple[Any, ...]:
        """Return something that is equal only for records that say the same."""
        items = tuple((label, tuple(texts)) for label, texts in self.items.items())
        return items, self.keywords, self.added, self.removed, self.is_whole

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        said = {"keywords": self.keywords, "added": self.added, "removed": self.removed}
        return {
            "fields": {label: sorted(set(items)) for label, items in sorted(self.items.items()) if items},
            **{name: [keyword.text for keyword in sorted(each)] for name, each in said.items() if each},
            **({} if self.is_whole else {"whole": False}),
        }

    @classmethod
    def from_dict(cls, said: Mapping[str, Any]) -> "FieldRecord | None":
        """Return what `as_dict` made; None of anything else."""
        if "fields" not in said:
            return None
        if not all(isinstance(text, str) for texts in said["fields"].values() for text in texts):
            raise TypeError("an item of a field is no text")
        lists = (said.get(name, ()) for name in ("keywords", "added", "removed"))
        keywords, added, removed = (frozenset(map(Keyword.parse, texts)) for texts in lists)
        return cls(dict(said["fields"]), keywords, added, removed, said.get("whole", True))


@dataclass(frozen=True, slots=True)
class FieldReading:
    r"""What fields say now.

    Parameters
    ----------
    stated : Stated
        What counts of it.
    items : mapping of str to collection of str
        All that is there, by label.
    spellings : mapping of str to str
        Names that another program had to spell differently (``AC\DC``), and the names they stand for.
    added, removed : frozenset of Keyword
        What came and went since the record, and what it has of that already; empty without one.
    """

    stated: Stated
    items: Items
    spellings: Mapping[str, str] = field(default_factory=dict)
    added: frozenset[Keyword] = frozenset()
    removed: frozenset[Keyword] = frozenset()

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        """The keywords that count, sorted."""
        return self.stated.keywords

    @property
    def record(self) -> FieldRecord:
        """What to remember of it."""
        return FieldRecord(self.items, frozenset(self.keywords), self.added, self.removed)

    def keyword(self, of: XmpField, text: str) -> Keyword | None:
        """Return the keyword that an item means, in its own spelling."""
        return _spelled(of.keyword(text), self.spellings)


def read_xmp(packet: bytes) -> tuple[Keyword, ...]:
    """Return the keywords of an XMP packet: the union of its fields, sorted.

    The fields are ``dc:subject``, ``lr:hierarchicalSubject`` (``Animals|Cat``), ``digiKam:TagsList``
    (``Animals/Cat``), others that digiKam reads, ``mwg-kw:Keywords``, and names of people: those of face regions and in
    ``Iptc4xmpExt:PersonInImage``. A name without levels that is a level of a hierarchical keyword is not repeated.

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
    return read_fields(fields_of(parse_xmp(without_padding(packet)))).keywords


def without_padding(packet: bytes) -> bytes:
    """Return a packet without the NUL bytes after its end."""
    return packet if packet.startswith((b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")) else packet.rstrip(b"\0")


def fields_of(tree: XmpTree, fields: Iterable[XmpField] = (*WRITTEN, *READ_ONLY)) -> dict[str, list[str]]:
    """Return the items of all fields of a packet that have any, by label.

    Parameters
    ----------
    tree : XmpTree
        The packet.
    fields : iterable of XmpField
        Which to look for.
    """
    there = {name for each in tree.descriptions for name in (*each.attributes, *(one.name for one in each.children))}
    found = {of.label: field_items(tree, of) for of in fields if (of.namespace, of.name) in there}
    return {label: items for label, items in found.items() if items}


def read_fields(now: Items, known: FieldRecord | None = None) -> FieldReading:
    """Return what fields say, given what they said before.

    Parameters
    ----------
    now : mapping of str to collection of str
        Items by label. Labels of no XMP field, such as that of IPTC, are fields without levels.
    known : FieldRecord, optional
        What they said when tagloom last read or wrote them.
    """
    if known is None:
        return _read_at_first_sight(tuple((label, tuple(items)) for label, items in now.items()))
    counted = known.keywords
    spellings = _spellings(now, counted)
    said = _by_field(now, spellings)
    covered, rest = said.split(known.covers)
    before = _Before(_by_field(known.items, _spellings(known.items, counted)), counted)
    stated = before.changed_to(covered)
    count, counted_then = frozenset(stated.keywords), before.keywords
    added = (count - counted_then) | (known.added & count)
    # Of fields of which it is not known what they said everything counts, and nothing is news.
    stated = Stated(stated.flat | rest.stated.flat, stated.paths | rest.stated.paths)
    return FieldReading(stated, now, spellings, added, (counted_then | known.removed).difference(stated.keywords))


@lru_cache(maxsize=1024)
def _read_at_first_sight(fields: tuple[tuple[str, tuple[str, ...]], ...]) -> FieldReading:
    now = dict(fields)
    spellings = _spellings(now, ())
    return FieldReading(_without_leftovers(_by_field(now, spellings)).stated, now, spellings)


class _Said(NamedTuple):
    """What fields say, one by one: those with levels, and those without."""

    paths: Mapping[str, frozenset[Keyword]]
    names: Mapping[str, frozenset[str]]

    @property
    def stated(self) -> Stated:
        """All of it."""
        return Stated(_all(self.names.values()), _all(self.paths.values()))

    def split(self, is_first: Callable[[str], bool]) -> tuple["_Said", "_Said"]:
        """Return the fields that hold something, and the others."""
        first, second = (
            _Said(
                {label: each for label, each in self.paths.items() if is_first(label) == wanted},
                {label: each for label, each in self.names.items() if is_first(label) == wanted},
            )
            for wanted in (True, False)
        )
        return first, second


def _by_field(items: Items, spellings: Mapping[str, str]) -> _Said:
    levelled = {of.label: of for of in _BY_LABEL.values() if of.separator}
    paths = {label: _keywords(items.get(label, ()), of, spellings) for label, of in levelled.items()}
    names = {label: _names(texts, spellings) for label, texts in items.items() if label not in levelled}
    return _Said(_agreed(paths), names)


def _without_leftovers(said: _Said) -> _Said:
    """Return what fields say without the items of digiKam's that a later program has taken out of its own."""
    kept = said.paths[HIERARCHICAL.label]
    if not kept or said.names.get(SUBJECT.label, frozenset()) != _levels(kept):
        return said
    gone = said.paths[TAGS_LIST.label] - kept
    digikams = {of.label for of in (TAGS_LIST, *IN_STEP)}
    return _Said({label: each - gone if label in digikams else each for label, each in said.paths.items()}, said.names)


@dataclass(frozen=True, slots=True)
class _Before:
    """A record, item by item."""

    said: _Said
    counted: frozenset[Keyword]

    @property
    def keywords(self) -> frozenset[Keyword]:
        """Those that counted and that these fields said."""
        return self.counted.intersection(self.said.stated.keywords)

    def changed_to(self, now: _Said) -> Stated:
        """Return what counts now: what counted then, with what came and went in any field."""
        paths, names = now
        old = {label: self.said.paths.get(label, frozenset()) for label in paths}
        old_paths, now_paths = (_all(each.values()) for each in (old, paths))
        all_names, old_names = (_all(each.values()) for each in (names, self.said.names))
        voters = [label for label in paths if paths[label] != old[label]]
        came = _all(paths[label] - old[label] for label in voters)
        went = _all(old[label] - paths[label] for label in voters) - came
        if not now_paths:  # a program that knows no levels left those fields out, and the names tell what is there
            went = frozenset(keyword for keyword in went if keyword.name not in all_names)
        names_came, names_went = self._names_moved(names)
        # Such a program takes a keyword out by its last level. digiKam writes no other level there.
        kept_by_voters = _all(paths[label] for label in voters)
        by_name = {keyword for keyword in old_paths if keyword.name in names_went} - kept_by_voters
        chosen = ((self.counted & old_paths) - went - by_name) | came
        # What a field still says, though it did not count any more then, does not count now.
        spoken = {name for keyword in self.counted for name in (*keyword.path, *joined_names(keyword))}
        gone = names_went | (old_names - spoken) | _levels(went | by_name)
        return Stated(all_names - (gone - names_came - _levels(chosen)), chosen)

    def _names_moved(self, names: Mapping[str, frozenset[str]]) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names that came into fields without levels, and those that went."""
        nothing: frozenset[str] = frozenset()
        then = self.said.names
        pairs = [(then.get(label, nothing), names.get(label, nothing)) for label in {*names, *then}]
        came = _all(now - then for then, now in pairs)
        return came, _all(then - now for then, now in pairs) - came


def _all(sets: Iterable[Collection[T]]) -> frozenset[T]:
    return frozenset(item for each in sets for item in each)


def _levels(keywords: Iterable[Keyword]) -> frozenset[str]:
    return frozenset(level for keyword in keywords for level in keyword.path)


def _spellings(items: Items, counted: Iterable[Keyword]) -> dict[str, str]:
    """Return which names in fields are others that the writing program could not spell."""
    exact, known = _names(items.get(SUBJECT.label, ()), {}), _levels(counted)
    # A field without levels spells all names right, but for those that a program had read from another field.
    return respelled(exact) | {other: name for other, name in respelled(known).items() if name not in exact}


def _spelled(keyword: Keyword | None, spellings: Mapping[str, str]) -> Keyword | None:
    if keyword is None or spellings.keys().isdisjoint(keyword.path):
        return keyword
    return Keyword(tuple(spellings.get(level, level) for level in keyword.path))


def _keywords(items: Iterable[str], of: XmpField, spellings: Mapping[str, str]) -> frozenset[Keyword]:
    found = (_spelled(of.keyword(item), spellings) for item in items)
    return frozenset(keyword for keyword in found if keyword is not None)


def _agreed(paths: Mapping[str, frozenset[Keyword]]) -> dict[str, frozenset[Keyword]]:
    """Return the keywords of fields, where one had to spell a level as another field shows it was not meant."""
    found = dict(paths)
    for label, keywords in paths.items():
        of = _BY_LABEL[label]
        # A name with this field's separator in it is no levels where fields with another one have it whole.
        differing = [paths[other] for other in paths if _BY_LABEL[other].separator != of.separator]
        whole = {each for each in _all(differing) if len(each.path) == 1 and of.separator in each.name}
        for each in (keywords - _all(differing)) if whole else ():
            if len(each.path) > 1 and (flat := Keyword.flat(of.text(each))) in whole:
                found[label] = found[label] - {each} | {flat}
        others = {other: paths[other] for other in paths if other != label and paths[other]}
        doubtful = {each for each in keywords if of.stand_in in "".join(each.path)} if others else set()
        for keyword in doubtful:
            pairs = ((_BY_LABEL[other], each) for other, there in others.items() for each in there)
            meant = {_meant(of, keyword, field, each) for field, each in pairs if field.separator != of.separator}
            alike = meant - {None, keyword}
            told = (
                _BY_LABEL[other].text(keyword) in map(_BY_LABEL[other].text, each) for other, each in others.items()
            )
            if alike and not any(told):
                found[label] = found[label] - {keyword} | {min(filter(None, alike))}
    return found


def _meant(of: XmpField, keyword: Keyword, other: XmpField, each: Keyword) -> Keyword | None:
    """Return the keyword that two fields both spell, each with its stand-in for its own separator, or None."""
    if list(map(len, keyword.path)) != list(map(len, each.path)):
        return None
    levels = []
    for here, there in zip(keyword.path, each.path, strict=True):
        # A character stands for itself or for the separator that the field cannot hold.
        common = [_characters(of, one) & _characters(other, two) for one, two in zip(here, there, strict=True)]
        if not all(common):
            return None
        levels.append("".join(map(min, common)))
    return Keyword(tuple(levels))


def _characters(of: XmpField, written: str) -> set[str]:
    return {written, of.separator} if written == of.stand_in else {written}


def _names(items: Iterable[str], spellings: Mapping[str, str]) -> frozenset[str]:
    found = (SUBJECT.keyword(item) for item in items)
    return frozenset(spellings.get(keyword.name, keyword.name) for keyword in found if keyword is not None)


# The items of every keyword field, whatever structure a program keeps them in.

_DEEPEST = 50
_APPLIED, _CHILDREN, _TYPE = "Applied", "Children", "Type"
_NO_ONE = frozenset({"focus", "barcode"})  # kinds of regions that show neither people nor pets


def field_items(tree: XmpTree, of: XmpField) -> list[str]:
    """Return the items of a field in their order, each as text with the field's separator between levels.

    Parameters
    ----------
    tree : XmpTree
        The packet.
    of : XmpField
        The field.
    """
    if of.form == "list":
        return tree.items(of)
    if of.form == "categories":
        return [item for text in tree.items(of) for item in _categories(text)]
    roots = [root for description in tree.descriptions for root in description.find(of.namespace, of.name)]
    if of.form == "hierarchy":
        return [of.separator.join(path) for root in roots for path in _applied(root, of, ())]
    return [name for root in roots for name in _region_names(root, of)]


def categories_text(keywords: Iterable[Keyword]) -> str:
    """Return keywords as ACDSee's XML; empty for none.

    Parameters
    ----------
    keywords : iterable of Keyword
        Levels that are no keywords of their own are written as not assigned.
    """
    assigned = {tuple(map(ACDSEE.level, keyword.path)) for keyword in keywords}
    if not assigned:
        return ""
    return f"<Categories>{_categories_below((), assigned)}</Categories>"


def _categories_below(above: tuple[str, ...], assigned: set[tuple[str, ...]]) -> str:
    from xml.sax.saxutils import escape  # takes long to import, and is needed by few

    depth = len(above)
    here = sorted({path[depth] for path in assigned if len(path) > depth and path[:depth] == above})
    return "".join(
        f'<Category Assigned="{int((*above, name) in assigned)}">{escape(name)}'
        f"{_categories_below((*above, name), assigned)}</Category>"
        for name in here
    )


def _categories(text: str) -> Iterator[str]:
    """Yield the assigned categories of ACDSee's XML; nothing where it is not understood."""
    from xml.etree import ElementTree  # as in `_categories_below`

    try:
        parse_xmp(f'<r:RDF xmlns:r="{RDF}">{text}</r:RDF>'.encode())  # it refuses what may be an attack
        root = ElementTree.fromstring(text)  # noqa: S314 - checked by the line above
    except (MetadataError, ElementTree.ParseError, ValueError):
        return
    around: list[tuple[ElementTree.Element, tuple[str, ...]]] = [(root, ())]
    while around:
        element, above = around.pop()
        for child in reversed(element.findall("Category")):
            path = (*above, ACDSEE.level(child.text or ""))
            if len(path) <= _DEEPEST:
                around.append((child, path))
        if element is not root and element.get("Assigned") == "1":
            yield ACDSEE.separator.join(above)


def _parts(node: Node, namespace: str, name: str) -> list[str]:
    """Return the texts of a part of a structure, written as an element or as an attribute."""
    found = [child.text for child in node.find(namespace, name)]
    return [*found, node.attributes[namespace, name]] if (namespace, name) in node.attributes else found


def _structures(node: Node) -> Iterator[Node]:
    """Yield the structures inside a node: items of lists, with or without a description around their parts."""
    for child in node.children:
        if child.name in ((RDF, "li"), (RDF, "Description")):
            yield child
        else:
            yield from _structures(child)


def _applied(node: Node, of: XmpField, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the paths of a hierarchy that are applied: those that say so, else those without others below."""
    if len(above) >= _DEEPEST:
        return
    for item in _structures(node):
        name = next(iter(_parts(item, of.namespace, of.part)), "").strip()
        if not name:
            yield from _applied(item, of, above)
            continue
        path = (*above, of.level(name))
        below = [found for child in item.find(of.namespace, _CHILDREN) for found in _applied(child, of, path)]
        said = [text.strip().lower() for text in _parts(item, of.namespace, _APPLIED)]
        if said == ["true"] or (not said and not below):
            yield path
        yield from below


def _region_names(node: Node, of: XmpField) -> Iterator[str]:
    around = [node]
    while around:
        each = around.pop()
        around += reversed(each.children)
        kinds = {text.strip().lower() for text in _parts(each, of.namespace, _TYPE)}
        if not kinds & _NO_ONE:
            yield from (text for key, text in each.attributes.items() if key[1] == of.part)
            yield from (child.text for child in each.children if child.name[1] == of.part and not child.children)
