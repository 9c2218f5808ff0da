"""Region words ("blobs"): the regions of a photo, each replaced by the most similar of some hundred typical regions."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tagloom.exceptions import DamagedStoreError, InvalidInputError
from tagloom.features.descriptor import PixelDescriptor
from tagloom.features.words.regions import REGION_COLUMNS, region_features, segment
from tagloom.features.words.vocabulary import VisualVocabulary, learn_vocabulary
from tagloom.images import Rendition

__all__ = ["BlobsDescriptor", "RegionSampler", "RegionVocabulary", "learn_blobs"]

_VERSION = 1  # of segmentation and region features together
_STANDARDISATION = "standardisation"


class RegionSampler:
    """Regions of a photo, from which blobs are learned and counted.

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    n_regions : int, default=8
        The most regions a picture is cut into (see `tagloom.features.words.regions.segment`).

    See Also
    --------
    tagloom.features.words.regions.region_features : The 33 numbers of a region.
    tagloom.features.words.vocabulary.collect_samples : Draws regions from photos.
    """

    def __init__(self, *, size: int = 256, n_regions: int = 8) -> None:
        if n_regions < 1:
            raise InvalidInputError(f"n_regions must be at least 1, got {n_regions!r}")
        self.size = size
        self.n_regions = n_regions

    @property
    def key(self) -> str:
        """Name, version and parameters in one text."""
        return f"regions-v{_VERSION}-size{self.size}-most{self.n_regions}"

    @property
    def rendition(self) -> Rendition:
        """The whole photo, longer side at most ``size``."""
        return Rendition(f"fit-{self.size}", "fit", self.size)

    def local_features(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return the centres (m, 2) of the regions, row then column in pixels, and their features (m, 33)."""
        features = region_features(pixels, segment(pixels, n_regions=self.n_regions))
        x, y = features[:, REGION_COLUMNS.index("x")], features[:, REGION_COLUMNS.index("y")]
        return np.stack([y * pixels.shape[0], x * pixels.shape[1]], axis=1), features

    def __repr__(self) -> str:
        return f"RegionSampler(size={self.size}, n_regions={self.n_regions})"


@dataclass(frozen=True, eq=False)
class RegionVocabulary:
    """Typical regions, with the standardisation that compares regions with them.

    Parameters
    ----------
    visual : VisualVocabulary
        The words in standardised columns.
    means, scales : arrays of shape (d,)
        A region is compared as ``(features - means) / scales``; kept as read-only float64 copies.
    """

    visual: VisualVocabulary
    means: NDArray[np.float64]
    scales: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("means", "scales"):
            values = np.array(getattr(self, name), dtype=np.float64)
            if values.shape != (self.visual.n_columns,) or not np.isfinite(values).all():
                raise InvalidInputError(f"{name} must be {self.visual.n_columns} finite numbers, got {values.shape}")
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if not (self.scales > 0).all():
            raise InvalidInputError(f"scales must be above 0, got {self.scales.min()}")

    @property
    def n_words(self) -> int:
        """Number of words."""
        return self.visual.n_words

    @property
    def source(self) -> str:
        """Key of the `RegionSampler` that the words were learned from."""
        return self.visual.source

    @property
    def training(self) -> Mapping[str, Any]:
        """What is remembered of the learning."""
        return self.visual.training

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that change with words, source and standardisation, and with nothing else."""
        content = hashlib.sha256(self.visual.digest.encode())
        for values in (self.means, self.scales):
            content.update(values.astype("<f8", copy=False).tobytes())
        return content.hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, RegionVocabulary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def assign(self, features: ArrayLike) -> NDArray[np.int64]:
        """Return the nearest word of each region.

        Parameters
        ----------
        features : array of shape (m, d)
            See `tagloom.features.words.regions.region_features`.
        """
        rows = np.asarray(features, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != self.visual.n_columns:
            raise InvalidInputError(f"expected regions of {self.visual.n_columns} numbers, got shape {rows.shape}")
        return self.visual.assign((rows - self.means) / self.scales)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary to a file: that of its `VisualVocabulary`, with the standardisation in ``training``.

        Raises
        ------
        WriteError
            If the system refuses.
        """
        # JSON keeps a double exactly: it is written with as many digits as tell it from its neighbours.
        entry = {"means": self.means.tolist(), "scales": self.scales.tolist(), "digest": self.digest}
        training = {**self.training, _STANDARDISATION: entry}
        VisualVocabulary(self.visual.words, self.source, training).save(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "RegionVocabulary":
        """Read a file that `save` wrote.

        Raises
        ------
        NewerFormatError
            If a newer tagloom wrote it.
        DamagedStoreError
            If it is no vocabulary of regions, or its content is not what was written.
        StoreError
            If it cannot be read.
        """
        stored = VisualVocabulary.load(path)
        training = dict(stored.training)
        name = Path(path).name
        try:
            entry = training.pop(_STANDARDISATION)
            visual = VisualVocabulary(stored.words, stored.source, training)
            vocabulary = cls(visual, entry["means"], entry["scales"])
            written = entry["digest"]
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedStoreError(f"{name!r} is no vocabulary of regions ({error!r}); learn one") from error
        if written != vocabulary.digest:
            raise DamagedStoreError(f"the vocabulary {name!r} is not what was written to it; learn it again")
        return vocabulary


def learn_blobs(
    samples: ArrayLike,
    n_words: int = 500,
    *,
    source: str | None = None,
    random_state: Any = None,
    training: Mapping[str, Any] | None = None,
) -> RegionVocabulary:
    """Cluster regions into words: columns are standardised, then k-means.

    Parameters
    ----------
    samples : array of shape (m, d)
        Features of the regions of the training photos.
    n_words : int, default=500
        How many words.
    source : str, optional
        Key of the `RegionSampler` that the features come from; default: that of ``RegionSampler()``.
    random_state : None, int or numpy Generator
        An integer gives the same vocabulary for the same samples in the same order.
    training : mapping, optional
        What else to remember of where the samples come from.

    Raises
    ------
    InvalidInputError
        If the samples are not finite, or fewer distinct ones than words.
    """
    rows = np.asarray(samples, dtype=np.float64)
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise InvalidInputError(f"samples must be a finite array of shape (m, d), got shape {rows.shape}")
    means, deviations = rows.mean(axis=0), rows.std(axis=0)
    # A column without spread, up to the rounding of its mean, says nothing: it is left as it is.
    scales = np.where(deviations > 1e-9 * np.abs(means), deviations, 1.0)
    visual = learn_vocabulary(
        (rows - means) / scales,
        n_words,
        source=RegionSampler().key if source is None else source,
        random_state=random_state,
        training=training,
    )
    return RegionVocabulary(visual, means, scales)


class BlobsDescriptor(PixelDescriptor):
    """How often each region word occurs: group ``blobs``, one column per word, whole numbers.

    The counts of a photo sum to its number of regions, at most ``n_regions``: the visual words that topic models count.

    Parameters
    ----------
    vocabulary : RegionVocabulary
        Learned from regions of the same kind.
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.
    n_regions : int, default=8
        The most regions a photo is cut into.

    References
    ----------
    .. [1] P. Duygulu, K. Barnard, N. de Freitas and D. Forsyth, "Object recognition as machine translation: learning a
       lexicon for a fixed image vocabulary", ECCV 2002.
    """

    name = "blobs"
    version = 1

    def __init__(self, vocabulary: RegionVocabulary, *, size: int = 256, n_regions: int = 8) -> None:
        self.vocabulary = vocabulary
        self.sampler = RegionSampler(size=size, n_regions=n_regions)
        if self.sampler.key != vocabulary.source:
            raise InvalidInputError(
                f"the vocabulary was learned from {vocabulary.source!r}, not from {self.sampler.key!r}; "
                f"learn one from the latter"
            )

    @property
    def outputs(self) -> Mapping[str, int]:
        """One group: ``blobs``."""
        return {"blobs": self.vocabulary.n_words}

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The whole photo, longer side at most ``size``."""
        return (self.sampler.rendition,)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The vocabulary's digest and what the regions depend on."""
        return {"vocabulary": self.vocabulary.digest, "regions": self.sampler.key}

    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.float64]:
        """Return the counts of one photo."""
        words = self.vocabulary.assign(self.sampler.local_features(pixels)[1])
        return np.bincount(words, minlength=self.vocabulary.n_words).astype(np.float64)
