"""Cells: a set, a number of labelled photos, a draw and a method, with the mean average precision on the others."""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.clock import measure
from benchmarks.datasets import Dataset, data_folder, photo_features
from benchmarks.projects import DESCRIPTORS
from benchmarks.results import CellResult, CellStore, digest, seed_of
from benchmarks.words.costs import cost_of_names, cost_of_network
from tagloom.core.groups import FeatureGroups
from tagloom.features import get_descriptor
from tagloom.features.network.words import word_log_odds
from tagloom.metrics import average_precision

HERE = Path(__file__).resolve().parent
#: Photos of each class of Caltech-101 that log-odds of names are fitted to, and folders that are no class, or a second
#: one of another.
PHOTOS_OF_A_CLASS = 8
LEFT_OUT = ("BACKGROUND_Google", "Faces_easy")
#: Raised when what a cell computes changes: of those without names, and of those with them.
VERSION, VERSION_OF_NAMES = 3, 4
#: Bundled networks beside the default one.
NETWORKS = ("medium", "large")
DRAWS = 3
#: Labelled photos of each set; Corel5K's are of its training part, and its test photos are ranked.
SETS = {
    "coco_free": (0, 15, 31, 62),
    "msrc_v2": (0, 15, 31, 62, 154),
    "corel5k": (0, 90, 225, 450),
    "caltech101": (0, 100, 300),
}
#: Labelled photos of the sets on which the networks of other sizes are run, too.
NETWORK_SETS = {"coco_free": (0, 15, 31), "msrc_v2": (0, 15, 31), "corel5k": (0, 90)}
#: Photos of each class of Caltech-101: those after the ones that log-odds of names were fitted to.
CALTECH_PHOTOS = slice(PHOTOS_OF_A_CLASS, PHOTOS_OF_A_CLASS + 20)
COST, COST_OF_NAMES = "cost", "cost of names"
NAMES, LOGISTIC, AUTO, BOTH = "names alone", "logistic regression on deep", "auto without names", "auto"
PROBE, MIXED = "linear probe on deep", "names and logistic regression"
#: What `auto` is compared with: the best of them is picked in hindsight.
RIVALS = (NAMES, LOGISTIC, PROBE, MIXED)
#: Penalties of the linear probe, chosen tag by tag by leave-one-out.
PENALTIES = np.logspace(0.0, 5.0, 11)

Key = tuple[str, int, int, str]


def with_network(method: str, network: str) -> str:
    """Return the name of a method's cells with another network than the default one."""
    return f"{method}, {network}"


def store_of(folder: Path = HERE) -> CellStore:
    """Return where cells are kept."""
    return CellStore(folder)


def wanted(sets: tuple[str, ...] = ()) -> list[Key]:
    """Return set, labelled photos, draw and method of the cells that are asked for; empty: all."""
    return [
        (name, n, draw, method)
        for name in sets or tuple(SETS)
        for n in SETS[name]
        for draw in range(DRAWS if n else 1)
        for method in (
            *((*RIVALS, AUTO, BOTH) if n else (NAMES,)),
            *(
                with_network(one, network)
                for network in (NETWORKS if n in NETWORK_SETS.get(name, ()) else ())
                for one in ((NAMES, BOTH) if n else (NAMES,))
            ),
        )
    ] + [("coco_free", 0, 0, cost) for cost in (COST, *(with_network(COST, one) for one in NETWORKS), COST_OF_NAMES)]


def key_of(cell: Key) -> str:
    """Return the name of a cell in the cache."""
    return digest([*cell, VERSION if cell[3] in (LOGISTIC, PROBE, AUTO) else VERSION_OF_NAMES])


def run_missing(cells: list[Key], where: dict[str, Any]) -> Iterator[CellResult]:
    """Run what is not there yet, and keep each as soon as it is finished."""
    known = store_of().load()
    for cell in cells:
        if key_of(cell) not in known:
            result = run_cost(cell, where) if cell[3].startswith(COST) else None
            result = result or run_cell(cell, load(cell[0], network_of(cell)), where)
            store_of().put(result)
            yield result


def run_cost(cell: Key, where: dict[str, Any]) -> CellResult:
    """Measure what a network, or the names of tags, cost."""
    name, n, draw, method = cell
    found = cost_of_names() if method == COST_OF_NAMES else cost_of_network(name, network_of(cell))
    return CellResult(key_of(cell), name, str(n), draw, method, {}, found, environment=where)


def network_of(cell: Key) -> str:
    """Return the network of a cell."""
    return cell[3].partition(", ")[2] or "small"


def run_cell(cell: Key, data: Dataset, where: dict[str, Any]) -> CellResult:
    """Rank the photos that are not labelled."""
    name, n, draw, method = cell
    result = CellResult(key_of(cell), name, str(n), draw, method, {}, environment=where)
    order = np.random.default_rng(seed_of("words", name, draw)).permutation(len(data.X))
    others = order[n:]
    if data.test_rows is not None:
        order, others = order[~data.test_rows[order]], np.flatnonzero(data.test_rows)
    labelled = order[:n]
    method = method.partition(", ")[0]
    with measure() as elapsed:
        scores = SCORERS[method](data, labelled)[others]
    result.cpu_fit = round(elapsed.cpu, 3)
    truth = data.Y[others]
    found = average_precision(truth, scores)
    counted = (truth == 1).any(axis=0)
    examples = (data.Y[labelled] == 1).any(axis=0) & counted
    result.test = {"map": float(found[counted].mean()), "tags": float(counted.sum())}
    if method not in (LOGISTIC, PROBE, MIXED):
        result.test |= _calibration(truth, expit(scores))
    if examples.any():
        result.test |= {"map_of_examples": float(found[examples].mean()), "tags_of_examples": float(examples.sum())}
    return result


def _by_names(data: Dataset, labelled: NDArray[np.intp]) -> NDArray[Any]:
    del labelled
    assert data.groups is not None
    # Of a tag whose name says nothing, all photos have the same.
    return np.nan_to_num(word_log_odds(data.groups.split(data.X)["semantic"], data.tags), nan=-10.0)


def _by_logistic_regression(data: Dataset, labelled: NDArray[np.intp]) -> NDArray[Any]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    assert data.groups is not None
    deep = data.groups.split(data.X)["deep"]
    scores = np.zeros(data.Y.shape)
    for tag, yes in enumerate((data.Y[labelled] == 1).T):
        if yes.any() and not yes.all():
            model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500)).fit(deep[labelled], yes)
            scores[:, tag] = model.decision_function(deep)
    return scores


def _by_linear_probe(data: Dataset, labelled: NDArray[np.intp]) -> NDArray[Any]:
    """Return the scores of ridge regression, its penalty chosen tag by tag by leave-one-out."""
    from sklearn.linear_model import RidgeCV
    from sklearn.preprocessing import StandardScaler

    assert data.groups is not None
    deep = data.groups.split(data.X)["deep"]
    scaler = StandardScaler().fit(deep[labelled])
    yes = (data.Y[labelled] == 1).astype(np.float64)
    model = RidgeCV(PENALTIES, alpha_per_target=True).fit(scaler.transform(deep[labelled]), yes)
    return np.asarray(model.predict(scaler.transform(deep)))


def _by_names_and_logistic_regression(data: Dataset, labelled: NDArray[np.intp]) -> NDArray[Any]:
    """Return standardised scores of both, names with the weight 1 / (1 + examples)."""
    weight = 1.0 / (1.0 + (data.Y[labelled] == 1).sum(axis=0))
    parts = []
    for scores in (_by_names(data, labelled), _by_logistic_regression(data, labelled)):
        spread = scores.std(axis=0)
        parts.append((scores - scores.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0))
    return np.asarray(weight * parts[0] + (1.0 - weight) * parts[1])


def _by_auto(data: Dataset, labelled: NDArray[np.intp], given: NDArray[Any] | None = None) -> NDArray[Any]:
    from tagloom.tuning import AutoAnnotator

    labels = np.full_like(data.Y, -1)
    labels[labelled] = data.Y[labelled]
    return np.asarray(AutoAnnotator(data.groups, given=given, random_state=0).fit(data.X, labels).transduction_)


def _by_both(data: Dataset, labelled: NDArray[np.intp]) -> NDArray[Any]:
    assert data.groups is not None
    return _by_auto(data, labelled, word_log_odds(data.groups.split(data.X)["semantic"], data.tags))


def _calibration(truth: NDArray[np.int8], probabilities: NDArray[Any]) -> dict[str, float]:
    """Return figures of probabilities: the Brier score, and how many are at least 0.8 and how many of these right."""
    known, yes = truth >= 0, truth == 1
    sure = known & (probabilities >= SURE)
    brier = float(np.square(probabilities - yes)[known].mean())
    return {"brier": brier, "sure": float(sure.sum()), "sure_right": float((sure & yes).sum())}


#: What is shown without examples.
SURE = 0.8
SCORERS = {
    NAMES: _by_names,
    LOGISTIC: _by_logistic_regression,
    PROBE: _by_linear_probe,
    MIXED: _by_names_and_logistic_regression,
    AUTO: _by_auto,
    BOTH: _by_both,
}


def caltech101(photos: slice) -> tuple[list[Path], list[str], NDArray[np.bool_]]:
    """Return some photos of each class of Caltech-101, the classes as tags, and which photo has which.

    Parameters
    ----------
    photos : slice
        Of the photos of each class in the order of their names.
    """
    folders = [one for one in sorted((data_folder("caltech101") / "images").iterdir()) if one.name not in LEFT_OUT]
    paths: list[Path] = []
    of_class: list[int] = []
    for place, folder in enumerate(folders):
        found = sorted(folder.glob("*.jpg"))[photos]
        paths += found
        of_class += [place] * len(found)
    return paths, [folder.name.replace("_", " ") for folder in folders], np.eye(len(folders), dtype=bool)[of_class]


@lru_cache(maxsize=3)
def load(name: str, network: str = "small") -> Dataset:
    """Return the photos of a set, with the default features; of another network those that it gives."""
    from tagloom import datasets

    groups = tuple(group for one in DESCRIPTORS for group in get_descriptor(one).outputs)
    if name == "caltech101":
        paths, tags, truth = caltech101(CALTECH_PHOTOS)
        X, found = photo_features(f"words-{name}-tags", paths, groups)
        return Dataset(X, truth.astype(np.int8), found, tags=tuple(tags))
    loaded = getattr(datasets, f"load_{name}")(data_folder(name))
    paths = [Path(path) for path in loaded.paths]
    X, found = photo_features(f"words-{name}", paths, groups)
    if network != "small":
        own, its = photo_features(f"words-{name}", paths, ("deep", "semantic"), network)
        parts = found.split(X) | its.split(own)
        X = np.concatenate([parts[group] for group in groups], axis=1)
        found = FeatureGroups(groups, [parts[group].shape[1] for group in groups])
    test = None
    if name == "corel5k":
        test = np.isin(np.arange(len(X)), loaded.splits["test"])
    return Dataset(X, loaded.Y, found, test, tags=loaded.tags.names)
