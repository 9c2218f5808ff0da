"""What tagloom keeps on disk: SQLite for records, array shards for features, thumbnails beside them."""

from tagloom.store.cache import FolderCache

__all__ = ["FolderCache"]
