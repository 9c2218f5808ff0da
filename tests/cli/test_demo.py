from pathlib import Path


def test_json(tagloom, tmp_path):
    done = tagloom("demo", "--out", tmp_path / "demo", "--photos", 20, "--labeled", 0.5, "--json", "-q")
    assert (done.code, done.err) == (0, "")
    assert (done.json["n_photos"], done.json["n_labeled"], done.json["method"]) == (20, 10, "ridge")
    assert done.json["comparison"]["n_photos"] == 10
    assert Path(done.json["files"]["report"]).parent == tmp_path / "demo"


def test_wrong_numbers_are_wrong_usage(tagloom, tmp_path):
    for wrong in (["--photos", 3], ["--photos", "many"], ["--labeled", 2], ["--seed", -1]):
        done = tagloom("demo", "--out", tmp_path / "demo", *wrong, "--json")
        assert (done.code, done.out) == (2, "")
    assert not (tmp_path / "demo").exists()
