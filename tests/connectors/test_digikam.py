"""The script for digiKam's queue, called as digiKam calls it: by ``/bin/sh -c``, with the tags in ``TAGSPATH``."""

import os
import subprocess
import sys

import pytest
from PIL import Image

from tagloom.metadata.photo_keywords import read_photo_keywords
from tagloom.project.project import Project
from tests.pages import ROOT

pytestmark = [pytest.mark.medium, pytest.mark.skipif(os.name != "posix", reason="a shell script")]


def queue(photo, output, tags, program):
    """Run the script as digiKam does: it puts the names in quotes."""
    line = f'sh "{ROOT / "connectors" / "digikam" / "queue.sh"}" "{photo}" "{output}"'
    known = os.environ | {"TAGSPATH": tags, "TAGLOOM": str(program)}
    return subprocess.run(["/bin/sh", "-c", line], env=known, capture_output=True, text=True, check=False)


@pytest.fixture
def program(tmp_path):
    found = tmp_path / "tagloom program"
    found.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m tagloom "$@"\n', encoding="utf-8")
    found.chmod(0o755)
    return found


def test_tags_reach_tagloom_and_accepted_keywords_the_sidecar(tmp_path, program):
    folder = tmp_path / "my photos" / "of 2026"
    folder.mkdir(parents=True)
    photo, output = folder / "-dash it's.jpg", tmp_path / "out file.jpg"
    Image.new("RGB", (64, 48), "teal").save(photo)
    before = photo.read_bytes()
    with Project.init(folder.parent) as project:
        project.scan()
        project.label("of 2026/-dash it's.jpg", add="from tagloom")
    done = queue(photo, output, "Animals/Dog;two words;a|b", program)
    assert done.returncode == 0, done.stderr
    assert output.read_bytes() == photo.read_bytes() == before
    with Project.open(folder.parent) as project:
        assert {tag.text for tag in project.tags()} == {"Animals|Dog", "two words", r"a\|b", "from tagloom"}
    found = {keyword.text for keyword in read_photo_keywords(os.fsencode(photo), embedded=False).keywords}
    assert found == {"Animals|Dog", "two words", r"a\|b", "from tagloom"}


def test_a_photo_of_no_project_stops_the_queue(tmp_path, program):
    Image.new("RGB", (64, 48), "teal").save(tmp_path / "a.jpg")
    done = queue(tmp_path / "a.jpg", tmp_path / "out.jpg", "dog", program)
    assert done.returncode != 0
    assert not (tmp_path / "out.jpg").exists()
