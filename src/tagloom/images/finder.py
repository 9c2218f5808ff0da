"""Finding photo files under a folder, by name alone: nothing is opened."""

import heapq
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tagloom.core.photos import PhotoRecord, Verdict
from tagloom.exceptions import PhotosError

__all__ = ["PHOTO_EXTENSIONS", "FoundPhotos", "find_photos"]

PHOTO_EXTENSIONS = frozenset(
    {b".jpg", b".jpeg", b".jpe", b".jfif", b".mpo", b".png", b".apng", b".webp", b".gif", b".bmp", b".dib"}
    | {b".tif", b".tiff", b".ppm", b".pgm", b".pbm", b".pnm", b".jp2", b".j2k", b".avif"}
    | {b".heic", b".heif", b".hif"}
)

Identity = tuple[int, int] | bytes


@dataclass(frozen=True, slots=True)
class FoundPhotos:
    """Photo files below one folder.

    Parameters
    ----------
    root : bytes
        The folder, absolute.
    photos : list of bytes
        Names relative to the root, sorted by their bytes.
    problems : list of PhotoRecord
        Folders that could not be searched, and links to folders that were searched already; paths relative to the
        root, sorted.
    others : list of bytes
        Files with one of the other extensions that were asked for, as ``photos``.
    """

    root: bytes
    photos: list[bytes]
    problems: list[PhotoRecord]
    others: list[bytes] = field(default_factory=list)

    @property
    def paths(self) -> list[bytes]:
        """The photos' absolute names, in the same order."""
        return [os.path.join(self.root, photo) for photo in self.photos]

    def __len__(self) -> int:
        return len(self.photos)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.photos)


def find_photos(
    root: str | bytes | os.PathLike[str], *, follow_symlinks: bool = True, others: Collection[bytes] = ()
) -> FoundPhotos:
    """List the photo files under a folder.

    A photo is what has a photo's extension, in any case: also a broken link or a named pipe, which get their verdict
    when they are decoded. Names that begin with a dot are left out, files and folders. A folder that several links
    lead to is searched once, under its own name if that lies below the root.

    Parameters
    ----------
    root : path
        The folder.
    follow_symlinks : bool, default=True
        Whether links are followed; otherwise they are left out.
    others : collection of bytes
        Further extensions, in small letters, whose files are listed apart.

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
    search = _Search(folder, follow_symlinks, frozenset(others))
    search.run()
    problems = sorted(search.problems, key=lambda record: record.path)
    return FoundPhotos(folder, sorted(search.photos), problems, sorted(search.others))


class _Search:
    """One walk: real folders first, links to folders last, so that a folder's own name wins over a link's."""

    def __init__(self, root: bytes, follow_symlinks: bool, other_extensions: frozenset[bytes]) -> None:
        self.root = root
        self.follow_symlinks = follow_symlinks
        self.other_extensions = other_extensions
        self.photos: list[bytes] = []
        self.others: list[bytes] = []
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
                if _is_folder(entry):
                    if entry.is_symlink():
                        heapq.heappush(self._links, name)
                    else:
                        stack.append((name, False))
                elif (extension := os.path.splitext(entry.name)[1].lower()) in PHOTO_EXTENSIONS:
                    self.photos.append(name)
                elif extension in self.other_extensions:
                    self.others.append(name)

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
