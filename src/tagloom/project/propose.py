"""Tags that a program proposes for photos: suggestions beside those of the model, and never decisions.

They show on the review page until a person decides, and go nowhere else: not into training, not into files.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.catalog import Result, find_photo_ids
from tagloom.exceptions import InvalidInputError
from tagloom.store import ProjectStore

if TYPE_CHECKING:
    from tagloom.catalog import PhotoName

__all__ = ["MOST_PROPOSED", "ProposeResult", "proposals", "propose"]

#: Pairs of photo and tag that wait for a person, of all programs together.
MOST_PROPOSED = 10_000
LONGEST_TAG = 200
_PROPOSED = "proposals"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeResult(Result):
    """What was proposed.

    Parameters
    ----------
    n_new, n_known, n_decided : int
        Pairs of photo and tag that wait for a person now, that did so before, and that a person had decided already.
    """

    n_new: int
    n_known: int
    n_decided: int


def proposals(store: ProjectStore) -> list[tuple[int, int]]:
    """Return pairs of photo and tag that were proposed and are undecided; of stored ones those that make sense.

    Parameters
    ----------
    store : ProjectStore
        The project.
    """
    stored = store.settings.get(_PROPOSED, [])
    pairs = [tuple(item) for item in stored if isinstance(item, list)] if isinstance(stored, list) else []
    found = [pair for pair in pairs if len(pair) == 2 and all(type(item) is int and item > 0 for item in pair)]
    if not found:
        return []
    rows = store.database.read(
        "SELECT p.value ->> 0, p.value ->> 1 FROM json_each(?) p WHERE NOT EXISTS (SELECT 1 FROM standing s "
        "WHERE s.photo = p.value ->> 0 AND s.tag = p.value ->> 1 AND s.state <> -1) "
        "AND EXISTS (SELECT 1 FROM photos WHERE id = p.value ->> 0) "
        "AND EXISTS (SELECT 1 FROM tags WHERE id = p.value ->> 1 AND merged IS NULL)",
        (json.dumps(found[:MOST_PROPOSED]),),
    )
    return [(photo, tag) for photo, tag in rows]


def propose(
    store: ProjectStore,
    photos: "PhotoName | Sequence[PhotoName]",
    tags: str | Sequence[str],
    *,
    take_back: bool = False,
) -> ProposeResult:
    """Propose tags for photos; a person decides.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photos : one or several of int, str, bytes or path
        See `tagloom.catalog.lookup.find_photo_ids`.
    tags : str or sequence of str
        Tags, made where there are none.
    take_back : bool, default=False
        Whether to take proposals back instead.

    Raises
    ------
    InvalidInputError
        If a photo is not known, a tag is no tag, or too many proposals wait for a person.
    """
    texts = list(dict.fromkeys([tags] if isinstance(tags, str) else tags))
    if not texts:
        raise InvalidInputError("expected at least one tag, got none")
    if any(len(text) > LONGEST_TAG for text in texts):
        raise InvalidInputError(f"a tag has at most {LONGEST_TAG} characters")
    with store.transaction():
        ids = find_photo_ids(store, photos)
        numbers = [tag for tag in store.tags.numbers(texts, make=not take_back) if tag]
        waiting = proposals(store)
        asked = [(photo, tag) for photo in ids for tag in dict.fromkeys(numbers)]
        if take_back:
            gone = set(asked)
            kept = [pair for pair in waiting if pair not in gone]
            store.settings.set(_PROPOSED, [list(pair) for pair in kept])
            return ProposeResult(n_new=0, n_known=len(waiting) - len(kept), n_decided=0)
        known = set(waiting)
        said = store.decisions.current(tag_ids=numbers, photo_ids=ids)
        decided = set(zip(said.photo_ids.tolist(), said.tag_ids.tolist(), strict=True))
        new = [pair for pair in asked if pair not in known and pair not in decided]
        if len(waiting) + len(new) > MOST_PROPOSED:
            raise InvalidInputError(
                f"{len(waiting)} proposals wait for a person, and at most {MOST_PROPOSED} may; review them first"
            )
        if new:
            store.settings.set(_PROPOSED, [list(pair) for pair in [*waiting, *new]])
    n_decided = sum(pair in decided for pair in asked)
    return ProposeResult(n_new=len(new), n_known=len(asked) - len(new) - n_decided, n_decided=n_decided)
