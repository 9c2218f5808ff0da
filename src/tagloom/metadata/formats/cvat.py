"""CVAT for images 1.1: keywords as ``<tag label="…"/>`` of an image."""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lxml import etree

from tagloom.core import PhotoKeywords, atomic_write, is_video
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.exporting import Chosen, ExportOptions, ExportReport, Tally, spooled
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.xml_text import refuse_doctype, walk_xml
from tagloom.metadata.names import BYTES_MARK, name_to_text

__all__ = ["CvatExporter", "read_cvat"]

_NOT_IN_XML = re.compile("[\x00-\x1f\x7f-\x9f\ufffe\uffff]")
_MANUAL, _AUTOMATIC = "manual", "auto"


def read_cvat(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield the labels of each image: of its tags, and of any shape drawn in it.

    A label whose ``source`` is "auto" is a model's word. Document type declarations, and entities with them, are
    refused.

    Parameters
    ----------
    path : Path
        ``annotations.xml``.
    options : ReadOptions
        Whether an image without labels counts.
    notes : Notes
        Is told of images that cannot be understood.
    """
    _check_file(path, notes)
    with open(path, "rb") as handle:
        try:
            for image in _images(walk_xml(handle), notes):
                yield from _image(image, options, notes)
        except etree.XMLSyntaxError as error:
            notes.problem(f"line {error.lineno or 1}", f"expected XML ({error.msg}); what follows is not read")


class CvatExporter:
    """Writes one XML file that CVAT takes as annotations of a task with the same photos.

    A suggested keyword has ``source="auto"`` and an attribute ``score``, an accepted one ``source="manual"``. CVAT has
    no way to store a rejection: rejected keywords are not written. Videos are left out, with a warning.
    """

    name = "cvat"
    description = "CVAT for images 1.1, keywords as <tag>"

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the file.

        Parameters
        ----------
        photos : iterable of PhotoKeywords
            Consumed as it goes.
        target : Path
            The file to make or replace.
        options : ExportOptions
            What to include.
        """
        tally = Tally(options)
        labels: dict[str, None] = {}
        n_rejected = n_photos = n_videos = 0
        with atomic_write(target) as handle, spooled() as images:
            for chosen in tally.choose(photos):
                if is_video(chosen.photo.photo):
                    n_videos += 1
                    continue
                images.add(etree.tostring(_image_element(n_photos, chosen), encoding="utf-8"), between=b"\n")
                labels.update(dict.fromkeys(keyword.text for keyword in chosen.keywords))
                tally.wrote(chosen, rejected=False)
                n_rejected += len(chosen.rejected)
                n_photos += 1
            handle.write(b'<?xml version="1.0" encoding="utf-8"?>\n<annotations>\n<version>1.1</version>\n')
            handle.write(etree.tostring(_meta(labels, n_photos), encoding="utf-8") + b"\n")
            images.copy_to(handle)
            handle.write(b"\n</annotations>\n")
        if n_videos:
            what = "video is" if n_videos == 1 else "videos are"
            tally.warn(f"{n_videos} {what} left out: this format of CVAT is for photos")
        if n_rejected:
            tally.warn(f"{n_rejected} rejected keywords are not written: CVAT cannot store them")
        return tally.report(self.name, target)


def _check_file(path: Path, notes: Notes) -> None:
    try:
        is_regular = stat.S_ISREG(os.stat(path).st_mode)
    except OSError as error:
        raise LabelsFileError(f"cannot read {notes.source} ({error.strerror or error}); check the path") from error
    if not is_regular:
        raise LabelsFileError(f"{notes.source} is not a regular file; give the file annotations.xml")


def _images(walk: Any, notes: Notes) -> Iterator[Any]:
    """Yield the complete ``image`` elements directly below the root, and forget each afterwards."""
    depth = 0
    for event, element in walk:
        if event == "start":
            depth += 1
            if depth == 1:
                _check_root(element, notes)
            continue
        depth -= 1
        if depth == 1:
            if element.tag == "image":
                yield element
            elif element.tag == "track":
                raise LabelsFileError(
                    f"{notes.source} is CVAT's export of a video: its frames are numbers, not photos. Export the task "
                    f"as 'CVAT for images 1.1'"
                )
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]


def _check_root(root: Any, notes: Notes) -> None:
    refuse_doctype(root, notes.source)
    if root.tag != "annotations":
        raise LabelsFileError(
            f"{notes.source} begins with <{root.tag}>; expected <annotations>, as CVAT's export 'CVAT for images 1.1' "
            f"has it"
        )


def _image(image: Any, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    place = f"line {image.sourceline}"
    name = image.get("name") or ""
    if not name:
        notes.problem(place, "expected an image with a name, got one without")
        return
    labels: dict[bool, list[str]] = {False: [], True: []}
    for child in image:
        label = child.get("label")
        if label is not None:
            labels[child.get("source") == _AUTOMATIC].append(label)
        elif child.tag == "tag":
            notes.problem(f"line {child.sourceline}", "expected a tag with a label, got one without")
    yes, suggested = notes.keywords(place, labels[False]), notes.keywords(place, labels[True])
    if suggested:
        yield Said(place, name, suggested, suggested=True)
    if yes or (options.count_empty and not suggested):
        yield Said(place, name, yes)


def _image_element(number: int, chosen: Chosen) -> Any:
    photo = chosen.photo
    image = etree.Element("image", id=str(number), name=_xml_name(photo.photo))
    if photo.width > 0 and photo.height > 0:
        image.set("width", str(photo.width))
        image.set("height", str(photo.height))
    for keyword in chosen.accepted:
        etree.SubElement(image, "tag", label=keyword.text, source=_MANUAL)
    for keyword, score in chosen.suggested.items():
        tag = etree.SubElement(image, "tag", label=keyword.text, source=_AUTOMATIC)
        etree.SubElement(tag, "attribute", name="score").text = f"{score:.6g}"
    return image


def _meta(labels: Iterable[str], n_photos: int) -> Any:
    meta = etree.Element("meta")
    task = etree.SubElement(meta, "task")
    for tag, text in (("name", "tagloom"), ("size", str(n_photos)), ("mode", "annotation"), ("overlap", "0")):
        etree.SubElement(task, tag).text = text
    group = etree.SubElement(task, "labels")
    for text in labels:
        label = etree.SubElement(group, "label")
        etree.SubElement(label, "name").text = text
        etree.SubElement(label, "type").text = "tag"
        attribute = etree.SubElement(etree.SubElement(label, "attributes"), "attribute")
        values = {"name": "score", "mutable": "False", "input_type": "text", "default_value": "", "values": ""}
        for tag, value in values.items():
            etree.SubElement(attribute, tag).text = value
    return meta


def _xml_name(photo: bytes) -> str:
    """Return a photo's name as XML can hold it: characters that it cannot are written like bytes that are not UTF-8."""
    text = name_to_text(photo)
    if not _NOT_IN_XML.search(text):
        return text
    if not text.startswith(BYTES_MARK):
        text = BYTES_MARK + text.replace("%", "%25")
    return _NOT_IN_XML.sub(_percent, text)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8"))
