"""Photos in: finding them, decoding them safely in worker processes, thumbnails and raw EXIF.

Public names load lazily: the decode worker imports modules of this package and must stay free of numerical libraries.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagloom.images.finder import FoundPhotos, find_photos
    from tagloom.images.photos import DecodedPhoto
    from tagloom.images.pool import DecodePool
    from tagloom.images.renditions import Rendition

__all__ = ["DecodePool", "DecodedPhoto", "FoundPhotos", "Rendition", "find_photos"]

_HOMES = {
    "DecodePool": "tagloom.images.pool",
    "DecodedPhoto": "tagloom.images.photos",
    "FoundPhotos": "tagloom.images.finder",
    "Rendition": "tagloom.images.renditions",
    "find_photos": "tagloom.images.finder",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'tagloom.images' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return list(__all__)
