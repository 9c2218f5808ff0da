"""The way of a token to the browser: nothing secret in a command line, nothing that works twice."""

import os
import re
import stat
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx
import pytest

from tagloom.web import entry as entry_module
from tagloom.web.entry import EntryFile, EntryTokens
from tagloom.web.server import serve

BASE = "http://127.0.0.1:8123"
PATIENCE = 60


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def _left(home):
    return list(home.rglob("tagloom-review-*"))


class TestTokens:
    def test_each_works_once(self):
        tokens = EntryTokens()
        first, second = tokens.issue(), tokens.issue()
        assert first != second
        assert len(first) >= 43  # 32 random bytes
        assert [tokens.spend(first), tokens.spend(first), tokens.spend(second)] == [True, False, True]

    @pytest.mark.parametrize("wrong", ["", "wrong", "é", "\x00", "\udcff"])
    def test_wrong_ones(self, wrong):
        tokens = EntryTokens()
        tokens.issue()
        assert not tokens.spend(wrong)

    def test_use_is_told_and_revoked_ones_are_worthless(self):
        tokens, used = EntryTokens(), []
        assert tokens.spend(tokens.issue(lambda: used.append(1)))
        assert used == [1]
        token = tokens.issue(lambda: used.append(2))
        tokens.revoke(token)
        assert not tokens.spend(token)
        assert used == [1]


class TestFile:
    def test_only_this_user_can_read_it(self):
        file = EntryFile(EntryTokens(), BASE)
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.path.parent.stat().st_mode) == 0o700
        assert file.path.stat().st_uid == os.getuid()

    def test_its_address_holds_no_token(self):
        file = EntryFile(EntryTokens(), BASE)
        (token,) = set(re.findall(r"token=([\w-]+)", file.path.read_text()))
        assert file.address.startswith("file:///")
        assert token not in file.address

    def test_it_goes_with_its_use(self, home):
        tokens = EntryTokens()
        file = EntryFile(tokens, BASE)
        (token,) = set(re.findall(r"token=([\w-]+)", file.path.read_text()))
        assert tokens.spend(token)
        assert _left(home) == []
        file.remove()

    def test_removed_it_lets_nobody_in(self, home):
        tokens = EntryTokens()
        file = EntryFile(tokens, BASE)
        (token,) = set(re.findall(r"token=([\w-]+)", file.path.read_text()))
        file.remove()
        assert not tokens.spend(token)
        assert _left(home) == []

    def test_where_sandboxed_browsers_can_read_it(self, home):
        assert EntryFile(EntryTokens(), BASE).path.parent.parent == home
        (home / "Downloads").mkdir()
        path = EntryFile(EntryTokens(), BASE).path
        assert path.parent.parent == home / "Downloads"
        assert not any(part.startswith(".") for part in path.relative_to(home).parts)

    def test_without_any_folder(self, home, monkeypatch):
        monkeypatch.setattr(entry_module, "_places", lambda: [home / "missing"])
        tokens = EntryTokens()
        with pytest.raises(OSError, match="missing"):
            EntryFile(tokens, BASE)


def _serve(session, **options):
    """Serve in a thread; return the printed address and what ends the server."""
    found, ready, stop = [], threading.Event(), threading.Event()

    def announce(url):
        found.append(url)
        ready.set()

    thread = threading.Thread(target=serve, args=(session,), kwargs={"ready": announce, "stop": stop, **options})
    thread.start()
    assert ready.wait(PATIENCE)

    def end():
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()

    return found[0], end


@pytest.mark.medium
class TestServer:
    def test_printed_address_and_file_are_two_ways_in(self, session, home):
        opened, called = [], threading.Event()

        def open_browser(address):
            opened.append(address)
            called.set()

        address, end = _serve(session, open_browser=open_browser)
        try:
            assert called.wait(PATIENCE)
            page = Path(unquote(urlsplit(opened[0]).path)).read_text()
            (inner,) = set(re.findall(r"http://[^\"]+", page))
            assert inner != address
            for way in (inner, address):
                assert httpx.get(way).status_code == 303
                assert httpx.get(way).status_code == 403
            assert _left(home) == []
        finally:
            end()

    def test_the_file_goes_after_a_while_and_at_the_end(self, session, home, monkeypatch):
        monkeypatch.setattr("tagloom.web.server.ENTRY_SECONDS", 0)
        gone = threading.Event()
        monkeypatch.setattr(EntryFile, "remove", lambda self, real=EntryFile.remove: (real(self), gone.set()))
        _, end = _serve(session, open_browser=lambda address: None)
        try:
            assert gone.wait(PATIENCE)
            assert _left(home) == []
        finally:
            end()
        monkeypatch.setattr("tagloom.web.server.ENTRY_SECONDS", 3600)
        _, end = _serve(session, open_browser=lambda address: None)
        end()
        assert _left(home) == []

    def test_without_a_place_for_the_file_the_printed_address_stays(self, session, home, monkeypatch, caplog):
        monkeypatch.setattr(entry_module, "_places", lambda: [home / "missing"])
        address, end = _serve(session, open_browser=lambda address: pytest.fail("there is nothing to open"))
        try:
            assert httpx.get(address).status_code == 303
            assert "no browser is opened" in caplog.text
        finally:
            end()


@pytest.mark.medium
def test_no_token_in_a_command_line(photos, home):
    """The browser that ``tagloom review`` starts tells what every user of the machine can read of it."""
    told = home / "told.txt"
    browser = home / "browser.py"
    browser.write_text(
        f"#!{sys.executable}\n"
        "import os, sys, urllib.parse, urllib.request\n"
        "path = urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[1]).path)\n"
        f"with open({str(told)!r}, 'w') as file:\n"
        "    print(repr(sys.argv), oct(os.stat(path).st_mode & 0o777), open(path).read(), sep='\\n', file=file)\n"
        f"os.rename({str(told)!r}, {str(told) + '.done'!r})\n"
    )
    browser.chmod(0o700)
    command = "import typer; from tagloom.cli.review import review; typer.run(review)"
    variables = {"BROWSER": f"{browser} %s", "TAGLOOM_DESCRIPTORS": "color", "TAGLOOM_METHOD": "ridge"}
    with subprocess.Popen(
        [sys.executable, "-c", command, str(photos)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | variables | {"OMP_NUM_THREADS": "1"},
        text=True,
    ) as child:
        try:
            printed = child.stdout.readline().strip().partition("token=")[2]
            done = Path(f"{told}.done")
            waited = threading.Event()
            for _ in range(10 * PATIENCE):
                if done.exists():
                    break
                waited.wait(0.1)
            arguments, mode, page = done.read_text().split("\n", 2)
        finally:
            child.terminate()
            child.wait(PATIENCE)
    (inner,) = set(re.findall(r"token=([\w-]+)", page))
    assert mode == "0o600"
    assert printed
    assert inner not in arguments
    assert printed not in arguments + page
    assert _left(home) == []


@pytest.mark.medium
def test_a_browser_gets_in_by_the_file(session, home, browser):
    opened, called = [], threading.Event()
    _, end = _serve(session, open_browser=lambda address: (opened.append(address), called.set()))
    try:
        assert called.wait(PATIENCE)
        context = browser.new_context()
        page = context.new_page()
        page.goto(opened[0])
        page.wait_for_selector("[data-testid=cell]", timeout=1000 * PATIENCE)
        assert urlsplit(page.url).query == ""
        (cookie,) = context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        assert _left(home) == []
        page.reload()
        page.wait_for_selector("[data-testid=cell]", timeout=1000 * PATIENCE)
        context.close()
    finally:
        end()
