"""The database formats. A migration is never changed once released; a new one is added at the end."""

__all__ = ["APPLICATION_ID", "MAIN_MIGRATIONS", "THUMBNAIL_MIGRATIONS"]

APPLICATION_ID = 0x7461676C  # "tagl"

MAIN_MIGRATIONS = (
    """
    CREATE TABLE roots(
        id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE           -- absolute, as bytes: names need not be UTF-8
    ) STRICT;
    CREATE TABLE photos(
        root INTEGER NOT NULL REFERENCES roots(id),
        path BLOB NOT NULL,                 -- relative to the root
        content_hash BLOB NOT NULL,         -- BLAKE2b-256; empty where the file could not be read
        verdict TEXT NOT NULL,
        detail TEXT NOT NULL,
        size INTEGER NOT NULL,              -- -1: no stamp
        mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        PRIMARY KEY (root, path)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX photos_by_content ON photos(content_hash);
    CREATE INDEX photos_by_size ON photos(size);
    CREATE TABLE attempts(                  -- reading began and has not ended
        root INTEGER NOT NULL REFERENCES roots(id),
        path BLOB NOT NULL,
        n INTEGER NOT NULL,
        PRIMARY KEY (root, path)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE feature_sets(
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,           -- extractor, version, parameters
        n_columns INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE shards(
        id INTEGER PRIMARY KEY,
        set_id INTEGER NOT NULL REFERENCES feature_sets(id),
        file TEXT NOT NULL UNIQUE,
        n_rows INTEGER NOT NULL,
        n_columns INTEGER NOT NULL,
        n_bytes INTEGER NOT NULL,
        checksum TEXT NOT NULL              -- BLAKE2b-128 of the file
    ) STRICT;
    CREATE TABLE feature_rows(
        set_id INTEGER NOT NULL REFERENCES feature_sets(id),
        content_hash BLOB NOT NULL,
        shard INTEGER NOT NULL REFERENCES shards(id),
        position INTEGER NOT NULL,
        PRIMARY KEY (set_id, content_hash)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX feature_rows_by_shard ON feature_rows(shard);
    """,
)

THUMBNAIL_MIGRATIONS = (
    """
    CREATE TABLE thumbnails(
        content_hash BLOB PRIMARY KEY,
        image BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
)
