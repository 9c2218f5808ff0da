"""Why this tag?

The score of one photo for one tag, taken apart by labelled photos: similar photos with the tag add, similar photos
without it take away.
"""

import tempfile

from matplotlib.figure import Figure

from tagloom import Project
from tagloom.datasets import make_scenes, write_scenes

flags = {"descriptors": "color,edges", "n_workers": 1, "method": "smoothed-ridge"}
with tempfile.TemporaryDirectory() as folder:
    write_scenes(folder, 60, size=(96, 64), labeled=0.6, random_state=0)
    with Project.init(folder, flags=flags) as project:
        project.scan()
        project.import_keywords(f"{folder}/labels.csv")
        project.train()
        best = project.suggest(n=1)[0]
        found = project.explain(best.photo_id, best.tag, n=6)
photos = make_scenes(60, size=(96, 64), random_state=0)

figure = Figure(figsize=(10, 3.2), layout="constrained")
axes = figure.subplots(1, 1 + len(found.photos))
pictures = [found.photo, *(one.photo for one in found.photos)]
titles = [f"{best.tag}?", *(f"{one.amount:+.3f}\n{'has it' if one.has_tag else 'lacks it'}" for one in found.photos)]
for ax, name, title in zip(axes, pictures, titles, strict=True):
    ax.imshow(photos.pixels(int(str(name).split("_")[-1].split(".")[0])))
    ax.set_title(title, fontsize=9)
    ax.set_axis_off()
figure.savefig("explain.png", dpi=70)
