"""Which keywords tagloom wrote to files because they were above the threshold, and not because a person said so.

A run of kind "write" notes them in its settings before the first file is touched, so that the note is there whatever
happens to the run. It notes the content of those photos as well: files are copied, sidecars along with them, and what a
copy has of it nobody has said either.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tagloom.store import ProjectStore, as_stored

__all__ = [
    "SETTLED",
    "WRITE",
    "WrittenSuggestions",
    "settled_by",
    "suggestions_written",
    "unwritten_actions",
    "unwritten_photos",
]


WRITE = "write"
_ALL = 1_000_000


def suggestions_written(store: ProjectStore) -> dict[int, set[str]]:
    """Return for each photo the keywords (as text) that were written as suggestions, in all writes so far."""
    return WrittenSuggestions.read(store).by_photo


@dataclass(frozen=True, slots=True)
class WrittenSuggestions:
    """Keywords (as text) that were written as suggestions, in all writes so far.

    Parameters
    ----------
    by_photo : dict of int to set of str
        By the photos they were written for.
    by_content : dict of str to set of str
        By contents that those photos have or had, hexadecimal. Contents of sidecars would not do: those of a keyword
        that was accepted and of one that was suggested are the same.
    """

    by_photo: dict[int, set[str]]
    by_content: dict[str, set[str]]

    @classmethod
    @as_stored("suggestions that were written")
    def read(cls, store: ProjectStore) -> "WrittenSuggestions":
        """Return what all writes of a project have noted."""
        by_photo: dict[int, set[str]] = {}
        by_content: dict[str, set[str]] = {}
        for run in store.runs.all(WRITE, limit=_ALL):
            contents = run.settings.get("contents", {})
            for photo, texts in run.settings.get("suggested", {}).items():
                by_photo.setdefault(int(photo), set()).update(texts)
                by_content.setdefault(contents.get(photo, ""), set()).update(texts)
        if by_photo:
            table = store.photos.table(sorted(by_photo))
            known = list(zip(table.ids.tolist(), table.hashes, strict=True))
            photos = [item for item in store.writes.entries() if not item.path.lower().endswith(b".xmp")]
            known += [(item.photo, item.after) for item in photos if item.photo in by_photo]
            for photo, content in known:
                by_content.setdefault(content, set()).update(by_photo[photo])
        by_content.pop("", None)  # no content: the photo could not be read
        return cls(by_photo, by_content)

    def of(self, photo: int, content: str) -> set[str]:
        """Return the suggestions written for a photo, or for one that it is a copy of.

        Parameters
        ----------
        photo : int
            Its id.
        content : str
            The hash of its content; empty where it could not be read.
        """
        return self.by_photo.get(photo, set()) | self.by_content.get(content, set())


# Which actions keywords in files do not show yet.

SETTLED = "settled"  # keys in a run's result
LEFT = "left"


@dataclass(frozen=True, slots=True)
class Unwritten:
    """How many actions were made since all keywords were written, and how many of them concern missing photos alone."""

    n: int
    n_missing: int


@dataclass(frozen=True, slots=True)
class _Settled:
    """Up to which action all keywords are in the files (0: none), and photos of which that goes for another one."""

    action: int = 0
    left: dict[int, set[int]] = field(default_factory=dict)


def unwritten_actions(store: ProjectStore) -> Unwritten:
    """Return how many actions were made since all keywords were written."""
    settled = _settled(store)
    actions = _actions(store, settled)
    missing = store.photos.missing_ids() if actions else set()
    return Unwritten(len(actions), len(actions - _actions(store, settled, missing)) if missing else 0)


def unwritten_photos(store: ProjectStore) -> set[int] | None:
    """Return the photos of which something was decided since all keywords were written; None: it may be any."""
    settled = _settled(store)
    changed = store.decisions.photos_since(settled.action)
    return None if changed is None else changed.union(*settled.left.values())


def settled_by(store: ProjectStore, photo_ids: Collection[int] | None) -> dict[str, Any]:
    """Return what a write of these photos (None: of all), if it fails nowhere, is to note in its result.

    One that leaves out photos of which something was decided since all keywords were written notes nothing; unless
    these are missing, or were so before.

    Parameters
    ----------
    store : ProjectStore
        The project, before anything is written.
    photo_ids : collection of int or None
        What is written.
    """
    before, missing = _settled(store), store.photos.missing_ids()
    changed = store.decisions.photos_since(before.action)
    if photo_ids is not None and (changed is None or not changed - missing <= set(photo_ids)):
        return {}
    known = set().union(*before.left.values())
    left = dict(before.left)
    left[before.action] = left.get(before.action, set()) | (missing if changed is None else missing & changed) - known
    written = None if photo_ids is None else set(photo_ids) - missing
    kept = []
    for action, photos in sorted(left.items()):
        away = sorted(photos & missing if written is None else photos - written)
        if away and store.decisions.actions_since(action, away):
            kept.append([action, away])
    return {SETTLED: store.decisions.latest()} | ({LEFT: kept} if kept else {})


def _actions(store: ProjectStore, settled: _Settled, without: Collection[int] = ()) -> set[int]:
    found = store.decisions.actions_since(settled.action, without=without)
    for action, photos in settled.left.items():
        found |= store.decisions.actions_since(action, photos, without=without)
    return found


def _settled(store: ProjectStore) -> _Settled:
    for result in store.runs.results(WRITE):
        settled = result.get(SETTLED)
        if settled is None or store.decisions.write_undone_since(settled):
            continue
        if result["batch"] is None or not store.decisions.batch(result["batch"]).undone:
            return _Settled(int(settled), {action: set(photos) for action, photos in result.get(LEFT, [])})
    return _Settled()
