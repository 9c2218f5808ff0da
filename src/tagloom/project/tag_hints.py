"""Tags that may be a mistake, a typing error of another one or a list, with the command that mends it."""

import math
import shlex
from collections.abc import Sequence

from tagloom.core import Keyword, Statement, similar_pairs, split_tag
from tagloom.store import ProjectStore

__all__ = ["split_keyword", "split_statement", "tag_hints"]


def tag_hints(store: ProjectStore, texts: Sequence[str]) -> tuple[str, ...]:
    """Return a line for each of these tags that resembles another one or looks like a list.

    Parameters
    ----------
    store : ProjectStore
        The project.
    texts : sequence of str
        The tags to look at, such as those that an import made.
    """
    # The tag that more photos have is more likely the right one, and of two with as many the one that was there before.
    weights = {tag.text: (tag.n_yes, -tag.id) for tag in store.tags.in_use()}
    lines: dict[str, None] = {}
    for text, similar in similar_pairs(texts, weights).items():
        wrong, right = sorted((text, similar[0]), key=lambda name: weights.get(name, (0, -math.inf)))
        lines[
            f'"{wrong}" looks like "{right}". To merge them: tagloom tags merge {_quoted(wrong)} {_quoted(right)}'
        ] = None
    for text in texts:
        parts = split_tag(text)
        if parts:
            separator = next(character for character in text if character in ",;")
            lines[
                f'"{text}" looks like {len(parts)} tags. To split it: tagloom tags split {_quoted(text)} '
                f'--separator "{separator}"'
            ] = None
    return tuple(lines)


def split_statement(statement: Statement, separator: str) -> Statement:
    """Return a statement in which each keyword that lists several is replaced by each of them."""
    parts = (
        tuple(dict.fromkeys(part for keyword in keywords for part in split_keyword(keyword, separator)))
        for keywords in (statement.yes, statement.no, statement.unknown)
    )
    return Statement(statement.photo, *parts)


def split_keyword(keyword: Keyword, separator: str) -> list[Keyword]:
    """Return the keywords between separators; with ``|`` each level is a keyword of its own."""
    if separator == "|":
        return [Keyword.flat(level) for level in keyword.path]
    return [Keyword.parse(part) for part in keyword.text.split(separator) if part.strip()]


def _quoted(text: str) -> str:
    return shlex.quote(text)
