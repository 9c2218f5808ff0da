"""Files for containers and services: they name commands, options and files that exist, and give no rights away."""

import configparser
import re
import shlex

from typer.main import get_command

from tagloom.cli.app import app
from tests.pages import ROOT

CONTAINER = ROOT / "connectors" / "container"


def check_command(words):
    """Look whether a command and its options exist."""
    command = get_command(app)
    words = words[words.index("tagloom") + 1 :]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known, words


def test_the_container_runs_a_command_that_exists_as_a_user_without_rights():
    text = (CONTAINER / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    steps = re.findall(r"^([A-Z]+) (.*)$", text, re.MULTILINE)
    last = {name: value for name, value in steps}  # noqa: C416 - of each the last counts
    assert last["USER"] == "tagloom"
    assert [name for name, _ in steps].index("USER") > [name for name, _ in steps].index("COPY")
    check_command(["tagloom", *re.findall(r'"([^"]+)"', last["CMD"])])
    assert "/api/v1/health" in last["HEALTHCHECK"] or "/api/v1/health" in text
    assert "--require-hashes" in text
    for name, value in steps:
        if name == "COPY" and "--from" not in value:
            for source in value.split()[:-1]:
                assert (ROOT / source).exists()
                assert f"!{source}" in (CONTAINER / "Dockerfile.dockerignore").read_text(encoding="utf-8").split()
    python = re.findall(r"^FROM python:([\d.]+)-slim", text, re.MULTILINE)
    assert set(python) == {"3.13"}


def test_the_compose_example_is_for_this_computer_alone_and_mounts_photos_read_only():
    text = (CONTAINER / "compose.yaml").read_text(encoding="utf-8")
    assert re.findall(r'- "([\d.:]+)"', text) == ["127.0.0.1:8765:8765"]
    assert re.search(r"}:/photos:ro$", text, re.MULTILINE)
    for line in re.findall(r"^#   docker compose (.*)$", text, re.MULTILINE):
        words = shlex.split(line)
        if "tagloom" not in words:
            continue
        last = len(words) - words[::-1].index("tagloom") - 1
        if words[last + 1 :]:
            check_command(words[last:])


def test_the_service_runs_a_command_that_exists():
    service = configparser.ConfigParser(strict=False, interpolation=None)
    service.optionxform = str
    service.read(ROOT / "connectors" / "systemd" / "tagloom.service", encoding="utf-8")
    words = shlex.split(service["Service"]["ExecStart"])
    assert words[0].endswith("/tagloom")
    check_command(["tagloom", *words[1:]])
    assert service["Service"]["NoNewPrivileges"] == "true"
