"""Fixtures and rules shared by all tests.

Things that a user's machine may lack (datasets, chromium, exiftool) are found through one fixture each. A test that
needs one skips with a reason where it is missing; with ``TAGLOOM_REQUIRE=data,exiftool`` any skip is a failure, but for
what the machine's kernel does not permit (tracing, mounting).
"""

import gc
import os
import shutil
import socket
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
REQUIRED = {name for name in os.environ.get("TAGLOOM_REQUIRE", "").split(",") if name}


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage while collecting, nor later among what was collected: all of it lives to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of public datasets: ``$TAGLOOM_DATA`` or ``../shared/data`` beside the checkout."""
    folder = Path(os.environ.get("TAGLOOM_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("public datasets not found; set TAGLOOM_DATA to the folder that holds corel5k, msrc_v2, …")
    return folder


@pytest.fixture(scope="session")
def exiftool() -> str:
    """Return the path of exiftool."""
    found = shutil.which("exiftool")
    if found is None:
        pytest.skip("exiftool not found; install libimage-exiftool-perl")
    return found


@pytest.fixture(scope="session")
def exiv2() -> str:
    """Return the path of exiv2."""
    found = shutil.which("exiv2")
    if found is None:
        pytest.skip("exiv2 not found; install exiv2")
    return found


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a Chromium browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium not found; install it to test pages in a browser")
    return found


@pytest.fixture(scope="module")
def browser(chromium):
    """Return a headless browser, started once for a module."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def unprivileged_uid() -> int:
    """Return a user id without permissions to run a child under, where this process may change users."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("needs root to run a child under an unprivileged user id")
    return 65534


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Under TAGLOOM_REQUIRE a skip is a failure, but for what the machine's kernel does not permit."""
    report = yield
    if REQUIRED and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if "not permitted here" in reason:
            return report
        report.outcome = "failed"
        report.longrepr = f"TAGLOOM_REQUIRE is set, so a skip is a failure: {reason}"
    return report


@pytest.fixture(scope="session")
def session_cache(tmp_path_factory) -> Path:
    """Return one cache folder for all tests, so that the network is built once."""
    return tmp_path_factory.mktemp("tagloom-cache")


@pytest.fixture(autouse=True)
def _own_cache(session_cache, monkeypatch):
    """Keep tests out of the user's cache folder."""
    monkeypatch.setenv("TAGLOOM_CACHE", str(session_cache))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    """Refuse every connection that leaves this machine."""
    connect = socket.socket.connect

    def refuse(self, address):
        if self.family == getattr(socket, "AF_UNIX", None) or address[0] in ("127.0.0.1", "::1", "localhost"):
            return connect(self, address)
        raise AssertionError(f"a test tried to connect to {address!r}")

    monkeypatch.setattr(socket.socket, "connect", refuse)
