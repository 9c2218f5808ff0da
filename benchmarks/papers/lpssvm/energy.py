"""Fig. 5: the energy ratio, on the sets that are here, for both signs of the coupling."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.experiment import Experiment
from benchmarks.papers.lpssvm.categories import score_categories
from benchmarks.papers.lpssvm.chosen import Ingredients
from benchmarks.papers.lpssvm.patches import caltech_patches
from benchmarks.runner import open_draw
from tagloom.kernels import linear_kernel
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.methods.lpssvm import LPSSVM
from tagloom.metrics import annotation_accuracy

SIGNS = {"minus (saddle)": "saddle", "plus (paper)": "paper"}
SVM = "SVM"


def energy_curves(
    experiment: Experiment, tables: dict[str, str], photos: dict[str, list[float]], ratios: list[float], draws: int
) -> dict[str, Any]:
    """Return recognition rates of unlabelled rows over the ratio, and the number of dimensions.

    Parameters
    ----------
    experiment : Experiment
        Whose draws are used.
    tables : dict of str to str
        Data with feature vectors, and which condition of each.
    photos : dict of str to list of float
        Data with a kernel for each category, of which the first draw is used, and energy ratios there.
    ratios : list of float
        Energy ratios of the tables.
    draws : int
        Of the tables.
    """
    found, panels = [], []
    for data, condition in tables.items():
        runs = [_of_table(experiment, data, condition, draw, ratios) for draw in range(draws)]
        curves = {name: np.mean([rates[name] for rates, _ in runs], axis=0) for name in (*SIGNS, SVM)}
        sizes = {name: np.mean([counts[name] for _, counts in runs], axis=0) for name in SIGNS}
        panels.append(_panel(f"{data}, {condition}", ratios, curves))
        found.append(_table(f"{data}, {condition}, mean of {draws} draws:", ratios, curves, sizes))
    for data, of_photos in photos.items():
        curves = _of_photos(experiment, data, of_photos)
        panels.append(_panel(data, of_photos, curves))
        found.append(_table(f"{data}, first draw:", of_photos, curves, {}))
    return {"tables": found, "panels": panels}


def _of_table(
    experiment: Experiment, data: str, condition: str, draw: int, ratios: list[float]
) -> tuple[dict[str, list[float]], dict[str, list[float]]]:
    """Return rates and numbers of dimensions of one draw."""
    dataset, split, X, Y = open_draw(experiment, data, draw, condition=condition)
    rest = np.searchsorted(split.fit_rows, split.evaluate["unlabeled"])
    truth = dataset.Y[split.evaluate["unlabeled"]]
    parts = Ingredients(X, Y)

    def rate(model: Any) -> float:
        scores = model.transduction_[rest]
        return annotation_accuracy(truth, np.hstack([scores, -scores]))

    rates: dict[str, list[float]] = {}
    sizes: dict[str, list[float]] = {}
    for name, coupling in SIGNS.items():
        models = [parts.fit("lpssvm", {"coupling": coupling, "subspace_energy": ratio}, Y[:, :1]) for ratio in ratios]
        rates[name] = [rate(model) for model in models]
        sizes[name] = [float(model.n_directions_[0]) for model in models]
    rates[SVM] = [rate(parts.fit("svm", {}, Y[:, :1]))] * len(ratios)
    return rates, sizes


def _of_photos(experiment: Experiment, data: str, ratios: list[float]) -> dict[str, Any]:
    """Return rates of one draw with a kernel for each category."""
    dataset, split, X, Y = open_draw(experiment, data, 0)
    wanted: dict[str, Any] = {SVM: lambda _binary, _weighted: KernelSVM(linear_kernel)}
    for name, coupling in SIGNS.items():
        for ratio in ratios:
            settings = {"coupling": coupling, "subspace_energy": ratio}
            wanted[f"{name} {ratio}"] = lambda _binary, weighted, settings=settings: LPSSVM(
                "linear", graph=weighted, **settings
            )
    scores, _ = score_categories(
        caltech_patches(),
        X[:, 0],
        Y,
        most_exact=1000,
        n_words=50,
        n_neighbors=15,
        subspace_energy=1.0,
        methods=wanted,
    )
    rows = split.evaluate["unlabeled"]

    def rate(name: str) -> float:
        return annotation_accuracy(dataset.Y[rows], scores[name][dataset.X[rows, 0]])

    curves = {name: [rate(f"{name} {ratio}") for ratio in ratios] for name in SIGNS}
    return curves | {SVM: [rate(SVM)] * len(ratios)}


def _panel(title: str, ratios: list[float], curves: dict[str, NDArray[Any] | list[float]]) -> dict[str, Any]:
    return {
        "title": title,
        "x_label": "energy ratio",
        "y_label": "recognition rate",
        "x": ratios,
        "lines": {name: [round(float(value), 4) for value in values] for name, values in curves.items()},
    }


def _table(caption: str, ratios: list[float], curves: dict[str, Any], sizes: dict[str, Any]) -> dict[str, Any]:
    rows = [
        [name if name == SVM else f"LPSSVM, {name}", *(f"{value:.3f}" for value in values)]
        for name, values in curves.items()
    ]
    rows += [[f"dimensions, {name}", *(f"{value:.1f}" for value in values)] for name, values in sizes.items()]
    return {"caption": caption, "header": ["energy ratio", *(f"{ratio:g}" for ratio in ratios)], "rows": rows}
