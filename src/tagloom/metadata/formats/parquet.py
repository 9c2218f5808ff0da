"""Parquet tables. Needs the extra ``parquet`` (pyarrow)."""

import itertools
import json
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tagloom.core import PhotoKeywords, atomic_write
from tagloom.exceptions import LabelsFileError, TagloomError
from tagloom.metadata.formats.exporting import ExportOptions, ExportReport, Tally, record
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.records import NAME_KEYS, TAG_KEYS, read_record

__all__ = ["ParquetExporter", "read_parquet"]

_ROWS_PER_GROUP = 10_000
_ROWS_PER_BATCH = 1000
_FREE_ROWS = 100_000
_ROWS_PER_BYTE = 10  # a row names a photo, and a name that comes often may take less than a byte
_VALUES_PER_ROW = 10  # on average, where rows hold lists


def read_parquet(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield what each row says about its photo.

    Parameters
    ----------
    path : Path
        The table.
    options : ReadOptions
        Which column holds the keywords.
    notes : Notes
        Is told of rows that cannot be understood.
    """
    library = _pyarrow()
    module = import_module("pyarrow.parquet")
    try:
        if not path.is_file():
            raise LabelsFileError(f"no regular file at {str(path)!r}; check the path")
        with module.ParquetFile(path, pre_buffer=False) as file:
            _check_rows(file.metadata, path, notes)
            classes = class_labels(file.schema_arrow.metadata)
            wanted = {
                *NAME_KEYS,
                *TAG_KEYS,
                "not_tags",
                "unknown_tags",
                "suggested",
                options.column or "tags",
                *classes,
            }
            columns = [_leaf(field) for field in file.schema_arrow if field.name in wanted]
            number = itertools.count(1)
            for batch in file.iter_batches(batch_size=_ROWS_PER_BATCH, columns=columns, use_threads=False):
                for row in batch.to_pylist():
                    yield from read_record(_named(row, classes), f"row {next(number)}", options, notes)
    except library.ArrowMemoryError as error:
        raise MemoryError from error
    except (library.ArrowException, OSError, UnicodeDecodeError) as error:
        raise LabelsFileError(
            f"{notes.source} cannot be read as a Parquet table ({str(error).splitlines()[0]}); check the file"
        ) from error


class ParquetExporter:
    """Writes a row per photo with the columns of `tagloom.metadata.formats.json_lines.JsonLinesExporter`."""

    name = "parquet"
    description = "Parquet table, one photo per row"

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the table.

        Parameters
        ----------
        photos : iterable of PhotoKeywords
            Consumed in groups of 10,000.
        target : Path
            The file to make or replace.
        options : ExportOptions
            What to include.
        """
        library = _pyarrow()
        schema = _schema(library)
        tally = Tally(options)
        with (
            atomic_write(target) as handle,
            import_module("pyarrow.parquet").ParquetWriter(handle, schema) as writer,
        ):
            chosen = tally.choose(photos)
            while group := list(itertools.islice(chosen, _ROWS_PER_GROUP)):
                writer.write_table(library.Table.from_pylist([record(item) for item in group], schema=schema))
                for item in group:
                    tally.wrote(item)
        return tally.report(self.name, target)


def class_labels(metadata: Any) -> dict[str, list[Any]]:
    """Return the class names of columns that hold numbers, as Hugging Face's library notes them in a table.

    Parameters
    ----------
    metadata : mapping of bytes to bytes or None
        Of the table's schema.
    """
    try:
        features = json.loads((metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
        found = {name: _class_names(feature) for name, feature in features.items()}
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return {}
    return {name: names for name, names in found.items() if names}


def _class_names(feature: Any) -> list[Any]:
    """Return the names of a feature that is a class, or a list of classes."""
    if isinstance(feature, list) and feature:
        feature = feature[0]
    elif isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
        feature = feature["feature"]
    names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
    return names if isinstance(names, list) else []


def _named(row: dict[str, Any], classes: dict[str, list[Any]]) -> dict[str, Any]:
    """Return a row with the names of its classes instead of their numbers; a number below 0 says nothing."""
    if not classes:
        return row
    named = {name: _names(row.get(name), names) for name, names in classes.items()}
    if not set(TAG_KEYS) & set(row):
        named["tags"] = [label for labels in named.values() for label in labels or ()] or None
    return row | named


def _names(value: Any, names: list[Any]) -> list[Any] | None:
    if value is None or (isinstance(value, int) and value < 0):
        return None
    values = value if isinstance(value, list) else [value]
    return [names[each] if isinstance(each, int) and 0 <= each < len(names) else each for each in values]


def _check_rows(table: Any, path: Path, notes: Notes) -> None:
    """Refuse more rows or values than a file of its size can name photos: a few bytes can stand for any number."""
    n_bytes = path.stat().st_size
    most = _FREE_ROWS + _ROWS_PER_BYTE * n_bytes
    groups = [table.row_group(number) for number in range(table.num_row_groups)]
    n_values = max((sum(each.column(at).num_values for each in groups) for at in range(table.num_columns)), default=0)
    for n, what, limit in ((table.num_rows, "rows", most), (n_values, "values", _VALUES_PER_ROW * most)):
        if n > limit:
            raise LabelsFileError(
                f"{notes.source} claims {n:,} {what} in {n_bytes:,} bytes; it is not read, as it may be an attack"
            )


def _leaf(field: Any) -> str:
    """Return the column to read: of an image that is stored in the table only its path, not its bytes."""
    names = [field.type.field(index).name for index in range(field.type.num_fields)]
    return f"{field.name}.path" if "bytes" in names and "path" in names else field.name


def _schema(library: Any) -> Any:
    texts = library.list_(library.string())
    suggestion = library.struct([("tag", library.string()), ("score", library.float64())])
    return library.schema(
        [
            library.field("file", library.string(), nullable=False),
            ("media_type", library.string()),
            ("width", library.int32()),
            ("height", library.int32()),
            ("tags", texts),
            ("not_tags", texts),
            ("suggested", library.list_(suggestion)),
        ]
    )


def _pyarrow() -> Any:
    try:
        return import_module("pyarrow")
    except ImportError as error:
        raise TagloomError(
            f"Parquet files need pyarrow, which cannot be imported ({error}); run 'pip install \"tagloom[parquet]\"', "
            f"or use the format jsonl, which holds the same"
        ) from error
