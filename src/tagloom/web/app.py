"""The review page as an application, and its files: read once at the start, what is not in the table does not exist."""

import html
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tagloom._version import __version__
from tagloom.catalog.users import User, UserBook
from tagloom.exceptions import InvalidInputError, TagloomError
from tagloom.review import ReviewSession
from tagloom.web.entry import EntryTokens
from tagloom.web.http import error_answer, refused
from tagloom.web.routes import OPERATIONS
from tagloom.web.security import Guard

__all__ = [
    "SHELL",
    "StaticFile",
    "load_static",
    "make_app",
    "shell_page",
]

SHELL = "index.html"
_KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file of the page: its bytes and its fixed type."""

    data: bytes
    kind: str


def load_static() -> dict[str, StaticFile]:
    """Return all files of the page by their path below ``static``; files of other types are left out."""
    return dict(_walk(files("tagloom.web") / "static", ""))


def shell_page(static: Mapping[str, StaticFile], values: Mapping[str, str]) -> bytes:
    """Return the shell with ``{{name}}`` replaced by escaped text."""
    page = static[SHELL].data.decode("utf-8") if SHELL in static else "<!doctype html><title>tagloom</title>"
    for name, value in values.items():
        page = page.replace("{{" + name + "}}", html.escape(value, quote=True))
    return page.encode("utf-8", errors="replace")


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, StaticFile]]:
    found: list[tuple[str, StaticFile]] = []
    for entry in sorted(folder.iterdir(), key=lambda item: item.name) if folder.is_dir() else ():
        name, suffix = f"{prefix}{entry.name}", "." + entry.name.rpartition(".")[2]
        if entry.is_dir():
            found += _walk(entry, f"{name}/")
        elif suffix in _KINDS:
            found.append((name, StaticFile(entry.read_bytes(), _KINDS[suffix])))
    return found


_PAGES = ("/", "/photo/{id:int}", "/tag/{id:int}", "/lens", "/teach", "/history", "/write")

Endpoint = Callable[[Request], Awaitable[Response]]


def make_app(
    session: ReviewSession,
    *,
    tokens: EntryTokens,
    host: str,
    port: int,
    scheme: str = "http",
    names: Iterable[str] = (),
    users: UserBook | None = None,
) -> Starlette:
    """Return the application.

    Parameters
    ----------
    session : ReviewSession
        What the page is about; it stays the caller's to close.
    tokens : EntryTokens
        Those that let a browser in.
    host, port : str, int
        Where the server listens: requests to any other name are refused.
    scheme : {"http", "https"}
        How it is spoken to.
    names : iterable of str
        Other addresses of it, as ``https://photos.example.org``: those of a machine, a proxy or a forwarded port.
    users : UserBook, optional
        Users with tokens of their own; default: there are none.
    """
    static = load_static()
    values = {"name": session.project.root.name, "version": __version__}
    shell = _shell(shell_page(static, values))
    app = Starlette(
        routes=[
            *(Route(path, shell) for path in _PAGES),
            Route("/static/{path:path}", _static(static)),
            *OPERATIONS.routes(),
        ],
        middleware=[
            Middleware(
                Guard,
                tokens=tokens,
                addresses=_addresses(host, port, scheme, names),
                port=port,
                owner=User(session.who, "owner", is_named=False),
                users=users,
            )
        ],
        exception_handlers={TagloomError: _refused, HTTPException: _http_error},
    )
    app.router.redirect_slashes = False
    app.state.session = session
    return app


def _addresses(host: str, port: int, scheme: str, names: Iterable[str]) -> dict[str, str]:
    """Return the names of the server as requests spell them, each with its scheme."""
    own = f"[{host}]" if ":" in host else host
    found = {f"{name}:{port}": scheme for name in (own, "localhost", "127.0.0.1")}
    usual = {"http": 80, "https": 443}
    for name in names:
        parts = urlsplit(name if "://" in name else f"{scheme}://{name}")
        try:
            is_fit = parts.scheme in usual and bool(parts.hostname) and parts.path in ("", "/") and "@" not in name
            number = parts.port
        except ValueError:
            is_fit, number = False, None
        if not is_fit:
            raise InvalidInputError(f"expected an address such as https://photos.example.org, got {name!r}")
        found[parts.netloc.lower()] = parts.scheme
        if number is None:
            # A name alone means the port of the server, too.
            found.setdefault(f"{parts.netloc.lower()}:{usual[parts.scheme] if '://' in name else port}", parts.scheme)
    return found


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
