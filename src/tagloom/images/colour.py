"""Any of Pillow's pixel modes to 8-bit RGB on a white ground, shrinking large photos on the way."""

import math

from PIL import Image, ImageCms

from tagloom.core import Verdict
from tagloom.images.renditions import WORKING_SIDE
from tagloom.images.verdicts import Refused

__all__ = ["reduction", "shrink_to_rgb"]

STRIP_PIXELS = 1 << 22
LARGEST_16_BIT = 65_535

Levels = tuple[float, float]


def reduction(width: int, height: int, working_side: int = WORKING_SIDE) -> int:
    """Return the largest power of two by which the shorter side can be divided and stay at least ``working_side``.

    Parameters
    ----------
    width, height, working_side : int
        Pixels.
    """
    factor = 1
    while min(width, height) // (2 * factor) >= working_side:
        factor *= 2
    return factor


def shrink_to_rgb(image: Image.Image, working_side: int = WORKING_SIDE) -> Image.Image:
    """Return an RGB image, shrunk by `reduction` (mean of the pixels of each block).

    Large images are converted in strips, so that no second copy of a giant is ever held.

    Parameters
    ----------
    image : PIL image
        Loaded, of any mode.
    working_side : int
        See `reduction`.
    """
    width, height = image.size
    factor = reduction(width, height, working_side)
    levels = _levels(image)
    if factor == 1:
        return _to_rgb(image, levels)
    shrunk = Image.new("RGB", (-(-width // factor), -(-height // factor)))
    rows = max(1, STRIP_PIXELS // (width * factor)) * factor
    for top in range(0, height, rows):
        strip = image.crop((0, top, width, min(top + rows, height)))
        shrunk.paste(_to_rgb(strip, levels).reduce(factor), (0, top // factor))
    return shrunk


def _levels(image: Image.Image) -> Levels | None:
    """Return (scale, offset) that bring wide grey values to 0 … 255, or None for modes that are 8-bit already.

    16-bit values are divided by 257. Wider integers and floating-point values have no fixed white: 0 … 65535 and
    0 … 1 are taken as such, anything else is stretched from its smallest to its largest value.
    """
    if image.mode.startswith("I;16"):
        return 255 / LARGEST_16_BIT, 0.0
    if image.mode not in ("I", "F"):
        return None
    low, high = (float(value) for value in image.getextrema())  # type: ignore[arg-type]
    if not (math.isfinite(low) and math.isfinite(high)):
        raise Refused(Verdict.DAMAGED, "the pixels hold values that are not numbers")
    white = LARGEST_16_BIT if image.mode == "I" else 1
    if low >= 0 and high <= white:
        return 255 / white, 0.0
    scale = 255 / (high - low) if high > low else 0.0
    return scale, -low * scale


def _to_rgb(image: Image.Image, levels: Levels | None) -> Image.Image:
    if levels is not None:
        scale, offset = levels
        wide = image.convert("I").convert("F") if image.mode.startswith("I;16") else image.convert("F")
        # Conversion to bytes cuts the fraction off: half a step makes it rounding.
        return wide.point(lambda value: value * scale + (offset + 0.5)).convert("L").convert("RGB")
    if image.has_transparency_data:
        layer = image.convert("LA" if image.mode == "La" else "RGBA").convert("RGBA")
        ground = Image.new("RGBA", layer.size, (255, 255, 255, 255))
        return Image.alpha_composite(ground, layer).convert("RGB")
    if image.mode == "RGB":
        return image
    if image.mode == "LAB":
        return _lab_to_rgb(image)
    return image.convert("RGB")


def _lab_to_rgb(image: Image.Image) -> Image.Image:
    transform = ImageCms.buildTransform(ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB"), "LAB", "RGB")
    converted = ImageCms.applyTransform(image, transform)
    if converted is None:
        raise Refused(Verdict.DAMAGED, "the colours could not be converted")
    return converted
