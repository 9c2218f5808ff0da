"""Which keywords tagloom wrote to files because they were above the threshold, and not because a person said so.

A run of kind "write" notes them in its settings before the first file is touched, so that the note is there whatever
happens to the run.
"""

from tagloom.store.project import ProjectStore

__all__ = ["WRITE", "suggestions_written"]

WRITE = "write"
_ALL = 1_000_000


def suggestions_written(store: ProjectStore) -> dict[int, set[str]]:
    """Return for each photo the keywords (as text) that were written as suggestions, in all writes so far."""
    found: dict[int, set[str]] = {}
    for run in store.runs.all(WRITE, limit=_ALL):
        for photo, texts in run.settings.get("suggested", {}).items():
            found.setdefault(int(photo), set()).update(texts)
    return found
