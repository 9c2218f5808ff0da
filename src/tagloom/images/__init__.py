"""Photos in: finding them, decoding them safely in worker processes, thumbnails and raw EXIF.

Public names load lazily: the decode worker imports modules of this package and must stay free of numerical libraries.
"""

from typing import TYPE_CHECKING

from tagloom.core.lazy import lazy_names

if TYPE_CHECKING:
    from tagloom.images.finder import FoundPhotos, find_photos
    from tagloom.images.frames import photo_from_pixels
    from tagloom.images.photos import DecodedPhoto
    from tagloom.images.pool import DecodePool
    from tagloom.images.renditions import Rendition

__all__ = ["DecodePool", "DecodedPhoto", "FoundPhotos", "Rendition", "find_photos", "photo_from_pixels"]

_HOMES = {
    "DecodePool": "tagloom.images.pool",
    "DecodedPhoto": "tagloom.images.photos",
    "FoundPhotos": "tagloom.images.finder",
    "Rendition": "tagloom.images.renditions",
    "find_photos": "tagloom.images.finder",
    "photo_from_pixels": "tagloom.images.frames",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
