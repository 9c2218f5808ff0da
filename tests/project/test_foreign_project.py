"""A project that another user or another machine made: it writes nothing outside of its photos, and raises no limit."""

import os
import re
import shutil

import apsw
import pytest
from PIL import Image

from tagloom.core.user_folders import config_folder
from tagloom.exceptions import DamagedStoreError, InvalidInputError, StoreError, WriteError
from tagloom.project.project import Project
from tagloom.store.writes import content_digest

FLAGS = {"descriptors": "color", "n_workers": 1, "n_threads": 1}
NAMES = ("a.jpg", "b.jpg", "sub/c.jpg")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return photos with a project in which keywords were written to sidecars."""
    photos = tmp_path_factory.mktemp("foreign") / "photos"
    for number, name in enumerate(NAMES):
        (photos / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (32, 24), (number * 60, 90, 200)).save(photos / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAGLOOM_CONFIG", str(photos.parent / "config of another user"))
        with Project.init(photos, flags=FLAGS) as project:
            project.scan()
            project.label(list(NAMES), add="dog", base=photos)
            project.write()
            assert project.is_trusted
    return photos


@pytest.fixture
def photos(written, tmp_path):
    """Return a copy of the photos and their project, as a stranger would hand it over."""
    return shutil.copytree(written, tmp_path / "photos", symlinks=True)


@pytest.fixture
def victim(tmp_path):
    """Return a file of the user's that must stay as it is."""
    path = tmp_path / "home" / "notes.xmp"
    path.parent.mkdir()
    path.write_bytes(b"precious")
    yield path
    assert path.read_bytes() == b"precious"
    assert os.listdir(path.parent) == [path.name]


def _yes(_):
    return True


def _point(project, path, photo=None, state="done"):
    """Let the journal say that a file outside was written, and what it was before."""
    with project.store.database.write() as connection:
        connection.execute("INSERT OR IGNORE INTO contents(digest, data) VALUES (?, ?)", (content_digest(b"x"), b"x"))
        connection.execute(
            "UPDATE written SET path = ?, photo = ?, after = ?, before = ?, state = ? WHERE id = 1",
            (os.fsencode(path), photo, content_digest(b"precious"), content_digest(b"x"), state),
        )


def test_a_project_is_trusted_where_it_was_made_and_by_whom(written, photos, monkeypatch):
    with Project.open(written) as project:
        assert not project.is_trusted  # this is another user
    monkeypatch.setenv("TAGLOOM_CONFIG", str(written.parent / "config of another user"))
    with Project.open(written) as project:
        assert project.is_trusted
    with Project.open(photos) as project:
        assert project.is_trusted  # a copy of the user's own
    monkeypatch.setenv("TAGLOOM_CONFIG", str(photos.parent / "config"))
    with Project.open(photos) as project:
        assert not project.is_trusted
        project.trust()
        assert project.is_trusted
        project.remove()
    assert os.listdir(config_folder() / "trusted") == []


def test_undo_of_a_foreign_project_asks_and_names_the_files(photos):
    with Project.open(photos) as project:
        with pytest.raises(StoreError, match=r"another user or on another machine.*3 files"):
            project.undo()
        asked = []
        with pytest.raises(StoreError, match="nothing was changed"):
            project.undo(confirm=lambda files: asked.extend(files) or False)
        assert sorted(asked) == [os.fsencode(photos / f"{name}.xmp") for name in NAMES]
        assert project.undo(confirm=_yes).n_files == 3
    assert not list(photos.rglob("*.xmp"))


def test_undo_of_a_trusted_project_does_not_ask(photos):
    with Project.open(photos) as project:
        project.trust()
        assert project.undo().n_files == 3


@pytest.mark.parametrize("is_trusted", [True, False])
@pytest.mark.parametrize("photo", [None, 1])
def test_undo_writes_no_file_outside(photos, victim, is_trusted, photo):
    with Project.open(photos) as project:
        if is_trusted:
            project.trust()
        _point(project, victim, photo)
        with pytest.raises(InvalidInputError, match=r"notes\.xmp"):
            project.undo(confirm=_yes)
        done = project.undo(confirm=_yes, leave_changed=True)
        assert (done.n_files, len(done.left_alone)) == (2, 1)


@pytest.mark.parametrize("by", ["path", "link"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_project_that_a_friend_hands_back_writes_photos_and_sidecars_alone(photos, tmp_path, by, is_there):
    """It is still trusted as the user's own, whatever the friend has entered."""
    home = tmp_path / "home"
    home.mkdir()
    profile = home / ".profile"
    if is_there:
        profile.write_bytes(b"precious")
    with Project.open(photos) as project:
        project.trust()
        _point(project, profile, 1)
        with project.store.database.write() as connection:
            if not is_there:
                connection.execute("UPDATE written SET after = 'removed' WHERE id = 1")
            if by == "path":
                connection.execute("UPDATE photos SET path = ? WHERE id = 1", (b".profile",))
                connection.execute("UPDATE roots SET path = ?, beside = NULL", (os.fsencode(home),))
            else:
                (photos / "a.jpg").unlink()
                (photos / "a.jpg").symlink_to(profile)
    with Project.open(photos) as project:
        assert project.is_trusted
        with pytest.raises((InvalidInputError, StoreError)):
            project.undo()
    assert os.listdir(home) == [".profile"] * is_there
    assert not is_there or profile.read_bytes() == b"precious"


def test_a_written_path_that_is_none_is_left_alone(photos):
    with Project.open(photos) as project:
        _point(project, b"/x\0y")
        with pytest.raises(InvalidInputError, match="files were changed or moved"):
            project.undo(confirm=_yes)


@pytest.mark.parametrize("after", ["removed", "no digest", "0"])
def test_a_written_photo_that_has_no_fingerprint_is_left_alone(photos, after):
    with Project.open(photos) as project:
        _point(project, photos / "gone.jpg")
        with project.store.database.write() as connection:
            connection.execute("UPDATE written SET after = ? WHERE id = 1", (after,))
        done = project.undo(confirm=_yes, leave_changed=True)
        assert (done.n_files, len(done.left_alone)) == (2, 1)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE written SET note = '5'",
        "UPDATE written SET note = 'no JSON'",
        """UPDATE written SET note = '{"fields": {"dc:subject": [1]}}'""",
        "UPDATE runs SET result = '5'",
        """UPDATE runs SET result = '{"fields": {"by_photo": {"1": {"photo": 9}}, "records": []}}'""",
        """UPDATE runs SET settings = '{"suggested": {"x": ["a"]}}'""",
    ],
)
def test_records_that_tagloom_does_not_make_are_called_damaged(photos, sql):
    with Project.open(photos) as project:
        with project.store.database.write() as connection:
            connection.execute(sql)
        with pytest.raises(DamagedStoreError):
            project.import_from_photos()


def _put_odd_value(photos, table, column, value):
    """Put a value into a table that its columns do not take, with the schema as it was afterwards."""
    path = str(photos / ".tagloom" / "tagloom.sqlite")
    for step in range(3):
        connection = apsw.Connection(path)
        if step != 1:
            ((number,),) = connection.execute("PRAGMA schema_version")
            connection.execute("PRAGMA writable_schema = ON")
            if step == 0:
                ((good,),) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,))
            text = good if step else re.sub(r"--[^\n]*|NOT NULL| STRICT,?", "", good)
            connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (text, table))
            connection.execute(f"PRAGMA schema_version = {number + 1}")
        else:
            connection.execute("PRAGMA ignore_check_constraints = ON")
            connection.execute(f"UPDATE {table} SET {column} = ?", (value,))
        connection.close()


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("photos", "width", 1e308),
        ("photos", "content_hash", "text"),
        ("written", "path", 5),
        ("roots", "beside", -1),
        ("written", "batch", "text"),
        ("tags", "merged", -1),
        ("standing", "state", None),
        ("decisions_free", "state", 7),
    ],
)
def test_values_that_the_schema_does_not_allow_are_seen_when_a_foreign_project_is_opened(photos, table, column, value):
    if table == "decisions_free":
        connection = apsw.Connection(str(photos / ".tagloom" / "tagloom.sqlite"))
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(
            "INSERT INTO decisions SELECT 99, batch, photo, tag, 7, origin, stands FROM decisions LIMIT 1"
        )
        connection.close()
    else:
        _put_odd_value(photos, table, column, value)
    with pytest.raises(DamagedStoreError, match=r"is damaged \(.*tagloom restore"):
        Project.open(photos)


def test_a_number_of_an_undo_that_no_undo_has_is_passed_over(photos):
    with Project.open(photos) as project:
        project.store.settings.set("undoing", 10**20)
    with Project.open(photos) as project:
        assert project.recovered == ()


def test_undo_writes_no_other_file_below_the_root(photos):
    other = photos / "thesis.txt"
    other.write_bytes(b"precious")
    with Project.open(photos) as project:
        _point(project, other)
        with pytest.raises(InvalidInputError, match=r"thesis\.txt"):
            project.undo(confirm=_yes)
    assert other.read_bytes() == b"precious"


@pytest.mark.parametrize("name", ["other.jpg", "other.xmp", "sub/other.jpg.xmp"])
@pytest.mark.parametrize("photo", [None, 1])
def test_undo_in_a_foreign_project_writes_no_photo_or_sidecar_that_is_not_of_the_project(photos, name, photo):
    other = photos / name
    other.write_bytes(b"precious")
    with Project.open(photos) as project:
        _point(project, other, photo)
        with pytest.raises(InvalidInputError, match="other"):
            project.undo(confirm=_yes)
        assert project.undo(confirm=_yes, leave_changed=True).n_files == 2
    assert other.read_bytes() == b"precious"


def test_an_interrupted_write_of_a_file_outside_is_left_alone(photos, victim):
    leftover = victim.with_name(f"{victim.name}.tagloom-tmp-1-1")
    leftover.write_bytes(b"another program's")
    with Project.open(photos) as project:
        _point(project, victim, state="intended")
    with Project.open(photos) as project:
        assert project.recovered == ()
    leftover.unlink()


@pytest.mark.parametrize("state", ["intended", "done"])
def test_a_pipe_in_place_of_a_sidecar_hangs_nothing(photos, state):
    with Project.open(photos) as project:
        _point(project, photos / "a.jpg.xmp", 1, state)
    (photos / "a.jpg.xmp").unlink()
    os.mkfifo(photos / "a.jpg.xmp")
    with Project.open(photos) as project, pytest.raises(InvalidInputError):
        project.undo(confirm=_yes)


def _label_again(project):
    project.label(list(NAMES), add="cat", base=project.root)
    return project.write()


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_sidecar_that_is_a_link_out_of_the_folder_is_not_written(photos, victim, is_trusted):
    (photos / "a.jpg.xmp").unlink()
    (photos / "a.jpg.xmp").symlink_to(victim)
    with Project.open(photos) as project:
        if is_trusted:
            project.trust()
        result = _label_again(project)
    assert result.counts["failed"] == 1


def test_a_folder_that_is_a_link_is_written_only_where_the_project_is_trusted(photos, tmp_path):
    shutil.move(photos / "sub", tmp_path / "elsewhere")
    (photos / "sub").symlink_to(tmp_path / "elsewhere")
    before = (tmp_path / "elsewhere" / "c.jpg.xmp").read_bytes()
    with Project.open(photos) as project:
        result = _label_again(project)
        (failed,) = [item for item in result.files if item.status == "failed"]
        assert "tagloom trust" in failed.problem
        assert (tmp_path / "elsewhere" / "c.jpg.xmp").read_bytes() == before
        project.trust()
        assert project.write().counts["written"] == 1
    assert (tmp_path / "elsewhere" / "c.jpg.xmp").read_bytes() != before


def test_links_out_of_a_strangers_folder_are_not_followed_to_photos(photos, tmp_path):
    album = tmp_path / "my own album"
    album.mkdir()
    Image.new("RGB", (32, 24), (250, 0, 0)).save(album / "private.jpg")
    (photos / "everything").symlink_to(tmp_path)
    (photos / "d.jpg").symlink_to(album / "private.jpg")
    (photos / "again.jpg").symlink_to(photos / "a.jpg")
    (photos / "round").symlink_to(photos)
    with Project.open(photos) as project:
        found = project.scan()
        assert found.n_listed == len(NAMES) + 1  # again.jpg, a link that stays in the folder
        out = {name: detail for name, _, detail in found.problems if "tagloom trust" in detail}
        assert set(out) == {b"everything", b"d.jpg"}
        project.trust()
        assert project.scan().n_listed == len(NAMES) + 3


def test_photos_elsewhere_are_read_and_written_only_where_the_project_is_trusted(photos, tmp_path):
    shutil.copytree(photos, tmp_path / "mine", ignore=shutil.ignore_patterns(".tagloom"))
    with Project.open(photos) as project:
        project.move_root(tmp_path / "mine")
        for verb in (project.scan, project.write, project.import_from_photos, lambda: project.undo(confirm=_yes)):
            with pytest.raises(StoreError, match=r"outside of the folder around it.*tagloom trust"):
                verb()
        project.trust()
        assert project.scan().offline is False
        assert _label_again(project).counts == {"written": 3}


@pytest.mark.parametrize("path", [b"../home/notes.jpg", b"/etc/passwd", b"sub/../../x.jpg", b"..", b"a/..", b"a\0.jpg"])
@pytest.mark.parametrize("table", ["photos", "files"])
def test_a_photo_outside_of_the_folder_is_refused(photos, path, table):
    with Project.open(photos) as project, project.store.database.write() as connection:
        connection.execute(f"UPDATE {table} SET path = ? WHERE path = ?", (path, b"a.jpg"))
    with pytest.raises(DamagedStoreError, match="outside of its folder"):
        Project.open(photos)


@pytest.mark.parametrize("path", [b"..a.jpg", b"a../b.jpg", b"...", b"a..b/c.jpg"])
def test_names_with_dots_are_names(photos, path):
    with Project.open(photos) as project, project.store.database.write() as connection:
        connection.execute("UPDATE photos SET path = ? WHERE path = ?", (path, b"a.jpg"))
    Project.open(photos).close()


RAISED = (
    'memory_limit_mb = 999999\ndeadline_seconds = 80000\nencoder = "net.onnx"\nn_keywords = 7\nmax_megapixels = 100\n'
)


def test_settings_of_a_foreign_project_raise_no_limit_until_it_is_trusted(photos):
    (photos / ".tagloom" / "tagloom.toml").write_text(RAISED)
    with Project.open(photos) as project:
        found = project.settings
        assert (found.memory_limit_mb, found.deadline_seconds, found.encoder) == (2048, 30.0, None)
        assert (found.n_keywords, found.max_megapixels) == (7, 100)  # lower is no harm
        assert found.ignored == ("deadline_seconds", "encoder", "memory_limit_mb")
        project.trust()
        assert (project.settings.memory_limit_mb, project.settings.ignored) == (999999, ())
    with Project.open(photos) as project:
        assert project.settings.memory_limit_mb == 999999
        (photos / ".tagloom" / "tagloom.toml").write_text(RAISED + "n_workers = 1000\n")
        project.reload_settings()
        assert len(project.settings.ignored) == 4  # what was trusted is another file


def test_settings_that_change_between_two_looks_raise_no_limit(photos, monkeypatch):
    """A shared folder: whoever writes there at the right moment must not get past the judgement of the file."""
    looks = iter([{"n_keywords": 3}, {"n_keywords": 3, "memory_limit_mb": 65536, "encoder": "net.toml"}])
    monkeypatch.setattr("tagloom.catalog.trust.read_project_file", lambda _: next(looks))
    monkeypatch.setattr("tagloom.settings.read_project_file", lambda _: next(looks))
    with Project.open(photos) as project:
        assert (project.settings.memory_limit_mb, project.settings.encoder) == (2048, None)
        assert project.settings.n_keywords == 3


def test_settings_kept_in_the_store_of_a_foreign_project_raise_no_limit_either(photos):
    with Project.open(photos) as project:
        project.store.settings.set("memory_limit_mb", 999999)
        project.store.settings.set("encoder", "/tmp/net.onnx")
        project.store.settings.set("n_keywords", 8)
        assert (project.settings.memory_limit_mb, project.settings.encoder, project.settings.n_keywords) == (
            2048,
            None,
            8,
        )
        project.trust()
        assert project.settings.memory_limit_mb == 999999


def test_settings_of_the_users_own_project_count(tmp_path):
    (tmp_path / "photos").mkdir()
    with Project.init(tmp_path / "photos") as project:
        (project.folder / "tagloom.toml").write_text(RAISED)
        assert project.settings.memory_limit_mb == 999999
    with Project.init(tmp_path / "photos") as project:
        assert project.settings.ignored == ()


def test_settings_of_an_own_project_that_came_from_elsewhere_need_trust(written, photos, monkeypatch):
    monkeypatch.setenv("TAGLOOM_CONFIG", str(written.parent / "config of another user"))
    (photos / ".tagloom" / "tagloom.toml").write_text(RAISED)
    with Project.open(photos) as project:
        assert project.is_trusted
        assert len(project.settings.ignored) == 3


def test_who_made_a_project_cannot_be_forged(written, photos, tmp_path, monkeypatch):
    with Project.open(photos) as project:
        project.store.settings.set("made_by", "0" * 64)
        assert not project.is_trusted
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "file" / "config"))
    (tmp_path / "file").touch()
    (tmp_path / "new").mkdir()
    with Project.init(tmp_path / "new") as project:
        assert project.is_trusted  # as long as this process lives: it cannot be noted
        with pytest.raises(WriteError, match="TAGLOOM_CONFIG"):
            project.trust()


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"TAGLOOM_CONFIG": "/x"}, "linux", "/x"),
        ({"XDG_CONFIG_HOME": "/c"}, "linux", "/c/tagloom"),
        ({"XDG_CONFIG_HOME": "c"}, "linux", "~/.config/tagloom"),
        ({}, "darwin", "~/Library/Application Support/tagloom"),
        ({"APPDATA": "/a"}, "win32", "/a/tagloom"),
    ],
)
def test_where_trust_is_noted(environment, platform, expected):
    assert str(config_folder(environment, platform=platform)) == os.path.expanduser(expected)
