"""Datumaro JSON: items with annotations, and the labels that these name by their numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tagloom.metadata.formats.json_text import iter_entries, read_json_text
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown

__all__ = ["read_datumaro"]


def read_datumaro(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield for each item the labels of its annotations, of the whole photo or of any shape.

    Parameters
    ----------
    path : Path
        The JSON file.
    options : ReadOptions
        Whether an item without annotations counts.
    notes : Notes
        Collects items that cannot be understood.
    """
    labels: list[Any] = []
    items: list[tuple[str, str, bool, list[Any]]] = []
    for entry in iter_entries(read_json_text(path), notes.problem):
        place, value = f"line {entry.line}", entry.value
        if entry.section == "categories" and entry.key == "label" and isinstance(value, dict):
            found = value.get("labels")
            listed = found if isinstance(found, list) else []
            labels = [each.get("name") if isinstance(each, dict) else each for each in listed]
        elif entry.section == "items":
            name, is_key = _name(value)
            if name:
                items.append((place, name, is_key, _numbers(value)))
            else:
                notes.problem(place, f"expected an item with an id or the path of an image, got {shown(value)}")
    for place, name, is_key, numbers in items:
        known = [number for number in numbers if isinstance(number, int) and 0 <= number < len(labels)]
        if len(known) < len(numbers):
            notes.problem(place, f"uses labels that the file does not list, among {shown(numbers)}")
        keywords = notes.keywords(place, [labels[number] for number in known])
        if keywords or (options.count_empty and not numbers):
            yield Said(place, name, keywords, stem=is_key)


def _name(item: Any) -> tuple[str, bool]:
    """Return the name of an item's photo, and whether it comes without its extension."""
    if not isinstance(item, dict):
        return "", False
    for key in ("image", "media"):
        media = item.get(key)
        if isinstance(media, dict) and isinstance(media.get("path"), str) and media["path"]:
            return media["path"], False
    return (item["id"], True) if isinstance(item.get("id"), str) else ("", False)


def _numbers(item: dict[str, Any]) -> list[Any]:
    found = item.get("annotations")
    annotations = [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []
    numbers = [each["label_id"] for each in annotations if each.get("label_id") is not None]
    return [number for place, number in enumerate(numbers) if number not in numbers[:place]]
