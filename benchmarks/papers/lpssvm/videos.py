"""The paper's study of videos (Section 4.4) on a set that is made up: what is seen, what is heard, and both."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.experiment import Experiment
from tagloom.core.groups import FeatureGroups
from tagloom.datasets import Clips, make_clips
from tagloom.features import ColorDescriptor, EdgeDescriptor, GaborDescriptor, GroupScaler, MfccDescriptor
from tagloom.images import photo_from_pixels
from tagloom.methods.baselines.lapsvm import LapSVM
from tagloom.methods.baselines.lpp import LPP, LPPSVM
from tagloom.methods.baselines.svm import KernelSVM
from tagloom.methods.lpssvm import LPSSVM
from tagloom.metrics import average_precision

N_FRAMES = 4
ONLY_HEARD = ("music", "crowd", "engine", "speech")
PARTLY_HEARD = ("birdsong", "waves")
METHODS = {
    "SVM": lambda: KernelSVM(gamma="dimension"),
    "LapSVM": lambda: LapSVM(gamma="dimension"),
    "LPP + SVM": lambda: LPPSVM(LPP(kernel="rbf", gamma="dimension")),
    "LPSSVM": lambda: LPSSVM(gamma="dimension"),
}
VIEWS = ("seen", "heard", "early fusion", "late fusion")


def study_videos(
    experiment: Experiment, n_clips: int, n_labeled: int, draws: int, fewest: int, pooling: str
) -> dict[str, Any]:
    """Learn concepts of made-up clips from a few labelled ones, by picture, by sound, and by both.

    Parameters
    ----------
    experiment : Experiment
        Whose seed is taken.
    n_clips, n_labeled : int
        How many clips there are, and how many of them are labelled in each draw.
    draws : int
        Sets of labelled clips.
    fewest : int
        Concepts of fewer clips are left out.
    pooling : {"mean", "max", "mean and max"}
        What the rows of a clip's key frames become.
    """
    clips = make_clips(n_clips, random_state=experiment.seed)
    seen, heard = features_of(clips, pooling)
    columns = np.flatnonzero(clips.Y.sum(axis=0) >= fewest)
    tags = [list(clips.tags)[column] for column in columns]
    found = {(method, view): np.zeros((draws, len(tags))) for method in METHODS for view in VIEWS}
    chance = np.zeros((draws, len(tags)))
    for draw in range(draws):
        labelled = np.random.default_rng([experiment.seed, draw]).permutation(n_clips)[:n_labeled]
        rest = np.setdiff1d(np.arange(n_clips), labelled)
        Y = np.full(clips.Y[:, columns].shape, -1, dtype=np.int8)
        Y[labelled] = clips.Y[labelled][:, columns]
        truth = clips.Y[rest][:, columns]
        chance[draw] = _by_chance(truth)
        for method, make in METHODS.items():
            scores = {
                "seen": _scores(make(), seen, Y),
                "heard": _scores(make(), heard, Y),
                "early fusion": _scores(make(), {**seen, **heard}, Y),
            }
            scores["late fusion"] = (_standard(scores["seen"]) + _standard(scores["heard"])) / 2
            for view, values in scores.items():
                found[method, view][draw] = average_precision(truth, values[rest])
    return _result(found, chance, tags)


def features_of(clips: Clips, pooling: str) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return groups of columns of what is seen and heard in clips, neither of them encoded."""
    pictures = [ColorDescriptor(), GaborDescriptor(), EdgeDescriptor()]
    renditions = list(dict.fromkeys(item for one in pictures for item in one.renditions))
    parts: dict[str, list[np.ndarray]] = {one.name: [] for one in pictures}
    sounds = []
    for index in range(len(clips)):
        frames = list(clips.frames(index))
        places = ((np.arange(N_FRAMES) + 0.5) * len(frames) / N_FRAMES).astype(int)
        photos = [photo_from_pixels(np.ascontiguousarray(frames[place]), renditions) for place in places]
        for one in pictures:
            rows = one.compute(photos)
            pooled = {"mean": [rows.mean(axis=0)], "max": [rows.max(axis=0)]}
            parts[one.name].append(np.concatenate(pooled.get(pooling, pooled["mean"] + pooled["max"])))
        sound = clips.sound(index)
        pieces = [] if sound is None else [np.round(sound * 32_767).astype(np.int16)]
        sounds.append(MfccDescriptor().describe(pieces))
    return {name: np.stack(rows) for name, rows in parts.items()}, {"audio:mfcc": np.stack(sounds)}


def _scores(annotator: Any, parts: dict[str, np.ndarray], Y: np.ndarray) -> np.ndarray:
    groups = FeatureGroups(list(parts), [part.shape[1] for part in parts.values()])
    # What is seen and what is heard weigh the same, whatever the number of groups.
    heard = [name for name in parts if name.startswith("audio")]
    weights = {name: 1.0 / (len(heard) if name in heard else len(parts) - len(heard)) for name in parts}
    X = GroupScaler(groups, weights=weights).fit_transform(np.hstack(list(parts.values())).astype(np.float32))
    # θ is 1/d, meant for columns of a deviation of about one: rows of length one are brought to that.
    X = X * np.float32(np.sqrt(X.shape[1]))
    return np.asarray(annotator.fit(X, Y).transduction_, dtype=np.float64)


def _by_chance(truth: np.ndarray, n: int = 100) -> np.ndarray:
    """Return the mean average precision of scores that say nothing, which is above the share of so few clips."""
    random = np.random.default_rng(0)
    return np.mean([average_precision(truth, random.random(truth.shape)) for _ in range(n)], axis=0)


def _standard(scores: np.ndarray) -> np.ndarray:
    deviations = scores.std(axis=0)
    return (scores - scores.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)


def _result(found: dict[tuple[str, str], np.ndarray], chance: np.ndarray, tags: Sequence[str]) -> dict[str, Any]:
    kinds = {
        "only heard": [tag in ONLY_HEARD for tag in tags],
        "heard and seen": [tag in PARTLY_HEARD for tag in tags],
        "seen": [tag not in ONLY_HEARD + PARTLY_HEARD for tag in tags],
        "all": [True for _ in tags],
    }
    chances = chance.mean(axis=0)
    means = [
        [method, view, *(f"{values.mean(axis=0)[np.array(kind)].mean():.3f}" for kind in kinds.values())]
        for (method, view), values in found.items()
    ]
    means.append(["chance", "", *(f"{chances[np.array(kind)].mean():.3f}" for kind in kinds.values())])
    order = sorted(range(len(tags)), key=lambda k: (tags[k] not in ONLY_HEARD, tags[k] not in PARTLY_HEARD, tags[k]))
    concepts = [
        [
            tags[k],
            f"{chances[k]:.2f}",
            *(f"{found[method, view].mean(axis=0)[k]:.2f}" for method in METHODS for view in ("seen", "heard")),
            *(f"{found[method, 'early fusion'].mean(axis=0)[k]:.2f}" for method in METHODS),
        ]
        for k in order
    ]
    header = ["concept", "chance"]
    header += [f"{method}, {view}" for method in METHODS for view in ("seen", "heard")]
    header += [f"{method}, both" for method in METHODS]
    series = {
        method: [
            [float(found[method, "early fusion"].mean(axis=0)[k]) for k in order],
            [float(found[method, "early fusion"].std(axis=0)[k]) for k in order],
        ]
        for method in METHODS
    }
    panel = {
        "title": "Average precision by concept, early fusion",
        "x_label": "concept, in the order of the table (the first four are only heard)",
        "y_label": "average precision",
        "log_x": False,
        "x": list(range(1, len(tags) + 1)),
        "series": series,
    }
    return {
        "tables": [
            {"caption": "Mean average precision", "header": ["method", "features", *kinds], "rows": means},
            {"caption": "By concept", "header": header, "rows": concepts},
        ],
        "panels": [panel],
    }
