"""What the verbs of a project leave in the log."""

import logging
import re

import pytest
from PIL import Image

from tagloom.catalog.logs import configure_logging, stop_logging
from tagloom.exceptions import InvalidInputError
from tagloom.project.project import Project

LIGHT = {"descriptors": "color", "n_workers": 1, "n_threads": 1, "method": "ridge"}
SECRET = "a-private-word"


@pytest.fixture(autouse=True)
def _stop():
    yield
    stop_logging()


@pytest.fixture
def project(tmp_path):
    """Return a project of four photos and two files that are none."""
    for number in range(4):
        Image.new("RGB", (64, 48), (60 * number, 90, 200)).save(tmp_path / f"photo{number}.jpg")
    (tmp_path / "text.jpg").write_text("no photo")
    (tmp_path / "empty.jpg").write_bytes(b"")
    with Project.init(tmp_path, flags=LIGHT) as project:
        yield project


def lines(path):
    return [line.partition("catalog.logs: ")[2] for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.medium
def test_each_verb_has_a_line_and_each_failed_file_another(project, tmp_path):
    log = configure_logging(tmp_path / "logs")
    project.scan()
    project.label(["photo0.jpg", "photo1.jpg"], add=[SECRET])
    project.label(["photo2.jpg"], remove=[SECRET])
    project.train()
    (tmp_path / "photo0.jpg.xmp").write_text("<broken")
    project.write()
    project.undo()
    found = lines(log)
    begins = [line.partition(":")[0] for line in found]
    assert begins == ["scan", "scan", "scan", "label", "label", "train", "write", "write", "undo"]
    assert re.fullmatch(r"scan: listed 6, .*new 6.*; \d+\.\d s", found[0])
    assert {line.split(": ")[1] for line in found[1:3]} == {"empty.jpg", "text.jpg"}
    assert re.fullmatch(r"label: action \d+, photos 2, decisions 2, created 1; \d+\.\d s", found[3])
    assert "method ridge" in found[5]
    assert "failed 1" in found[6]
    assert found[7].startswith("write: photo0.jpg: ")
    assert all(re.search(r"; \d+\.\d s$", line) for line in (*found[3:7], found[8]))
    assert SECRET not in log.read_text(encoding="utf-8")


def test_a_verb_that_fails_is_noted_with_the_reason(project, tmp_path):
    log = configure_logging(tmp_path / "logs")
    with pytest.raises(InvalidInputError):
        project.label(["nowhere.jpg"], add=["sea"])
    (line,) = lines(log)
    assert re.match(r"label: failed after \d+\.\d s: InvalidInputError: .*'nowhere.jpg'", line)


def test_without_a_log_nothing_is_printed(project, capfd, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    with pytest.raises(InvalidInputError):
        project.label(["nowhere.jpg"], add=["sea"])
    project.scan()
    assert capfd.readouterr() == ("", "")


def test_very_many_failures_are_cut(project, tmp_path, monkeypatch):
    monkeypatch.setattr("tagloom.catalog.logs.MOST_FILES", 1)
    log = configure_logging(tmp_path / "logs")
    project.scan()
    assert lines(log)[-1] == "scan: and 1 more files"
