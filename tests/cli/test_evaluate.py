import pytest


def test_json_and_tables_say_the_same(tagloom, project):
    done = tagloom("evaluate", "--quick", "--folds", 3, "--json", "-q")
    assert (done.code, done.err) == (0, "")
    found = done.json
    assert (found["method"], found["folds"], found["n_labeled"], found["curve"]) == ("ridge", 3, 10, [])
    assert found["map_low"] <= found["map"] <= found["map_high"]
    shown = tagloom("evaluate", "--quick", "--folds", 3, "-q", "-v").out
    assert f"{found['map']:.3f} ({found['map_low']:.3f} to {found['map_high']:.3f})" in shown
    assert all(item["tag"] in shown for item in found["tags"])


def test_tags_of_one_photo_are_told_apart(tagloom, project):
    """The first figure is over tags that can be found again; both lie in their intervals."""
    for number in range(6):
        tagloom("label", f"scene_{number:05d}.jpg", "--add", f"once{number}")
    found = tagloom("evaluate", "--quick", "--folds", 2, "--json", "-q").json
    for name in ("map", "repeated_map"):
        assert found[f"{name}_low"] <= found[name] <= found[f"{name}_high"]
    repeated = [item["average_precision"] for item in found["tags"] if item["n_yes"] >= 2]
    assert found["n_repeated"] == len(repeated)
    assert found["repeated_map"] == pytest.approx(sum(repeated) / len(repeated))
    shown = tagloom("evaluate", "--quick", "--folds", 2, "-q").out
    first, second = (
        shown.index(f"mean average precision, {over}") for over in ("tags with two examples or more", "all tags")
    )
    assert first < second
    assert "too few examples to evaluate" in shown


def test_nothing_is_stored(tagloom, project):
    before = tagloom("status", "--json").json["model"]
    assert tagloom("evaluate", "--quick", "--method", "neighbors", "--json", "-q").json["method"] == "neighbors"
    assert tagloom("status", "--json").json["model"] == before


def test_the_report_has_the_figures_now_and_later(tagloom, project):
    done = tagloom("evaluate", "--quick", "--folds", 2, "--json", "-q", "--report", "a.html")
    figure = f"{done.json['map']:.3f} ({done.json['map_low']:.3f} to"
    assert figure in (project / "a.html").read_text(encoding="utf-8")
    tagloom("label", "scene_00000.jpg", "--add", "fresh")
    assert "before 1 further decision." in tagloom("report").out
    later = (project / "report.html").read_text(encoding="utf-8")
    assert figure in later
    assert "before 1 further decision." in later


def test_figures_are_shown_even_if_the_report_cannot_be_written(tagloom, project):
    done = tagloom("evaluate", "--quick", "--folds", 2, "--json", "-q", "--report", "nowhere/a.html")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert done.json["folds"] == 2


@pytest.mark.parametrize("name", ["scene_00000.jpg", "labels.csv", ".tagloom/tagloom.sqlite"])
def test_a_report_that_must_not_be_written_is_refused_before_the_work(tagloom, project, name):
    before = (project / name).read_bytes()
    done = tagloom("evaluate", "--quick", "--folds", 2, "--report", name)
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert (project / name).read_bytes() == before


def test_long_lists_are_cut(tagloom, project, monkeypatch):
    monkeypatch.setattr("tagloom.cli.evaluate.N_TAGS", 2)
    short, full = (tagloom("evaluate", "--quick", *more).out for more in ([], ["-v"]))
    assert "more tags; -v lists all" in short
    assert "more tags; -v lists all" not in full


def test_curve_forecast_and_groups(tagloom, project, monkeypatch):
    """Twenty labelled photos are enough for a curve; two groups, for a comparison."""
    names = [f"scene_{number:05d}.jpg" for number in range(20)]
    tagloom("label", *names[::2], "--add", "even")
    tagloom("label", *names[1::2], "--remove", "even")
    arguments = ("evaluate", "--folds", 2, "--more", 7, "--groups", "color,edges", "-q")
    found = tagloom(*arguments, "--json").json
    assert found["forecast"]["n_more"] == 7
    assert {item["name"] for item in found["groups"]} >= {"edges"}
    shown = tagloom(*arguments).out
    assert "7 more labelled photos would bring about" in shown
    assert "With fewer labels" in shown
    assert "lost without it" in shown


@pytest.mark.parametrize("wrong", [["--folds", 1], ["--more", 0], ["--folds", "many"]])
def test_wrong_usage(tagloom, project, wrong):
    assert tagloom("evaluate", *wrong).code == 2


def test_nothing_to_learn_from(tagloom, photos):
    tagloom("init", photos)
    done = tagloom("evaluate", "--project", photos, "-q")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)


@pytest.mark.parametrize("labels", ["", "0+", "0+ 0- 1-"])
def test_too_few_labels_are_told_before_any_photo_is_read(tagloom, photos, monkeypatch, labels):
    monkeypatch.chdir(photos)
    tagloom("init", ".")
    tagloom("scan")
    for photo, sign in labels.split():
        assert tagloom("label", f"scene_0000{photo}.jpg", "--add" if sign == "+" else "--remove", "sea").code == 0
    monkeypatch.setattr("tagloom.learning.evaluate.load_rows", lambda *_, **__: pytest.fail("photos are read"))
    done = tagloom("evaluate")
    assert (done.code, done.out, done.err.count("\n")) == (1, "", 1)
    assert "tagloom review" in done.err
