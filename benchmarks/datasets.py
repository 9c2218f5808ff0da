"""Datasets by name: each loader returns features, true labels and what a split may need to know of them."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.errors import BenchmarkError, DataMissingError
from tagloom.core.files import atomic_write
from tagloom.core.groups import FeatureGroups
from tagloom.core.photos import Verdict

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "benchmarks" / ".cache"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Photos with all their labels.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    Y : int8 array of shape (n, c)
        The truth: 1, 0, or -1 where nobody knows.
    groups : FeatureGroups or None
        The columns' families.
    test_rows : bool array of shape (n,) or None
        The dataset's own test part, where it has one.
    """

    X: NDArray[Any]
    Y: NDArray[np.int8]
    groups: FeatureGroups | None = None
    test_rows: NDArray[np.bool_] | None = None


Loader = Callable[..., Dataset]
LOADERS: dict[str, Loader] = {}


def register_dataset(name: str) -> Callable[[Loader], Loader]:
    """Make a loader known under a name that experiment.toml can use."""

    def keep(loader: Loader) -> Loader:
        LOADERS[name] = loader
        return loader

    return keep


def load_dataset(name: str, **parameters: Any) -> Dataset:
    """Load a registered dataset; the last two stay in memory."""
    if name not in LOADERS:
        raise BenchmarkError(f"no dataset {name!r}; registered are {sorted(LOADERS)} (benchmarks/datasets.py)")
    return _load(name, tuple(sorted((key, _hashable(value)) for key, value in parameters.items())))


@lru_cache(maxsize=2)
def _load(name: str, parameters: tuple[tuple[str, Any], ...]) -> Dataset:
    return LOADERS[name](**dict(parameters))


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def data_folder(name: str) -> Path:
    """Return the folder of a public dataset: in ``$TAGLOOM_DATA``, or ``../shared/data`` beside the checkout."""
    folder = Path(os.environ.get("TAGLOOM_DATA", ROOT.parent / "shared" / "data")) / name
    if not folder.is_dir():
        raise DataMissingError(f"no folder {name!r} among the public datasets; set TAGLOOM_DATA to where it is")
    return folder


def cached_features(key: str, compute: Callable[[], dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return arrays from ``benchmarks/.cache/KEY.npz``, computing them once."""
    path = CACHE / f"{key}.npz"
    if not path.is_file():
        arrays = compute()
        CACHE.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as handle:
            np.savez(handle, **arrays)
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def photo_features(name: str, paths: list[Path], groups: tuple[str, ...]) -> tuple[NDArray[np.float32], FeatureGroups]:
    """Return features of photos through ``tagloom.features.extract``, kept until a descriptor's key changes."""
    from tagloom.features.engine import extract
    from tagloom.features.registry import resolve_descriptors

    def compute() -> dict[str, NDArray[Any]]:
        X, found, records = extract(paths, groups=list(groups))
        bad = sum(record.verdict != Verdict.OK for record in records)
        if bad:
            raise BenchmarkError(f"{bad} of {len(paths)} photos could not be read; repair the dataset first")
        return {"X": X, "names": np.array(found.names), "sizes": np.array(found.sizes)}

    descriptors, _ = resolve_descriptors(list(groups))
    keys = "-".join(descriptor.key for descriptor in descriptors)
    stored = cached_features(f"{name}-{'-'.join(groups)}-{keys}", compute)
    return stored["X"], FeatureGroups(stored["names"].tolist(), stored["sizes"].tolist())


@register_dataset("toy")
def toy(n_rows: int = 120, n_tags: int = 4, n_columns: int = 6, seed: int = 0) -> Dataset:
    """Make blobs that carry one or two tags each: small, without files, the same everywhere."""
    generator = np.random.default_rng(seed)
    centres = 3.0 * generator.standard_normal((n_tags, n_columns))
    tag = generator.integers(n_tags, size=n_rows)
    second = generator.integers(n_tags, size=n_rows)
    mixed = generator.random(n_rows) < 0.3
    X = centres[tag] + mixed[:, None] * centres[second] + generator.standard_normal((n_rows, n_columns))
    Y = np.zeros((n_rows, n_tags), dtype=np.int8)
    Y[np.arange(n_rows), tag] = 1
    Y[np.flatnonzero(mixed), second[mixed]] = 1
    return Dataset(X, Y, FeatureGroups(["blobs"], [n_columns]), np.arange(n_rows) >= n_rows * 3 // 4)


@register_dataset("corel5k")
def corel5k(words: int = 260, groups: tuple[str, ...] = ("deep",), scale: str = "none", part: str = "all") -> Dataset:
    """Load the 4,999 photos of Corel-5K with features computed here.

    Parameters
    ----------
    words : {260, 374}
        Which vocabulary.
    groups : tuple of str
        Feature groups of ``tagloom.features.extract``.
    scale : {"none", "unit", "columns", "groups"}
        See `scaled`.
    part : {"all", "train"}
        "train": the 4,500 training photos alone, for choices that must not see the others.
    """
    stored, X, found = _corel5k(tuple(groups))
    Y, splits = stored[f"Y{words}"].astype(np.int8), stored["split"]
    rows = np.flatnonzero(splits == "train") if part == "train" else np.arange(len(Y))
    return Dataset(scaled(X[rows], scale, found), Y[rows], found, splits[rows] == "test")


@register_dataset("corel5k_cds")
def corel5k_cds(
    groups: tuple[str, ...] = ("correlogram", "edges", "wavelet"), scale: str = "columns", cds: int = 50
) -> Dataset:
    """Load Corel-5K with the CD a photo is from as its one tag: 50 tags, 100 photos each (one CD lacks a photo).

    Parameters
    ----------
    groups : tuple of str
        Feature groups of ``tagloom.features.extract``.
    scale : {"none", "unit", "columns", "groups"}
        See `scaled`.
    cds : int
        Only the first so many CDs.
    """
    stored, X, found = _corel5k(tuple(groups))
    _, cd = np.unique(stored["corel_cd"], return_inverse=True)
    rows = np.flatnonzero(cd < cds)
    return Dataset(scaled(X[rows], scale, found), np.eye(cd.max() + 1, dtype=np.int8)[cd[rows], :cds], found)


def _corel5k(groups: tuple[str, ...]) -> tuple[dict[str, NDArray[Any]], NDArray[np.float32], FeatureGroups]:
    """Return what is stored of Corel-5K, and features computed here."""
    folder = data_folder("corel5k")
    with np.load(folder / "corel5k.npz", allow_pickle=False) as file:
        stored = dict(file)
    pairs = zip(stored["split"], stored["image_id"], strict=True)
    paths = [folder / "images" / split / f"{number}.jpeg" for split, number in pairs]
    return stored, *photo_features("corel5k", paths, groups)


@register_dataset("scenes")
def scenes(n_photos: int = 600, groups: tuple[str, ...] = ("deep",), scale: str = "groups", seed: int = 0) -> Dataset:
    """Make scenes (`tagloom.datasets.write_scenes`) and compute their features here."""
    from tagloom.datasets import write_scenes

    folder = CACHE / f"scenes-{n_photos}-{seed}"
    CACHE.mkdir(parents=True, exist_ok=True)
    made = write_scenes(folder, n_photos, random_state=seed)
    X, found = photo_features(folder.name, [folder / name for name in made.names], tuple(groups))
    return Dataset(scaled(X, scale, found), made.Y, found, np.zeros(len(made), dtype=bool))


def scaled(X: NDArray[Any], scale: str, groups: FeatureGroups) -> NDArray[Any]:
    """Return X scaled without a look at labels.

    "none" leaves it as it is, "unit" gives rows of length 1, "columns" gives every column mean 0 and deviation 1
    (constant ones become 0), "groups" scales each group in its own way.
    """
    if scale == "none":
        return X
    if scale == "groups":
        from tagloom.features import GroupScaler

        return np.asarray(GroupScaler(groups).fit_transform(X))
    if scale == "unit":
        return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), np.finfo(X.dtype).tiny)
    if scale == "columns":
        deviation = X.std(axis=0, dtype=np.float64)
        centred = X - X.mean(axis=0, dtype=np.float64)
        constant = deviation <= 10 * np.finfo(X.dtype).eps * np.abs(X).max(axis=0)
        return np.where(constant, 0.0, centred / np.where(constant, 1.0, deviation)).astype(X.dtype)
    raise BenchmarkError(f"scale must be 'none', 'unit', 'columns' or 'groups', got {scale!r}")
