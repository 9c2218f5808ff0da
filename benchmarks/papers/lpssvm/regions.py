"""Fig. 2: the regions that each method gives to the three suns."""

from typing import Any

import numpy as np

from benchmarks.experiment import Experiment
from benchmarks.regions import region_panel
from benchmarks.runner import fit_cell


def draw_suns(
    experiment: Experiment, data: str, condition: str, methods: list[str], choice: str, resolution: int
) -> dict[str, Any]:
    """Fit each method on the first draw and note the class of each point of a grid.

    Parameters
    ----------
    experiment : Experiment
        Whose cells are fitted.
    data, condition : str
        Its part.
    methods : list of str
        Methods with a grid over ``choice``.
    choice : str
        The point.
    resolution : int
        Grid points along each side.
    """
    titles = {method.name: method.title for method in experiment.methods}
    rows, panels = [], []
    for name in methods:
        dataset, split, model = fit_cell(experiment, data, name, 0, condition=condition, choice=choice)
        labels = dataset.Y.argmax(axis=1)
        rest = split.evaluate["unlabeled"]
        wrong = model.transduction_.argmax(axis=1)[np.searchsorted(split.fit_rows, rest)] != labels[rest]
        rows.append([titles[name], f"{wrong.mean():.3f}"])
        panels.append(
            region_panel(
                f"{titles[name]}, error {wrong.mean():.3f}",
                dataset.X,
                labels,
                np.isin(np.arange(len(labels)), split.labeled_rows),
                list(dataset.tags),
                lambda points, model=model: model.decision_function(points).argmax(axis=1),
                resolution,
            )
        )
    table = {"caption": "", "header": ["method", "error rate of this draw"], "rows": rows}
    return {"tables": [table], "panels": panels}
