"""Few labels: with and without unlabelled points.

Ridge and an SVM see labelled points only. Harmonic propagation and LapRLS also see the unlabelled ones, and need far
fewer labels where the points have a shape. Means and standard deviations of five draws of labels.
"""

import numpy as np
from matplotlib.figure import Figure

from tagloom import HarmonicPropagation, KernelSVM, LapRLS, RegularizedLeastSquares, label_budget
from tagloom.datasets import make_moons
from tagloom.metrics import mean_average_precision
from tagloom.plotting import plot_curves

X, truth = make_moons(400, random_state=0)
methods = {
    "supervised: ridge": RegularizedLeastSquares(),
    "supervised: SVM": KernelSVM(),
    "all points: harmonic": HarmonicPropagation(),
    "all points: LapRLS": LapRLS(),
}
numbers = [8, 16, 32, 64, 128]
series = {}
for name, method in methods.items():
    found = np.empty((5, len(numbers)))
    for seed in range(5):
        for column, number in enumerate(numbers):
            Y = label_budget(truth, number, random_state=seed)
            hidden = np.where(Y == -1, truth, -1)
            found[seed, column] = mean_average_precision(hidden, method.fit(X, Y).transduction_)
    series[name] = (found.mean(axis=0), found.std(axis=0, ddof=1))
figure = Figure(figsize=(7, 4), layout="constrained")
plot_curves(numbers, series, x_name="labelled points", y_name="MAP on hidden labels", log_x=True, ax=figure.subplots())
figure.savefig("few_labels.svg")
