"""Why this tag: a stored model of the default method taken up again, and its scores taken apart by labelled photos.

The photos are made up as in the benchmark of updates, and some of them labelled. Rows of the table that say "further"
have model, features and kernels in memory, as behind the review page. The literal way to learn what each labelled photo
adds is to change its label and to solve the tag again: one label is changed and changed back, and the time multiplied.
"Difference" is that between what the explanation says of that label and what came of changing it, "rest" what the
amounts of all labelled photos leave of the score.
"""

import os
import tempfile
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.harness import Local, case, compare, out_parser, record
from benchmarks.speed.update import AUTO, make_scene
from tagloom.catalog.extraction import load_rows
from tagloom.learning.explain import ExplainResult, ProjectExplainer
from tagloom.learning.stored_model import AutoModel, load_model

TITLE = "Why this tag"
SIZES = {"full": [(5_000, 1_000, 260), (20_000, 1_000, 100)], "quick": [(400, 150, 5)]}
REPEATS = 3


@dataclass(frozen=True)
class Asked:
    """One explanation, or what changing one label did.

    Parameters
    ----------
    difference : float
        Between the two, for one labelled photo.
    rest : float
        What is not explained.
    megabytes : float
        Of the stored model.
    """

    difference: float = np.nan
    rest: float = np.nan
    megabytes: float = np.nan


def explain_case(n: int, n_labeled: int, c: int, threads: int) -> dict[str, Any]:
    """Time one size."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "photos"
        os.mkdir(root)
        scene = make_scene(root, n, c, threads)
        scene.say(n_labeled)
        with scene.project as project:
            project.train(AUTO)
            store, settings = project.store, project.settings
            with store.lock(), store.cache() as cache:
                rows = load_rows(store, cache, settings, compute=False)
            active = store.models.active()
            assert active is not None
            model = load_model(store, active, n_threads=threads)
            assert isinstance(model, AutoModel)
            size = sum(array.nbytes for array in model.arrays().values()) / 1e6
            kept = ProjectExplainer(store, settings)
            tags, photos = iter(count(1)), iter(count(n_labeled))
            literal = model.restored(rows)
            assert literal is not None
            # One unlabelled photo, one tag, and a labelled photo that has it not.
            row, column = n - 1, 0
            changed = int(np.flatnonzero(scene.truth[:n_labeled, column] == 0)[0])

            def told(explainer: ProjectExplainer, photo: int, tag: int) -> ExplainResult:
                return explainer.explain(int(scene.ids[photo]), f"tag {tag}", n=0)

            said = {one.photo_id: one.weight for one in told(kept, row, column).photos}[int(scene.ids[changed])]
            before, Y = float(literal.scores_[row, column]), literal.labels_.copy()

            def solve_again() -> Asked:
                # There and back, which is two of them: the next round begins with the same labels.
                Y[changed, column] = 1
                after = float(literal.update(Y).scores_[row, column])
                Y[changed, column] = 0
                literal.update(Y)
                return Asked(difference=abs(after - before - said))

            def take_up() -> Asked:
                found = told(ProjectExplainer(store, settings), row, column)
                return Asked(rest=abs(found.photos_rest), megabytes=size)

            def another_photo() -> Asked:
                return Asked(rest=abs(told(kept, next(photos), column).photos_rest))

            def another_tag() -> Asked:
                return Asked(rest=abs(told(kept, row, next(tags) % c).photos_rest))

            contenders = [
                Local("taken up from the disk, and the first explanation", take_up, role="ours"),
                Local("further: another photo", another_photo, role="ours"),
                Local("further: another tag", another_tag, role="ours"),
                Local("each label changed, and solved again", solve_again, role="literal", share=(2, n_labeled)),
            ]
            entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    return case(
        f"{n} photos, {n_labeled} labelled, {c} tags", {"n": n, "labelled": n_labeled, "d": rows.X.shape[1]}, entries
    )


def accuracy(found: Asked) -> dict[str, float]:
    """Return what is known of it."""
    told = {"difference": found.difference, "rest": found.rest, "MB": found.megabytes}
    return {name: value for name, value in told.items() if np.isfinite(value)}


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("explain").parse_args(argv)
    sizes = SIZES["quick" if arguments.quick else "full"]
    cases = [explain_case(*size, arguments.threads) for size in sizes]
    record("explain", TITLE, cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
