"""The items of every keyword field of an XMP packet, whatever structure a program keeps them in."""

from collections.abc import Iterable, Iterator
from xml.etree import ElementTree

from tagloom.core.keywords import Keyword
from tagloom.exceptions import MetadataError
from tagloom.metadata.xmp_fields import ACDSEE, RDF, XmpField
from tagloom.metadata.xmp_tree import Node, XmpTree, parse_xmp

__all__ = ["categories_text", "field_items"]

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
