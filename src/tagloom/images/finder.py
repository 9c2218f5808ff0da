"""Finding photo files under a folder, by name alone: nothing is opened."""

import heapq
import importlib.util
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from tagloom.core import (
    PHOTO_EXTENSIONS,
    RAW_EXTENSIONS,
    SIDECAR_EXTENSIONS,
    VIDEO_EXTENSIONS,
    PhotoRecord,
    Verdict,
    is_pair_photo,
    is_video,
    pair_key,
    skipped_kinds,
    split_raw_of_photos,
)
from tagloom.exceptions import PhotosError

__all__ = ["FoundPhotos", "find_photos", "reads_videos"]

_READ = PHOTO_EXTENSIONS | RAW_EXTENSIONS
_find_package = importlib.util.find_spec
Identity = tuple[int, int] | bytes


@dataclass(frozen=True, slots=True)
class FoundPhotos:
    """Photo files below one folder.

    Parameters
    ----------
    root : bytes
        The folder, absolute.
    photos : list of bytes
        Names relative to the root, sorted by their bytes. A RAW file without a JPEG or HEIC beside it is a photo.
    problems : list of PhotoRecord
        Folders that could not be searched, and links to folders that were searched already; paths relative to the
        root, sorted.
    raw_of_photos : list of bytes
        RAW files with a JPEG or HEIC of the same name beside them, which is the photo; as ``photos``.
    skipped : dict of str to dict of str to int
        How many other files there are, by what they are ("videos", "JXL", "other files") and by extension. Sidecars are
        not counted.
    clips_of_photos : list of bytes
        Videos with a JPEG or HEIC of the same name beside them, as Live Photos have; as ``photos``. By their names
        alone: `tagloom.images.split_clips` tells which of them were taken with that photo.
    """

    root: bytes
    photos: list[bytes]
    problems: list[PhotoRecord]
    raw_of_photos: list[bytes] = field(default_factory=list)
    skipped: dict[str, dict[str, int]] = field(default_factory=dict)
    clips_of_photos: list[bytes] = field(default_factory=list)

    @property
    def paths(self) -> list[bytes]:
        """The photos' absolute names, in the same order."""
        return [os.path.join(self.root, photo) for photo in self.photos]

    def __len__(self) -> int:
        return len(self.photos)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.photos)


def reads_videos() -> bool:
    """Tell whether videos can be read: whether the extra "video" is installed."""
    return _find_package("av") is not None


def find_photos(
    root: str | bytes | os.PathLike[str],
    *,
    follow_symlinks: bool = True,
    stay_below: bool = False,
    videos: bool | None = None,
) -> FoundPhotos:
    """List the photo files under a folder, and videos where they can be read.

    A photo is what has the extension of a photo or a RAW file, in any case: also a broken link or a named pipe, which
    get their verdict when they are decoded. The RAW file of a RAW+JPEG pair is listed apart. Names that begin with a
    dot are left out, files and folders. A folder that several links lead to is searched once, under its own name if
    that lies below the root.

    Parameters
    ----------
    root : path
        The folder.
    follow_symlinks : bool, default=True
        Whether links are followed; otherwise they are left out.
    stay_below : bool, default=False
        Whether links that lead out of the folder are problems, and not followed: in a folder that a stranger made.
    videos : bool, optional
        Whether videos are listed as photos are; default: where they can be read (`reads_videos`).

    Returns
    -------
    FoundPhotos
        Sorted, so that the same tree always gives the same list.

    Raises
    ------
    PhotosError
        If the folder itself does not exist or cannot be read. Nothing below it raises.
    """
    folder = os.path.abspath(os.fsencode(root))
    try:
        os.scandir(folder).close()
    except OSError as error:
        raise PhotosError(
            f"expected a folder of photos, but {os.fsdecode(folder)!r} cannot be read: {error.strerror or error}"
        ) from error
    border = os.path.join(os.path.realpath(folder), b"") if stay_below else b""
    search = _Search(folder, follow_symlinks, border, _READ | VIDEO_EXTENSIONS if _wanted(videos) else _READ)
    search.run()
    problems = sorted(search.problems, key=lambda record: record.path)
    photos, raw_of_photos = split_raw_of_photos(sorted(search.photos))
    photos, clips_of_photos = _split_clips_of_photos(photos)
    return FoundPhotos(folder, photos, problems, raw_of_photos, skipped_kinds(search.skipped), clips_of_photos)


def _wanted(videos: bool | None) -> bool:
    return reads_videos() if videos is None else videos


def _split_clips_of_photos(names: list[bytes]) -> tuple[list[bytes], list[bytes]]:
    """Return all else, and videos with a JPEG or HEIC of the same name beside them."""
    clips = [name for name in names if is_video(name)]
    if not clips:
        return names, []
    keys = {pair_key(name) for name in names if is_pair_photo(name)}
    paired = {name for name in clips if pair_key(name) in keys}
    return [name for name in names if name not in paired], [name for name in clips if name in paired]


class _Search:
    """One walk: real folders first, links to folders last, so that a folder's own name wins over a link's."""

    def __init__(self, root: bytes, follow_symlinks: bool, border: bytes, read: frozenset[bytes]) -> None:
        self.root = root
        self.read = read
        self.follow_symlinks = follow_symlinks
        self._border = border
        self.photos: list[bytes] = []
        self.skipped: Counter[bytes] = Counter()
        self.problems: list[PhotoRecord] = []
        self._searched: set[Identity] = set()
        self._links: list[bytes] = []

    def run(self) -> None:
        self._descend(b"")
        while self._links:
            # The smallest name first: which link wins must not depend on the order of the file system.
            self._descend(heapq.heappop(self._links), is_link=True)

    def _descend(self, top: bytes, *, is_link: bool = False) -> None:
        """Search a folder and all real folders below it."""
        stack = [(top, is_link)]
        while stack:
            folder, through_link = stack.pop()
            try:
                identity = self._identity(folder)
                if identity in self._searched:
                    if through_link:
                        self._report(folder, Verdict.NOT_REGULAR, "a link to a folder that is searched already")
                    continue
                self._searched.add(identity)
                self._scan(folder, stack)
            except PermissionError:
                self._report(folder, Verdict.NO_PERMISSION, "no permission to search this folder")
            except OSError as error:
                detail = f"this folder could not be searched: {error.strerror or error}"
                self._report(folder, Verdict.UNREADABLE, detail)

    def _scan(self, folder: bytes, stack: list[tuple[bytes, bool]]) -> None:
        """List one folder: photos are kept, links kept for later, its real folders put on the stack."""
        with os.scandir(os.path.join(self.root, folder)) as entries:
            for entry in entries:
                if entry.name.startswith(b".") or (not self.follow_symlinks and entry.is_symlink()):
                    continue
                name = os.path.join(folder, entry.name)
                if self._border and entry.is_symlink() and self._leads_out(name):
                    self._report(name, Verdict.NOT_REGULAR, "a link out of the folder; to follow it: tagloom trust")
                elif _is_folder(entry):
                    if entry.is_symlink():
                        heapq.heappush(self._links, name)
                    else:
                        stack.append((name, False))
                elif (extension := os.path.splitext(entry.name)[1].lower()) in self.read:
                    self.photos.append(name)
                elif extension not in SIDECAR_EXTENSIONS:
                    self.skipped[extension] += 1

    def _leads_out(self, name: bytes) -> bool:
        """Tell whether a link leads to what is there and does not lie below the root."""
        place = os.path.realpath(os.path.join(self.root, name))
        return os.path.lexists(place) and not os.path.join(place, b"").startswith(self._border)

    def _identity(self, folder: bytes) -> Identity:
        path = os.path.join(self.root, folder)
        status = os.stat(path)
        # Some file systems have no inode numbers; then the resolved name has to do.
        return (status.st_dev, status.st_ino) if status.st_ino else os.path.realpath(path)

    def _report(self, folder: bytes, verdict: Verdict, detail: str) -> None:
        self.problems.append(PhotoRecord(folder or b".", verdict, detail))


def _is_folder(entry: os.DirEntry[bytes]) -> bool:
    """Tell whether an entry is a folder or a link to one; a link that leads nowhere is none."""
    try:
        return entry.is_dir()
    except OSError:
        return False
