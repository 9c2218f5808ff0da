"""The page from a real server: events as they happen, and an end in good order."""

import contextlib
import io
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import httpx
import pytest

import tagloom.web
from tagloom.catalog.identity import remember_port
from tagloom.cli.review import review, serve_project
from tagloom.datasets import write_scenes
from tagloom.exceptions import StoreError, WriteError
from tagloom.project.project import Project
from tagloom.web.server import serve
from tests.web.browsing import serving
from tests.web.conftest import opened

pytestmark = pytest.mark.medium

COMMAND = "import typer; from tagloom.cli.review import review; typer.run(review)"


@pytest.fixture
def address(session):
    """Return the address of a server in a thread."""
    found, ready, stop = [], threading.Event(), threading.Event()

    def announce(url):
        found.append(url)
        ready.set()

    thread = threading.Thread(target=serve, args=(session,), kwargs={"ready": announce, "stop": stop})
    thread.start()
    assert ready.wait(20)
    yield found[0]
    stop.set()
    thread.join(20)
    assert not thread.is_alive()


@contextlib.contextmanager
def _enter(address):
    base = address.partition("/?")[0]
    with httpx.Client(base_url=base, headers={"Origin": base}, timeout=20) as client:
        assert client.get(address).status_code == 303
        yield client


def _events(stream):
    """Yield (id, name, data) of events."""
    found = {}
    for line in stream.iter_lines():
        name, _, value = line.partition(": ")
        if name:
            found[name] = value
        elif "event" in found:
            yield found["id"], found["event"], found["data"]
            found = {}


def test_events_tell_of_decisions_here_and_elsewhere(address, photos):
    with _enter(address) as client, client.stream("GET", "/api/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert "default-src 'none'" in stream.headers["content-security-policy"]
        events = _events(stream)
        assert next(events)[:2] == (client.get("/api/project").json()["news"], "alive")  # nothing was missed
        client.post("/api/decide", json={"photos": [3], "tags": [1], "state": 0}).raise_for_status()
        first, name, data = next(events)
        assert (name, '"photos": [3]' in data) == ("decided", True)
        with Project.open(photos) as other:  # as the command line in another window does
            other.label([4], add=["from elsewhere"])
        _, name, data = next(events)
        assert (name, '"photos": [4]' in data) == ("decided", True)
        project = client.get("/api/project").json()
        assert "from elsewhere" in [tag["text"] for tag in project["tags"]]
        with client.stream("GET", "/api/events", headers={"Last-Event-ID": first}) as again:
            assert next(_events(again))[2] == data
        with client.stream("GET", "/api/events", headers={"Last-Event-ID": "another-start"}) as again:
            assert next(_events(again))[1] == "reset"


def test_stop_ends_open_streams(address, session):
    with _enter(address) as client, client.stream("GET", "/api/events") as stream:
        session.events.close()
        assert [name for _, name, _ in _events(stream)] == ["alive"]


def test_taken_port(session):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(WriteError, match="port"):
            serve(session, port=taken.getsockname()[1])


@contextlib.contextmanager
def _served(session, **options):
    """Serve in a thread; yield the port, and the ports that were told to be taken."""
    found, moved, ready, stop = [], [], threading.Event(), threading.Event()

    def announce(url):
        found.append(urlsplit(url).port)
        ready.set()

    options |= {"ready": announce, "moved": moved.append, "stop": stop}
    thread = threading.Thread(target=serve, args=(session,), kwargs=options)
    thread.start()
    try:
        assert ready.wait(60)
        yield found[0], moved
    finally:
        stop.set()
        thread.join(60)
    assert not thread.is_alive()


def test_the_next_review_is_where_the_last_one_was(photos):
    with opened(photos) as session, _served(session) as (first, moved):
        assert moved == []
    with opened(photos) as session:
        with _served(session) as (again, moved):
            assert (again, moved) == (first, [])
        with _served(session, port=0) as (again, moved):  # which is a free one
            assert (again, moved) == (first, [])
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            other = probe.getsockname()[1]
        for port in (other, None, 0):  # the last one counts, however it was chosen
            with _served(session, port=port) as (again, moved):
                assert (again, moved) == (other, [])


def test_a_taken_port_of_the_last_review_is_told(photos, tmp_path):
    copy = shutil.copytree(photos, tmp_path / "copy")
    with opened(photos) as session, _served(session) as (port, _), opened(copy) as other:
        remember_port(other.project.store, port)
        with _served(other) as (another, moved):
            assert another != port
            assert moved == [port]


def test_the_command_says_that_another_port_is_used(session, monkeypatch, capsys):
    monkeypatch.setattr("tagloom.web.serve", lambda session, *, moved, **_: moved(4711))
    serve_project(session.project, port=None, browser=False)
    assert "tagloom review --port 4711" in capsys.readouterr().err


def test_missing_package_is_told(session, monkeypatch):
    monkeypatch.delitem(sys.modules, "tagloom.web.server", raising=False)
    monkeypatch.delitem(vars(tagloom.web), "serve", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(StoreError, match="uvicorn"):
        serve_project(session.project, port=0, browser=False)


def test_only_this_machine(address):
    assert address.startswith("http://127.0.0.1:")


@pytest.mark.medium
@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_command_ends_and_nothing_is_lost(photos, kind):
    environment = os.environ | {"TAGLOOM_DESCRIPTORS": "color", "TAGLOOM_METHOD": "ridge", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", COMMAND, str(photos), "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as child:
        try:
            with _enter(child.stdout.readline().strip()) as client:
                done = client.post("/api/decide", json={"photos": [3, 4], "tags": [1], "state": 0})
                assert done.status_code == 200
                child.send_signal(kind)
                code = child.wait(60)
        finally:
            child.kill()
        errors = child.stderr.read()
    assert "Traceback" not in errors
    assert code == (0 if kind != signal.SIGKILL else -signal.SIGKILL)
    with Project.open(photos) as project:
        assert project.check() == []
        assert project.history(1)[0].id == done.json()["batch"]
        assert project.store.decisions.count() == done.json()["version"]


def test_a_folder_that_is_named_gets_a_project(tmp_path):
    photos = tmp_path / "new"
    write_scenes(photos, 6, size=(64, 48), random_state=0)
    with serving(photos, flags={"descriptors": "color"}) as server:
        assert server.address.startswith("http://127.0.0.1:")
    with Project.open(photos) as project:
        assert len(project.store.photos.table().ids) == 6


def test_no_project_is_made_unasked(tmp_path, monkeypatch):
    write_scenes(tmp_path / "new", 2, size=(64, 48), random_state=0)
    monkeypatch.chdir(tmp_path / "new")
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))  # no terminal
    with pytest.raises(StoreError, match="there is no tagloom project"):
        review()
    with pytest.raises(StoreError, match="there is no tagloom project"):
        review(project=tmp_path / "new")
    assert not (tmp_path / "new" / ".tagloom").exists()
