"""What size and shape of pixels a descriptor wants."""

from dataclasses import dataclass
from typing import Literal

from tagloom.exceptions import InvalidInputError

__all__ = ["REDUCING_GAP", "WORKING_SIDE", "Rendition"]

WORKING_SIDE = 720
"""The shorter side down to which a large photo may be shrunk while it is decoded.

It depends on nothing but the photo's size, so that the pixels of one rendition never depend on which others are made.
With 720 a 12-megapixel photo (4032 × 3024) is decoded at a quarter of its width, and renditions up to 360 pixels are
resized from at least twice their size.
"""

REDUCING_GAP = 1.5
"""A photo is first shrunk by whole numbers, as the mean of each block of pixels, to no less than this many times the
size of a rendition, and then resized. That costs less than resizing at once; pixels of large photos differ slightly.
"""

KINDS = ("square", "squash", "fit", "shorter")
STEP = 32
"""Both sides of a "shorter" rendition are multiples of this, the stride of common convolutional networks: whole photos
then come in few shapes, and none is padded unevenly inside the network.
"""
LONGEST = 2
"""Of a photo whose longer side is more than this many times the shorter one, a "shorter" rendition has the centre."""
FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")


@dataclass(frozen=True, slots=True)
class Rendition:
    """One way to bring a photo to a size.

    Parameters
    ----------
    name : str
        The key of the pixels in ``DecodedPhoto.pixels``.
    kind : {"square", "squash", "fit", "shorter"}
        "square": the shorter side is resized to ``size`` (up or down) and the centre ``size`` × ``size`` kept.
        "squash": both sides are resized to ``size``, whatever the proportions.
        "fit": the longer side is at most ``size``; a smaller photo keeps its size.
        "shorter": the shorter side is resized to ``size`` (up or down) and the longer one to the multiple of 32 nearest
        to its proportion (the smaller of two), so that proportions change by at most ``16 / size``; where the longer
        side is more than twice the shorter one, its ends are cut off and ``2 * size`` pixels of it kept.
    size : int
        Pixels, at most `WORKING_SIDE`; for "shorter" a multiple of 32.
    filter : {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}, default="bicubic"
        How pixels are weighted; all but "nearest" average over the area a pixel comes from.

    Examples
    --------
    >>> Rendition("network", "square", 224)
    Rendition(name='network', kind='square', size=224, filter='bicubic')
    """

    name: str
    kind: Literal["square", "squash", "fit", "shorter"]
    size: int
    filter: str = "bicubic"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError(f"a rendition's name must be a text that is not empty, got {self.name!r}")
        if self.kind not in KINDS:
            raise InvalidInputError(f"a rendition's kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        check_side(self.size, what=f"the size of rendition {self.name!r}")
        if self.kind == "shorter" and self.size % STEP:
            raise InvalidInputError(
                f"the size of rendition {self.name!r}, whose kind is 'shorter', must be a multiple of {STEP}, "
                f"got {self.size}"
            )
        if self.filter not in FILTERS:
            raise InvalidInputError(f"a rendition's filter must be one of {', '.join(FILTERS)}, got {self.filter!r}")

    @property
    def bounds(self) -> tuple[int, int]:
        """The most pixels the longer and the shorter side of this rendition of any photo can have."""
        return (LONGEST if self.kind == "shorter" else 1) * self.size, self.size

    def target(self, width: int, height: int) -> tuple[int, int]:
        """Return the width and height of this rendition of a photo.

        Parameters
        ----------
        width, height : int
            The photo's size after orientation.
        """
        if self.kind in ("square", "squash"):
            return self.size, self.size
        longer = max(width, height)
        if self.kind == "shorter":
            length = self._length(min(width, height), longer)
            return (length, self.size) if width == longer else (self.size, length)
        return fitting(width, height, self.size)

    def _length(self, shorter: int, longer: int) -> int:
        """Return the longer side of a "shorter" rendition."""
        # In whole numbers, with a tie going down: 3:2, the most common of all proportions, is one at 224 pixels.
        twice, step = 2 * min(longer, LONGEST * shorter) * self.size, STEP * shorter
        return -((step - twice) // (2 * step)) * STEP


def fitting(width: int, height: int, size: int) -> tuple[int, int]:
    """Return width and height of a photo whose longer side is to be at most ``size``."""
    longer = max(width, height)
    if longer <= size:
        return width, height
    return max(1, round(width * size / longer)), max(1, round(height * size / longer))


def check_side(size: object, *, what: str, most: int = WORKING_SIDE) -> None:
    """Refuse a size that is not a whole number from 1 to `WORKING_SIDE`, or to another most."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= most:
        raise InvalidInputError(
            f"{what} must be a whole number from 1 to {most} pixels (larger photos are decoded at "
            f"reduced size), got {size!r}"
        )
