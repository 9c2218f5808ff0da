"""A project over HTTP with the verbs of `Project`: on a real server, and what a client refuses to do."""

import contextlib
import threading

import pytest

import tagloom
from tagloom.catalog.users import UserBook
from tagloom.exceptions import InvalidInputError, RemoteError
from tagloom.web.server import Network, serve

pytestmark = pytest.mark.medium


@contextlib.contextmanager
def running(session, **network):
    """Serve a session from a thread, and return the address."""
    found, ready, stop = [], threading.Event(), threading.Event()

    def announce(url):
        found.append(url)
        ready.set()

    options = {"ready": announce, "stop": stop, "network": Network(users=UserBook(session.project.store), **network)}
    thread = threading.Thread(target=serve, args=(session,), kwargs=options)
    thread.start()
    try:
        assert ready.wait(60)
        yield found[0].partition("/?")[0]
    finally:
        stop.set()
        thread.join(60)


@pytest.fixture
def remote(session):
    token = UserBook(session.project.store).add("anna", "owner")
    with running(session) as url, tagloom.connect(url, token) as project:
        yield project


def test_the_verbs_do_what_those_of_a_project_do(remote, session):
    project = session.project
    assert remote.status()["n_photos"] == 20
    assert {tag["text"] for tag in remote.tags()} >= {tag.text for tag in project.tags()}
    names = [one["path"] for one in remote.photos()]
    assert len(names) == 20
    done = remote.label(names[:2], add=["new tag", "other"], remove="sky")
    assert done["n"] == 6
    assert project.history(1)[0].who == "anna"
    (line,) = [tag for tag in remote.tags() if tag["text"] == "new tag"]
    assert line["n_yes"] == 2
    assert [one["path"] for one in remote.photos(tag="New  TAG", state="has")] == names[:2]
    assert remote.undo()["batch"] == done["batches"][-1]
    assert remote.redo()["batch"] == done["batches"][-1]
    remote.rename_tag("new tag", "newer tag")
    remote.alias_tag("newest", "newer tag")
    remote.imply_tag("newer tag", "other")
    assert project.implications() == [("newer tag", "other")]
    assert remote.history(3)["batches"][0]["id"] == project.history(1)[0].id
    found = remote.suggest(names, n=2)
    stored = {(one.photo_id, one.tag) for one in project.suggest(n=0)}
    assert {(one["photo_id"], one["tag"]) for one in found} <= stored
    assert remote.next_photos(3)["reason"]
    assert remote.explain(names[0], "sea")["tag"] == "sea"
    assert remote.picture(names[0])[:4] == b"RIFF"
    assert remote.photo(names[0])["path"] == names[0]
    assert remote.set_threshold(0.5)["threshold"] == 0.5
    assert remote.write_plan(5)["n_looked"] == 5
    assert remote.search("scene", n=3)[0]["path"]
    with pytest.raises(InvalidInputError, match=r"no photo 'none\.jpg'"):
        remote.label("none.jpg", add="x")
    several = [f"one of many {number}" for number in range(120)]  # a request takes a hundred at most
    remote.label((), add=several)  # makes them, and decides nothing
    assert remote.label(names[0], remove=several)["n"] == 120
    with pytest.raises(InvalidInputError, match="no tag 'nothing'"):
        remote.rename_tag("nothing", "x")


def test_work_is_waited_for(remote, photos):
    assert remote.write()["state"] == "done"
    assert list(photos.glob("*.xmp"))
    with pytest.raises(InvalidInputError):
        remote.export("no such format")
    assert [job["kind"] for job in remote.jobs()] == ["write"]


def test_a_role_that_does_not_suffice_is_said(session):
    token = UserBook(session.project.store).add("eve", "reader")
    with running(session) as url, tagloom.connect(url, token) as project:
        with pytest.raises(RemoteError, match="needs the role labeller") as refused:
            project.label(1, add="x")
        assert refused.value.status == 403
        with pytest.raises(RemoteError, match="nobody's"):
            tagloom.connect(url, "wrong")


def test_a_server_with_https(session, tmp_path):
    import subprocess

    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl not found; install openssl")
    token = UserBook(session.project.store).add("anna", "reader")
    with running(session, certificate=certificate, key=key) as url:
        assert url.startswith("https://")
        with tagloom.connect(url, token, ca_file=certificate) as project:
            assert project.status()["role"] == "reader"
        with pytest.raises(RemoteError, match="certificate"):
            tagloom.connect(url, token)


def test_no_token_leaves_in_the_open():
    for url in ("http://photos.example.org", "http://192.0.2.1:8765", "http://127.0.0.1.example.org"):
        with pytest.raises(InvalidInputError, match="in the open"):
            tagloom.connect(url, "token")
    for url in ("photos.example.org", "ftp://127.0.0.1", "http://127.0.0.1/path", "http://127.0.0.1:x", "http://"):
        with pytest.raises(InvalidInputError, match="expected an address"):
            tagloom.connect(url, "token")
    with pytest.raises(InvalidInputError, match="plain text"):
        tagloom.connect("http://127.0.0.1:1", "a\r\nX-Evil: 1")
    with pytest.raises(RemoteError, match="does not answer"):
        tagloom.connect("http://127.0.0.1:1", "token")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"host": "0.0.0.0"}, "--plain-http"),
        ({"host": "192.0.2.1"}, "--plain-http"),
        ({"host": "::"}, "--plain-http"),
        ({"host": "localhost"}, "IP address"),
        ({"certificate": "x.pem"}, "both files"),
        ({"certificate": "x.pem", "key": "y.pem"}, "cannot be used"),
    ],
)
def test_a_network_that_anybody_can_listen_to_is_refused(options, why):
    with pytest.raises(InvalidInputError, match=why):
        Network(**options).check()


def test_a_network_that_was_asked_for_is_served(session):
    token = UserBook(session.project.store).add("anna", "reader")
    with running(session, host="0.0.0.0", is_plain_allowed=True) as url, tagloom.connect(url, token) as project:
        assert project.status()["user"] == "anna"
