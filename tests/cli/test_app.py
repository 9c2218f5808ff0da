import os
import signal
import subprocess
import sys
import time

import pytest

from tagloom import __version__
from tagloom.cli import console, main
from tagloom.datasets import write_scenes
from tagloom.project.project import Project

PROGRAM = [sys.executable, "-c", "from tagloom.cli import main; main()"]


def _run(*arguments, **options):
    return subprocess.run([*PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, **options)


def test_bare_says_what_to_do_next():
    done = _run()
    assert done.returncode == 0
    assert "tagloom demo" in done.stdout
    assert "tagloom annotate" in done.stdout
    assert "tagloom init PHOTOS" in done.stdout
    assert "tagloom status" in done.stdout


def test_a_photo_may_be_called_debug(tagloom, project):
    (project / "scene_00000.jpg").rename(project / "--debug")
    done = tagloom("label", "--add", "sea", "--", "--debug")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "'--debug'" in done.err


def test_help_and_version_import_nothing_heavy():
    script = (
        "import sys\nfrom tagloom.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'PIL', 'faiss', 'onnxruntime', 'apsw', 'rich'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "annotate" in done.stdout
    assert "Exit codes" in done.stdout
    assert _run("--version").stdout.strip() == f"tagloom {__version__}"


@pytest.mark.parametrize("command", ["annotate", "demo", "doctor"])
def test_every_command_explains_itself(command):
    done = _run(command, "--help")
    assert done.returncode == 0
    assert "Usage: tagloom" in done.stdout


@pytest.mark.medium
def test_an_error_is_one_line_and_a_traceback_only_on_request(tmp_path):
    arguments = ["annotate", tmp_path / "nowhere", "--labels", "x.csv", "--out", tmp_path / "out"]
    done = _run(*arguments)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("tagloom: expected a folder of photos")
    for command in (["status"], ["--debug", "status"], ["status", "--debug"]):
        done = _run(*command, cwd=tmp_path)  # no project there
        assert done.returncode == 1
        assert "no tagloom project" in done.stderr
        assert ("Traceback" in done.stderr) == ("--debug" in command)


@pytest.mark.medium
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("command", [["status"], ["tags"], ["suggest", "--json"], ["--help"]])
def test_output_that_cannot_be_written_is_one_line(project, command):
    with open("/dev/full", "w") as full:
        done = subprocess.run([*PROGRAM, *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "No space left on device" in done.stderr
    closed = [sys.executable, "-c", "import os, sys; os.close(1); os.execv(sys.executable, sys.argv[1:])"]
    done = subprocess.run([*closed, *PROGRAM, *command], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "Bad file descriptor" in done.stderr


@pytest.mark.medium
def test_what_says_nothing_needs_no_output(project):
    """The database does not get the number of a closed stream."""
    script = "import os, sys; [os.close(n) for n in (0, 1, 2)]; os.execv(sys.executable, sys.argv[1:])"
    label = ["label", "scene_00000.jpg", "--add", "fresh", "-q"]
    subprocess.run([sys.executable, "-c", script, *PROGRAM, *label], check=True)
    assert "fresh" in _run("tags", cwd=project).stdout


def test_interrupted_while_the_program_loads():
    script = (
        "import sys, importlib.abc\n"
        "class Interrupt(importlib.abc.MetaPathFinder):\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'typer':\n            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupt())\n"
        "from tagloom.cli import main\nmain(['status'])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (130, "", 1)
    assert "interrupted" in done.stderr


@pytest.mark.parametrize(
    ("command", "method", "said"),
    [
        (["scan"], "scan", "finished work is kept. Run the same command again to continue"),
        (["write"], "write", "finished work is kept. Run the same command again to continue"),
        (["write", "--dry-run"], "write", "nothing was changed. Run the same command again"),
        (["import", "labels.csv"], "import_keywords", "nothing was changed. Run the same command again"),
        (["update"], "update", "nothing was changed. Run the same command again"),
        (
            ["train"],
            "train",
            "photos that were read are not read again. Run the same command again; learning starts over",
        ),
        (["export", "keywords.csv"], "export", "run the same command again"),
    ],
)
def test_an_interrupted_command_says_what_is_kept(tagloom, project, monkeypatch, command, method, said):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Project, method, stop)
    done = tagloom("--debug", *command)
    assert (done.code, done.out) == (130, "")
    assert done.err.strip().splitlines()[-1] == f"tagloom: interrupted; {said}"


def test_nothing_is_kept_of_an_interrupted_import(tagloom, project, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    before = tagloom("status", "--json").json
    with monkeypatch.context() as patch:
        patch.setattr("tagloom.store.runs.Runs.record_import", stop)  # the last thing that an import stores
        assert tagloom("import", "truth.csv").code == 130
    assert tagloom("status", "--json").json == before
    assert tagloom("import", "truth.csv", "--json").json["n_decisions"] > 0


@pytest.mark.parametrize(
    ("command", "stage"),
    [
        (["write", "--dry-run"], "comparing with files"),
        (["write"], "writing keywords"),
        (["undo"], "undoing"),
        (["redo"], "redoing"),
        (["update"], "learning"),
        (["explain", "scene_00000.jpg", "TAG"], "reading features"),
        (["next"], "choosing photos"),
        (["suggest", "-n", "0"], "reading suggestions"),
        (["import", "truth.csv"], "storing the labels"),
        (["import", "--from-photos"], "reading keywords"),
        (["import", "--from-folders"], "storing the labels"),
        (["export", "keywords.csv"], "exporting keywords"),
        (["report", "--out", "page.html"], "making the page"),
        (["check"], "checking the project"),
        (["repair"], "repairing the project"),
    ],
)
def test_a_terminal_is_told_of_long_work_and_the_document_stays_whole(tagloom, project, monkeypatch, command, stage):
    command = [tagloom("tags", "--json").json["tags"][0]["text"] if item == "TAG" else item for item in command]
    if "--from-folders" in command:
        (project / "alps").mkdir()
        (project / "scene_00000.jpg").rename(project / "alps" / "scene_00000.jpg")
        tagloom("scan", "-q")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(console, "PATIENCE", 600.0)  # as if everything were quick
    quick = tagloom(*command, "--json")
    assert stage not in quick.err
    if command[0] in ("write", "import"):
        tagloom("undo", "-q")
    monkeypatch.setattr(console, "PATIENCE", 0.0)  # as if everything took long
    long = tagloom(*command, "--json")
    assert stage in long.err
    assert long.json.keys() == quick.json.keys()
    assert stage not in tagloom(*command, "--json", "-q").err


def test_wrong_usage_has_its_own_code():
    assert _run("annotate").returncode == 2
    assert _run("sing").returncode == 2


def test_doctor_lists_what_there_is(tagloom):
    done = tagloom("doctor")
    assert done.code == 0
    for word in ("numpy", "onnxruntime", "SQLite", "EfficientNet-Lite0", "smoothed-ridge", "exiftool"):
        assert word in done.out


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "photos"
    write_scenes(folder, 40, size=(96, 64), labeled=0.4, random_state=1)
    return folder


@pytest.mark.medium
def test_annotate_prints_a_summary_and_reads_settings_in_order(photos, tmp_path, tagloom, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "tagloom.toml").write_text('descriptors = ["color"]\nmethod = "ridge"\nn_keywords = 2\nn_workers = 1\n')
    environment = os.environ | {"TAGLOOM_N_KEYWORDS": "3"}
    arguments = ("annotate", photos, "--labels", photos / "labels.csv", "--out", out, "--truth", photos / "truth.csv")
    done = _run(*arguments, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Mean average precision" in done.stdout
    assert "report.html" in done.stdout
    assert (out / "keywords.csv").read_text().count("\n") == 1 + 3 * 24
    monkeypatch.setenv("TAGLOOM_N_KEYWORDS", "3")
    again = tagloom(*arguments, "--keywords", 1, "--method", "neighbors", "-q")
    assert again.code == 0, again.err
    assert again.err == ""
    assert "neighbors" in again.out
    assert (out / "keywords.csv").read_text().count("\n") == 1 + 24


@pytest.mark.medium
def test_interrupting_is_clean_and_the_next_run_goes_on(tmp_path):
    folder = tmp_path / "photos"
    write_scenes(folder, 30, size=(480, 320), labeled=0.5, random_state=2)
    for path in sorted(folder.glob("*.jpg")):
        for number in range(4):  # four more of other content, much faster than painting them
            (folder / f"{path.stem}-{number}.jpg").write_bytes(path.read_bytes() + bytes([number]))
    environment = os.environ | {"TAGLOOM_DESCRIPTORS": "color", "TAGLOOM_N_WORKERS": "1", "TAGLOOM_BATCH_SIZE": "4"}
    arguments = ["annotate", str(folder), "--labels", str(folder / "labels.csv"), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    assert "reading photos" in process.stderr.readline()
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.count("\n") == 1
    assert "Run the same command again" in errors
    done = _run(*arguments, env=environment)
    assert done.returncode == 0, done.stderr


@pytest.mark.medium
def test_demo_ends_with_the_table_and_the_report(tmp_path):
    done = _run("demo", "--out", tmp_path / "demo", "--photos", 80, "--labeled", 0.2, "-q")
    assert done.returncode == 0, done.stderr
    assert "tag-frequency prior" in done.stdout
    assert done.stdout.strip().endswith("report.html")
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000


def test_an_error_that_nobody_thought_of_is_one_line_and_a_traceback_with_debug(tagloom, project, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("first\nsecond " + "x" * 1000)

    monkeypatch.setattr(Project, "status", fail)
    done = tagloom("status")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "RuntimeError: first second" in done.err
    assert len(done.err) < 500
    with pytest.raises(RuntimeError):
        main(["--debug", "status"])
