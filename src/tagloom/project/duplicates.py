"""The verb behind ``tagloom duplicates``: which photos show the same picture. Nothing is changed."""

from dataclasses import dataclass, replace

import numpy as np

from tagloom.catalog import Result, deep_vectors, load_photos, load_rows
from tagloom.core import NO_PROGRESS, Progress
from tagloom.exceptions import InvalidInputError
from tagloom.features.relations import N_BITS, near_duplicates
from tagloom.settings import Settings
from tagloom.store import ProjectStore

__all__ = ["DEFAULT_THRESHOLD", "DuplicatePhoto", "DuplicatesResult", "duplicates"]

DEFAULT_THRESHOLD = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatePhoto:
    """A photo of a group of near-duplicates.

    Parameters
    ----------
    photo : bytes
        Its path below the folder of photos.
    id : int
        Its id.
    width, height : int
        Pixels.
    bits : int
        Bits in which its fingerprint differs from that of the group's first photo.
    identical : bool
        Whether its file has the same content as that of the group's first photo.
    """

    photo: bytes
    id: int
    width: int
    height: int
    bits: int
    identical: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DuplicatesResult(Result):
    """Groups of near-duplicates.

    Parameters
    ----------
    groups : tuple of tuple of DuplicatePhoto
        In the order of their first photos' paths; the photo with the most pixels first in each.
    threshold : int
        Bits in which two near-duplicates may differ.
    n_photos : int
        Photos that were compared.
    n_without : int
        Readable photos without a fingerprint: their folder cannot be reached.
    deep : bool
        Whether the deep features had to agree, too.
    """

    groups: tuple[tuple[DuplicatePhoto, ...], ...]
    threshold: int
    n_photos: int
    n_without: int
    deep: bool


def duplicates(
    store: ProjectStore, settings: Settings, *, threshold: int = DEFAULT_THRESHOLD, progress: Progress = NO_PROGRESS
) -> DuplicatesResult:
    """Group the photos of a project that show the same picture.

    Parameters
    ----------
    store : ProjectStore
        The project; its lock is taken while fingerprints are computed.
    settings : Settings
        Limits of decoding.
    threshold : int, default=6
        Bits of 64 in which the fingerprints of two near-duplicates may differ.
    progress : Progress, optional
        Told about every photo that has to be read.

    Raises
    ------
    InvalidInputError
        If the threshold is not between 0 and 64.
    PhotosError
        If there is no photo to compare.
    """
    if not 0 <= threshold <= N_BITS:
        raise InvalidInputError(f"threshold must lie between 0 and {N_BITS} bits, got {threshold}")
    with store.lock(), store.cache() as cache:
        prints = load_rows(store, cache, replace(settings, descriptors=("phash",), encoder=None), progress=progress)
        photos = load_photos(store)
        vectors = deep_vectors(cache, photos, store)
    rows = photos.known(prints.ids)[1]
    # Photos without deep features have rows of zeros: then the fingerprints alone have to do, for all.
    deep = None if vectors is None or not vectors[rows].any(axis=1).all() else vectors[rows]
    progress.start("comparing photos", None)
    labels = near_duplicates(prints.X, deep, max_bits=threshold).labels
    progress.finish()
    bits = prints.X > 0.5
    members: dict[int, list[int]] = {}
    for place in np.flatnonzero(labels >= 0).tolist():
        members.setdefault(int(labels[place]), []).append(place)
    groups = []
    for places in members.values():
        n_pixels = photos.sizes[rows[places]].prod(axis=1)
        order = sorted(range(len(places)), key=lambda one: (-n_pixels[one], photos.paths[rows[places[one]]]))
        first = places[order[0]]
        groups.append(
            tuple(
                DuplicatePhoto(
                    photo=photos.paths[rows[place]],
                    id=int(prints.ids[place]),
                    width=int(photos.sizes[rows[place], 0]),
                    height=int(photos.sizes[rows[place], 1]),
                    bits=int((bits[place] != bits[first]).sum()),
                    identical=photos.hashes[rows[place]] == photos.hashes[rows[first]],
                )
                for place in (places[one] for one in order)
            )
        )
    return DuplicatesResult(
        groups=tuple(sorted(groups, key=lambda group: group[0].photo)),
        threshold=threshold,
        n_photos=len(prints.ids),
        n_without=prints.n_without,
        deep=deep is not None,
    )
