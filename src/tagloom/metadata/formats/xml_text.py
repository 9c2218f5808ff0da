"""XML of other programs, with everything switched off that could fetch or expand anything."""

import re
from pathlib import Path
from typing import IO, Any

from lxml import etree

from tagloom.exceptions import LabelsFileError
from tagloom.metadata.text_file import read_head

__all__ = ["refuse_doctype", "root_name", "walk_xml"]

_BEFORE_ROOT = re.compile(r"\s++|<\?.*?\?>|<!--.*?-->|<![^>\[]*+(?:\[[^\]]*+\])?+\s*+>", re.DOTALL)
_ROOT = re.compile(r"<([^\s/>!?]+)")


def root_name(path: Path) -> str:
    """Return the name of a file's outermost element, empty where its beginning does not tell."""
    text, position = read_head(path), 0
    while found := _BEFORE_ROOT.match(text, position):
        position = found.end()
    root = _ROOT.match(text, position)
    return root[1] if root else ""


def walk_xml(handle: IO[bytes]) -> Any:
    """Return an iterator over the beginnings and ends of the elements of a document.

    Parameters
    ----------
    handle : binary file
        Untrusted: no entity is resolved and nothing is fetched.
    """
    return etree.iterparse(
        handle,
        events=("start", "end"),
        resolve_entities=False,
        load_dtd=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def refuse_doctype(root: Any, source: str) -> None:
    """Raise `LabelsFileError` if the document of an element has a document type, which may declare entities."""
    if root.getroottree().docinfo.doctype:
        raise LabelsFileError(
            f"{source} has a document type declaration, which annotation tools do not write and tagloom does not read; "
            f"remove it"
        )
