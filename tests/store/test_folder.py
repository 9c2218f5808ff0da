"""A project's folder made by a stranger: links, names and special files in it do no harm."""

import os
import shutil

import numpy as np
import pytest

from tagloom.exceptions import DamagedStoreError, StoreError, TagloomError
from tagloom.store.cache import FolderCache
from tagloom.store.folder import ProjectFolder
from tagloom.store.project import ProjectStore

HASHES = [f"{number:064x}" for number in range(1, 4)]
NAMES_OF_NO_FILE = (
    "../victim.safetensors",
    "sub/victim.safetensors",
    ".hidden",
    "victim.safetensors",
    "",
    "..",
    f"{'0' * 32}.safetensors\n",
)


@pytest.fixture
def victim(tmp_path):
    """Return a file of the user's outside of the project, which must stay as it is."""
    folder = tmp_path / "home"
    folder.mkdir()
    path = folder / f"{'0' * 32}.safetensors"
    path.write_bytes(b"precious")
    (folder / "x.safetensors.tagloom-tmp-1-1").write_bytes(b"precious, too")
    yield path
    assert path.read_bytes() == b"precious"
    assert sorted(item.name for item in folder.iterdir()) == [path.name, "x.safetensors.tagloom-tmp-1-1"]


def _model(store, **options):
    return store.models.save({"w": np.ones(2)}, {}, features={}, labels_digest="", settings={}, **options)


def _suggest(store):
    return store.suggestions.save([1], [1], np.zeros((1, 1)))


@pytest.mark.parametrize("name", [*NAMES_OF_NO_FILE, None])
@pytest.mark.parametrize("kind", ["models", "suggestions"])
def test_a_stored_name_that_is_none_of_ours_is_neither_read_nor_removed(store, victim, kind, name):
    save = _model if kind == "models" else _suggest
    first = save(store)
    bad = str(victim) if name is None else name
    with store.database.write() as connection:
        connection.execute(f"UPDATE {kind} SET file = ? WHERE id = ?", (bad, first))
    with pytest.raises(DamagedStoreError):
        (store.models if kind == "models" else store.suggestions).load(first)
    (kind_found,) = {finding.kind for finding in store.check(checksums=True)} - {"orphan"}
    assert kind_found == kind.removesuffix("s") if kind == "models" else kind_found == kind
    for _ in range(10):
        save(store)


def test_a_shard_with_a_name_that_is_none_of_ours_is_forgotten_not_read(store, victim):
    with store.cache() as cache:
        cache.put("key", HASHES, np.zeros((3, 2), np.float32))
    with store.database.write() as connection:
        connection.execute("UPDATE shards SET file = ?", (f"../../../../home/{victim.name}",))
    with store.cache() as cache:
        assert not cache.has("key", HASHES).any()


@pytest.mark.parametrize("key", ["..", "../../../home", "a/b", ".x", ""])
def test_a_feature_key_that_leads_elsewhere_is_refused(store, victim, key):
    with store.cache() as cache:
        cache.put("key", HASHES, np.zeros((3, 2), np.float32))
    with store.database.write() as connection:
        connection.execute("UPDATE feature_sets SET key = ?", (key,))
    with store.cache() as cache:
        assert not cache.has(key, HASHES).any()


@pytest.mark.parametrize("name", ["features", "models", "suggestions", "written", "backups", "logs", "vocabularies"])
def test_a_subfolder_that_is_a_link_is_refused(template, tmp_path, victim, name):
    folder = shutil.copytree(template, tmp_path / "photos") / ".tagloom"
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).symlink_to(victim.parent)
    for open_it in (lambda: ProjectStore(folder), lambda: FolderCache(folder, tmp_path / "photos")):
        with pytest.raises(StoreError, match=rf"{name}.* is a link"):
            open_it().close()


def test_a_folder_of_features_that_is_a_link_is_not_swept(template, tmp_path, victim):
    folder = shutil.copytree(template, tmp_path / "photos") / ".tagloom"
    (folder / "features" / "key").symlink_to(victim.parent)
    with FolderCache(folder, tmp_path / "photos") as cache, pytest.raises((TagloomError, OSError)):
        cache.put("key", HASHES, np.zeros((3, 2), np.float32))
    with ProjectStore(folder) as store:
        store.repair()
    assert (folder / "features" / "key").is_symlink()


@pytest.mark.parametrize(
    "name",
    ["README.txt", "lock", "tagloom.sqlite", "tagloom.sqlite-wal", "tagloom.sqlite-journal", "thumbnails.sqlite"],
)
@pytest.mark.parametrize("how", ["link", "dangling", "pipe"])
def test_a_file_that_is_a_link_or_a_pipe_is_refused(template, tmp_path, victim, name, how):
    folder = shutil.copytree(template, tmp_path / "photos") / ".tagloom"
    (folder / name).unlink(missing_ok=True)
    if how == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(victim if how == "link" else victim.parent / "new")
    with pytest.raises(StoreError, match=name), FolderCache(folder, tmp_path / "photos"):
        pass
    with pytest.raises(StoreError), ProjectStore(folder) as store, store.lock():
        pass


@pytest.mark.parametrize("name", ["tagloom.sqlite", "tagloom.sqlite-wal", "thumbnails.sqlite"])
def test_a_database_that_has_another_name_is_refused(template, tmp_path, name):
    """SQLite writes it in place, through every name that it has."""
    folder = shutil.copytree(template, tmp_path / "photos") / ".tagloom"
    (folder / name).touch()
    os.link(folder / name, tmp_path / "other")
    before = (tmp_path / "other").read_bytes()
    with pytest.raises(StoreError, match="hard link"), FolderCache(folder, tmp_path / "photos"):
        pass
    assert (tmp_path / "other").read_bytes() == before


def test_a_project_folder_that_is_a_link_is_refused(template, tmp_path, victim):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / ".tagloom").symlink_to(victim.parent)
    with pytest.raises(StoreError, match="is a link"):
        ProjectStore(tmp_path / "photos" / ".tagloom")
    with pytest.raises(StoreError, match="is a link"):
        FolderCache(tmp_path / "photos" / ".tagloom")


def test_sweeps_remove_only_names_of_our_own_pattern(store):
    _model(store)
    with store.cache() as cache:
        cache.put("key", HASHES, np.zeros((3, 2), np.float32))
    ours = [f"features/key/{'a' * 32}.safetensors", f"models/{'b' * 32}.safetensors.tagloom-tmp-12-34"]
    others = ["features/key/mine.safetensors", "features/notes.txt", "models/my.tagloom-tmp-x", "my.tagloom-tmp-file"]
    for name in (*ours, *others):
        (store.folder / name).write_bytes(b"x")
    assert {item.detail.split()[0] for item in store.repair()} == set(ours)
    store.cache().close()
    assert not any((store.folder / name).exists() for name in ours)
    assert all((store.folder / name).exists() for name in others)


def test_files_are_private(tmp_path):
    (tmp_path / "photos").mkdir()
    previous = os.umask(0o002)
    try:
        with ProjectStore(tmp_path / "photos" / ".tagloom", tmp_path / "photos") as store:
            _model(store)
            with store.cache() as cache:
                cache.put("key", HASHES, np.zeros((3, 2), np.float32))
                cache.put_thumbnails([(HASHES[0], b"x")])
            found = {path: path.stat().st_mode & 0o777 for path in (store.folder, *store.folder.rglob("*"))}
    finally:
        os.umask(previous)
    assert {path.name: mode for path, mode in found.items() if mode != (0o700 if path.is_dir() else 0o600)} == {}


def test_an_open_project_of_the_user_is_tightened(template, tmp_path):
    folder = shutil.copytree(template, tmp_path / "photos") / ".tagloom"
    folder.chmod(0o755)
    (folder / "tagloom.sqlite").chmod(0o644)
    with ProjectStore(folder):
        pass
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "tagloom.sqlite").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("handles", [True, False])
def test_the_same_without_folder_handles(tmp_path, victim, monkeypatch, handles):
    """Windows has none: there each name is looked at before it is opened."""
    monkeypatch.setattr("tagloom.store.folder.HAS_HANDLES", handles)
    folder = ProjectFolder(tmp_path / "p")
    folder.make("models")
    folder.write(b"one", "models", "a")
    assert folder.read("models", "a") == b"one"
    folder.write(b"two", "models", "a")
    assert (folder.read("models", "a"), folder.files("models")) == (b"two", ["a"])
    (tmp_path / "p" / "models" / "link").symlink_to(victim)
    (tmp_path / "p" / "elsewhere").symlink_to(victim.parent)
    os.mkfifo(tmp_path / "p" / "pipe")
    for parts in (("models", "link"), ("elsewhere", victim.name), ("pipe",)):
        with pytest.raises(OSError, match=r"link|symbolic|directory|regular"):
            folder.read(*parts)
        with pytest.raises(OSError, match=r"link|symbolic|directory|regular|device"):
            folder.append(*parts)
    with pytest.raises(OSError, match=r"link|symbolic|directory"):
        folder.remove("elsewhere", victim.name)
    folder.write(b"three", "models", "link")  # takes the place of the link
    assert folder.read("models", "link") == b"three"
    for bad in ("..", ".", "", "a/b", "/etc", "a\0", "-rf", "a\n"):
        with pytest.raises(DamagedStoreError):
            folder.read("models", bad)
    folder.remove("models", "a")
    assert folder.files("models") == ["link"]


def test_a_folder_whose_files_others_open_by_path_holds_files_alone(tmp_path, victim):
    folder = ProjectFolder(tmp_path / "p")
    folder.refuse_others("vocabularies")  # there is none
    folder.make("vocabularies")
    folder.write(b"x", "vocabularies", "words.safetensors")
    folder.refuse_others("vocabularies")
    (tmp_path / "p" / "vocabularies" / "blobs.safetensors").symlink_to(victim)
    with pytest.raises(StoreError, match="a link or no file"):
        folder.refuse_others("vocabularies")


def test_a_journal_that_names_another_file_is_refused(template, tmp_path, victim):
    """A super-journal is any path; SQLite 3.54.1 leaves the file alone, and nothing here depends on that."""
    folder = shutil.copytree(template, tmp_path / "photos") / ".tagloom"
    name = os.fsencode(victim)
    record = bytes(4) + name + len(name).to_bytes(4, "big") + sum(name).to_bytes(4, "big")
    (folder / "tagloom.sqlite-journal").write_bytes(bytes(512) + record + bytes.fromhex("d9d505f920a163d7"))
    with pytest.raises(StoreError, match="names another file"):
        ProjectStore(folder)
