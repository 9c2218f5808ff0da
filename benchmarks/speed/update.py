"""Twenty more photos decided: `Updater.update`, as the review page calls it, beside a fit of everything from scratch.

The second part starts from a trained model of the default method; beside it a training from scratch.

The photos are records without files, with made-up features and tags; all tags of the twenty photos are decided, so that
every tag changes. The timed step stores the decisions durably, reads all labels, and solves, smooths and calibrates all
tags. The graph is that of the numbers behind the features, made beforehand.
"""

import os
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.spatial import cKDTree

from benchmarks.speed.harness import Local, case, compare, out_parser, record
from tagloom.catalog.extraction import load_rows
from tagloom.core.photos import FileStamp, PhotoRecord, Verdict
from tagloom.features import get_descriptor
from tagloom.graph import NeighborGraph
from tagloom.learning.constants import SMOOTHING
from tagloom.learning.labels import read_labels
from tagloom.learning.methods import get_learner, make_annotator
from tagloom.learning.ridge import RidgeLearner
from tagloom.learning.stored_model import RidgeModel
from tagloom.learning.update import Updater
from tagloom.methods import RegularizedLeastSquares
from tagloom.metrics import average_precision, brier_skill, calibration_error
from tagloom.project.project import Project
from tagloom.solvers import block_cg

TITLE = "Learning from twenty more photos"
DESCRIPTORS = ("color", "rgb", "correlogram", "edges", "gist", "wavelet")
SIZES = {"full": [(20_000, 1_000, 100), (20_000, 2_000, 100), (100_000, 2_000, 100)], "quick": [(400, 60, 5)]}
AUTO_SIZES = {"full": [(5_000, 500, 100), (10_000, 500, 100)], "quick": [(500, 200, 5)]}
AUTO = "auto"
N_HIDDEN, N_NEIGHBORS, N_MORE, REPEATS = 8, 15, 20, 3
ROWS_AT_ONCE = 10_000


@dataclass
class Scene:
    """A project, its truth, and how many of its photos are decided."""

    project: Project
    ids: NDArray[np.int64]
    tags: NDArray[np.int64]
    truth: NDArray[np.int8]
    graph: NeighborGraph
    n_said: int = 0

    def say(self, n: int) -> None:
        """Decide all tags of the next n photos."""
        rows = np.arange(self.n_said, self.n_said + n)
        pairs = np.repeat(self.ids[rows], len(self.tags)), np.tile(self.tags, n)
        self.project.store.decisions.decide(*pairs, self.truth[rows].ravel())
        self.n_said += n


def make_scene(root: Path, n: int, c: int, threads: int) -> Scene:
    """Make a project of n photos with features in its cache."""
    generator = np.random.default_rng(0)
    hidden = generator.normal(size=(n, N_HIDDEN))
    scores = hidden @ generator.normal(size=(N_HIDDEN, c)) + generator.normal(size=(n, c))
    truth = (scores > np.quantile(scores, 0.95, axis=0)).astype(np.int8)
    flags = {"descriptors": ",".join(DESCRIPTORS), "n_threads": threads, "n_neighbors": N_NEIGHBORS}
    project = Project.init(root, flags=flags)
    store = project.store
    names = [b"%06d.jpg" % number for number in range(n)]
    stamp = FileStamp(0, 0, 0)
    hashes = [f"{number + 1:064x}" for number in range(n)]
    pairs = zip(names, hashes, strict=True)
    records = [PhotoRecord(name, Verdict.OK, "", content, stamp, 4000, 3000) for name, content in pairs]
    with store.lock(), store.cache() as cache:
        cache.record(records)
        for name in DESCRIPTORS:
            descriptor = get_descriptor(name)
            mixing = generator.normal(size=(N_HIDDEN, sum(descriptor.outputs.values())))
            for start in range(0, n, ROWS_AT_ONCE):
                part = slice(start, start + ROWS_AT_ONCE)
                noise = 2.0 * generator.normal(size=(len(hashes[part]), mixing.shape[1]))
                rows = np.logaddexp(0.0, hidden[part] @ mixing + noise).astype(np.float32)
                cache.put(descriptor.key, hashes[part], rows)
    ids = store.photos.reconcile(names).new
    tags = store.tags.add([f"tag {number}" for number in range(c)])
    return Scene(project, np.asarray(ids), np.asarray(tags), truth, neighbors(hidden))


def neighbors(points: NDArray[np.float64]) -> NeighborGraph:
    """Return the graph of points with few coordinates."""
    n = len(points)
    found = cKDTree(points).query(points, N_NEIGHBORS + 1)[1][:, 1:]
    directed = sparse.csr_array((np.ones(found.size), found.ravel(), np.arange(n + 1) * N_NEIGHBORS), shape=(n, n))
    return NeighborGraph.from_weights(directed.maximum(directed.T), diagonal="drop")


@dataclass
class Outcome:
    """Probabilities, and the scores behind them (None: the updater can tell)."""

    values: NDArray[np.float32]
    scores: NDArray[np.float32] | None = None


def ridge_of(updater: Updater) -> RidgeLearner:
    """Return the ridge that an updater solves."""
    assert isinstance(updater.model, RidgeModel)
    assert updater.photos is not None
    return updater.photos.ridge(updater.model.strength, updater.model.smoothing)


def from_scratch(scene: Scene, updater: Updater) -> Outcome:
    """Fit all tags with the annotator itself, smooth by conjugate gradients, and map to probabilities."""
    learner, model = ridge_of(updater), updater.model
    assert isinstance(model, RidgeModel)
    labels = read_labels(scene.project.store, updater.photo_ids)
    fitted = RegularizedLeastSquares(learner.strength).fit(learner.X, labels.Y)
    system = sparse.eye_array(len(scene.ids)) + SMOOTHING * scene.graph.laplacian("symmetric")
    scores = block_cg(sparse.csr_array(system), fitted.transduction_, tol=1e-8).x.astype(np.float32)
    return Outcome(model.calibrated(scores, labels, np.arange(len(scene.tags))), scores)


def solved_scores(scene: Scene, updater: Updater) -> NDArray[np.float32]:
    """Return the scores behind the updater's numbers; they depend on the labels alone."""
    labels = read_labels(scene.project.store, updater.photo_ids)
    return ridge_of(updater).solve(labels.Y).scores


def update_case(n: int, n_labeled: int, c: int, threads: int) -> dict[str, Any]:
    """Time one size."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "photos"
        os.mkdir(root)
        scene = make_scene(root, n, c, threads)
        scene.say(n_labeled)
        with scene.project, Updater(scene.project.store, scene.project.settings, graph=scene.graph) as updater:
            updater.update()

            def step() -> Outcome:
                scene.say(N_MORE)
                updater.update()
                return Outcome(updater.values)

            def accuracy(found: Outcome) -> dict[str, float]:
                unseen = slice(scene.n_said, None)
                solved = solved_scores(scene, updater)
                scores = solved if found.scores is None else found.scores
                # The map to probabilities can magnify a difference of scores: both are stated.
                return {
                    "max. difference of scores, in deviations": np.abs(scores - solved).max() / solved.std(),
                    "of probabilities": np.abs(found.values - updater.values).max(),
                    "MAP, unseen": np.nanmean(average_precision(scene.truth[unseen], found.values[unseen])),
                }

            contenders = [
                Local("Updater.update", step, role="ours"),
                Local("from scratch", lambda: from_scratch(scene, updater), role="literal"),
            ]
            entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
            d = ridge_of(updater).X.shape[1]
    return case(f"{n} photos, {n_labeled} labelled, {c} tags", {"n": n, "labelled": n_labeled, "d": d}, entries)


def auto_case(n: int, n_labeled: int, c: int, threads: int) -> dict[str, Any]:
    """Time one size of a trained model of the default method."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "photos"
        os.mkdir(root)
        scene = make_scene(root, n, c, threads)
        scene.say(n_labeled)
        scene.project.train(AUTO)
        with ExitStack() as stack:
            stack.enter_context(scene.project)
            own = stack.enter_context(_updater(scene))
            store, settings = scene.project.store, scene.project.settings
            with store.lock(), store.cache() as cache:
                rows = load_rows(store, cache, settings, compute=False)
            d = rows.X.shape[1]

            def step() -> NDArray[np.float32]:
                scene.say(N_MORE)
                own.update()
                return own.values

            def scratch() -> NDArray[np.float64]:
                labels = read_labels(store, rows.ids)
                return make_annotator(get_learner(AUTO), settings, rows.groups).fit(rows.X, labels.Y).probabilities_

            def accuracy(found: NDArray[Any]) -> dict[str, float]:
                unseen, truth = found[scene.n_said :], scene.truth[scene.n_said :]
                return {
                    "MAP, unseen": np.nanmean(average_precision(truth, unseen)),
                    "Brier skill": brier_skill(truth, unseen, scene.truth[: scene.n_said].mean(axis=0)),
                    "calibration error, five best": calibration_error(truth, unseen, n_bins=15, entries="best"),
                }

            contenders = [
                # Of each round it says more; the other learns the same.
                Local("Updater.update", step, role="ours"),
                Local("trained from scratch", scratch, role="literal", runs=1),
            ]
            entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    name = f"a model of auto, {n} photos, {n_labeled} labelled, {c} tags"
    return case(name, {"n": n, "labelled": n_labeled, "d": d}, entries)


def _updater(scene: Scene) -> Updater:
    return Updater(scene.project.store, scene.project.settings, graph=scene.graph)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("update").parse_args(argv)
    sizes = SIZES["quick" if arguments.quick else "full"]
    cases = [update_case(n, n_labeled, c, arguments.threads) for n, n_labeled, c in sizes]
    of_auto = AUTO_SIZES["quick" if arguments.quick else "full"]
    cases += [auto_case(n, n_labeled, c, arguments.threads) for n, n_labeled, c in of_auto]
    record("update", TITLE, cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
