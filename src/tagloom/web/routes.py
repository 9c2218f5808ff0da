"""The routes of the review page: the project, photos and their pictures, and news as server-sent events."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tagloom.exceptions import PhotosError
from tagloom.images import MOST_KEYFRAMES
from tagloom.review import JOB_KINDS, EventHub, PhotoQuery, Ranking, ReviewEvent
from tagloom.web.http import (
    Body,
    RequestError,
    check_project,
    choice,
    error_answer,
    get,
    id_list,
    identity_of,
    json_answer,
    parameters,
    picture_answer,
    post,
    session_of,
    text,
    whole_number,
)
from tagloom.web.video import video_answer

__all__ = ["ALIVE_SECONDS", "ROUTES", "ranking_body"]

N_PHOTOS = 10_000
N_DECIDED = 100_000
N_TAGS = 100
N_HISTORY = 1_000
N_PLANNED = 2_000
N_CELLS = 300
N_WORDS = 20
N_DECODED = 8
ALIVE_SECONDS = 15.0
LONGEST_KEY = 64
_LONGEST_ID = 64
_QUERY = ("sort", "tag", "state", "folder", "since", "until", "q", "similar", "stacks")
_TAG_CHANGES = ("rename", "alias", "merge_into", "parent")


@get
def project(request: Request) -> Response:
    """Return the project: tags, folders, progress, and up to which news this is known."""
    parameters(request, ())
    session = session_of(request)
    news = session.events.last_id()
    return json_answer({"id": identity_of(request), "news": news, **session.overview()})


@get
def progress(request: Request) -> Response:
    """Return how far the review is."""
    parameters(request, ())
    return json_answer(session_of(request).progress())


@get
def history(request: Request) -> Response:
    """Return the latest actions."""
    limit = parameters(request, ("limit",)).get("limit", "50")
    return json_answer(session_of(request).history(whole_number(limit, "limit", most=N_HISTORY)))


@get
def write_plan(request: Request) -> Response:
    """Return what a write would do to the files of the first photos that it looks at."""
    n = parameters(request, ("n",)).get("n", "200")
    return json_answer(session_of(request).write_plan(whole_number(n, "n", most=N_PLANNED)))


@post("photos", "tags", "state", "origin", "paired", "key")
def decide(request: Request, body: Body) -> Response:
    """Decide tags of photos: each of all, or side by side one of each."""
    paired = choice(body.get("paired", False), "paired", (True, False))
    photos = id_list(body.get("photos"), "photos", most=N_DECIDED)
    tags = id_list(body.get("tags"), "tags", most=N_DECIDED if paired else N_TAGS)
    state = choice(body.get("state"), "state", (1, 0, -1))
    origin = choice(body.get("origin", "human"), "origin", ("human", "suggested"))
    key = _key(body["key"]) if "key" in body else None
    return json_answer(session_of(request).decide(photos, tags, state, origin=origin, paired=paired, key=key))


@get
def thresholds(request: Request) -> Response:
    """Return what is suggested at the threshold in force, and what would be at others."""
    parameters(request, ())
    return json_answer(session_of(request).thresholds())


@post("threshold")
def set_threshold(request: Request, body: Body) -> Response:
    """Suggest what lies above one number for all tags; null: as training chose."""
    value = body.get("threshold", False)
    if value is not None and type(value) not in (int, float):
        raise RequestError("threshold must be a number, or null for what training chose")
    return json_answer(session_of(request).set_threshold(value))


@post("text", "new")
def add_tag(request: Request, body: Body) -> Response:
    """Find or make a tag."""
    new = choice(body.get("new", False), "new", (True, False))
    return json_answer(session_of(request).add_tag(text(body.get("text")), new=new))


@post(*_TAG_CHANGES)
def change_tag(request: Request, body: Body) -> Response:
    """Rename, alias, merge or imply."""
    if len(body) != 1:
        raise RequestError(f"expected exactly one of {', '.join(_TAG_CHANGES)}")
    ((what, value),) = body.items()
    value = text(value) if what in ("rename", "alias") else whole_number(value, what)
    try:
        tag = whole_number(request.path_params["id"], "id")
    except RequestError:
        raise RequestError("there is no such tag", 404) from None
    return json_answer(session_of(request).change_tag(tag, what, value))


@post("batch", "key")
def undo(request: Request, body: Body) -> Response:
    """Take back the action that is named, and no other that was done meanwhile; or what was asked for under a name."""
    if len(body) != 1:
        raise RequestError("expected either a batch or a key")
    if "key" in body:
        return json_answer(session_of(request).withdraw(_key(body["key"])))
    return json_answer(session_of(request).undo(whole_number(body.get("batch"), "batch")))


@post()
def redo(request: Request, body: Body) -> Response:  # noqa: ARG001
    """Bring back what was taken back last."""
    return json_answer(session_of(request).redo())


@get
def list_jobs(request: Request) -> Response:
    """Return the latest jobs."""
    parameters(request, ())
    return json_answer({"jobs": [job.as_dict() for job in session_of(request).jobs.all()]})


@post("kind", "photos", "format", "accepted_only")
def start_job(request: Request, body: Body) -> Response:
    """Start long work."""
    kind = choice(body.get("kind"), "kind", JOB_KINDS)
    options: dict[str, Any] = {}
    if "photos" in body:
        options["photos"] = id_list(body["photos"], "photos", most=N_PHOTOS)
    if "format" in body:
        options["format"] = text(body["format"])
    if "accepted_only" in body:
        options["accepted_only"] = choice(body["accepted_only"], "accepted_only", (True, False))
    return json_answer({"job": session_of(request).start_job(kind, options).as_dict()})


@post()
def cancel_job(request: Request, body: Body) -> Response:  # noqa: ARG001
    """Ask a job to end."""
    try:
        number = whole_number(request.path_params["id"], "id")
    except RequestError:
        raise RequestError("there is no such job", 404) from None
    return json_answer({"job": session_of(request).jobs.cancel(number).as_dict()})


async def jobs(request: Request) -> Response:
    """List or start jobs."""
    return await (start_job(request) if request.method == "POST" else list_jobs(request))


def _key(value: Any) -> str:
    """Return the name that a page gave to a request."""
    found = text(value, longest=LONGEST_KEY)
    if not found:
        raise RequestError("key must not be empty")
    return found


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


@get
def ranking(request: Request) -> Response:
    """Return the ids of photos in order."""
    return _ranked(request, _query(parameters(request, _QUERY)))


@get
def lens(request: Request) -> Response:
    """Return the photos of a tag, the likeliest first."""
    given = parameters(request, [name for name in _QUERY if name not in ("tag", "sort")])
    return _ranked(request, _query(given | {"tag": str(request.path_params["tag"]), "sort": "score"}))


@get
def cells(request: Request) -> Response:
    """Return what the grid shows of some photos."""
    ids = id_list(parameters(request, ("ids",)).get("ids"), "ids", most=N_CELLS)
    return json_answer(session_of(request).cells(ids))


@get
def thumb(request: Request) -> Response:
    """Return a thumbnail."""
    return _picture(request, session_of(request).thumbnail)


def large(request: Request) -> Response:
    """Return a large picture."""
    return _picture(request, session_of(request).large)


@get
def frame(request: Request) -> Response:
    """Return the thumbnail of a key frame of a video."""
    number = _frame(request)
    return _picture(request, lambda photo: session_of(request).frame(photo, number))


@get
def moments(request: Request) -> Response:
    """Return where in a video its tags are."""
    parameters(request, ())
    return json_answer(session_of(request).moments(_id(request, "id")))


@get
def video(request: Request) -> Response:
    """Return a part of a video that browsers can play."""
    parameters(request, ("v",))
    try:
        path, media_type = session_of(request).video(_id(request, "id"))
        return video_answer(path, media_type, request.headers.get("range"))
    except PhotosError as error:
        return error_answer(str(error), 404)


@get
def photo(request: Request) -> Response:
    """Return all that is known of a photo."""
    parameters(request, ())
    return json_answer(session_of(request).photo(_id(request, "id")))


@get
def why(request: Request) -> Response:
    """Return what speaks for a tag on a photo."""
    parameters(request, ())
    return json_answer(session_of(request).why(_id(request, "id"), _id(request, "tag")))


@get
def teach(request: Request) -> Response:
    """Return photos to label next."""
    given = parameters(request, ("tag", "n"))
    tag = whole_number(given["tag"], "tag") if "tag" in given else None
    return json_answer(session_of(request).teach(tag, whole_number(given.get("n", "50"), "n", most=1_000)))


def _ranked(request: Request, query: PhotoQuery) -> Response:
    found = session_of(request).ranking(query)
    return Response(ranking_body(found, query.sort), media_type="application/octet-stream")


def _query(given: dict[str, str]) -> PhotoQuery:
    words = tuple(text(given["q"]).split()) if "q" in given else ()
    if len(words) > N_WORDS:
        raise RequestError(f"expected at most {N_WORDS} words to search for")
    options: dict[str, Any] = {name: whole_number(given[name], name) for name in ("tag", "similar") if name in given}
    options |= {name: given[name] for name in ("sort", "state", "folder", "since", "until") if name in given}
    return PhotoQuery(words=words, stacks=choice(given.get("stacks", "0"), "stacks", ("0", "1")) == "1", **options)


def _picture(request: Request, make: Any) -> Response:
    version = parameters(request, ("v",)).get("v")
    photos, number = session_of(request).photos, _id(request, "id")
    try:
        picture = make(number)
    except PhotosError as error:
        return error_answer(str(error), 404)
    # Only an address that names this very content may be kept for good.
    return picture_answer(picture, keep=bool(version) and photos.hashes[photos.row(number)].startswith(version or "-"))


def _frame(request: Request) -> int:
    number = int(request.path_params["frame"])
    if number >= MOST_KEYFRAMES:
        raise RequestError("there is no such key frame", 404)
    return number


def _id(request: Request, name: str) -> int:
    try:
        return whole_number(request.path_params[name], name)
    except RequestError:
        raise RequestError(f"there is no such {'tag' if name == 'tag' else 'photo'}", 404) from None


async def events(request: Request) -> Response:
    """Send events until the page or the server goes away."""
    # A browser sends no headers of ours with this request: the project is a parameter.
    check_project(request, parameters(request, ("project",)).get("project"))
    last = request.headers.get("last-event-id")
    stream = _stream(session_of(request).events, last[:_LONGEST_ID] if last else None)
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


ROUTES = [
    Route("/api/project", project),
    Route("/api/progress", progress),
    Route("/api/history", history),
    Route("/api/write/plan", write_plan),
    Route("/api/thresholds", thresholds),
    Route("/api/threshold", set_threshold, methods=["POST"]),
    Route("/api/decide", decide, methods=["POST"]),
    Route("/api/tags", add_tag, methods=["POST"]),
    Route("/api/tags/{id:int}", change_tag, methods=["POST"]),
    Route("/api/undo", undo, methods=["POST"]),
    Route("/api/redo", redo, methods=["POST"]),
    Route("/api/jobs", jobs, methods=["GET", "POST"]),
    Route("/api/jobs/{id:int}/cancel", cancel_job, methods=["POST"]),
    Route("/api/ranking", ranking),
    Route("/api/lens/{tag:int}", lens),
    Route("/api/cells", cells),
    Route("/api/photo/{id:int}", photo),
    Route("/api/photo/{id:int}/why/{tag:int}", why),
    Route("/api/teach", teach),
    Route("/thumb/{id:int}", thumb),
    Route("/frame/{id:int}/{frame:int}", frame),
    Route("/video/{id:int}", video),
    Route("/api/photo/{id:int}/moments", moments),
    Route("/large/{id:int}", get(large, limiter=CapacityLimiter(N_DECODED))),
    Route("/api/events", events),
]
