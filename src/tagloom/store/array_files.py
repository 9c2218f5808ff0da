"""What the register knows of a file of arrays. Apart from those who read and write such files, which need numpy."""

from dataclasses import dataclass

__all__ = ["ArrayFile"]


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A written file: name without folder, size and checksum."""

    file: str
    n_bytes: int
    checksum: str
