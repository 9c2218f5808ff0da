"""COCO JSON with keywords as annotations of the whole image.

The extension: an annotation without ``bbox`` and ``segmentation`` is a keyword of the image (Datumaro's ``coco_labels``
reads it so). Its ``attributes.source`` is "accepted" or "suggested", a suggestion has a ``score``. An image's
``neg_category_ids``, as in LVIS, are the categories that it has not. A category's ``name`` is the whole keyword
(``Animals|Birds``), its ``supercategory`` the keyword one level up.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tagloom.core import Keyword, PhotoKeywords, atomic_write
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.exporting import (
    ACCEPTED,
    SUGGESTED,
    Chosen,
    ExportOptions,
    ExportReport,
    Spool,
    Tally,
    media_type,
    spooled,
)
from tagloom.metadata.formats.json_text import JsonEntry, iter_entries, read_json_text, write_json
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown
from tagloom.metadata.names import name_to_text

__all__ = ["CocoExporter", "read_coco"]

_INFO = {
    "description": "Keywords of photos, written by tagloom",
    "version": "1.0",
    "tagloom": {"image_level_annotations": 1},
}


@dataclass(slots=True)
class _Document:
    """The parts of a COCO file that matter here, in whatever order they come."""

    names: dict[int, tuple[str, str]] = field(default_factory=dict)
    denied: dict[int, list[int]] = field(default_factory=dict)
    categories: dict[int, Keyword | None] = field(default_factory=dict)
    present: dict[int, dict[tuple[int, bool], str]] = field(default_factory=lambda: defaultdict(dict))


def read_coco(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield for each image the categories that are present in it, as a whole or through any object.

    Parameters
    ----------
    path : Path
        The JSON file.
    options : ReadOptions
        Whether an image without annotations counts.
    notes : Notes
        Is told of entries that cannot be understood.
    """
    document = _Document()
    for entry in iter_entries(read_json_text(path), notes.problem):
        if entry.section in ("images", "annotations", "categories"):
            _take(entry, document, notes)
    for image_id, places in document.present.items():
        if image_id not in document.names:
            notes.problem(next(iter(places.values())), f"names the image {image_id}, which the file does not list")
    for image_id, (place, name) in document.names.items():
        yield from _image(document, image_id, place, name, options, notes)


class CocoExporter:
    """Writes one JSON file with images, categories, and an annotation without a box for each keyword."""

    name = "coco"
    description = "COCO JSON, keywords as annotations of the whole image"

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
        categories: dict[Keyword, int] = {}
        with atomic_write(target) as handle, spooled() as annotations:
            handle.write(b'{"info":' + write_json(_INFO) + b',\n"licenses":[],\n"images":[\n')
            next_id = 1
            for image_id, chosen in enumerate(tally.choose(photos), start=1):
                image = _image_entry(image_id, chosen, categories)
                handle.write((b",\n" if image_id > 1 else b"") + write_json(image))
                next_id = _annotate(annotations, image_id, chosen, categories, next_id)
                tally.wrote(chosen)
            handle.write(b'\n],\n"annotations":[\n')
            annotations.copy_to(handle)
            entries = (write_json(_category(keyword, number)) for keyword, number in categories.items())
            handle.write(b'\n],\n"categories":[\n' + b",\n".join(entries) + b"\n]}\n")
        return tally.report(self.name, target)


def _image_entry(image_id: int, chosen: Chosen, categories: dict[Keyword, int]) -> dict[str, Any]:
    photo = chosen.photo
    image: dict[str, Any] = {"id": image_id, "file_name": name_to_text(photo.photo), **media_type(photo.photo)}
    if photo.width > 0 and photo.height > 0:
        image |= {"width": photo.width, "height": photo.height}
    if chosen.rejected:
        image["neg_category_ids"] = [_number(keyword, categories) for keyword in chosen.rejected]
    return image


def _annotate(spool: Spool, image_id: int, chosen: Chosen, categories: dict[Keyword, int], next_id: int) -> int:
    """Add the annotations of an image and return the next free number."""
    for keyword in chosen.keywords:
        score = chosen.suggested.get(keyword)
        entry: dict[str, Any] = {"id": next_id, "image_id": image_id, "category_id": _number(keyword, categories)}
        if score is not None:
            entry["score"] = score
        entry["attributes"] = {"source": ACCEPTED if score is None else SUGGESTED}
        spool.add(write_json(entry))
        next_id += 1
    return next_id


def _number(keyword: Keyword, categories: dict[Keyword, int]) -> int:
    return categories.setdefault(keyword, len(categories) + 1)


def _category(keyword: Keyword, number: int) -> dict[str, Any]:
    above = Keyword(keyword.path[:-1]).text if len(keyword.path) > 1 else ""
    return {"id": number, "name": keyword.text, "supercategory": above}


def _take(entry: JsonEntry, document: _Document, notes: Notes) -> None:
    place, value = f"line {entry.line}", entry.value
    if not isinstance(value, dict):
        notes.problem(place, f"expected an object in {entry.section}, got {shown(value)}")
    elif entry.section == "annotations":
        image_id, category_id = _integer(value.get("image_id")), _integer(value.get("category_id"))
        if category_id is None and "caption" in value:
            raise LabelsFileError(
                f"{notes.source} holds captions, which are sentences, not keywords; give the file of instances"
            )
        if image_id is None or category_id is None:
            notes.problem(place, f"expected an annotation with image_id and category_id, got {shown(value)}")
        else:
            document.present[image_id].setdefault((category_id, _is_suggestion(value)), place)
    elif (number := _integer(value.get("id"))) is None:
        notes.problem(place, f"expected a whole number as id in {entry.section}, got {shown(value.get('id'))}")
    elif entry.section == "categories":
        found = notes.keywords(place, [value.get("name")])
        document.categories[number] = found[0] if found else None
    elif not isinstance(value.get("file_name"), str):
        notes.problem(place, f"expected an image with file_name, got {shown(value)}")
    elif number in document.names:
        notes.problem(place, f"expected each image once, got the id {number} again; the image is left out")
    else:
        document.names[number] = (place, value["file_name"])
        denied = value.get("neg_category_ids")
        if isinstance(denied, list):
            document.denied[number] = [item for item in denied if _integer(item) is not None]


def _image(
    document: _Document, image_id: int, place: str, name: str, options: ReadOptions, notes: Notes
) -> Iterator[Said]:
    found = document.present.get(image_id, {})
    yes = _keywords(document, {number: where for (number, guess), where in found.items() if not guess}, notes)
    guessed = _keywords(document, {number: where for (number, guess), where in found.items() if guess}, notes)
    no = _keywords(document, dict.fromkeys(document.denied.get(image_id, ()), place), notes)
    if guessed:
        yield Said(place, name, guessed, suggested=True)
    if yes or no or (options.count_empty and not found):
        yield Said(place, name, yes, no)


def _keywords(document: _Document, numbers: dict[int, str], notes: Notes) -> tuple[Keyword, ...]:
    keywords: dict[Keyword, None] = {}
    for number, place in numbers.items():
        keyword = document.categories.get(number)
        if keyword is not None:
            keywords[keyword] = None
        elif number not in document.categories:
            notes.problem(place, f"names the category {number}, which the file does not list")
    return tuple(keywords)


def _is_suggestion(annotation: dict[str, Any]) -> bool:
    attributes = annotation.get("attributes")
    return isinstance(attributes, dict) and attributes.get("source") == SUGGESTED


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
