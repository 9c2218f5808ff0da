"""The formats of tagloom's databases.

SQLite keeps the text of each statement, and a database whose text differs is damaged. A change of any statement, be it
of a comment inside, is therefore a new format with a new number.
"""

from dataclasses import dataclass

__all__ = ["KNOWS_NOTHING", "PROJECT_FORMAT", "THUMBNAIL_FORMAT", "DatabaseFormat"]


@dataclass(frozen=True, slots=True)
class DatabaseFormat:
    """A kind of database: a number, the script that makes an empty one, and the mark that tells it from others."""

    number: int
    script: str
    application_id: int = 0x7461676C  # "tagl"


PROJECT_FORMAT = DatabaseFormat(
    4,
    """
    -- beside: from the project folder, where that lies inside; inode: tells the folder from an empty mount point;
    -- scanned: when its photos were last seen
    CREATE TABLE roots(
        id INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE           -- absolute, as bytes: names need not be UTF-8
    , beside BLOB, inode INTEGER NOT NULL DEFAULT 0, online INTEGER NOT NULL DEFAULT 1, scanned REAL NOT NULL DEFAULT 0) STRICT;
    -- What was read at a path. ctime_ns 0: not known, so that it is read once more
    CREATE TABLE "files"(
        root INTEGER NOT NULL REFERENCES roots(id),
        path BLOB NOT NULL,                 -- relative to the root
        content_hash BLOB NOT NULL,         -- BLAKE2b-256; empty where the file could not be read
        verdict TEXT NOT NULL,
        detail TEXT NOT NULL,
        size INTEGER NOT NULL,              -- -1: no stamp
        mtime_ns INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL, ctime_ns INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (root, path)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX files_by_content ON files(content_hash);
    CREATE INDEX files_by_size ON files(size);
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
    -- A photo keeps its id through moves
    CREATE TABLE photos(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        root INTEGER NOT NULL REFERENCES roots(id),
        path BLOB NOT NULL,
        content_hash BLOB NOT NULL,         -- empty where the file could not be read
        verdict TEXT NOT NULL,
        width INTEGER NOT NULL,
        height INTEGER NOT NULL,
        present INTEGER NOT NULL CHECK (present IN (0, 1)),
        taken REAL,                         -- seconds; NULL: not known
        dated INTEGER NOT NULL DEFAULT 0,   -- whether the time was looked for
        first_seen REAL NOT NULL,
        last_seen REAL NOT NULL             -- of a present photo: when it came; its root knows when it was last seen
    ) STRICT;
    CREATE UNIQUE INDEX photos_by_path ON photos(root, path) WHERE present = 1;
    CREATE INDEX photos_by_content ON photos(content_hash);
    CREATE TABLE tags(
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        text TEXT NOT NULL UNIQUE,          -- Keyword.text
        created REAL NOT NULL,
        merged INTEGER REFERENCES tags(id)  -- the tag that this one has become
    ) STRICT;
    CREATE TABLE aliases(
        text TEXT PRIMARY KEY,
        tag INTEGER NOT NULL REFERENCES tags(id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE implications(
        child INTEGER NOT NULL REFERENCES tags(id),
        parent INTEGER NOT NULL REFERENCES tags(id),
        PRIMARY KEY (child, parent)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE batches(                   -- one command, or one action on the page
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL CHECK (kind IN ('decide', 'tags', 'write', 'undo', 'redo')),
        label TEXT NOT NULL,
        who TEXT NOT NULL,
        at REAL NOT NULL,
        refers INTEGER REFERENCES batches(id),  -- what an undo or redo is about
        first INTEGER NOT NULL,             -- its decisions are first … first + n - 1
        n INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX batches_by_reference ON batches(refers) WHERE refers IS NOT NULL;
    CREATE TRIGGER batches_stay BEFORE UPDATE ON batches BEGIN SELECT RAISE(ABORT, 'batches are only added'); END;
    CREATE TRIGGER batches_last BEFORE DELETE ON batches BEGIN SELECT RAISE(ABORT, 'batches are only added'); END;
    CREATE TABLE tag_changes(
        id INTEGER PRIMARY KEY,
        batch INTEGER NOT NULL REFERENCES batches(id),
        kind TEXT NOT NULL CHECK (kind IN ('text', 'merged', 'alias', 'implies')),
        tag INTEGER NOT NULL REFERENCES tags(id),
        other INTEGER REFERENCES tags(id),
        before TEXT,
        after TEXT
    ) STRICT;
    CREATE INDEX tag_changes_by_batch ON tag_changes(batch);
    CREATE TABLE decisions(
        id INTEGER PRIMARY KEY,
        batch INTEGER NOT NULL REFERENCES batches(id),
        photo INTEGER NOT NULL REFERENCES photos(id),
        tag INTEGER NOT NULL REFERENCES tags(id),
        state INTEGER NOT NULL CHECK (state IN (-1, 0, 1)),
        origin INTEGER NOT NULL CHECK (origin IN (0, 1, 2)),  -- human, imported, suggested and accepted
        stands INTEGER                      -- the decision now in force: itself, or what an undo brings back
    ) STRICT;
    CREATE INDEX decisions_by_pair ON decisions(photo, tag);
    CREATE TRIGGER decisions_stay BEFORE UPDATE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions are only added'); END;
    CREATE TRIGGER decisions_last BEFORE DELETE ON decisions BEGIN SELECT RAISE(ABORT, 'decisions are only added'); END;
    CREATE TABLE standing(                  -- the last state of each pair that has one; made from decisions alone
        photo INTEGER NOT NULL,
        tag INTEGER NOT NULL,
        state INTEGER NOT NULL,
        origin INTEGER NOT NULL,
        decision INTEGER,                   -- the one in force
        PRIMARY KEY (photo, tag)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX standing_by_tag ON standing(tag, state);
    CREATE TABLE imports(
        id INTEGER PRIMARY KEY,
        batch INTEGER REFERENCES batches(id),
        source BLOB NOT NULL,
        absent_means TEXT NOT NULL CHECK (absent_means IN ('no', 'unknown')),
        digest TEXT NOT NULL,
        at REAL NOT NULL
    ) STRICT;
    CREATE TABLE runs(
        id INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        settings TEXT NOT NULL,             -- JSON, as are result, features
        started REAL NOT NULL,
        ended REAL,
        result TEXT
    ) STRICT;
    CREATE TABLE models(
        id INTEGER PRIMARY KEY,
        run INTEGER REFERENCES runs(id),
        file TEXT NOT NULL UNIQUE,
        n_bytes INTEGER NOT NULL,
        checksum TEXT NOT NULL,
        features TEXT NOT NULL,
        labels_digest TEXT NOT NULL,
        settings TEXT NOT NULL,
        created REAL NOT NULL,
        active INTEGER NOT NULL DEFAULT 0 CHECK (active IN (0, 1))
    ) STRICT;
    CREATE UNIQUE INDEX models_active ON models(active) WHERE active = 1;
    CREATE TABLE suggestions(
        id INTEGER PRIMARY KEY,
        run INTEGER REFERENCES runs(id),
        file TEXT NOT NULL UNIQUE,
        n_bytes INTEGER NOT NULL,
        checksum TEXT NOT NULL,
        n_photos INTEGER NOT NULL,
        n_tags INTEGER NOT NULL,
        created REAL NOT NULL
    ) STRICT;
    CREATE TABLE contents(                  -- bytes that were in files before tagloom wrote them
        digest TEXT PRIMARY KEY,            -- BLAKE2b-256
        data BLOB                           -- NULL: in the file written/DIGEST
    ) STRICT;
    -- note: what of the keywords came from tagloom
    CREATE TABLE written(
        id INTEGER PRIMARY KEY,
        batch INTEGER NOT NULL REFERENCES batches(id),
        photo INTEGER REFERENCES photos(id),
        path BLOB NOT NULL,
        before TEXT REFERENCES contents(digest),  -- NULL: there was no file
        after TEXT NOT NULL,                -- BLAKE2b-256 of what is written
        state TEXT NOT NULL CHECK (state IN ('intended', 'done', 'undone')),
        at REAL NOT NULL
    , note TEXT NOT NULL DEFAULT '') STRICT;
    CREATE INDEX written_by_batch ON written(batch);
    CREATE INDEX written_by_path ON written(path);
    CREATE INDEX written_intended ON written(state) WHERE state = 'intended';
    CREATE TABLE settings(
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL                 -- JSON
    ) STRICT, WITHOUT ROWID;
    """,  # noqa: E501
)

THUMBNAIL_FORMAT = DatabaseFormat(
    1,
    """
    CREATE TABLE thumbnails(
        content_hash BLOB PRIMARY KEY,
        image BLOB NOT NULL
    ) STRICT, WITHOUT ROWID;
    """,
)

#: Whether a database holds nothing at all: then files beside it have lost their register, and none is swept.
KNOWS_NOTHING = (
    "SELECT NOT EXISTS (SELECT 1 FROM photos) AND NOT EXISTS (SELECT 1 FROM files) "
    "AND NOT EXISTS (SELECT 1 FROM shards) AND NOT EXISTS (SELECT 1 FROM batches)"
)
