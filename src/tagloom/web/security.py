"""Who may speak to the review page: nobody but the browser that was let in with one of this start's tokens.

Every web site that the user visits can send requests to 127.0.0.1. So each request must name this server as its Host
(which a rebound name does not), must come from this page (Origin, Sec-Fetch-Site), and must carry a cookie that no
other site can send (SameSite=Strict) or read (HttpOnly). All of it is checked here, before any route is looked up.
"""

import hmac
import logging
import secrets
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagloom.web.entry import EntryTokens
from tagloom.web.http import LONGEST_BODY, error_answer

__all__ = ["CONTENT_POLICY", "LONGEST_QUERY", "SECURITY_HEADERS", "Guard"]

logger = logging.getLogger(__name__)

LONGEST_QUERY = 8 << 10
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
_READING = ("GET", "HEAD")
_HEAD = "<!doctype html><html lang='en'><meta charset='utf-8'><title>tagloom</title>"
_CLOSED_PAGE = (
    f"{_HEAD}<p>This page belongs to a running <code>tagloom review</code>. Open the address that it printed. "
    "It lets one browser in once: for another browser, end the review with Ctrl-C and run it again."
)
# The strict cookie does not come with a redirect that another place began: this page begins a new request.
_ENTERED_PAGE = f"{_HEAD}<meta http-equiv='refresh' content='0; url=/'><p><a href='/'>Open the review page</a>"


class Guard:
    """Middleware that lets through what comes from the page, and adds the security headers to every answer.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    tokens : EntryTokens
        Each is exchanged for the cookie once, at ``/?token=``.
    host : str
        The address that the server listens on; ``localhost`` is accepted beside it.
    port : int
        The port.
    """

    def __init__(self, app: ASGIApp, *, tokens: EntryTokens, host: str, port: int) -> None:
        self._app = app
        self._tokens = tokens
        self._hosts = {f"{name}:{port}" for name in (host, "localhost")}
        self._secret = secrets.token_urlsafe(32)
        # Browsers share cookies between the ports of a host: reviews of two projects must not take each other's.
        self.cookie = f"tagloom_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no sockets here: an attempt to open one is not even answered
        is_started = False

        async def send_guarded(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._refusal(scope)
        try:
            await (answer or self._app)(scope, receive, send_guarded)
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            if is_started:
                raise
            await error_answer("something went wrong here; the log says what", 500)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that goes no further, or None."""
        headers, method = Headers(scope=scope), scope["method"]
        host = headers.get("host", "").lower()
        if len(headers.getlist("host")) != 1 or host not in self._hosts:
            return error_answer("this server has another name", 421)
        token = _entry_token(scope, headers)
        refused = self._wrong_origin(headers, method, host, may_enter=token is not None)
        if refused is not None:
            return refused
        if len(scope["query_string"]) > LONGEST_QUERY:
            return error_answer(f"the address is longer than {LONGEST_QUERY} bytes", 414)
        if token is not None:
            return self._enter(token, headers)
        if not self._has_cookie(headers):
            is_page = headers.get("sec-fetch-mode", "navigate") == "navigate" and not scope["path"].startswith("/api/")
            return (
                HTMLResponse(_CLOSED_PAGE, 403) if is_page else error_answer("open the page with its token first", 403)
            )
        return None if method in _READING else _wrong_body(headers)

    def _wrong_origin(self, headers: Headers, method: str, host: str, *, may_enter: bool) -> Response | None:
        origins = headers.getlist("origin")
        if any(origin != f"http://{host}" for origin in origins) or len(origins) > 1:
            return error_answer("requests from other pages are refused", 403)
        if method not in _READING and not origins:
            return error_answer("a change must say which page it comes from (Origin)", 403)
        site = headers.get("sec-fetch-site")
        is_navigation = method in _READING and headers.get("sec-fetch-mode") == "navigate"
        # The file that opens the browser is another site, and brings a token: whoever knows one may come from anywhere.
        if site not in (None, "same-origin") and not (is_navigation and (site == "none" or may_enter)):
            return error_answer("requests from other sites are refused", 403)
        return None

    def _enter(self, token: str, headers: Headers) -> Response:
        """Exchange a token for the cookie; a browser that has it already goes on with a spent token, too."""
        is_foreign = headers.get("sec-fetch-site") not in (None, "none", "same-origin")
        if not self._tokens.spend(token):
            return RedirectResponse("/", 303) if self._has_cookie(headers) else HTMLResponse(_CLOSED_PAGE, 403)
        answer = HTMLResponse(_ENTERED_PAGE) if is_foreign else RedirectResponse("/", 303)
        answer.set_cookie(self.cookie, self._secret, path="/", httponly=True, samesite="strict")
        return answer

    def _has_cookie(self, headers: Headers) -> bool:
        given = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        return hmac.compare_digest(given.encode(), self._secret.encode())


def _entry_token(scope: Scope, headers: Headers) -> str | None:
    """Return the token of a request that asks to be let in; a part of a page, or a preview, cannot."""
    if (scope["method"], scope["path"]) != ("GET", "/") or len(scope["query_string"]) > LONGEST_QUERY:
        return None
    given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("token")
    if given is None or headers.get("sec-fetch-dest", "document") != "document":
        return None
    return given[0] if len(given) == 1 else ""


def _wrong_body(headers: Headers) -> Response | None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        return error_answer("expected a body of type application/json", 415)
    length = headers.get("content-length", "0")
    if not length.isascii() or not length.isdigit():
        return error_answer("the length of the body makes no sense", 400)
    # Compared by digits first: a number of a million digits is no number to work with.
    if len(length) > len(str(LONGEST_BODY)) or int(length) > LONGEST_BODY:
        return error_answer(f"the body is longer than {LONGEST_BODY} bytes", 413)
    return None
