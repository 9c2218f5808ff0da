import os

import numpy as np
import pytest

from tagloom.core.files import TEMPORARY_MARK
from tagloom.exceptions import StoreBusyError, StoreError, WriteError
from tagloom.store.layout import make_project_folder, remove_project
from tagloom.store.project import ProjectStore
from tagloom.store.writes import MAX_INLINE, Intent


def _everything(folder):
    """Make a project with all kinds of files that tagloom makes, those of kills included."""
    with ProjectStore(folder, folder.parent) as store:
        with store.lock(), store.cache() as cache:
            cache.put("deep-v1-00", ["00" * 32], np.zeros((1, 3), dtype=np.float32))
            cache.put_thumbnails([("00" * 32, b"x")])
        store.models.save({"x": np.ones(2)}, {}, features=[], labels_digest="", settings={})
        store.suggestions.save([1], [1], np.ones((1, 1)))
        store.writes.intend(store.writes.begin(), [Intent(b"x", b"y" * (MAX_INLINE + 1), "00")])
        (folder / "backups").mkdir()
        store.backup(folder / "backups" / "mine.sqlite")
    (folder / "vocabularies").mkdir()
    (folder / "vocabularies" / "words-500-0123abcd.safetensors").write_bytes(b"x")
    (folder / "logs").mkdir()
    for name in ("tagloom.log", "tagloom.log.1"):
        (folder / "logs" / name).write_text("x")
    (folder / "models" / f"{'0' * 32}.safetensors{TEMPORARY_MARK}12-34").write_bytes(b"half")
    (folder / "tagloom.sqlite-journal").write_bytes(b"")
    (folder / "written" / "scratch-ab_12").mkdir()
    for name in ("original.jpg", "copy.jpg", "copy.jpg_exiftool_tmp", "packet.xmp"):
        (folder / "written" / "scratch-ab_12" / name).write_bytes(b"half")


def test_remove_takes_all_that_is_ours(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"mine")
    _everything(tmp_path / ".tagloom")
    assert remove_project(tmp_path / ".tagloom") >= 10
    assert [path.name for path in tmp_path.iterdir()] == ["photo.jpg"]


@pytest.mark.parametrize(
    "foreign", ["notes.txt", "features/deep-v1-00/a.safetensors", "models/x/y", "backups/photo.jpg", "other/"]
)
def test_remove_leaves_everything_if_something_is_not_ours(tmp_path, foreign):
    folder = tmp_path / ".tagloom"
    _everything(folder)
    path = folder / foreign
    if foreign.endswith("/"):
        path.mkdir()
    else:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")
    before = sorted(folder.rglob("*"))
    with pytest.raises(StoreError, match="nothing was removed"):
        remove_project(folder)
    assert sorted(folder.rglob("*")) == before


def test_remove_leaves_the_users_settings_and_says_so(tmp_path, caplog):
    folder = tmp_path / ".tagloom"
    _everything(folder)
    (folder / "tagloom.toml").write_text('method = "ridge"\n')
    assert remove_project(folder) >= 10
    assert [path.name for path in folder.iterdir()] == ["tagloom.toml"]
    assert (folder / "tagloom.toml").read_text() == 'method = "ridge"\n'
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "tagloom.toml is your own and was left" in record.getMessage()
    with ProjectStore(folder, tmp_path):  # it is no obstacle to a new project
        pass
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(StoreError, match=r"^1 things .*'notes\.txt'"):
        remove_project(folder)
    assert (folder / "tagloom.sqlite").exists()


def test_settings_elsewhere_in_the_folder_are_something_else(tmp_path):
    folder = tmp_path / ".tagloom"
    _everything(folder)
    (folder / "backups" / "tagloom.toml").write_text("mine")
    with pytest.raises(StoreError, match="nothing was removed"):
        remove_project(folder)


def test_remove_follows_no_links(tmp_path):
    folder = tmp_path / ".tagloom"
    _everything(folder)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "tagloom.log").write_bytes(b"mine")
    (folder / "logs" / "tagloom.log").unlink()
    (folder / "logs" / "tagloom.log").symlink_to(tmp_path / "mine" / "tagloom.log")
    with pytest.raises(StoreError, match=r"tagloom\.log"):
        remove_project(folder)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(StoreError, match="not a tagloom folder"):
        remove_project(tmp_path / "link")


def test_remove_follows_no_link_that_comes_meanwhile(tmp_path, monkeypatch):
    folder = tmp_path / ".tagloom"
    _everything(folder)
    victim = tmp_path / "logs of others"
    victim.mkdir()
    (victim / "tagloom.log").write_bytes(b"mine")
    remove = os.unlink

    def swapped(name, **options):
        monkeypatch.setattr("os.unlink", remove)
        (folder / "logs").rename(tmp_path / "logs")
        (folder / "logs").symlink_to(victim)
        remove(name, **options)

    monkeypatch.setattr("os.unlink", swapped)
    with pytest.raises(StoreError, match="not all of"):
        remove_project(folder)
    assert (victim / "tagloom.log").read_bytes() == b"mine"
    assert (folder / "tagloom.sqlite").exists()


def test_remove_needs_a_project_that_is_at_rest(tmp_path):
    with pytest.raises(StoreError, match="not a tagloom folder"):
        remove_project(tmp_path)
    with ProjectStore(tmp_path / "t") as store, store.lock(), pytest.raises(StoreBusyError):
        remove_project(tmp_path / "t")
    assert (tmp_path / "t" / "tagloom.sqlite").exists()


def test_an_unwritable_place(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(WriteError, match="choose another output folder"):
        make_project_folder(tmp_path / "file" / ".tagloom")
