"""Names, texts and pictures of a report, so that a page can hold them."""

import base64
import html
import unicodedata

__all__ = ["display_text", "escaped", "image_source"]

_BIDI_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def display_text(text: str | bytes) -> str:
    r"""Return a name or text so that a page can show it: what is not text or would reorder it appears as an escape.

    Parameters
    ----------
    text : str or bytes
        Bytes are taken as UTF-8, with ``\xNN`` for a byte that is not.
    """
    raw = text if isinstance(text, bytes) else text.encode("utf-8", errors="surrogateescape")
    decoded = raw.decode("utf-8", errors="backslashreplace")
    return "".join(_escape_character(character) for character in decoded)


def escaped(text: str | bytes) -> str:
    """Return a name or text as HTML: what `display_text` shows, and no markup."""
    return html.escape(display_text(text), quote=True)


def image_source(data: bytes) -> str:
    """Return a data URL, or nothing where the bytes are not one of the three kinds of picture."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    elif data[:3] == b"\xff\xd8\xff":
        kind = "jpeg"
    elif data[:8] == b"\x89PNG\r\n\x1a\n":
        kind = "png"
    else:
        return ""
    return f"data:image/{kind};base64,{base64.b64encode(data).decode('ascii')}"


def _escape_character(character: str) -> str:
    is_hidden = unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _BIDI_CONTROLS
    return character.encode("unicode_escape").decode("ascii") if is_hidden else character
