import os
import shutil
import subprocess
import sys

import pytest

SCRIPT = "from tagloom.cli import main; main()"


def _complete(words, folder):
    environment = os.environ | {
        "_TAGLOOM_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )
    return done.stdout.split("\n")


def test_commands_options_tags_and_formats(project):
    assert "label" in _complete("tagloom la", project)
    assert "--leave-changed" in _complete("tagloom undo --l", project)
    assert "sea" in _complete("tagloom label scene_00000.jpg --add se", project)
    assert "csv" in _complete("tagloom export x --format c", project)
    assert "merge" in _complete("tagloom tags m", project)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_script_for_the_shell(tmp_path):
    command = f"{sys.executable} -c '{SCRIPT}' --show-completion; true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "_TAGLOOM_COMPLETE=complete_bash" in done.stdout
    assert subprocess.run(["bash", "-n"], input=done.stdout, text=True, check=False).returncode == 0
    home = os.environ | {"HOME": str(tmp_path)}
    install = f"{sys.executable} -c '{SCRIPT}' --install-completion; true"
    subprocess.run(["bash", "-c", install], capture_output=True, text=True, check=True, env=home)
    assert (tmp_path / ".bashrc").is_file()
    assert list(tmp_path.glob(".bash_completions/*"))
