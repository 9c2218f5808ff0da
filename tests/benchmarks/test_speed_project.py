import json
from pathlib import Path

import pytest

from benchmarks.errors import BenchmarkError
from benchmarks.speed import new_photos, project
from tagloom.project.project import Project


def test_the_made_up_photos_are_known_and_nothing_is_read(tmp_path):
    project.make_project(tmp_path, 30, 7, 3)
    with Project.open(tmp_path) as opened:
        found = opened.scan()
        assert (found.n_listed, found.n_same, found.n_read, found.n_duplicates) == (30, 30, 0, 0)
        now = opened.status()
        assert (now.n_present, now.n_labeled, now.n_tags) == (30, 30, 3)


def test_the_quick_run_states_what_each_command_adds_to_the_bare_start(tmp_path, capsys):
    project.main(["--quick", "--out", str(tmp_path / "project.json")])
    (stored,) = json.loads((tmp_path / "project.json").read_text(encoding="utf-8"))["cases"]
    start, *others = stored["entries"]
    assert start["name"] == "tagloom --version"
    assert [entry["name"] for entry in others] == ["tagloom status", "tagloom label", "tagloom scan"]
    for entry in others:
        over = entry["accuracy"]["cpu ms over the bare start"]
        assert over == pytest.approx(1000 * (entry["cpu"] - start["cpu"]))
    assert others[-1]["accuracy"]["files/s"] == pytest.approx(200 / others[-1]["wall"])
    assert "files/s" in capsys.readouterr().out


def test_new_photos_are_scanned_and_their_keywords_imported_by_each_version_in_turn(tmp_path):
    roots = {name: tmp_path / f"new{len(name)}" for name in ("", new_photos.BEFORE)}
    for root in roots.values():
        root.mkdir()
        new_photos.make_photos(root, 4)
    source = Path(project.__file__).parents[2] / "src"  # this version itself, as another one is not at hand
    found = new_photos.new_photos_case(roots, 4, 1, 1, source)
    assert [len(entry["cpu_runs"]) for entry in found["entries"]] == [1, 1, 1, 1]
    now, then = found["entries"][2:]
    assert found["ratios"]["tagloom import --from-photos: CPU time over that before"] == now["cpu"] / then["cpu"]
    for root in roots.values():
        with Project.open(root) as opened:
            status = opened.status()
            assert (status.n_present, status.n_labeled) == (4, 4)
            assert len(opened.store.runs.imports()) == 1  # each began with the project as the scan left it


def test_a_command_that_fails_is_told(tmp_path):
    with pytest.raises(BenchmarkError, match=r"tagloom status failed: .*no tagloom project"):
        project.program(tmp_path, lambda: ["status"])()
