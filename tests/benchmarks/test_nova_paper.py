from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.experiment import PAPERS, read_claims, read_expected, read_experiment
from benchmarks.methods import make_method, metric_of
from benchmarks.papers.nova import attributes, examples, simulation
from benchmarks.papers.nova import methods as nova
from benchmarks.runner import cells_of
from benchmarks.summary import Summary, claimed, statuses
from benchmarks.views import table_of
from tagloom.datasets.grouped import make_grouped_regression
from tagloom.metrics import precision
from tagloom.solvers.groups.penalties import SCAD, Norm


class FakeNOVA:
    """Least squares that notes how it was made."""

    made: list[dict]

    def __init__(self, groups, **settings):
        self.groups, self.settings = groups, settings
        type(self).made.append(settings)

    def fit(self, X, Y):
        self.coef_ = np.linalg.lstsq(X, 2.0 * Y - 1.0)[0]
        self.strengths_ = np.array([0.5] * (Y.shape[1] - 1) + [np.nan])
        self.selected_groups_ = np.ones((Y.shape[1], len(self.groups)), dtype=bool)
        return self

    def path(self, X, Y, strengths):
        self.fit(X, Y)
        coefs = np.array([self.coef_ / (1.0 + strength) for strength in strengths])
        return SimpleNamespace(coefs=coefs, intercepts=np.zeros((len(strengths), Y.shape[1])))

    def decision_function(self, X):
        return X @ self.coef_


@pytest.fixture
def made(monkeypatch):
    FakeNOVA.made = []
    monkeypatch.setattr(nova, "find", lambda _path: FakeNOVA)
    monkeypatch.setattr(simulation, "find", lambda _path: FakeNOVA)
    monkeypatch.setattr("benchmarks.methods._kept", OrderedDict())
    return FakeNOVA.made


def test_the_files_fit_each_other():
    experiment = read_experiment(PAPERS / "nova")
    names = {method.name for method in experiment.methods}
    tables = read_expected(experiment.folder)
    assert [len(table.values) for table in tables] == [3, 12, 12, 12]
    assert {method for table in tables for _, method, _ in table.values} <= names
    data = {part.name: part for part in experiment.data}
    assert {name: part.draws for name, part in data.items()} == {
        "AwA attributes": 10,
        "Corel-5K (other data)": 3,
        "AwA six groups (other data)": 3,
        "Corel-5K, one partition": 1,
    }
    for claim in read_claims(experiment.folder):
        assert claim.data in data
        assert {claim.method, *claim.over} <= names
    summary = Summary(experiment, [])
    told = statuses(summary, tables)
    assert {row["status"] for row in told if row["data"] != "AwA attributes"} == {"data missing"}
    assert all(row["paper"]["of"] == 0 for row in claimed(summary, read_claims(experiment.folder)))
    for view in experiment.views:
        table_of(view, experiment, summary)


def test_every_boosting_of_a_draw_shares_its_work_and_none_needs_a_choice_inside():
    cells = [
        cell for cell in cells_of(read_experiment(PAPERS / "nova")) if cell.method.name == "NOVA" and cell.draw == 0
    ]
    assert [cell.point["boost"] for cell in cells][:3] == ["none", "curds_and_whey", "structured"]
    assert all(cell.identity["inside"] is None for cell in cells)


def test_strengths_are_chosen_once_for_all_ways_of_boosting(made):
    dataset = datasets.toy(n_rows=40)
    for boost in ("none", "curds_and_whey", "structured"):
        settings = {"groups": "dataset", "penalty": "group_scad", "tol": 0.1, "boost": boost}
        make_method("benchmarks.papers.nova.methods:BoostedNOVA", settings, 7, dataset.groups).fit(dataset.X, dataset.Y)
    assert made[0] == {"penalty": "group_scad", "tol": 0.1}
    assert [settings.get("boost") for settings in made] == [None, "curds_and_whey", "structured"]
    # A tag that could not be learnt has no strength of its own.
    assert made[1]["strength"].tolist() == made[2]["strength"].tolist() == [0.5, 0.5, 0.5, 1.0]


def test_a_point_of_the_path_is_that_strength(made):
    dataset = datasets.toy(n_rows=40)
    points = [
        nova.PointOfNOVA(dataset.groups, [0.1, 1.0, 3.0], strength, concavity=3.7).fit(dataset.X, dataset.Y)
        for strength in (0.1, 3.0)
    ]
    assert len(made) == 1
    first, last = (point.decision_function(dataset.X) for point in points)
    np.testing.assert_allclose(first * 1.1, last * 4.0)


def test_the_svm_is_that_of_scikit_learn_and_constant_tags_have_constant_scores():
    from sklearn.svm import LinearSVC

    dataset = datasets.toy(n_rows=60)
    # Every third row is a copy of the one before, some of them with another label.
    X = dataset.X.copy()
    X[2::3] = X[1::3]
    Y = np.column_stack([dataset.Y[:, :2], np.zeros(60, np.int8), np.ones(60, np.int8)])
    Y[:5, 0] = -1
    scores = nova.LinearSVM(C=0.5, random_state=3).fit(X, Y).decision_function(X)
    direct = LinearSVC(C=0.5, dual=True, max_iter=100_000, tol=1e-6, random_state=3).fit(X[5:], Y[5:, 0])
    np.testing.assert_allclose(scores[:, 0], direct.decision_function(X), atol=2e-3)
    assert (scores[:, 2] == -1).all()
    assert (scores[:, 3] == 1).all()


def test_precision_is_that_of_entries_above_zero():
    Y = np.array([[1, 0], [0, 1], [-1, 1]], np.int8)
    scores = np.array([[0.2, 0.1], [-0.3, 0.4], [5.0, -0.1]])
    assert metric_of("precision_at_zero")(Y, scores) == precision(Y, scores, 0.0) == pytest.approx(2 / 3)


def test_the_end_of_the_path_is_least_squares_and_its_start_is_empty():
    data = make_grouped_regression(random_state=1)
    for radial in (Norm(), SCAD(3.7)):
        strengths = simulation.path_of(data.X, data.y, [2] * 4, radial, np.ones(1))[2] * np.array([1.0, 1e-6])
        coefs, intercepts, _ = simulation.path_of(data.X, data.y, [2] * 4, radial, strengths)
        assert not coefs[0].any()
        assert intercepts[0] == pytest.approx(data.y.mean())
        full = np.linalg.lstsq(np.column_stack([data.X, np.ones(200)]), data.y)[0]
        np.testing.assert_allclose(np.append(coefs[1], intercepts[1]), full, atol=1e-4)


def test_simulation_counts_by_hand():
    made = [make_grouped_regression(random_state=seed) for seed in range(2)]
    norms = np.array([[0, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]], dtype=float)
    paths = [simulation.Path(np.ones(3), norms, np.zeros((3, 8)), best, 1) for best in (1, 2)]
    shares = simulation._shares(made, paths)
    assert shares[:5] == ["0.500", "1.000", "1.000", "0.50", "0.00"]


def test_simulation_has_a_row_for_each_penalty_and_target_and_two_panels(made, monkeypatch):
    monkeypatch.setattr(simulation, "SHARES", np.logspace(0, -1, 4))
    found = simulation.simulate(SimpleNamespace(seed=1), 2, {"identity": [0.0, 0.0], "other": [0.5, 0.2]})
    (table,) = found["tables"]
    assert [row[:3] for row in table["rows"][:4]] == [
        ["identity", target, name] for target in ("number", "tag") for name in ("group lasso", "NOVA")
    ]
    assert all(len(row) == len(table["header"]) for row in table["rows"])
    assert [panel["title"] for panel in found["panels"]] == ["group lasso", "NOVA"]
    assert found["panels"][0]["dotted"]["group 3"] == 0.0
    assert {settings["penalty"] for settings in made} == {"group_lasso", "group_scad"}


def fake_experiment(*names):
    return SimpleNamespace(seed=1, methods=[SimpleNamespace(name=name, title=name.upper()) for name in names])


def test_selected_attributes_are_compared_with_the_truth(monkeypatch):
    table = np.array([[1, 0], [1, 1]], np.float32)
    loaded = SimpleNamespace(extras={"class_attributes": table})
    monkeypatch.setattr(attributes, "data_folder", lambda _name: None)
    monkeypatch.setattr(attributes, "load_awa_attributes", lambda _folder, values: loaded)
    dataset = SimpleNamespace(groups=("black", "fast"), tags=("ox", "giant panda"))
    model = SimpleNamespace(model_=SimpleNamespace(coef_=np.array([[0.3, 0.0], [-0.1, 2.0]])))
    monkeypatch.setattr(attributes, "fit_cell", lambda *_arguments: (dataset, None, model))
    shown = {"giant panda": ["black", "fast"]}
    answers, counts = attributes.selected_attributes(fake_experiment("a"), "d", ["a"], shown)["tables"]
    assert answers["rows"] == [["giant panda", "black", "yes", "*no*"], ["giant panda", "fast", "yes", "yes"]]
    assert counts["rows"] == [["A", "1.5", "0.667", "1.000", "0.750"]]


def test_classes_without_a_score_above_zero_are_not_predicted(monkeypatch):
    dataset = SimpleNamespace(X=np.eye(3))
    split = SimpleNamespace(evaluate={"novel": np.arange(2)})
    coef = np.array([[1.0, 0.0, -1.0], [0.0, -1.0, 0.0], [0.0, 1.0, 1.0]])
    model = SimpleNamespace(coef_=coef, decision_function=lambda X: X @ coef)
    monkeypatch.setattr(attributes, "fit_cell", lambda *_: (dataset, split, model))
    found = attributes.predicted_classes(read_experiment(PAPERS / "nova"), "AwA attributes", ["SVM"])
    # Of the first two photos only the first has a score above 0, for the first class.
    assert found["tables"][0]["rows"] == [["linear SVM", "1.0", "1 to 1", "1.7 of 85"]]


def test_example_words_mark_what_is_wrong(monkeypatch):
    dataset = SimpleNamespace(
        X=np.eye(3), Y=np.array([[1, 0, 0], [1, 1, 0], [0, 1, 1]]), tags=("sky", "sea", "ox"), names=("10", "11", "12")
    )
    split = SimpleNamespace(evaluate={"novel": np.array([1, 2])})
    scores = np.array([[0.0, 0, 0], [0.9, 0.1, 0.5], [0.3, 0.2, 0.1]])
    model = SimpleNamespace(decision_function=lambda X: X @ scores)
    monkeypatch.setattr(examples, "fit_cell", lambda *_arguments, boost: (dataset, split, model))
    shown, counts = examples.example_words(fake_experiment("a"), "d", ["a"], "none", 5, 2)["tables"]
    assert shown["rows"] == [["11", "sky, sea", "sky, *ox*"], ["12", "sea, ox", "*sky*, sea"]]
    assert counts["rows"] == [["A", "0.500"]]
