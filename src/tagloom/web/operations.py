"""What the HTTP API can do: a table of operations, each with its role, its fields and the shape of its answer.

Routes, checks of requests, refusals by role, the OpenAPI schema and the reference page are all made from this table.
"""

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from anyio import CapacityLimiter, to_thread
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tagloom.catalog import project_identity
from tagloom.catalog.users import ROLES, Role, User
from tagloom.exceptions import TagloomError
from tagloom.review import ReviewSession
from tagloom.store import as_stored
from tagloom.web.fields import LARGEST, Field, RequestError
from tagloom.web.http import LONGEST_BODY, json_answer

__all__ = [
    "API",
    "PROJECT_HEADER",
    "USER",
    "Call",
    "Operation",
    "Operations",
    "check_project",
    "identity_of",
    "may",
    "query_of",
    "session_of",
]

#: Where all operations are; another version of the API would have another number.
API = "/api/v1"
PROJECT_HEADER = "X-Tagloom-Project"
#: Under this name the guard leaves who asks.
USER = "tagloom.user"

Endpoint = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Call:
    """One request that was let in: by whom, and the review that it is about."""

    request: Request
    session: ReviewSession
    user: User

    @property
    def who(self) -> str | None:
        """For the history; None: who the session belongs to."""
        return self.user.name if self.user.is_named else None

    @property
    def is_owner(self) -> bool:
        """Whether everything may be done, also to what others did."""
        return self.user.role == "owner"


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that the API can do.

    Parameters
    ----------
    path, method : str
        Where it is, below `API`.
    work : callable
        Gets the call and the fields by name; returns JSON or a response.
    answer : type or str
        The shape of the JSON, or the media type of anything else.
    role : {"reader", "labeller", "owner"}
        Who may ask for it, and all above.
    query, body : mapping of str to Field
        What a request may hold.
    one_of : bool
        Whether a body holds exactly one of its fields.
    limiter : CapacityLimiter, optional
        Of slow answers: how many may be under way, so that threads are left for the quick ones.
    """

    path: str
    method: str
    work: Callable[..., Any]
    answer: Any
    role: Role
    query: Mapping[str, Field] = field(default_factory=dict)
    body: Mapping[str, Field] | None = None
    one_of: bool = False
    limiter: CapacityLimiter | None = None

    @property
    def name(self) -> str:
        """The name of the operation."""
        return self.work.__name__

    @property
    def about(self) -> str:
        """What it does, in one line."""
        return (inspect.getdoc(self.work) or "").partition("\n")[0]

    async def endpoint(self, request: Request) -> Response:
        """Answer a request."""
        user: User = request.scope[USER]
        if self.body is not None:
            _check_body(request.headers)
        if not may(user.role, self.role):
            raise RequestError(
                f"{self.name.replace('_', ' ')} needs the role {self.role}; {user.name!r} is a {user.role}", 403
            )
        values = _path_values(request) | query_of(request, self.query)
        check_project(request)
        if self.body is not None:
            values |= self._read_body(await _body(request))
        call = Call(request, session_of(request), user)
        if inspect.iscoroutinefunction(self.work):
            found = await self.work(call, **values)
        else:
            found = await to_thread.run_sync(lambda: self._answered(call, values), limiter=self.limiter)
        return found if isinstance(found, Response) else json_answer(found)

    def _answered(self, call: Call, values: dict[str, Any]) -> Any:
        """Answer; a stranger's project is called damaged if what is stored in it is not what is expected."""
        try:
            return self.work(call, **values)
        except TagloomError:
            raise
        except Exception:
            if call.session.project.is_trusted:
                raise
            with as_stored("its photos and what was learned of them"):
                raise

    def _read_body(self, body: dict[str, Any]) -> dict[str, Any]:
        known = self.body or {}
        unknown = sorted(set(body) - set(known))
        if unknown:
            raise RequestError(f"there is no field {_short(unknown[0])} here; there is {', '.join(known) or 'none'}")
        if self.one_of and len(body) != 1:
            raise RequestError(f"expected exactly one of {', '.join(known)}")
        return _values(known, {name: known[name].read(value, name) for name, value in body.items()})


class Operations(list[Operation]):
    """The table."""

    def get(
        self,
        path: str,
        answer: Any,
        *,
        role: Role = "reader",
        query: Mapping[str, Field] | None = None,
        limiter: CapacityLimiter | None = None,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Enter what only reads."""
        return self._entered(path, "GET", answer, role, {"query": query or {}, "limiter": limiter})

    def post(
        self,
        path: str,
        answer: Any,
        *,
        role: Role,
        body: Mapping[str, Field] | None = None,
        one_of: bool = False,
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Enter what gets a body: it changes something, or reads by more than fits an address."""
        return self._entered(path, "POST", answer, role, {"body": body or {}, "one_of": one_of})

    def _entered(
        self, path: str, method: str, answer: Any, role: Role, options: dict[str, Any]
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def enter(work: Callable[..., Any]) -> Callable[..., Any]:
            self.append(Operation(path, method, work, answer, role, **options))
            return work

        return enter

    def routes(self) -> list[Route]:
        """Return a route for each path."""
        paths: dict[str, dict[str, Operation]] = {}
        for operation in self:
            paths.setdefault(operation.path, {})[operation.method] = operation
        return [Route(API + path, _endpoint(several), methods=list(several)) for path, several in paths.items()]


def may(role: Role, needed: Role) -> bool:
    """Tell whether a role includes another one."""
    return ROLES.index(role) >= ROLES.index(needed)


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


def query_of(request: Request, known: Mapping[str, Field]) -> dict[str, Any]:
    """Return the parameters of an address, each known and given once."""
    pairs = request.query_params.multi_items()
    found = dict(pairs)
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise RequestError(f"there is no parameter {_short(unknown[0])}; there is {', '.join(known) or 'none'}")
    if len(pairs) != len(found):
        raise RequestError("a parameter is given twice")
    return _values(known, {name: known[name].read_text(value, name) for name, value in found.items()})


def _values(known: Mapping[str, Field], given: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that were given, and the defaults of others."""
    missing = [name for name, one in known.items() if one.required and name not in given]
    if missing:
        raise RequestError(f"{missing[0]} is missing")
    return {name: one.default for name, one in known.items() if one.default is not None} | given


def _path_values(request: Request) -> dict[str, int]:
    values = dict(request.path_params)
    # Key frames of a video count from 0, all else from 1.
    if any(not (name != "frame") <= value <= LARGEST for name, value in values.items()):
        raise RequestError("nothing has this id", 404)
    return values


def _endpoint(several: Mapping[str, Operation]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        return await several["GET" if request.method == "HEAD" else request.method].endpoint(request)

    return endpoint


def _short(name: str) -> str:
    return repr(name[:40].encode("utf-8", errors="replace").decode("utf-8"))


async def _body(request: Request) -> dict[str, Any]:
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


def _check_body(headers: Headers) -> None:
    """Refuse a body that is not JSON: other pages can send other kinds without being asked."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RequestError("expected a body of type application/json", 415)
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        raise RequestError("the length of the body makes no sense")
    # Compared by digits first: a number of a million digits is no number to work with.
    if len(length) > len(str(LONGEST_BODY)) or int(length) > LONGEST_BODY:
        raise RequestError(f"the body is longer than {LONGEST_BODY} bytes", 413)
