"""What a descriptor is: photos in, named feature columns out, and a key that changes whenever the columns would."""

import functools
import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from tagloom.exceptions import InvalidInputError
from tagloom.images import DecodedPhoto, Rendition
from tagloom.images.renditions import REDUCING_GAP

__all__ = ["BaseDescriptor", "Descriptor", "PictureDescriptor", "PixelDescriptor"]


@runtime_checkable
class Descriptor(Protocol):
    """Protocol of a descriptor: any object with these attributes works."""

    @property
    def name(self) -> str:
        """The name in the registry."""

    @property
    def version(self) -> int:
        """Raised whenever the same parameters would give other numbers than before."""

    @property
    def outputs(self) -> Mapping[str, int]:
        """Feature groups and their number of columns, in the order of the columns."""

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The picture sizes that `compute` reads from ``photo.pixels``."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Everything the numbers depend on, JSON-able."""

    @property
    def key(self) -> str:
        """Name, version and a digest of the parameters; feature rows are cached under it."""

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one float32 row per photo, ``sum(outputs.values())`` columns."""


class BaseDescriptor(ABC):
    """Base class of descriptors that see whole decoded photos.

    Attributes
    ----------
    name : str
        The name in the registry.
    version : int
        Raised whenever the same parameters would give other numbers than before.
    thread_safe : bool
        Whether `compute` may run in several threads at once; False unless a subclass says so.
    is_embedding : bool
        Whether its groups are a network's embedding of the whole photo, which learners trust most; False unless a
        subclass says so.
    of_clips : {"mean", "max", "whole"}
        The row of a video: mean or largest value of the rows of its key frames, or ``whole``: the row that `compute`
        makes of the video itself, that is of its poster, its time and its sound.
    """

    name: str
    version: int = 1
    thread_safe: bool = False
    is_embedding: bool = False
    of_clips: Literal["mean", "max", "whole"] = "mean"

    @property
    @abstractmethod
    def outputs(self) -> Mapping[str, int]:
        """Feature groups and their number of columns, in the order of the columns."""

    @property
    @abstractmethod
    def renditions(self) -> tuple[Rendition, ...]:
        """The picture sizes that `compute` reads."""

    @property
    @abstractmethod
    def parameters(self) -> Mapping[str, Any]:
        """Everything the numbers depend on, JSON-able."""

    @abstractmethod
    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one float32 row per photo."""

    @property
    def key(self) -> str:
        """Name, version and a digest of parameters and renditions."""
        renditions = [[r.name, r.kind, r.size, r.filter, REDUCING_GAP] for r in self.renditions]
        text = json.dumps([dict(self.parameters), renditions], sort_keys=True, separators=(",", ":"))
        return f"{self.name}-v{self.version}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    @property
    def n_columns(self) -> int:
        """Total number of columns."""
        return sum(self.outputs.values())

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what was worked out, an open network above all: the copy in another process opens its own."""
        kind = type(self)
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), functools.cached_property)
        }

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={value!r}" for name, value in self.parameters.items())
        return f"{type(self).__name__}({inside})"


class PixelDescriptor(BaseDescriptor):
    """Base class of descriptors that see one rendition of one photo.

    `describe` runs in several threads at once: it must not change the descriptor. One that does sets
    ``thread_safe = False``.
    """

    thread_safe = True

    @abstractmethod
    def describe(self, pixels: NDArray[np.uint8]) -> NDArray[np.floating[Any]]:
        """Return the row of one photo.

        Parameters
        ----------
        pixels : uint8 array of shape (height, width, 3)
            RGB, at least one pixel.
        """

    def compute(self, photos: Sequence[DecodedPhoto]) -> NDArray[np.float32]:
        """Return one float32 row per photo."""
        (rendition,) = self.renditions
        rows = np.empty((len(photos), self.n_columns), dtype=np.float32)
        for row, photo in zip(rows, photos, strict=True):
            row[:] = self.describe(_check_pixels(photo.pixels[rendition.name]))
        return rows


class PictureDescriptor(PixelDescriptor):
    """Base class of descriptors that see the whole photo at a moderate size.

    They share the picture, so that a photo is resized once for all of them.

    Parameters
    ----------
    size : int, default=256
        Longer side of the picture; smaller photos are not enlarged.

    Attributes
    ----------
    groups : mapping of str to int
        Feature groups and their number of columns.
    """

    groups: ClassVar[Mapping[str, int]]

    def __init__(self, *, size: int = 256) -> None:
        self.size = size

    @property
    def outputs(self) -> Mapping[str, int]:
        """The groups."""
        return self.groups

    @property
    def renditions(self) -> tuple[Rendition, ...]:
        """The whole photo, longer side at most ``size``."""
        return (Rendition(f"fit-{self.size}", "fit", self.size),)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The picture's size."""
        return {"size": self.size}


def _check_pixels(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise InvalidInputError(
            f"expected 8-bit RGB pixels of shape (height, width, 3), got {pixels.dtype} of shape {pixels.shape}"
        )
    return pixels
