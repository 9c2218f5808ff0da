"""How well each feature group tells the words of Corel-5K: alone, joined, and beside the deep embedding.

Trained on the 4,500 training photos, scored on the 499 test photos, 260 words, ridge regression whose strength is
chosen by leave-one-out on the training photos. Every other choice (the scaling of a group, the weights of groups) is
made on the training photos too; test labels are looked at once, for the table.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import CACHE, data_folder
from benchmarks.results import environment, write_json
from tagloom.core.groups import FeatureGroups
from tagloom.features import GroupScaler, available_groups, extract
from tagloom.features.scaling import default_map
from tagloom.features.words.learned import learned_descriptor
from tagloom.methods import RegularizedLeastSquares
from tagloom.metrics import mean_average_precision
from tagloom.store import FolderCache
from tagloom.tuning import choose_group_weights

RESULTS = Path(__file__).resolve().parent / "results"
SEED = 2026
DEEP = ("deep", "semantic")
# What describes the file or its sound rather than the picture, or needs an optional package: not compared here.
LEFT_OUT = ("context", "phash", "faces", "audio:mfcc")
LEARNED = ("words", "blobs")
COMPARED_MAPS = ("root", "standardize", "unit")  # "optional" is for groups that photos may be without
FORMS = ("sift", "rgbsift", "rgsift", "hsvsift", "csift", "opponentsift")
N_RESAMPLES = 2000


@dataclass(frozen=True, eq=False)
class Problem:
    """Features and labels of Corel-5K with its own split."""

    X: NDArray[np.float32]
    groups: FeatureGroups
    Y: NDArray[np.int8]
    train: NDArray[np.intp]
    test: NDArray[np.intp]

    def columns(self, names: tuple[str, ...]) -> tuple[NDArray[np.float32], FeatureGroups]:
        """Return the columns of some groups."""
        groups, columns = self.groups.select(names)
        return self.X[:, columns], groups


def load() -> Problem:
    """Extract (or find again) all features."""
    folder = data_folder("corel5k")
    with np.load(folder / "corel5k.npz", allow_pickle=False) as stored:
        Y = stored["Y260"].astype(np.int8)
        splits, ids = stored["split"], stored["image_id"]
    names = [f"images/{split}/{number}.jpeg".encode() for split, number in zip(splits, ids, strict=True)]
    is_train = splits == "train"
    training = [name for name, inside in zip(names, is_train, strict=True) if inside]
    wanted: list[Any] = [name for name in available_groups() if name not in LEFT_OUT]
    with FolderCache(CACHE / "corel5k.tagloom", folder) as cache:
        vocabularies = cache.folder / "vocabularies"
        for name in LEARNED:
            wanted.append(learned_descriptor(name, vocabularies, training, root=folder, n_words=500))
        for form in FORMS:
            wanted.append(
                learned_descriptor(
                    f"words-{form}", vocabularies, training, root=folder, n_words=512, pyramid="three_level"
                )
            )
        X, groups, records = extract(names, wanted, cache, root=folder)
    if not all(record.ok for record in records):
        raise SystemExit("some photos of Corel-5K cannot be read; repair the dataset first")
    return Problem(X, groups, Y, np.flatnonzero(is_train), np.flatnonzero(~is_train))


def run() -> None:
    """Measure, and record the results."""
    problem = load()
    families = [name for name in problem.groups if not name.startswith("words-")]
    six = tuple(f"words-{form}" for form in FORMS)
    classical = tuple(name for name in families if name not in DEEP)
    rows = []
    scores: dict[str, NDArray[np.float64]] = {}
    for name in (*families, *six):
        rows.append(_row(problem, name, (name,), scores))
    sets = {
        "six colour SIFTs, pyramid of 8 cells": six,
        "all classical groups": classical,
        "deep and semantic": DEEP,
        "deep, semantic, color, moments, edges (the default set)": (*DEEP, "color", "moments", "edges"),
        "all groups": (*DEEP, *classical),
    }
    for title, names in sets.items():
        rows.append(_row(problem, title, names, scores))
    chosen = {}
    for title in ("all classical groups", "all groups"):
        names = sets[title]
        X, groups = problem.columns(names)
        began = time.process_time()
        found = choose_group_weights(X[problem.train], groups, problem.Y[problem.train], random_state=SEED)
        label = f"{title}, weights chosen on the training photos"
        rows.append(_row(problem, label, names, scores, weights=found.weights))
        chosen[label] = {
            "weights": found.weights,
            "inside": found.score,
            "inside_before": found.start_score,
            "cpu": time.process_time() - began,
        }
    best = "all groups, weights chosen on the training photos"
    pairs = [(best, "deep"), (best, "deep and semantic"), ("all classical groups", "words")]
    comparisons = [_compare(problem, scores, *pair) for pair in pairs]
    stored = {
        "format": 1,
        "seed": SEED,
        "n_words": problem.Y.shape[1],
        "n_train": len(problem.train),
        "n_test": len(problem.test),
        "rows": rows,
        "maps": _maps(problem, tuple(families)),
        "chosen": chosen,
        "comparisons": comparisons,
        "environment": environment(),
    }
    RESULTS.mkdir(exist_ok=True)
    write_json(RESULTS / "features.json", stored)


def _fit(X: NDArray[Any], groups: FeatureGroups, problem: Problem, **options: Any) -> RegularizedLeastSquares:
    scaler = GroupScaler(groups, weights=options.pop("weights", None), maps=options.pop("maps", None))
    scaled = scaler.fit(X[problem.train]).transform(X)
    model = RegularizedLeastSquares(**options).fit(scaled[problem.train], problem.Y[problem.train])
    model.test_scores = model.decision_function(scaled[problem.test])
    return model


def _row(
    problem: Problem,
    title: str,
    names: tuple[str, ...],
    scores: dict[str, NDArray[np.float64]],
    weights: dict[str, float] | None = None,
) -> dict[str, Any]:
    X, groups = problem.columns(names)
    began = time.process_time()
    model = _fit(X, groups, problem, weights=weights)
    scores[title] = model.test_scores
    found = mean_average_precision(problem.Y[problem.test], model.test_scores)
    print(f"{title}: {found:.4f}", flush=True)
    return {
        "title": title,
        "groups": list(names),
        "columns": X.shape[1],
        "map": found,
        "regularization": model.regularization_,
        "cpu": time.process_time() - began,
    }


def _maps(problem: Problem, families: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return for each family the leave-one-out score on the training photos under each scaling."""
    found: dict[str, dict[str, Any]] = {}
    for name in families:
        X, groups = problem.columns((name,))
        of_map = {}
        for one in COMPARED_MAPS:
            model = _fit(X, groups, problem, maps={name: one}, selection="map")
            of_map[one] = float(np.max(model.loo_criterion_))
        found[name] = {"scores": of_map, "used": default_map(name)}
        print(f"{name}: {of_map}", flush=True)
    return found


def _compare(problem: Problem, scores: dict[str, NDArray[np.float64]], one: str, other: str) -> dict[str, Any]:
    """Return the difference of two rows with its interval by resampling the test photos, the same for both."""
    Y = problem.Y[problem.test]
    generator = np.random.default_rng(SEED)
    differences = np.empty(N_RESAMPLES)
    for step in range(N_RESAMPLES):
        rows = generator.integers(len(Y), size=len(Y))
        first, second = (mean_average_precision(Y[rows], scores[name][rows]) for name in (one, other))
        differences[step] = first - second
    low, high = np.quantile(differences, [0.025, 0.975])
    gain = mean_average_precision(Y, scores[one]) - mean_average_precision(Y, scores[other])
    print(f"{one} - {other}: {gain:+.4f} [{low:+.4f}, {high:+.4f}]", flush=True)
    return {"one": one, "other": other, "difference": gain, "low": low, "high": high, "resamples": N_RESAMPLES}


def page(folder: Path = RESULTS) -> str:
    """Return the docs page of the recorded results."""
    stored = json.loads((folder / "features.json").read_text(encoding="utf-8"))
    lines = [
        "# Feature groups compared",
        "",
        "Made by `python -m benchmarks.quality run features` from Corel-5K; the figures are in",
        "`benchmarks/quality/results/features.json`. Edit nothing here.",
        "",
        f"Ridge regression on {stored['n_train']:,} training photos, its strength chosen by leave-one-out on them;",
        f"mean average precision over the {stored['n_words']} words on the {stored['n_test']} test photos. Groups are",
        "scaled by `GroupScaler`; joined groups have its default weights unless the row says otherwise. Vocabularies",
        "are learned from 500 training photos. The cuts of the group `color` were once chosen by trial on all photos",
        "of this set.",
        "",
        "| features | columns | MAP | CPU s |",
        "|---|---|---|---|",
    ]
    for row in stored["rows"]:
        lines.append(f"| {row['title']} | {row['columns']:,} | {row['map']:.3f} | {row['cpu']:.1f} |")
    lines += ["", "## Differences", ""]
    lines += ["Paired bootstrap: the test photos are drawn with replacement, the same for both sides.", ""]
    lines += ["| | against | difference of MAP | 95 % interval |", "|---|---|---|---|"]
    for row in stored["comparisons"]:
        interval = f"{row['low']:+.3f} to {row['high']:+.3f}"
        lines.append(f"| {row['one']} | {row['other']} | {row['difference']:+.3f} | {interval} |")
    lines += ["", "## Weights chosen on the training photos", ""]
    for title, found in stored["chosen"].items():
        told = ", ".join(f"{name} {weight:.3f}" for name, weight in found["weights"].items() if weight > 0)
        dropped = ", ".join(name for name, weight in found["weights"].items() if weight == 0)
        lines += [
            f"- {title}: {told}" + (f"; without weight: {dropped}" if dropped else "") + ".",
            f"  Leave-one-out MAP on the rows used rose from {found['inside_before']:.3f} to {found['inside']:.3f};",
            f"  {found['cpu']:.0f} CPU s.",
        ]
    lines += ["", "## Scaling", ""]
    lines += ["Leave-one-out MAP on the training photos, each group alone (tags with two positives or more).", ""]
    lines += ["| group | root | standardize | unit | used by default |", "|---|---|---|---|---|"]
    for name, found in stored["maps"].items():
        cells = [f"{found['scores'][one]:.3f}" for one in COMPARED_MAPS]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {found['used']} |")
    where = ", ".join(f"{key} {value}" for key, value in sorted(stored["environment"].items()))
    return "\n".join([*lines, "", f"Run with: {where}."]) + "\n"
