"""Routes about the project: overview, decisions, tags, history, jobs."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tagloom.review.jobs import JOB_KINDS
from tagloom.web.answers import RequestError, json_answer
from tagloom.web.requests import (
    Body,
    choice,
    get,
    id_list,
    identity_of,
    parameters,
    post,
    session_of,
    text,
    whole_number,
)

__all__ = ["ROUTES"]

N_PHOTOS = 10_000
N_DECIDED = 100_000
N_TAGS = 100
N_HISTORY = 1_000
N_PLANNED = 2_000
LONGEST_KEY = 64
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
]
