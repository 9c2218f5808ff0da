"""What every exporter shares: what is written of a photo, what is counted, and what is refused."""

import contextlib
import hashlib
import math
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol, runtime_checkable

from tagloom.core import Keyword, PhotoKeywords, is_video
from tagloom.exceptions import InvalidInputError, WriteError
from tagloom.metadata.names import BYTES_MARK, name_to_text

__all__ = [
    "Chosen",
    "ExportOptions",
    "ExportReport",
    "Exporter",
    "Spool",
    "Tally",
    "make_folder",
    "media_type",
    "record",
    "sample_key",
    "spooled",
]

ACCEPTED, SUGGESTED, REJECTED = "accepted", "suggested", "rejected"
_SAFE_BYTES = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-/")
_MAX_PART = 200
_MEMORY = 16 * 2**20


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """How keywords are written.

    Parameters
    ----------
    include_suggested : bool, default=True
        Whether keywords above the threshold that nobody confirmed are written too, marked as such.
    model_version : str, default="tagloom"
        What the suggestions are signed with, where the format has a place for it (Label Studio).
    photo_url : str, default="/data/local-files/?d="
        The address of the photo folder in a Label Studio task, before a photo's percent-encoded path.
    photo_root : str, default=""
        The photo folder, for formats that hold whole paths (FiftyOne); without it paths are relative.
    """

    include_suggested: bool = True
    model_version: str = "tagloom"
    photo_url: str = "/data/local-files/?d="
    photo_root: str = ""


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote.

    Parameters
    ----------
    format : str
        The format's name.
    files : tuple of Path
        The files that were made or replaced.
    n_photos : int
        Photos written.
    n_accepted, n_suggested, n_rejected : int
        Pairs of photo and keyword written: a person's yes, a model's suggestion, a person's no.
    warnings : tuple of str
        A line for each photo or fact that the format cannot hold.
    """

    format: str
    files: tuple[Path, ...]
    n_photos: int
    n_accepted: int
    n_suggested: int
    n_rejected: int
    warnings: tuple[str, ...] = ()


@runtime_checkable
class Exporter(Protocol):
    """Writes keywords in one format. An entry point of the group ``tagloom.exporters`` names a class of this kind.

    The class is made without arguments. It writes through `tagloom.core.files.atomic_write`, takes the photos one by
    one, and leaves the photos themselves alone. One that writes other files than the target has a method
    ``files(target)`` that returns them, so that files of others among them are not written over.
    """

    name: str
    description: str

    def write(self, photos: Iterable[PhotoKeywords], target: Path, options: ExportOptions) -> ExportReport:
        """Write the keywords of these photos to a file (or a folder) and say what was written."""


class Chosen(NamedTuple):
    """What is written of one photo.

    Parameters
    ----------
    photo : PhotoKeywords
        The photo.
    accepted : tuple of Keyword
        Said by a person.
    suggested : dict of Keyword to float
        Said by a model and by nobody else.
    rejected : tuple of Keyword
        Denied by a person.
    """

    photo: PhotoKeywords
    accepted: tuple[Keyword, ...]
    suggested: dict[Keyword, float]
    rejected: tuple[Keyword, ...]

    @property
    def keywords(self) -> tuple[Keyword, ...]:
        """The accepted keywords, then the suggested ones."""
        return (*self.accepted, *self.suggested)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said of the photo."""
        return not (self.accepted or self.suggested or self.rejected)


class Tally:
    """Decides what is written of each photo, and counts it.

    Parameters
    ----------
    options : ExportOptions
        What to include.
    """

    def __init__(self, options: ExportOptions) -> None:
        self._options = options
        self._seen: set[bytes] = set()
        self._counts = {ACCEPTED: 0, SUGGESTED: 0, REJECTED: 0}
        self._n_photos = 0
        self._warnings: list[str] = []

    def choose(self, photos: Iterable[PhotoKeywords]) -> Iterator[Chosen]:
        """Yield what may be written of each photo.

        Raises
        ------
        InvalidInputError
            If a photo comes twice, its path is not relative, or a score is not finite.
        """
        for photo in photos:
            _check_path(photo.photo)
            if photo.photo in self._seen:
                raise InvalidInputError(f"photos must be distinct, but {photo.photo!r} comes more than once")
            self._seen.add(photo.photo)
            accepted = tuple(dict.fromkeys(photo.accepted))
            rejected = tuple(dict.fromkeys(photo.rejected))
            both = set(accepted) & set(rejected)
            if both:
                raise InvalidInputError(f"{min(both).text!r} is both accepted and rejected for {photo.photo!r}")
            decided = {*accepted, *rejected}
            offered = photo.suggested if self._options.include_suggested else ()
            suggested = {keyword: _check_score(score, photo) for keyword, score in offered if keyword not in decided}
            yield Chosen(photo, accepted, suggested, rejected)

    def wrote(self, chosen: Chosen, *, rejected: bool = True) -> None:
        """Count a photo as written, with or without its rejected keywords."""
        self._n_photos += 1
        self._counts[ACCEPTED] += len(chosen.accepted)
        self._counts[SUGGESTED] += len(chosen.suggested)
        self._counts[REJECTED] += len(chosen.rejected) if rejected else 0

    def warn(self, text: str) -> None:
        """Note something that the format cannot hold."""
        self._warnings.append(text)

    def report(self, format: str, *files: Path) -> ExportReport:
        """Return what was written."""
        counts = (self._counts[ACCEPTED], self._counts[SUGGESTED], self._counts[REJECTED])
        return ExportReport(format, files, self._n_photos, *counts, tuple(self._warnings))


def record(chosen: Chosen, *, name_key: str = "file") -> dict[str, Any]:
    """Return a photo as the record that JSON lines, Parquet, Hugging Face and WebDataset files share.

    ``tags`` holds all keywords that are written, ``suggested`` those among them that only a model said, with scores,
    and ``not_tags`` those that a person denied. ``tags`` is None where nothing is said, an empty list where a person
    said no to some and yes to none. A video has ``media_type`` "video"; a photo has no such key.

    Parameters
    ----------
    chosen : Chosen
        The photo.
    name_key : str, default="file"
        The key of the name.
    """
    return {
        name_key: name_to_text(chosen.photo.photo),
        **media_type(chosen.photo.photo),
        "width": chosen.photo.width,
        "height": chosen.photo.height,
        "tags": None if chosen.is_empty else [keyword.text for keyword in chosen.keywords],
        "not_tags": [keyword.text for keyword in chosen.rejected],
        "suggested": [{"tag": keyword.text, "score": score} for keyword, score in chosen.suggested.items()],
    }


def media_type(photo: bytes) -> dict[str, str]:
    """Return the further fields of a video's entry; a photo has none.

    Parameters
    ----------
    photo : bytes
        The path.
    """
    return {"media_type": "video"} if is_video(photo) else {}


def is_plain_name(photo: bytes) -> bool:
    """Tell whether a photo's name is UTF-8, so that other programs find the photo under the name in a text file."""
    return not name_to_text(photo).startswith(BYTES_MARK)


def sample_key(photo: bytes) -> str:
    """Return a key that tells a photo from all others and is safe as a path in an archive.

    ASCII letters, digits, ``_``, ``-`` and ``/`` stay, every other byte becomes ``%XX``, the dot too: a dot would end
    the key. A part of more than 200 characters is cut and ends in a digest of the whole path.

    Parameters
    ----------
    photo : bytes
        The path relative to the photo folder.

    Examples
    --------
    >>> sample_key("trips/café.jpg".encode())
    'trips/caf%C3%A9%2Ejpg'
    """
    key = "".join(chr(byte) if byte in _SAFE_BYTES else f"%{byte:02X}" for byte in photo)
    if all(len(part) <= _MAX_PART for part in key.split("/")):
        return key
    digest = hashlib.blake2b(photo, digest_size=16).hexdigest()
    parts = [re.sub(r"%.?$", "", part[: _MAX_PART - 40]) if len(part) > _MAX_PART else part for part in key.split("/")]
    return f"{'/'.join(parts)}--{digest}"


def _check_score(score: float, photo: PhotoKeywords) -> float:
    if not math.isfinite(score):
        raise InvalidInputError(f"expected a finite score for each suggestion, got {score} for {photo.photo!r}")
    return float(score)


def _check_path(photo: bytes) -> None:
    if not isinstance(photo, bytes):
        raise InvalidInputError(f"a photo's name must be bytes, got {photo!r}; use os.fsencode")
    parts = photo.split(b"/")
    if b"\0" in photo or any(part in (b"", b".", b"..") for part in parts) or os.path.isabs(photo):
        raise InvalidInputError(f"expected a path below the photo folder, got {photo!r}")


def make_folder(target: Path) -> None:
    """Make the folder that an export is written to, if it is missing."""
    try:
        target.mkdir(exist_ok=True)
    except OSError as error:
        raise WriteError(
            error.errno or 0,
            f"could not make the folder {target.name!r} ({error.strerror or error}); choose another one",
            str(target),
        ) from error


class Spool:
    """Collects lines, in memory while they are few and in an unnamed temporary file beyond that."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._n_lines = 0

    def add(self, line: bytes, *, between: bytes = b",\n") -> None:
        """Add a line, with something between it and the one before."""
        self._file.write((between if self._n_lines else b"") + line)
        self._n_lines += 1

    def copy_to(self, handle: IO[bytes]) -> None:
        """Write everything that was added."""
        self._file.seek(0)
        shutil.copyfileobj(self._file, handle)


@contextlib.contextmanager
def spooled() -> Iterator[Spool]:
    """Open a spool; what is left of it is gone afterwards."""
    import tempfile

    with tempfile.SpooledTemporaryFile(max_size=_MEMORY) as file:
        yield Spool(file)
