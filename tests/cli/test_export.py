import csv
import json

import pytest


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
    both = tagloom("export", tmp_path / "b.csv", "-f", "csv", "--threshold", -1e9, "--uncalibrated")
    assert "suggested keywords" in both.out
    assert "not calibrated" not in both.out
    assert f"written: {tmp_path / 'b.csv'}" in both.out


def test_scores_that_are_not_calibrated_stay_in_the_project(tagloom, project, tmp_path):
    done = tagloom("export", tmp_path / "x.csv", "--threshold", -1e9)
    assert "not calibrated yet: label 10 more photos" in done.out
    assert "suggested" not in (tmp_path / "x.csv").read_text(encoding="utf-8")
    told = tagloom("export", tmp_path / "x.csv", "--json").json
    assert (told["n_suggested"], "--uncalibrated" in told["withheld"]) == (0, True)


def test_without_any_label_the_way_on_is_to_label(tagloom, photos, monkeypatch, tmp_path):
    monkeypatch.chdir(photos)
    tagloom("init", ".")
    tagloom("scan", "-q")
    assert "no photo is labelled. Run: tagloom review" in tagloom("export", tmp_path / "x.csv").out
    assert tagloom("write").out == "No photo has keywords yet\n"
    tagloom("label", "scene_00000.jpg", "--add", "sea")
    assert "no suggestions yet. Run: tagloom train" in tagloom("export", tmp_path / "x.csv").out


def test_the_name_tells_the_format(tagloom, project, tmp_path):
    assert tagloom("export", tmp_path / "x.csv", "--json").json["format"] == "csv"
    assert tagloom("export", tmp_path / "x.CSV", "--format", "jsonl", "--json").json["format"] == "jsonl"


def test_what_is_there_is_replaced_if_it_is_an_export_or_on_request(tagloom, project, tmp_path):
    target = tmp_path / "x.csv"
    assert [tagloom("export", target).code for _ in range(2)] == [0, 0]
    target.write_text("mine", encoding="utf-8")
    done = tagloom("export", target)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "--overwrite" in done.err
    assert target.read_text(encoding="utf-8") == "mine"
    assert tagloom("export", target, "--overwrite").code == 0
    assert target.read_text(encoding="utf-8").startswith("file,tag,")
    photo = (project / "scene_00000.jpg").read_bytes()
    assert tagloom("export", "scene_00000.jpg", "--format", "csv", "--overwrite").code == 1
    assert (project / "scene_00000.jpg").read_bytes() == photo


def test_errors(tagloom, project, tmp_path):
    assert tagloom("export").code == 2
    assert tagloom("export", "--format", "csv").code == 2
    done = tagloom("export", tmp_path / "x")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "--format, one of huggingface, csv" in done.err
    for wrong in ("yaml", "yolo-cls", "imagefolder"):
        done = tagloom("export", tmp_path / "x", "--format", wrong)
        assert (done.code, done.out) == (1, "")
        assert done.err.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_standard_output_is_no_target(tagloom, project, tmp_path):
    done = tagloom("export", "-", "--format", "csv")
    assert done.code == 2
    assert "not to standard output" in done.err
    assert not (project / "-").exists()


@pytest.mark.parametrize("url", ["/data/local-files/?d=photos/", "/data/local-files/?d=photos", "https://x.org/a b/"])
def test_photos_have_the_address_that_is_asked_for(tagloom, project, tmp_path, url):
    target = tmp_path / "tasks.json"
    assert tagloom("export", target, "-f", "label-studio", "--photo-url", url).code == 0
    tasks = json.loads(target.read_text(encoding="utf-8"))
    assert tasks[0]["data"]["image"] == url.rstrip("/") + "/scene_00000.jpg"
    for task in tasks:
        del task["data"]["file"]
    target.write_text(json.dumps(tasks), encoding="utf-8")
    assert tagloom("import", target, "--json").json["unmatched"] == []


def test_only_label_studio_holds_addresses(tagloom, project, tmp_path):
    done = tagloom("export", tmp_path / "x.csv", "--photo-url", "https://x.org/")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "only label-studio" in done.err
    assert not (tmp_path / "x.csv").exists()
