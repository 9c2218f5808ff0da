"""Connections that only take up room: the server keeps answering, and writes no flood of tracebacks."""

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import threading
from urllib.parse import urlsplit

import httpx
import pytest

from tagloom.web import connections
from tagloom.web.server import serve

pytestmark = pytest.mark.medium

PATIENCE = 60
HALF = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@pytest.fixture
def address(session):
    found, ready, stop = [], threading.Event(), threading.Event()
    thread = threading.Thread(
        target=serve, args=(session,), kwargs={"ready": lambda url: (found.append(url), ready.set()), "stop": stop}
    )
    thread.start()
    assert ready.wait(PATIENCE)
    yield found[0]
    stop.set()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def _connect(address, sent=b""):
    place = urlsplit(address)
    found = socket.create_connection((place.hostname, place.port), timeout=PATIENCE)
    found.sendall(sent)
    return found


@contextlib.contextmanager
def _crowd(address, n, sent):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(contextlib.closing(_connect(address, sent))) for _ in range(n)]


def _is_closed(connection):
    """Wait until the other side has closed."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize("sent", [b"", HALF, b"G"])
def test_half_a_request_is_not_waited_for(address, monkeypatch, sent):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.1)
    with contextlib.closing(_connect(address, sent)) as connection:
        assert _is_closed(connection)


def test_half_a_body_is_not_waited_for(address, monkeypatch):
    with httpx.Client() as client:
        assert client.get(address).status_code == 303
        (cookie,) = client.cookies.jar
    base = address.partition("/?")[0]
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.1)
    head = (
        f"POST /api/decide HTTP/1.1\r\nHost: {urlsplit(base).netloc}\r\nOrigin: {base}\r\n"
        f"Cookie: {cookie.name}={cookie.value}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{{"
    )
    with contextlib.closing(_connect(address, head.encode())) as connection:
        assert _is_closed(connection)


def test_a_second_request_has_its_own_time(address, monkeypatch):
    whole = f"GET / HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n\r\n".encode()
    with contextlib.closing(_connect(address, whole)) as connection:
        assert connection.recv(12) == b"HTTP/1.1 403"
        monkeypatch.setattr(connections, "HEADER_SECONDS", 0.1)
        connection.sendall(whole + HALF)
        assert _is_closed(connection)


@pytest.mark.parametrize("sent", [b"", HALF])
def test_a_crowd_locks_nobody_out(address, monkeypatch, sent):
    monkeypatch.setattr(connections, "MOST", 12)
    with _crowd(address, 100, sent) as crowd, httpx.Client(timeout=PATIENCE) as client:
        assert client.get(address).status_code == 303
        base = address.partition("/?")[0]
        for _ in range(3):
            assert client.get(f"{base}/api/progress").status_code == 200
        for connection in crowd[:80]:  # those that came first made room
            assert _is_closed(connection)


def test_where_all_are_at_work_it_is_said(address, monkeypatch):
    base = address.partition("/?")[0]
    monkeypatch.setattr(connections, "MOST", 8)
    with httpx.Client(timeout=PATIENCE) as client, contextlib.ExitStack() as stack:
        assert client.get(address).status_code == 303
        for _ in range(8):
            stack.enter_context(client.stream("GET", f"{base}/api/events"))
        answer = httpx.get(f"{base}/api/progress")
        assert answer.status_code == 503
        assert "too many connections" in answer.json()["error"]


def test_fewer_connections_where_descriptors_are_few(monkeypatch):
    for limit, most in ((None, 96), (256, 64), (1024, 96), (16, 8)):
        monkeypatch.setattr(connections, "descriptor_limit", lambda limit=limit: limit)
        assert connections.most_connections() == most


def test_errors_of_the_system_are_logged_once(caplog):
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(connections.log_sparingly())
    for _ in range(1000):
        loop.call_exception_handler({"message": "socket.accept() failed", "exception": OSError(24, "too many files")})
    loop.call_exception_handler({"message": "something else", "exception": ValueError("a bug")})
    loop.close()
    assert caplog.text.count("too many files") == 1
    assert "Traceback" not in caplog.text.partition("something else")[0]
    assert "a bug" in caplog.text


@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on descriptors to set")
def test_with_few_descriptors_the_command_keeps_answering(photos, tmp_path):
    command = (
        "import resource, typer; resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)); "
        "from tagloom.cli.review import review; typer.run(review)"
    )
    variables = {"TAGLOOM_DESCRIPTORS": "color", "TAGLOOM_METHOD": "ridge", "OMP_NUM_THREADS": "1"}
    with (
        open(tmp_path / "errors.txt", "wb") as errors,
        subprocess.Popen(
            [sys.executable, "-c", command, str(photos), "--no-browser"],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=os.environ | variables,
            text=True,
        ) as child,
    ):
        try:
            address = child.stdout.readline().strip()
            with _crowd(address, 600, HALF), httpx.Client(timeout=PATIENCE) as client:
                assert client.get(address).status_code == 303
                assert client.get(f"{address.partition('/?')[0]}/api/project").status_code == 200
        finally:
            child.terminate()
            child.wait(PATIENCE)
    assert (tmp_path / "errors.txt").stat().st_size < 2_000
    assert sum(file.stat().st_size for file in (photos / ".tagloom" / "logs").iterdir()) < 20_000
