"""Users with tokens of their own: what each role may do on every operation, and whose actions they can take back."""

import contextlib
import os
import re
import stat

import pytest

from tagloom.catalog.users import ROLES, UserBook
from tagloom.exceptions import InvalidInputError, StoreBusyError, StoreError
from tagloom.web.app import make_app
from tagloom.web.entry import EntryTokens
from tagloom.web.routes import OPERATIONS
from tests.web.conftest import BASE, HOST, PORT, TestClient, opened, visiting

pytestmark = pytest.mark.medium

ENDLESS = "events"
#: Who may ask for what. An operation that is not here fails the test that compares this with the table.
NEEDED = {
    "reader": {
        "health", "schema", "project", "progress", "history", "write_plan", "thresholds", "list_jobs", "photos",
        "find_photos", "frame",
        "moments", "video", "ranking", "lens", "cells", "thumb", "large", "photo", "why", "teach", "events",
    },
    "labeller": {"decide", "add_tag", "undo", "redo"},
    "owner": {"set_threshold", "change_tag", "start_job", "cancel_job"},
}  # fmt: skip


@contextlib.contextmanager
def served(session, book):
    """Return a client of a server with users, as a stranger."""
    app = make_app(
        session, tokens=EntryTokens(), host=HOST, port=PORT, names=["https://photos.example.org"], users=book
    )
    with TestClient(app, base_url=BASE, follow_redirects=False) as client:
        yield client


@pytest.fixture(scope="module")
def shared_book(shared_session):
    book = UserBook(shared_session.project.store)
    tokens = {role: book.add(f"a-{role}", role) for role in ROLES}
    yield book, tokens
    for role in ROLES:
        book.remove(f"a-{role}")


@pytest.fixture(scope="module")
def shared_served(shared_session, shared_book):
    with served(shared_session, shared_book[0]) as client:
        yield client


@pytest.fixture
def book(session):
    return UserBook(session.project.store)


def bearer(token, **more):
    return {"Authorization": f"Bearer {token}", **more}


def ask(client, operation, **options):
    path = "/api/v1" + re.sub(r"{\w+:int}", "1", operation.path)
    if operation.method == "POST":
        options.setdefault("json", {})
    return client.request(operation.method, path, **options)


def test_every_operation_has_the_role_that_it_should_have():
    assert {role: {one.name for one in OPERATIONS if one.role == role} for role in ROLES} == NEEDED


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_route_by_role(shared_served, shared_book, role, operation):
    if operation.name == ENDLESS:  # it answers as long as one listens: asked for another project, it refuses
        answer = ask(shared_served, operation, headers=bearer(shared_book[1][role]), params={"project": "0"})
        assert answer.status_code == 412
        return
    answer = ask(shared_served, operation, headers=bearer(shared_book[1][role]))
    may = ROLES.index(role) >= ROLES.index(operation.role)
    assert (answer.status_code == 403) is not may
    assert answer.status_code < 500
    if not may:
        assert answer.json() == {"error": answer.json()["error"], "denied": True}
        assert operation.role in answer.json()["error"]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_no_route_without_a_token(shared_served, operation):
    shared_served.cookies.clear()
    for header in ("", "Bearer", "Bearer ", "Bearer wrong", "Basic YTpi", "wrong"):
        answer = ask(shared_served, operation, headers={"Authorization": header})
        assert answer.status_code == (200 if operation.name == "health" else 401)
    assert ask(shared_served, operation).status_code == (200 if operation.name == "health" else 403)


def test_a_review_without_users_takes_no_tokens(client, book):
    token = book.add("anna", "owner")
    assert client.get("/api/v1/project", headers=bearer(token)).status_code == 401


def test_a_token_in_a_page_of_another_site_does_nothing(session, book):
    token = book.add("anna", "owner")
    with served(session, book) as client:
        for headers in (
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
            {"Host": "evil.example:8123"},
        ):
            answer = client.post("/api/v1/tags", json={"text": "x"}, headers=bearer(token, **headers))
            assert answer.status_code in (403, 421)
        assert client.post("/api/v1/tags", json={"text": "x"}, headers=bearer(token)).status_code == 200


def test_each_user_has_their_own_history(session, book):
    anna, ben, chief = (book.add(*one) for one in (("anna", "labeller"), ("ben", "labeller"), ("chief", "owner")))
    with served(session, book) as client:

        def post(token, what, **body):
            return client.post(f"/api/v1/{what}", json=body, headers=bearer(token))

        def history(token, query=""):
            return client.get(f"/api/v1/history{query}", headers=bearer(token)).json()

        tag = post(anna, "tags", text="new tag").json()["id"]
        hers = post(anna, "decide", photos=[3], tags=[tag], state=1, key="k").json()["batch"]
        his = post(ben, "decide", photos=[4], tags=[tag], state=1, key="k").json()["batch"]
        assert None not in (hers, his)  # the same name for two requests of two users
        assert {one["who"] for one in history(anna)["batches"]} == {"anna"}
        assert history(anna)["next_undo"]["id"] == hers
        assert {"anna", "ben"} <= {one["who"] for one in history(anna, "?who=all")["batches"]}
        assert history(anna, "?who=all")["next_undo"]["id"] == hers
        assert history(chief)["next_undo"]["id"] == his
        refused = post(anna, "undo", batch=his)
        assert (refused.status_code, refused.json()["denied"]) == (403, True)
        assert post(anna, "undo", batch=hers).json()["batch"] == hers
        assert post(ben, "redo").status_code == 409
        assert post(anna, "redo").json()["batch"] == hers
        assert post(chief, "undo", batch=hers).json()["batch"] == hers
        assert post(anna, "redo").status_code == 409  # an owner took it back
        assert post(ben, "undo", key="k").json()["batch"] == his
        latest = session.project.history(1)[0]
        assert (latest.kind, latest.who) == ("undo", "ben")


def test_a_labeller_takes_back_no_written_files_whatever_their_name(session, book, photos):
    token = book.add("tester", "labeller")  # the name of whoever started the server
    session.project.write(who="tester")
    assert list(photos.glob("*.xmp"))
    (batch,) = [one for one in session.project.history(1) if one.kind == "write"]
    with served(session, book) as client:
        answer = client.post("/api/v1/undo", json={"batch": batch.id}, headers=bearer(token))
    assert answer.status_code == 403
    assert list(photos.glob("*.xmp"))


def test_a_browser_comes_in_with_a_typed_token(session, book):
    token = book.add("anna", "labeller")
    form = {"Origin": BASE, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate"}
    with served(session, book) as client:
        page = client.get("/")
        assert page.status_code == 403
        assert "<form method='post'" in page.text
        assert "form-action 'self'" in page.headers["Content-Security-Policy"]
        for wrong in ("", "wrong", token + "x"):
            answer = client.post("/", data={"token": wrong}, headers=form)
            assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)
        for headers in (form | {"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert client.post("/", data={"token": token}, headers=headers).status_code == 403
        assert client.post("/", data={"token": "x" * 2_000}, headers=form).status_code == 413
        answer = client.post("/", data={"token": token}, headers=form)
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        words = {word.strip().lower() for word in answer.headers["set-cookie"].split(";")}
        assert {"httponly", "samesite=strict", "path=/"} <= words
        assert token not in answer.headers["set-cookie"]
        assert "form-action 'none'" in client.get("/").headers["Content-Security-Policy"]
        found = client.get("/api/v1/project").json()
        assert (found["user"], found["role"]) == ("anna", "labeller")
        assert client.post("/api/v1/redo", json={}).status_code == 403  # no origin: a cookie comes by itself
        book.remove("anna")
        assert client.get("/api/v1/project").status_code == 403
        book.add("anna", "owner")  # another token: who had the old one is not let in
        assert client.get("/api/v1/project").status_code == 403


def test_a_name_with_https_needs_pages_of_https_and_gives_a_secure_cookie(session, book):
    token = book.add("anna", "reader")
    with served(session, book) as client:
        for host in ("photos.example.org", "photos.example.org:443"):
            assert client.get("/api/v1/project", headers=bearer(token, Host=host)).status_code == 200
        form = {"Host": "photos.example.org", "Origin": "https://photos.example.org"}
        answer = client.post("/", data={"token": token}, headers=form)
        assert "secure" in answer.headers["set-cookie"].lower()
        form["Origin"] = "http://photos.example.org"
        assert client.post("/", data={"token": token}, headers=form).status_code == 403


def test_the_owner_is_who_started_the_server(client):
    found = client.get("/api/v1/project").json()
    assert (found["user"], found["role"]) == ("tester", "owner")


def test_tokens_are_kept_as_hashes_in_a_private_file(book):
    token = book.add("anna", "labeller")
    path = book.path
    assert token not in path.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [(one.name, one.role) for one in book.users()] == [("anna", "labeller")]
    assert book.find(token).name == "anna"
    book.remove("anna")
    assert book.find(token) is None


def test_users_that_do_not_fit_are_refused(book):
    book.add("anna", "labeller")
    for name, role in (("anna", "reader"), ("", "reader"), ("../x", "reader"), ("a b", "reader"), ("ben", "root")):
        with pytest.raises(InvalidInputError):
            book.add(name, role)
    with pytest.raises(InvalidInputError, match="no user"):
        book.remove("ben")


def test_a_file_of_users_that_tagloom_did_not_write_lets_nobody_in(session, book):
    token = book.add("anna", "labeller")
    path = book.path
    path.write_text(path.read_text(encoding="utf-8").replace("labeller", "god"), encoding="utf-8")
    with pytest.raises(StoreError, match="damaged"):
        book.users()
    with served(session, book) as client:
        assert client.get("/api/v1/project", headers=bearer(token)).status_code == 409


def test_two_processes_do_not_change_users_at_once(book):
    book.add("anna", "reader")
    path = book.path
    path.with_suffix(".new").touch()
    with pytest.raises(StoreBusyError, match="another process"):
        book.add("ben", "reader")
    assert [one.name for one in book.users()] == ["anna"]


def test_a_copy_of_a_project_has_no_users(session, book, photos, tmp_path):
    import shutil

    book.add("anna", "owner")
    with opened(shutil.copytree(photos, tmp_path / "copy")) as copy:
        assert UserBook(copy.project.store).users() == []


def test_old_paths_of_the_api_lead_to_the_new_ones(session):
    with visiting(session) as client:
        assert client.get("/api/progress").json() == client.get("/api/v1/progress").json()
        assert client.get("/thumb/1").content == client.get("/api/v1/photo/1/thumb").content
        assert client.get("/api/v2/progress").status_code == 404
