"""What a machine may lack is asked for by a fixture: hidden, it makes skips with a reason, and never failures."""

import os
import re
import subprocess
import sys

import pytest

from tests.conftest import HIDING, ROOT
from tests.hiding import TOOLS, find_tool, path_without

FIXTURES = ["chromium", "exiftool", "exiv2", "node", "strace"]
MADE = """
import os, shutil, subprocess
import pytest

def test_asks(TOOL):
    assert shutil.which(os.path.basename(TOOL)) == TOOL
    subprocess.run([TOOL, "-ver"], capture_output=True)

def test_does_not_ask():
    assert shutil.which("PROGRAM") is None
    with pytest.raises(FileNotFoundError):
        subprocess.run(["PROGRAM"], capture_output=True)
    subprocess.run(["true"], check=True)  # all else is there

@pytest.fixture(scope="module")
def made(TOOL):
    return shutil.which("PROGRAM")

def test_asks_by_way_of_another_fixture(made):
    assert made

def test_asks_for_data(shared_data):
    assert os.environ["TAGLOOM_DATA"] == str(shared_data)

def test_does_not_ask_for_data():
    assert not os.path.exists(os.environ["TAGLOOM_DATA"])
"""


def _pytest(*arguments, path, **settings):
    """Run pytest with a PATH and return its counts ({"passed": 3 …}) and what it printed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TAGLOOM_", "PYTEST_"))}
    environment |= {"PATH": path, "PYTHONPATH": str(ROOT), **settings}
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    counts = {kind: int(n) for n, kind in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", done.stdout)}
    assert counts, done.stdout + done.stderr
    return counts, done.stdout


@pytest.fixture
def stand_in(tmp_path):
    """Return a function that puts a program in the place of a tool and returns a PATH that has it first."""

    def make(tool):
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin" / TOOLS[tool][0]
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        return os.pathsep.join([str(tmp_path / "bin"), HIDING.path])

    return make


@pytest.mark.medium
@pytest.mark.skipif(os.name != "posix", reason="programs are hidden by links")
@pytest.mark.parametrize(
    "tool",
    [name if name in ("chromium", "exiftool") else pytest.param(name, marks=pytest.mark.slow) for name in FIXTURES],
)
def test_a_tool_is_there_for_those_who_ask(tool, stand_in, tmp_path):
    made = tmp_path / "test_made.py"
    made.write_text(MADE.replace("TOOL", tool).replace("PROGRAM", TOOLS[tool][0]), encoding="utf-8")
    plain = ["-c", os.devnull, "-p", "tests.conftest", "-W", "ignore", str(made)]
    data = {"TAGLOOM_DATA": str(tmp_path)}
    there = stand_in(tool)
    counts, shown = _pytest(*plain, path=there, **data)
    assert counts == {"passed": 5}, shown
    hidden = path_without([tool], tmp_path / "links", there)
    counts, shown = _pytest(*plain, path=hidden, TAGLOOM_DATA=str(tmp_path / "none"))
    assert counts == {"passed": 2, "skipped": 3}, shown
    assert f"{tool} not found; install " in shown
    assert "public datasets not found; set TAGLOOM_DATA" in shown
    counts, shown = _pytest(*plain, path=hidden, TAGLOOM_REQUIRE=tool, **data)
    assert counts["passed"] == 3, shown
    assert counts.get("failed", 0) + counts.get("errors", 0) == 2, shown
    assert f"a skip is a failure: Skipped: {tool} not found" in shown


@pytest.mark.medium
@pytest.mark.skipif(os.name != "posix", reason="programs are hidden by links")
def test_a_file_that_skips_as_a_whole_is_a_failure_too(tmp_path):
    made = tmp_path / "test_made.py"
    made.write_text("import pytest\npytest.importorskip('no_such_package')\n", encoding="utf-8")
    plain = ["-c", os.devnull, "-p", "tests.conftest", str(made)]
    assert _pytest(*plain, path=HIDING.path)[0] == {"skipped": 1}
    assert _pytest(*plain, path=HIDING.path, TAGLOOM_REQUIRE="data")[0] == {"error": 1}


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="programs are hidden by links")
def test_without_any_tool_or_data_our_tests_skip_and_none_fails(tmp_path):
    path = path_without(TOOLS, tmp_path / "links", HIDING.path)
    asking = ["-m", "needs and not slow", "tests/metadata", "tests/benchmarks", "tests/cli", "tests/datasets"]
    counts, shown = _pytest(*asking, path=path, TAGLOOM_DATA=str(tmp_path / "none"))
    assert not {"failed", "error", "errors"} & set(counts), shown
    assert counts["skipped"] > 50
    reasons = set(re.findall(r"^SKIPPED \[\d+\] \S+ (.+)$", shown, flags=re.MULTILINE))
    assert reasons
    assert all("not found; " in reason or "needs root" in reason for reason in reasons), reasons


@pytest.mark.skipif(os.name != "posix", reason="programs are hidden by links")
def test_programs_are_hidden_and_all_else_is_found(stand_in, tmp_path, monkeypatch):
    there = stand_in("exiftool")
    (tmp_path / "bin" / "other").symlink_to("exiftool")  # relative, as those of package managers are
    monkeypatch.setenv("PATH", path_without(["exiftool"], tmp_path / "links", there))
    assert find_tool("exiftool") is None
    subprocess.run(["other"], check=True)
    monkeypatch.setenv("PATH", path_without(["strace"], tmp_path / "more", there))
    assert find_tool("exiftool") == str(tmp_path / "bin" / "exiftool")


def test_this_test_asks_for_nothing_and_finds_nothing():
    assert os.name != "posix" or not [tool for tool in TOOLS if find_tool(tool)]
