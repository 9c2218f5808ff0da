"""What the page plays: a video of the project, or the one that was taken with a photo."""

import os
from dataclasses import dataclass

from tagloom.core import is_pair_photo
from tagloom.images import InnerClip, clip_seconds, read_inner_clip
from tagloom.store import ProjectStore

__all__ = ["Playable", "VideosOfPhotos"]

_MP4 = "video/mp4"


@dataclass(frozen=True, slots=True)
class Playable:
    """A video in a file.

    Parameters
    ----------
    path : bytes
        The file.
    media_type : {"video/mp4", "video/webm"}
        As what it is sent.
    first : int, default=0
        Where it begins.
    size : int, optional
        How many bytes it has; default: all that follow.
    seconds : float, default=0
        Its length; 0 where it is not known.
    """

    path: bytes
    media_type: str
    first: int = 0
    size: int | None = None
    seconds: float = 0.0


class VideosOfPhotos:
    """Finds the video that was taken with a photo: of a Live Photo beside it, of a Motion Photo inside its file.

    Parameters
    ----------
    root : bytes
        The folder of photos.
    """

    def __init__(self, root: bytes) -> None:
        self._root = root
        self._inner: dict[str, InnerClip | None] = {}

    def find(self, store: ProjectStore, path: bytes, content: str) -> Playable | None:
        """Return the video of a photo, None if it has none.

        Parameters
        ----------
        store : ProjectStore
            The project.
        path : bytes
            Of the photo, relative to the root.
        content : str
            Its hash.
        """
        if not is_pair_photo(path):
            return None
        beside = store.photos.clip_of(path)
        if beside is not None:
            file = os.path.join(self._root, beside)
            return Playable(file, _MP4, seconds=clip_seconds(file))
        file = os.path.join(self._root, path)
        if content not in self._inner:
            self._inner[content] = read_inner_clip(file)
        inner = self._inner[content]
        return None if inner is None else Playable(file, _MP4, inner.first, inner.size, inner.seconds)
