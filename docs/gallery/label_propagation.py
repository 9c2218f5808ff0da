"""Labels spread over unlabelled points.

Six labelled points on two moons. Ridge regression draws a straight line; harmonic propagation follows the moons,
because it sees the unlabelled points, too.
"""

from matplotlib.figure import Figure

from tagloom import HarmonicPropagation, RegularizedLeastSquares, label_budget
from tagloom.datasets import make_moons
from tagloom.plotting import plot_embedding_classes

points, truth = make_moons(300, random_state=0)
truth = truth[:, :2]
few = label_budget(truth, 6, random_state=1)

figure = Figure(figsize=(10, 4), layout="constrained")
methods = {"ridge: labelled points only": RegularizedLeastSquares(), "harmonic: all points": HarmonicPropagation()}
for ax, (title, method) in zip(figure.subplots(1, 2), methods.items(), strict=True):
    model = method.fit(points, few)
    plot_embedding_classes(
        points,
        truth.argmax(axis=1),
        names=["upper moon", "lower moon"],
        labeled=(few != -1).any(axis=1),
        boundary=lambda grid, model=model: model.decision_function(grid).argmax(axis=1),
        ax=ax,
    )
    right = (model.transduction_.argmax(axis=1) == truth.argmax(axis=1)).mean()
    ax.set_title(f"{title}, {100 * right:.0f} % right")
figure.savefig("label_propagation.svg")
