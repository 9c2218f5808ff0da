import json

import numpy as np
import pytest

import benchmarks.papers.__main__ as papers
from benchmarks import datasets, methods, report, runner
from benchmarks.errors import BenchmarkError, DataMissingError
from benchmarks.experiment import read_expected, read_experiment
from benchmarks.results import CellStore, read_cells, seed_of
from benchmarks.summary import Summary, statuses

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
split = { scheme = "transductive", labeled = [0.2, 0.5], draws = 2 }
[[methods]]
name = "centroid"
class = "fake_centroid"
grid = { noise = [0.0, 100.0] }
"""
EXPECTED = """
[[table]]
title = "Table 1"
source = "made up"
metric = "unlabeled/map"
tolerance = 0.02
[table.values.blobs]
centroid = { "20 %" = 0.9 }
absent = { "20 %" = 0.9 }
"""


class FakeCentroid:
    """Scores by distance to each tag's mean, made worse by noise."""

    fits = 0

    def __init__(self, noise=0.0, *, random_state=None):
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, Y):
        type(self).fits += 1
        positive = (Y == 1).astype(float)
        means = positive.T @ X / np.maximum(positive.sum(axis=0), 1)[:, None]
        generator = np.random.default_rng(self.random_state)
        distances = np.linalg.norm(X[:, None] - means[None], axis=2)
        self.transduction_ = -distances + self.noise * generator.standard_normal(distances.shape)
        return self


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setitem(methods.METHODS, "fake_centroid", FakeCentroid)
    monkeypatch.setattr(FakeCentroid, "fits", 0)
    folder = tmp_path / "papers" / "toy"
    folder.mkdir(parents=True)
    (folder / "experiment.toml").write_text(EXPERIMENT, encoding="utf-8")
    (folder / "expected.toml").write_text(EXPECTED, encoding="utf-8")
    return folder


def quiet(_line):
    pass


def run(folder, **options):
    return runner.run(read_experiment(folder), say=quiet, **options)


def scores(cells):
    return [(cell.key, cell.test, cell.inside) for cell in cells]


def test_a_second_run_computes_nothing_and_gives_the_same(folder):
    first = run(folder)
    assert len(first) == 2 * 2 * 2
    fits = FakeCentroid.fits
    assert fits == 8 * (1 + 3)
    assert scores(run(folder)) == scores(first)
    assert FakeCentroid.fits == fits


def test_an_interrupted_run_goes_on_where_it_was_and_ends_the_same(folder, monkeypatch):
    whole = scores(run(folder, fresh=True))
    for path in (folder / ".cache").iterdir():
        path.unlink()
    original, calls = runner.run_cell, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(runner, "run_cell", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(folder)
    assert len(list((folder / ".cache").iterdir())) == 3
    monkeypatch.setattr(runner, "run_cell", original)
    FakeCentroid.fits = 0
    assert scores(run(folder)) == whole
    assert FakeCentroid.fits == 5 * (1 + 3)


def test_results_do_not_depend_on_the_order_of_methods_or_grid(folder):
    first = {cell.key: cell.test for cell in run(folder)}
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    (folder / "experiment.toml").write_text(text.replace("[0.0, 100.0]", "[100.0, 0.0]"), encoding="utf-8")
    assert {cell.key: cell.test for cell in run(folder, fresh=True)} == first


def test_changing_what_is_computed_changes_the_key_and_retitling_does_not(folder):
    keys = {cell.key for cell in runner.cells_of(read_experiment(folder))}
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    (folder / "experiment.toml").write_text(text.replace("A toy", "B").replace('"centroid"', '"c"'), encoding="utf-8")
    assert {cell.key for cell in runner.cells_of(read_experiment(folder))} == keys
    (folder / "experiment.toml").write_text(text.replace("n_rows = 60", "n_rows = 61"), encoding="utf-8")
    assert not keys & {cell.key for cell in runner.cells_of(read_experiment(folder))}


def test_seeds_come_from_identity():
    assert seed_of({"a": 1, "b": 2}) == seed_of({"b": 2, "a": 1}) != seed_of({"a": 1, "b": 3})


def test_the_two_columns_by_hand(folder):
    cells = run(folder)
    summary = Summary(read_experiment(folder), cells)
    place = [cell for cell in cells if cell.condition == "20 %"]
    by_point = {
        noise: [cell.test["unlabeled/map"] for cell in place if cell.point["noise"] == noise] for noise in (0.0, 100.0)
    }
    paper = summary.paper("blobs", "20 %", "centroid", "unlabeled/map")
    assert paper.mean == pytest.approx(max(np.mean(values) for values in by_point.values()))
    honest = summary.honest("blobs", "20 %", "centroid", "unlabeled/map")
    chosen = []
    for draw in (0, 1):
        in_draw = [cell for cell in place if cell.draw == draw]
        chosen.append(max(in_draw, key=lambda cell: cell.inside).test["unlabeled/map"])
    assert honest.mean == pytest.approx(np.mean(chosen))
    assert honest.deviation == pytest.approx(np.std(chosen, ddof=1))


def test_the_honest_column_never_looks_at_the_test_part(folder):
    cells = run(folder)
    for cell in cells:  # make the noisy point look perfect on the test part
        if cell.point["noise"] == 100.0:
            cell.test["unlabeled/map"] = 1.0
    summary = Summary(read_experiment(folder), cells)
    assert summary.paper("blobs", "20 %", "centroid", "unlabeled/map").points[0] == {"noise": 100.0}
    assert summary.honest("blobs", "20 %", "centroid", "unlabeled/map").points == ({"noise": 0.0}, {"noise": 0.0})


def test_statuses_are_computed_from_the_tolerance(folder):
    experiment = read_experiment(folder)
    summary = Summary(experiment, run(folder))
    mean = summary.paper("blobs", "20 %", "centroid", "unlabeled/map").mean
    for published, status in [(mean + 0.019, "reproduced"), (mean - 0.021, "not reproduced")]:
        text = EXPECTED.replace('centroid = { "20 %" = 0.9 }', f'centroid = {{ "20 %" = {published} }}')
        (folder / "expected.toml").write_text(text, encoding="utf-8")
        told = statuses(summary, read_expected(folder))
        assert [row["status"] for row in told] == [status, "not run"]


def test_a_status_written_by_hand_is_refused(folder):
    (folder / "expected.toml").write_text(EXPECTED.replace("tolerance", 'status = "reproduced"\ntolerance'))
    with pytest.raises(BenchmarkError, match="status"):
        read_expected(folder)


def test_missing_data_is_a_status_with_its_reason_and_is_tried_again(folder, monkeypatch):
    def missing(**_parameters):
        raise DataMissingError("the archive is not here")

    datasets._load.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(datasets.LOADERS, "toy", missing)
        cells = run(folder)
    told = statuses(Summary(read_experiment(folder), cells), read_expected(folder))
    assert [(row["status"], row["reason"]) for row in told] == [("data missing", "the archive is not here")] * 2
    assert all(not cell.error for cell in run(folder))


def test_an_error_of_a_method_is_recorded_in_its_cell(folder, monkeypatch):
    def fail(self, X, Y):
        raise ValueError("no luck")

    monkeypatch.setattr(FakeCentroid, "fit", fail)
    assert {cell.error for cell in run(folder)} == {"ValueError: no luck"}


def test_fixed_choice_uses_the_papers_point_and_keeps_it_out_of_the_honest_grid(folder):
    text = EXPERIMENT.replace("best_on_test", "fixed").replace("[0.0, 100.0]", "[0.0, 50.0]")
    (folder / "experiment.toml").write_text(text + "paper = { noise = 100.0 }\n", encoding="utf-8")
    summary = Summary(read_experiment(folder), run(folder))
    assert summary.paper("blobs", "20 %", "centroid", "unlabeled/map").points[0] == {"noise": 100.0}
    assert {"noise": 100.0} not in summary.honest("blobs", "20 %", "centroid", "unlabeled/map").points


def test_unknown_keys_are_named(folder):
    (folder / "experiment.toml").write_text(EXPERIMENT + "colour = 1\n", encoding="utf-8")
    with pytest.raises(BenchmarkError, match="colour"):
        read_experiment(folder)


@pytest.fixture
def command(folder, monkeypatch):
    monkeypatch.setattr("benchmarks.experiment.PAPERS", folder.parent)
    monkeypatch.setattr(papers, "PAPERS", folder.parent)
    monkeypatch.setattr(papers, "DOCS", folder.parent.parent / "docs")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    return papers.main


def test_run_writes_results_statuses_and_page_and_report_repeats_them(command, folder, capsys):
    assert command(["run", "toy"]) == 0
    assert "matplotlib is not installed" in capsys.readouterr().out
    stored = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert len(stored["cells"]) == 8
    assert {row["status"] for row in stored["statuses"]} <= {"reproduced", "not reproduced", "not run"}
    assert not list((folder / ".cache").iterdir())
    page = folder.parent.parent / "docs" / "benchmarks" / "toy.md"
    before = page.read_bytes(), (folder / "results.json").read_bytes()
    assert command(["report", "toy"]) == 0
    assert (page.read_bytes(), (folder / "results.json").read_bytes()) == before
    assert report.paper_page(read_experiment(folder)) == page.read_text(encoding="utf-8")
    assert command(["list"]) == 0
    assert "toy: A toy (8 of 8 cells)" in capsys.readouterr().out


def test_results_hold_versions_but_no_host_and_no_path(command, folder):
    command(["run", "toy"])
    text = (folder / "results.json").read_text(encoding="utf-8")
    (where,) = json.loads(text)["environments"].values()
    assert {"commit", "dirty", "python", "numpy", "scipy", "scikit-learn", "tagloom", "cores"} <= set(where)
    assert str(folder.parent) not in text
    assert __import__("platform").node() not in text
    assert all(cell.cpu_fit > 0 for cell in read_cells(folder / "results.json"))


def test_a_wrong_name_is_one_line(command, capsys):
    assert command(["run", "nothing"]) == 2
    assert "known: ['toy']" in capsys.readouterr().err


def test_committed_cells_serve_a_fresh_checkout(command, folder):
    command(["run", "toy"])
    fits = FakeCentroid.fits
    assert len(CellStore(folder).load()) == 8
    command(["run", "toy"])
    assert FakeCentroid.fits == fits
