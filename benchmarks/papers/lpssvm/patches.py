"""Caltech-101 as patches: SIFT of all photos, computed once, and pyramid histograms for a vocabulary of some photos."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.datasets import cached_features, data_folder
from benchmarks.errors import BenchmarkError
from tagloom.features.words.sift import DenseSift
from tagloom.features.words.vocabulary import learn_vocabulary
from tagloom.features.words.words import PYRAMIDS

Floats = NDArray[np.float32]

PYRAMID = PYRAMIDS["two_level"]
#: SIFT as bytes, as it is usually kept: numbers times this, cut at 255.
BYTES = 512.0
_SIDE = 4
_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class Patches:
    """SIFT of the patches of photos.

    Parameters
    ----------
    categories : array of str, shape (n,)
        Category of each photo.
    ends : int array of shape (n,)
        Where the patches of each photo end.
    descriptors : uint8 array of shape (m, 128)
        SIFT, photo by photo.
    cells : uint8 array of shape (m,)
        Which of the 4 × 4 cells of its photo a patch is in, row by row.
    """

    categories: NDArray[Any]
    ends: NDArray[np.int64]
    descriptors: NDArray[np.uint8]
    cells: NDArray[np.uint8]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of patches of each photo."""
        return np.diff(self.ends, prepend=0)

    def take(self, photos: NDArray[Any]) -> "Patches":
        """Return the patches of some photos, in their order."""
        starts, counts = (self.ends - self.counts)[photos], self.counts[photos]
        chosen = np.concatenate([np.arange(start, start + n) for start, n in zip(starts, counts, strict=True)])
        return Patches(self.categories[photos], np.cumsum(counts), self.descriptors[chosen], self.cells[chosen])


@lru_cache(maxsize=1)
def caltech_patches(size: int = 180) -> Patches:
    """Return the patches of all photos: 16 × 16 pixels, 8 pixels apart."""
    folder = data_folder("caltech101") / "images"
    paths = sorted(folder.glob("*/*.jpg"))
    if not paths:
        raise BenchmarkError("the folder caltech101/images holds no CATEGORY/PHOTO.jpg")
    local = DenseSift(size=size)
    stored = cached_features(f"caltech101-{local.key}", lambda: _describe(local, paths))
    return Patches(stored["categories"], stored["ends"], stored["descriptors"], stored["cells"])


def _describe(local: DenseSift, paths: list[Any]) -> dict[str, NDArray[Any]]:
    from tagloom.images.pool import DecodePool

    found, cells, counts = [], [], []
    with DecodePool([local.rendition], n_workers=1) as pool:
        for photo in pool.decode(bytes(path) for path in paths):
            if not photo.record.ok:
                raise BenchmarkError(f"a photo of Caltech-101 could not be read: {photo.record.detail}")
            pixels = photo.pixels[local.rendition.name]
            positions, descriptors = local.local_features(pixels)
            found.append(np.minimum(np.rint(BYTES * descriptors), 255).astype(np.uint8))
            cells.append(cells_of(positions, pixels.shape[:2]))
            counts.append(len(descriptors))
    return {
        "categories": np.array([path.parent.name for path in paths]),
        "ends": np.cumsum(counts),
        "descriptors": np.concatenate(found),
        "cells": np.concatenate(cells),
    }


def cells_of(positions: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """Return which of 4 × 4 cells of a picture each position is in."""
    places = (np.asarray(positions, dtype=np.float64) / shape[:2] * _SIDE).astype(np.int64)
    row, column = np.clip(places, 0, _SIDE - 1).T
    return (_SIDE * row + column).astype(np.uint8)


def category_words(patches: Patches, n_words: int, seed: int) -> Floats:
    """Return the codewords (n_words, 128) learned from the patches of some photos."""
    return learn_vocabulary(patches.descriptors.astype(np.float32), n_words, source="sift", random_state=seed).words


def pyramid_histograms(patches: Patches, words: Floats) -> Floats:
    """Return pyramid histograms (n, 21 · n_words) of photos, in the order of `features.words.words.PYRAMIDS`."""
    n_photos, n_words = len(patches.counts), len(words)
    photo = np.repeat(np.arange(n_photos), patches.counts)
    nearest = np.concatenate(list(_nearest(patches.descriptors, words)))
    bins = (photo * _SIDE**2 + patches.cells) * n_words + nearest
    fine = np.bincount(bins, minlength=n_photos * _SIDE**2 * n_words).astype(np.float32)
    fine = fine.reshape(n_photos, 2, 2, 2, 2, n_words)  # quarter row, row in it, quarter column, column in it
    quarters = fine.sum(axis=(2, 4))
    levels = [quarters.sum(axis=(1, 2)), quarters, fine]
    joined = np.hstack([level.reshape(n_photos, -1) for level in levels])
    return np.asarray(joined / patches.counts[:, None], dtype=np.float32)


def _nearest(descriptors: NDArray[np.uint8], words: Floats) -> Iterator[NDArray[np.int64]]:
    """Yield the nearest word of patches, block by block; rounding may decide between words that are equally near."""
    half_squares = 0.5 * np.square(words).sum(axis=1)
    for start in range(0, len(descriptors), _BLOCK):
        nearness = descriptors[start : start + _BLOCK].astype(np.float32) @ words.T
        nearness -= half_squares
        yield nearness.argmax(axis=1)
