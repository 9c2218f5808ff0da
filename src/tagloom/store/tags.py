"""The tags of a project: names, aliases, merges, and which tag implies which."""

import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import apsw

from tagloom.core import Keyword, fold_tag
from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.store.database import fetch
from tagloom.store.log import IMPORTED, Records, append
from tagloom.store.session import Database, id_array

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.core import Ids

__all__ = ["CLOSURE", "Tag", "Tags", "apply_change", "changes_of", "live_tags"]


# Changes of tags that can be undone: a new name, a merge, an alias, an implication.


@dataclass(frozen=True, slots=True)
class TagChange:
    """One change; ``before`` is None where something is added, ``after`` is None where something is removed."""

    kind: str
    tag: int
    other: int | None = None
    before: str | None = None
    after: str | None = None


def record_changes(connection: apsw.Connection, batch: int, changes: Iterable[TagChange]) -> None:
    """Make changes inside a transaction and note them under a batch."""
    for change in changes:
        apply_change(connection, change, forward=True)
        connection.execute(
            "INSERT INTO tag_changes(batch, kind, tag, other, before, after) VALUES (?, ?, ?, ?, ?, ?)",
            (batch, change.kind, change.tag, change.other, change.before, change.after),
        )


def changes_of(connection: apsw.Connection, batch: int) -> list[TagChange]:
    """Return the changes of a batch in the order in which they were made."""
    sql = "SELECT kind, tag, other, before, after FROM tag_changes WHERE batch = ? ORDER BY id"
    return [TagChange(*row) for row in fetch(connection, sql, (batch,))]


def apply_change(connection: apsw.Connection, change: TagChange, *, forward: bool) -> None:
    """Make a change, or its opposite, if the tags are still as it expects.

    Raises
    ------
    InvalidInputError
        If another change came in between.
    """
    before, after = (change.before, change.after) if forward else (change.after, change.before)
    try:
        if change.kind == "text":
            is_done = _apply_text(connection, change.tag, before, after)
        elif change.kind == "merged":
            is_done = _apply_merged(connection, change.tag, change.other, adds=before is None)
        elif change.kind == "alias":
            is_done = _apply_alias(connection, change.tag, before, after)
        else:
            is_done = _apply_implies(connection, change.tag, change.other, adds=before is None)
    except apsw.ConstraintError:
        is_done = False
    if not is_done:
        name = fetch(connection, "SELECT text FROM tags WHERE id = ?", (change.tag,))[0][0]
        raise InvalidInputError(
            f"the tag {name!r} has been changed since ({change.kind}: expected {before!r}); undo the later changes of "
            f"tags first"
        )


def _apply_text(connection: apsw.Connection, tag: int, before: str | None, after: str | None) -> bool:
    if fetch(connection, "SELECT 1 FROM aliases WHERE text = ?", (after,)):
        return False
    connection.execute("UPDATE tags SET text = ? WHERE id = ? AND text = ?", (after, tag, before))
    return connection.changes() == 1


def _apply_merged(connection: apsw.Connection, tag: int, other: int | None, *, adds: bool) -> bool:
    new, old = (other, None) if adds else (None, other)
    into_merged = fetch(connection, "SELECT 1 FROM tags WHERE id = ? AND merged IS NOT NULL", (new,))
    connection.execute("UPDATE tags SET merged = ? WHERE id = ? AND merged IS ?", (new, tag, old))
    return connection.changes() == 1 and not into_merged


def _apply_alias(connection: apsw.Connection, tag: int, before: str | None, after: str | None) -> bool:
    if after is None:
        connection.execute("DELETE FROM aliases WHERE text = ? AND tag = ?", (before, tag))
        return connection.changes() == 1
    if fetch(connection, "SELECT 1 FROM tags WHERE text = ?", (after,)):
        return False
    connection.execute("INSERT INTO aliases(text, tag) VALUES (?, ?)", (after, tag))
    return True


def _apply_implies(connection: apsw.Connection, tag: int, other: int | None, *, adds: bool) -> bool:
    pair = (tag, other)
    if not adds:
        connection.execute("DELETE FROM implications WHERE child = ? AND parent = ?", pair)
        return connection.changes() == 1
    is_merged = fetch(connection, "SELECT 1 FROM tags WHERE id IN (?, ?) AND merged IS NOT NULL", pair)
    if is_merged or other is None or reaches(connection, other, tag):
        return False
    connection.execute("INSERT INTO implications(child, parent) VALUES (?, ?)", pair)
    return True


def reaches(connection: apsw.Connection, child: int, ancestor: int) -> bool:
    """Tell whether one tag is, or implies, another, also over several steps."""
    sql = (
        "WITH RECURSIVE above(tag) AS (SELECT ?1 UNION SELECT parent FROM implications JOIN above ON child = tag) "
        "SELECT 1 FROM above WHERE tag = ?2"
    )
    return bool(fetch(connection, sql, (child, ancestor)))


CLOSURE = (
    "WITH RECURSIVE above(child, parent) AS (SELECT child, parent FROM implications "
    "UNION SELECT above.child, i.parent FROM above JOIN implications i ON i.child = above.parent) "
    "SELECT child, parent FROM above ORDER BY child, parent"
)

# Of each tag how many photos have it and have it not: said outright, and by the implications where nothing was said. A
# yes that follows beats a no that follows; the rule of `tagloom.store.decisions`.
_COUNTS = f"""
    WITH above AS MATERIALIZED ({CLOSURE}),
    yes AS MATERIALIZED (
        SELECT DISTINCT photo, parent AS tag FROM standing s JOIN above ON child = s.tag WHERE state = 1
        AND NOT EXISTS (SELECT 1 FROM standing t WHERE t.photo = s.photo AND t.tag = parent)
    ),
    no AS (
        SELECT DISTINCT photo, child AS tag FROM standing s JOIN above ON parent = s.tag WHERE state = 0
        AND NOT EXISTS (SELECT 1 FROM standing t WHERE t.photo = s.photo AND t.tag = child)
        AND (photo, child) NOT IN (SELECT photo, tag FROM yes)
    )
    SELECT tag, state, count(*) FROM standing GROUP BY tag, state
    UNION ALL SELECT tag, 1, count(*) FROM yes GROUP BY tag
    UNION ALL SELECT tag, 0, count(*) FROM no GROUP BY tag
"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Tag:
    """A tag: id, text (see `tagloom.core.keywords.Keyword`), other names, photos that have it and that have it not.

    Photos are counted by what was said and what follows from it by implications, as they are learnt from and exported.
    """

    id: int
    text: str
    aliases: tuple[str, ...]
    n_yes: int
    n_no: int


# Only a tag without other names, and one that an action was about: the actions of an import come after its tags.
_RESPELL = """
    UPDATE tags SET text = ?2 WHERE id = ?1 AND text != ?2 AND merged IS NULL
    AND NOT EXISTS (SELECT 1 FROM standing WHERE tag = ?1 AND state >= 0)
    AND NOT EXISTS (SELECT 1 FROM aliases WHERE tag = ?1)
    AND NOT EXISTS (SELECT 1 FROM implications WHERE ?1 IN (child, parent))
    AND NOT EXISTS (SELECT 1 FROM tags WHERE merged = ?1)
    AND EXISTS (SELECT 1 FROM decisions WHERE tag = ?1)
"""


class Tags:
    """The tags of a project. Every change is a batch that `Decisions.undo` takes back.

    Names differ neither by case nor by Unicode form: ``DOG`` finds the tag ``Dog``, whose spelling came first. A
    spelling of which every decision was taken back gives way to the next one.

    Parameters
    ----------
    database : Database
        The project's database.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, texts: Sequence[str]) -> "Ids":
        """Return the ids of tags by any of their names, making those that are not there yet."""
        return id_array(self.numbers(texts, make=True))

    def find(self, texts: Sequence[str]) -> "Ids":
        """Return the ids of tags by any of their names; 0 where there is none."""
        return id_array(self.numbers(texts))

    def numbers(self, texts: Sequence[str], *, make: bool = False) -> list[int]:
        """Return the ids of tags by any of their names as a list, where there is none a new one's or 0."""
        names = [_canonical(text) for text in texts]
        with self._database.write() if make else self._database.reading() as connection:
            lookup = _Lookup(connection)
            return [(lookup.find_or_make(name) if make else lookup.find(name)) or 0 for name in names]

    def all(self) -> list[Tag]:
        """Return all tags with their counts, by text; those merged into others are among the others' aliases."""
        rows = self._database.read("SELECT id, text, merged FROM tags ORDER BY text")
        aliases = self.aliases()
        counts: Counter[tuple[int, int]] = Counter()
        for tag, state, n in self._database.read(_COUNTS):
            counts[tag, state] += n
        return [
            Tag(tag, text, aliases.get(tag, ()), counts[tag, 1], counts[tag, 0])
            for tag, text, merged in rows
            if merged is None
        ]

    def in_use(self) -> list[Tag]:
        """Return the tags of which anything stands: a decision, another name, an implication.

        Others were made by an action that was taken back since. They are kept, as the history names them.
        """
        implied = {tag for pair in self._database.read("SELECT child, parent FROM implications") for tag in pair}
        return [tag for tag in self.all() if tag.n_yes or tag.n_no or tag.aliases or tag.id in implied]

    def texts(self, ids: "Sequence[int] | NDArray[np.integer]") -> list[str]:
        """Return the texts of tags by id."""
        names = dict(self._database.read("SELECT id, text FROM tags"))
        try:
            return [names[int(tag)] for tag in ids]
        except KeyError as error:
            raise InvalidInputError(f"no tag has the id {error.args[0]}") from None

    def aliases(self) -> dict[int, tuple[str, ...]]:
        """Return the other names of tags that have some, those of tags merged into them among these."""
        with self._database.reading() as connection:
            final = live_tags(connection)
        found: dict[int, list[str]] = {}
        for tag, text in self._database.read("SELECT tag, text FROM aliases"):
            found.setdefault(final.get(tag, tag), []).append(text)
        for tag, text in self._database.read("SELECT id, text FROM tags WHERE merged IS NOT NULL ORDER BY text"):
            found.setdefault(final[tag], []).append(text)
        return {tag: tuple(sorted(texts)) for tag, texts in found.items()}

    def rename(self, tag: int, text: str, *, who: str = "") -> int:
        """Give a tag another text; the old one stays as an alias. Returns the batch.

        A tag of that name of which nothing stands (see `in_use`) is taken: the two are merged.
        """
        new = _canonical(text)
        (other,) = self.numbers([new])
        if other not in (0, tag) and all(used.id != other for used in self.in_use()):
            return self.merge(tag, other, who=who)
        with self._database.write() as connection:
            old = _live(connection, tag)
            found = _Lookup(connection).find(new)
            is_alias = bool(fetch(connection, "SELECT 1 FROM aliases WHERE text = ?", (new,)))
            if old == new:
                raise InvalidInputError(f"{new!r} is the name of this tag already; there is nothing to rename")
            if found not in (None, tag) or _is_text_of_merged(connection, new):
                raise InvalidInputError(
                    f"{new!r} is another tag already; merge the two instead, or undo the merge first"
                )
            changes = [TagChange("alias", tag, before=new)] if is_alias else []
            changes += [TagChange("text", tag, before=old, after=new), TagChange("alias", tag, after=old)]
            return _change(connection, changes, f"rename {old} to {new}", who)

    def merge(self, tag: int, into: int, *, who: str = "") -> int:
        """Make one tag another one: what was said of it is said of the other, and its name leads there.

        A yes to either is a yes: a no to one tag is no no to another one, had by itself or by an implication. Only a
        person's no to the tag that stays is kept against an import, which never overturns what a person said. A no
        stays where nothing else is known. Returns the batch.
        """
        with self._database.write() as connection:
            old, new = _live(connection, tag), _live(connection, into)
            if tag == into:
                raise InvalidInputError(f"cannot merge the tag {old!r} into itself; name two tags")
            changes = _rewired(connection, tag, into)
            label = f"merge {old} into {new}"
            batch = append(connection, "tags", _merged_records(connection, tag, into), label=label, who=who)
            try:
                record_changes(connection, batch, [*changes, TagChange("merged", tag, other=into, after="yes")])
            except InvalidInputError:
                raise InvalidInputError(
                    f"{old!r} and {new!r} cannot become one tag: by the implications a third one lies between them; "
                    f"forget one of those first"
                ) from None
            return batch

    def split(self, tag: int, texts: Sequence[str], *, who: str = "") -> int:
        """Replace a tag that lists several by each of them. Returns the batch.

        Photos with the tag have all of the others. An import's *no* to it is a *no* to the others, since absence from a
        labels file means the same for each; a person's *no* to the whole list says nothing about each. What a person
        decided about the others stays.
        """
        with self._database.write() as connection:
            old = _live(connection, tag)
            lookup = _Lookup(connection)
            names = list(dict.fromkeys(_canonical(text) for text in texts))
            parts = list(dict.fromkeys(lookup.find(name) or lookup.make(name) for name in names))
            if not parts or tag in parts:
                raise InvalidInputError(f"cannot split the tag {old!r} into {', '.join(map(repr, names)) or 'nothing'}")
            label = f"split {old} into {', '.join(names)}"
            return append(connection, "tags", _split_records(connection, tag, parts), label=label, who=who)

    def alias(self, text: str, tag: int, *, who: str = "") -> int | None:
        """Make a text another name of a tag. Returns the batch, or None if it is one already."""
        name = _canonical(text)
        with self._database.write() as connection:
            target = _live(connection, tag)
            found = _Lookup(connection).find(name)
            if found == tag:
                return None
            if found is not None:
                raise InvalidInputError(f"{name!r} is the name of another tag already; merge the two tags instead")
            return _change(connection, [TagChange("alias", tag, after=name)], f"alias {name} of {target}", who)

    def imply(self, child: int, parent: int, *, who: str = "") -> int | None:
        """Say that a photo with one tag has another too. Returns the batch, or None if that was said already."""
        with self._database.write() as connection:
            below, above = _live(connection, child), _live(connection, parent)
            if reaches(connection, parent, child):
                raise InvalidInputError(
                    f"{below!r} cannot imply {above!r}: {above!r} implies {below!r} already, or they are one tag"
                )
            if fetch(connection, "SELECT 1 FROM implications WHERE child = ? AND parent = ?", (child, parent)):
                return None
            change = TagChange("implies", child, other=parent, after="yes")
            return _change(connection, [change], f"{below} implies {above}", who)

    def forget_implication(self, child: int, parent: int, *, who: str = "") -> int:
        """Take back that one tag implies another. Returns the batch."""
        with self._database.write() as connection:
            below, above = _live(connection, child), _live(connection, parent)
            if [child, parent] not in self.implications().tolist():
                raise InvalidInputError(f"no implication says that {below!r} implies {above!r}")
            change = TagChange("implies", child, other=parent, before="yes")
            return _change(connection, [change], f"{below} no longer implies {above}", who)

    def merged(self) -> dict[int, tuple[str, int]]:
        """Return the tags that have become others: the text of each, and the tag that it is in the end."""
        with self._database.reading() as connection:
            texts = dict(fetch(connection, "SELECT id, text FROM tags WHERE merged IS NOT NULL"))
            return {tag: (texts[tag], into) for tag, into in live_tags(connection).items()}

    def renamed(self) -> dict[str, list[str]]:
        """Return the texts of tags that were renamed, or that others were merged into, each with the old texts."""
        sql = (
            "SELECT a.tag, a.text FROM aliases a WHERE EXISTS (SELECT 1 FROM tag_changes c "
            "WHERE c.kind = 'text' AND c.tag = a.tag AND c.before = a.text) "
            "UNION SELECT id, text FROM tags WHERE merged IS NOT NULL"
        )
        found: dict[str, list[str]] = {}
        with self._database.reading() as connection:
            final, texts = live_tags(connection), dict(fetch(connection, "SELECT id, text FROM tags"))
            for tag, old in fetch(connection, sql):
                found.setdefault(texts[final.get(tag, tag)], []).append(old)
        return found

    def implications(self) -> "Ids":
        """Return pairs (child, parent) as they were said, shape (k, 2)."""
        return self._database.table("SELECT child, parent FROM implications ORDER BY child, parent", n_columns=2)

    def closure(self) -> "Ids":
        """Return all pairs (tag, ancestor) that follow from the implications, shape (k, 2)."""
        return self._database.table(CLOSURE, n_columns=2)


def live_tags(connection: apsw.Connection) -> dict[int, int]:
    """Return for each merged tag the tag that it has become in the end."""
    merged = dict(fetch(connection, "SELECT id, merged FROM tags WHERE merged IS NOT NULL"))
    final = {}
    for tag, into in merged.items():
        steps = 0
        while into in merged:
            into, steps = merged[into], steps + 1
            if steps > len(merged):
                raise DamagedStoreError(
                    "the database holds tags that were merged in a circle; put back a backup with: tagloom restore"
                )
        final[tag] = into
    return final


def _canonical(text: str) -> str:
    return Keyword.parse(text).text


class _Lookup:
    """Finds tags by any of their names: exactly as spelled first, then by `fold_tag`."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._folded: dict[str, int] | None = None

    def find(self, text: str) -> int | None:
        """Return the id of the tag that a name means, None if there is none."""
        sql = "SELECT id FROM tags WHERE text = ?1 UNION ALL SELECT tag FROM aliases WHERE text = ?1"
        rows = fetch(self._connection, sql, (text,))
        if rows:
            return live_tags(self._connection).get(rows[0][0], rows[0][0])
        if self._folded is None:
            self._folded = self._fold_all()
        return self._folded.get(fold_tag(text))

    def find_or_make(self, text: str) -> int:
        """Return the id of the tag that a name means, making it if there is none."""
        tag = self.find(text)
        if tag is None:
            return self.make(text)
        self._connection.execute(_RESPELL, (tag, text))
        return tag

    def make(self, text: str) -> int:
        """Make a tag and return its id."""
        self._connection.execute("INSERT INTO tags(text, created) VALUES (?, ?)", (text, time.time()))
        tag = self._connection.last_insert_rowid()
        if self._folded is not None:
            self._folded[fold_tag(text)] = tag
        return tag

    def _fold_all(self) -> dict[str, int]:
        final = live_tags(self._connection)
        # Tags go before the names of merged ones, these before aliases; of two spellings the first made wins.
        sql = (
            "SELECT id, text FROM (SELECT id, text, merged IS NOT NULL AS later FROM tags "
            "UNION ALL SELECT tag, text, 2 FROM aliases) ORDER BY later, id"
        )
        folded: dict[str, int] = {}
        for tag, text in fetch(self._connection, sql):
            folded.setdefault(fold_tag(text), final.get(tag, tag))
        return folded


def _is_text_of_merged(connection: apsw.Connection, text: str) -> bool:
    return bool(fetch(connection, "SELECT 1 FROM tags WHERE text = ? AND merged IS NOT NULL", (text,)))


def _live(connection: apsw.Connection, tag: int) -> str:
    """Return the text of a tag that is not merged into another."""
    rows = fetch(connection, "SELECT text, merged FROM tags WHERE id = ?", (int(tag),))
    if not rows:
        raise InvalidInputError(f"no tag has the id {tag}")
    if rows[0][1] is not None:
        raise InvalidInputError(
            f"the tag {rows[0][0]!r} was merged into another one; use that, or undo the merge first"
        )
    return str(rows[0][0])


def _change(connection: apsw.Connection, changes: Sequence[TagChange], label: str, who: str) -> int:
    batch = append(connection, "tags", Records(), label=label, who=who)
    record_changes(connection, batch, changes)
    return batch


def _rewired(connection: apsw.Connection, tag: int, into: int) -> list[TagChange]:
    """Return the changes that let the implications of one tag be those of another."""
    pairs = set(fetch(connection, "SELECT child, parent FROM implications"))
    old = {pair for pair in pairs if tag in pair}
    new = {(into if child == tag else child, into if parent == tag else parent) for child, parent in old}
    new = {(child, parent) for child, parent in new if child != parent} - pairs
    changes = [TagChange("implies", child, other=parent, before="yes") for child, parent in sorted(old)]
    return changes + [TagChange("implies", child, other=parent, after="yes") for child, parent in sorted(new)]


def _merged_records(connection: apsw.Connection, tag: int, into: int) -> Records:
    rows = fetch(
        connection,
        "SELECT a.photo, a.state, a.origin, ifnull(b.state, -1), ifnull(b.origin, ?) FROM standing a "
        "LEFT JOIN standing b ON b.photo = a.photo AND b.tag = ? WHERE a.tag = ? ORDER BY a.photo",
        (IMPORTED, into, tag),
    )
    sql = f"SELECT photo FROM standing WHERE state = 1 AND tag IN (SELECT child FROM ({CLOSURE}) WHERE parent = ?)"  # noqa: S608
    implied = {photo for (photo,) in fetch(connection, sql, (into,))}
    won = [
        (photo, into, state, origin)
        for photo, state, origin, other, other_origin in rows
        if _wins(state, origin, other, other_origin) and (state, other, photo in implied) != (0, -1, True)
    ]
    left = [(photo, tag, -1, origin) for photo, _, origin, _, _ in rows]
    return Records(*zip(*won, *left, strict=True))


def _split_records(connection: apsw.Connection, tag: int, parts: Sequence[int]) -> Records:
    rows = []
    for part in parts:
        rows += fetch(
            connection,
            "SELECT a.photo, ?1, a.state, a.origin FROM standing a "
            "LEFT JOIN standing b ON b.photo = a.photo AND b.tag = ?1 "
            "WHERE a.tag = ?2 AND (a.state = 1 OR a.origin = ?3) AND "
            "(b.state IS NULL OR (a.state > b.state AND b.origin = ?3)) ORDER BY a.photo",
            (part, tag, IMPORTED),
        )
    rows += fetch(connection, "SELECT photo, tag, -1, origin FROM standing WHERE tag = ? ORDER BY photo", (tag,))
    return Records(*zip(*rows, strict=True)) if rows else Records()


def _wins(state: int, origin: int, other: int, other_origin: int) -> bool:
    """Tell whether a state of a merged tag takes the place of that of the tag it becomes; -1 and imported: none."""
    by_person, other_by_person = origin != IMPORTED, other_origin != IMPORTED
    return (state, by_person) > (other, other_by_person) and by_person >= other_by_person
