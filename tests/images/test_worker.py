import io
import os
import signal
import subprocess
import sys

import pytest
from PIL import Image

from tagloom.images import Rendition, wire
from tagloom.images.process import WORKER_COMMAND, WorkerProcess
from tagloom.images.settings import DEFAULT_MAX_PIXELS, DEFAULT_MEMORY_LIMIT, DecodeSettings

SETTINGS = DecodeSettings((Rendition("a", "square", 8),), 40, 30.0, DEFAULT_MEMORY_LIMIT, DEFAULT_MAX_PIXELS)


@pytest.fixture
def worker():
    process = WorkerProcess(WORKER_COMMAND, SETTINGS)
    yield process
    process.dispose()


def test_it_carries_no_numerical_library(worker, photo_files):
    (path,) = photo_files("a.jpg")
    assert worker.request("decode", path)[0]["verdict"] == "ok"
    modules = worker.request("report", b"")[0]["modules"]
    assert "PIL.Image" in modules
    roots = {module.partition(".")[0] for module in modules}
    assert not roots & {"numpy", "scipy", "sklearn", "faiss", "onnxruntime", "sqlite3", "multiprocessing"}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other kernels do not enforce RLIMIT_AS")
def test_its_memory_is_limited(worker):
    import resource

    assert worker.memory_limited
    assert resource.prlimit(worker.pid, resource.RLIMIT_AS)[0] == DEFAULT_MEMORY_LIMIT


def test_it_ignores_ctrl_c(worker, photo_files):
    (path,) = photo_files("a.jpg")
    os.kill(worker.pid, signal.SIGINT)
    assert worker.request("decode", path)[0]["verdict"] == "ok"


def test_it_ends_with_its_input():
    ended = subprocess.run(WORKER_COMMAND, input=b"", capture_output=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


def test_it_ends_quietly_on_nonsense():
    ended = subprocess.run(WORKER_COMMAND, input=b"nonsense" * 10, capture_output=True, timeout=60)
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, b"", b"")


def test_it_imports_nothing_from_the_folder_it_runs_in(tmp_path):
    (tmp_path / "PIL.py").write_text("raise SystemExit('imported from the photo folder')")
    ended = subprocess.run(WORKER_COMMAND, input=b"", capture_output=True, timeout=60, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_warnings_of_the_decoder_stay_inside(worker, tmp_path, scene, encoded):
    data = encoded(scene(), exif=b"Exif\0\0II*\0\x08\0\0\0\xff\xff")
    with pytest.warns(UserWarning, match="EXIF"), Image.open(io.BytesIO(data)) as image:
        image.getexif().get(0x0112)
    path = tmp_path / "a.jpg"
    path.write_bytes(data)
    assert worker.request("decode", os.fsencode(path))[0]["verdict"] == "ok"
    assert worker._tail.last_line() == ""


def test_it_works_where_posix_calls_are_missing(photo_files):
    bare = (
        "import os, sys\n"
        "del os.O_NONBLOCK, os.O_CLOEXEC, os.O_NOCTTY\n"
        "sys.modules['resource'] = sys.modules['fcntl'] = None\n"
        "from tagloom.images import worker\n"
        "worker.main()\n"
    )
    process = WorkerProcess([sys.executable, "-c", bare], SETTINGS)
    assert not process.memory_limited
    (path,) = photo_files("a.jpg")
    assert process.request("decode", path)[0]["verdict"] == "ok"
    process.dispose()


@pytest.mark.medium
def test_a_hanging_decoder_ends_by_itself_when_the_parent_is_gone():
    orphan = (
        "import time\n"
        "from tagloom.images import worker\n"
        "worker.ORPHAN_GRACE = 0.1\n"
        "worker.answer = lambda *a: time.sleep(600)\n"
        "worker.main()\n"
    )
    settings = DecodeSettings((), None, 0.1, DEFAULT_MEMORY_LIMIT, DEFAULT_MAX_PIXELS)
    frames = io.BytesIO()
    wire.write_frame(frames, settings.as_json())
    wire.write_frame(frames, {"task": "decode"}, [b"a.jpg"])
    # its input stays open, as if the parent lived, so that only its own alarm can end it
    with subprocess.Popen([sys.executable, "-c", orphan], stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(frames.getvalue())
        process.stdin.flush()
        assert process.wait(timeout=60) == 1
