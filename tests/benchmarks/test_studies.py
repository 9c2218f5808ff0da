import json

import pytest

from benchmarks import figures, methods, report, studies
from benchmarks.errors import BenchmarkError, DataMissingError
from benchmarks.experiment import read_experiment
from benchmarks.papers import __main__ as papers
from benchmarks.summary import Summary

EXPERIMENT = """
title = "A toy"
seed = 1
metrics = ["map"]
[selection]
metric = "map"
on = "unlabeled"
n_splits = 3
paper = "best_on_test"
[[data]]
name = "blobs"
dataset = "toy"
parameters = { n_rows = 60 }
split = { scheme = "transductive", labeled = 0.5, draws = 1 }
[[methods]]
name = "prior"
class = "tag_prior"
[[studies]]
name = "count"
title = "How many"
function = "counting:count"
parameters = { upto = 3 }
text = "Numbers."
"""


@pytest.fixture
def calls(monkeypatch):
    seen = []

    def count(experiment, upto):
        seen.append((experiment.name, upto))
        panel = {
            "title": "squares", "x_label": "n", "y_label": "n²", "log_x": True, "x": [1, 2, 3],
            "lines": {"square": [1, 4, 9]}, "dotted": {"square": 5.0}, "marks": {"here": 2},
        }  # fmt: skip
        rows = [[str(number), str(number**2)] for number in range(upto)]
        return {"tables": [{"caption": "Squares:", "header": ["n", "n²"], "rows": rows}], "panels": [panel]}

    original = methods.find
    monkeypatch.setattr(studies, "find", lambda path: count if path == "counting:count" else original(path))
    return seen


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "papers" / "toy"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "expected.toml").write_text("table = []\n", encoding="utf-8")
    return folder


def quiet(_line):
    pass


def run(folder, **options):
    studies.run_studies(read_experiment(folder), say=quiet, **options)
    return studies.finished_studies(read_experiment(folder))


def test_a_study_is_run_once_until_its_parameters_change(folder, calls):
    first = run(folder)
    assert run(folder) == first
    assert calls == [("toy", 3)]
    assert run(folder, names=("other",)) == first
    text = EXPERIMENT.replace("How many", "Other title").replace('"Numbers."', '"Other text."')
    (folder / "experiment.toml").write_text(text, encoding="utf-8")
    assert run(folder) == first
    (folder / "experiment.toml").write_text(EXPERIMENT.replace("upto = 3", "upto = 4"), encoding="utf-8")
    assert studies.finished_studies(read_experiment(folder)) == {}
    assert len(run(folder)["count"]["result"]["tables"][0]["rows"]) == 4
    assert run(folder, fresh=True)
    assert calls == [("toy", 3), ("toy", 4), ("toy", 4)]


def test_missing_data_leave_a_study_out(folder, monkeypatch):
    def missing(_experiment, upto):
        raise DataMissingError("not here")

    monkeypatch.setattr(studies, "find", lambda _path: missing)
    said = []
    studies.run_studies(read_experiment(folder), say=said.append)
    assert said == ["study count: data missing: not here"]
    assert not (folder / "studies.json").exists()


def test_the_page_has_the_tables_and_the_figure(folder, calls):
    assert calls == []
    assert "No results yet." in report.paper_page(read_experiment(folder))
    run(folder)
    text = report.paper_page(read_experiment(folder), {"toy-count.svg"})
    for part in ("## How many", "Numbers.", "Squares:", "| 2 | 4 |", "](toy-count.svg)"):
        assert part in text


def test_panels_are_drawn(folder, calls, matplotlib):
    run(folder)
    assert calls
    experiment = read_experiment(folder)
    page = folder.parent / "docs" / "toy.md"
    assert figures.draw_figures(experiment, Summary(experiment, []), page.with_suffix(".svg"))
    drawn = (page.parent / "toy-count.svg").read_text(encoding="utf-8")
    assert "<svg" in drawn
    first = drawn
    figures.draw_figures(experiment, Summary(experiment, []), page.with_suffix(".svg"))
    assert (page.parent / "toy-count.svg").read_text(encoding="utf-8") == first


def test_panels_of_series_are_drawn_each_on_its_own_scale(folder, monkeypatch, matplotlib):
    monkeypatch.setattr(figures, "_save", lambda figure, path: saved.update({path.name: figure}))
    saved, panels = {}, []
    for name, height in (("share", 0.5), ("length", 50.0)):
        series = {"a": [[height, 2 * height], [0.1, 0.1]], "b": [[height, height], None]}
        panels.append({"title": name, "x_label": "n", "y_label": name, "log_x": True, "x": [1, 10], "series": series})
    monkeypatch.setattr(studies, "find", lambda _path: lambda _experiment, **_parameters: {"panels": panels})
    run(folder)
    experiment = read_experiment(folder)
    assert figures.draw_figures(experiment, Summary(experiment, []), folder.parent / "toy.svg")
    # One condition: the honest column would be one point.
    assert set(saved) == {"toy-count.svg"}
    left, right = saved["toy-count.svg"].axes
    assert left.get_ylim()[1] < 2 < right.get_ylim()[0]
    assert (left.get_legend() is None, right.get_legend() is None) == (True, False)


def test_the_command_runs_cells_and_studies_or_one_of_them(folder, calls, monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.experiment.PAPERS", folder.parent)
    monkeypatch.setattr(papers, "PAPERS", folder.parent)
    monkeypatch.setattr(papers, "DOCS", folder.parent.parent / "docs")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    assert papers.main(["run", "toy", "--study", "count"]) == 0
    assert json.loads((folder / "results.json").read_text(encoding="utf-8"))["cells"] == []
    assert papers.main(["run", "toy", "--method", "prior", "--fresh"]) == 0
    assert len(calls) == 1
    assert papers.main(["list"]) == 0
    assert "1 of 1 cells, 1 of 1 studies" in capsys.readouterr().out
    assert papers.main(["run", "toy", "--study", "nothing"]) == 2
    assert "no study ['nothing']" in capsys.readouterr().err


def test_an_unknown_key_is_named(folder):
    (folder / "experiment.toml").write_text(EXPERIMENT + "colour = 1\n", encoding="utf-8")
    with pytest.raises(BenchmarkError, match="colour"):
        read_experiment(folder)
