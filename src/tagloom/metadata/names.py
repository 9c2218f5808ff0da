"""Photo names as text in tables, and which photo a name in a table means.

A photo's name is bytes. Nearly always these are UTF-8, and a table holds exactly that text. A name that is
not UTF-8 is written as ``bytes://`` followed by the name with each undecodable byte as ``%XX`` and each
``%`` as ``%25``. The mark holds an empty path component, which no path below a photo folder has, so that it
can never be a real name.
"""

import posixpath
import unicodedata
from collections.abc import Callable, Sequence
from urllib.parse import unquote_to_bytes

from tagloom.exceptions import InvalidInputError

__all__ = ["BYTES_MARK", "PhotoMatcher", "name_from_text", "name_to_line", "name_to_text"]

BYTES_MARK = "bytes://"
_FIRST_ESCAPE, _LAST_ESCAPE = "\udc80", "\udcff"


def name_to_text(name: bytes) -> str:
    r"""Return a photo's name as text that UTF-8 can hold, without loss.

    Parameters
    ----------
    name : bytes
        The name as the system has it.

    Examples
    --------
    >>> name_to_text("café.jpg".encode())
    'café.jpg'
    >>> name_to_text(b"caf\xe9 100%.jpg")
    'bytes://caf%E9 100%25.jpg'
    """
    text = name.decode("utf-8", errors="surrogateescape")
    if not text.startswith(BYTES_MARK) and (text.isascii() or not any(_is_escape(one) for one in text)):
        return text
    return BYTES_MARK + "".join(_percent(character) for character in text)


def name_to_line(name: bytes, encoding: str = "utf-8") -> str:
    r"""Return a photo's name as text on one line that any terminal takes, without loss; `name_from_text` takes it.

    Parameters
    ----------
    name : bytes
        The name as the system has it.
    encoding : str, default="utf-8"
        What the line can be written in.

    Examples
    --------
    >>> name_to_line(b"new\nline.jpg")
    'bytes://new%0Aline.jpg'
    """
    text = name_to_text(name)
    # A name that would be shown with escapes could be that of another photo, with a backslash in it.
    if not text.startswith(BYTES_MARK) and _is_plain(text, encoding):
        return text
    decoded = name.decode("utf-8", errors="surrogateescape")
    return BYTES_MARK + "".join(
        _percent(character)
        if _is_escape(character) or _is_plain(character, encoding)
        else "".join(f"%{byte:02X}" for byte in character.encode())
        for character in decoded
    )


def _is_plain(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return text.isprintable()


def name_from_text(text: str) -> bytes:
    """Return the name that `name_to_text` made this text from.

    Parameters
    ----------
    text : str
        A name in a table.
    """
    if text.startswith(BYTES_MARK):
        return unquote_to_bytes(text.removeprefix(BYTES_MARK))
    return text.encode("utf-8", errors="surrogateescape")


def _is_escape(character: str) -> bool:
    return _FIRST_ESCAPE <= character <= _LAST_ESCAPE


def _percent(character: str) -> str:
    if _is_escape(character):
        return f"%{ord(character) - 0xDC00:02X}"
    return "%25" if character == "%" else character


def _path(text: str) -> str:
    return posixpath.normpath(text.strip().replace("\\", "/"))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", _path(text))


def _base(text: str) -> str:
    return posixpath.basename(_composed(text))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", _composed(text).casefold())


def _folded_base(text: str) -> str:
    return posixpath.basename(_folded(text))


class PhotoMatcher:
    """Finds the photo that a name in a table means.

    The rules are tried in this order, and the first that finds anything decides: the very same name; the
    path with forward slashes, without ``./`` and outer blanks; the path in Unicode NFC; for a name without
    a folder the base name; and the last two again without regard to case.

    Parameters
    ----------
    photos : sequence of bytes
        Distinct paths relative to the photo folder.
    """

    def __init__(self, photos: Sequence[bytes]) -> None:
        for name in photos:
            if not isinstance(name, bytes):
                raise InvalidInputError(
                    f"photo names must be bytes, got {type(name).__name__} {name!r}; use os.fsencode"
                )
        self._photos = tuple(photos)
        self._exact = {name: row for row, name in enumerate(self._photos)}
        if len(self._exact) != len(self._photos):
            twice = next(name for row, name in enumerate(self._photos) if self._exact[name] != row)
            raise InvalidInputError(f"photo names must be distinct, but {twice!r} comes more than once")
        self._indexes: dict[Callable[[str], str], dict[str, list[int]]] = {}

    def find(self, text: str) -> list[int]:
        """Return the rows of the photos this name may mean: none, one, or several that it cannot tell apart.

        Parameters
        ----------
        text : str
            A name as a table has it.
        """
        name = name_from_text(text)
        if name in self._exact:
            return [self._exact[name]]
        text = name.decode("utf-8", errors="surrogateescape")
        if not text.strip():
            return []
        has_folder = "/" in _path(text)
        for rule in (_path, _composed, _base, _folded, _folded_base):
            if has_folder and rule in (_base, _folded_base):
                continue
            found = self._index(rule).get(rule(text))
            if found:
                return found
        return []

    def _index(self, rule: Callable[[str], str]) -> dict[str, list[int]]:
        # Most tables hold exact names; the other indexes are made only when a name needs them.
        if rule not in self._indexes:
            index: dict[str, list[int]] = {}
            for row, name in enumerate(self._photos):
                index.setdefault(rule(name.decode("utf-8", errors="surrogateescape")), []).append(row)
            self._indexes[rule] = index
        return self._indexes[rule]
