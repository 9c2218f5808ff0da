"""A kernel learned for the photos at hand.

TKML writes each point of a spiral in a dictionary of ten atoms. With one labelled point on each arm, the learned kernel
(right) has a block for each arm, and all 237 other points get the right tags (left).
"""

import numpy as np
from matplotlib.figure import Figure

from tagloom import TKML
from tagloom.datasets import make_arms
from tagloom.plotting import plot_embedding_classes

X, truth = make_arms(240, random_state=0)  # three arms: tag 0, tag 1, both
Y = np.full_like(truth, -1)
Y[120:123] = truth[120:123]

model = TKML(n_atoms=10, start="gaussian", tol=0.0, random_state=0).fit(X, Y)
figure = Figure(figsize=(10, 4), layout="constrained")
left, right = figure.subplots(1, 2)
plot_embedding_classes(
    X,
    truth,
    names=["tag 0", "tag 1"],
    labeled=(Y != -1).all(axis=1),
    boundary=lambda points: model.decision_function(points) > 0,
    resolution=80,
    ax=left,
)
order = np.argsort(truth @ [1, 2], kind="stable")
gram = model.gram(X)[np.ix_(order, order)]
scale = np.sqrt(np.diag(gram))
right.imshow(gram / np.outer(scale, scale), cmap="viridis")
right.set_title("learned kernel, points sorted by arm")
figure.savefig("kernel_maps.png", dpi=70)
