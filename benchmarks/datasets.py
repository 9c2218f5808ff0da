"""Datasets by name: each loader returns features, true labels and what a split may need to know of them."""

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.errors import BenchmarkError, DataMissingError
from benchmarks.methods import find
from tagloom.core.files import atomic_write
from tagloom.core.groups import FeatureGroups
from tagloom.core.photos import Verdict

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "benchmarks" / ".cache"
#: Of the name of a cached file; longer ones are shortened.
MOST_LETTERS = 200
#: Size of the vocabulary of "words", as in NUS-WIDE.
N_WORDS = 500


@dataclass(frozen=True, eq=False)
class Dataset:
    """Photos with all their labels.

    Parameters
    ----------
    X : array or CSR of shape (n, d)
        Features.
    Y : int8 array of shape (n, c)
        The truth: 1, 0, or -1 where nobody knows.
    groups : FeatureGroups or None
        The columns' families.
    test_rows : bool array of shape (n,) or None
        The dataset's own test part, where it has one.
    tags : tuple of str
        Names of the columns of Y, where they are told.
    names : tuple of str
        Names of the rows, where they are told.
    """

    X: NDArray[Any]
    Y: NDArray[np.int8]
    groups: FeatureGroups | None = None
    test_rows: NDArray[np.bool_] | None = None
    tags: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


Loader = Callable[..., Dataset]
LOADERS: dict[str, Loader] = {}


def register_dataset(name: str) -> Callable[[Loader], Loader]:
    """Make a loader known under a name that experiment.toml can use."""

    def keep(loader: Loader) -> Loader:
        LOADERS[name] = loader
        return loader

    return keep


def load_dataset(name: str, **parameters: Any) -> Dataset:
    """Load a dataset by its registered name or as "module:function"; the last two stay in memory."""
    if name not in LOADERS and ":" not in name:
        raise BenchmarkError(f"no dataset {name!r}; registered are {sorted(LOADERS)} (benchmarks/datasets.py)")
    return _load(name, tuple(sorted((key, _hashable(value)) for key, value in parameters.items())))


@lru_cache(maxsize=2)
def _load(name: str, parameters: tuple[tuple[str, Any], ...]) -> Dataset:
    loader: Loader = LOADERS[name] if name in LOADERS else find(name)
    return loader(**dict(parameters))


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
    name = (
        key
        if len(key) <= MOST_LETTERS
        else f"{key[: MOST_LETTERS // 2]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    )
    path = CACHE / f"{name}.npz"
    if not path.is_file():
        arrays = compute()
        CACHE.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as handle:
            np.savez(handle, **arrays)
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


def photo_features(
    name: str, paths: list[Path], groups: tuple[str, ...], network: str = "small"
) -> tuple[NDArray[np.float32], FeatureGroups]:
    """Return features of photos through ``tagloom.features.extract``, kept until a descriptor's key changes.

    Parameters
    ----------
    name : str
        Of the photos.
    paths : list of Path
        The photos.
    groups : tuple of str
        Feature groups. With another network these are the two of the network.
    network : {"small", "medium", "large"}
        Which bundled network.
    """
    if network == "small":
        return _kept_features(name, groups, list(groups), paths)
    from tagloom.features import get_descriptor

    descriptor = get_descriptor("deep", network=network)
    if groups != tuple(descriptor.outputs):
        raise BenchmarkError(f"features of the network {network!r} are {', '.join(descriptor.outputs)}")
    return _kept_features(name, groups, [descriptor], paths)


def learned_features(
    name: str, root: Path, names: list[bytes], training: list[bytes], groups: tuple[str, ...]
) -> tuple[NDArray[np.float32], FeatureGroups]:
    """Return features, "words" or "blobs" among them, whose vocabularies are learned from ``training`` without labels.

    Features and vocabulary are kept in ``benchmarks/.cache/NAME.tagloom``, where `benchmarks.quality` keeps them too.
    """
    from tagloom.features.words.learned import is_learned, learned_descriptor
    from tagloom.store import FolderCache

    folder = CACHE / f"{name}.tagloom"
    CACHE.mkdir(parents=True, exist_ok=True)
    with FolderCache(folder, root) as cache:
        vocabularies = folder / "vocabularies"
        learn = {"root": root, "n_words": N_WORDS}
        wanted: list[Any] = [
            learned_descriptor(group, vocabularies, training, **learn) if is_learned(group) else group
            for group in groups
        ]
        return _kept_features(name, groups, wanted, names, cache=cache, root=root)


def _kept_features(
    name: str, groups: tuple[str, ...], wanted: list[Any], paths: Sequence[Any], **options: Any
) -> tuple[NDArray[np.float32], FeatureGroups]:
    from tagloom.features.engine import extract
    from tagloom.features.registry import resolve_descriptors

    def compute() -> dict[str, NDArray[Any]]:
        X, found, records = extract(paths, groups=wanted, **options)
        bad = sum(record.verdict != Verdict.OK for record in records)
        if bad:
            raise BenchmarkError(f"{bad} of {len(paths)} photos could not be read; repair the dataset first")
        return {"X": X, "names": np.array(found.names), "sizes": np.array(found.sizes)}

    descriptors, _ = resolve_descriptors(wanted)
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
def corel5k(
    words: int = 260,
    groups: tuple[str, ...] = ("deep",),
    scale: str = "none",
    part: str = "all",
    frequent: int | None = None,
) -> Dataset:
    """Load the 4,999 photos of Corel-5K with features computed here.

    Parameters
    ----------
    words : {260, 374}
        Which vocabulary.
    groups : tuple of str
        Feature groups of ``tagloom.features.extract``; "words" and "blobs" have vocabularies of 500, learned without
        labels from the 4,500 training photos.
    scale : {"none", "unit", "columns", "groups"}
        See `scaled`.
    part : {"all", "train"}
        "train": the 4,500 training photos alone, for choices that must not see the others.
    frequent : int, optional
        Only so many words, those of the most photos, in the order of the vocabulary.
    """
    stored, X, found = _corel5k(tuple(groups))
    Y, splits = stored[f"Y{words}"].astype(np.int8), stored["split"]
    kept = np.sort(np.argsort(-Y.sum(axis=0, dtype=np.int64), kind="stable")[:frequent])
    rows = np.flatnonzero(splits == "train") if part == "train" else np.arange(len(Y))
    tags = tuple(str(stored[f"words{words}"][tag]) for tag in kept)
    names = tuple(str(stored["image_id"][row]) for row in rows)
    return Dataset(scaled(X[rows], scale, found), Y[np.ix_(rows, kept)], found, splits[rows] == "test", tags, names)


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
    from tagloom.features.words.learned import is_learned

    folder = data_folder("corel5k")
    with np.load(folder / "corel5k.npz", allow_pickle=False) as file:
        stored = dict(file)
    names = [f"images/{part}/{number}.jpeg" for part, number in zip(stored["split"], stored["image_id"], strict=True)]
    if not any(is_learned(group) for group in groups):
        return stored, *photo_features("corel5k", [folder / name for name in names], groups)
    training = [name.encode() for name, part in zip(names, stored["split"], strict=True) if part == "train"]
    return stored, *learned_features("corel5k", folder, [name.encode() for name in names], training, groups)


@register_dataset("corel5k_regions")
def corel5k_regions(words: int = 260) -> Dataset:
    """Load Corel-5K with counts of region words found in the photos here, through ``tagloom.learning.methods``."""
    from tagloom.learning.methods import visual_words

    found = corel5k(words, ("blobs",))
    assert found.groups is not None
    return replace(found, X=visual_words(found.X, found.groups))


@register_dataset("corel16k")
def corel16k(subset: int = 1) -> Dataset:
    """Load one of the ten Corel subsets of Barnard et al. (2003): visual words as they were published, sparse."""
    from tagloom.datasets import load_corel16k

    loaded = load_corel16k(data_folder("corel16k"), subset=subset)
    X: Any = sparse.csr_array(loaded.X, dtype=np.float32)
    return Dataset(X, loaded.Y, loaded.groups, tags=loaded.tags.names)


@register_dataset("awa_attributes")
def awa_attributes(values: str = "continuous", scale: str = "columns") -> Dataset:
    """Load the 30,475 images of Animals with Attributes: 85 attributes of the class, a group each, 50 classes."""
    from tagloom.datasets.awa import load_awa_attributes

    loaded = load_awa_attributes(data_folder("awa"), values=values)
    return Dataset(scaled(loaded.X, scale, loaded.groups), loaded.Y, loaded.groups, tags=loaded.tags.names)


@register_dataset("awa_subset")
def awa_subset(columns: int = 200, scale: str = "columns") -> Dataset:
    """Load 1,575 images of Animals with Attributes with six feature groups; the 85 attributes are the tags.

    Parameters
    ----------
    columns : int
        Keep so many columns of each group, those with the largest variance of their square roots (histograms: the
        root is what makes them comparable).
    scale : {"none", "unit", "columns", "groups"}
        See `scaled`.
    """
    from tagloom.datasets.awa import load_awa_subset

    loaded = load_awa_subset(data_folder("awa"))
    parts = {name: np.sqrt(part) for name, part in loaded.groups.split(loaded.X).items()}
    kept = {
        name: part[:, np.sort(np.argsort(-part.var(axis=0), kind="stable")[:columns])] for name, part in parts.items()
    }
    groups = FeatureGroups.from_mapping({name: part.shape[1] for name, part in kept.items()})
    X = scaled(groups.join(kept), scale, groups)
    return Dataset(X, loaded.Y, groups, tags=loaded.tags.names)


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
