"""The operations of the HTTP API: the project, photos and pictures, decisions, work, news as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, get_args

from anyio import CapacityLimiter
from starlette.responses import Response, StreamingResponse

from tagloom._version import __version__
from tagloom.exceptions import PhotosError
from tagloom.images import MOST_KEYFRAMES
from tagloom.learning import ExplainResult
from tagloom.review import JOB_KINDS, EventHub, PhotoQuery, Ranking, ReviewEvent, Sort, TagState
from tagloom.review.answers import (
    AddedTag,
    CellsAnswer,
    ChangedTag,
    DecidedAnswer,
    HistoryAnswer,
    JobListAnswer,
    MomentsAnswer,
    PhotoAnswer,
    PhotoIds,
    PhotoList,
    PlanAnswer,
    ProgressAnswer,
    ProjectAnswer,
    StartedJob,
    TeachAnswer,
    ThresholdsAnswer,
    UndoneAnswer,
)
from tagloom.web.fields import Field, RequestError, choice, id_list, name_list, number, text, whole_number
from tagloom.web.http import error_answer, picture_answer
from tagloom.web.openapi import HEALTH, HealthAnswer, openapi
from tagloom.web.operations import Call, Operations, check_project, identity_of
from tagloom.web.video import video_answer

__all__ = ["ALIVE_SECONDS", "N_CELLS", "N_LISTED", "N_NAMES", "OPERATIONS", "ranking_body"]

N_PHOTOS = 10_000
N_DECIDED = 100_000
N_TAGS = 100
N_HISTORY = 1_000
N_PLANNED = 2_000
N_CELLS = 300
N_LISTED = 1_000
N_NAMES = 1_000
N_WORDS = 20
N_DECODED = 8
ALIVE_SECONDS = 15.0
LONGEST_KEY = 64
LONGEST_PATH = 4_096
_LONGEST_ID = 64

OPERATIONS = Operations()

_FILTER: dict[str, Field] = {
    "state": choice("Which photos, by `tag` or by any tag.", *get_args(TagState), default="any"),
    "folder": text("Photos in or below this folder.", longest=LONGEST_PATH),
    "since": text("The first day (YYYY-MM-DD) on which a photo was taken."),
    "until": text("The last day."),
    "q": text("Words; each must be in the path, in a tag, or in what the network sees."),
    "similar": whole_number("A photo; those most like it come first."),
    "stacks": choice("1: of near-duplicates only the first.", "0", "1", default="0"),
}
_QUERY: dict[str, Field] = {
    "sort": choice("The order; `score` and `uncertainty` are about `tag`.", *get_args(Sort), default="path"),
    "tag": whole_number("The tag that `state` and `sort` are about."),
    **_FILTER,
}
_VERSION = {"v": text("The beginning of the photo's content hash: the answer may then be kept for good.")}
_KEY = text("A name for this request: asked for again under it, nothing is done twice.", longest=LONGEST_KEY, least=1)


@OPERATIONS.get(HEALTH, HealthAnswer)
async def health(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Tell that the server answers; the only operation that needs no token."""
    return {"status": "ok"}


@OPERATIONS.get("/openapi.json", dict[str, Any])
def schema(call: Call) -> dict[str, Any]:  # noqa: ARG001
    """Return the OpenAPI 3.1 description of this API."""
    return openapi(OPERATIONS, __version__)


@OPERATIONS.get("/project", ProjectAnswer)
def project(call: Call) -> dict[str, Any]:
    """Return the project: tags, folders, progress, and up to which news this is known."""
    news = call.session.events.last_id()
    about = {"id": identity_of(call.request), "news": news, "user": call.user.name, "role": call.user.role}
    return {**about, **call.session.overview()}


@OPERATIONS.get("/progress", ProgressAnswer)
def progress(call: Call) -> ProgressAnswer:
    """Return how far the review is."""
    return call.session.progress()


@OPERATIONS.get(
    "/history",
    HistoryAnswer,
    query={
        "limit": whole_number("How many actions.", most=N_HISTORY, default=50),
        "who": choice("`me`: your own actions; `all`: everybody's. Default: what you may undo.", "me", "all"),
    },
)
def history(call: Call, limit: int, who: str | None = None) -> HistoryAnswer:
    """Return the latest actions, and what you can undo or redo."""
    own = call.user.name if who == "me" or (who is None and not call.is_owner) else None
    found = call.session.history(limit, who=own)
    if call.is_owner or own is not None:
        return found
    undoable = call.session.history(1, who=call.user.name)
    return {**undoable, "batches": found["batches"]}


@OPERATIONS.get(
    "/write/plan", PlanAnswer, query={"n": whole_number("Photos that are looked at.", most=N_PLANNED, default=200)}
)
def write_plan(call: Call, n: int) -> PlanAnswer:
    """Return what a write would do to the files of the first photos that it looks at."""
    return call.session.write_plan(n)


@OPERATIONS.post(
    "/decide",
    DecidedAnswer,
    role="labeller",
    body={
        "photos": id_list("Photos.", most=N_DECIDED).needed(),
        "tags": id_list(f"Tags; at most {N_TAGS} unless paired.", most=N_DECIDED).needed(),
        "state": choice("1 accepts, 0 rejects, -1 clears.", 1, 0, -1).needed(),
        "origin": choice("`suggested`: an answer to a suggestion.", "human", "suggested", default="human"),
        "paired": choice("Photos and tags stand side by side.", True, False, default=False),
        "key": _KEY,
    },
)
def decide(
    call: Call, photos: list[int], tags: list[int], state: int, origin: Any, paired: bool, key: str | None = None
) -> DecidedAnswer:
    """Decide tags of photos: each of all, or side by side one of each."""
    if not paired and len(tags) > N_TAGS:
        raise RequestError(f"tags must be from 1 to {N_TAGS} ids")
    return call.session.decide(photos, tags, state, origin=origin, paired=paired, key=_own_key(call, key), who=call.who)


@OPERATIONS.get("/thresholds", ThresholdsAnswer)
def thresholds(call: Call) -> ThresholdsAnswer:
    """Return what is suggested at the threshold in force, and what would be at others."""
    return call.session.thresholds()


@OPERATIONS.post(
    "/threshold",
    ThresholdsAnswer,
    role="owner",
    body={"threshold": number("The threshold of all tags.", null="what training chose").needed()},
)
def set_threshold(call: Call, threshold: float | None) -> ThresholdsAnswer:
    """Suggest what lies above one number for all tags; null: as training chose."""
    return call.session.set_threshold(threshold)


@OPERATIONS.post(
    "/tags",
    AddedTag,
    role="labeller",
    body={
        "text": text("The name of the tag.").needed(),
        "new": choice("Make it without asking whether another was meant.", True, False, default=False),
    },
)
def add_tag(call: Call, text: str, new: bool) -> AddedTag:
    """Find or make a tag."""
    return call.session.add_tag(text, new=new)


@OPERATIONS.post(
    "/tags/{id:int}",
    ChangedTag,
    role="owner",
    body={
        "rename": text("Another name."),
        "alias": text("A further name."),
        "merge_into": whole_number("The tag that this one becomes."),
        "parent": whole_number("The tag that this one implies."),
    },
    one_of=True,
)
def change_tag(call: Call, id: int, **change: Any) -> ChangedTag:
    """Rename, alias, merge or imply."""
    ((what, value),) = change.items()
    return call.session.change_tag(id, what, value, who=call.who)


@OPERATIONS.post(
    "/undo",
    UndoneAnswer,
    role="labeller",
    body={"batch": whole_number("The action."), "key": _KEY},
    one_of=True,
)
def undo(call: Call, batch: int | None = None, key: str | None = None) -> UndoneAnswer:
    """Take back the action that is named, and no other that was done meanwhile; or what was asked for under a name."""
    if key is not None:
        return call.session.withdraw(str(_own_key(call, key)), who=call.who, only_own=not call.is_owner)
    return call.session.undo(batch, who=call.who, only_own=not call.is_owner)


@OPERATIONS.post("/redo", UndoneAnswer, role="labeller")
def redo(call: Call) -> UndoneAnswer:
    """Bring back what was taken back last."""
    return call.session.redo(who=call.who, only_own=not call.is_owner)


@OPERATIONS.get("/jobs", JobListAnswer)
def list_jobs(call: Call) -> JobListAnswer:
    """Return the latest jobs, newest first."""
    return {"jobs": [job.as_dict() for job in call.session.jobs.all()]}


@OPERATIONS.post(
    "/jobs",
    StartedJob,
    role="owner",
    body={
        "kind": choice("What to do.", *JOB_KINDS).needed(),
        "photos": id_list("Of a write: these photos only.", most=N_PHOTOS),
        "format": text("Of an export: its format."),
        "accepted_only": choice("Of an export: without suggestions.", True, False),
    },
)
def start_job(call: Call, kind: str, **options: Any) -> StartedJob:
    """Start long work: scan, extract, train, compare, write or export."""
    return {"job": call.session.start_job(kind, options, who=call.who).as_dict()}


@OPERATIONS.post("/jobs/{id:int}/cancel", StartedJob, role="owner")
def cancel_job(call: Call, id: int) -> StartedJob:
    """Ask a job to end."""
    return {"job": call.session.jobs.cancel(id).as_dict()}


def ranking_body(ranking: Ranking, sort: str) -> bytes:
    """Return a ranking as the page reads it, little-endian.

    The length of the header (uint32), the header (JSON, filled up with blanks so that what follows is aligned), the
    ids (int32), and the numbers (float32) if the header says that there are any.
    """
    has_values = ranking.values is not None
    header = {"n": len(ranking.ids), "sort": sort, "version": ranking.version, "has_values": has_values}
    head = json.dumps(header).encode("ascii")
    head += b" " * (-len(head) % 4)
    parts = [len(head).to_bytes(4, "little"), head, ranking.ids.astype("<i4").tobytes()]
    if ranking.values is not None:
        parts.append(ranking.values.astype("<f4").tobytes())
    return b"".join(parts)


@OPERATIONS.get(
    "/photos",
    PhotoList,
    query={
        **_QUERY,
        "first": whole_number("The place to begin at.", least=0, default=0),
        "n": whole_number("How many photos.", most=N_LISTED, default=100),
    },
)
def photos(call: Call, first: int, n: int, **query: Any) -> PhotoList:
    """Return photos in order, filtered, some at a time."""
    return call.session.photo_list(_photo_query(query), first, n)


@OPERATIONS.post(
    "/photos/find",
    PhotoIds,
    role="reader",
    body={"paths": name_list("Paths below the folder of photos.", most=N_NAMES, longest=LONGEST_PATH).needed()},
)
def find_photos(call: Call, paths: list[str]) -> PhotoIds:
    """Return the ids of photos by their paths."""
    return call.session.find_photos(paths)


@OPERATIONS.get("/ranking", "application/octet-stream", query=_QUERY)
def ranking(call: Call, **query: Any) -> Response:
    """Return the ids of all photos in order as 32-bit numbers, for the grid."""
    return _ranked(call, _photo_query(query))


@OPERATIONS.get("/lens/{tag:int}", "application/octet-stream", query=_FILTER)
def lens(call: Call, **query: Any) -> Response:
    """Return the ids of a tag's photos, the likeliest first, for the grid."""
    return _ranked(call, _photo_query({**query, "sort": "score"}))


@OPERATIONS.get("/cells", CellsAnswer, query={"ids": id_list("Photos.", most=N_CELLS).needed()})
def cells(call: Call, ids: list[int]) -> CellsAnswer:
    """Return what the grid shows of some photos: their tags and suggestions by id."""
    return call.session.cells(ids)


@OPERATIONS.get("/photo/{id:int}/thumb", "image/webp", query=_VERSION)
def thumb(call: Call, id: int, v: str = "") -> Response:
    """Return a thumbnail."""
    return _picture(call, id, v, call.session.thumbnail)


@OPERATIONS.get("/photo/{id:int}/large", "image/webp", query=_VERSION, limiter=CapacityLimiter(N_DECODED))
def large(call: Call, id: int, v: str = "") -> Response:
    """Return a picture of at most 1,600 pixels."""
    return _picture(call, id, v, call.session.large)


@OPERATIONS.get("/photo/{id:int}/frame/{frame:int}", "image/webp", query=_VERSION)
def frame(call: Call, id: int, frame: int, v: str = "") -> Response:
    """Return the thumbnail of a key frame of a video."""
    if frame >= MOST_KEYFRAMES:
        raise RequestError("there is no such key frame", 404)
    return _picture(call, id, v, lambda photo: call.session.frame(photo, frame))


@OPERATIONS.get("/photo/{id:int}/moments", MomentsAnswer)
def moments(call: Call, id: int) -> MomentsAnswer:
    """Return where in a video its tags are."""
    return call.session.moments(id)


@OPERATIONS.get("/photo/{id:int}/video", "video/*", query=_VERSION)
def video(call: Call, id: int, v: str = "") -> Response:  # noqa: ARG001
    """Return a part of a video that browsers can play, by the header Range."""
    try:
        return video_answer(call.session.video(id), call.request.headers.get("range"))
    except PhotosError as error:
        return error_answer(str(error), 404)


@OPERATIONS.get("/photo/{id:int}", PhotoAnswer)
def photo(call: Call, id: int) -> PhotoAnswer:
    """Return all that is known of a photo: its tags, suggestions and history."""
    return call.session.photo(id)


@OPERATIONS.get("/photo/{id:int}/why/{tag:int}", ExplainResult)
def why(call: Call, id: int, tag: int) -> dict[str, Any]:
    """Return what speaks for a tag on a photo."""
    return call.session.why(id, tag)


@OPERATIONS.get(
    "/teach",
    TeachAnswer,
    query={"tag": whole_number("For this tag; default: any."), "n": whole_number("How many.", most=1_000, default=50)},
)
def teach(call: Call, n: int, tag: int | None = None) -> TeachAnswer:
    """Return photos to label next."""
    return call.session.teach(tag, n)


def _own_key(call: Call, key: str | None) -> str | None:
    """Return the name of a request, apart from those of other users."""
    return key if key is None or call.who is None else f"{call.who}/{key}"


def _ranked(call: Call, query: PhotoQuery) -> Response:
    found = call.session.ranking(query)
    return Response(ranking_body(found, query.sort), media_type="application/octet-stream")


def _photo_query(given: dict[str, Any]) -> PhotoQuery:
    words = tuple(given.pop("q", "").split())
    if len(words) > N_WORDS:
        raise RequestError(f"expected at most {N_WORDS} words to search for")
    return PhotoQuery(words=words, stacks=given.pop("stacks") == "1", **given)


def _picture(call: Call, photo: int, version: str, make: Callable[[int], bytes]) -> Response:
    photos = call.session.photos
    try:
        picture = make(photo)
    except PhotosError as error:
        return error_answer(str(error), 404)
    # Only an address that names this very content may be kept for good.
    return picture_answer(picture, keep=bool(version) and photos.hashes[photos.row(photo)].startswith(version or "-"))


@OPERATIONS.get(
    "/events",
    "text/event-stream",
    query={"project": text("The project, in place of the header that a browser cannot send here.")},
)
async def events(call: Call, project: str | None = None) -> Response:
    """Send events until the page or the server goes away: what was decided and learned, and how far jobs are."""
    check_project(call.request, project)
    last = call.request.headers.get("last-event-id")
    stream = _stream(call.session.events, last[:_LONGEST_ID] if last else None)
    return StreamingResponse(stream, media_type="text/event-stream")


async def _stream(hub: EventHub, last_id: str | None) -> AsyncIterator[str]:
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[ReviewEvent | None] = asyncio.Queue()

    def arrive(event: ReviewEvent | None) -> None:
        loop.call_soon_threadsafe(queue.put_nowait, event)

    stop, missed = hub.listen(arrive, last_id)
    try:
        yield "retry: 1000\n\n"
        if missed is None:
            yield _line(ReviewEvent(hub.last_id(), "reset", {}))
        for event in missed or ():
            yield _line(event)
        # Up to here a page must have heard of everything (see `project` for where it begins).
        yield _line(ReviewEvent(hub.last_id(), "alive", {}))
        async for event in _arrivals(queue, hub.last_id):
            yield _line(event)
    finally:
        stop()


async def _arrivals(
    queue: "asyncio.Queue[ReviewEvent | None]", last_id: Callable[[], str]
) -> AsyncIterator[ReviewEvent]:
    """Yield events as they come, and a sign of life in between."""
    while True:
        try:
            event = await asyncio.wait_for(queue.get(), ALIVE_SECONDS)
        except TimeoutError:
            yield ReviewEvent(last_id(), "alive", {})
            continue
        if event is None:
            return
        yield event


def _line(event: ReviewEvent) -> str:
    return f"id: {event.id}\nevent: {event.name}\ndata: {json.dumps(event.data, allow_nan=False)}\n\n"
