"""Records: one photo as a mapping, in JSON lines, Parquet, Hugging Face metadata and WebDataset files."""

from collections.abc import Iterator, Mapping
from typing import Any

from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown

__all__ = ["NAME_KEYS", "TAG_KEYS", "read_record"]

NAME_KEYS = ("file", "file_name", "filename", "path", "image")
TAG_KEYS = ("tags", "keywords", "labels", "label", "tag")


def read_record(record: Any, place: str, options: ReadOptions, notes: Notes, *, key: str = "") -> Iterator[Said]:
    """Yield what a record says about its photo.

    The name is under ``file`` or ``file_name`` (or an image's ``path``), the keywords under ``tags`` (or ``keywords``,
    ``labels``, ``label``, ``tag``, or the column asked for): a list, one text, or None where nothing is said.
    ``not_tags`` are denied, ``unknown_tags`` left open; ``suggested`` names those of the keywords that only a model
    said.

    Parameters
    ----------
    record : object
        The record; anything but a mapping is a problem.
    place : str
        Where it is.
    options : ReadOptions
        Which column to read.
    notes : Notes
        Is told what cannot be used.
    key : str, optional
        The photo's name without extension, for a record that does not name it.
    """
    if not isinstance(record, Mapping):
        notes.problem(place, f"expected an object with the keys file and tags, got {shown(record)}")
        return
    name = _name(record) or key
    if not name:
        notes.problem(place, f"names no photo; expected the key file or file_name, got {shown(list(record))}")
        return
    column = options.column or next((name for name in TAG_KEYS if name in record), "tags")
    if column not in record:
        notes.problem(place, f"has no keywords; expected the key {column}, got {shown(list(record))}")
        return
    stem = not _name(record)
    suggested = notes.keywords(place, _suggested_labels(record.get("suggested")))
    if suggested:
        yield Said(place, name, suggested, suggested=True, stem=stem)
    yes = tuple(keyword for keyword in notes.keywords(place, record[column]) if keyword not in set(suggested))
    no = notes.keywords(place, record.get("not_tags"))
    unknown = notes.keywords(place, record.get("unknown_tags"))
    says_none = _is_empty_list(record[column])
    if yes or no or unknown or says_none:
        yield Said(place, name, yes, no, unknown, stem=stem)


def _is_empty_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and not value


def _name(record: Mapping[str, Any]) -> str:
    for key in NAME_KEYS:
        value = record.get(key)
        if isinstance(value, Mapping):  # an image in a Parquet file is its bytes and its path
            value = value.get("path")
        if isinstance(value, str) and value:
            return value
    return ""


def _suggested_labels(value: Any) -> list[Any]:
    if not isinstance(value, list | tuple):
        return []
    return [item.get("tag") if isinstance(item, Mapping) else item for item in value]
