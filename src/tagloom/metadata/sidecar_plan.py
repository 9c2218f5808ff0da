"""What a sidecar will be: the bytes before, the bytes after, and the keywords between them."""

import difflib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tagloom.core import Keyword, fold_tag
from tagloom.exceptions import InvalidInputError, MetadataError
from tagloom.metadata.xmp_edit import XmpEditor
from tagloom.metadata.xmp_fields import (
    ACDSEE,
    FIELDS,
    HIERARCHICAL,
    RDF,
    SUBJECT,
    TAGS_LIST,
    WRITTEN,
    XmpField,
    is_programs_own,
    joined_names,
)
from tagloom.metadata.xmp_read import (
    NOTHING,
    FieldReading,
    FieldRecord,
    Stated,
    categories_text,
    fields_of,
    read_fields,
)
from tagloom.metadata.xmp_tree import XmpTree, is_empty, parse_xmp

__all__ = ["FieldChange", "SidecarPlan", "describe", "plan_sidecar"]

_LABELS = frozenset(of.label for of in WRITTEN)
_NEW_PACKET = f"""<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/" x:xmptk="tagloom">
 <rdf:RDF xmlns:rdf="{RDF}">
  <rdf:Description rdf:about=""
    xmlns:dc="{SUBJECT.namespace}"
    xmlns:lr="{HIERARCHICAL.namespace}"
    xmlns:digiKam="{TAGS_LIST.namespace}">
  </rdf:Description>
 </rdf:RDF>
</x:xmpmeta>
<?xpacket end="w"?>
""".encode()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """Items that come into one field and go from it, as they are written there.

    Parameters
    ----------
    label : str
        The field, such as ``dc:subject``.
    added, removed : tuple of str
        The items.
    """

    label: str
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SidecarPlan:
    """A change that has not been made yet.

    Parameters
    ----------
    before, after : bytes or None
        The sidecar; None where there is none. The same where nothing changes.
    added, removed, kept : tuple of Keyword
        Keywords that come, go and stay, sorted; ``added`` and ``kept`` are what the sidecar says afterwards.
    notes : tuple of str
        One line for each keyword that a field has to spell differently, or that is not written again.
    own : Stated
        What came from tagloom of that which the fields say afterwards. What was in any of them before it was asked for
        did not.
    fields : tuple of FieldChange
        Every item that comes and goes, field by field.
    record : FieldRecord or None
        What the fields say afterwards, to tell next time what other programs changed.
    """

    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)
    added: tuple[Keyword, ...] = ()
    removed: tuple[Keyword, ...] = ()
    kept: tuple[Keyword, ...] = ()
    notes: tuple[str, ...] = ()
    own: Stated = NOTHING
    fields: tuple[FieldChange, ...] = ()
    record: FieldRecord | None = None

    def note(self, others: Mapping[str, Sequence[str]] | None = None) -> str:
        """Return ``own`` and ``record`` as text for the journal.

        Parameters
        ----------
        others : mapping of str to sequence of str, optional
            Items of fields outside XMP, by label.
        """
        if self.record is None:
            return self.own.to_text()
        record = replace(self.record, items={**self.record.items, **(others or {})})
        return json.dumps(json.loads(self.own.to_text() or "{}") | record.as_dict())

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after or bool(self.added or self.removed)


def plan_sidecar(
    existing: bytes | None,
    add: Iterable[Keyword] = (),
    remove: Iterable[Keyword] = (),
    own: Stated = NOTHING,
    known: FieldRecord | None = None,
    again: Iterable[Keyword] = (),
) -> SidecarPlan:
    """Work out what a sidecar becomes when keywords are added and removed.

    Three fields are written: ``dc:subject`` with every level of every keyword, ``lr:hierarchicalSubject`` with
    ``Animals|Cat`` and ``digiKam:TagsList`` with ``Animals/Cat``. Fields that digiKam reads besides are kept in step
    where they are there. When keywords are added, a field that lacks keywords which the others have gets those too:
    programs that read one field only would otherwise lose sight of them. What darktable wrote for its own use
    (``darktable|format|nef``) stays where it is, and there alone; no keyword is added below ``darktable``.
    Bytes outside these fields stay as they are.

    Parameters
    ----------
    existing : bytes or None
        The sidecar as it is; None or blank for a new one.
    add, remove : iterable of Keyword
        A keyword that is there already, or is not, is no change; ``DOG`` of another program is ``Dog``. Removing
        ``Animals|Cat`` takes the flat keywords ``Animals`` and ``Cat`` out of ``dc:subject`` unless another keyword
        needs them, and a flat one with that text.
    own : Stated
        What tagloom brought to the sidecar before (``SidecarPlan.own``). What is not asked for any more goes, and
        nothing along with it.
    known : FieldRecord, optional
        What the fields said when tagloom last read or wrote them (``SidecarPlan.record``). Keywords that another
        program took out of any field since go from all of them, and are not added; those that it added are not removed.
    again : iterable of Keyword
        Those that were asked for after that moment: they are added or removed all the same.

    Returns
    -------
    SidecarPlan
        Its ``after`` has been parsed by a second, strict parser and read back.

    Raises
    ------
    InvalidInputError
        If a keyword is to be added and removed.
    MetadataError
        If the sidecar cannot be understood; it is then best left alone.

    Notes
    -----
    A level with ``|`` cannot stand in ``lr:hierarchicalSubject``, nor one with ``/`` in ``digiKam:TagsList``. No field
    is written in part, so that another character stands in: ``/`` for ``|``, and a backslash for ``/``, which is what
    digiKam makes of it.

    Examples
    --------
    >>> plan = plan_sidecar(None, add=[Keyword(("Animals", "Cat"))])
    >>> plan.changes, [keyword.text for keyword in plan.added]
    (True, ['Animals|Cat'])
    >>> plan_sidecar(plan.after, add=[Keyword(("Animals", "Cat"))]).changes
    False
    """
    add = adding = frozenset(add)
    removing = frozenset(remove)
    both = adding & removing
    if both:
        raise InvalidInputError(f"expected to add or to remove a keyword, got both for {min(both).text!r}; choose one")
    blank = existing is None or not existing.strip(b"\0\t\r\n ")
    tree = parse_xmp(_NEW_PACKET if existing is None or blank or is_empty(existing) else existing)
    reading = read_fields(fields_of(tree, WRITTEN), None if known is None or blank else known.only(_LABELS))
    stated = reading.stated
    spelled = _spellings(stated, own, adding, removing)
    adding = frozenset(spelled.get(keyword, keyword) for keyword in adding)
    folded = {fold_tag(gone.text) for gone in removing}
    removing |= {each for each in stated.keywords if fold_tag(each.text) in folded}
    removing -= adding
    again = {spelled.get(keyword, keyword) for keyword in again}
    withheld = ((adding & reading.removed) | (removing & reading.added)).difference(again)
    adding, removing = adding - withheld, removing - withheld
    reserved = frozenset(filter(is_programs_own, adding))
    adding -= reserved
    brought = Stated(own.flat & stated.flat, own.paths & stated.paths)
    wanted = _changed(stated, adding, removing, brought)
    old, new = stated.keywords, wanted.keywords
    ours = _brought(Stated(stated.flat - own.flat, stated.paths - own.paths), adding)
    notes = tuple(
        f"{keyword.text!r} is not written: a program keeps such keywords for its own use; rename the tag"
        for keyword in sorted(reserved)
    ) + tuple(_withheld(keyword, was_added=keyword in reading.added) for keyword in sorted(withheld))
    if old == new and not _is_out_of_step(reading):
        return SidecarPlan(
            existing,
            existing,
            kept=old,
            notes=notes,
            own=ours,
            record=_record(reading.items, reading, stated, known, removing),
        )
    after, fields = _edit(tree, reading, wanted, fill=bool(set(new) - set(old)))
    items = _parsed(after)
    if read_fields(items).keywords != new:
        unclear = max(filter(_separators, sorted(add)), key=_separators, default=None)
        if unclear is None:
            raise MetadataError(
                "the sidecar has its keywords in a form that cannot be changed safely; it is left as it was. Save the "
                "photo's metadata again in the program that wrote it"
            )
        plan = plan_sidecar(existing, add - {unclear}, removing, own, known, again - {unclear})
        return replace(plan, notes=(_unclear(unclear), *plan.notes))
    record = _record(items, reading, wanted, known, removing)
    added = tuple(sorted(adding & (set(new) - set(old))))
    kept = tuple(keyword for keyword in new if keyword not in added)
    removed = tuple(keyword for keyword in old if keyword not in new)
    return SidecarPlan(existing, after, added, removed, kept, (*notes, *_notes(added)), ours, fields, record)


def _spellings(
    stated: Stated, own: Stated, adding: frozenset[Keyword], removing: frozenset[Keyword]
) -> dict[Keyword, Keyword]:
    """Return the keywords to add that another program has written in other capitals, each with its spelling there."""
    theirs = {
        fold_tag(each.text): each
        for each in sorted(stated.keywords)
        if each not in own.paths and not (len(each.path) == 1 and each.name in own.flat) and each not in removing
    }
    wanted = (keyword for keyword in adding if keyword not in stated.keywords)
    return {keyword: theirs[key] for keyword in wanted if (key := fold_tag(keyword.text)) in theirs}


def _single(stated: Stated) -> frozenset[Keyword]:
    """Return all that the fields say, item by item."""
    return stated.paths | {Keyword.flat(name) for name in stated.flat}


def _brought(theirs: Stated, add: frozenset[Keyword]) -> Stated:
    """Return what comes with keywords and is in none of the fields without them."""
    there = _single(theirs)
    levels = {level for keyword in add for level in keyword.path}
    new = (level for level in levels if Keyword.flat(level) not in there)
    return Stated(frozenset(new), add.difference(theirs.keywords))


def _changed(stated: Stated, add: frozenset[Keyword], remove: frozenset[Keyword], own: Stated) -> Stated:
    """Return what the fields have to say afterwards."""
    gone = remove & _single(stated)
    paths = (stated.paths - gone - own.paths) | add
    needed = {level for keyword in paths for level in keyword.path}
    repeated = {name for keyword in gone for name in (*keyword.path, *joined_names(keyword))}
    flat = stated.flat - ((repeated | own.flat) - needed)
    return Stated(flat | {level for keyword in add for level in keyword.path}, paths)


def _record(
    items: Mapping[str, Collection[str]],
    reading: FieldReading,
    stated: Stated,
    known: FieldRecord | None,
    removing: Collection[Keyword],
) -> FieldRecord:
    """Return what to remember of a file: of its other fields what was known of them before."""
    keywords = frozenset(stated.keywords)
    added, removed = reading.added & keywords, reading.removed - keywords
    if known is None:
        return FieldRecord(items, keywords, added, removed, is_whole=False)
    others = {label: texts for label, texts in known.items.items() if label not in _LABELS}
    kept = known.said_by_others().difference(removing)
    return FieldRecord({**others, **items}, keywords | kept, added, removed, known.is_whole)


def _is_out_of_step(reading: FieldReading) -> bool:
    """Tell whether a field still has a keyword that another program took out of others."""
    there = _single(read_fields(reading.items, FieldRecord({}, reading.record.keywords)).stated)
    return bool(there - _single(reading.stated))


def _edit(tree: XmpTree, reading: FieldReading, wanted: Stated, *, fill: bool) -> tuple[bytes, tuple[FieldChange, ...]]:
    """Return the packet with all its fields in step, and what that changes in them.

    Parameters
    ----------
    fill : bool
        Whether fields that are missing are made, and all levels brought into the field without levels: when keywords
        come. When some only go, nothing is added but what a field of keywords lacks that is there.
    """
    editor = XmpEditor(tree)
    changes = []
    keywords = _roots_first(keyword for keyword in wanted.keywords if not is_programs_own(keyword))
    names = sorted({level for keyword in keywords for level in keyword.path} | wanted.flat)
    for of in WRITTEN:
        items = list(reading.items.get(of.label, ()))
        if not items and not (fill and of in FIELDS):
            continue
        texts = dict.fromkeys(names) if of is SUBJECT else {of.text(keyword): keyword for keyword in keywords}
        said = {item: reading.keyword(of, item) for item in items}
        # Another spelling of what stays is replaced by the right one.
        drop = [
            item
            for item, keyword in said.items()
            if keyword and not is_programs_own(keyword) and of.text(of.keyword(item) or keyword) not in texts
        ]
        there = {of.text(keyword) for item, keyword in said.items() if keyword and item not in drop}
        respelled = {of.text(keyword) for item in drop if (keyword := said[item])}
        add = [text for text in texts if text not in there and (fill or of is not SUBJECT or text in respelled)]
        again = [] if of is SUBJECT else _after_roots(of, said, add, drop)
        if not drop and not add:
            continue
        if of is ACDSEE:
            editor.set_text(of, categories_text(keywords))
        else:
            editor.change(of, [*drop, *again], [*add, *again])
        changes.append(FieldChange(of.label, tuple(add), tuple(dict.fromkeys(drop))))
    return editor.result(), tuple(changes)


def _roots_first(keywords: Iterable[Keyword]) -> list[Keyword]:
    """Return keywords with those of one level first that others have as a level.

    digiKam takes such a name for the level if it comes to read that before.
    """
    given = list(keywords)
    levels = {level for keyword in given if len(keyword.path) > 1 for level in keyword.path}
    return sorted(given, key=lambda keyword: len(keyword.path) > 1 or keyword.name not in levels)


def _after_roots(
    of: XmpField, said: Mapping[str, Keyword | None], add: Collection[str], drop: Collection[str]
) -> list[str]:
    """Return the items that have to come after new ones, whose names are levels of theirs."""
    roots = set(add)
    kept = ((item, keyword) for item, keyword in said.items() if keyword is not None and item not in drop)
    return [item for item, each in kept if len(each.path) > 1 and not roots.isdisjoint(map(of.level, each.path))]


def _parsed(after: bytes) -> dict[str, list[str]]:
    """Return the fields of a new packet, which another parser takes too."""
    from lxml import etree  # here, as most commands never write a sidecar

    # The parser that made the edits refuses document types, so that there is nothing to resolve or to fetch here.
    strict = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        etree.fromstring(after, strict)
        return fields_of(parse_xmp(after), WRITTEN)
    except (etree.XMLSyntaxError, MetadataError, ValueError) as error:
        raise MetadataError(
            f"the sidecar cannot be changed safely ({error}); it is left as it was. Repair it, or remove it"
        ) from error


def _separators(keyword: Keyword) -> int:
    """Return how many characters of a keyword separate levels in a field, or stand in for one that does."""
    return sum(level.count(character) for level in keyword.path for character in "|/\\")


def _unclear(keyword: Keyword) -> str:
    return (
        f"{keyword.text!r} is not written: beside the other keywords its slashes and bars would be read as levels; "
        "rename the tag"
    )


def _withheld(keyword: Keyword, *, was_added: bool) -> str:
    what = (
        "added by another program and is not removed"
        if was_added
        else "removed by another program and is not written again"
    )
    return f"{keyword.text!r} was {what}; run: tagloom import --from-photos"


def _notes(keywords: Iterable[Keyword]) -> tuple[str, ...]:
    return tuple(
        f"{keyword.text!r} is written to {of.label} as '{of.text(keyword)}': {of.separator!r} separates levels there"
        for keyword in keywords
        for of in FIELDS
        if of.separator and any(of.separator in level for level in keyword.path)
    )


def describe(plan: SidecarPlan, name: str = "sidecar", *, lines: bool = False) -> str:
    """Return for a person what a plan would do to one file.

    Parameters
    ----------
    plan : SidecarPlan
        From `plan_sidecar`.
    name : str, default="sidecar"
        What to call the file.
    lines : bool, default=False
        Show the lines of the file that change as well.

    Examples
    --------
    >>> print(describe(plan_sidecar(None, add=[Keyword.flat("cat")]), "beach.jpg.xmp"))
    beach.jpg.xmp: new, 1 added
      + cat
      dc:subject: + cat
      lr:hierarchicalSubject: + cat
      digiKam:TagsList: + cat
    """
    if not plan.changes:
        return "\n".join([f"{name}: no change ({len(plan.kept)} keywords)", *(f"  ({note})" for note in plan.notes)])
    counts = [f"{len(plan.added)} added"] if plan.added else []
    counts += [f"{len(plan.removed)} removed"] if plan.removed else []
    counts += [f"{len(plan.kept)} kept"] if plan.kept else []
    text = [f"{name}: {', '.join(['new' if plan.before is None else 'changed', *counts])}"]
    text += [f"  + {keyword.text}" for keyword in plan.added]
    text += [f"  - {keyword.text}" for keyword in plan.removed]
    text += [f"  ({note})" for note in plan.notes]
    for change in plan.fields:
        text += [f"  {change.label}: {_items(change)}"]
    if lines:
        text += difflib.unified_diff(_lines(plan.before), _lines(plan.after), "before", "after", n=1, lineterm="")
    return "\n".join(text)


def _items(change: FieldChange) -> str:
    return "  ".join([*(f"+ {item}" for item in change.added), *(f"- {item}" for item in change.removed)])


def _lines(packet: bytes | None) -> list[str]:
    if packet is None:
        return []
    return packet.decode(parse_xmp(packet).encoding if packet.strip() else "utf-8", errors="replace").splitlines()
