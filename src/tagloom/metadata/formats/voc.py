"""Pascal VOC: an XML file for each photo, whose objects are its keywords."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.xml_text import refuse_doctype, root_name, walk_xml

__all__ = ["is_voc_folder", "read_voc"]

_FOLDER = "Annotations"
_LARGEST = 4 << 20


def is_voc_folder(path: Path) -> bool:
    """Tell whether a folder, or its folder Annotations, holds XML files of this format."""
    return any(root_name(file) == "annotation" for file in _files(path)[:1])


def read_voc(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield the names of the objects in each photo.

    Parameters
    ----------
    path : Path
        One XML file, the folder that holds them, or the folder above ``Annotations``.
    options : ReadOptions
        Whether a photo without objects counts.
    notes : Notes
        Collects files that cannot be understood.
    """
    for file in _files(path) if path.is_dir() else [path]:
        try:
            if not file.is_file() or file.stat().st_size > _LARGEST:
                raise LabelsFileError(f"{file.name} is no file of at most {_LARGEST >> 20} MiB")
            with open(file, "rb") as handle:
                name, labels = _annotation(walk_xml(handle), file.name)
        except (LabelsFileError, etree.XMLSyntaxError, OSError) as error:
            notes.problem(f"file {file.name!r}", f"expected an annotation of Pascal VOC ({error})")
            continue
        place = f"file {file.name!r}"
        keywords = notes.keywords(place, labels)
        if keywords or options.count_empty:
            yield Said(place, name or file.stem, keywords, stem=not name)


def _files(path: Path) -> list[Path]:
    folder = path / _FOLDER if (path / _FOLDER).is_dir() else path
    return sorted(folder.glob("*.xml"))


def _annotation(walk: Any, source: str) -> tuple[str, list[str]]:
    """Return the photo's name and the names of its objects; parts of objects are not asked for."""
    around: list[str] = []
    name, labels = "", []
    for event, element in walk:
        if event == "start":
            around.append(element.tag)
            if len(around) == 1:
                refuse_doctype(element, source)
                if element.tag != "annotation":
                    raise LabelsFileError(f"it begins with <{element.tag}>")
            continue
        text = (element.text or "").strip()
        if around == ["annotation", "filename"]:
            name = text
        elif around == ["annotation", "object", "name"] and text:
            labels.append(text)
        around.pop()
        if len(around) == 1:
            element.clear()
    return name, labels
