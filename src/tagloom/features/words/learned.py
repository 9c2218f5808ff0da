"""Descriptors with a vocabulary: learned from a sample of the photos once, kept in a folder, used ever after."""

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import NO_PROGRESS, Progress
from tagloom.exceptions import DamagedStoreError, InvalidInputError, PhotosError
from tagloom.features.descriptor import Descriptor

if TYPE_CHECKING:
    from tagloom.features.words.vocabulary import LocalDescriptor

__all__ = ["LEARNED", "is_learned", "learned_descriptor"]

LEARNED = {
    "words": "bag of visual words: SIFT on a grid; its vocabulary is learned from the photos",
    "words-rgbsift": "the same with red, green and blue",
    "words-rgsift": "the same with normalised red and green",
    "words-hsvsift": "the same with hue, saturation and value",
    "words-csift": "the same with colour invariants",
    "words-opponentsift": "the same with opponent colours",
    "words-sift": "another name of words",
    "blobs": "counts of region words; their vocabulary is learned from the photos",
}
"""Names of descriptors that learn a vocabulary, each with one line for a person."""

SAMPLES_PER_PHOTO = 200


def is_learned(name: str) -> bool:
    """Tell whether a descriptor of this name learns a vocabulary first."""
    return name in LEARNED


def learned_descriptor(
    name: str,
    folder: str | os.PathLike[str],
    paths: Sequence[bytes],
    *,
    root: str | os.PathLike[str] | None = None,
    n_words: int = 500,
    n_photos: int = 500,
    pyramid: str | Sequence[tuple[int, int]] = "none",
    random_state: int = 0,
    learn: bool = True,
    progress: Progress = NO_PROGRESS,
    **pool_options: Any,
) -> Descriptor:
    """Make a descriptor with a vocabulary kept in a folder, learning it first if needed.

    Features stay comparable when photos are added later, because the vocabulary then is the old one. To learn a new
    one, delete its file.

    Parameters
    ----------
    name : str
        One of `LEARNED`.
    folder : path
        Where vocabularies are kept; made if needed.
    paths : sequence of bytes
        Photos to learn from.
    root : path, optional
        The folder that relative paths are relative to.
    n_words : int, default=500
        Size of the vocabulary.
    n_photos : int, default=500
        How many of the photos are drawn to learn from; for ``blobs``, with few regions a photo, four times as many.
    pyramid : str or sequence of (rows, columns), default="none"
        Cells in which words are counted; see `tagloom.features.words.words.PYRAMIDS`. Not for ``blobs``.
    random_state : int, default=0
        Seed of drawing and clustering.
    learn : bool, default=True
        Whether to learn a vocabulary where there is none; False opens no photo.
    progress : Progress, optional
        Told how many photos are done.
    **pool_options
        Passed to `tagloom.images.DecodePool`.

    Raises
    ------
    InvalidInputError
        If the name is not known, or the photos do not have as many distinct places as words are wanted.
    PhotosError
        If there is no vocabulary and none is to be learned.
    """
    if not is_learned(name):
        raise InvalidInputError(f"no descriptor {name!r} learns a vocabulary; there are {', '.join(LEARNED)}")
    family: Any = _Blobs(pyramid) if name == "blobs" else _Words(name, pyramid)
    source = hashlib.sha256(family.local.key.encode()).hexdigest()[:8]
    path = Path(folder) / f"{name}-{n_words}-{source}.safetensors"
    if path.exists():
        vocabulary = family.load(path)
        if vocabulary.n_words != n_words:  # it may be a stranger's, and more words cost more
            raise DamagedStoreError(
                f"the vocabulary {path.name!r} has {vocabulary.n_words} words instead of {n_words}; remove it, and "
                f"tagloom learns another"
            )
        return family.descriptor(vocabulary)
    if not learn:
        raise PhotosError(f"there is no vocabulary of {name} yet; features and vocabulary come with: tagloom extract")
    from tagloom.features.words.vocabulary import collect_samples

    found = collect_samples(
        paths,
        family.local,
        n_photos=n_photos * family.photo_factor,
        per_photo=SAMPLES_PER_PHOTO,
        root=root,
        random_state=random_state,
        progress=progress,
        **pool_options,
    )
    progress.start(f"learning a vocabulary of {n_words} words ({name})", None)
    try:
        vocabulary = family.learn(found.samples, n_words, random_state, found.training)
    except InvalidInputError as error:
        raise InvalidInputError(f"{error} (settings vocabulary_words, vocabulary_photos)") from error
    finally:
        progress.finish()
    path.parent.mkdir(parents=True, exist_ok=True)
    vocabulary.save(path)
    return family.descriptor(vocabulary)


class _Words:
    """Bags of SIFT words."""

    photo_factor = 1

    def __init__(self, name: str, pyramid: str | Sequence[tuple[int, int]]) -> None:
        from tagloom.features.words.sift import DenseSift

        self.name, self.pyramid = name, pyramid
        self.local: LocalDescriptor = DenseSift(name.partition("-")[2] or "sift")

    def load(self, path: Path) -> Any:
        from tagloom.features.words.vocabulary import VisualVocabulary

        return VisualVocabulary.load(path)

    def learn(self, samples: NDArray[np.float32], n_words: int, seed: int, training: Mapping[str, Any]) -> Any:
        from tagloom.features.words.vocabulary import learn_vocabulary

        return learn_vocabulary(samples, n_words, source=self.local.key, random_state=seed, training=training)

    def descriptor(self, vocabulary: Any) -> Descriptor:
        from tagloom.features.words.words import WordsDescriptor

        return WordsDescriptor(vocabulary, local=self.local, pyramid=self.pyramid, group=self.name)


class _Blobs:
    """Region words."""

    photo_factor = 4

    def __init__(self, pyramid: str | Sequence[tuple[int, int]]) -> None:
        from tagloom.features.words.blobs import RegionSampler

        if pyramid != "none":
            raise InvalidInputError(f"blobs are counted in the whole picture, got pyramid={pyramid!r}; leave it out")
        self.local: LocalDescriptor = RegionSampler()

    def load(self, path: Path) -> Any:
        from tagloom.features.words.blobs import RegionVocabulary

        return RegionVocabulary.load(path)

    def learn(self, samples: NDArray[np.float32], n_words: int, seed: int, training: Mapping[str, Any]) -> Any:
        from tagloom.features.words.blobs import learn_blobs

        return learn_blobs(samples, n_words, source=self.local.key, random_state=seed, training=training)

    def descriptor(self, vocabulary: Any) -> Descriptor:
        from tagloom.features.words.blobs import BlobsDescriptor

        return BlobsDescriptor(vocabulary)
