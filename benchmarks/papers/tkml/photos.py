"""Corel-5K and MSRC v2 with six colour SIFTs or with the deep embedding: coordinates, and kernels of all pairs."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.extmath import randomized_svd

from benchmarks.datasets import CACHE, Dataset, cached_features, data_folder
from benchmarks.errors import BenchmarkError
from benchmarks.papers.tkml.pairs import keep_pairs
from benchmarks.results import digest
from tagloom.core.groups import FeatureGroups
from tagloom.features.engine import extract
from tagloom.features.registry import resolve_descriptors
from tagloom.features.words.learned import learned_descriptor
from tagloom.store import FolderCache

FORMS = ("sift", "rgbsift", "rgsift", "hsvsift", "csift", "opponentsift")
N_WORDS = 512
#: Part of the keys of what is kept: raise it when the computation changes.
VERSION = 1


def corel5k(features: str, n_columns: int = 64) -> Dataset:
    """Load the 4,999 photos of Corel-5K with 260 words.

    Parameters
    ----------
    features : {"color_sift", "deep"}
        What the photos are described by.
    n_columns : int
        Principal coordinates of each descriptor.
    """
    folder = data_folder("corel5k")
    with np.load(folder / "corel5k.npz", allow_pickle=False) as stored:
        Y, split, ids = stored["Y260"].astype(np.int8), stored["split"], stored["image_id"]
        words = tuple(map(str, stored["words260"]))
    names = [f"images/{part}/{number}.jpeg" for part, number in zip(split, ids, strict=True)]
    training = [name for name, part in zip(names, split, strict=True) if part == "train"]
    X, groups = described("corel5k", folder, names, training, features, n_columns, ("intersection", 3))
    return Dataset(X, Y, groups, split == "test", tags=words)


def msrc(features: str, n_columns: int = 64, without: tuple[str, ...] = ()) -> Dataset:
    """Load the 591 photos of MSRC v2.

    Parameters
    ----------
    features, n_columns
        As for `corel5k`. The vocabularies are learned, without labels, from all photos.
    without : tuple of str
        Classes that are left out; the photos stay.
    """
    folder = data_folder("msrc_v2")
    with np.load(folder / "msrc_v2.npz", allow_pickle=False) as stored:
        Y, classes, images = stored["Y"].astype(np.int8), stored["words"], stored["image"]
    names = [f"images/{name}.jpg" for name in images]
    X, groups = described("msrc_v2", folder, names, names, features, n_columns, ("euclidean", 6))
    kept = ~np.isin(classes, without)
    return Dataset(X, Y[:, kept], groups, tags=tuple(map(str, classes[kept])))


def described(
    name: str,
    root: Path,
    names: list[str],
    training: list[str],
    features: str,
    n_columns: int,
    neighborhood: tuple[str, int],
) -> tuple[NDArray[np.float32], FeatureGroups]:
    """Return principal coordinates of the photos' descriptors, and keep their kernels of all pairs.

    Parameters
    ----------
    name : str
        Of the dataset, for the cache.
    root : Path
        Its folder.
    names, training : lists of str
        Photos, and those that vocabularies are learned from, relative to the folder.
    features, n_columns
        As for `corel5k`.
    neighborhood : (str, int)
        Similarity and number of neighbours of the paper's graph.
    """
    folder = CACHE / f"{name}.tagloom"
    CACHE.mkdir(parents=True, exist_ok=True)
    wanted = _wanted(features, folder / "vocabularies", root, training)
    keys = [descriptor.key for descriptor in resolve_descriptors(wanted)[0]]
    key = f"{name}-tkml-{features}-v{VERSION}-{digest([keys, len(names)])}"

    @cache
    def histograms() -> Mapping[str, NDArray[np.float32]]:
        with FolderCache(folder, root) as store:
            X, groups, records = extract([item.encode() for item in names], wanted, store, root=root)
        bad = sum(not record.ok for record in records)
        if bad:
            raise BenchmarkError(f"{bad} of {len(names)} photos could not be read; repair the dataset first")
        return {group: as_histograms(part) for group, part in groups.split(X).items()}

    parts = cached_features(
        f"{key}-{n_columns}",
        lambda: {group: principal_coordinates(np.sqrt(part), n_columns) for group, part in histograms().items()},
    )
    groups = FeatureGroups.from_mapping({group: part.shape[1] for group, part in parts.items()})
    X = groups.join(parts)
    keep_pairs(X, key, histograms, neighborhood)
    return X, groups


def _wanted(features: str, vocabularies: Path, root: Path, training: list[str]) -> list[Any]:
    if features == "deep":
        return ["deep"]
    if features != "color_sift":
        raise BenchmarkError(f"features must be 'color_sift' or 'deep', got {features!r}")
    paths = [item.encode() for item in training]
    return [
        learned_descriptor(f"words-{form}", vocabularies, paths, root=root, n_words=N_WORDS, pyramid="three_level")
        for form in FORMS
    ]


def as_histograms(X: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return rows divided by their sum: what kernels of histograms, and square roots of length 1, ask for."""
    return np.asarray(X / np.maximum(X.sum(axis=1, keepdims=True), np.finfo(np.float32).tiny))


def principal_coordinates(X: NDArray[np.float32], n_columns: int) -> NDArray[np.float32]:
    """Return the leading principal coordinates of centred rows, each with the sign that makes its largest entry > 0."""
    centred = X - X.mean(axis=0)
    U, s, _ = randomized_svd(centred, min(n_columns, *X.shape), n_oversamples=20, n_iter=4, random_state=0)
    signs = np.sign(U[np.abs(U).argmax(axis=0), np.arange(len(s))])
    return np.asarray(U * (s * signs), dtype=np.float32)
