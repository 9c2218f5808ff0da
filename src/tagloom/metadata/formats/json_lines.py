"""JSON lines: one photo per line."""

import io
from collections.abc import Iterable, Iterator
from pathlib import Path

from tagloom.core import PhotoKeywords, atomic_write
from tagloom.metadata.formats.exporting import ExportOptions, ExportReport, Tally, record
from tagloom.metadata.formats.json_text import parse_line, read_json_text, write_json
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.records import read_record

__all__ = ["JsonLinesExporter", "read_json_lines"]


def read_json_lines(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield what each line says about its photo.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Which key holds the keywords.
    notes : Notes
        Is told of lines that cannot be understood.
    """
    text = read_json_text(path, may_be_empty=True)
    # Only "\n" ends a line here: text in JSON may hold other characters that Python takes for line ends.
    for number, line in enumerate(io.StringIO(text, newline="\n"), start=1):
        if not line.strip():
            continue
        place = f"line {number}"
        try:
            value = parse_line(line)
        except ValueError as error:
            notes.problem(place, f"expected one JSON object per line, got something else ({error})")
            continue
        yield from read_record(value, place, options, notes)


class JsonLinesExporter:
    """Writes an object per photo with ``file``, ``width``, ``height``, ``tags``, ``not_tags`` and ``suggested``."""

    name = "jsonl"
    description = "JSON lines, one photo per line"

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the lines.

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
        with atomic_write(target) as handle:
            for chosen in tally.choose(photos):
                handle.write(write_json(record(chosen)) + b"\n")
                tally.wrote(chosen)
        return tally.report(self.name, target)
