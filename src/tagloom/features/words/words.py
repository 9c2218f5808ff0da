"""Bags of visual words: how often each word of a vocabulary occurs, in the whole picture and in cells of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.features.descriptor import PixelDescriptor
from tagloom.features.words.sift import DenseSift
from tagloom.features.words.vocabulary import LocalDescriptor, VisualVocabulary
from tagloom.images import Rendition

__all__ = ["PYRAMIDS", "WordsDescriptor", "word_histograms"]

Pyramid = tuple[tuple[int, int], ...]

PYRAMIDS: dict[str, Pyramid] = {
    "none": ((1, 1),),
    "three_level": ((1, 1), (2, 2), (3, 1)),
    "two_level": ((1, 1), (2, 2), (4, 4)),
}
"""Pyramids by name, each level as (rows, columns) of cells.

``three_level`` has the whole picture, its quarters and three horizontal bands, 8 cells; ``two_level`` is the pyramid of
Lazebnik, Schmid and Ponce (CVPR 2006) with L = 2, 21 cells.
"""


def word_histograms(
    words: ArrayLike,
    positions: ArrayLike,
    shape: tuple[int, int],
    *,
    n_words: int,
    pyramid: str | Sequence[tuple[int, int]] = "none",
) -> NDArray[np.float32]:
    """Count the words of a picture in each cell of a pyramid.

    Parameters
    ----------
    words : int array of shape (m,)
        The word of each patch.
    positions : array of shape (m, 2)
        Row and column of the patch centres, the picture's upper left corner being (0, 0).
    shape : (int, int)
        Height and width of the picture. A patch belongs to the cell of its centre, on a border to the later cell.
    n_words : int
        Size of the vocabulary.
    pyramid : {"none", "three_level", "two_level"} or sequence of (rows, columns), default="none"
        The levels; see `PYRAMIDS`.

    Returns
    -------
    ndarray of float32, shape (n_cells * n_words,)
        Counts divided by the number of patches m, so that every level sums to one (all zero where there is no patch).
        The order is level, cell row, cell column, word.

    Examples
    --------
    >>> word_histograms([0, 1, 1], [[4, 4], [4, 12], [12, 12]], (16, 16), n_words=2, pyramid=[(1, 2)]) * 3
    array([1., 0., 0., 2.], dtype=float32)
    """
    found = np.asarray(words, dtype=np.int64)
    places = np.asarray(positions, dtype=np.float64).reshape(-1, 2) / shape
    histograms = []
    for rows, columns in check_pyramid(pyramid):
        cell = np.clip((places * (rows, columns)).astype(np.int64), 0, (rows - 1, columns - 1))
        bins = (cell[:, 0] * columns + cell[:, 1]) * n_words + found
        histograms.append(np.bincount(bins, minlength=rows * columns * n_words))
    return (np.concatenate(histograms) / max(1, len(found))).astype(np.float32)


class WordsDescriptor(PixelDescriptor):
    """A bag of visual words with a spatial pyramid: one group of ``n_cells * n_words`` columns.

    Parameters
    ----------
    vocabulary : VisualVocabulary
        The words; learned from the same local descriptor.
    local : str or LocalDescriptor, default="sift"
        What describes the patches: a form of SIFT on a grid (see `tagloom.features.words.sift.DenseSift`) or an
        object.
    pyramid : {"none", "three_level", "two_level"} or sequence of (rows, columns), default="none"
        The cells; see `PYRAMIDS`. The order of the columns is level, cell row, cell column, word.
    size : int, default=256
        Longer side of the picture, where ``local`` is a form of SIFT; an object has its own.
    group : str, default="words"
        Name of the feature group. Several bags, one per form of SIFT, need a name each.

    Notes
    -----
    The key changes with the words, the local descriptor and the pyramid, not with the group's name.
    """

    name = "words"
    version = 1

    def __init__(
        self,
        vocabulary: VisualVocabulary,
        *,
        local: str | LocalDescriptor = "sift",
        pyramid: str | Sequence[tuple[int, int]] = "none",
        size: int = 256,
        group: str = "words",
    ) -> None:
        self.vocabulary = vocabulary
        self.local: LocalDescriptor = DenseSift(local, size=size) if isinstance(local, str) else local
        self.pyramid = check_pyramid(pyramid)
        self.group = group
        if self.local.key != vocabulary.source:
            raise InvalidInputError(
                f"the vocabulary was learned from {vocabulary.source!r}, not from {self.local.key!r}; "
                f"learn one from the latter"
            )

    @property
    def outputs(self) -> Mapping[str, int]:
        """One group of ``n_cells * n_words`` columns."""
        return {self.group: self.vocabulary.n_words * sum(rows * columns for rows, columns in self.pyramid)}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The picture that the local descriptor reads."""
        return (self.local.rendition,)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The vocabulary's digest, the local descriptor's key and the pyramid."""
        return {
            "vocabulary": self.vocabulary.digest,
            "local": self.local.key,
            "pyramid": [list(level) for level in self.pyramid],
        }

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return the histograms of one photo."""
        positions, descriptors = self.local.local_features(pixels)
        return word_histograms(
            self.vocabulary.assign(descriptors),
            positions,
            pixels.shape[:2],
            n_words=self.vocabulary.n_words,
            pyramid=self.pyramid,
        )


def check_pyramid(pyramid: str | Sequence[tuple[int, int]]) -> Pyramid:
    """Return the levels of a pyramid given by name or as (rows, columns) each."""
    if isinstance(pyramid, str):
        if pyramid not in PYRAMIDS:
            raise InvalidInputError(f"the pyramid must be one of {', '.join(PYRAMIDS)} or levels, got {pyramid!r}")
        return PYRAMIDS[pyramid]
    levels = tuple((int(rows), int(columns)) for rows, columns in pyramid)
    if not levels or min(min(level) for level in levels) < 1:
        raise InvalidInputError(f"a pyramid needs levels of (rows, columns), each at least 1, got {pyramid!r}")
    return levels
