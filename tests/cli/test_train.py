from tagloom.project.project import Project


def test_a_new_model(tagloom, project):
    done = tagloom("train", "--json", "-q")
    assert done.code == 0
    assert done.err == ""
    assert (done.json["method"], done.json["n_labeled"], done.json["groups"]) == ("ridge", 10, {"color": 64})
    table = tagloom("train", "--method", "neighbors", "--neighbors", 3, "-v")
    assert "group color" in table.out
    assert "neighbors" in table.out


def test_progress_goes_to_standard_error(tagloom, project):
    done = tagloom("train", "--json")
    assert "learning (ridge)" in done.err
    assert done.json["model"] == 2


def test_nothing_to_learn_from(tagloom, photos):
    Project.init(photos).close()
    done = tagloom("train", "--project", photos, "-q")
    assert done.code == 1
    assert "tagloom import" in done.err
    assert tagloom("train", "--project", photos, "--method", "magic", "-q").code == 1


def test_scores_that_are_not_calibrated_are_told(tagloom, project):
    assert "Scores are not calibrated yet: label 10 more photos." in tagloom("train", "-q").out
    assert tagloom("train", "-q", "--json").json["n_above"] == 0
    tagloom("import", "truth.csv", "-q")
    assert "not calibrated" not in tagloom("train", "-q").out
