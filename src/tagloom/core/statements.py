"""What a source says about a photo's keywords, and what an exporter is given to write.

Both are plain data: `tagloom.metadata` makes and takes them, `tagloom.store` keeps what they say, and neither needs the
other.
"""

from dataclasses import dataclass

from tagloom.core.keywords import Keyword

__all__ = ["PhotoKeywords", "Statement"]


@dataclass(frozen=True, slots=True)
class Statement:
    """One source says something about one photo.

    A statement without any keyword says that the photo was looked at and has none of the source's keywords. What it
    means that a keyword is not named is decided by whoever takes the statement (``absent_means``).

    Parameters
    ----------
    photo : bytes
        The photo's path relative to the photo folder, with ``/`` between its parts.
    yes : tuple of Keyword
        The keywords it has.
    no : tuple of Keyword
        The keywords it has not, where the source says so.
    unknown : tuple of Keyword
        The keywords that the source leaves open by name, so that ``absent_means="no"`` does not reach them.
    """

    photo: bytes
    yes: tuple[Keyword, ...]
    no: tuple[Keyword, ...] = ()
    unknown: tuple[Keyword, ...] = ()


@dataclass(frozen=True, slots=True)
class PhotoKeywords:
    """One photo and the keywords to write for it.

    Parameters
    ----------
    photo : bytes
        The photo's path relative to the photo folder, with ``/`` between its parts.
    width, height : int
        Pixels after orientation; 0 where not known.
    accepted : tuple of Keyword
        A person said that the photo has them.
    suggested : tuple of (Keyword, float)
        Keywords above the threshold that nobody has confirmed, each with its probability or score.
    rejected : tuple of Keyword
        A person said that the photo has them not.
    """

    photo: bytes
    width: int
    height: int
    accepted: tuple[Keyword, ...]
    suggested: tuple[tuple[Keyword, float], ...]
    rejected: tuple[Keyword, ...] = ()
