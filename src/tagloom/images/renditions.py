"""What size and shape of pixels a descriptor wants."""

from dataclasses import dataclass
from typing import Literal

from tagloom.exceptions import InvalidInputError

__all__ = ["WORKING_SIDE", "Rendition"]

WORKING_SIDE = 720
"""The shorter side down to which a large photo may be shrunk while it is decoded.

It depends on nothing but the photo's size, so that the pixels of one rendition never depend on which others are made.
With 720 a 12-megapixel photo (4032 × 3024) is decoded at a quarter of its width, and renditions up to 360 pixels are
resized from at least twice their size.
"""

KINDS = ("square", "fit")
FILTERS = ("nearest", "box", "bilinear", "hamming", "bicubic", "lanczos")


@dataclass(frozen=True, slots=True)
class Rendition:
    """One way to bring a photo to a size.

    Parameters
    ----------
    name : str
        The key of the pixels in ``DecodedPhoto.pixels``.
    kind : {"square", "fit"}
        "square": the shorter side is resized to ``size`` (up or down) and the centre ``size`` × ``size`` kept.
        "fit": the longer side is at most ``size``; a smaller photo keeps its size.
    size : int
        Pixels, at most `WORKING_SIDE`.
    filter : {"nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"}, default="bicubic"
        How pixels are weighted; all but "nearest" average over the area a pixel comes from.

    Examples
    --------
    >>> Rendition("network", "square", 224)
    Rendition(name='network', kind='square', size=224, filter='bicubic')
    """

    name: str
    kind: Literal["square", "fit"]
    size: int
    filter: str = "bicubic"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidInputError(f"a rendition's name must be a text that is not empty, got {self.name!r}")
        if self.kind not in KINDS:
            raise InvalidInputError(f"a rendition's kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        check_side(self.size, what=f"the size of rendition {self.name!r}")
        if self.filter not in FILTERS:
            raise InvalidInputError(f"a rendition's filter must be one of {', '.join(FILTERS)}, got {self.filter!r}")

    def target(self, width: int, height: int) -> tuple[int, int]:
        """Return the width and height of this rendition of a photo.

        Parameters
        ----------
        width, height : int
            The photo's size after orientation.
        """
        if self.kind == "square":
            return self.size, self.size
        longer = max(width, height)
        if longer <= self.size:
            return width, height
        return max(1, round(width * self.size / longer)), max(1, round(height * self.size / longer))


def check_side(size: object, *, what: str) -> None:
    """Refuse a size that is not a whole number from 1 to `WORKING_SIDE`."""
    if not isinstance(size, int) or isinstance(size, bool) or not 1 <= size <= WORKING_SIDE:
        raise InvalidInputError(
            f"{what} must be a whole number from 1 to {WORKING_SIDE} pixels (larger photos are decoded at "
            f"reduced size), got {size!r}"
        )
