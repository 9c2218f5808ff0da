import pytest

from tagloom.learning.methods import LEARNERS


def test_names_are_one_a_line(tagloom):
    assert tagloom("methods", "--names").out.split() == list(LEARNERS)
    assert tagloom("methods", "nova", "--names").out == "nova\n"


def test_a_method_lists_its_parameters(tagloom):
    shown = tagloom("methods", "nova").out
    assert "Wu, Yuan, Rui, Yan, Zhuang 2012" in shown
    assert "group_scad" in shown
    assert "tagloom methods nova" not in shown
    found = tagloom("methods", "tkml", "--json").json["methods"]
    assert [one["name"] for one in found] == ["tkml"]
    parameters = {one["name"]: one for one in found[0]["parameters"]}
    assert parameters["weighted"] == {"name": "weighted", "default": False, "expected": "true or false"}
    everything = tagloom("methods", "--json").json["methods"]
    assert {one["name"] for one in everything} == set(LEARNERS)
    assert all(one["summary"] for one in everything)


def test_a_method_that_is_not_there(tagloom):
    done = tagloom("methods", "novae")
    assert (done.code, done.err) == (1, "tagloom: No method 'novae'. Did you mean nova? Run: tagloom methods\n")


def test_parameters_are_set_for_one_run(tagloom, project):
    done = tagloom(
        "train", "--method", "neighbors", "--set", "n_neighbors=2", "--set", "weights=uniform", "-q", "--json"
    )
    assert done.json["method"] == "neighbors"
    first = tagloom("suggest", "--json", "-n", 0).json["suggestions"]
    tagloom("train", "--method", "neighbors", "-q")
    assert tagloom("suggest", "--json", "-n", 0).json["suggestions"] != first


def test_parameters_stand_in_the_file(tagloom, project, monkeypatch):
    monkeypatch.delenv("TAGLOOM_METHOD")
    (project / ".tagloom" / "tagloom.toml").write_text(
        '[method]\nname = "neighbors"\n[method.neighbors]\nn_neighbors = 2\nweights = "uniform"\n'
    )
    said = tagloom("train", "-q").err  # a copy of a project is somebody else's until it is trusted
    assert said.startswith("ignored method_parameters because you do not trust this project yet.")
    tagloom("trust", "--yes")
    assert tagloom("train", "-q", "--json").json["method"] == "neighbors"
    assert tagloom("evaluate", "--quick", "-q", "--json").json["method"] == "neighbors"
    (project / ".tagloom" / "tagloom.toml").write_text("[method.neighbors]\nn_neighbours = 2\n")
    tagloom("trust", "--yes")
    done = tagloom("train", "--method", "neighbors", "-q")
    assert done.code == 1
    assert "Method neighbors has no parameter 'n_neighbours'. Did you mean n_neighbors?" in done.err


@pytest.mark.parametrize("command", ["train", "evaluate", "annotate"])
def test_a_wrong_parameter_is_known_before_any_photo_is_read(tagloom, project, tmp_path, command):
    more = [project, "--labels", project / "labels.csv", "--out", tmp_path / "out"] if command == "annotate" else []
    done = tagloom(command, *more, "--method", "svm", "--set", "C=-1", "-q")
    assert done.code == 1
    assert done.err.strip().splitlines()[-1] == (
        "tagloom: Parameter C of method svm must be a number above 0, got -1. Run: tagloom methods svm"
    )
