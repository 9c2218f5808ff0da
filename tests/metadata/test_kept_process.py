import os
import sys

import pytest

from tagloom.exceptions import MetadataError
from tagloom.metadata.kept_process import KeptProcess

END = b"{ready}"
ECHO = """
import os, sys, time
for line in sys.stdin:
    if line == "end\\n":
        sys.exit("gone")
    if line == "hang\\n":
        time.sleep(100)
    print(os.getpid(), os.getcwd(), line, end="")
    print("{ready}", flush=True)
"""


@pytest.fixture
def process():
    kept = KeptProcess([sys.executable, "-c", ECHO], name="the echo")
    yield kept
    kept.close()


def ask(process, folder, text, deadline=60.0):
    return process.ask(text + b"\n", END, folder=folder, deadline=deadline).decode().split()


def test_one_process_answers_many_times(process, tmp_path):
    first, folder, said = ask(process, tmp_path, b"one")
    assert (folder, said) == (os.path.realpath(tmp_path), "one")
    assert ask(process, tmp_path, b"two") == [first, folder, "two"]


def test_another_folder_is_another_process(process, tmp_path):
    (tmp_path / "b").mkdir()
    first = ask(process, tmp_path, b"one")
    second = ask(process, tmp_path / "b", b"one")
    assert first[0] != second[0]
    assert second[1] == os.path.realpath(tmp_path / "b")


@pytest.mark.parametrize(
    ("text", "deadline", "problem"), [(b"end", 60.0, "gone"), (b"hang", 0.2, "took more than 0.2 s")]
)
def test_one_that_ends_or_hangs_is_replaced(process, tmp_path, text, deadline, problem):
    first = ask(process, tmp_path, b"one")
    with pytest.raises(MetadataError, match=problem):
        ask(process, tmp_path, text, deadline)
    second = ask(process, tmp_path, b"two")
    assert first[0] != second[0]


def test_a_request_longer_than_a_pipe(process, tmp_path):
    assert ask(process, tmp_path, b"x" * 300_000)[2] == "x" * 300_000


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel limits the memory of a process on Linux alone")
def test_a_program_that_takes_much_memory_ends(tmp_path):
    code = "for line in __import__('sys').stdin: print(len(bytes(int(line))), '{ready}', sep='\\n', flush=True)"
    process = KeptProcess([sys.executable, "-c", code], name="the glutton", memory=256 << 20)
    assert ask(process, tmp_path, b"1000000") == ["1000000"]
    with pytest.raises(MetadataError, match=r"the glutton did not run to its end \(MemoryError"):
        ask(process, tmp_path, b"300000000")
    assert ask(process, tmp_path, b"1000000") == ["1000000"]
    process.close()


def test_a_program_that_is_missing(tmp_path):
    process = KeptProcess([str(tmp_path / "nothing")], name="nothing")
    with pytest.raises(MetadataError, match="nothing did not run"):
        ask(process, tmp_path, b"one")
    process.close()
