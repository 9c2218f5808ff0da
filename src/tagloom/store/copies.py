"""The tags of a photo that is gone go to a copy of it that is there, those of one file of a pair to the other.

A photo is known by its content. Where a labelled photo goes missing and a copy of which nothing was ever said stays,
that copy takes over what stands, as one batch of decisions: it is in the history, an undo takes it back, and the photo
that is gone keeps its own, should it come back. The same holds for a RAW+JPEG pair: a JPEG that appears beside a
labelled RAW file takes over its tags, and a RAW file whose labelled JPEG goes takes over those.
"""

import os
from collections import defaultdict
from collections.abc import Collection
from typing import Any

import apsw

from tagloom.core.file_kinds import is_pair_photo, is_raw, pair_key
from tagloom.store.database import fetch
from tagloom.store.log import Records, append
from tagloom.store.session import json_ids

__all__ = ["hand_over"]

# Photos that are gone and have decisions in force, beside copies in a root. A content of which something was ever said
# on a present photo is left out: what a person said, or took back, there stands, and nothing is handed over twice.
_PAIRS = """
    SELECT g.id, g.path, p.id, p.path, g.content_hash FROM photos g
    JOIN photos p ON p.content_hash = g.content_hash AND p.present = 1 AND p.root = ?
    WHERE g.present = 0 AND p.verdict <> 'raw_of_photo' AND g.content_hash <> x''
    AND EXISTS (SELECT 1 FROM standing WHERE photo = g.id)
    AND NOT EXISTS (
        SELECT 1 FROM photos q JOIN decisions d ON d.photo = q.id
        WHERE q.content_hash = g.content_hash AND q.present = 1
    )
    ORDER BY g.id, p.id
"""


def hand_over(connection: apsw.Connection, root: int, lost: Collection[int]) -> tuple[dict[int, int], int | None]:
    """Let copies in a root take over what was said of photos that are gone, inside a transaction.

    Each photo that is gone gives to one copy, and each copy takes from one: a copy of the same name goes first, then
    the one known longest. Where photos have just gone, those that went before them give nothing: what was said of them
    may have come down to the former.

    Parameters
    ----------
    connection : apsw.Connection
        In a transaction, the photos reconciled.
    root : int
        Where the copies are.
    lost : collection of int
        Photos that have just gone.

    Returns
    -------
    givers : dict of int to int
        For each copy, or other file of a pair, the photo that it took over from.
    batch : int or None
        What was recorded.
    """
    rows = fetch(connection, _PAIRS, (root,))
    givers: dict[int, int] = {}
    for several in _by_content(rows).values():
        givers |= _paired([row for row in several if row[0] in lost] or several)
    n_copies = len(givers)
    givers |= {taker: giver for taker, giver in _of_pairs(connection, root, lost).items() if taker not in givers}
    if not givers:
        return {}, None
    said = fetch(
        connection,
        "SELECT photo, tag, state, origin FROM standing WHERE photo IN (SELECT value FROM json_each(?)) "
        "ORDER BY photo, tag",
        (json_ids(sorted(set(givers.values()))),),
    )
    tags: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for photo, *rest in said:
        tags[photo].append((rest[0], rest[1], rest[2]))
    records = sorted((taker, *one) for taker, giver in givers.items() for one in tags[giver])
    label = "a copy takes over the tags of a photo that is gone"
    if len(givers) > 1:
        label = f"{len(givers)} copies take over the tags of photos that are gone"
    if not n_copies:
        label = "the other file of a RAW+JPEG pair takes over its tags"
    return dict(sorted(givers.items())), append(connection, "decide", Records(*zip(*records, strict=True)), label=label)


def _of_pairs(connection: apsw.Connection, root: int, lost: Collection[int]) -> dict[int, int]:
    """Return for photos without any decision the labelled other file of their RAW+JPEG pair."""
    labelled = fetch(
        connection,
        "SELECT id, path, verdict FROM photos p WHERE root = ? AND (present = 0 OR verdict = 'raw_of_photo') "
        "AND EXISTS (SELECT 1 FROM standing WHERE photo = p.id) ORDER BY present, id",
        (root,),
    )
    # The RAW file that became a part of its photo gives to a JPEG, the JPEG that is gone gives to a RAW file.
    raws = {pair_key(path): number for number, path, verdict in labelled if verdict == "raw_of_photo"}
    gone = {pair_key(path): number for number, path, _ in labelled if number in lost and is_pair_photo(path)}
    if not raws and not gone:
        return {}
    unlabelled = fetch(
        connection,
        "SELECT id, path FROM photos p WHERE root = ? AND present = 1 AND verdict = 'ok' "
        "AND NOT EXISTS (SELECT 1 FROM decisions WHERE photo = p.id) ORDER BY id",
        (root,),
    )
    givers: dict[int, int] = {}
    for number, path in unlabelled:
        giver = raws.get(pair_key(path)) if is_pair_photo(path) else gone.get(pair_key(path)) if is_raw(path) else None
        if giver is not None:
            givers[number] = giver
    return givers


def _by_content(rows: list[tuple[Any, ...]]) -> dict[bytes, list[tuple[Any, ...]]]:
    found: dict[bytes, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        found[row[4]].append(row)
    return found


def _paired(rows: list[tuple[Any, ...]]) -> dict[int, int]:
    """Return one copy for each photo of one content, as far as there are copies; namesakes find each other first."""
    givers: dict[int, int] = {}
    given: set[int] = set()
    for by_name in (True, False):
        for gone, path, copy, place, _ in rows:
            if gone in given or copy in givers or (by_name and os.path.basename(path) != os.path.basename(place)):
                continue
            givers[copy] = gone
            given.add(gone)
    return givers
