"""The outcomes of reading a file; nothing else is imported here, so that a decode worker can use it."""

import enum

__all__ = ["MOTION_PHOTO", "PARTS", "Verdict"]


class Verdict(enum.StrEnum):
    """The one recorded outcome of reading a file."""

    OK = "ok"
    EMPTY = "empty"
    NOT_REGULAR = "not_regular"
    MISSING = "missing"
    NO_PERMISSION = "no_permission"
    UNREADABLE = "unreadable"
    NOT_AN_IMAGE = "not_an_image"
    RAW_OF_PHOTO = "raw_of_photo"
    CLIP_OF_PHOTO = "clip_of_photo"
    DAMAGED = "damaged"
    TOO_LARGE = "too_large"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    QUARANTINED = "quarantined"
    CHANGED = "changed"


PARTS = frozenset({Verdict.RAW_OF_PHOTO, Verdict.CLIP_OF_PHOTO})
"""Files that belong to the photo of their name, which is the item: its RAW file, the video of a Live Photo."""

MOTION_PHOTO = "a Motion Photo"
"""What the detail of a photo that was read begins with if a video is inside its file."""
