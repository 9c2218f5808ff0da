"""The review page as an application."""

from collections.abc import Awaitable, Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tagloom._version import __version__
from tagloom.exceptions import TagloomError
from tagloom.review import ReviewSession
from tagloom.web.entry import EntryTokens
from tagloom.web.http import error_answer, refused
from tagloom.web.routes import ROUTES
from tagloom.web.security import Guard
from tagloom.web.static_files import StaticFile, load_static, shell_page

__all__ = ["make_app"]

_PAGES = ("/", "/photo/{id:int}", "/tag/{id:int}", "/lens", "/teach", "/history", "/write")

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(session: ReviewSession, *, tokens: EntryTokens, host: str, port: int) -> Starlette:
    """Return the application.

    Parameters
    ----------
    session : ReviewSession
        What the page is about; it stays the caller's to close.
    tokens : EntryTokens
        Those that let a browser in.
    host, port : str, int
        Where the server listens: requests to any other name are refused.
    """
    static = load_static()
    values = {"name": session.project.root.name, "version": __version__}
    shell = _shell(shell_page(static, values))
    app = Starlette(
        routes=[
            *(Route(path, shell) for path in _PAGES),
            Route("/static/{path:path}", _static(static)),
            *ROUTES,
        ],
        middleware=[Middleware(Guard, tokens=tokens, host=host, port=port)],
        exception_handlers={TagloomError: _refused, HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    app.state.session = session
    return app


def _shell(page: bytes) -> Endpoint:
    async def shell(request: Request) -> Response:  # noqa: ARG001
        return Response(page, media_type="text/html")

    return shell


def _static(static: dict[str, StaticFile]) -> Endpoint:
    async def static_file(request: Request) -> Response:
        found = static.get(request.path_params["path"])
        if found is None:
            return error_answer("there is no such file", 404)
        return Response(found.data, headers={"Content-Type": found.kind, "Cache-Control": "no-cache"})

    return static_file


async def _refused(request: Request, error: Exception) -> Response:  # noqa: ARG001
    if not isinstance(error, TagloomError):
        raise error
    return refused(error)


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    sentences = {404: "there is nothing at this address", 405: f"{request.method} is not understood here"}
    answer = error_answer(sentences.get(error.status_code, error.detail), error.status_code)
    answer.headers.update(error.headers or {})
    return answer
