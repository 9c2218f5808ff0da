"""WebDataset shards: a tar file with a ``.json`` for each photo."""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO
from urllib.parse import unquote_to_bytes

from tagloom.core.files import atomic_write
from tagloom.core.statements import PhotoKeywords
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.exporting import ExportOptions, ExportReport, Tally, record, sample_key
from tagloom.metadata.formats.json_text import parse_line, write_json
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said
from tagloom.metadata.formats.records import read_record
from tagloom.metadata.names import name_to_text

__all__ = ["WebDatasetExporter", "read_webdataset"]

_MAX_MEMBER = 4 * 2**20


def read_webdataset(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield what the ``.json`` members of a shard say; other members are passed over.

    Parameters
    ----------
    path : Path
        The tar file.
    options : ReadOptions
        Which key holds the keywords.
    notes : Notes
        Is told of members that cannot be understood.
    """
    if not path.is_file():
        raise LabelsFileError(f"no regular file at {str(path)!r}; check the path")
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if member.isreg() and member.name.endswith(".json"):
                    yield from _member(archive, member, options, notes)
    except (tarfile.TarError, OSError, EOFError, ValueError) as error:
        notes.problem("as a whole", f"expected a tar file without compression ({error}); what follows is not read")


class WebDatasetExporter:
    """Writes one shard; each photo is a ``.json`` whose key is made from the photo's path.

    The object is that of `tagloom.metadata.formats.json_lines.JsonLinesExporter`. Photos are not copied into the shard.
    """

    name = "webdataset"
    description = "WebDataset shard with a .json for each photo"

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the shard.

        Parameters
        ----------
        photos : iterable of PhotoKeywords
            Consumed as it goes.
        target : Path
            The tar file to make or replace.
        options : ExportOptions
            What to include.
        """
        tally = Tally(options)
        with (
            atomic_write(target) as handle,
            tarfile.open(fileobj=handle, mode="w|", format=tarfile.PAX_FORMAT) as shard,
        ):
            for chosen in tally.choose(photos):
                data = write_json(record(chosen))
                # A new TarInfo has time 0 and no owner, so that the same keywords give the same bytes.
                member = tarfile.TarInfo(sample_key(chosen.photo.photo) + ".json")
                member.size = len(data)
                shard.addfile(member, io.BytesIO(data))
                tally.wrote(chosen)
        return tally.report(self.name, target)


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    place = f"member {member.name.encode('utf-8', errors='backslashreplace').decode('utf-8')!r}"
    if member.size > _MAX_MEMBER:
        notes.problem(place, f"expected at most {_MAX_MEMBER // 2**20} MiB, got {member.size} bytes")
        return
    stream: IO[bytes] | None = archive.extractfile(member)
    try:
        value = parse_line(b"".join(stream or ()).decode("utf-8"))
    except ValueError as error:
        notes.problem(place, f"expected a JSON object, got something else ({error})")
        return
    key = name_to_text(unquote_to_bytes(member.name.removesuffix(".json")))
    yield from read_record(value, place, options, notes, key=key)
