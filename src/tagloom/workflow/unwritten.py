"""Which actions keywords in files do not show yet.

A run of kind "write" that wrote all there was to write, and failed nowhere, notes in its result up to which action.
Only such a run ends the count of actions that are not written, as long as neither its files nor those of earlier
writes, which it may have found as they should be, were put back since.
"""

from collections.abc import Collection

from tagloom.store.project import ProjectStore
from tagloom.workflow.written_suggestions import WRITE

__all__ = ["SETTLED", "covers_all", "unwritten_actions", "unwritten_photos"]

SETTLED = "settled"  # the key in a run's result


def unwritten_actions(store: ProjectStore) -> int:
    """Return how many actions were made since all keywords were written."""
    return store.decisions.actions_since(_settled(store))


def unwritten_photos(store: ProjectStore) -> set[int] | None:
    """Return the photos of which something was decided since all keywords were written; None: it may be any."""
    return store.decisions.photos_since(_settled(store))


def covers_all(store: ProjectStore, photo_ids: Collection[int] | None) -> bool:
    """Tell whether a write of these photos (None: of all) writes whatever was decided since all keywords were written.

    Parameters
    ----------
    store : ProjectStore
        The project.
    photo_ids : collection of int or None
        What is written.
    """
    if photo_ids is None:
        return True
    since = unwritten_photos(store)
    return since is not None and since <= set(photo_ids)


def _settled(store: ProjectStore) -> int:
    """Return the action up to which all keywords are in the files; 0: none was ever written so."""
    for result in store.runs.results(WRITE):
        settled = result.get(SETTLED)
        if settled is None or store.decisions.write_undone_since(settled):
            continue
        if result["batch"] is None or not store.decisions.batch(result["batch"]).undone:
            return int(settled)
    return 0
