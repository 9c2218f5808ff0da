import json
import sys

import pytest

from tagloom.learning import suggest as project_suggest
from tagloom.project.project import Project

FEW = {"calibrated": False, "labels_needed": 10}


def test_rows_and_table(tagloom, project):
    rows = tagloom("suggest", "--json", "-n", 2).json["suggestions"]
    assert len(rows) == 2 * 10
    assert [row["rank"] for row in rows[:4]] == [1, 2, 1, 2]
    first = rows[0]
    table = tagloom("suggest", first["photo"])
    assert f"{first['tag']} {first['value']:.2f}" in table.out
    assert "Suggestions for 1 photo\n" in table.out.replace(" \n", "\n").replace("  ", "")


def test_thresholds(tagloom, project):
    assert "Nothing to suggest" in tagloom("suggest", "--threshold", 1e9, "--above-only").out
    above = tagloom("suggest", "--threshold", -1e9, "--remember", "--json", "-n", 0).json["suggestions"]
    assert all(row["is_above"] for row in above)
    kept = tagloom("suggest", "--json", "-n", 0).json["suggestions"]
    assert all(row["is_above"] for row in kept)
    tagloom("suggest", "--remember")
    assert not any(row["is_above"] for row in tagloom("suggest", "--json", "-n", 0).json["suggestions"])


@pytest.mark.parametrize("wrong", ["nan", "inf", "-inf"])
def test_thresholds_are_finite(tagloom, project, wrong, tmp_path):
    for command in (
        ["suggest"],
        ["suggest", "--remember"],
        ["write", "--dry-run"],
        ["export", tmp_path / "a.csv", "-f", "csv"],
    ):
        done = tagloom(*command, f"--threshold={wrong}")
        assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
        assert f"finite number, got {wrong}" in done.err
    assert not (tmp_path / "a.csv").exists()


def test_thresholds_of_probabilities_lie_between_0_and_1(tagloom, project, tmp_path):
    tagloom("import", "truth.csv", "-q")
    tagloom("train", "-q")
    assert {row["kind"] for row in tagloom("suggest", "--json").json["suggestions"]} <= {"probability"}
    for command in (
        ["suggest"],
        ["suggest", "--remember"],
        ["write", "--dry-run"],
        ["export", tmp_path / "a.csv", "-f", "csv"],
    ):
        for wrong in (2, -0.1):
            done = tagloom(*command, "--threshold", wrong)
            assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
            assert "between 0 and 1" in done.err
    for right in (0, 0.5, 1):
        assert tagloom("write", "--dry-run", "--threshold", right).code == 0


def test_scores_are_marked_until_they_are_calibrated(tagloom, project):
    assert "Scores are not calibrated yet: label 10 more photos." in tagloom("suggest").out
    tagloom("import", "truth.csv", "-q")
    tagloom("train", "-q")
    assert "not calibrated" not in tagloom("suggest").out
    told = tagloom("suggest", "--json").json
    assert (told["calibrated"], told["labels_needed"]) == (True, 0)


def test_errors(tagloom, project):
    assert tagloom("suggest", "nowhere.jpg").code == 1
    assert tagloom("suggest", "-n", -1).code == 2


@pytest.mark.parametrize("options", [["-n", 0], ["-n", 2], ["--above-only", "--threshold", 0.1], ["scene_00000.jpg"]])
def test_the_document_is_that_of_the_whole_list(tagloom, project, options):
    done = tagloom("suggest", "--json", *options)
    n = options[1] if options[0] == "-n" else 5
    with Project.open(project) as opened:
        rows = opened.suggest(
            options if options[0].endswith("jpg") else None,
            n=n,
            threshold=0.1 if "--threshold" in options else None,
            above_only="--above-only" in options,
        )
    assert done.out == json.dumps(FEW | {"suggestions": [row.as_dict() for row in rows]}, indent=2) + "\n"
    assert done.err == ""


def test_nothing_to_suggest_is_an_empty_list(tagloom, project):
    assert tagloom("suggest", "--json", "--above-only", "--threshold", 1e9).json == FEW | {"suggestions": []}


def test_what_is_known_is_printed_before_the_next_one_is_made(tagloom, project, monkeypatch):
    printed = []

    class Watched(project_suggest.Suggestion):
        def __init__(self, *values):
            printed.append(sys.stdout.getvalue().count('"photo_id"'))
            super().__init__(*values)

    monkeypatch.setattr(project_suggest, "Suggestion", Watched)
    n = len(tagloom("suggest", "--json", "-n", 0).json["suggestions"])
    assert n > 20
    assert printed == list(range(n))


def test_errors_come_before_the_document(tagloom, photos):
    tagloom("init", photos)
    done = tagloom("suggest", "--json", "--project", photos)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "train first" in done.err


def test_search_by_words(tagloom, project):
    found = tagloom("search", "scene_00007", "--json").json
    assert [one["photo"] for one in found["photos"]] == ["scene_00007.jpg"]
    shown = tagloom("search", "scene_00007").out
    assert "1 photo may match scene_00007" in shown
    missing = tagloom("search", "mountian")
    assert (missing.code, missing.out) == (0, 'No photos match "mountian". Did you mean mountain?\n')
    assert tagloom("search", "?").code == 1


def test_the_table_has_likely_suggestions_alone(tagloom, project):
    rows = tagloom("suggest", "--json", "-n", 5).json["suggestions"]
    likely = {row["photo"] for row in rows if row["value"] >= 0 or row["is_above"]}
    table, whole = tagloom("suggest").out, tagloom("suggest", "-v").out
    assert all((row["photo"] in table) == (row["photo"] in likely) for row in rows)
    assert all(row["photo"] in whole for row in rows)
    assert "-v shows all" in table if len(likely) < len({row["photo"] for row in rows}) else True
