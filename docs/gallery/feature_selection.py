"""Which features matter: SFSS and NOVA.

SFSS chooses one set of features for all tags; NOVA keeps a few whole feature groups for each tag. Both learn on
made-up photos, half of them labelled.
"""

import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from tagloom import NOVA, SFSS, label_budget
from tagloom.datasets import write_scenes
from tagloom.features import extract
from tagloom.plotting import plot_selected_groups, plot_tag_groups

with tempfile.TemporaryDirectory() as folder:
    scenes = write_scenes(folder, 120, size=(96, 64), random_state=0)
    X, groups, _ = extract(sorted(Path(folder).glob("*.jpg")), ["color", "edges", "wavelet", "cooccurrence"])
X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-6)
Y = label_budget(scenes.Y, 0.5, random_state=0)

figure = Figure(figsize=(11, 5), layout="constrained")
left, right = figure.subplots(1, 2, width_ratios=[2, 3])
plot_selected_groups(SFSS(sparsity=10.0, tol=1e-4).fit(X, Y), groups, ax=left)
left.set_title("SFSS: one set of features for all tags")
plot_tag_groups(NOVA(groups, strength=0.1, tol=1e-4).fit(X, Y), groups, scenes.tags, ax=right)
right.set_title("NOVA: groups of each tag")
figure.savefig("feature_selection.svg")
