"""What may be written over: a project that is scanned once, and files of somebody else in every place."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tagloom.catalog.logs import stop_logging
from tagloom.catalog.output_guard import MadeFiles, refuse_foreign_target
from tagloom.datasets import write_scenes
from tagloom.exceptions import InvalidInputError, LabelsFileError, StoreError
from tagloom.jobs.annotate import annotate
from tagloom.jobs.extract import extract_folder
from tagloom.metadata.formats import ExportReport, available_exporters, export_files, registry
from tagloom.project.project import Project
from tagloom.settings import Settings
from tagloom.store import FolderCache
from tagloom.store.project import ProjectStore

LIGHT = Settings(descriptors=("color",), method="ridge", n_workers=1, n_threads=1)
FLAGS = {"descriptors": "color", "method": "ridge", "n_workers": 1, "n_threads": 1}


@pytest.fixture(autouse=True)
def _quiet_logs():
    yield
    stop_logging()


@pytest.fixture
def photos(tmp_path):
    return _scenes(tmp_path / "photos", 0)


@pytest.fixture
def others(tmp_path):
    return _scenes(tmp_path / "others", 1)


@pytest.fixture
def project(photos):
    with Project.init(photos, flags=FLAGS) as made:
        made.scan()
        made.label("scene_00000.jpg", add="sea")
        yield made


def _scenes(folder, random_state):
    write_scenes(folder, 8, size=(48, 32), labeled=0.5, random_state=random_state)
    return folder


def _bytes_below(folder):
    """Return all files below a folder but those that a database keeps for itself."""
    found = (os.path.join(place, name) for place, _, names in os.walk(folder) for name in names)
    return {path: Path(path).read_bytes() for path in found if not path.endswith(("-wal", "-shm", "lock", ".log"))}


# exports -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "scene_00000.jpg",
        "new.JPG",
        "raw.NEF",
        "scene_00000.jpg.xmp",
        "a.Xmp",
        ".tagloom/tagloom.sqlite",
        ".tagloom/x.csv",
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_photos_raw_files_sidecars_and_the_project_are_never_written(project, photos, name, overwrite):
    (photos / "scene_00000.jpg.xmp").write_text("theirs", encoding="utf-8")
    before = _bytes_below(photos)
    for write in (
        lambda: project.export(photos / name, "csv", overwrite=overwrite),
        lambda: project.export(photos / name, "coco", overwrite=overwrite),
        lambda: project.report(photos / name),
    ):
        with pytest.raises(InvalidInputError, match="choose another"):
            write()
    assert _bytes_below(photos) == before


def test_a_link_does_not_lead_into_the_project(project, photos, tmp_path):
    os.symlink(photos / ".tagloom", tmp_path / "link")
    with pytest.raises(InvalidInputError, match="keeps a project"):
        project.export(tmp_path / "link" / "tagloom.sqlite", "csv", overwrite=True)
    with pytest.raises(InvalidInputError, match="keeps a project"):
        project.export(tmp_path / "link", "fiftyone", overwrite=True)


def test_a_project_elsewhere_is_known_by_its_database(photos, tmp_path):
    with Project.init(photos, project=tmp_path / "kept", flags=FLAGS) as project:
        project.scan()
        with pytest.raises(InvalidInputError, match="keeps a project"):
            project.export(tmp_path / "kept" / "tagloom.toml", "csv", overwrite=True)


def _target(format, folder):
    return folder if format in ("huggingface", "fiftyone") else folder / "x.out"


@pytest.mark.parametrize("format", [name for name in available_exporters() if name != "parquet"])
def test_every_file_of_a_format_is_looked_at(project, tmp_path, format):
    (tmp_path / "out").mkdir()
    target = _target(format, tmp_path / "out")
    written = project.export(target, format).files
    may_be = export_files(target, format)
    assert written == tuple(file for file in may_be if file in written)  # those of videos come with videos
    for file in written:  # somebody else's, one at a time
        ours = file.read_bytes()
        file.write_bytes(b"mine")
        with pytest.raises(InvalidInputError, match="--overwrite"):
            project.export(target, format)
        assert file.read_bytes() == b"mine"
        file.write_bytes(ours)
    project.label("scene_00001.jpg", add="sand")
    project.export(target, format)  # as tagloom left it: it may be replaced, again and again
    assert any(b"sand" in file.read_bytes() for file in written)
    assert project.export(target, format).files == written


def test_a_file_of_somebody_else_is_replaced_on_request(project, tmp_path):
    target = tmp_path / "x.csv"
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="is there already"):
        project.export(target)
    assert target.read_text(encoding="utf-8") == "mine"
    assert project.export(target, overwrite=True).format == "csv"
    assert "sea" in target.read_text(encoding="utf-8")
    project.export(target)
    copy = tmp_path / "kept.csv"
    copy.write_bytes(target.read_bytes())
    with pytest.raises(InvalidInputError, match="is there already"):  # a copy was not written there
        project.export(copy)


def test_what_cannot_be_replaced(project, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    os.symlink("nowhere", tmp_path / "dangling")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("mine", encoding="utf-8")
    for name in ("pipe", "dangling", "folder"):
        with pytest.raises(InvalidInputError, match=r"expected a file|other files are in it"):
            project.export(tmp_path / name, "csv")
    (tmp_path / "empty").touch()
    assert project.export(tmp_path / "empty", "csv").n_photos == 1  # as mktemp leaves it: there is nothing to lose


def test_the_record_moves_with_the_project_and_stays_small(project, photos, tmp_path, monkeypatch):
    project.export(photos / "inside.csv")
    project.export(tmp_path / "outside.csv")
    project.close()
    moved = photos.rename(tmp_path / "moved")
    with Project.open(moved) as again:
        again.export(moved / "inside.csv")
        again.export(tmp_path / "outside.csv")
        monkeypatch.setattr("tagloom.catalog.output_guard.N_KNOWN", 2)
        again.export(tmp_path / "third.csv")
        again.export(tmp_path / "outside.csv")
        with pytest.raises(InvalidInputError, match="--overwrite"):  # the oldest is forgotten
            again.export(moved / "inside.csv")


KILLED = """
    import os, signal, sys
    from tagloom.jobs import annotate as verb
    from tagloom.project.project import Project
    from tagloom.settings import Settings

    moment, name, out, photos = sys.argv[1:]
    replace = os.replace

    def deadly(source, target, **options):
        is_it = os.fspath(target).endswith(name)
        if not is_it or moment == "after":
            replace(source, target, **options)
        if is_it:
            os.kill(os.getpid(), signal.SIGKILL)

    os.replace = deadly
    if name == "x.csv":
        Project.open(photos).export(f"{out}/x.csv")
    else:
        settings = Settings(descriptors=("color",), method="ridge", n_workers=1, n_threads=1)
        verb.annotate(photos, f"{photos}/labels.csv", out, settings)
"""


def _killed(moment, name, out, photos):
    command = [sys.executable, "-c", textwrap.dedent(KILLED), moment, name, str(out), str(photos)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL


@pytest.mark.medium
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("is_there", [False, True])
def test_an_export_that_was_killed_goes_on(project, photos, tmp_path, moment, is_there):
    target = tmp_path / "x.csv"
    if is_there:
        project.export(target)
        project.label("scene_00001.jpg", add="sand")
    _killed(moment, "x.csv", tmp_path, photos)
    assert target.exists() == (is_there or moment == "after")
    project.export(target)
    assert b"sea" in target.read_bytes()
    # What somebody else wrote after a kill is theirs.
    _killed(moment, "x.csv", tmp_path, photos)
    target.write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="is there already"):
        project.export(target)


@pytest.mark.medium
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("name", ["keywords.csv", "scores.npz"])
def test_results_that_were_cut_off_are_made_again(photos, tmp_path, moment, name):
    out = tmp_path / "out"
    _killed(moment, name, out, photos)
    assert (out / name).exists() == (moment == "after")
    result = annotate(photos, photos / "labels.csv", out, LIGHT)
    assert all(file.is_file() for file in result.files.values())
    (out / name).write_bytes(b"mine")
    with pytest.raises(InvalidInputError, match="--overwrite"):
        annotate(photos, photos / "labels.csv", out, LIGHT)


def test_a_record_of_an_earlier_version_is_understood(project, tmp_path):
    project.export(tmp_path / "x.csv")
    ((key, (digest,)),) = project.store.settings.get("made_files")
    project.store.settings.set("made_files", [[key, digest]])
    assert project.export(tmp_path / "x.csv").n_photos == 1


def test_a_link_is_written_through_and_stays(project, photos, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.csv").symlink_to(tmp_path / "real" / "o.csv")
    project.export(tmp_path / "real" / "o.csv")
    project.label("scene_00001.jpg", add="sand")
    project.export(tmp_path / "link.csv")  # a file of its own by another name
    assert (tmp_path / "link.csv").is_symlink()
    assert b"sand" in (tmp_path / "real" / "o.csv").read_bytes()
    project.export(tmp_path / "real" / "o.csv")
    (tmp_path / "real" / "o.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="is there already"):
        project.export(tmp_path / "link.csv")
    project.export(tmp_path / "link.csv", overwrite=True)
    assert (tmp_path / "link.csv").is_symlink()
    # Not to a photo, nor into the project, whatever it is called
    before = _bytes_below(photos)
    for number, place in enumerate((photos / "scene_00000.jpg", photos / ".tagloom" / "tagloom.sqlite")):
        link = tmp_path / f"{number}.csv"
        link.symlink_to(place)
        for write in (lambda: project.export(link, overwrite=True), lambda: project.report(link)):  # noqa: B023
            with pytest.raises(InvalidInputError, match="choose another"):
                write()
    assert _bytes_below(photos) == before
    (tmp_path / "page.html").symlink_to(tmp_path / "real" / "page.html")
    (tmp_path / "real" / "page.html").touch()
    project.report(tmp_path / "page.html")
    assert (tmp_path / "real" / "page.html").stat().st_size
    assert (tmp_path / "page.html").is_symlink()


def test_a_new_folder_for_hugging_face(project, tmp_path):
    (file,) = project.export(tmp_path / "new", "huggingface").files
    assert file == tmp_path / "new" / "metadata.jsonl"
    assert b"scene_00000.jpg" in file.read_bytes()
    with pytest.raises(InvalidInputError, match=r"called metadata\.jsonl"):
        project.export(tmp_path / "labels.jsonl", "huggingface")


def test_a_name_that_is_not_unicode_is_remembered(project, tmp_path):
    target = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.csv")
    project.export(target)
    assert project.export(target).n_photos == 1


def test_an_exporter_of_another_package_gets_a_folder_of_its_own(project, tmp_path, monkeypatch):
    class Folder:
        name, description = "folder", "a file for each photo"

        def write(self, photos, target, options):
            target.mkdir(exist_ok=True)
            (target / "one.txt").write_text("made", encoding="utf-8")
            return ExportReport("folder", (target / "one.txt",), 0, 0, 0, 0)

    monkeypatch.setattr(registry, "_installed_exporter", lambda name: Folder())
    assert project.export(tmp_path / "new", "folder").files == (tmp_path / "new" / "one.txt",)
    project.export(tmp_path / "new", "folder")
    (tmp_path / "new" / "two.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="other files are in it"):
        project.export(tmp_path / "new", "folder")
    project.export(tmp_path / "new", "folder", overwrite=True)


def test_a_record_that_cannot_be_kept_costs_nothing(project, tmp_path, monkeypatch, caplog):
    def refuse(*_):
        raise StoreError("read only")

    with monkeypatch.context() as patch:
        patch.setattr("tagloom.store.runs.StoredSettings.set", refuse)
        assert project.export(tmp_path / "x.csv").n_photos == 1
    assert "read only" in caplog.text
    with pytest.raises(InvalidInputError, match="--overwrite"):
        project.export(tmp_path / "x.csv")


def test_a_file_that_cannot_be_read_is_foreign(tmp_path):
    (tmp_path / "x").write_text("?", encoding="utf-8")

    def fail(path):
        raise PermissionError(13, "no")

    with pytest.raises(InvalidInputError, match="leave it"):
        refuse_foreign_target(tmp_path / "x", fail, remedy="leave it")


# results of annotate and extract -------------------------------------------------------------------------------


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("as_truth", [False, True])
def test_labels_and_truth_are_never_replaced(photos, tmp_path, monkeypatch, as_truth, overwrite):
    out = tmp_path / "out"
    annotate(photos, photos / "labels.csv", out, LIGHT)
    corrected = out / "keywords.csv"
    corrected.write_text("file,tags\nscene_00000.jpg,sea\n", encoding="utf-8")
    os.symlink(corrected, tmp_path / "link.csv")
    before = _bytes_below(out)
    monkeypatch.setattr("tagloom.jobs.annotate.list_photos", None)  # nothing is even listed
    for given in (corrected, tmp_path / "link.csv"):
        labels, truth = (photos / "labels.csv", given) if as_truth else (given, None)
        with pytest.raises(InvalidInputError, match="would be replaced"):
            annotate(photos, labels, out, LIGHT, truth=truth, overwrite=overwrite)
    assert _bytes_below(out) == before


@pytest.mark.parametrize("name", ["keywords.csv", "scores.npz", "report.html"])
def test_files_of_somebody_else_in_the_output_folder(photos, tmp_path, monkeypatch, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine", encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("tagloom.jobs.annotate.list_photos", None)
        with pytest.raises(InvalidInputError, match="--overwrite"):
            annotate(photos, photos / "labels.csv", out, LIGHT)
    assert os.listdir(out) == [name]
    annotate(photos, photos / "labels.csv", out, LIGHT, overwrite=True)
    annotate(photos, photos / "labels.csv", out, LIGHT)  # all of it is tagloom's own now
    moved = out.rename(tmp_path / "moved")
    annotate(photos, photos / "labels.csv", moved, LIGHT)


def test_results_of_a_stranger_lead_nowhere_else(photos, tmp_path):
    out = tmp_path / "out"
    annotate(photos, photos / "labels.csv", out, LIGHT)
    victim = (out / "keywords.csv").rename(tmp_path / "victim.csv")
    (out / "keywords.csv").symlink_to(victim)
    before = victim.read_bytes()
    with ProjectStore(out / ".tagloom") as store:
        ((digest,),) = [value for key, value in store.settings.get("made_files") if key == "keywords.csv"]
        store.settings.set("made_files", [[str(victim), [digest]]])
        assert not MadeFiles(store).holds(victim)
    for overwrite in (False, True):
        with pytest.raises(InvalidInputError, match="link out of the folder"):
            annotate(photos, photos / "labels.csv", out, LIGHT, overwrite=overwrite)
    assert victim.read_bytes() == before


def test_keywords_corrected_by_hand_are_kept(photos, tmp_path):
    out = tmp_path / "out"
    annotate(photos, photos / "labels.csv", out, LIGHT)
    with open(out / "keywords.csv", "a", encoding="utf-8") as handle:
        handle.write("scene_00007.jpg,sea,1,1\n")
    corrected = (out / "keywords.csv").read_bytes()
    with pytest.raises(InvalidInputError, match="tagloom did not write it, or it has changed since"):
        annotate(photos, photos / "labels.csv", out, LIGHT)
    assert (out / "keywords.csv").read_bytes() == corrected
    (out / "keywords.csv").rename(tmp_path / "corrected.csv")
    annotate(photos, tmp_path / "corrected.csv", out, LIGHT)
    assert (tmp_path / "corrected.csv").read_bytes() == corrected


def test_a_truth_that_cannot_be_read_is_known_before_the_work(photos, tmp_path, monkeypatch):
    monkeypatch.setattr("tagloom.jobs.annotate.FolderCache", None)
    with pytest.raises(ValueError, match=r"no labels file at .*nope\.csv"):
        annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT, truth=tmp_path / "nope.csv")


def test_a_truth_of_labelled_photos_alone_is_known_before_the_work(photos, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("tagloom.jobs.annotate.FolderCache", None)
        with pytest.raises(LabelsFileError, match="not labelled"):
            annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT, truth=photos / "labels.csv")
    # Some others are named, and none of these can be read: there are results all the same.
    (photos / "broken.jpg").write_bytes(b"\xff\xd8\xff")
    truth = tmp_path / "truth.csv"
    truth.write_text("file,tags\nbroken.jpg,sea\n", encoding="utf-8")
    result = annotate(photos, photos / "labels.csv", tmp_path / "out", LIGHT, truth=truth)
    assert result.comparison is None
    assert "could be read" in result.why_not_compared
    assert result.files["keywords"].is_file()


@pytest.mark.parametrize("name", ["features.npy", "photos.csv", "groups.json"])
def test_features_do_not_replace_files_of_somebody_else(photos, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text("mine", encoding="utf-8")
    with pytest.raises(InvalidInputError, match="name another folder"):
        extract_folder(photos, out, LIGHT)
    assert os.listdir(out) == [name]
    (out / name).unlink()
    extract_folder(photos, out, LIGHT)
    for left in (["photos.csv"], ["photos.csv", "features.npy"]):  # where an extraction may be cut off
        for file in {"features.npy", "photos.csv", "groups.json"}.difference(left):
            (out / file).unlink()
        assert extract_folder(photos, out, LIGHT).n_rows == 8


# projects of other photos --------------------------------------------------------------------------------------


def test_results_of_other_photos_do_not_go_into_a_project(project, photos, others, tmp_path):
    before = _bytes_below(photos)
    for out in (photos, photos / ".tagloom", photos / ".tagloom" / "deeper"):
        with pytest.raises(StoreError, match="name another"):
            annotate(others, others / "labels.csv", out, LIGHT)
        with pytest.raises(StoreError, match="name another"):
            extract_folder(others, out, LIGHT)
    assert _bytes_below(photos) == before
    assert [os.fsdecode(root.path) for root in project.store.roots.all()] == [str(photos)]
    os.symlink(photos, tmp_path / "link")
    annotate(tmp_path / "link", photos / "labels.csv", photos, LIGHT)  # its own photos by another path
    assert project.status().n_labeled == 1


def test_a_project_with_the_features_of_other_photos_works(project, photos, others):
    """An earlier version took them in; the project is still about its own photos."""
    project.store.settings.set("own_root", None)
    project.close()
    with FolderCache(photos / ".tagloom", others):
        pass
    with Project.open(photos) as again:
        assert again.root == photos
        assert again.status().n_labeled == 1
        assert again.scan().n_listed == 8
        again.export(photos.parent / "x.csv")
    with Project.init(photos) as again:
        assert again.root == photos
    with pytest.raises(StoreError, match="name another"):
        annotate(others, others / "labels.csv", photos, LIGHT)


def test_an_output_folder_becomes_a_project(photos, others):
    annotate(others, others / "labels.csv", photos, LIGHT)
    with Project.init(photos, flags=FLAGS) as project:
        assert project.root == photos
        assert project.scan().n_listed == 8
    with Project.open(photos) as project:
        assert project.root == photos
    with pytest.raises(StoreError, match="name another"):
        annotate(others, others / "labels.csv", photos, LIGHT)


def test_one_output_folder_for_several_folders_of_photos(photos, others, tmp_path):
    for folder in (photos, others, photos):
        annotate(folder, folder / "labels.csv", tmp_path / "out", LIGHT)
    with ProjectStore(tmp_path / "out" / ".tagloom") as store:
        assert not store.roots.is_claimed()
        assert MadeFiles(store).holds(tmp_path / "out" / "keywords.csv")
