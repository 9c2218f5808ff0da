"""Tables: tagloom's labels file in, and a table with one keyword per row out."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tagloom.core import UNKNOWN, PhotoKeywords, atomic_write
from tagloom.metadata.formats.exporting import (
    ACCEPTED,
    REJECTED,
    SUGGESTED,
    Chosen,
    ExportOptions,
    ExportReport,
    Tally,
    media_type,
)
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.labels_rows import read_rows
from tagloom.metadata.names import name_to_text
from tagloom.metadata.text_file import read_text

__all__ = ["CsvExporter", "TsvExporter", "read_csv"]


def read_csv(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:  # noqa: ARG001
    """Yield what a labels file says; a row whose ``source`` is "suggested" is a model's word.

    Parameters
    ----------
    path : Path
        The table, see the page "Labels file".
    options : ReadOptions
        Not needed here.
    notes : Notes
        Is told of rows that cannot be understood.
    """
    for row in read_rows(notes.source, read_text(path), report=notes.line):
        place = f"line {row.line}"
        said = {
            state: notes.keywords(place, [tag for tag, value in row.states if value == state])
            for state in (1, 0, UNKNOWN)
        }
        if row.states and not any(said.values()):
            continue
        is_suggestion = row.source.casefold() == SUGGESTED
        yield Said(place, row.name, said[1], said[0], said[UNKNOWN], suggested=is_suggestion, stem=row.foreign)


class CsvExporter:
    """Writes the columns ``file``, ``tag``, ``source``, ``score`` and ``media_type``, a row for each keyword.

    ``source`` is accepted, suggested or rejected; a rejected keyword is written as ``!tag``. ``media_type`` is "video"
    or empty. Cells hold the data exactly: a spreadsheet may take a cell that begins with ``=``, ``+``, ``-`` or ``@``
    for a formula. A photo without any keyword to write has no row: a row without a keyword would say that the photo has
    none.
    """

    name = "csv"
    description = "table with one keyword per row"
    delimiter = ","

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the table.

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
            handle.write(self._line("file", "tag", "source", "score", "media_type"))
            for chosen in tally.choose(photos):
                if not chosen.is_empty:
                    handle.writelines(self._lines(chosen))
                    tally.wrote(chosen)
        return tally.report(self.name, target)

    def _lines(self, chosen: Chosen) -> Iterator[bytes]:
        name, kind = name_to_text(chosen.photo.photo), "".join(media_type(chosen.photo.photo).values())
        for keyword in chosen.accepted:
            yield self._line(name, _marked(keyword.text), ACCEPTED, "", kind)
        for keyword, score in chosen.suggested.items():
            yield self._line(name, _marked(keyword.text), SUGGESTED, f"{score:.6g}", kind)
        for keyword in chosen.rejected:
            yield self._line(name, "!" + _marked(keyword.text), REJECTED, "", kind)

    def _line(self, *cells: str) -> bytes:
        return (self.delimiter.join(self._cell(cell) for cell in cells) + "\n").encode("utf-8")

    def _cell(self, text: str) -> str:
        # The csv module leaves a lone carriage return unquoted when lines end in "\n", and reads it as a line end.
        if not any(character in text for character in (self.delimiter, '"', "\r", "\n")):
            return text
        return '"' + text.replace('"', '""') + '"'


class TsvExporter(CsvExporter):
    """Writes the table of `CsvExporter` with tabs between the columns."""

    name = "tsv"
    description = "table with one keyword per row, separated by tabs"
    delimiter = "\t"


def _marked(tag: str) -> str:
    """Double the marks before a tag, so that they are not taken for a no."""
    return "!" * (len(tag) - len(tag.lstrip("!"))) + tag
