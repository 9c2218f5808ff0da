"""Parquet tables. Needs the extra ``parquet`` (pyarrow)."""

import itertools
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from tagloom.core.files import atomic_write
from tagloom.core.statements import PhotoKeywords
from tagloom.exceptions import LabelsFileError, TagloomError
from tagloom.metadata.formats.exporting import ExportOptions, ExportReport, Tally, record
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.records import NAME_KEYS, TAG_KEYS, read_record

__all__ = ["ParquetExporter", "read_parquet"]

_ROWS_PER_GROUP = 10_000


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
        with module.ParquetFile(path) as file:
            wanted = {*NAME_KEYS, *TAG_KEYS, "not_tags", "unknown_tags", "suggested", options.column or "tags"}
            columns = [_leaf(field) for field in file.schema_arrow if field.name in wanted]
            number = itertools.count(1)
            for batch in file.iter_batches(batch_size=_ROWS_PER_GROUP, columns=columns):
                for row in batch.to_pylist():
                    yield from read_record(row, f"row {next(number)}", options, notes)
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
