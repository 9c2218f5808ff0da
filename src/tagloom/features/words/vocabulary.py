"""The visual vocabulary: typical local descriptors, learned once, that turn a picture into counts of words."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load, save

from tagloom._version import __version__
from tagloom.core import NO_PROGRESS, Progress, check_generator, limit_libraries, write_bytes
from tagloom.exceptions import DamagedStoreError, InvalidInputError, NewerFormatError, PhotosError, StoreError
from tagloom.images import DecodePool, Rendition

__all__ = ["LocalDescriptor", "VisualVocabulary", "collect_samples", "learn_vocabulary"]

PathLike = str | bytes | os.PathLike[Any]

_FORMAT = 1
_KIND = "tagloom visual vocabulary"
_LARGEST_FILE = 256 << 20
_BLOCK_VALUES = 1 << 20  # distances held at a time


@runtime_checkable
class LocalDescriptor(Protocol):
    """Something that describes places of a picture: patches on a grid, regions."""

    @property
    def key(self) -> str:
        """Name, version and parameters in one text; a vocabulary remembers it as its source."""

    @property
    def rendition(self) -> Rendition:
        """The pixels that `local_features` reads."""

    def local_features(self, pixels: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return positions (m, 2), row then column in pixels from the upper left corner, and descriptors (m, d)."""


@dataclass(frozen=True, eq=False, repr=False)
class VisualVocabulary:
    """Visual words and their source.

    Parameters
    ----------
    words : array of shape (k, d)
        One word per row; kept as a read-only float32 copy.
    source : str
        Key of the local descriptor that the words were learned from.
    training : mapping, optional
        What is to be remembered of the learning (number of photos and samples, seed …), JSON-able.

    Examples
    --------
    >>> vocabulary = VisualVocabulary([[0.0, 0.0], [4.0, 0.0]], source="an example")
    >>> vocabulary.assign([[1.0, 1.0], [3.0, 0.0], [2.0, 5.0]])
    array([0, 1, 0])
    """

    words: NDArray[np.float32]
    source: str
    training: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        words = np.array(self.words, dtype=np.float32, order="C")
        if words.ndim != 2 or words.size == 0 or not np.isfinite(words).all():
            raise InvalidInputError(f"a vocabulary needs finite words of shape (k, d), got an array {words.shape}")
        if not isinstance(self.source, str) or not self.source:
            raise InvalidInputError(f"the source of a vocabulary must be a text that is not empty, got {self.source!r}")
        words.setflags(write=False)
        object.__setattr__(self, "words", words)
        object.__setattr__(self, "training", MappingProxyType(json.loads(_to_json(dict(self.training)))))

    @property
    def n_words(self) -> int:
        """Number of words."""
        return self.words.shape[0]

    @property
    def n_columns(self) -> int:
        """Length of a word."""
        return self.words.shape[1]

    @property
    def digest(self) -> str:
        """16 hexadecimal digits that change with the words and with the source, and with nothing else."""
        content = hashlib.sha256(json.dumps([self.source, *self.words.shape]).encode())
        content.update(self.words.astype("<f4", copy=False).tobytes())
        return content.hexdigest()[:16]

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, VisualVocabulary) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"VisualVocabulary({self.n_words} words of {self.n_columns} numbers, {self.source}, {self.digest})"

    def assign(self, descriptors: ArrayLike) -> NDArray[np.int64]:
        """Return the word nearest to each descriptor (m, d) by Euclidean distance; of equally near ones the first.

        Notes
        -----
        Distances come from single-precision matrix products, a block of rows at a time. Where another word is as near
        as the best one up to the rounding of such a product, the few in question are compared again in double
        precision, so that the answer depends on neither the block nor the linear algebra library nor its threads.
        """
        rows = np.ascontiguousarray(descriptors, dtype=np.float32)
        if rows.ndim != 2 or rows.shape[1] != self.n_columns:
            raise InvalidInputError(
                f"this vocabulary takes descriptors of shape (m, {self.n_columns}), got {np.shape(descriptors)}"
            )
        if not np.isfinite(rows).all():
            raise InvalidInputError("descriptors must be finite, got NaN or infinity")
        found = np.empty(len(rows), dtype=np.int64)
        step = max(1, _BLOCK_VALUES // self.n_words)
        half_squares = 0.5 * np.einsum("kd,kd->k", self.words, self.words)
        for start in range(0, len(rows), step):
            found[start : start + step] = self._assign_block(rows[start : start + step], half_squares)
        return found

    def _assign_block(self, rows: NDArray[np.float32], half_squares: NDArray[np.float32]) -> NDArray[np.int64]:
        # ‖x - w‖² / 2 without the part that is the same for all words, with the sign turned: the greatest is nearest.
        nearness = rows @ self.words.T
        nearness -= half_squares
        best = nearness.argmax(axis=1)
        lengths = np.sqrt(np.einsum("md,md->m", rows, rows)) * math.sqrt(2 * half_squares.max()) + half_squares.max()
        rounding = 8 * math.sqrt(self.n_columns) * np.finfo(np.float32).eps * lengths
        close = nearness >= (np.take_along_axis(nearness, best[:, None], axis=1)[:, 0] - rounding)[:, None]
        unsure = np.flatnonzero(close.sum(axis=1) > 1)
        if len(unsure):
            best[unsure] = self._assign_exactly(rows[unsure], close[unsure])
        return best

    def _assign_exactly(self, rows: NDArray[np.float32], candidates: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return the nearest of each row's candidates, at least one, by distances in double precision."""
        row, word = np.nonzero(candidates)
        distances = np.empty(len(row))
        step = max(1, _BLOCK_VALUES // self.n_columns)
        for start in range(0, len(row), step):
            part = slice(start, start + step)
            differences = self.words[word[part]].astype(np.float64) - rows[row[part]]
            distances[part] = np.einsum("md,md->m", differences, differences)
        order = np.lexsort((word, distances, row))
        return word[order][np.unique(row, return_index=True)[1]]  # the order keeps rows where they are

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the vocabulary to a safetensors file, whole or not at all (`WriteError`)."""
        about = {"kind": _KIND, "format": _FORMAT, "source": self.source, "digest": self.digest}
        # One entry, because safetensors does not keep the order of several and equal files should have equal bytes.
        text = _to_json({**about, "training": dict(self.training)})
        write_bytes(path, save({"words": self.words}, metadata={"tagloom": text}))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "VisualVocabulary":
        """Read a file that `save` wrote.

        Raises
        ------
        NewerFormatError
            If a newer tagloom wrote it.
        DamagedStoreError
            If it is no vocabulary, or its content is not what was written.
        StoreError
            If it cannot be read.
        """
        name = Path(path).name
        try:
            with open(path, "rb") as handle:
                data = handle.read(min(os.fstat(handle.fileno()).st_size, _LARGEST_FILE) + 1)
        except OSError as error:
            raise StoreError(f"the vocabulary {name!r} cannot be read ({error.strerror or error})") from error
        if len(data) > _LARGEST_FILE:
            raise DamagedStoreError(
                f"{name!r} is no visual vocabulary (over {_LARGEST_FILE >> 20} MiB); learn it again"
            )
        try:
            words = load(data)["words"]
            about = json.loads(_metadata(data)["tagloom"])
            kind, number = str(about["kind"]), int(about["format"])
        except (SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise DamagedStoreError(f"{name!r} is no visual vocabulary ({error}); learn it again") from error
        if kind == _KIND and number > _FORMAT:
            raise NewerFormatError(
                f"the vocabulary {name!r} has format {number}, this tagloom knows {_FORMAT}; use a newer tagloom"
            )
        try:
            vocabulary = cls(words, about["source"], about["training"])
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedStoreError(f"the vocabulary {name!r} is damaged ({error}); learn it again") from error
        if kind != _KIND or about.get("digest") != vocabulary.digest:
            raise DamagedStoreError(f"the vocabulary {name!r} is not what was written to it; learn it again")
        return vocabulary


def learn_vocabulary(
    samples: ArrayLike,
    n_words: int,
    *,
    source: str,
    random_state: Any = None,
    training: Mapping[str, Any] | None = None,
    max_samples: int = 200_000,
    batch_size: int = 4096,
    n_init: int = 1,
    max_iter: int = 100,
) -> VisualVocabulary:
    """Cluster local descriptors into words by mini-batch k-means.

    Parameters
    ----------
    samples : array of shape (m, d)
        Local descriptors of the training photos.
    n_words : int
        How many words.
    source : str
        Key of the local descriptor.
    random_state : None, int or numpy Generator
        An integer gives the same vocabulary for the same samples in the same order.
    training : mapping, optional
        What else to remember of where the samples come from.
    max_samples : int, default=200_000
        If there are more samples, this many are drawn from them.
    batch_size : int, default=4096
        Samples per step.
    n_init : int, default=1
        Starting points tried (k-means++); the best one is continued. More than one hardly helped (measured: 0.1 %).
    max_iter : int, default=100
        Passes over the samples at most; learning usually stops long before.

    Raises
    ------
    InvalidInputError
        If there are fewer distinct samples than words; their number fixes that of columns, and is not lowered silently.

    Notes
    -----
    Equal samples (patches without contrast are all zero) are one sample of a greater weight, so that no two words start
    from the same one. The vocabulary's ``training`` holds ``method``, ``n_samples`` (those used), ``n_words``, ``seed``
    (where ``random_state`` is an integer), ``version`` and the entries given here.
    """
    from sklearn.cluster import MiniBatchKMeans  # takes seconds to import, and only learning needs it

    rows = _check_samples(samples, n_words, max_samples)
    generator = check_generator(random_state)
    rows = rows[_draw(len(rows), max_samples, generator)]
    distinct, counts = _distinct(rows)
    if len(distinct) < n_words:
        raise InvalidInputError(
            f"{n_words} words need at least as many distinct samples, got {len(distinct)} among {len(rows)}; "
            f"take more photos or fewer words"
        )
    estimator = MiniBatchKMeans(
        n_clusters=n_words,
        batch_size=min(batch_size, len(distinct)),
        n_init=n_init,
        max_iter=max_iter,
        init_size=min(len(distinct), max(3 * n_words, batch_size)),
        # Moving words with few samples elsewhere would, beside one word with very many, move most of them for ever.
        reassignment_ratio=0,
        random_state=int(generator.integers(2**31 - 1)),
    )
    with limit_libraries(1):  # sums of several threads would differ in their last digits from run to run
        clusters = estimator.fit(distinct, sample_weight=counts)
    known = {
        "method": "mini-batch k-means",
        "n_samples": len(rows),
        "n_words": int(n_words),
        "seed": int(random_state) if isinstance(random_state, int | np.integer) else None,
        "version": __version__,
    }
    return VisualVocabulary(clusters.cluster_centers_, source, {**known, **(training or {})})


class LocalSamples(NamedTuple):
    """What `collect_samples` returns.

    Attributes
    ----------
    samples : ndarray of float32, shape (m, d)
        Local descriptors.
    n_photos, n_skipped : int
        Photos they come from, and photos that were chosen but could not be read.
    """

    samples: NDArray[np.float32]
    n_photos: int
    n_skipped: int

    @property
    def training(self) -> dict[str, int]:
        """Entries for the ``training`` of a vocabulary."""
        return {"n_photos": self.n_photos, "n_skipped": self.n_skipped}


def collect_samples(
    paths: Iterable[PathLike],
    local: LocalDescriptor,
    *,
    n_photos: int | None = 500,
    per_photo: int | None = 200,
    root: PathLike | None = None,
    random_state: Any = None,
    n_workers: int | None = None,
    progress: Progress = NO_PROGRESS,
    **pool_options: Any,
) -> LocalSamples:
    """Draw local descriptors from photos to learn a vocabulary.

    The paths are sorted and made unique before photos are drawn, so that the choice depends on the set of files and
    the seed alone. Photos that cannot be read are skipped, not replaced.

    Parameters
    ----------
    paths : iterable of path
        The photo files.
    local : LocalDescriptor
        What to compute of each photo.
    n_photos : int or None, default=500
        Photos to draw; None takes all.
    per_photo : int or None, default=200
        Descriptors to draw from each photo; None takes all.
    root : path, optional
        The folder that relative paths are relative to; default: the current one.
    random_state : None, int or numpy Generator
        For both draws.
    n_workers : int, optional
        Decoding processes; default: the number of cores. The result does not depend on it.
    progress : Progress, optional
        Told how many photos are done.
    **pool_options
        Passed to `tagloom.images.DecodePool` (``deadline``, ``memory_limit``, ``max_pixels`` …).

    Raises
    ------
    PhotosError
        If none of the chosen photos can be read.
    """
    for name, value in (("n_photos", n_photos), ("per_photo", per_photo)):
        if value is not None and value < 1:
            raise InvalidInputError(f"{name} must be None or at least 1, got {value!r}")
    generator = check_generator(random_state)
    unique = sorted({os.fsencode(path) for path in paths})
    chosen = [unique[index] for index in _draw(len(unique), n_photos, generator)]
    folder = os.fsencode(root) if root is not None else b""
    found: list[NDArray[np.float32]] = []
    progress.start("sampling photos", len(chosen))
    try:
        # One thread, as the engine computes features: the last digit of a sample decides which words are found.
        with DecodePool([local.rendition], n_workers=n_workers, **pool_options) as pool, limit_libraries(1):
            photos = pool.decode(os.path.join(folder, path) for path in chosen)
            for photo, own in zip(photos, generator.spawn(len(chosen)), strict=True):
                if photo.record.ok:
                    descriptors = local.local_features(photo.pixels[local.rendition.name])[1]
                    found.append(descriptors[_draw(len(descriptors), per_photo, own)])
                progress.advance()
    finally:
        progress.finish()
    if not found:
        raise PhotosError(f"none of {len(chosen)} photos could be read; a vocabulary needs some to learn from")
    return LocalSamples(np.concatenate(found), len(found), len(chosen) - len(found))


def _draw(n_items: int, n_wanted: int | None, generator: np.random.Generator) -> NDArray[np.int64]:
    """Return the indices of items drawn without replacement, in order; all where no fewer are wanted."""
    if n_wanted is None or n_wanted >= n_items:
        return np.arange(n_items)
    return np.sort(generator.choice(n_items, n_wanted, replace=False))


def _check_samples(samples: ArrayLike, n_words: int, max_samples: int) -> NDArray[np.float32]:
    rows = np.ascontiguousarray(samples, dtype=np.float32)
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        raise InvalidInputError(f"samples must be a finite array of shape (m, d), got shape {rows.shape}")
    if not 1 <= n_words <= max_samples:
        raise InvalidInputError(f"n_words must be from 1 to max_samples={max_samples}, got {n_words!r}")
    return rows


def _distinct(rows: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """Return each different row once, and how often it occurs."""
    rows = rows + np.float32(0)  # turns -0.0 into 0.0, so that equal numbers are equal bytes
    as_bytes = rows.view(np.dtype((np.void, rows.itemsize * rows.shape[1])))[:, 0]
    _, first, counts = np.unique(as_bytes, return_index=True, return_counts=True)
    return rows[first], counts.astype(np.float64)


def _metadata(data: bytes) -> Any:
    """Return the free entries of a sound safetensors file: the length of a JSON header, then the header."""
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]


_to_json: Callable[[Any], str] = json.JSONEncoder(sort_keys=True, allow_nan=False).encode
