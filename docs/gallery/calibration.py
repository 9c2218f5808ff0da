"""Do probabilities mean what they say?

A fifth of the labels is known. `CalibratedAnnotator` turns scores into probabilities; on the grey line the share of
right suggestions is the probability that was given.
"""

from matplotlib.figure import Figure

from tagloom import HarmonicPropagation, label_budget
from tagloom.datasets import make_moons
from tagloom.metrics import calibration_error, reliability_curve
from tagloom.plotting import plot_reliability
from tagloom.tuning import CalibratedAnnotator

X, truth = make_moons(1500, noise=0.35, random_state=0)
Y = label_budget(truth, 0.2, random_state=0)
model = CalibratedAnnotator(HarmonicPropagation(), random_state=0).fit(X, Y)
hidden = Y[:, 0] == -1
curve = reliability_curve(truth[hidden], model.probabilities_[hidden])

figure = Figure(figsize=(5, 4), layout="constrained")
ax = figure.subplots()
plot_reliability(curve.predicted, curve.observed, curve.counts, ax=ax)
ax.set_title(f"calibration error {calibration_error(truth[hidden], model.probabilities_[hidden]):.3f}")
figure.savefig("calibration.svg")
