"""`AutoAnnotator` with its budget of 300 s: on Corel5K as in the quality benchmark, and on many made-up photos."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import DataMissingError
from benchmarks.quality.sets import TOY, QualitySet, find_set
from benchmarks.speed.harness import Local, case, compare, missing_case, out_parser, record
from tagloom.core.groups import FeatureGroups
from tagloom.core.labels import UNKNOWN
from tagloom.features import GroupScaler
from tagloom.learning.constants import SMOOTHING
from tagloom.methods import RegularizedLeastSquares
from tagloom.metrics import mean_average_precision
from tagloom.tuning import CalibratedAnnotator, cross_validate
from tagloom.tuning.auto.annotator import AutoAnnotator
from tagloom.tuning.auto.views import left_out_deviations

TITLE = "Choosing by itself"
FRACTIONS = (0.05, 0.25)
#: Made-up photos: how many, labelled, tags; columns of the default groups.
MANY = {"full": [(20_000, 500, 100), (50_000, 500, 100)], "quick": [(300, 60, 4)]}
GROUPS = {"deep": 1280, "semantic": 1000, "color": 64, "moments": 225, "edges": 73}
#: Photos up to which the smoothed ridge is timed beside.
MOST_BESIDE = 20_000
N_HIDDEN = 30
PENALTIES = (0.01, 0.03, 0.1)

Floats = NDArray[np.float64]


@contextmanager
def peak_memory() -> Iterator[Callable[[], float]]:
    """Give what tells the largest resident memory of this process since then, features included, in MB (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")

    def peak() -> float:
        (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024

    yield peak


def left_out_case(n_photos: int, n_tags: int) -> dict[str, Any]:
    """Time the left-out scores of one kernel with several penalties, in closed form and by refits."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_photos, N_HIDDEN))
    kernel = np.exp(-np.square(X[:, None] - X).sum(axis=2) / (2 * N_HIDDEN))
    targets = generator.normal(size=(n_photos, n_tags))

    def closed() -> list[Floats]:
        return [found for *_, found in left_out_deviations(kernel, [kernel], targets, PENALTIES)]

    def by_refits() -> list[Floats]:
        return [np.stack([_without(kernel, targets, penalty, row) for row in range(n_photos)]) for penalty in PENALTIES]

    exact = by_refits()

    def accuracy(found: list[Floats]) -> dict[str, float]:
        return {"max. difference": max(np.abs(one - other).max() for one, other in zip(found, exact, strict=True))}

    contenders = [Local("closed form", closed, role="ours"), Local("refits", by_refits, role="literal", runs=1)]
    entries = compare(contenders, accuracy=accuracy, repeats=3)
    title = f"left-out scores of one kernel, {n_photos} photos, {n_tags} tags, {len(PENALTIES)} penalties"
    return case(title, {"n": n_photos, "c": n_tags}, entries)


def _without(kernel: Floats, targets: Floats, penalty: float, row: int) -> Floats:
    others = np.delete(np.arange(len(kernel)), row)
    system = kernel[np.ix_(others, others)] + penalty * np.eye(len(others))
    return np.asarray(kernel[row, others] @ np.linalg.solve(system, targets[others]))


def annotator_case(
    title: str, X: NDArray[np.float32], groups: FeatureGroups, truth: NDArray[np.int8], labeled: Any, threads: int
) -> dict[str, Any]:
    """Time a fit, beside one calibrated smoothed ridge on the same features."""
    Y = np.full_like(truth, UNKNOWN)
    Y[labeled] = truth[labeled]
    hidden = np.setdiff1d(np.arange(len(X)), labeled)

    def auto() -> tuple[Any, float]:
        with peak_memory() as peak:
            return AutoAnnotator(groups, n_threads=threads, random_state=0).fit(X, Y), peak()

    def ridge() -> tuple[Any, float]:
        with peak_memory() as peak:
            base = RegularizedLeastSquares(smoothing=SMOOTHING)
            return CalibratedAnnotator(base, random_state=0).fit(GroupScaler(groups).fit_transform(X), Y), peak()

    def accuracy(result: tuple[Any, float]) -> dict[str, float]:
        found, peak = result
        told = {"MAP, unseen": mean_average_precision(truth[hidden], found.transduction_[hidden]), "peak, MB": peak}
        if isinstance(found, AutoAnnotator):
            late = sum(reason == "the time was over" for reason in found.left_out_.values())
            told |= {"candidates compared": len(found.leaderboard_), "not tried for lack of time": late}
        return told

    contenders = [Local("AutoAnnotator", auto, role="ours", runs=1)]
    if len(X) <= MOST_BESIDE:
        contenders.append(Local("smoothed ridge", ridge, role="ours", runs=1))
    entries = compare(contenders, accuracy=accuracy, repeats=1, threads=threads)
    return case(title, {"n": len(X), "labelled": len(labeled), "d": X.shape[1], "c": truth.shape[1]}, entries)


def collection_case(item: QualitySet, fraction: float, threads: int) -> dict[str, Any]:
    """Take the first draw of a collection."""
    title = f"{item.title}, {100 * fraction:g} % labelled"
    try:
        data, draw = item.draw(fraction, 0)
    except DataMissingError as error:
        return missing_case(title, str(error))
    assert data.groups is not None
    labeled = np.searchsorted(draw.seen, draw.labeled)
    return annotator_case(title, data.X[draw.seen], data.groups, data.Y[draw.seen], labeled, threads)


def evaluation_case(item: QualitySet, fraction: float, threads: int) -> dict[str, Any]:
    """Time the cross-validation that `tagloom evaluate` begins with, on the labels of the first draw."""
    title = f"{item.title}, {100 * fraction:g} % labelled: cross-validation, five fits"
    try:
        data, draw = item.draw(fraction, 0)
    except DataMissingError as error:
        return missing_case(title, str(error))
    assert data.groups is not None
    groups, X = data.groups, data.X[draw.seen]
    Y = np.full((len(X), data.Y.shape[1]), UNKNOWN, dtype=np.int8)
    Y[np.searchsorted(draw.seen, draw.labeled)] = data.Y[draw.labeled]

    def auto() -> Any:
        return cross_validate(AutoAnnotator(groups, n_threads=threads, random_state=0), X, Y)

    def ridge() -> Any:
        return cross_validate(RegularizedLeastSquares(smoothing=SMOOTHING), GroupScaler(groups).fit_transform(X), Y)

    def accuracy(result: Any) -> dict[str, float]:
        return {"MAP, held out": result.map}

    contenders = [
        Local("AutoAnnotator", auto, role="ours", runs=1),
        Local("smoothed ridge", ridge, role="ours", runs=1),
    ]
    entries = compare(contenders, accuracy=accuracy, repeats=1, threads=threads)
    return case(title, {"n": len(X), "labelled": len(draw.labeled), "d": X.shape[1], "c": Y.shape[1]}, entries)


def made_up_case(n: int, n_labeled: int, c: int, threads: int) -> dict[str, Any]:
    """Make photos whose groups tell of the same hidden numbers."""
    generator = np.random.default_rng(0)
    hidden = generator.normal(size=(n, N_HIDDEN)).astype(np.float32)
    parts = [
        np.maximum(hidden @ generator.normal(size=(N_HIDDEN, size)).astype(np.float32), 0.0)
        + generator.random((n, size), dtype=np.float32)
        for size in GROUPS.values()
    ]
    scores = hidden @ generator.normal(size=(N_HIDDEN, c)) + generator.normal(size=(n, c))
    truth = (scores > np.quantile(scores, 0.95, axis=0)).astype(np.int8)
    groups = FeatureGroups(list(GROUPS), list(GROUPS.values()))
    title = f"{n:,} made-up photos, {n_labeled} labelled"
    return annotator_case(title, np.hstack(parts), groups, truth, np.arange(n_labeled), threads)


def main(argv: list[str] | None = None) -> None:
    arguments = out_parser("auto").parse_args(argv)
    if arguments.quick:
        cases = [left_out_case(40, 3), collection_case(TOY, 0.2, arguments.threads)]
    else:
        item = find_set("corel5k")
        cases = [left_out_case(225, 260), *(collection_case(item, share, arguments.threads) for share in FRACTIONS)]
    cases.append(evaluation_case(TOY if arguments.quick else find_set("corel5k"), FRACTIONS[0], arguments.threads))
    cases += [made_up_case(*size, arguments.threads) for size in MANY["quick" if arguments.quick else "full"]]
    record("auto", TITLE, cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
