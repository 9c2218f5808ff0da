"""What a collection is about: topics with their photos.

The Laplacian topic model learns from colour histograms, read as counts of visual words, and from the tags of a third
of the photos. Each row of the figure is a topic: its likeliest tags and its most typical photos.
"""

import tempfile
from pathlib import Path

from matplotlib.figure import Figure

from tagloom import LaplacianTopicModel, label_budget
from tagloom.datasets import make_scenes, write_scenes
from tagloom.features import extract

with tempfile.TemporaryDirectory() as folder:
    scenes = write_scenes(folder, 150, size=(96, 64), random_state=0)
    X, _, _ = extract(sorted(Path(folder).glob("*.jpg")), ["color"])
photos = make_scenes(150, size=(96, 64), random_state=0)
Y = label_budget(scenes.Y, 1 / 3, random_state=0)

model = LaplacianTopicModel(6, words_per_photo=60, graph="knn", random_state=0).fit(X, Y)
topics = model.describe_topics(list(scenes.tags), n_tags=3, n_photos=5)

figure = Figure(figsize=(9, 1.2 * len(topics)), layout="constrained")
for row, axes in zip(topics, figure.subplots(len(topics), 5, squeeze=False), strict=True):
    for ax, photo in zip(axes, row.photos, strict=False):
        ax.imshow(photos.pixels(photo.row))
    for ax in axes:
        ax.set_axis_off()
    axes[0].set_title(", ".join(tag.tag for tag in row.tags), loc="left", fontsize=9)
figure.savefig("topics.png", dpi=70)
