"""Open Images: a table of image-level labels (or boxes), with the names of classes in a file beside it."""

import csv
from collections.abc import Iterator
from pathlib import Path

from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown
from tagloom.metadata.formats.tables import column, read_table, split_table
from tagloom.metadata.text_file import read_text

__all__ = ["is_open_images", "read_open_images"]

_IMAGE, _LABEL, _CONFIDENCE = "imageid", "labelname", "confidence"
_DESCRIPTIONS = "*class-descriptions*.csv"


def is_open_images(head: str) -> bool:
    """Tell from its beginning whether a table is one of Open Images."""
    header, _ = split_table(head)
    return column(header, _IMAGE) is not None and column(header, _LABEL) is not None


def read_open_images(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:  # noqa: ARG001
    """Yield a label for each row: confidence 1 is a yes, 0 a no, anything between a model's word.

    Labels are codes such as ``/m/01yrx``; ``class-descriptions….csv`` beside the table names them. One that it does not
    name stays a code.

    Parameters
    ----------
    path : Path
        The table, with the columns ImageID, LabelName and, where there is doubt, Confidence.
    options : ReadOptions
        Not needed here.
    notes : Notes
        Collects rows that cannot be understood.
    """
    header, rows = read_table(path, notes)
    image, label, confidence = column(header, _IMAGE), column(header, _LABEL), column(header, _CONFIDENCE)
    if image is None or label is None:
        raise LabelsFileError(
            f"{notes.source}, line 1: expected the columns ImageID and LabelName, got {shown(header)}"
        )
    names = _descriptions(path)
    for line, cells in rows:
        place = f"line {line}"
        try:
            sure = 1.0 if confidence is None else float(cells[confidence])
        except ValueError:
            notes.problem(place, f"expected a confidence from 0 to 1, got {shown(cells[confidence or 0])}")
            continue
        if not 0 <= sure <= 1:
            notes.problem(place, f"expected a confidence from 0 to 1, got {sure}")
            continue
        keywords = notes.keywords(place, names.get(cells[label], cells[label]))
        if keywords and sure == 0:
            yield Said(place, cells[image], no=keywords, stem=True)
        elif keywords:
            yield Said(place, cells[image], keywords, suggested=sure < 1, stem=True)


def _descriptions(path: Path) -> dict[str, str]:
    """Return the names of classes by their codes; nothing where no file tells them."""
    file = next((each for each in sorted(path.parent.glob(_DESCRIPTIONS)) if each.is_file() and each != path), None)
    if file is None:
        return {}
    rows = csv.reader(read_text(file).splitlines())
    return {cells[0].strip(): cells[1].strip() for cells in rows if len(cells) > 1}
