"""How alike two tag names are: the same but for spelling, probably a typing error, or several names in one."""

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["fold_tag", "similar_pairs", "similar_tags", "split_tag"]

_GAPS = str.maketrans("", "", " -_.'’")
_LIST_SEPARATORS = ",;"
# Shorter names differ by one letter too often to be typing errors: cat and car, boat and goat, house and mouse.
_MIN_SWAPPED = 3
_MIN_EXTRA = 5
_MIN_REPLACED = 7
_MAX_COMPARED = 64


def fold_tag(name: str) -> str:
    """Return what two spellings of one tag share: upper and lower case and Unicode forms make no difference.

    Parameters
    ----------
    name : str
        A tag, with or without levels.

    Examples
    --------
    >>> fold_tag("DOG") == fold_tag("Dog")
    True
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def similar_tags(name: str, known: Iterable[str]) -> list[str]:
    """Return the known tags that a person may have meant, the likeliest first.

    Similar are names that differ by blanks, hyphens or a final s, by two letters swapped, or by one letter if they are
    long enough. Names whose digits differ are never similar, nor are two spellings of one tag (see `fold_tag`).

    Parameters
    ----------
    name : str
        The name in question.
    known : iterable of str
        The tags there are.

    Examples
    --------
    >>> similar_tags("zebr", ["horse", "zebra"])
    ['zebra']
    >>> similar_tags("cat", ["car", "Cats"])
    ['Cats']
    """
    return similar_pairs([name], known).get(name, [])


def similar_pairs(names: Iterable[str], known: Iterable[str]) -> dict[str, list[str]]:
    """Return for each of several names the known tags that are similar to it, where there are any.

    Parameters
    ----------
    names, known : iterable of str
        As of `similar_tags`.
    """
    # Names within one letter of each other become equal when each loses at most one letter.
    index: dict[str, list[str]] = {}
    for other in known:
        for key in _keys(_compact(fold_tag(other))):
            index.setdefault(key, []).append(other)
    pairs: dict[str, list[str]] = {}
    for name in names:
        folded = fold_tag(name)
        mine = _compact(folded)
        candidates = {other for key in _keys(mine) for other in index.get(key, ()) if fold_tag(other) != folded}
        ranked = (
            (_distance(mine, _compact(fold_tag(other))), abs(len(other) - len(name)), other) for other in candidates
        )
        found = sorted(item for item in ranked if item[0] is not None)
        if found:
            pairs[name] = [other for _, _, other in found]
    return pairs


def split_tag(name: str) -> list[str]:
    """Return the tags that one text seems to list, such as ``"airplane, plane, sky"``, each once; empty for one tag.

    Parameters
    ----------
    name : str
        A tag.
    """
    parts: dict[str, str] = {}
    for part in re.split(f"[{_LIST_SEPARATORS}]", name):
        if part.strip():
            parts.setdefault(fold_tag(part.strip()), " ".join(part.split()))
    return list(parts.values()) if len(parts) > 1 else []


def _compact(folded: str) -> str:
    return folded.translate(_GAPS) or folded


def _keys(text: str) -> set[str]:
    if len(text) > _MAX_COMPARED:
        return {text}
    return {text, *(text[:i] + text[i + 1 :] for i in range(len(text)))}


def _distance(one: str, other: str) -> int | None:
    """Return 0 to 3 for names that are alike, 0 for the most alike, else None."""
    if one == other:
        return 0
    if abs(len(one) - len(other)) > 1 or _digits(one) != _digits(other):
        return None
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < len(longer):
        if longer == shorter + "s" and len(shorter) >= _MIN_SWAPPED:
            return 1
        is_extra = any(longer[:i] + longer[i + 1 :] == shorter for i in range(len(longer)))
        return 2 if is_extra and len(longer) >= _MIN_EXTRA else None
    differing = [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    if len(differing) == 2:
        first, second = differing
        is_swap = second == first + 1 and one[first] == other[second] and one[second] == other[first]
        return 1 if is_swap and len(one) >= _MIN_SWAPPED else None
    return 3 if len(differing) == 1 and len(one) >= _MIN_REPLACED else None


def _digits(text: str) -> list[str]:
    return [character for character in text if character.isdigit()]
