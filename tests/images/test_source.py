import hashlib
import json
import os
import subprocess
import sys

import pytest

from tagloom.images import source
from tagloom.images.source import fingerprint_file, read_file
from tagloom.images.verdicts import Refused

LONGEST = 1 << 20


def verdict_on(path) -> str:
    with pytest.raises(Refused) as caught:
        read_file(os.fsencode(path), longest=LONGEST)
    assert caught.value.detail
    return caught.value.verdict


def test_content_hash_and_stamp(tmp_path, monkeypatch):
    monkeypatch.setattr(source, "CHUNK", 1000)
    content = os.urandom(4567)
    file = tmp_path / "a.jpg"
    file.write_bytes(content)
    read = read_file(os.fsencode(file), longest=LONGEST)
    status = file.stat()
    assert read.data == content
    assert read.content_hash == hashlib.blake2b(content, digest_size=32).hexdigest()
    assert (read.size, read.mtime_ns, read.inode) == (4567, status.st_mtime_ns, status.st_ino)
    only_hash = fingerprint_file(os.fsencode(file))
    assert (only_hash.data, only_hash.content_hash) == (b"", read.content_hash)


def test_what_is_no_file(tmp_path):
    (tmp_path / "empty.jpg").touch()
    (tmp_path / "broken.jpg").symlink_to("nowhere")
    (tmp_path / "one.jpg").symlink_to("two.jpg")
    (tmp_path / "two.jpg").symlink_to("one.jpg")
    assert verdict_on(tmp_path / "empty.jpg") == "empty"
    assert verdict_on(tmp_path / "broken.jpg") == "missing"
    assert verdict_on(tmp_path / "absent.jpg") == "missing"
    assert verdict_on(tmp_path / "empty.jpg" / "below.jpg") == "missing"
    assert verdict_on(tmp_path / "one.jpg") == "unreadable"
    assert verdict_on(tmp_path) == "not_regular"
    assert verdict_on("/dev/null") == "not_regular"
    assert verdict_on(b"nul\0byte.jpg") == "unreadable"
    assert verdict_on(tmp_path / ("x" * 300)) == "unreadable"


def test_a_pipe_without_a_writer_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    assert verdict_on(tmp_path / "pipe.jpg") == "not_regular"


def test_a_file_swapped_for_a_pipe_does_not_hang(tmp_path, monkeypatch):
    file = tmp_path / "a.jpg"
    file.write_bytes(b"x")
    real = os.stat(file)
    file.unlink()
    os.mkfifo(file)
    monkeypatch.setattr(source.os, "stat", lambda path: real)
    assert verdict_on(file) == "not_regular"


def test_a_file_too_large_is_not_read(tmp_path, monkeypatch):
    file = tmp_path / "a.jpg"
    with open(file, "wb") as handle:
        handle.truncate(LONGEST + 1)
    monkeypatch.setattr(source, "_consume", lambda *a, **k: pytest.fail("was read"))
    assert verdict_on(file) == "too_large"


def test_a_file_that_keeps_changing_is_told_and_one_that_changed_once_is_read(tmp_path, monkeypatch):
    file = tmp_path / "a.jpg"
    file.write_bytes(b"x" * 100)
    changes = [2]
    read = os.read

    def read_while_written(descriptor, size):
        if changes[0]:
            changes[0] -= 1
            with open(file, "ab") as handle:
                handle.write(b"more")
        return read(descriptor, size)

    monkeypatch.setattr(source.os, "read", read_while_written)
    changes[0] = 1
    assert read_file(os.fsencode(file), longest=LONGEST).size == 104
    changes[0] = 100
    assert verdict_on(file) == "changed"
    # the size at opening and one byte more: a file that grows for ever is not followed
    assert changes[0] > 90


def test_platforms_without_posix_flags(tmp_path, monkeypatch):
    file = tmp_path / "a.jpg"
    file.write_bytes(b"content")
    os.mkfifo(tmp_path / "pipe.jpg")
    # Only here: Python itself needs them from 3.13 on when the folder is removed.
    with monkeypatch.context() as patch:
        for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY"):
            patch.delattr(os, name)
        assert read_file(os.fsencode(file), longest=LONGEST).data == b"content"
        assert verdict_on(tmp_path / "pipe.jpg") == "not_regular"


def test_no_permission(tmp_path, unprivileged_uid):
    file = tmp_path / "secret.jpg"
    file.write_bytes(b"content")
    file.chmod(0o600)
    script = (
        "import json, os, sys\n"
        "from tagloom.images.source import read_file\n"
        "from tagloom.images.verdicts import Refused\n"
        "os.chdir(sys.argv[1])\n"
        "os.setuid(int(sys.argv[2]))\n"
        "try:\n"
        "    read_file(b'secret.jpg', longest=1000)\n"
        "except Refused as refused:\n"
        "    print(json.dumps([refused.verdict, refused.detail]))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path), str(unprivileged_uid)]
    told = subprocess.run(command, check=True, capture_output=True).stdout
    assert json.loads(told) == ["no_permission", "no permission to read the file"]
