"""What a request says, believed only as far as it makes sense, and how it is answered."""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from tagloom.catalog import UnknownPhotoError, project_identity
from tagloom.exceptions import StoreBusyError, StoreError, TagloomError, WriteError
from tagloom.review import NothingToUndoError, ReviewSession, UnknownTagError
from tagloom.store import as_stored

__all__ = [
    "LONGEST_BODY",
    "PROJECT_HEADER",
    "RequestError",
    "check_project",
    "choice",
    "error_answer",
    "get",
    "id_list",
    "identity_of",
    "json_answer",
    "parameters",
    "picture_answer",
    "post",
    "refused",
    "session_of",
    "text",
    "whole_number",
]

LONGEST_BODY = 1 << 20
PROJECT_HEADER = "X-Tagloom-Project"
LARGEST = 2**31 - 1
LONGEST_TEXT = 1_000
_N_DIGITS = 10
#: The same request may succeed later: the page keeps a decision that is answered so, and sends it again.
BUSY, NO_ROOM = 503, 507
KEPT_FOR_GOOD = "private, max-age=31536000, immutable"

Body = dict[str, Any]
Endpoint = Callable[[Request], Awaitable[Response]]


def session_of(request: Request) -> ReviewSession:
    """Return the review that a request is about."""
    session: ReviewSession = request.app.state.session
    return session


def identity_of(request: Request) -> str:
    """Return what tells the project that is reviewed here from others (see `project_identity`)."""
    state = request.app.state
    if not hasattr(state, "identity"):
        state.identity = project_identity(session_of(request).project.store)
    identity: str = state.identity
    return identity


def check_project(request: Request, named: str | None = None) -> None:
    """Refuse a request of a page that belongs to another project than the one that is reviewed here now.

    Tabs outlive the server: what one of them kept while the server was away must not reach whatever comes next at this
    port. A request that names no project is no page's, and is let through.

    Parameters
    ----------
    request : Request
        The request; a page names its project in the header `PROJECT_HEADER`.
    named : str, optional
        The project, where a header cannot be sent.
    """
    named = request.headers.get(PROJECT_HEADER) if named is None else named
    if named is not None and named != identity_of(request):
        name = session_of(request).project.root.name
        shown = name.encode("utf-8", errors="replace").decode("utf-8")
        raise RequestError(f"another project is reviewed here now ({shown}); this page belongs to an earlier one", 412)


def get(work: Callable[[Request], Response], *, limiter: CapacityLimiter | None = None) -> Endpoint:
    """Make a route of a function that reads: it runs in a thread.

    Parameters
    ----------
    work : callable
        Answers a request.
    limiter : CapacityLimiter, optional
        Of slow answers: how many may be under way, so that threads are left for the quick ones.
    """

    async def endpoint(request: Request) -> Response:
        check_project(request)
        return await to_thread.run_sync(_answered, work, request, limiter=limiter)

    endpoint.__name__ = work.__name__
    return endpoint


def post(*fields: str) -> Callable[[Callable[[Request, Body], Response]], Endpoint]:
    """Make a route of a function that changes something: it gets the body and runs in a thread.

    Parameters
    ----------
    *fields : str
        What the body may hold.
    """

    def decorate(work: Callable[[Request, Body], Response]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            parameters(request, ())
            check_project(request)
            body = await _body(request)
            unknown = sorted(set(body) - set(fields))
            if unknown:
                raise RequestError(
                    f"there is no field {text(unknown[0])!r} here; there is {', '.join(fields) or 'none'}"
                )
            return await to_thread.run_sync(_answered, work, request, body)

        endpoint.__name__ = work.__name__
        return endpoint

    return decorate


def _answered(work: Callable[..., Response], request: Request, *body: Body) -> Response:
    """Answer a request; a stranger's project is called damaged if what is stored in it is not what is expected."""
    try:
        return work(request, *body)
    except TagloomError:
        raise
    except Exception:
        if session_of(request).project.is_trusted:
            raise
        with as_stored("its photos and what was learned of them"):
            raise


def parameters(request: Request, known: Collection[str]) -> dict[str, str]:
    """Return the parameters of an address, each known and given once."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise RequestError(f"there is no parameter {unknown[0][:40]!r}; there is {', '.join(known) or 'none'}")
    if len(pairs) != len(found):
        raise RequestError("a parameter is given twice")
    for value in found.values():
        text(value, longest=LARGEST)
    return found


def whole_number(value: Any, what: str, *, least: int = 1, most: int = LARGEST) -> int:
    """Return a whole number, from text or from JSON."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _N_DIGITS:
        value = int(value)
    if type(value) is not int or not least <= value <= most:
        raise RequestError(f"{what} must be a whole number from {least} to {most}")
    return value


def id_list(value: Any, what: str, *, most: int) -> list[int]:
    """Return ids, from a text with commas or from JSON."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list) or not 1 <= len(items) <= most:
        raise RequestError(f"{what} must be from 1 to {most} ids")
    return [whole_number(item, what) for item in items]


def text(value: Any, *, longest: int = LONGEST_TEXT) -> str:
    """Return text that a file can hold."""
    if not isinstance(value, str) or len(value) > longest:
        raise RequestError(f"expected text of at most {longest} characters")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise RequestError("the text holds half a character (a lone surrogate)") from None
    return value


def choice(value: Any, what: str, known: Collection[Any]) -> Any:
    """Return one of several values; true is not 1 here."""
    if not any(type(value) is type(item) and value == item for item in known):
        raise RequestError(f"{what} must be one of {', '.join(map(str, known))}")
    return value


async def _body(request: Request) -> Body:
    data = bytearray()
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > LONGEST_BODY:
                raise RequestError(f"the body is longer than {LONGEST_BODY} bytes", 413)
    except ClientDisconnect:
        raise RequestError("the body ended early") from None
    try:
        body = json.loads(bytes(data).decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise RequestError("the body is not JSON") from None
    if not isinstance(body, dict):
        raise RequestError("the body must be a JSON object")
    return body


def _no_number(name: str) -> Any:
    raise ValueError(name)


class RequestError(TagloomError):
    """A request that makes no sense; the status says how."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


def json_answer(value: Mapping[str, Any], status: int = 200) -> Response:
    """Return JSON as plain ASCII, so that no text from a photo or a tag can be anything but text."""
    body = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return Response(body, status, media_type="application/json")


def error_answer(message: str, status: int) -> Response:
    """Return a sentence that says what is wrong."""
    return json_answer({"error": message}, status)


def picture_answer(picture: bytes, *, keep: bool) -> Response:
    """Return a picture; it is WebP made here, and said to be nothing else."""
    headers = {"Cache-Control": KEPT_FOR_GOOD} if keep else {}
    return Response(picture, media_type="image/webp", headers=headers)


def refused(error: TagloomError) -> Response:
    """Return the answer to a request that a verb refused."""
    if isinstance(error, RequestError):
        status = error.status
    elif isinstance(error, UnknownPhotoError | UnknownTagError):
        status = 404
    elif isinstance(error, StoreBusyError):
        status = BUSY
    elif isinstance(error, WriteError):
        status = NO_ROOM
    elif isinstance(error, NothingToUndoError | StoreError):
        status = 409
    else:
        status = 400
    return error_answer(getattr(error, "strerror", None) or str(error), status)
