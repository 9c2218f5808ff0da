"""Figures of a reproduction; needs the ``plot`` extra."""

from pathlib import Path

from benchmarks.experiment import Experiment
from benchmarks.splits import conditions
from benchmarks.summary import Summary


def draw_figure(experiment: Experiment, summary: Summary, path: Path) -> bool:
    """Draw the honest column over the conditions, one panel per dataset.

    Parameters
    ----------
    experiment : Experiment
        What was run.
    summary : Summary
        Its columns.
    path : Path
        The SVG file to write.

    Returns
    -------
    bool
        False where matplotlib is not installed; nothing is written then.
    """
    try:
        import matplotlib
    except ImportError:
        return False
    matplotlib.use("svg")
    # A fixed salt and no date: the same results give the same file.
    matplotlib.rcParams["svg.hashsalt"] = experiment.name
    from matplotlib.figure import Figure

    metric = f"{experiment.selection.on}/{experiment.selection.metric}"
    figure = Figure(figsize=(5.0 * len(experiment.data), 3.6), layout="constrained")
    for axes, data in zip(figure.subplots(1, len(experiment.data), squeeze=False)[0], experiment.data, strict=True):
        names = [name for name, _ in conditions(data.split)]
        for method in experiment.methods:
            columns = [summary.honest(data.name, name, method.name, metric) for name in names]
            known = [(index, column) for index, column in enumerate(columns) if column is not None]
            if known:
                axes.errorbar(
                    [index for index, _ in known],
                    [column.mean for _, column in known],
                    yerr=[column.deviation for _, column in known],
                    label=method.title,
                    marker="o",
                    capsize=3,
                )
        axes.set_xticks(range(len(names)), names)
        axes.set_title(data.name)
        axes.set_ylabel(metric)
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    return True
