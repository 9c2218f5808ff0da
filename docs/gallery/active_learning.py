"""Which photos to label next.

Starting from five labelled points, each step asks for five more. `representative` picks points that stand for many
others; random labelling needs more labels for the same quality.
"""

import numpy as np
from matplotlib.figure import Figure

from tagloom import RegularizedLeastSquares, label_budget
from tagloom.datasets import make_scenes
from tagloom.metrics import mean_average_precision
from tagloom.plotting import plot_curves
from tagloom.tuning import rank_photos

scenes = make_scenes(400, size=(96, 64), random_state=0)
noise = np.random.default_rng(0)
mixed = noise.normal(size=(scenes.Y.shape[1], 40))
X = scenes.Y @ mixed + noise.normal(scale=2.0, size=(len(scenes.Y), 40))  # features that say something about the tags
learner = RegularizedLeastSquares(smoothing=0.5)
steps = 10
series = {}
for strategy in ("representative", "random"):
    found = np.empty((5, steps))
    for seed in range(5):
        Y = label_budget(scenes.Y, 5, random_state=seed)
        for step in range(steps):
            scores = learner.fit(X, Y).transduction_
            found[seed, step] = mean_average_precision(np.where(Y == -1, scenes.Y, -1), scores)
            ask = rank_photos(np.clip(scores, 0.001, 0.999), Y, X, 5, strategy=strategy, random_state=seed)
            Y[ask] = scenes.Y[ask]  # a person answers
    series[strategy] = (found.mean(axis=0), found.std(axis=0, ddof=1))
figure = Figure(figsize=(7, 4), layout="constrained")
plot_curves(
    list(range(5, 5 + 5 * steps, 5)), series, x_name="labelled photos", y_name="MAP on the others", ax=figure.subplots()
)
figure.savefig("active_learning.svg")
