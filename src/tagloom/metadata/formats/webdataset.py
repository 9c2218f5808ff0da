"""WebDataset shards: a tar file with a ``.json``, ``.cls`` or ``.txt`` for each photo."""

import io
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote_to_bytes

from tagloom.core import PhotoKeywords, atomic_write
from tagloom.exceptions import LabelsFileError
from tagloom.metadata.formats.exporting import ExportOptions, ExportReport, Tally, record, sample_key
from tagloom.metadata.formats.json_text import parse_line, write_json
from tagloom.metadata.formats.labels import Notes, ReadOptions, Said, shown
from tagloom.metadata.formats.records import read_record
from tagloom.metadata.names import name_to_text
from tagloom.metadata.text_file import read_text

__all__ = ["WebDatasetExporter", "read_webdataset"]

_MAX_MEMBER = 4 * 2**20
_LONGEST_NAME = 4096
_CLASS_LISTS = ("classes.txt", "classnames.txt")
_MOST_WORDS = 8
_DIGITS = 10


def read_webdataset(path: Path, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    """Yield what the ``.json``, ``.cls`` and ``.txt`` members of a shard say, and skip the others.

    A ``.cls`` is the name of a class, or its number in ``classes.txt`` or ``classnames.txt``, which lies in the shard
    before it or beside the shard; without such a list the number itself is the keyword. A ``.txt`` has a keyword per
    line, or several with ``;`` between them.

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
        classes = _class_list(path)
        with tarfile.open(path, "r:") as archive:
            for member in _members(archive):
                if not member.isreg():
                    continue
                if PurePosixPath(member.name).name in _CLASS_LISTS:
                    classes = _content(archive, member, notes).splitlines()
                elif member.name.endswith(".json"):
                    yield from _member(archive, member, options, notes)
                elif member.name.endswith((".cls", ".txt")):
                    yield from _text(archive, member, classes, notes)
    except (tarfile.TarError, OSError, EOFError, ValueError, IndexError, OverflowError, RecursionError) as error:
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


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members, each behind the one before, without keeping them."""
    position = -1
    for member in archive:
        if member.offset <= position or member.size < 0:
            raise ValueError("members out of order")
        if len(member.name) > _LONGEST_NAME:
            raise ValueError(f"a member whose name has {len(member.name):,} characters")
        position = member.offset
        yield member
        archive.members = []  # type: ignore[attr-defined]


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, options: ReadOptions, notes: Notes) -> Iterator[Said]:
    text = _content(archive, member, notes)
    if not text:
        return
    try:
        value = parse_line(text)
    except ValueError as error:
        notes.problem(_place(member), f"expected a JSON object, got something else ({error})")
        return
    yield from read_record(value, _place(member), options, notes, key=_key(member))


def _text(archive: tarfile.TarFile, member: tarfile.TarInfo, classes: list[str], notes: Notes) -> Iterator[Said]:
    """Yield what a class or a text says about its photo."""
    text = _content(archive, member, notes).strip()
    labels = [piece.strip() for piece in text.replace("\n", ";").split(";") if piece.strip()]
    is_number = member.name.endswith(".cls") and text.isascii() and text.isdigit() and len(text) < _DIGITS
    if is_number and int(text) < len(classes):
        labels = [classes[int(text)]]
    sentence = next((label for label in labels if len(label.split()) > _MOST_WORDS), None)
    if sentence is not None:
        notes.problem(_place(member), f"expected keywords, got the sentence {shown(sentence)}")
        return
    keywords = notes.keywords(_place(member), labels)
    if keywords:
        yield Said(_place(member), _key(member), keywords, stem=True)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo, notes: Notes) -> str:
    """Return the text of a member, empty where there is none that can be read."""
    if member.size > _MAX_MEMBER:
        notes.problem(_place(member), f"expected at most {_MAX_MEMBER // 2**20} MiB, got {member.size} bytes")
        return ""
    stream: IO[bytes] | None = archive.extractfile(member)
    try:
        return b"".join(stream or ()).decode("utf-8")
    except UnicodeDecodeError as error:
        notes.problem(_place(member), f"expected text in UTF-8, got something else ({error})")
        return ""


def _place(member: tarfile.TarInfo) -> str:
    return f"member {member.name.encode('utf-8', errors='backslashreplace').decode('utf-8')!r}"


def _key(member: tarfile.TarInfo) -> str:
    return name_to_text(unquote_to_bytes(member.name.rpartition(".")[0]))


def _class_list(path: Path) -> list[str]:
    """Return the classes that a file beside the shard names."""
    file = next((path.with_name(name) for name in _CLASS_LISTS if path.with_name(name).is_file()), None)
    return [] if file is None else read_text(file, limit=_MAX_MEMBER, may_be_empty=True).splitlines()
