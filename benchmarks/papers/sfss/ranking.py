"""Which scores rank the training photos without labels: F, or the regression that the paper annotates with."""

from typing import Any

import numpy as np

from benchmarks.experiment import Experiment
from benchmarks.methods import SFSSOfAnySparsity
from benchmarks.results import read_cells
from benchmarks.runner import finished, open_draw
from benchmarks.summary import Summary
from tagloom.metrics import mean_average_precision

RANKINGS = ("propagated", "regression", "auto")


def rank_unlabelled(experiment: Experiment, data: str, method: str) -> dict[str, Any]:
    """Score the unlabelled training photos in three ways, at the parameters that the honest column chose.

    Parameters
    ----------
    experiment : Experiment
        Its recorded cells say which parameters.
    data, method : str
        Part and method.
    """
    known = {cell.key: cell for cell in read_cells(experiment.folder / "results.json")}
    cells = finished(experiment, known)
    summary, rows = Summary(experiment, cells), []
    for condition in dict.fromkeys(cell.condition for cell in cells if cell.data == data):
        column = summary.honest(data, condition, method, "unlabeled/map")
        if column is None:  # all training photos are labelled
            continue
        values: dict[str, list[float]] = {name: [] for name in RANKINGS}
        chosen = 0
        for draw, point in zip(column.values, column.points, strict=True):
            dataset, split, X, Y = open_draw(experiment, data, draw, condition=condition)
            at = np.searchsorted(split.fit_rows, split.evaluate["unlabeled"])
            for name in RANKINGS:
                model = SFSSOfAnySparsity(**point, ranking=name).fit(X, Y).model_
                scores = model.transduction_[at]
                values[name].append(mean_average_precision(dataset.Y[split.evaluate["unlabeled"]], scores))
                chosen += name == "auto" and model.ranking_ == "regression"
        spelled = [f"{np.mean(found):.3f} ± {np.std(found, ddof=1):.3f}" for found in values.values()]
        rows.append([condition, *spelled, f"{chosen} of {len(column.points)}"])
    header = ["labelled", "F", "XW + b", "the better on held-out labels", "draws in which that is XW + b"]
    return {"tables": [{"caption": f"{data}, MAP of unlabelled training photos:", "header": header, "rows": rows}]}
