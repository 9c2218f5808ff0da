"""Which actions keywords in files do not show yet.

A run of kind "write" that wrote all there was to write, and failed nowhere, notes in its result up to which action.
Only such a run ends the count of actions that are not written, as long as neither its files nor those of earlier
writes, which it may have found as they should be, were put back since. Photos that were not there are noted along with
the action up to which their files were written: for these the count goes on from there.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tagloom.project.unwritten import WRITE
from tagloom.store.project import ProjectStore

__all__ = ["SETTLED", "Unwritten", "settled_by", "unwritten_actions", "unwritten_photos"]

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
    since = store.decisions.photos_since(settled.action)
    return None if since is None else since.union(*settled.left.values())


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
    since = store.decisions.photos_since(before.action)
    if photo_ids is not None and (since is None or not since - missing <= set(photo_ids)):
        return {}
    known = set().union(*before.left.values())
    left = dict(before.left)
    left[before.action] = left.get(before.action, set()) | (missing if since is None else missing & since) - known
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
