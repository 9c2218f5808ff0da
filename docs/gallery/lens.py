"""A tag's lens: all photos, likeliest first.

The review page shows a tag like this. Each photo has its probability; a green frame marks those that truly have the
tag, which the model has not seen.
"""

import tempfile

from matplotlib.figure import Figure

from tagloom import Project
from tagloom.datasets import make_scenes, write_scenes

TAG = "sunset"
with tempfile.TemporaryDirectory() as folder:
    scenes = write_scenes(folder, 150, size=(96, 64), labeled=0.3, random_state=1)
    with Project.init(folder, flags={"descriptors": "color,moments", "n_workers": 1, "n_keywords": 0}) as project:
        project.scan()
        project.import_keywords(f"{folder}/labels.csv")
        project.train()
        ranked = [item for item in project.suggest(n=0, threshold=0.0) if item.tag == TAG]
ranked.sort(key=lambda item: -item.value)
photos = make_scenes(150, size=(96, 64), random_state=1)
column = list(scenes.tags).index(TAG)

figure = Figure(figsize=(10, 4), layout="constrained")
for ax, item in zip(figure.subplots(3, 8).ravel(), ranked, strict=False):
    row = int(item.photo.decode().removeprefix("scene_").removesuffix(".jpg"))
    ax.imshow(photos.pixels(row))
    ax.set(xticks=[], yticks=[], title=f"{item.value:.2f}")
    for side in ax.spines.values():
        side.set(color="green" if scenes.Y[row, column] else "lightgray", linewidth=3)
figure.savefig("lens.png", dpi=70)
