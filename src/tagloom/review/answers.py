"""The shapes of what a review answers: the page, the HTTP API and its schema, and the Python client share them."""

from typing import Any, Literal, NotRequired, TypedDict

__all__ = [
    "AddedTag",
    "BatchAnswer",
    "CalibrationAnswer",
    "CellAnswer",
    "CellsAnswer",
    "ChangedTag",
    "ClipAnswer",
    "DecidedAnswer",
    "HistoryAnswer",
    "JobAnswer",
    "JobListAnswer",
    "MomentsAnswer",
    "NextUndo",
    "OverviewAnswer",
    "PhotoAnswer",
    "PhotoDetails",
    "PhotoIds",
    "PhotoLine",
    "PhotoList",
    "PhotoTag",
    "PlanAnswer",
    "PlannedFile",
    "ProgressAnswer",
    "ProjectAnswer",
    "StartedJob",
    "TagAnswer",
    "TeachAnswer",
    "ThresholdStep",
    "ThresholdsAnswer",
    "UndoneAnswer",
]


class CalibrationAnswer(TypedDict):
    """Whether suggestions carry probabilities, and how many more labelled photos that takes."""

    calibrated: bool
    labels_needed: int


class ProgressAnswer(CalibrationAnswer):
    """How far the review is, and how long the rest takes at this pace."""

    n_photos: int
    n_reviewed: int
    expected_missing: float | None
    minutes_left: float | None
    seconds_per_photo: float | None


class TagAnswer(TypedDict):
    """A tag with its other names and its counts; ``listed``: it is in use or suggested."""

    id: int
    text: str
    aliases: list[str]
    listed: bool
    n_yes: int
    n_no: int
    n_suggested: int


class MergedTag(TypedDict):
    """A tag that has become another one."""

    id: int
    text: str
    into: int


class ModelAnswer(TypedDict):
    """The model in use."""

    id: int
    method: str


class OverviewAnswer(CalibrationAnswer):
    """The project: tags, folders, progress, and what to do next."""

    name: str
    root: str
    n_photos: int
    version: int
    kind: str
    model: ModelAnswer | None
    tags: list[TagAnswer]
    merged: list[MergedTag]
    folders: list[str]
    dates: list[str] | None
    can_write: bool
    can_export: bool
    can_compare: bool
    next_step: str
    next_job: str | None
    progress: ProgressAnswer


class ProjectAnswer(OverviewAnswer):
    """The project, who asks for it in which role, and up to which news this is known."""

    id: str
    news: str
    user: str
    role: str


class BatchAnswer(TypedDict):
    """One action of the history; ``at`` in seconds since 1970, ``n`` decisions."""

    id: int
    kind: str
    label: str
    who: str
    at: float
    n: int
    undone: bool


class NextUndo(BatchAnswer):
    """What an undo would take back."""

    n_files: int
    is_own: bool


class HistoryAnswer(TypedDict):
    """The latest actions, and what can be undone or redone."""

    batches: list[BatchAnswer]
    can_undo: bool
    can_redo: bool
    next_undo: NextUndo | None


class ClipAnswer(TypedDict):
    """What is known of a video: its length, the times of its key frames, and its type if browsers can play it.

    ``with_photo`` marks the video of a Live Photo or Motion Photo, which has no key frames.
    """

    duration: float
    times: list[float]
    sound: bool
    type: str | None
    with_photo: bool


class MomentsAnswer(TypedDict):
    """Where in a video its tags are: the scores of its key frames by tag."""

    times: list[float]
    tags: dict[int, list[float]]


class CellAnswer(TypedDict):
    """What the grid shows of a photo; ``suggested`` and ``unsure`` are pairs of tag and probability or score."""

    id: int
    name: str
    width: int
    height: int
    thumb: str
    yes: list[int]
    no: list[int]
    suggested: list[list[int | float | None]]
    unsure: list[list[int | float | None]]
    clip: ClipAnswer | None
    stack: list[int] | None
    reviewed: bool


class CellsAnswer(TypedDict):
    """What the grid shows of some photos."""

    version: int
    cells: list[CellAnswer]


class PhotoTag(TypedDict):
    """A tag of a photo: accepted (1), rejected (0) or undecided (null), and its probability or score."""

    id: int
    text: str
    state: Literal[0, 1] | None
    origin: str | None
    p: float | None
    implied: bool


class PhotoDetails(TypedDict):
    """All that is known of one photo."""

    id: int
    version: int
    name: str
    path: str
    time: str | None
    width: int
    height: int
    state: str
    thumb: str
    large: str
    tags: list[PhotoTag]
    suggested: list[list[int | float | None]]
    unsure: list[list[int | float | None]]
    history: list[BatchAnswer]


class PhotoAnswer(PhotoDetails):
    """All that is known of one photo, or of a video."""

    clip: ClipAnswer | None


class PhotoLine(TypedDict):
    """One photo of a list; ``value`` is the number that it was sorted by, if any."""

    id: int
    path: str
    time: str | None
    width: int
    height: int
    state: str
    value: float | None


class PhotoList(TypedDict):
    """A part of the photos that a query means, in order; ``total`` counts all of them."""

    version: int
    total: int
    photos: list[PhotoLine]


class PhotoIds(TypedDict):
    """Ids of photos by their paths; null: the project has no such photo."""

    ids: list[int | None]


class TeachAnswer(TypedDict):
    """Photos to label next, and why these."""

    ids: list[int]
    reason: str


class ThresholdStep(TypedDict):
    """How many tags are suggested above a threshold, and the share of them expected to be right."""

    threshold: float
    n: int
    right: float | None


class ThresholdsAnswer(TypedDict):
    """What is suggested at the threshold in force, and what would be at others."""

    threshold: float | None
    n: int
    right: float | None
    steps: list[ThresholdStep]


class PlannedFile(TypedDict):
    """What a write would do to one file."""

    photo: int | None
    path: str
    adds: list[str]
    removes: list[str]
    conflict: bool
    problem: str


class PlanAnswer(TypedDict):
    """What a write would do to the files of the first photos that it looks at."""

    files: list[PlannedFile]
    n: int
    n_photos: int
    n_looked: int
    n_asked: int
    cut: bool


class DecidedAnswer(TypedDict):
    """What a decision changed; ``batch`` is null where nothing did."""

    batch: int | None
    n: int
    version: int


class SimilarTag(TypedDict):
    """A tag that was perhaps meant."""

    id: int
    text: str


class AddedTag(TypedDict):
    """A tag; where it is better asked first, ``id`` is null and there are ``similar`` or ``parts``."""

    id: int | None
    text: str
    created: bool
    similar: NotRequired[SimilarTag]
    parts: NotRequired[list[str]]


class ChangedTag(TypedDict):
    """The action that changed a tag; null where nothing changed."""

    batch: int | None
    version: int


class UndoneAnswer(TypedDict):
    """What was taken back, or brought back."""

    batch: int | None
    label: str
    version: int


class JobAnswer(TypedDict):
    """Long work: how far it is, and what came of it."""

    id: int
    kind: str
    label: str
    done: int
    total: int | None
    seconds_left: float | None
    state: Literal["running", "done", "failed", "cancelled"]
    message: str
    methods: list[dict[str, Any]]


class StartedJob(TypedDict):
    """A job that was started, or is asked to end."""

    job: JobAnswer


class JobListAnswer(TypedDict):
    """The latest jobs, newest first."""

    jobs: list[JobAnswer]
