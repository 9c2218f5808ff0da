import gc
import hashlib
import io
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagloom.core.photos import Verdict
from tagloom.exceptions import InvalidInputError, PhotosError
from tagloom.images import DecodePool, Rendition
from tagloom.images.pool import LOOK_AHEAD_PER_WORKER

SQUARE = Rendition("square", "square", 16)


def verdicts(photos):
    return [photo.record.verdict.value for photo in photos]


def open_descriptors():
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    return len(os.listdir(folder))


def exists(pid):
    """Tell whether a process is there, be it as a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition):
    limit = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < limit, "waited a minute"
        time.sleep(0.01)


def test_photos_come_back_whole(pool, photo_files):
    (path,) = photo_files("a.jpg")
    (photo,) = pool.decode([path])
    data = Path(os.fsdecode(path)).read_bytes()
    assert photo.record.path == path
    assert photo.record.content_hash == hashlib.blake2b(data, digest_size=32).hexdigest()
    assert (photo.record.stamp.size, photo.record.width, photo.record.height) == (len(data), 96, 64)
    with Image.open(io.BytesIO(data)) as image:
        expected = np.asarray(image.resize((48, 32), Image.Resampling.BICUBIC))
    assert np.array_equal(photo.pixels["fit"], expected)
    assert photo.pixels["square"].shape == (32, 32, 3)
    with Image.open(io.BytesIO(photo.thumbnail)) as thumbnail:
        assert thumbnail.size == (40, 27)


def test_every_file_gets_one_verdict_in_order(pool, photo_files, tmp_path, encoded, scene):
    good = photo_files("a.jpg", b"caf\xe9.jpg", "line\nbreak.jpg", "-rf.jpg", "z.jpg")
    os.mkfifo(tmp_path / "pipe.jpg")
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "loop.jpg").symlink_to("loop.jpg")
    (tmp_path / "text.jpg").write_text("no photo")
    (tmp_path / "cut.jpg").write_bytes(encoded(scene())[:400])
    odd = [os.fsencode(tmp_path / f"{name}.jpg") for name in ("pipe", "empty", "loop", "text", "cut", "absent")]
    paths = [good[0], *odd, *good[1:], good[0]]
    photos = list(pool.decode(iter(paths)))
    assert [photo.record.path for photo in photos] == paths
    told = ["not_regular", "empty", "unreadable", "not_an_image", "damaged", "missing"]
    assert verdicts(photos) == ["ok", *told, *["ok"] * 5]
    assert all(bool(photo.record.detail) != photo.record.ok for photo in photos)
    assert photos[5].record.content_hash


def test_fingerprints_are_the_hashes_of_decoding(pool, photo_files):
    paths = photo_files("a.jpg", "b.jpg")
    decoded = [photo.record for photo in pool.decode(paths)]
    hashed = list(pool.fingerprint([*paths, b"/absent.jpg"]))
    assert [record.content_hash for record in hashed[:2]] == [record.content_hash for record in decoded]
    assert [record.stamp for record in hashed[:2]] == [record.stamp for record in decoded]
    assert [record.verdict for record in hashed] == [Verdict.OK, Verdict.OK, Verdict.MISSING]


def test_relative_names_are_of_the_current_folder(pool, photo_files, tmp_path, monkeypatch):
    photo_files("a.jpg")
    list(pool.decode([b"a.jpg"]))  # workers run before the folder changes
    monkeypatch.chdir(tmp_path)
    (photo,) = pool.decode([b"a.jpg"])
    assert (photo.record.ok, photo.record.path) == (True, b"a.jpg")


@pytest.mark.medium
def test_the_number_of_workers_changes_nothing(photo_files):
    paths = [*photo_files(*(f"{index}.jpg" for index in range(12))), b"/absent.jpg"]
    results = []
    for n_workers in (1, 3):
        with DecodePool([SQUARE], n_workers=n_workers, thumbnail_size=30) as pool:
            results.append(list(pool.decode(paths)))
    for one, three in zip(*results, strict=True):
        assert one.record == three.record
        assert one.thumbnail == three.thumbnail
        assert all(np.array_equal(one.pixels[name], three.pixels[name]) for name in one.pixels)


def test_paths_are_taken_only_as_results_are_fetched(pool, photo_files):
    (path,) = photo_files("a.jpg")
    taken = []

    def endless():
        while True:
            taken.append(path)
            yield path

    results = pool.decode(endless())
    for n_fetched in range(1, 6):
        next(results)
        assert len(taken) <= n_fetched + LOOK_AHEAD_PER_WORKER * pool.n_workers
    results.close()
    assert verdicts(pool.decode([path])) == ["ok"]


@pytest.mark.medium
def test_killers_are_tried_twice_and_others_do_not_notice(hooked_command, photo_files):
    names = ["a.jpg", "segfault.jpg", "b.jpg", "once.jpg", "hang.jpg", "noise.jpg", "liar.jpg", "c.jpg"]
    paths = photo_files(*names)
    with DecodePool([SQUARE], n_workers=2, deadline=1.5, worker_command=hooked_command) as pool:
        photos = list(pool.decode(paths))
    assert verdicts(photos) == ["ok", "crashed", "ok", "ok", "timeout", "ok", "crashed", "ok"]
    assert "SIGSEGV" in photos[1].record.detail
    assert "1.5 s" in photos[4].record.detail
    # known again by content, though no decoder survives it
    for photo, path in zip(photos, paths, strict=True):
        content = Path(os.fsdecode(path)).read_bytes()
        assert photo.record.content_hash == hashlib.blake2b(content, digest_size=32).hexdigest()


@pytest.mark.medium
def test_the_second_try_is_in_a_fresh_worker(hooked_command, photo_files):
    good, memory = photo_files("a.jpg", "memory.jpg")
    with DecodePool([SQUARE], n_workers=1, worker_command=hooked_command) as pool:
        list(pool.decode([good]))
        (first_worker,) = pool._living
        (photo,) = pool.decode([memory])
    assert photo.record.verdict is Verdict.TOO_LARGE
    assert photo.record.detail != f"pid {first_worker.pid}"


@pytest.mark.medium
def test_a_worker_killed_from_outside_is_replaced_and_its_file_tried_again(hooked_command, photo_files):
    paths = photo_files("a.jpg", "hang.jpg", "b.jpg", "c.jpg")
    with DecodePool([SQUARE], n_workers=1, deadline=3, worker_command=hooked_command) as pool:
        list(pool.decode(paths[:1]))
        (worker,) = pool._living
        photos = []
        reader = threading.Thread(target=lambda: photos.extend(pool.decode(paths)))
        reader.start()
        wait_until(lambda: not pool._idle)
        os.kill(worker.pid, signal.SIGKILL)
        reader.join()
        assert worker not in pool._living
    assert verdicts(photos) == ["ok", "timeout", "ok", "ok"]


def test_an_idle_worker_killed_from_outside_costs_nothing(pool, photo_files):
    (path,) = photo_files("a.jpg")
    list(pool.decode([path]))
    for worker in list(pool._living):
        os.kill(worker.pid, signal.SIGKILL)
    assert verdicts(pool.decode([path] * 5)) == ["ok"] * 5


def test_a_decoder_that_cannot_start_is_an_error_not_a_verdict(photo_files):
    broken = [sys.executable, "-c", "raise SystemExit('no Pillow here')"]
    with (
        DecodePool([SQUARE], n_workers=1, worker_command=broken) as pool,
        pytest.raises(PhotosError, match="no Pillow"),
    ):
        list(pool.decode(photo_files("a.jpg")))


@pytest.mark.medium
def test_nothing_is_left_behind(hooked_command, photo_files):
    paths = photo_files("a.jpg", "once.jpg", "segfault.jpg", "b.jpg")
    gc.collect()
    descriptors, threads = open_descriptors(), threading.active_count()
    for _ in range(2):
        with DecodePool([SQUARE], n_workers=2, worker_command=hooked_command) as pool:
            list(pool.decode(paths))
            pids = [worker.pid for worker in pool._living]
        assert pids
        assert not any(exists(pid) for pid in pids)
    assert (open_descriptors(), threading.active_count()) == (descriptors, threads)


def test_a_pool_that_is_not_closed_is_cleaned_up(photo_files):
    pool = DecodePool([SQUARE], n_workers=1)
    list(pool.decode(photo_files("a.jpg")))
    (pid,) = [worker.pid for worker in pool._living]
    assert exists(pid)
    del pool
    gc.collect()
    wait_until(lambda: not exists(pid))


def test_a_closed_pool_says_so(photo_files):
    (path,) = photo_files("a.jpg")
    pool = DecodePool([SQUARE], n_workers=1)
    running = pool.decode([path] * 50)
    next(running)
    pool.close()
    pool.close()
    with pytest.raises(PhotosError, match="closed"):
        pool.decode([path])
    with pytest.raises(PhotosError, match="closed"):
        list(running)


def test_closing_does_not_wait_for_a_hanging_file(hooked_command, photo_files):
    paths = photo_files("a.jpg", "hang.jpg", "b.jpg")
    with DecodePool([SQUARE], n_workers=1, deadline=600, worker_command=hooked_command) as pool:
        running = pool.decode(paths * 2)
        next(running)
        wait_until(lambda: not pool._idle)
    with pytest.raises(PhotosError):
        list(running)


def run_script(tmp_path, photo, command):
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys\n"
        "from tagloom.images import DecodePool, Rendition\n"
        "with DecodePool([Rendition('a', 'square', 8)], n_workers=2, deadline=600,\n"
        "                worker_command=sys.argv[2:]) as pool:\n"
        "    list(pool.decode([sys.argv[1].replace('hang', 'a').encode()]))\n"
        "    print(*[worker.pid for worker in pool._living], flush=True)\n"
        "    list(pool.decode([sys.argv[1].encode()] * 4))\n"
    )
    parent = subprocess.Popen(
        [sys.executable, str(script), os.fsdecode(photo), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert pids
    return parent, pids


def gone(pid):
    """Tell whether a process has ended; where nobody reaps orphans it stays as a zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return not exists(pid)
    return state == "Z"


@pytest.mark.medium
def test_ctrl_c_ends_everything(hooked_command, photo_files, tmp_path):
    _, hang = photo_files("a.jpg", "hang.jpg")
    parent, pids = run_script(tmp_path, hang, hooked_command)
    time.sleep(0.3)
    os.killpg(parent.pid, signal.SIGINT)
    _, stderr = parent.communicate(timeout=60)
    assert stderr.rstrip().endswith(b"KeyboardInterrupt")
    assert stderr.count(b"Traceback") == 1
    for pid in pids:
        wait_until(lambda pid=pid: gone(pid))


@pytest.mark.medium
def test_idle_workers_end_with_a_killed_parent(hooked_command, photo_files, tmp_path):
    (photo,) = photo_files("a.jpg")
    parent, pids = run_script(tmp_path, photo, hooked_command)
    parent.kill()
    parent.communicate()
    for pid in pids:
        wait_until(lambda pid=pid: gone(pid))


def test_parameters_are_checked():
    with pytest.raises(InvalidInputError, match="n_workers"):
        DecodePool([SQUARE], n_workers=0)
    with pytest.raises(InvalidInputError, match="distinct"):
        DecodePool([SQUARE, SQUARE])


def test_a_worker_can_be_started_ahead_of_the_first_file(photo_files):
    with DecodePool([Rendition("small", "fit", 16)], n_workers=1) as pool:
        pool.start()
        assert len(pool._living) == 1
        assert len(list(pool.decode(photo_files("a.jpg", "b.jpg")))) == 2
        assert len(pool._living) == 1
