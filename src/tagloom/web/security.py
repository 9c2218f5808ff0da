"""Who may speak to the server: the browser that was let in with one of this start's tokens, and users with their own.

Every web site that the user visits can send requests to 127.0.0.1. So each request must name this server as its Host
(which a rebound name does not), must come from this page (Origin, Sec-Fetch-Site), and must carry a cookie that no
other site can send (SameSite=Strict) or read (HttpOnly), or the token of a user in a header, which no other site knows.
All of it is checked here, before any route is looked up. What a user may do is the operation's to check.
"""

import hashlib
import hmac
import logging
import re
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagloom.catalog.users import User, UserBook
from tagloom.exceptions import TagloomError
from tagloom.web.entry import EntryTokens
from tagloom.web.http import error_answer, refused
from tagloom.web.openapi import HEALTH
from tagloom.web.operations import API, USER

__all__ = ["CONTENT_POLICY", "LONGEST_QUERY", "SECURITY_HEADERS", "Guard"]

logger = logging.getLogger(__name__)

LONGEST_QUERY = 8 << 10
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
POLICY = "Content-Security-Policy"
SECURITY_HEADERS: Mapping[str, str] = {
    POLICY: CONTENT_POLICY,
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
_LOGIN_PAGE = (
    f"{_HEAD}<h1>tagloom</h1><form method='post' action='/'><label>Your token: "
    "<input type='password' name='token' autocomplete='off' required></label> <button>Open the project</button></form>"
    "<p>Whoever serves this project makes one: <code>tagloom serve user add NAME --role labeller</code>"
)
_LOGIN_POLICY = CONTENT_POLICY.replace("form-action 'none'", "form-action 'self'")
_LONGEST_LOGIN = 1_000
_MOST_ENTERED = 1_000
# The strict cookie does not come with a redirect that another place began: this page begins a new request.
_ENTERED_PAGE = f"{_HEAD}<meta http-equiv='refresh' content='0; url=/'><p><a href='/'>Open the review page</a>"


class Guard:
    """Middleware that lets through what comes from the page or with a user's token, and adds the security headers.

    Parameters
    ----------
    app : ASGI application
        What is guarded.
    tokens : EntryTokens
        Each is exchanged for the owner's cookie once, at ``/?token=``.
    addresses : mapping of str to str
        The names that requests may give as Host, as ``name:port``, and the scheme of pages there.
    port : int
        The port, for the name of the cookie.
    owner : User
        Whoever started the server.
    users : UserBook, optional
        Users with tokens of their own; default: there are none.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        tokens: EntryTokens,
        addresses: Mapping[str, str],
        port: int,
        owner: User,
        users: UserBook | None = None,
    ) -> None:
        self._app = app
        self._tokens = tokens
        self._addresses = addresses
        self._owner = owner
        self._users = users
        self._secret = secrets.token_urlsafe(32)
        #: Browsers that came in with a user's token, by the hash of their cookie: whose, and the hash of the token.
        self._entered: OrderedDict[str, tuple[str, str]] = OrderedDict()
        # Browsers share cookies between the ports of a host: reviews of two projects must not take each other's.
        self.cookie = f"tagloom_{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # there are no sockets here: an attempt to open one is not even answered
        is_started = False
        scope["path"] = _versioned(scope["path"])

        async def send_guarded(message: Message) -> None:
            nonlocal is_started
            if message["type"] == "http.response.start":
                is_started = True
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    if name != POLICY or name not in headers:  # the page that takes a token has a form
                        headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            answer = self._refusal(scope) or await self._login(scope, receive)
            await (answer or self._app)(scope, receive, send_guarded)
        except TagloomError as error:  # the file of users cannot be read
            await refused(error)(scope, receive, send_guarded)
        except Exception:
            logger.exception("%s %s failed", scope["method"], scope["path"])
            if is_started:
                raise
            await error_answer("something went wrong here; the log says what", 500)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that goes no further, or None."""
        headers, method = Headers(scope=scope), scope["method"]
        host = headers.get("host", "").lower()
        if len(headers.getlist("host")) != 1 or host not in self._addresses:
            return error_answer("this server has another name", 421)
        token = _entry_token(scope, headers)
        has_bearer = "authorization" in headers
        refused = self._wrong_origin(headers, method, host, may_enter=token is not None, is_script=has_bearer)
        if refused is not None:
            return refused
        if len(scope["query_string"]) > LONGEST_QUERY:
            return error_answer(f"the address is longer than {LONGEST_QUERY} bytes", 414)
        if scope["path"] == API + HEALTH and method in _READING:
            scope[USER] = User("", "reader")
            return None
        if token is not None:
            return self._enter(token, headers, host)
        user = self._bearer(headers) if has_bearer else self._visitor(headers)
        if user is None:
            return self._closed(scope, headers, has_bearer=has_bearer)
        scope[USER] = user
        return None

    def _closed(self, scope: Scope, headers: Headers, *, has_bearer: bool) -> Response | None:
        """Return what somebody gets who has nothing that lets them in; None: they are just entering a token."""
        if has_bearer:
            answer = error_answer("this token is nobody's; make one: tagloom serve user add NAME --role labeller", 401)
            answer.headers["WWW-Authenticate"] = "Bearer"
            return answer
        if self._users is not None and _is_login(scope, headers):
            return None
        is_page = headers.get("sec-fetch-mode", "navigate") == "navigate" and not scope["path"].startswith("/api/")
        if not is_page:
            return error_answer("open the page with its token first", 403)
        if self._users is None:
            return HTMLResponse(_CLOSED_PAGE, 403)
        return HTMLResponse(_LOGIN_PAGE, 403, headers={POLICY: _LOGIN_POLICY})

    async def _login(self, scope: Scope, receive: Receive) -> Response | None:
        """Exchange the token that somebody typed for a cookie of theirs."""
        headers = Headers(scope=scope)
        if self._users is None or "authorization" in headers or not _is_login(scope, headers):
            return None
        data = bytearray()
        async for chunk in Request(scope, receive).stream():
            data += chunk
            if len(data) > _LONGEST_LOGIN:
                return error_answer(f"the body is longer than {_LONGEST_LOGIN} bytes", 413)
        given = parse_qs(data.decode("latin-1")).get("token", [""])
        user = self._users.find(given[0].strip()) if len(given) == 1 else None
        if user is None:
            return HTMLResponse(_LOGIN_PAGE, 403, headers={POLICY: _LOGIN_POLICY})
        secret = secrets.token_urlsafe(32)
        self._entered[_hash(secret)] = (user.name, self._users.token_hash(user.name))
        while len(self._entered) > _MOST_ENTERED:
            self._entered.popitem(last=False)
        return self._let_in(RedirectResponse("/", 303), secret, headers.get("host", "").lower())

    def _wrong_origin(
        self, headers: Headers, method: str, host: str, *, may_enter: bool, is_script: bool
    ) -> Response | None:
        origins = headers.getlist("origin")
        if any(origin != f"{self._addresses[host]}://{host}" for origin in origins) or len(origins) > 1:
            return error_answer("requests from other pages are refused", 403)
        # No page can send a token that it does not know; what comes without an origin and with one is a program.
        if method not in _READING and not origins and not is_script:
            return error_answer("a change must say which page it comes from (Origin)", 403)
        site = headers.get("sec-fetch-site")
        is_navigation = method in _READING and headers.get("sec-fetch-mode") == "navigate"
        # The file that opens the browser is another site, and brings a token: whoever knows one may come from anywhere.
        if site not in (None, "same-origin") and not (is_navigation and (site == "none" or may_enter)):
            return error_answer("requests from other sites are refused", 403)
        return None

    def _enter(self, token: str, headers: Headers, host: str) -> Response:
        """Exchange a token for the cookie; a browser that has it already goes on with a spent token, too."""
        is_foreign = headers.get("sec-fetch-site") not in (None, "none", "same-origin")
        if not self._tokens.spend(token):
            if self._visitor(headers) is not None:
                return RedirectResponse("/", 303)
            return HTMLResponse(_CLOSED_PAGE, 403)
        answer = HTMLResponse(_ENTERED_PAGE) if is_foreign else RedirectResponse("/", 303)
        return self._let_in(answer, self._secret, host)

    def _let_in(self, answer: Response, secret: str, host: str) -> Response:
        is_secure = self._addresses[host] == "https"
        answer.set_cookie(self.cookie, secret, path="/", httponly=True, samesite="strict", secure=is_secure)
        return answer

    def _visitor(self, headers: Headers) -> User | None:
        """Return whose cookie a request has; None: nobody's."""
        given = cookie_parser(headers.get("cookie", "")).get(self.cookie, "")
        if hmac.compare_digest(given.encode(), self._secret.encode()):
            return self._owner
        entered = self._entered.get(_hash(given))
        return None if entered is None or self._users is None else self._users.current(*entered)

    def _bearer(self, headers: Headers) -> User | None:
        """Return whose token a request has in its header; None: nobody's."""
        given = headers.getlist("authorization")
        scheme, _, token = given[0].partition(" ")
        if self._users is None or len(given) != 1 or scheme.lower() != "bearer":
            return None
        return self._users.find(token.strip())


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", errors="replace")).hexdigest()


def _versioned(path: str) -> str:
    """Return the path of an operation for one of before the API had a version: tabs outlive the server."""
    picture = re.fullmatch(r"/(thumb|large|frame|video)/(\d+)(/\d+)?", path, re.ASCII)
    if picture:
        return f"{API}/photo/{picture[2]}/{picture[1]}{picture[3] or ''}"
    is_old = path.startswith("/api/") and not path.startswith("/api/v")
    return API + path.removeprefix("/api") if is_old else path


def _is_login(scope: Scope, headers: Headers) -> bool:
    """Tell whether a request is the form with which a token is entered."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    return (scope["method"], scope["path"], kind) == ("POST", "/", "application/x-www-form-urlencoded")


def _entry_token(scope: Scope, headers: Headers) -> str | None:
    """Return the token of a request that asks to be let in; a part of a page, or a preview, cannot."""
    if (scope["method"], scope["path"]) != ("GET", "/") or len(scope["query_string"]) > LONGEST_QUERY:
        return None
    given = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get("token")
    if given is None or headers.get("sec-fetch-dest", "document") != "document":
        return None
    return given[0] if len(given) == 1 else ""
