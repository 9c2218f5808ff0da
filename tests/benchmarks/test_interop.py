"""The check of other photo programs: its scores, its page, and the two programs that need no screen."""

import json
from pathlib import Path

import pytest

from benchmarks.datasets import ROOT
from benchmarks.interop.__main__ import PAGE
from benchmarks.interop.cases import CASES, TRIPS
from benchmarks.interop.check import Check
from benchmarks.interop.report import OWN, RESULTS, interop_page
from benchmarks.interop.videos import scored

DOG, CAT = ("dog",), ("Animals", "Cat")


def test_twenty_photos_and_thirty_keywords():
    assert len({case.name for case in CASES}) == 20
    assert sum(len(case.keywords) for case in CASES) >= 30
    assert len({trip.name for trip in TRIPS} | {case.name for case in CASES}) == 20 + len(TRIPS)


def test_edits_of_a_trip():
    trip = next(trip for trip in TRIPS if trip.renamed)
    assert trip.renamed[1] in trip.middle
    assert trip.renamed[0] not in trip.middle
    last = next(trip for trip in TRIPS if "last" in trip.name)
    assert last.middle
    assert last.end == set()


def test_scores(tmp_path):
    check = Check(ROOT, tmp_path)
    score = check._scored({"a": {DOG, CAT}}, {"a": {DOG, ("new",)}})
    assert score == {
        "wanted": 2,
        "read": 1,
        "lost": [["a", ["Animals", "Cat"]]],
        "added": [["a", ["new"]]],
        "cannot hold": [],
    }
    # What a program does not read of its own files is neither wanted nor lost, and what it makes of it not added.
    check._own = {"given": {"a": {DOG, ("c, d",)}}, "program": {"a": {DOG, ("c",), ("d",)}}}
    score = check._scored({"a": {DOG, ("c, d",)}}, {"a": {DOG, ("c",), ("d",)}})
    assert (score["wanted"], score["read"], score["lost"], score["added"]) == (1, 1, [], [])
    assert score["cannot hold"] == [["a", ["c, d"]]]


def test_the_page_tells_programs_apart(tmp_path):
    score = {"wanted": 3, "read": 2, "lost": [["a.jpg", ["x", "y"]]], "added": [["a.jpg", ["z"]]], "cannot hold": []}
    programs = {
        "exiftool": {"version": "12", "checks": {"tagloom's sidecars": score}},
        "darktable": {"version": "4", "checks": {"there and back": {"at the end": score}}},
        "digikam": {"skipped": "digikam not installed"},
    }
    assert "No results yet" in interop_page(tmp_path)
    for label in ("after", "before"):
        (tmp_path / f"{label}.json").write_text(json.dumps({"programs": programs, "environment": {"commit": label}}))
    page = interop_page(tmp_path)
    assert "| program | check | before | after |" in page
    assert "2/3, 1 added" in page
    assert "there and back: at the end" in page
    assert "`x›y` (a.jpg)" in page
    assert "digikam not installed" in page


def test_the_committed_page_is_what_the_results_generate():
    assert PAGE.read_text(encoding="utf-8") == interop_page(RESULTS), "run: python -m benchmarks.interop --report"


@pytest.mark.parametrize("program", ["darktable", "digikam"])
def test_by_the_committed_results_nothing_is_lost_and_nothing_comes_back(program):
    checks = json.loads((RESULTS / "after.json").read_text(encoding="utf-8"))["programs"][program]["checks"]
    trip = checks.pop("there and back")
    for title, score in [*checks.items(), *trip.items()]:
        assert score["lost"] == [] or title == OWN, title
    # darktable does not hold "a, b", so that it cannot take it out either.
    added = [item for score in trip.values() for item in score["added"]]
    assert added in ([], [["trip comma, markup.jpg", ["a, b"]]])


@pytest.mark.slow
def test_programs_without_a_screen(exiftool, exiv2, tmp_path):
    found = Check(ROOT, Path(tmp_path)).run(["exiftool", "exiv2"])
    for program in ("exiftool", "exiv2"):
        for title, score in found[program]["checks"].items():
            assert "not driven" not in score, (program, title)
            # A | inside a name separates levels in lr:hierarchicalSubject, where / stands in for it.
            assert [item for item in score["added"] if item != ["bar.jpg", ["a/b"]]] == []
            assert score["read"] >= score["wanted"] - 3  # roots that equal a level of another keyword


def test_the_page_lists_connectors_and_what_is_not_tested(tmp_path):
    (tmp_path / "connectors").mkdir()
    for label in ("after", "before"):
        (tmp_path / f"{label}.json").write_text(json.dumps({"programs": {}, "environment": {}}))
    assert "## Connectors" not in interop_page(tmp_path)
    told = {"connector": "Porch", "command": "tagloom porch", "how": "a stub", "result": "3 of 4 came"}
    told |= {"programs": {"Porch": "9.1"}, "environment": {"commit": "0123456789"}}
    (tmp_path / "connectors" / "porch.json").write_text(json.dumps(told))
    page = interop_page(tmp_path)
    assert "| Porch | `tagloom porch` | Porch 9.1 | a stub | 3 of 4 came | 0123456 |" in page
    assert "Not tested:" in page


def test_requests_and_answers_are_held_against_a_schema():
    pytest.importorskip("jsonschema")
    from benchmarks.interop.immich import Schema

    asked = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer", "nullable": True}}}
    paths = {"/things/{id}": {"put": {"parameters": []}}}
    schema = Schema(json.dumps({"paths": paths, "components": {"schemas": {"Asked": asked}}}))
    rules = {"$ref": "#/components/schemas/Asked"}
    assert schema.operation("PUT", "/things/7")[2] == {"id": "7"}
    assert schema.operation("GET", "/things/7") is None
    assert schema.problems(rules, {"n": None}, strict=True) == []
    assert schema.problems(rules, schema.example(rules), strict=True) == []
    assert len(schema.problems(rules, {"n": "x"})) == 1
    assert schema.problems(rules, {"n": 1, "m": 2}, strict=True) == ["unknown field m"]


def test_keywords_of_videos_are_counted():
    wanted = {"a.mp4": {("dog",), ("Places", "Rome")}, "b.mov": {("cat",)}}
    found = {"a.mp4": {("dog",), ("Rome",)}, "photo.jpg": {("dog",)}}
    assert scored(wanted, found) == {
        "imported": 1,
        "read": 1,
        "lost": [["a.mp4", ["Places", "Rome"]], ["b.mov", ["cat"]]],
        "added": [["a.mp4", ["Rome"]]],
        "keywords of the photo": [["dog"]],
    }
