"""Hugging Face imagefolder: a metadata file beside the photos."""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tagloom.core import UNKNOWN, PhotoKeywords, atomic_write
from tagloom.exceptions import InvalidInputError, LabelsFileError
from tagloom.metadata.formats.exporting import (
    ExportOptions,
    ExportReport,
    Tally,
    is_plain_name,
    make_folder,
    record,
)
from tagloom.metadata.formats.json_lines import read_json_lines
from tagloom.metadata.formats.json_text import parse_line, write_json
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown
from tagloom.metadata.formats.parquet import read_parquet
from tagloom.metadata.formats.records import NAME_KEYS, TAG_KEYS, read_record
from tagloom.metadata.labels_rows import parse_tag
from tagloom.metadata.names import name_to_text
from tagloom.metadata.text_file import read_text

__all__ = ["HuggingFaceExporter", "read_huggingface"]


def read_huggingface(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield what a metadata file of an image folder says.

    Parameters
    ----------
    path : Path
        ``metadata.jsonl``, ``metadata.csv`` or ``metadata.parquet``, or the folder that holds one of them.
    options : ReadOptions
        Which column holds the keywords.
    notes : Notes
        Is told of rows that cannot be understood.
    """
    if path.is_dir():
        path = _metadata_file(path)
        notes.source = path.name
    suffix = path.suffix.casefold()
    if suffix == ".parquet":
        return read_parquet(path, options, notes)
    if suffix == ".csv":
        return _read_table(path, options, notes)
    return read_json_lines(path, options, notes)


class HuggingFaceExporter:
    """Writes ``metadata.jsonl``, which ``datasets.load_dataset("imagefolder", data_dir=…)`` reads.

    The target is a folder, or a file called ``metadata.jsonl``. Names are relative to that folder, so it has to be the
    photo folder or a copy of it; no photo is copied. A photo whose name is not UTF-8 cannot be found by that reader: it
    is left out with a warning.
    """

    name = "huggingface"
    description = "Hugging Face imagefolder: metadata.jsonl beside the photos"

    def files(self, target: Path) -> tuple[Path, ...]:
        """Return the file that is written.

        Raises
        ------
        InvalidInputError
            If the target is neither a folder nor called ``metadata.jsonl``.
        """
        if target.is_dir() or not (target.suffix or target.exists()):
            return (target / "metadata.jsonl",)
        if target.name != "metadata.jsonl":
            raise InvalidInputError(
                f"expected a folder or a file called metadata.jsonl, which is what the reader looks for, got "
                f"{target.name!r}"
            )
        return (target,)

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the metadata file.

        Parameters
        ----------
        photos : iterable of PhotoKeywords
            Consumed as it goes.
        target : Path
            The folder that holds the photos, or will (made if it is missing), or ``metadata.jsonl`` in it.
        options : ExportOptions
            What to include.
        """
        tally = Tally(options)
        (file,) = self.files(target)
        if file != target:
            make_folder(target)
        with atomic_write(file) as handle:
            for chosen in tally.choose(photos):
                if not is_plain_name(chosen.photo.photo):
                    tally.warn(
                        f"{name_to_text(chosen.photo.photo)} is left out: its name is not UTF-8; rename the photo"
                    )
                    continue
                handle.write(write_json(record(chosen, name_key="file_name")) + b"\n")
                tally.wrote(chosen)
        return tally.report(self.name, file)


def _metadata_file(folder: Path) -> Path:
    for name in ("metadata.jsonl", "metadata.csv", "metadata.parquet"):
        if (folder / name).is_file():
            return folder / name
    raise LabelsFileError("expected a folder with metadata.jsonl, metadata.csv or metadata.parquet, found none of them")


def _read_table(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    stream = io.StringIO(read_text(path), newline="")
    reader = csv.DictReader(stream, strict=True)
    _check_header(reader, notes)
    while True:
        place = f"line {reader.line_num + 1}"
        try:
            row: dict[Any, Any] = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            notes.problem(place, f"cannot be split into cells ({error}); check the quotation marks")
            continue
        place = f"line {reader.line_num}"
        if None in row:
            notes.problem(place, "has more cells than the header; put quotation marks around text that holds a comma")
            continue
        try:
            yield from read_record(_with_lists(row, options), place, options, notes)
        except ValueError as error:
            notes.problem(place, str(error))


def _check_header(reader: "csv.DictReader[str]", notes: Notes) -> None:
    try:
        names = list(reader.fieldnames or ())
    except csv.Error as error:
        raise LabelsFileError(f"{notes.source}, line 1: cannot be split into cells ({error})") from error
    if not set(NAME_KEYS) & set(names):
        raise LabelsFileError(
            f"{notes.source}, line 1: expected a header with the column file_name, got {shown(names)}; rename it"
        )


def _with_lists(row: dict[str, Any], options: ReadOptions) -> dict[str, Any]:
    """Turn a cell of keywords, a JSON list or text with ``;`` between them, into lists as JSON lines have them."""
    column = options.column or next((name for name in TAG_KEYS if name in row), None)
    if column is None or column not in row:
        return row
    cell = (row[column] or "").strip()
    if cell.startswith("["):
        return row | {column: parse_line(cell)}
    parsed = [parse_tag(piece) for piece in cell.split(";") if piece.strip()]
    said = {state: [tag for tag, value in parsed if value == state] for state in (1, 0, UNKNOWN)}
    return row | {column: said[1], "not_tags": said[0]}
