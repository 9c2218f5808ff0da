import csv


def test_formats_are_listed_without_a_project(tagloom, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "label-studio" in tagloom("export", "--list-formats").out
    listed = {item["name"]: item for item in tagloom("export", "--list-formats", "--json").json["formats"]}
    assert listed["csv"]["reads"] is listed["csv"]["writes"] is True


def test_a_table(tagloom, project, tmp_path):
    target = tmp_path / "out.csv"
    done = tagloom("export", target, "--format", "csv", "--accepted-only", "--json")
    assert done.json["n_suggested"] == 0
    with open(target, newline="", encoding="utf-8") as handle:
        assert {row["source"] for row in csv.DictReader(handle)} >= {"accepted"}
    both = tagloom("export", tmp_path / "b.csv", "-f", "csv", "--threshold", -1e9)
    assert "suggested keywords" in both.out
    assert f"written: {tmp_path / 'b.csv'}" in both.out


def test_errors(tagloom, project, tmp_path):
    assert tagloom("export", tmp_path / "x.csv").code == 2
    assert tagloom("export", "--format", "csv").code == 2
    for wrong in ("yaml", "yolo-cls", "imagefolder"):
        done = tagloom("export", tmp_path / "x", "--format", wrong)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1
    assert not (tmp_path / "x").exists()
