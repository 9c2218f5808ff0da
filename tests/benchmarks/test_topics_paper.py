import re
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from benchmarks.experiment import PAPERS, read_claims, read_experiment
from benchmarks.methods import make_method
from benchmarks.papers.topics import examples, methods, smoothing
from benchmarks.report import paper_page
from benchmarks.runner import cells_of
from benchmarks.summary import Summary, claimed
from benchmarks.views import table_of
from tagloom.methods import LaplacianTopicModel, PLSAWords
from tagloom.methods.baselines.topic_mixture import TopicMixture
from tagloom.metrics import annotation_accuracy, complete_length


@pytest.fixture
def photos(monkeypatch):
    """Return words and tags of 60 photos of three kinds; 24 of them labelled."""
    monkeypatch.setattr("benchmarks.methods._kept", OrderedDict())
    rng = np.random.default_rng(0)
    kind = np.array([1, 0, 1, 2, 1])[np.arange(60) % 5]  # no two tags are as frequent
    X = sparse.csr_array(rng.poisson(np.where(np.arange(24) // 8 == kind[:, None], 0.7, 0.15)).astype(np.float32))
    truth = np.eye(3, dtype=np.int8)[kind]
    truth[:, 0] |= rng.random(60) < 0.2
    Y = truth.copy()
    Y[24:] = -1
    return X, Y, truth


def test_the_files_fit_each_other():
    experiment = read_experiment(PAPERS / "topics")
    names = {method.name for method in experiment.methods}
    data = {part.name for part in experiment.data}
    for claim in read_claims(experiment.folder):
        assert claim.data in data
        assert {claim.method, *claim.over} <= names
    summary = Summary(experiment, [])
    assert all(row["paper"]["of"] == 0 for row in claimed(summary, read_claims(experiment.folder)))
    for view in experiment.views:
        shown = view.options["data"]
        assert {shown} <= data if isinstance(shown, str) else set(shown) <= data
        table_of(view, experiment, summary)
    assert "No results yet." in paper_page(experiment) or "CPU s; commit" in paper_page(experiment)


def test_nothing_is_chosen_inside_and_the_papers_smoothness_is_run_once():
    cells = list(cells_of(read_experiment(PAPERS / "topics")))
    assert all(cell.identity["inside"] is None for cell in cells)
    keys = {
        name: {cell.key for cell in cells if cell.method.name == name and cell.data.name == "Corel16k 002"}
        for name in ("topics", "topics_smoothness")
    }
    assert len(keys["topics"] & keys["topics_smoothness"]) == 3


def test_the_graph_is_made_once_and_the_model_is_the_same_as_with_its_own(photos, monkeypatch):
    X, Y, _ = photos
    made, original = [], methods.find

    def find(path):
        made.append(path)
        return original(path)

    monkeypatch.setattr(methods, "find", find)
    path = "benchmarks.papers.topics.methods:TopicsOnSharedGraph"
    for n_topics in (3, 5):
        model = make_method(path, {"n_topics": n_topics, "smoothness": 0.5, "n_init": 2}, 7).fit(X, Y)
        direct = LaplacianTopicModel(n_topics, smoothness=0.5, n_init=2, random_state=7).fit(X, Y)
        np.testing.assert_array_equal(model.transduction_, direct.transduction_)
        assert direct.graph_.n_edges > 0
    assert made.count("tagloom.graph.shared_words:shared_words_graph") == 1


def test_iterations_are_those_of_all_three_steps(photos):
    X, Y, _ = photos
    model = make_method("benchmarks.papers.topics.methods:PLSAWordsFor", {"n_topics": 3, "iterations": 4}, 7).fit(X, Y)
    direct = PLSAWords(3, max_iter=4, fold_in_iter=4, random_state=7).fit(X, Y)
    np.testing.assert_array_equal(model.transduction_, direct.transduction_)
    longer = make_method("benchmarks.papers.topics.methods:PLSAWordsFor", {"n_topics": 3, "iterations": 50}, 7)
    assert np.abs(longer.fit(X, Y).transduction_ - direct.transduction_).max() > 0.01


def test_frequencies_are_over_what_is_known_and_without_ties():
    Y = np.array([[1, 0, -1, 0], [1, 1, -1, 1], [-1, 1, -1, 1]], np.int8)
    found = methods.TagFrequency().fit(np.zeros((3, 1)), Y).transduction_
    np.testing.assert_allclose(found, np.tile([1.0, 2 / 3, 0.0, 2 / 3], (3, 1)), atol=1e-8)
    assert (np.argsort(-found, axis=1) == [0, 1, 3, 2]).all()


def test_photos_differ_by_half_their_distance_from_the_mean():
    assert smoothing.difference_between_photos(np.array([[1.0, 0.0], [0.0, 1.0]])) == 0.5
    assert smoothing.difference_between_photos(np.full((3, 4), 0.25)) == 0.0


@pytest.fixture
def opened(photos, monkeypatch):
    X, Y, truth = photos
    split = SimpleNamespace(evaluate={"unlabeled": np.arange(24, 60) + 5}, fit_rows=np.arange(60) + 5)
    # Rows of the dataset are not places among those seen.
    dataset = SimpleNamespace(Y=np.vstack([np.zeros((5, 3), np.int8), truth]))
    monkeypatch.setattr(smoothing, "open_draw", lambda *_arguments: (dataset, split, X, Y))
    monkeypatch.setattr(smoothing, "graph_of", lambda *_arguments: (sparse.csr_array(np.ones((60, 60))), 0.0))


@pytest.mark.usefixtures("opened")
def test_smoothing_until_r_converged_says_no_more_than_the_tags_frequencies(photos):
    X, Y, truth = photos
    found = smoothing.compare_smoothings(SimpleNamespace(seed=1), "d", 4, [1, 100], 2)
    (table,) = found["tables"]
    rows = {row[0]: row[1:] for row in table["rows"]}
    assert all(len(row) == len(table["header"]) for row in table["rows"])
    assert rows["Eq. (10) until R converged"][4] == rows["tags by frequency"][4] == "0.000"
    for index, metric in enumerate((annotation_accuracy, complete_length)):
        counted = metric(truth[24:], np.tile(Y[:24].mean(axis=0), (36, 1)))
        assert rows["tags by frequency"][index] == f"{counted:.3f}"
        assert rows["Eq. (10) until R converged"][index] == f"{counted:.3f} ± 0.000"
    assert rows["exact"][3] == "0.0"
    assert float(rows["no graph (λ = 0)"][4]) > 0.05
    plain = [
        annotation_accuracy(truth[24:], TopicMixture(4, n_init=1, random_state=seed).fit(X, Y).transduction_[24:])
        for seed in (smoothing.seed_of(1, 0), smoothing.seed_of(1, 1))
    ]
    assert rows["no graph (λ = 0)"][0] == f"{np.mean(plain):.3f} ± {np.std(plain, ddof=1):.3f}"


@pytest.mark.usefixtures("opened")
def test_panels_have_the_steps_as_a_curve_and_the_others_as_levels():
    found = smoothing.compare_smoothings(SimpleNamespace(seed=1), "d", 4, [1, 5], 2)
    accuracy, length = found["panels"]
    assert (accuracy["y_label"], length["y_label"]) == smoothing.METRICS
    rows = {row[0]: row for row in found["tables"][0]["rows"]}
    for place, steps in enumerate((1, 5)):
        mean, deviation = (part[place] for part in accuracy["series"]["Eq. (10)"])
        assert rows[f"Eq. (10), {steps} step{'s' * (steps > 1)}"][1] == f"{mean:.3f} ± {deviation:.3f}"
    mean, deviation = length["series"]["exact"]
    assert mean == [mean[0]] * 2
    assert rows["exact"][2] == f"{mean[0]:.3f} ± {deviation[0]:.3f}"


def test_example_photos_mark_what_is_wrong_and_count_usual_words(monkeypatch):
    truth = np.array([[0, 0, 0, 0], [1, 1, 1, 0], [0, 1, 0, 0], [1, 1, 1, 1]])
    tags, names = ("sky", "sea", "ox", "sun"), ("10", "11", "12", "13")
    dataset = SimpleNamespace(Y=truth, tags=tags, names=names)
    split = SimpleNamespace(evaluate={"unlabeled": np.array([1, 2, 3])}, fit_rows=np.arange(4))
    scores = np.array([[9.0, 9, 9, 9], [0.5, 0.1, 0, 0.9], [0.5, 0, 0.2, 0], [0, 0.1, 0, 0.3]])
    asked = []

    def fit_cell(_experiment, data, method, draw, **point):
        asked.append((data, method, draw, point))
        return dataset, split, SimpleNamespace(transduction_=scores)

    monkeypatch.setattr(examples, "fit_cell", fit_cell)
    experiment = SimpleNamespace(seed=1, methods=[SimpleNamespace(name="a", title="A")])
    shown, counts = examples.example_photos(experiment, "d", ["a"], 7, 5, 2)["tables"]
    assert asked == [("d", "a", 0, {"n_topics": 7})]
    assert shown["rows"] == [["11", "sky, sea, ox", "*sun*, sky"], ["13", "sky, sea, ox, sun", "sun, sea"]]
    assert counts["rows"] == [["A", "0.500", "4", "1.000"]]
    assert re.match("All 3 photos", counts["caption"])
