"""Keywords in an IPTC block, the binary form that photo agencies used before XMP and programs still write."""

from collections.abc import Iterator

from tagloom.core import Keyword
from tagloom.metadata.xmp_fields import SUBJECT

__all__ = ["is_utf8", "read_iptc"]

_MARKER = 0x1C
_CHARACTER_SET, _KEYWORD = (1, 90), (2, 25)
_TEXT_RECORD = 2
_BINARY = {(2, 0), (2, 200), (2, 201), (2, 202)}  # version and preview: no text
_UTF8 = b"\x1b%G"


def read_iptc(block: bytes) -> tuple[Keyword, ...]:
    r"""Return the keywords (dataset 2:25) of an IPTC block, sorted.

    The text is UTF-8 where dataset 1:90 says so or, without that, where all text is valid UTF-8; it is Latin-1
    otherwise. The field has no hierarchy.

    Parameters
    ----------
    block : bytes
        IIM datasets. Untrusted: nothing is raised, and what comes after a damaged dataset is not read.

    Examples
    --------
    >>> [keyword.text for keyword in read_iptc(b"\x1c\x02\x19\x00\x03cat\x1c\x02\x19\x00\x03dog")]
    ['cat', 'dog']
    """
    values = [value.rstrip(b"\0") for name, value in _datasets(block) if name == _KEYWORD]
    encoding = "utf-8" if is_utf8(block) else "latin-1"
    found = (SUBJECT.keyword(value.decode(encoding, errors="replace")) for value in values)
    return tuple(sorted({keyword for keyword in found if keyword is not None}))


def is_utf8(block: bytes) -> bool:
    """Tell whether the text of an IPTC block is UTF-8: dataset 1:90 says so, or all its text is valid UTF-8.

    Parameters
    ----------
    block : bytes
        IIM datasets.
    """
    texts = []
    for name, value in _datasets(block):
        if name == _CHARACTER_SET:
            return _UTF8 in value  # other marks are those of 8-bit sets
        if name[0] == _TEXT_RECORD and name not in _BINARY:
            texts.append(value)
    try:
        b" ".join(texts).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _datasets(block: bytes) -> Iterator[tuple[tuple[int, int], bytes]]:
    """Yield record, dataset number and value."""
    position = 0
    while position + 5 <= len(block) and block[position] == _MARKER:
        name = block[position + 1], block[position + 2]
        length = int.from_bytes(block[position + 3 : position + 5], "big")
        position += 5
        if length & 0x8000:  # then it is the number of bytes of the length itself
            n_bytes = length & 0x7FFF
            if n_bytes > 4:
                return
            length = int.from_bytes(block[position : position + n_bytes], "big")
            position += n_bytes
        if position + length > len(block):
            return
        yield name, block[position : position + length]
        position += length
