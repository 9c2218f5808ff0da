"""Reading a text table that came from any editor or spreadsheet."""

import codecs
import os
import stat
from pathlib import Path

from tagloom.exceptions import LabelsFileError

__all__ = ["MAX_BYTES", "read_head", "read_text", "shown_name"]

MAX_BYTES = 256 * 2**20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),  # before UTF-16, whose mark is its beginning
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_TABLE = "a table saved as CSV in UTF-8"
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_SAVE_AS = 'save it as "CSV UTF-8" (in a spreadsheet: Save as) and try again'


def shown_name(path: Path) -> str:
    """Return the file's base name in a form that any terminal can show."""
    name = path.name or path.resolve().name or str(path)  # the current folder has no name of its own
    return name.encode("utf-8", errors="backslashreplace").decode("utf-8")


def read_text(path: Path, *, limit: int = MAX_BYTES, expected: str = _TABLE, may_be_empty: bool = False) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 or UTF-32 with a byte-order mark.

    Parameters
    ----------
    path : Path
        The file.
    limit : int, default=256 MiB
        The most bytes that are read.
    expected : str
        What the file should be, in messages.
    may_be_empty : bool, default=False
        Whether a file without any text is fine.

    Raises
    ------
    LabelsFileError
        If it is missing, not a regular file, too large, empty, not text, or in another encoding.
    """
    data = _read_bytes(path, limit)
    where = shown_name(path)
    if not data.strip() and not may_be_empty:
        wanted = "a header such as file,tags and one row per photo" if expected is _TABLE else expected
        raise LabelsFileError(f"{where} is empty; expected {wanted}")
    if data.startswith(_WORKBOOKS):
        raise LabelsFileError(f"{where} is a spreadsheet workbook or an archive, not a text table; {_SAVE_AS}")
    codec, encoding = next(
        ((codec, encoding) for mark, codec, encoding in _MARKS if data.startswith(mark)), ("utf-8", "UTF-8")
    )
    if encoding == "UTF-8" and b"\0" in data:
        raise LabelsFileError(_describe_nul_bytes(where, data, expected))
    try:
        text = data.decode(codec)
    except UnicodeDecodeError as error:
        raise LabelsFileError(_describe_undecodable(where, data, encoding, error)) from error
    if "\0" in text:
        raise LabelsFileError(f"{where} holds binary data, not text; expected {expected}")
    return text


def read_head(path: Path, n_bytes: int = 1 << 16) -> str:
    """Return the beginning of a text, empty where there is none that could be read.

    Parameters
    ----------
    path : Path
        The file.
    n_bytes : int, default=64 KiB
        How much of it; a character that this cuts is left out.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, "rb") as handle:
            data = handle.read(n_bytes)
    except OSError:
        return ""
    codec = next((codec for mark, codec, _ in _MARKS if data.startswith(mark)), "utf-8")
    return data.decode(codec, errors="ignore")


def _read_bytes(path: Path, limit: int) -> bytes:
    where = shown_name(path)
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise LabelsFileError(f"{where} is a folder; expected a labels file (a CSV table)")
        # Opening a pipe or a device could wait forever.
        if not stat.S_ISREG(status.st_mode):
            raise LabelsFileError(f"{where} is not a regular file; write the table to a file and give that")
        if status.st_size > limit:
            raise LabelsFileError(
                f"{where} has {status.st_size / 2**20:.0f} MiB; at most {limit // 2**20} MiB are read. "
                f"Split it, or check that this is the file you meant"
            )
        return path.read_bytes()
    except FileNotFoundError as error:
        raise LabelsFileError(f"no labels file at {str(path)!r}; check the path") from error
    except OSError as error:
        raise LabelsFileError(
            f"cannot read {where} ({error.strerror or error}); check the path and its permissions"
        ) from error


def _describe_nul_bytes(where: str, data: bytes, expected: str) -> str:
    sample = data[:400]
    # ASCII text in UTF-16 has a zero in every second byte.
    if max(sample[0::2].count(0), sample[1::2].count(0)) > 0.4 * (len(sample) // 2):
        return f"{where} seems to be UTF-16 without a byte-order mark; {_SAVE_AS}"
    return f"{where} holds binary data, not text; expected {expected}"


def _describe_undecodable(where: str, data: bytes, encoding: str, error: UnicodeDecodeError) -> str:
    if encoding != "UTF-8":
        return f"{where} begins like {encoding} text but is not ({error.reason}); {_SAVE_AS}"
    line = len(data[: error.start + 1].splitlines())
    byte = data[error.start]
    return (
        f"{where}, line {line}: expected UTF-8 text, got the byte 0x{byte:02x} "
        f"({bytes([byte]).decode('cp1252', errors='replace')!r} if the file is Windows-1252); {_SAVE_AS}"
    )
