"""Arrays that can be made again, kept so that they need not be: what they are called says what they are of."""

import contextlib
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from tagloom.exceptions import DamagedStoreError
from tagloom.store.folder import ARRAY_SUFFIX, ProjectFolder, is_array_name
from tagloom.store.layout import KEPT

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["KeptArrays"]


class KeptArrays:
    """Files of arrays that no register knows. Who reads one checks that it is what is wanted.

    Parameters
    ----------
    files : ProjectFolder
        The project's folder.
    """

    def __init__(self, files: ProjectFolder) -> None:
        self._files = files

    def save(self, key: str, arrays: "Mapping[str, ArrayLike]") -> None:
        """Keep arrays under a key of 32 hexadecimal digits, unless some are."""
        from tagloom.store.arrays import pack_arrays

        if not self._files.has(KEPT, key + ARRAY_SUFFIX):
            self._files.make(KEPT)
            self._files.write(pack_arrays(arrays), KEPT, key + ARRAY_SUFFIX)

    def load(self, key: str) -> "dict[str, NDArray[Any]] | None":
        """Return arrays, memory maps that nobody can write to; None where there are none."""
        from tagloom.store.arrays import mapped_arrays

        try:
            return mapped_arrays(self._files, KEPT, key + ARRAY_SUFFIX)
        except (OSError, DamagedStoreError):
            return None

    def keep_only(self, keys: Collection[str]) -> None:
        """Remove all but some; the caller holds the project's lock."""
        for name in self._files.files(KEPT):
            if is_array_name(name) and name.removesuffix(ARRAY_SUFFIX) not in keys:
                with contextlib.suppress(OSError):  # another process reads it
                    self._files.remove(KEPT, name)
