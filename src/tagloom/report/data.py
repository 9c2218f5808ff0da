"""What a report shows, as plain data."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tagloom.core import LabelMatrix, is_video, labeled_rows
from tagloom.exceptions import InvalidInputError
from tagloom.learning import top_suggestions

if TYPE_CHECKING:
    from tagloom.learning import ModelEvaluation
    from tagloom.methods.topics import TopicDescription

__all__ = [
    "ReportData",
    "ReportPhoto",
    "TagSummary",
    "UnreadablePhoto",
    "add_thumbnails",
    "make_photos",
    "suggestions_first",
    "summarize_tags",
]

SHOWN_KEYWORDS = 10


@dataclass(frozen=True, slots=True)
class ReportPhoto:
    """A photo that was read.

    Parameters
    ----------
    name : bytes
        Path relative to the photo folder.
    thumbnail : bytes, default=b""
        A WebP, JPEG or PNG picture of a few KB; needed only for the photos that are shown (see `ReportData`).
    given : sequence of str, default=()
        Tags that a person gave it.
    suggestions : sequence of (str, float), default=()
        Suggested tags with scores, the best first.
    labeled : bool, default=False
        Whether a person labelled it; given tags imply it, but a labelled photo may have none.
    """

    name: bytes
    thumbnail: bytes = b""
    given: Sequence[str] = ()
    suggestions: Sequence[tuple[str, float]] = ()
    labeled: bool = False

    @property
    def is_labeled(self) -> bool:
        """Whether a person labelled the photo."""
        return self.labeled or bool(self.given)

    @property
    def is_video(self) -> bool:
        """Whether it is a video."""
        return is_video(self.name)


@dataclass(frozen=True, slots=True)
class UnreadablePhoto:
    """A file that gave no photo.

    Parameters
    ----------
    name : bytes
        Path relative to the photo folder.
    verdict : str
        A `tagloom.core.photos.Verdict`.
    detail : str, default=""
        One sentence for a person.
    """

    name: bytes
    verdict: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class TagSummary:
    """What became of one tag.

    Parameters
    ----------
    tag : str
        Its name.
    n_given, n_suggested : int
        Photos that have it from a person, and photos for which it is suggested.
    mean_score : float or None
        Mean score of the suggestions; None without any.
    """

    tag: str
    n_given: int
    n_suggested: int
    mean_score: float | None


@dataclass(frozen=True, kw_only=True)
class ReportData:
    """All that a report shows.

    Parameters
    ----------
    photos : sequence of ReportPhoto
        Every photo that was read, in the order to show. Counts are over all of them; thumbnails are used of the first
        ``max_photos``, and of those in ``topics``.
    unreadable : sequence of UnreadablePhoto, default=()
        Files that gave no photo.
    title : str, default="Suggested keywords"
        The heading.
    method, features : str, default=""
        What learned, and from what; left out where empty.
    n_learned : int or None, default=None
        Labelled photos that were learnt from. Default: all of ``photos`` that are labelled.
    seconds : float or None, default=None
        How long the run took.
    created : str, default=""
        When, as text.
    version : str, default=""
        Version of tagloom.
    settings : sequence of (str, str, str), default=()
        Name, value and origin of each setting, as `tagloom.settings.Settings.rows` gives them.
    notes : sequence of str, default=()
        Warnings to show at the top, such as names in the labels file that match no photo.
    evaluation : sequence of (str, str), default=()
        Names and values of measures, where the truth is known; no section without any.
    measured : ModelEvaluation or None, default=None
        What cross-validation on a person's labels found (`tagloom.Project.evaluate`); no section without it.
    measured_note : str, default=""
        When that was, and what was decided since.
    kind : {"score", "probability"}, default="score"
        What the numbers of suggestions are.
    topics : sequence of TopicDescription, default=()
        What a topic model has learnt; the rows of its photos are places in ``photos``. No section without any.
    max_photos : int, default=2000
        How many photos are shown; the page says so where it leaves some out.
    """

    photos: Sequence[ReportPhoto]
    unreadable: Sequence[UnreadablePhoto] = ()
    title: str = "Suggested keywords"
    method: str = ""
    features: str = ""
    n_learned: int | None = None
    seconds: float | None = None
    created: str = ""
    version: str = ""
    settings: Sequence[tuple[str, str, str]] = ()
    notes: Sequence[str] = ()
    evaluation: Sequence[tuple[str, str]] = ()
    measured: "ModelEvaluation | None" = None
    measured_note: str = ""
    kind: str = "score"
    topics: "Sequence[TopicDescription]" = ()
    max_photos: int = 2000

    def __post_init__(self) -> None:
        if self.max_photos < 0:
            raise InvalidInputError(f"max_photos must be 0 or more, got {self.max_photos}")
        for photo in self.photos:
            for tag, score in photo.suggestions:
                if not math.isfinite(score):
                    raise InvalidInputError(f"scores must be finite, got {score} for {tag!r} of {photo.name!r}")


def summarize_tags(photos: Iterable[ReportPhoto]) -> list[TagSummary]:
    """Count each tag over all photos, the most often suggested first.

    Parameters
    ----------
    photos : iterable of ReportPhoto
        The photos.
    """
    n_given: dict[str, int] = {}
    n_suggested: dict[str, int] = {}
    totals: dict[str, float] = {}
    for photo in photos:
        for tag in photo.given:
            n_given[tag] = n_given.get(tag, 0) + 1
        for tag, score in photo.suggestions:
            n_suggested[tag] = n_suggested.get(tag, 0) + 1
            totals[tag] = totals.get(tag, 0.0) + score
    summaries = [
        TagSummary(tag, n_given.get(tag, 0), n, totals[tag] / n if n else None)
        for tag in n_given.keys() | n_suggested.keys()
        for n in [n_suggested.get(tag, 0)]
    ]
    return sorted(summaries, key=lambda item: (-item.n_suggested, -item.n_given, item.tag))


def make_photos(
    names: Sequence[bytes], tags: Sequence[str], Y: LabelMatrix, scores: NDArray[Any], n_keywords: int
) -> list[ReportPhoto]:
    """Return photos with given tags and the best suggestions, without thumbnails.

    Parameters
    ----------
    names : sequence of bytes
        The rows.
    tags : sequence of str
        The columns.
    Y : label matrix of shape (n, c)
        What was said; suggested is only what nobody has spoken about.
    scores : ndarray of shape (n, c)
        The model's numbers; NaN where there is none.
    n_keywords : int
        Suggestions for each photo at most; 0 means as many as a card shows.
    """
    n_shown = min(n_keywords or SHOWN_KEYWORDS, SHOWN_KEYWORDS)
    # What has no number is ranked as if it were decided: not at all.
    columns, counts = top_suggestions(np.where(np.isnan(scores), 0, Y), scores, n_shown)
    labeled = labeled_rows(Y)
    return [
        ReportPhoto(
            name,
            given=[tags[tag] for tag in (Y[row] == 1).nonzero()[0]],
            suggestions=[(tags[tag], float(scores[row, tag])) for tag in columns[row, : counts[row]]],
            labeled=bool(labeled[row]),
        )
        for row, name in enumerate(names)
    ]


def suggestions_first(photos: Sequence[ReportPhoto]) -> list[int]:
    """Return the rows in the order to show: what a person has labelled comes last."""
    return sorted(range(len(photos)), key=lambda row: photos[row].is_labeled)


def add_thumbnails(
    photos: list[ReportPhoto],
    rows: Iterable[int],
    hashes: Sequence[str],
    find: Callable[[Sequence[str]], dict[str, bytes]],
) -> None:
    """Put thumbnails to some photos, in place.

    Parameters
    ----------
    photos : list of ReportPhoto
        All photos.
    rows : iterable of int
        Those that are shown.
    hashes : sequence of str
        Content hash of each photo.
    find : callable
        Returns thumbnails by content hash, as far as there are any.
    """
    shown = sorted(rows)
    thumbnails = find([hashes[row] for row in shown])
    for row in shown:
        photos[row] = replace(photos[row], thumbnail=thumbnails.get(hashes[row], b""))
