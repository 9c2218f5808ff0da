"""Pixels that are in memory already, such as the frame of a video, as a decoded photo."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from tagloom.core import PhotoRecord, Verdict
from tagloom.exceptions import InvalidInputError
from tagloom.images.photos import DecodedPhoto
from tagloom.images.renditions import Rendition

__all__ = ["photo_from_pixels"]


def photo_from_pixels(
    pixels: NDArray[np.uint8], renditions: Iterable[Rendition], *, path: bytes = b"", exif: bytes = b""
) -> DecodedPhoto:
    """Bring pixels to the renditions that descriptors ask for: to a descriptor, a key frame is just another photo.

    Parameters
    ----------
    pixels : uint8 array of shape (height, width, 3)
        RGB, upright.
    renditions : iterable of Rendition
        What to make, such as ``descriptor.renditions``.
    path : bytes, default=b""
        A name for the photo's record.
    exif : bytes, default=b""
        An EXIF block, where there is one.

    Returns
    -------
    DecodedPhoto
        With the pixels that decoding a lossless file of this picture would give.

    Examples
    --------
    >>> import numpy as np
    >>> from tagloom.features import get_descriptor
    >>> descriptor = get_descriptor("edges")
    >>> frame = np.zeros((480, 640, 3), dtype=np.uint8)
    >>> descriptor.compute([photo_from_pixels(frame, descriptor.renditions)]).shape
    (1, 73)
    """
    from PIL import Image  # decoding of files happens in other processes: this is the only one that needs it here

    from tagloom.images.colour import shrink_to_rgb
    from tagloom.images.decoding import render

    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.size == 0:
        raise InvalidInputError(
            f"expected 8-bit RGB pixels of shape (height, width, 3), got {pixels.dtype} of shape {pixels.shape}"
        )
    height, width = pixels.shape[:2]
    picture = shrink_to_rgb(Image.fromarray(pixels))
    made = {one.name: np.asarray(render(picture, one, width, height)) for one in renditions}
    return DecodedPhoto(PhotoRecord(path, Verdict.OK, width=width, height=height), made, exif=exif)
