import pytest


def test_rows_and_table(tagloom, project):
    rows = tagloom("suggest", "--json", "-n", 2).json["suggestions"]
    assert len(rows) == 2 * 10
    assert [row["rank"] for row in rows[:4]] == [1, 2, 1, 2]
    first = rows[0]
    table = tagloom("suggest", first["photo"])
    assert f"{first['tag']} {first['value']:.2f}" in table.out
    assert "Suggestions for 1 photo\n" in table.out.replace(" \n", "\n").replace("  ", "")


def test_thresholds(tagloom, project):
    assert "nothing to suggest" in tagloom("suggest", "--threshold", 1e9, "--above-only").out
    above = tagloom("suggest", "--threshold", -1e9, "--remember", "--json", "-n", 0).json["suggestions"]
    assert all(row["is_above"] for row in above)
    kept = tagloom("suggest", "--json", "-n", 0).json["suggestions"]
    assert all(row["is_above"] for row in kept)
    tagloom("suggest", "--remember")
    assert not all(row["is_above"] for row in tagloom("suggest", "--json", "-n", 0).json["suggestions"])


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


def test_errors(tagloom, project):
    assert tagloom("suggest", "nowhere.jpg").code == 1
    assert tagloom("suggest", "-n", -1).code == 2
