"""What the review page shows of photos, tags and the project: plain data, made from arrays and a query or two."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tagloom.catalog import PhotoIndex, online_root, plain
from tagloom.exceptions import StoreError
from tagloom.features.clips import ClipFacts
from tagloom.learning import (
    NO_PROBABILITIES,
    PROBABILITY,
    Features,
    LabelledProbabilities,
    choose_photos,
    n_missing,
)
from tagloom.project import FileWrite, suggestions_written, unwritten_photos
from tagloom.project.write import write
from tagloom.review.answers import (
    BatchAnswer,
    CalibrationAnswer,
    CellAnswer,
    ClipAnswer,
    PhotoDetails,
    PhotoLine,
    PhotoTag,
    PlanAnswer,
    PlannedFile,
    TagAnswer,
    ThresholdsAnswer,
)
from tagloom.review.ranking import LookAlikes, moment_text
from tagloom.review.state import ReviewState
from tagloom.store import IMPORTED, ORIGINS, Batch, ProjectStore, Tag

__all__ = [
    "batch_view",
    "calibration_view",
    "cell_views",
    "photo_line",
    "photo_view",
    "photos_to_write",
    "plan_view",
    "tag_views",
    "teach_ids",
    "threshold_view",
]

N_SUGGESTED = 5
STEPS = [number / 20 for number in range(1, 20)]

Pairs = list[list[list[int | float | None]]]


@dataclass(frozen=True, slots=True)
class PhotosToWrite:
    """Photos that a write looks at; of all others it has nothing to say.

    Parameters
    ----------
    ids : list of int
        Those that decisions ask to look at first, each part in the order of ids.
    n_asked : int
        How many those are. The files of the others were as they should be when all keywords were last written; another
        program may have changed them since.
    """

    ids: list[int]
    n_asked: int


def photos_to_write(store: ProjectStore) -> PhotosToWrite:
    """Return the photos of which there is something to write or to take out, as far as decisions tell.

    Parameters
    ----------
    store : ProjectStore
        The project. No file is opened.
    """
    said = store.decisions.current()
    asks = (said.states == 1) | ((said.states == 0) & (said.origins != IMPORTED))
    own = set(suggestions_written(store))
    noted = {item.photo for item in store.writes.entries(state="done") if item.photo is not None}
    if noted:  # a raw file goes with the photo beside it
        partners = dict(store.photos.raw_pairs().tolist())
        noted = {partners.get(photo, photo) for photo in noted}
    everyone = set(np.unique(said.photo_ids[asks]).tolist()) | own | noted
    since = unwritten_photos(store)
    first = everyone if since is None else everyone & (since | own)
    return PhotosToWrite([*sorted(first), *sorted(everyone - first)], len(first))


def plan_view(store: ProjectStore, n: int, ids: Mapping[bytes, int]) -> PlanAnswer:
    """Return what a write would do to the files of the first photos it looks at.

    Parameters
    ----------
    store : ProjectStore
        The project; nothing is written.
    n : int
        Photos whose files are opened.
    ids : mapping of bytes to int
        Photos that have a page, by path.

    Returns
    -------
    dict
        ``files`` that would change and their number ``n``; ``n_photos`` that a write looks at, ``n_looked`` of them
        looked at here, and whether that leaves any (``cut``); ``n_asked``: of those left, how many had decisions since
        all keywords were written.
    """
    online_root(store)  # no plan for files that cannot be written now, even if there are none
    found = photos_to_write(store)
    looked = found.ids[:n]
    planned = (
        [item for item in write(store, dry_run=True, photos=looked).files if item.status != "unchanged"]
        if looked
        else []
    )
    return {
        "files": [_file_view(item, ids) for item in planned],
        "n": len(planned),
        "n_photos": len(found.ids),
        "n_looked": len(looked),
        "n_asked": max(0, found.n_asked - len(looked)),
        "cut": len(looked) < len(found.ids),
    }


def _file_view(item: FileWrite, ids: Mapping[bytes, int]) -> PlannedFile:
    return {
        "photo": ids.get(item.photo),
        "path": plain(item.photo),
        "adds": plain(item.added),
        "removes": plain(item.removed),
        "conflict": item.status in ("merged", "failed"),
        "problem": item.problem,
    }


def tag_views(tags: Sequence[Tag], state: ReviewState, in_use: Collection[int]) -> list[TagAnswer]:
    """Return all tags with names and counts, and whether to list them: they are in use, or suggested.

    The others have a name for whoever holds their id (an address, a decision on its way).
    """
    with state.lock:
        figures = zip(state.n_yes.tolist(), state.n_no.tolist(), state.n_suggested.tolist(), strict=True)
        counts = dict(zip(state.tag_ids, figures, strict=True))
    views: list[TagAnswer] = []
    for tag in tags:
        n_yes, n_no, n_suggested = counts.get(tag.id, (0, 0, 0))
        views.append(
            {
                "id": tag.id,
                "text": tag.text,
                "aliases": list(tag.aliases),
                "listed": tag.id in in_use or n_suggested > 0,
                "n_yes": n_yes,
                "n_no": n_no,
                "n_suggested": n_suggested,
            }
        )
    return views


def clip_view(facts: ClipFacts) -> ClipAnswer:
    """Return what is known of a video: its length, the times of its key frames, and whether a browser can play it."""
    return {
        "duration": round(facts.duration, 2),
        "times": [round(time, 3) for time in facts.times],
        "sound": facts.has_sound,
        "type": facts.media_type or None,
        "with_photo": False,
    }


def cell_views(
    state: ReviewState, looks: LookAlikes, ids: Sequence[int], clips: Mapping[int, ClipFacts]
) -> list[CellAnswer]:
    """Return what the grid shows of some photos."""
    with state.lock:
        photos = state.photos
        rows = photos.rows(ids)
        said, reviewed = state.said[:, rows], state.reviewed[rows]
        suggested, unsure = _suggestions(state, rows)
        members = _stack_members(photos, looks, rows)
        return [
            {
                "id": int(photos.ids[row]),
                "name": photos.names[row],
                "width": int(photos.sizes[row, 0]),
                "height": int(photos.sizes[row, 1]),
                "thumb": picture_address("thumb", photos, row),
                "yes": [state.tag_ids[tag] for tag in np.flatnonzero(said[:, place] == 1)],
                "no": [state.tag_ids[tag] for tag in np.flatnonzero(said[:, place] == 0)],
                "suggested": suggested[place],
                "unsure": unsure[place],
                "stack": members.get(row),
                "clip": clip_view(clips[int(photos.ids[row])]) if int(photos.ids[row]) in clips else None,
                "reviewed": bool(reviewed[place]),
            }
            for place, row in enumerate(rows.tolist())
        ]


def photo_view(
    store: ProjectStore, state: ReviewState, tags: Mapping[int, str], photo: int, history: Sequence[Batch]
) -> PhotoDetails:
    """Return all that is known of one photo."""
    current = store.decisions.current(photo_ids=[photo])
    origins = dict(zip(current.tag_ids.tolist(), current.origins.tolist(), strict=True))
    with state.lock:
        photos = state.photos
        row = photos.row(photo)
        said, labels, values = state.said[:, row], state.labels[:, row], state.values[:, row]
        (suggested,), (unsure,) = _suggestions(state, np.asarray([row]))
        version = state.version
        shown: list[PhotoTag] = [
            {
                "id": tag,
                "text": tags[tag],
                "state": None if labels[place] < 0 else 1 if labels[place] else 0,
                "origin": ORIGINS[origins[tag]] if tag in origins else None,
                "p": finite(values[place]),
                "implied": bool(labels[place] >= 0 and said[place] < 0),
            }
            for place, tag in enumerate(state.tag_ids)
            if tag in tags
        ]
    return {
        "id": photo,
        "version": version,
        "name": photos.names[row].rpartition("/")[2],
        "path": photos.names[row],
        "time": moment_text(photos.taken[row]),
        "width": int(photos.sizes[row, 0]),
        "height": int(photos.sizes[row, 1]),
        "state": photos.states[row],
        "thumb": picture_address("thumb", photos, row),
        "large": picture_address("large", photos, row),
        "tags": shown,
        "suggested": suggested,
        "unsure": unsure,
        "history": [batch_view(batch) for batch in history],
    }


def photo_line(photos: PhotoIndex, row: int, value: float | None) -> PhotoLine:
    """Return the fields of one photo in a list; ``value`` is what it was sorted by."""
    return {
        "id": int(photos.ids[row]),
        "path": photos.names[row],
        "time": moment_text(photos.taken[row]),
        "width": int(photos.sizes[row, 0]),
        "height": int(photos.sizes[row, 1]),
        "state": photos.states[row],
        "value": None if value is None else finite(value),
    }


def batch_view(batch: Batch) -> BatchAnswer:
    """Return one action of the history."""
    return {
        "id": batch.id,
        "kind": batch.kind,
        "label": batch.label,
        "who": batch.who,
        "at": batch.at,
        "n": batch.n,
        "undone": batch.undone,
    }


def teach_ids(
    state: ReviewState, tag: int | None, n: int, *, graph: Callable[[], Any], features: Callable[[], Features]
) -> tuple[list[int], str]:
    """Return photos to label next, and why these.

    Parameters
    ----------
    state : ReviewState
        Labels and numbers.
    tag : int or None
        The tag that is asked about; None: any.
    n : int
        How many photos at most.
    graph : callable
        Returns the neighbour graph of the photos, or raises a TagloomError.
    features : callable
        Returns scaled features of the photos and which of them have any, or raises a TagloomError.
    """
    if not len(state.photos):
        return [], "No photos yet."
    with state.lock:
        if tag is None:
            said = np.where(state.reviewed, 1, -1).astype(np.int8)
            about = "Unlabelled photos"
        else:
            said = state.labels[state.place(tag)].copy()
            about = "Photos on which this tag is undecided"
    chosen = choose_photos(said, n, predictions=lambda: _predictions(state, tag), graph=graph, features=features)
    return state.photos.ids[chosen.rows].tolist(), f"{about}, {chosen.how}."


def _predictions(state: ReviewState, tag: int | None) -> LabelledProbabilities:
    """Return probabilities and labels of all photos, of one tag or all; copies, so that nobody waits for a choice."""
    with state.lock:
        rows = np.flatnonzero(state.live) if tag is None else [state.place(tag)]
        values, labels = state.values[rows].T.copy(), state.labels[rows].T.copy()
        is_known = state.kind == PROBABILITY and not np.isnan(values).all()
    if not is_known:
        raise StoreError(NO_PROBABILITIES)
    return values, labels


def picture_address(kind: str, photos: PhotoIndex, row: int) -> str:
    """Return where a picture is; the content is a part of it, so that a browser may keep it for good."""
    return f"/api/v1/photo/{int(photos.ids[row])}/{kind}?v={photos.hashes[row][:12]}"


def finite(value: Any) -> float | None:
    """Return a number as JSON can hold it."""
    return round(float(value), 6) if np.isfinite(value) else None


def _suggestions(state: ReviewState, rows: Any) -> tuple[Pairs, Pairs]:
    """Return for each photo the best few suggestions as pairs of tag and number, and less likely tags beside them."""
    if not state.tag_ids:
        return [[] for _ in rows], [[] for _ in rows]
    is_suggested = state.suggested(columns=rows)
    is_open = (state.labels[:, rows] == -1) & state.live[:, None]
    values = np.where(is_open & np.isfinite(state.values[:, rows]), state.values[:, rows], -np.inf)
    if state.proposed is not None:  # what the model has no number for goes last
        is_bare = state.proposed[:, rows] & is_open & ~np.isfinite(state.values[:, rows])
        values[is_bare] = np.finfo(values.dtype).min
    sure = _best(state, np.where(is_suggested, values, -np.inf))
    unsure = _best(state, np.where(is_suggested, -np.inf, values))
    return sure, [more[: N_SUGGESTED - len(first)] for first, more in zip(sure, unsure, strict=True)]


def _best(state: ReviewState, values: Any) -> Pairs:
    order = np.argsort(-values, axis=0, kind="stable")[:N_SUGGESTED]
    return [
        [[state.tag_ids[tag], _shown(values[tag, place])] for tag in order[:, place] if np.isfinite(values[tag, place])]
        for place in range(values.shape[1])
    ]


def _shown(value: Any) -> float | None:
    """Return the number of a suggestion; None where a program proposed what the model has no number for."""
    return None if value == np.finfo(value.dtype).min else finite(value)


def threshold_view(state: ReviewState) -> ThresholdsAnswer:
    """Return how many pairs are suggested, now and at other thresholds, and the share of them expected to be right.

    Scores tell no share, and no threshold suits all tags: they have no steps.
    """
    n, total = state.expected_now()
    is_known, threshold = state.kind == PROBABILITY, state.threshold
    found = zip(STEPS, *state.expected(len(STEPS)), strict=True) if is_known else ()
    return {
        "threshold": threshold,
        "n": n,
        "right": round(total / n, 4) if n and is_known else None,
        "steps": [
            {"threshold": step, "n": int(count), "right": round(float(part / count), 4) if count else None}
            for step, count, part in found
        ],
    }


def calibration_view(state: ReviewState) -> CalibrationAnswer:
    """Return whether suggestions carry probabilities, and how many more labelled photos that takes."""
    with state.lock:
        n_labelled, n_yes = int(np.count_nonzero(state.reviewed)), int(np.count_nonzero(state.said == 1))
        is_known = state.kind == PROBABILITY
    return {"calibrated": is_known, "labels_needed": 0 if is_known else n_missing(n_labelled, n_yes)}


def _stack_members(photos: PhotoIndex, looks: LookAlikes, rows: Any) -> dict[int, list[int]]:
    """Return for each of these rows that is in a stack the ids of all photos in it."""
    if looks.stacks is None or len(looks.stacks) != len(photos):
        return {}
    wanted = np.unique(looks.stacks[rows])
    everyone = np.flatnonzero(np.isin(looks.stacks, wanted[wanted >= 0]))
    of_stack: dict[int, list[int]] = {}
    for row in everyone.tolist():
        of_stack.setdefault(int(looks.stacks[row]), []).append(int(photos.ids[row]))
    return {int(row): of_stack[int(looks.stacks[row])] for row in rows if looks.stacks[row] >= 0}
