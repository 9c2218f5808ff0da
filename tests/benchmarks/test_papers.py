import json
from dataclasses import replace

import numpy as np
import pytest

import benchmarks.papers.__main__ as papers
from benchmarks import datasets, figures, methods, report, runner
from benchmarks.errors import BenchmarkError, DataMissingError
from benchmarks.experiment import read_claims, read_expected, read_experiment
from benchmarks.results import CellStore, read_cells, seed_of
from benchmarks.summary import Summary, claimed, statuses
from benchmarks.views import table_of

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
    assert command(["run", "toy", "--data", "nowhere"]) == 2
    assert "no data ['nowhere']; there are ['blobs']" in capsys.readouterr().err


def test_the_cells_of_some_data_are_run_alone(command, folder, capsys):
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    start = text.index("[[data]]")
    part = text[start : text.index("[[methods]]")]
    fewer = part.replace('"blobs"', '"others"').replace("draws = 2", "draws = 1")
    (folder / "experiment.toml").write_text(text[:start] + part + fewer + text[start + len(part) :], encoding="utf-8")
    assert command(["run", "toy", "--data", "others"]) == 0
    assert "toy: 12 cells, 4 to run" in capsys.readouterr().out


def test_committed_cells_serve_a_fresh_checkout(command, folder):
    command(["run", "toy"])
    fits = FakeCentroid.fits
    assert len(CellStore(folder).load()) == 8
    command(["run", "toy"])
    assert FakeCentroid.fits == fits


def with_lines(folder, *replacements, more=""):
    text = (folder / "experiment.toml").read_text(encoding="utf-8")
    for old, new in replacements:
        assert old in text
        text = text.replace(old, new)
    (folder / "experiment.toml").write_text(text + more, encoding="utf-8")
    return read_experiment(folder)


def test_the_honest_column_may_have_a_smaller_grid_and_only_that_is_scored_inside(folder):
    experiment = with_lines(folder, ("[0.0, 100.0]", "[0.0, 1.0, 100.0]"), more="honest = { noise = [1.0, 100.0] }\n")
    cells = run(folder)
    assert {(cell.point["noise"], cell.inside is None) for cell in cells} == {(0.0, True), (1.0, False), (100.0, False)}
    for cell in cells:
        cell.test["unlabeled/map"] = {0.0: 1.0, 1.0: 0.5, 100.0: 0.1}[cell.point["noise"]]
    summary = Summary(experiment, cells)
    assert summary.honest("blobs", "20 %", "centroid", "unlabeled/map").mean == 0.5
    assert summary.paper("blobs", "20 %", "centroid", "unlabeled/map").mean == 1.0
    with pytest.raises(BenchmarkError, match="other"):
        with_lines(folder, ("honest = { noise", "honest = { other"))


def test_the_honest_column_may_have_a_value_of_its_own_that_is_no_candidate_on_the_test_part(folder):
    experiment = with_lines(folder, more="honest = { noise = [3.0] }\n")
    cells = run(folder)
    assert {cell.point["noise"] for cell in cells} == {0.0, 3.0, 100.0}
    assert all(cell.inside is None for cell in cells)  # one value: nothing to compare
    for cell in cells:
        cell.test["unlabeled/map"] = {0.0: 0.3, 3.0: 0.9, 100.0: 0.1}[cell.point["noise"]]
    summary = Summary(experiment, cells)
    assert summary.honest("blobs", "20 %", "centroid", "unlabeled/map").mean == 0.9
    assert summary.paper("blobs", "20 %", "centroid", "unlabeled/map").mean == 0.3


def test_a_dear_method_may_look_at_some_of_the_folds_only(folder):
    all_folds = {cell.key: cell.inside for cell in run(folder)}
    with_lines(folder, more="folds = 1\n")
    FakeCentroid.fits = 0
    first = {cell.key: cell.inside for cell in run(folder)}
    assert FakeCentroid.fits == 8 * (1 + 1)
    assert not set(first) & set(all_folds)


def test_two_methods_that_compute_the_same_share_their_cells(folder):
    twin = '[[methods]]\nname = "twin"\nclass = "fake_centroid"\ngrid = { noise = [0.0, 100.0] }\n'
    with_lines(folder, more=twin)
    cells = run(folder)
    assert FakeCentroid.fits == 8 * (1 + 3)
    by_method = {
        name: [(cell.point, cell.test) for cell in cells if cell.method == name] for name in ("centroid", "twin")
    }
    assert len(by_method["twin"]) == 8
    assert by_method["twin"] == by_method["centroid"]


def test_where_nothing_can_be_compared_the_honest_column_takes_the_default(folder):
    change = ('paper = "best_on_test"', 'paper = "best_on_test"\ndefault_in = ["20 %"]')
    experiment = with_lines(folder, change, more="default = { noise = 7.0 }\n")
    cells = run(folder)
    place = {condition: [cell for cell in cells if cell.condition == condition] for condition in ("20 %", "50 %")}
    assert all(cell.inside is None for cell in place["20 %"])
    assert {cell.point["noise"] for cell in place["20 %"]} == {0.0, 7.0, 100.0}
    assert {cell.point["noise"] for cell in place["50 %"]} == {0.0, 100.0}
    for cell in place["20 %"]:
        cell.test["unlabeled/map"] = 0.9 if cell.point["noise"] == 7.0 else 0.2
    summary = Summary(experiment, cells)
    honest = summary.honest("blobs", "20 %", "centroid", "unlabeled/map")
    assert (honest.mean, honest.points) == (0.9, ({"noise": 7.0},) * 2)
    assert summary.paper("blobs", "20 %", "centroid", "unlabeled/map").mean == 0.2
    assert "At 20 % nothing can be compared" in report.paper_page(experiment)


def test_a_default_is_asked_for_where_it_is_needed(folder):
    change = ('paper = "best_on_test"', 'paper = "best_on_test"\ndefault_in = ["20 %"]')
    with pytest.raises(BenchmarkError, match="default"):
        with_lines(folder, change)


def test_a_method_may_be_limited_to_conditions(folder):
    with_lines(folder, more='conditions = ["50 %"]\n')
    assert {cell.condition for cell in run(folder)} == {"50 %"}


def test_for_photos_never_seen_choices_are_compared_by_the_scores_of_new_photos(folder, monkeypatch):
    def decision_function(self, X):
        return np.zeros((len(X), 4))

    monkeypatch.setattr(FakeCentroid, "decision_function", decision_function, raising=False)
    with_lines(
        folder, ('scheme = "transductive"', 'scheme = "train_test", n_train = 40'), ('on = "unlabeled"', 'on = "novel"')
    )
    by_inside = {cell.inside for cell in run(folder) if cell.point["noise"] == 0.0}
    by_transduction = {cell.test["unlabeled/map"] for cell in run(folder) if cell.point["noise"] == 0.0}
    assert max(by_inside) < min(by_transduction)


@pytest.mark.medium
def test_two_processes_give_what_one_does(folder):
    with_lines(
        folder,
        ('class = "fake_centroid"', 'class = "tagloom.methods:RegularizedLeastSquares"'),
        ("noise = [0.0, 100.0]", "regularization = [0.1, 10.0]"),
    )
    assert scores(run(folder, jobs=2)) == scores(run(folder, fresh=True))


def toy_rows():
    dataset = datasets.toy(n_rows=40)
    Y = dataset.Y.copy()
    Y[20:] = -1
    return dataset, dataset.X, Y


def test_labelled_photos_only_is_the_method_without_the_others():
    _, X, Y = toy_rows()
    wrapped = methods.make_method("labeled_only", {"method": "tagloom.methods:RegularizedLeastSquares"}, 0).fit(X, Y)
    alone = methods.find("tagloom.methods:RegularizedLeastSquares")().fit(X[:20], Y[:20])
    np.testing.assert_array_equal(wrapped.decision_function(X), alone.decision_function(X))
    assert not hasattr(wrapped, "transduction_")


def test_features_are_selected_once_for_all_penalties(monkeypatch):
    _, X, Y = toy_rows()
    fits = []

    class Selector:
        def __init__(self, **settings):
            self.settings = settings

        def fit(self, X, Y):
            fits.append((len(X), self.settings))
            self.selected_features_ = np.arange(self.settings["keep"])
            return self

    monkeypatch.setattr(methods, "find", lambda _path: Selector)
    monkeypatch.setattr(methods, "_kept", methods.OrderedDict())

    def make(keep, regularization):
        settings = {"selector": "s", "keep": keep, "regularization": regularization}
        return methods.make_method("select_then_least_squares", settings, 0).fit(X, Y)

    weak, strong = make(2, 0.1), make(2, 10.0)
    assert fits == [(20, {"keep": 2})]
    assert weak.saved_cpu_ == 0.0 <= strong.saved_cpu_
    monkeypatch.undo()
    direct = methods.find("tagloom.methods:RegularizedLeastSquares")(10.0).fit(X[:20, :2], Y[:20])
    np.testing.assert_array_equal(strong.decision_function(X), direct.decision_function(X[:, :2]))


def test_without_a_feature_all_photos_score_alike():
    X = datasets.toy(n_rows=40).X
    model = methods.METHODS["select_then_least_squares"]("s", 1.0)
    model.selected_features_, model.shares_ = np.empty(0, int), np.array([0.1, 0.2])
    assert model.decision_function(X[:2]).tolist() == [[0.1, 0.2]] * 2


def test_a_point_of_a_path_is_the_fit_of_that_sparsity_and_groups_are_those_of_the_dataset():
    dataset, X, Y = toy_rows()
    gllr = "tagloom.methods.baselines.gllr:GLLR"
    settings = {"method": gllr, "groups": "dataset", "sparsities": [0.5, 0.1], "sparsity": 0.1, "tol": 1e-8}
    point = methods.make_method("point_of_path", settings, 0, dataset.groups).fit(X, Y)
    direct = methods.find(gllr)(dataset.groups, sparsity=0.1, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(point.decision_function(X), direct.decision_function(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sparsity", [1e-3, 10.0])
def test_sfss_is_the_same_minimum_whichever_solver_is_the_faster(sparsity):
    _, X, Y = toy_rows()
    settings = {"regression_weight": 1.0, "sparsity": sparsity, "n_neighbors": 5}
    fast = methods.make_method("sfss", settings, 0).fit(X, Y)
    exact = methods.find("tagloom.methods.sfss:SFSS")(**settings, tol=1e-8).fit(X, Y)
    np.testing.assert_allclose(fast.decision_function(X), exact.decision_function(X), atol=0.02)


CLAIMS = """
[[claim]]
text = "centroid beats noise"
source = "made up"
data = "blobs"
metric = "unlabeled/map"
method = "centroid"
over = ["noise"]
conditions = ["20 %", "50 %"]
gain = 0.5
"""
SECOND = """
[[methods]]
name = "noise"
class = "fake_centroid"
fixed = { noise = 100.0 }
"""
VIEWS = """
[[views]]
name = "lines"
title = "Lines"
kind = "curves"
data = "blobs"
metric = "unlabeled/map"
column = "paper"
[[views]]
name = "bars"
title = "Bars"
kind = "gain"
text = "What it shows."
data = "blobs"
metric = "unlabeled/map"
methods = ["centroid", "noise"]
[[views]]
name = "map"
title = "Map"
kind = "surface"
data = "blobs"
metric = "unlabeled/map"
condition = "20 %"
method = "centroid"
x = "noise"
y = "random_state"
"""


@pytest.fixture
def shown(folder):
    (folder / "expected.toml").write_text(EXPECTED + CLAIMS, encoding="utf-8")
    grid = ("noise = [0.0, 100.0]", "random_state = [1, 2], noise = [0.0, 100.0]")
    return with_lines(folder, grid, more=SECOND + VIEWS)


def test_claims_are_counted_in_both_columns(shown, folder):
    summary = Summary(shown, run(folder))
    (row,) = claimed(summary, read_claims(folder))
    for column in ("paper", "honest"):
        place = [
            [getattr(summary, column)("blobs", name, method, "unlabeled/map").mean for method in ("centroid", "noise")]
            for name in ("20 %", "50 %")
        ]
        assert row[column]["of"] == 2
        assert row[column]["wins"] == sum(one > other for one, other in place)
        assert row[column]["gain"] == pytest.approx(np.mean([one / other - 1 for one, other in place]))


def test_views_have_tables_by_hand(shown, folder):
    cells = run(folder)
    summary = Summary(shown, cells)
    tables = {view.name: table_of(view, shown, summary) for view in shown.views}
    header, rows = tables["map"]
    assert header == ["random_state ↓, noise →", "0", "100"]
    found = [
        cell.test["unlabeled/map"]
        for cell in cells
        if (cell.method, cell.condition) == ("centroid", "20 %") and cell.point == {"random_state": 2, "noise": 100.0}
    ]
    assert rows[1][2] == f"{np.mean(found):.3f}"
    assert tables["lines"][0] == ["method", "20 %", "50 %"]
    assert [row[:2] for row in tables["bars"][1]][::2] == [["paper's protocol", "20 %"], ["honest", "20 %"]]


def test_views_are_drawn_and_shown_on_the_page(shown, folder, matplotlib):
    summary = Summary(shown, run(folder))
    page = folder.parent / "docs" / "toy.md"
    assert figures.draw_figures(shown, summary, page.with_suffix(".svg"))
    drawn = report.figures_beside(page)
    assert drawn == {"toy.svg", "toy-lines.svg", "toy-bars.svg", "toy-map.svg"}
    text = report.paper_page(shown, drawn)
    assert all(f"]({name})" in text for name in drawn)
    assert "What it shows." in text
    assert "toy-map.svg" not in report.paper_page(shown)


def test_a_view_of_an_unknown_kind_or_method_is_named(shown, folder):
    summary = Summary(shown, [])
    lines = shown.views[0]
    with pytest.raises(BenchmarkError, match="'pie'"):
        table_of(replace(lines, kind="pie"), shown, summary)
    with pytest.raises(BenchmarkError, match="absent"):
        table_of(replace(lines, options=lines.options | {"methods": ["absent"]}), shown, summary)


POINTS = """
[[views]]
name = "points"
title = "Points"
kind = "points"
data = ["blobs"]
metric = ["unlabeled/map"]
condition = "20 %"
methods = ["centroid"]
parameter = "noise"
"""


def test_points_show_every_value_of_a_parameter(folder, matplotlib):
    experiment = with_lines(folder, more=POINTS)
    cells = run(folder)
    summary = Summary(experiment, cells)
    header, (row,) = table_of(experiment.views[0], experiment, summary)
    assert header == ["data", "metric", "method", "noise 0.0", "noise 100.0"]
    for place, noise in ((3, 0.0), (4, 100.0)):
        found = [c.test["unlabeled/map"] for c in cells if c.condition == "20 %" and c.point == {"noise": noise}]
        assert row[place].startswith(f"{np.mean(found):.3f} ± ")
    page = folder.parent / "docs" / "toy.md"
    figures.draw_figures(experiment, summary, page.with_suffix(".svg"))
    assert "toy-points.svg" in report.figures_beside(page)
    assert table_of(experiment.views[0], experiment, Summary(experiment, []))[1][0][3:] == ["–", "–"]
    view = replace(experiment.views[0], options=experiment.views[0].options | {"methods": ["absent"]})
    with pytest.raises(BenchmarkError, match="absent"):
        table_of(view, experiment, summary)


def test_a_cell_can_be_fitted_again_to_look_into_its_model(folder):
    experiment = with_lines(folder, ("[0.2, 0.5]", "0.5"))
    (cell,) = (cell for cell in run(folder) if cell.draw == 1 and cell.point == {"noise": 100.0})
    dataset, split, model = runner.fit_cell(experiment, "blobs", "centroid", 1, noise=100.0)
    rows = split.evaluate["unlabeled"]
    again = methods.metric_of("map")(dataset.Y[rows], model.transduction_[rows])
    assert again == cell.test["unlabeled/map"]


SWEEP = """
[[methods]]
name = "level"
class = "fake_centroid"
fixed = { noise = 2.0 }
[[methods]]
name = "other"
class = "fake_centroid"
grid = { random_state = [5], noise = [0.0, 100.0] }
[[views]]
name = "sweep"
title = "Sweep"
kind = "sweep"
data = "blobs"
metric = ["unlabeled/map"]
condition = "20 %"
methods = ["other", "centroid", "level"]
parameter = "noise"
scale = "names"
at = { random_state = 5 }
[[views]]
name = "margin"
title = "Margin"
kind = "margin"
data = ["blobs"]
metric = "unlabeled/map"
condition = "20 %"
methods = ["centroid", "level", "other"]
parameter = "noise"
at = { random_state = 5 }
"""


def test_a_sweep_has_a_curve_for_each_method_and_a_level_where_the_parameter_is_none(folder, matplotlib):
    experiment = with_lines(folder, more=SWEEP)
    summary = Summary(experiment, run(folder))
    header, rows = table_of(experiment.views[0], experiment, summary)
    assert header == ["data", "metric", "method", "noise 0.0", "noise 100.0"]
    assert [row[2] for row in rows] == ["other", "centroid", "level"]
    assert rows[2][3] == rows[2][4] != "–"
    point = {"random_state": 5, "noise": 100.0}
    assert rows[0][4].startswith(f"{summary.at('blobs', '20 %', 'other', 'unlabeled/map', point).mean:.3f} ± ")
    page = folder.parent / "docs" / "toy.md"
    figures.draw_figures(experiment, summary, page.with_suffix(".svg"))
    assert {"toy-sweep.svg", "toy.svg"} == report.figures_beside(page)
    figures.draw_figures(experiment, Summary(experiment, []), page.with_suffix(".svg"))


def test_margins_are_differences_on_the_same_draws(folder):
    experiment = with_lines(folder, ("[0.2, 0.5]", "[0.2]"), more=SWEEP)
    cells = run(folder)
    values = {("centroid", 0.0): (0.5, 0.9), ("centroid", 100.0): (0.1, 0.2), ("level", None): (0.4, 0.6)}
    for cell in cells:
        if cell.method != "other":
            cell.test["unlabeled/map"] = values[cell.method, cell.point.get("noise")][cell.draw]
    cells = [cell for cell in cells if cell.method != "other"]
    header, rows = table_of(experiment.views[1], experiment, Summary(experiment, cells))
    assert header[2:] == ["centroid against", "noise 0.0", "noise 100.0", "better"]
    spread = np.std([0.1, 0.3], ddof=1)
    assert rows[0][2:] == ["level", f"+0.200 ± {spread:.3f}", "**-0.350 ± 0.071**", "1 of 2"]
    assert rows[1][2:] == ["other", "–", "–", "0 of 0"]
    for cell in cells:
        cell.draw = {("centroid", 0): 0, ("level", 0): 0}.get((cell.method, cell.draw), cell.draw + 5 * len(cell.point))
    _, rows = table_of(experiment.views[1], experiment, Summary(experiment, cells))
    assert rows[0][3:5] == ["+0.100", "**-0.300**"]


def test_what_a_method_sees_of_a_draw_can_be_opened(folder):
    experiment = with_lines(folder, ("[0.2, 0.5]", "0.5"))
    dataset, split, X, Y = runner.open_draw(experiment, "blobs", 1)
    again, same, model = runner.fit_cell(experiment, "blobs", "centroid", 1, noise=0.0)
    assert np.array_equal(split.labeled_rows, same.labeled_rows)
    np.testing.assert_array_equal(FakeCentroid().fit(X, Y).transduction_, model.transduction_)
    np.testing.assert_array_equal(Y[np.isin(split.fit_rows, split.labeled_rows)], dataset.Y[split.labeled_rows])
    assert (Y[~np.isin(split.fit_rows, split.labeled_rows)] == -1).all()
    assert again is dataset
