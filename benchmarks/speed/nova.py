"""Group lasso and group SCAD of all tags on one Gram matrix, beside skglm, celer and adelie, which go tag by tag.

Two problems of NUS-WIDE's shape, 2,025 photos, 81 tags and 1,134 columns in 6 groups: photos of Corel-5K with the
groups that come nearest to NUS-WIDE's, and made-up correlated Gaussian features. Columns are standardised and divided
by √d_g: with weights of 1, as in the paper, this is the usual group lasso of standardised columns with weights √d_g.
Every tag has its own λ, a share of the one that leaves it no feature. Targets are ±1 and centred, so that no tool needs
an intercept.

The tolerance of each tool is the loosest of 0.1, 0.05, 0.02, 0.01 … with which the objective of every tag tried comes
within 1e-5 of the best (`TOLERANCES` says which were; ``--calibrate`` finds them anew). Stationarity: largest distance
of a group's gradient from where it should be, of any tag, relative to its λ.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import CACHE, data_folder
from benchmarks.errors import BenchmarkError, DataMissingError
from benchmarks.literal.nova import nova, scad, scad_derivative
from benchmarks.speed.harness import Accuracy, Local, Worker, case, compare, missing_case, out_parser, record
from tagloom.core.groups import FeatureGroups
from tagloom.features import extract
from tagloom.features.words.learned import learned_descriptor
from tagloom.methods.nova import NOVA
from tagloom.store import FolderCache

Floats = NDArray[np.float64]

GROUPS = {"correlogram": 144, "edges": 73, "words": 500, "color": 64, "moments": 225, "wavelet": 128}
QUICK_GROUPS = {"correlogram": 6, "edges": 3, "words": 12, "color": 2, "moments": 8, "wavelet": 5}
ROWS, TAGS = 2025, 81
QUICK_ROWS, QUICK_TAGS = 150, 4
SHARES = (0.3, 0.05)
#: Where every tool shall come, relative to the best objective of a tag.
GOAL = 1e-5
REPEATS = 3
PATH_POINTS = 50
#: Tags that the algorithm as printed is timed on.
LITERAL_TAGS = 2
#: By name: worker's function, environment.
PEERS = {
    "skglm": ("skglm_group_lasso.py:group_lasso", "skglm"),
    "skglm, Lipschitz constants kept": ("skglm_group_lasso.py:group_lasso_known_constants", "skglm"),
    "celer": ("celer.py:group_lasso", "celer"),
    "adelie": ("adelie.py:group_lasso", "adelie"),
    "adelie, covariance": ("adelie.py:group_lasso_covariance", "adelie"),
    "adelie, single precision": ("adelie.py:group_lasso_single", "adelie"),
    "adelie, covariance, single precision": ("adelie.py:group_lasso_covariance_single", "adelie"),
}
#: Tags that the slowest tools are timed on; what they do once (Lipschitz constants kept) is then multiplied too.
SAMPLED = {"skglm": 9, "skglm, Lipschitz constants kept": 9, "celer": 9}
_SKGLM = ("skglm", "skglm, Lipschitz constants kept")
_NAIVE = ("adelie", "adelie, single precision")
_COVARIANCE = ("adelie, covariance", "adelie, covariance, single precision")
#: (problem, share of λ_max) to tolerances by name. Those of tagloom and adelie were found on all tags, but adelie's
#: covariance mode on (gaussian, 0.05), skglm and celer on three (0, 27 and 54); celer on (photos, 0.05) took too long
#: and has the one of (gaussian, 0.05).
TOLERANCES: dict[tuple[str, float], dict[str, float]] = {
    ("photos", 0.3): {"tagloom": 5e-3, "celer": 5e-6}
    | dict.fromkeys(_SKGLM, 2e-2)
    | dict.fromkeys(_NAIVE, 1e-8)
    | dict.fromkeys(_COVARIANCE, 5e-10),
    ("photos", 0.05): {"tagloom": 1e-3, "celer": 5e-6}
    | dict.fromkeys(_SKGLM, 2e-2)
    | dict.fromkeys(_NAIVE, 2e-10)
    | dict.fromkeys(_COVARIANCE, 1e-11),
    ("gaussian", 0.3): {"tagloom": 2e-3, "celer": 5e-5}
    | dict.fromkeys(_SKGLM, 1e-2)
    | dict.fromkeys(_NAIVE, 2e-9)
    | dict.fromkeys(_COVARIANCE, 2e-10),
    ("gaussian", 0.05): {"tagloom": 5e-4, "celer": 5e-6}
    | dict.fromkeys(_SKGLM, 1e-2)
    | dict.fromkeys(_NAIVE, 5e-11)
    | dict.fromkeys(_COVARIANCE, 5e-11),
}
#: For small problems, of which nothing was calibrated.
TIGHT = 1e-8
#: Of the reference, as far as single tags can be taken.
REFERENCE = 1e-10
#: The loosest power of ten that calibration starts from.
LOOSEST = 1
OURS = "tagloom"


class Problem(NamedTuple):
    """Features, centred and scaled, 0/1 labels and the groups of the columns."""

    name: str
    X: Floats
    Y: NDArray[np.int8]
    groups: FeatureGroups

    @property
    def targets(self) -> Floats:
        """±1, centred."""
        signs = np.where(self.Y == 1, 1.0, -1.0)
        return signs - signs.mean(axis=0)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Columns of each group."""
        return np.array(self.groups.sizes)

    def norms(self, coef: Floats) -> Floats:
        """Return the norm of each group (rows) for each tag."""
        starts = np.cumsum(self.sizes) - self.sizes
        norms: Floats = np.sqrt(np.add.reduceat(coef**2, starts, axis=0))
        return norms

    def largest_strengths(self) -> Floats:
        """Return λ_max of each tag."""
        largest: Floats = self.norms(self.X.T @ self.targets / len(self.X)).max(axis=0)
        return largest


class Penalty(NamedTuple):
    """Values and derivatives of group norms (rows) for the strengths of the tags."""

    name: str
    value: Callable[[Floats, Any], Floats]
    slope: Callable[[Floats, Any], Floats]


GROUP_LASSO = Penalty("group_lasso", lambda norms, strengths: strengths * norms, lambda _norms, strengths: strengths)
GROUP_SCAD = Penalty("group_scad", scad, scad_derivative)


def scaled(X: NDArray[Any], groups: FeatureGroups) -> Floats:
    """Return columns with mean 0 and deviation 1/√d_g; constant ones are 0."""
    X = X.astype(np.float64)
    X -= X.mean(axis=0)
    deviation = X.std(axis=0)
    constant = deviation <= 1e-7 * np.abs(X).max()
    X[:, constant] = 0.0
    X /= np.where(constant, 1.0, deviation) * np.sqrt(np.repeat(groups.sizes, groups.sizes))
    return X - X.mean(axis=0)


def photo_problem() -> Problem:
    """Return 2,025 photos of Corel-5K and its 81 most frequent words, each of which some photo has."""
    folder = data_folder("corel5k")
    with np.load(folder / "corel5k.npz", allow_pickle=False) as stored:
        Y, splits, numbers = stored["Y260"].astype(np.int8), stored["split"], stored["image_id"]
    names = [f"images/{split}/{number}.jpeg".encode() for split, number in zip(splits, numbers, strict=True)]
    training = [name for name, split in zip(names, splits, strict=True) if split == "train"]
    Y = Y[:, np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[:TAGS])]
    rows = np.sort(np.random.default_rng(0).permutation(len(Y))[:ROWS])
    if not Y[rows].any(axis=0).all():
        raise BenchmarkError("a word of Corel-5K is on none of the photos drawn; draw with another seed")
    with FolderCache(CACHE / "corel5k.tagloom", folder) as cache:
        words = learned_descriptor("words", cache.folder / "vocabularies", training, root=folder, n_words=500)
        wanted = [words if name == "words" else name for name in GROUPS]
        X, groups, records = extract([names[row] for row in rows], wanted, cache, root=folder)
    if not all(record.ok for record in records) or tuple(groups.sizes) != tuple(GROUPS.values()):
        raise BenchmarkError(f"Corel-5K gave groups {groups} with {len(X)} rows; repair the dataset first")
    return Problem("photos", scaled(X, groups), Y[rows], groups)


def gaussian_problem(
    n: int = ROWS, tags: int = TAGS, sizes: dict[str, int] | None = None, name: str = "gaussian"
) -> Problem:
    """Return features with factors of their group and common ones; tags (1 to 20 %) follow one to three groups."""
    generator = np.random.default_rng(0)
    groups = FeatureGroups.from_mapping(GROUPS if sizes is None else sizes)
    common = generator.standard_normal((n, 20))
    parts = []
    for size in groups.sizes:
        factors = np.hstack([common, generator.standard_normal((n, max(2, size // 6)))])
        loadings = generator.standard_normal((factors.shape[1], size))
        loadings /= np.sqrt(1.0 + np.arange(factors.shape[1]))[:, None]
        parts.append(factors @ loadings + 0.5 * generator.standard_normal((n, size)))
    X = scaled(np.hstack(parts), groups)
    coef = np.zeros((X.shape[1], tags))
    for tag in range(tags):
        for chosen in generator.choice(groups.names, size=generator.integers(1, 4), replace=False):
            coef[groups[chosen], tag] = generator.standard_normal(len(coef[groups[chosen]]))
    scores = X @ coef
    scores = scores / scores.std(axis=0) + generator.standard_normal(scores.shape)
    limits = [np.quantile(scores[:, tag], 1 - share) for tag, share in enumerate(generator.uniform(0.01, 0.2, tags))]
    return Problem(name, X, (scores > limits).astype(np.int8), groups)


def objectives(problem: Problem, coef: Floats, strengths: Floats, penalty: Penalty) -> Floats:
    """Return Eq. (1) of each tag that has coefficients."""
    residual = problem.targets[:, : coef.shape[1]] - problem.X @ coef
    values: Floats = np.square(residual).mean(axis=0) / 2
    return values + penalty.value(problem.norms(coef), strengths[: coef.shape[1]]).sum(axis=0)


def stationarity(problem: Problem, coef: Floats, strengths: Floats, penalty: Penalty) -> Floats:
    """Return each tag's largest distance of a group from its stationary point, relative to λ."""
    targets, strengths = problem.targets[:, : coef.shape[1]], strengths[: coef.shape[1]]
    gradient = problem.X.T @ (problem.X @ coef - targets) / len(targets)
    norms = problem.norms(coef)
    pull = np.repeat(penalty.slope(norms, strengths) / np.where(norms > 0, norms, 1.0), problem.sizes, axis=0) * coef
    inside = problem.norms(gradient + pull)
    outside = np.maximum(problem.norms(gradient) - strengths, 0.0)
    distances: Floats = np.where(norms > 0, inside, outside).max(axis=0) / strengths
    return distances


def accuracy_of(problem: Problem, strengths: Floats, penalty: Penalty, best: Floats) -> Accuracy:
    """Return a function of coefficients: objective over the best one, and stationarity, both of the worst tag."""

    def accuracy(found: Any) -> dict[str, float]:
        coef = found["coef"] if isinstance(found, dict) else found
        excess = objectives(problem, coef, strengths, penalty) / best[: coef.shape[1]] - 1
        distance = stationarity(problem, coef, strengths, penalty)
        return {"objective over the best": float(excess.max()), "stationarity": float(distance.max())}

    return accuracy


def estimator(problem: Problem, strengths: Any, penalty: Penalty, tol: float) -> NOVA:
    return NOVA(problem.groups, penalty=penalty.name, strength=strengths, group_weights="none", tol=tol)


def fit(problem: Problem, strengths: Floats, penalty: Penalty, tol: float) -> Floats:
    coef: Floats = estimator(problem, strengths, penalty, tol).fit(problem.X, problem.Y).coef_
    return coef


def literal(problem: Problem, strengths: Floats) -> Floats:
    return nova(problem.X, problem.targets[:, :LITERAL_TAGS], problem.sizes, strengths[:LITERAL_TAGS])[0]


def relative_gap(problem: Problem, coef: Floats, strengths: Floats) -> float:
    """Return the largest relative duality gap of a tag's group lasso: no objective is lower by a larger share."""
    targets, n = problem.targets, len(problem.X)
    residual = targets - problem.X @ coef
    reach = problem.norms(problem.X.T @ residual / n).max(axis=0)
    feasible = residual * np.minimum(1.0, strengths / np.maximum(reach, np.finfo(float).tiny))
    bound = (np.square(targets) - np.square(targets - feasible)).mean(axis=0) / 2
    return float((1 - bound / objectives(problem, coef, strengths, GROUP_LASSO)).max())


@contextmanager
def peers(problem: Problem, folder: Path, threads: int) -> Iterator[list[Worker]]:
    """Give the other tools, each compiled by a first run on a few rows of one tag, and end them."""
    few = {"X": problem.X[:50], "T": problem.targets[:50, :1], "strengths": np.full(1, 1e-3)}
    few["sizes"] = problem.sizes
    with ExitStack() as stack:
        workers = []
        for name, (target, environment) in PEERS.items():
            inputs = few | {"tol": np.array(1e-3)}
            worker = Worker(name, f"peers/{target}", inputs, folder, environment=environment, threads=threads)
            workers.append(stack.enter_context(worker))
            worker.runs = 1
            if not worker.skipped:
                worker.once()
        yield workers


def at(worker: Worker, problem: Problem, strengths: Floats, tol: float) -> Worker:
    """Return the contender of a tool for all tags, or for the first ones where it is slow."""
    of = problem.Y.shape[1]
    done = min(SAMPLED.get(worker.name, of), of)
    inputs = {"X": problem.X, "T": problem.targets[:, :done], "strengths": strengths[:done], "sizes": problem.sizes}
    contender = worker.sibling(worker.name, inputs | {"tol": np.array(tol)})
    contender.share = (done, of)
    return contender


def parameters_of(problem: Problem, **others: Any) -> dict[str, Any]:
    n, d = problem.X.shape
    return {"problem": problem.name, "n": n, "d": d, "c": problem.Y.shape[1]} | others


def lasso_case(problem: Problem, share: float, folder: Path, threads: int) -> dict[str, Any]:
    """Time the group lasso, every tool as loose as reaches the goal."""
    strengths = share * problem.largest_strengths()
    tolerances = TOLERANCES.get((problem.name, share), {})
    tight = fit(problem, strengths, GROUP_LASSO, REFERENCE)
    best = objectives(problem, tight, strengths, GROUP_LASSO)
    ours = [
        Local(OURS, partial(fit, problem, strengths, GROUP_LASSO, tolerances.get(OURS, TIGHT)), role="ours"),
        Local(f"{OURS}, tol=1e-6", partial(fit, problem, strengths, GROUP_LASSO, 1e-6), role="ours"),
    ]
    with peers(problem, folder, threads) as workers:
        others = [at(worker, problem, strengths, tolerances.get(worker.name, TIGHT)) for worker in workers]
        accuracy = accuracy_of(problem, strengths, GROUP_LASSO, best)
        entries = compare([*ours, *others], accuracy=accuracy, repeats=REPEATS, threads=threads)
    gap = relative_gap(problem, tight, strengths)
    parameters = parameters_of(problem, share=share, tolerances=tolerances, gap_of_the_best=gap)
    return case(f"Group lasso, {problem.name}, {share} λ_max", parameters, entries)


def scad_case(problem: Problem, share: float, lasso: dict[str, Any], threads: int) -> dict[str, Any]:
    """Time group SCAD beside the algorithm as printed; "best" is where ours ends with a tight tolerance."""
    strengths = share * problem.largest_strengths()
    tol = TOLERANCES.get((problem.name, share), {}).get(OURS, TIGHT)
    best = objectives(problem, fit(problem, strengths, GROUP_SCAD, REFERENCE), strengths, GROUP_SCAD)
    done = (min(LITERAL_TAGS, problem.Y.shape[1]), problem.Y.shape[1])
    contenders = [
        Local(OURS, partial(fit, problem, strengths, GROUP_SCAD, tol), role="ours"),
        Local(f"{OURS}, tol=1e-6", partial(fit, problem, strengths, GROUP_SCAD, 1e-6), role="ours"),
        Local("as printed (LQA)", partial(literal, problem, strengths), role="literal", runs=1, share=done),
    ]
    accuracy = accuracy_of(problem, strengths, GROUP_SCAD, best)
    entries = compare(contenders, accuracy=accuracy, repeats=REPEATS, threads=threads)
    ratios = {
        "group SCAD to group lasso, ours (CPU)": entries[0]["cpu"] / lasso["entries"][0]["cpu"],
        "group SCAD to group lasso, ours, both tol=1e-6 (CPU)": entries[1]["cpu"] / lasso["entries"][1]["cpu"],
    }
    title = f"Group SCAD, {problem.name}, {share} λ_max"
    return case(title, parameters_of(problem, share=share, tol=tol), entries, ratios=ratios)


def path_case(problem: Problem, lasso: dict[str, Any], threads: int) -> dict[str, Any]:
    """Time a path of all tags from λ_max to the smallest share."""
    share = SHARES[-1]
    tol = TOLERANCES.get((problem.name, share), {}).get(OURS, TIGHT)
    strengths = problem.largest_strengths() * np.geomspace(1.0, share, PATH_POINTS)[:, None]
    best = objectives(problem, fit(problem, strengths[-1], GROUP_LASSO, REFERENCE), strengths[-1], GROUP_LASSO)

    def path() -> Floats:
        coefs: Floats = estimator(problem, "auto", GROUP_LASSO, tol).path(problem.X, problem.Y, strengths).coefs
        return coefs

    def accuracy(coefs: Floats) -> dict[str, float]:
        distances = [stationarity(problem, c, s, GROUP_LASSO).max() for c, s in zip(coefs, strengths, strict=True)]
        last = accuracy_of(problem, strengths[-1], GROUP_LASSO, best)(coefs[-1])
        return last | {"stationarity": float(max(distances))}

    entries = compare([Local(OURS, path, role="ours")], accuracy=accuracy, repeats=REPEATS, threads=threads)
    ratios = {f"path to one fit at {share} λ_max (CPU)": entries[0]["cpu"] / lasso["entries"][0]["cpu"]}
    title = f"Path of {PATH_POINTS} strengths, {problem.name}"
    return case(title, parameters_of(problem, points=PATH_POINTS, tol=tol), entries, ratios=ratios)


def problem_cases(problem: Problem, folder: Path, threads: int) -> list[dict[str, Any]]:
    lassos = [lasso_case(problem, share, folder, threads) for share in SHARES]
    scads = [scad_case(problem, share, lasso, threads) for share, lasso in zip(SHARES, lassos, strict=True)]
    return [*lassos, *scads, path_case(problem, lassos[-1], threads)]


def calibrate(problem: Problem, folder: Path, threads: int) -> None:
    """Print the loosest tolerance of every tool with which all tags reach the goal."""
    for share in SHARES:
        strengths = share * problem.largest_strengths()
        best = objectives(problem, fit(problem, strengths, GROUP_LASSO, REFERENCE), strengths, GROUP_LASSO)
        accuracy = accuracy_of(problem, strengths, GROUP_LASSO, best)
        with peers(problem, folder, threads) as workers:
            runs: dict[str, Callable[[float], Any]] = {OURS: partial(fit, problem, strengths, GROUP_LASSO)}
            runs |= {w.name: partial(run_once, w, problem, strengths) for w in workers if not w.skipped}
            for name, run in runs.items():
                steps = (step * 10.0**-power for power in range(LOOSEST, 15) for step in (1.0, 0.5, 0.2))
                found = next(tol for tol in steps if accuracy(run(tol))["objective over the best"] <= GOAL)
                print(f"{problem.name}, {share}: {name!r}: {found:g}", flush=True)


def run_once(worker: Worker, problem: Problem, strengths: Floats, tol: float) -> Any:
    contender = at(worker, problem, strengths, tol)
    contender.once()
    return contender.result()


def main(argv: list[str] | None = None) -> None:
    parser = out_parser("nova")
    parser.add_argument("--calibrate", action="store_true", help="find the tolerances anew; takes hours")
    arguments = parser.parse_args(argv)
    makers: dict[str, Callable[[], Problem]] = {"photos": photo_problem, "gaussian": gaussian_problem}
    if arguments.quick:
        makers = {"small": partial(gaussian_problem, QUICK_ROWS, QUICK_TAGS, QUICK_GROUPS, "small")}
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name, make in makers.items():
            try:
                problem = make()
            except DataMissingError as error:
                cases.append(missing_case(name, str(error)))
                continue
            if arguments.calibrate:
                calibrate(problem, Path(folder), arguments.threads)
            else:
                cases += problem_cases(problem, Path(folder), arguments.threads)
    if not arguments.calibrate:
        record("nova", "NOVA: group lasso and group SCAD", cases, arguments.out, threads=arguments.threads)


if __name__ == "__main__":
    main()
