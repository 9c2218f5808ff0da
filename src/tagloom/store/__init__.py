"""What tagloom keeps on disk: SQLite for what a person decided, array shards for features, thumbnails beside them.

Names load when they are first asked for, so that recording a decision stays light.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.store.arrays import load_arrays, save_arrays
    from tagloom.store.cache import FolderCache
    from tagloom.store.layout import remove_project
    from tagloom.store.project import ProjectStore

_HOMES = {
    "FolderCache": "tagloom.store.cache",
    "ProjectStore": "tagloom.store.project",
    "load_arrays": "tagloom.store.arrays",
    "remove_project": "tagloom.store.layout",
    "save_arrays": "tagloom.store.arrays",
}

__all__ = ["FolderCache", "ProjectStore", "load_arrays", "remove_project", "save_arrays"]

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
