"""Changing the keyword fields of an XMP packet and not one byte besides.

A packet is never written out from a tree: whatever a tree does not model (quotation marks, the order of attributes,
blanks, comments, line ends, the padding of the packet wrapper) would change. Instead the parser says at which bytes the
items lie, and the edits are stretches of bytes to cut or to put in. Everything else is copied.

- A new item goes after the last one, with the same blanks before it.
- An item goes together with the blanks before it; a field without items goes as a whole.
- A field that is missing is added as the last property of an ``rdf:Description``, with its namespace declared on the
  new element itself unless the prefix is known there. An ``rdf:Description`` or array that is written as one tag
  (``<rdf:Bag/>``) is opened for this.
- A field in another form than an array (plain text, an attribute) becomes an array once it has to hold more.
"""

import re
from collections.abc import Collection, Sequence

from tagloom.exceptions import MetadataError
from tagloom.metadata.xmp_fields import FIELDS, RDF, XmpField
from tagloom.metadata.xmp_tree import Node, XmpTree, item_text, items_of

__all__ = ["XmpEditor"]

_BLANKS = " \t\r\n"
_ATTRIBUTE = re.compile(r"""(?<!\s)\s++([^\s=]++)\s*+=\s*("[^"]*"|'[^']*')""")


class XmpEditor:
    """Collects changes to one packet.

    Parameters
    ----------
    tree : XmpTree
        The packet as it is.
    """

    def __init__(self, tree: XmpTree) -> None:
        self._tree = tree
        self._edits: list[tuple[int, int, bytes]] = []
        self._new: list[tuple[XmpField, list[str]]] = []
        self._newline = "\r\n" if tree.encode("\r\n") in tree.data else "\n"

    def change(self, of: XmpField, drop: Collection[str], add: Sequence[str]) -> None:
        """Change one field, once.

        Parameters
        ----------
        of : XmpField
            The field.
        drop : collection of str
            Items with one of these texts go, wherever they are.
        add : sequence of str
            New items.

        Raises
        ------
        MetadataError
            If the field has a form that is not understood.
        """
        left = list(add)
        for description in self._tree.descriptions:
            left = self._change_attribute(description, of, drop, left)
            for element in description.find(of.namespace, of.name):
                left = self._change_element(element, of, drop, left)
        if left:
            self._new.append((of, left))

    def result(self) -> bytes:
        """Return the packet with all changes."""
        if self._new:
            self._add_properties()
            self._new = []
        pieces, position = [], 0
        for start, end, data in sorted(self._edits, key=lambda edit: edit[:2]):
            pieces += [self._tree.data[position:start], data]
            position = end
        return b"".join([*pieces, self._tree.data[position:]])

    def _change_attribute(self, description: Node, of: XmpField, drop: Collection[str], left: list[str]) -> list[str]:
        value = description.attributes.get((of.namespace, of.name))
        if value is None:
            return left
        if value not in drop and not left:
            return left
        self._put_attribute(description, of, "")
        return left if not value.strip() or value in drop else [_one_line(value), *left]

    def set_text(self, of: XmpField, text: str) -> None:
        """Give a field that is one text another one, wherever it stands; empty takes it out.

        Parameters
        ----------
        of : XmpField
            The field.
        text : str
            Its new value.
        """
        for description in self._tree.descriptions:
            if (of.namespace, of.name) in description.attributes:
                self._put_attribute(description, of, text)
            for element in description.find(of.namespace, of.name):
                if text and not element.children:
                    self._put(element.inside, element.close, _escape(text))
                else:
                    self._cut(element)

    def _put_attribute(self, description: Node, of: XmpField, text: str) -> None:
        """Give an attribute another value; empty takes it out."""
        tag = self._tree.decode(description.start, description.inside)
        for found in _ATTRIBUTE.finditer(tag):
            prefix, _, local = found[1].rpartition(":")
            if prefix and local == of.name and _meaning(description, prefix) == of.namespace:
                begin, end = found.span(2) if text else found.span()
                value = _escape(text).replace('"', "&quot;")
                offset = description.start + len(self._tree.encode(tag[:begin]))
                made = f'"{value}"' if text else ""
                self._put(offset, offset + len(self._tree.encode(tag[begin:end])), made)

    def _change_element(self, element: Node, of: XmpField, drop: Collection[str], left: list[str]) -> list[str]:
        """Change one occurrence of a field and return the new items that it did not take."""
        arrays = element.find(RDF, "Bag", "Seq", "Alt")
        items = items_of(element)
        gone = [item for item in items if item_text(item) in drop]
        if not left and not gone:
            return left
        if not left and len(gone) == len(items):
            self._cut(element)
        elif arrays:
            for item in gone:
                self._cut(item)
            self._extend(arrays[-1], left)
        elif element.children:
            raise MetadataError(
                f"expected {of.prefix}:{of.name} to hold a list of keywords, got something else; nothing was changed. "
                f"Remove that element, or save the photo's metadata again in the program that wrote it"
            )
        else:
            texts = [_one_line(item_text(item)) for item in items if item not in gone] + left
            assert element.parent is not None  # noqa: S101 - the parser found it inside a description
            made = self._property(element.parent, of, texts, self._margin(element), self._step(element))
            self._put(element.start, element.end, made.lstrip(_BLANKS))
        return []

    def _extend(self, array: Node, texts: list[str]) -> None:
        """Add items to an array."""
        if not texts:
            return
        items = array.find(RDF, "li")
        if items:
            made = self._items(array, texts, self._blanks_before(items[-1]))
            self._put(items[-1].end, items[-1].end, made)
            return
        margin = self._margin(array)
        self._fill(array, self._items(array, texts, _deeper(margin, self._step(array))), margin)

    def _items(self, array: Node, texts: list[str], blanks: str) -> str:
        tag = array.tag("li")
        return "".join(f"{blanks}<{tag}>{_escape(text)}</{tag}>" for text in texts)

    def _add_properties(self) -> None:
        """Add the fields that the packet does not have yet."""
        descriptions = self._tree.descriptions
        if not descriptions:
            self._add_description()
            return
        own = {(of.namespace, of.name) for of in FIELDS}
        home = max(
            descriptions,
            key=lambda each: (
                any(child.name in own for child in each.children),
                bool(each.children),
                not self._is_one_tag(each),
            ),
        )
        margin = self._margin(home.children[-1]) if home.children else _deeper(self._margin(home), " ")
        step = self._step(home.children[-1]) if home.children else " "
        made = "".join(self._property(home, of, texts, margin, step) for of, texts in self._new)
        self._fill(home, made, self._margin(home))

    def _add_description(self) -> None:
        rdf = self._tree.rdf
        outer = self._margin(rdf)
        margin = _deeper(outer, " ")
        made = "".join(self._property(rdf, of, texts, _deeper(margin, " "), " ") for of, texts in self._new)
        prefix = _prefix(rdf, RDF, for_attribute=True)
        declared = "" if prefix else f' xmlns:rdf="{RDF}"'
        tag = rdf.tag("Description")
        self._fill(rdf, f'{margin}<{tag}{declared} {prefix or "rdf"}:about="">{made}{margin}</{tag}>', outer)

    def _property(self, home: Node, of: XmpField, texts: list[str], margin: str, step: str) -> str:
        """Return a whole new property of a node in the namespace of RDF."""
        prefix, declared = _prefix(home, of.namespace), ""
        if prefix is None:
            prefix = of.prefix if of.prefix != home.prefix else f"{of.prefix}1"
            declared = f' xmlns:{prefix}="{of.namespace}"'
        tag = f"{prefix}:{of.name}" if prefix else of.name
        array, inner = home.tag(of.array), _deeper(margin, step)
        items = self._items(home, texts, _deeper(inner, step))
        return f"{margin}<{tag}{declared}>{inner}<{array}>{items}{inner}</{array}>{margin}</{tag}>"

    def _fill(self, node: Node, content: str, margin: str) -> None:
        """Put content at the end of a node; the margin comes before its last tag where nothing stands there yet."""
        if self._is_one_tag(node):
            written = self._tree.decode(node.start, node.inside)
            name = re.match(r"<([^\s/>]+)", written)
            assert name is not None  # noqa: S101 - the parser found a tag here
            self._put(node.inside - len(self._tree.encode("/>")), node.inside, f">{content}{margin}</{name[1]}>")
        elif node.children:
            self._put(node.children[-1].end, node.children[-1].end, content)
        else:
            self._put(node.inside, node.inside, content + ("" if node.close > node.inside else margin))

    def _is_one_tag(self, node: Node) -> bool:
        return self._tree.data.endswith(self._tree.encode("/>"), node.start, node.inside)

    def _put(self, start: int, end: int, text: str) -> None:
        self._edits.append((start, end, self._tree.encode(text)))

    def _cut(self, node: Node) -> None:
        blanks = self._tree.encode(self._blanks_before(node))
        self._edits.append((node.start - len(blanks), node.end, b""))

    def _blanks_before(self, node: Node) -> str:
        width = len(self._tree.encode(" "))
        allowed = {self._tree.encode(blank) for blank in _BLANKS}
        start = node.start
        while self._tree.data[max(0, start - width) : start] in allowed:
            start -= width
        return self._tree.decode(start, node.start)

    def _margin(self, node: Node) -> str:
        """Return the line end and the blanks before an element that begins a line, and nothing for others."""
        _, newline, blanks = self._blanks_before(node).rpartition("\n")
        return f"{self._newline}{blanks}" if newline else ""

    def _step(self, node: Node) -> str:
        """Return how much further than its parent an element is moved in."""
        inner = self._margin(node)
        outer = self._margin(node.parent) if node.parent is not None else ""
        return inner.removeprefix(outer) if outer and inner.startswith(outer) and inner != outer else " "


def _deeper(margin: str, step: str) -> str:
    return margin + step if margin else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _meaning(node: Node | None, prefix: str) -> str | None:
    """Return the namespace that a prefix stands for inside a node."""
    while node is not None:
        if prefix in node.scope:
            return node.scope[prefix]
        node = node.parent
    return None


def _prefix(node: Node, namespace: str, *, for_attribute: bool = False) -> str | None:
    """Return a prefix that stands for a namespace inside a node, None where there is none."""
    around: Node | None = node
    while around is not None:
        for prefix, meaning in around.scope.items():
            if meaning == namespace and _meaning(node, prefix) == namespace and (prefix or not for_attribute):
                return prefix
        around = around.parent
    return None
