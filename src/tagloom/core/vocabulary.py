"""Tag names and their columns."""

import unicodedata
from collections.abc import Iterable, Iterator

from tagloom.exceptions import InvalidInputError

__all__ = ["LONGEST_TAG", "TagVocabulary", "normalize_tag"]

LONGEST_TAG = 10_000


def normalize_tag(name: str) -> str:
    """Return the one spelling of a tag: Unicode NFC, outer blanks gone, inner runs of blanks one space.

    Parameters
    ----------
    name : str
        The tag as it came.

    Raises
    ------
    InvalidInputError
        If nothing is left, or the name has more than 10,000 characters or holds control characters.
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"a tag must be text, got {type(name).__name__} {name!r}")
    if len(name) > LONGEST_TAG:
        raise InvalidInputError(
            f"a tag must have at most {LONGEST_TAG:,} characters, got {len(name):,} that begin with {name[:20]!r}"
        )
    text = " ".join(unicodedata.normalize("NFC", name).split())
    if not text:
        raise InvalidInputError(f"a tag must not be blank, got {name!r}")
    if not text.isprintable() and any(unicodedata.category(character) in ("Cc", "Cs") for character in text):
        raise InvalidInputError(f"a tag must not hold control characters or broken Unicode, got {name!r}")
    return text


class TagVocabulary:
    """An ordered set of tags: names ↔ columns of a label matrix.

    Here names differ by case, but not by Unicode form or by blanks. Labels files and projects take two spellings of a
    name for one tag (see `tagloom.core.tag_names.fold_tag`).

    Parameters
    ----------
    names : iterable of str
        The tags in column order. Two names with the same normal form are an error that names both.

    Examples
    --------
    >>> tags = TagVocabulary(["sky", " sea  side "])
    >>> tags.names
    ('sky', 'sea side')
    >>> tags.column("sea side")
    1
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._columns: dict[str, int] = {}
        originals: list[str] = []
        for original in names:
            name = normalize_tag(original)
            if name in self._columns:
                first = originals[self._columns[name]]
                raise InvalidInputError(
                    f"tags must be distinct, but {first!r} (column {self._columns[name]}) and {original!r} "
                    f"(column {len(originals)}) are both {name!r}; merge the two columns first"
                )
            self._columns[name] = len(originals)
            originals.append(original)

    @classmethod
    def union(cls, tags: Iterable[str]) -> "TagVocabulary":
        """Make the sorted vocabulary of all distinct tags that occur."""
        return cls(sorted({normalize_tag(tag) for tag in tags}))

    @property
    def names(self) -> tuple[str, ...]:
        """The normalised tags in column order."""
        return tuple(self._columns)

    def column(self, name: str) -> int:
        """Return the column of a tag.

        Raises
        ------
        InvalidInputError
            If the tag is not in the vocabulary.
        """
        try:
            return self._columns[normalize_tag(name)]
        except KeyError:
            raise InvalidInputError(f"no tag {name!r} in this vocabulary of {len(self)} tags") from None

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str) or not name.strip():
            return False
        return normalize_tag(name) in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TagVocabulary) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:5]) + (", …" if len(self) > 5 else "")
        return f"TagVocabulary({len(self)} tags: {shown})"
