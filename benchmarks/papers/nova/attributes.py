"""Table 2 and Fig. 3: how many classes are predicted, and which attributes the penalties select for a class."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import data_folder
from benchmarks.experiment import Experiment
from benchmarks.runner import fit_cell
from tagloom.datasets.awa import load_awa_attributes


def selected_attributes(
    experiment: Experiment, data: str, methods: list[str], shown: dict[str, list[str]]
) -> dict[str, Any]:
    """Compare the signs of coefficients in the first partition with the binary table.

    Parameters
    ----------
    experiment : Experiment
        Whose cells are fitted.
    data : str
        Its part with classes as tags and attributes as columns.
    methods : list of str
        Methods without a grid.
    shown : dict of str to list of str
        For some classes, the attributes to show.
    """
    truth = load_awa_attributes(data_folder("awa"), values="binary").extras["class_attributes"] == 1
    titles = {method.name: method.title for method in experiment.methods}
    verdicts, rows, dataset = {}, [], None
    for name in methods:
        dataset, _, model = fit_cell(experiment, data, name, 0)
        coef = coefficients(model)
        verdicts[name] = coef.T > 0
        rows.append([titles[name], *_agreement(truth, coef.T)])
    assert dataset is not None
    attributes, classes = list(dataset.groups), list(dataset.tags)
    answers = []
    for animal, wanted in shown.items():
        for attribute in wanted:
            place = classes.index(animal), attributes.index(attribute)
            said = [_answer(verdicts[name][place], truth[place]) for name in methods]
            answers.append([animal, attribute, "yes" if truth[place] else "no", *said])
    header = ["class", "attribute", "truth", *(titles[name] for name in methods)]
    counted = ["method", "selected for a class", "of these positive", "of these true", "yes or no is right"]
    return {
        "tables": [
            {"caption": "", "header": header, "rows": answers},
            {"caption": "All 50 classes × 85 attributes:", "header": counted, "rows": rows},
        ]
    }


def predicted_classes(experiment: Experiment, data: str, methods: list[str]) -> dict[str, Any]:
    """Count the classes that a method predicts for some test image, in every partition: precision leaves others out.

    Parameters
    ----------
    experiment : Experiment
        Whose cells are fitted.
    data : str
        Its part with classes as tags.
    methods : list of str
        Methods without a grid.
    """
    (part,) = (one for one in experiment.data if one.name == data)
    titles = {method.name: method.title for method in experiment.methods}
    rows = []
    for name in methods:
        counts, used = [], []
        for draw in range(part.draws):
            dataset, split, model = fit_cell(experiment, data, name, draw)
            scores = model.decision_function(dataset.X[split.evaluate["novel"]])
            counts.append(int((scores > 0).any(axis=0).sum()))
            used.append(float((coefficients(model) != 0).sum(axis=0).mean()))
        rows.append(
            [titles[name], f"{np.mean(counts):.1f}", f"{min(counts)} to {max(counts)}", f"{np.mean(used):.1f} of 85"]
        )
    header = ["method", "classes predicted, of 50", "over the partitions", "attributes used for a class"]
    return {"tables": [{"caption": "", "header": header, "rows": rows}]}


def coefficients(model: Any) -> NDArray[np.float64]:
    """Return the coefficients (d, c) of a model of `benchmarks.papers.nova.methods`."""
    return np.asarray(getattr(model, "model_", model).coef_)


def _agreement(truth: NDArray[np.bool_], coef: NDArray[np.float64]) -> list[str]:
    positive, selected = coef > 0, coef != 0
    shares = (
        positive.sum() / max(1, selected.sum()),
        (positive & truth).sum() / max(1, positive.sum()),
        (positive == truth).mean(),
    )
    return [f"{selected.sum(axis=1).mean():.1f}", *(f"{share:.3f}" for share in shares)]


def _answer(said: bool, true: bool) -> str:
    word = "yes" if said else "no"
    return word if said == true else f"*{word}*"
