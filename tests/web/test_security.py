"""Every route of the app, tried as an attacker would; a new route is covered by itself."""

import re

import pytest
from starlette.routing import Route

from tagloom.web.app import make_app
from tagloom.web.entry import EntryTokens
from tagloom.web.http import LONGEST_BODY
from tagloom.web.security import LONGEST_QUERY, SECURITY_HEADERS

HOST, PORT = "127.0.0.1", 8123
BASE = f"http://{HOST}:{PORT}"
ENDLESS = "/api/v1/events"  # it answers as long as one listens; its refusals are tested all the same
COOKIE = f"tagloom_{PORT}"


pytestmark = pytest.mark.medium


class _Nothing:
    """Stands for a session where routes are only listed."""

    who = "tester"

    class project:  # noqa: N801
        class root:  # noqa: N801
            name = "photos"


def _routes():
    app = make_app(_Nothing(), tokens=EntryTokens(), host=HOST, port=PORT)
    assert all(isinstance(route, Route) for route in app.routes), "a mount hides routes from this test"
    return [(method, route.path) for route in app.routes for method in sorted(route.methods - {"HEAD"})]


ROUTES = _routes()
#: The one route that tells anything to those without a token: that the server answers.
HEALTH = ("GET", "/api/v1/health")


@pytest.fixture
def client(shared_client):
    return shared_client


def _address(path, value="1"):
    return re.sub(r"{\w+(:\w+)?}", value, path)


def _send(client, method, path, value="1", **options):
    options.setdefault("json", {}) if method == "POST" else None
    return client.request(method, _address(path, value), **options)


def _check_headers(answer):
    for name, value in SECURITY_HEADERS.items():
        assert answer.headers[name] == value
    assert "access-control-allow-origin" not in answer.headers


def test_routes_are_found():
    assert ("POST", "/api/v1/decide") in ROUTES
    assert ("GET", "/api/v1/photo/{id:int}/thumb") in ROUTES
    assert len(ROUTES) > 30


@pytest.mark.parametrize(("method", "path"), ROUTES)
class TestEveryRoute:
    def test_without_cookie(self, stranger, method, path):
        answer = _send(stranger, method, path, headers={"Origin": BASE})
        assert answer.status_code == (200 if (method, path) == HEALTH else 403)
        _check_headers(answer)

    def test_wrong_cookie(self, stranger, method, path):
        for wrong in (stranger.tokens.issue(), "", "é"):
            cookie = f"{COOKIE}={wrong}".encode()
            answer = _send(stranger, method, path, headers={"Origin": BASE, "Cookie": cookie})
            assert answer.status_code == (200 if (method, path) == HEALTH else 403)

    def test_foreign_host(self, client, method, path):
        for host in ("evil.example:8123", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8123.evil.example"):
            answer = _send(client, method, path, headers={"Host": host, "Origin": f"http://{host}"})
            assert answer.status_code == 421
            _check_headers(answer)

    def test_foreign_origin(self, client, method, path):
        for origin in ("https://evil.example", "null", "", "http://127.0.0.1:9999", f"{BASE}/"):
            answer = _send(client, method, path, headers={"Origin": origin})
            assert answer.status_code == 403
            _check_headers(answer)

    def test_foreign_site(self, client, method, path):
        for site in ("cross-site", "same-site", "none", "nonsense"):
            answer = _send(client, method, path, headers={"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "cors"})
            assert answer.status_code == 403
            _check_headers(answer)

    def test_long_query(self, client, method, path):
        answer = _send(client, method, path, params={"q": "x" * LONGEST_QUERY})
        assert answer.status_code == 414

    def test_unknown_method(self, client, method, path):
        for other in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
            answer = client.request(other, _address(path), json={})
            assert answer.status_code == 405
            _check_headers(answer)


@pytest.mark.parametrize(("method", "path"), [item for item in ROUTES if item[1] != "/" and item != HEALTH])
def test_token_opens_no_route_but_the_first(stranger, method, path):
    answer = _send(stranger, method, path, params={"token": stranger.tokens.issue()}, headers={"Origin": BASE})
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(("method", "path"), [item for item in ROUTES if item[1] != ENDLESS])
def test_headers_of_an_answer(client, method, path):
    answer = _send(client, method, path)
    assert answer.status_code < 500
    _check_headers(answer)
    if path.startswith("/api"):
        assert answer.headers["Cache-Control"] == "no-store"


# The pages of the client's router are one and the same shell, whatever the id is.
WITH_ID = [item for item in ROUTES if "{" in item[1] and not item[1].startswith(("/photo", "/tag/"))]


@pytest.mark.parametrize(("method", "path"), WITH_ID)
def test_strange_ids(client, method, path):
    for value in ("0", "9" * 10, "9" * 400, "-1", "1.5", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%2e%2e", "%00", "١"):
        answer = _send(client, method, path, value)
        assert answer.status_code in (400, 404, 405)
        assert b"root:" not in answer.content
        _check_headers(answer)


@pytest.mark.parametrize("path", [path for method, path in ROUTES if method == "POST"])
class TestEveryChange:
    def test_needs_an_origin(self, client, path):
        request = client.build_request("POST", _address(path), json={})
        del request.headers["Origin"]
        assert client.send(request).status_code == 403

    def test_needs_json(self, client, path):
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = client.post(_address(path), content=b"{}", headers={"Content-Type": kind})
            assert answer.status_code == 415

    def test_large_body(self, client, path):
        body = b'{"text": "' + b"x" * LONGEST_BODY + b'"}'
        headers = {"Content-Type": "application/json"}
        assert client.post(_address(path), content=body, headers=headers).status_code == 413
        # Without a length said beforehand, counting has to find it.
        pieces = (body[start : start + 65_536] for start in range(0, len(body), 65_536))
        assert client.post(_address(path), content=pieces, headers=headers).status_code == 413

    def test_nonsense_body(self, client, path):
        for body in (b"", b"{", b"[]", b"1", b"null", b'{"a": NaN}', b"\xff", b"[" * 100_000, b'{"nobody": 1}'):
            answer = client.post(_address(path), content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 400
            assert answer.json()["error"]


TYPED = {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
FROM_A_FILE = TYPED | {"Sec-Fetch-Site": "cross-site"}


def test_token_gives_a_strict_cookie(stranger):
    token = stranger.tokens.issue()
    answer = stranger.get(f"/?token={token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    words = {word.strip().lower() for word in answer.headers["set-cookie"].split(";")}
    assert {"httponly", "samesite=strict", "path=/"} <= words
    assert token not in answer.headers["set-cookie"]
    assert stranger.get("/").status_code == 200


def test_a_token_works_once(stranger):
    token = stranger.tokens.issue()
    assert stranger.get(f"/?token={token}", headers=TYPED).status_code == 303
    # The browser that is in may use the address again; another one may not.
    assert stranger.get(f"/?token={token}", headers=TYPED).headers["location"] == "/"
    stranger.cookies.clear()
    answer = stranger.get(f"/?token={token}", headers=TYPED)
    assert answer.status_code == 403
    assert "tagloom review" in answer.text
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("query", ["token=", "token=wrong", "token=%00", "token=%ff", "token={0}&token={0}"])
@pytest.mark.parametrize("headers", [TYPED, FROM_A_FILE])
def test_wrong_token(stranger, query, headers):
    answer = stranger.get(f"/?{query.format(stranger.tokens.issue())}", headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def test_a_file_lets_the_browser_in_by_a_page(stranger):
    answer = stranger.get(f"/?token={stranger.tokens.issue()}", headers=FROM_A_FILE)
    # A redirect would go on as a request of another site, and the strict cookie would stay behind.
    assert answer.status_code == 200
    assert "url=/" in answer.text
    assert "samesite=strict" in answer.headers["set-cookie"].lower()
    _check_headers(answer)
    assert stranger.get("/", headers=TYPED | {"Sec-Fetch-Site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        FROM_A_FILE | {"Sec-Fetch-Dest": "iframe"},
        FROM_A_FILE | {"Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        FROM_A_FILE | {"Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"},
        FROM_A_FILE | {"Origin": "null"},
    ],
)
def test_only_a_new_page_spends_a_token(stranger, headers):
    token = stranger.tokens.issue()
    assert stranger.get(f"/?token={token}", headers=headers).status_code == 403
    assert stranger.head(f"/?token={token}").status_code == 403
    assert stranger.post(f"/?token={token}", json={}, headers={"Origin": BASE}).status_code == 403
    assert stranger.get(f"/?token={token}", headers=FROM_A_FILE).status_code == 200


def test_a_site_gets_nowhere_without_a_token(client):
    assert client.get("/", headers=FROM_A_FILE).status_code == 403
    assert client.get("/api/project?token=x", headers=FROM_A_FILE).status_code == 403


def test_localhost_is_the_same_server(client):
    answer = client.get("/api/progress", headers={"Host": f"localhost:{PORT}", "Origin": f"http://localhost:{PORT}"})
    assert answer.status_code == 200
    # … but a page of one name is no page of the other.
    assert client.get("/api/progress", headers={"Host": f"localhost:{PORT}"}).status_code == 403


@pytest.mark.parametrize(
    "path", ["../app.py", "..%2fapp.py", "%2e%2e/app.py", "/etc/passwd", "css/../../app.py", "css", "", "app.py"]
)
def test_static_files_are_a_table(client, path):
    assert client.get(f"/static/{path}").status_code == 404


def test_policy_allows_nothing_inline_or_foreign():
    policy = SECURITY_HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    for word in ("unsafe", "http", "data:", "blob:", "*"):
        assert word not in policy


def test_failure_is_told_without_details(client, shared_session, monkeypatch, caplog):
    monkeypatch.setattr(type(shared_session), "progress", lambda self: 1 / 0)
    answer = client.get("/api/progress")
    assert answer.status_code == 500
    assert "division" not in answer.text
    assert "division" in caplog.text
    _check_headers(answer)


def test_what_a_stranger_stored_is_called_damaged(client, shared_session, monkeypatch, tmp_path):
    monkeypatch.setenv("TAGLOOM_CONFIG", str(tmp_path / "config of another user"))
    monkeypatch.setattr(type(shared_session), "progress", lambda self: int("none"))
    answer = client.get("/api/progress")
    assert (answer.status_code, "is damaged" in answer.json()["error"]) == (409, True)
