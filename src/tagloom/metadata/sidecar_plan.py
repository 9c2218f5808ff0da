"""What a sidecar will be: the bytes before, the bytes after, and the keywords between them."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from tagloom.core.keywords import Keyword
from tagloom.exceptions import InvalidInputError, MetadataError
from tagloom.metadata.xmp_edit import XmpEditor
from tagloom.metadata.xmp_fields import (
    FIELDS,
    HIERARCHICAL,
    RDF,
    SUBJECT,
    TAGS_LIST,
    XmpField,
    is_programs_own,
    joined_names,
)
from tagloom.metadata.xmp_read import NOTHING, Stated, read_stated
from tagloom.metadata.xmp_tree import XmpTree, parse_xmp

__all__ = ["SidecarPlan", "describe", "plan_sidecar"]

_LEVELLED = (HIERARCHICAL, TAGS_LIST)
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
class SidecarPlan:
    """A change that has not been made yet.

    Parameters
    ----------
    before, after : bytes or None
        The sidecar; None where there is none. The same where nothing changes.
    added, removed, kept : tuple of Keyword
        Keywords that come, go and stay, sorted; ``added`` and ``kept`` are what the sidecar says afterwards.
    notes : tuple of str
        One line for each keyword that a field cannot hold.
    own : Stated
        What came from tagloom of that which the fields say afterwards. What was in any of them before it was asked for
        did not.
    """

    before: bytes | None = field(repr=False)
    after: bytes | None = field(repr=False)
    added: tuple[Keyword, ...] = ()
    removed: tuple[Keyword, ...] = ()
    kept: tuple[Keyword, ...] = ()
    notes: tuple[str, ...] = ()
    own: Stated = NOTHING

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after or bool(self.added or self.removed)


def plan_sidecar(
    existing: bytes | None, add: Iterable[Keyword] = (), remove: Iterable[Keyword] = (), own: Stated = NOTHING
) -> SidecarPlan:
    """Work out what a sidecar becomes when keywords are added and removed.

    All three fields are written: ``dc:subject`` with every level of every keyword, ``lr:hierarchicalSubject`` with
    ``Animals|Cat`` and ``digiKam:TagsList`` with ``Animals/Cat``. When anything changes, a field that lacks keywords
    which the others have gets those too: programs that read one field only would otherwise lose sight of them. What
    darktable wrote for its own use (``darktable|format|nef``) stays where it is, and there alone. Bytes outside the
    three fields stay as they are.

    Parameters
    ----------
    existing : bytes or None
        The sidecar as it is; None or blank for a new one.
    add, remove : iterable of Keyword
        A keyword that is there already, or is not, is no change. Removing ``Animals|Cat`` takes the flat keywords
        ``Animals`` and ``Cat`` along unless another keyword needs them, and a flat keyword with that text.
    own : Stated
        What tagloom brought to the sidecar before (``SidecarPlan.own``). What is not asked for any more goes, and
        nothing along with it.

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
    A keyword with ``|`` in a level cannot stand in ``lr:hierarchicalSubject``, and one with ``/`` not in
    ``digiKam:TagsList``: it is left out there. If it has several levels and both characters, only the flat names of
    its levels are kept.

    Examples
    --------
    >>> plan = plan_sidecar(None, add=[Keyword(("Animals", "Cat"))])
    >>> plan.changes, [keyword.text for keyword in plan.added]
    (True, ['Animals|Cat'])
    >>> plan_sidecar(plan.after, add=[Keyword(("Animals", "Cat"))]).changes
    False
    """
    adding, removing = frozenset(add), frozenset(remove)
    both = adding & removing
    if both:
        raise InvalidInputError(f"expected to add or to remove a keyword, got both for {min(both).text!r}; choose one")
    blank = existing is None or not existing.strip(b"\0\t\r\n ")
    tree = parse_xmp(_NEW_PACKET if existing is None or blank else existing)
    stated = read_stated(tree)
    wanted = _changed(stated, adding, removing, own)
    old, new = stated.keywords, wanted.keywords
    ours = _brought(Stated(stated.flat - own.flat, stated.paths - own.paths), adding)
    if old == new:
        return SidecarPlan(existing, existing, kept=old, own=ours)
    after = _edit(tree, stated, wanted)
    _check(after, new)
    lost = {keyword for keyword in adding if _is_only_flat(keyword)}
    added = tuple(sorted(adding & ((set(new) - set(old)) | lost)))
    from_added = {Keyword.flat(level) for keyword in added if keyword in lost for level in keyword.path} - set(old)
    kept = tuple(keyword for keyword in new if keyword not in added and keyword not in from_added)
    removed = tuple(keyword for keyword in old if keyword not in new)
    return SidecarPlan(existing, after, added, removed, kept, _notes(added), ours)


def _single(stated: Stated) -> frozenset[Keyword]:
    """Return all that the fields say, item by item."""
    return stated.paths | {Keyword.flat(name) for name in stated.flat}


def _brought(theirs: Stated, add: frozenset[Keyword]) -> Stated:
    """Return what comes with keywords and is in none of the fields without them."""
    there = _single(theirs)
    levels = {level for keyword in add for level in keyword.path}
    # One that no field with levels can hold stands there as its levels, as far as the field can hold those.
    apart = {Keyword.flat(level) for keyword in add if _is_only_flat(keyword) for level in keyword.path}
    return Stated(frozenset(level for level in levels if Keyword.flat(level) not in there), (add | apart) - there)


def _changed(stated: Stated, add: frozenset[Keyword], remove: frozenset[Keyword], own: Stated) -> Stated:
    """Return what the fields have to say afterwards."""
    # A keyword that no field with levels can hold was written as the flat names of its levels, and goes as these.
    written = (keyword for keyword in remove if _is_only_flat(keyword) and stated.flat.issuperset(keyword.path))
    apart = {Keyword.flat(level) for keyword in written for level in keyword.path}
    gone = (remove | apart) & _single(stated)
    paths = (stated.paths - gone - own.paths) | {keyword for keyword in add if not _is_only_flat(keyword)}
    needed = {level for keyword in [*paths, *add] for level in keyword.path}
    repeated = {name for keyword in gone for name in (*keyword.path, *joined_names(keyword))}
    flat = stated.flat - ((repeated | own.flat) - needed)
    return Stated(flat | {level for keyword in add for level in keyword.path}, paths)


def _is_only_flat(keyword: Keyword) -> bool:
    return all(of.text(keyword) is None for of in _LEVELLED)


def _edit(tree: XmpTree, stated: Stated, wanted: Stated) -> bytes:
    editor = XmpEditor(tree)
    own = {keyword for keyword in stated.paths if is_programs_own(keyword)}
    levels = {level for keyword in wanted.paths - own for level in keyword.path} | wanted.flat
    for of in FIELDS:
        there = {of.keyword(item) for item in tree.items(of)}
        if of is SUBJECT:
            drop = {Keyword.flat(name) for name in stated.flat - wanted.flat}
            all_of_them = [Keyword.flat(level) for level in sorted(levels)]
        else:
            drop = set(stated.paths - wanted.paths)
            all_of_them = [keyword for keyword in wanted.keywords if keyword not in own]
        texts = [of.text(keyword) for keyword in all_of_them if keyword not in there]
        editor.change(of, drop, [text for text in texts if text is not None])
    return editor.result()


def _check(after: bytes, expected: tuple[Keyword, ...]) -> None:
    """Make sure that what would be written says what it should, and that another parser takes it too."""
    from lxml import etree  # here, as most commands never write a sidecar

    # The parser that made the edits refuses document types, so that there is nothing to resolve or to fetch here.
    strict = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=False)
    try:
        etree.fromstring(after, strict)
        found = read_stated(parse_xmp(after)).keywords
    except (etree.XMLSyntaxError, MetadataError, ValueError) as error:
        raise MetadataError(
            f"the sidecar cannot be changed safely ({error}); it is left as it was. Repair it, or remove it"
        ) from error
    if found != expected:
        raise MetadataError(
            "the sidecar has its keywords in a form that cannot be changed safely; it is left as it was. Save the "
            "photo's metadata again in the program that wrote it"
        )


def _notes(keywords: Iterable[Keyword]) -> tuple[str, ...]:
    return tuple(
        f"{keyword.text!r} is left out of {_name(of)}, where {of.separator!r} stands between levels"
        for keyword in keywords
        for of in _LEVELLED
        if of.text(keyword) is None
    )


def _name(of: XmpField) -> str:
    return f"{of.prefix}:{of.name}"


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
    """
    if not plan.changes:
        return f"{name}: no change ({len(plan.kept)} keywords)"
    counts = [f"{len(plan.added)} added"] if plan.added else []
    counts += [f"{len(plan.removed)} removed"] if plan.removed else []
    counts += [f"{len(plan.kept)} kept"] if plan.kept else []
    text = [f"{name}: {'new' if plan.before is None else 'changed'}, {', '.join(counts)}"]
    text += [f"  + {keyword.text}" for keyword in plan.added]
    text += [f"  - {keyword.text}" for keyword in plan.removed]
    text += [f"  ({note})" for note in plan.notes]
    if lines:
        text += difflib.unified_diff(_lines(plan.before), _lines(plan.after), "before", "after", n=1, lineterm="")
    return "\n".join(text)


def _lines(packet: bytes | None) -> list[str]:
    if packet is None:
        return []
    return packet.decode(parse_xmp(packet).encoding if packet.strip() else "utf-8", errors="replace").splitlines()
