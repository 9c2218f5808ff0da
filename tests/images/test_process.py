import sys

import pytest

from tagloom.images.process import WORKER_COMMAND, WorkerFailure, WorkerProcess
from tagloom.images.settings import DEFAULT_MAX_PIXELS, DEFAULT_MEMORY_LIMIT, DecodeSettings


def settings(deadline=30.0):
    return DecodeSettings((), None, deadline, DEFAULT_MEMORY_LIMIT, DEFAULT_MAX_PIXELS)


def test_what_cannot_start_says_why():
    with pytest.raises(WorkerFailure, match="No such file"):
        WorkerProcess(["/no/such/python"], settings())
    with pytest.raises(WorkerFailure, match="exit status 1: ImportError: no pictures"):
        WorkerProcess([sys.executable, "-c", "raise ImportError('no pictures')"], settings())


def test_the_signal_that_ended_it_is_named(hooked_command, photo_files):
    (path,) = photo_files("segfault.jpg")
    worker = WorkerProcess(hooked_command, settings())
    with pytest.raises(WorkerFailure, match="killed by SIGSEGV") as caught:
        worker.request("decode", path)
    assert not caught.value.timed_out
    worker.dispose()


def test_the_deadline_is_kept(hooked_command, photo_files):
    (path,) = photo_files("hang.jpg")
    worker = WorkerProcess(hooked_command, settings(deadline=0.3))
    with pytest.raises(WorkerFailure) as caught:
        worker.request("decode", path)
    assert caught.value.timed_out
    worker.dispose()


def test_a_flood_of_frames_is_not_kept(photo_files):
    flood = (
        "import sys\n"
        "from tagloom.images import wire\n"
        "while True:\n"
        "    wire.write_frame(sys.stdout.buffer, {'ready': True}, [bytes(100_000)])\n"
    )
    worker = WorkerProcess([sys.executable, "-c", flood], settings())
    assert worker._replies.maxsize == 1
    worker.dispose()
    assert not any(thread.is_alive() for thread in worker._threads)


def test_disposing_leaves_no_process_and_no_thread():
    worker = WorkerProcess(WORKER_COMMAND, settings())
    worker.dispose()
    worker.dispose()
    assert worker._process.returncode is not None
    assert worker._process.stdin.closed
    assert not any(thread.is_alive() for thread in worker._threads)
    with pytest.raises(WorkerFailure):
        worker.request("decode", b"a.jpg")


def test_a_process_that_cannot_be_killed_is_left_alone(hooked_command, photo_files, monkeypatch):
    (path,) = photo_files("hang.jpg")
    monkeypatch.setattr("tagloom.images.process.REAP_SECONDS", 0.1)
    worker = WorkerProcess(hooked_command, settings(deadline=0.2))
    kill = worker._process.kill
    monkeypatch.setattr(worker._process, "kill", lambda: None)  # as for a process that hangs in the kernel
    with pytest.raises(WorkerFailure):
        worker.request("decode", path)
    worker.dispose()
    assert worker._process.poll() is None
    kill()
    worker.dispose()
    worker._process.wait()
