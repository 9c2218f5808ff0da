import numpy as np
import pytest

from benchmarks import datasets
from benchmarks.errors import BenchmarkError
from benchmarks.experiment import PAPERS, read_claims, read_expected, read_experiment
from benchmarks.papers.lpssvm import categories, data, energy, patches, references, regions
from benchmarks.papers.lpssvm.chosen import Chosen, Ingredients, make
from benchmarks.runner import cells_of, fit_cell, open_draw
from benchmarks.summary import Summary, claimed, statuses
from benchmarks.views import table_of
from tagloom.core.folds import LabeledKFold
from tagloom.datasets import make_suns
from tagloom.features.words.words import word_histograms
from tagloom.kernels.pyramid import pyramid_match_kernel
from tagloom.methods.baselines.svm import KernelSVM

TOY = """
title = "A toy"
seed = 1
metrics = ["accuracy"]
[selection]
metric = "accuracy"
on = "unlabeled"
n_splits = 3
paper = "fixed"
[[data]]
name = "suns"
dataset = "benchmarks.papers.lpssvm.data:suns"
parameters = { n_samples = 45 }
split = { scheme = "per_class", labeled = [3, 6], unlabeled = 1000, novel = 0, draws = 2 }
[[methods]]
name = "SVM"
class = "benchmarks.papers.lpssvm.chosen:Chosen"
grid = { choice = ["paper"] }
paper = { choice = "paper" }
fixed = { method = "svm", grids = { paper = { C = [1.0] } } }
"""


@pytest.fixture
def toy(tmp_path):
    (tmp_path / "experiment.toml").write_text(TOY, encoding="utf-8")
    return read_experiment(tmp_path)


def labelled_suns(n_samples=60, per_class=5):
    X, Y = make_suns(n_samples, random_state=3)
    known = Y.copy()
    known[3 * per_class :] = -1
    return X.astype(np.float64), Y, known


def test_the_files_fit_each_other():
    experiment = read_experiment(PAPERS / "lpssvm")
    names = {method.name for method in experiment.methods}
    tables = read_expected(experiment.folder)
    assert [len(table.values) for table in tables] == [5, 5]
    assert {method for table in tables for _, method, _ in table.values} <= names
    known = {cell.data.name: set() for cell in cells_of(experiment)}
    for cell in cells_of(experiment):
        known[cell.data.name].add(cell.condition)
        # Everything is chosen inside a fit.
        assert cell.identity["inside"] is None
    for claim in read_claims(experiment.folder):
        assert {claim.method, *claim.over} <= names
        if claim.data != "consumer videos":
            assert set(claim.conditions) <= known[claim.data]
    summary = Summary(experiment, [])
    assert {row["status"] for row in statuses(summary, tables)} == {"not run"}
    assert all(row["paper"]["of"] == 0 for row in claimed(summary, read_claims(experiment.folder)))
    for view in experiment.views:
        table_of(view, experiment, summary)
    draws = {part.name: part.draws for part in experiment.data}
    assert (draws["three suns"], draws["Ionosphere"], draws["Sonar"]) == (20, 20, 20)


def test_every_method_has_both_choices_and_starts_from_the_paper_s_values():
    experiment = read_experiment(PAPERS / "lpssvm")
    for method in experiment.methods:
        if method.path.endswith("Chosen"):
            first = Chosen(**method.fixed, choice="honest").points()[0]
            assert first.get("theta") == 1.0
            assert first.get("C", 1.0) == first.get("svm_weight", 1.0) == 1.0
            make(method.fixed["method"], Chosen(**method.fixed, choice="paper").points()[0], 4)


@pytest.mark.parametrize(
    ("method", "point"),
    [
        ("svm", {"theta": 2.0, "C": 3.0}),
        ("lapsvm", {"theta": 2.0, "graph_weight": 0.3, "n_neighbors": 6}),
        ("laprls", {"theta": 2.0, "ambient_weight": 0.1}),
        ("lpp_svm", {"theta": 2.0, "C": 3.0, "subspace_energy": 0.6, "n_neighbors": 6}),
        ("lpssvm", {"theta": 2.0, "svm_weight": 0.0, "C": 3.0, "n_neighbors": 6}),
        ("lpssvm", {"theta": 2.0, "svm_weight": 0.3, "coupling": "paper", "energy": 1.0}),
    ],
)
def test_shared_parts_give_the_same_scores(method, point):
    X, _, known = labelled_suns()
    parts = Ingredients(X, known)
    expected = make(method, point, 2).fit(X, known).transduction_
    for _ in range(2):
        np.testing.assert_allclose(parts.fit(method, point, known).transduction_, expected, atol=2e-4)


def test_the_better_candidate_is_chosen_and_the_first_of_equal_ones():
    X, _, known = labelled_suns()
    grids = {"honest": {"theta": [1e-6, 8.0]}, "level": {"C": [1.0, 1.0 + 1e-9]}}
    model = Chosen("svm", grids, "honest").fit(X, known)
    assert model.point_ == {"theta": 8.0}
    np.testing.assert_allclose(model.decision_function(X), KernelSVM(gamma=4.0).fit(X, known).transduction_, atol=1e-9)
    assert Chosen("svm", grids, "level").fit(X, known).point_ == {"C": 1.0}


def test_two_classes_are_one_question():
    X, Y, known = labelled_suns()
    both = np.column_stack([known[:, 0], np.where(known[:, 0] < 0, -1, 1 - known[:, 0])]).astype(np.int8)
    model = Chosen("svm", {"paper": {}}, "paper").fit(X, both)
    expected = KernelSVM(gamma=0.5).fit(X, known[:, :1]).transduction_[:, 0]
    np.testing.assert_allclose(model.transduction_, np.column_stack([expected, -expected]))
    # Tags that may both be absent are two questions.
    assert Chosen("svm", {"paper": {}}, "paper").fit(X, known[:, :2]).model_.transduction_.shape == (len(Y), 2)


def test_uci_columns_are_scaled_and_constant_ones_left_out(tmp_path, monkeypatch):
    (tmp_path / "sonar").mkdir()
    lines = [",".join(["1.5"] + [str(row * column) for column in range(1, 60)] + ["RM"[row % 2]]) for row in range(3)]
    (tmp_path / "sonar" / "sonar.all-data").write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    found = datasets.load_dataset("benchmarks.papers.lpssvm.data:uci", table="sonar")
    assert found.X.shape == (3, 59)
    np.testing.assert_allclose(found.X, np.tile([[-1.0], [0.0], [1.0]], 59))
    assert found.Y.tolist() == [[0, 1], [1, 0], [0, 1]]
    with pytest.raises(BenchmarkError, match="cannot import"):
        datasets.load_dataset("benchmarks.papers.lpssvm.data:nothing")


def made_patches(n_photos=24, n_patches=40, seed=0):
    """Photos of three categories that differ in the directions of their gradients."""
    rng = np.random.default_rng(seed)
    kind = np.arange(n_photos) % 3
    values = rng.integers(0, 60, (n_photos, n_patches, 128))
    values[np.arange(n_photos), :, :] += (np.arange(128) % 3 == kind[:, None])[:, None, :] * 40
    return patches.Patches(
        np.array(["ant", "bass", "crab"])[kind],
        n_patches * np.arange(1, n_photos + 1),
        values.reshape(-1, 128).astype(np.uint8),
        rng.integers(0, 16, n_photos * n_patches).astype(np.uint8),
    )


def test_pyramid_histograms_are_those_of_the_features():
    rng = np.random.default_rng(0)
    made, photos = made_patches(), np.array([5, 2, 20])
    words = patches.category_words(made.take(np.arange(4)), 6, seed=1)
    positions = rng.random((len(made.cells), 2)) * [90, 60]
    made = patches.Patches(made.categories, made.ends, made.descriptors, patches.cells_of(positions, (90, 60)))
    found = patches.pyramid_histograms(made.take(photos), words)
    for row, photo in zip(found, photos, strict=True):
        own = np.arange(40 * photo, 40 * photo + 40)
        distances = np.square(made.descriptors[own].astype(float)[:, None] - words).sum(axis=2)
        expected = word_histograms(
            distances.argmin(axis=1), positions[own], (90, 60), n_words=6, pyramid=patches.PYRAMID
        )
        np.testing.assert_allclose(row, expected, atol=1e-6)


def test_patches_are_computed_once(tmp_path, monkeypatch):
    from PIL import Image

    for name in ("ant/1.jpg", "ant/2.jpg", "crab/1.jpg"):
        path = tmp_path / "caltech101" / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.random.default_rng(0).integers(0, 255, (24, 40, 3)).astype(np.uint8)).save(path)
    monkeypatch.setenv("TAGLOOM_DATA", str(tmp_path))
    monkeypatch.setattr(datasets, "CACHE", tmp_path / "cache")
    patches.caltech_patches.cache_clear()
    try:
        made = patches.caltech_patches()
        assert made.categories.tolist() == ["ant", "ant", "crab"]
        assert made.ends.tolist() == [8, 16, 24]
        assert set(made.cells[:8]) <= set(range(16))
        assert len(list((tmp_path / "cache").iterdir())) == 1
        found = data.caltech101(every=1)
        assert (found.X.ravel().tolist(), found.Y.tolist()) == ([0, 1, 2], [[1, 0], [1, 0], [0, 1]])
    finally:
        patches.caltech_patches.cache_clear()


def category_problem():
    made = made_patches()
    photos = np.arange(15)
    Y = np.where(photos[:, None] < 9, made.categories[:15, None] == np.array(["ant", "bass", "crab"]), -1)
    return made, photos, Y.astype(np.int8)


@pytest.mark.parametrize("most_exact", [1000, 3])
def test_one_kernel_per_category_with_the_exact_svm(most_exact):
    made, photos, Y = category_problem()
    settings = {"n_words": 5, "n_neighbors": 4, "subspace_energy": 0.7}
    scores, seconds = categories.score_categories(made, photos, Y, most_exact=most_exact, **settings)
    assert set(scores) == set(seconds) == set(categories.methods_of(0.7))
    assert all(np.isfinite(values).all() for values in scores.values())
    words = patches.category_words(made.take(photos[Y[:, 1] == 1]), 5, seed=1)
    histograms = patches.pyramid_histograms(made, words)
    K = pyramid_match_kernel(histograms, histograms[:15], levels=patches.PYRAMID, n_words=5)
    direct = KernelSVM("precomputed").fit(K[:15], Y[:, [1]]).decision_function(K)
    np.testing.assert_allclose(scores["svm"][:, 1], direct[:, 0], atol=1e-3)


def test_methods_of_a_draw_share_their_kernels(monkeypatch):
    made, photos, Y = category_problem()
    monkeypatch.setattr(categories, "caltech_patches", lambda: made)
    calls = []
    original = categories.score_categories

    def counted(*arguments, **settings):
        calls.append(settings)
        return original(*arguments, **settings)

    monkeypatch.setattr(categories, "score_categories", counted)
    settings = {"n_words": 5, "n_neighbors": 4}
    models = [categories.OneKernelPerCategory(name, **settings).fit(photos[:, None], Y) for name in ("svm", "lpssvm")]
    assert len(calls) == 1
    novel = np.arange(15, 24)[:, None]
    assert all(np.isfinite(model.decision_function(novel)).all() for model in models)
    truth = np.arange(15, 24) % 3
    assert (models[0].decision_function(novel).argmax(axis=1) == truth).all()


def test_conditions_of_draws(toy):
    seen = [open_draw(toy, "suns", 1, condition=name)[3] for name in ("labeled 3", "labeled 6")]
    assert [(Y >= 0).all(axis=1).sum() for Y in seen] == [9, 18]
    _, split, model = fit_cell(toy, "suns", "SVM", 1, condition="labeled 6", choice="paper")
    assert len(split.labeled_rows) == 18
    assert model.transduction_.shape == (45, 3)


def test_regions_of_the_suns(toy):
    found = regions.draw_suns(toy, "suns", "labeled 6", ["SVM"], "paper", 6)
    (panel,) = found["panels"]
    assert len(panel["regions"]) == len(panel["regions"][0]) == 6
    assert sum(panel["labeled"]) == 18
    _, split, model = fit_cell(toy, "suns", "SVM", 0, condition="labeled 6", choice="paper")
    rest = split.evaluate["unlabeled"]
    truth = np.array(panel["labels"])[rest]
    wrong = np.mean(model.transduction_.argmax(axis=1)[rest] != truth)
    assert found["tables"][0]["rows"] == [["SVM", f"{wrong:.3f}"]]


def test_energy_curves_have_both_signs_and_the_svm(toy, monkeypatch):
    def two_classes(*arguments, **options):
        dataset, split, X, Y = open_draw(*arguments, **options)
        halves = np.column_stack([dataset.Y[:, 0], 1 - dataset.Y[:, 0]])
        return datasets.Dataset(dataset.X, halves), split, X, Y

    monkeypatch.setattr(energy, "open_draw", two_classes)
    found = energy.energy_curves(toy, {"suns": "labeled 6"}, {}, [0.3, 1.0], 2)
    (table,) = found["tables"]
    assert [row[0] for row in table["rows"]] == [
        "LPSSVM, minus (saddle)", "LPSSVM, plus (paper)", "SVM",
        "dimensions, minus (saddle)", "dimensions, plus (paper)",
    ]  # fmt: skip
    assert table["rows"][2][1] == table["rows"][2][2]
    assert float(table["rows"][3][1]) < float(table["rows"][3][2])
    assert set(found["panels"][0]["lines"]) == {*energy.SIGNS, "SVM"}


@pytest.mark.parametrize("name", list(references.PAIRS))
def test_references_have_the_scores_of_the_baselines(name):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(50) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(50, 7)) + 0.6 * y[:, None]
    ours, theirs = references.PAIRS[name][0](X, np.where(np.arange(50) < 24, y, 0.0))
    np.testing.assert_allclose(ours, theirs, atol=0.02 * np.abs(theirs).max())


def test_no_labelling_is_better_than_the_smallest_and_a_kernel_of_full_rank_is_the_graph():
    X, _, known = labelled_suns()
    table = references.transductive_gap(X, known[:, 0], 6, 6)
    ours, best = (float(value) for value in table["rows"][0][:2])
    assert ours >= best * (1 - 1e-4)
    rng = np.random.default_rng(0)
    rows = references.full_rank_lpp(rng.normal(size=(60, 8)))["rows"]
    gaps, lengths = [float(row[3]) for row in rows], [float(row[4]) for row in rows]
    assert gaps[0] < 1e-8 < gaps[3]
    assert lengths[0] < 0.05 < lengths[3]


def test_missing_points_of_the_suns_are_scaled():
    found = data.suns(60)
    np.testing.assert_allclose(found.X.std(axis=0), 1.0)
    assert found.Y.sum() == 60


@pytest.mark.parametrize("method", ["svm", "lapsvm", "lpp_svm", "lpssvm"])
def test_folds_fitted_together_are_folds_fitted_one_by_one(method):
    X, _, known = labelled_suns()
    both = np.column_stack([known[:, 0], np.where(known[:, 0] < 0, -1, 1 - known[:, 0])]).astype(np.int8)
    for Y, width in ((known, 3), (both, 1)):
        rates = []
        for Y_train, held_out in LabeledKFold(3, random_state=0).split_labels(Y):
            scores = make(method, {"theta": 4.0}, 2).fit(X, Y_train[:, :width]).transduction_
            classes = scores.argmax(axis=1) if width == 3 else 1 * (scores[:, 0] < 0)
            rates.append(np.mean(classes[held_out] == Y[held_out].argmax(axis=1)))
        assert Ingredients(X, Y).rate(method, {"theta": 4.0}) == pytest.approx(np.mean(rates), abs=1e-9)


def test_lpp_and_a_weight_of_zero_are_fitted_once(monkeypatch):
    X, _, known = labelled_suns()
    parts, calls = Ingredients(X, known), []
    monkeypatch.setattr(parts, "_rate", lambda *arguments: calls.append(arguments) or 0.5)
    parts.rate("lpp_svm", {"C": 2.0})
    parts.rate("lpssvm", {"C": 2.0, "svm_weight": 0.0, "coupling": "paper"})
    parts.rate("lpssvm", {"C": 2.0, "svm_weight": 0.0, "coupling": "saddle"})
    assert calls == [("lpssvm", {"svm_weight": 0.0, "C": 2.0})]
    parts.rate("lpssvm", {"C": 2.0, "svm_weight": 1.0, "coupling": "saddle"})
    assert len(calls) == 2
