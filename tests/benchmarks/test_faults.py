"""Short versions of the faults; `python -m benchmarks.faults` has the long ones."""

import json
import os

import pytest

from benchmarks.faults import filesystems, full_disk, kills, processes
from benchmarks.faults.__main__ import PAGE, main
from benchmarks.faults.hostile import run as hostile
from benchmarks.faults.report import RESULTS, faults_page
from benchmarks.faults.scene import FOREIGN, make_scene
from benchmarks.faults.server import Outcome
from benchmarks.faults.tasks import NEED_EXIFTOOL, VERBS, available
from benchmarks.faults.verify import Knowledge, verify


@pytest.fixture(scope="module")
def environment():
    """Keep what the faults put into the environment from other tests."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def known(environment, tmp_path):
    return Knowledge.of(make_scene(tmp_path / "photos", n_photos=6))


def test_the_page_is_what_the_results_give():
    assert PAGE.read_text(encoding="utf-8") == faults_page(RESULTS), "run: python -m benchmarks.faults report"


def test_recorded_results_have_no_problem_and_enough_of_everything():
    stored = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in RESULTS.glob("*.json")}
    assert all(result.get("problems", []) == [] for result in stored.values())
    if "kills" in stored:
        assert stored["kills"]["n_inside"] >= 1000
        assert set(stored["kills"]["verbs"]) == set(VERBS)
        assert all(min(item["thirds"]) > 0 for item in stored["kills"]["verbs"].values())
    if "trace" in stored and "skipped" not in stored["trace"]:
        assert {case["verb"] for case in stored["trace"]["cases"]} == set(VERBS)
    if "full-disk" in stored and "skipped" not in stored["full-disk"]:
        cases = stored["full-disk"]["cases"]
        assert set(cases) == set(VERBS)
        assert all(case["n_levels"] >= 20 and case["n_failed"] and case["n_worked"] for case in cases.values())
    if "hostile" in stored:
        n_cases = dict.fromkeys(hostile.KINDS, 0)
        for family in stored["hostile"]["families"]:
            n_cases[family["kind"]] += family["n_cases"]
            assert family["n_violations"] == 0
            assert family["kind"] != "projects" or family["n_runs"] == family["n_cases"] * family["n_verbs"]
        assert n_cases["projects"] >= 150
        assert n_cases["metadata"] >= 200
        assert n_cases["imports"] >= 60
    if "processes" in stored:
        assert {case["n_lost"] for case in stored["processes"]["cases"]} == {0}


@pytest.mark.medium
def test_a_project_at_rest_passes(known):
    assert verify(known) == []


@pytest.mark.medium
@pytest.mark.parametrize("damage", ["original", "torn", "foreign", "gone", "decision", "batch", "model"])
def test_the_verifier_finds_damage(known, damage):
    photo, sidecar = min(known.folder.glob("*.jpg")), min(known.folder.glob("*.xmp"))
    if damage == "original":
        photo.write_bytes(photo.read_bytes() + b"x")
    elif damage == "torn":
        sidecar.write_bytes(sidecar.read_bytes()[:-20])
    elif damage == "foreign":
        sidecar.write_bytes(FOREIGN + b"\n")
    elif damage == "gone":
        sidecar.unlink()
    elif damage == "decision":
        known.hear("label", Outcome(said=['try [1, "sea", 0]', "ack 0"]))
    elif damage == "batch":
        known.hear("label", Outcome(said=['try [1, "night", 1]', "ack 4711"]))
    else:
        next((known.folder / ".tagloom" / "models").iterdir()).write_bytes(b"")
    assert verify(known)


@pytest.mark.medium
def test_a_label_that_was_cut_off_may_stand_or_not(known):
    known.hear("label", Outcome(said=['try [1, "night", 0]']))
    assert verify(known) == []


@pytest.mark.medium
def test_some_kills_lose_nothing(environment, exiftool):
    found = kills.run(12, seed=7)
    assert found["problems"] == []
    assert found["n_inside"] == 12
    assert tuple(found["verbs"]) == VERBS


@pytest.mark.medium
def test_without_exiftool_all_other_verbs_are_killed(environment):
    assert available() == tuple(verb for verb in VERBS if verb not in NEED_EXIFTOOL)
    found = kills.run(3, seed=7)
    assert found["problems"] == []
    assert tuple(found["verbs"]) == available()


@pytest.mark.medium
@pytest.mark.parametrize(
    "verbs", [["write", "undo"], pytest.param(["label", "backup"], marks=pytest.mark.slow)], ids=str
)
def test_a_full_disk_loses_nothing(environment, verbs):
    found = full_disk.run(3, verbs)
    if "skipped" in found:
        pytest.skip(found["skipped"])
    assert found["problems"] == []


@pytest.mark.slow
def test_a_full_disk_loses_no_photo_that_keywords_go_into(environment, exiftool):
    found = full_disk.run(3, NEED_EXIFTOOL)
    if "skipped" in found:
        pytest.skip(found["skipped"])
    assert found["problems"] == []


def test_numbers_are_for_one_kind_of_fault(capsys):
    with pytest.raises(SystemExit):
        main(["all", "--n", "3"])
    assert "--n is for one kind of fault" in capsys.readouterr().err


@pytest.mark.medium
def test_processes_that_label_at_once_lose_nothing(environment):
    found = processes.run(15, 4)
    assert found["problems"] == []
    assert [case["n_labels"] for case in found["cases"]] == [60, 60]


def test_later_verbs_and_families_are_added_to_what_is_recorded():
    def row(family, case, verb, seconds):
        facts = {"family": family, "case": case, "verb": verb, "seconds": seconds}
        return {"kind": "projects", "code": 0, "megabytes": 100.0, "problems": [], **facts}

    known = hostile.summary([row("links", case, "scan", 1.0) for case in ("a", "b")], 2.0)
    more = hostile.summary([row("links", case, "search", 3.0) for case in ("a", "b")] + [row("new", "c", "scan", 1)], 7)
    found = hostile.add(known, more, "abc")
    assert [(one["family"], one["n_cases"], one["n_verbs"], one["n_runs"]) for one in found["families"]] == [
        ("links", 2, 2, 4),
        ("new", 1, 1, 1),
    ]
    assert (found["n_cases"], found["n_runs"], found["families"][0]["longest"]) == (3, 5, 3.0)
    assert found["again"][-1]["commit"] == "abc"
    fewer = hostile.summary([row("links", "a", "search", 3.0)], 1.0)
    with pytest.raises(ValueError, match="links: 1 cases, and 2 are recorded"):
        hostile.add(known, fewer, "abc")
    again = hostile.add(known, fewer, "abc", replace=True)
    assert [(one["family"], one["n_cases"], one["longest"]) for one in again["families"]] == [("links", 1, 3.0)]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["projects", "metadata", "imports"])
def test_what_a_stranger_made_does_no_harm(environment, kind):
    found = hostile.run([kind], every=50)
    assert found["n_runs"] > 0
    assert found["problems"] == []


@pytest.mark.slow
def test_other_disks(environment):
    assert filesystems.run()["problems"] == []
